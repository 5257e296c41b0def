"""The library: adding, removing, resolving, grouping, counting."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sqlite3
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from aspectra.app.ingest.library_facts import remarks, summary
from aspectra.base.errors import (
    AspectraError,
    LibraryBusy,
    LibraryCorrupt,
    LibraryNotFound,
    NoSuchPaper,
    UsageError,
)
from aspectra.base.values import replace
from aspectra.papers.ids import distinct_ids
from aspectra.papers.library import mutations, row_sums
from aspectra.papers.library.folder.lock import WriterLock, noted_error
from aspectra.papers.library.mutations import AddReport
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Reference, Section, Sentence
from aspectra.papers.sources.protocol import Remark
from conftest import PAPERS


def add(library, *records):
    with library.writing("add") as writer:
        return writer.add(records)


def test_papers_come_back_as_they_were(library):
    for paper in PAPERS:
        assert library.get(paper.id) == paper
        assert library.get(paper.id).content_hash == paper.content_hash
    assert [p.id for p in library.papers()] == [p.id for p in PAPERS]


def test_everything_a_paper_can_hold_survives(library):
    whole = Paper(
        "all",
        "T",
        "One. Two.",
        ("A B",),
        1999,
        "V",
        {"doi": "10.1/x"},
        "http://x",
        "en",
        (Section("H", "text"), Section("", "more")),
        (Reference("raw", "k", "t", {"doi": "10.2/y"}), Reference(raw="only raw")),
        (Sentence(0, 4, "method"), Sentence(5, 9, "")),
        {"unknown": {"nested": [1, 2.5, None, "é"]}},
    )
    add(library, whole)
    assert library.get("all") == whole


def test_adding_again_changes_nothing(library):
    before = library.revision
    report = add(library, *PAPERS)
    assert (report.added, report.updated, report.unchanged) == (0, 0, len(PAPERS))
    assert library.revision == before


def test_same_paper_with_new_content_is_updated(library):
    report = add(library, replace(PAPERS[0], abstract="Another abstract."))
    assert (report.added, report.updated) == (0, 1)
    assert library.get("owl").abstract == "Another abstract."
    assert len(library) == len(PAPERS)


def test_a_different_paper_with_a_taken_id_is_kept_beside(library):
    stranger = Paper("owl", "Quantum error correction with surface codes")
    report = add(library, stranger)
    assert report.added == 1
    assert "owl~2" in report.remarks[0].reason
    assert library.get("owl") == PAPERS[0]
    assert library.get("owl~2").title == stranger.title
    assert add(library, stranger).unchanged == 1


_EDITORIAL = Paper(
    *("k", "Editorial", "", ("Ann Ash",), 2020, "Journal of Foo"),
    metadata={"volume": "12", "issue": "1", "pages": "1"},
)
_HEPATITIS = Paper("1", "Hepatitis A vaccination in adults", "Of A.", ("Ada Holm",), 2010)


@pytest.mark.parametrize(
    ("held", "record", "apart"),
    [
        (
            _HEPATITIS,
            replace(_HEPATITIS, title="Hepatitis B vaccination in adults", authors=("Bo Lie",)),
            True,
        ),
        (_HEPATITIS, replace(_HEPATITIS, title="Hepatitis A vaccination of adults", year=2011), False),
        (Paper("k", "Owls and mice, part 1"), Paper("k", "Owls and mice, part 2"), True),
        # one DOI for the abstracts of a congress, or left in a template
        (_HEPATITIS, Paper("1", "Buttons for thumbs", authors=("Bo Lie",), year=2010), True),
        (_HEPATITIS, Paper("1", "A vaccine for hepatitis", authors=("A. Holm",)), False),
        (
            Paper("k", "Teaching C++ to all", "Pointers."),
            Paper("k", "Teaching C# to all", "Delegates."),
            True,
        ),
        *(
            (replace(_EDITORIAL, metadata={}), replace(_EDITORIAL, metadata={}, venue="Annals of Bar"), True),
            (_EDITORIAL, replace(_EDITORIAL, metadata={"volume": "12", "issue": "2", "pages": "101"}), True),
            (_EDITORIAL, replace(_EDITORIAL, metadata={"volume": "12", "issue": "2"}), True),
            (_EDITORIAL, replace(_EDITORIAL, metadata={"pages": "1-4"}, abstract="Here."), False),
            (
                replace(_EDITORIAL, title="How owls hunt at night in old forests"),
                replace(
                    _EDITORIAL, title="How owls hunt at night in old forests", venue="J Foo", metadata={}
                ),
                False,
            ),
        ),
        (Paper("k", "", "A passage."), Paper("k", "", "Another passage."), True),
        (Paper("k", "A title"), Paper("k", "", "Its abstract."), False),
    ],
)
def test_a_record_of_another_file_never_replaces_a_paper_that_it_contradicts(library, held, record, apart):
    doi = {} if held is not _HEPATITIS or "Hepatitis B" in record.title else {"doi": "10.1000/a"}
    with library.writing("add") as writer:
        writer.add([replace(held, identifiers=doi)], path="a.ris")
        writer.marks.decide([held.id], "include", "right")
        report = writer.add([replace(record, identifiers=doi)], path="b.ris")
        again = writer.add([replace(record, identifiers=doi)], path="b.ris")
    assert (report.added, report.updated, again.unchanged) == (apart, not apart, 1)
    if apart:
        assert library.get(held.id).title == held.title
        assert library.get(f"{held.id}~2").abstract == record.abstract
        assert f"{held.id}~2" not in library.marks.decisions()


def test_duplicate_ids_in_one_file_are_both_kept(library):
    add(library, Paper("k", "One title here"), Paper("k", "One title here", "with an abstract"))
    assert library.get("k").abstract == ""
    assert library.get("k~2").abstract == "with an abstract"


def test_remarks_are_kept_and_counted(library):
    report = add(
        library, Remark("line 3", "broken"), Remark("file", "latin-1", skipped=False), Paper("x", "X")
    )
    assert report.skipped == 1
    assert summary(library)["records_skipped"] == 1
    assert summary(library)["records_noted"] == 1
    assert {r["place"] for r in remarks(library)} == {"line 3", "file"}


def test_what_was_read_before_a_failure_is_kept(library):
    def stream():
        yield Paper("kept", "Kept")
        raise AspectraError("the file broke off")

    report = AddReport()
    with pytest.raises(AspectraError, match="broke off"), library.writing("add") as writer:
        writer.add(stream(), report=report)
    assert "kept" in library
    assert report.added == 1


_SHARED = [
    Paper("doi:k", title, text, identifiers={"doi": "10.1000/k"})
    for title, text in (("Owls", "x"), ("Mice", ""), ("Owls", "y"), ("Bats of barns", ""))
]
_OWLS, _MICE, _OWLS_TOO, _BATS = _SHARED


@pytest.mark.parametrize(
    ("count", "again", "papers"),
    [
        (4, [_BATS, _OWLS_TOO, _MICE, _OWLS], 4),  # turned round
        (4, [replace(_OWLS_TOO, year=2001), _OWLS, _MICE], 4),  # and one of two with one title is changed
        (4, [replace(_BATS, year=2001), *_SHARED[:3]], 4),
        (4, [*_SHARED[:3], replace(_BATS, title="Hens")], 5),  # a new one instead of the last
        (4, [_MICE], 4),
        (3, [_BATS, *_SHARED[:3]], 4),  # a new one before them
        (1, [_MICE, _OWLS], 2),
    ],
)
@pytest.mark.parametrize("of", ["owls.ris", "others.ris"])
def test_papers_that_share_an_id_keep_theirs_in_any_order(library, monkeypatch, count, again, papers, of):
    monkeypatch.setattr(mutations, "_COMPARED", 0)
    with library.writing("add") as writer:
        writer.add(distinct_ids(_SHARED[:count]), path="owls.ris")
        writer.add(distinct_ids(again), path=of)
    held = [paper for paper in library.papers() if paper.id.startswith("doi:k")]
    assert [paper.id for paper in held] == ["doi:k", "doi:k~2", "doi:k~3", "doi:k~4", "doi:k~4~2"][:papers]
    for paper, known in zip(_SHARED, held, strict=False):
        assert (paper.title, paper.abstract) == (known.title, known.abstract)


def test_many_ids_are_read_at_once(library):
    papers = [Paper(f"n{number}", f"A paper of number {number}") for number in range(2000)]
    add(library, *papers)
    ids = [paper.id for paper in reversed(papers)]
    assert list(library.get_many(["nowhere", *ids])) == ids
    assert list(library.papers_at(range(3000, 0, -1))) == [
        row[0] for row in library.rows("SELECT pos FROM papers ORDER BY pos")
    ]
    assert library.versions([*ids, "nowhere"]) == {}


@pytest.mark.parametrize(
    "seed",
    [
        "owl",
        "10.1000/OWL",
        "https://doi.org/10.1000/owl",
        "doi:10.1000/owl",
        "Owls hunt at night",
        "OWLS hunt, at night!",
    ],
)
def test_seeds_resolve(library, seed):
    assert library.resolve(seed) == "owl"


def test_arxiv_seed_resolves_without_version(library):
    assert library.resolve("arXiv:2101.00001v3") == "mice"
    assert library.resolve("https://arxiv.org/abs/2101.00001") == "mice"


def test_unknown_seed_suggests(library):
    with pytest.raises(NoSuchPaper) as error:
        library.resolve("owls hunt at dawn")
    assert "owl (Owls hunt at night)" not in str(error.value) or "did you mean" in error.value.hint
    with pytest.raises(NoSuchPaper) as near:
        library.resolve("Ranking documents with language")
    assert "rank" in near.value.hint


def test_ambiguous_title_is_refused(library):
    add(library, Paper("n1", "Same short", year=1990), Paper("n2", "Same short", year=2020))
    with pytest.raises(UsageError, match="names 2 papers"):
        library.resolve("Same short")


def test_a_group_is_read_once_however_many_of_its_records_are_asked_for(library, monkeypatch):
    ids = [f"t{number}" for number in range(20)]
    add(library, *(Paper(one, "Owls that hunt mice by night", "", ("A. Gray",), 2020) for one in ids))
    fetch, read = library.fetch, []
    monkeypatch.setattr(library, "fetch", lambda *given: read.append(fetch(*given)) or read[-1])
    assert library.versions(ids[::-1]) == {one: [other for other in ids if other != one] for one in ids}
    assert sum(map(len, read)) == 40


def test_preprint_and_journal_version_are_grouped_never_deleted(library):
    preprint = Paper(
        "pre", "Mice avoid predators", "v1", ("C. Young",), 2020, "arXiv", {"arxiv": "2101.00001"}
    )
    add(library, preprint)
    assert library.versions(["pre"]) == {"pre": ["mice"]}
    assert library.versions(["mice", "owl"]) == {"mice": ["pre"]}
    assert summary(library)["version_groups"] == 1
    with library.writing("remove") as writer:
        writer.remove(["pre"])
    assert library.versions(["mice"]) == {}


def test_same_title_by_other_authors_or_far_years_is_no_version(library):
    add(library, Paper("o", "Mice avoid predators", authors=("Zoe Other",), year=2021))
    add(library, Paper("p", "Owls hunt at night", authors=("Ada Lovelace",), year=1960))
    assert library.versions(["mice", "owl"]) == {}


def test_citations_resolve_by_id_doi_title_and_printed_text(library):
    citing = Paper(
        "c",
        "Citing",
        references=(
            Reference(identifiers={"id": "full"}),
            Reference(identifiers={"doi": "10.1000/OWL"}),
            Reference(raw="C. Young. 2021. Of mice. arXiv:2101.00001v2."),
            Reference(raw="D. Ada. 2023. Ranking documents with language models. In IR 3(1)."),
            Reference(raw="Nobody. Unknown work. 1900."),
            Reference(identifiers={"id": "later"}),
        ),
    )
    add(library, citing)
    assert library.cites("c") == ["full", "mice", "owl", "rank"]
    add(library, Paper("later", "Added later"))
    assert library.cites("c") == ["full", "later", "mice", "owl", "rank"]
    assert library.cited_by("owl") == ["c"]


def test_remove_is_all_or_nothing(library):
    with pytest.raises(NoSuchPaper), library.writing("remove") as writer:
        writer.remove(["owl", "nobody"])
    assert "owl" in library
    with library.writing("remove") as writer:
        assert writer.remove(["owl"]) == 1
    assert "owl" not in library
    assert len(library) == len(PAPERS) - 1


def test_authors_are_found_by_family_or_whole_name(library):
    assert library.ids_by_author("lovelace") == {"owl"}
    assert library.ids_by_author("A. Lovelace") == {"owl"}
    assert library.ids_by_author("Ada Lovelace") == {"owl"}
    assert library.ids_by_author("Ben Lovelace") == set()
    assert library.ids_by_author("Ada") == {"rank"}


def test_umlauts_of_authors_are_found_spelt_out(library):
    with library.writing("add") as writer:
        writer.add(
            [
                Paper("m", "Mud", authors=("Jörg Müller",)),
                Paper("n", "Fen", authors=("Eva Mueller",)),
                Paper("b", "Bog", authors=("Ann Bauer",)),
                Paper("c", "Bay", authors=("Ann Baur",)),
                Paper("s", "Sea", authors=("Ida Schröder",)),
            ]
        )
    assert library.ids_by_author("Müller") == {"m", "n"}
    assert library.ids_by_author("Mueller") == {"n"}  # whoever is called so is meant
    assert library.ids_by_author("Schroeder, Ida") == {"s"}
    assert library.ids_by_author("SCHROEDER") == library.ids_by_author("Schroeder") == {"s"}
    assert library.ids_by_author("Bauer") == {"b"}


def test_second_writer_fails_at_once_naming_the_holder(library):
    with library.writing("index"), pytest.raises(LibraryBusy) as error, library.writing("add"):
        pass
    assert "`index`" in error.value.why
    assert "process" in error.value.why


@pytest.mark.parametrize("opened", [False, True], ids=["one object", "another object"])
def test_threads_that_write_with_one_library_wait_for_each_other(library, opened):
    failed = []

    def write():
        try:
            with Store(library.folder) if opened else contextlib.nullcontext(library) as mine:
                add(mine, Paper("late", "Written by another thread"))
        except LibraryBusy as error:
            failed.append(error)

    other = threading.Thread(target=write)
    with library.writing("add") as writer:
        other.start()
        other.join(0.05)  # one that does not wait has failed by then
        writer.add([Paper("first", "Written by the first thread")])
    other.join()
    assert (failed, "first" in library, "late" in library) == ([], True, True)


@pytest.mark.parametrize("name", ["write", "ftruncate"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "no space"), KeyboardInterrupt()])
def test_the_lock_is_free_after_a_full_disk_or_an_interrupt(library, monkeypatch, name, error):
    def fails(*_):
        raise error

    monkeypatch.setattr(os, name, fails)
    with contextlib.suppress(KeyboardInterrupt):
        add(library, Paper("first", "Written, though who writes could not be said"))
    monkeypatch.undo()
    assert add(library, Paper("second", "Another paper")).added == 1
    assert ("first" in library) == isinstance(error, OSError)


def test_text_that_is_not_utf8_is_refused_in_words(library):
    odd, one = "caf\udce9", PAPERS[0].id
    with pytest.raises(UsageError, match="is not UTF-8"):
        library.resolve(odd)
    for write in (
        lambda marks: marks.tag([odd], ["a"]),
        lambda marks: marks.tag([one], [odd]),
        lambda marks: marks.tag([one], ["a"], [odd]),
        lambda marks: marks.decide([one], "exclude", odd),
    ):
        with pytest.raises(UsageError, match="not UTF-8"), library.writing("note") as writer:
            write(writer.marks)
    assert (library.marks.tags(), library.marks.decisions()) == ({}, {})


def test_readers_never_wait_for_the_writer(library):
    with library.writing("add") as writer:
        writer.add([Paper("new", "New")])
        assert len(Store(library.folder)) == len(PAPERS) + 1


def test_missing_newer_and_damaged_libraries(tmp_path, library):
    with pytest.raises(LibraryNotFound, match="no library"):
        Store(tmp_path / "nowhere")
    with library.writing("x") as writer:
        writer.set_meta("format", "99")
    with pytest.raises(LibraryCorrupt, match="newer"):
        Store(library.folder)
    garbage = tmp_path / "garbage"
    garbage.mkdir()
    (garbage / "library.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(LibraryCorrupt):
        Store(garbage)
    empty = tmp_path / "empty"
    empty.mkdir()
    sqlite3.connect(empty / "library.db").close()
    (empty / "library.db").touch()
    with pytest.raises(LibraryCorrupt, match="not an Aspectra library"):
        Store(empty)


def test_a_library_needs_a_folder_of_its_own(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(UsageError, match="not empty"):
        Store.create(tmp_path)
    assert Store.create(tmp_path / "a" / "b").folder.is_dir()


def test_hostile_ids_are_only_text(library, tmp_path):
    for hostile in ("../../etc/passwd", "a\x00b", "x" * 5000, "\u202eabc", "'; DROP TABLE papers; --"):
        add(library, Paper(hostile, f"Title of {len(hostile)}"))
    assert len(library) == len(PAPERS) + 5
    assert not (tmp_path / "etc").exists()
    assert all(i.isprintable() and len(i) <= 500 for i in library.ids())


def test_disk_full_is_said_and_loses_nothing(library, monkeypatch):
    # SQLite itself reports a full disk when the database may not grow.
    original = sqlite3.connect

    class Small(sqlite3.Connection):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            pages = self.execute("PRAGMA page_count").fetchone()[0]
            self.execute(f"PRAGMA max_page_count = {pages + 4}")

    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: original(*a, **{**k, "factory": Small}))
    big = [Paper(f"big{i}", f"Title {i}", "words " * 4000) for i in range(40)]
    with pytest.raises(AspectraError, match="disk is full"), library.writing("add") as writer:
        writer.add(big)
    monkeypatch.undo()
    assert Store(library.folder).ids() == [p.id for p in PAPERS]
    assert Store(library.folder).check() == []


def _work(paper_id, title="A study of whales", **more):
    return Paper(paper_id, title=title, authors=("Ann Lee",), **more)


def test_a_paper_that_left_its_group_never_joins_it_to_another_work(library):
    add(library, _work("w1"), _work("w2"), _work("w3"), _work("s1", "A study of whales at sea"))
    add(library, _work("w1", "A study of whales at sea"))
    assert library.versions(["w1", "w2"]) == {"w1": ["s1"], "w2": ["w3"]}
    add(library, _work("w2", "A study of whales at sea"))
    assert library.versions(["w1", "w3"]) == {"w1": ["w2", "s1"]}
    assert summary(library)["papers_in_groups"] == 3


@pytest.mark.parametrize("end", ["changes", "is removed"])
def test_two_works_part_when_the_paper_between_them_goes(library, end):
    shared = {"arxiv": "2101.00007"}
    add(
        library,
        _work("one"),
        _work("between", identifiers=shared),
        _work("two", "All about dolphins", identifiers=shared),
    )
    assert len(library.versions(["one"])["one"]) == 2
    if end == "changes":
        add(library, _work("between"))
        assert library.versions(["one", "two"]) == {"one": ["between"]}
    else:
        with library.writing("remove") as writer:
            writer.remove(["between"])
        assert library.versions(["one", "two"]) == {}


def test_citations_follow_the_title_they_name(library):
    citing = Paper("citing", title="C", references=(Reference(title="A study of whales"),))
    add(library, _work("cited"), citing)
    assert library.cited_by("cited") == ["citing"]
    add(library, _work("cited", "A study of whale"))
    assert library.cited_by("cited") == []
    add(library, _work("again"))
    assert library.cited_by("again") == ["citing"]


def test_citations_are_linked_by_the_next_run_when_the_first_was_killed(library, monkeypatch):
    def killed(db):
        raise KeyboardInterrupt

    records = (_work("cited"), Paper("citing", title="C", references=(Reference(title="A study of whales"),)))
    with monkeypatch.context() as patch:
        patch.setattr("aspectra.papers.library.links.citations.link_citations", killed)
        with pytest.raises(KeyboardInterrupt):
            add(library, *records)
    report = add(library, *records)
    assert report.unchanged == 2
    assert library.cited_by("cited") == ["citing"]


@pytest.mark.parametrize(
    "name", ["van der Berg", "Jan van der Berg", "van der Berg, Jan", "Berg, J.", "berg"]
)
def test_authors_are_found_however_they_are_written(library, name):
    add(library, Paper("vdb", title="T", authors=("Jan van der Berg",)))
    assert library.ids_by_author(name) == {"vdb"}
    assert library.ids_by_author("Berg, Karl") == set()


def test_a_library_that_can_only_be_read_is_read(library, monkeypatch):
    library.close()
    plain = sqlite3.connect

    def connect(name, *args, **more):
        if not more.get("uri"):
            error = sqlite3.OperationalError("unable to open database file")  # as on a read-only medium
            error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
            raise error
        return plain(name, *args, **more)

    monkeypatch.setattr(sqlite3, "connect", connect)
    with pytest.raises(AspectraError, match="cannot be opened"):  # here others could be writing
        Store(library.folder)
    monkeypatch.setattr("os.access", lambda path, mode: mode == os.R_OK)
    with Store(library.folder) as again:
        assert again.get("owl").title == "Owls hunt at night"
    library.database.with_name("library.db-wal").write_bytes(b"unread changes")
    with pytest.raises(AspectraError, match="cannot be opened"):
        Store(library.folder)


def test_a_poorer_record_takes_no_text_away(library):
    poor = replace(PAPERS[0], abstract="", year=2020)
    report = add(library, poor)
    assert report.updated == 1
    assert "kept from the one before" in report.remarks[0].reason
    assert library.get("owl").abstract == PAPERS[0].abstract
    assert library.get("owl").year == 2020
    assert add(library, poor).unchanged == 1
    bare = replace(PAPERS[3], sections=(), abstract="An abstract at last.")
    add(library, bare)
    assert library.get("full").sections == PAPERS[3].sections
    assert library.get("full").abstract == "An abstract at last."


@pytest.mark.parametrize("pages_first", [False, True])
def test_what_is_read_off_pages_only_fills_what_a_record_lacks(library, pages_first):
    doi = {"doi": "10.1000/lupus"}
    filed = Paper("k", "Lupus nephritis in a woman", authors=("Ada Holm",), year=2017, identifiers=doi)
    body = (Section("Case", "She came."),)
    read = Paper("k", "Lupus nephritis in a woman (c) SAGE", "Ill.", ("Holm",), 2020, "", doi, sections=body)
    files = [(filed, "a.ris", "ris"), (read, "a.pdf", "pdf")]
    with library.writing("add") as writer:
        for paper, path, source in (files[::-1] if pages_first else files) * 2:
            writer.add([paper], path=path, source=source)
            if path == "a.ris":
                writer.marks.edit("k", year=1999)
        writer.marks.edit("k", year=filed.year)
    assert library.get("k") == replace(filed, abstract="Ill.", sections=body)
    assert library.marks.edit("k").file.get("year", filed.year) == filed.year


@pytest.fixture
def interruptible():
    """Ctrl-C is ignored in processes that a shell starts in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize("raised", [KeyboardInterrupt, MemoryError])
def test_what_is_raised_while_sqlite_calls_is_no_damage(library, monkeypatch, interruptible, raised, write):
    hashed = row_sums.xxhash.xxh3_64_intdigest

    def fails(content):
        monkeypatch.setattr(row_sums.xxhash, "xxh3_64_intdigest", hashed)
        raise raised

    with Store(library.folder) as store:
        monkeypatch.setattr(row_sums.xxhash, "xxh3_64_intdigest", fails)
        with pytest.raises(raised):
            add(store, Paper("new", "A new paper")) if write else store.ids()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert "new" not in store
        assert add(store, Paper("new", "A new paper")).added == 1


@pytest.mark.parametrize("name", ["row_hash", "_sound"])
def test_an_interrupt_before_a_functions_first_line_is_no_damage(library, interruptible, name):
    traced = sys.gettrace()

    def trace(frame, event, _):
        own = frame.f_code.co_filename == row_sums.__file__ and frame.f_code.co_name
        if name in (own, getattr(frame.f_locals.get("function"), "__name__", "")):
            sys.settrace(traced)
            signal.getsignal(signal.SIGINT)(signal.SIGINT, frame)  # what Python calls on Ctrl-C

    def use():
        library.ids()
        add(library, Paper("new", "A new paper"))

    sys.settrace(trace)
    try:
        with pytest.raises(KeyboardInterrupt):
            use()
    finally:
        sys.settrace(traced)
    assert noted_error() is None


def test_an_interrupt_between_rows_is_kept_nowhere_and_rows_may_be_closed_on_another_thread(
    library, interruptible
):
    interrupted = (signal.getsignal(signal.SIGINT)(signal.SIGINT, sys._getframe()) for _ in library.papers())
    with pytest.raises(KeyboardInterrupt):
        next(interrupted)
    assert noted_error() is None  # it would hold the rows until Python ends, and then they fail
    rows = library.papers()
    next(rows)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(rows.close).result()


def test_a_library_where_files_cannot_be_locked_is_written(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_):
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with WriterLock(tmp_path, "add"):
        pass


def test_a_lock_is_free_at_once_though_a_process_that_is_being_started_has_its_file(tmp_path):
    pytest.importorskip("fcntl")
    with WriterLock(tmp_path, "add") as lock:
        copied = os.dup(lock._descriptor)
    with WriterLock(tmp_path, "add") as lock:
        if (child := os.fork()) == 0:
            lock.__exit__(None, None, None)
            os._exit(0)
        os.waitpid(child, 0)
        with pytest.raises(LibraryBusy):
            WriterLock(tmp_path, "add").__enter__()
    os.close(copied)
