"""The style lens on real passages, with default settings."""

from __future__ import annotations

import re
from dataclasses import replace

from aspectra.lab.benchmarks.protocol import BENCHMARKS
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.experiments.experiment import benchmark_library
from aspectra.views.settings import IndexSettings

_CAPITALISED = re.compile(r"(?<=[^\s.!?\"'“”‘’]\s)(?!I\b)[A-Z][\w'’-]*")


def _score(benchmark, folder, change=lambda text: text):
    def papers():
        for paper in benchmark.papers():
            yield replace(paper, abstract=change(paper.abstract))

    changed = replace(benchmark, papers=papers)
    run = {}
    with benchmark_library(changed, folder, IndexSettings(encoders=(), lenses=("style",))) as searcher:
        for topic in benchmark.topics:
            dropped = benchmark.excluded.get(topic.id, frozenset())
            found = searcher.search(
                change(topic.text),
                recipe="hand",
                limit=10 + len(dropped),
                evidence=0,
                versions="all",
                literal=True,
            )
            run[topic.id] = {hit.id: hit.score for hit in found if hit.id not in dropped}
    return evaluate(["nDCG@10"], benchmark.qrels["gold"], run)["nDCG@10"].mean


def test_the_same_hand_is_found_and_not_by_names(shared, tmp_path):
    benchmark = BENCHMARKS.get("obliq")(shared / "data" / "style-authorship")
    plain = _score(benchmark, tmp_path / "plain")
    masked = _score(benchmark, tmp_path / "masked", lambda text: _CAPITALISED.sub("Xxxx", text))
    assert plain >= 0.09
    assert masked >= 0.09
