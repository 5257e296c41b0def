"""A wrong name, value or option is answered with the right one."""

from __future__ import annotations

import pytest

from aspectra.base.errors import UsageError, check_choice, did_you_mean, refuse_unknown
from aspectra.search.planning.aspects import Aspect


@pytest.fixture
def indexed(home, run):
    (home / "work" / "a.bib").write_text("@article{a, title={Owls}, year=2020, abstract={Owls hunt.}}")
    for command in (["init"], ["add", "a.bib"], ["index", "--no-encoder"]):
        assert run(*command)[0] == 0
    return run


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["search", "owls", "--same", "metod"], "did you mean method?"),
        (["search", "owls", "--different", "reslut"], "did you mean result?"),
        (["search", "owls", "-c", "avoid kind=review"], "did you mean survey?"),
        (["search", "owls", "-c", "require kind=datset"], "did you mean dataset"),
        (["search", "owls", "-c", "avoid langage=de"], "did you mean language"),
        (["search", "owls", "-c", "forbid kind=survey"], "known: require, exclude, prefer, avoid"),
        (["search", "owls", "-c", "avoids kind=survey"], "did you mean avoid?"),
        (["search", "owls", "--top", "5"], "did you mean --limit?"),
        (["search", "owls", "--lang", "de"], "--language"),
        (["search", "owls", "--out", "x"], "--output"),
        (["search", "owls", "--model", "x"], "llm.model"),
        (["search", "owls", "--format", "bibtx"], "did you mean bibtex?"),
        (["search", "owls", "--recipe", "hybird"], "did you mean hybrid?"),
        (["search", "owls", "--stage", "rerankk"], "did you mean rerank?"),
        (["similar", "a", "--direction", "build-on"], "did you mean builds-on"),
        (["export", "--all", "--format", "riss"], "did you mean ris?"),
        (["add", "a.bib", "--as", "bibtx"], "did you mean bibtex"),
        (["index", "--encoder", "minlim"], "did you mean minilm?"),
        (["index", "--method", "lucen"], "did you mean lucene?"),
        (["index", "--stemmer", "englsh"], "did you mean english?"),
        (["config", "set", "limit", "3"], "did you mean search.limit?"),
        (["serch", "owls"], "search"),
    ],
)
def test_the_command_line_suggests(indexed, words, said):
    code, out, err = indexed(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.strip().splitlines()) <= 3


def test_an_option_of_other_tools_is_answered_with_ours(run):
    assert "did you mean --limit?" in run("search", "owls", "--top", "5")[2]


@pytest.mark.parametrize(
    "aspect", ["method", "Methods", "findings", "approach", "evaluation protocol", "ethics"]
)
def test_aspects_in_other_words_are_no_typing_errors(aspect):
    assert Aspect.parse(aspect).name


def test_the_nearest_comes_first_and_case_does_not_count():
    assert did_you_mean("BM25", ["bm25", "dense"]) == "did you mean bm25?"
    assert did_you_mean("zzz", ["bm25", "dense"]) == ""
    assert check_choice("bm25", ["bm25"], "planner") == "bm25"
    with pytest.raises(UsageError, match="there is no planner 'bm52'") as error:
        check_choice("bm52", ["bm25", "dense"], "planner")
    assert (error.value.why, error.value.hint) == ("known: bm25, dense", "did you mean bm25?")
    with pytest.raises(UsageError) as error:
        refuse_unknown({"limt": 3}, ["limit", "evidence"], "field in a plan")
    assert error.value.hint == "did you mean limit?"
