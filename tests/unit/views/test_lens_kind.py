"""What the lens of kinds tells apart: this work from others, designs from reviews, text from record."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from aspectra.papers.paper import Paper, field_text
from aspectra.search.conditions.attributes.protocol import ATTRIBUTES
from aspectra.views.lenses._cues import Cue, cue, strongest
from aspectra.views.lenses._lead import lead_text
from aspectra.views.lenses.kind import IMPLIED, KINDS, RECORDED, recorded_kinds, stated_as
from aspectra.views.lenses.protocol import LENSES, LensValues

LENS = LENSES.get("kind")


def kinds(title: str, text: str = "", **record) -> set[str]:
    (row,) = LENS.apply([Paper("x", title, text, **record)])
    return {kind for kind, grade in zip(LENS.labels, row[0], strict=True) if grade >= 0.5}


RCT = "Forty adults with gout were randomly assigned to cherry juice or placebo for six weeks."


@pytest.mark.parametrize(
    ("kind", "title", "text"),
    [
        ("rct", "Cherry juice in gout", RCT),
        ("rct", "Oars", "In this randomised, double-blind, placebo-controlled trial, rowers slept."),
        ("systematic review", "Cherries: a systematic review", "We searched MEDLINE and Embase."),
        ("scoping review", "Orchard work: a scoping review", ""),
        ("meta-analysis", "Cherries and gout", "We performed a meta-analysis of nine trials."),
        ("survey", "Graph compression: an overview", "This paper surveys the field."),
        (
            "cohort",
            "Gout in cooks",
            "In this prospective cohort study 900 cooks were followed for ten years.",
        ),
        ("case-control", "Gout in cooks", "We did a nested case-control study among cooks."),
        ("cross-sectional", "Gout in cooks", "A cross-sectional survey of 300 adults was done."),
        ("case report", "An odd knee", "A 54-year-old man came with a swollen knee."),
        ("qualitative", "Cooks on gout", "Semi-structured interviews were held with twelve cooks."),
        ("protocol", "Juice for gout: protocol for a randomised trial", "Patients will be recruited."),
        ("in vitro", "A new seal", "In this in vitro study 60 extracted teeth were sealed."),
        ("in vivo", "Juice in rats", "Rats were fed with juice."),
        ("thesis", "On knots", "This thesis studies knots."),
        ("book", "Knots", "This book covers all knots."),
        ("tutorial", "Lecture notes on knots", ""),
        ("software", "Knotty", "We present Knotty, an open-source Python package for knots."),
        ("dataset", "Knotty", "We introduce KnotBench, a new benchmark of 300 knots."),
        ("replication", "Do knots hold?", "We failed to replicate the original results."),
        ("position", "Knots", "This position paper is about knots."),
        ("simulation", "A crane", "Simulation results show that the crane holds."),
        ("case study", "Cranes: a case study of one harbour", ""),
        ("negative result", "Juice does not reduce gout", ""),
        ("guideline", "Gout: clinical practice guideline", ""),
        ("letter", "Letter to the editor: knots", ""),
        ("editorial", "Editorial", "Words."),
        ("field experiment", "Tax letters", "In a field experiment, households got one of two letters."),
        ("mixed methods", "Cooks on gout", "A mixed-methods study."),
        ("theory", "Knots", "We prove that every knot has a twin."),
    ],
)
def test_what_a_paper_says_of_itself(kind, title, text):
    assert kind in kinds(title, text)


@pytest.mark.parametrize(
    ("kind", "title", "text"),
    [
        ("survey", "Fast graphs", "Unlike previous surveys, we propose a new method for graphs."),
        ("rct", "Gout", "No randomised trial has been done. Further randomised trials are needed."),
        ("rct", "Drugs for gout: a systematic review", f"We searched MEDLINE. In most trials: {RCT}"),
        ("cohort", "Bones", "A Swedish cohort study reported more fractures. Here is an opinion."),
        ("rct", "Faster search", "We randomly initialise the randomized algorithm and sample at random."),
        ("cross-sectional", "Beams", "The cross-sectional area of the beam was measured."),
        ("dataset", "Faster search", "We present a method that is the best on a benchmark dataset."),
        ("meta-analysis", "Gout", "A recent meta-analysis is based on old trials. We propose a model."),
        ("case study", "Faster search", "As a case study, we train a parser."),
        ("rct", "Fair lots", "In a randomized comparison, lots were drawn by a machine."),
        ("primary", "A survey of knots", "We review the literature on knots."),
        ("primary", "Knots", "Here are some knots to tie."),
        ("rct", "Juice in rats", "Rats were fed and randomly assigned to juice or water."),
    ],
)
def test_mentions_are_not_the_kind(kind, title, text):
    assert kind not in kinds(title, text)


def grade(kind: str, title: str, text: str = "", **record) -> float:
    (row,) = LENS.apply([Paper("x", title, text, **record)])
    return float(row[0, KINDS.index(kind)])


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (
            "survey",
            "This survey asked cooks about gout. The literature was reviewed. Future research directions.",
        ),
        ("qualitative", "Focus groups of cooks named themes, perceptions and narratives of stakeholders."),
        ("software", "Our tool is free; the interface of this platform has plug-ins and an API on github."),
        (
            "cohort",
            "A national cohort study of women gave us the risks. Incidence, survival, registry.",
        ),
        ("dataset", "We collect a new dataset of knots. Our dataset has annotators. We release baselines."),
        (
            "negative result",
            "Juice did not improve sleep. No significant difference. Not significantly different.",
        ),
        ("case study", "A case study of one knot ends the paper. Case studies help."),
    ],
)
def test_what_may_be_said_of_a_part_or_of_others_never_filters(kind, text):
    assert 0.3 < grade(kind, "Knots", text) <= 0.451
    assert grade(kind, "Knots", "Knots are tied.") < 0.1


def test_what_decides_softly_is_quoted():
    paper = Paper("x", "Knots", "Ropes hold. Focus groups of cooks were told.")
    span = LENS.span(paper, "qualitative")
    assert span is not None
    assert field_text(paper, span.field)[span.start : span.end] == "Focus groups of cooks were told."


def test_half_a_sign_needs_another_one():
    searched = "Ropes were tied. We searched PubMed."
    assert "systematic review" not in kinds("Ropes", searched)
    assert "systematic review" in kinds("Ropes", f"{searched} The risk of bias was high.")
    assert "systematic review" in kinds("Ropes", f"{searched} Forty studies were included.")
    assert "systematic review" not in kinds(
        "Ropes", f"{searched} We propose a knot. Inclusion criteria hold."
    )


def test_a_conclusion_of_no_effect_is_a_negative_result():
    end = "CONCLUSIONS Cherry juice for cooks did not reduce pain."
    assert "negative result" in kinds("Juice", f"Cooks drank. {end}")
    assert "negative result" not in kinds(
        "Juice", "CONCLUSIONS Juice helped cooks, but it did not reduce pain."
    )
    assert "negative result" not in kinds("Juice", "Cooks drank. Cherry juice for cooks did not reduce pain.")


def test_a_text_says_less_than_a_record():
    told = "Letter to the editor: knots", "To the editor. Dear sir, we read with interest of knots."
    assert 0.9 < grade("letter", *told) < RECORDED
    assert grade("letter", *told, metadata={"nbib": [["PT", "Letter"]]}) >= RECORDED
    assert grade("trial", "Knots", metadata={"nbib": [["PT", "Randomized Controlled Trial"]]}) >= RECORDED


def test_a_narrow_kind_implies_the_wider_ones():
    assert kinds("Cherry juice in gout", RCT) >= {"rct", "trial", "experiment", "empirical", "primary"}
    assert kinds("Knots: a meta-analysis") >= {"meta-analysis", "systematic review", "survey"}
    assert set(IMPLIED) <= set(KINDS)
    assert {wide for some in IMPLIED.values() for wide in some} <= set(KINDS)


def test_reviews_and_protocols_lack_the_designs_they_speak_of():
    plan = f"Juice for gout: study protocol for a randomised trial. {RCT}"
    assert kinds("Juice for gout: study protocol", "Patients will be randomly assigned to juice.") == {
        "protocol"
    }
    assert "protocol" in kinds(plan)
    review = "Juice for gout: protocol for a systematic review and meta-analysis"
    assert kinds(review, "We will search MEDLINE. Studies will be screened.") == {"protocol"}


@pytest.mark.parametrize(
    ("kind", "metadata"),
    [
        ("case report", {"nbib": [["PT", "Journal Article"], ["PT", "Case Reports"]]}),
        ("rct", {"nbib": [["PT", "Randomized Controlled Trial"]]}),
        ("survey", {"ris": {"type": "JOUR", "fields": [["M3", "Review"], ["TI", "Letter"]]}}),
        ("thesis", {"type": "thesis"}),
        ("thesis", {"comments": "PhD thesis, 200 pages"}),
        ("survey", {"track": "Survey Track"}),
        ("survey", {"publicationTypes": ["Review", "JournalArticle"]}),
        ("patent", {"type": "patent"}),
        ("editorial", {"article_type": "editorial"}),
        ("protocol", {"ris": {"type": "JOUR", "fields": [["M3", "Journal article; Trial registry record"]]}}),
    ],
)
def test_the_record_decides(kind, metadata):
    paper = Paper("x", "Ropes", "Some neutral words.", metadata=metadata)
    assert kind not in kinds("Ropes", "Some neutral words.")
    assert kind in kinds("Ropes", "Some neutral words.", metadata=metadata)
    assert stated_as(kind, paper)
    assert set(recorded_kinds(paper)) <= set(KINDS)


def test_odd_records_state_nothing():
    for metadata in ({"type": 5}, {"type": "x" * 999}, {"nbib": "PT"}, {"nbib": [["PT"], 3]}, {"ris": []}):
        assert recorded_kinds(Paper("x", metadata=metadata)) == {}
    assert stated_as("trial", Paper("x", metadata={"nbib": [["PT", "Randomized Controlled Trial"]]}))


def test_the_quote_is_the_sentence_that_decided():
    paper = Paper("x", "Cherry juice in gout", f"Gout hurts. {RCT} It helped.")
    span = LENS.span(paper, "trial")
    assert span is not None
    assert field_text(paper, span.field)[span.start : span.end] == RCT


def test_the_strongest_cue_is_quoted_and_weaker_ones_are_not_searched_for(monkeypatch):
    places, searched = Cue.places, []
    monkeypatch.setattr(Cue, "places", lambda one, lead: [searched.append(one), places(one, lead)][1])
    lead = lead_text(Paper("x", "", "gold silver gold bronze silver"))
    gold, silver, bronze, tin = ([word] for word in ("gold", "silver", "bronze", "tin"))
    cues = [cue(1, 2, gold), cue(-9, 9, gold), cue(0.5, 4, silver), cue(2, 1, bronze), cue(2.5, 1, tin)]
    at = [lead.text.index(word) for word in ("gold", "silver")]
    assert strongest(cues, lead) == (at[0], at[0] + 4)  # the first of equals
    assert searched == [cues[0], cues[4]]
    assert strongest([*cues, cue(1.5, 2, silver)], lead) == (at[1], at[1] + 6)
    assert strongest([cue(-9, 9, gold), cue(1, 1, tin)], lead) is None


def test_a_phrase_with_a_gap_ends_in_its_sentence_and_near():
    def places(written: str, text: str, **more) -> int:
        return len(cue(1, 9, [written], **more).places(lead_text(Paper("x", "", text))))

    assert places("we show .. proofs", "We show three long proofs.") == 1
    assert places("we show .. proofs", "We show it. Proofs follow.") == 0
    assert places("we show .. proofs", "We show " + "very " * 30 + "long proofs.") == 0
    assert places("we show ~ proofs", "We show a machine that writes proofs.") == 0
    assert places("we show ~ proofs", "We show a machine of proofs.") == 1
    assert places("we {show,find} proofs", "We find proofs, and we show proofs.") == 2
    assert (
        places("proofs", "Unlike earlier proofs, ours is short. No proofs are needed. Proofs!", own=True) == 1
    )


def test_kinds_of_nothing_are_unknown():
    (row,) = LENS.apply([Paper("x")])
    assert np.isnan(row).all()
    assert kinds("", "", metadata={"type": "thesis"}) == {"thesis", "grey literature"}
    (row,) = LENS.apply([Paper("x", "An application of knots")])
    assert [k for k, g in zip(LENS.labels, row[0], strict=True) if np.isnan(g)] == ["application"]


def test_an_index_of_an_older_lens_is_told():
    values = LensValues(("survey",), np.ones((1, 1), np.float32))
    index = SimpleNamespace(lens=lambda _: values, lens_names=("kind",), waiting="")
    attribute = ATTRIBUTES.get("kind")
    assert attribute.grades("survey", index, np.arange(1)) == 1
    assert np.isnan(attribute.grades("rct", index, np.arange(1))).all()
    assert "without rct of the lens kind: aspectra index" in attribute.missing("rct", index)
    index = SimpleNamespace(lens_names=(), waiting="lenses")
    assert (
        attribute.missing("rct", index) == "the lens kind is not applied yet: aspectra index goes on with it"
    )


def test_conditions_say_what_the_record_stated_or_quote_the_text():
    attribute, index = ATTRIBUTES.get("kind"), SimpleNamespace()
    stated = Paper("x", "Ropes", metadata={"nbib": [["PT", "Case Reports"]]})
    assert attribute.reason("case report", stated, index) == "Case Reports (record)"
    assert attribute.span("case report", stated, index) is None
    told = Paper("x", "Cherry juice", RCT)
    assert attribute.reason("rct", told, index) == ""
    span = attribute.span("rct", told, index)
    assert span is not None
    assert span.field == "abstract"


def test_news_are_what_the_source_takes_for_news():
    columns = {"kind": ("news",), "source": ("news",)}
    grades = {"kind": 0.1, "source": 0.9}
    index = SimpleNamespace(
        lens=lambda name: LensValues(columns[name], np.full((1, 1), grades[name], np.float32)),
        lens_names=("kind", "source"),
    )
    assert ATTRIBUTES.get("kind").grades("news", index, np.arange(1)) == pytest.approx(0.9)
