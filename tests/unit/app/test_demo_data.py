"""The demo library: well formed, sentence by sentence, and in words of our own."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
DEMO = ROOT / "src" / "aspectra" / "data" / "demo.jsonl"
PAPERS = ROOT.parent / "shared" / "papers"
RUN = 8
ROLES = {"background", "objective", "method", "result", "other"}
KEYS = {
    "id",
    "title",
    "abstract",
    "authors",
    "year",
    "venue",
    "identifiers",
    "sentences",
    "references",
    "metadata",
}
FIVE = {
    "csfcube-exploration": "maheshwari2026exploration",
    "infosearch": "zhou-infosearch",
    "litsearch": "ajith2024litsearch",
    "prism-scifullbench": "anonymous-prism",
    "obliq-bench": "tchuindjo-obliq",
}


def load() -> list[dict[str, Any]]:
    return [json.loads(line) for line in DEMO.read_text(encoding="utf-8").splitlines()]


ENTRIES = load()
BY_ID = {entry["id"]: entry for entry in ENTRIES}


def sentences_of(entry: dict[str, Any]) -> list[str]:
    return [entry["abstract"][start:end] for start, end, _ in entry["sentences"]]


def runs_of(text: str) -> set[tuple[str, ...]]:
    """Every run of ``RUN`` consecutive words, case and accents folded."""
    folded = unicodedata.normalize("NFKD", text).casefold()
    words = re.findall(r"[a-z0-9]+", "".join(c for c in folded if not unicodedata.combining(c)))
    return {tuple(words[i : i + RUN]) for i in range(len(words) - RUN + 1)}


def test_there_are_enough_entries_and_their_ids_are_unique() -> None:
    assert len(ENTRIES) >= 80
    assert [i for i, n in Counter(entry["id"] for entry in ENTRIES).items() if n > 1] == []
    assert [t for t, n in Counter(entry["title"].casefold() for entry in ENTRIES).items() if n > 1] == []


def test_all_five_papers_are_there_and_each_cites_some_of_the_rest() -> None:
    for paper in FIVE.values():
        assert len(BY_ID[paper]["references"]) >= 10


def test_entry_has_the_agreed_form() -> None:
    for entry in ENTRIES:
        assert set(entry) <= KEYS
        assert all(value not in ("", [], {}, None) for value in entry.values())
        assert entry["title"] == entry["title"].strip()
        assert isinstance(entry.get("year", 2000), int)
        assert all(name == name.strip() and name for name in entry.get("authors", ()))
        assert set(entry.get("identifiers", {})) <= {"doi", "arxiv", "acl"}
        assert (
            entry["metadata"]["note"] == "summary written by the Aspectra authors; not the paper's abstract"
        )


def test_sentence_offsets_are_exact() -> None:
    for entry in ENTRIES:
        parts = sentences_of(entry)
        assert 4 <= len(parts) <= 7
        assert " ".join(parts) == entry["abstract"]
        for part in parts:
            assert part[0].isupper()
            assert part.endswith(".")
            assert not re.search(r"[.!?] ", part)
        assert {role for *_, role in entry["sentences"]} <= ROLES


def test_references_resolve_and_agree_with_cited_by() -> None:
    by_reference = {
        (slug, reference["identifiers"]["id"])
        for slug, paper in FIVE.items()
        for reference in BY_ID[paper]["references"]
    }
    by_metadata = {(slug, e["id"]) for e in ENTRIES for slug in e["metadata"].get("cited_by", ())}
    assert {cited for _, cited in by_reference} <= set(BY_ID)
    assert by_reference == by_metadata
    cited = {paper for _, paper in by_metadata} | set(FIVE.values())
    assert cited == set(BY_ID)
    assert {e["id"] for e in ENTRIES if "references" in e} == set(FIVE.values())


def test_no_two_summaries_share_a_sentence() -> None:
    counts = Counter(part for entry in ENTRIES for part in sentences_of(entry))
    assert [part for part, n in counts.items() if n > 1] == []


@pytest.mark.skipif(not PAPERS.is_dir(), reason="the five papers' texts are not beside the checkout")
def test_no_summary_repeats_a_run_of_words_from_the_five_papers() -> None:
    texts = sorted(PAPERS.glob("*.txt"))
    assert len(texts) == 5
    theirs = set().union(*(runs_of(text.read_text(encoding="utf-8")) for text in texts))
    shared = {e["id"]: sorted(found) for e in ENTRIES if (found := runs_of(e["abstract"]) & theirs)}
    assert shared == {}
