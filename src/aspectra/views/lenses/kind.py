"""What kind of scientific paper it is: survey, method, dataset, theory, evaluation, position.

Titles announce the kind in a few set words, abstracts in set phrases of what "we" do; a title counts double.
Most papers do several things: grades are independent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aspectra.papers.paper import Paper
from aspectra.views.lenses._cues import Cue, add_up, cue, logistic, read, strongest
from aspectra.views.lenses.protocol import LENSES, LensKind, TextSpan
from aspectra.views.view import Floats

__all__ = ["KindLens"]

_BIAS = -2.5  # so that a title's word, or two phrases of the abstract, reach 0.5

_CUES: dict[str, tuple[Cue, ...]] = {
    "survey": (
        cue(
            3.2,
            1,
            "a survey|survey of|survey on|surveys|a review|review of|a systematic review|systematic review"
            "|literature review|an overview|overview of|state of the art in|recent advances|recent progress"
            "|a tutorial|taxonomy|primer|roadmap|meta-analysis|scoping review|überblick|übersicht"
            "|综述|评述|进展"
            "|研究现状",
            pattern=r"\b[Ss]urvey\s*$|\b[Rr]eview\s*$|\b[Oo]verview\s*$",
            where="title",
        ),
        cue(
            1.6,
            2,
            "this survey|this review|we survey|we review|this paper reviews|this paper surveys|paper reviews"
            "|article reviews|we provide an overview|provides an overview|comprehensive overview"
            "|comprehensive survey|comprehensive review|systematic review|literature review|we summarize"
            "|we summarise|we categorize|we categorise|existing approaches are|recent advances|open problems"
            "|future research directions|future directions|taxonomy|review the literature|is reviewed"
            "|are reviewed"
            "|we discuss open|body of literature|meta-analysis|综述|总结了|梳理",
        ),
        # "We propose" and "outperforms" are of those who make, not of those who look over.
        cue(-0.7, 2, "we propose|we introduce|outperforms|outperform|our method|our approach|our model"),
    ),
    "method": (
        cue(
            2.0,
            2,
            "propose|proposes|is proposed|are proposed|was proposed|we present a novel"
            "|we present a new"
            "|new method|new approach|new algorithm|new model|new framework|our method|our approach|our model"
            "|our algorithm|our framework|proposed method|proposed approach|proposed algorithm|proposed model"
            "|proposed framework|we design|we devise|we develop|we introduce a novel|wir stellen"
            "|提出了|我们提出"
            "|提出一种|新方法",
        ),
        cue(
            1.0,
            2,
            "we introduce|we present|presents|introduces|is presented|novel|outperforms|outperform"
            "|the proposed"
            "|state-of-the-art|efficient"
            "|improves|优于",
        ),
        cue(
            0.8,
            1,
            "via|using|efficient|learning to|network|networks|algorithm|framework|approach|method"
            "|基于|一种|方法",
            where="title",
        ),
        cue(-1.0, 2, "this survey|we survey|this review|we review|this paper reviews|systematic review"),
    ),
    "dataset": (
        cue(
            3.0,
            1,
            "dataset|datasets|data set|corpus|corpora|a benchmark|benchmark for|benchmark of|a database"
            "|database of|a collection of|treebank|test collection|shared task|数据集|语料库|基准",
            where="title",
        ),
        cue(
            1.6,
            2,
            "new dataset|novel dataset|large-scale dataset|new corpus|new benchmark|a dataset of|a corpus of"
            "|a benchmark for|we release|we collect a|we collected a|we construct a dataset"
            "|we create a dataset"
            "|we introduce a dataset|we present a dataset|we present a corpus|we annotate|we annotated"
            "|manually annotated|annotated corpus|annotated dataset|annotators|inter-annotator agreement"
            "|crowdsourced|dataset is available|data set is available|publicly available dataset"
            "|made publicly"
            "|test collection|this dataset|our dataset|the dataset contains|the corpus contains|标注"
            "|构建了|数据集",
        ),
    ),
    "theory": (
        cue(
            2.6,
            1,
            "theory|theory of|theorem|theorems|on the complexity|complexity of|lower bounds"
            "|lower bound|bounds"
            "|upper bounds|convergence of|on the convergence|consistency of|a proof|hardness|decidability"
            "|identifiability|optimality|axioms|axiomatic|generalization bounds|asymptotic|理论|定理|证明",
            where="title",
        ),
        cue(
            1.2,
            3,
            "we prove|we show that the problem|is np-hard|np-hard|np-complete|theorem|theorems|lemma"
            "|proof|proofs"
            "|lower bound|upper bound|lower bounds|upper bounds|bounds on|sufficient condition"
            "|sufficient conditions|necessary and sufficient|asymptotically|asymptotic|converges"
            "|convergence rate"
            "|rate of convergence|minimax|sample complexity|regret bound|regret bounds|theoretical analysis"
            "|theoretical guarantees|we derive|we characterize|we characterise|closed form"
            "|closed-form|conjecture"
            "|axioms|provably|polynomial time|证明了|定理|理论分析|收敛",
        ),
    ),
    "evaluation": (
        cue(
            2.6,
            1,
            "evaluation of|evaluating|an evaluation|empirical study|an empirical|empirical analysis"
            "|comparison of"
            "|a comparison|comparative|comparing|benchmarking|reproducibility|replication|replicating"
            "|revisiting"
            "|an analysis of|analysis of|assessing|how well|do we|does|investigating|probing|user study"
            "|case study|experimental study|ablation|audit|评估|比较|实证|对比",
            where="title",
        ),
        cue(
            1.4,
            3,
            "we evaluate|we compare|we compared|we assess|we analyze|we analyse|we investigate whether"
            "|we investigate how|we examine whether|empirical study|empirical evaluation|empirical comparison"
            "|systematic evaluation|systematic comparison|comparative study|extensive evaluation|we benchmark"
            "|we find that|we found that|our results suggest|our analysis|our findings|reproduce"
            "|reproducibility"
            "|replicate|replication|we conducted a study|user study|we study whether|we study how|is compared"
            "|are compared|is evaluated|are evaluated|我们评估|我们比较|对比分析|实证",
        ),
        cue(-0.6, 2, "we propose|is proposed|proposed method|our method|a novel"),
    ),
    "position": (
        cue(
            2.6,
            1,
            "position paper|perspectives on|a perspective|an opinion|commentary|manifesto|a call for"
            "|the case for"
            "|the case against|a case for|why we should|we should|considered harmful|rethinking the|an essay"
            "|essay on|a critique|critique of|a response to|a reply to|comments on|what is wrong with"
            "|we need to"
            "|立场|反思|展望|刍议",
            where="title",
        ),
        cue(
            1.5,
            3,
            "we argue|i argue|paper argues|article argues|argues that|position paper|we advocate|we call for"
            "|calls for|we believe that|our position|we contend|in our view|in our opinion|community should"
            "|researchers should|we urge|research agenda|this essay|this perspective|we reflect|we critique"
            "|we caution|我们认为|呼吁|本文认为",
        ),
        cue(-0.8, 2, "we propose a|outperforms|our method|experiments show|experimental results"),
    ),
}


class KindLens:
    """Grades of the kinds of paper, each 0 to 1 on a logistic scale.

    A set word in the title is nearly enough for 0.5, two phrases of the abstract are enough. A text that is
    no paper at all has low grades everywhere; one without text has NaN.
    """

    name = "kind"
    version = 2
    kind: LensKind = "paper"
    labels: tuple[str, ...] = tuple(_CUES)
    reads: tuple[str, ...] = ("text",)

    def apply(self, papers: Sequence[Paper]) -> list[Floats]:
        """(1, 6) grades of each paper."""
        return [self._row(paper) for paper in papers]

    def _row(self, paper: Paper) -> Floats:
        reading = read(paper)
        if not reading.text.strip():
            return np.full((1, len(self.labels)), np.nan, np.float32)
        return np.array([[logistic(_BIAS + add_up(_CUES[k], reading)) for k in self.labels]], np.float32)

    def span(self, paper: Paper, label: str) -> TextSpan | None:
        """The title or the sentence with the strongest cue."""
        reading = read(paper)
        place = strongest(_CUES[label], reading)
        return reading.quote(*place) if place else None


LENSES.register("kind")(KindLens())
