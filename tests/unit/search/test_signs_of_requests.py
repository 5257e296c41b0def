"""No sign is turned round: what is denied is never wished for, and what is wished for is never denied.

A text may say more than is read; then it is reported, or searched for, and that is no fault here.
"""

from __future__ import annotations

import pytest

from aspectra.search.instructions.reading import read_instruction

DENIED = {  # what stands for {} -> texts
    "reviews, blogs, German papers, preprints": """
owls, {} be gone
owls, I'm allergic to {}
owls, keep {} to yourself
owls; {} bore me
owls; {} won't help
owls, {} wouldn't help me
owls, spare us {}
owls and no {} whatsoever
owls, but {}? No thanks.
owls. {}: no way
owls, hold the {}
owls, {} can be left aside
owls, {} are of no use to me
owls, I have no use for {}
owls, {} are useless here
owls, {} do not count
owls, {} need not be shown
owls, you can skip {}
owls, you may leave {} out
owls, let's not have {}
owls, I could live without {}
owls, exempt {}
owls, {} excepted
owls, except perhaps {}
owls, {} aside
owls, save {}
owls, {} not included
owls, {} not wanted
owls, nothing like {}
owls, no kind of {}
owls, neither {} nor posters
owls, {} must be avoided
owls, {} should not appear
owls, {} should be absent
owls, free of {}
owls, minus {}
owls -{}
owls, sans {}
owls, without a single one of {}
owls, zero {}
owls, fewer {} please
owls, I've had my fill of {}
owls, everything bar {}
owls, anything other than {}
owls, all but {}
owls, please no more {}
owls, {} disqualify
owls, I will reject {}
owls, {} are a no
owls, {}? Rather not.
owls, discard {}
owls, I don't care for {}
owls, not {} again
owls, {} get on my nerves
owls, {} have no place here
owls, steer away from {}
owls, {} off the list
owls, apart from {}
owls, I don't trust {}
owls, {} are banned
owls, you know I hate {}
owls, suppress {}
owls, with the exclusion of {}
owls, {} would be a waste
owls, under no condition {}
owls, by no means {}
""",
    "Reviews, Blogs, Preprints": """
Eulen, {} müssen vermieden werden
Eulen, {} sollen fehlen
Eulen, {} sollten nicht vorkommen
Eulen, auf {} kann ich verzichten
Eulen, {} nerven mich
Eulen, {} langweilen mich
Eulen, {} kommen nicht in Frage
Eulen, {} bitte weglassen
Eulen, verschone mich mit {}
Eulen, {} helfen mir nicht
Eulen, bloß keine {}
Eulen, mit Ausnahme von {}
Eulen, abgesehen von {}
Eulen, alles außer {}
Eulen, {} sind unbrauchbar
Eulen, {} scheiden aus
Eulen, {} sind tabu
Eulen, von {} will ich nichts wissen
Eulen, {} müssen draußen bleiben
Eulen, {}? Lieber nicht.
Eulen, {} gehören nicht dazu
Eulen, ich hasse {}
""",
    "synthèses, blogs, prépublications": """
hiboux, {} à éviter
hiboux, les {} doivent être exclus
hiboux, je ne veux pas de {}
hiboux, épargnez-moi les {}
hiboux, les {} ne m'intéressent pas
hiboux, tout sauf les {}
hiboux, hormis les {}
hiboux, à l'exception des {}
hiboux, à l'exclusion des {}
hiboux, surtout pas de {}
hiboux, les {} sont exclus
hiboux, je déteste les {}
hiboux, les {} ne servent à rien
hiboux, laissez les {} de côté
hiboux, les {} m'ennuient
""",
    "revisiones, tesis": """
búhos, hay que evitar {}
búhos, las {} deben excluirse
búhos, no quiero {}
búhos, ahórrame las {}
búhos, no me interesan las {}
búhos, todo menos {}
búhos, a excepción de {}
búhos, con exclusión de {}
búhos, las {} quedan fuera
búhos, odio las {}
búhos, las {} no sirven
búhos, deja de lado las {}
búhos, descarta las {}
búhos, las {} me aburren
búhos, ni {} ni libros
""",
    "综述, 博客, 预印本": """
猫头鹰，不看{}
猫头鹰，{}除外
猫头鹰，别给我{}
猫头鹰，{}一律不要
猫头鹰，避免{}
猫头鹰，去掉{}
猫头鹰，剔除{}
猫头鹰，除了{}都可以
猫头鹰，{}就算了
猫头鹰，不考虑{}
猫头鹰，拒绝{}
猫头鹰，{}不行
""",
}
WISHED = {  # what stands for {} -> texts
    "reviews, blogs, German papers, preprints": """
owls, give me {}
owls, {} if you have them
owls, {} above everything
owls, {} to start with
owls, I live for {}
owls, nothing beats {}
owls, I can't get enough of {}
owls, {} are what I need
owls, {} are all I read
owls, {} or bust
owls, {} and nothing but {}
owls, {} get priority
owls, put {} at the top
owls, lead with {}
owls, {} would make my day
owls, I have a weakness for {}
owls, {} are my favourite
owls, {} would be wonderful
owls, only {} will do
owls, {} are a must
owls, I insist on {}
owls, no exceptions: {}
owls, it has to be {}
owls, make it {}
owls, {} are non-negotiable
owls, has to include {}
owls, don't forget {}
owls, don't leave out {}
owls, not without {}
owls, please include {}
owls, be sure to include {}
owls, {} should not be missing
owls, {} must not be missing
owls, I wouldn't mind {}
owls, {} are fine
owls, {} included
owls, including {}
owls, {} too
owls, also {}
owls, {} count as well
owls, as many {} as possible
owls, mostly {}
owls, mainly {}
owls, the more {} the better
owls, {} would not hurt
owls, why not {}
owls, no objection to {}
owls, {} are no problem
owls, I never tire of {}
owls, do not skip {}
owls, never exclude {}
owls, let nothing but {} through
owls, everything must be {}
owls, restrict yourself to {}
owls, keep only {}
owls, filter for {}
owls, drop everything but {}
owls, remove everything except {}
owls, discard what is not {}
owls, anything that isn't {} can go
owls, not just {}
owls, not only {}
owls, no fewer than three {}
owls, don't miss {}
owls, don't overlook {}
owls, nothing is better than {}
owls, can't do without {}
owls, I cannot do without {}
owls, I would not say no to {}
owls, no less than {}
owls, not against {}
owls, I'm not opposed to {}
owls, {} are not a problem
owls, not limited to {}
owls, no need to avoid {}
owls, nobody should exclude {}
owls, without excluding {}
owls, I do not hate {}
owls, not that I dislike {}
owls, who doesn't love {}
owls, don't hesitate to include {}
owls, you cannot have too many {}
owls, hardly anything but {}
""",
    "Reviews, Blogs, Preprints": """
Eulen, {} dürfen nicht fehlen
Eulen, {} sollten nicht fehlen
Eulen, es sollte nicht an {} fehlen
Eulen, nichts geht über {}
Eulen, warum nicht {}
Eulen, nicht ohne {}
Eulen, nichts als {}
Eulen, nichts außer {}
Eulen, keine anderen als {}
Eulen, ich lese nichts anderes als {}
""",
    "synthèses, blogs, prépublications": """
hiboux, les {} ne doivent pas manquer
hiboux, rien que des {}
hiboux, rien d'autre que des {}
hiboux, pas seulement des {}
hiboux, ne pas oublier les {}
hiboux, pourquoi pas des {}
hiboux, rien ne vaut les {}
""",
    "revisiones, tesis": """
búhos, no deben faltar {}
búhos, no pueden faltar las {}
búhos, nada más que {}
búhos, nada como las {}
búhos, no solo {}
búhos, no olvides las {}
""",
    "综述, 博客, 预印本": """
猫头鹰，不可缺少{}
猫头鹰，少不了{}
猫头鹰，不要忘了{}
猫头鹰，只要{}
猫头鹰，不只是{}
""",
}


def _texts(turns: dict[str, str]) -> list[str]:
    return [
        line.replace("{}", value)
        for values, lines in turns.items()
        for line in lines.split("\n")[1:-1]
        for value in values.split(", ")
    ]


@pytest.mark.parametrize("text", _texts(DENIED))
def test_what_is_denied_is_not_wished_for(text):
    assert not [one for one in read_instruction(text).spellings if one.startswith(("prefer", "require"))]


@pytest.mark.parametrize("text", _texts(WISHED))
def test_what_is_wished_for_is_not_denied(text):
    assert not [one for one in read_instruction(text).spellings if one.startswith(("exclude", "avoid"))]


LATE = """
owls, nothing before 2010
owls, exclude papers older than 2010
owls, do not go back beyond 2010
owls, don't go further back than 2010
owls, 2010 at the earliest
owls, older than 2010 is useless
owls, skip pre-2010 work
Eulen, nicht vor 2010
Eulen, frühestens 2010
hiboux, rien d'antérieur à 2010
owls, in or after 2010
owls, starting 2010
hiboux, au plus tôt 2010
hiboux, au plus tôt en 2010
关于猫头鹰的论文，2010年及以后
búhos, nada anterior a 2010
猫头鹰，2010年之前的不要
猫头鹰，不早于2010年
"""
EARLY = """
owls, no papers after 2010
owls, not later than 2010
owls, anything newer than 2010 is out
owls, 2010 at the latest
Eulen, nicht nach 2010
Eulen, spätestens 2010
hiboux, rien de postérieur à 2010
owls, on or before 2010
hiboux, au plus tard 2010
hiboux, au plus tard en 2010
búhos, como muy tarde en 2010
búhos, no después de 2010
猫头鹰，不晚于2010年
"""


@pytest.mark.parametrize("text", [*LATE.split("\n")[1:-1], *EARLY.split("\n")[1:-1]])
def test_a_denied_side_of_a_year_leaves_the_other(text):
    late = text in LATE.split("\n")
    assert read_instruction(text).spellings == (f"require year={'>=' if late else '<='}2010",)


INLINE = {  # what is denied in the sentence of the subject: beginnings, denials, values
    "papers on owls, recent studies of owls, owls, owl diets": (
        """
not written in
not in
that are not in
which are not written in
never published in
not published in
not from
that are not from
no longer in
neither written nor published in
that were not published in
other than in
but not in
except in
excluding those in
not appearing in
that did not appear in
not coming from
not originally in
outside of
""",
        "German, Nature, PLoS ONE, 2019, Spanish",
    ),
    "papers about owls, owls, what do owls eat?": (
        """
that are not
which are not
but not
but no
without
except
excluding
minus
other than
apart from
besides
unlike
ignoring
not counting
that should not be
""",
        "reviews, theses, preprints, blog posts, case reports, patents",
    ),
    "papers about owls, recent work on owls": (
        """
not by
not written by
other than by
excluding those by
that are not by
never by
which were not written by
ignoring anything by
minus anything by
""",
        "Smith, Jane Goodall, Ito and Kim",
    ),
    "猫头鹰的论文, 关于猫头鹰的研究": (
        "\n，不要\n，除了\n，非\n，除去\n，不是\n",
        "综述, 学位论文, 会议论文",
    ),
    "Arbeiten über Eulen, Eulen": ("\nnicht auf\ndie nicht auf\naber nicht auf\nohne die auf\n", "Deutsch"),
    "articles sur les hiboux, les hiboux": (
        "\nqui ne sont pas en\npas en\nmais pas en\nnon publiés en\npas publiés en\n",
        "anglais, 2019",
    ),
    "artículos sobre búhos, búhos": (
        "\nque no estén en\nno en\npero no en\nnunca publicados en\nno publicados en\n",
        "inglés, 2019",
    ),
}


@pytest.mark.parametrize(
    "text",
    [
        f"{subject} {denial} {value}"
        for subjects, (denials, values) in INLINE.items()
        for subject in subjects.split(", ")
        for denial in denials.split("\n")[1:-1]
        for value in values.split(", ")
    ],
)
def test_what_is_denied_behind_a_subject_is_not_wished_for(text):
    found = read_instruction(text).spellings
    assert not [one for one in found if one.startswith(("prefer", "require")) and "recency" not in one]


def test_most_denials_behind_a_subject_are_read():
    denials, values = INLINE["papers on owls, recent studies of owls, owls, owl diets"]
    texts = [
        f"papers on owls {one} {value}" for one in denials.split("\n")[1:-1] for value in values.split(", ")
    ]
    read = [
        text for text in texts if any(one[:2] in ("ex", "av") for one in read_instruction(text).spellings)
    ]
    assert len(read) >= 0.95 * len(texts)


@pytest.mark.parametrize(
    "told", ["that are", "which are", "limited to", "restricted to", "which must be", "only"]
)
@pytest.mark.parametrize("value", ["reviews", "theses", "preprints", "patents"])
def test_what_papers_should_be_is_read_behind_a_subject(told, value):
    found = read_instruction(f"papers about owls {told} {value}")
    assert found.topic == "owls"
    assert [one.partition(" ")[0] for one in found.spellings] in (["require"], ["prefer"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("owls, 50 participants or more", "require sample=>=50"),
        ("owls, 50 patients or fewer", "require sample=<=50"),
        ("owls, 50 citations at most", "require citations=<=50"),
        ("owls, 50 citations, or more", "require citations=>=50"),
        ("owls, 50+ pages", "require length=>=50 pages"),
        ("owls, only papers with 50 or more pages", "require length=>=50 pages"),
        ("owls, 8 or fewer pages", "require length=<=8 pages"),
    ],
)
def test_what_stands_behind_a_number_or_what_it_counts_bounds_it(text, expected):
    read = read_instruction(text)
    assert read.spellings == (expected,)
    assert read.topic == "owls"


@pytest.mark.parametrize("value", ["non-English papers", "non-randomised studies", "non-peer-reviewed work"])
@pytest.mark.parametrize(
    "text", ["{} welcome: salt taxes", "salt taxes, also {}", "salt taxes, including {}"]
)
def test_what_is_let_in_by_a_denied_word_limits_nothing(text, value):
    found = read_instruction(text.format(value))
    assert (found.topic, found.spellings) == ("salt taxes", ())


def test_a_denied_word_alone_still_limits():
    assert read_instruction("salt taxes, only non-English papers").spellings == ("exclude language=en",)


@pytest.mark.parametrize("told", ["no", "anything except", "nothing but no"])
@pytest.mark.parametrize("study", ["twin studies", "brain imaging papers"])
def test_what_denied_studies_are_on_is_searched_for(told, study):
    found = read_instruction(f"{told} {study} on heritability of attitudes")
    assert found.topic == "heritability of attitudes"
    assert found.spellings == (f"exclude topic={study.replace(' papers', '')}",) or study in str(
        found.spellings
    )


NOT_NEEDED = """
owls, English is not required
owls, peer review is not required
owls, RCTs are not required
owls, Blinding is not required
owls, RCTs aren't necessary
owls, meta-analyses are not a must
owls, theses are not compulsory
owls, code isn't mandatory
owls, code is not needed
owls, open access is not essential
Eulen, Reviews sind nicht erforderlich
Eulen, Code ist kein Muss
chouettes, le code n'est pas nécessaire
chouettes, les revues ne sont pas obligatoires
búhos, las revisiones no son necesarias
búhos, el código no es obligatorio
猫头鹰，代码不是必须的
"""


@pytest.mark.parametrize("text", NOT_NEEDED.split("\n")[1:-1])
def test_what_need_not_be_is_not_denied(text):
    read = read_instruction(text)
    assert not read.spellings
    assert not read.unread


def test_kinds_of_papers_that_are_not_needed_are_avoided():
    assert read_instruction("owls, reviews are not needed").spellings == ("avoid kind=survey",)


FORBIDDEN = """
owls, preprints are not ok
owls, preprints aren't okay
owls, preprints are not allowed
owls, preprints are not permitted please
owls, preprints are never OK
owls, preprints are not tolerated
owls, I'm not ok with preprints
owls, it is not ok to include preprints
owls, no preprints allowed
owls, no preprints are acceptable
búhos, no se aceptan preprints
búhos, los preprints no se permiten
búhos, preprints no aceptados
chouettes, les prépublications ne sont pas acceptées
chouettes, prépublications non acceptées
Eulen, Preprints sind nicht okay
Eulen, Preprints sind nicht in Ordnung
Eulen, Preprints nicht erlaubt
"""


@pytest.mark.parametrize("text", FORBIDDEN.split("\n")[1:-1])
def test_a_permission_that_is_denied_excludes(text):
    assert read_instruction(text).spellings == ("exclude status=preprint",)


@pytest.mark.parametrize(
    "text",
    [
        "owls, preprints are ok",
        "owls, no code is ok",
        "owls, not in English is ok",
        "owls, papers without data allowed",
        "owls, not only reviews, preprints allowed",
    ],
)
def test_what_lacks_a_thing_and_is_permitted_is_not_denied(text):
    assert not read_instruction(text).spellings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("published by anyone but Elsevier", "publisher=Elsevier"),
        ("from anyone but MDPI", "publisher=MDPI"),
        ("any publisher but MDPI", "publisher=MDPI"),
        ("anyone but Elsevier", "publisher=Elsevier"),
        ("anywhere but in Nature", "venue=Nature"),
        ("published in any journal but Nature", "venue=Nature"),
        ("any journal but PLOS ONE", "venue=PLOS ONE"),
        ("by anyone but Smith", "author=Smith"),
        ("any author but Smith", "author=Smith"),
        ("any kind but reviews", "kind=survey"),
        ("all types but theses", "kind=thesis"),
        ("any study but trials", "kind=trial"),
        ("from anywhere but arXiv", "status=preprint"),
    ],
)
def test_any_but_one_denies_it(text, expected):
    assert read_instruction(f"owls, {text}").spellings == (f"exclude {expected}",)


@pytest.mark.parametrize(
    "text",
    [
        "any port but Rotterdam",
        "nothing but nets",
        "Anyone but him: the complexity of precluding an alternative",
        "anywhere but here: leaving the village",
        "any study but one: a lesson",
        "parenting by anyone but the mother",
    ],
)
def test_any_but_one_in_a_subject_denies_nothing(text):
    assert not read_instruction(text).spellings


DENIED_TWICE = """
owls, no preprints without code
owls, no trials without blinding
owls, no reviews without a protocol
owls, no preprints that do not share code
owls, no reviews that are not systematic
owls, no preprints without a journal version
owls, exclude trials without a control group
owls, skip preprints that aren't in English
owls, no preprints with no code
owls, preprints with no code
Eulen, keine Preprints ohne Code
chouettes, pas de prépublications sans code
búhos, no quiero preprints sin código
"""


@pytest.mark.parametrize("text", DENIED_TWICE.split("\n")[1:-1])
def test_a_denial_of_some_documents_denies_neither_all_nor_the_others(text):
    read = read_instruction(text)
    assert not read.spellings
    assert [one.words for one in read.unread] == [text.split(", ")[1]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no papers with no code", ("require artifacts=code",)),
        ("nothing with no data", ("require artifacts=data",)),
        ("papers with no code are not ok", ("require artifacts=code",)),
        ("papers that are not in English are not allowed", ("require language=en",)),
        ("papers with no code", ("exclude artifacts=code",)),
        ("no reviews or no theses", ("exclude kind=survey", "exclude kind=thesis")),
        ("no reviews no theses", ("exclude kind=survey", "exclude kind=thesis")),
    ],
)
def test_two_denials_of_one_thing_cancel_out_and_those_of_a_list_do_not(text, expected):
    assert read_instruction(f"owls, {text}").spellings == expected


@pytest.mark.parametrize(
    "text",
    """
no small trials
no small cohorts
no small RCTs
no small datasets
no big trials
no long reviews
no detailed reviews
no trials with few patients
exclude trials that are small
no trials that are too small
without small trials
no theses or long reviews
""".split("\n")[1:-1],
)
def test_a_denied_size_denies_not_all_documents(text):
    read = read_instruction(f"owls, {text}")
    assert (read.topic, read.spellings) == ("owls", ())
    assert [one.words for one in read.unread] == [text]


def test_a_denied_size_leaves_the_subject():
    assert read_instruction("no small trials on owls").topic == "owls"


@pytest.mark.parametrize("disease", ["long covid", "small cell lung cancer"])
def test_the_size_in_a_name_is_of_no_document(disease):
    assert "kind=trial and topic=" in read_instruction(f"owls, no {disease} trials").spellings[0]
