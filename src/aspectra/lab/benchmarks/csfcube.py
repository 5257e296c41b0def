"""CSFCube: faceted query by example over computer-science abstracts, graded 0 to 3 per facet.

A topic is a pair of a query paper and a facet. Read are the layout of the git release and folders that hold
only some of its pairs. The facet reaches a searcher as :attr:`Topic.aspect` (the papers bring sentence roles,
of which the facet ``background`` covers background and objective) or, with the option ``instruction``, as
text. p-MRR compares topics of one :attr:`Topic.group`: the same query paper under two facets.

Source: Mysore, O'Gorman, McCallum, Zamani, NeurIPS Datasets and Benchmarks 2021; the variants of the
instruction: Maheshwari, Mysore, Zamani, CHIIR 2026, section 4.2. The wording here is our own.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from aspectra.base.errors import BadInput, UsageError, check_choice
from aspectra.base.values import replace
from aspectra.lab.benchmarks._audit import Corpus, audited, paper_of
from aspectra.lab.benchmarks._files import Folder, read_data
from aspectra.lab.benchmarks.protocol import Benchmark, Option, Topic, benchmark
from aspectra.lab.runs.rows import Row, text_of
from aspectra.papers.paper import Paper

FACETS = ("background", "method", "result")
_ROLES = {"background": ("background", "objective"), "method": ("method",), "result": ("result",)}
_RATINGS = ("adju", "max", "min", "first", "second")
_BY_PLACE = {"first": 0, "second": 1}
_FOLDS = ("fold1_dev", "fold2_dev", "fold1_test", "fold2_test")

_PARAPHRASES = ("paraphrase-1", "paraphrase-2", "paraphrase-3")
VARIANTS = ("base", "generic", "definition", *_PARAPHRASES, "aspect-subset")


def facet_instruction(facet: str, variant: str = "base") -> str:
    """The instruction for one facet.

    Args:
        facet: ``background``, ``method`` or ``result``.
        variant: ``base`` (short, names the facet), ``generic`` (names none), ``definition`` (defines the
            facet), ``paraphrase-1`` to ``-3`` of the base, or ``aspect-subset``: the base instruction, to be
            used with :func:`aspect_text` instead of the whole abstract.

    Raises:
        UsageError: no such facet or variant.

    >>> facet_instruction("method", "generic")
    'Find papers that are similar to this one.'
    """
    check_choice(facet, FACETS, "facet")
    check_choice(variant, VARIANTS, "instruction")
    wording = read_data("csfcube.toml")
    if variant == "generic":
        return str(wording["generic"])
    return str(wording["base" if variant == "aspect-subset" else variant][facet])


def aspect_text(paper: Paper, facet: str) -> str:
    """The sentences of the abstract that carry the facet, in order; "" when the source marked none."""
    return " ".join(paper.abstract[s.start : s.end] for s in paper.sentences if s.role in _ROLES[facet])


@benchmark(
    "csfcube",
    files="abstracts-csfcube-preds.jsonl and test-pid2anns-csfcube-FACET.json, as in the git release.",
    licence="CC BY-NC 4.0 (non-commercial use, with attribution)",
    source=(
        "github.com/iesl/CSFCube. Cite: Mysore, O'Gorman, McCallum, Zamani, CSFCube - A Test Collection"
        " of Computer Science Papers for Faceted Query by Example, NeurIPS Datasets and Benchmarks 2021"
    ),
    options=(
        Option(
            "instruction",
            "the wording that names the facet; `paraphrases` makes a topic of each of the three",
            (*VARIANTS, "paraphrases"),
        ),
        Option(
            "instructions",
            "TOML file of your own wordings: for each facet a text, or a list with a topic for each",
        ),
        Option(
            "aspect",
            "how the query states the facet: as a field, or told by the instruction alone",
            ("field", "told"),
            "field",
        ),
        Option(
            "ratings",
            "whose ratings: adjudicated, the greatest, the least, or a pair's first or second annotator's",
            _RATINGS,
            "adju",
        ),
        Option("facet", "only this facet", FACETS),
        Option(
            "roles",
            "the release's own roles of sentences, or none, so that the library's lens predicts them",
            ("released", "predicted"),
            "released",
        ),
    ),
    measures=("NDCG%20", "nDCG@20", "AP(rel=2)", "p-MRR(rel=2)"),
    preset="csfcube",
)
def load(folder: Folder, options: Mapping[str, str]) -> Benchmark:
    """CSFCube: faceted query by example over computer-science abstracts, graded 0 to 3 per facet.

    A topic is a pair of a query paper and a facet. With ``instruction=paraphrases`` there are three topics of
    each pair, in a group of their own, so that means over topics are means over the paraphrases, as in the
    variants' paper; likewise with a list of texts in the file that ``instructions`` names.

    Raises:
        UsageError: a wording is named beside that file.
    """
    variant, ratings = options["instruction"], options["ratings"]
    facets = (options["facet"],) if options["facet"] else FACETS
    wordings = {facet: _wordings(facet, variant, options["instructions"]) for facet in facets}
    abstracts = folder.need("abstracts-csfcube-preds.jsonl", "abstracts-csfcube.jsonl")
    convert = paper_of if options["roles"] == "released" else _without_roles
    corpus = Corpus(lambda: folder.rows(abstracts), convert)

    gold: dict[str, Mapping[str, float]] = {}
    people: dict[str, dict[str, Mapping[str, float]]] = {}
    pools: dict[str, tuple[str, ...]] = {}
    topics: list[Topic] = []
    own = 0
    for facet in facets:
        for seed, row in _annotations(folder, facet):
            grades = _grades(folder, seed, row, ratings, facet)
            own += grades.pop(seed, None) is not None
            both = {who: _grades(folder, seed, row, who, facet) for who in _BY_PLACE if _annotators(row)}
            for topic in _topics(seed, facet, wordings[facet], told=options["aspect"] == "told"):
                gold[topic.id] = grades
                for who, given in both.items():
                    people.setdefault(who, {})[topic.id] = given
                pools[topic.id] = tuple(grades)
                topics.append(topic)
    scan = corpus.scan()
    problems = []
    if own:
        problems.append(f"{own} pools hold the query paper itself: taken out of pool and judgements")
    excluded = {topic.id: frozenset([topic.seed]) for topic in topics}
    if lost := sum(topic.seed not in scan.ids for topic in topics):
        problems.append(f"{lost} query papers are not in the corpus")
    if variant == "aspect-subset":
        # The release's own roles say which sentences, also where the library predicts those of all papers.
        topics, without = _subsets(topics, Corpus(lambda: folder.rows(abstracts)))
        if without:
            problems.append(
                f"{without} query papers have no sentence of their facet: the whole paper is the query"
            )
    folds, note = _folds(folder, topics, facets)
    if note:
        problems.append(note)
    told: dict[str, Any] = {"pools": pools, "people": people, "excluded": excluded, "folds": folds}
    return audited(folder, corpus, "csfcube", topics, {"gold": gold}, problems, **told)


def _wordings(facet: str, variant: str, path: str) -> dict[str, str]:
    """Name of each wording of a facet -> its text; one without a name makes a topic of the pair itself."""
    if not path:
        if variant == "paraphrases":
            return {name: facet_instruction(facet, name) for name in _PARAPHRASES}
        return {"": facet_instruction(facet, variant) if variant else ""}
    if variant not in ("", "aspect-subset"):
        raise UsageError(
            f"the options instruction={variant} and instructions={path} exclude each other",
            hint="leave out one, or use instruction=aspect-subset",
        )
    try:
        given: Any = tomllib.loads(Path(path).expanduser().read_text("utf-8")).get(facet)
    except (OSError, ValueError) as error:
        raise BadInput(f"the instructions {path} cannot be read", why=str(error)) from error
    texts = given if isinstance(given, list) else [given]
    if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        raise BadInput(f"{path}: no instruction for {facet}", hint=f'{facet} = "..." or a list of texts')
    return {f"wording-{n}": text for n, text in enumerate(texts, 1)} if given is texts else {"": texts[0]}


def _topics(seed: str, facet: str, wordings: Mapping[str, str], *, told: bool) -> Iterator[Topic]:
    """A topic of a pair for each wording."""
    for wording, text in wordings.items():
        mark = f"#{wording.rpartition('-')[2]}" if wording else ""
        yield Topic(
            f"{seed}_{facet}{mark}",
            "",
            seed,
            facet,
            instructions={"original": text} if text else {},
            group=f"{seed}{mark}",
            labels={"facet": facet, **({"wording": wording} if wording else {})},
            told=told,
        )


def _without_roles(row: Row) -> Paper:
    paper = paper_of(row)
    return replace(paper, sentences=tuple(s._replace(role="") for s in paper.sentences))


def _annotations(folder: Folder, facet: str) -> Iterator[tuple[str, Row]]:
    path = folder.need(f"test-pid2anns-csfcube-{facet}.json")
    for seed, row in folder.object(path).items():
        if not isinstance(row, dict) or not isinstance(row.get("cands"), list):
            raise BadInput(f"{path}, query {seed}: no list of candidates (cands)", hint="fetch it again")
        yield text_of(seed), row


def _annotators(row: Row) -> list[str]:
    """The fields of the two who rated a pair, of the release's four (relevance_ann1 to 4); else nothing."""
    own = sorted(name for name in row if name.startswith("relevance_ann"))
    return own if len(own) == len(_BY_PLACE) else []


def _grades(folder: Folder, seed: str, row: Row, ratings: str, facet: str) -> dict[str, float]:
    own, key = _annotators(row), f"relevance_{ratings}"
    if ratings in _BY_PLACE:
        key = own[_BY_PLACE[ratings]] if own else ""
    given: Any = row.get(key)
    place = f"{folder.root}, {facet}, query {seed}"
    if not isinstance(given, list) or len(given) != len(row["cands"]):
        count = len(given) if isinstance(given, list) else "no"
        raise BadInput(f"{place}: {count} ratings for {len(row['cands'])} candidates", hint="fetch it again")
    try:
        return {text_of(cand): float(grade) for cand, grade in zip(row["cands"], given, strict=True)}
    except (TypeError, ValueError) as error:
        raise BadInput(f"{place}: a rating is no number", why=str(error), hint="fetch it again") from error


def _subsets(topics: list[Topic], corpus: Corpus) -> tuple[list[Topic], int]:
    """Topics whose query is the sentences of their facet, and how many have none and keep the whole paper."""
    seeds = {topic.seed for topic in topics}
    held = {paper.id: paper for paper in corpus.papers() if paper.id in seeds}
    out = []
    for topic in topics:
        text = aspect_text(held[topic.seed], topic.aspect) if topic.seed in held else ""
        out.append(replace(topic, text=text, seed="" if text else topic.seed))
    return out, sum(not topic.text for topic in out)


def _folds(
    folder: Folder, topics: list[Topic], facets: tuple[str, ...]
) -> tuple[dict[str, tuple[str, ...]], str]:
    """Folds of the release, or of a folder with the development half only.

    ``fold1_test`` holds the same pairs as ``fold2_dev``, and the other way round, so that the mean over all
    four fold means is the mean over the two test folds.
    """
    named: dict[str, Any] = {}
    if path := folder.find("evaluation_splits.json"):
        value = folder.object(path).get("all")
        named = {name: value[name] for name in _FOLDS if name in value} if isinstance(value, dict) else {}
    elif path := folder.find("split.json"):
        named = {"fold1_dev": folder.object(path).get("all", [])}
    of_pair: dict[str, list[str]] = {}
    for topic in topics:
        of_pair.setdefault(topic.id.partition("#")[0], []).append(topic.id)
    folds = {}
    absent: set[str] = set()
    for fold, pairs in named.items():
        if not isinstance(pairs, list):
            raise BadInput(f"{folder.root}, fold {fold}: not a list of pairs", hint="fetch the file again")
        wanted = [text_of(pair) for pair in pairs if text_of(pair).rpartition("_")[2] in facets]
        absent |= set(wanted) - set(of_pair)
        folds[fold] = tuple(name for pair in wanted for name in of_pair.get(pair, ()))
    note = f"{len(absent)} pairs of the folds have no judgements here" if absent else ""
    return folds, note
