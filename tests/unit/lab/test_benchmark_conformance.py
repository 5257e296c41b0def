"""What every benchmark must do, run over all that are registered."""

from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path

import pytest

from aspectra.base.errors import AspectraError, BadInput, UsageError
from aspectra.lab.benchmarks.protocol import BENCHMARKS, COMMON, Benchmark
from aspectra.lab.evaluation.means import PRESETS
from aspectra.lab.measures.protocol import parse
from benchmark_fixtures import LAYOUTS
from long import LONG

CASES = [(layout, packed) for layout in LAYOUTS for packed in ("", ".zst", ".gz")]


def build(layout: str, folder: Path, packed: str = "", **options) -> Benchmark:
    made = LAYOUTS[layout]
    return BENCHMARKS.get(made.benchmark)(made.write(folder, packed=packed), **options)


def reload(layout: str, folder: Path, **options) -> Benchmark:
    return BENCHMARKS.get(LAYOUTS[layout].benchmark)(folder, **options)


def test_every_benchmark_has_a_layout_here():
    assert {layout.benchmark for layout in LAYOUTS.values()} == set(BENCHMARKS)


@pytest.mark.parametrize(("layout", "packed"), CASES)
def test_protocol(layout, packed, tmp_path):
    bench = build(layout, tmp_path / "data", packed)
    names = [topic.id for topic in bench.topics]
    assert names
    assert len(set(names)) == len(names)
    assert all(topic.text.strip() or topic.seed for topic in bench.topics)
    ids = {paper.id for paper in bench.papers()}
    assert {topic.seed for topic in bench.topics} - {""} <= ids
    assert bench.licence
    assert bench.source
    assert bench.revision
    for grades in bench.qrels.values():
        assert set(grades) <= set(names)
    assert set(next(iter(bench.qrels.values()))) == set(names)
    assert set(bench.excluded) <= set(names)
    for fold in bench.folds.values():
        assert set(fold) <= set(names)
    if len(bench.modes) > 1:
        assert set(bench.qrels) == set(bench.modes)
    else:
        assert "gold" in bench.qrels
    if bench.pools is not None:
        assert set(bench.pools) <= set(names)
        assert all(len(set(pool)) == len(pool) for pool in bench.pools.values())


@pytest.mark.parametrize("name", BENCHMARKS.names())
def test_declaration(name):
    declared = BENCHMARKS.get(name)
    assert declared.name == name
    assert declared.about.endswith(".")
    assert declared.files.endswith(".")
    assert declared.preset in PRESETS
    assert [str(parse(measure)) for measure in declared.measures] == list(declared.measures)
    names = [option.name for option in (*declared.options, *COMMON)]
    assert len(set(names)) == len(names)
    for option in (*declared.options, *COMMON):
        assert option.help
        assert not option.values or option.default in ("", *option.values)
    assert all("/" in part.repo for part in declared.hub)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_declared_values_are_taken_and_no_others(layout, tmp_path):
    declared = BENCHMARKS.get(LAYOUTS[layout].benchmark)
    for option in (*declared.options, *COMMON):
        if option.values:
            with pytest.raises(UsageError, match=f"the option {option.name} of {declared.name} cannot be"):
                build(layout, tmp_path / "data", **{option.name: "nonsense"})


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_pair_judged_twice(layout, tmp_path):
    """One policy for all: the same grade counts once and is reported, two grades are refused."""
    build(layout, tmp_path)
    files = sorted(tmp_path.rglob("*qrels*.tsv")) + sorted(tmp_path.rglob("qrels*/*.tsv"))
    for path in dict.fromkeys(files):
        text = path.read_text()
        last = text.splitlines()[-1]
        path.write_text(text + last + "\n")
        bench = reload(layout, tmp_path)
        assert any("repeated with the same grade" in problem for problem in bench.audit.problems)
        path.write_text(text + last.rpartition("\t")[0] + "\t7\n")
        with pytest.raises(BadInput, match="twice"):
            reload(layout, tmp_path)
        again = reload(layout, tmp_path, duplicates="first")
        assert again.qrels == bench.qrels
        assert any("the first kept" in problem for problem in again.audit.problems)
        path.write_text(text)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_measures_are_canonical(layout, tmp_path):
    bench = build(layout, tmp_path)
    assert bench.measures
    assert [str(parse(measure)) for measure in bench.measures] == list(bench.measures)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_papers_stream_twice_alike(layout, tmp_path):
    bench = build(layout, tmp_path)
    first, second = list(bench.papers()), list(bench.papers())
    assert first == second
    assert len({paper.id for paper in first}) == len(first) == bench.audit.documents + len(bench.unranked)
    again = bench.papers()
    next(again)
    assert next(bench.papers()) == first[0]  # an unfinished stream does not disturb another


@pytest.mark.parametrize("layout", LAYOUTS)
def test_audit_counts(layout, tmp_path):
    bench = build(layout, tmp_path)
    assert bench.audit.topics == len(bench.topics)
    assert bench.audit.judged == {n: sum(map(len, g.values())) for n, g in bench.qrels.items()}
    assert bench.audit.checksums
    assert all(len(value) == 64 for value in bench.audit.checksums.values())
    ids = {paper.id for paper in bench.papers()}
    lost = any(d not in ids for grades in bench.qrels.values() for judged in grades.values() for d in judged)
    assert lost == any("judged document" in p and "not in the corpus" in p for p in bench.audit.problems)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_compression_changes_nothing_but_checksums(layout, tmp_path):
    plain, packed = build(layout, tmp_path / "data"), build(layout, tmp_path / "packed" / "data", ".zst")
    assert plain.topics == packed.topics
    assert plain.qrels == packed.qrels
    assert list(plain.papers()) == list(packed.papers())
    assert plain.audit.problems == packed.audit.problems
    assert plain.revision != packed.revision


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_file_missing_is_said(layout, tmp_path):
    bench = build(layout, tmp_path)
    for name in bench.audit.checksums:
        if any(part in name for part in LAYOUTS[layout].optional):
            continue
        path = tmp_path / name
        raw = path.read_bytes()
        path.unlink()
        with pytest.raises(BadInput) as error:
            reload(layout, tmp_path)
        assert str(tmp_path) in str(error.value)
        path.write_bytes(raw)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("packed", ["", ".zst", ".gz"])
def test_truncated_files_are_said(layout, packed, tmp_path):
    """Any file cut short is an error that names it, whatever its compression."""
    bench = build(layout, tmp_path, packed)
    for name in bench.audit.checksums:
        path = tmp_path / name
        raw = path.read_bytes()
        # Plain text is cut inside its last line: a cut between two lines shows only in what is then missing.
        plain = path.suffix in (".tsv", ".jsonl", ".json")
        path.write_bytes(raw.rstrip()[:-2] if plain else raw[: len(raw) * 2 // 3])
        with pytest.raises(BadInput) as error:
            list(reload(layout, tmp_path).papers())
        assert path.name in str(error.value)
        path.write_bytes(b"")
        with pytest.raises(BadInput):
            list(reload(layout, tmp_path).papers())
        path.write_bytes(raw)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_changed_file_under_a_pinned_checksum(layout, tmp_path):
    bench = build(layout, tmp_path / "data")
    pins = dict(bench.audit.checksums)
    assert reload(layout, tmp_path / "data", checksums=pins).audit == bench.audit
    listing = tmp_path / "SHA256SUMS"
    listing.write_text("".join(f"{value}  {name}\n" for name, value in pins.items()))
    assert reload(layout, tmp_path / "data", checksums=str(listing)).audit == bench.audit
    pinned = tmp_path / "pins.json"
    for name, found in pins.items():
        pinned.write_text(json.dumps({**pins, name: "0" * 64}))
        with pytest.raises(BadInput) as error:
            reload(layout, tmp_path / "data", checksums=str(pinned))
        assert found in str(error.value)
        assert "0" * 64 in str(error.value)
        assert Path(name).name in str(error.value)
    if partly := dict(list(pins.items())[1:]):
        found = reload(layout, tmp_path / "data", checksums=partly).audit.problems
        assert "no pinned checksum" in " ".join(found)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_bad_json_line(layout, tmp_path):
    bench = build(layout, tmp_path)
    files = [name for name in bench.audit.checksums if name.endswith(".jsonl")]
    for name in files:
        path = tmp_path / name
        raw = path.read_text()
        path.write_text(raw.replace("{", "{oops ", 2).replace("{oops ", "{", 1))
        with pytest.raises(BadInput) as error:
            reload(layout, tmp_path)
        assert path.name in str(error.value)
        assert "line" in str(error.value)
        path.write_text(raw)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_unknown_option_and_no_folder(layout, tmp_path):
    with pytest.raises(UsageError, match=r"unknown option of the benchmark .*: colour"):
        build(layout, tmp_path / "data", colour="red")
    with pytest.raises(AspectraError):
        reload(layout, tmp_path / "nowhere")


VALUES = [None, 1, 1.5, "x", [], {}, [1], ["a", None], {"a": 1}, True, "\ud800", "", -1]


def damaged(value, rnd: random.Random):
    """A JSON value with one part of it replaced by something else."""
    if isinstance(value, dict) and value and rnd.random() < 0.9:
        key = rnd.choice(list(value))
        return {**value, key: damaged(value[key], rnd)}
    if isinstance(value, list) and value and rnd.random() < 0.9:
        at = rnd.randrange(len(value))
        return [*value[:at], damaged(value[at], rnd), *value[at + 1 :]]
    return rnd.choice(VALUES)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_fields_of_any_kind_give_a_result_or_our_error(layout, tmp_path):
    rnd = random.Random(layout)
    build(layout, tmp_path)
    files = sorted(path for path in tmp_path.rglob("*.json*") if path.is_file())
    for _ in range(25 if LONG or "requests" not in layout else 6):
        path = rnd.choice(files)
        text = path.read_text()
        rows = text.splitlines() if path.suffix == ".jsonl" else [text]
        at = rnd.randrange(len(rows))
        rows[at] = json.dumps(damaged(json.loads(rows[at]), rnd))
        path.write_text("\n".join(rows) + "\n")
        with contextlib.suppress(AspectraError):
            bench = reload(layout, tmp_path)
            assert len(list(bench.papers())) == bench.audit.documents + len(bench.unranked)
            assert len({topic.id for topic in bench.topics}) == len(bench.topics)
        path.write_text(text)
