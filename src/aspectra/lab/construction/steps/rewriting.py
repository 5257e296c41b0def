"""``rewrite``, ``instruct`` and ``negatives``: documents and instructions in the words of a language model.

A document is written anew as another kind of text, so that one subject has documents that meet a condition
and documents that break it; an instruction and its reversal are worded from templates; and a document is
written that is on a question's subject and does not answer it (InfoSearch, appendix A.3 to A.6). Whether that
is so is for people to say, in a review.
"""

from __future__ import annotations

from collections import defaultdict

from aspectra.base.errors import BadInput, UsageError
from aspectra.base.files import digest
from aspectra.base.values import replace
from aspectra.lab.construction.protocol import Made, MadeText, Workbench, placed_in, step
from aspectra.lab.construction.steps.write import AskingOptions, WriterNote, own_prompt, replies, words_of
from aspectra.papers.text.cleaning import folded
from aspectra.search.stages.rewrite import field_of, wording

_FEW = 5  # words; a shorter reply is not a document
_SAME = 0.9  # share of words of both in common from which a text was not written anew


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
    "rewrite",
    RewriteOptions,
    "A language model writes a document of each group anew, as the kinds of text that the group lacks.",
    helps="another model, or --option rewrite.file=FILE, lines of JSON with _id, group and value",
    files=("file", "prompt"),
    model=True,
    queries=False,
)
def rewrite(made: Made, bench: Workbench, options: RewriteOptions) -> Made:
    """More documents, and what kind each is (the fact ``placed``).

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
    chosen = sorted(bench.drawn(groups, "groups")[: options.groups or None])
    bench.drop("groups not drawn", len(groups) - len(chosen))
    wanted = [
        (bench.drawn([name for name, _ in groups[group]], value)[0], group, value)
        for group in chosen
        for value in options.values
        if value not in {has for _, has in groups[group]}
    ]
    if not wanted:
        raise BadInput("no document can be rewritten", why="no group lacks a kind of text that is wanted")
    texts = {
        one.id: f"{one.title}\n{one.text}".strip()
        for one in bench.documents(made, sorted({w[0] for w in wanted}))
    }
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


@step(
    "instruct",
    InstructOptions,
    "A language model words each instruction and its reversal, in two sentences.",
    helps="another model",
    files=("prompt",),
    model=True,
)
def instruct(made: Made, bench: Workbench, options: InstructOptions) -> Made:
    """Instructions in other words than a template's; judgements stay."""
    prompt = own_prompt("instruct", options.prompt)
    asked = [one for one in made.drafts if {"instructed", "reversed"} <= one.instructions.keys()]
    bench.drop("queries without an instruction and its reversal", len(made.drafts) - len(asked))
    notes = [
        WriterNote(
            one.id,
            f"question: {one.text}\nrestriction: {one.instructions['instructed']}\n"
            f"opposite: {one.instructions['reversed']}",
        )
        for one in asked
    ]

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


@step(
    "negatives",
    AskingOptions,
    "A language model writes a document for each question that is on its subject and does not answer it.",
    helps="another model, or a recipe without this step",
    files=("prompt",),
    model=True,
)
def negatives(made: Made, bench: Workbench, options: AskingOptions) -> Made:
    """One more document a question, which is irrelevant under every instruction."""
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
