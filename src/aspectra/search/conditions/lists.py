"""Lists that the user keeps: groups and ranks of venues, and papers; conditions name them."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import field

from aspectra.base.values import Value

_SEPARATOR = " | "


class UserLists(Value, frozen=True):
    """Groups and ranks of venues, and papers, that the user lists and conditions may name.

    Attributes:
        venue_groups: name of a group -> its venues: ``venue=ml``.
        venue_ranks: rank -> its venues: ``venue_rank=top``.
        papers: name -> ids, DOIs, arXiv ids or titles of papers: ``known=have``, ``known=mine``.
    """

    venue_groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    venue_ranks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    papers: dict[str, tuple[str, ...]] = field(default_factory=dict)


def names_in(value: str) -> list[str]:
    """The alternatives inside one value.

    >>> names_in("NeurIPS | ICML")
    ['NeurIPS', 'ICML']
    """
    return [name for part in value.split("|") if (name := part.strip())]


def joined(names: Iterable[str], longest: int = 900) -> str:
    """Alternatives as one value; those that would make it longer are left out.

    >>> joined(["NeurIPS", "ICML"])
    'NeurIPS | ICML'
    """
    out: list[str] = []
    for name in dict.fromkeys(" ".join(one.replace("|", " ").split()) for one in names):
        if sum(map(len, out)) + len(_SEPARATOR) * len(out) + len(name) > longest:
            break
        if name:
            out.append(name)
    return _SEPARATOR.join(out)
