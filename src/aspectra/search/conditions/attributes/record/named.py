"""Conditions on people, institutions, papers and venues by name: authors, what is cited, what is known.

``author`` is a family name, or a whole name, as in ``aspectra search --author``: a family name alone means
anybody of that name; *A. Lovelace* and *Ada Lovelace* are taken as one person. ``A | B`` is either of them,
and ``same`` the authors of the seeds.

``affiliation`` is where the authors work: an institution, a kind of institution, a country, or both of these.
``INRIA`` is found by its words, or as the initials of a name (grade 0.8). ``industry``, ``universities`` and
``hospitals`` are kinds, ``Germany`` and ``Chinese`` are countries, ``Chinese universities`` is both. OpenAlex
states kind and country; elsewhere words of the printed affiliation decide. One author is enough.

``cites`` is a paper by its title, id, DOI or arXiv id, or as references print it. A paper of the library is
met by those whose references were linked to it, or to another version of it. Any other name is compared with
the references themselves: identifiers, titles, or words of the printed entries. A paper that lists no
references is unknown.

``known`` is a list (``have``, ``mine``, ``listed``), or one paper by its name. A list is one of the user's
own (``paper_lists`` of the settings: ids, DOIs, arXiv ids, titles); ``listed`` are the seeds of the query
too. In a plan the papers follow its name: ``listed: owl | 10.1000/mice``. A paper is named by any of these
identifiers, by its title, or as it is cited (*Smith 2019*, *Lee et al. 2019*), where one paper alone has that
author and year.

``venue`` is ``Nature``, ``NeurIPS``, or a pattern (``*Vision*``).
Case, accents, years, ordinals and words around a name (*Proceedings of the 12th* ...) make no difference.
*Nature* is not *Nature Communications*, but an acronym is found in longer names (*12th ACM SIGIR Conference
on* ...), unless these are another series of the same people (*Findings of ACL*). An acronym also means the
name it is taken from (*Neural Information Processing Systems*), with grade 0.8, since two names can have one
acronym. Meetings that changed their name go by either (*NIPS* is *NeurIPS*).

``ACL | EMNLP`` is either of them. A name in the user's own lists (``venue_groups`` of the settings) means
the venues listed there.

``venue_rank`` is the rank of a venue: ``top``, ``a*``, ``q1``, ``impact factor > 5``. Ranks are not facts of
records. They come from the user's own lists (``venue_ranks`` of the settings): a rank, and its venues.
Without a list for the rank the condition is not applied. In a plan the list follows the rank: ``top: NeurIPS
| ICML``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import chain, takewhile
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from aspectra.base.errors import NoSuchPaper, UsageError
from aspectra.base.expressions import expression
from aspectra.papers.identifiers import parse_identifier
from aspectra.papers.library.rows import author_keys
from aspectra.papers.paper import Paper, normalise_title
from aspectra.search.conditions.attributes.protocol import (
    ATTRIBUTES,
    Attribute,
    by_name,
    meeting,
    places,
    table_of_words,
)
from aspectra.search.conditions.attributes.record.facts import (
    MeantAttribute,
    NamedAttribute,
    RecordAttribute,
    check_class,
    has_words,
    phrases,
    stated,
)
from aspectra.search.conditions.lists import UserLists, joined, names_in
from aspectra.views.index.opened import Index
from aspectra.views.view import Floats, Positions

_SAME = "same"
_LONGEST = 160  # characters of a reason
T = TypeVar("T")


def _kept(find: Callable[[str, Index], T]) -> Callable[[str, Index], T]:
    """The function, its results kept until the library changes: finding them takes longer than a search."""
    found: WeakKeyDictionary[Index, dict[str, tuple[int, T]]] = WeakKeyDictionary()

    def kept(value: str, index: Index) -> T:
        held, revision = found.setdefault(index, {}), index.library.revision
        if value not in held or held[value][0] != revision:
            held[value] = revision, find(value, index)
        return held[value][1]

    return kept


@_kept
def _authorless(_: str, index: Index) -> NDArray[np.bool_]:
    """(all papers,) True where no author is known."""
    mask = np.zeros(len(index), np.bool_)
    mask[places(index, index.library.ids_without_authors())] = True
    return mask


class AuthorAttribute(NamedAttribute):
    """Who wrote a paper: a family name, or a whole name."""

    name = "author"
    noun = "authors"
    what, example = "name", "author=Lovelace, author=Ada Lovelace"

    def bound(self, value: str, seeds: Sequence[str], index: Index, lists: UserLists) -> str:
        """``same`` as the names of the seeds' authors."""
        if value.casefold() != _SAME or not seeds:
            return value
        found = index.library.get_many(seeds, full=False).values()
        return joined(name for paper in found for name in paper.authors) or value

    def missing(self, value: str, index: Index) -> str:
        """Why nobody is meant, or that no paper states its authors."""
        if value.casefold() == _SAME:
            return "there is no seed paper whose authors are known"
        return "no paper of this library states its authors"

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 with that author, 0 without, NaN where no author is known."""
        if value.casefold() == _SAME:  # a seed's authors would be named
            return np.full(len(papers), np.nan, np.float32)
        found = chain.from_iterable(map(index.library.ids_by_author, names_in(value)))
        return meeting(index, papers, places(index, found), np.where(_authorless("", index), np.nan, 0.0))

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The authors of a family name that is meant, else how many there are."""
        meant = {author_keys(name)[1] for name in names_in(value)}
        named = [author for author in paper.authors if author_keys(author)[1] in meant]
        others = f"{len(paper.authors)} others" if paper.authors else ""
        return ", ".join(named)[:_LONGEST] or others


ATTRIBUTES.register("author")(AuthorAttribute())


_SIGNS = str.maketrans({sign: f"\\{sign}" for sign in "\\%_"})


def _versions(name: str, index: Index) -> tuple[str, ...]:
    """Ids of the paper with this id, DOI, arXiv id or title, and of its versions; () for none or several."""
    library = index.library
    try:
        found = library.resolve(name)
    except (NoSuchPaper, UsageError):
        return ()
    return (found, *library.versions([found]).get(found, ()))


@_kept
def _citing(value: str, index: Index) -> frozenset[int]:
    """Positions of the papers that cite what a value names."""
    if not (ids := _versions(value, index)):
        return frozenset(_printing(value, index))
    rows, targets = index.citations
    links = np.flatnonzero(np.isin(targets, np.array(places(index, ids), np.int32)))
    return frozenset((np.searchsorted(rows, links, side="right") - 1).tolist())


def _printing(value: str, index: Index) -> list[int]:
    """Positions of the papers with a reference that prints a value, or that has it as an identifier."""
    named = parse_identifier(value)
    asked = named[1] if named else max(value.split(), key=len)
    rows = index.library.rows(
        "SELECT p.id, c.record FROM citations c JOIN papers p USING (pos) WHERE c.record LIKE ? ESCAPE '\\'",
        [f"%{json.dumps(asked, ensure_ascii=False)[1:-1].translate(_SIGNS)}%"],
    )
    words = normalise_title(value)

    def names_it(record: dict[str, Any]) -> bool:
        printed = f"{record.get('raw', '')} {record.get('title', '')}"
        stated = named is not None and record.get("identifiers", {}).get(named[0]) == named[1]
        return stated or has_words(normalise_title(printed), words)

    return places(index, (paper for paper, text in rows if names_it(json.loads(text))))


class CitesAttribute(NamedAttribute, RecordAttribute):
    """What a paper cites: a paper by its title or identifier, or as references print it."""

    name = "cites"
    noun = "list of references"
    what, example = "paper", "cites=Attention is all you need"

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) 1 or 0; NaN where a paper lists no references, and for all where nobody cites it."""
        _, cited = self.told(value, index)
        if not cited:
            return np.full(len(papers), np.nan, np.float32)
        return meeting(index, papers, _citing(value, index), np.where(index.references > 0, 0.0, np.nan))

    def measure(self, value: str, index: Index) -> tuple[bool, bool]:
        """(True if any paper lists references, True if any cites it)."""
        listing = bool(index.references.any())
        return listing, listing and len(_citing(value, index)) > 0

    def missing(self, value: str, index: Index) -> str:
        """That no paper lists references, or none of them is this one."""
        if self.told(value, index)[0]:
            return f"no paper of this library cites “{value}”, as far as their references were read"
        return super().missing(value, index)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The number of references that it lists, for people."""
        at = index.positions.get(paper.id)
        count = 0 if at is None else int(index.references[at])
        return f"by its {count} references" if count else ""


ATTRIBUTES.register("cites")(CitesAttribute())


_LISTS = ("have", "mine", "listed")
_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 10  # of a paper as it is cited
_BEHIND = ("et", "and", "und", "y")  # words behind the first author


def named_papers(name: str, index: Index) -> tuple[str, ...]:
    """Ids of the paper that a name means, with its other versions; () where it means none, or several.

    Args:
        name: an id, a DOI, an arXiv id, a title, or family name and year.
        index: the generation.
    """
    return _versions(name, index) or _cited_as(name, index)


def _cited_as(name: str, index: Index) -> tuple[str, ...]:
    """Ids of the one work that is cited by this family name and year, or ()."""
    words = _WORD.findall(name)
    year = words[-1][:4] if words and len(words) <= _MOST_WORDS else ""
    before = [word for word in _WORD.findall(re.split("[,&(]", name)[0]) if not word[:4].isdecimal()]
    family = [*takewhile(lambda word: word.casefold() not in _BEHIND, before)]
    if not year.isdecimal() or not family:
        return ()
    library, who = index.library, author_keys(" ".join(family))[1]
    papers = library.get_many(library.ids_by_author(" ".join(family)), full=False).values()
    first = [p.id for p in papers if p.year == int(year) and author_keys(p.authors[0])[1] == who]
    versions = library.versions(first)
    works = {frozenset((one, *versions.get(one, ()))) for one in first}
    return tuple(sorted(next(iter(works)))) if len(works) == 1 else ()


@_kept
def _meant(value: str, index: Index) -> frozenset[int]:
    """Positions of the papers that a value of ``known`` means."""
    if value.casefold() in _LISTS:
        return frozenset()
    named, _, listed = value.partition(":")
    names = names_in(listed) if listed and named.casefold() in _LISTS else [value]
    return frozenset(places(index, chain.from_iterable(named_papers(name, index) for name in names)))


class KnownAttribute(MeantAttribute):
    """Papers that the user knows: those of a list, or one by its name."""

    name = "known"
    noun = "paper"
    what, example = "paper", "known=listed, known=Smith 2019"
    longest = 100_000

    def bound(self, value: str, seeds: Sequence[str], index: Index, lists: UserLists) -> str:
        """The name of a list, followed by its papers."""
        named = value.casefold()
        if named not in _LISTS:
            return value
        listed = [*lists.papers.get(named, ()), *(seeds if named == "listed" else ())]
        return f"{named}: {joined(listed, self.longest - 100)}" if listed else value

    def missing(self, value: str, index: Index) -> str:
        """The list that is empty, or that the name means no paper or several."""
        named = value.casefold()
        if named == "listed":
            return "no paper was given as a seed, and the settings list none under paper_lists.listed"
        if named in _LISTS:
            return f"no list says which papers you mean: name them in the settings, under paper_lists.{named}"
        return f"“{value}” names no paper of this library, or several"

    def meant(self, value: str, index: Index) -> frozenset[int]:
        """Positions of the papers that a value means."""
        return _meant(value, index)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The list that it is on, or that it was named."""
        if index.positions.get(paper.id) not in _meant(value, index):
            return ""
        named = value.partition(":")[0].casefold()
        return f"on your list {named}" if named in _LISTS else "named by you"


ATTRIBUTES.register("known")(KnownAttribute())


_INITIALS = 0.8
_TABLE = table_of_words("record_words")
_KIND_WORDS = {kind: phrases(words) for kind, words in _TABLE["affiliations"].items()}
_KINDS = {said: kind for kind, words in _TABLE["affiliation_kinds"].items() for said in phrases(words)}
_COUNTRIES = {code: phrases(words) for code, words in _TABLE["countries"].items()}
_CODES = {said: code for code, names in _COUNTRIES.items() for said in names}
_FACTS = re.compile(r"(.*) \((?:([a-z]+))?(?:, )?([A-Z]{2})?\)", re.DOTALL)
_SMALL = frozenset("a an and at de der des do du et for für i in la le of on the to und y".split())
_ACRONYM = re.compile(r"[A-Z]{2,7}")


class _Asked(NamedTuple):
    """A value taken apart; "" is any."""

    name: str = ""
    kind: str = ""
    country: str = ""


@lru_cache(maxsize=64)
def _asked(value: str) -> _Asked:
    text = normalise_title(value)
    if text in _KINDS:
        return _Asked(kind=_KINDS[text])
    for said in sorted(_CODES, key=len, reverse=True):
        if text == said:
            return _Asked(country=_CODES[said])
        for rest in (text.removeprefix(f"{said} "), re.sub(rf" (?:in|of|from) (?:the )?{said}$", "", text)):
            if rest != text and rest in _KINDS:
                return _Asked(kind=_KINDS[rest], country=_CODES[said])
    return _Asked(name=text)


def _grade(value: str, line: str) -> float:
    """Grade of one affiliation for a value: 1, 0.8 (by its initials) or 0."""
    asked = _asked(value)
    facts = _FACTS.fullmatch(line)
    printed, kind, country = facts.groups("") if facts else (line, "", "")
    text = normalise_title(printed)
    for wanted, given, words in ((asked.kind, kind, _KIND_WORDS), (asked.country, country, _COUNTRIES)):
        if wanted and not (given == wanted if given else any(has_words(text, one) for one in words[wanted])):
            return 0.0
    if not asked.name or has_words(text, asked.name):
        return 1.0
    if _ACRONYM.fullmatch(value):
        for part in printed.split(","):
            large = [word for word in normalise_title(part).split() if word not in _SMALL]
            if len(large) > 1 and "".join(word[0] for word in large) == asked.name:
                return _INITIALS
    return 0.0


@lru_cache(maxsize=64)
def _signs(value: str) -> tuple[str, ...]:
    """An affiliation in ASCII without any of these, in lower case, does not meet the value; () for any."""
    asked = _asked(value)
    if asked.name:
        return () if _ACRONYM.fullmatch(value) else (max(asked.name.split(), key=len),)
    if asked.country:
        return (*_COUNTRIES[asked.country], f"{asked.country.casefold()})")
    return (*_KIND_WORDS[asked.kind], asked.kind)


def _best(value: str, lines: str) -> float:
    if not lines:
        return float("nan")
    signs = _signs(value)
    if signs and lines.isascii() and (low := lines.casefold()) and not any(sign in low for sign in signs):
        return 0.0  # much quicker than comparing words
    return max(_grade(value, line) for line in lines.split("\n"))


class AffiliationAttribute(NamedAttribute, RecordAttribute):
    """The institution that the authors work at, its kind, its country, or kind and country."""

    name = "affiliation"
    what, example = "institution", "affiliation=INRIA"

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) of the author who fits best, NaN where no affiliation is stated."""
        return by_name(index, "affiliations", papers, lambda lines: _best(value, lines))

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The affiliation that fits best, or the first one."""
        lines = stated(index, paper, "affiliations").split("\n")
        return max(lines, key=lambda line: _grade(value, line))[:_LONGEST]


ATTRIBUTES.register("affiliation")(AffiliationAttribute())


_WORDS = table_of_words("venue_names")
_LINKING = frozenset(_WORDS["small"].split())
# What stands around the name of a meeting or volume.
_AROUND = _LINKING.union(_WORDS["around"].split())
# Another series than the one whose acronym it goes with.
_OTHER_SERIES = frozenset(_WORDS["other_series"].split())
_RENAMED = {name: phrases(names) for names in _WORDS["renamed"] for name in phrases(names)}
_NUMBER = expression(r"\d+(?:st|nd|rd|th)?|[ivx]+")
_CAPITALS = expression(r"[A-Z][a-z]*+[A-Z][A-Za-z]*+")


def _core(words: list[str], around: frozenset[str]) -> list[str]:
    """Words without those around the name on either side."""
    own = [n for n, word in enumerate(words) if word not in around and not _NUMBER.fullmatch(word)]
    return words[own[0] : own[-1] + 1] if own else []


def _spells(acronym: str, words: list[str]) -> bool:
    """True if the acronym consists of the beginnings of all the words, in order."""
    if not words:
        return not acronym
    sizes = [n for n in range(1, min(len(acronym), 4) + 1) if words[0].startswith(acronym[:n])]
    return any(_spells(acronym[n:], words[1:]) for n in sizes)


def venue_grade(value: str, venue: str) -> float:
    """Grade of a stored venue as the one that is meant: 1, 0.8 (by its initials), 0, or NaN if unknown.

    >>> [venue_grade("ACL", venue) for venue in ("Proc. of ACL 2020", "NAACL", "Findings of ACL")]
    [1.0, 0.0, 0.0]
    >>> venue_grade("ACL", "Association for Computational Linguistics")
    0.8
    >>> venue_grade("Nature", "Nature Communications"), venue_grade("*vision*", "IEEE Computer Vision")
    (0.0, 1.0)
    """
    if not venue.strip():
        return float("nan")
    if "*" in value or "?" in value:
        pattern = value.strip().casefold().replace("[", "[[]")  # a bracket is no sign of ours
        return float(fnmatchcase(venue.strip().casefold(), pattern))
    asked, stored = normalise_title(value).split(), normalise_title(venue).split()
    if asked == stored:
        return 1.0
    core = _core(stored, _AROUND)
    if core and core in (_core(asked, _AROUND), _core(asked, _LINKING)):
        return 1.0
    if not _CAPITALS.fullmatch(value.strip()):
        return 0.0
    acronym = asked[0]
    capitals = {normalise_title(word) for word in re.findall(r"[^\W_]+", venue) if _CAPITALS.fullmatch(word)}
    if acronym in capitals and _OTHER_SERIES.isdisjoint(stored):
        return 1.0
    for words in (stored, core):
        name = [word for word in words if word not in _LINKING]
        if len(name) > 1 and len(name) <= len(acronym) and _spells(acronym, name):
            return _INITIALS
    return 0.0


@lru_cache(maxsize=32)
def _graded(value: str, names: tuple[str, ...]) -> Floats:
    """(names,) grades; kept, since a search takes them several times, of thousands of venues."""
    return np.array([venue_grade(value, name) for name in names], np.float32)


def venue_grades(value: str, index: Index, papers: Positions) -> Floats:
    """(papers,) the best grade among alternatives, see :func:`venue_grade`; NaN where it is unknown."""
    (codes, names), named = index.coded("venues"), names_in(value)
    if not names or not named:
        return np.full(len(papers), np.nan, np.float32)
    meant = [other for name in named for other in (name, *_RENAMED.get(name.casefold(), ()))]
    table = np.fmax.reduce([_graded(name, tuple(names)) for name in dict.fromkeys(meant)])
    return np.asarray(table[codes[papers]], np.float32)


class VenueAttribute(NamedAttribute):
    """Where a paper appeared."""

    name = "venue"
    what, example = "venue", "venue=Nature, venue=NeurIPS, venue=*Vision*"

    def bound(self, value: str, seeds: Sequence[str], index: Index, lists: UserLists) -> str:
        """The venues of a group that the user listed under this name."""
        groups = {name.casefold(): venues for name, venues in lists.venue_groups.items()}
        return joined(groups.get(value.casefold(), ())) or value

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) as :func:`venue_grade`, of the alternative that fits best."""
        return venue_grades(value, index, papers)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The venue as printed."""
        return paper.venue[:_LONGEST]


ATTRIBUTES.register("venue")(VenueAttribute())


_RANKS = ("top", "a*", "a", "b", "c", "q1", "q2", "q3", "q4")
_FACTOR = expression(r"impact factor\s*+(?:>=|<=|>|<)\s*+\d{1,4}+(?:\.\d{1,3}+)?+", re.IGNORECASE)


def _parts(value: str) -> tuple[str, str]:
    """The rank in lower case, and its venues where they follow it."""
    rank, _, venues = value.partition(":")
    return " ".join(rank.casefold().split()), venues.strip()


class VenueRankAttribute(Attribute):
    """The rank of the venue, by the user's own lists."""

    name = "venue_rank"
    noun = "venue"

    def check(self, value: str) -> None:
        """Refuse a value that is neither a rank nor a bound of the impact factor.

        Raises:
            UsageError: with the values there are.
        """
        rank = _parts(value)[0]
        if not _FACTOR.fullmatch(rank):
            check_class(rank, "rank of venues", _RANKS, {})

    def bound(self, value: str, seeds: Sequence[str], index: Index, lists: UserLists) -> str:
        """The rank with the venues that the user listed for it."""
        rank, venues = _parts(value)
        listed = {_parts(name)[0]: names for name, names in lists.venue_ranks.items()}
        return f"{rank}: {joined(listed[rank])}" if not venues and listed.get(rank) else value

    def missing(self, value: str, index: Index) -> str:
        """That the rank has no list, or that no venue is known."""
        rank, venues = _parts(value)
        if venues:
            return super().missing(value, index)
        return f"no list says which venues are {rank}: name them in the settings, under venue_ranks"

    def grades(self, value: str, index: Index, papers: Positions) -> Floats:
        """(papers,) of being in a listed venue, NaN where the venue is unknown or none is listed."""
        return venue_grades(_parts(value)[1], index, papers)

    def reason(self, value: str, paper: Paper, index: Index) -> str:
        """The venue as printed, and who listed its rank."""
        return f"in {paper.venue}; ranks as listed by you" if paper.venue else ""


ATTRIBUTES.register("venue_rank")(VenueRankAttribute())
