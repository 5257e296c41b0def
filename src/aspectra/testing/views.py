"""Conformance tests for views, encoders and sources."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from aspectra.base.errors import BadInput, UsageError
from aspectra.base.values import replace
from aspectra.papers.paper import Paper, Remark
from aspectra.papers.sources.detection import read_papers
from aspectra.papers.sources.protocol import SOURCES, ReadOptions, Source
from aspectra.views.encoders.protocol import Encoder, Kind, TokenEncoder, Vectors
from aspectra.views.index.opened import VIEW_KINDS, Index
from aspectra.views.protocol import UnitView, VectorView, View, WordView
from aspectra.views.view import Floats, Probe

_K1, _B = 1.5, 0.75


@dataclass(frozen=True)
class Limit:
    """A filter that a dictionary can apply.

    Attributes:
        since, until: bounds of the year, both included; papers without a year do not pass one.
        venue: the only venue, or "".

    A bound on a field that no paper states is not applied: see :meth:`applied`.
    """

    since: int | None = None
    until: int | None = None
    venue: str = ""

    def applied(self, papers: Iterable[Paper]) -> Limit:
        """The limit without the bounds on year or venue if none of the papers states one."""
        known = list(papers)
        dated, placed = any(p.year is not None for p in known), any(p.venue for p in known)
        return Limit(*((self.since, self.until) if dated else (None, None)), self.venue if placed else "")

    def passes(self, paper: Paper) -> bool:
        """True if a search with this limit may show a paper."""
        if self.since is not None and (paper.year is None or paper.year < self.since):
            return False
        if self.until is not None and (paper.year is None or paper.year > self.until):
            return False
        return not self.venue or paper.venue == self.venue


def after_adding(held: Mapping[str, Paper], new: Paper) -> Paper:
    """The paper that a library holds once ``new`` was added: a record without abstract takes none away."""
    old = held.get(new.id)
    if old is not None and old.abstract.strip() and not new.abstract.strip():
        return replace(new, abstract=old.abstract)
    return new


def bm25_scores(query: str, papers: Mapping[str, Paper]) -> dict[str, float]:
    """Id -> BM25 of titles and abstracts, for papers that share a word with the query.

    The variant is that of Lucene as Kamphuis et al. give it ("Which BM25 Do You Mean?", 2020, table 1), with
    k1 = 1.5 and b = 0.75. Words are what spaces separate: texts must be of words that no stemmer changes.

    >>> papers = {"a": Paper("a", "owl"), "b": Paper("b", "fox")}
    >>> {paper: round(score, 4) for paper, score in bm25_scores("owl", papers).items()}
    {'a': 0.2773}
    """
    documents = {i: f"{paper.title} {paper.abstract}".split() for i, paper in papers.items()}
    mean = sum(map(len, documents.values())) / max(len(documents), 1)
    scores: dict[str, float] = {}
    for word in query.split():
        holding = {i: words.count(word) for i, words in documents.items() if word in words}
        rarity = math.log(1 + (len(documents) - len(holding) + 0.5) / (len(holding) + 0.5))
        for paper_id, count in holding.items():
            length = len(documents[paper_id]) / mean
            gain = rarity * count / (count + _K1 * (1 - _B + _B * length))
            scores[paper_id] = scores.get(paper_id, 0.0) + gain
    return scores


class ViewConformance:
    """Tests of the views of an index. A subclass, or its module, has fixtures ``index`` and ``probe``.

    The probe is on the view that is tested; two of the index's papers, at least, match it.
    """

    def test_the_view_is_what_its_name_says(self, index: Index, probe: Probe) -> None:
        view = index.view(probe.view)
        assert view.facts.kind in VIEW_KINDS
        assert isinstance(view, View)
        assert view.name == view.facts.name == probe.view
        assert isinstance(view, WordView) == view.facts.lexical
        assert isinstance(view, VectorView) != (view.facts.lexical or view.facts.kind in ("graph", "late"))
        assert isinstance(view, UnitView) <= isinstance(view, VectorView)
        assert (view.units is None) == (not view.facts.units)

    def test_all_papers_are_scored_in_their_order(self, index: Index, probe: Probe) -> None:
        scored = index.view(probe.view).score(probe)
        assert scored.papers.tolist() == list(range(len(index)))
        assert scored.scores.shape == (len(index),)
        assert scored.scores.dtype == np.float32
        assert np.isfinite(scored.scores[~np.isnan(scored.scores)]).any()

    def test_some_papers_have_the_scores_they_have_among_all(self, index: Index, probe: Probe) -> None:
        view = index.view(probe.view)
        some = np.arange(len(index))[::-2]
        alone = view.score(probe, some)
        assert alone.papers.tolist() == some.tolist()
        np.testing.assert_allclose(alone.scores, view.score(probe).scores[some], rtol=1e-5, atol=1e-6)

    def test_several_probes_score_as_each_alone(self, index: Index, probe: Probe) -> None:
        view = index.view(probe.view)
        asked = view.look_up(probe)
        for one in view.score_many([asked, asked, asked]):
            np.testing.assert_allclose(one.scores, view.score(probe).scores, rtol=1e-5, atol=1e-6)

    def test_the_best_are_the_head_of_the_one_order(self, index: Index, probe: Probe) -> None:
        view = index.view(probe.view)
        found = view.score(probe).scores
        scores: Floats = np.where(np.isnan(found), np.float32(-np.inf), found)
        order = sorted(range(len(index)), key=lambda at: (scores[at], index.ids[at]), reverse=True)
        most = view.top(probe, len(index) + 5).papers.tolist()
        assert len(most) >= 2
        assert most == order[: len(most)]
        for k in (0, 1, 2):
            assert view.top(probe, k).papers.tolist() == order[:k]

    def test_papers_that_are_not_allowed_do_not_appear(self, index: Index, probe: Probe) -> None:
        view = index.view(probe.view)
        best = view.top(probe, len(index)).papers
        allowed = np.ones(len(index), dtype=np.bool_)
        allowed[best[0]] = False
        assert view.top(probe, len(index), allowed).papers.tolist() == best[1:].tolist()

    def test_units_that_decided_belong_to_their_papers(self, index: Index, probe: Probe) -> None:
        view = index.view(probe.view)
        scored = view.score(probe)
        if view.units is None or scored.units is None:
            return
        for paper, unit in zip(scored.papers, scored.units, strict=True):
            assert unit == -1 or view.units.offsets[paper] <= unit < view.units.offsets[paper + 1]


# What every encoder owes, whoever wrote it.

TEXTS = (
    "Dense retrieval of scientific papers",
    "",
    "We study how instructions change what a search engine returns. " * 5,
    "Ünïcödé, 漢字 and 🙂 emoji",
    "   \n\t ",
    "lone surrogate \ud800 here",
    "a",
)
_EMPTY = {1, 4}


class EncoderConformance:
    """Tests of an encoder. A subclass, or its module, has a fixture ``encoder``."""

    def test_its_attributes(self, encoder: Encoder) -> None:
        assert encoder.name
        assert all(c.isalnum() or c in ".-" for c in encoder.name)
        assert encoder.fingerprint
        assert encoder.dimensions > 0
        assert encoder.max_tokens > 0
        assert isinstance(encoder.late_pooling, bool)
        assert isinstance(encoder.remote, str)

    def test_shapes_types_and_length(self, encoder: Encoder) -> None:
        result = encoder.encode(TEXTS)
        assert result.vectors.shape == (len(TEXTS), encoder.dimensions)
        assert result.vectors.dtype == np.float32
        assert np.isfinite(result.vectors).all()
        assert result.truncated.shape == (len(TEXTS),)
        assert result.truncated.dtype == np.bool_
        assert result.spans == []
        for index, length in enumerate(np.linalg.norm(result.vectors, axis=1)):
            assert abs(length - 1) < 1e-4 or (index in _EMPTY and length == 0)

    def test_nothing_in_nothing_out(self, encoder: Encoder) -> None:
        for result in (encoder.encode([], kind="query"), encoder.encode([], kind="document")):
            assert result.vectors.shape == (0, encoder.dimensions)
            assert result.truncated.shape == (0,)
            assert result.spans == []

    def test_one_by_one_is_all_at_once(self, encoder: Encoder) -> None:
        together = encoder.encode(TEXTS).vectors
        apart = np.concatenate([encoder.encode([text]).vectors for text in TEXTS])
        np.testing.assert_allclose(together, apart, atol=1e-2)
        backwards = encoder.encode(TEXTS[::-1]).vectors[::-1]
        np.testing.assert_allclose(together, backwards, atol=1e-2)

    def test_different_texts_differ(self, encoder: Encoder) -> None:
        one, other = encoder.encode(["papers on search engines", "owls hunt at night"]).vectors
        assert float(one @ other) < 0.99

    def test_a_very_long_text_is_cut_and_said(self, encoder: Encoder) -> None:
        text = "search engine papers. " * max(200, encoder.max_tokens)
        assert encoder.encode(["short", text]).truncated.tolist() == [False, True]

    def test_instruction_and_kind_are_accepted(self, encoder: Encoder) -> None:
        result = encoder.encode(["graphs"], kind="query", instruction="Find surveys only.")
        assert result.vectors.shape == (1, encoder.dimensions)

    def test_spans_or_a_clear_refusal(self, encoder: Encoder) -> None:
        text = "the search engine. papers on search."
        asked = [[(0, 18), (19, len(text)), (5, 5), (10_000, 10_010)], []]
        if not encoder.late_pooling:
            with pytest.raises(UsageError, match="spans"):
                encoder.encode([text, "x"], spans=asked)
            return
        result = encoder.encode([text, "x"], spans=asked)
        assert [rows.shape for rows in result.spans] == [(4, encoder.dimensions), (0, encoder.dimensions)]
        assert all(rows.dtype == np.float32 for rows in result.spans)
        np.testing.assert_allclose(np.linalg.norm(result.spans[0], axis=1), [1, 1, 0, 0], atol=1e-4)
        np.testing.assert_allclose(result.vectors, encoder.encode([text, "x"]).vectors, atol=1e-2)
        with pytest.raises(UsageError):
            encoder.encode([text], spans=asked)

    @pytest.mark.parametrize("kind", ["query", "document"])
    def test_token_states_come_with_the_same_vectors(self, encoder: Encoder, kind: Kind) -> None:
        if not isinstance(encoder, TokenEncoder):
            return
        asked = [[(0, min(4, len(text)))] for text in TEXTS]
        seen: dict[int, tuple[int, list[tuple[int, int]]]] = {}

        def each(index: int, states: Vectors, offsets: NDArray[np.int64]) -> None:
            assert index not in seen
            assert states.shape == (len(offsets), encoder.dimensions)
            seen[index] = len(states), [(int(a), int(b)) for a, b in offsets]

        result = encoder.encode_tokens(TEXTS, each, kind=kind, spans=asked)
        plain = encoder.encode(TEXTS, kind=kind, spans=asked)
        np.testing.assert_array_equal(result.vectors, plain.vectors)
        np.testing.assert_array_equal(np.concatenate(result.spans), np.concatenate(plain.spans))
        assert sorted(seen) == list(range(len(TEXTS)))
        for index, text in enumerate(TEXTS):
            real = [(a, b) for a, b in seen[index][1] if a < b]
            assert real == sorted(real)
            assert all(b <= len(text) for _, b in real)
            assert bool(real) == (index not in _EMPTY)

    def test_threads_share_an_encoder(self, encoder: Encoder) -> None:
        texts = [f"{word} on {other}" for word in ("papers", "engine", "search") for other in "abcdefgh"]
        alone = encoder.encode(texts).vectors
        with ThreadPoolExecutor(4) as pool:
            for result in pool.map(lambda _: encoder.encode(texts).vectors, range(8)):
                np.testing.assert_allclose(result, alone, atol=1e-2)


# What every source owes, whoever wrote it.

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0d\x0e-\x1f\x7f-\x9f]")
# Contents that no source can read, or hardly.
GARBAGE = (
    b"",
    b" \n\t\n",
    b"\x00\x01\x02\xff\xfe" * 50,
    b"just some words, nothing more",
    b"{",
    b"[" * 3000,
    b'{"a":' * 3000,
    b"<a><b>",
    b"@article{",
    b"TY  - ",
    b"PMID- ",
    b"\xff\xfeT\x00Y\x00",
)
_garbage = pytest.mark.parametrize("content", GARBAGE, ids=lambda content: repr(content[:12]))


def check_items(items: Iterable[Paper | Remark]) -> list[Paper]:
    """Check everything that holds for whatever a source yields; returns the papers.

    Raises:
        AssertionError: something does not hold.
    """
    papers = []
    for item in items:
        assert isinstance(item, Paper | Remark)
        if isinstance(item, Remark):
            assert item.place
            assert item.reason
            continue
        papers.append(item)
        record = item.to_dict()
        spelled = json.dumps(record, allow_nan=False, ensure_ascii=False)
        spelled.encode("utf-8")
        assert Paper.from_dict(json.loads(spelled)) == item
        assert item.id.strip()
        assert not _CONTROL.search("".join(_texts(record)))
        assert item.has_text or item.identifiers or item.url
        for sentence in item.sentences:
            assert 0 <= sentence.start < sentence.end <= len(item.abstract)
    assert len({paper.id for paper in papers}) == len(papers)
    return papers


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [t for k, v in value.items() for t in (k, *_texts(v))]
    return [t for v in value for t in _texts(v)] if isinstance(value, list | tuple) else []


class SourceConformance:
    """Tests of a source that is registered. A subclass, or its module, has a fixture ``source``."""

    def test_its_name_is_the_registered_one(self, source: Source) -> None:
        assert not isinstance(source, type), "register an instance, not the class"
        assert SOURCES.get(source.name) is source

    def test_it_declares_what_help_and_docs_say(self, source: Source) -> None:
        assert 10 <= len(source.description) <= 110
        assert "\n" not in source.description
        assert all(re.fullmatch(r"\.[a-z0-9]+", ending) for ending in source.endings)

    @_garbage
    def test_sniff_stays_in_range(self, source: Source, content: bytes, tmp_path: Path) -> None:
        for path in (tmp_path / "x", tmp_path / "x.bib", tmp_path / "x.jsonl"):
            assert 0.0 <= source.sniff(path, content) <= 1.0

    @_garbage
    def test_garbage_is_refused_or_remarked(self, source: Source, content: bytes, tmp_path: Path) -> None:
        path = tmp_path / "garbage"
        path.write_bytes(content)
        with contextlib.suppress(BadInput):
            check_items(read_papers(path, source.name, ReadOptions(pdf_seconds=5)))

    def test_an_empty_file_is_bad_input(self, source: Source, tmp_path: Path) -> None:
        path = tmp_path / "empty"
        path.write_bytes(b"")
        with pytest.raises(BadInput):
            list(read_papers(path, source.name))


class SampleConformance:
    """Tests of a source of text files with a sample; fixtures ``source`` and ``sample``.

    The sample, UTF-8 bytes, has three records: a good one with the title ``Café ranking``, one that cannot be
    read, and a good one with the title ``A third paper``.
    """

    def read(self, source: Source, folder: Path, content: bytes) -> list[Paper | Remark]:
        """Papers and remarks that the source reads from a file with this content."""
        path = folder / "sample"
        path.write_bytes(content)
        return list(read_papers(path, source.name))

    def test_it_recognises_its_own(self, source: Source, sample: bytes, tmp_path: Path) -> None:
        path = tmp_path / "sample"
        mine = source.sniff(path, sample)
        assert mine >= 0.6
        for other in SOURCES:
            assert other == source.name or SOURCES.get(other).sniff(path, sample) < mine

    def test_a_broken_record_costs_only_itself(self, source: Source, sample: bytes, tmp_path: Path) -> None:
        items = self.read(source, tmp_path, sample)
        assert [paper.title for paper in check_items(items)] == ["Café ranking", "A third paper"]
        assert [r.skipped for r in items if isinstance(r, Remark)].count(True) == 1

    def test_a_wrong_encoding_does_not_raise(self, source: Source, sample: bytes, tmp_path: Path) -> None:
        content = sample.decode().encode("latin-1")
        assert check_items(self.read(source, tmp_path, content))[0].title == "Café ranking"

    @pytest.mark.parametrize("change", ["bom", "crlf", "cr", "utf-16", "utf-16-le", "utf-16-be"])
    def test_marks_and_line_ends(self, source: Source, sample: bytes, tmp_path: Path, change: str) -> None:
        if change == "cr" and source.name == "jsonl":
            pytest.skip("lines of JSON end with a newline by definition")
        if change.startswith("utf"):
            content = sample.decode().encode(change)  # utf-16 writes a byte order mark, the others none
        else:
            content = sample.replace(b"\n", {"crlf": b"\r\n", "cr": b"\r"}.get(change, b"\n"))
            content = b"\xef\xbb\xbf" + content if change == "bom" else content
        assert check_items(self.read(source, tmp_path, content))[0].title == "Café ranking"

    def test_long_text_is_cut_with_a_remark(self, source: Source, sample: bytes, tmp_path: Path) -> None:
        path = tmp_path / "sample"
        path.write_bytes(sample)
        items = list(read_papers(path, source.name, ReadOptions(max_text_chars=5)))
        assert all(len(p.title) <= 5 and len(p.abstract) <= 5 for p in check_items(items))
        assert any("cut" in r.reason for r in items if isinstance(r, Remark))

    def test_reading_twice_gives_the_same(self, source: Source, sample: bytes, tmp_path: Path) -> None:
        assert self.read(source, tmp_path, sample) == self.read(source, tmp_path, sample)
