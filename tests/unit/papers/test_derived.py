"""Values derived from papers: stored by what they were read from, computed once, collected in the end."""

from __future__ import annotations

import numpy as np
import pytest

from aspectra.base.errors import LibraryCorrupt
from aspectra.base.values import replace
from aspectra.papers.library.derived import Producer, pack, pack_rows, unpack
from aspectra.papers.library.rows import BLANK
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Section
from aspectra.views.build.run import build_index
from aspectra.views.settings import IndexSettings
from conftest import PAPERS
from fake_encoder import FakeEncoder

TEXT = Producer("made-up", "1")
SECTIONS = Producer("of-sections", "1", ("sections",))
LANGUAGE = Producer("of-language", "1", ("text", "language"))
RECORD = Producer("of-records", "1", ("record",))


def fill(library, *producers):
    """Store a value for every paper that has none; returns how many were made."""
    made = 0
    with library.writing("test") as writer:
        for producer in producers:
            rows = [(one.key, [np.array([one.pos], np.int32)]) for one in library.derived.missing(producer)]
            writer.derived.put(producer, rows)
            made += len(rows)
    return made


def change(library, *papers):
    with library.writing("add") as writer:
        writer.add(papers)


def collect(library):
    with library.writing("test") as writer:
        return writer.derived.collect()


def test_a_value_depends_on_what_its_producer_reads_and_on_nothing_else(library):
    everything = (TEXT, SECTIONS, LANGUAGE, RECORD)
    assert fill(library, *everything) == 3 * len(PAPERS) + 1
    assert fill(library, *everything) == 0
    change(library, replace(PAPERS[0], metadata={"cited_by_count": 7}))
    assert fill(library, TEXT, SECTIONS, LANGUAGE) == 0
    assert fill(library, RECORD) == 1
    change(library, replace(PAPERS[0], language="en"))
    assert fill(library, TEXT, SECTIONS) == 0
    assert fill(library, LANGUAGE, RECORD) == 2
    full = library.get("full")
    change(library, replace(full, sections=(*full.sections, Section("More", "text"))))
    assert fill(library, TEXT, LANGUAGE) == 0  # the lead is the same
    assert fill(library, SECTIONS, RECORD) == 2


def test_values_that_belong_to_no_paper_are_collected(library):
    fill(library, TEXT, LANGUAGE)
    change(library, replace(PAPERS[0], abstract="Something else."))
    assert collect(library) == 2
    fill(library, TEXT, LANGUAGE)
    with library.writing("remove") as writer:
        writer.remove(["owl"])
    assert collect(library) == 2  # not by `remove`, which can be undone
    assert len(list(library.derived.items(TEXT))) == len(PAPERS) - 1


def test_a_key_may_go_on_after_the_hash(library):
    with library.writing("test") as writer:
        key = library.derived.missing(TEXT)[0].key
        writer.derived.put(TEXT, [(f"{key}:more", [np.zeros(1, np.float32)])])
        assert writer.derived.collect() == 0
    with library.writing("remove") as writer:
        writer.remove(library.ids())
    collect(library)
    assert not list(library.derived.items(TEXT))


def test_papers_with_the_same_text_share_a_value(library):
    change(library, Paper("twin", PAPERS[0].title, PAPERS[0].abstract, venue="Elsewhere"))
    missing = library.derived.missing(TEXT)
    assert len(missing) == len(PAPERS)
    fill(library, TEXT)
    values = {one.id: one.value for one in library.derived.stream(TEXT)}
    assert values["twin"] == values["owl"]


def test_what_several_producers_lack_is_found_in_one_pass(library):
    everything = (TEXT, SECTIONS, LANGUAGE, RECORD)
    change(library, Paper("twin", PAPERS[0].title, PAPERS[0].abstract, venue="Elsewhere"))
    for stored in ((), (SECTIONS,), (TEXT, LANGUAGE), everything):
        fill(library, *stored)
        lacking = {producer: {} for producer in everything}
        for pos, keys in library.derived.lacking(everything):
            assert any(keys)
            for producer, key in zip(everything, keys, strict=True):
                if key is not None:
                    lacking[producer][pos] = key
        for producer, found in lacking.items():
            assert found == {one.pos: one.key for one in library.derived.missing(producer)}


def test_a_missing_value_is_said(library):
    with pytest.raises(LibraryCorrupt, match="no value of made-up for 'owl'"):
        list(library.derived.required(TEXT))
    assert [one.value for one in library.derived.stream(TEXT)] == [None] * len(PAPERS)
    fill(library, SECTIONS)
    assert len(list(library.derived.required(SECTIONS))) == 1  # papers without full text need none


def test_values_are_copied_from_another_library(library, tmp_path):
    fill(library, TEXT, LANGUAGE)
    other = Store.create(tmp_path / "other")
    with other.writing("test") as writer:
        writer.add(PAPERS)
        writer.derived.copy(library.derived, TEXT.name)
    assert other.derived.missing(TEXT) == []
    assert len(other.derived.missing(LANGUAGE)) == len(PAPERS)


@pytest.mark.parametrize(
    "damaged", [b"", b"\x01", b"\x01zz\x00", pack(np.ones(3, np.float32))[:-1], b"\x02" * 9]
)
def test_a_damaged_value_is_said(damaged):
    with pytest.raises(LibraryCorrupt, match="damaged"):
        unpack(damaged)


def test_a_type_that_is_not_stored_is_refused():
    with pytest.raises(ValueError, match="complex"):
        pack(np.ones(2, np.complex128))


def test_a_new_citation_count_computes_nothing_and_leaves_no_orphan(library):
    """V6: values were stored by a hash that holds the citation count and the extractor's version."""
    fake = FakeEncoder()
    settings = IndexSettings(encoders=("fake",), chunks=("60w",))
    build_index(library, settings, load=lambda _: fake)
    before = library.fetch("SELECT count(*) FROM derived")
    fake.encoded.clear()
    change(library, *(replace(paper, metadata={"cited_by_count": 1000}) for paper in PAPERS))
    report = build_index(library, load=lambda _: fake)
    assert (report.encoded, report.encoded_full, report.read) == (0, 0, 0)
    assert report.lensed == 2 * len(PAPERS)  # `kind` and `length` depend on what the record states
    assert fake.encoded == []
    assert library.fetch("SELECT count(*) FROM derived") == before
    assert collect(library) == 0
    change(library, replace(library.get("owl"), year=1999))
    assert build_index(library, load=lambda _: fake).lensed == 0
    change(library, replace(library.get("owl"), abstract="Owls are birds."))
    assert build_index(library, load=lambda _: fake).lensed > 0
    assert collect(library) == 0  # `index` has collected


def test_an_abstract_of_spaces_does_not_stop_the_index(library):
    """V8: the builder and the encoder disagreed on which papers have no abstract."""
    spaces = "\u2003\t\x1f \u3000"
    change(
        library,
        Paper("spaces", "Blank", " ", sections=(Section("", "Bats fly at night. They are not owls."),)),
        Paper("more", "Blanker", spaces, sections=(Section("", "Bats sleep by day."),)),
        Paper("nothing", "Blankest", " "),
    )
    fake = FakeEncoder()
    report = build_index(library, IndexSettings(encoders=("fake",), chunks=("60w",)), load=lambda _: fake)
    assert report.papers == len(PAPERS) + 3
    assert any("Bats sleep by day" in text for text in fake.encoded)


def test_what_is_blank_to_sqlite_is_blank_to_python(library):
    for code in range(1, 0x3100):
        text = chr(code)
        ((blank,),) = library.fetch(f"SELECT {BLANK} FROM (SELECT ? AS abstract)", (text,))
        assert bool(blank) == (not text.strip()), hex(code)
    assert not any(chr(code).isspace() for code in range(0x3001, 0x110000))


def test_rows_are_packed_together_as_each_is_alone() -> None:
    rows = [np.array([[number, np.nan, 0.1]]) for number in range(3)]
    assert pack_rows(rows) == [pack(row.astype(np.float32)) for row in rows]
