"""Citations are linked once a run and step by step, with the links that comparing everything gives."""

from __future__ import annotations

import random

import pytest

from aspectra.base.values import replace
from aspectra.papers.identifiers import identifiers_in, normalise
from aspectra.papers.library.links import citations as linking
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Reference, Section, normalise_title

WORDS = "owl mouse night wing forest echo sound hunting prey field étude barn study of the in".split()


def add(library, *papers):
    with library.writing("add") as writer:
        return writer.add(papers)


def targets(library):
    rows = library.fetch(
        "SELECT a.id, c.ordinal, b.id FROM citations c JOIN papers a ON a.pos = c.pos "
        "LEFT JOIN papers b ON b.pos = c.target"
    )
    return {row[:2]: row[2] for row in rows}


def compared_with_all(library, known):
    """(paper, ordinal) -> paper cited: every citation that is not ``known`` compared with every paper."""
    papers = list(library.papers())
    titles: dict[str, str] = {}
    named: dict[tuple[str, str], str] = {}
    for paper in papers:
        if key := normalise_title(paper.title):
            titles.setdefault(key, paper.id)
        for scheme, value in paper.identifiers.items():
            named.setdefault((scheme, normalise(scheme, value)), paper.id)
    out = {}
    for paper in papers:
        for ordinal, reference in enumerate(paper.references):
            place = (paper.id, ordinal)
            found = known.get(place) or _meant(reference, papers, titles, named)
            out[place] = None if found == paper.id else found
    return out


def _meant(reference, papers, titles, named):
    stated = dict(reference.identifiers)
    own = stated.pop("id", None)
    if own in {paper.id for paper in papers}:
        return own
    for scheme, value in {**identifiers_in(reference.raw), **stated}.items():
        if (scheme, normalise(scheme, value)) in named:
            return named[scheme, normalise(scheme, value)]
    if title := normalise_title(reference.title):
        return titles.get(title)
    text = f" {normalise_title(reference.raw)} "
    within = [key for key in titles if key.count(" ") >= 3 and f" {key} " in text]
    within.sort(key=lambda key: (-len(key), text.index(f" {key} ")))
    return titles[within[0]] if within else None


def made_up(rng, number):
    def title():
        return " ".join(rng.choices(WORDS, k=rng.choice((2, 4, 4, 5, 6)))).title()

    references = []
    for _ in range(rng.randrange(5)):
        doi, arxiv, other = f"10.1000/{rng.randrange(60)}", f"2101.{rng.randrange(60):05d}", rng.randrange(60)
        references.append(
            rng.choice(
                (
                    Reference(identifiers={"id": f"p{other}"}),
                    Reference(identifiers={"doi": doi.upper()}),
                    Reference(raw=f"A. Author. {title()}. In Proceedings. arXiv:{arxiv}v2."),
                    Reference(raw=f"A. Author. 2019. {title()} {title()}. Journal 3(1)."),
                    Reference(title=title()),
                    Reference(raw=f"{title()} {title()}", identifiers={"id": f"p{other}", "doi": doi}),
                    Reference(),
                )
            )
        )
    identifiers = {}
    if rng.random() < 0.5:
        identifiers["doi"] = f"10.1000/{rng.randrange(60)}"
    if rng.random() < 0.5:
        identifiers["arxiv"] = f"2101.{rng.randrange(60):05d}"
    return Paper(f"p{number}", title(), identifiers=identifiers, references=tuple(references))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("many", [0, 5000])
def test_links_are_those_of_comparing_everything(tmp_path, monkeypatch, seed, many):
    monkeypatch.setattr(linking, "_MANY", many)  # titles from memory, or from the index
    rng = random.Random(seed)
    library = Store.create(tmp_path / "library")
    papers = [made_up(rng, number) for number in rng.sample(range(60), 60)]
    linked = 0
    while papers:
        before = targets(library)
        size = rng.choice((1, 2, 7, 20))
        add(library, *papers[:size])
        del papers[:size]
        found = targets(library)
        assert found == compared_with_all(library, before)
        linked = sum(target is not None for target in found.values())
    assert linked > 15
    for _ in range(8):  # papers that change or go
        chosen = rng.choice(library.ids())
        if rng.random() < 0.5:
            with library.writing("remove") as writer:
                writer.remove([chosen])
        else:
            title = rng.choice(list(library.papers())).title
            add(library, replace(library.get(chosen), title=title, identifiers={"doi": "10.1000/1"}))
        found = targets(library)
        assert found == compared_with_all(library, found)  # nothing that is open could be linked


def test_one_run_over_many_files_compares_each_citation_once(tmp_path, monkeypatch):
    """V4: every open citation was compared again after each file of a run, and again in each run."""
    looked = []
    real = linking._target
    monkeypatch.setattr(
        linking, "_target", lambda db, record, titles: looked.append(1) or real(db, record, titles)
    )
    library = Store.create(tmp_path / "library")
    cited = Reference(raw="Nobody. 1900. A work that nobody has ever added. Nowhere.")
    with library.writing("add") as writer:
        for number in range(30):  # one call for each file
            writer.add([Paper(f"p{number}", f"Study number {number} of owls", references=(cited,))])
    assert len(looked) == 30
    for number in range(30, 40):
        add(library, Paper(f"p{number}", f"Study number {number} of owls", references=(cited,)))
    assert len(looked) == 40
    add(library, Paper("work", "A work that nobody has ever added"))
    assert len(looked) == 80
    assert len(library.cited_by("work")) == 40


def test_nothing_is_kept_of_citations_that_are_linked(library):
    add(library, Paper("citing", "Citing", references=(Reference(title="Moths at the lamp"),)))
    assert library.fetch("SELECT key FROM citation_keys") == [("title moths at the lamp",)]
    add(library, Paper("moths", "Moths at the lamp"))
    assert library.fetch("SELECT key FROM citation_keys") == []
    assert library.fetch("SELECT pos FROM unlinked") == []
    with library.writing("remove") as writer:
        writer.remove(["moths"])
    assert library.fetch("SELECT key FROM citation_keys") == [("title moths at the lamp",)]
    with library.writing("remove") as writer:
        writer.remove(["citing"])
    assert library.fetch("SELECT key FROM citation_keys") == []


def test_a_paper_and_its_sections_are_of_one_moment(library):
    """V7: the row was read in one snapshot, the sections and references in another."""
    reading = library.papers()
    next(reading)
    held = library.get("full")
    new = replace(held, venue="Elsewhere", sections=(Section("", "New text."),), references=(Reference("x"),))
    add(library, new)
    assert next(paper for paper in reading if paper.id == "full") == held
    assert library.get("full") == new


def test_texts_of_any_characters_come_back(library):
    odd = "a\x00b\x01 \\ \" \u2028 \U0001f989 \ud7ff {}[]'"
    paper = Paper("odd", odd, odd, sections=(Section(odd, odd),), references=(Reference(odd),), venue=odd)
    add(library, paper)
    assert library.get("odd") == paper
    assert list(library.papers())[-1] == paper
