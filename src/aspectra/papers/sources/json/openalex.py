"""OpenAlex works as JSON Lines (the snapshot, or saved answers of the API).

The abstract is put together again from its inverted index; ``referenced_works`` become references with
``openalex`` identifiers. Everything else of the record stays in ``metadata``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from aspectra.papers.bibliography import language_of, names_in
from aspectra.papers.identifiers import normalise
from aspectra.papers.paper import Paper, Reference
from aspectra.papers.sources.assembly import assemble, identifiers_of
from aspectra.papers.sources.json.records import JsonFormat, as_dict, as_list, at, rest
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.text.cleaning import clean, one_line

_OWN = {"referenced_works", "abstract_inverted_index", "authorships", "primary_location", "cited_by_count"}
_USED = (
    *("id", "title", "display_name", "abstract_inverted_index", "publication_year", "referenced_works"),
    *("doi", "language"),
)
_TYPES = names_in("openalex").types
_MAX_WORDS = 200_000


def _confidence(keys: frozenset[str], head: bytes) -> float:
    if "results" in keys:
        keys = frozenset(key.partition(".")[2] for key in keys)
    work = "id" in keys and len(keys & _OWN) >= 2 and b"openalex.org/W" in head
    return 0.97 if work else 0.0


def _paper(record: Mapping[str, Any], place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    ids = as_dict(record.get("ids"))
    location = as_dict(record.get("primary_location"))
    copies = [*as_list(record.get("locations")), location]
    pages = [one_line(at(copy, "landing_page_url")) for copy in copies]
    arxiv = next((page for page in pages if "arxiv.org/abs/" in page), "")
    own = record.get("id") or ids.get("openalex")
    identifiers = identifiers_of(
        [
            ("doi", record.get("doi") or ids.get("doi")),
            ("arxiv", arxiv.partition("arxiv.org/abs/")[2]),
            ("openalex", own),
            *(
                (scheme, one_line(ids.get(scheme)).rstrip("/").rpartition("/")[2])
                for scheme in ("pmid", "pmcid")
            ),
        ]
    )
    abstract, note = _invert(record.get("abstract_inverted_index"))
    if note:
        yield Remark(place, note, skipped=False)
    venue = at(location, "source.display_name") or at(record, "host_venue.display_name")
    metadata = rest(record, _USED)
    if record.get("language") and not language_of(record.get("language")):
        metadata["language"] = clean(record.get("language"))
    yield from assemble(
        place,
        options,
        own_id=identifiers.get("openalex") or own,
        title=record.get("title") or record.get("display_name"),
        abstract=abstract,
        authors=map(_author, as_list(record.get("authorships"))),
        year=(record.get("publication_year"), record.get("publication_date")),
        venue=venue,
        identifiers=identifiers,
        url=one_line(location.get("landing_page_url")) or record.get("doi"),
        language=record.get("language"),
        references=[
            Reference(identifiers={"openalex": work})
            for cited in as_list(record.get("referenced_works"))
            if (work := normalise("openalex", cited))
        ],
        metadata=metadata | _shared(record),
    )


def _shared(record: Mapping[str, Any]) -> dict[str, str]:
    """Type, volume, issue and pages under the names that all bibliographies share; the rest as it is."""
    kind = one_line(record.get("type"))
    conference = at(record, "primary_location.source.type") == "conference"
    article = "paper-conference" if conference else "article-journal"
    pages = filter(None, (one_line(at(record, f"biblio.{name}_page")) for name in ("first", "last")))
    source = as_dict(at(record, "primary_location.source"))
    out = {
        "type": _TYPES.get(kind, article if kind == "article" else "document") if kind else "",
        "openalex_type": kind,
        "volume": one_line(at(record, "biblio.volume")),
        "issue": one_line(at(record, "biblio.issue")),
        "pages": "-".join(dict.fromkeys(pages)),
        "issn": "; ".join(map(one_line, as_list(source.get("issn")) or [source.get("issn_l")])),
    }
    return {name: value for name, value in out.items() if value}


def _author(entry: object) -> str:
    author = as_dict(entry)
    return one_line(as_dict(author.get("author")).get("display_name") or author.get("raw_author_name"))


def _invert(index: object) -> tuple[str, str]:
    """(text, remark) of an inverted index {word: [positions]}; the remark is "" when all is well.

    >>> _invert({"found": [1, 3], "Lost": [0], "is": [2]})
    ('Lost found is found', '')
    """
    if not index:
        return "", ""
    if not isinstance(index, dict):
        return "", "abstract_inverted_index is no object: no abstract"
    placed: dict[int, str] = {}
    strange = 0
    for word, positions in index.items():
        for position in as_list(positions):
            good = isinstance(position, int) and not isinstance(position, bool) and position >= 0
            if good and len(placed) < _MAX_WORDS and position not in placed:
                placed[position] = word
            else:
                strange += 1
    text = clean(" ".join(placed[position] for position in sorted(placed)))
    return text, f"{strange} positions of the abstract's index are unusable" if strange else ""


SOURCES.register("openalex")(
    JsonFormat(
        "openalex",
        "OpenAlex works and answers of its API; abstracts are rebuilt from the inverted index",
        _confidence,
        _paper,
    )
)
