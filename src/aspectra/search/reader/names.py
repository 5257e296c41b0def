"""Open names: authors, venues, and sites or projects that documents come from."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["SITES", "VENUES", "Name", "read_name"]


@dataclass(frozen=True, slots=True)
class Name:
    """A name that was read.

    Attributes:
        attribute: ``author``, ``venue`` or ``source``.
        values: alternatives.
        sure: the words around it say what it is; otherwise it needs company that does.
    """

    attribute: str
    values: tuple[str, ...]
    sure: bool = True


# Venues that people name by their short names; any other is known by the words around it.
VENUES = """
AAAI ACL AISTATS ASPLOS BIBM BMJ CACM CCS CHI CHIIR CIKM COLING COLT CoNLL CoRL CSCW CVPR DAC EACL ECAI ECCV ECIR ECML EMNLP
EuroSys FAccT FAST FOCS FSE HICSS ICASSP ICCV ICDE ICDM ICLR ICML ICRA ICSE ICTIR IJCAI IJCV INFOCOM INTERSPEECH Interspeech
IROS ISCA ISMIR ISSTA ISWC JACM JAIR JAMA JASIST JCDL JMLR KDD LREC MICCAI MICRO MobiCom NAACL NEJM NeurIPS NIPS NSDI OOPSLA
OSDI PAKDD PAMI PLDI PNAS PODC PODS POPL RecSys RSS SDM SIGCOMM SIGGRAPH SIGIR SIGMOD SODA SOSP SPLASH STOC TACL TKDE TMLR TOCHI
TOIS TPAMI TREC TWEB UAI UbiComp UIST USENIX VLDB WACV WSDM WWW PLoS PLOS eLife
""".split()
_JOURNALS = (
    "The Lancet|Lancet|New England Journal of Medicine|The New England Journal of Medicine|PLOS ONE|PLoS ONE|PLOS Biology|Nature Communications|Nature Medicine|"
    "Nature Methods|Nature Physics|Nature Genetics|Nature Neuroscience|Scientific Reports|Physical Review Letters|Annals of Mathematics|"
    "Journal of the ACM|Communications of the ACM|Psychological Review|Econometrica|Psychological Science|Annual Reviews"
)
# Names that are common words too: only after "in" or "published in", and never before another word of a name.
_COMMON = "Nature|Science|Cell|Brain|Gut|Mind|Blood|Circulation|Neuron|Cognition|Chaos|Allergy|Chest|Radiology|Language|Synthese"
SITES = (
    "Wikipedia|Wiktionary|Wikibooks|Wikihow|WikiHow|wikiHow|Wikiversity|arXiv|bioRxiv|medRxiv|SSRN|PubMed|Stack Overflow|StackOverflow|Stack Exchange|"
    "StackExchange|Super User|Server Fault|MathOverflow|Math Stack Exchange|Cross Validated|Reddit|Quora|Medium|Substack|GitHub|GitLab|Hacker News|Twitter|"
    "Mastodon|Facebook|LinkedIn|YouTube|WordPress|Tumblr|Blogger|Zhihu|Baidu Baike|Baidu|Weibo|Britannica|Encyclopaedia Britannica|Encyclopædia Britannica|Encyclopedia Britannica|Scholarpedia|"
    "Stanford Encyclopedia of Philosophy|JSTOR|ResearchGate|Semantic Scholar|Google Scholar|OpenAlex|Project Gutenberg|Khan Academy|W3Schools|"
    "MDN|Read the Docs|The Guardian|the Guardian|Guardian|The New York Times|the New York Times|New York Times|Washington Post|the Washington Post|Financial Times|the Financial Times|Wall Street Journal|the Wall Street Journal|"
    "The Economist|the Economist|The Times|BBC News|BBC|CNN|Reuters|Associated Press|Bloomberg|Le Monde|Der Spiegel|Die Zeit|FAZ|Süddeutsche Zeitung|El País|Al Jazeera|NPR|"
    "Ars Technica|Wired|New Scientist|Scientific American|Phys.org|WebMD|Mayo Clinic|NHS|Goodreads|TripAdvisor|DeepL|Discord|Slashdot|Mumsnet|Gutefrage|知乎|维基百科|百度百科|微博|简书|Fandom|ArchWiki|Arch Wiki"
)
_CAP = r"[^\W\d_a-zß-öø-ÿ\u3400-\u9fff][\w’'&-]*(?:\.(?=\w)\w+)*"
_INITIALS = r"(?:[A-Z]\.\s?)+"
_PARTICLE = r"(?:van|von|de|der|den|del|della|di|da|dos|du|la|le|el|al|bin|ibn|ter|ten|af|zu|y)\b"
_PART = rf"(?:{_PARTICLE}\s+)*(?:{_INITIALS}\s*)?{_CAP}"
_PERSON = rf"(?:{_PART}(?:\s+{_PART}){{0,4}}(?:\s+et\s+al\.?)?)"
_AUTHOR = re.compile(
    rf"(?:(?:co-?)?(?:written|authored|penned)\s+by|by|from\s+the\s+pen\s+of|authors?:|author\s+is|von)\s+"
    rf"(?:(?:Prof|Dr|Professor|Sir|Dame)\.?\s+)?(?P<people>{_PERSON})(?:\s*(?:,|and|or|&|und|oder)\s*(?P<second>{_PERSON}))?"
)
_WROTE = re.compile(
    rf"[Ww]hat\s+(?:did|has|have|does|do)\s+(?P<people>{_PERSON})\s+(?:write|written|say|said|published?|think|find|found)\b"
)
_OWNER = re.compile(
    rf"(?P<people>{_CAP}(?:\s+{_CAP})?)['’]s?\s+(?:papers?|work|articles?|writings?|publications?|own\s+papers?|own\s+work)\b"
)
_AUTHOR_AS = re.compile(
    rf"(?:with\s+)?(?P<people>{_CAP}(?:\s+{_CAP}){{0,2}})\s+(?:as\s+(?:an?\s+|the\s+|first\s+|last\s+|lead\s+|co-?)*author|(?:is|as)\s+(?:an?\s+|the\s+|first\s+)*author|among\s+the\s+authors|wrote|(?:co-?)?authored)\b"
)
_RUN = rf"(?:The\s+|the\s+)?{_CAP}(?:\s+(?:(?:of|on|in|and|for|the|&|de|der|für)\s+(?:the\s+)?(?={_CAP}))*{_CAP})*"
_APPEARED = re.compile(
    rf"(?:published|appear(?:ed|ing|s)?|presented|printed|accepted|came\s+out|come\s+out|featured|erschienen|venue:?|journal:|conference:|proceedings\s+of)\s+(?:only\s+)?(?:in|at|by|on)?\s*(?:the\s+(?![Ll]ancet)(?:journal\s+|conference\s+|proceedings\s+of\s+(?:the\s+)?)?)?(?P<name>{_RUN})"
)
_VENUE_WORD = r"Journal|Transactions|Proceedings|Conference|Workshop|Letters|Annals|Symposium|IEEE|ACM|Bulletin|Archives|Review|Reviews|Quarterly|Acta|Zeitschrift|Trans\.|Proc\.|J\."
_IN_VENUE = re.compile(
    rf"(?:(?:in|at|from|by|bei|the)\s+)+(?P<name>(?={_RUN})(?:(?!\bin\b)[^,.;:!?\n])*?\b(?:{_VENUE_WORD})\b(?:\s+(?:(?:of|on|in|and|for|the|&)\s+)*{_CAP})*)"
)
_ACRONYM_AT = re.compile(r"at\s+(?P<name>(?:IEEE\s+|ACM\s+)?[A-Z]{3,}[A-Z+-]*)(?![\w-])(?!\s+[a-z]{3,}ing\b)")
_KNOWN_VENUE = re.compile(
    rf"(?:(?:in|at|from|by|of)\s+(?:the\s+)?)?(?:(?P<proc>(?:proceedings\s+of\s+)?)(?P<name>(?:IEEE\s+|ACM\s+)?(?:{'|'.join(sorted(map(re.escape, VENUES), key=len, reverse=True))}|{_JOURNALS}))(?:['’]\d\d)?)(?![\w-])"
)
_COMMON_VENUE = re.compile(rf"(?:in|from|by)\s+(?P<name>{_COMMON})(?![\w-])(?!\s+[A-Z])")
_SITE = re.compile(
    rf"(?:(?:from|on|in|at|by|of|aus|von)\s+)?(?:the\s+(?=[A-Z]))?(?P<name>{SITES})(?![\w-])", re.ASCII
)
_HEAD = "project|collection|site|website|web\\s+site|wiki|handbook|repository|database|archive|portal|newsletter|magazine|pages?|encyclop(?:a?e|æ)dia|docs|community|forum|blog|newspaper|paper|podcast|homepage|manuals?|documentation|platform|series|guide"
_PLAIN_HEAD = "project|collection|site|website|web\\s+site|repository|database|archive|portal|pages?|homepage|community|platform|series|paper|magazine|newspaper"
_PLACE = re.compile(
    rf"(?:(?:taken|drawn|come|comes|coming|came|sourced|originating|stemming)\s+)?(?:from|on|out\s+of|aus)\s+(?:the|an?|our|their|dem|der)\s+(?P<full>(?P<words>[^,.;:!?()\n]{{1,60}}?)\s+(?P<head>{_HEAD})\b(?![-])(?P<own>['’]s\s+[\w-]+)?(?P<more>\s*\([^()\n]{{1,40}}\))?)"
)
_FROM = re.compile(rf"(?:from|aus)\s+(?P<name>{_RUN})(?=\s*(?:$|[,.;:!?()—–]|\s))")
_QUOTED = re.compile(r"[‘'“\"`「]([^’'”\"`」]+)[’'”\"`」]")
_PROPER = re.compile(r"(?:^|\s)(?:[A-Z][\w’'-]*|[a-z]+-[a-z]+|\w*\d\w*)(?=\s|$)")
_NO_NAME = re.compile(
    r"(?:(?:The|A|An)$|I|It|We|And|Please|Only|Not|No|English|German|French|Chinese|Japanese|Spanish|Italian|Russian|Arabic|January|February|March|April|May|June|July|August|September|October|November|December)\b"
)
_OUR_WORDS = re.compile(
    r"\b(?:blog|forum|news|documentation|docs|manual|guide|official|discussion|message|personal|user|press|review|survey|academic|scholarly)\b",
    re.IGNORECASE,
)


def _place(match: re.Match[str]) -> Name | None:
    """The name in *from the XYZ project's handbook*; None where the words only say a kind (*from the user forum*)."""
    words, head = match["words"].strip(), match["head"]
    if quoted := _QUOTED.search(words):
        return Name("source", (quoted.group(1).strip(),))
    if not _PROPER.search(words) or _OUR_WORDS.search(words):
        return None
    if re.fullmatch(_PLAIN_HEAD, head):
        value = words + (match["more"] or "")
    else:
        value = f"{words} {head}{match['more'] or ''}"
        if match["own"]:
            value = f"{words} {head}"
    return Name("source", (value,)) if value[0] not in "'\"" else None


def read_name(text: str, at: int) -> tuple[int, Name] | None:
    """The name of an author, a venue or a place that begins at a place of a text.

    Returns:
        Where it ends, and what it is; None where none begins.

    >>> read_name("by Barbara Liskov, on abstraction", 0)
    (17, Name(attribute='author', values=('Barbara Liskov',), sure=True))
    """
    if match := _PLACE.match(text, at):
        name = _place(match)
        if name:
            return match.end(), name
    if match := _SITE.match(text, at):
        return match.end(), Name("source", (match["name"],))
    if match := _APPEARED.match(text, at):
        if not _NO_NAME.match(match["name"]):
            return match.end("name"), Name("venue", (match["name"].strip(),))
    if match := _KNOWN_VENUE.match(text, at):
        return match.end(), Name("venue", (match["name"],))
    if match := _IN_VENUE.match(text, at):
        return match.end(), Name("venue", (match["name"].strip(),))
    if match := _COMMON_VENUE.match(text, at):
        return match.end(), Name("venue", (match["name"],), sure=False)
    if match := _AUTHOR.match(text, at):
        if not _NO_NAME.match(match["people"]) and not re.fullmatch(r"\w+ing", match["people"]):
            people = [match["people"].strip()] + ([match["second"].strip()] if match["second"] else [])
            return match.end(), Name(
                "author", tuple(people), sure=match.group().startswith(("authored", "author", "from"))
            )
    if match := _WROTE.match(text, at) or _OWNER.match(text, at) or _AUTHOR_AS.match(text, at):
        if not _NO_NAME.match(match["people"]):
            return match.end(), Name("author", (match["people"].strip(),))
    if match := _ACRONYM_AT.match(text, at):
        return match.end(), Name("venue", (match["name"],), sure=False)
    if (match := _FROM.match(text, at)) and not _NO_NAME.match(match["name"]):
        return match.end(), Name("source", (match["name"].strip(),), sure=False)
    return None
