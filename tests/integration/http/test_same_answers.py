"""The page shows the ids, scores and quotes that the service answers with, and that HTTP writes."""

from __future__ import annotations

import re

import pytest
from lxml import html

import aspectra
from aspectra.app.surfaces.mcp.arguments import Get, Libraries, SearchPapers
from aspectra.app.surfaces.mcp.listing import search_papers
from aspectra.app.surfaces.mcp.tools import get_paper
from aspectra.app.surfaces.service.question import Question

RETRACTED = "TY  - JOUR\nID  - gone\nTI  - Owls count mice\nKW  - Retracted Publication\nER  - \n"
SOUND = "TY  - JOUR\nID  - sound\nTI  - Owls count stars\nPY  - 2019\nER  - \n"

STAGED = {"text": "dense retrieval", "recipe": 'hybrid | rerank(method="transport",depth=12)', "limit": 5}
QUESTIONS = [
    {"text": "rerank with large language models"},
    {"text": "do retrievers follow instructions, since 2023, no surveys", "evidence": 2},
    {"seeds": ("sun2023rankgpt",), "same": ("method",), "different": ("background",), "limit": 20},
    {"text": "multi-hop questions", "recipe": "bm25", "limit": 5},
    {"seeds": ("karpukhin2020dpr",), "text": "not vision", "since": 2019},
    STAGED,
]


@pytest.mark.parametrize(
    ("given", "number"), [(q, n) for q in QUESTIONS for n in ((1, 2) if q is not STAGED else (1,))]
)
def test_the_page_and_http_agree(answering, given, number):
    question = Question(**given)
    address = "/?" + "&".join(f"{k}={v}" for k, v in [*question.parameters(), ("page", str(number))])
    page = html.document_fromstring(answering.ask("GET", address, headers={"accept": "text/html"}).text)
    cursor = ""
    for _ in range(number):
        answer = answering.post("/v1/search", {**question.to_dict(), "cursor": cursor}).json()
        cursor = answer["next_cursor"]
    more = answering.post("/v1/search", {**question.to_dict(), "limit": 50}).json()["hits"]
    scores = {hit["id"]: hit["score"] for hit in more}
    assert [hit["score"] for hit in answer["hits"]] == [scores[hit["id"]] for hit in answer["hits"]]
    papers = page.xpath("//*[@data-paper]")
    chosen = [one.xpath(".//input[@data-choose]")[0].get("value") for one in papers]
    assert chosen == [hit["id"] for hit in answer["hits"]]
    for shown, hit in zip(papers, answer["hits"], strict=True):
        text = " ".join(shown.text_content().split())
        score = f"{hit['score']:.2f}"
        assert re.search(rf"(?<![\d.]){re.escape(score)}", text), (score, text[:300])
        marked = [" ".join(one.text_content().split()) for one in shown.iter("mark")]
        # With aspects, one quote each; the best quote otherwise. All of them are among what was answered.
        assert marked
        answered = {" ".join(e["quote"].split()) for e in hit["evidence"]}
        answered |= {" ".join(c["quote"].split()) for c in hit.get("conditions", ())}
        assert set(marked) <= answered
    # "Everything down to here" of the last paper of the page: all that stand before it, and no other.
    (down,) = page.xpath("//*[@data-paper]")[-1].xpath(".//a[text()='Everything down to here']/@href")
    whole = html.document_fromstring(answering.ask("GET", down, headers={"accept": "text/html"}).text)
    above = whole.xpath("//*[@data-paper]//input[@data-choose]/@value")
    assert above == [hit["id"] for hit in more][: len(above)]
    assert len(above) == answer["hits"][-1]["rank"]


def test_a_retraction_is_marked_wherever_the_paper_is_shown(answering_from, run, tmp_path):
    (tmp_path / "owls.ris").write_text(RETRACTED + SOUND)
    with aspectra.create(tmp_path / "owls.lib") as made:
        made.add(tmp_path / "owls.ris")
        made.index(encoders=[])
    answering = answering_from(tmp_path / "owls.lib")
    ranking = answering.library.search("owls count")
    assert {hit.id: hit.retracted for hit in ranking} == {"gone": True, "sound": False}
    libraries = Libraries({"owls": tmp_path / "owls.lib"}, aspectra.open)
    told = [search_papers(libraries, SearchPapers(text="owls count")), get_paper(libraries, Get(id="gone"))]
    documents = [
        *(answering.post("/v1/search", {"text": "owls count"}).json()["hits"]),
        *(answering.ask("GET", "/v1/papers").json()["hits"]),
        answering.ask("GET", "/v1/papers/gone").json(),
        *({"id": one["untrusted"]["id"], **one} for one in told[0].structured["papers"]),
        {"id": "gone", **told[1].structured},
    ]
    assert [one["id"] for one in documents if one.get("retracted")] == ["gone"] * 5
    criteria = "/criteria?text=owls&conditions=prefer%20keyword%3Dowls"
    for path in ("/?text=owls", criteria, "/library", "/paper/gone", "/triage?text=mice"):
        assert answering.ask("GET", path).text.count("Retracted</strong>") == 1, path
    given = [("search", "owls count"), ("list",), ("show", "gone")]
    shown = [run(*words, "--library", str(tmp_path / "owls.lib"))[1] for words in given]
    shown += [told[0].text, told[1].text, ranking._repr_html_(), answering.library.show("gone")._repr_html_()]
    for text in shown:
        assert len(re.findall("retracted(?! publication)", text, re.I)) == 1, text[:2000]
