"""Requests in words over a collection whose own records or labels decide whether a paper meets them.

Texts are put together from wordings (``data/requests.toml``) and from values of the collection, chosen by a
seed; 60 more were written one by one. Each has a topic and one to four conditions, and is read and searched
as a user's text is. A judged paper meets all conditions; its grade is 2 if it is on the topic as well. Papers
of which a condition cannot be decided are kept out of that text's ranking.

Collections with ``labels.jsonl`` (id, aspect -> subject heading -> 2 for a main topic) are judged by labels,
others by year, venue, track, title and keywords.
"""

from __future__ import annotations

import datetime
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aspectra.base.errors import BadInput, UsageError
from aspectra.lab.benchmarks._audit import (
    HAS,
    HAS_NOT,
    UNDECIDED,
    Corpus,
    Facts,
    Problems,
    audited,
    heading_words,
    own_id,
    plain_words,
)
from aspectra.lab.benchmarks._files import Folder, read_data
from aspectra.lab.benchmarks.protocol import Benchmark, Option, Topic, benchmark

_TRIES = 400
# A text is of use if its ten places can be filled, and if papers of its topic break each condition.
_MEETING, _MEETING_TOPIC, _BREAKING_TOPIC = 10, 5, 3
# Keywords with these words would be requests themselves.
_AMBIGUOUS = re.compile(
    r"\b(survey|review|overview|data|datasets?|benchmarks?|evaluation|new|novel|open|recent|theor\w+|applications?|"
    r"general|tools?|code|position|stud(?:y|ies)|methods?|approach\w*|resources?|english|chinese|german|french|"
    r"spanish|human|peer|early|first|short|long|simulation\w*|systems?|other|reproducib\w+|longitudinal|multi|"
    r"case|cohort|software|trials?|qualitative|field|student|experts?|large|zero|few|self|pre|supervised|not|no|"
    r"without|and|or|of|in|with)\b"
)
_SPELLED = {3: "three", 5: "five", 10: "ten"}
_SHOWN_VENUE = {"nips": "NeurIPS", "corl": "CoRL", "automl": "AutoML"}
# Names that are also words stay as their owners write them.
_NEVER_LOWER = {"rss", "alt", "colt", "acl", "www"}


@dataclass
class _Drawn:
    """One text with its conditions, before it is judged."""

    text: str
    topic: str
    conditions: tuple[str, ...]
    labels: dict[str, str]


@benchmark(
    "requests",
    files="papers.jsonl or corpus.jsonl; labels.jsonl where labels decide.",
    options=(
        Option("seed", "of the choice of values and wordings", default="1"),
        Option(
            "soft",
            "texts that prefer or avoid, instead of those that require or exclude",
            ("yes", "no"),
            "no",
        ),
        Option(
            "typed", "whether texts are read like a user's, or searched as they are", ("yes", "no"), "yes"
        ),
        Option("year", "the year that *the last five years* count from; without it, this year"),
    ),
    measures=("P(over=ranked)@10", "P@10", "P(rel=2)@10"),
)
def load(folder: Folder, options: Mapping[str, str]) -> Benchmark:
    """Requests in words, typed as a user would, and met or not by records or labels.

    Raises:
        BadInput: its papers give too few values to make a text of.
        UsageError: the seed or the year is not a whole number.
    """
    documents = folder.need("papers.jsonl", "corpus.jsonl")
    given = folder.find("labels.jsonl")
    corpus = Corpus(lambda: folder.rows(documents))
    corpus.scan()  # now, as checksums are listed in the order of reading
    labels = {own_id(row): row for row in folder.rows(given)} if given else {}
    facts = Facts()
    for name, row in corpus.once():
        facts.add(name, row, labels.get(name, {}))
    part = "labels" if given else "records"
    this_year = _whole(options["year"] or str(datetime.date.today().year), "year")
    rng = random.Random(_whole(options["seed"], "seed"))  # noqa: S311 (no secret)
    values = _Values(facts, rng, this_year)
    soft = options["soft"] == "yes"
    problems = Problems()
    topics, grades, excluded = [], {}, {}
    unfit = 0
    for number, one in enumerate(_drawn(values, part, soft), 1):
        meets = facts.all_of(one.conditions)
        about = facts.about(one.topic)
        if np.count_nonzero(meets == HAS) < _MEETING:
            unfit += 1
            continue
        name = f"{part}-{number:03d}"
        topics.append(Topic(name, one.text, labels=one.labels, typed=options["typed"] == "yes"))
        grades[name] = {facts.ids[i]: 1.0 + bool(about[i]) for i in np.flatnonzero(meets == HAS).tolist()}
        excluded[name] = frozenset(facts.ids[i] for i in np.flatnonzero(meets == UNDECIDED).tolist())
    problems.add(unfit, "text is", "texts are", f"left out: fewer than {_MEETING} papers meet it")
    if not topics:
        raise BadInput(
            f"{folder.root} gives no requests",
            why="its papers have too few years, venues, keywords or labels in common",
            hint="use a collection of some hundred papers",
        )
    name = "/".join(["requests", part, *(["soft"] if soft else [])])
    told: dict[str, Any] = {"excluded": excluded, "licence": "texts: CC0; papers: as their collection states"}
    told["source"] = "wordings of our own over the papers of the folder"
    return audited(folder, corpus, name, topics, {"gold": grades}, problems, **told)


def _whole(text: str, name: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text):
        raise UsageError(f"the option {name} of requests cannot be {text!r}", why="it is a whole number")
    return int(text)


def _drawn(values: _Values, part: str, soft: bool) -> Iterator[_Drawn]:
    """The texts of a part: put together, then written."""
    data = read_data("requests.toml")
    if soft:
        yield from _put_together(values, data, data["mix"].get(f"soft_{part}", {}), "en")
        return
    yield from _put_together(values, data, data["mix"].get(part, {}), "en")
    for language in data["frames"]:
        yield from _put_together(values, data, data["mix"].get(f"{language}_{part}", {}), language)
    for row in data["written"][part]:
        conditions = tuple(row["conditions"])
        yield _Drawn(row["text"], row["topic"], conditions, _labels(conditions, "en", "written"))


def _put_together(
    values: _Values, data: Mapping[str, Any], mix: Mapping[str, int], language: str
) -> Iterator[_Drawn]:
    wordings = data.get(language, {})
    for names, times in mix.items():
        for _ in range(times):
            kinds = names.split()
            found = values.draw(kinds)
            if found is None:
                continue
            topic, slots, conditions = found
            text = _worded(
                values.rng, data["frames"][language], wordings, topic, list(zip(kinds, slots, strict=True))
            )
            labels = _labels(conditions, language, "put together")
            yield _Drawn(text, values.topic, conditions, labels)


def _kind_of(condition: str) -> str:
    """The kind of a condition, for breakdowns: ``year``, ``not venue``, ``exception`` ..."""
    if " unless " in condition:
        return "exception"
    words = condition.split()
    return " ".join(words[:2]) if words[0] == "not" else words[0]


def _labels(conditions: Sequence[str], language: str, origin: str) -> dict[str, str]:
    """Labels by which results are broken down."""
    kinds = [_kind_of(condition) for condition in conditions]
    return {
        "condition": kinds[0] if len(kinds) == 1 else "several",
        "conditions": str(len(kinds)),
        "language": language,
        "origin": origin,
        **{f"has {kind}": "yes" for kind in kinds},
    }


def _worded(
    rng: random.Random,
    frames: Sequence[str],
    wordings: Mapping[str, Mapping[str, Sequence[str]]],
    topic: str,
    conditions: Sequence[tuple[str, Mapping[str, str]]],
) -> str:
    """A text of a topic and its conditions: glued ones first, then those set off, then sentences."""
    frame = rng.choice(frames)
    closed = frame.endswith(("?", "."))
    chosen: dict[str, list[str]] = {"before": [], "after": [], "comma": [], "sentence": []}
    for kind, slots in conditions:
        own = wordings[kind]
        places = [place for place in own if place != "before" or not chosen["before"]]
        places = [place for place in places if place != "after" or not chosen["after"]]
        if closed:
            places = [place for place in places if place == "sentence"]
            if not places:
                closed, frame = False, "{topic}"
                places = list(own)
        place = rng.choice(places or ["comma"])
        texts = own.get(place) or own[next(iter(own))]
        chosen[place].append(rng.choice(list(texts)).format(topic=topic, **slots))
    if closed:
        text = frame.format(topic=topic)
    elif chosen["before"]:
        text = chosen["before"][0] if topic in chosen["before"][0] else f"{chosen['before'][0]} {topic}"
    else:
        text = frame.format(topic=topic)
    text = " ".join([text, *chosen["after"]])
    text = ", ".join([text, *chosen["comma"]])
    for sentence in chosen["sentence"]:
        text = f"{text.rstrip('.')}. {sentence}." if not text.endswith("?") else f"{text} {sentence}."
    return text


class _Values:
    """Draws topics and values that give a text of use.

    Args:
        facts: of the collection.
        rng: all choices come from it.
        this_year: what *the last years* count from.
    """

    def __init__(self, facts: Facts, rng: random.Random, this_year: int) -> None:
        self.facts = facts
        self.rng = rng
        self.this_year = this_year
        self.topic = ""
        self.labelled = any(facts.labels)
        self._used: set[tuple[str, ...]] = set()
        self._beside_topic: dict[str, list[str]] = {}
        self._venues = [
            venue for venue, held in Counter(facts.venues).most_common(25) if venue and held >= _MEETING
        ]
        self._years = sorted(year for year in facts.years if year)
        self._subjects = self._headings() if self.labelled else self._keywords()

    def _headings(self) -> list[str]:
        held = Counter(name for own in self.facts.labels for name, grade in own.items() if grade == 2)
        return [name for name, times in sorted(held.items()) if times >= 8 and name[0].isupper()]

    def _keywords(self) -> list[str]:
        held = Counter(one.strip() for own in self.facts.keywords for one in set(own))
        fit = (name for name, times in sorted(held.items()) if times >= 3 and 2 <= len(name.split()) <= 3)
        return [name for name in fit if not _AMBIGUOUS.search(name) and not re.search(r"\d", name)]

    def draw(self, kinds: Sequence[str]) -> tuple[str, list[dict[str, str]], tuple[str, ...]] | None:
        """(topic as typed, what fills each wording, conditions), or None where none is found."""
        if not self._subjects:
            return None
        for _ in range(_TRIES):
            self.topic = self.rng.choice(self._subjects)
            about = self.facts.about(self.topic)
            if np.count_nonzero(about) < _MEETING:
                continue
            slots, conditions = [], []
            for kind in kinds:
                made = self._value(kind, about)
                if made is None:
                    break
                slots.append(made[0])
                conditions.append(made[1])
            drawn = (self.topic, *sorted(conditions))
            new = len(conditions) == len(kinds) == len(set(conditions)) and drawn not in self._used
            if new and self._fits(about, kinds, conditions):
                self._used.add(drawn)
                shown = heading_words(self.topic) if self.labelled else self.topic
                return shown, slots, tuple(conditions)
        return None

    def _fits(self, about: Any, kinds: Sequence[str], conditions: Sequence[str]) -> bool:
        for condition in conditions:  # each one changes something
            if np.count_nonzero((self.facts.decide(condition) == HAS_NOT) & about) < _BREAKING_TOPIC:
                return False
        meets = self.facts.all_of(conditions)
        wanted = 1 if any(kind.endswith(("_only", "_soft")) for kind in kinds) else _MEETING_TOPIC
        on_topic = int(np.count_nonzero((meets == HAS) & about))
        return on_topic >= wanted and int(np.count_nonzero(meets == HAS)) >= 2 * _MEETING

    def _value(self, kind: str, about: Any) -> tuple[dict[str, str], str] | None:
        """Values for a wording, and the condition as a line; None if the collection has none."""
        name, _, form = kind.partition("_")
        rng = self.rng
        if name in ("survey", "dataset"):
            if form.startswith("unless"):
                slots, year = self._year("from")
                return slots, f"not kind {name} unless {year}"
            denied = "not " if form in ("not", "avoid") else ""
            return {}, f"{denied}kind {name}"
        if name in ("words", "label"):
            other = self._other(about)
            if other is None:
                return None
            shown = heading_words(other) if name == "label" else other
            return {"x": shown}, f"{'not ' if form in ('not', 'avoid') else ''}{name} {other}"
        if not self._years or ("venue" in kind and len(self._venues) < 3):
            return None
        one, other = rng.sample(self._venues, 2) if len(self._venues) > 1 else ("", "")
        named = {"v": self._shown(one), "w": self._shown(other)}
        if name == "venue":
            if form == "unless_year":
                slots, year = self._year("from")
                return {**named, **slots}, f"not venue {one} unless {year}"
            both = f"{one} | {other}" if form == "or" else one
            return named, f"{'not ' if form == 'not' else ''}venue {both}"
        if form == "unless_venue":
            slots, year = self._year("from")
            return {**named, **slots}, f"{year} unless venue {one}"
        if name == "last":
            years = rng.choice(list(_SPELLED))
            return {"n": rng.choice((str(years), _SPELLED[years]))}, f"year {self.this_year - years}.."
        return self._year("decade" if name == "decade" else form)

    def _year(self, form: str) -> tuple[dict[str, str], str]:
        low, high = self._years[0], self._years[-1]
        year = self.rng.choice(self._years)
        if form == "decade":
            year -= year % 10
            return {"a": str(year)}, f"year {year}..{year + 9}"
        if form == "range":
            last = min(high, year + self.rng.randint(2, 6))
            year = max(low, min(year, last - 1))
            return {"a": str(year), "b": str(last)}, f"year {year}..{last}"
        if form == "to":
            return {"b": str(year), "after": str(year + 1)}, f"year ..{year}"
        if form in ("in", "not"):
            return {"a": str(year)}, f"{'not ' if form == 'not' else ''}year {year}"
        wrong = year - self.rng.randint(2, 5)
        return {"a": str(year), "before": str(year - 1), "wrong": str(wrong)}, f"year {year}.."

    def _other(self, about: Any) -> str | None:
        """Another subject that papers of the topic have."""
        if not self.labelled:
            names = self.rng.sample(self._subjects, min(80, len(self._subjects)))
            held = {
                name: int(np.count_nonzero(self.facts.holding("titles", plain_words(name)) & about))
                for name in names
            }
            fit = self._beside(held)
        elif (known := self._beside_topic.get(self.topic)) is not None:
            fit = known
        else:
            found: Counter[str] = Counter()
            for number in np.flatnonzero(about).tolist():
                found.update(name for name, grade in self.facts.labels[number].items() if grade == 2)
            fit = self._beside({name: found[name] for name in sorted(found) if name[0].isupper()})
            self._beside_topic[self.topic] = fit
        return self.rng.choice(fit) if fit else None

    def _beside(self, held: dict[str, int]) -> list[str]:
        """Subjects of some of the topic's papers that would break it and share no word with it."""
        own = set(plain_words(heading_words(self.topic)).split())
        return [
            name
            for name, papers in held.items()
            if papers >= _BREAKING_TOPIC
            and own.isdisjoint(plain_words(heading_words(name)).split())
            and (not self.labelled or self._named(name))
        ]

    def _named(self, label: str) -> bool:
        """True if half of a label's papers name it, so that its words can identify them."""
        held = self.facts.holding("texts", plain_words(heading_words(label)))[self.facts.about(label)]
        return 2 * int(np.count_nonzero(held)) >= len(held)

    def _shown(self, venue: str) -> str:
        if self.rng.random() < 0.15 and venue not in _NEVER_LOWER:
            return "neurips" if venue == "nips" else venue
        return _SHOWN_VENUE.get(venue, venue.upper())
