"""What an index does with a damaged generation, and with values that belong to no paper any more."""

import numpy as np
import pytest

from aspectra.base.errors import MissingExtra
from aspectra.papers.library.derived import Producer
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Section
from aspectra.views.build.run import build_index
from aspectra.views.lexical.collection import WordIndex
from aspectra.views.settings import IndexSettings
from aspectra.views.storage.folder import StoredFolder
from aspectra.views.text.tokens import LexicalSettings
from fake_encoder import FakeEncoder

OTHER = Producer("other", "1", ("text",))


@pytest.fixture
def library(tmp_path):
    made = Store.create(tmp_path / "library")
    with made.writing("add") as writer:
        writer.add([Paper("owl", title="Owls", abstract="Owls hunt at night.")])
    build_index(made, IndexSettings(encoders=()))
    return made


@pytest.mark.parametrize("rebuild", [True, False])
def test_a_damaged_manifest_is_replaced(library, rebuild):
    (library.generations.current() / "manifest.json").write_text("{")
    report = build_index(library, rebuild=rebuild)
    assert report.changed
    assert library.generations.manifest(library.generations.current())["papers"] == 1


def test_orphans_are_collected_where_papers_changed(library):
    with library.writing("test") as writer:
        writer.derived.put(OTHER, [(library.derived.missing(OTHER)[0].key, [np.zeros(1, np.float32)])])
    build_index(library, rebuild=True)
    assert len(list(library.derived.items(OTHER))) == 1
    with library.writing("add") as writer:
        writer.add([Paper("owl", title="Owls", abstract="Owls hunt by ear.")])
    build_index(library)
    assert not list(library.derived.items(OTHER))


def test_an_index_up_to_date_is_left_alone(library):
    assert not build_index(library).changed
    assert build_index(library, rebuild=True).changed


def test_an_encoder_that_is_not_installed_is_left_out_only_before_it_was_used(library):
    def missing(spec):
        raise MissingExtra("no weights", hint="bring them")

    fake = IndexSettings(encoders=("fake",))
    with pytest.raises(MissingExtra):
        build_index(library, fake, load=missing)
    report = build_index(library, fake, load=missing, lenient=True)
    assert (report.papers, report.absent) == (1, {"fake": "bring them"})
    assert not build_index(library, load=missing, lenient=True).changed, "nothing new: nothing to do"
    assert build_index(library, load=lambda spec: FakeEncoder()).encoded == 1, "the settings kept it"
    with pytest.raises(MissingExtra):  # its views would be lost
        build_index(library, load=missing, lenient=True)


def test_a_heading_without_end_is_not_repeated_with_each_chunk(tmp_path):
    made = Store.create(tmp_path / "library")
    section = Section("owls " * 20_000, "Owls hunt mice at night. " * 600)
    with made.writing("add") as writer:
        writer.add([Paper("owl", title="Owls", sections=(section,))])
    build_index(made, IndexSettings(encoders=(), chunks=("60w",)))
    (folder,) = made.generations.current().glob("chunks*bm25")
    assert WordIndex(StoredFolder(folder), LexicalSettings()).lengths.sum() < 20_000


def test_a_paper_without_a_vector_is_named(library, caplog):
    class Silent(FakeEncoder):
        def encode(self, texts, **more):
            coded = super().encode(texts, **more)
            coded.vectors[[n for n, text in enumerate(texts) if "fox" in text]] = 0.0
            return coded

    with library.writing("add") as writer:
        writer.add([Paper("den", title="Dens", abstract="A fox sleeps.")])
    build_index(library, IndexSettings(encoders=("fake",)), load=lambda _: Silent())
    assert [m for m in caplog.messages if "no vector" in m] == [
        "fake gave no vector for the paper den; vectors will not find it."
    ]
