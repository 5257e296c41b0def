"""Regular expressions that are compiled when they are first used, in a shorter form for texts in ASCII."""

from __future__ import annotations

import re

__all__ = ["HAN", "Expression"]

HAN = r"\u3400-\u9fff"  # as it is written inside a set of characters


class Expression:
    r"""A regular expression, compiled when it is first used.

    The compiler writes a range of characters down one by one: each set with Han characters takes it 1 ms, and
    there are a hundred. For texts in ASCII they are taken out of the expression, which changes no match.

    Args:
        pattern: as :func:`re.compile` takes it, with Han characters written as :data:`HAN`.
        flags: as there.

    >>> Expression(rf"[^\W{HAN}]+").match("two words").group()
    'two'
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern, self.flags = pattern, flags
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
            short = self.pattern.replace(f"[{HAN}]", "(?!)").replace(HAN, "")
            self._ascii = re.compile(short, self.flags)
        return self._ascii

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        """As :meth:`re.Pattern.match`."""
        return self._for(text).match(text, start)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """As :meth:`re.Pattern.fullmatch`."""
        return self._for(text).fullmatch(text)

    def search(self, text: str) -> re.Match[str] | None:
        """As :meth:`re.Pattern.search`."""
        return self._for(text).search(text)

    def findall(self, text: str) -> list[str]:
        """As :meth:`re.Pattern.findall`, for at most one group."""
        return self._for(text).findall(text)

    def split(self, text: str) -> list[str]:
        """As :meth:`re.Pattern.split`, without groups."""
        return [part or "" for part in self._for(text).split(text)]

    def sub(self, new: str, text: str) -> str:
        """As :meth:`re.Pattern.sub`."""
        return self._for(text).sub(new, text)
