"""Stop every writing step at its operations, in five ways; reopen, look, run the step again, compare.

The steps run on a small library with words, vectors, chunks, local lenses and a prompted lens whose model is
a script. After each crash the library is opened as any reader opens it: papers of steps that had returned
before are there with what they were, nothing is repaired by hand, and the same step run again gives answers
that are equal, byte for byte, to those of a library that was never disturbed.

    python tests/proofs/crashes.py --crashes 1000 --seed 1
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aspectra.base.values import replace

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

from summary import Summary, arguments

from aspectra.base.errors import AspectraError
from aspectra.llm.assemble import ModelSettings, wrap_model
from aspectra.llm.scripted import Scripted
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper, Section
from aspectra.search.searcher import Searcher
from aspectra.testing.simulated_disk import FAULTS, Fault, Outcome, run_with_fault
from aspectra.views.build.run import build_index
from aspectra.views.build.work import settings_of
from aspectra.views.prompted.definition import PromptedLens, define, definition, readings, undefine
from aspectra.views.prompted.running import bound_to, run_lens
from aspectra.views.settings import IndexSettings
from fake_encoder import FakeEncoder

NEVER = Fault(10**9)
LANES = 2
OLD = Path(__file__).parents[1] / "data" / "library-f0ec659.sql"
WORDS = "owls hunt mice at night while foxes sleep and crabs rank documents with language models".split()
SETTINGS = IndexSettings(encoders=("fake",), chunks=("20w",), lenses=("language", "length"), batch=3)
PROMPT = """
placeholders = ["paper", "rules", "answer"]
system = "{{rules}}"
user = "{{paper}} Which bird? {{answer}}"
usual_tokens = 8

[schema]
type = "string"
"""


def _papers(count: int, seed: int) -> list[Paper]:
    draw = random.Random(seed)

    def text(words: int) -> str:
        return " ".join(draw.choices(WORDS, k=words)).capitalize() + "."

    return [
        Paper(
            f"p{number:02}",
            f"Number {number} {text(3)}",
            f"{text(6)} {text(5)}",
            (f"Ann Author{number}",),
            1990 + number,
            draw.choice(("Dens", "Nests")),
            {"doi": f"10.1000/{number}"},
            sections=(Section("Body", text(50)),) if number % 5 == 0 else (),
        )
        for number in range(count)
    ]


PAPERS = _papers(10, 1)
EDITED = [replace(paper, abstract=f"Rewritten. {paper.abstract}") for paper in PAPERS[:3]]
NEW = _papers(15, 1)[10:]


@dataclass(frozen=True)
class Step:
    """One writing command.

    Attributes:
        name: of the row in the table.
        run: does it, in a folder that holds ``library``.
        before: steps that had returned.
        acknowledged: ids of papers that they added and this does not change.
    """

    name: str
    run: Callable[[Path], object]
    before: tuple[str, ...] = ()
    acknowledged: tuple[str, ...] = ()


def _load(_: str) -> FakeEncoder:
    return FakeEncoder()


def _init(place: Path) -> None:
    Store.create(place / "library").close()


def _old(place: Path) -> None:
    (place / "library").mkdir(exist_ok=True)
    connection = sqlite3.connect(place / "library" / "library.db")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(OLD.read_text("utf-8"))
    connection.close()


def _upgrade(place: Path) -> None:
    with Store(place / "library") as store, store.writing("upgrade"):
        pass


def _add(papers: list[Paper]) -> Callable[[Path], object]:
    def run(place: Path) -> None:
        with Store(place / "library") as store, store.writing("add") as writer:
            writer.add(papers)
            writer.checkpoint()

    return run


def _remove(place: Path) -> None:
    with Store(place / "library") as store:
        held = [one for one in ("p01", "p05") if one in store]
        with store.writing("remove") as writer:
            writer.remove(held)
            writer.checkpoint()


def _index(**changed: Any) -> Callable[[Path], object]:
    def run(place: Path) -> None:
        rebuild = changed.get("rebuild", False)
        with Store(place / "library") as store:
            more = {name: value for name, value in changed.items() if name != "rebuild"}
            settings = settings_of(store).changed(**more) if more else SETTINGS
            build_index(store, settings, rebuild=rebuild, load=_load)

    return run


def _define(place: Path) -> None:
    with Store(place / "library") as store, store.writing("lens") as writer:
        define(store, writer, PromptedLens("bird", PROMPT))


def _undefine(place: Path) -> None:
    with Store(place / "library") as store, store.writing("lens") as writer:
        undefine(store, writer, "bird")


def _ask(place: Path) -> None:
    def answer(request: Any) -> str:
        with (place.parent / f"{place.name}.calls").open("a") as calls:
            calls.write(f"{request.subjects[0]}\n")
        return json.dumps({"value": f"seen in {request.subjects[0]}"})

    settings = ModelSettings(journal=place / "journal.db", prices=place / "none.toml", lanes=LANES, tries=1)
    with Store(place / "library") as store, wrap_model(Scripted(answer), settings) as model:
        report = run_lens(store, bound_to(definition(store, "bird"), model.name, switch=True), model)
        if report.stopped is not None:
            raise report.stopped


_ALL = tuple(paper.id for paper in PAPERS)
STEPS = {
    step.name: step
    for step in (
        Step("init", _init),
        Step("old", _old),
        Step("upgrade", _upgrade, ("old",), ()),
        Step("add", _add(PAPERS), ("init",)),
        Step("add more", _add(NEW), ("init", "add"), _ALL),
        Step("edit", _add(EDITED), ("init", "add", "index"), _ALL[3:]),
        Step("remove", _remove, ("init", "add", "index"), tuple(i for i in _ALL if i not in ("p01", "p05"))),
        Step("index", _index(), ("init", "add"), _ALL),
        Step("index more", _index(), ("init", "add", "index", "add more"), _ALL),
        Step("rebuild", _index(rebuild=True), ("init", "add", "index"), _ALL),
        Step("settings", _index(lenses=["language"]), ("init", "add", "index"), _ALL),
        Step("lens add", _define, ("init", "add", "index"), _ALL),
        Step("lens run", _ask, ("init", "add", "lens add"), _ALL),
        Step("lens index", _index(), ("init", "add", "lens add", "lens run"), _ALL),
        Step("lens remove", _undefine, ("init", "add", "lens add", "lens run"), _ALL),
    )
}


def answers(place: Path) -> str:
    """All that a reader can see, as JSON: papers, lens values, rankings with scores and quotes."""
    with Store(place / "library") as store:
        out: dict[str, Any] = {"papers": sorted((p.to_dict() for p in store.papers()), key=lambda p: p["id"])}
        with_lens = json.loads(store.meta("prompted_lenses", "[]") or "[]")
        if with_lens:
            lens = definition(store, "bird")
            found = readings(store, lens)
            out["bird"] = sorted((p.id, r.value) for p, r in found if r is not None)
        try:
            folder = store.generations.current()
        except AspectraError as error:
            folder, out["index"] = None, str(error)
        if folder is not None:
            out["problems"] = store.generations.verify(folder)
            searcher = Searcher(store, _load)
            for recipe in ("bm25", "hybrid", "guided"):
                for text in ("owls hunt at night", "crabs rank documents"):
                    ranking = searcher.search(text, recipe, limit=6, literal=True).to_dict()
                    out[f"{recipe} {text}"] = [ranking["hits"], ranking["warnings"]]
            out["like"] = searcher.similar(searcher.index.ids[0], limit=4).to_dict()["hits"]
            out["lenses"] = {
                name: searcher.index.lens(name).values.tolist() for name in searcher.index.lens_names
            }
            searcher.refresh()
        out["check"] = store.check()
    return json.dumps(out, sort_keys=True, default=str)


class Proof:
    """Prepared libraries, and what each step makes of them when nothing disturbs it."""

    def __init__(self, root: Path, summary: Summary, seed: int) -> None:
        self.root, self.summary, self.seed = root, summary, seed
        self.undisturbed: dict[str, str] = {}
        self.operations: dict[str, dict[str, int]] = {}
        self._prepared: dict[tuple[str, ...], Path] = {(): self._place()}

    def _place(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self.root))

    def prepared(self, steps: tuple[str, ...]) -> Path:
        """A folder in which these steps were done."""
        if steps not in self._prepared:
            place = self.copy(self.prepared(steps[:-1]))
            outcome = run_with_fault(lambda: STEPS[steps[-1]].run(place), place, NEVER)
            if outcome.error:
                raise SystemExit(f"{steps} cannot be prepared: {outcome.error}")
            self._prepared[steps] = place
        return self._prepared[steps]

    def copy(self, place: Path) -> Path:
        new = self._place()
        shutil.copytree(place, new, dirs_exist_ok=True)
        return new

    def measure(self, step: Step) -> None:
        """Run the step undisturbed: its answers, and how many operations it takes, of each kind."""
        done = self.prepared((*step.before, step.name))
        self.undisturbed[step.name] = answers(done)
        self.operations[step.name] = {}
        for kind in ("kill", "power"):
            place = self.copy(self.prepared(step.before))
            outcome = run_with_fault(lambda p=place: step.run(p), place, Fault(10**9, kind))
            self.operations[step.name][kind] = outcome.operations
            shutil.rmtree(place)

    def plan(self, steps: list[Step], crashes: int) -> Iterator[tuple[Step, Fault]]:
        """Which operation of which step fails how; each once before any a second time."""
        draw = random.Random(self.seed)
        sites = [
            (step, kind, at)
            for step in steps
            for kind in FAULTS
            for at in range(self.operations[step.name].get(kind, self.operations[step.name]["power"]))
        ]
        planned = 0
        while planned < crashes:
            draw.shuffle(sites)
            for step, kind, at in sites[: crashes - planned]:
                yield step, Fault(at, kind, draw.randrange(2**31))
                planned += 1

    def one(self, step: Step, fault: Fault) -> None:
        """One crash, and what is left after it."""
        place = self.copy(self.prepared(step.before))
        where = f"{step.name}, {fault}"
        outcome = run_with_fault(lambda: step.run(place), place, fault)
        self._count(step, fault, outcome, where)
        try:
            self._look(step, place, where)
            again = run_with_fault(lambda: step.run(place), place, NEVER)
            if again.error:
                self.summary.broken(step.name, "repair needed", f"{where}: run again: {again.error}")
            elif answers(place) != self.undisturbed[step.name]:
                self.summary.broken(step.name, "other answers", where)
            else:
                self.summary.count(step.name, "equal")
        except Exception as error:
            self.summary.broken(step.name, "unusable", f"{where}: {type(error).__name__}: {error}")
        self._calls(step, place, where)
        shutil.rmtree(place)

    def _count(self, step: Step, fault: Fault, outcome: Outcome, where: str) -> None:
        self.summary.count(step.name, fault.kind)
        if not outcome.expected:
            self.summary.broken(step.name, "traceback", f"{where}: {outcome.error[-1500:]}")

    def _look(self, step: Step, place: Path, where: str) -> None:
        """What a reader finds before anything is run again."""
        if step.name in ("init", "old"):
            return  # nothing was there before
        with Store(place / "library") as store, Store(self.prepared(step.before) / "library") as sound:
            if problems := store.check():
                self.summary.broken(step.name, "damaged", f"{where}: {problems}")
            known, held = sound.get_many(step.acknowledged), store.get_many(step.acknowledged)
            if lost := [one for one in known if held.get(one) != known[one]]:
                self.summary.broken(step.name, "lost", f"{where}: {lost}")
        answers(place)

    def _calls(self, step: Step, place: Path, where: str) -> None:
        calls = place.parent / f"{place.name}.calls"
        if step.name == "lens run" and calls.exists():
            asked = calls.read_text().split()
            repeated = len(asked) - len(set(asked))
            self.summary.count(step.name, "paid twice", repeated)
            if repeated > LANES:
                self.summary.broken(step.name, "paid more", f"{where}: {repeated} calls were made twice")
        calls.unlink(missing_ok=True)


def prove(crashes: int, seed: int, only: str = "") -> Summary:
    """Make that many crashes over all steps, or over one."""
    summary = Summary("crashes", seed)
    for outcome in ("equal", "lost", "other answers", "repair needed", "unusable", "traceback", "damaged"):
        summary.count(only or "all steps", outcome, 0)
    with tempfile.TemporaryDirectory(prefix="aspectra-crashes-") as root:
        proof = Proof(Path(root), summary, seed)
        steps = [step for step in STEPS.values() if step.name != "old" and only in ("", step.name)]
        for step in steps:
            proof.measure(step)
        for number, (step, fault) in enumerate(proof.plan(steps, crashes), start=1):
            proof.one(step, fault)
            if number % 50 == 0:
                print(f"{number} of {crashes} crashes", flush=True)
        summary.fact("operations", {name: found["kill"] for name, found in proof.operations.items()})
    return summary


if __name__ == "__main__":
    parser = arguments(__doc__ or "")
    parser.add_argument("--crashes", type=int, default=1000, help="how many; 1000 unless given")
    parser.add_argument("--step", default="", choices=("", *STEPS), help="only this step")
    options = parser.parse_args()
    done = prove(options.crashes, options.seed, options.step)
    raise SystemExit(done.finish(options.record))
