"""Conditions that a paper's record decides, each with its reason."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aspectra.app.ingest.works import Works
from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.papers.paper import Paper, Reference, Section
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.search.conditions.attributes.record.facts import status_of
from aspectra.search.conditions.attributes.record.named import named_papers
from aspectra.search.conditions.condition import Condition, Exemption
from aspectra.search.conditions.grading import Grader, bound_conditions, conditions_mask, without_data
from aspectra.search.conditions.lists import UserLists
from aspectra.views.index.opened import Index
from grades import Grade, grader, met, unknown
from small_library import searcher_over

OWLS = {
    "authorships": [{"institutions": [{"display_name": "Owl Labs", "type": "company", "country_code": "GB"}]}]
}


def cites(*ids: str) -> tuple[Reference, ...]:
    return tuple(Reference(identifiers={"id": one}) for one in ids)


PAPERS = [
    Paper(
        "journal",
        "Owls at dusk",
        "Owls.",
        ("Ada Smith", "Bo Li"),
        2019,
        "Journal of Owls",
        {"doi": "10.1109/owl.1"},
        references=cites("preprint", "talk"),
        metadata={"type": "article-journal", "cited_by_count": 90, "is_retracted": False, **OWLS},
    ),
    Paper(
        "preprint",
        "Mice at night",
        "Mice.",
        ("Cy Young",),
        2023,
        "",
        {"arxiv": "2301.00001"},
        references=cites("talk"),
        metadata={"cited_by_count": 3},
    ),
    Paper(
        "talk",
        "Bats in caves",
        "Bats.",
        ("Ada Smith",),
        2004,
        "Proceedings of NIPS 2004",
        references=(Reference("K. Wing. Echoes of the night sky. 1990.", title="Echoes of the night sky"),),
        metadata={"publisher": "Assoc. of Bats", "affiliations": ["Univ Bergen, Bergen, Norway"]},
        sections=(Section("A", "Text."),),
    ),
    Paper(
        "gone",
        "RETRACTED: Owls that never were",
        "None.",
        (),
        2021,
        "Owl Workshop",
        metadata={"publisher": "IEEE"},
    ),
    Paper("bare", "Only a title"),
]


def _index(folder: Path, papers: list[Paper] = PAPERS) -> Index:
    return searcher_over(folder / "library", papers, lenses=()).index


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return _index(tmp_path_factory.mktemp("records"))


@pytest.fixture
def grade(index: Index) -> Grade:
    return grader(index)


def reason(index: Index, attribute: str, value: str, paper_id: str) -> str:
    return ATTRIBUTES.get(attribute).reason(value, index.library.get(paper_id), index)


def why_missing(index: Index, spelling: str) -> str:
    condition = Condition.parse(spelling)
    found = dict(without_data(Grader(index), [condition]))
    return found.get(condition, "")


@pytest.mark.parametrize(
    ("value", "meeting"),
    [
        ("journal", {"journal"}),
        ("preprint", {"preprint"}),
        ("conference", {"talk"}),
        ("workshop", {"gone"}),
        ("peer-reviewed", {"journal", "talk", "gone"}),
        ("Refereed", {"journal", "talk", "gone"}),
        ("poster", set()),
    ],
)
def test_status(grade: Grade, value: str, meeting: set[str]) -> None:
    found = grade("status", value)
    assert met(found) == meeting
    assert unknown(found) == {"bare"}


def test_retracted_is_known_where_the_record_or_the_title_says_so(grade: Grade, index: Index) -> None:
    found = grade("status", "retracted")
    assert met(found) == {"gone"}
    assert found["journal"] == 0
    assert unknown(found) == {"preprint", "talk", "bare"}
    assert reason(index, "status", "retracted", "gone")


def test_of_documents_without_any_record_the_scholarly_are_peer_reviewed(tmp_path: Path) -> None:
    texts = {
        "study": "We measured owls. Methods: 30 owls were ringed (p < 0.05). Results are discussed [1], [2].",
        "post": "Hi folks, welcome back to my blog! Today I saw an owl, lol.",
    }
    papers = [Paper(name, name.title(), text) for name, text in texts.items()]
    index = searcher_over(tmp_path / "library", papers, lenses=("source",)).index
    everything = np.arange(len(index))
    scholarly = ATTRIBUTES.get("source").grades("scholarly", index, everything)
    assert np.array_equal(ATTRIBUTES.get("status").grades("peer-reviewed", index, everything), scholarly)
    assert np.isnan(ATTRIBUTES.get("status").grades("journal", index, everything)).all()
    both = ATTRIBUTES.get("combination").grades(
        "status=peer-reviewed and source=scholarly", index, everything[:1]
    )
    assert both == pytest.approx(scholarly[:1])
    reviewed = ATTRIBUTES.get("status")
    recorded = reviewed.knowing((True, 0))  # where any record states a status, texts do not count
    assert np.isnan(recorded.grades("peer-reviewed", index, everything)).all()


@pytest.mark.parametrize(
    ("types", "venue", "origin", "expected"),
    [
        ("article-journal", "CoRR", "", "preprint"),
        ("article-journal; preprint doi", "Journal of Owls", "", "preprint"),
        ("paper-conference", "Workshop on Owls", "", "workshop"),
        ("paper-conference", "arXiv", "", "conference"),
        ("article-journal; meeting abstract", "Blood", "", "abstract"),
        ("journal article; conference proceeding", "Blood", "", "abstract"),  # as CENTRAL has them
        ("conference proceeding", "Blood", "", "conference"),
        ("article-journal; trial registry record", "", "", "registration"),
        ("", "Proceedings of the National Academy of Sciences", "", "journal"),
        ("", "Proceedings of the Owl Society", "", "conference"),
        ("", "Transactions on Owls", "", "journal"),
        ("", "icml", "", "conference"),
        ("", "", "arxiv doi|10.1000|", ""),
        ("report", "", "||papers.ssrn.com", "preprint"),
        ("report", "", "||owl.org", ""),
        ("article", "", "", "preprint"),
        ("book", "", "isbn||", ""),
    ],
)
def test_what_decides_on_status(types: str, venue: str, origin: str, expected: str) -> None:
    found = status_of(types, venue, origin)[0]
    best = max((n for n in found if n != "peer-reviewed"), key=lambda n: found[n], default="")
    assert (best if found.get(best, 0) >= 0.5 else "") == expected


def test_theses_are_known_not_to_be_reviewed() -> None:
    found, why = status_of("thesis", "", "")
    assert found["peer-reviewed"] < 0.5
    assert found["preprint"] == 0
    assert why == "record type thesis"


def test_a_venue_that_decides_on_status_is_shown_as_printed() -> None:
    assert status_of("", "Proceedings of the 12th Owl Conference", "")[1].endswith("the 12th Owl Conference")
    assert status_of("", "Owl Matters", "") == ({}, "")


def test_publisher(grade: Grade, index: Index) -> None:
    found = grade("publisher", "Institute of Electrical and Electronics Engineers")
    assert found == grade("publisher", "ieee") or met(found) == {"journal", "gone"}
    assert met(grade("publisher", "IEEE")) == {"journal", "gone"}
    assert grade("publisher", "IEEE")["journal"] == pytest.approx(0.9)
    assert grade("publisher", "ACM")["journal"] == grade("publisher", "IEEE")["talk"] == 0
    assert unknown(grade("publisher", "IEEE")) == {"preprint", "bare"}
    assert reason(index, "publisher", "IEEE", "journal") == "its DOI begins with 10.1109"
    assert reason(index, "publisher", "IEEE", "gone") == "published by IEEE"


def test_affiliation(grade: Grade, index: Index) -> None:
    assert met(grade("affiliation", "Owl Labs")) == {"journal"}
    assert met(grade("affiliation", "Owl")) == {"journal"}
    assert met(grade("affiliation", "Ow")) == set()
    assert met(grade("affiliation", "industry")) == {"journal"}
    assert met(grade("affiliation", "British")) == {"journal"}
    assert met(grade("affiliation", "Norway")) == {"talk"}
    assert met(grade("affiliation", "Norwegian universities")) == {"talk"}
    assert met(grade("affiliation", "universities in Norway")) == {"talk"}
    assert met(grade("affiliation", "British universities")) == set()
    assert unknown(grade("affiliation", "Norway")) == {"preprint", "gone", "bare"}
    assert reason(index, "affiliation", "Norway", "talk") == "Univ Bergen, Bergen, Norway"


def test_citations_are_the_records_and_else_counted_inside(grade: Grade, index: Index) -> None:
    assert met(grade("citations", ">=50")) == {"journal"}
    assert met(grade("citations", "2..3")) == {"preprint", "talk"}
    assert met(grade("citations", "<1")) == {"gone", "bare"}
    assert "journal" in met(grade("citations", "high"))
    assert met(grade("citations", "low")) >= {"gone", "bare", "preprint"}
    assert reason(index, "citations", "high", "journal") == "cited 90 times, says the record"
    assert reason(index, "citations", "high", "talk") == "cited 2 times inside this library"


def test_citations_are_not_counted_where_few_papers_list_references(tmp_path: Path) -> None:
    papers = [*PAPERS, *(Paper(f"more{n}", f"Another paper {n}") for n in range(9))]
    index = _index(tmp_path, papers)
    found = ATTRIBUTES.get("citations").grades(">=1", index, np.arange(len(index)))
    assert np.flatnonzero(~np.isnan(found)).tolist() == [0, 1]


def test_what_nobody_cites_is_not_highly_cited(tmp_path: Path) -> None:
    papers = [
        Paper(f"p{n}", f"Paper number {n}", references=cites("p0") if n else cites("p1")) for n in range(40)
    ]
    index = _index(tmp_path, papers)
    found = ATTRIBUTES.get("citations").grades("high", index, np.arange(len(index)))
    assert np.flatnonzero(found >= 0.5).tolist() == [0, 1]


def test_recency_is_graded_by_age(grade: Grade) -> None:
    new, old = grade("recency", "new"), grade("recency", "old")
    assert new["preprint"] == 1
    assert new["preprint"] > new["gone"] > new["journal"] > new["talk"]
    assert met(new) == {"preprint", "gone", "journal"}
    assert met(old) == {"talk"}
    assert unknown(new) == {"bare"}


def test_years_are_counted_from_now(grade: Grade) -> None:
    ago = datetime.now(UTC).year - 2021
    assert met(grade("year", f">=now-{ago}")) == {"preprint", "gone"}
    assert met(grade("year", f"<now-{ago}")) == {"journal", "talk"}
    assert met(grade("year", f"now-{ago}..now")) == {"preprint", "gone"}
    assert met(grade("year", ">2021")) == {"preprint"}


def test_access(grade: Grade, index: Index) -> None:
    assert met(grade("access", "open")) == {"preprint"}
    assert unknown(grade("access", "Open Access")) == {"journal", "talk", "gone", "bare"}
    assert met(grade("access", "fulltext")) == {"talk"}
    assert unknown(grade("access", "fulltext")) == set()
    assert reason(index, "access", "open", "preprint") == "open: it is in arXiv"


@pytest.mark.parametrize("named", ["preprint", "Mice at night", "arXiv:2301.00001"])
def test_cites_a_paper_of_the_library(grade: Grade, named: str) -> None:
    found = grade("cites", named)
    assert met(found) == {"journal"}
    assert unknown(found) == {"gone", "bare"}


def test_cites_what_the_library_does_not_hold(grade: Grade, index: Index) -> None:
    assert met(grade("cites", "Echoes of the Night Sky")) == {"talk"}
    assert met(grade("cites", "echo")) == set()
    assert "no paper of this library cites" in why_missing(index, "require cites=100% of it_all")


def test_known_papers(grade: Grade, index: Index) -> None:
    assert met(grade("known", "owls at dusk")) == {"journal"}
    assert met(grade("known", "Young 2023")) == {"preprint"}
    assert met(grade("known", "Smith et al. 2019")) == met(grade("known", "Smith & Li (2019)")) == {"journal"}
    assert named_papers("Li 2019", index) == ()  # not its first author
    assert unknown(grade("known", "Smith 1999")) == set(index.ids)
    assert "names no paper" in why_missing(index, "exclude known=Smith 1999")
    assert "paper_lists.mine" in why_missing(index, "exclude known=mine")
    assert met(grade("known", "have: journal | Mice at night")) == {"journal", "preprint"}


def test_grades_follow_the_library_while_a_generation_is_open(tmp_path: Path) -> None:
    index = _index(tmp_path)
    asked = ["author=Quux", "source=name:Quuxnet", "known=journal"]

    def found() -> list[set[str]]:
        masks = [conditions_mask(Grader(index), [Condition.parse(f"require {one}")]) for one in asked]
        return [{i for i, at in index.positions.items() if mask is None or mask[at]} for mask in masks]

    assert found()[2] == {"journal"}
    with index.library.writing("add") as writer:
        writer.add([replace(PAPERS[1], authors=("Eve Quux",), venue="Quuxnet")])
    Works(index.library).merge("journal", "talk")
    assert found() == [{"preprint"}, {"preprint"}, {"journal", "talk"}]


def test_a_slow_condition_holds_up_no_other(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    graded = threading.Event()
    slow = type(ATTRIBUTES.get("author")).grades

    def grades(*given: Any) -> Any:
        assert graded.wait(20)
        return slow(*given)

    monkeypatch.setattr(type(ATTRIBUTES.get("author")), "grades", grades)
    grader = Grader(index)
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(conditions_mask, grader, [Condition.parse("require author=Ada Smith")])
        other = pool.submit(conditions_mask, grader, [Condition.parse("require year=>=2000")])
        try:
            assert other.result(timeout=10) is not None
        finally:
            graded.set()
        assert waiting.result() is not None


def test_everything_else_has_a_reason_too(index: Index) -> None:
    assert reason(index, "year", ">=2019", "journal") == "2019"
    assert reason(index, "venue", "Journal of Owls", "journal") == "Journal of Owls"
    assert reason(index, "author", "Smith | Young", "journal") == "Ada Smith"
    assert reason(index, "author", "Nobody", "journal") == "2 others"
    assert reason(index, "known", "have: journal", "journal") == "on your list have"
    assert reason(index, "known", "Smith 2019", "journal") == "named by you"
    assert reason(index, "known", "Smith 2019", "talk") == ""
    assert reason(index, "recency", "new", "preprint") == "2023; the newest here are of 2023"
    assert reason(index, "cites", "talk", "journal") == "by its 2 references"


def test_two_papers_of_one_author_and_year_are_not_guessed_at(tmp_path: Path) -> None:
    twice = [
        Paper(f"p{n}", f"Different work number {n}", authors=("Ada Smith",), year=2019) for n in range(2)
    ]
    assert named_papers("Smith 2019", _index(tmp_path, twice)) == ()


def test_lists_and_seeds_are_put_into_values(index: Index) -> None:
    lists = UserLists({"ML": ("NeurIPS", "ICML")}, {"A*": ("Journal of Owls",)}, {"have": ("journal",)})

    def bound(spelling: str, *seeds: str) -> str:
        return bound_conditions([Condition.parse(spelling)], seeds, index, lists)[0].spelling

    assert bound("require venue=ml") == bound("require venue=Ml") == "require venue=NeurIPS | ICML"
    assert bound("require venue=other") == "require venue=other"
    assert bound("prefer venue_rank=a*") == "prefer venue_rank=a*: Journal of Owls"
    assert bound("exclude known=have") == "exclude known=have: journal"
    assert bound("exclude known=listed", "talk") == "exclude known=listed: talk"
    assert bound("exclude known=listed") == "exclude known=listed"
    assert bound("require author=same", "journal", "talk") == "require author=Ada Smith | Bo Li"
    assert bound("require author=same", "gone") == "require author=same"
    unless = bound_conditions([Condition.parse("exclude year=<=2020 unless venue=ml")], (), index, lists)
    assert unless[0].unless == (Exemption("venue", "NeurIPS | ICML"),)


def test_alternatives_inside_a_value(grade: Grade) -> None:
    assert met(grade("venue", "Journal of Owls | NeurIPS")) == {"journal", "talk"}
    assert met(grade("author", "Young | Bo Li")) == {"preprint", "journal"}
    assert met(grade("venue_rank", "top: Journal of Owls")) == {"journal"}


def test_what_nobody_states_is_said(index: Index, tmp_path: Path) -> None:
    assert why_missing(index, "require venue_rank=top").startswith("no list says which venues are top")
    assert why_missing(index, "require author=same") == "there is no seed paper whose authors are known"
    assert why_missing(index, "require year=2020") == ""
    bare = _index(tmp_path, [Paper("a", "One"), Paper("b", "Two")])
    for spelling, noun in (
        ("require affiliation=Owl Labs", "affiliation"),
        ("require citations=>=5", "number of citations"),
        ("require cites=Owls", "list of references"),
        ("require recency=new", "year"),
        ("require status=journal", "status"),
    ):
        assert why_missing(bare, spelling) == f"no paper of this library states its {noun}"


def test_an_index_of_an_older_version_says_so(tmp_path: Path) -> None:
    index = _index(tmp_path)
    del index.manifest["records"]
    assert "aspectra index" in why_missing(index, "require publisher=IEEE")
    assert "aspectra index" in why_missing(index, "require cites=talk")
    assert "aspectra index" in why_missing(index, "require access=fulltext")
    assert why_missing(index, "require venue=NIPS") == ""


def test_values_have_a_length_of_their_own() -> None:
    ids = " | ".join(f"paper-{n}" for n in range(500))
    assert Condition("known", f"have: {ids}", "exclude").value.endswith("paper-499")
    with pytest.raises(UsageError, match="characters"):
        Condition("venue", ids)
