"""Which papers are versions of one work, in whatever order they are added."""

from __future__ import annotations

import pytest

from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper

TITLE = "Owls that hunt at night"
BARE = Paper("bare", TITLE)


def grouped(folder, *papers):
    with Store.create(folder) as store:
        with store.writing("add") as writer:
            writer.add(papers)
        return bool(store.versions([papers[0].id]))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("years", "expected"),
    [((2019, 2022), True), ((2019, 2023), False), ((2019, 2019), True), ((2019, None), True)],
)
def test_years_are_at_most_three_apart(tmp_path, years, expected, turned):
    papers = [Paper(f"p{n}", TITLE, authors=("Ada Lovelace",), year=year) for n, year in enumerate(years)]
    assert grouped(tmp_path / "library", *(papers[::-1] if turned else papers)) == expected


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (Paper("b", "Owls that hunt mice at night", identifiers={"doi": "10.1000/OWL"}), True),
        (Paper("b", abstract="Owls.", identifiers={"doi": "10.1000/OWL"}), True),
        (Paper("b", "Another title of it", identifiers={"doi": "10.1000/OWL"}), False),
        (Paper("b", "Another title of it", identifiers={"doi": "10.1000/fox"}), False),
        (Paper("b", TITLE, authors=("Cy Young",)), False),
        (Paper("b", TITLE), True),
        (Paper("b", "Owls hunt", authors=("Ada Lovelace",)), False),
    ],
)
def test_a_shared_identifier_or_title_makes_versions(tmp_path, other, expected, turned):
    papers = [Paper("a", TITLE, authors=("Ada Lovelace",), identifiers={"doi": "10.1000/owl"}), other]
    assert grouped(tmp_path / "library", *(papers[::-1] if turned else papers)) == expected


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1)])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Paper("a", TITLE, authors=("Ada Lovelace",)), Paper("b", TITLE, authors=("Cy Young",))),
        (
            Paper("a", TITLE, authors=("Ada Lovelace",), identifiers={"doi": "10.1000/owl"}),
            Paper("b", TITLE, authors=("Ada Lovelace",), identifiers={"doi": "10.1000/fox"}),
        ),
    ],
)
def test_a_record_that_fits_two_works_joins_one_of_them(tmp_path, one, other, order):
    papers = (one, BARE, other)
    with Store.create(tmp_path / "library") as store:
        for number in order:
            with store.writing("add") as writer:
                writer.add([papers[number]])
        assert store.versions(["a"]).get("a", []) in ([], ["bare"])
        assert store.versions(["b"]).get("b", []) in ([], ["bare"])
        assert len(store.versions(["bare"])["bare"]) == 1


def counter(writer):
    """Counts the statements that a piece of work makes."""

    def counted(work):
        statements = []
        writer.connection.set_trace_callback(statements.append)
        work()
        writer.connection.set_trace_callback(None)
        return len(statements)

    return counted


def test_records_of_one_group_that_change_together_are_grouped_once(tmp_path):
    def records(words):
        doi = {"doi": "10.1000/owl"}
        return [Paper(f"p{n}", f"{TITLE} {words} {n}", year=2020, identifiers=doi) for n in range(40)]

    with Store.create(tmp_path / "library") as store, store.writing("add") as writer:
        counted = counter(writer)
        new = counted(lambda: writer.add(records(""), path="a.jsonl"))
        assert counted(lambda: writer.add(records("again"), path="a.jsonl")) < 4 * new
        assert len(store.versions(["p0"])["p0"]) == 39


def test_the_work_for_records_of_one_title_grows_with_their_number(tmp_path):
    with Store.create(tmp_path / "library") as store, store.writing("add") as writer:
        counted = counter(writer)
        more = [
            counted(
                lambda start=start: writer.add(
                    Paper(f"p{n}", TITLE, year=2020) for n in range(start, start + 20)
                )
            )
            for start in range(0, 160, 20)
        ]
        assert more[-1] <= 1.1 * more[3]  # beyond the fifty that are compared
        assert more[-1] <= 20 * 200  # which are read once
        assert counted(lambda: writer.remove([f"p{n}" for n in range(80)])) <= 2 * sum(more)
        assert len(store.versions(["p159"])["p159"]) == 79
