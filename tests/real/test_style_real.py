"""The style lens on real passages, with default settings."""

from __future__ import annotations

from pathlib import Path

from aspectra.lab.experiments.directory import Source, Study
from aspectra.lab.experiments.execute import run_study
from aspectra.search.recipe import Recipe
from long import LONG


def _score(folder: Path, out: Path, names: str) -> float:
    source = Source("obliq", str(folder), {"names": names})
    study = Study((source,), (Recipe.parse("hand"),), measures=("nDCG@10",), encoders=())
    (outcome,) = run_study(study, out / names, out / "libraries").outcomes
    return outcome.evaluations["gold"]["nDCG@10"].mean


def test_the_same_hand_is_found_and_not_by_names(shared, tmp_path):
    folder = shared / "data" / "style-authorship"
    for names in ("kept", "masked") if LONG else ("masked",):
        assert _score(folder, tmp_path, names) >= 0.09
