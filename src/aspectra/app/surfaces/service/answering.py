"""Answers: one library served to many callers, always from its newest index."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
from collections import OrderedDict
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from aspectra.app.output.papers import MOST_PAGES, check_page, page_of
from aspectra.base.errors import AspectraError, Gone, NoSuchPaper, NotAllowed, UsageError, ViewMismatch
from aspectra.base.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from aspectra.app.library import Library
    from aspectra.app.output.papers import Page
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
            UsageError: this is no cursor.
            Gone: it is one that another process gave, or somebody changed it.
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


class ModelOff(UsageError):
    """A step needs a language model, and the service was started without one."""

    code = "model-off"
    http_status = 403


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
            ViewMismatch: there is no index yet.
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
            Gone: it is none of the newest 500.
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
        from aspectra.app.surfaces.service.gate import leave_turn

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
        """Whether searches can be answered, and from what.

        Raises:
            AspectraError: they cannot.
        """
        name = self.generation()
        index = self.library.searcher.index
        views = index.manifest["views"]
        prints = {one: facts.get("fingerprint", "") for one, facts in views.items()}
        held = {"papers": len(self.library), "indexed": len(index)}
        if not views:
            raise AspectraError("the index holds no view", hint="aspectra index --rebuild")
        return {"generation": name, **held, "fingerprints": prints}
