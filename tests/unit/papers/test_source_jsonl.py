from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from aspectra.base.decompression import zstd
from aspectra.base.errors import BadInput
from aspectra.papers.paper import Paper, Reference, Section, Sentence
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.json.records import first_keys
from aspectra.papers.sources.protocol import SOURCES, Remark


def read(path: Path) -> tuple[list[Paper], list[Remark]]:
    items = list(read_papers(path, "jsonl"))
    return [i for i in items if isinstance(i, Paper)], [i for i in items if isinstance(i, Remark)]


def one(tmp_path: Path, record: dict[str, Any]) -> Paper:
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps(record), encoding="utf-8")
    papers, _ = read(path)
    assert len(papers) == 1
    return papers[0]


FULL = Paper(
    id="a/b c",
    title="Title",
    abstract="First. Second.",
    authors=("ACME, Inc.", "Ada Lovelace"),
    year=1843,
    venue="Notes",
    identifiers={"doi": "10.1000/x", "id": "7"},
    url="https://example.org",
    language="en",
    sections=(Section("Intro", "Text"), Section("", "More")),
    references=(Reference("raw", "key", "cited", {"doi": "10.1000/y"}), Reference(identifiers={"id": "9"})),
    sentences=(Sentence(0, 6, "background"), Sentence(7, 14)),
    metadata={"year": 5, "nested": {"a": [1, None, " x "]}},
)


def test_own_format_is_read_back_exactly(tmp_path: Path) -> None:
    assert one(tmp_path, FULL.to_dict()) == FULL


def test_names_of_a_list_made_by_hand_are_turned_round(tmp_path: Path) -> None:
    paper = one(tmp_path, {"id": "x", "title": "T", "authors": ["Thule, Ann", "ACME, Inc."]})
    assert paper.authors == ("Ann Thule", "ACME, Inc.")


def test_markup_of_a_list_made_by_hand_is_undone(tmp_path: Path) -> None:
    record = {
        "id": "x",
        "title": "Nano\xadparticles in \ufb01sh &amp; chips",
        "abstract": "A\u200bB <i>c</i>.",
    }
    paper = one(tmp_path, record)
    assert (paper.title, paper.abstract) == ("Nanoparticles in fish & chips", "AB c.")
    kept = one(tmp_path, {**record, "metadata": {"of": "us"}, "sentences": [[0, 3, ""]]})
    assert (kept.title, kept.abstract) == (record["title"], record["abstract"])


def test_beir_text_is_the_abstract(tmp_path: Path) -> None:
    paper = one(tmp_path, {"_id": 12, "title": "", "text": "Only text.", "metadata": {"url": "u"}})
    assert (paper.id, paper.title, paper.abstract, paper.metadata) == ("12", "", "Only text.", {"url": "u"})


def test_labelled_sentences_keep_exact_offsets(tmp_path: Path) -> None:
    sentences = ["It is hard. ", "", "We try.", "It works."]
    labels = ["background_label", "other_label", "method_label", "result_label"]
    paper = one(
        tmp_path,
        {
            "paper_id": "5",
            "title": "T",
            "abstract": sentences,
            "pred_labels": labels,
            "metadata": {"year": 2011},
        },
    )
    assert paper.year == 2011
    assert paper.abstract == "It is hard. We try. It works."
    assert [(paper.abstract[s.start : s.end], s.role) for s in paper.sentences] == [
        ("It is hard.", "background"),
        ("We try.", "method"),
        ("It works.", "result"),
    ]


def test_dump_fields(tmp_path: Path) -> None:
    paper = one(
        tmp_path,
        {
            "corpusid": 123,
            "title": "T",
            "abstract": "A",
            "authors": [
                {"first": "Ada", "middle": ["B."], "last": "Lovelace", "suffix": ""},
                {"name": "X Y", "authorId": 3},
            ],
            "year": "2018",
            "journal": {"name": "J"},
            "externalIds": {"DOI": "10.1000/Q", "ArXiv": "2004.07180v2"},
            "citations": [4, 5],
            "full_paper": "Body",
            "sections": [{"heading": "H", "text": "S", "subsections": [{"title": "HH", "text": ["p", "q"]}]}],
            "odd": float("nan"),
            "influential": {"n": 1},
        },
    )
    assert paper.id == "123"
    assert paper.authors == ("Ada B. Lovelace", "X Y")
    assert (paper.year, paper.venue) == (2018, "J")
    assert paper.identifiers == {"doi": "10.1000/q", "arxiv": "2004.07180", "s2": "123"}
    assert [r.identifiers["id"] for r in paper.references] == ["4", "5"]
    assert paper.sections == (Section("H", "S"), Section("HH", "p\n\nq"), Section("", "Body"))
    assert paper.metadata["influential"] == {"n": 1}
    assert paper.metadata["authors"][1]["authorId"] == 3


@pytest.mark.parametrize("edge", ["citingPaper", "citedPaper"])
def test_lists_of_citations_hold_the_paper_at_the_other_end(tmp_path: Path, edge: str) -> None:
    paper = one(
        tmp_path, {"intents": ["background"], "abstract": None, edge: {"paperId": "b1", "title": "T"}}
    )
    assert (paper.title, paper.metadata["intents"]) == ("T", ["background"])


def test_id_policy(tmp_path: Path) -> None:
    assert one(tmp_path, {"title": "T", "doi": "https://doi.org/10.1000/Z"}).id == "doi:10.1000/z"
    assert one(tmp_path, {"title": "T", "arxiv_id": "2004.07180"}).id == "arXiv:2004.07180"
    assert one(tmp_path, {"title": "T", "text": "t"}).id.startswith("h:")


@pytest.mark.parametrize(
    "text",
    [
        '[{"id": "a", "title": "T"}, {"id": "b", "title": "U"}]',
        '[\n  {"id": "a", "title": "T"},\n  {"id": "b", "title": "U"}\n]\n',
        '{"papers": [{"id": "a", "title": "T"}, {"id": "b", "title": "U"}]}',
        '{"a": {"title": "T"}, "b": {"title": "U"}}',
        '\n\n{"id": "a", "title": "T"}\n\n{"id": "b", "title": "U"}',
    ],
)
def test_shapes_of_json(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    assert [p.id for p in read(path)[0]] == ["a", "b"]


def test_one_pretty_printed_record(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"id": "a", "title": "T"}, indent=2))
    assert [p.id for p in read(path)[0]] == ["a"]


def test_compressed(tmp_path: Path) -> None:
    raw = b'{"id": "a", "title": "T"}\n'
    for name, packed in (("x.gz", gzip.compress(raw)), ("x.zst", zstd.compress(raw))):
        (tmp_path / name).write_bytes(packed)
        assert [p.id for p in read(tmp_path / name)[0]] == ["a"]


def test_truncated_gzip_keeps_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    lines = "".join(json.dumps({"id": str(i), "title": f"T {i * 7919}"}) + "\n" for i in range(5000))
    path.write_bytes(gzip.compress(lines.encode())[:-2000])
    papers, remarks = read(path)
    assert papers
    assert "damaged" in remarks[-1].reason


def test_repeated_ids_are_both_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"id": "a", "title": "T"}\n{"id": "a", "title": "U"}\n')
    papers, remarks = read(path)
    assert [p.id for p in papers] == ["a", "a~2"]
    assert [r.skipped for r in remarks] == [False]


def test_too_deep_is_a_remark(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"id":"a","title":"T","x":' + "[" * 400 + "]" * 400 + '}\n{"id":"b","title":"T"}\n')
    papers, remarks = read(path)
    assert [p.id for p in papers] == ["b"]
    assert remarks[0].skipped


def test_no_object_is_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("[1, 2]")
    with pytest.raises(BadInput, match="holds no JSON record"):
        read(path)


def test_keys_of_a_cut_record() -> None:
    assert first_keys(b'{"id": "a", "n": {"inner": 1}, "text": "long "quo', depth=1) == {"id", "n", "text"}
    assert first_keys(b'[{"a": [1, {"b": 2}], "c": "}', depth=1) == {"a", "c"}
    assert first_keys(b"[[1]]", depth=1) == frozenset()


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ('{"_id": "1", "title": "", "text": "x"}', 0.9, 1),
        ('{"id": "1", "title": "", "abstract": "x"}', 0.9, 1),
        ('{"paper_id": "1", "title": "x", "sections": [], "bib_entries": {}}', 0.5, 0.7),
        ('{"a": 1}', 0, 0.1),
        ("plain", 0, 0),
    ],
)
def test_confidence(tmp_path: Path, text: str, least: float, most: float) -> None:
    assert least <= SOURCES.get("jsonl").sniff(tmp_path / "x", text.encode()) <= most


def test_identifiers_are_recognised_however_their_field_is_spelt(tmp_path: Path) -> None:
    paper = one(
        tmp_path,
        {"key": "k", "title": "T", "ISBN": "978-3-540-46859-2", "Doi": "10.1000/Q", "PubMed_ID": ["7"]},
    )
    assert paper.identifiers == {"doi": "10.1000/q", "pmid": "7", "isbn": "9783540468592"}


_DATACITE = {
    "titles": [{"title": "Owls"}],
    "creators": [{"name": "Roe, Anna", "givenName": "Anna", "familyName": "Roe"}, {"name": "Li, Bo"}],
    "publicationYear": 2018,
    "doi": "10.55555/owl",
    "descriptions": [{"description": "Owls <i>fly</i>.", "descriptionType": "Abstract"}],
    "container": {"title": "Journal of Owls"},
}
_EUROPE_PMC = {
    "title": "Owls",
    "authorString": "Roe A, Li B.",
    "pubYear": "2018",
    "doi": "10.55555/owl",
    "abstractText": "Owls <i>fly</i>.",
    "journalInfo": {"volume": "1", "journal": {"title": "Journal of Owls"}},
}


@pytest.mark.parametrize(
    ("answer", "authors"),
    [
        ({"data": {"id": "10.55555/owl", "attributes": _DATACITE}}, ("Anna Roe", "Bo Li")),
        ({"data": [{"id": "10.55555/owl", "attributes": _DATACITE}], "meta": {}}, ("Anna Roe", "Bo Li")),
        ({"hitCount": 1, "resultList": {"result": [_EUROPE_PMC]}}, ("A Roe", "B. Li")),
        ({"recommendedPapers": [_EUROPE_PMC]}, ("A Roe", "B. Li")),
    ],
)
def test_answers_of_services_are_read(tmp_path: Path, answer: Any, authors: tuple[str, ...]) -> None:
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(answer))
    (paper,) = read_papers(path)
    assert isinstance(paper, Paper)
    assert (paper.title, paper.authors, paper.year, paper.venue, paper.abstract) == (
        *("Owls", authors, 2018, "Journal of Owls"),
        "Owls fly.",
    )
    assert paper.identifiers == {"doi": "10.55555/owl"}


@pytest.mark.parametrize("shape", [["Owls", "Eulen"], [{"title": ""}, {"title": "Owls"}], "Owls"])
def test_titles_in_a_list_without_creators(tmp_path: Path, shape: object) -> None:
    kinds = [{"descriptionType": "Methods", "description": "Nets."}, "They hunt."]
    paper = one(tmp_path, {"id": "a", "titles": shape, "descriptions": kinds, "subjects": ["owls"]})
    assert (paper.title, paper.abstract) == ("Owls", "They hunt.")
    assert paper.metadata["keywords"] == ["owls"]


@pytest.mark.parametrize(
    ("types", "stated"),
    [
        ({"citeproc": "thesis", "resourceTypeGeneral": "Text"}, "thesis"),
        ({"resourceTypeGeneral": "ConferencePaper"}, "paper-conference"),
        ({}, None),
    ],
)
def test_the_type_of_datacite_is_not_what_its_answer_is_a_list_of(
    tmp_path: Path, types: dict[str, str], stated: str | None
) -> None:
    record = {"id": "10.55555/owl", "type": "dois", "attributes": {**_DATACITE, "types": types}}
    assert one(tmp_path, {"data": record}).metadata.get("type") == stated
