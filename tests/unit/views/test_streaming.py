"""An index of full texts is built from a stream; what is held of all of them is four bytes a word."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Section
from aspectra.views.build import generation as full_text
from aspectra.views.build.draft import Draft, IndexReport
from aspectra.views.build.generation import write_generation
from aspectra.views.lexical import bm25
from aspectra.views.settings import IndexSettings


class _Text(str):
    """A text of which it can be told whether anybody still holds it."""

    __slots__ = ("__weakref__",)


@pytest.fixture
def library(tmp_path):
    made = Store.create(tmp_path / "library")
    with made.writing("add") as writer:
        text = "Owls hunt at night. Mice hide in the grass. " * 40
        writer.add(
            Paper(f"p{n}", f"Title {n}", f"Abstract {n}.", sections=(Section("Method", f"{n} {text}"),))
            for n in range(30)
        )
    return made


def test_one_full_text_is_held_at_a_time(library, tmp_path, monkeypatch):
    alive: weakref.WeakSet[_Text] = weakref.WeakSet()
    most, words = [0], []

    def texts(self, parts="all", read=Store.papers):
        for paper in read(self, parts):
            if parts == "sections":
                sections = []
                for section in paper.sections:
                    sections.append(Section(section.heading, _Text(section.text)))
                    alive.add(sections[-1].text)
                most[0] = max(most[0], len(alive))
                yield Paper(paper.id, paper.title, paper.abstract, sections=tuple(sections))
            else:
                yield paper

    def count(documents, total, made=bm25.count_words):
        words.extend(documents)
        return made(documents, total)

    monkeypatch.setattr(Store, "papers", texts)
    monkeypatch.setattr(bm25, "count_words", count)
    # Its pieces are counted where they are made: each is a part of one text.
    pieces = []
    made = full_text.chunk_texts
    monkeypatch.setattr(full_text, "chunk_texts", lambda *given: pieces.append(len(alive)) or made(*given))
    settings = IndexSettings(encoders=(), chunks=("60w",), lenses=())
    draft = Draft(library, settings, [], IndexReport(), lambda *_: None, tmp_path / "new")
    draft.folder.mkdir()
    write_generation(draft)
    assert 1 <= most[0] <= 2  # the one before it, until the next was read
    assert max(pieces) <= 2
    assert all(isinstance(one, np.ndarray) and one.itemsize == 4 for one in words)
    assert len(words) > 30
