"""Saved searches: what was asked for, and what is new since it was asked last."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from aspectra.base.errors import UsageError, unknown_name
from aspectra.base.values import now, replace
from aspectra.papers.library.row_sums import MARKED
from aspectra.papers.library.shards import SPAN, first_place

if TYPE_CHECKING:
    from aspectra.papers.library.store import Store
    from aspectra.search.plan import Plan
    from aspectra.search.ranking import Ranking
    from aspectra.search.searcher import Searcher

_LONGEST_NAME = 100
_MOST_SEEN = 20_000  # ids of earlier hits that are kept
_NO_NAMES = 'none is saved: aspectra search "...", then aspectra save NAME'


class SavedSearch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A saved search: ``asked`` holds its words, seeds and options as they were written."""

    name: str
    # `text`, `seeds` and `given`, so that "3y" stays three years ago; or `plan` for a plan from a file
    asked: dict[str, Any]
    at: str  # when it was saved (ISO 8601, UTC)
    ran: str  # when it was run last, or ""

    @property
    def words(self) -> str:
        """The search in one line."""
        if "plan" in self.asked:
            return f"plan of {self.asked['plan'].get('text', '') or 'a file'}"
        seeds = f"like {', '.join(self.asked['seeds'])}" if self.asked["seeds"] else ""
        return " ".join(part for part in (self.asked["text"], seeds) if part)


@dataclass(frozen=True, slots=True)
class News:
    """The new hits of one saved search.

    Attributes:
        name: of the search.
        since: when it was run last.
        ranking: its hits that are new, with their ranks among all.
        hits: ids of all its hits.
        known: ids of hits of earlier runs.
        last: positions up to which all papers are indexed now.
    """

    name: str
    since: str
    ranking: Ranking
    hits: Sequence[str]
    known: Sequence[str]
    last: Sequence[int]


class _Library(Protocol):
    """The part of :class:`aspectra.app.library.Library` that this module uses."""

    store: Store

    @property
    def searcher(self) -> Searcher: ...

    def know_lenses(self) -> None: ...

    def plan(self, text: str = "", **given: Any) -> Plan: ...

    def run(self, plan: Plan) -> Ranking: ...


class SavedSearches:
    """The saved searches of a library; the property ``saved`` of :class:`aspectra.app.library.Library`.

    Args:
        library: the library.
    """

    def __init__(self, library: Any) -> None:
        self._library: _Library = library

    def __iter__(self) -> Any:
        return iter(self.all())

    def all(self) -> list[SavedSearch]:
        """All of them, by name."""
        store = self._library.store
        if store.format < MARKED:
            return []
        sound = store.checksums.sound("saved")
        rows = store.fetch(f"SELECT name, query, at, ran FROM saved WHERE {sound} ORDER BY name")
        return [SavedSearch(name, json.loads(query), at, ran) for name, query, at, ran in rows]

    def save(self, name: str, asked: Mapping[str, Any], seen: tuple[str, ...] = ()) -> None:
        """Save a search under a new name. It can be undone.

        Args:
            name: up to 100 characters.
            asked: see :class:`SavedSearch`.
            seen: ids of hits that are known already.

        Raises:
            UsageError: the name is empty, too long, or that of another saved search.
        """
        name = " ".join(name.split())
        if not 0 < len(name) <= _LONGEST_NAME:
            raise UsageError("the name of a search has 1 to 100 characters", hint="aspectra save NAME")
        if any(one.name == name for one in self.all()):
            raise UsageError(
                f"a search is saved as {name!r} already",
                hint=f"choose another name, or delete that one: aspectra saved --delete {shlex.quote(name)}",
            )
        at, last = now(), _dumps(self._last(self._library.store.first_places))
        with (
            self._library.store.writing("save") as writer,
            writer.marks.action("save", f"saved {name}") as step,
        ):
            step.keep("saved", [name])
            row = (name, json.dumps(asked, ensure_ascii=False), at, at, last, json.dumps(seen))
            writer.connection.execute("INSERT INTO saved VALUES (?, ?, ?, ?, ?, ?)", row)

    def delete(self, name: str) -> None:
        """Delete one. It can be undone.

        Raises:
            UsageError: no saved search has that name.
        """
        self._one(name)
        with (
            self._library.store.writing("save") as writer,
            writer.marks.action("save", f"deleted {name}") as step,
        ):
            step.keep("saved", [name])
            writer.connection.execute("DELETE FROM saved WHERE name = ?", (name,))

    def plan(self, name: str) -> Plan:
        """The plan that a saved search runs now.

        Raises:
            UsageError: no saved search has that name.
        """
        from aspectra.search.plan import Plan
        from aspectra.search.recipe import Recipe

        asked = self._one(name).asked
        if "plan" in asked:
            self._library.know_lenses()
            return Plan.from_dict(asked["plan"])
        given = dict(asked["given"])
        if isinstance(given.get("recipe"), dict):
            given["recipe"] = Recipe.from_dict(given["recipe"])
        return self._library.plan(asked["text"], seeds=asked["seeds"], **given)

    def news(self, name: str, run: Callable[[Plan], Ranking] | None = None, *, keep: bool = True) -> News:
        """Run a saved search; returns the hits that were added since its last run and were not hits before.

        A paper that is added but not yet indexed is reported in the first run after indexing.

        Args:
            name: of the search.
            run: runs a plan; :meth:`~aspectra.app.library.Library.run` where None.
            keep: remember the hits, so that they are not reported again.

        Raises:
            UsageError: no saved search has that name.
            NoSuchPaper: a seed has been removed from the library.
        """
        found = self._one(name)
        store = self._library.store
        ((last, text),) = store.fetch("SELECT last_pos, ids FROM saved WHERE name = ?", (name,))
        known = dict.fromkeys(json.loads(text))
        ranking = (run or self._library.run)(self.plan(name))
        before = _loads(last)
        new = " OR ".join(f"(pos > {place} AND pos < {end})" for place, end in _after(before))
        statement = f"SELECT id FROM papers WHERE ({new}) AND id IN (SELECT value FROM json_each(?))"
        young = {row[0] for row in store.fetch(statement, (json.dumps(ranking.ids),))}
        fresh = tuple(
            hit for hit in ranking if hit.id in young and not {hit.id, *hit.versions} & known.keys()
        )
        news = News(name, found.ran, replace(ranking, hits=fresh), ranking.ids, [*known], self._last(before))
        if keep:
            self.remember(news)
        return news

    def remember(self, news: News) -> None:
        """Keep the hits of a run, so that they are not reported again."""
        seen = [*dict.fromkeys((*news.known, *news.hits))][-_MOST_SEEN:]
        row = (now(), _dumps(news.last), json.dumps(seen), news.name)
        with self._library.store.writing("news") as writer:
            writer.connection.execute("UPDATE saved SET ran = ?, last_pos = ?, ids = ? WHERE name = ?", row)

    def _one(self, name: str) -> SavedSearch:
        every = {one.name: one for one in self.all()}
        if name not in every:
            what = f"there is no saved search {name!r}"
            raise unknown_name(what, name, every) if every else UsageError(what, hint=_NO_NAMES)
        return every[name]

    def _last(self, since: Sequence[int]) -> list[int]:
        """The last positions of which all papers up to them, from ``since``, are indexed."""
        held = self._library.searcher.index.positions
        statement = "SELECT pos, id FROM papers WHERE pos > ? AND pos < ? ORDER BY pos"
        last = [*since]
        for number, within in enumerate(_after(since)):
            for pos, paper_id in self._library.store.fetch(statement, within):
                if paper_id not in held:
                    break
                last[number] = pos
        return last


# Positions up to which papers are known are stored as one number, or for several shards as a JSON list.


def _dumps(last: Sequence[int]) -> int | str:
    return last[0] if len(last) == 1 else json.dumps(last)


def _loads(last: int | str) -> list[int]:
    return json.loads(last) if isinstance(last, str) else [last]


def _after(last: Sequence[int]) -> Iterator[tuple[int, int]]:
    """(position, end of the positions of its shard), where no other shard follows the largest number."""
    ends = [*(first_place(place // SPAN) for place in last[1:]), sys.maxsize]
    return zip(last, ends, strict=True)
