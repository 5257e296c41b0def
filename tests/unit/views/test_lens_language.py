from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aspectra.papers.paper import Paper, Section
from aspectra.views.lenses import language
from aspectra.views.lenses._lead import lead_batch
from aspectra.views.lenses.language import LANGUAGES, label_of
from aspectra.views.lenses.protocol import LENSES, LensValues, load_data

LENS = LENSES.get("language")

SENTENCES = {
    "en": "The river rises in spring, and the people of the valley move their boats to higher ground.",
    "de": "Der Fluss steigt im Frühling, und die Leute im Tal bringen ihre Boote auf höheres Land.",
    "fr": "La rivière monte au printemps et les gens de la vallée mettent leurs bateaux plus haut.",
    "es": "El río crece en primavera y la gente del valle lleva sus barcas a un terreno más alto.",
    "pt": "O rio sobe na primavera e as pessoas do vale levam os seus barcos para um terreno mais alto.",
    "it": "Il fiume sale in primavera e la gente della valle porta le sue barche più in alto.",
    "nl": "De rivier stijgt in het voorjaar en de mensen in het dal brengen hun boten naar hoger land.",
    "sv": "Floden stiger på våren och folket i dalen flyttar sina båtar till högre mark.",
    "da": "Floden stiger om foråret, og folk i dalen flytter deres både op på land, når de kan nå det nu.",
    "no": "Elva stiger om våren, og folk i dalen flytter båtene sine opp på land etter hvert nå.",
    "fi": "Joki nousee keväällä, ja laakson väki siirtää veneensä ylemmäs, kun se on vielä mahdollista.",
    "pl": "Rzeka podnosi się na wiosnę, a ludzie z doliny przenoszą swoje łodzie na wyższy brzeg.",
    "cs": "Řeka na jaře stoupá a lidé z údolí přenášejí své čluny na vyšší břeh, když je to možné.",
    "sk": "Rieka na jar stúpa a ľudia z údolia prenášajú svoje člny na vyšší breh, keď je to možné.",
    "hu": "A folyó tavasszal árad, és a völgy lakói a magasabb partra viszik a csónakokat.",
    "ro": "Râul crește primăvara, iar oamenii din vale își duc bărcile pe un teren mai înalt.",
    "tr": "Nehir ilkbaharda yükselir ve vadideki insanlar kayıklarını daha yüksek bir yere taşır.",
    "vi": "Con sông dâng lên vào mùa xuân và người dân trong thung lũng đưa thuyền lên chỗ cao hơn.",
    "id": "Sungai itu naik pada musim semi dan orang di lembah membawa perahu ke tempat yang tinggi.",
    "ca": "El riu creix a la primavera i la gent de la vall porta les seves barques més amunt.",
    "hr": "Rijeka raste u proljeće, a ljudi iz doline nose svoje čamce na višu obalu jer je to sigurnije.",
    "ru": "Весной река поднимается, и люди из долины переносят свои лодки на высокий берег.",
    "uk": "Навесні річка піднімається, і люди з долини переносять свої човни на високий берег.",
    "bg": "През пролетта реката се покачва и хората от долината преместват лодките си на високо.",
    "sr": "У пролеће река расте, а људи из долине носе своје чамце на вишу обалу.",
    "el": "Την άνοιξη το ποτάμι φουσκώνει και οι άνθρωποι της κοιλάδας ανεβάζουν τις βάρκες.",
    "ar": "يرتفع النهر في الربيع وينقل أهل الوادي قواربهم إلى أرض أعلى.",
    "fa": "رودخانه در بهار بالا می‌آید و مردم دره قایق‌های خود را به جای بلندتری می‌برند.",
    "ur": "دریا بہار میں چڑھتا ہے اور وادی کے لوگ اپنی کشتیاں اونچی جگہ لے جاتے ہیں۔",
    "he": "הנהר עולה באביב ואנשי העמק מעבירים את הסירות למקום גבוה יותר.",
    "th": "แม่น้ำสูงขึ้นในฤดูใบไม้ผลิ และชาวหุบเขาย้ายเรือไปยังที่สูง",
    "hi": "वसंत में नदी चढ़ती है और घाटी के लोग अपनी नावें ऊँची जगह ले जाते हैं।",
    "ko": "봄이면 강물이 불어나고 골짜기 사람들은 배를 높은 곳으로 옮긴다.",
    "ja": "春になると川の水が増え、谷の人々は舟を高い所へ移す。",
    "zh": "春天河水上涨，山谷里的人们把船搬到高处。",
}


def shares(text: str, title: str = "", language: str = "") -> dict[str, float]:
    row = LENS.apply([Paper("x", title, text, language=language)])[0][0]
    return {label: float(v) for label, v in zip(LENS.labels, row, strict=True)}


def best(text: str) -> str:
    found = shares(text)
    return max(LANGUAGES, key=lambda code: np.nan_to_num(found[code], nan=-1))


def test_every_language_has_a_sentence_here() -> None:
    assert set(SENTENCES) == set(LANGUAGES)
    assert len(LANGUAGES) >= 25
    data = load_data("language")
    assert tuple(data["words"]) == LANGUAGES[: len(data["words"])]
    assert set(data["words"]) == set(data["letters"]) > set(data["endings"])


@pytest.mark.parametrize("code", LANGUAGES)
def test_one_sentence_is_enough(code: str) -> None:
    found = shares(SENTENCES[code])
    assert found[code] == pytest.approx(1, abs=0.01), {k: v for k, v in found.items() if v > 0}


@given(st.sampled_from(LANGUAGES), st.sampled_from(LANGUAGES))
def test_shares_sum_to_one(one: str, other: str) -> None:
    found = shares(SENTENCES[one] + "\n\n" + SENTENCES[other])
    assert sum(found[code] for code in LANGUAGES) == pytest.approx(1, abs=1e-5)


def test_two_languages_share() -> None:
    both = shares("\n".join([SENTENCES["en"]] * 6 + [SENTENCES["de"]] * 6))
    assert 0.35 < both["en"] < 0.65
    assert both["en"] + both["de"] == pytest.approx(1, abs=0.01)
    scripts = shares(SENTENCES["en"] + "\n" + SENTENCES["ru"])
    assert scripts["en"] > 0.4
    assert scripts["ru"] > 0.35


def test_chinese_pages_about_commands_are_chinese() -> None:
    page = """# wc

统计文件的行数、单词数和字节数。

```shell
wc [options] [file ...]
wc --lines --words notes.txt
for f in *.txt; do wc -l "$f"; done
```

- `-l`：只显示行数；
- `-w`：只显示单词数。
"""
    assert shares(page)["zh"] > 0.8
    listing = "# 打印一行\nprint('this is a line')\nx = [a for a in range(10) if a not in seen]\n" * 5
    assert shares(listing)["zh"] > 0.5


def test_an_english_manual_full_of_options_is_english() -> None:
    page = (
        "wc(1)\n\n-l, --lines\n  print the newline counts\n-w, --words\n  print the word counts\n--help\n-L"
    )
    assert shares(page)["en"] == 1


def test_signs_in_mathematics_are_no_greek() -> None:
    assert shares("We show that the α-helix and the β-sheet are of the same size, with σ = 2 μm.")["en"] == 1


def test_a_japanese_name_leaves_chinese_chinese() -> None:
    text = "这本书的日文名叫《ノルウェイ》，作者在书中描写了年轻人的生活，翻译成中文以后很受读者欢迎。"
    assert shares(text)["zh"] > 0.8
    assert best("東京都の人口は増加を続けている。") == "ja"


def test_forms_of_chinese() -> None:
    assert shares("这个国家的经济发展很快。")["zh-Hans"] == 1
    traditional = shares("這個國家的經濟發展很快。")
    assert (traditional["zh"], traditional["zh-Hant"], traditional["zh-Hans"]) == (1, 1, 0)
    assert np.isnan(shares("山水人口")["zh-Hans"])
    assert shares(SENTENCES["en"])["zh-Hans"] == 0
    simplified, traditional = (
        load_data("language")["chinese"][form] for form in ("simplified", "traditional")
    )
    assert len(simplified) == len(traditional)
    assert not set(simplified.split()[0]) & set(traditional.split()[0])


def test_the_record_wins() -> None:
    found = shares(SENTENCES["en"], language="fr")
    assert (found["fr"], found["en"]) == (1, 0)
    assert shares("這個國家", language="zh")["zh-Hant"] == 1
    assert sum(np.nan_to_num(list(shares(SENTENCES["en"], language="sw").values()))) == 0


@pytest.mark.parametrize("text", ["", "123 4.5", "!!! ---", "x = y + 1", "{{a}} `b`"])
def test_without_words_nothing_is_known(text: str) -> None:
    assert np.isnan(shares(text)["en"])


def test_sections_stand_in_for_an_abstract() -> None:
    paper = Paper("x", "", "", sections=(Section("", SENTENCES["pl"]),))
    assert LENS.apply([paper])[0][0][LENS.labels.index("pl")] == 1


def test_the_span_is_a_sentence_in_the_language() -> None:
    paper = Paper("x", "Rivers", SENTENCES["en"] + " " + SENTENCES["de"])
    span = LENS.span(paper, "de")
    assert span is not None
    assert paper.abstract[span.start : span.end] == SENTENCES["de"]
    assert LENS.span(paper, "zh") is None
    chinese = Paper("x", "", "这个国家的经济。")
    assert LENS.span(chinese, "zh-Hans") == LENS.span(chinese, "zh")


@pytest.mark.parametrize(
    ("tag", "label"),
    [("EN", "en"), ("pt_BR", "pt"), ("zh-HK", "zh-Hant"), ("zh", "zh"), ("nn", "no"), ("tlh", ""), ("", "")],
)
def test_tags(tag: str, label: str) -> None:
    assert label_of(tag) == label
    assert label in {"", *LensValues(LENS.labels, np.zeros((0, 0), np.float32)).labels}


@given(st.text(st.one_of(st.characters(), st.sampled_from(list("aé字 \n\u2009'’-/\\$@<{=.~%&+|(")))))
def test_words_of_tokens_are_the_words_of_the_text(text):
    assert language._words(text) == language._WORD.findall(text.lower())


ENGLISH, DUTCH = SENTENCES["en"], SENTENCES["nl"]
WRITTEN = st.lists(
    st.one_of(
        st.sampled_from([ENGLISH, f"{DUTCH} {DUTCH}", f"{ENGLISH} {DUTCH} {DUTCH} {ENGLISH} {ENGLISH}"]),
        st.sampled_from(
            [*SENTENCES.values(), "don’t", "well-known", "naïve", "`code`", "https://x.org", "α"]
        ),
        st.text(st.sampled_from(list("the undi é'’-(){}:/ \n\u2009中")), max_size=12),
    )
)


@example(texts=[([], ["".join({"E": f"{ENGLISH} ", "D": f"{DUTCH} "}[one] for one in "EDDEEEDDEEDDEDDEE")])])
@given(texts=st.lists(st.tuples(WRITTEN, WRITTEN), min_size=1, max_size=3))
def test_numbered_words_weigh_what_the_text_weighs(texts):
    papers = [Paper("x", " ".join(title), " ".join(text)) for title, text in texts]
    simple = np.ones(len(papers), np.bool_)
    batch = lead_batch(papers)
    weights = language._simple_weights(batch, simple)
    assert not weights[~simple].any()
    for row in np.flatnonzero(simple):
        assert weights[row].tolist() == language._weights(batch.leads[row].text).tolist()
