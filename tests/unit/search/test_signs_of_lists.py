"""Every item of a list has the sign of the list, wherever the sign stands: templates in five languages."""

from __future__ import annotations

from itertools import product

import pytest

from aspectra.search.instructions.reading import read_instruction

LISTS = {  # beginnings, denials, wishes, items, how they are joined
    "en": (
        ["owls, ", "papers on owls, ", "How do owls sleep? "],
        ["no {}", "not {}", "except {}", "except for {}", "excluding {}", "without {}", "anything but {}",
         "leave out {}", "avoid {}", "I do not want {}", "skip {}", "other than {}", "please no {}",
         "never {}", "{} excluded", "{} are out", "leave {} out", "{} left out", "{} not wanted"],
        ["only {}", "preferably {}", "ideally {}", "must be {}", "limited to {}", "{} only", "{} preferred"],
        ["reviews", "theses", "preprints", "blogs", "editorials"],
        ["{0}, {1}", "{0} and {1}", "{0} or {1}", "{0}, {1} and {2}", "{0}, {1}, or {2}", "{0}, {1}, {2}",
         "{0}/{1}", "{0} & {1}", "{0} as well as {1}"],
    ),
    "de": (
        ["Eulen, ", "Arbeiten über Eulen, ", "Wie schlafen Eulen? "],
        ["keine {}", "außer {}", "ohne {}", "alles außer {}", "bitte keine {}", "mit Ausnahme von {}",
         "{} ausschließen", "{} weglassen", "{} ausgeschlossen", "lass {} weg"],
        ["nur {}", "am liebsten {}", "möglichst {}", "{} bevorzugt", "ausschließlich {}"],
        ["Reviews", "Dissertationen", "Preprints", "Blogs", "Leitartikel"],
        ["{0}, {1}", "{0} und {1}", "{0} oder {1}", "{0}, {1} und {2}", "{0}, {1}, {2}", "{0} sowie {1}"],
    ),
    "fr": (
        ["les hiboux, ", "articles sur les hiboux, "],
        ["pas de {}", "sans {}", "sauf {}", "hormis {}", "aucun {}", "exclure les {}", "évitez les {}"],
        ["seulement des {}", "de préférence des {}", "uniquement {}", "si possible des {}"],
        ["revues de littérature", "thèses", "préprints", "blogs", "éditoriaux"],
        ["{0}, {1}", "{0} et {1}", "{0} ou {1}", "{0}, {1} et {2}", "{0}, {1}, {2}", "{0} et les {1}"],
    ),
    "es": (
        ["los búhos, ", "artículos sobre búhos, "],
        ["sin {}", "no {}", "excepto {}", "salvo {}", "menos {}", "nada de {}", "excluir {}", "evita {}"],
        ["solo {}", "preferiblemente {}", "únicamente {}", "si es posible {}"],
        ["revisiones", "tesis", "preprints", "blogs", "editoriales"],
        ["{0}, {1}", "{0} y {1}", "{0} o {1}", "{0}, {1} y {2}", "{0}, {1}, {2}"],
    ),
    "zh": (
        ["猫头鹰，", "关于猫头鹰的论文，"],
        ["不要{}", "排除{}", "除{}外", "除了{}", "不包括{}", "{}除外", "不看{}"],
        ["只要{}", "优先{}", "仅限{}", "最好是{}", "{}优先", "除{}外都不要", "非{}不看"],
        ["综述", "学位论文", "预印本", "博客", "社论"],
        ["{0}、{1}", "{0}和{1}", "{0}或{1}", "{0}、{1}和{2}", "{0}、{1}、{2}", "{0}以及{1}"],
    ),
}  # fmt: skip


def _texts(language, denied):
    beginnings, denials, wishes, items, joints = LISTS[language]
    for first, sign, joint, at in product(beginnings, denials if denied else wishes, joints, range(3)):
        three = [items[(at + n) % len(items)] for n in range(3)]
        yield first + sign.format(joint.format(*three)), 2 + ("{2}" in joint)


def _read(text):
    """(signs of what papers should be, how many things are named)."""
    conditions = [c for c in read_instruction(text).conditions if c.attribute != "topic" and c.sign]
    return {c.sign for c in conditions}, sum(len(c.value.split("|")) for c in conditions)


@pytest.mark.parametrize("language", LISTS)
def test_all_items_of_a_denied_list_are_denied(language):
    read = {text: (_read(text), items) for text, items in _texts(language, denied=True)}
    assert {text: got for text, (got, items) in read.items() if got[0] - {-1}} == {}
    assert sum(got[1] >= items for got, items in read.values()) >= 0.95 * len(read)
    assert not any("combination" in c.spelling for text in read for c in read_instruction(text).conditions)


@pytest.mark.parametrize("language", LISTS)
def test_all_items_of_a_list_that_is_wished_for_are_wished_for(language):
    read = {text: (_read(text), items) for text, items in _texts(language, denied=False)}
    assert {text: got for text, (got, items) in read.items() if got[0] - {1}} == {}
    assert sum(got[1] >= items for got, items in read.values()) >= 0.8 * len(read)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("recent studies on owls. Except reviews", {"kind=survey": -1}),
        ("owls, in any language except German, French", {"language=de": -1, "language=fr": -1}),
        ("Eulen, die weder Reviews noch Preprints sind", {"kind=survey": -1, "status=preprint": -1}),
        ("Eulen, weder auf Deutsch noch auf Englisch", {"language=de": -1, "language=en": -1}),
        ("猫头鹰，不要预印本，除了bioRxiv", {"status=preprint": -1}),
        ("los búhos, menos de 5 citas", {"citations=<=4": 1}),
        ("artículos sobre búhos que sean revisiones", {"kind=survey": 1}),
        ("articles sur les hiboux qui sont des thèses", {"kind=thesis": 1}),
        ("关于猫头鹰的论文只要综述", {"kind=survey": 1}),
        ("关于除草剂的论文", {}),
    ],
)
def test_what_stands_beside_lists(text, expected):
    read = read_instruction(text).conditions
    found = {f"{c.attribute}={c.value}": c.sign for c in read if c.attribute not in ("topic", "recency")}
    assert found == expected


OTHERS = {  # denials, wishes, items
    "language": (
        ["not in {}", "nothing in {}", "excluding {}", "no {}", "avoid {}", "in any language but {}"],
        ["only in {}", "preferably in {}", "{} only"],
        ["German", "French", "Spanish", "Chinese"],
    ),
    "venue": (
        ["not in {}", "nothing from {}", "except in {}", "other than {}"],
        ["only in {}", "published in {}", "from {} only"],
        ["Nature", "Science", "PLOS ONE", "The Lancet"],
    ),
    "author": (
        ["not by {}", "nothing by {}", "except by {}", "other than by {}"],
        ["by {}", "only by {}", "written by {}"],
        ["Andrew Gelman", "Judea Pearl", "Donald Rubin", "Susan Athey"],
    ),
}


@pytest.mark.parametrize(("attribute", "sign"), list(product(OTHERS, (-1, 1))))
def test_lists_of_names_and_languages_have_one_sign(attribute, sign):
    denials, wishes, items = OTHERS[attribute]
    joints = [
        "{0}, {1}",
        "{0} and {1}",
        "{0} or {1}",
        "{0}, {1} and {2}",
        "{0}, {1}, or {2}",
        "{0}, {1}, {2}",
    ]
    for told, joint, at in product(denials if sign < 0 else wishes, joints, range(3)):
        text = "owls, " + told.format(joint.format(*(items[(at + n) % 4] for n in range(3))))
        signs, named = _read(text)
        assert (signs, named) == ({sign}, 2 + ("{2}" in joint)), text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("papers on owls only in German or French", ["require language=de", "require language=fr"]),
        ("papers on owls with code and data", ["prefer artifacts=code", "prefer artifacts=data"]),
        ("owls, not from MIT, University of Oxford",
         ["exclude affiliation=MIT", "exclude affiliation=University of Oxford"]),
        ("papers on the University of Oxford", []),
        ("No reviews, theses on owls", ["exclude kind=survey", "exclude kind=thesis"]),
        ("no reviews, theses welcome", ["exclude kind=survey", "prefer kind=thesis"]),
        ("owls, except in German, French, Spanish",
         ["exclude language=de", "exclude language=fr", "exclude language=es"]),
        ("Eulen, nicht in PLOS ONE, The Lancet", ["exclude venue=PLOS ONE", "exclude venue=The Lancet"]),
        ("关于猫头鹰的论文，不要德文、西班牙文的", ["exclude language=de", "exclude language=es"]),
        ("Bayesian methods, nothing by Andrew Gelman", ["exclude author=Andrew Gelman"]),
        ("Bayesian methods, Gelman", []),
    ],
)  # fmt: skip
def test_lists_inside_and_before_a_subject(text, expected):
    assert [c for c in read_instruction(text).spellings if "topic" not in c] == expected
