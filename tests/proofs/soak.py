"""Eight readers, one writer: every answer is the one that its generation and revision give alone.

The writer adds, edits, removes, indexes, changes lenses and runs a prompted lens, in an order that the seed
decides. After each change it computes every answer by itself, for the newest generation and for those that
readers may still hold. Readers search, refresh now and then, and open the library anew; each notes which
generation and which revision of the papers it had before and after. At the end, each answer is compared, and
so are the descriptors and the memory of the readers early and late, and how many generations are left.

    python tests/proofs/soak.py --minutes 10 --seed 1
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aspectra.base.values import replace

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

from summary import Summary, arguments

from aspectra.base.errors import AspectraError
from aspectra.llm.assemble import ModelSettings, wrap_model
from aspectra.llm.scripted import Scripted
from aspectra.papers.library.store import Store
from aspectra.papers.paper import Paper
from aspectra.search.conditions.condition import limits
from aspectra.search.searcher import Searcher
from aspectra.views.build.run import build_index
from aspectra.views.build.work import settings_of
from aspectra.views.prompted.definition import PromptedLens, define, definition
from aspectra.views.prompted.running import bound_to, run_lens
from aspectra.views.settings import IndexSettings
from fake_encoder import FakeEncoder

READERS = 8
PAUSE = 0.1  # seconds between two searches of a reader, at most: the writer has to come to something
HELD = 4  # generations that the writer goes on answering for
WORDS = "owls hunt mice at night while foxes sleep and crabs rank documents with language models".split()
SETTINGS = IndexSettings(encoders=("fake",), chunks=(), lenses=("language", "length"), batch=64)
PROMPT = """
placeholders = ["paper", "rules", "answer"]
system = "{{rules}}"
user = "{{paper}} Which bird? {{answer}}"
usual_tokens = 8

[schema]
type = "string"
"""
QUERIES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("owls hunt at night", "bm25", {}),
    ("crabs rank documents", "hybrid", {"evidence": 2}),
    ("foxes sleep", "guided", {"conditions": limits(since=1995, until=2015)}),
    ("language models rank", "bm25", {"conditions": limits(venues=["Dens"]), "versions": "all"}),
    ("mice while crabs", "dense", {"limit": 30}),
)


def _load(_: str) -> FakeEncoder:
    return FakeEncoder()


def _paper(number: int, draw: random.Random) -> Paper:
    def text(words: int) -> str:
        return " ".join(draw.choices(WORDS, k=words)).capitalize() + "."

    return Paper(
        f"p{number:04}",
        f"Number {number} {text(3)}",
        f"{text(8)} {text(7)}",
        (f"Ann Author{number}",),
        1990 + number % 30,
        draw.choice(("Dens", "Nests")),
        {"arxiv": f"2101.{number // 2:05}"} if number % 10 < 2 else {},  # some are versions of one work
    )


def answer(searcher: Searcher, number: int) -> str:
    """The answer to a query, without its time, as a hash."""
    text, recipe, given = QUERIES[number]
    found = searcher.search(text, recipe, literal=True, **given).to_dict()
    whole = json.dumps([found["hits"], found["warnings"]], sort_keys=True)
    return hashlib.blake2b(whole.encode(), digest_size=12).hexdigest()


def read(folder: Path, log: Path, number: int, seed: int, end: float) -> None:
    """One reader: a line for each search, and for what the process holds."""
    draw = random.Random(f"{seed}/{number}")
    store = Store(folder)
    searcher = Searcher(store, _load)
    with log.open("w", encoding="utf-8") as lines:

        def note(**line: Any) -> None:
            lines.write(json.dumps(line) + "\n")

        at = 0
        while time.time() < end:
            at += 1
            if at % 40 == 0:
                note(descriptors=len(os.listdir("/proc/self/fd")), kib=_resident())
                lines.flush()
            if at % 97 == 0:
                searcher.refresh()
                store.close()
                store = Store(folder)
                searcher = Searcher(store, _load)
            elif draw.random() < 0.25:
                searcher.refresh()
            time.sleep(draw.random() * PAUSE)
            query = draw.randrange(len(QUERIES))
            before = store.revision
            try:
                generation = searcher.index.folder.name
                found = answer(searcher, query)
            except Exception as error:
                note(error=f"{type(error).__name__}: {error}")
                searcher.refresh()
                continue
            note(query=query, generation=generation, before=before, after=store.revision, answer=found)
    searcher.refresh()
    store.close()


def _resident() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    return 0


class Writing:
    """The one writer, and what it says every answer is."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.draw = random.Random(seed)
        self.next = 0
        self.expected: dict[tuple[str, int, int], set[str]] = defaultdict(set)
        self.done: dict[str, int] = defaultdict(int)
        self.store = Store.create(folder)
        self.searchers: dict[str, Searcher] = {}
        self.add(200)
        self.index()

    def add(self, count: int) -> None:
        with self.store.writing("add") as writer:
            writer.add(_paper(self.next + n, self.draw) for n in range(count))
            writer.checkpoint()
        self.next += count

    def edit(self) -> None:
        chosen = self.draw.sample(self.store.ids(), 3)
        held = self.store.get_many(chosen)
        with self.store.writing("add") as writer:
            writer.add(replace(p, abstract=f"{p.abstract} {self.draw.choice(WORDS)}.") for p in held.values())
            writer.checkpoint()

    def remove(self) -> None:
        with self.store.writing("remove") as writer:
            writer.remove(self.draw.sample(self.store.ids(), 4))
            writer.checkpoint()

    def index(self) -> None:
        build_index(self.store, SETTINGS if not self.searchers else None, load=_load)

    def lens(self) -> None:
        """A lens that asks a model; the model is a function in this process."""
        settings = ModelSettings(journal=self.folder.parent / "journal.db", prices=Path("none.toml"))
        reply = Scripted(lambda request: json.dumps({"value": f"seen in {request.subjects[0]}"}))
        with self.store.writing("lens") as writer:
            define(self.store, writer, PromptedLens("bird", PROMPT))
        with wrap_model(reply, settings) as model:
            run_lens(self.store, bound_to(definition(self.store, "bird"), model.name, switch=True), model)
        self.index()

    def settings(self) -> None:
        names = ("language", "length", "kind")
        lenses = self.draw.sample(names, self.draw.randint(1, len(names)))
        build_index(self.store, settings_of(self.store).changed(lenses=sorted(lenses)), load=_load)

    def one(self) -> None:
        """One change."""
        name = self.draw.choice(("add", "edit", "remove", "index", "index", "settings", "lens"))
        if name == "add":
            self.add(4)
        elif name == "index":
            self.index()
        else:
            getattr(self, name)()
        self.done[name] += 1
        self.answer_all()

    def answer_all(self) -> None:
        """Every answer now, for the newest generation and those before it."""
        folder = self.store.generations.current()
        assert folder is not None
        if folder.name not in self.searchers:
            self.done["switches"] += 1
            self.searchers[folder.name] = Searcher(self.store, _load)
            assert self.searchers[folder.name].index.folder == folder
        for old in sorted(self.searchers)[:-HELD]:
            self.searchers.pop(old).refresh()
        revision = self.store.revision
        for name, searcher in self.searchers.items():
            for query in range(len(QUERIES)):
                self.expected[name, revision, query].add(answer(searcher, query))


def check(writing: Writing, logs: list[Path], summary: Summary) -> None:
    """Compare what the readers noted with what the writer answered alone."""
    for log in logs:
        held: list[tuple[int, int]] = []
        for line in _lines(log):
            if "kib" in line:
                held.append((line["descriptors"], line["kib"]))
            elif "error" in line:
                summary.broken("readers", "errors", line["error"])
            else:
                _compare(writing, line, summary)
        if len(held) >= 8:
            _flat(log.stem, held, summary)


def _lines(log: Path) -> Iterator[dict[str, Any]]:
    with log.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _compare(writing: Writing, line: dict[str, Any], summary: Summary) -> None:
    revisions = range(line["before"], line["after"] + 1)
    known = [writing.expected.get((line["generation"], r, line["query"])) for r in revisions]
    if any(one is None for one in known):
        summary.count("readers", "not compared")  # the generation is older than the writer answers for
    elif any(line["answer"] in one for one in known if one):
        summary.count("readers", "equal")
    elif len(known) > 1:
        summary.broken("readers", "mixed", f"{line}: of no one revision")
    else:
        summary.broken("readers", "other", f"{line}: not the answer of its generation and revision")


def _flat(name: str, held: list[tuple[int, int]], summary: Summary) -> None:
    """Descriptors and memory of the last quarter against those of the second."""
    quarter = len(held) // 4
    early, late = held[quarter : 2 * quarter], held[-quarter:]
    for what, at, slack in (("descriptors", 0, 8), ("memory", 1, 20_000)):
        before, after = (statistics.median(one[at] for one in part) for part in (early, late))
        summary.count("readers", f"{what} flat", after <= before * 1.05 + slack)
        if after > before * 1.05 + slack:
            summary.broken("readers", f"{what} grew", f"{name}: {what} {before:,.0f}, then {after:,.0f}")


def prove(seconds: float, seed: int, readers: int = READERS) -> Summary:
    """Readers and a writer for that long."""
    summary = Summary("soak", seed)
    for outcome in ("equal", "not compared", "mixed", "other", "errors"):
        summary.count("readers", outcome, 0)
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="aspectra-soak-") as root:
        folder = Path(root) / "library"
        writing = Writing(folder, seed)
        writing.answer_all()
        end = time.time() + seconds
        logs = [Path(root) / f"reader-{number}.jsonl" for number in range(readers)]
        processes = [
            spawn.Process(target=read, args=(folder, log, number, seed, end))
            for number, log in enumerate(logs)
        ]
        for process in processes:
            process.start()
        most = 0
        while time.time() < end:
            try:
                writing.one()
            except AspectraError as error:
                summary.broken("writer", "errors", str(error))
            most = max(most, len(_generations(folder)))
        for process in processes:
            process.join()
            if process.exitcode:
                summary.broken("readers", "died", f"exit status {process.exitcode}")
        for name, count in writing.done.items():
            summary.count("writer", name, count)
        if several := [key for key, found in writing.expected.items() if len(found) > 1]:
            summary.broken("writer", "two answers", f"{several[:3]}: each has several")
        check(writing, logs, summary)
        for searcher in writing.searchers.values():
            searcher.refresh()
        build_index(writing.store, rebuild=True, load=_load)
        left = _generations(folder)
        if len(left) > 2:
            summary.broken("generations", "left", f"{left} are left when no reader holds any")
        summary.fact("generations at once", most)
        summary.fact("generations left", len(left))
        summary.fact("switches", writing.done["switches"])
        writing.store.close()
    return summary


def _generations(folder: Path) -> list[str]:
    return sorted(p.name for p in (folder / "generations").iterdir() if p.name.isdigit())


if __name__ == "__main__":
    parser = arguments(__doc__ or "")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long; 10 unless given")
    parser.add_argument("--readers", type=int, default=READERS, help="how many; 8 unless given")
    options = parser.parse_args()
    done = prove(options.minutes * 60, options.seed, options.readers)
    raise SystemExit(done.finish(options.record))
