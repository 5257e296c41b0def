"""Typing errors in the words that matter: one letter missing, doubled, wrong, or two exchanged."""

from __future__ import annotations

from functools import cache, lru_cache

__all__ = ["corrected"]

_WORDS = """
contain contains containing mention mentions mentioning include including exclude excluding exactly
document documents article articles paragraph paragraphs sentence sentences language written published
please prefer preferred preferably ideally explain avoid without should rather journal journals academic
scholarly reviewed newspaper newspapers manual manuals question questions answer answers general public
beginner beginners experts specialist specialists professional professionals technical jargon simple
survey surveys possible blog forum forums exclusively official documentation encyclopedia students
undergraduates researchers audience readers recent literature publications phrase keyword bulleted
numbered bullet checklist tutorial snippet snippets characters maximum minimum results because looking
anything something nothing everything longer shorter detailed laypeople layman simply search before after
between english german french spanish chinese japanese italian russian portuguese korean arabic mandarin
dutch swedish polish turkish
""".split()
# Real words that are one letter away from one of them.
_REAL = frozenset(
    """
academie arabia avid ballet character detained excluded expects exports genera generals germain germans
germany gorman italia italiana italians javanese korea koreans linger locking longed looming looting lyman
mandal manuel maximus nothin noting officials phase pleas pleased publisher reapers regent researches
reviewer russia russians sentenced shooter shouldn simpler somethin surrey
""".split()
)
_SHORTEST = 5
_SHORTEST_WRONG = 6  # a wrong letter changes more than a missing or exchanged one


@cache
def _without_one() -> dict[str, tuple[str, ...]]:
    out: dict[str, tuple[str, ...]] = {}
    for word in _WORDS:
        if len(word) >= _SHORTEST:
            for key in {word, *(word[:i] + word[i + 1 :] for i in range(len(word)))}:
                out[key] = (*out.get(key, ()), word)
    return out


def _near(said: str, word: str) -> bool:
    if len(said) == len(word):
        wrong = [i for i, (a, b) in enumerate(zip(said, word, strict=True)) if a != b]
        if len(wrong) == 1:
            return len(word) >= _SHORTEST_WRONG
        return (
            len(wrong) == 2
            and wrong[1] == wrong[0] + 1
            and said[wrong[0]] == word[wrong[1]]
            and said[wrong[1]] == word[wrong[0]]
        )
    long, short = (said, word) if len(said) > len(word) else (word, said)
    return len(long) == len(short) + 1 and any(long[:i] + long[i + 1 :] == short for i in range(len(long)))


@lru_cache(4096)
def _guess(said: str) -> str:
    index = _without_one()
    keys = {said, *(said[:i] + said[i + 1 :] for i in range(len(said)))}
    found = {word for key in keys for word in index.get(key, ()) if word[0] == said[0] and _near(said, word)}
    return found.pop() if len(found) == 1 else said


def corrected(low: str) -> str:
    """The word that an unknown word in lower case was meant to be, or the same.

    >>> corrected("contian"), corrected("germany")
    ('contain', 'germany')
    """
    if not (_SHORTEST - 1 <= len(low) <= 20 and low.isascii() and low.isalpha()) or low in _REAL:
        return low
    return _guess(low)
