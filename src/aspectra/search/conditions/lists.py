"""Lists that the user keeps: groups and ranks of venues, and papers; conditions name them."""

from __future__ import annotations

from msgspec import field

from aspectra.base.values import Value

__all__ = ["SEPARATOR", "UserLists", "joined", "names_in"]

SEPARATOR = " | "
_LONGEST = 900  # characters of a joined value: less than a condition's value may have


class UserLists(Value, frozen=True):
    """What conditions may name that no record states.

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


def joined(names: tuple[str, ...] | list[str]) -> str:
    """Alternatives as one value, cut where it would be longer than a value may be.

    >>> joined(["NeurIPS", "ICML"])
    'NeurIPS | ICML'
    """
    out: list[str] = []
    for name in dict.fromkeys(" ".join(one.replace("|", " ").split()) for one in names):
        if sum(map(len, out)) + len(SEPARATOR) * len(out) + len(name) > _LONGEST:
            break
        if name:
            out.append(name)
    return SEPARATOR.join(out)
