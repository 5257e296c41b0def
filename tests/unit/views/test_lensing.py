"""Lenses applied to a library: by one process or by several, and only to what they have not seen."""

from __future__ import annotations

import numpy as np
import pytest

from aspectra.base.errors import UsageError
from aspectra.base.values import replace
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.views.build import draft, generation
from aspectra.views.build import values as lensing
from aspectra.views.build.draft import IndexTask
from aspectra.views.build.run import build_index
from aspectra.views.lenses.protocol import LENSES
from aspectra.views.settings import IndexSettings

NAMES = ("language", "length")


class Shout:
    """A lens that only this process knows: the share of capital letters."""

    name = "shout"
    description = "how loud a title is"
    default = False
    version = 1
    kind = "paper"
    labels = ("loud",)
    reads = ("text",)

    def apply(self, papers):
        return [np.array([[sum(map(str.isupper, p.title)) / len(p.title)]], np.float32) for p in papers]

    def span(self, paper, label):
        return None


@pytest.fixture
def shout(monkeypatch):
    monkeypatch.setitem(LENSES._members, "shout", Shout())
    return "shout"


def _values(folder, names):
    library = Store.create(folder)
    with library.writing("add") as writer:
        writer.add([Paper(f"p{n}", f"OWLS {n}", f"Owls number {n} hunt mice at night.") for n in range(40)])
        seen = []
        settings = IndexSettings(encoders=(), lenses=names)
        task = IndexTask(library, writer, settings, [], lambda *said: seen.append(said))
        made = lensing.apply_lenses(task)
        again = lensing.apply_lenses(replace(task, progress=lambda *_: None))
    rows = list(
        library.rows("SELECT name, key, data FROM derived JOIN producers ON id = producer ORDER BY 1, 2")
    )
    library.close()
    assert seen[-1] == ("applying lenses", 40, 40)
    assert again == 0
    return made, rows


def test_several_processes_see_what_one_sees(tmp_path, monkeypatch, shout):
    names = (*NAMES, shout)
    monkeypatch.setattr(lensing, "_PAPERS_AHEAD", 7)
    alone = _values(tmp_path / "alone", names)
    monkeypatch.setattr(lensing, "_STORED", 15)  # the last ones are fewer
    _in_two(monkeypatch)
    assert _values(tmp_path / "together", names) == alone
    assert alone[0] == 120


def _in_two(monkeypatch):
    """From now on work is done in two processes."""
    monkeypatch.setattr(draft, "_MANY", 10)
    monkeypatch.setattr("joblib.cpu_count", lambda: 2)


def test_several_processes_read_what_one_reads(tmp_path, monkeypatch):
    monkeypatch.setattr(generation, "_AHEAD", 7)
    texts = ["" if n % 9 == 0 else f"Owls number {n} hunt mice. They eat {'x' * n}." for n in range(40)]
    papers = [Paper(f"p{n}", f"Owls {n}", text, year=1990 + n) for n, text in enumerate(texts)]
    found = []
    for folder in ("alone", "together"):
        library = Store.create(tmp_path / folder)
        with library.writing("add") as writer:
            writer.add(papers)
        build_index(library, IndexSettings(encoders=(), lenses=()))
        made = library.generations.current()
        found.append({path.relative_to(made): path.read_bytes() for path in made.rglob("*.npy")})
        found[-1] |= {path.relative_to(made): path.read_bytes() for path in made.rglob("vocabulary.json")}
        library.close()
        _in_two(monkeypatch)
    assert found[0] == found[1]
    assert len(np.load(next((tmp_path / "alone").rglob("sentences/offsets.npy")))) == 41


@pytest.mark.parametrize(
    "wrong",
    [
        {"dense_chunks": "no"},
        {"sentences": "together"},
        {"batch": "many"},
        {"encoders": "minilm"},
        {"lexical": {"k2": 1.0}},
        {"lexical": {"tokens": {"stem": True}}},
        {"lenses": ["nothing"]},
        {"chunk": []},
    ],
)
def test_settings_of_the_wrong_kind_are_refused(wrong):
    with pytest.raises(UsageError):
        IndexSettings.from_dict(wrong)


def test_settings_read_back():
    made = IndexSettings(encoders=(), chunks=("60w", "3000t"), dense_chunks=False, sentences="late")
    assert IndexSettings.loads(made.dumps()) == made
    assert IndexSettings.loads("") == IndexSettings()
