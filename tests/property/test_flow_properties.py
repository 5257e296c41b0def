"""The numbers of a flow diagram add up, whatever was read, removed, merged, split and decided."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from aspectra.app.ingest.works import Works
from aspectra.base.errors import UsageError
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper

TITLES = [f"Owls number {word} that hunt at night" for word in ("one", "two", "three")]
records = st.builds(
    lambda number, title, database: Paper(
        f"p{number}",
        TITLES[title],
        authors=("Ada Lovelace",),
        year=2020,
        metadata={"database": database} if database else {},
    ),
    st.integers(0, 9),
    st.integers(0, 2),
    st.sampled_from(["", "PubMed", "ClinicalTrials.gov"]),
)
steps = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(["a.ris", "b.bib", ""]), st.lists(records, max_size=6)),
    st.tuples(st.just("remove"), st.integers(0, 9)),
    st.tuples(st.just("decide"), st.integers(0, 9), st.sampled_from(["include", "exclude", "maybe", ""])),
    st.tuples(st.sampled_from(["merge", "split"]), st.integers(0, 9), st.integers(0, 9)),
    st.tuples(st.just("undo")),
)


def apply(store, step):
    verb, *given_ = step
    held = store.ids()
    try:
        if verb == "add":
            with store.writing(verb) as writer:
                writer.add(given_[1], path=given_[0], source="ris")
        elif verb == "undo":
            with store.writing(verb) as writer:
                writer.marks.undo()
        elif held:
            named = [held[number % len(held)] for number in given_ if isinstance(number, int)]
            if verb in ("merge", "split"):
                getattr(Works(store), verb)(*named)
                return
            with store.writing(verb) as writer:
                writer.remove(named) if verb == "remove" else writer.marks.decide(named, given_[1], "why")
    except UsageError:  # nothing to undo, or no versions to split
        pass


@settings(max_examples=60)
@given(st.lists(steps, max_size=14))
def test_the_numbers_add_up(done):
    with tempfile.TemporaryDirectory() as folder, Store.create(Path(folder) / "l") as store:
        for step in done:
            apply(store, step)
        flow = Works(store).flow()
        assert flow.problems() == []
        numbers = [n for name, n in flow.to_dict().items() if isinstance(n, int)]
        assert min(numbers) >= 0
        groups = {tuple(sorted((i, *store.versions([i]).get(i, ())))) for i in store.ids()}
        assert flow.works == len(groups) == Works(store).duplicates().works
        assert flow.full_text <= flow.sought
        for one, other in store.fetch("SELECT one, other FROM pairs WHERE NOT same"):
            assert other not in store.versions([one]).get(one, ())
        assert store.check() == []
