"""Plans: what will be asked of which view, how the answers are fused. Printable, editable, hashable."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from aspectra.base.checking import refuse_unknown
from aspectra.base.errors import UsageError
from aspectra.base.hashing import digest
from aspectra.search.conditions.condition import Condition, distinct
from aspectra.search.planning.defaults import COMPLIANCE_WEIGHT
from aspectra.search.scoring.chain import Chain
from aspectra.views.view import Probe

__all__ = ["Fusion", "Plan"]

FusionKind = Literal["standardised", "rrf"]


@dataclass(frozen=True)
class Fusion:
    """How the probes' answers become one score.

    Attributes:
        kind: ``standardised``: each probe's scores minus their mean over a fixed sample of papers, divided by
            their deviation there, times the weight, summed; ``rrf``: weight / (k + rank), summed (Cormack,
            Clarke and Büttcher, SIGIR 2009).
        k: the constant of ``rrf``.
        depth: ranks looked at per probe for ``rrf``.
        candidates: papers that costly probes score, chosen by the cheap ones, where there are more than
            ``scan_limit`` papers.
    """

    kind: FusionKind = "standardised"
    k: int = 60
    depth: int = 1000
    candidates: int = 1000
    scan_limit: int = 20_000

    def __post_init__(self) -> None:
        if self.kind not in get_args(FusionKind):
            raise UsageError(f"unknown fusion {self.kind!r}", why="known: standardised, rrf")
        if min(self.k, self.depth, self.candidates, self.scan_limit) < 1:
            raise UsageError("the numbers of a fusion must be 1 or more")


@dataclass(frozen=True)
class Plan:
    """A query bound to views.

    Attributes:
        planner: who made it.
        probes: questions to views.
        fusion: how answers are combined.
        conditions: what the papers should be like: dropped or moved by it.
        compliance: worth of wholly meeting one preference, see :mod:`aspectra.search.conditions.grading`.
        exclude: ids never shown (the seeds of a seed query).
        within: where given, only these ids are ranked (a pool, or a first stage's best).
        direction: what the papers are to the seeds, as in :class:`Query`; said, not asked: the probes ask it.
        chain: further rounds that ask with papers found, or None.
        unread: words of the question that look like constraints and were not understood.
        limit, evidence, versions: as in :class:`Query`.
        stages: spellings of what happens after the search, in their order, see
        :mod:`aspectra.search.stages.protocol`.
        text, instruction: the question as somebody wrote it, for stages that show it to a judge.
    """

    planner: str
    probes: tuple[Probe, ...]
    fusion: Fusion = Fusion()
    exclude: tuple[str, ...] = ()
    limit: int = 10
    evidence: int = 1
    versions: str = "best"
    within: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    compliance: float = COMPLIANCE_WEIGHT
    unread: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    text: str = ""
    instruction: str = ""
    direction: str = ""
    chain: Chain | None = None

    def __post_init__(self) -> None:
        if not self.probes:
            raise UsageError("the plan asks nothing", why="it has no probes")
        object.__setattr__(self, "conditions", distinct(self.conditions))
        if self.limit < 0:
            raise UsageError(f"the limit is {self.limit}", why="it must be 0 or more")

    @property
    def hash(self) -> str:
        """Short name of the plan: equal plans on equal generations give equal rankings."""
        return digest(self.to_dict())[:12]

    def with_limit(self, limit: int) -> Plan:
        """The same plan for another number of papers."""
        return replace(self, limit=limit)

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        plain = Fusion()
        fusion = {
            f.name: getattr(self.fusion, f.name)
            for f in fields(Fusion)
            if f.name == "kind" or getattr(self.fusion, f.name) != getattr(plain, f.name)
        }
        out: dict[str, Any] = {
            "planner": self.planner,
            "limit": self.limit,
            "evidence": self.evidence,
            "versions": self.versions,
            "fusion": fusion,
        }
        if self.exclude:
            out["exclude"] = list(self.exclude)
        if self.within:
            out["within"] = list(self.within)
        if self.conditions:
            out["compliance"] = self.compliance
            out["conditions"] = [c.to_dict() for c in self.conditions]
        if self.direction:
            out["direction"] = self.direction
        if self.chain is not None:
            out["chain"] = self.chain.to_dict()
        if self.unread:
            out["unread"] = list(self.unread)
        if self.stages:
            out["stages"] = list(self.stages)
            out |= {name: value for name in ("text", "instruction") if (value := getattr(self, name))}
        out["probes"] = [p.to_dict() for p in self.probes]
        return out

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Plan:
        """Inverse of :meth:`to_dict`.

        Raises:
            UsageError: a field is unknown or of the wrong kind.
        """
        refuse_unknown(data, (f.name for f in fields(cls)), "field in a plan")
        try:
            return cls(
                planner=str(data.get("planner", "edited")),
                probes=tuple(Probe.from_dict(dict(p)) for p in data.get("probes", ())),
                fusion=Fusion(**data.get("fusion", {})),
                conditions=tuple(Condition.from_dict(dict(c)) for c in data.get("conditions", ())),
                compliance=float(data.get("compliance", COMPLIANCE_WEIGHT)),
                unread=tuple(data.get("unread", ())),
                direction=str(data.get("direction", "")),
                chain=Chain.from_dict(dict(data["chain"])) if data.get("chain") else None,
                exclude=tuple(data.get("exclude", ())),
                within=tuple(data.get("within", ())),
                limit=int(data.get("limit", 10)),
                evidence=int(data.get("evidence", 1)),
                versions=str(data.get("versions", "best")),
                stages=tuple(str(stage) for stage in data.get("stages", ())),
                text=str(data.get("text", "")),
                instruction=str(data.get("instruction", "")),
            )
        except (TypeError, ValueError) as error:
            raise UsageError("the plan cannot be read", why=str(error)) from error

    def to_json(self) -> str:
        """As JSON, indented."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_toml(self) -> str:
        """As TOML."""
        import tomlkit  # slow to import, and only needed to write

        return tomlkit.dumps(self.to_dict())

    @classmethod
    def loads(cls, text: str) -> Plan:
        """From JSON or TOML, told by the first character."""
        try:
            loaded = json.loads(text) if text.lstrip()[:1] == "{" else tomllib.loads(text)
        except ValueError as error:
            raise UsageError("the plan is neither JSON nor TOML", why=str(error)) from error
        return cls.from_dict(loaded)

    @classmethod
    def load(cls, path: Path) -> Plan:
        """From a file."""
        try:
            return cls.loads(path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the plan {path} cannot be read", why=str(error)) from error

    def describe(self) -> str:
        """For people: one line a probe, then fusion and limits."""
        lines = [
            f"plan {self.hash} by {self.planner}: {self.limit} papers, {self.evidence} quoted sentence(s)"
        ]
        for probe in self.probes:
            asked = []
            if probe.text:
                text = " ".join(probe.text.split())
                asked.append(f"“{text[:70]}{'…' if len(text) > 70 else ''}”")
            asked += [f"paper {seed}" for seed in probe.seeds]
            extra = "".join(
                f", {name} {value}"
                for name, value, plain in (
                    ("aspect", probe.aspect, ""),
                    ("roles", " + ".join(probe.roles), ""),
                    ("about", probe.focus, ""),
                    ("matching", probe.matching, ""),
                    ("pooling", probe.pooling, "max"),
                    ("metric", probe.metric, "cosine"),
                    ("instruction", probe.instruction, ""),
                    ("asking with", probe.asking, ""),
                    ("asked by", "each candidate" if probe.reverse else "", ""),
                )
                if value != plain
            )
            lines.append(f"  {probe.weight:+.2f} × {probe.view} asked with {' and '.join(asked)}{extra}")
        if len(self.probes) > 1:
            how = (
                "sum of standardised scores"
                if self.fusion.kind == "standardised"
                else f"reciprocal rank fusion, k = {self.fusion.k}"
            )
            lines.append(f"  fused by {how}")
        for condition in self.conditions:
            said = f"  (“{condition.words}”)" if condition.words else ""
            how = "" if condition.filters else f", worth {condition.sign * self.compliance:+.2f} of the lead"
            lines.append(f"  [{condition.spelling}]{how}{said}")
        if self.direction:
            lines.append(f"  direction {self.direction}")
        if self.chain is not None:
            lines.append(f"  {self.chain}")
        lines += [f"  not understood, so not applied: “{words}”" for words in self.unread]
        lines += [f"  then {stage}" for stage in self.stages]
        if self.within:
            lines.append(f"  ranks only {len(self.within)} given papers")
        if self.exclude:
            lines.append(f"  never shows {', '.join(self.exclude)}")
        return "\n".join(lines)
