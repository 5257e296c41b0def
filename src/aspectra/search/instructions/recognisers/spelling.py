"""Typing errors in the words that matter: one letter missing, doubled, wrong, or two exchanged."""

from __future__ import annotations

from functools import cache, lru_cache

from aspectra.search.instructions.recognisers.lexicon import word_sets

# Words that are corrected to, and real words that are one letter away from one of them.
_SETS = word_sets("spelling")
_SHORTEST = 5
_SHORTEST_WRONG = 6  # a wrong letter changes more than a missing or exchanged one


@cache
def _without_one() -> dict[str, tuple[str, ...]]:
    out: dict[str, tuple[str, ...]] = {}
    for word in _SETS["words"]:
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
    if not (_SHORTEST - 1 <= len(low) <= 20 and low.isascii() and low.isalpha()) or low in _SETS["real"]:
        return low
    return _guess(low)
