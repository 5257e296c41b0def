"""Printed output of the ``lens`` commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aspectra.app.options import cost_in_words, currency_of
from aspectra.app.terminal.screen import count
from aspectra.base.errors import UsageError

if TYPE_CHECKING:
    from aspectra.papers.library.store import Store
    from aspectra.views.prompted.definition import LensTally, PromptedLens
    from aspectra.views.prompted.running import LensEstimate, RunReport

SIMULATED = "*simulated*: no language model was asked"


def coverage(library: Store, lens: PromptedLens) -> str:
    """Coverage of a lens in a few words: papers with a value, of all papers."""
    from aspectra.views.prompted.definition import tally

    try:
        found = tally(library, lens)
    except UsageError:
        return "its prompt cannot be used"
    said = f"{found.values:,} of {found.papers:,} papers"
    return f"{said} *simulated*" if found.simulated else said


def estimate_in_words(lens: PromptedLens, found: LensEstimate, priced: bool) -> list[str]:
    """The estimated cost of a lens, as lines."""
    lines = [f"lens {lens.name} ({lens.prompt.stamp}): {count(found.papers, 'paper')} to ask about"]
    if found.recorded:
        lines.append(f"  {found.recorded:,} of them are answered in the journal already, and cost nothing")
    if found.cut:
        lines.append(
            f"  {count(found.cut, 'paper')} longer than the {lens.prompt.most_characters:,} characters shown"
        )
    if found.without_text:
        lines.append(f"  {count(found.without_text, 'paper')} with nothing but a title: not asked about")
    if found.papers > found.recorded:
        currency = currency_of()
        basis = f"measured on {found.measured:,} values" if found.measured else "by rule of thumb"
        lines.append(f"expected: {cost_in_words(found.cost, currency)} ({basis})")
        lines.append(f"at most:  {cost_in_words(found.most, currency)}")
        if not found.measured:
            lines.append("a pilot measures it: --pilot 30")
        if found.simulated:
            lines.append(f"measured on what is {SIMULATED}")
        if not priced:
            lines.append("money is estimated where llm.model is set and the price file lists that model")
    return lines


def report_in_words(lens: PromptedLens, report: RunReport, whole: LensTally) -> list[str]:
    """The result of a run, as lines."""
    lines = [
        f"lens {lens.name}: {count(report.values, 'new value')}"
        + (f", {report.empty:,} of them saying that there is nothing to see" if report.empty else "")
    ]
    if report.malformed or report.repaired:
        lines.append(
            f"  {count(report.malformed, 'malformed reply', 'malformed replies')} asked again or given up, "
            f"{report.repaired:,} repaired"
        )
    if report.cut:
        lines.append(f"  {count(report.cut, 'paper')} longer than what is shown, cut")
    lines += _failures(report.failures)
    if report.unanswered:
        lines.append(f"  {count(report.unanswered, 'paper')} not answered; the same command asks again")
    if report.left:
        lines.append(f"  {count(report.left, 'paper')} not come to")
    lines.append(f"  spent: {cost_in_words(report.cost, currency_of())}")
    lines.append(f"  now {whole.values:,} of {whole.papers:,} papers have a value")
    if report.simulated:
        lines.append(f"  {SIMULATED}")
    return lines


def _failures(failures: dict[str, int]) -> list[str]:
    return [
        f"  {count(number, 'paper')} without a value: {why}"
        for why, number in sorted(failures.items(), key=lambda item: (-item[1], item[0]))
    ]


def status_facts(library: Store, lens: PromptedLens) -> dict[str, Any]:
    """Everything about one lens; ``problem`` where its prompt cannot be used."""
    from aspectra.views.prompted.definition import tally

    facts: dict[str, Any] = {"lens": lens.name, "model": lens.model, "drift": lens.drift, "problem": ""}
    try:
        prompt = lens.prompt
        facts |= {"prompt": prompt.stamp, "gives": prompt.schema.kind, "about": prompt.about}
        facts |= tally(library, lens).to_dict()
    except UsageError as error:
        facts["problem"] = f"{error.what}: {error.why}"
    facts["indexed"] = _indexed(library, lens) if not facts["problem"] else False
    return facts


def _indexed(library: Store, lens: PromptedLens) -> bool:
    """True if the index has values of this prompt, schema and model."""
    folder = library.generations.current()
    if folder is None:
        return False
    manifest = library.generations.manifest(folder)
    parts = [*manifest.get("views", {}).values(), *manifest.get("lenses", {}).values()]
    return any(one.get("lens") == lens.name and one.get("values") == lens.fingerprint for one in parts)


def status_in_words(facts: dict[str, Any]) -> list[str]:
    """The state and coverage of a lens, as lines."""
    name = facts["lens"]
    if facts["problem"]:
        return [f"lens {name}: {facts['problem']}", f"  next: aspectra lens add {name} --prompt FILE"]
    model = facts["model"] or "no model yet"
    took = (
        f"  took {facts['calls']:,} answers, {facts['asked'] + facts['answered']:,} tokens; "
        f"{facts['malformed']:,} malformed, {facts['repaired']:,} repaired, {facts['cut']:,} papers cut"
    )
    old = f"  {facts['old']:,} values of an earlier prompt, schema or model are kept and not mixed in"
    told = [
        (facts["empty"], f"  {facts['empty']:,} of them say that there is nothing to see"),
        (facts["missing"], f"  {facts['missing']:,} not asked about: aspectra lens run {name}"),
        *((True, failure) for failure in _failures(facts["failures"])),
        (facts["calls"], took),
        (facts["old"], old),
        (facts["drift"], f"  {facts['drift']}: aspectra lens add {name} takes it up"),
        (facts["values"] and not facts["indexed"], "  not searchable yet: aspectra index"),
        (facts["simulated"], f"  {facts['simulated']:,} of the values are {SIMULATED}"),
    ]
    held = f"{facts['values']:,} of {facts['papers']:,} papers have a {facts['gives']}"
    return [f"lens {name} ({facts['prompt']}, {model}): {held}", *(text for wanted, text in told if wanted)]


def lens_rows(library: Store) -> list[dict[str, Any]]:
    """The lenses of a library, then those that could be added: name, what it gives, state, what it is."""
    from aspectra.views.build.work import settings_of
    from aspectra.views.lenses.protocol import LENSES
    from aspectra.views.prompted.definition import BUILTIN_PROMPTS, PromptedLens, builtin_text, definitions

    held, local = definitions(library), settings_of(library).lenses
    rows: list[dict[str, Any]] = [
        {
            "lens": name,
            "gives": "local",
            "state": "in use" if name in local else "not added",
            "about": LENSES.get(name).description,
        }
        for name in LENSES.names()
    ]
    for name, lens in held.items():
        rows.append({"lens": name, **_facts(lens), "state": coverage(library, lens)})
    for name in BUILTIN_PROMPTS:
        if name not in held:
            builtin = PromptedLens(name, builtin_text(name))
            rows.append({"lens": name, **_facts(builtin), "state": "not added"})
    rows.sort(key=lambda row: row["state"] == "not added")
    return rows


def _facts(lens: PromptedLens) -> dict[str, str]:
    try:
        return {"gives": lens.prompt.schema.kind, "about": lens.prompt.about}
    except UsageError as error:
        return {"gives": "nothing", "about": f"{error.what}: {error.why}"}
