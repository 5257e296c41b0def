"""Answers of one library to many callers, always from its newest index; the trail of questions."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import os
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import asdict

from aspectra.app.output.papers import MOST_PAGES, Page, check_page, page_of
from aspectra.base.errors import (
    AspectraError,
    Gone,
    NoSuchPaper,
    NoSuchThing,
    NotAllowed,
    UsageError,
    ViewMismatch,
)
from aspectra.base.files import digest, state_file
from aspectra.base.values import Value, now, replace
from aspectra.papers.library.folder.lock import locked

if TYPE_CHECKING:
    from aspectra.app.library import Library
    from aspectra.app.surfaces.service.question import Question
    from aspectra.llm.chat import ChatModel
    from aspectra.search.plan import Plan
    from aspectra.search.ranking import Ranking


# Handles that a service gives out: opaque, signed, bound to a plan and a generation of the index.

_SIGNED = 12  # bytes of the signature
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Cursor:
    """The next page of an answer.

    Attributes:
        plan: hash of the plan that was run.
        generation: of the index that answered.
        page: the number of the page, from 1.
        sort: its order, see :data:`aspectra.app.output.papers.SORTS`.
    """

    plan: str
    generation: str
    page: int
    sort: str = "score"


class Handles:
    """Writes and reads cursors; those of another process are refused.

    Args:
        key: that signs them; None for a new one.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or secrets.token_bytes(32)

    def write(self, cursor: Cursor) -> str:
        """The cursor as text for addresses."""
        body = json.dumps([cursor.plan, cursor.generation, cursor.page, cursor.sort]).encode()
        return base64.urlsafe_b64encode(self._sign(body) + body).decode().rstrip("=")

    def read(self, text: str) -> Cursor:
        """Inverse of :meth:`write`.

        Raises:
            UsageError: ``text`` is not a cursor.
            Gone: the cursor is from another process, or was changed.
        """
        try:
            if len(text) > _LONGEST or not text.isascii():
                raise ValueError(text)
            raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            body = raw[_SIGNED:]
            found = Cursor(*json.loads(body))
        except (ValueError, TypeError, RecursionError) as error:
            raise UsageError("this is no cursor", hint="send next_cursor of an answer, unchanged") from error
        if not hmac.compare_digest(raw[:_SIGNED], self._sign(body)):
            raise Gone("the cursor is unknown here", why="the service was started again", hint="search again")
        return found

    def _sign(self, body: bytes) -> bytes:
        return hmac.new(self._key, body, hashlib.sha256).digest()[:_SIGNED]


_KEPT = 500  # plans
FROM_ELSEWHERE: ContextVar[bool] = ContextVar("from_elsewhere", default=False)
"""Whether a link of another site brought the request under way: then no language model is asked."""


class ModelOff(UsageError, code="model-off", http_status=403):
    """A step needs a language model, and the service was started without one."""


@dataclass(frozen=True)
class Answer:
    """A page of a ranking.

    Attributes:
        question: what was asked.
        ranking: the hits of this page, with their ranks among all.
        page: which one it is, where there are several or another order than by score; else None.
        next: cursor of the next page, or "".
    """

    question: Question
    ranking: Ranking
    page: Page | None = None
    next: str = ""

    def to_dict(self, *, explain: bool = False) -> dict[str, Any]:
        """The document ``search`` of ``--json``, with ``generation`` and ``next_cursor``."""
        out = self.ranking.to_dict(explain=explain)
        if self.page is not None:
            out["page"] = asdict(self.page)
        return {**out, "generation": self.ranking.generation, "next_cursor": self.next}


class Service:
    """One library, for several threads.

    Args:
        library: opened; closed by :meth:`close`.
        model: makes the language model of a search that needs one; None refuses such searches, since whoever
            reaches the service would spend its owner's money.
    """

    def __init__(
        self, library: Library, model: Callable[[], AbstractContextManager[ChatModel]] | None = None
    ) -> None:
        self.library = library
        self.handles = Handles()
        self._model = model
        if library.second is not None:  # whoever reaches a service without a model reads by the rules
            library.second = replace(library.second, opening=self._opened) if model else None
        self._plans: OrderedDict[str, Plan] = OrderedDict()
        self._lock = threading.Lock()
        self._asking = threading.Lock()

    def close(self) -> None:
        """Close the library."""
        self.library.close()

    def generation(self) -> str:
        """The name of the newest generation; the searcher uses it from now on.

        Raises:
            ViewMismatch: the library has no index yet.
        """
        newest = self.library.store.generations.current()
        if newest is None:
            raise ViewMismatch(
                "the library has no index yet",
                why=f"it holds {len(self.library):,} papers",
                hint="aspectra index",
            )
        with self._lock:
            searcher = self.library.searcher
            if searcher.index.folder != newest:
                searcher.refresh()
        return newest.name

    def plan(self, question: Question) -> Plan:
        """The plan of a question; :meth:`known` finds it again by its hash."""
        self.generation()
        made = question.plan(self.library)
        with self._lock:
            self._plans[made.hash] = made
            self._plans.move_to_end(made.hash)
            while len(self._plans) > _KEPT:
                self._plans.popitem(last=False)
        return made

    def known(self, handle: str) -> Plan:
        """A plan of this service, by its hash.

        Raises:
            Gone: it is not among the newest 500.
        """
        with self._lock:
            found = self._plans.get(handle)
        if found is None:
            raise Gone(f"no search with the plan {handle[:64]!r} is known here", hint="search again")
        return found

    def answer(
        self,
        question: Question,
        *,
        cursor: str = "",
        page: int = 1,
        sort: str = "score",
        explain: bool = False,
    ) -> Answer:
        """The papers of a question.

        Args:
            question: what is asked.
            cursor: of an earlier answer to the same question, in place of ``page`` and ``sort``.
            page: its number, from 1.
            sort: its order, see :data:`aspectra.app.output.papers.SORTS`.
            explain: also find the rank of each hit in every probe's own order.

        Raises:
            UsageError: the question cannot mean anything, or the cursor belongs to another one.
            Gone: the index was built anew since the cursor was given.
            ModelOff, NotAllowed: a step needs a language model.
        """
        made = self.plan(question)
        if cursor:
            held = self.handles.read(cursor)
            if held.plan != made.hash:
                raise UsageError("the cursor belongs to another question", hint="send the same question")
            if held.generation != self.library.searcher.index.folder.name:
                raise Gone("the index was built anew since this cursor", hint="search again without it")
            page, sort = held.page, held.sort
        return self.page(question, made, page=page, sort=sort, explain=explain)

    def page(
        self, question: Question, made: Plan, *, page: int = 1, sort: str = "score", explain: bool = False
    ) -> Answer:
        """A page of what a plan finds, see :meth:`answer`."""
        check_page(sort, page)
        # In another order than the score's, what is found is all that is sorted.
        wanted = made.limit * (page if sort == "score" else MOST_PAGES)
        ranking = self.run(made.with_limit(wanted), explain=explain)
        found, shown = len(ranking), None
        if sort != "score":
            shown, hits = page_of(self.library, ranking.hits, sort, page, made.limit)
            more = page < shown.of
        else:
            hits = list(ranking.hits[(page - 1) * made.limit :])
            more = found == wanted and page < MOST_PAGES
        ranking = replace(ranking, plan=made, hits=tuple(hits))
        after = Cursor(made.hash, ranking.generation, page + 1, sort)
        return Answer(question, ranking, shown, self.handles.write(after) if more else "")

    def run(self, plan: Plan, *, explain: bool = False) -> Ranking:
        """The ranking of a plan; a model, where a step needs one, is opened for this search alone."""
        from aspectra.search.stages.protocol import needs_model

        if not needs_model(plan.stages):
            return self.library.searcher.run(plan, explain=explain)
        with self._opened() as self.library.model:
            return self.library.run(plan, explain=explain)

    @contextmanager
    def _opened(self) -> Iterator[ChatModel]:
        """The model, for one search or one question that is read.

        Raises:
            ModelOff, NotAllowed: this service, or this visitor, may not ask it.
        """
        if self._model is None:
            raise ModelOff(
                "a step of this search needs a language model",
                why="this service was started without one: whoever reaches it would spend its owner's money",
                hint="aspectra serve --with-model, or search without that step",
            )
        if FROM_ELSEWHERE.get():
            raise NotAllowed(
                "this search would ask the language model",
                why="a link of another site brought it",
                hint="if you want it, search for it yourself: the button Search",
            )
        from aspectra.app.surfaces.service.access import leave_turn

        check = leave_turn()
        with self._asking:
            check()
            with self._model() as model:
                yield model

    def resolve(self, paper: str) -> str:
        """The id of a paper, see :meth:`aspectra.app.library.Library.resolve`; refused beyond its length.

        Raises:
            NoSuchPaper: it is not in the library.
        """
        if len(paper) > 1000:
            raise NoSuchPaper("no paper has so long a name", hint="an id, a DOI or an exact title")
        return self.library.store.resolve(paper)

    def ready(self) -> dict[str, Any]:
        """State of a service that can answer: generation, numbers of papers, fingerprints of the encoders.

        Raises:
            AspectraError: searches cannot be answered.
        """
        name = self.generation()
        index = self.library.searcher.index
        views = index.manifest["views"]
        prints = {one: facts.get("fingerprint", "") for one, facts in views.items()}
        held = {"papers": len(self.library), "indexed": len(index)}
        if not views:
            raise AspectraError("the index holds no view", hint="aspectra index --rebuild")
        return {"generation": name, **held, "fingerprints": prints}


# The trail: the questions that were answered, one step each, with what repeats and compares them.

KEPT, MOST = 500, 600  # steps that are left when the file has grown beyond so many lines


class TrailStep(Value, frozen=True):
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
            at=now(),
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
        from aspectra.search.plan import Plan

        try:
            return Plan.from_dict(self.plan).describe().splitlines()
        except UsageError:
            return []


class Trail:
    """The steps of one library, in a file of JSON Lines that only grows, and is now and then cut.

    Losing the file loses only the trail: a folder that cannot be written is not an error, see
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
        self._held: list[TrailStep] = []
        self._lines = 0
        self._size: int | None = None  # of the file when it was read or written last

    @classmethod
    def of(cls, service: Service) -> Self:
        """The trail of the library of a service, in the user's folder for such files."""
        folder = os.path.realpath(service.library.store.folder)
        return cls(state_file(f"trail-{digest(folder)[:16]}.jsonl"), lambda: encoders_of(service))

    def record(self, answer: Answer) -> TrailStep:
        """Add the step that an answer is; the last step where the answer is the same as then."""
        made = TrailStep.of(answer, self._encoders())
        with self._alone():
            held = self._read()
            if held and made == replace(held[-1], number=0, at=made.at):
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

    def steps(self) -> list[TrailStep]:
        """The newest 500, newest first."""
        with self._lock:
            return self._read()[: -KEPT - 1 : -1]

    def get(self, number: int) -> TrailStep:
        """One step.

        Raises:
            NoSuchThing: no step has that number, or it was deleted.
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

    def _read(self) -> list[TrailStep]:
        """All steps, oldest first; read again where another process has written."""
        size = self.path.stat().st_size if self.path.is_file() else None
        if size == self._size:
            return self._held
        lines = self.path.read_bytes().splitlines() if size is not None else []
        held = [step for line in lines if (step := _step(line)) is not None]
        self._held, self._lines, self._size = held, len(lines), size
        return held

    def _write(self, step: TrailStep) -> None:
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
        """True if the file ends within a line."""
        with self.path.open("rb") as file:
            if not file.seek(0, os.SEEK_END):
                return False
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"


@dataclass(frozen=True, slots=True)
class RankMove:
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


def moves(before: TrailStep, after: TrailStep) -> dict[str, RankMove]:
    """Id -> where it was and is, for the papers of both steps: those of ``after`` first, in their order.

    >>> said = {}
    >>> for one, (was, now) in {"a": (1, 2), "b": (3, 1), "c": (None, 3), "d": (2, None)}.items():
    ...     said[one] = RankMove(one, was, now).said
    >>> said
    {'a': 'down 1', 'b': 'up 2', 'c': 'new', 'd': 'gone'}
    """
    was = {one: rank for rank, one in enumerate(before.ids, start=before.first)}
    now = {one: rank for rank, one in enumerate(after.ids, start=after.first)}
    return {one: RankMove(one, was.get(one), now.get(one)) for one in (*now, *was)}


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


def _line(step: TrailStep) -> bytes:
    # In ASCII: a question may hold lone surrogates, which are no UTF-8.
    return json.dumps(step.to_dict(), separators=(",", ":")).encode() + b"\n"


def _step(line: bytes) -> TrailStep | None:
    """A step of a line; None where it is damaged, or another version wrote it."""
    try:
        return TrailStep.from_dict(json.loads(line))
    except (ValueError, UsageError, RecursionError):
        return None
