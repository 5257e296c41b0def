"""Two requests side by side are read as each alone: neither takes the sign of the other."""

from __future__ import annotations

from itertools import permutations

import pytest

from aspectra.search.instructions.reading import read_instruction

REQUESTS = [
    "no reviews", "since 2019", "in English", "not in German", "open access", "with code", "without code",
    "by Judea Pearl", "not by Andrew Gelman", "only preprints", "no preprints", "preferably recent",
    "highly cited", "in Nature", "not in Nature", "nothing before 2015", "for beginners", "no theses",
    "from MIT", "at least 50 participants", "peer-reviewed only", "no animal studies", "in humans",
    "not older than 2018", "ideally a meta-analysis", "excluding blogs", 'must mention "zinc"',
    'must not mention "lead"', "no more than 10 pages", "not surveys", "published after 2010",
]  # fmt: skip


def _asked(text):
    return {one for one in read_instruction(text).spellings if "topic" not in one}


def _signs(spellings):
    """What is asked about -> whether it is wished for."""
    return {one.partition(" ")[2]: one.startswith(("require", "prefer")) for one in spellings}


@pytest.mark.parametrize("joint", [", ", "; ", ". ", ", but ", " but ", ", and ", " and "])
def test_no_request_takes_the_sign_of_its_neighbour(joint):
    alone = {one: _asked("owls, " + one) for one in REQUESTS}
    assert all(alone.values())
    pairs = [(a, b) for a, b in permutations(REQUESTS, 2) if a.split()[-1] != b.split()[-1]]
    whole = 0
    for one, other in pairs:
        second = other[0].upper() + other[1:] if joint == ". " else other
        asked, expected = _asked(f"owls, {one}{joint}{second}"), alone[one] | alone[other]
        signs = _signs(expected)
        wrong = {about for about, sign in _signs(asked).items() if signs.get(about, sign) is not sign}
        by_two = {one, other} == {"by Judea Pearl", "not by Andrew Gelman"}  # "not by A and by B" is unclear
        assert not wrong or by_two, (one, other, asked)
        assert not any(one.split()[1].startswith("combination") for one in asked), (one, other, asked)
        whole += asked == expected
    # *Only preprints and open access* limits both, and *preferably recent and since 2019* softens both.
    assert whole >= (0.85 if joint == " and " else 0.99) * len(pairs)


FOREIGN = {  # the beginning, joints, requests
    "de": (
        "Eulen, ",
        [", ", "; ", ". ", ", aber ", " aber ", " und "],
        ["keine Reviews", "seit 2019", "auf Englisch", "nicht auf Deutsch", "Open Access", "mit Code",
         "ohne Code", "von Judea Pearl", "nur Preprints", "keine Preprints", "möglichst aktuell",
         "viel zitiert", "nicht in Nature", "nichts vor 2015", "keine Dissertationen",
         "mindestens 50 Teilnehmer", "keine Tierstudien", "am Menschen",
         "am liebsten eine Metaanalyse", "ohne Blogs"],
    ),
    "fr": (
        "les hiboux, ",
        [", ", "; ", ". ", ", mais ", " mais ", " et "],
        ["pas de revues de littérature", "depuis 2019", "en anglais", "pas en allemand", "en libre accès",
         "avec code", "sans code", "par Judea Pearl", "uniquement des préprints", "pas de préprints",
         "de préférence récents", "très cités", "publiés dans Nature", "pas de thèses",
         "au moins 50 participants", "pas d'études animales", "chez l'homme", "sans blogs"],
    ),
    "es": (
        "los búhos, ",
        [", ", "; ", ". ", ", pero ", " pero ", " y "],
        ["sin revisiones", "desde 2019", "en inglés", "no en alemán", "de acceso abierto", "con código",
         "sin código", "por Judea Pearl", "solo preprints", "nada de preprints", "preferiblemente recientes",
         "muy citados", "publicados en Nature", "sin tesis", "al menos 50 participantes",
         "sin estudios animales", "en humanos", "sin blogs"],
    ),
    "zh": (
        "关于猫头鹰的论文，",
        ["，", "；", "。", "，但", "，并且"],
        ["不要综述", "2019年以来", "英文", "不要德文", "开放获取", "只要预印本", "不要预印本", "最好是近期",
         "高被引", "不要学位论文", "至少50名参与者", "不要动物研究", "最好是元分析",
         "不要博客", "不超过10页"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("language", FOREIGN)
def test_nor_in_other_languages(language):
    beginning, joints, requests = FOREIGN[language]
    alone = {one: _asked(beginning + one) for one in requests}
    assert all(alone.values())
    whole = []
    for joint in joints:
        for one, other in permutations(requests, 2):
            second = other[0].upper() + other[1:] if joint == ". " else other
            asked, expected = _asked(f"{beginning}{one}{joint}{second}"), alone[one] | alone[other]
            if one.split()[-1] == other.split()[-1]:
                continue
            signs = _signs(expected)
            assert not [
                about for about, sign in _signs(asked).items() if signs.get(about, sign) is not sign
            ], (one, joint, other, asked)
            whole.append(asked == expected)
    assert sum(whole) >= 0.97 * len(whole)


@pytest.mark.parametrize(
    "form",
    ["owls, {0}, {1} and {2}", "owls, {0}, {1}, and {2}", "owls ({0}, {1}; {2})", "owls: {0}, {1}, {2}",
     "owls | {0} | {1} | {2}", "owls / {0} / {1} / {2}", "owls\n- {0}\n- {1}\n- {2}", "owls\n{0}\n{1}\n{2}",
     "I need papers on owls, {0}, {1}, {2} please"],
)  # fmt: skip
def test_three_in_a_row_keep_their_signs(form):
    alone = {one: _asked("owls, " + one) for one in REQUESTS}
    for number, one in enumerate(REQUESTS):
        three = [one, *(REQUESTS[(number + step) % len(REQUESTS)] for step in (5, 12))]
        if len({words.split()[-1] for words in three}) < 3:
            continue
        signs = _signs(set().union(*(alone[words] for words in three)))
        asked = _signs(_asked(form.format(*three)))
        assert not {about for about, sign in asked.items() if signs.get(about, sign) is not sign}, three
        assert len(asked) >= len(signs) - (" and {2}" in form), three


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("owls, no reviews and purely theoretical papers", {"kind=survey": False, "kind=theory": False}),
        ("owls, no recent and highly cited papers", {"recency=new": False, "citations=high": False}),
        ("owls, no reviews, theses, and in English",
         {"kind=survey": False, "kind=thesis": False, "language=en": True}),
        ("owls, open access, and in English", {"access=open": True, "language=en": True}),
        ("owls, in Nature, but not by Andrew Gelman", {"venue=Nature": True, "author=Andrew Gelman": False}),
        ("owls. From MIT", {"affiliation=MIT": True}),
        ("How do owls sleep? Nothing except reviews.", {"kind=survey": True}),
        ("How do owls sleep? I already have enough reviews.", {"kind=survey": False}),
        ("How do owls sleep? Anything that isn't a thesis.", {"kind=thesis": False}),
        ("old papers on owls", {"recency=old": True}),
        ("owls, in English. Except surveys", {"language=en": True, "kind=survey": False}),
        ("owls, without code, from MIT", {"artifacts=code": False, "affiliation=MIT": True}),
        ("Eulen, ohne Code. Von Judea Pearl", {"artifacts=code": False, "author=Judea Pearl": True}),
        ("Owl diets. By Land and Sea", {}),
        ("children, adolescents, and adults with ADHD", {}),
    ],
)  # fmt: skip
def test_what_goes_with_what(text, expected):
    found = _signs(_asked(text))
    assert {about: found.get(about) for about in expected} == expected
    assert expected or not found
