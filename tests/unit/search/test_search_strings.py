"""Boolean strings: told by their form, read as their database reads them, and applied as a filter."""

from __future__ import annotations

import re
from functools import cache

import pytest

from aspectra.base.errors import UsageError
from aspectra.papers.paper import Paper
from aspectra.search.conditions.attributes.content.boolean import parse
from aspectra.search.conditions.condition import Condition
from aspectra.search.instructions.understanding import understand
from aspectra.search.query import Query
from aspectra.search.searcher import Searcher
from small_library import searcher_over

# id -> title, abstract, keywords.
TEXTS = {
    "a": (
        "Wildfire smoke and asthma",
        "Children near a wildfire breathe smoke for days.",
        ["Asthma", "Child"],
    ),
    "b": (
        "Smoke from wildfires",
        "Women who cook on wood fires report a chronic cough.",
        ["Smoke", "Women's Health"],
    ),
    "c": (
        "Asthmatic adults",
        "The lung function of a woman with asthma, measured at home.",
        ["Quality of Life"],
    ),
    "d": (
        "Honey bees",
        "Pesticides harm honey bees, bumblebees and the behaviour of a bee colony.",
        ["Bees"],
    ),
    "e": (
        "Bumblebee behavior",
        "The colour of flowers guides every bee; honey was not offered.",
        ["Color Vision"],
    ),
    "f": ("Insulin and glucose in mice", "Nicotinamide riboside lowers glucose.", ["Mice", "Insulin"]),
    "g": (
        "NMN in older adults",
        "Nicotinamide mononucleotide improves insulin sensitivity in women.",
        ["Aging"],
    ),
    "h": ("Coping with hip pain", "Pain in the left hip. Heart failure was an exclusion.", ["Heart Failure"]),
    "i": (
        "Failure of the heart",
        "Treatment after a heart attack; failure is rare.",
        ["Quality of Life", "Stroke"],
    ),
    "j": ("COVID-19 and the paediatric ward", "SARS-CoV-2 in children; pediatric wards were full.", []),
    "k": ("Crème brûlée, naïve tasters", "Sugar and heat: colours of a dessert.", ["Sugar"]),
    "l": ("数字化转型与企业创新", "企业的数字化。", []),
    "m": ("Only a title about smoke", "", []),
}
ALL = frozenset(TEXTS)
PLAIN = str.maketrans("èûéï", "euei")


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Searcher:
    papers = [Paper(i, *text[:2], metadata={"keywords": text[2]}) for i, text in TEXTS.items()]
    return searcher_over(tmp_path_factory.mktemp("strings") / "library", [*papers, Paper("empty")])


def _tokens(text: str) -> list[str]:
    return re.findall("[a-z0-9]+|[\u4e00-\u9fff]", text.lower().translate(PLAIN))


@cache
def _fields(paper: str, fields: str) -> list[list[str]]:
    title, abstract, keywords = TEXTS[paper]
    held = {"t": [title], "a": [abstract], "k": keywords}
    return [_tokens(text) for field in fields for text in held[field]]


def _fits(pattern: str, word: str) -> bool:
    """Letter by letter: * any, ? one or none, # one."""
    if not pattern:
        return not word
    if pattern[0] in "*?" and _fits(pattern[1:], word):
        return True
    if pattern[0] in "*?#":
        return bool(word) and _fits(pattern if pattern[0] == "*" else pattern[1:], word[1:])
    return word[:1] == pattern[0] and _fits(pattern[1:], word[1:])


def _places(phrase: str, words: list[str]) -> list[tuple[int, int]]:
    own = phrase.split()
    return [
        (at, at + len(own))
        for at in range(len(words))
        if len(words[at:]) >= len(own) and all(map(_fits, own, words[at:]))
    ]


def w(phrase: str, fields: str = "ta") -> frozenset[str]:
    """Papers with words in a row."""
    return frozenset(p for p in ALL if any(_places(phrase, words) for words in _fields(p, fields)))


def near(left: str, right: str, gap: int, fields: str = "ta", ordered: bool = False) -> frozenset[str]:
    """Papers with two phrases, ``|`` between alternatives, and at most so many words between."""
    found = set()
    for paper in ALL:
        for words in _fields(paper, fields):
            for a in (place for one in left.split("|") for place in _places(one, words)):
                for b in (place for one in right.split("|") for place in _places(one, words)):
                    if 0 <= b[0] - a[1] <= gap or (not ordered and 0 <= a[0] - b[1] <= gap):
                        found.add(paper)
    return frozenset(found)


# A string in the form of a database, and the set it means, by plain set operations.
STRINGS = [
    # no database
    ("wildfire AND smoke", w("wildfire") & w("smoke")),
    ("(wildfire* OR fires) AND smoke", (w("wildfire*") | w("fires")) & w("smoke")),
    (
        '("nicotinamide riboside" OR NMN) AND (insulin OR glucose) NOT mice',
        (w("nicotinamide riboside") | w("nmn")) & (w("insulin") | w("glucose")) - w("mice"),
    ),
    ("asthma* OR bee AND honey", w("asthma*") | (w("bee") & w("honey"))),
    ("(asthma* or cough*) and wom#n", (w("asthma*") | w("cough*")) & w("wom#n")),
    ('"heart failure" OR "hip pain"', w("heart failure") | w("hip pain")),
    ("“heart failure” OR “hip pain”", w("heart failure") | w("hip pain")),
    ("behavio?r AND (bee OR bees)", w("behavio?r") & (w("bee") | w("bees"))),
    ("CREME AND (Brûlée OR naive)", w("creme") & (w("brulee") | w("naive"))),
    ("covid-19 OR sars-cov-2", w("covid 19") | w("sars cov 2")),
    ("数字化 AND 企业", w("数 字 化") & w("企 业")),
    ("SARS CoV 2 OR glucose", w("sars") & w("cov") & w("2") | w("glucose")),
    ('smoke AND NOT "wildfire smoke"', w("smoke") - w("wildfire smoke")),
    (
        "(smoke OR honey) NOT (wildfire OR flowers)",
        (w("smoke") | w("honey")) - (w("wildfire") | w("flowers")),
    ),
    (
        "honey AND (bees OR (colony AND (pesticid* OR flower*)))",
        w("honey") & (w("bees") | (w("colony") & (w("pesticid*") | w("flower*")))),
    ),
    ("'heart failure' OR (hip AND 'hip pain')", w("heart failure") | (w("hip") & w("hip pain"))),
    ("(wildfire OR fires)AND(smoke)", (w("wildfire") | w("fires")) & w("smoke")),
    ('"#9th" OR smoke', w("#9th") | w("smoke")),
    # PubMed
    ("smoke[tiab] AND asthma[ti]", w("smoke") & w("asthma", "t")),
    ("smoke[ti] OR glucose[ab]", w("smoke", "t") | w("glucose", "a")),
    ("asthma*[Title/Abstract] NOT wildfire[Title]", w("asthma*") - w("wildfire", "t")),
    ("smoke[tiab] OR honey[tiab] AND bees[tiab]", (w("smoke") | w("honey")) & w("bees")),
    ("honey[tiab] NOT bees[tiab] OR smoke[tiab]", (w("honey") - w("bees")) | w("smoke")),
    ("Asthma[mh] OR heart attack[tiab]", w("asthma", "k") | w("heart attack")),
    (
        '"Quality of Life"[Mesh:noexp] AND (heart[tw] OR lung[tw])',
        w("quality of life", "k") & (w("heart") | w("lung")),
    ),
    ('"hip pain"[tiab:~2] OR "pain hip"[ti:~0]', near("hip", "pain", 2) | near("pain", "hip", 0, "t")),
    ("wom?n[tiab] OR cough[tiab]", w("cough")),
    ("insulin[all] AND women[tiab]", w("insulin", "tak") & w("women")),
    ("honey bees AND pesticides[tiab]", w("honey") & w("bees") & w("pesticides")),
    (
        "(smoke[ti] OR cough[ab]) AND (wildfires[ti] OR (cook[tiab] NOT days[tiab]))",
        (w("smoke", "t") | w("cough", "a")) & (w("wildfires", "t") | (w("cook") - w("days"))),
    ),
    (
        "(bee[tiab] OR bees[tiab]) NOT (colony[tiab] OR flowers[ot])",
        (w("bee") | w("bees")) - (w("colony") | w("flowers", "k")),
    ),
    ("color vision[ot] OR sugar[ot]", w("color vision", "k") | w("sugar", "k")),
    ("child*[tiab] AND 2015:2020[dp]", w("child*")),
    # Ovid
    ("asthma$.ti,ab.", w("asthma*")),
    ("exp Asthma/ or cough.ab.", w("asthma", "k") | w("cough", "a")),
    ("*Insulin/ and nicotinamide riboside.ti,ab.", w("insulin", "k") & w("nicotinamide riboside")),
    ("(wildfire$ adj3 smoke).ti,ab.", near("wildfire*", "smoke", 2)),
    (
        "(smoke adj wildfire$).mp. or (wildfire$ adj smoke).mp.",
        near("smoke", "wildfire*", 0, "tak", True) | near("wildfire*", "smoke", 0, "tak", True),
    ),
    ("((hip or heart) adj4 (pain or failure)).tw.", near("hip|heart", "pain|failure", 3)),
    ("wom#n.ab. and (home or insulin).ti,ab.", w("wom#n", "a") & (w("home") | w("insulin"))),
    ("colo?r$1.tw.", w("colo?r?")),
    ("bee$1.tw.", w("bee?")),
    ("honey.ti. or smoke.ti. and asthma.ti.", w("honey", "t") | (w("smoke", "t") & w("asthma", "t"))),
    ("honey.ti. not bee.ti. and bees.ti.", w("honey", "t") - (w("bee", "t") & w("bees", "t"))),
    ("heart attack.mp. or heart failure.kw.", w("heart attack", "tak") | w("heart failure", "k")),
    (
        '"quality of life".kw. not (stroke/ or lung.ti.)',
        w("quality of life", "k") - (w("stroke", "k") | w("lung", "t")),
    ),
    ("p?ediatric.mp. and children.mp.", w("p?ediatric", "tak") & w("children", "tak")),
    (
        "((bumble* or honey) and (pesticide* or flower*)).ti,ab,kw.",
        (w("bumble*", "tak") | w("honey", "tak")) & (w("pesticide*", "tak") | w("flower*", "tak")),
    ),
    ("(lung adj3 woman).tw. or honey.ti.", near("lung", "woman", 2) | w("honey", "t")),
    ("heart failure or exp Bees/", w("heart failure") | w("bees", "k")),
    (
        "*Insulin/ag [Agonists] or bee.mp. [mp=title, abstract, heading word]",
        w("insulin", "k") | w("bee", "tak"),
    ),
    # Web of Science, Embase and Cochrane
    ("'quality of life'/exp AND 'lung function':ti,ab", w("quality of life", "k") & w("lung function")),
    ("('pain' NEAR/3 'hip'):ab OR 'sugar'/de", near("pain", "hip", 2, "a") | w("sugar", "k")),
    ("'heart' NEXT/1 'attack':ab OR 'attack' NEXT/1 'heart':ab", near("heart", "attack", 0, "ta", True)),
    ("asthma:ti OR (hip NEAR/3 pain):ti,ab,kw", w("asthma", "t") | near("hip", "pain", 3, "tak")),
    ("TS=bee? OR TI=smoke", w("bee#", "tak") | w("smoke", "t")),
    ("TS=(wildfire* AND smoke)", w("wildfire*", "tak") & w("smoke", "tak")),
    ("TI=(smoke OR honey) NOT AB=(wildfire)", (w("smoke", "t") | w("honey", "t")) - w("wildfire", "a")),
    ("TS=(hip NEAR/3 pain)", near("hip", "pain", 3, "tak")),
    ("TS=((heart OR hip) NEAR/2 (failure OR pain))", near("heart|hip", "failure|pain", 2, "tak")),
    ("TS=wom?n OR TS=colo$r", w("wom#n", "tak") | w("colo?r", "tak")),
    (
        "AK=(Asthma OR Bees) AND TS=colo$r OR TI=insulin",
        ((w("asthma", "k") | w("bees", "k")) & w("colo?r", "tak")) | w("insulin", "t"),
    ),
    ('TS=(honey bees) AND TS="bee colony"', w("honey", "tak") & w("bees", "tak") & w("bee colony", "tak")),
    (
        "TI=(bee* AND behavio$r) OR TS=(behavio$r NEAR/4 colony)",
        (w("bee*", "t") & w("behavio?r", "t")) | near("behavio?r", "colony", 4, "tak"),
    ),
    (
        "TS=smoke NOT TS=asthma AND TS=wildfires",
        (w("smoke", "tak") - w("asthma", "tak")) & w("wildfires", "tak"),
    ),
    # Scopus
    (
        "TITLE-ABS-KEY(attack PRE/1 heart) OR TITLE(smoke)",
        near("attack", "heart", 1, "tak", True) | w("smoke", "t"),
    ),
    ("TITLE-ABS-KEY ( wildfire* AND smoke )", w("wildfire*", "tak") & w("smoke", "tak")),
    ("TITLE-ABS-KEY(hip W/3 pain)", near("hip", "pain", 3, "tak")),
    (
        "TITLE-ABS-KEY(heart PRE/1 attack) OR TITLE(failure PRE/2 heart)",
        near("heart", "attack", 1, "tak", True) | near("failure", "heart", 2, "t", True),
    ),
    (
        "TITLE-ABS-KEY(smoke OR honey AND wildfire*)",
        (w("smoke", "tak") | w("honey", "tak")) & w("wildfire*", "tak"),
    ),
    ("TITLE-ABS(insulin AND NOT mice OR cough)", w("insulin") - (w("mice") | w("cough"))),
    ("TITLE(smoke) AND KEY(women*)", w("smoke", "t") & w("women*", "k")),
    (
        'TITLE-ABS-KEY({heart attack} OR "quality of life") AND PUBYEAR > 2019',
        w("heart attack", "tak") | w("quality of life", "tak"),
    ),
    ("TITLE-ABS-KEY(wom?n) AND NOT TITLE(smoke)", w("wom#n", "tak") - w("smoke", "t")),
]


@pytest.mark.parametrize(("text", "expected"), STRINGS, ids=[text for text, _ in STRINGS])
def test_a_string_finds_what_plain_set_operations_find(searcher, text, expected):
    ranking = searcher.search(text, limit=99)
    assert set(ranking.ids) == expected
    assert 0 < len(expected) < len(ALL)
    (condition,) = ranking.plan.conditions
    assert (condition.relation, condition.words) == ("require", text)
    assert Condition.parse(condition.spelling).value == condition.value == parse(condition.value)[0].spelling
    assert ranking.plan.search.texts[0] == ranking.requests.searched[0] != text


@pytest.mark.parametrize(
    "text",
    [
        "the effects of wildfire smoke AND heat on children",
        "PFAS exposure during pregnancy and thyroid hormones OR birth weight",
        "honey bees NOT bumblebees",
        "bees, NOT wasps, AND in German",
        "EFFECTS OF FIRE AND SMOKE",
        "FIRE AND SMOKE",
        "Is insulin OR metformin better?",
        "smoke (PM2.5 OR ozone) and asthma in the city",
        'papers that mention "zinc" OR iron',
        "A* search and planning",
        "To be or not to be: sleep and (in)sanity",
        "type 1 and 2 diabetes",
        "bees and wasps, not ants",
        "wildfire smoke 2015:2020[dp]",
        "HIV (AIDS) AND TB",
        "C*-algebras and K-theory",
        "deep graph neural network models AND molecules",
        "Imaging with TI = 500 ms and fields g[ab] was fast; exp B/RT is small",
        "Salt & pepper. OR: how to season",
    ],
)
def test_other_texts_are_no_strings(text):
    query = understand(Query(text)).query
    assert "boolean" not in {condition.attribute for condition in query.conditions}


@pytest.mark.parametrize(
    ("text", "said", "words"),
    [
        ("(bees OR honey AND nectar", "the bracket at character 1 is not closed", "bees honey nectar"),
        ("bees[tiab] OR honey) AND nectar", "the bracket at character 20 closes none", "bees honey nectar"),
        (
            'bees AND "honey OR nectar',
            "the sign at character 10 is not closed",
            "bees honey nectar",
        ),
        ("bees[ti] AND OR honey", "a term is missing before character 14", "bees honey"),
        ("bees[ti] AND", "a term is missing before character 13", "bees"),
        (
            "(bees* wasp*) NEAR/3 honey",
            "beside the operator at character 15 words are not one",
            "bees wasp honey",
        ),
        ("TS=(bees SAME honey)", "SAME at character 10 is not known here", "bees SAME honey"),
        ("bees[ti] OR " + "(" * 60 + "b", "more than 50 brackets", "bees b"),
        ("bees[ti] OR a*b*c*d*e", "more than 3 wildcards", "bees a b c d e"),
        ("1 and 2", "lines of another search are not known here", "1 2"),
        ("#1 OR #3", "lines of another search are not known here", "1 3"),
        (
            "1. exp Bees/\n2. honey.ti,ab.\n3. 1 or 2",
            "numbered lines are not put together",
            "1 Bees 2 honey 3 1 2",
        ),
    ],
)
def test_a_fault_is_said_with_its_place_and_the_words_are_searched(text, said, words):
    understood = understand(Query(text))
    assert [said in unread.why for unread in understood.unread] == [True]
    assert (understood.query.text, understood.query.conditions) == (words, ())


@pytest.mark.parametrize(
    ("text", "named", "condition"),
    [
        ("exp Bees/ or honey.ti.", {"exp Bees/": "narrower"}, "bees[kw] OR honey[ti]"),
        ("Bees[mh] OR honey[ti]", {"Bees[mh]": "narrower"}, "bees[kw] OR honey[ti]"),
        ("Bees[mh:noexp] OR honey[ti]", {}, "bees[kw] OR honey[ti]"),
        ("honey.ti. and 3", {"3": "lines of another search"}, "honey[ti]"),
        ("TS=honey AND PY=2019", {"PY=2019": "condition instead"}, "honey[ti,ab,kw]"),
        ("honey[ti] AND english[la]", {"english[la]": "condition instead"}, "honey[ti]"),
    ],
)
def test_what_cannot_be_had_is_named_on_every_surface(searcher, text, named, condition):
    ranking = searcher.search(text, limit=3)
    assert ranking.plan.conditions[0].value == condition
    said = {one["words"]: one["why"] for one in ranking.to_dict()["requests"]["not_applied"]}
    assert said.keys() == named.keys()
    for words, why in named.items():
        assert why in said[words]
        assert any(f"“{words}”" in warning and why in warning for warning in ranking.warnings)


def test_requests_stand_behind_a_string_and_a_set_of_zero_says_what_to_do(searcher):
    query = understand(Query("(bees OR honey) AND colony, since 2020, no reviews")).query
    assert [c.spelling for c in query.conditions[1:]] == ["require year=>=2020", "exclude kind=survey"]
    assert query.text == "bees honey colony"
    (warning,) = searcher.search("honey AND smoke").warnings
    assert warning.startswith("no paper meets [require boolean=honey AND smoke]: take out a part")
    assert searcher.search("honey AND smoke", literal=True).plan.conditions == ()
    (hit,) = searcher.search('"heart failure" OR "lung function"', limit=1)
    assert hit.conditions[0].quote in ("lung function", "Heart failure")


def test_a_string_that_only_denies_has_nothing_to_search_for():
    with pytest.raises(UsageError, match="something to search for is missing"):
        understand(Query("NOT mice[tiab]"))


@pytest.mark.parametrize(
    ("text", "searched", "read"),
    [
        ("owls -reviews", "owls", ["exclude kind=survey"]),
        ("owls -preprints -theses", "owls", ["exclude status=preprint", "exclude kind=thesis"]),
        ('barn owls -"book chapters"', "barn owls", ["exclude kind=book"]),
        ("-reviews owls", "owls", ["exclude kind=survey"]),
        ("owls -Nature", "owls", ["exclude venue=Nature"]),
        ("jaguar speed -car", "jaguar speed", ["exclude keyword=car"]),
        ("jaguar NOT car", "jaguar", ["exclude keyword=car"]),
        ("owls NOT reviews", "owls", ["exclude kind=survey"]),
        ("owls -reviews, since 2015", "owls", ["require year=>=2015", "exclude kind=survey"]),
        (
            "owls -reviews author:Lee, since 2015",
            "owls",
            ["require year=>=2015", "exclude kind=survey", "require author=Lee"],
        ),
        ("owls author:Smith barn", "owls barn", ["require author=Smith"]),
        ('owls -author:"Andrew Gelman"', "owls", ["exclude author=Andrew Gelman"]),
        ("owls after:2015 before:2020", "owls", ["require year=>=2015", "require year=<2020"]),
        ("owls year:2015..2018", "owls", ["require year=2015..2018"]),
        ("owls source:Nature type:review", "owls", ["require venue=Nature", "require kind=survey"]),
        ("owls lang:de access:open", "owls", ["require language=de", "require access=open"]),
        ("owls intitle:barn", "owls", ['require boolean="barn"[ti]']),
        ("bees OR wasps -reviews", "bees wasps", ["require boolean=bees OR wasps", "exclude kind=survey"]),
        ("(bees OR wasps) author:Lee", "bees wasps", ["require boolean=bees OR wasps", "require author=Lee"]),
    ],
)
def test_operators_of_search_boxes_are_requests(text, searched, read):
    query = understand(Query(text)).query
    assert (query.text, [condition.spelling for condition in query.conditions]) == (searched, read)
    assert all(condition.words in text for condition in query.conditions)


@pytest.mark.parametrize(
    "text",
    [
        "MOVEMENT -Modular Versatile Mobility System",
        "Following and -guiding in crowds",
        "Machine Translation Pre-training for Text Generation -A Case Study in Czech",
        "Deep Learning for Mobile Robots -Review",
        "the action of β -catenin",
        "a car system -iCART-",
        "ethics of source:a study of motives",
        "barn owl-reviews",
    ],
)
def test_dashes_of_crawled_titles_are_no_operators(text):
    query = understand(Query(text)).query
    assert (query.text, query.conditions) == (text.rstrip("-"), ())


def test_an_operator_that_says_nothing_of_papers_is_reported():
    understood = understand(Query("owls site:arxiv.org year:soon"))
    assert understood.query.text == "owls"
    said = {unread.words: unread.why for unread in understood.unread}
    assert "tells nothing that a search here knows" in said["site:arxiv.org"]
    assert "'soon' is no year" in said["year:soon"]
