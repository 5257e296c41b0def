"""The trail: the questions that were answered, one step each, with what repeats and compares them."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from aspectra.app.settings import state_file
from aspectra.base.errors import NoSuchThing, UsageError
from aspectra.base.hashing import digest
from aspectra.base.values import Value, replace
from aspectra.papers.library.folder.lock import locked

if TYPE_CHECKING:
    from aspectra.app.surfaces.service.answering import Answer, Service
    from aspectra.search.plan import Plan

KEPT, MOST = 500, 600  # steps that are left when the file has grown beyond so many lines


class Step(Value, frozen=True):
    """One answered question.

    Attributes:
        number: counts the steps of a library, from 1; stays when older ones are forgotten.
        at: when it was answered (ISO 8601, UTC).
        question: names and values, see :meth:`aspectra.app.surfaces.service.question.Question.parameters`.
        page, sort: of what was found, the part that was shown.
        plan: that was run, as a dictionary.
        plan_hash: of it.
        generation: of the index that answered.
        encoders: view -> fingerprint of its encoder; "" for a view of words.
        applied, not_applied: what was read from the words of the question.
        ids, scores: of the papers that were shown, in their order.
        result: hash of ids and scores.
    """

    number: int
    at: str
    question: tuple[tuple[str, str], ...]
    page: int
    sort: str
    plan: dict[str, Any]
    plan_hash: str
    generation: str
    encoders: dict[str, str]
    applied: tuple[str, ...]
    not_applied: tuple[str, ...]
    ids: tuple[str, ...]
    scores: tuple[float, ...]
    result: str

    @classmethod
    def of(cls, answer: Answer, encoders: Mapping[str, str]) -> Self:
        """The step that an answer is, without its number."""
        ranking, requests = answer.ranking, answer.ranking.requests
        ids, scores = tuple(ranking.ids), tuple(hit.score for hit in ranking)
        if answer.page is not None:
            page, sort = answer.page.number, answer.page.sort
        else:
            first = ranking[0].rank if len(ranking) else 1
            page, sort = (first - 1) // max(1, ranking.plan.limit) + 1, "score"
        return cls(
            number=0,
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            question=tuple(answer.question.parameters()),
            page=page,
            sort=sort,
            plan=ranking.plan.to_dict(),
            plan_hash=ranking.plan.hash,
            generation=ranking.generation,
            encoders=dict(encoders),
            applied=(*(one.label for one in requests.applied), *requests.aspects),
            not_applied=tuple(one.words for one in requests.not_applied),
            ids=ids,
            scores=scores,
            result=digest([ids, scores]),
        )

    @property
    def parameters(self) -> dict[str, list[str]]:
        """Name -> values, as ``Question.from_parameters`` reads them."""
        out: dict[str, list[str]] = {}
        for name, value in self.question:
            out.setdefault(name, []).append(value)
        return out

    @property
    def first(self) -> int:
        """The rank of its first paper."""
        return (self.page - 1) * max(1, int(self.plan.get("limit", 10))) + 1

    def described(self) -> list[str]:
        """The plan in lines for people; [] where a newer or older version wrote it."""
        try:
            return self.made().describe().splitlines()
        except UsageError:
            return []

    def made(self) -> Plan:
        """The plan as a value.

        Raises:
            UsageError: another version wrote it.
        """
        from aspectra.search.plan import Plan

        return Plan.from_dict(self.plan)

    def same_as(self, other: Step) -> bool:
        """Whether all but the number and the time are the same."""
        return replace(self, number=0, at="") == replace(other, number=0, at="")


class Trail:
    """The steps of one library, in a file of JSON Lines that only grows, and is now and then cut.

    Losing the file loses nothing but the trail: a folder that cannot be written is no error, see
    :attr:`trouble`. Several processes may write to it.

    Args:
        path: of the file; it need not exist.
        encoders: gives view -> fingerprint of the index in use.

    Attributes:
        trouble: why the last step could not be written, or "".
    """

    def __init__(self, path: Path, encoders: Callable[[], Mapping[str, str]] = dict) -> None:
        self.path = path
        self.trouble = ""
        self._encoders = encoders
        self._lock = threading.Lock()
        self._held: list[Step] = []
        self._lines = 0
        self._size: int | None = None  # of the file when it was read or written last

    @classmethod
    def of(cls, service: Service) -> Self:
        """The trail of the library of a service, in the user's folder for such files."""
        folder = os.path.realpath(service.library.store.folder)
        return cls(state_file(f"trail-{digest(folder)[:16]}.jsonl"), lambda: encoders_of(service))

    def record(self, answer: Answer) -> Step:
        """Add the step that an answer is; the last step where the answer is the same as then."""
        made = Step.of(answer, self._encoders())
        with self._alone():
            held = self._read()
            if held and made.same_as(held[-1]):
                return held[-1]
            step = replace(made, number=held[-1].number + 1 if held else 1)
            held.append(step)
            self._write(step)
            return step

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process records meanwhile; one that holds the folder for a second is not waited for."""
        with self._lock, contextlib.ExitStack() as held:
            for _ in range(100):
                if held.enter_context(locked(self.path.parent)):
                    break
                held.close()
                time.sleep(0.01)
            yield

    def steps(self) -> list[Step]:
        """The newest 500, newest first."""
        with self._lock:
            return self._read()[: -KEPT - 1 : -1]

    def get(self, number: int) -> Step:
        """One step.

        Raises:
            NoSuchThing: there is none of that number, or it was forgotten.
        """
        found = next((step for step in self.steps() if step.number == number), None)
        if found is None:
            raise NoSuchThing(f"the trail has no step {number}", hint="the trail lists its steps")
        return found

    def clear(self) -> int:
        """Forget all steps; returns how many there were."""
        with self._lock:
            gone = len(self._read())
            self._held, self._lines, self._size = [], 0, None
            self.path.unlink(missing_ok=True)
            return gone

    def _read(self) -> list[Step]:
        """All steps, oldest first; read again where another process has written."""
        size = self.path.stat().st_size if self.path.is_file() else None
        if size == self._size:
            return self._held
        lines = self.path.read_bytes().splitlines() if size is not None else []
        held = [step for line in lines if (step := _step(line)) is not None]
        self._held, self._lines, self._size = held, len(lines), size
        return held

    def _write(self, step: Step) -> None:
        """Append a step, or write the newest ones anew where there are too many lines."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self._lines >= MOST:
                del self._held[:-KEPT]
                part = self.path.with_name(f".{self.path.name}.{os.getpid()}")
                part.write_bytes(b"".join(_line(one) for one in self._held))
                part.chmod(0o600)
                part.replace(self.path)
                self._lines = len(self._held)
            else:
                file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                with os.fdopen(file, "ab", buffering=0) as out:
                    # A line that a full disk or a kill left unfinished must not spoil this one.
                    out.write((b"\n" if self._torn() else b"") + _line(step))
                self._lines += 1
            self._size, self.trouble = self.path.stat().st_size, ""
        except OSError as error:
            self.trouble = error.strerror or str(error)

    def _torn(self) -> bool:
        """Whether the file ends within a line."""
        with self.path.open("rb") as file:
            if not file.seek(0, os.SEEK_END):
                return False
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"


@dataclass(frozen=True, slots=True)
class Move:
    """A paper in two rankings.

    Attributes:
        id: of the paper.
        before, after: its ranks, from 1; None where it is not shown.
    """

    id: str
    before: int | None
    after: int | None

    @property
    def said(self) -> str:
        """In words: ``up 2``, ``down 1``, ``same place``, ``new`` or ``gone``."""
        if self.before is None or self.after is None:
            return "new" if self.before is None else "gone"
        by = self.before - self.after
        return f"up {by}" if by > 0 else f"down {-by}" if by else "same place"

    @property
    def sign(self) -> str:
        """The same as one sign."""
        return {"up": "▲", "down": "▼", "same": "=", "new": "+", "gone": "−"}[self.said.partition(" ")[0]]


def moves(before: Step, after: Step) -> dict[str, Move]:
    """Id -> where it was and is, for the papers of both steps: those of ``after`` first, in their order.

    >>> said = {}
    >>> for one, (was, now) in {"a": (1, 2), "b": (3, 1), "c": (None, 3), "d": (2, None)}.items():
    ...     said[one] = Move(one, was, now).said
    >>> said
    {'a': 'down 1', 'b': 'up 2', 'c': 'new', 'd': 'gone'}
    """
    was = {one: rank for rank, one in enumerate(before.ids, start=before.first)}
    now = {one: rank for rank, one in enumerate(after.ids, start=after.first)}
    return {one: Move(one, was.get(one), now.get(one)) for one in (*now, *was)}


def changed_lines(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, str]]:
    """Lines of two texts in one order: (``-`` only before, ``+`` only after, `` `` both; the line).

    >>> changed_lines(["a", "b"], ["a", "c"])
    [(' ', 'a'), ('-', 'b'), ('+', 'c')]
    """
    out: list[tuple[str, str]] = []
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        out += [(" " if kind == "equal" else "-", line) for line in before[a:b]]
        out += [("+", line) for line in after[c:d] if kind != "equal"]
    return out


def encoders_of(service: Service) -> dict[str, str]:
    """View -> fingerprint of its encoder, of the index that a service searches; "" for a view of words."""
    views = service.library.searcher.index.manifest["views"]
    return {name: str(facts.get("fingerprint", "")) for name, facts in sorted(views.items())}


def _line(step: Step) -> bytes:
    # In ASCII: a question may hold lone surrogates, which are no UTF-8.
    return json.dumps(step.to_dict(), separators=(",", ":")).encode() + b"\n"


def _step(line: bytes) -> Step | None:
    """A step of a line; None where it is damaged, or another version wrote it."""
    try:
        return Step.from_dict(json.loads(line))
    except (ValueError, UsageError, RecursionError):
        return None
