"""Terms that must or must not occur: *mention zinc*, *the word "hooch" must appear*."""

from __future__ import annotations

from collections.abc import Sequence

from aspectra.search.instructions.recognisers.lexicon import (
    DELIMITERS,
    Entry,
    Lexicon,
    Mark,
    Token,
    word_sets,
)

_MOST_WORDS = 6  # of an unquoted term
_QUOTES = "“”„\"«»「」『』《》‘’`'"
_LISTED = ("quote", "comma", "colon")  # kinds of tokens in a list of quotes
_JOINS = ("and", "or", "&", "und", "oder", "和", "或", "与", "、", "nor", "as", "well")
_STOPS = ("neg", "hard", "soft", "perm", "lead", "open", "polite", "wish")
# Categories of words between a term and what says that it occurs.
_BEFORE_POST = ("neg", "hard", "soft", "func", "polite", "wish", "doc")
_WORDS = word_sets("terms")
_DETERMINERS = frozenset("the this das den dem".split())


def _entry(lexicon: Lexicon, tokens: Sequence[Token], at: int, category: str) -> tuple[int, Entry] | None:
    for length, entry in lexicon.matches(tokens, at):
        if entry.category == category:
            return length, entry
    return None


def _is_post(context: Lexicon, tokens: Sequence[Token], at: int) -> bool:
    found = _entry(context, tokens, at, "term")
    return (found is not None and found[1].value == "post") or tokens[at].low in _WORDS["named"]


def _term(text: str, token: Token) -> str:
    return text[token.start : token.end].strip(_QUOTES).strip(" ,.;:!?。，")


def _quoted(text: str, tokens: Sequence[Token], at: int) -> tuple[tuple[str, ...], int]:
    """Quoted terms in a row: "a", "b" and "c"."""
    found: list[str] = []
    while at < len(tokens) and tokens[at].kind == "quote":
        if term := _term(text, tokens[at]):
            found.append(term)
        at += 1
        ahead = at
        while ahead < len(tokens) and (tokens[ahead].low in _JOINS or tokens[ahead].kind == "comma"):
            ahead += 1
        if ahead < len(tokens) and ahead > at and tokens[ahead].kind == "quote":
            at = ahead
    return tuple(found), at


def _bare(
    text: str, tokens: Sequence[Token], at: int, main: Lexicon, context: Lexicon, verb: bool
) -> tuple[tuple[str, ...], int] | None:
    """An unquoted term: words that no rule wants, up to the first one that does."""
    start = at
    while at < len(tokens) and at - start < _MOST_WORDS:
        token = tokens[at]
        if token.kind in DELIMITERS or token.kind in ("quote", "mark"):
            break
        if not token.tied and at > start:
            entries = [entry for _, entry in main.matches(tokens, at)]
            if any(e.category in _STOPS for e in entries) or _is_post(context, tokens, at):
                break
            if any(e.category in ("func", "doc") for e in entries) and token.low not in _WORDS["inside"]:
                break
        elif at == start:
            entries = [entry for _, entry in main.matches(tokens, at)]
            if token.kind != "option" and any(e.category in (*_STOPS, "func", "doc") for e in entries):
                return None
            if verb and any(e.category in ("format", "length", "source", "audience") for e in entries):
                return None
        at += 1
    while at > start and tokens[at - 1].low in _WORDS["inside"]:
        at -= 1
    if at == start:
        return None
    return (text[tokens[start].start : tokens[at - 1].end],), at


def _followed_by_post(tokens: Sequence[Token], at: int, main: Lexicon, context: Lexicon) -> bool:
    """True if *must not appear*, *is named* or the like follows within a few words."""
    limit = at + 7
    while at < min(limit, len(tokens)):
        if tokens[at].kind in DELIMITERS and tokens[at].kind != "comma":
            return False
        if _is_post(context, tokens, at):
            return True
        if tokens[at].low in ("out", "away", "off"):
            return True
        lengths = [n for n, e in main.matches(tokens, at) if e.category in _BEFORE_POST]
        if not lengths and tokens[at].low not in _JOINS:
            return False
        at += max(lengths, default=1)
    return False


def read_term(
    text: str,
    tokens: Sequence[Token],
    at: int,
    main: Lexicon,
    context: Lexicon,
    before: Mark | None,
    asked: str,
    earlier: bool,
) -> tuple[tuple[str, ...], int, bool] | None:
    """The terms that begin at a token, with the words that introduce them.

    Args:
        text: the whole text.
        tokens: of the text.
        at: number of a token.
        main: the lexicon.
        context: the lexicon of senses that count in context.
        before: the piece before.
        asked: category of the last piece that is more than a function word, "" at the start of a segment.
        earlier: whether the sentence has a term already.

    Returns:
        The terms, the number of the first token behind them, and whether the words leave no doubt that the
        term should occur in the text; None without a term.
    """
    token = tokens[at]
    if token.kind == "quote":
        found, after = _quoted(text, tokens, at)
        category = before.cat if before else ""
        ruled = asked in ("neg", "hard") or category in ("neg", "hard", "term")
        joined = earlier and before is not None and before.low in _JOINS and _ends(tokens, after)
        listed = category in ("colon", "comma") and at >= 2 and _after_terms(tokens, at, main)
        said = ruled or joined or listed or _followed_by_post(tokens, after, main, context)
        return (found, after, True) if found and said else None
    if token.low in _WORDS["tells"] and (ahead := _quote_behind(tokens, at + 1)):
        found, after = _quoted(text, tokens, ahead)
        return (found, after, True) if found else None
    head = _entry(context, tokens, at, "term")
    if head is None or head[1].value == "post":
        return None
    length, entry = head
    verb, loose = entry.value == "verb", "noun" in entry.marks
    next_at = at + length
    noun = not verb
    while next_at < len(tokens) and next_at < at + 9:
        low = tokens[next_at].low
        following = _entry(context, tokens, next_at, "term")
        if following and following[1].value == "noun":
            noun, next_at = True, next_at + following[0]
        elif low in _WORDS["between"] and not tokens[next_at].tied:
            next_at += 1
        else:
            break
    if next_at >= len(tokens):
        return None
    if tokens[next_at].kind == "quote":
        found, after = _quoted(text, tokens, next_at)
        return (found, after, True) if found else None
    if loose and not noun:
        return None
    if tokens[next_at - 1].kind in DELIMITERS:
        return None
    if not _introduced(before, verb):
        return None
    bare = _bare(text, tokens, next_at, main, context, verb and not noun)
    if bare is None:
        return None
    values, after = bare
    # "zinc and copper": two terms.
    while after + 1 < len(tokens) and tokens[after].low in _JOINS:
        more = _bare(text, tokens, after + 1, main, context, verb and not noun)
        if more is None:
            break
        values, after = values + more[0], more[1]
    return values, after, noun and tokens[next_at].kind == "option"


def _quote_behind(tokens: Sequence[Token], at: int) -> int:
    """Number of the quote that follows words of small meaning: *(focus) on the effects of "zinc"*; else 0."""
    while at < len(tokens) and tokens[at].low in _WORDS["about"]:
        at += 1
    return at if at < len(tokens) and tokens[at].kind == "quote" else 0


def _ends(tokens: Sequence[Token], at: int) -> bool:
    """True if only *too* or the like stands between a token and the end of its segment."""
    while at < len(tokens) and tokens[at].low in ("too", "also", "as", "well", "either", "please", "auch"):
        at += 1
    return at >= len(tokens) or tokens[at].kind in DELIMITERS


def _introduced(before: Mark | None, verb: bool) -> bool:
    """True if *mention* or *word* can introduce a term here: not in *word embeddings* or *author name*."""
    if not verb:
        return before is not None and (before.low in _DETERMINERS or before.cat in ("neg", "hard", "soft"))
    return before is None or not before.free


def _after_terms(tokens: Sequence[Token], at: int, main: Lexicon) -> bool:
    """True if only a command or another term precedes a quote's colon or comma: *exclude: "a", "b"*."""
    before = at - 1
    while before >= 0 and (tokens[before].kind in _LISTED or tokens[before].low in _JOINS):
        before -= 1
    while before > 0 and tokens[before - 1].kind not in DELIMITERS and before > at - 5:
        before -= 1
    return before >= 0 and any(e.category in ("neg", "hard") for _, e in main.matches(tokens, before))
