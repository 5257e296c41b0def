"""Choosing the id of a paper: one policy for every source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from aspectra.base.hashing import digest_texts
from aspectra.papers.paper import Paper, normalise_title
from aspectra.papers.sources.files import clean
from aspectra.papers.sources.protocol import Remark

__all__ = ["choose_id", "distinct_ids"]

_SPACE = re.compile(r"\s+")


def choose_id(
    own: object = "",
    *,
    identifiers: Mapping[str, str] | None = None,
    title: str = "",
    year: int | None = None,
    authors: Sequence[str] = (),
) -> str:
    """The id of a paper: its own, else its DOI, else its arXiv id, else a hash of what names it.

    Args:
        own: the record's own id or citation key, of any JSON type; None and blank count as absent.
        identifiers: scheme -> canonical value, as in :attr:`Paper.identifiers`.
        title: title as printed; for a text without title pass its beginning.
        year: year of publication, if known.
        authors: authors as printed; only the first counts.

    >>> choose_id("smith2020", identifiers={"doi": "10.1000/x"})
    'smith2020'
    >>> choose_id(identifiers={"arxiv": "2004.07180", "doi": "10.1000/x"})
    'doi:10.1000/x'
    >>> choose_id(identifiers={"arxiv": "2004.07180"})
    'arXiv:2004.07180'
    >>> choose_id(title="A Title.") == choose_id(title="a  title")
    True
    """
    if isinstance(own, float) and own.is_integer():
        own = int(own)  # spreadsheets and pandas turn numeric ids into floats
    if text := _SPACE.sub(" ", clean(own)):
        return text
    known = identifiers or {}
    if doi := known.get("doi"):
        return f"doi:{doi}"
    if arxiv := known.get("arxiv"):
        return f"arXiv:{arxiv}"
    first = authors[0] if authors else ""
    return "h:" + digest_texts([normalise_title(title), str(year), first])[:12]


def distinct_ids(items: Iterable[Paper | Remark]) -> Iterator[Paper | Remark]:
    """The same stream with ids made unique: a second ``smith2020`` becomes ``smith2020~2``, remarked."""
    seen: dict[str, int] = {}
    for item in items:
        if isinstance(item, Remark):
            yield item
            continue
        if item.id not in seen:
            seen[item.id] = 1
            yield item
            continue
        number = seen[item.id] + 1
        while f"{item.id}~{number}" in seen:
            number += 1
        seen[item.id] = number
        new = f"{item.id}~{number}"
        seen[new] = 1
        yield Remark(f"entry {item.id}", f"id used before: kept as {new}", skipped=False)
        yield item.with_id(new)
