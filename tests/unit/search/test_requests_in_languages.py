"""Plain requests in five languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from aspectra.search.instructions.reading import read_instruction

WORDINGS = Path(__file__).parents[2] / "data" / "requests" / "wordings.txt"
SUBJECTS = {
    "en": "barn owls, ",
    "de": "Schleiereulen, ",
    "fr": "chouettes effraies, ",
    "es": "lechuzas, ",
    "zh": "仓鸮的迁徙，",
}
ROWS = [line.split(" | ") for line in WORDINGS.read_text("utf-8").splitlines()[1:]]


@pytest.mark.parametrize("language", SUBJECTS)
def test_plain_requests_are_read_beside_a_seed_and_behind_a_subject(language):
    rows = [(text, condition) for lang, text, condition in ROWS if lang == language]
    assert len(rows) > 40
    for text, condition in rows:
        assert condition in read_instruction(text, whole_query=False).spellings, text
        question = read_instruction(SUBJECTS[language] + text)
        assert condition in question.spellings, text
        assert question.topic == SUBJECTS[language].rstrip(", ，"), text


@pytest.mark.parametrize(
    ("text", "topic", "read"),
    [
        ("2015年以来仓鸮的研究", "仓鸮的研究", ("require year=>=2015",)),
        ("2020年发表的仓鸮综述", "仓鸮", ("require year=2020", "prefer kind=survey")),
        ("发表在ACL上的机器翻译论文", "机器翻译论文", ("require venue=ACL",)),
        ("发表在Nature或Science上的仓鸮", "仓鸮", ("require venue=Nature", "require venue=Science")),
        ("1949年以后的中国工业", "1949年以后的中国工业", ()),
        ("2020年美国大选", "2020年美国大选", ()),
        ("仓鸮，只要样本量大于500的队列研究", "仓鸮", ("require sample=>500", "require kind=cohort")),
        ("仓鸮，作者是李飞飞团队", "仓鸮", ("require author=李飞飞",)),
        ("高校团队写的方法", "高校团队写的方法", ()),
        ("surveys of owls from the year 2020", "owls", ("prefer kind=survey", "require year=2020")),
        ("owls in the year 1914", "owls in the year 1914", ()),
        ("lechuzas, sin redes neuronales", "lechuzas", ("exclude method=redes neuronales",)),
        ("original sin in Augustine", "original sin in Augustine", ()),
        ("chouettes, années 90", "chouettes", ("require year=1990..1999",)),
        ("Eulen, aus den Neunzigern", "Eulen", ("require year=1990..1999",)),
        ("owls, from the nineties", "owls", ("require year=1990..1999",)),
        ("仓鸮，20世纪90年代的文献", "仓鸮", ("require year=1990..1999",)),
        ("men in their nineties", "men in their nineties", ()),
        (
            "chouettes, pas de revues, des essais randomisés",
            "chouettes",
            ("exclude kind=survey", "prefer kind=rct"),
        ),
        ("chouettes, pas les revues, les thèses", "chouettes", ("avoid kind=survey", "avoid kind=thesis")),
        ("Eulen, mehr als 1.000 Teilnehmer", "Eulen", ("require sample=>1000",)),
        ("chouettes, plus de 10 000 participants", "chouettes", ("require sample=>10000",)),
        (
            "¿Hay metaanálisis recientes de la terapia EMDR?",
            "la terapia EMDR",
            ("prefer kind=meta-analysis", "prefer recency=new"),
        ),
        ("the latest on owl diets", "owl diets", ("prefer recency=new",)),
        ("recent owl diets, no reviews", "owl diets", ("prefer recency=new", "exclude kind=survey")),
        ("recent owl diets", "recent owl diets", ()),
        (
            "owls, no reviews, and effect sizes must be reported",
            "owls",
            ("exclude kind=survey", "require reports=effect sizes"),
        ),
        ("adverse events must be reported by hospitals", "adverse events must be reported by hospitals", ()),
        (
            "owls, whatever Smith and Jones have published",
            "owls",
            ("require author=Smith", "require author=Jones"),
        ),
        ("owls, only what OUP has published", "owls", ("require publisher=OUP",)),
        ("owls, samples of 1,000 or more", "owls", ("require sample=>=1000",)),
    ],
)
def test_what_stands_in_front_and_decades(text, topic, read):
    reading = read_instruction(text)
    assert (reading.topic, reading.spellings) == (topic, read)


@pytest.mark.parametrize(
    ("text", "topic", "read"),
    [
        (
            "textbook on organic chemistry for undergraduates",
            "organic chemistry",
            ("prefer kind=book", "prefer audience=student"),
        ),
        ("mindfulness for undergraduates", "mindfulness for undergraduates", ()),
        (
            "what has Elinor Ostrom written about the commons",
            "the commons",
            ("require author=Elinor Ostrom",),
        ),
        ("crispr wheat review 2019", "crispr wheat", ("prefer kind=survey", "require year=2019")),
        (
            "speech recognition papers from Google since 2020",
            "speech recognition",
            ("require affiliation=Google", "require year=>=2020"),
        ),
        (
            "summarisation of scientific papers since 2020",
            "summarisation of scientific papers",
            ("require year=>=2020",),
        ),
        ("work on barn owls written for a general audience", "barn owls", ("prefer audience=lay",)),
        ("can you find me some open datasets on air quality", "air quality", ("prefer kind=dataset",)),
        (
            "turbulent drag riblets preprints freely accessible",
            "turbulent drag riblets",
            ("prefer status=preprint", "prefer access=open"),
        ),
        ("xylella olive trees letters to the editor", "xylella olive trees", ("prefer kind=letter",)),
        (
            "case reports takotsubo after vaccination",
            "takotsubo after vaccination",
            ("prefer kind=case report",),
        ),
        ("retrieve similar patents", "retrieve similar patents", ()),
        ("automated scoring of student essays", "automated scoring of student essays", ()),
        ("journal ranking by impact factor", "journal ranking by impact factor", ()),
        ("open source licences and innovation", "open source licences and innovation", ()),
        ("Children without parental care in Greece", "Children without parental care in Greece", ()),
        ("owls in children, without surveys", "owls in children", ("exclude kind=survey",)),
        ("metodologias, sin revisiones bibliograficas", "metodologias", ("exclude kind=survey",)),
        ("Eulen, keine Uebersichtsarbeiten", "Eulen", ("exclude kind=survey",)),
        ("copyright exceptions for text mining", "copyright exceptions for text mining", ()),
        (
            "minimum wage, anything that cites Card and Krueger 1994",
            "minimum wage",
            ("require cites=Card and Krueger 1994",),
        ),
        (
            "articulos de la revista Hispania sobre la desamortización",
            "la desamortización",
            ("require venue=Hispania",),
        ),
        ("费孝通写的关于乡土社会的文章", "乡土社会的文章", ("require author=费孝通",)),
        ("古人写的诗", "古人写的诗", ()),
        (
            "travaux récents du CNRS sur les récifs",
            "les récifs",
            ("prefer recency=new", "require affiliation=CNRS"),
        ),
    ],
)
def test_requests_around_a_subject(text, topic, read):
    reading = read_instruction(text)
    assert (reading.topic, reading.spellings) == (topic, read)


@pytest.mark.parametrize(
    "text", ["gleiche Methode, andere Daten", "même méthode, autres données", "同样的方法，不同的数据"]
)
def test_aspects_have_english_names(text):
    reading = read_instruction(text, whole_query=False)
    assert (reading.same, reading.different) == (("method",), ("data",))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        # What corrects a denial is denied, and what corrects a demand is demanded.
        ("exclude editorials; sorry, I meant letters", ("exclude kind=letter",)),
        ("no theses, sorry, preprints I mean", ("exclude status=preprint",)),
        ("only conference papers, wait, I meant journal articles", ("require status=journal",)),
        ("keine Editorials, Entschuldigung, ich meinte Leserbriefe", ("exclude kind=letter",)),
        ("exclure les éditoriaux ; pardon, je voulais dire les lettres", ("exclude kind=letter",)),
        ("sin editoriales; perdón, quería decir cartas", ("exclude kind=letter",)),
        ("no preprints, sorry, in German", ("exclude status=preprint", "prefer language=de")),
        (
            "plutôt des méta-analyses que des études de cas",
            ("prefer kind=meta-analysis", "avoid kind=case study"),
        ),
        ("Critères d'exclusion : lettres, protocoles.", ("exclude kind=letter", "exclude kind=protocol")),
        # A condition on a condition is said.
        ("Simulation papers only when they are compared with experiments", ()),
        ("Reviews nur, wenn sie systematisch sind", ()),
        ("des revues seulement si elles sont systématiques", ()),
        ("revisiones solo si son sistemáticas", ()),
        ("nur Reviews, wenn möglich", ("require kind=survey",)),
        ("journal articles only unless in CHI", ("require status=journal unless venue=CHI",)),
        ("code required unless the paper is a survey", ("require artifacts=code unless kind=survey",)),
    ],
)
def test_corrections_and_conditions_keep_their_sign(text, read):
    reading = read_instruction(text, whole_query=False)
    assert reading.spellings == read
    assert bool(reading.unread) != bool(read)
