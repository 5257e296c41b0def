"""Regular expressions that are compiled when they are first used: a search needs one in ten of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

_METHODS = ("match", "fullmatch", "search", "finditer", "findall", "split", "sub", "subn", "flags", "groups")


class Later:
    """Substitute for a compiled pattern; from the first use on it has the attributes of the pattern."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self._flags = pattern, flags

    def compiled(self) -> re.Pattern[str]:
        """The pattern."""
        return re.compile(self.pattern, self._flags)

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)
        pattern = self.compiled()
        vars(self).update((each, getattr(pattern, each)) for each in _METHODS)
        return getattr(pattern, name)


def expression(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """As :func:`re.compile`, but called on first use; a faulty pattern raises only then."""
    return cast("re.Pattern[str]", Later(pattern, flags))


HAN = r"\u3400-\u9fff"  # as it is written inside a set of characters


class AnyOf:
    """Words of which a text may contain one; as a part of an expression.

    Args:
        words: as they are written, capitals included.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(dict.fromkeys(words))
        self._last = ("", False)

    def within(self, text: str) -> bool:
        """True if a text contains one of the words; the result for the last text is remembered."""
        last, found = self._last
        if text is not last:
            found = any(word in text for word in self.words)
            self._last = (text, found)
        return found


class AllOf:
    """Parts that are all in a text.

    Args:
        parts: those that few texts have first: the others are not compiled without them.
    """

    def __init__(self, *parts: Expression | AnyOf) -> None:
        self._parts = parts

    def within(self, text: str) -> bool:
        """True if a text contains each of the parts."""
        return all(part.within(text) for part in self._parts)


class Expression:
    r"""A regular expression, compiled when it is first used.

    The compiler writes a range of characters down one by one: each set with Han characters takes it 1 ms, and
    there are a hundred. For texts in ASCII they are taken out of the expression, which changes no match.

    Args:
        pattern: as :func:`re.compile` takes it, with Han characters written as :data:`HAN`.
        flags: as there.
        wide: Han characters, or others beyond ASCII, as sets of the pattern have them.
        part: an expression that every match contains, or words of which it contains one, or several of these:
            where a text lacks it, this one is not compiled.

    >>> Expression(rf"[^\W{HAN}]+").match("two words").group()
    'two'
    """

    def __init__(
        self, pattern: str, flags: int = 0, *, wide: str = HAN, part: Expression | AnyOf | AllOf | None = None
    ) -> None:
        self.pattern, self.flags = pattern, flags
        self._wide = wide
        self._part = part
        self._last = ("", False)
        self._whole: re.Pattern[str] | None = None
        self._ascii: re.Pattern[str] | None = None

    @property
    def whole(self) -> re.Pattern[str]:
        """The form for all texts."""
        if self._whole is None:
            self._whole = re.compile(self.pattern, self.flags)
        return self._whole

    def _for(self, text: str) -> re.Pattern[str]:
        if not text.isascii():
            return self.whole
        if self._ascii is None:
            short = self.pattern.replace(f"[{self._wide}]", "(?!)").replace(self._wide, "")
            self._ascii = re.compile(short, self.flags)
        return self._ascii

    def within(self, text: str) -> bool:
        """True if it is found anywhere in a text; the result for the last text is remembered."""
        last, found = self._last
        if text is not last:
            found = self._for(text).search(text) is not None
            self._last = (text, found)
        return found

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        """As :meth:`re.Pattern.match`."""
        if self._part is not None and not self._part.within(text):
            return None
        return self._for(text).match(text, start)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """As :meth:`re.Pattern.fullmatch`."""
        return self._for(text).fullmatch(text)

    def search(self, text: str) -> re.Match[str] | None:
        """As :meth:`re.Pattern.search`."""
        return self._for(text).search(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """As :meth:`re.Pattern.finditer`."""
        return self._for(text).finditer(text)

    def findall(self, text: str) -> list[str]:
        """As :meth:`re.Pattern.findall`, for at most one group."""
        return self._for(text).findall(text)

    def split(self, text: str) -> list[str]:
        """As :meth:`re.Pattern.split`, without groups."""
        return [part or "" for part in self._for(text).split(text)]

    def sub(self, new: str, text: str) -> str:
        """As :meth:`re.Pattern.sub`."""
        return self._for(text).sub(new, text)
