"""Arrays of a generation: what is read of them is what numpy reads, whole or by rows."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from aspectra.base.errors import AspectraError, LibraryCorrupt
from aspectra.papers.library.generations.folders import file_sum
from aspectra.views.storage import arrays
from aspectra.views.storage.arrays import new_array, save_array, save_json
from aspectra.views.storage.folder import StoredFolder

ROWS = 500


@pytest.fixture(params=[1, 1 << 20], ids=["mapped", "read"])
def folder(tmp_path, monkeypatch, request):
    """Arrays and names."""
    monkeypatch.setattr(arrays, "_MAPPED", request.param)
    (tmp_path / "view").mkdir()
    save_array(tmp_path / "view" / "narrow.npy", np.arange(ROWS * 12, dtype=np.float32).reshape(ROWS, 12))
    save_array(tmp_path / "view" / "wide.npy", np.arange(ROWS * 100, dtype=np.int32).reshape(ROWS, 100))
    save_array(tmp_path / "view" / "empty.npy", np.zeros((0, 12), np.float16))
    save_json(tmp_path / "view" / "names.json", ["é"] * 200)
    return tmp_path


def _sealed(folder):
    names = [p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()]
    return {name: file_sum(folder / name) for name in names}


READS = {
    "a row": 7,
    "the last row": -1,
    "a slice": slice(20, 30),
    "a slice backwards": slice(30, 20, -1),
    "every third": slice(10, 40, 3),
    "rows": np.array([400, 3, 3, 17]),
    "rows from the end": np.array([-1, -3]),
    "a mask": np.arange(ROWS) % 3 == 0,
    "no rows": np.zeros(0, np.int64),
    "an empty slice": slice(9, 9),
}


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("array", ["narrow", "wide"])
def test_rows_are_those_that_numpy_reads(folder, name, array):
    held = StoredFolder(folder, _sealed(folder)).folder("view")
    whole = np.load(folder / "view" / f"{array}.npy")
    np.testing.assert_array_equal(held.array(array)[READS[name]], whole[READS[name]])
    np.testing.assert_array_equal(held.whole(array), whole)


def test_json_and_missing_files(folder):
    sums = _sealed(folder)
    held = StoredFolder(folder, sums).folder("view")
    assert held.json("names.json") == ["é"] * 200
    assert "names.json" in held
    assert "other.json" not in held
    (folder / "view" / "other.json").write_text("{}")
    assert "other.json" not in held  # it is none of the generation's
    with pytest.raises(LibraryCorrupt, match=r"other\.json"):
        held.json("other.json")
    (folder / "view" / "wide.npy").unlink()
    with pytest.raises(LibraryCorrupt, match=r"wide\.npy"):
        held.array("wide")
    assert held.array("empty").whole().shape == (0, 12)


@pytest.mark.parametrize("change", [b"", b"x"])
def test_a_file_of_another_length_is_refused(folder, change):
    sums = _sealed(folder)
    path = folder / "view" / "narrow.npy"
    path.write_bytes(path.read_bytes() + change if change else path.read_bytes()[:-1])
    with pytest.raises(LibraryCorrupt, match="its header says"):
        StoredFolder(folder, sums).folder("view").array("narrow")


def test_a_closed_folder_gives_nothing(folder):
    held = StoredFolder(folder, _sealed(folder))
    array = held.folder("view").array("narrow")
    kept = array[5:7]
    held.close()
    assert kept.tolist() == [list(range(60, 72)), list(range(72, 84))]
    for use in (lambda: array[0], array.whole, lambda: held.folder("view").array("wide")):
        with pytest.raises(AspectraError, match="closed"):
            use()


def test_arrays_are_written_as_numpy_writes_them(tmp_path):
    for number, made in enumerate(
        (
            np.arange(10, dtype=np.int64),
            np.zeros((0, 3), np.int32),
            np.ones((3, 4), np.float16).T,
            np.random.default_rng(1).normal(size=(5, 2)).astype(np.float32),
        )
    ):
        save_array(tmp_path / f"{number}.npy", made)
        np.testing.assert_array_equal(np.load(tmp_path / f"{number}.npy"), made)
        np.save(tmp_path / "theirs.npy", np.ascontiguousarray(made))
        assert (tmp_path / f"{number}.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()
    filled = new_array(tmp_path / "new.npy", (4, 3), np.float16)
    filled[2] = 7
    del filled
    np.save(tmp_path / "theirs.npy", np.array([[0] * 3, [0] * 3, [7] * 3, [0] * 3], np.float16))
    assert (tmp_path / "new.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()


def test_no_other_module_reads_files_of_a_generation():
    source = Path(arrays.__file__).parents[2]
    rooms = ("views/index", "views/dense", "views/lexical", "views/storage", "views/build", "search")
    reads = re.compile(r"np\.load\(|np\.memmap\(|fromfile\(|\.read_(?:text|bytes)\(|\bopen\(|np\.save\(")
    found = {
        path.relative_to(source).as_posix()
        for room in rooms
        for path in (source / room).rglob("*.py")
        if reads.search(path.read_text("utf-8"))
    }
    # Word lists, prompts and plans come with the package or from the user.
    assert {name for name in found if name.startswith("views")} == {"views/storage/arrays.py"}
    assert not [name for name in found if "generation" in (source / name).read_text() and name[0] == "s"]
