"""Measures: one spelling each. Every registered family goes through the conformance tests here."""

from __future__ import annotations

import doctest
import subprocess
import sys

import pytest

import aspectra.lab
from aspectra.base.errors import UsageError
from aspectra.lab.evaluation.calculate import evaluate
from aspectra.lab.evaluation.means import PRESETS, get_preset
from aspectra.lab.measures.protocol import MEASURES, Arity, parse
from measure_variants import variants


@pytest.mark.parametrize("name", MEASURES.names())
def test_conformance(name: str) -> None:
    family = MEASURES.get(name)
    assert family.name == name
    assert family.help
    assert isinstance(family.arity, Arity)
    low, high = family.bounds
    assert low < high
    if family.missing is not None:
        assert low <= family.missing <= high
    assert (family.combine is None) or family.of is not None
    assert family.scale in (1.0, 100.0)
    assert family.scale == 1.0 or max(map(abs, family.bounds)) <= 1.0, "fractions are printed x100"
    assert family.identifier.isidentifier()
    assert getattr(aspectra.lab, family.identifier) is family
    assert all(
        parse(f"{alias}{'@5' if family.cut == 'required' else ''}").family is family
        for alias in family.aliases
    )
    for measure in variants(family):
        again = parse(str(measure))
        assert again == measure
        assert hash(again) == hash(measure)
        assert str(again) == str(measure) == repr(measure)
        assert again.params == measure.params
        assert again.cut == measure.cut
        assert {measure: 1}[again] == 1
    assert len({str(m) for m in variants(family)}) == len(variants(family))


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("nDCG@10", "nDCG@10"),
        ("ndcg@10", "nDCG@10"),
        ("NDCG@20", "nDCG@20"),
        ("NDCG%20", "NDCG%20"),
        ("ndcg%20", "NDCG%20"),
        (" nDCG( gain = exp )@10 ", "nDCG(gain=exp)@10"),
        ("nDCG(gain=linear)@10", "nDCG@10"),
        ("nDCG()@10", "nDCG@10"),
        ("nDCG(ties=average,gain=exp)@5", "nDCG(gain=exp,ties=average)@5"),
        ("R@5", "R@5"),
        ("Recall@5", "R@5"),
        ("R(cap=true)@5", "R(cap=true)@5"),
        ("R(rel=2.0)@5", "R(rel=2)@5"),
        ("R(rel=1.5)@5", "R(rel=1.5)@5"),
        ("MRR@10", "MRR@10"),
        ("AP", "AP"),
        ("MAP", "AP"),
        ("AP(cut=30)", "AP(cut=30)"),
        ("P@20", "P@20"),
        ("R-precision", "R-precision"),
        ("Rprec", "R-precision"),
        ("Success@5", "Success@5"),
        ("p-MRR", "p-MRR"),
        ("P-mrr", "p-MRR"),
        ("Robustness@10", "Robustness@10"),
        ("SICR", "SICR"),
        ("SICR(rule=fork)", "SICR(rule=fork)"),
        ("WISE@20", "WISE@20"),
        ("WISE(beyond=0.1)@20", "WISE(beyond=0.1)@20"),
        ("wise-ideal@20", "WISE-ideal@20"),
        ("Gap(of=recall(rel=2)@5,bound=lower)", "Gap(of=R(rel=2)@5,bound=lower)"),
        ("Gap(of=nDCG(gain=exp,ties=average)@5)", "Gap(of=nDCG(gain=exp,ties=average)@5)"),
    ],
)
def test_spellings(given: str, canonical: str) -> None:
    assert str(parse(given)) == canonical
    assert parse(canonical) == parse(given)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not the name of a measure"),
        ("nDCG@", "not the name of a measure"),
        ("nDCG@-3", "not the name of a measure"),
        ("nDCG@1.5", "not the name of a measure"),
        ("nDCG@10@20", "not the name of a measure"),
        ("nDCG@0", "at least 1"),
        ("NDCG%101", "at most 100"),
        ("nDGC@10", "there is no measure called"),
        ("R%20", "there is no measure called"),
        ("P", "needs a cut"),
        ("AP@10", "has no cut"),
        ("nDCG(gain=cubic)@10", "choices: linear, exp"),
        ("nDCG(gian=exp)@10", "unknown parameter of nDCG: gian"),
        ("nDCG(exp)@10", "is not a parameter"),
        ("nDCG(gain=exp,gain=linear)@10", "twice"),
        ("R(rel=many)@5", "must be of type float"),
        ("R(rel=nan)@5", "must be of type float"),
        ("R(cap=1)@5", "must be of type bool"),
        ("AP(cut=-1)", "at least 0"),
        ("WISE(beyond=2)@20", "at most 1"),
        ("AP(cut=1.5)", "must be of type int"),
        ("Gap(of=p-MRR)", "cannot be taken"),
        ("Gap(of=nothing)", "there is no measure called"),
        ("R(cut=5)", "unknown parameter of R: cut"),
        ("R(self=5)", "unknown parameter of R: self"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert said in str(caught.value)


@pytest.mark.parametrize("name", MEASURES.names())
def test_examples_run(name: str) -> None:
    """The decorator hides a measure's docstring from pytest's own collection of examples."""
    family = MEASURES.get(name)
    assert family.__doc__ == family.score.__doc__
    scope = vars(sys.modules[family.score.__module__])
    (found,) = doctest.DocTestFinder(recurse=False).find(family.score, name, globs=dict(scope))
    assert found.examples or family.identifier not in aspectra.lab.__all__
    assert doctest.DocTestRunner().run(found).failed == 0


def test_no_two_measures_share_a_spelling() -> None:
    families = [MEASURES.get(name) for name in MEASURES]
    spellings = [alias.lower() for family in families for alias in family.aliases]
    spellings += [family.name.lower().rstrip("%") for family in families if not family.percent]
    assert len(set(spellings)) == len(spellings)


def test_families_take_a_cut_behind_an_at_sign() -> None:
    from aspectra.lab import AP, NDCG_percent, P, nDCG, p_MRR

    made = (nDCG @ 10, nDCG(gain="exp") @ 10, P(rel=2) @ 5, NDCG_percent @ 20, p_MRR(), AP(cut=30))
    assert list(map(str, made)) == [
        "nDCG@10", "nDCG(gain=exp)@10", "P(rel=2)@5", "NDCG%20", "p-MRR", "AP(cut=30)",
    ]  # fmt: skip
    with pytest.raises(UsageError, match="AP has no cut"):
        AP @ 10
    with pytest.raises(UsageError, match="P needs a cut"):
        evaluate([P], {"q": {"a": 1}}, {"q": {"a": 1.0}})
    with pytest.raises(UsageError, match="at most 100"):
        NDCG_percent @ 101
    assert evaluate([AP, nDCG @ 1], {"q": {"a": 1}}, {"q": {"a": 1.0}}).means == {"AP": 1.0, "nDCG@1": 1.0}


def test_unknown_names_suggest() -> None:
    with pytest.raises(UsageError, match="nDCG"):
        parse("nDGC@10")
    for text, meant in (("ndcg_cut_10", "nDCG@10"), ("recall_100", "R@100"), ("P_5", "P@5")):
        with pytest.raises(UsageError, match=f"there is no measure called '{text}'") as caught:
            parse(text)
        assert caught.value.hint == f"did you mean {meant}?"
    with pytest.raises(UsageError, match="followir-2024"):
        get_preset("followir")


def test_a_measure_is_its_string() -> None:
    assert parse("R@5") != parse("R@6")
    assert parse("R@5") != "R@5"
    assert parse("R(rel=2)@5")["rel"] == 2.0


@pytest.mark.parametrize("name", list(PRESETS))
def test_presets(name: str) -> None:
    preset = get_preset(name)
    assert preset.name == name
    assert preset.about
    for text in preset.measures:
        assert parse(str(preset.parse(text))) == preset.parse(text), "the resolved spelling needs no preset"
    assert set(preset.by_trec) <= set(MEASURES)
    for family, given in preset.defaults.items():
        assert MEASURES.get(family)(None if MEASURES.get(family).cut == "none" else 1, **given)


def test_what_presets_mean() -> None:
    assert [str(get_preset("fork").parse(t)) for t in ("WISE@20", "SICR", "Per@20", "nDCG@10")] == [
        "WISE(rule=fork)@20",
        "SICR(rule=fork,missing=zero)",
        "Per(rule=fork)@20",
        "nDCG@10",
    ]
    assert [str(get_preset("csfcube").parse(t)) for t in ("NDCG@20", "map", "NDCG%20", "R@20")] == [
        "csfcube_ndcg@20",
        "AP(rel=2,base=found)",
        "NDCG%20",
        "R(rel=2)@20",
    ]
    assert str(get_preset("litsearch-tool").parse("nDCG@10")) == "litsearch_ndcg@10"
    assert (get_preset("trec").precision, get_preset("paper").precision) == ("float32", "float64")
    orders = {name: preset.order for name, preset in PRESETS.items()}
    assert {name for name, order in orders.items() if order == "input"} == {
        "fork",
        "csfcube",
        "litsearch-tool",
        "followir-2024",
    }


def test_public_names_are_there_and_loaded_on_demand() -> None:
    for name in aspectra.lab.__all__:
        docstring = getattr(aspectra.lab, name).__doc__
        assert docstring
        assert ">>> " in docstring or name in ("Comparison", "Score"), "an example that runs"
        assert name in dir(aspectra.lab)
    assert "p_MRR" in dir(aspectra.lab)
    with pytest.raises(AttributeError, match="no attribute 'nDGC'"):
        aspectra.lab.nDGC  # noqa: B018
    code = "import sys, aspectra.lab; assert not {'numpy', 'msgspec', 'backports.zstd'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_listing_and_scoring_measures_imports_nothing_heavy() -> None:
    code = (
        "import sys, aspectra.lab.measures.protocol as m; m.MEASURES.names();"
        "import aspectra.lab.evaluation.calculate, aspectra.lab.runs.run;"
        "import aspectra.lab.statistics.significance, aspectra.lab.runs.run;"
        "[m.MEASURES.get(n) for n in m.MEASURES];"
        "assert not {'openvino', 'bm25s', 'scipy', 'pandas', 'sklearn', 'ir_measures'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
