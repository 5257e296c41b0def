"""What every source owes, whoever wrote it. A new source is tested here by being registered."""

from __future__ import annotations

import pytest

from aspectra.papers.sources.protocol import SOURCES, Source
from aspectra.testing.views import SampleConformance, SourceConformance

# A good record, a broken one, a good one: made up, in the layout of each source.
SAMPLES: dict[str, bytes] = {
    "jsonl": b"""{"id": "one", "title": "Caf\xc3\xa9 ranking", "abstract": "We rank caf\xc3\xa9s."}
{"id": "two", "title": "Broken
{"id": "three", "title": "A third\\u0007 paper", "authors": ["Ada Lovelace"], "year": 1843}
""",
    "bibtex": b"""@article{one, title = {Caf\xc3\xa9 ranking}, author = {Lovelace, Ada}, year = 1843}
@article{two, title = {Broken
@article{three, title = {A third paper}, abstract = {Text.}}
""",
    "ris": b"""TY  - JOUR
TI  - Caf\xc3\xa9 ranking
AU  - Lovelace, Ada
ER  -

TY  - JOUR
AU  - Nobody
ER  -

TY  - JOUR
TI  - A third paper
ER  -
""",
    "wos": b"""FN Clarivate Analytics Web of Science
VR 1.0
PT J
AU Lovelace, Ada
   Li, Bo
TI Caf\xc3\xa9
   ranking
PY 1843
ER

PT J
AU Nobody, N
SO Owls
ER

PT J
TI A third paper
SO Owls
ER

EF
""",
    "ovid": b"""<1>
Title
  Caf\xc3\xa9 ranking. [Article]
Source
  Owls.  1(2):3-4, May 1843.
<2>
Source
  Owls.
<3>
Title
  A third paper
""",
    "copac": b"""TI- Caf\xc3\xa9
    ranking
AU- Lovelace, Ada
PY- 1843

TI-
PY- 1844

TI- A third paper
PU- Owl Press
""",
    "enw": b"""%0 Journal Article
%T Caf\xc3\xa9 ranking
%A Lovelace, Ada
%D 1843

%0 Journal Article
%A Nobody, N

%0 Book
%T A third paper
""",
    "refworks": b"""RT Journal Article
T1 Caf\xc3\xa9 ranking
A1 Lovelace, Ada
YR 1843

RT Journal Article
A1 Nobody, N

RT Book, Whole
T1 A third paper
""",
    "noteexpress": b"""{Reference Type}: Journal Article
{Title}: Caf\xc3\xa9 ranking
{Author}: Lovelace, Ada
{Year}: 1843

{Reference Type}: Journal Article
{Author}: Nobody, N

{Reference Type}: Book
{Title}: A third paper
""",
    "better-bibtex": b"""{"config": {"label": "BetterBibTeX JSON"}, "items": [
{"itemType": "book", "title": "Caf\xc3\xa9 ranking", "creators": [{"lastName": "Lovelace"}]},
{"itemType": "book", "creators": []},
{"itemType": "book", "title": "A third paper", "creators": []}]}
""",
    "csl-json": b"""[{"id": "one", "type": "book", "title": "Caf\xc3\xa9 ranking", "issued": {"raw": "1843"}},
{"id": "two", "type": "book" "title": "Broken"},
{"id": "three", "type": "book", "title": "A third paper"}]
""",
    "csv": b"""Title,Authors,Abstract
Caf\xc3\xa9 ranking,"Lovelace, Ada","We rank caf\xc3\xa9s."
,Nobody,
A third paper,"Turing A., Church A.",Text
""",
    "nbib": b"""PMID- 1
OWN - NLM
TI  - Caf\xc3\xa9 ranking

PMID-
OWN - NLM

PMID- 3
OWN - NLM
TI  - A third paper
""",
}


@pytest.fixture(params=SOURCES.names())
def source(request: pytest.FixtureRequest) -> Source:
    return SOURCES.get(request.param)


class TestSources(SourceConformance):
    """Every source that is registered."""


class TestSamples(SampleConformance):
    """Those that have a sample above."""

    @pytest.fixture(params=sorted(SAMPLES))
    def source(self, request: pytest.FixtureRequest) -> Source:
        return SOURCES.get(request.param)

    @pytest.fixture
    def sample(self, source: Source) -> bytes:
        return SAMPLES[source.name]
