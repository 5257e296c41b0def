"""What kind of place a text comes from: a blog, a forum, the press, a journal and so on.

The record speaks first (a DOI, a word in the host's name); the rest is style: who speaks, to whom, and in
what layout. English cues are the fullest, German and Chinese ones the commonest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from aspectra.papers.paper import Paper
from aspectra.views.lenses._cues import Cue, Reading, add_up, cue, hardness, logistic, read, strongest
from aspectra.views.lenses._layout import Layout, layout
from aspectra.views.lenses.protocol import LENSES, LensKind, TextSpan
from aspectra.views.view import Floats

__all__ = ["SourceLens"]

_I = frozenset("i i'm i've i'd i'll me my mine myself ich mir mich mein meine meinen meiner meinem".split())
_WE = frozenset("we our us wir unser unsere uns".split())
_YOU = frozenset("you your you're you'll you've yours du dir dich dein deine sie ihr euch".split())
_CHATTY = frozenset(
    """it's that's don't didn't doesn't can't couldn't won't isn't wasn't there's here's let's i'm i've i'd
    you're you'll haven't wouldn't what's yeah yep nope ok okay lol haha btw imo imho thanks thx cheers pretty
    really actually honestly anyway stuff guys kinda gonna wow ugh hey hi""".split()
)

_BLOG = (
    # The writer turns to the readers, or to earlier and later posts.
    cue(
        1.6,
        2,
        "in the comments|leave a comment|comments below|tell me|let me know|drop me a line|subscribe"
        "|my newsletter|this blog|this post|my blog|blog post|on the blog|last month's|next month|last post"
        "|previous post|next post|see you next|until next|dear readers|posted on|posted by|filed under"
        "|share this|in den kommentaren|kommentiert|schreibt mir|in meinem blog|nächsten beitrag"
        "|留言|评论区|博客|分享给|朋友们|我的经验|下篇|下期|先谢谢|欢迎留言|大家有什么",
    ),
    # The personal turn of a confession or a report of one's own.
    cue(
        0.9,
        2,
        "confession|confessions|my secret|here's what|here is what|worked for me|i decided|i learned"
        "|i learnt|i tried|years ago i|when i|i thought|i ended up|i used to|as i write|this week i"
        "|my husband|my wife|my partner|my daughter|my son|my neighbour|my neighbor|my kitchen|my garden"
        "|habe ich|bin ich|war ich|说实话|我终于|我去年|今年我|我第一次|我家",
    ),
    cue(0.8, 1, "how i|why i|my|mein|meine|我", where="title"),
)
_FORUM = (
    cue(
        1.5,
        2,
        "this thread|thread|mods|moderator|original poster|op|bump|thoughts|any ideas|anyone else"
        "|anyone know|has anyone|thanks in advance|thanks all|thank you all|same here|welcome to the forum"
        "|forum|joined|replies|in reply to|upvote*|best answer|accepted answer|question by|asked by"
        "|weiß jemand|hat jemand|danke euch|楼主|楼上|版主|回复|谢谢大家|跪求|网友",
    ),
    cue(1.2, 1, pattern=r"^\s*(?:Re|RE|AW|Antw)\s?:", needs="Re:|RE:|AW:|Antw:|Re :|AW :"),
    cue(
        0.7,
        2,
        "lol|imho|imo|xx|+1",
        pattern=r"(?<!\S)[:;]-?[)D(P](?!\S)|^\s*\+1\b",
        needs=":)|:-)|;)|;-)|:D|:P|:(|+1",
    ),
    cue(
        1.2,
        1,
        pattern=r"^\s*[\w.-]+ (?:wrote|writes|schrieb|said):",
        needs=" wrote:| writes:| schrieb:| said:",
    ),
)
_NEWS = (
    # A dateline: the place in capitals, the day, a dash.
    cue(
        3.6,
        1,
        pattern=r"\s*[A-ZÄÖÜ][A-ZÄÖÜ .'-]{2,30}(?:,\s[^—–\n]{3,25})?\s?(?:\([\w ./-]{2,20}\)\s?)?"
        r"[—–-]{1,2}\s",
        where="start",
    ),
    cue(
        3.6,
        1,
        pattern=r"(?:本报|新华社|本台|中新社|记者)[^\n]{0,20}(?:电|讯|报道)|\d{1,2}月\d{1,2}日(?:电"
        r"|讯)|[讯电]\s?[（(]|[（(]\s?记者|记者从",
        needs="电|讯|报道|记者",
    ),
    # Who said it, and on what day of this week.
    cue(
        1.0,
        3,
        "on monday|on tuesday|on wednesday|on thursday|on friday|told reporters|a spokes*|spokeswoman"
        "|spokesman|spokesperson|in a statement|press conference|officials said|police said|the ministry"
        "|the council|am montag|am dienstag|am mittwoch|am donnerstag|am freitag|teilte mit|sagte der"
        "|sagte die|sagte ein*|nach angaben|mitteilte|周一|周二|周三|周四|周五|星期一|星期二|星期三|星期四"
        "|星期五|记者|发言人|据悉|本报",
    ),
    cue(
        0.9,
        3,
        pattern=r"[,”\"“»’] ?(?:[A-Z]\w+ )?(?:said|says|warned|added|told|sagte|erklärte)\b"
        r"|[”“\"],? (?:\w+ ){0,5}said\b",
        needs="said|says|warned|added|told|sagte|erklärte",
    ),
    cue(
        1.2,
        1,
        pattern=r"^\s*(?:By|Von) [A-Z][\w'-]+ [A-Z][\w'-]+ *(?:$|,|\|)|\((?:Reuters|AP|AFP|dpa)\)",
        needs="By |Von |(Reuters|(AP|(AFP|(dpa",
    ),
)
_SCHOLARLY = (
    # The authors report what they did and found.
    cue(
        1.2,
        3,
        "we show|we propose|we present|we find|we found|we introduce|we investigate|we investigated"
        "|we examined"
        "|we examine|we study|we studied|we analyse|we analyze|we analysed|we analyzed|we compared|we compare"
        "|we measured|we argue|we demonstrate|we evaluate|we evaluated|we report|we collected|we describe"
        "|we develop|we developed|we prove|we conducted|we consider|we explore|we derive|we establish|we used"
        "|we obtain|we discuss|we address|we apply|we observe|we performed|here we|this paper|this study"
        "|this article|this work|this thesis|our method|our approach|the present study|in this work"
        "|is proposed"
        "|are proposed|is presented|are presented|was proposed|were examined|were measured|were quantified"
        "|was assessed|were assessed|were analysed|were analyzed|was investigated|were investigated"
        "|was performed|were performed|is investigated|results suggest|the results|our results|results show"
        "|results indicate|findings suggest|our findings|our experiments|der vorliegende*|untersucht wurde*"
        "|wurden untersucht|wir zeigen|diese studie|in dieser arbeit|ergebnisse zeigen|本文|本研究|结果表明"
        "|研究表明|实验结果|本论文",
    ),
    cue(
        0.8,
        3,
        "et al|significantly|statistically|hypothesis|hypotheses|cohort|participants|dataset|datasets"
        "|randomised|randomized|regression|confidence interval|baseline|baselines|state of the art"
        "|state-of-the-art|in vivo|in vitro|meta-analysis|odds ratio|hazard ratio|independently associated"
        "|correlated|respectively|methodology|theoretical|empirical|empirically|framework|algorithm"
        "|algorithms"
        "|theorem|benchmark|experiments|experimental|numerical|simulations|probability|model|models"
        "|parameters"
        "|signifikant*|stichprobe|hypothese*|显著|假设|样本|显著性|相关性|对照组",
    ),
    # "We exposed eighteen plates": any past tense, not only the set phrases.
    cue(
        0.7,
        2,
        pattern=r"[Ww]e(?<!\w[Ww]e) (?:have |then |also |\w+ly )?(?!wanted|tried|stayed|loved)\w{3,}ed\b",
        needs="we |We ",
    ),
    cue(0.4, 2, "whereas|thus|yet|hence|thereby|beyond|sufficient|non-|versus"),
    cue(0.8, 1, pattern=r"[<=>≤](?:(?<=\b[pPnN].)|(?<=\b[pPnN] .))\s?0?\.?\d", needs="<|=|>|≤"),
    cue(0.8, 2, pattern=r"\d\s?% ?CI\b|±|\bdoi:|\bR2 ?=", needs="CI|±|doi:|R2"),
    cue(
        0.8,
        1,
        pattern=r"\[\d{1,3}(?:[,–-]\s?\d{1,3})*\]|\([A-Z][\w-]+[^()\n]{0,40},? (?:19|20)\d\d\)",
        needs="[|(",
    ),
    cue(
        0.8,
        1,
        "evidence|a study of|effects of|effect of|towards|toward|a case study|as a function of|analysis of"
        "|influence of|einfluss|untersuchung|的影响|研究",
        where="title",
    ),
)
_ENCYCLOPEDIA = (
    cue(
        0.9,
        2,
        "also known as|also called|is named after|are named after|refers to|is derived from|originated in"
        "|is a type of|is a kind of|is a species of|is a genus of|is one of the|is a term for|may refer to"
        "|auch genannt|wird auch|benannt nach|是一种|是指|又称|亦称|也称|别称|得名于",
    ),
    cue(
        0.8,
        1,
        pattern=r"\((?:born|b\.|\*) |\(\d{3,4}\s?[–-]\s?\d{3,4}\)|\((?:Latin|Greek|French|German"
        r"|lat\.|griech)",
        needs="(",
    ),
)
_OFFICIAL = (
    # What only a maker or an authority writes to whoever uses the thing.
    cue(
        1.3,
        2,
        "this model|this product|this device|this appliance|your dealer|authorised dealer*|authorized dealer*"
        "|the warranty|our website|contact us|write to us|tell us|call us|bulletin|fitting instructions"
        "|owner's guide|owner's manual|user guide|user manual|release notes|known issues|supported versions"
        "|part number|customer service|helpline|eligible|terms and conditions|gebrauchsinformation*"
        "|gebrauchsanweisung*|bedienungsanleitung*|handbuch|kundendienst|ist zu verwenden|sind zu verwenden"
        "|使用说明|说明书|手册|客服|官方|保修",
    ),
    # Orders that nobody is named for.
    cue(
        0.7,
        3,
        "do not|must be|must not|never|should be|before use|make sure|ensure that|niemals|ist zu|sind zu"
        "|darf nicht|dürfen nicht|nicht verwenden|请勿|必须|不得|严禁|应当",
    ),
    cue(
        1.0,
        1,
        pattern=r"^\W{0,3}(?:WARNING|CAUTION|DANGER|NOTICE|IMPORTANT|ACHTUNG|WARNUNG|WARNHINWEIS|警告"
        r"|注意)\b",
        needs="WARN|CAUTION|DANGER|NOTICE|IMPORTANT|ACHTUNG|警告|注意",
    ),
    cue(
        0.8,
        1,
        "frequently asked questions|faq|how to use|instructions|guide|manual|notice|bulletin|section|your"
        "|anleitung|abschnitt|hinweise|常见问题|须知|指南",
        where="title",
    ),
)
_SPECIFIC: dict[str, tuple[Cue, ...]] = {
    "blog": _BLOG,
    "forum": _FORUM,
    "news": _NEWS,
    "scholarly": _SCHOLARLY,
    "encyclopedia": _ENCYCLOPEDIA,
    "official documentation": _OFFICIAL,
}

# Words in a host's name or path that say what the site is.
_HOSTS = {
    "blog": re.compile(r"\bblogs?\b|blog\.|/blog/"),
    "forum": re.compile(r"\bforums?\b|\bboards?\b|\bcommunity\b|\bthreads?\b|/questions/"),
    "news": re.compile(r"\bnews\b|\bpress\b|news\."),
    "scholarly": re.compile(r"//(?:dx\.)?doi\.org/|\bjournals?\b|\bproceedings\b|\bpreprint"),
    "encyclopedia": re.compile(r"wiki|pedia\b|encyclop"),
    "official documentation": re.compile(r"\bdocs?\b|readthedocs|\bmanuals?\b|\bhandbook\b|\.gov\b"),
}
_PAPERS_HAVE = frozenset({"doi", "arxiv", "acl", "s2", "openalex", "pmid", "pmcid"})

_TURNED = re.compile(r"\s*([^:：\n]{2,40}?)(?: wrote| schrieb|写道)?\s?[:：]")
_DEFINES = re.compile(
    r"(?:is|are|was|were|denotes|means|ist|sind|war|bezeichnet)\s(?:an?|the|one|any|ein|eine|der|die|das)\b"
    r"|(?:，|\s)?(?:是|指)"
)
_HANDLE = re.compile(r"^[a-z]|[a-z][A-Z]|[\d_]")
_PRONOUN_SHARE = 0.03  # of the words, from which on a text is plainly told by somebody


def _is_thread(reading: Reading, lines: Layout) -> bool:
    """Whether most lines are turns of two or more speakers.

    Labels before a colon ("Note: ...") look like speakers; a speaker comes back, or has a made-up name.
    """
    turns = lines.number("turn")
    if turns < 2 or lines.share("turn") < 0.5:
        return False
    names = [
        m[1].strip()
        for line in lines.lines
        if line.kind == "turn" and (m := _TURNED.match(reading.lead, line.start, line.end))
    ]
    return len({n for n in names if names.count(n) > 1 or _HANDLE.search(n)}) >= 2 or len(set(names)) < len(
        names
    )


def _first_person(reading: Reading) -> float:
    if reading.cjk > 0.3:
        return min(1.0, 60 * reading.plain.count("我") / max(120, len(reading.plain)))
    return min(1.0, reading.share(_I) / _PRONOUN_SHARE)


def _defines(reading: Reading) -> float:
    """Whether the text opens by saying what its title is: 1; or what something in its title is: 0.7."""
    title = reading.title.strip().casefold()
    opening = reading.lead.lstrip()[:160].casefold()
    if not title or len(title) > 60 or title[-1:] in "?!？！":
        return 0.0
    at = opening.find(title[: max(3, len(title) - 1)])  # a plural's s may be missing
    if 0 <= at <= 8 and _DEFINES.search(opening, at + len(title) - 1, at + len(title) + 70):
        return 1.0
    found = _DEFINES.search(opening, 3, 80)
    if found is None:
        return 0.0
    subject = {word[:5] for word in re.findall(r"[^\W\d_]{5,}", opening[: found.start()])}
    return 0.7 if subject & {word[:5] for word in re.findall(r"[^\W\d_]{5,}", title)} else 0.0


def _record(paper: Paper) -> dict[str, float]:
    """Log-odds from the record."""
    out: dict[str, float] = {}
    url = paper.url.casefold()
    if url:
        out = {label: 4.0 for label, pattern in _HOSTS.items() if pattern.search(url)}
    if _PAPERS_HAVE & paper.identifiers.keys():
        out["scholarly"] = 4.0
    return out


class SourceLens:
    """Grades of the kinds of source, each 0 to 1 on a logistic scale; several may hold.

    At 0.5, roughly: two or three independent cues. A dateline, a thread of speakers, or an opening that
    defines the title is nearly enough alone; so is a DOI or a telling host in the record. A paper without
    text has NaN.
    """

    name = "source"
    version = 2
    kind: LensKind = "paper"
    labels: tuple[str, ...] = tuple(_SPECIFIC)
    reads: tuple[str, ...] = ("text", "url", "identifiers")

    def apply(self, papers: Sequence[Paper]) -> list[Floats]:
        """(1, 6) grades of each paper."""
        return [self._row(paper) for paper in papers]

    def _row(self, paper: Paper) -> Floats:
        reading = read(paper)
        if not reading.text.strip():
            return np.full((1, len(self.labels)), np.nan, np.float32)
        odds = _odds(reading)
        for label, worth in _record(paper).items():
            odds[label] += worth
        return np.array([[logistic(odds[label]) for label in self.labels]], np.float32)

    def span(self, paper: Paper, label: str) -> TextSpan | None:
        """The sentence or line of the strongest cue; None where only the whole speaks."""
        reading = read(paper)
        place = strongest(_SPECIFIC[label], reading)
        if place is not None:
            return reading.quote(*place)
        first = None
        if label == "forum":
            first = layout(reading.lead).first("turn")
        if label == "encyclopedia" and _defines(reading) > 0:
            first = layout(reading.lead).first("prose")
        if first is None:
            return None
        shift = len(reading.title) + 1
        return reading.quote(first.start + shift, first.start + shift + 1)


def _odds(reading: Reading) -> dict[str, float]:
    lines = layout(reading.lead)
    added = {label: add_up(cues, reading) for label, cues in _SPECIFIC.items()}
    person, addressed = _first_person(reading), min(1.0, reading.share(_YOU) / _PRONOUN_SHARE)
    together = min(1.0, reading.share(_WE) / _PRONOUN_SHARE)
    chatty = min(1.0, reading.share(_CHATTY) / 0.02)
    excited = min(2, sum(reading.text.count(c) for c in "!！")) / 2
    thread = _is_thread(reading, lines)
    words = reading.words if reading.cjk < 0.3 else reading.cjk * len(reading.plain) / 1.6
    asked = lines.number("question", "answer")
    # A blog post is a story told by one person, so it needs some room.
    room = min(1.0, words / 60)
    odds = {
        "blog": -3.0 + added["blog"] + 2.6 * person * room + 0.8 * chatty + 0.6 * excited - 4.0 * thread,
        "forum": -3.4 + added["forum"] + 4.4 * thread + 0.6 * chatty + 0.5 * person,
        "news": -3.2 + added["news"] - 1.0 * person - 1.0 * addressed,
        "scholarly": -2.4
        + added["scholarly"]
        + 1.8 * hardness(reading)
        - 1.5 * person
        - 1.2 * addressed
        - 1.2 * chatty
        - 1.0 * excited,
        "encyclopedia": -2.8
        # Nobody speaks and nobody is spoken to.
        + (
            0.8 * room
            if lines.share("prose") > 0.8 and not person + addressed + together + chatty + excited
            else 0
        )
        + added["encyclopedia"]
        + 3.4 * _defines(reading)
        - 1.5 * person
        - 2.0 * addressed
        - 1.5 * together
        - 1.0 * chatty
        - 1.5 * excited,
        "official documentation": -2.4
        + added["official documentation"]
        + 0.6 * min(3, lines.number("clause"))
        + 0.5 * min(4, lines.number("option"))
        + (0.6 if asked and together else 0.0)
        + 0.7 * addressed
        - 2.0 * person
        - 1.0 * chatty
        - 1.0 * excited
        - 2.0 * thread,
    }
    # An abstract may well cite a term's definition or quote people; a scholarly text is then still that.
    for label in ("encyclopedia", "news", "blog"):
        odds[label] -= 0.6 * min(3.0, max(0.0, added["scholarly"] - 0.8))
    return odds


LENSES.register("source")(SourceLens())
