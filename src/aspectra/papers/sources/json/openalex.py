"""OpenAlex works as JSON Lines (the snapshot, or saved answers of the API).

The abstract is put together again from its inverted index; ``referenced_works`` become references with
``openalex`` identifiers. Everything else of the record stays in ``metadata``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from aspectra.papers.identifiers import normalise
from aspectra.papers.paper import Paper, Reference
from aspectra.papers.sources.fields import assemble, identifiers_of, language_of, one_line, year_in
from aspectra.papers.sources.files import clean
from aspectra.papers.sources.json._records import as_dict, as_list, first_keys, read_records, rest
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark

__all__ = ["OpenAlex", "invert"]

_OWN = {"referenced_works", "abstract_inverted_index", "authorships", "primary_location", "cited_by_count"}
_USED = (
    *("id", "title", "display_name", "abstract_inverted_index", "publication_year", "referenced_works"),
    *("doi", "language"),
)
_TYPES = {
    "preprint": "article",
    "book": "book",
    "book-chapter": "chapter",
    "dissertation": "thesis",
    "dataset": "dataset",
    "report": "report",
    "review": "article-journal",
}
_MAX_WORDS = 200_000


class OpenAlex:
    """OpenAlex works."""

    name = "openalex"

    def sniff(self, path: Path, head: bytes) -> float:
        """0.97 for records with the keys of an OpenAlex work, else 0."""
        keys = first_keys(head, depth=1)
        if "results" in keys and b"openalex.org" in head:
            keys = {key.partition(".")[2] for key in first_keys(head, depth=2)}
        work = "id" in keys and len(keys & _OWN) >= 2 and b"openalex.org/W" in head
        return 0.97 if work else 0.0

    def read(self, path: Path, options: ReadOptions) -> Iterator[Paper | Remark]:
        """Papers in file order; an API answer gives the papers of its ``results``.

        Raises:
            BadInput: the file holds no JSON record.
        """
        yield from read_records(path, options, _papers)


def _papers(record: dict[str, Any], place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    results = record.get("results")
    if not isinstance(results, list):
        yield from _paper(record, place, options)
        return
    for number, work in enumerate(results, 1):
        here = f"{place}, result {number}"
        if isinstance(work, dict):
            yield from _paper(work, here, options)
        else:
            yield Remark(here, "not a JSON object")


def _paper(record: Mapping[str, Any], place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    ids = as_dict(record.get("ids"))
    location = as_dict(record.get("primary_location"))
    pages = [one_line(as_dict(copy).get("landing_page_url")) for copy in as_list(record.get("locations"))]
    pages.append(one_line(location.get("landing_page_url")))
    arxiv = next((page for page in pages if "arxiv.org/abs/" in page), "")
    own = record.get("id") or ids.get("openalex")
    identifiers = identifiers_of(
        [
            ("doi", record.get("doi") or ids.get("doi")),
            ("arxiv", arxiv.partition("arxiv.org/abs/")[2]),
            ("openalex", own),
            ("pmid", one_line(ids.get("pmid")).rpartition("/")[2]),
            ("pmcid", _pmcid(ids.get("pmcid"))),
        ]
    )
    abstract, note = invert(record.get("abstract_inverted_index"))
    if note:
        yield Remark(place, note, skipped=False)
    venue = as_dict(location.get("source")).get("display_name") or as_dict(record.get("host_venue")).get(
        "display_name"
    )
    language = language_of(record.get("language"))
    metadata = rest(record, _USED)
    if record.get("language") and not language:
        metadata["language"] = clean(record.get("language"))
    yield from assemble(
        place,
        options,
        own_id=identifiers.get("openalex") or own,
        title=one_line(record.get("title") or record.get("display_name")),
        abstract=abstract,
        authors=_authors(record.get("authorships")),
        year=year_in(record.get("publication_year")) or year_in(record.get("publication_date")),
        venue=one_line(venue),
        identifiers=identifiers,
        url=one_line(location.get("landing_page_url")) or one_line(record.get("doi")),
        language=language,
        references=[
            Reference(identifiers={"openalex": work})
            for cited in as_list(record.get("referenced_works"))
            if (work := normalise("openalex", cited))
        ],
        metadata=metadata | _shared(record, location),
    )


def _shared(record: Mapping[str, Any], location: Mapping[str, Any]) -> dict[str, str]:
    """Type, volume, issue and pages under the names that all bibliographies share; the rest as it is."""
    out: dict[str, str] = {}
    kind = one_line(record.get("type"))
    if kind:
        in_conference = as_dict(location.get("source")).get("type") == "conference"
        article = "paper-conference" if in_conference else "article-journal"
        out["type"] = _TYPES.get(kind, article if kind == "article" else "document")
        out["openalex_type"] = kind
    biblio = as_dict(record.get("biblio"))
    pages = [page for name in ("first_page", "last_page") if (page := one_line(biblio.get(name)))]
    out |= {"volume": one_line(biblio.get("volume")), "issue": one_line(biblio.get("issue"))}
    out["pages"] = "–".join(dict.fromkeys(pages))
    return {name: value for name, value in out.items() if value}


def _pmcid(value: object) -> str:
    number = one_line(value).rstrip("/").rpartition("/")[2]
    return f"PMC{number}" if number.isdigit() else number


def _authors(value: object) -> list[str]:
    names = []
    for entry in as_list(value):
        person = as_dict(as_dict(entry).get("author")).get("display_name")
        if name := one_line(person or as_dict(entry).get("raw_author_name")):
            names.append(name)
    return names


def invert(index: object) -> tuple[str, str]:
    """(text, remark) of an inverted index {word: [positions]}; the remark is "" when all is well.

    >>> invert({"found": [1, 3], "Lost": [0], "is": [2]})
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


SOURCES.register("openalex")(OpenAlex())
