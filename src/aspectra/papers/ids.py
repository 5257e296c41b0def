"""Choosing the id of a paper: one policy for every source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count

from aspectra.base.files import digest_texts
from aspectra.papers.paper import Paper, Remark, normalise_title
from aspectra.papers.text.cleaning import one_line


def choose_id(
    own: object = "",
    *,
    identifiers: Mapping[str, str] | None = None,
    title: str = "",
    year: int | None = None,
    authors: Sequence[str] = (),
) -> str:
    """The id of a paper: its own, else its DOI, else its arXiv id, else a hash of what names it.

    Without a title any other identifier is the id.

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
    if text := one_line(own):
        return text
    known = identifiers or {}
    if doi := known.get("doi"):
        return f"doi:{doi}"
    if arxiv := known.get("arxiv"):
        return f"arXiv:{arxiv}"
    if not title and known:
        return ":".join(next(iter(known.items())))
    first = authors[0] if authors else ""
    return "h:" + digest_texts([normalise_title(title), str(year), first])[:12]


def numbered(own: str, start: int = 2) -> Iterator[str]:
    """``own~2``, ``own~3`` and so on: the ids that further papers called ``own`` get."""
    return (f"{own}~{number}" for number in count(start))


def distinct_ids(items: Iterable[Paper | Remark]) -> Iterator[Paper | Remark]:
    """The same stream with ids made unique: a second ``smith2020`` becomes ``smith2020~2``, remarked."""
    seen: set[str] = set()
    further: dict[str, Iterator[str]] = {}
    for item in items:
        if isinstance(item, Paper) and item.id in seen:
            names = further.setdefault(item.id, numbered(item.id))
            new = next(name for name in names if name not in seen)
            yield Remark(f"entry {item.id}", f"id used before: kept as {new}", skipped=False)
            item = item.with_id(new)  # noqa: PLW2901
        if isinstance(item, Paper):
            seen.add(item.id)
        yield item
