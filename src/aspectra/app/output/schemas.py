"""The JSON documents of ``--json``, as types: ``aspectra schema NAME`` prints their JSON schemas.

Each document names its schema in the field ``schema``, as in ``aspectra.search/1``. The number grows when a
field is removed or changes its meaning; new fields may come without notice. One with a default may be absent.
"""

from __future__ import annotations

from inspect import cleandoc
from typing import Any, get_type_hints

import msgspec

from aspectra.app.ingest.flow import Flow
from aspectra.app.ingest.works import Duplicates
from aspectra.app.output.criteria import Listing, Marks
from aspectra.app.output.documents import (
    Added,
    Document,
    DocumentPart,
    Hit,
    Merged,
    News,
    Saved,
    Search,
    Split,
)
from aspectra.app.upkeep.checkup import Check, Dependency
from aspectra.base.errors import check_choice
from aspectra.views.prompted.running import LensEstimate, RunReport


class Section(DocumentPart, frozen=True):
    """A section of a full text."""

    heading: str
    text: str


class Links(DocumentPart, frozen=True):
    """Ids of papers in the same library."""

    versions: list[str]
    cites: list[str]
    cited_by: list[str]


class Span(DocumentPart, frozen=True):
    """A sentence (with ``--sentences``), counted from 1; ``field`` is absent for the abstract."""

    number: int
    start: int
    end: int
    role: str
    text: str
    field: str = "abstract"


class Paper(Document, frozen=True):
    """``show``: one paper; what is empty is absent."""

    id: str
    links: Links
    title: str = ""
    abstract: str = ""
    venue: str = ""
    url: str = ""
    language: str = ""
    year: int | None = None
    authors: list[str] = []
    identifiers: dict[str, str] = {}
    sections: list[Section] = []
    references: list[dict[str, Any]] = []
    sentences: list[tuple[int, int, str]] = []
    metadata: dict[str, Any] = {}
    retracted: bool = False
    sentence_spans: list[Span] = []
    marks: Marks = Marks()


class View(DocumentPart, frozen=True):
    """A view of the index; ``truncated`` counts texts that the encoder cut, ``bytes`` its files'."""

    kind: str
    encoder: str
    fingerprint: str
    truncated: int | None
    bytes: int


class Index(DocumentPart, frozen=True):
    """The index in use; ``waiting``, ``changed`` and ``gone`` count papers that it does not know yet.

    ``unfinished`` is what an ``index`` that goes on or was stopped has yet to make, in words, or "".
    """

    generation: str
    created: str
    papers: int
    encoders: list[str]
    chunks: list[str]
    bm25: dict[str, float | str]
    views: dict[str, View]
    waiting: int
    changed: int
    gone: int
    unfinished: str = ""


class Remark(DocumentPart, frozen=True):
    """A record that was skipped or noted while adding."""

    file: str
    source: str
    place: str
    reason: str
    skipped: bool


class Status(Document, frozen=True):
    """``status``: what a library holds; of a collection, also how many papers each shard has."""

    folder: str
    revision: int
    papers: int
    with_abstract: int
    with_full_text: int
    title_only: int
    to_complete: int
    version_groups: int
    papers_in_groups: int
    citations: int
    citations_resolved: int
    records_skipped: int
    records_noted: int
    bytes: int
    index: Index | None
    remarks: list[Remark] = []
    shards: dict[str, int] = {}


class Doctor(Document, frozen=True):
    """``doctor``: whether installation and library are sound."""

    ok: bool
    checks: list[Check]


class Origin(DocumentPart, frozen=True):
    """A setting's value and the layer that set it."""

    value: str | int | float | bool | dict[str, list[str] | str]
    origin: str


class ConfigValues(Document, frozen=True):
    """``config show``: setting -> value."""

    settings: dict[str, Origin]


class SettingFacts(DocumentPart, frozen=True):
    """What is declared about a setting."""

    about: str
    values: str
    default: str | int | float | bool | dict[str, list[str] | str]
    variable: str


class ConfigList(Document, frozen=True):
    """``config list``: setting -> what it is."""

    settings: dict[str, SettingFacts]


class LensFacts(DocumentPart, frozen=True):
    """A lens of the library, or one that can be added."""

    lens: str
    gives: str
    state: str
    about: str


class LensList(Document, frozen=True):
    """``lens list``."""

    lenses: list[LensFacts]


class AspectFacts(DocumentPart, frozen=True):
    """An aspect that papers can be compared in; of a built-in one the definition says so."""

    aspect: str
    definition: str
    examples: list[str]


class AspectList(Document, frozen=True):
    """``aspect list``."""

    aspects: list[AspectFacts]


class LensStatus(Document, frozen=True):
    """``lens status``: facts of each prompted lens."""

    lenses: list[dict[str, Any]]


def _document_of(name: str, about: str, kind: type, **more: type) -> type[msgspec.Struct]:
    """A document with the fields of a dataclass; ``more`` adds fields, or gives one another type."""
    given = {"schema": str, **get_type_hints(kind), **more}
    made = msgspec.defstruct(name, list(given.items()), frozen=True, forbid_unknown_fields=True)
    made.__doc__ = about
    return made


class LoaderOption(DocumentPart, frozen=True):
    """An option of a benchmark's loader; without ``values`` it takes any text."""

    name: str
    help: str
    values: list[str]
    default: str


class BenchmarkFacts(DocumentPart, frozen=True):
    """A benchmark that can be loaded."""

    name: str
    about: str
    files: str
    options: list[LoaderOption]
    licence: str
    measures: list[str]
    source: str
    preset: str
    hub: list[Any]


class BenchList(Document, frozen=True):
    """``bench list``."""

    benchmarks: list[BenchmarkFacts]


class BenchAudit(Document, frozen=True):
    """``bench audit``: what a benchmark's files hold; ``judged`` counts judgements by mode."""

    name: str
    revision: str
    licence: str
    source: str
    documents: int
    topics: int
    judged: dict[str, int]
    modes: list[str]
    protocol: str
    labels: list[str]
    measures: list[str]
    checksums: dict[str, str]
    problems: list[str]


class BenchManifest(msgspec.Struct, frozen=True):
    """``bench show``: the manifest of an experiment; it has more fields than these."""

    schema: str
    created: str
    versions: dict[str, str]
    benchmarks: dict[str, dict[str, Any]]


class MeasureScore(DocumentPart, frozen=True):
    """A measure's mean and its values by topic; ``units`` is how many the mean is over."""

    measure: str
    mode: str
    mean: float | None
    units: int
    undefined: int
    missing: int
    preset: str
    values: dict[str, float] = {}


class Measured(Document, frozen=True):
    """``measure``: scores of a run."""

    preset: str
    average: list[str]
    counts: dict[str, dict[str, int]]
    scores: list[MeasureScore]
    remarks: list[str]
    checks: list[str]


class Licences(Document, frozen=True):
    """``licences``: every package that this installation needs."""

    packages: list[Dependency]


class ConfigTrust(Document, frozen=True):
    """``config trust``: what the user permitted, refused, and permits by an address in the environment."""

    allowed: list[str]
    refused: list[str]
    environment: list[str]


DOCUMENTS: dict[str, type[msgspec.Struct]] = {
    "search": Search,
    "hit": Hit,
    "paper": Paper,
    "list": Listing,
    "status": Status,
    "added": Added,
    "flow": _document_of(
        "Flow",
        "``status --flow``: the numbers of a PRISMA 2020 flow diagram; ``excluded`` is by reason.",
        Flow,
    ),
    "duplicates": _document_of(
        "Duplicates",
        "``duplicates``: groups of records of one work, and groups to be looked at.",
        Duplicates,
    ),
    "merge": Merged,
    "split": Split,
    "saved": Saved,
    "news": News,
    "doctor": Doctor,
    "config": ConfigValues,
    "config-list": ConfigList,
    "licences": Licences,
    "config-trust": ConfigTrust,
    "lens-list": LensList,
    "aspect-list": AspectList,
    "lens-status": LensStatus,
    "lens-estimate": _document_of(
        "LensEstimate", "``lens estimate``: what missing values cost.", LensEstimate, lens=str
    ),
    "lens-run": _document_of(
        "LensRun", "``lens run``: what was computed; ``stopped``: an error's code.", RunReport, stopped=str
    ),
    "bench-list": BenchList,
    "bench-audit": BenchAudit,
    "bench-manifest": BenchManifest,
    "measure": Measured,
}


def json_schema(name: str) -> dict[str, Any]:
    """The JSON schema of a document.

    Args:
        name: a key of :data:`DOCUMENTS`.

    Raises:
        UsageError: there is none of that name.
    """
    check_choice(name, DOCUMENTS, "schema")
    schema = msgspec.json.schema(DOCUMENTS[name])
    schema["$defs"] = flush(schema["$defs"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def flush(schemas: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Schemas whose descriptions do not keep the indentation of docstrings; msgspec before 0.23 leaves it."""
    return {
        name: {**one, "description": cleandoc(one["description"])} if "description" in one else one
        for name, one in schemas.items()
    }
