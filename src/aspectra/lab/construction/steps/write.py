"""Queries, documents and instructions in the words of a language model.

``write`` words each query anew from what it was made of. The question never holds a word that would give its
answers away: such a reply counts as none and is asked for once more (LitSearch, section 2.1; OBLIQ-Bench,
section 4: no word of the texts). Replies are in the journal, so that a build that was stopped asks nothing
twice.

``rewrite`` writes a document anew as another kind of text, so that one subject has documents that meet a
condition and documents that break it; ``instruct`` words an instruction and its reversal from templates;
``negatives`` are documents on a question's subject that do not answer it (InfoSearch, appendix A.3 to A.6).
Whether that is so is for people to say, in a review.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal, NamedTuple, TypeVar

from aspectra.base.errors import BadInput, UsageError
from aspectra.base.files import digest
from aspectra.base.values import Value, replace
from aspectra.lab.construction.protocol import NAME, Made, MadeText, Workbench, placed_in, step
from aspectra.llm import loops
from aspectra.llm.chat import Request
from aspectra.papers.paper import normalise_title
from aspectra.papers.text.cleaning import folded
from aspectra.search.rerank.asker import Asker, in_parallel
from aspectra.search.rerank.question import Candidate, Question
from aspectra.search.rerank.shown_texts import Prompt, ShownTexts
from aspectra.search.stages.rewrite import field_of, wording

_SAMPLE = 2_000  # documents whose words are counted
_SHORT = 4  # letters, below which a word gives nothing away
_RUN = 4  # words in a row that are a quotation
_FEW = 5  # words; a shorter reply is not a document
_SAME = 0.9  # share of words of both in common from which a text was not written anew
_PACKAGE = __package__.rpartition(".")[0]
T = TypeVar("T")


class WriterNote(NamedTuple):
    """Input of a model that writes: an id for the journal, the text shown, and words that it may not use."""

    key: str
    told: str
    hidden: frozenset[str] = frozenset()


class AskingOptions(Value, frozen=True):
    """Options of every step in which a language model writes.

    Attributes:
        prompt: a file of one's own, with places for ``rules`` and ``papers``; "" for ours.
        lost: a larger share without a usable reply ends the build.
        lanes: questions to the model at a time.
    """

    prompt: str = ""
    lost: float = 0.5
    lanes: int = 4

    helps: ClassVar[str] = "another model, or a larger share that may be lost (--option STEP.lost=1)"


def replies(
    bench: Workbench,
    prompt: Prompt,
    notes: Sequence[WriterNote],
    read: Callable[[WriterNote, str], T | None],
    options: AskingOptions,
    *,
    of: str = "queries",
    length: int = 300,
) -> tuple[list[T | None], str]:
    """Text of a language model on each note, and its name; the card reports both.

    Args:
        bench: its model is asked.
        prompt: with places for ``rules`` and ``papers``.
        notes: notes that are equal but for their keys are asked once.
        read: what a reply to a note is good for; None asks once more.
        options: of the step.
        of: what is written, in the plural.
        length: tokens of a reply, at most.

    Raises:
        UsageError: most notes got no usable reply, or no model is named.
        ModelError: the model cannot be asked any more; replies so far are in the journal.
    """
    shown = ShownTexts(Question(""), salt=str(bench.seed))
    asker = Asker(bench.require_model(), shown, concurrency=options.lanes)
    different = {note[1:]: note for note in reversed(notes)}

    async def ask(note: WriterNote) -> T | None:
        def build(share: float) -> Request:
            values = shown.values([Candidate(note.key, note.told)], [""], share)
            return prompt.request(values, max_tokens=length)

        reply = await asker.ask(build, lambda reply: read(note, reply.text) is not None)
        return None if reply is None else read(note, reply.text)

    answers = loops.run(in_parallel(ask, list(different.values()), options.lanes))
    said = dict(zip(different, answers, strict=True))
    if asker.stopped is not None:
        raise asker.stopped
    bench.found |= {"model": asker.model, "prompt": prompt.stamp, "calls": asker.cost.calls}
    bench.found |= {f"replies {kind}": times for kind, times in sorted(asker.defects.items()) if times}
    if asker.simulated:
        bench.found["replies"] = "simulated"
    found = [said[note[1:]] for note in notes]
    missing = found.count(None)
    bench.drop(f"{of} without a usable reply", missing)
    if missing > options.lost * len(notes):
        raise UsageError(
            f"{missing} of {len(notes)} {of} got no usable reply",
            why=str(asker.last_error or "the replies could not be read, or had forbidden words"),
            hint=options.helps,
        )
    return found, asker.model


def own_prompt(name: str, path: str) -> Prompt:
    """A prompt of construction, or a file of the user's."""
    return Prompt.load(name, path, package=_PACKAGE)


class WriteOptions(AskingOptions, frozen=True):
    """Options of ``write``, beside those of :class:`AskingOptions`.

    Attributes:
        kind: ``question`` for what cited works answer, ``latent`` for what notes have in common, ``core`` for
            what a title answers, ``recollection`` for what somebody remembers of a text.
        forbid: no question has a word of the ``titles`` of its answers, of the ``texts`` of its answers and
            its source, or of its source alone (``context``); with ``phrases`` it has no four words in a row,
            no name and no number of its source; ``nothing`` forbids none.
        common: words in a larger share of the corpus are free.
    """

    kind: Literal["question", "latent", "core", "recollection"] = "question"
    forbid: Literal["nothing", "titles", "texts", "context", "phrases"] = "nothing"
    common: float = 0.1

    helps: ClassVar[str] = "another model, or --option write.forbid=nothing, or --option write.lost=1"


@step(WriteOptions, helps="another model, or --option write.forbid=nothing", files=("prompt",), model=True)
def write(made: Made, bench: Workbench, options: WriteOptions) -> Made:
    """A language model words each query from what it was made of.

    Raises:
        UsageError: most queries got no usable reply.
        ModelError: the model cannot be asked any more; replies so far are in the journal.
    """
    prompt = own_prompt(options.kind, options.prompt)
    answered = bench.by_id(made, made.judged)
    counted = options.forbid in ("context", "titles", "texts")
    free = _common(made, bench, options.common) if counted else frozenset()
    relevant, notes = made.relevant(), []
    for draft in made.drafts:
        answers = [answered[one] for one in sorted(relevant.get(draft.id, ())) if one in answered]
        source = draft.context or draft.text
        cited = "\n".join(f"cited: {one.title}" for one in answers if one.title)
        given = {
            "titles": [one.title for one in answers],
            "texts": [source, *(f"{one.title} {one.text}" for one in answers)],
            "context": [source],
        }
        hidden = phrases(source) if options.forbid == "phrases" else words_of(given.get(options.forbid, []))
        more = {"question": cited, "recollection": "".join(draft.labels.get("opening", ()))}.get(options.kind)
        notes.append(WriterNote(draft.id, source if more is None else f"{source}\n{more}", hidden - free))
    return _worded(made, bench, prompt, notes, options)


@step(AskingOptions, helps="another model, or a recipe without this step", files=("prompt",), model=True)
def harden(made: Made, bench: Workbench, options: AskingOptions) -> Made:
    """A language model takes out of each query what is left of its source's names and exact expressions.

    A hardening pass (OBLIQ-Bench, section 4); see ``write.forbid=phrases``.

    Raises:
        UsageError, ModelError: as :func:`replies`.
    """
    prompt = own_prompt("harden", options.prompt)
    notes = [WriterNote(one.id, one.text, phrases(one.context)) for one in made.drafts]
    return _worded(made, bench, prompt, notes, options)


def _worded(
    made: Made, bench: Workbench, prompt: Prompt, notes: Sequence[WriterNote], options: AskingOptions
) -> Made:
    """Queries in a model's words, none of which holds what is hidden: words or phrases."""

    def read(note: WriterNote, reply: str) -> str | None:
        said = wording(reply, prompt)
        return said if said and not note.hidden & _said(said) else None

    found, model = replies(bench, prompt, notes, read, options)
    kept = [
        replace(draft, text=text, source=model)
        for draft, text in zip(made.drafts, found, strict=True)
        if text
    ]
    return made.of_queries(kept)


def words_of(texts: Sequence[str]) -> frozenset[str]:
    """The words of texts by which one text gives another away: long ones, as titles are compared."""
    return frozenset(word for text in texts for word in normalise_title(text).split() if len(word) >= _SHORT)


def phrases(text: str) -> frozenset[str]:
    """Four words in a row, names (capitalised in a sentence) and numbers of a text, in small letters.

    >>> sorted(phrases("We saw Ann in 2014.")), sorted(phrases("An owl."))
    (['2014', 'ann', 'saw ann in 2014', 'we saw ann in'], [])
    """
    named = " ".join([*NAME.findall(text), *re.findall(r"\d\S*", text)])
    return _runs(text) | frozenset(word for word in normalise_title(named).split() if len(word) > 1)


def _said(text: str) -> frozenset[str]:
    """Words of a text, and those of its runs that may be among the :func:`phrases` of another."""
    return _runs(text) | frozenset(normalise_title(text).split())


def _runs(text: str) -> frozenset[str]:
    words = normalise_title(text).split()
    return frozenset(" ".join(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1))


def _common(made: Made, bench: Workbench, share: float) -> frozenset[str]:
    """Words in more than this share of the corpus, or of a sample of it."""
    ids = sorted(bench.drawn(made.corpus, "words")[:_SAMPLE])
    counts: Counter[str] = Counter()
    for one in bench.documents(made, ids):
        counts.update(words_of([one.title, one.text]))
    return frozenset(word for word, times in counts.items() if times > share * len(ids))


class RewriteOptions(AskingOptions, frozen=True):
    """Options of ``rewrite``, beside those of :class:`AskingOptions`.

    Attributes:
        file: lines of JSON, ``_id`` (of a paper), ``group`` (what it is on) and ``value`` (its kind); ""
            makes each paper with an abstract a group of its own, called by its title.
        value: the kind of the library's papers, where no file says it.
        values: kinds of text, each written from a paper of every group that has none of it.
        groups: drawn; 0 for all.
    """

    file: str = ""
    value: str = "research abstract"
    values: tuple[str, ...] = ("blog post", "forum post")
    groups: int = 50

    def __post_init__(self) -> None:
        if not self.values or not all(map(str.strip, self.values)):
            raise UsageError(
                "a rewriting is into kinds of text", hint='--option rewrite.values=["blog post"]'
            )


@step(
    RewriteOptions,
    helps="another model, or --option rewrite.file=FILE, lines of JSON with _id, group and value",
    files=("file", "prompt"),
    model=True,
    queries=False,
)
def rewrite(made: Made, bench: Workbench, options: RewriteOptions) -> Made:
    """A language model writes a document of each group anew, as the kinds of text that the group lacks.

    The kind of each document is the fact ``placed``.

    Raises:
        BadInput: no paper can be rewritten.
        UsageError, ModelError: as :func:`~aspectra.lab.construction.steps.write.replies`.
    """
    prompt = own_prompt("rewrite", options.prompt)
    groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    if options.file:
        for name, group, value in placed_in(options.file, made, bench):
            groups[group].append((name, value))
    else:
        for paper in bench.papers(made.corpus):
            if paper.title and paper.abstract:
                groups[paper.title].append((paper.id, options.value))
    chosen = bench.some(groups, "groups", options.groups, "groups")
    wanted = [
        (bench.drawn([name for name, _ in groups[group]], value)[0], group, value)
        for group in chosen
        for value in options.values
        if value not in {has for _, has in groups[group]}
    ]
    if not wanted:
        raise BadInput("no document can be rewritten", why="no group lacks a kind of text that is wanted")
    held = bench.by_id(made, {name for name, _, _ in wanted})
    texts = {name: f"{one.title}\n{one.text}".strip() for name, one in held.items()}
    notes = [WriterNote(f"{name} {value}", f"wanted: {value}\n{texts[name]}") for name, _, value in wanted]

    def read(note: WriterNote, reply: str) -> str | None:
        said = wording(reply, prompt)
        old, new = words_of([note.told.partition("\n")[2]]), words_of([said])
        same = len(old & new) >= _SAME * len(old | new)
        return None if same or len(said.split()) < _FEW else said

    found, model = replies(bench, prompt, notes, read, options, of="documents", length=900)
    new, placed = {}, [[name, group, value] for group in chosen for name, value in groups[group]]
    for (name, group, value), text in zip(wanted, found, strict=True):
        if text is not None:
            one = MadeText(f"rewritten:{digest([name, value])[:12]}", text=text, origin=model)
            new[one.id] = one
            placed.append([one.id, group, value])
    facts = {**made.facts, "placed": placed}
    return replace(made, corpus=(*made.corpus, *sorted(new)), texts={**made.texts, **new}, facts=facts)


class InstructOptions(AskingOptions, frozen=True):
    """Options of ``instruct``, beside those of :class:`AskingOptions`.

    Attributes:
        longest: characters of an instruction.
    """

    longest: int = 400


@step(InstructOptions, helps="another model", files=("prompt",), model=True)
def instruct(made: Made, bench: Workbench, options: InstructOptions) -> Made:
    """A language model words each instruction and its reversal, in two sentences.

    Judgements stay.
    """
    prompt = own_prompt("instruct", options.prompt)
    asked = [one for one in made.drafts if {"instructed", "reversed"} <= one.instructions.keys()]
    bench.drop("queries without an instruction and its reversal", len(made.drafts) - len(asked))
    told = "question: {0.text}\nrestriction: {1[instructed]}\nopposite: {1[reversed]}"
    notes = [WriterNote(one.id, told.format(one, one.instructions)) for one in asked]

    def read(note: WriterNote, reply: str) -> dict[str, str] | None:
        said = {mode: field_of(reply, mode) for mode in ("instructed", "reversed")}
        texts = {mode: " ".join(text.split()) for mode, text in said.items() if isinstance(text, str)}
        different = {folded(text) for text in texts.values() if 0 < len(text) <= options.longest}
        return texts if len(different) == len(said) else None

    found, model = replies(bench, prompt, notes, read, options)
    kept = [
        replace(one, instructions={**one.instructions, **told}, source=model)
        for one, told in zip(asked, found, strict=True)
        if told
    ]
    return made.of_queries(kept)


@step(AskingOptions, helps="another model, or a recipe without this step", files=("prompt",), model=True)
def negatives(made: Made, bench: Workbench, options: AskingOptions) -> Made:
    """A language model writes a document for each question that is on its subject and does not answer it.

    Such a document is irrelevant under every instruction.
    """
    prompt = own_prompt("negative", options.prompt)
    questions = sorted({one.text for one in made.drafts if one.text})
    notes = [WriterNote(digest([text])[:12], f"question: {text}") for text in questions]

    def read(note: WriterNote, reply: str) -> str | None:
        said = wording(reply, prompt)
        return said if len(said.split()) >= _FEW else None

    found, model = replies(bench, prompt, notes, read, options, of="questions", length=400)
    new = {
        text: MadeText(f"negative:{note.key}", text=said, origin=model)
        for text, note, said in zip(questions, notes, found, strict=True)
        if said is not None
    }
    held = {one.id: new[one.text].id for one in made.drafts if one.text in new}
    qrels = {
        name: {
            query: {**grades, **({held[query]: 0} if query in held else {})}
            for query, grades in judged.items()
        }
        for name, judged in made.qrels.items()
    }
    texts = {one.id: one for one in new.values()}
    return replace(made, corpus=(*made.corpus, *sorted(texts)), qrels=qrels, texts={**made.texts, **texts})
