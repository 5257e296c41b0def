"""A paper out of one JSON record, whatever names its fields have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from aspectra.papers.bibliography import language_of, names_in
from aspectra.papers.identifiers import named_identifiers
from aspectra.papers.names import people, person, split_names
from aspectra.papers.paper import Paper, Reference, Section, Sentence
from aspectra.papers.sources.assembly import assemble, identifiers_of, role_of, within_limits, year_in
from aspectra.papers.sources.json.records import SHOWN, WRAPPERS, JsonFormat, as_dict, as_list, at, first_keys
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Remark
from aspectra.papers.sources.tables.columns import people_in
from aspectra.papers.text.cleaning import clean, one_line, storable, unmarked

# Answers of DataCite, Europe PMC and Semantic Scholar: what they nest, under the names other records have.
#
# The nested fields stay as they are beside it. Sources: "DataCite Metadata Schema" 4.6; "Europe PMC RESTful
# Web Service" (result type core); "Semantic Scholar Academic Graph API" (paper).

_NBIB_TYPES = {kind.casefold(): type_ for kind, type_ in names_in("nbib").types.items()}


def spread(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with the fields that these services nest; what it has under the name already stays."""
    if record.keys() & {"titles", "descriptions"}:
        found = _datacite(record)
        if record.get("type") == "dois":  # what the answer is a list of
            record = {**record, "type": found["type"]}
    elif record.keys() & {"pubYear", "journalInfo", "authorString"}:
        found = _europe_pmc(record)
    else:
        found = _nested("semantic-scholar", record)
    return {**record, **{name: value for name, value in found.items() if value and not record.get(name)}}


def _nested(service: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """The texts that records of a service nest, under the names that all records share."""
    return names_in(service).shared_texts(lambda path: one_line(at(record, path)))


def _objects(values: object) -> list[Mapping[str, Any]]:
    return [as_dict(value) for value in as_list(values)]


def _texts(values: object, name: str) -> list[str]:
    """The texts of a list: its own, and those that its objects have under a name."""
    listed = values if isinstance(values, list) else [values]
    found = (one.get(name) if isinstance(one, Mapping) else one for one in listed)
    return [text for text in found if isinstance(text, str) and text.strip()]


def _datacite(record: Mapping[str, Any]) -> dict[str, Any]:
    told = record.get("descriptions")
    if isinstance(told, list):
        told = [one for one in told if as_dict(one).get("descriptionType") in (None, "Abstract", "Other")]
    texts = _nested("datacite", record)
    pages = (texts.pop("first"), texts.pop("last"))
    helpers = _objects(record.get("contributors"))
    serial = at(record, "container.identifier") if at(record, "container.identifierType") == "ISSN" else ""
    general = one_line(at(record, "types.resourceTypeGeneral"))
    return {
        "type": one_line(at(record, "types.citeproc")) or names_in("datacite").types.get(general, ""),
        "title": next(iter(_texts(record.get("titles"), "title")), ""),
        "abstract": next(iter(_texts(told, "description")), ""),
        "keywords": [*map(one_line, _texts(record.get("subjects"), "subject"))],
        **texts,
        "pages": "-".join(filter(None, pages)),
        "issn": one_line(serial),
        "editors": [one for one in helpers if one.get("contributorType") == "Editor"],
    }


def _europe_pmc(record: Mapping[str, Any]) -> dict[str, Any]:
    listed = _objects(at(record, "authorList.author"))
    headings = _objects(at(record, "meshHeadingList.meshHeading"))
    words = [*as_list(at(record, "keywordList.keyword")), *(one.get("descriptorName") for one in headings)]
    kinds = as_list(at(record, "pubTypeList.pubType"))
    return {
        "authors": [
            {
                "given": one.get("firstName") or one.get("initials") or "",
                "family": one["lastName"],
                "suffix": one.get("suffix") or "",
            }
            if one.get("lastName")
            else one_line(one.get("collectiveName") or one.get("fullName"))
            for one in listed
        ],
        "keywords": list(dict.fromkeys(map(one_line, words))),
        **_nested("europe-pmc", record),
        "type": next((t for kind in kinds if (t := _NBIB_TYPES.get(one_line(kind).casefold()))), ""),
        "database": "Europe PMC",
    }


OWN_KEYS = frozenset(field.name for field in fields(Paper))

_FIELDS = names_in("jsonl").attributes
_NESTED_IDS = ("identifiers", "externalIds", "external_ids", "externalids", "ids")
_EDGES = ("citingPaper", "citedPaper", "attributes")  # Semantic Scholar's citations; DataCite's records
_NAMED = ("name", "display_name", "title", "description", "journal")


class _Record:
    """A record whose fields are taken one by one; the others become metadata."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self.taken: set[str] = set()

    def first(self, names: Iterable[str], kinds: type | tuple[type, ...] = object) -> Any:
        for name in names:
            value = self.data.get(name)
            if value is not None and value != "" and isinstance(value, kinds):
                self.taken.add(name)
                return value
        return None

    def rest(self) -> dict[str, Any]:
        inner = dict(as_dict(self.data.get("metadata")))
        outer = {k: v for k, v in self.data.items() if k not in self.taken and v is not None and v != ""}
        if inner:
            outer.pop("metadata", None)
            clash = {k: inner.pop(k) for k in list(inner) if k in outer}
            outer = {**inner, **outer}
            if clash:
                outer["metadata"] = clash
        result: dict[str, Any] = storable(outer)
        return result


def papers_in_record(record: Mapping[str, Any], place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    """The paper of one record, with remarks; our own layout is read back exactly.

    Raises:
        ValueError: the record is nested too deeply to be one.
    """
    if "id" in record and OWN_KEYS.issuperset(record):
        yield from _own(record, place, options)
        return
    if edge := next((name for name in _EDGES if as_dict(record.get(name))), ""):
        record = {**{key: value for key, value in record.items() if key != edge}, **record[edge]}
    data = _Record(spread(record))
    meta = as_dict(record.get("metadata"))
    own_id = data.first(_FIELDS["id"], (str, int, float))
    title = data.first(_FIELDS["title"], (str, int, float))
    abstract, sentences, remark = _abstract(data, place)
    if remark:
        yield remark
    sections = list(_sections(data.first(_FIELDS["sections"], (list, dict))))
    if text := data.first(_FIELDS["text"], str):
        if not abstract:
            abstract = clean(text)
        elif clean(text) != abstract:
            sections.append(Section("", clean(text)))
    if text := data.first(_FIELDS["full"], str):
        sections.append(Section("", text))
    stated = data.first(_FIELDS["year"], (str, int, float))
    if year_in(stated) is None:
        data.taken.difference_update(_FIELDS["year"])  # unreadable: unchanged in the metadata
    # Else out of the nested metadata or a date; both stay in the metadata.
    elsewhere = (
        value
        for source in (meta, record)
        for name in (*_FIELDS["year"], *_FIELDS["date"])
        if isinstance(value := source.get(name), str | int | float)
    )

    yield from assemble(
        place,
        options,
        own_id=own_id,
        title=title,
        abstract=abstract,
        authors=_authors(data),
        year=(stated, *elsewhere),
        venue=_venue(data),
        identifiers=_identifiers(data, meta),
        url=data.first(_FIELDS["url"], str),
        language=_language(data),
        sections=sections,
        references=_references(data),
        sentences=sentences,
        unread=data.rest() | ({"editors": editors} if (editors := _people(data.data.get("editors"))) else {}),
    )


def _own(record: Mapping[str, Any], place: str, options: ReadOptions) -> Iterator[Paper | Remark]:
    """Our own layout, nothing renamed or moved. Without metadata, names are turned and markup is undone."""
    turn = "metadata" not in record
    undo = unmarked if options.markup and turn else str
    abstract_raw = record.get("abstract")
    sentences: list[Sentence] = []
    if isinstance(abstract_raw, list):
        abstract, sentences = _joined(abstract_raw, [])
    else:
        abstract = clean(abstract_raw)
        if not (spans := record.get("sentences")):
            abstract = clean(undo(abstract))
        else:
            sentences, problem = _spans(spans, abstract, moved=abstract != abstract_raw)
            if problem:
                yield Remark(place, f"sentence spans left out: {problem}", skipped=False)
    authors = record.get("authors")
    listed = [person(one, turn=turn) for one in as_list(authors)]
    names = split_names(authors) if isinstance(authors, str) else listed
    paper = Paper(
        id=clean(record["id"]),
        title=clean(undo(clean(record.get("title")))),
        abstract=abstract,
        authors=tuple(filter(None, names)),
        year=year_in(record.get("year")),
        venue=undo(_name(record.get("venue"))),
        identifiers=_cleaned(record.get("identifiers")),
        url=clean(record.get("url")),
        language=clean(record.get("language")),
        sections=tuple(_sections(record.get("sections"))),
        references=tuple(r for r in map(_reference, record.get("references") or ()) if r),
        sentences=tuple(sentences),
        metadata=storable(as_dict(record.get("metadata"))),
    )
    yield from within_limits(paper, place, options, record["id"])


def _cleaned(identifiers: object) -> dict[str, str]:
    return {clean(k): clean(v) for k, v in as_dict(identifiers).items() if clean(k) and clean(v)}


def _spans(spans: object, abstract: str, *, moved: bool) -> tuple[list[Sentence], str]:
    if moved:
        return [], "the abstract had to be cleaned, so that offsets moved"
    out: list[Sentence] = []
    if not isinstance(spans, list):
        return [], "not a list"
    for span in spans:
        match span:
            case [int(start), int(end), str(role)] if 0 <= start < end <= len(abstract):
                out.append(Sentence(start, end, clean(role)))
            case _:
                return [], "not of the form [start, end, role] within the abstract"
    return out, ""


def _joined(sentences: list[Any], labels: list[Any]) -> tuple[str, list[Sentence]]:
    """Sentences joined by a blank, with the offset of each in the whole."""
    text: list[str] = []
    spans: list[Sentence] = []
    at = 0
    for number, raw in enumerate(sentences):
        if isinstance(raw, Mapping):
            raw = raw.get("text")  # noqa: PLW2901 - a paragraph with its spans
        sentence = clean(raw) if isinstance(raw, str | int | float) else ""
        if not sentence:
            continue
        start = at + 1 if text else 0
        at = start + len(sentence)
        text.append(sentence)
        spans.append(Sentence(start, at, role_of(labels[number]) if labels else ""))
    return " ".join(text), spans


def _abstract(data: _Record, place: str) -> tuple[str, list[Sentence], Remark | None]:
    abstract = data.first(_FIELDS["abstract"], (str, list))
    if isinstance(abstract, str):
        return clean(abstract), [], None
    listed = data.data.get("sentences")
    if abstract is None and isinstance(listed, list) and all(isinstance(s, str) for s in listed):
        data.taken.add("sentences")
        abstract = listed
    if not abstract:
        return "", [], None
    labels = data.first(_FIELDS["labels"], list) or []
    remark = None
    if labels and len(labels) != len(abstract):
        reason = f"{len(labels)} labels for {len(abstract)} sentences: roles left out"
        remark = Remark(place, reason, skipped=False)
        data.taken.difference_update(_FIELDS["labels"])
        labels = []
    text, spans = _joined(abstract, labels)
    return text, spans, remark


def _name(value: Any) -> str:
    if isinstance(value, list):
        value = value[0] if value else ""
    if isinstance(value, Mapping):
        return _name(next((value[key] for key in _NAMED if value.get(key)), ""))
    return one_line(value) if isinstance(value, str | int) else ""


def _venue(data: _Record) -> str:
    for name in _FIELDS["venue"]:
        value = data.data.get(name)
        if text := _name(value):
            if isinstance(value, str):
                data.taken.add(name)
            return text
    return ""


_NAME_PARTS = frozenset(["name", "first", "middle", "last", "suffix", "given", "family"])


def _authors(data: _Record) -> list[str]:
    value = data.first(_FIELDS["authors"], (str, list))
    if any(isinstance(a, Mapping) and not _NAME_PARTS.issuperset(a) for a in as_list(value)):
        data.taken.difference_update(_FIELDS["authors"])  # affiliations, ids: unchanged in the metadata
    return _people(value)


def _people(value: object) -> list[str]:
    """The names in a text, or in a list of texts and objects."""
    return people_in(value) if isinstance(value, str) else people(as_list(value))


def _identifiers(data: _Record, meta: Mapping[str, Any]) -> dict[str, str]:
    sources: list[Mapping[str, Any]] = [data.data, meta]
    sources += [n for name in _NESTED_IDS if isinstance(n := data.data.get(name), Mapping)]
    found = identifiers_of(pair for source in sources for pair in named_identifiers(source))
    plain = ("doi", "arxiv_id", "acl_id", "pmid", "pmcid")
    data.taken.update(key for key in plain if data.data.get(key) in found.values())
    return found


def _language(data: _Record) -> str:
    value = data.first(_FIELDS["language"], str)
    tag = language_of(value)
    if tag != value:
        data.taken.difference_update(_FIELDS["language"])
    return tag


def _sections(value: Any, depth: int = 0) -> Iterator[Section]:
    if isinstance(value, Mapping):
        value = [{"heading": heading, "text": text} for heading, text in value.items()]
    if not isinstance(value, list) or depth > 8:
        return
    for item in value:
        if isinstance(item, str):
            yield Section("", clean(item))
        elif isinstance(item, Mapping):
            heading = item.get("heading") or item.get("title") or item.get("section") or item.get("name")
            text = item.get("text") or item.get("content") or item.get("paragraphs")
            if isinstance(text, list):
                parts = [p.get("text", "") if isinstance(p, Mapping) else p for p in text]
                text = "\n\n".join(clean(p) for p in parts if isinstance(p, str))
            shown = one_line(heading) if isinstance(heading, str | int) else ""
            body = clean(text) if isinstance(text, str) else ""
            if shown or body:
                yield Section(shown, body)
            yield from _sections(item.get("subsections") or item.get("sections"), depth + 1)


def _reference(value: Any) -> Reference | None:
    if isinstance(value, str | int) and not isinstance(value, bool):
        text = one_line(value)
        return Reference(identifiers={"id": text}) if text else None
    if not isinstance(value, Mapping):
        return None
    ids = _cleaned(value.get("identifiers"))
    if not ids:
        ids = identifiers_of(named_identifiers(value))
        own = next((value[k] for k in ("id", "paper_id", "paperId") if value.get(k)), None)
        if isinstance(own, str | int):
            ids["id"] = one_line(own)
    raw, key, title = (
        one_line(value[name]) if isinstance(value.get(name), str) else "" for name in ("raw", "key", "title")
    )
    return Reference(raw, key, title, ids) if (raw or key or title or ids) else None


def _references(data: _Record) -> list[Reference]:
    value = data.first(_FIELDS["references"], list)
    cited = data.data.get("citations")
    # LitSearch names the papers a record cites "citations"; elsewhere those are the citing ones.
    plain = isinstance(cited, list) and all(isinstance(c, int | str) for c in cited)
    if value is None and plain and "corpusid" in data.data:
        data.taken.add("citations")
        value = cited
    if not value:
        return []
    if any(isinstance(item, Mapping) or item is None for item in value):
        data.taken.difference_update(_FIELDS["references"])
    return [reference for reference in map(_reference, value) if reference]


# JSON Lines and JSON arrays: our own format, BEIR corpora, and the dumps people pass around.
#
# Read are our own :meth:`Paper.to_dict`; BEIR (``_id``, ``title``, ``text``); S2ORC-like metadata,
# LitSearch and other dumps under the usual field names; CSFCube, whose abstract is a list of sentences with
# labels. Whatever field is not understood stays in ``metadata``.

_BEIR_KEYS = frozenset(("_id", "title", "text", "metadata"))


def _confidence(keys: frozenset[str], head: bytes) -> float:
    keys = first_keys(head, depth=1)
    if {"_id", "text"} <= keys <= _BEIR_KEYS:
        return 0.95
    if "id" in keys and keys <= OWN_KEYS and keys & SHOWN:
        return 0.9
    if keys & SHOWN or "sentences" in keys:
        return 0.6
    return 0.3 if keys & {*WRAPPERS, "resultList"} else 0.05


SOURCES.register("jsonl")(
    JsonFormat(
        "jsonl",
        "our own records, BEIR (`_id`, `title`, `text`), S2ORC-style dumps, sentence lists with labels",
        _confidence,
        papers_in_record,
        (".jsonl", ".json"),
    )
)
