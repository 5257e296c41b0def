"""Whatever papers and plans hold, what a notebook shows is escaped and well formed."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from aspectra.app.output.rankings import short
from aspectra.app.output.schemas import DOCUMENTS
from aspectra.app.surfaces.notebook.forms import NO_MATH, OpenedPaper, element
from aspectra.papers.paper import Paper, Reference, Section, Sentence
from aspectra.search.conditions.condition import Condition
from aspectra.search.plan import Plan, Search
from aspectra.search.query import LONGEST_TEXT, Unread
from aspectra.search.ranking import ConditionResult, Evidence, Fit, Hit, ProbeScore, Ranking
from aspectra.views.view import Probe

HOSTILE = (
    "<script>alert(1)</script>",
    "</mark></td></table><img src=x onerror=alert(1)>",
    "\" onmouseover=alert(1) x='",
    "javascript:alert(1)",
    "&lt;script&gt;",
    "<!-- <![CDATA[ -->",
    "</style><svg/onload=alert(1)>",
    "=HYPERLINK(1)",
    "\u202eright to left\u2066\u061c\u200f",
    "\x00\x07\x1b[31mred\x1b]0;title\x07\x9b",
    "{{ 7 * 7 }} {% raw %}",
    "'\"`<>&",
    "😀é\u0301字",
    "line\r\nline\u2028line",
)
SHOWN = {
    *("b", "br", "caption", "details", "div", "figure", "img", "li", "mark", "p", "pre", "progress", "small"),
    *("span", "summary", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
ATTRIBUTES = {"style", "scope", "dir", "role", "tabindex", "aria-label", "aria-hidden", "alt", "src"}
UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

words = st.text(max_size=20) | st.sampled_from(HOSTILE)
texts = st.builds(
    lambda parts, times: " ".join(parts) * times, st.lists(words, max_size=3), st.integers(0, 3)
)
long_texts = texts | st.builds(
    lambda part, times: part * times, st.sampled_from(HOSTILE), st.integers(1, 3000)
)


class Elements(HTMLParser):
    """The elements of a form; raises where one is not closed, or is none that we write."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in SHOWN
        assert {name for name, _ in attrs} <= ATTRIBUTES
        assert all(name != "src" or value.startswith("data:image/png;base64,") for name, value in attrs)
        assert all(name != "style" or "url" not in value for name, value in attrs)
        self.seen.add(tag)
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def handle_comment(self, data):
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


def check(value: object) -> Elements:
    forms = value._repr_mimebundle_()
    html = forms["text/html"]
    assert not UNSEEN.search(html.replace("\t", " "))
    assert not UNSEEN.search(forms["text/plain"].replace("\t", " "))
    assert len(forms["text/plain"]) <= 20_000
    for kind, form in forms.items():
        if kind.endswith("+json"):
            whole = json.dumps(form, ensure_ascii=False)
            name = kind.removeprefix("application/vnd.aspectra.").removesuffix("+json")
            if name in DOCUMENTS:
                assert msgspec.json.decode(whole.encode(), type=DOCUMENTS[name])
    inner = html.removeprefix(NO_MATH).removesuffix("</div>")
    assert html == f"{NO_MATH}{inner}</div>"
    return Elements(inner)


papers = st.builds(
    Paper,
    id=st.text("abc<>&\u202e\x1b", min_size=1, max_size=8) | st.sampled_from(HOSTILE),
    title=long_texts,
    abstract=long_texts,
    authors=st.lists(texts, max_size=6).map(tuple),
    year=st.none() | st.integers(1, 9999),
    venue=long_texts,
    identifiers=st.dictionaries(words, texts, max_size=3),
    url=texts,
    sections=st.lists(st.builds(Section, texts, long_texts), max_size=3).map(tuple),
    references=st.lists(st.builds(Reference, raw=texts), max_size=2).map(tuple),
    sentences=st.lists(st.builds(Sentence, st.integers(0, 9), st.integers(0, 99), words), max_size=3).map(
        tuple
    ),
)
quotes = st.builds(
    Evidence, long_texts, st.just("abstract"), st.just(0), st.just(1), aspect=words, heading=texts,
    seed=words, seed_quote=long_texts,
)  # fmt: skip
CONDITIONS = [
    Condition.parse(one) for one in ("prefer keyword=owls", "avoid kind=survey", "require year=>=2000")
]
CONDITIONS += [Condition("keyword", f"term{n}", "prefer", words=HOSTILE[n]) for n in range(6)]
results = st.builds(
    ConditionResult,
    st.sampled_from(CONDITIONS),
    st.none() | st.floats(0, 1),
    st.floats(-1, 1),
    quote=long_texts,
    reason=texts,
    exempt=words,
)
hits = st.builds(
    Hit,
    id=words,
    rank=st.integers(1, 1000),
    score=st.floats(-1e6, 1e6),
    paper=papers,
    evidence=st.lists(quotes, max_size=5).map(tuple),
    probes=st.lists(
        st.builds(ProbeScore, words, st.floats(-2, 2), st.floats(-2, 2), aspect=words), max_size=3
    ).map(tuple),
    versions=st.lists(words, max_size=3).map(tuple),
    conditions=st.lists(results, max_size=4).map(tuple),
)
plans = st.builds(
    lambda text, unread, seeds, terms: Plan(
        (
            Search(
                probes=(Probe("abstract@bm25", text=text if text.strip() else "owls", seeds=seeds),),
                terms=terms,
            ),
        ),
        conditions=tuple(CONDITIONS),
        unread=unread,
        text=text,
    ),
    long_texts.map(lambda text: text[:LONGEST_TEXT]),
    st.lists(st.builds(Unread, texts, texts), max_size=30).map(tuple),
    st.lists(words, max_size=3).map(tuple),
    st.lists(texts, max_size=3).map(tuple),
)


@settings(max_examples=60)
@given(plans, st.lists(hits, max_size=4), st.lists(long_texts, max_size=3), st.integers(1, 60))
def test_rankings(plan, some, warnings, times):
    ranking = Ranking(plan, tuple(some * times), tuple(warnings), fit=Fit(None, 0.1, 0.1, weak=True))
    shown = check(ranking)
    assert "mark" in shown.seen or not any(short(q.quote, 9) for hit in some for q in hit.evidence[:3])
    assert len(ranking) <= 100 or "100 of " in shown.text


@settings(max_examples=60)
@given(plans)
def test_plans(plan):
    assert plan.hash in check(plan).text


@settings(max_examples=60)
@given(papers, st.lists(words, max_size=40))
def test_papers(paper, ids):
    check(paper)
    links = {"versions": ids, "cites": ids * 50, "cited_by": []}
    spans = [
        {"number": n, "start": 0, "end": 1, "role": role, "text": role * 50} for n, role in enumerate(ids, 1)
    ]
    document = {**paper.to_dict(), "links": links, "marks": {"tags": ids}, "sentence_spans": spans}
    check(OpenedPaper(paper, document, dict.fromkeys(ids, paper.title)))


@given(st.text(), st.sampled_from(HOSTILE))
def test_elements_escape_texts_and_attributes(text, hostile):
    html = element("p", text, hostile, element("b", hostile), role=text + hostile)
    assert Elements(html).seen == {"p", "b"}
    assert not UNSEEN.search(html.replace("\t", " "))


def test_sentences_that_are_too_many_are_counted():
    sentences = tuple(Sentence(n * 90, n * 90 + 89, "method") for n in range(140))
    shown = check(Paper("p", "Long", "'" * 90 * 140, sentences=sentences))
    assert "and 40 more sentences: paper.abstract" in shown.text
