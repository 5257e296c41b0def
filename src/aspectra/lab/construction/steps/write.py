"""``write``: a language model words each query anew from what it was made of.

The question never holds a word that would give its answers away: such a reply counts as none and is asked
for once more (LitSearch, section 2.1; OBLIQ-Bench, section 4: no word of the texts). Replies are in the
journal, so that a build that was stopped asks nothing twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from aspectra.base.errors import UsageError
from aspectra.base.values import Value
from aspectra.base.values import replace as with_fields
from aspectra.lab.construction.made import Draft, Made
from aspectra.lab.construction.protocol import Workbench, step
from aspectra.llm import loops
from aspectra.llm.chat import Reply, Request
from aspectra.papers.paper import normalise_title
from aspectra.search.rerank.asker import Asker, in_parallel
from aspectra.search.rerank.question import Candidate, Question
from aspectra.search.rerank.shown_texts import ShownTexts
from aspectra.search.rerank.templates import Prompt
from aspectra.search.stages._rewording import wording

_SAMPLE = 2_000  # documents whose words are counted
_SHORT = 4  # letters, below which a word gives nothing away


class WriteOptions(Value, frozen=True):
    """Options of ``write``.

    Attributes:
        kind: ``question`` for what cited works answer, ``latent`` for what notes have in common.
        prompt: a file of one's own, with places for ``rules`` and ``papers``; "" for ours.
        forbid: no question has a word of the ``titles`` of its answers, of the ``texts`` of its answers and
            its source, or of its source alone (``context``); ``nothing`` forbids none.
        common: words in a larger share of the corpus are free.
        lost: a larger share of queries without a usable reply ends the build.
        lanes: questions at a time.
    """

    kind: Literal["question", "latent"] = "question"
    prompt: str = ""
    forbid: Literal["nothing", "titles", "texts", "context"] = "nothing"
    common: float = 0.1
    lost: float = 0.5
    lanes: int = 4


@step(
    "write",
    WriteOptions,
    "A language model words each query from what it was made of.",
    helps="another model, or --option write.forbid=nothing",
    files=("prompt",),
    model=True,
)
def write(made: Made, bench: Workbench, options: WriteOptions) -> Made:
    """Queries in the words of a language model.

    Raises:
        UsageError: most queries got no usable reply.
        ModelError: the model cannot be asked any more; replies so far are in the journal.
    """
    prompt = Prompt.load(options.kind, options.prompt, package=__package__.rpartition(".")[0])
    model = bench.require_model()
    shown = ShownTexts(Question(""), salt=str(bench.seed))
    asker = Asker(model, shown, concurrency=options.lanes)
    answered = {one.id: one for one in bench.documents(made, sorted(made.judged))}
    titles = {name: one.title for name, one in answered.items()}
    texts = {name: f"{one.title} {one.text}" for name, one in answered.items()}
    free = _common(made, bench, options.common) if options.forbid != "nothing" else frozenset()
    gold = made.qrels.get("gold", {})

    async def ask(draft: Draft) -> str:
        answers = sorted(gold.get(draft.id, {}))
        source = draft.context or draft.text
        cited = "\n".join(f"cited: {titles[one]}" for one in answers if titles.get(one))
        told = f"{source}\n{cited}" if options.kind == "question" else source
        hidden = {
            "nothing": [],
            "context": [source],
            "titles": [titles.get(one, "") for one in answers],
            "texts": [source, *(texts.get(one, "") for one in answers)],
        }
        words = _words(hidden[options.forbid]) - free

        def build(share: float) -> Request:
            held = shown.values([Candidate(draft.id, told)], [""], share)
            return prompt.request(held, max_tokens=300)

        def usable(reply: Reply) -> bool:
            said = wording(reply.text, prompt)
            return bool(said) and not words & _words([said])

        reply = await asker.ask(build, usable)
        return "" if reply is None else wording(reply.text, prompt)

    said = loops.run(in_parallel(ask, made.drafts, options.lanes))
    if asker.stopped is not None:
        raise asker.stopped
    kept = [
        with_fields(draft, text=text, source=asker.model)
        for draft, text in zip(made.drafts, said, strict=True)
        if text
    ]
    lost = len(made.drafts) - len(kept)
    bench.drop("queries without a usable reply", lost)
    bench.found |= {"model": asker.model, "prompt": prompt.stamp, "calls": asker.cost.calls}
    bench.found |= {f"replies {kind}": times for kind, times in sorted(asker.defects.items()) if times}
    if asker.simulated:
        bench.found["replies"] = "simulated"
    if lost > options.lost * len(made.drafts):
        raise UsageError(
            f"{lost} of {len(made.drafts)} queries got no usable reply",
            why=str(asker.last_error or "the replies could not be read, or had forbidden words"),
            hint="another model, or --option write.forbid=nothing, or --option write.lost=1",
        )
    return replace(made.of_queries(kept), drafts=tuple(kept))


def _words(texts: Sequence[str]) -> frozenset[str]:
    return frozenset(word for text in texts for word in normalise_title(text).split() if len(word) >= _SHORT)


def _common(made: Made, bench: Workbench, share: float) -> frozenset[str]:
    """Words in more than this share of the corpus, or of a sample of it."""
    ids = sorted(bench.drawn(made.corpus, "words")[:_SAMPLE])
    counts: Counter[str] = Counter()
    for one in bench.documents(made, ids):
        counts.update(_words([one.title, one.text]))
    return frozenset(word for word, times in counts.items() if times > share * len(ids))
