"""Sentences behind a question that refuse or wish for kinds of papers, in four languages."""

from __future__ import annotations

from itertools import product

import pytest

from aspectra.search.instructions.reading import read_instruction

SENTENCES = {  # the question, kinds, refusals, wishes
    "de": (
        "Wie schlafen Eulen? ",
        """
Reviews | Dissertationen | Preprints | Blogbeiträge | Leitartikel | Konferenzbeiträge
        """,
        """
Ich will keine {} | Ich möchte keine {} | Ich brauche keine {} | Ich suche keine {} |
{} interessieren mich nicht | {} nützen mir nichts | {} helfen mir nicht | Lass {} weg |
Bitte {} auslassen | Zeig mir keine {} | Gib mir keine {} | {} sollen nicht erscheinen |
{} dürfen nicht dabei sein | Ich habe schon genug {} | Keine {}, danke | Verschone mich mit {} |
{} kann man weglassen | {} sollten ausgeschlossen werden | {} zählen nicht | Alles, nur keine {} |
Hauptsache keine {} | {} lehne ich ab | {} hasse ich | Ich verzichte auf {} |
Auf {} kann ich verzichten | {} gehören nicht dazu | {} kommen nicht in Frage | {} sind tabu |
Bloß keine {} | {} bitte weglassen
        """,
        """
Ich will {} | Ich möchte {} | Ich brauche {} | Ich suche {} | Mich interessieren {} | Gib mir {} |
Zeig mir {} | {} wären am besten | Nur {} bitte | Es müssen {} sein | Nichts anderes als {} |
Ich bevorzuge {} | Konzentriere dich auf {} | Beschränke dich auf {} | {} zuerst | Nichts als {} |
Nichts außer {} | Ausschließlich {} | Am liebsten {} | {} vor allem | {} sind Pflicht |
{} sind mir wichtig | Hauptsache {} | Nicht ohne {} | Keine anderen als {}
        """,
    ),
    "fr": (
        "Comment dorment les hiboux ? ",
        """
revues de littérature | thèses | préprints | billets de blog | éditoriaux | actes de conférence
        """,
        """
Je ne veux pas de {} | Je ne cherche pas de {} | Je n'ai pas besoin de {} |
Les {} ne m'intéressent pas | Les {} ne me servent à rien | Évitez les {} |
Ne me montrez pas de {} | Ne me donnez pas de {} | Les {} doivent être exclus |
J'ai déjà assez de {} | Pas de {}, merci | Épargnez-moi les {} | On peut laisser de côté les {} |
Les {} ne comptent pas | Tout sauf des {} | Surtout pas de {} | Je déteste les {} |
Excluez les {} | Sans {} | Aucune envie de {} | Les {} sont à proscrire |
Hors de question de lire des {}
        """,
        """
Je veux des {} | Je voudrais des {} | J'ai besoin de {} | Je cherche des {} |
Les {} m'intéressent | Donnez-moi des {} | Montrez-moi des {} | Des {} seraient parfaits |
Uniquement des {} | Il faut que ce soient des {} | Rien d'autre que des {} | Je préfère les {} |
Concentrez-vous sur les {} | Limitez-vous aux {} | Les {} d'abord | Rien que des {} |
Exclusivement des {} | Surtout des {} | De préférence des {}
        """,
    ),
    "es": (
        "¿Cómo duermen los búhos? ",
        """
revisiones | tesis | preprints | entradas de blog | editoriales | actas
        """,
        """
No quiero {} | No busco {} | No necesito {} | Las {} no me interesan | Las {} no me sirven |
Evita las {} | No me muestres {} | No me des {} | Las {} deben excluirse | Ya tengo bastantes {} |
Nada de {}, gracias | Ahórrame las {} | Se pueden dejar fuera las {} | Las {} no cuentan |
Todo menos {} | Odio las {} | Excluye las {} | Sin {} | Prescinde de {} |
Las {} quedan descartadas
        """,
        """
Quiero {} | Quisiera {} | Necesito {} | Busco {} | Me interesan las {} | Dame {} | Muéstrame {} |
Las {} serían ideales | Solo {} | Tienen que ser {} | Nada más que {} | Prefiero {} |
Céntrate en {} | Limítate a {} | Primero {} | Exclusivamente {} | Sobre todo {} |
De preferencia {} | Que sean {}
        """,
    ),
    "zh": (
        "猫头鹰如何睡觉？",
        """
综述 | 学位论文 | 预印本 | 博客 | 社论 | 会议论文
        """,
        """
我不要{} | 我不需要{} | 我不想看{} | 对{}不感兴趣 | {}没有用 |
请排除{} | 不要给我{} | {}不算 | 我已经有足够的{}了 | {}就不用了 |
别的都行，就是不要{} | 我讨厌{} | 去掉{} | {}除外 | 拒绝{} | 过滤掉{}
        """,
        """
我要{} | 我需要{} | 我想看{} | 对{}感兴趣 | 请给我{} |
{}最好 | 只要{} | 必须是{} | 除了{}都不要 | 我更喜欢{} | 重点看{} | 限于{} |
先看{} | 仅{} | 尤其是{} | 最好是{}
        """,
    ),
}


def _parts(text):
    return [part.strip() for part in text.replace("\n", "|").split("|") if part.strip()]


def _signs(language, number):
    """The signs that are read from each sentence."""
    question, kinds, *told = SENTENCES[language]
    for sentence, kind in product(_parts(told[number]), _parts(kinds)):
        read = read_instruction(f"{question}{sentence.format(kind)}.")
        yield sentence.format(kind), {c.sign for c in read.conditions if c.attribute != "topic"}


@pytest.mark.parametrize("language", SENTENCES)
def test_what_is_refused_is_not_wished_for(language):
    read = dict(_signs(language, 0))
    assert {text: signs for text, signs in read.items() if 1 in signs} == {}
    assert sum(signs == {-1} for signs in read.values()) >= 0.97 * len(read)


@pytest.mark.parametrize("language", SENTENCES)
def test_what_is_wished_for_is_not_refused(language):
    read = dict(_signs(language, 1))
    assert {text: signs for text, signs in read.items() if -1 in signs} == {}
    assert sum(signs == {1} for signs in read.values()) >= 0.95 * len(read)
