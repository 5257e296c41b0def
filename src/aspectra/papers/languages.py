"""Codes of languages, however a record states the language."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from aspectra.papers.text.cleaning import one_line


@cache
def _codes() -> dict[str, str]:
    """ISO 639-2 codes and English names, in lower case -> ISO 639-1 code (``data/languages.tsv``).

    A table, because langcodes knows names only with language_data, which take 31 MB and 80 ms.
    """
    lines = (resources.files("aspectra") / "data" / "languages.tsv").read_text("utf-8").splitlines()
    return {word: line.split("\t")[0] for line in lines for word in line.split("\t")}


def language_of(value: object) -> str:
    """BCP 47 primary tag of a stated language, or "" where it is not recognised; of several the first.

    >>> language_of("cze"), language_of("Swedish"), language_of("pt-BR"), language_of("Chinese (simplified)")
    ('cs', 'sv', 'pt', 'zh')
    """
    first = re.split(r"[;,/|(]", one_line(value).casefold())[0].strip()
    tag = re.split(r"[-_]", first)[0]
    return _codes().get(first) or _codes().get(tag) or (tag if re.fullmatch(r"[a-z]{2}", tag) else "")


def language_name(code: str) -> str:
    """The English name of a language, or its code where that is all that is known.

    >>> language_name("zh"), language_name("qq")
    ('Chinese', 'qq')
    """
    return next((word.title() for word, of in _codes().items() if of == code and len(word) > 3), code)
