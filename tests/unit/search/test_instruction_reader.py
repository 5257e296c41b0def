"""The reader of requests: rule by rule, and the hand-written sets."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from aspectra.base.errors import UsageError
from aspectra.search.instructions import marks
from aspectra.search.instructions.reading import read_instruction
from aspectra.search.instructions.recognisers.bounds import read_bound
from aspectra.search.instructions.recognisers.lexicon import corrected, expand
from aspectra.search.instructions.recognisers.names import library_venues, read_name
from aspectra.search.instructions.understanding import understand
from aspectra.search.query import Query

DATA = Path(__file__).parents[2] / "data"
# Where the older sets name other attributes than those of today: a peer-reviewed text has that status, and
# code that comes with a paper is an artifact.
ALIKE = {
    ("source", "scholarly"): {("status", "peer-reviewed"), ("status", "journal"), ("status", "preprint")},
    ("source", "name:arXiv"): {("status", "preprint")},
    ("format", "code"): {("artifacts", "code")},
    ("format", "prose"): {("kind", "tutorial")},
    ("kind", "evaluation"): {("kind", "replication"), ("kind", "empirical")},
}


def _read(name: str) -> list[dict]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def _wanted(item: dict) -> set[tuple[str, str, str]]:
    return {(c["attribute"], c["value"], c["relation"]) for c in item["conditions"]}


def _found(text: str, **kwargs) -> set[tuple[str, str, str]]:
    reading = read_instruction(text, **kwargs)
    aspects = [("aspect", a, "same") for a in reading.same] + [
        ("aspect", a, "different") for a in reading.different
    ]
    return {(c.attribute, c.value, c.relation) for c in reading.conditions} | set(aspects)


def _agree(found: set[tuple[str, str, str]], wanted: set[tuple[str, str, str]]) -> bool:
    """Whether both are the same, one name for another where the attributes changed."""
    left = set(found)
    for attribute, value, relation in wanted:
        year = value.partition("..") if attribute == "year" else None
        plain = year[0] if year and year[0] == year[2] else value
        names = {(attribute, value), (attribute, plain), *ALIKE.get((attribute, value), ())}
        met = next((one for one in left if one[:2] in names and one[2] == relation), None)
        if met is None:
            return False
        left.remove(met)
    return not left


@pytest.mark.parametrize(
    ("name", "share"), [("instructions.jsonl", 0.85), ("instructions_fresh.jsonl", 0.75)]
)
def test_the_older_sets_of_requests_about_documents(name, share):
    items = _read(name)
    right = [i["text"] for i in items if _agree(_found(i["text"]), _wanted(i))]
    assert len(right) >= share * len(items), sorted({i["text"] for i in items} - set(right))


def test_instructions_of_the_obedience_queries():
    queries = _read("obedience/queries.jsonl")
    right = sum(_agree(_found(q["instruction_changed"], whole_query=False), _wanted(q)) for q in queries)
    assert right >= 0.95 * len(queries)
    for query in queries:
        reading = read_instruction(query["text"])
        assert reading.spellings == ()
        assert reading.topic == query["text"].strip("?")


def _asked(text: str) -> tuple[list[str], str, list[str]]:
    reading = read_instruction(text)
    return list(reading.spellings), reading.topic, [u.words for u in reading.unread]


def _told(text: str) -> list[str]:
    return sorted(read_instruction(text, whole_query=False).spellings)


@pytest.mark.parametrize(
    ("text", "spellings", "topic"),
    [
        # Requests around a subject, in one piece.
        ("a survey of bee diseases", ["prefer kind=survey"], "bee diseases"),
        ("recent papers on bee diseases", ["prefer recency=new"], "bee diseases"),
        ("seminal work in apiculture", ["prefer citations=high"], "apiculture"),
        ("open access articles on mites since 2018", ["prefer access=open", "require year=>=2018"], "mites"),
        ("KDD 2019 papers on swarms", ["require venue=KDD", "require year=2019"], "swarms"),
        ("papers by Ada Lovelace on engines", ["require author=Ada Lovelace"], "engines"),
        ("swarm robotics at ICRA", ["require venue=ICRA"], "swarm robotics"),
        ("hive models by people at INRIA", ["require affiliation=INRIA"], "hive models"),
        ("texts on mites written in Spanish or Welsh", ["prefer language=es", "prefer language=cy"], "mites"),
        ("papers on foraging with code", ["prefer artifacts=code"], "foraging"),
        ("hive monitoring without any deep learning", ["exclude method=deep learning"], "hive monitoring"),
        ("hive inspection methods other than X-rays", ["avoid topic=X-rays"], "hive inspection methods"),
        # Pieces of their own.
        ("mites, no reviews, since 2019", ["exclude kind=survey", "require year=>=2019"], "mites"),
        ("mites, 2019–, no theses", ["require year=>=2019", "exclude kind=thesis"], "mites"),
        ("mites (no EEG, no finance)", ["exclude topic=EEG", "exclude topic=finance"], "mites"),
        ("mites, in adults over 60", ["prefer population=adults over 60"], "mites"),
        ("mites, only adults over 60", ["require population=adults over 60"], "mites"),
        ("mites, no computer vision papers", ["exclude topic=computer vision"], "mites"),
        ("mites, no vision papers", ["exclude topic=vision"], "mites"),
        ("mites outside the United States", ["avoid population=United States"], "mites"),
        ("mites from outside Europe or Asia since 2015",
         ["avoid population=Europe", "avoid population=Asia", "require year=>=2015"], "mites"),
        ("outside China: mites", ["avoid population=China"], "mites"),
        ("only studies outside the UK, mites", ["exclude population=UK"], "mites"),
        ("learning outside the classroom", [], "learning outside the classroom"),
        ("mites killed by Neem or Thymol", ["prefer author=Neem", "prefer author=Thymol"],
         "mites killed by Neem or Thymol"),
        ("mites by Ada Lovelace or Judea Pearl",
         ["require author=Ada Lovelace", "require author=Judea Pearl"], "mites"),
        ("papers by either Ong or Lam on mites", ["require author=Ong", "require author=Lam"], "mites"),
        ("papers that release their dataset on mites", ["prefer artifacts=data"], "mites"),
        ("bee mites which share their raw data", ["prefer artifacts=data"], "bee mites"),
        ("language models that publish their weights", ["prefer artifacts=weights"], "language models"),
        ("how do states release data on mites", [], "how do states release data on mites"),
        ("mites, exclude conference abstracts and trial registrations",
         ["exclude status=abstract", "exclude status=registration"], "mites"),
        ("mites; peer reviewed", ["prefer status=peer-reviewed"], "mites"),
        ("mites. I don't want surveys.", ["exclude kind=survey"], "mites"),
        ("mites, but nothing on wasps", ["exclude topic=wasps"], "mites"),
        ("mites, not from the US", ["avoid population=US"], "mites"),
        ("mites, not for wasps", ["avoid topic=wasps"], "mites"),
        ("mites, trials only, n > 200", ["require kind=trial", "require sample=>200"], "mites"),
        ("mites, at least 50 citations", ["require citations=>=50"], "mites"),
        ("mites, no paywalled papers", ["require access=open"], "mites"),
        ("Only surveys on mites", ["require kind=survey"], "mites"),
        ("mites: inclusion: RCTs; exclusion: theses", ["require kind=rct", "exclude kind=thesis"], "mites"),
        ("mites, no surveys, theses or books",
         ["exclude kind=survey", "exclude kind=thesis", "exclude kind=book"], "mites"),
        # A denied list of other kinds of things stays denied: what is wanted begins without a conjunction.
        ("mites, no reviews, comments or papers by Ito",
         ["exclude kind=survey", "exclude author=Ito", "exclude topic=comments"], "mites"),
        ("mites, excluding reviews, papers in French and preprints",
         ["exclude kind=survey", "exclude language=fr", "exclude status=preprint"], "mites"),
        ("no reviews, theses or papers by Ito on mites",
         ["exclude kind=survey", "exclude kind=thesis", "exclude author=Ito"], "mites"),
        ("mites, sans revues, thèses ou articles de 2019",
         ["exclude kind=survey", "exclude kind=thesis", "exclude year=2019"], "mites"),
        ("mites, no reviews, preprints or papers in French",
         ["exclude kind=survey", "exclude language=fr"], "mites"),
        ("mites, no reviews, papers by Ito or Ong",
         ["exclude kind=survey", "require author=Ito", "require author=Ong"], "mites"),
        ("mites, no reviews, English and since 2020",
         ["exclude kind=survey", "prefer language=en", "require year=>=2020"], "mites"),
        ("“zinc” must not appear", ["exclude keyword=zinc"], ""),
        ('bees and "varroa" must be mentioned', ["require keyword=varroa"], "bees and"),
        ("2020年以后的综述", ["require year=>=2020"], "综述"),
        ("mites, surveys or theses only", ["require kind=survey", "require kind=thesis"], "mites"),
        ("mites, theory rather than experiments", ["prefer kind=theory", "avoid kind=experiment"], "mites"),
        # Subjects, however tempting.
        ("Placing by touch: An empirical study of fingers", [],
         "Placing by touch: An empirical study of fingers"),
        ("early stopping in boosting", [], "early stopping in boosting"),
        ("newest vital sign literacy", [], "newest vital sign literacy"),
        ("peer review of teaching", [], "peer review of teaching"),
        ("do bees follow dances, or ignore them", [], "do bees follow dances, or ignore them"),
        ("query expansion without neural networks", ["exclude method=neural networks"], "query expansion"),
        ("foundational skills in early reading", [], "foundational skills in early reading"),
        ("image quality no reference", [], "image quality no reference"),
        ("question answering, no theses", ["exclude kind=thesis"], "question answering"),
        ("mite counts in apiaries qualitative studies preferred", ["prefer kind=qualitative"],
         "mite counts in apiaries"),
        ("mite counts honey yields no wasps please after 2019",
         ["exclude topic=wasps", "require year=>=2020"], "mite counts honey yields"),
        ("salud de las abejas, sin tesis ni redes neuronales",
         ["exclude kind=thesis", "exclude method=redes neuronales"], "salud de las abejas"),
        ("mites by Frisch or Butler", ["prefer author=Frisch", "prefer author=Butler"],
         "mites by Frisch or Butler"),
        ("mites / must mention varroa", ["require keyword=varroa"], "mites"),
        ("Which preprints deal with mites?", ["prefer status=preprint"], "mites"),
        ("关于mites的论文, 不早于2022年", ["require year=>=2022"], "mites"),
        ("no-reference image quality", [], "no-reference image quality"),
        ("survey methodology and bias", [], "survey methodology and bias"),
        ("learning without forgetting", [], "learning without forgetting"),
        ("the unless operator in default logic", [], "the unless operator in default logic"),
        ("foods that must not contain gluten", [], "foods that must not contain gluten"),
        ("blocks, skip connections and dropout", [], "blocks, skip connections and dropout"),
        ("the rise of blogging after 2004", [], "the rise of blogging after 2004"),
        ("studies showing no effect of sugar", [], "studies showing no effect of sugar"),
        ("theory", [], "theory"),
        ("nerve block for fractures", [], "nerve block for fractures"),
        ("exceptions to consent in emergencies", [], "exceptions to consent in emergencies"),
        ("no free lunch theorems", [], "no free lunch theorems"),
        ("to be or not to be a bee", [], "to be or not to be a bee"),
        ("need for cognition in bees", [], "need for cognition in bees"),
        ("wasps, bees, and adults with allergies", [], "wasps, bees, and adults with allergies"),
        ("open access, open data, and open hives", [], "open access, open data, and open hives"),
        ("hive propaganda, 1939-1945", [], "hive propaganda, 1939-1945"),
        ("Should children under 12 keep bees?", [], "Should children under 12 keep bees"),
        ("Placing Bees: A Case Study in Hive Care", [], "Placing Bees: A Case Study in Hive Care"),
        ("Learning Large Hive Models Without the Kernel Trick", [],
         "Learning Large Hive Models Without the Kernel Trick"),
        # Beside them, requests that resemble them.
        ("mites, not nerve block", ["avoid topic=nerve block"], "mites"),
        ("mites, not question answering", ["avoid topic=question answering"], "mites"),
        ("mites, drop Granger causality", ["exclude topic=Granger causality"], "mites"),
        ("mites, must predate 2017", ["require year=<=2016"], "mites"),
        ("mites, at the earliest 2018", ["require year=>=2018"], "mites"),
        ("mites in the 2020s", ["require year=2020..2029"], "mites"),
        ("mites, at COLING, no, at RSS", ["require venue=RSS"], "mites"),
        ("mites, only iros / naacl", ["require venue=iros", "require venue=naacl"], "mites"),
        ("mites beyond English", ["avoid language=en"], "mites"),
        ("mites. I already know Litz et al. 2009.", ["exclude known=Litz et al. 2009"], "mites"),
        ("I am a nurse on a ward and need trials on mites, excluding case reports",
         ["require kind=trial", "exclude kind=case report"], "mites"),
        ("Population: nurses. Outcome: burnout. Design: RCTs. Years: since 2015",
         ["prefer kind=rct", "require year=>=2015"], "nurses burnout"),
        ("How do I keep bees in German cities?", [], "How do I keep bees in German cities"),
        ("", [], ""),
        ("?!", [], ""),
    ],
)  # fmt: skip
def test_questions(text, spellings, topic):
    assert _asked(text) == (spellings, topic, [])


def test_a_limit_on_some_papers_alone_is_said_and_not_searched():
    read = understand(Query("keep it to journals; conference papers only if highly cited"))
    assert [one.words for one in read.unread] == ["conference papers only if highly cited"]
    assert "conference" not in read.query.text


def test_a_list_behind_a_subject_that_lacks_something_is_not_applied():
    text = "mites without letters, papers by Ito or papers in French"
    assert _asked(text) == ([], "mites without letters", ["papers by Ito or papers in French"])
    assert _asked("learning without forgetting, surveys or RCTs")[0] == [
        "prefer kind=survey",
        "prefer kind=rct",
    ]


@pytest.mark.parametrize(
    ("text", "spellings"),
    [
        ("nothing before 2015", ["require year=>=2015"]),
        ("not older than 2016", ["require year=>=2016"]),
        ("drop the reviews and keep only what has data available",
         ["exclude kind=survey", "require artifacts=data"]),
        ("exclude papers on wasps and purely theoretical work",
         ["exclude kind=theory", "exclude topic=wasps"]),
        ("Not eligible: wasps, non-English publications.", ["exclude topic=wasps", "require language=en"]),
        ("Only open access papers. Exception: anything by Kahneman.",
         ["require access=open unless author=Kahneman"]),
        ("only surveys, I mean, only wasps", ["require topic=wasps"]),
        ("Bees in winter.Avoid blogs", ["avoid source=blog"]),
        ("no Elsevier, except Cell Press", ["exclude publisher=Elsevier unless publisher=Cell Press"]),
        ("something from Forum Threads", ["prefer source=forum"]),
        ("from News Corp", ["require affiliation=News Corp"]),
        ("please discuss the role of “nectar”", ["prefer keyword=nectar"]),
        ("must not involve the use of the word “hive”", ["exclude keyword=hive"]),
        ("more scholarly than popular", ["prefer audience=expert"]),
        ("plain and clear, and a comprehensive article", ["prefer audience=lay", "prefer length=article"]),
        ("an answer, not only one sentence", ["avoid length=sentence"]),
        ("no student samples if you can avoid them", ["avoid topic=student samples"]),
        ("Population: nurses. Outcome: burnout", ["prefer population=nurses", "prefer reports=burnout"]),
        ("published after 2020", ["require year=>=2021"]),
        ("not 2020", ["exclude year=2020"]),
        ("between 2018 and 2021", ["require year=2018..2021"]),
        ("ideally since 2018", ["prefer year=>=2018"]),
        ("must report effect sizes", ["require reports=effect sizes"]),
        ("more on ethics, less on engineering", ["avoid topic=engineering", "prefer topic=ethics"]),
        ("not Nature Physics", ["exclude venue=Nature Physics"]),
        ("in Nature or Science", ["require venue=Nature", "require venue=Science"]),
        ("avoid MDPI", ["avoid publisher=MDPI"]),
        ("nothing that isn't in Welsh", ["require language=cy"]),
        ("I'd rather not have preprints", ["avoid status=preprint"]),
        ("prefer journal articles over preprints", ["avoid status=preprint", "prefer status=journal"]),
        ("leave blogs out", ["exclude source=blog"]),
        ("by other groups", ["exclude author=same"]),
        ("US only", ["require population=US"]),
        ("not Hinton, LeCun or Bengio",
         ["exclude author=Bengio", "exclude author=Hinton", "exclude author=LeCun"]),
        ("same method, other data", ["different data", "same method"]),
        # What is said behind an aspect decides, also where it is that of the seed or of others.
        ("their results contradict this one", ["different result"]),
        ("its findings are at odds with this paper's", ["different result"]),
        ("papers that contradict this one", ["different result"]),
        ("work that contradicts its findings", ["different result"]),
        ("I want papers that challenge these results", ["different result"]),
        ("studies that disagree with its approach", ["different method"]),
        ("papers that confirm this one", ["same result"]),
        ("that do not agree with this paper", ["different result"]),
        ("work that challenges the main findings of attachment theory", []),
        ("I have no background in statistics", ["prefer audience=lay"]),
        ("I have no institutional login, so open access only", ["require access=open"]),
        ("ideally from Iowa State or Purdue",
         ["prefer affiliation=Iowa State", "prefer affiliation=Purdue"]),
        ("German-language theses are fine, otherwise English only",
         ["require language=en unless language=de; kind=thesis"]),
        ("for my thesis on owls", []),
        ("for trials; not only blogs", []),
        ("avoid by Smith or Jones I don't need beginners", []),
        ("I have a different task", ["different task"]),
        ("older work, say before 1990", ["prefer recency=old", "require year=<=1989"]),
        ("in the same journal", []),
        ("I don't need theory", ["avoid kind=theory"]),
        ("less about mice, more about voles", ["avoid population=mice", "prefer topic=voles"]),
        ("papers whose results agree with these", ["same result"]),
        ("its method, but other results", ["different result", "same method"]),
        ("their results may differ", []),
        ("not the same method", ["different method"]),
        ("the method may differ", []),
        ("the method need not be the same", []),
        ("the results should not differ", ["same result"]),
        ("papers whose techniques are like the ones used here", ["same method"]),
        ("work whose context is close to that of this paper", ["same background"]),
        ("what came out should not count", []),
        ('should mention "a" and "b"', ["prefer keyword=a", "prefer keyword=b"]),
        ("exclude papers I already have", ["exclude known=have"]),
        ("at most 8 pages", ["require length=<=8 pages"]),
        ("keine Preprints, nur Zeitschriftenartikel", ["exclude status=preprint", "require status=journal"]),
        ("nicht älter als acht Jahre", [f"require year=>={__import__('datetime').date.today().year - 8}"]),
        ("sin tesis ni libros", ["exclude kind=book", "exclude kind=thesis"]),
        ("publié entre 2012 et 2018", ["require year=2012..2018"]),
        ("pas de thèses", ["exclude kind=thesis"]),
        ("不要综述", ["exclude kind=survey"]),
        ("最好有代码", ["prefer artifacts=code"]),
        # Permission asks for nothing.
        ("preprints are fine", []),
        ("need not be recent", []),
        ("I don't care about the language", []),
        ("any language", []),
    ],
)  # fmt: skip
def test_instructions(text, spellings):
    assert _told(text) == spellings


@pytest.mark.parametrize(
    ("text", "spellings", "unread"),
    [
        # Exceptions stay with their condition.
        ("no conference papers except NeurIPS", ["exclude status=conference unless venue=NeurIPS"], []),
        ("no surveys unless by Babai", ["exclude kind=survey unless author=Babai"], []),
        ("no preprints, except PNAS from 2023",
         ["exclude status=preprint unless venue=PNAS; year=>=2023"], []),
        ("no preprints unless highly cited or by Smith",
         ["exclude status=preprint unless citations=high or author=Smith"], []),
        ("no preprints unless highly cited, except surveys",
         ["exclude status=preprint unless citations=high or kind=survey"], []),
        ("English only, German is fine too", ["require language=en unless language=de"], []),
        ("not older than 2016 — reviews can be older", ["require year=>=2016 unless kind=survey"], []),
        ("no Chinese towns, Hong Kong excepted", ["exclude topic=Chinese towns unless topic=Hong Kong"], []),
        ("no theses except when they have won prizes", ["avoid kind=thesis"],
         ["except when they have won prizes"]),
        ("no US samples other than New York", ["exclude topic=US samples unless topic=New York"], []),
        # The last word holds.
        ("since 2015, no wait, since 2018", ["require year=>=2018"], []),
        ("not before 2010, or rather 2012", ["require year=>=2012"], []),
        ("2010-2020 (sorry: 2022)", ["require year=2010..2022"], []),
        ("in French, actually Italian only", ["require language=it"], []),
        ("no surveys. Forget that.", [], []),
        ("surveys only; on second thought, primary work as well", [], []),
        ("no surveys. Hm, one good survey would be fine.", [], []),
        # What cannot be met together, and several things denied at once.
        ("only preprints, all of them peer-reviewed", [],
         ["only preprints", "all of them peer-reviewed"]),
        ("short papers of at least 40 pages", [], ["short papers of at least 40 pages"]),
        ("no case series with fewer than 10 cases",
         ["exclude combination=kind=case series and sample=<10"], []),
        ("no papers by Ong in 2020", ["exclude combination=author=Ong and year=2020"], []),
        ("no survey data", [], ["no survey data"]),
        ("no German theses", ["exclude combination=language=de and kind=thesis"], []),
        ("no English or French theses",
         [f"exclude combination=language={one} and kind=thesis" for one in ("en", "fr")], []),
        ("no boring German theses", [], ["no boring German theses"]),
        ("no trials funded by oil firms", [], ["no trials funded by oil firms"]),
        ("not as a list in Chinese", ["avoid combination=format=list and language=zh"], []),
        ("no trials funded by oil firms in Chinese", [], ["no trials funded by oil firms in Chinese"]),
        ("no surveys before 2010", ["exclude combination=kind=survey and year=<=2009"], []),
        ("neither surveys nor preprints", ["exclude kind=survey", "exclude status=preprint"], []),
        ("no trials in children, theses or letters",
         ["exclude combination=kind=trial and population=children", "exclude kind=thesis",
          "exclude kind=letter"], []),
        # What no record or text states.
        ("from reputable labs", [], ["from reputable labs"]),
        ("after the pandemic", [], ["after the pandemic"]),
        ("summarise them in a table", [], ["summarise them in a table"]),
        ("the text should sparkle", ["prefer topic=sparkle"], []),
    ],
)  # fmt: skip
def test_exceptions_corrections_and_what_is_not_read(text, spellings, unread):
    reading = read_instruction(text, whole_query=False)
    assert list(reading.spellings) == spellings
    assert [u.words for u in reading.unread] == unread
    assert all(u.why for u in reading.unread)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("salud de las abejas, las tesis no me valen",
         (["exclude kind=thesis"], "salud de las abejas", ["valen"])),
        ("Bienengesundheit, Dissertationen kann ich nicht mehr sehen",
         ([], "Bienengesundheit", ["Dissertationen kann ich nicht mehr sehen"])),
    ],
)  # fmt: skip
def test_verbs_of_other_languages_earn_no_condition(text, expected):
    assert _asked(text) == expected


def test_a_demand_beside_a_question_is_said_and_not_searched_for():
    spellings, topic, unread = _asked("bee diseases, no surveys, well written please")
    assert (spellings, topic, unread) == (["exclude kind=survey"], "bee diseases", ["well written please"])


def test_the_web_is_read_where_kinds_of_documents_are_asked_for():
    assert _asked("forum posts on mites") == (["prefer source=forum"], "mites", [])
    assert _asked("opinion mining in news and blogs") == ([], "opinion mining in news and blogs", [])


LONG = "I keep bees and would like to know why they leave their hives in autumn, though food is there. " * 5


def test_a_long_need_keeps_its_subject():
    reading = read_instruction(LONG + "I am not a fan of honey. Only papers published since 2015, please.")
    assert reading.spellings == ("require year=>=2015",)
    assert reading.topic == LONG + "I am not a fan of honey"
    assert read_instruction(LONG).topic == LONG.strip(" .")


def test_words_say_so():
    (condition,) = read_instruction("heat pumps; it must not be written in Welsh, please").conditions
    assert condition.words == "it must not be written in Welsh"


def test_parts_name_every_piece():
    parts = read_instruction("mites, please, no surveys, well written").parts
    assert [(p.words, p.role) for p in parts] == [
        ("mites", "searched"),
        ("please", "chatter"),
        ("no surveys", "applied"),
        ("well written", "unread"),
    ]


def test_what_is_too_much_for_one_query_is_said():
    years = ", ".join(f"not {year}" for year in range(1950, 2000))
    query = understand(Query("", seeds=("a",), instruction=years))
    assert len(query.query.conditions) == 32
    assert query.unread[-1].words == "not 1999"


@pytest.mark.parametrize("field", ["text", "instruction"])
def test_beyond_2000_characters_a_text_is_searched_as_it_is(monkeypatch, field):
    read = understand(Query("owls", instruction="surveys"))
    assert read.query.conditions
    assert not read.unread
    monkeypatch.setattr("aspectra.search.instructions.understanding.read_instruction", None)
    long = "no surveys on owls, " * 200
    found = understand(Query(**{field: long}, seeds=("p1",)))
    assert found.query == Query(long if field == "text" else long.strip(), seeds=("p1",))
    assert [u.why[:16] for u in found.unread] == ["4,000 characters"]
    assert understand(Query(long, literal=True)).unread == ()


def test_a_condition_that_was_given_goes_before_what_is_read():
    from aspectra.search.conditions.condition import Condition

    given = Condition("kind", "survey", "prefer")
    query = understand(Query("mites, no surveys", conditions=(given,))).query
    assert query.conditions == (given,)
    assert query.text == "mites"


@pytest.mark.parametrize(
    ("text", "spellings", "unread"),
    [
        # A denial in a clause of its own denies nothing before it; a requirement may be said by one.
        ("trials that they would not run away from", [], True),
        ("preprints can go", ["exclude status=preprint"], False),
        ("give the Frontiers family a miss", ["exclude publisher=Frontiers"], True),
        ("code on GitHub or it is no use to me", ["require artifacts=code"], False),
        ("over 100 citations or it doesn't count", ["require citations=>=101"], False),
        ("conference papers only if at FAccT", [], True),
        ("no case reports bar fatal ones", ["avoid kind=case report"], True),
        ("no mites after 2019", [], True),
        ("my committee bins anything that isn't controlled", [], True),
        ("theses are off the table", ["exclude kind=thesis"], False),
        ("Theses? Keep those out.", ["exclude kind=thesis"], False),
        ("theses, please not", ["avoid kind=thesis"], False),
        ("no industry-funded trials", [], True),
        # Unknown words are earned by what stands beside them.
        ("our licence covers nothing else", [], True),
        ("only what came out of Kew", [], True),
        ("code that runs is a must", ["require artifacts=code"], True),
        ("adults with type 1 diabetes only", ["require population=adults with type 1 diabetes"], False),
        # Signs, limits and names.
        ("peer-reviewed only, English or German",
         ["prefer language=de", "prefer language=en", "require status=peer-reviewed"], False),
        ("don't want: theses, editorials", ["exclude kind=editorial", "exclude kind=thesis"], False),
        ("Ineligible — letters, theses", ["exclude kind=letter", "exclude kind=thesis"], False),
        ("length doesn't matter, nor does the year", [], False),
        ("pages<=8", ["require length=<=8 pages"], False),
        ("past 18 months", [f"require year=>={date.today().year - 2}"], False),
        ("2019-22", ["require year=2019..2022"], False),
        ("2016→", ["require year=>=2016"], False),
        ("no older than the seed", [], True),
        ("Stick to Wiley and Taylor & Francis",
         ["require publisher=Taylor & Francis", "require publisher=Wiley"], False),
        ("authors affiliated with Kew", ["require affiliation=Kew"], False),
        ("from Turing's group", ["require author=Turing"], False),
        ("not too mathematical", ["avoid audience=expert"], False),
        ("reviews first", ["prefer kind=survey"], False),
        ("papers citing BM25 that are not surveys", ["avoid kind=survey", "require cites=BM25"], False),
        ("not from a blog, and no more than a paragraph",
         ["avoid source=blog", "require length=<=paragraph"], False),
        ("no preprints unless bioRxiv", ["exclude status=preprint unless venue=bioRxiv"], False),
        ("no TREC tracks", ["exclude venue=TREC"], True),
        # Verbs of other languages that no table has.
        ("von Preprints halte ich nichts", [], True),
        ("pas la peine de me montrer des thèses", ["exclude kind=thesis"], True),
        ("综述就算了", ["exclude kind=survey"], False),
    ],
)  # fmt: skip
def test_turns_that_tables_do_not_have(text, spellings, unread):
    reading = read_instruction(text, whole_query=False)
    assert sorted(reading.spellings) == spellings
    assert bool(reading.unread) == unread


def test_the_language_of_a_text_is_told_once(monkeypatch):
    told = []
    languages = marks._languages
    monkeypatch.setattr(marks, "_languages", lambda low: told.append(low) or languages(low))
    read_instruction("no theses on mites, they can go, only what came out of Kew; " * 40, whole_query=False)
    assert len(told) <= 2  # once for its words, once for its pieces


def test_venues_of_the_library_are_venues():
    words = ("Systematic Reviews", "Clinical Apiculture")
    known = library_venues(("ACML", "ALT", "Annals of Hives", "Bee", "colm", "hive", "WATER", *words))
    for text, spellings, topic in (
        ("mites, ACML only", ("require venue=ACML",), "mites"),
        ("mites at acml or ECCV", ("require venue=acml", "require venue=ECCV"), "mites"),
        ("mites, nothing from Annals of Hives", ("exclude venue=Annals of Hives",), "mites"),
        ("ALT papers on mites", ("require venue=ALT",), "mites"),
        ("alt text for mites", (), "alt text for mites"),
        ("mites, only COLM or ECCV", ("require venue=COLM", "require venue=ECCV"), "mites"),
        ("mites in the hive", (), "mites in the hive"),
        ("mites in water, and water", (), "mites in water, and water"),
        ("mites, only in WATER", ("require venue=WATER",), "mites"),
        ("the Bee of the library", (), "the Bee of the library"),
        ("mites, annals of hives", ("require venue=annals of hives",), "mites"),
        ("mites and clinical apiculture", (), "mites and clinical apiculture"),
        ("mites, in Clinical Apiculture", ("require venue=Clinical Apiculture",), "mites"),
        ("mites, Systematic Reviews only", ("require kind=systematic review",), "mites"),
        ("systematic reviews of mites", ("prefer kind=systematic review",), "mites"),
        ("mites, published in Systematic Reviews", ("require venue=Systematic Reviews",), "mites"),
    ):
        reading = read_instruction(text, venues=known)
        assert (reading.spellings, reading.topic) == (spellings, topic)
    assert read_instruction("mites, ACML only").spellings == ("require topic=ACML",)


def test_of_a_text_of_requests_alone_the_wishes_are_searched_for():
    understood = understand(Query("trials since 2018, no surveys"))
    assert (understood.query.text, understood.fallback) == ("trials since 2018", True)
    assert understand(Query("no surveys", seeds=("a",))).query.text == ""


@pytest.mark.parametrize("text", ["no surveys", "nothing on wasps", "without surveys, not 2019"])
def test_a_text_of_denials_alone_names_nothing_to_search_for(text):
    with pytest.raises(UsageError) as raised:
        understand(Query(text))
    assert raised.value.why
    assert "--literal" in raised.value.hint


def test_recognisers():
    assert read_name("NeurIPS, ICML or ICLR on", 0)[1].values == ("NeurIPS", "ICML", "ICLR")
    assert read_bound("aged over 65", 0)[1].attribute == "population"
    assert read_bound("n >= 50", 0)[1].values == (">=50",)
    assert read_bound("cited more than 100 times", 0)[1].values == (">=101",)


def test_patterns_expand():
    assert expand("{a,b} c(s)") == ["a cs", "a c", "b cs", "b c"]


@pytest.mark.parametrize(
    ("said", "meant"),
    [("contian", "contain"), ("pleese", "please"), ("germany", "germany"), ("catain", "catain")],
)
def test_spelling(said, meant):
    assert corrected(said) == meant


@pytest.mark.parametrize(
    ("text", "conditions", "left"),
    [
        ("not vision, since 2018", ["avoid topic=vision", "require year=>=2018"], ""),
        ("the same method, not vision", ["avoid topic=vision"], ""),
        ("not surveys, with code", ["avoid kind=survey", "prefer artifacts=code"], ""),
        ("graph pretraining, not vision", ["avoid topic=vision"], "graph pretraining"),
        ("not only vision", [], "not only vision"),
    ],
)
def test_beside_a_seed_a_denial_is_no_subject(text, conditions, left):
    found = understand(Query(text, seeds=("owl",))).query
    assert ([c.spelling for c in found.conditions], found.text) == (conditions, left)


@pytest.mark.parametrize(
    ("text", "conditions", "left"),
    [
        ("papers by Judea Pearl without equations",
         ["exclude method=equations", "require author=Judea Pearl"], "papers by Judea Pearl"),
        ("papers by Judea Pearl but not with mice",
         ["avoid population=mice", "require author=Judea Pearl"], "papers by Judea Pearl"),
        ("no free lunch theorems since 2010", ["require year=>=2010"], "no free lunch theorems"),
    ],
)  # fmt: skip
def test_behind_requests_a_denial_is_no_subject(text, conditions, left):
    found = understand(Query(text)).query
    assert (sorted(c.spelling for c in found.conditions), found.text) == (conditions, left)


@pytest.mark.parametrize(
    ("text", "conditions", "left"),
    [
        ("How do owls hear? For professionals.", ["prefer audience=expert"], "How do owls hear"),
        ("How do owls hear? For professionals, only in German.",
         ["prefer audience=expert", "require language=de"], "How do owls hear"),
        ("How do owls hear? In German, for professionals.",
         ["prefer audience=expert", "prefer language=de"], "How do owls hear"),
        ("How do owls hear? For professionals since 2020.",
         ["prefer audience=expert", "require year=>=2020"], "How do owls hear"),
        ("How do owls hear? For at most ten pages.", ["require length=<=10 pages"], "How do owls hear"),
        ("owl care for professionals", [], "owl care for professionals"),
        ("owl care, for professionals", [], "owl care, for professionals"),
        ("owl care. For professionals in zoos.", [], "owl care. For professionals in zoos"),
        ("Why do owls click? Preferably not what keepers say on forums.",
         ["avoid source=forum"], "Why do owls click"),
        ("Why do owls click? Only what was posted on blogs.", ["require source=blog"], "Why do owls click"),
        ("Why do owls click? Nothing on forums.", ["exclude topic=forums"], "Why do owls click"),
        ("papers on what people say on forums", [], "papers on what people say on forums"),
    ],
)  # fmt: skip
def test_readers_in_a_sentence_and_places_where_people_speak(text, conditions, left):
    found = understand(Query(text)).query
    assert (sorted(c.spelling for c in found.conditions), found.text) == (conditions, left)


@pytest.mark.parametrize(
    ("text", "found", "topic"),
    [
        ("since 2020 on dense retrieval", {("year", ">=2020", "require")}, "dense retrieval"),
        ("papers from 2020 on query expansion", {("year", ">=2020", "require")}, "query expansion"),
        ("query expansion, from 2020 on", {("year", ">=2020", "require")}, "query expansion"),
        ("after 1933 on the economy", set(), "after 1933 on the economy"),
        ("hive scales since 2020 with radio", {("year", ">=2020", "require")}, "hive scales with radio"),
        ("owls from 2015 to 2019 in Kenya", {("year", "2015..2019", "require")}, "owls in Kenya"),
        ("owls with over 9 citations that hunt", {("citations", ">=10", "require")}, "owls that hunt"),
        ("trials since 2015 of teas in nurses",
         {("kind", "trial", "prefer"), ("year", ">=2015", "require")}, "teas in nurses"),
        ("trends in owls since 1990 in Kenya", set(), "trends in owls since 1990 in Kenya"),
        ("since 2015 regarding owls", {("year", ">=2015", "require")}, "owls"),
        ("papers published by Karpukhin on owls", {("author", "Karpukhin", "prefer")}, "owls"),
        ("published by Karpukhin in 2022 or 2023",
         {("author", "Karpukhin", "require"), *(("year", y, "require") for y in ("2022", "2023"))}, ""),
        ("owls by Karpukhin since 2020",
         {("author", "Karpukhin", "prefer"), ("year", ">=2020", "require")}, "owls by Karpukhin"),
        ("owl hearing by Moss and Ong", {("author", o, "prefer") for o in ("Moss", "Ong")},
         "owl hearing by Moss and Ong"),
        ("owl hearing by C. F. Moss", {("author", "C. F. Moss", "require")}, "owl hearing"),
        ("owl hearing by van Dam et al. in 2020",
         {("author", "van Dam", "require"), ("year", "2020", "require")}, "owl hearing"),
        ("Finding Owls by Active Echolocation", set(), "Finding Owls by Active Echolocation"),
        ("owl names by GPT-4", set(), "owl names by GPT-4"),
        ("papers by Gelman on owls", {("author", "Gelman", "require")}, "owls"),
        ("owls, by Karpukhin in 2022",
         {("author", "Karpukhin", "require"), ("year", "2022", "require")}, "owls"),
        ("owl papers published in 2019, 2021, or 2022",
         {("year", y, "require") for y in ("2019", "2021", "2022")}, "owl"),
        ("owl papers in 2019 and 2021", {("year", y, "require") for y in ("2019", "2021")}, "owl"),
        ("the elections of 2016 and 2020", set(), "the elections of 2016 and 2020"),
        ("papers published by Springer on owls", {("publisher", "Springer", "require")}, "owls"),
        ("owls, published by Owl Press", {("publisher", "Owl Press", "require")}, "owls"),
        ("owls, not language", {("topic", "language", "avoid")}, "owls"),
        ("owls, not about cars or language", {("topic", o, "avoid") for o in ("cars", "language")}, "owls"),
        ("owl songs but not for code or data", {("topic", o, "avoid") for o in ("code", "data")},
         "owl songs"),
        ("owls, nothing to do with code", {("topic", "code", "exclude")}, "owls"),
        ("owls, only consider reviews", {("kind", "survey", "require")}, "owls"),
        ("owls, not trained on code", {("method", "code", "avoid")}, "owls"),
        ("owls, not about preprints, no code",
         {("topic", "preprints", "avoid"), ("artifacts", "code", "exclude")}, "owls"),
        ("owls, not for beginners", {("audience", "lay", "avoid")}, "owls"),
        ("owl trials with samples larger than 9", {("sample", ">9", "require")}, "owl trials"),
        ("owls, in Nature or Science", {("venue", o, "require") for o in ("Nature", "Science")}, "owls"),
        ("owls, in Physical Review Letters or Nature",
         {("venue", o, "require") for o in ("Physical Review Letters", "Nature")}, "owls"),
        ("owls in the journal Cell Metabolism", {("venue", "Cell Metabolism", "require")}, "owls"),
        ("owls, in Yellowstone", set(), "owls, in Yellowstone"),
        ("owls, citing DPR", {("cites", "DPR", "require")}, "owls"),
        ("owls, cohort or longitudinal", {("kind", o, "prefer") for o in ("cohort", "longitudinal")}, "owls"),
        ("owls, papers which don't use maps for songs", {("topic", "maps for songs", "exclude")}, "owls"),
        ("owls, cohort studies from Canada",
         {("kind", "cohort", "prefer"), ("population", "Canada", "prefer")}, "owls"),
        ("cohort studies in Canada", set(), "cohort studies in Canada"),
        ("owls, nothing from 2020", {("year", "2020", "exclude")}, "owls"),
        ("owls, nothing from 2020 on", {("year", "<=2019", "require")}, "owls"),
        ("owls, not text and cars", {("topic", o, "avoid") for o in ("text", "cars")}, "owls"),
        ("owls, not on cars/language", {("topic", o, "avoid") for o in ("cars", "language")}, "owls"),
        ("owls, no cars, language, or natural language",
         {("topic", o, "exclude") for o in ("cars", "language", "natural language")}, "owls"),
    ],
)  # fmt: skip
def test_what_is_read_loses_no_word_and_filters_only_what_is_sure(text, found, topic):
    assert _found(text) == found
    assert read_instruction(text).topic == topic


@pytest.mark.parametrize(
    ("text", "spellings"),
    [
        ("owls, only open access or by Babai", ("require access=open unless author=Babai",)),
        ("owls, only surveys or papers from Nature", ("require kind=survey unless venue=Nature",)),
        ("owls, only RCTs or quasi-experiments", ("require kind=rct unless topic=quasi-experiments",)),
        ("owls, must be surveys in English or trials",
         ("require kind=survey unless kind=trial", "require language=en unless kind=trial")),
        ("owls, only papers with code or data", ("require artifacts=code unless artifacts=data",)),
        ("owls, only papers with code and data", ("require artifacts=code", "require artifacts=data")),
        ("owls, only papers in Nature or Science or open access",
         ("require venue=Nature unless access=open", "require venue=Science unless access=open")),
        ("owls, surveys, theses or books only",
         tuple(f"require kind={one}" for one in ("survey", "thesis", "book"))),
        ("owls, surveys, German only", ("prefer kind=survey", "require language=de")),
        ("owls, no essays that mention \"zinc\"",
         ("exclude combination=kind=position and keyword=zinc",)),
        ("owls, only German or French surveys",
         ("require language=de", "require language=fr", "require kind=survey")),
        ("owls, no surveys or papers from Nature", ("exclude kind=survey", "exclude venue=Nature")),
        ("owls, ideally open access or with code", ("prefer access=open", "prefer artifacts=code")),
        ('owls, must mention "zinc" or "tin"', ("require keyword=zinc unless keyword=tin",)),
        ('owls, must mention "zinc" and "tin"', ("require keyword=zinc", "require keyword=tin")),
        ("owls, must mention zinc, tin or lead", ("require keyword=zinc unless keyword=tin; keyword=lead",)),
        ("owls, must mention zinc, tin and lead",
         ("require keyword=zinc", "require keyword=tin", "require keyword=lead")),
        ("owls, must not mention zinc, tin or lead",
         ("exclude keyword=zinc", "exclude keyword=tin", "exclude keyword=lead")),
    ],
)  # fmt: skip
def test_of_alternatives_one_will_do(text, spellings):
    assert read_instruction(text).spellings == spellings


@pytest.mark.parametrize(
    ("text", "spellings", "topic", "unread"),
    [
        ("owls, only surveys or papers from the Antarctic programme", (), "owls",
         ["only surveys or papers from the Antarctic programme"]),
        ("owls, nothing before the 2008 crisis", (), "owls", ["nothing before the 2008 crisis"]),
        ("owls, only work since the 2015 refugee crisis", (), "owls",
         ["only work since the 2015 refugee crisis"]),
        ("owls, no book reviews", ("exclude topic=book reviews",), "owls", []),
        ("owls, no literature reviews", ("exclude kind=survey",), "owls", []),
        ("student evaluations of teaching", (), "student evaluations of teaching", []),
        ("owls, no students as participants", ("exclude topic=students",), "owls", []),
        ("owls, not for students", ("avoid audience=student",), "owls", []),
        ("owls, with the dataset", ("prefer artifacts=data",), "owls", []),
        ("I want the ten most cited papers on owls", ("prefer citations=high",), "owls", []),
        ("excluded children in Victorian schooling", (), "excluded children in Victorian schooling", []),
        ("owls, at a level they would not run away from, and free to download",
         ("prefer access=open",), "owls", ["at a level they would not run away from"]),
        ("owls: trials, and if none exist then cohort studies", ("prefer kind=trial",), "owls",
         ["and if none exist then cohort studies"]),
        ("owls, in any language but English", ("exclude language=en",), "owls", []),
        ("owls, every language except French", ("exclude language=fr",), "owls", []),
        ("owls, please restrict to women authors", (), "owls", ["please restrict to women authors"]),
        ("owls, by Chinese researchers", (), "owls", ["by Chinese researchers"]),
        ("owls, no policy editorials", ("exclude combination=kind=editorial and topic=policy",), "owls", []),
        *(
            (f"owls, {said}", (f"exclude combination=kind={kind} and topic={words}",), "owls", [])
            for said, kind, words in (
                ("no narrative reviews", "survey", "narrative reviews"),
                ("no pilot trials", "trial", "pilot trials"),
                ("exclude non-randomised trials", "trial", "non-randomised trials"),
                ("no phase 2 trials", "trial", "phase 2 trials"),
                ("no retrospective studies", "cohort", "retrospective studies"),
                ("no double-blind trials", "rct", "double-blind trials"),
                ("keine narrativen Reviews", "survey", "narrativen Reviews"),
            )
        ),
        ("owls, only narrative reviews", ("require kind=survey",), "owls", []),
        ("owls, no pregnant women", ("exclude combination=population=women and topic=pregnant",), "owls", []),
        (
            "owls, exclude HIV-positive adults",
            ("exclude combination=population=adults and topic=HIV-positive",),
            "owls",
            [],
        ),
        ("热泵，不要政策类综述", ("exclude combination=kind=survey and topic=政策",), "热泵", []),
        ("owls, nothing published by Elsevier or Wiley",
         ("exclude publisher=Elsevier", "exclude publisher=Wiley"), "owls", []),
        ("owls, say twenty pages at most", ("require length=<=20 pages",), "owls", []),
        ("owls, not too long, say ten pages", ("prefer length=<=10 pages",), "owls", []),
        ("owls since 2023 on but nothing on bees", ("require year=>=2023", "exclude topic=bees"), "owls", []),
        ("热泵，五年内", (f"require year=>={date.today().year - 5}",), "热泵", []),
        ("五年内复发率", (), "五年内复发率", []),
        ("I'm a nurse; need delirium in adults, RCTs", ("prefer kind=rct",), "delirium in adults", []),
        ("I'm a nurse; need trials on delirium", ("require kind=trial",), "delirium", []),
        ("owls, whose bibliography includes Smith 2019", ("require cites=Smith 2019",), "owls", []),
        ("I've read Piketty and Saez already. Owls.", ("exclude author=Piketty", "exclude author=Saez"),
         "Owls", []),
        ("owls, exclude papers dealing mainly with noise", ("exclude topic=noise",), "owls", []),
        ("owls, no Spanish-English pairs", ("exclude topic=Spanish-English pairs",), "owls", []),
        ("owls, anything but German-language stuff", ("avoid language=de",), "owls", []),
        ("owls, preregistered ones first", ("prefer method=preregistered",), "owls", []),
        ("owls, Reviews not needed.", ("avoid kind=survey",), "owls", []),
        ("owls, code not needed", (), "owls", []),
        ("owls, code I don't need", (), "owls", []),
        ("owls, Nature only", ("require venue=Nature",), "owls", []),
        ("papers on owls German only", ("require language=de",), "owls", []),
        ("papers on owls open access only", ("require access=open",), "owls", []),
        ("only reviews on owls please", ("require kind=survey",), "owls", []),
        ("what reviews exist on owls?", ("prefer kind=survey",), "owls", []),
        ("owls, for beginners", ("prefer audience=lay",), "owls", []),
        ("papers on owls not written in English", ("avoid language=en",), "owls", []),
        ("owls not published in Nature", ("exclude venue=Nature",), "owls", []),
        ("Is there a paper that proves that attention is not explanation?", (),
         "Is there a paper that proves that attention is not explanation", []),
        ("methods that do not need labels for parsing", (), "methods that do not need labels for parsing",
         []),
        ("research on people who never marry", (), "research on people who never marry", []),
        ("studies of people who do not vote, surveys only", ("require kind=survey",),
         "studies of people who do not vote", []),
        ("articles about children without siblings", (), "articles about children without siblings", []),
        ("articles about owls without reviews", ("exclude kind=survey",), "owls", []),
        ("excluding women from clinical trials", (), "excluding women from clinical trials", []),
        ("surveys of teachers about inclusion", (), "surveys of teachers about inclusion", []),
        ("papers arguing that trees do not talk", (), "papers arguing that trees do not talk", []),
        ("studies proving homework does not work", (), "studies proving homework does not work", []),
        ("papers showing that homework does not help in school", (),
         "papers showing that homework does not help in school", []),
        ("owls, leave out whatever is in French", ("exclude language=fr",), "owls", []),
        ("owls, only if available in HTML", (), "owls", ["only if available in HTML"]),
        ("owls, must report at least two experiments", (), "owls", ["must report at least two experiments"]),
        ("what is new on owls since last year",
         ("prefer recency=new", f"require year=>={date.today().year - 1}"), "owls", []),
        ("guidelines for owls, newest version only", ("prefer kind=guideline", "require recency=new"), "owls",
         []),
        ("owls, no industry papers", ("exclude affiliation=industry",), "owls", []),
        ("owls, only papers that are not paywalled, unless they are by Mikkola",
         ("require access=open unless author=Mikkola",), "owls", []),
        ("owls, open access, unless they are by Mikkola", ("prefer access=open",), "owls",
         ["unless they are by Mikkola"]),
        ("owls, only trials... actually cohort studies too", ("require kind=trial unless kind=cohort",),
         "owls", []),
        ("owls, only trials... actually cohort studies", ("require kind=cohort",), "owls", []),
        ("owls, must be in Nature, otherwise German",
         ("require venue=Nature unless language=de",), "owls", []),
        ("owls, reviews (systematic ones only)", ("prefer kind=survey", "require kind=systematic review"),
         "owls", []),
        ("need 3 peer reviewed articles on owls, not from the beverage industry",
         ("require status=peer-reviewed", "avoid topic=beverage industry"), "owls", []),
        ("papers on owls that are less than five years old and have been cited more than 30 times",
         (f"require year=>={date.today().year - 5}", "require citations=>=31"), "owls", []),
        ("owls, classic texts as well as recent work", ("prefer citations=high", "prefer recency=new"),
         "owls", []),
        ("owls, women only samples", ("require population=women",), "owls", []),
        ("owls, skip Airbnb-funded work", (), "owls", ["skip Airbnb-funded work"]),
        ("owls, no conference posters", ("exclude status=abstract",), "owls", []),
        ("Eulen, Übersichten brauche ich nicht", ("exclude kind=survey",), "Eulen", []),
        ("Eulen, höchstens fünf Jahre alt", (f"require year=>={date.today().year - 5}",), "Eulen", []),
        ("hiboux, avec les données si possible", ("prefer artifacts=data",), "hiboux", []),
        ("búhos, solo ensayos de campo", ("require kind=field experiment",), "búhos", []),
        ("猫头鹰，要求提供原始数据", ("require artifacts=data",), "猫头鹰", []),
        ("Papers by women on owls", (), "owls", ["women"]),
        ("the three newest reviews of owls", ("prefer recency=new", "prefer kind=survey"), "owls", []),
        ("the most cited ones on owls", ("prefer citations=high",), "owls", []),
        ("owl trials minus the ones on surgery", ("exclude topic=surgery",), "owl trials", []),
        ("a short and readable survey on owls", ("prefer length=<=paragraph", "prefer kind=survey"), "owls",
         ["readable"]),
        ("owls, survey experiments preferred", ("prefer kind=experiment",), "owls", []),
        ("owls, ideally Nature Energy", ("prefer venue=Nature Energy",), "owls", []),
        ("need reviews for my blog on owls", ("require kind=survey",), "my blog on owls", []),
        ("owls, Japanese labs preferred", (), "owls", ["Japanese labs preferred"]),
        ("papers in German by Swiss authors on owls", ("prefer language=de",), "owls", ["by Swiss"]),
        ("German writers of the 19th century", (), "German writers of the 19th century", []),
        ("owls, not research papers", (), "owls", ["not research papers"]),
        ("owls, at most 6 pages excluding references", ("require length=<=6 pages",), "owls", []),
        ("owls, replicated findings only", ("require kind=replication",), "owls", []),
        ("owls, with a dataset I can download", ("prefer artifacts=data",), "owls", []),
        ("owls; whatever you find must report effect sizes", ("require reports=effect sizes",), "owls", []),
        ("owls; French-language articles first", ("prefer language=fr",), "owls", []),
        ("owls, not Smith 2019", (), "owls", ["not Smith 2019"]),
        ("owls, nothing from 2019", ("exclude year=2019",), "owls", []),
        ("opinions of nurses about robots", (), "opinions of nurses about robots", []),
        ("Eulen, Blogs nein", ("exclude source=blog",), "Eulen", []),
        ("Eulen, Blogs müssen vermieden werden", ("exclude source=blog",), "Eulen", []),
        ("búhos, las tesis deben excluirse", ("exclude kind=thesis",), "búhos", []),
        ("猫头鹰，拒绝综述", ("exclude kind=survey",), "猫头鹰", []),
        ("owls, blogs should be absent", ("exclude source=blog",), "owls", []),
        ("owls, keep reviews to yourself", ("exclude kind=survey",), "owls", []),
        ("owls, blogs get on my nerves", ("exclude source=blog",), "owls", []),
        ("owls, reviews must be axed", (), "owls", ["reviews must be axed"]),
        ("owls, experiments must be preregistered",
         ("require kind=experiment", "require method=preregistered"), "owls", []),
        ("drugs that should be avoided", (), "drugs that should be avoided", []),
        ("Eulen, Tierversuche ausgeschlossen", ("exclude population=animal",), "Eulen", []),
        ("give me five reviews about owls", ("prefer kind=survey",), "owls", []),
        ("owls, qualitative interviews only", ("require kind=qualitative",), "owls", []),
        ("owls - commentary and opinion pieces", ("prefer kind=position",), "owls", []),
    ],
)  # fmt: skip
def test_what_is_another_thing_by_what_stands_beside_it(text, spellings, topic, unread):
    reading = read_instruction(text)
    assert (reading.spellings, reading.topic) == (spellings, topic)
    assert [one.words for one in reading.unread] == unread


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("owls, by O'Brien", ["O'Brien"]),
        ("papers by O'Brien on asthma", ["O'Brien"]),
        ("owls, by D’Souza", ["D’Souza"]),
        ("owls, by O'Neill and Smith", ["O'Neill", "Smith"]),
        ("chouettes, par D'Alembert", ["D'Alembert"]),
        ("owls, by J. Smith, K. Jones", ["J. Smith", "K. Jones"]),
    ],
)
def test_a_name_may_begin_with_a_letter_and_an_apostrophe(text, names):
    assert read_instruction(text).spellings == tuple(f"require author={name}" for name in names)


@pytest.mark.parametrize("place", ["Sweden", "Germany", "London", "China", "the US"])
@pytest.mark.parametrize("told", ["published", "not published", "only papers published"])
def test_a_place_is_no_venue_and_no_record_says_where_papers_were_printed(told, place):
    reading = read_instruction(f"owls, {told} in {place}")
    assert (reading.topic, reading.spellings) == ("owls", ())
    assert [one.words for one in reading.unread] == [f"{told} in {place}"]


@pytest.mark.parametrize(
    "text", ["owls, cited by Smith 2015", "papers cited by Smith", "that were cited by Smith"]
)
def test_who_cites_papers_did_not_write_them(text):
    assert not [one for one in read_instruction(text).conditions if one.attribute == "author"]


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("since January 2020", ">=2020"),
        ("since Jan. 2020", ">=2020"),
        ("since 1 January 2020", ">=2020"),
        ("since 2020-01-01", ">=2020"),
        ("since spring 2020", ">=2020"),
        ("since mid-2020", ">=2020"),
        ("since about 2015", ">=2015"),
        ("before June 2020", "<=2020"),
        ("before January 2020", "<=2019"),
        ("before 2020-06-01", "<=2020"),
        ("not before June 2020", ">=2020"),
        ("not since June 2020", "<=2020"),
        ("until December 2019", "<=2019"),
        ("after March 2018", ">=2018"),
        ("after December 2019", ">=2020"),
        ("from June 2019 to May 2021", "2019..2021"),
        ("January 2015 - December 2020", "2015..2020"),
        ("seit Januar 2020", ">=2020"),
        ("vor Juni 2020", "<=2020"),
        ("depuis mars 2020", ">=2020"),
        ("desde enero de 2020", ">=2020"),
    ],
)
def test_a_part_of_a_year_is_of_that_year(text, year):
    reading = read_instruction(f"owls, {text}")
    assert (reading.topic, reading.spellings) == ("owls", (f"require year={year}",))


def test_of_two_numbers_of_years_the_larger_counts():
    assert read_instruction("owls, the last 2-3 years").spellings == (
        f"require year=>={date.today().year - 3}",
    )


@pytest.mark.parametrize(
    "text",
    ["the January 2020 bushfires", "wheat in spring 2020", "geology after Mars landings", "before May Day"],
)
def test_a_part_of_a_year_in_a_subject_is_searched_for(text):
    assert read_instruction(text).topic == text


@pytest.mark.parametrize(
    ("text", "spellings", "unread"),
    [
        ("owls, by Smith, J., since 2019", ("require author=J. Smith", "require year=>=2019"), []),
        ("papers by Smith, J. A. and Jones, K. on owls",
         ("require author=J. A. Smith", "require author=K. Jones"), []),
        ("owls, by Smith, J. Jones or K. Lee",
         ("require author=Smith", "require author=J. Jones", "require author=K. Lee"), []),
        ("owls, all journals but Nature", ("exclude venue=Nature",), []),
        ("owls, all authors but Ong", ("exclude author=Ong",), []),
        ("owls, trials that are not small", ("prefer kind=trial",), ["that are not small"]),
        ("owls, preprints not in English are not ok", (), ["preprints", "not in English are not ok"]),
        ("owls, papers not in English are not ok", ("require language=en",), []),
    ],
)  # fmt: skip
def test_names_written_backwards_and_denials_of_a_part(text, spellings, unread):
    reading = read_instruction(text)
    assert reading.topic == "owls"
    assert (reading.spellings, [one.words for one in reading.unread]) == (spellings, unread)
