"""Open names: authors, venues, publishers, institutions, places, and sites that documents come from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct

from aspectra.base.expressions import AnyOf, Expression
from aspectra.search.instructions.recognisers.lexicon import fold, joined_lines, table


class Name(Struct, frozen=True):
    """A name that was read.

    Attributes:
        attribute: ``author``, ``venue``, ``publisher``, ``affiliation``, ``population`` (a place), ``cites``
            or ``source``.
        values: alternatives.
        sure: the words around it say what it is; otherwise it needs company that does.
        alone: it is written as a person is, behind *by* and words in lower case: *reading by Ong*.
    """

    attribute: str
    values: tuple[str, ...]
    sure: bool = True
    alone: bool = False


def _listed(names: str) -> list[str]:
    return sorted((" ".join(name.split()) for name in names.split("|")), key=len, reverse=True)


_LISTS = {kind: _listed(names) for kind, names in table("names")["names"].items()}
# Regular expressions for any of the names, longer ones first.
_NAMES = {kind: "|".join(map(re.escape, names)) for kind, names in _LISTS.items()}
# One of them is in every match of an expression that names it.
_ANY = {kind: AnyOf(names) for kind, names in _LISTS.items()}
_ANY_COMMON = AnyOf(_LISTS["common"] + _LISTS["venue"])
_ANY_SITED = AnyOf(
    "University Institute College Hospital universities institutions hospitals institutes companies industry "
    "industrial government corporate".split()
    + "Lab lab group team".split()
    + _LISTS["affiliation"]
)
_PATTERNS = joined_lines("names")
_CAPITAL = r"[^\W\d_a-zß-öø-ÿ\u3400-\u9fff]"
_LETTER = r"[^\W\u3400-\u9fff]"
_ON = rf"(?:{_LETTER}|-)"  # what goes on a name: "ACL-IJCNLP", not "MDPI的"
_ANY_CAPITAL = Expression(_CAPITAL)  # in every match of the expressions that name it
_CAP = rf"{_CAPITAL}[\w’'&-]{{0,60}}(?:\.\w{{1,60}}){{0,8}}"
_INITIALS = r"(?:[A-Z]\.\s?)+"
_PARTICLE = r"(?:van|von|de|der|den|del|della|di|da|dos|du|la|le|el|al|bin|ibn|ter|ten|af|y)\b"
_PART = rf"(?:{_PARTICLE}\s+)*(?:{_INITIALS}\s*)?{_CAP}"
_PERSON = rf"(?:{_PART}(?:\s+{_PART}){{0,4}}(?:\s+et\s+al\.?)?)"
_ANDS = r"(?:and/or|and|or|und|oder|et|ou|y|o|nor|ni)"
_JOIN = rf"(?:\s*+/\s*+|\s*+,\s*+(?:{_ANDS}\s+)?+|\s*+&\s*+|\s+{_ANDS}\s+|\s*+(?:或者|[、和或与])\s*+)"
_PEOPLE = rf"(?P<people>{_PERSON}(?:{_JOIN}(?!(?:{_PATTERNS['no_name']})){_PERSON}){{0,6}})"
_SPLIT = Expression(rf"[,/&、和与]|或者?|(?<=\s){_ANDS}(?=\s)")
_ET_AL = Expression(r"(?<!\s)\s++et\s++al\.?")
_CERTAIN = Expression(rf"\bet\s+al\b|(?:^|\s){_INITIALS}|\b{_PARTICLE}\s+[A-Z]")  # "V. Moss", "van Dam"
_PERSONAL = Expression(r"(?:(?:[A-Z][a-z]{0,2})?[A-Z][a-zß-ÿ]+(?:[ '’-]|$)){1,3}")
_RUNNING = Expression(r"(?:^|\s)(?:[A-Z]+|[a-zß-ÿ]\w*)\s+$")  # no word of a title before it
_FIRST = r"(?:(?:first|last|senior|lead|co-?)[ -]?)"
_AUTHOR = Expression(
    rf"(?:(?P<said>(?:co-?)?(?:written|authored|penned)\s+by|from\s+the\s+pen\s+of|{_FIRST}?author[:s]?:?\s+is"
    rf"|authors?:|{_FIRST}author)|by(?:\s+either)?|von|par|por)\s+(?:(?:Prof|Dr|Professor|Sir|Dame)\.?\s+)?{_PEOPLE}(?:\s+(?:together|jointly|again)\b)?+",
    part=_ANY_CAPITAL,
)
_WRITINGS = Expression(
    rf"(?:[Tt]ravaux|[Aa]rticles|[Pp]ublications|[ÉéE]crits|[Tt]extes|[Tt]rabajos|[Aa]rt[ií]culos|[Pp]ublicaciones|[Ee]scritos|[Tt]extos)\s+de\s+"
    rf"(?!{_PATTERNS['no_writer']})(?P<people>{_PART}(?:\s+{_PART}){{1,3}}|{_INITIALS}\s*{_CAP})",
    part=_ANY_CAPITAL,
)
_WROTE = Expression(
    rf"(?:[Ww]hat|[Ww]hatever|[Ee]verything|[Aa]nything|[Aa]ll(?:\s+that)?)\s+(?:(?:did|has|have|does|do)\s+)?{_PEOPLE}"
    r"\s+(?:(?:has|have|had)\s+)?(?:(?:co-?)?(?:written|wrote|write|authored)|say|to\s+say|said|published?|put\s+out|think|find|found)\b",
    part=_ANY_CAPITAL,
)
_OWNER = Expression(
    rf"(?P<people>{_CAP}(?:\s+{_CAP})?)['’]s?\s+(?:papers?|work|articles?|writings?|publications?|own\s+papers?|own\s+work|group)\b",
    part=_ANY_CAPITAL,
)
_AUTHOR_AS = Expression(
    rf"(?:with\s+)?(?P<people>{_CAP}(?:\s+{_CAP}){{0,2}})\s+(?:as\s+(?:an?\s+|the\s+|first\s+|last\s+|lead\s+|co-?)*author"
    rf"|(?:is|as)\s+(?:an?\s+|the\s+|first\s+)*(?:co-?)?author|among\s+the\s+authors|wrote|(?:co-?)?authored)\b",
    part=_ANY_CAPITAL,
)
_SHOWN = r"(?:published|appearing|appeared|presented|accepted|erschienen|publiés?|publicados?)"
_RUN = (
    rf"(?:The\s+|the\s+)?{_CAP}"
    rf"(?:\s+(?:(?:of|on|in|and|for|the|&|de|der|für)\s+(?:the\s+)?(?={_CAP}))*{_CAP})*"
)
_APPEARED = Expression(
    rf"(?:published|appear(?:ed|ing|s)?|presented|printed|accepted|came\s+out|come\s+out|featured|erschienen|venue:?|journal:|conference:|proceedings\s+of)"
    rf"\s++(?:only\s++)?(?:in|at|by|on)?\s*+(?:the\s+(?![Ll]ancet)(?:journal\s+|conference\s+|proceedings\s+of\s+(?:the\s+)?)?)?(?P<name>{_RUN})",
    part=_ANY_CAPITAL,
)
_IN_VENUE = Expression(
    rf"(?:in|aus|en|de|dans)\s+(?:(?:la|der|die)\s+)?(?:revista|revue|(?:Fach)?[Zz]eitschrift)\s+(?P<own>{_RUN})|"
    rf"(?:(?:in|at|from|by|bei|the)\s+)+(?P<name>(?={_RUN})(?:(?!\bin\b)[^,.;:!?\n]){{0,80}}?\b"
    rf"(?:{_PATTERNS['venue_word']})\b(?:\s+(?:(?:of|on|in|and|for|the|&)\s+)*{_CAP})*)",
    part=_ANY_CAPITAL,
)
_ACRONYM_AT = Expression(
    rf"at\s+(?P<name>(?:IEEE\s+|ACM\s+)?[A-Z]{{2,}}[A-Z+-]*(?:{_JOIN}[A-Z]{{2,}})*)(?!{_ON})(?!\s+[a-z]{{3,}}ing\b)"
)
_ONE_VENUE = rf"(?:IEEE\s+|ACM\s+)?(?:{_NAMES['venue']})(?:['’]\d\d)?"
_KNOWN_VENUE = Expression(
    rf"(?:发表[在于])?(?:(?:{_SHOWN}\s+)?(?:in|at|from|by|of|bei|dans|en|à)\s+(?:the\s+)?(?:journal\s+)?)?(?:(?:proceedings\s+of\s+)?(?P<names>{_ONE_VENUE}(?:{_JOIN}(?:{_ONE_VENUE}|(?:{_NAMES['common']}|[A-Z]{{3,8}})(?!{_ON})))*))(?!{_ON})",
    part=_ANY["venue"],
)
_LOWER = rf"(?:{_NAMES['lower']}|{_PATTERNS['lower_venue']})(?!{_ON})"
_LOWER_VENUE = Expression(rf"(?:(?:in|at|from)\s+)?(?P<names>{_LOWER}(?:{_JOIN}{_LOWER})*)", re.IGNORECASE)
_COMMON = rf"(?:{_NAMES['common']}|{_NAMES['venue']})(?!{_ON})"
_COMMON_VENUE = Expression(
    rf"(?:(?:{_SHOWN}\s+)?(?:in|from|by|at|dans|en|aus)\s+|发表[在于])(?P<names>(?:{_NAMES['common']})(?!{_ON})(?:{_JOIN}{_COMMON})*)(?!{_ON})(?!\s+[A-Z])",
    part=_ANY["common"],
)
_COMMON_LIST = Expression(rf"(?P<names>{_COMMON}(?:{_JOIN}{_COMMON})+)(?!{_ON})", part=_ANY_COMMON)
_SITE = Expression(
    rf"(?:(?:from|on|in|at|by|of|aus|von)\s+)?(?:the\s+(?=[A-Z]))?(?P<name>{_NAMES['site']})(?!{_ON})",
    re.ASCII,
    part=_ANY["site"],
)
_PUBLISHER = Expression(
    rf"(?:(?:published\s+)?(?:from|in|by|at|von|de|chez|bei|aus|{_PATTERNS['journals']})\s+(?:the\s+)?)?(?P<names>(?:{_NAMES['publisher']})(?!{_LETTER}|-(?!Z))(?!\s+[A-Z][a-z])(?:{_JOIN}(?:{_NAMES['publisher']})(?!{_ON}))*)"
    rf"(?:\s+(?:journals?|papers?|publications?|articles?|conferences?|titles|proceedings|Zeitschriften)|-Zeitschriften|(?:出版社)?的?(?:期刊|杂志|文章|论文))?(?!{_ON})",
    part=_ANY["publisher"],
)
_OWNED = Expression(r"^(?P<who>[\w-]+)['’]s\s+(?:[Ll]abs?|group|team)$")  # "Domen's group"
_KNOWN_PUBLISHER = Expression(rf"(?:{_NAMES['publisher']})(?!{_ON})")  # "Taylor & Francis" is one
_PRESS = re.compile(r"\b(?:press|verlag|publish\w+|society|association|books|university|institute)\b", re.I)
_ISSUED = Expression(
    rf"(?:published|issued|publiée?s?|publicad[oa]s?|herausgegeben|veröffentlicht)\s+(?:by|par|por|von)\s+(?:the\s+|la\s+|le\s+|el\s+)?(?P<name>{_CAP}(?:\s+{_CAP}){{0,3}})",
    part=_ANY_CAPITAL,
)
_OURS = Expression(
    rf"(?P<names>(?:{_NAMES['affiliation']})(?:{_JOIN}(?:{_NAMES['affiliation']}))*)"
    rf"(?:\s+(?:papers?|authors?|researchers|work|affiliations?)\b|(?=\s+only\b))",
    part=_ANY["affiliation"],
)
_SITED = Expression(
    rf"(?:(?:from|by|at|of|out\s+of|aus|von|vom|du|del|de\s+la)\s+)(?:(?:people|researchers|authors|anyone|groups?|teams?|labs?|someone|folks|scientists)\s+(?:at|from|in|of)\s+)?(?:the\s+)?"
    rf"(?P<names>(?:University\s+of\s+{_CAP}(?:\s+{_CAP})?|{_CAP}(?:\s+{_CAP})?(?:['’]s)?\s+(?:University|Institute(?:\s+(?:for|of)\s+(?:the\s+)?{_CAP}(?:\s+(?:and\s+)?{_CAP}){{0,3}})?|College|Labs?|Hospital|labs?|group|team)|(?:{_NAMES['place']})\s+(?:universities|institutions|hospitals|institutes|companies|labs)|(?:industry|industrial|government|corporate)\s+(?:labs?|research|researchers|groups)|Chinese\s+(?:universities|institutions|hospitals|labs)|(?:{_NAMES['affiliation']}))(?!{_ON})"
    rf"(?:{_JOIN}(?:{_NAMES['affiliation']})(?!{_ON}))*)(?:\s+(?:researchers|authors|people|labs?|groups?|teams?|scientists))?",
    part=_ANY_SITED,
)
_BODY = (
    rf"(?:(?:the\s+)?(?:University|Institute|College|School|Academy)\s+of\s+{_CAP}(?:\s+{_CAP})?"
    rf"|{_CAP}(?:\s+{_CAP}){{0,3}})"
)
_AFFILIATED = Expression(
    rf"(?:(?P<sure>(?:who\s+are\s+|that\s+are\s+)?affiliated\s+(?:with|at|to)|affiliations?(?:\s+(?:is|in|at|with))?)"
    rf"|(?:(?P<authors>authors|people|anyone|someone|anybody|scientists)|researchers|labs?|teams?|research\s+groups?)\s+(?:(?:based|working)\s+)?(?:at|in|from)|groups?\s+at)"
    rf"\s+(?P<names>{_BODY}(?:{_JOIN}(?:the\s+)?{_BODY})*)",
    part=_ANY_CAPITAL,
)
# "an der Universität Wien", "de l'Institut Pasteur", 来自清华大学
_FOREIGN_SITE = Expression(
    rf"(?:von|an|aus|de|en|à)\s+(?:(?:der|dem|la|el)\s+|l['’])?(?P<name>(?:[Uu]niversität|[Uu]niversité|[Uu]niversidad"
    rf"|Technischen?\s+[Uu]niversität|Hochschule|TU|Institut|Instituto|Klinikum|École|Escuela|Colegio)"
    rf"\s+(?:(?:de|von|du|für|zu)\s+(?:la\s+|l['’])?)?{_CAP}(?:\s+{_CAP})?)",
    part=AnyOf(["niversi", "Hochschule", "TU ", "Institut", "Klinik", "cole ", "Escuela", "Colegio"]),
)
_HAN_SITE = Expression(
    r"(?:作者)?(?:单位|机构)?(?:来自|出自|隶属于?|(?<=作者)[是为]|(?<=单位)[是为])(?P<name>[\u4e00-\u9fff]{2,10}?"
    r"(?:大学|学院|研究所|研究院|科学院|医院|实验室|公司|中科院|社科院))",
    part=AnyOf(["来自", "出自", "隶属", "作者", "单位"]),
)
_HAN_AUTHOR = Expression(
    rf"(?:作者[是为：:]?|由)?(?P<people>{_PATTERNS['surname']}[\u4e00-\u9fff]{{1,2}}?)"
    r"(?:等人?(?:的|写的|发表的)?|(?:老师|教授|课题组|团队)(?:的|写的|发表的)?|写的|撰写的|所著|发表的)"
    rf"|(?:作者[是为：:]?|由)?(?P<writer>{_PATTERNS['surnames']}[\u4e00-\u9fff](?:[\u4e00-\u9fff])?(?<![家生人员者师们]))(?:写的|撰写的|所著的?|主编的)",
    part=AnyOf(["写", "等", "老师", "教授", "课题组", "团队", "著", "发表", "主编"]),
)
_WORK = Expression(rf"{_CAP}\s+et\s+al\.?,?\s+\(?(?:19|20)\d\d\)?(?!\w)", part=_ANY_CAPITAL)
_GROUP = Expression(
    rf"(?:from|by|at|of)\s+(?:(?P<first>{_CAP}\s+{_CAP})['’]s\s+(?:group|lab|team)\b"
    rf"|the\s+(?:group|lab|team|laboratory)\s+of\s+(?P<second>{_CAP}\s+{_CAP}))",
    part=_ANY_CAPITAL,
)
_A_VENUE = Expression(_COMMON)
_A_PLACE = Expression(rf"(?:the\s+)?(?:{_NAMES['place']})")
_OUTSIDE = Expression(
    rf"(?:from\s+)?outside\s+(?:of\s+)?(?:the\s+)?(?P<one>{_NAMES['place']})(?!{_ON})"
    rf"(?:\s+(?:and|or)\s+(?:the\s+)?(?P<other>{_NAMES['place']})(?!{_ON}))?",
    part=_ANY["place"],
)
_FROM_PLACE = Expression(
    rf"(?:from|aus|in)\s+(?:the\s+)?(?P<name>(?:{_NAMES['place']})(?!{_ON})(?:\s+(?!(?:and|or)\b)[a-z]{{3,12}}s)?)"
    rf"|(?P<based>{_NAMES['place']})-based(?!{_ON})",
    part=_ANY["place"],
)
_CITES = Expression(
    rf"(?:(?:that|which|papers?|work)\s+)?(?:cit(?:es?|ing)|(?:que\s+)?cit[ea]n\s+a|(?:qui\s+)?cit(?:ent|ant)|(?:zitieren|zitiert)(?=\s+[A-Z])|引用了?|whose\s+(?:reference(?:s|\s+list)|bibliography)\s+(?:ha(?:s|ve)|includes?|contains?|lists?))\s+(?:the\s+(?:paper|work)\s+(?:of|by)\s+)?[“\"]?(?P<name>(?<=[“\"])[^”\"\n]{{1,150}}|{_PERSON}(?:\s+(?:and|&)\s+{_PERSON})?(?:\s+\(?\d{{4}}\)?)?)[”\"]?",
    part=AnyOf(["cit", "whose"]),
)
# Words in which a name may end; the plain ones are not part of it.
_HEAD = _PATTERNS["plain_head"] + _PATTERNS["more_heads"]
_PLACE = Expression(
    rf"(?:(?:taken|drawn|come|comes|coming|came|sourced|originating|stemming)\s++)?(?:from|on|out\s++of|aus)\s++(?:the|an?|our|their|dem|der)\s++"
    rf"(?P<full>(?P<words>[^,.;:!?()\n]{{1,60}}?)\s{{1,20}}+(?P<head>{_HEAD})\b(?![-])(?P<own>['’]s\s+[\w-]+)?(?P<more>\s*\([^()\n]{{1,40}}\))?)"
)
_IN_RUN = Expression(
    rf"(?:{_SHOWN}\s+)?in\s+(?P<name>{_RUN})(?=\s*(?:$|[,.;:!?()—–]|only\b))", part=_ANY_CAPITAL
)
_FEW = (
    r"(?!(?:the|an?|others?|people|women|men|any\w*|my|me|us|using|them|date|year|same|some\w*|industry|different"
    r"|please|now|then|th[ei]se|those|this|that)\b)[a-z][a-z'-]+"
)
_AUTHOR_LOW = Expression(
    rf"(?:papers?|works?|articles?|publications?|anything|something|stuff|everything)\s+by\s+"
    rf"(?P<people>{_FEW}(?:\s+{_FEW}){{0,1}}?)(?=\s+(?:on|about|from|since|in|and|or|with)\b|\s*(?:$|[,.;:!?()]))"
)
_FROM = Expression(
    rf"(?:from|aus)\s+(?P<name>{_RUN}(?:\s+or\s+{_RUN})?+)(?=\s*(?:$|[,.;:!?()—–]|\s))", part=_ANY_CAPITAL
)
_QUOTED = Expression(r"[‘'“\"`「]([^’'”\"`」]+)[’'”\"`」]")
_PROPER = Expression(r"(?:^|\s)(?:[A-Z][\w’'-]*|[a-z]+-[a-z]+|[^\W\d]*+\d\w*+)(?=\s|$)")
_NO_NAME = Expression(_PATTERNS["no_name"])
_NO_AUTHOR = Expression(
    rf"{_NO_NAME.pattern}|\w(?![\w'’])(?!\.\s*[A-Z])|[\w-]*\d|(?:[a-z]\w*|\w+(?=ing\s))ing"
)
_OUR_WORDS = Expression(_PATTERNS["our_words"], re.IGNORECASE)


# "von", "par" and "por" are "of" as well, unless behind words for writings or at the beginning of a piece.
_BEFORE = 40  # characters
_OF = Expression(r"(?:von|par|por)\s")
_WRITTEN = Expression(_PATTERNS["written"], re.IGNORECASE)


def _several(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in _SPLIT.split(_ET_AL.sub("", names)) if name.strip())


def _place(match: re.Match[str]) -> Name | None:
    """The name in *from the XYZ project's handbook*; None where the words say a kind (*the user forum*)."""
    words, head = match["words"].strip(), match["head"]
    if quoted := _QUOTED.search(words):
        return Name("source", (quoted.group(1).strip(),))
    if not _PROPER.search(words) or _OUR_WORDS.search(words):
        return None
    if re.fullmatch(_PATTERNS["plain_head"], head):
        value = words + (match["more"] or "")
    else:
        value = f"{words} {head}{match['more'] or ''}"
        if match["own"]:
            value = f"{words} {head}"
    return Name("source", (value,)) if value[0] not in "'\"" else None


_VENUE_LEAD = Expression(rf"(?:{_SHOWN}\s+)?(?:in|at|from|by)\s+(?:the\s+)?")
_JOINED = Expression(_JOIN)
_TABLED = Expression(rf"(?:{_ONE_VENUE})(?!{_ON})")
_VENUE_WORDS = Expression(r"[\w&'’.+-]{1,40}(?: [\w&'’.+-]{1,40}){0,7}")
_ACRONYM = Expression(r"[A-Z][a-z]*+[A-Z][A-Za-z]*+")
_TELLING = Expression(r"(?i)\b(?:journal|annals|transactions|proceedings|acta|bulletin|zeitschrift)\b")


@lru_cache(maxsize=4)
def library_venues(names: tuple[str, ...]) -> dict[str, str]:
    """Venues of a library that a text may name: acronyms and names of several words, by the folded name.

    One word in lower case may be an acronym or a word: a text means it by capitals alone, *ACML*. So are
    several words, unless one of them is said of venues alone: *Clinical Trials*, *annals of hives*.
    """
    return {fold(name): name for name in names if " " in name or name.islower() or _ACRONYM.fullmatch(name)}


def _writes(word: str, name: str, said: bool) -> bool:
    """True if words are written as the name of a venue, or ``said`` to be one: *at acml*, not *in water*."""
    if " " in word:
        return word[1:] != word[1:].lower() or bool(_TELLING.search(word))
    if name.islower():
        return sum(map(str.isupper, word)) > 1
    return word == name or (said and word.islower())


def _library_venue(text: str, at: int, known: Mapping[str, str], said: bool) -> int:
    """End of the longest venue of a library that begins at a place; ``at`` if none does."""
    if not (found := _VENUE_WORDS.match(text, at)):
        return at
    end = found.end()
    while end > at:
        words = text[at:end].rstrip(".")
        name = known.get(fold(words))
        if name and _writes(words, name, said):
            return at + len(words)
        end = text.rfind(" ", at, end)
    return at


def read_library_venue(text: str, at: int, known: Mapping[str, str]) -> tuple[int, Name] | None:
    """The venues of a library that are named from a place of a text on: *ACML*, *at ACML or ECCV*.

    Returns:
        Where they end, and what they are; None where none is named.
    """
    lead = _VENUE_LEAD.match(text, at)
    here = lead.end() if lead else at
    said = lead is not None and not lead.group().lower().startswith(("in ", "from ", "by "))
    last = at
    values: list[str] = []
    while True:
        tabled = _TABLED.match(text, here) if values else None
        end = tabled.end() if tabled else _library_venue(text, here, known, said)
        if end == here:
            break
        values.append(text[here:end])
        last = end
        if not (join := _JOINED.match(text, end)):
            break
        here = join.end()
    return (last, Name("venue", tuple(values))) if values else None


def is_place(words: str) -> bool:
    """True if words name a country, a continent or the like: *US*, *Europe*."""
    return bool(_A_PLACE.fullmatch(words))


def is_venue(words: str) -> bool:
    """True if words are the name of a venue in the lists: *Nature*, *ICML*."""
    return bool(_A_VENUE.fullmatch(words))


def is_publisher(words: str) -> bool:
    """True if words name a publisher in the lists, or certainly not a person: *Owl Press*, *CEPAL*."""
    return words.isupper() or bool(_KNOWN_PUBLISHER.fullmatch(words) or _PRESS.search(words))


def read_name(text: str, at: int) -> tuple[int, Name] | None:
    """The name of an author, a venue or a place that begins at a place of a text.

    Returns:
        Where it ends, and what it is; None where none begins.

    >>> read_name("by Barbara Liskov, on abstraction", 0)
    (17, Name(attribute='author', values=('Barbara Liskov',), sure=False, alone=False))
    """
    if (match := _PLACE.match(text, at)) and (name := _place(match)):
        return match.end(), name
    if match := _SITE.match(text, at):
        return match.end(), Name("source", (match["name"],))
    if match := _WORK.match(text, at):
        return match.end(), Name("known", (match.group(),), sure=False)
    if match := _GROUP.match(text, at):
        return match.end(), Name("author", (match["first"] or match["second"],))
    if match := _FOREIGN_SITE.match(text, at) or _HAN_SITE.match(text, at):
        return match.end(), Name("affiliation", (match["name"],))
    if match := _HAN_AUTHOR.match(text, at):
        return match.end(), Name("author", (match["people"] or match["writer"],))
    for pattern, attribute in ((_PUBLISHER, "publisher"), (_SITED, "affiliation")):
        if match := pattern.match(text, at):
            names = tuple(_KNOWN_PUBLISHER.findall(match["names"])) or _several(match["names"])
            if owner := _OWNED.search(match["names"]):
                return match.end(), Name("author", (owner["who"],))
            return match.end(), Name(attribute, names, match.start("names") > match.start() or len(names) > 1)
    if (match := _AFFILIATED.match(text, at)) and not _NO_NAME.match(match["names"]):
        sure = bool(match["sure"] or match["authors"])
        return match.end(), Name("affiliation", _several(match["names"]), sure)
    if (match := _ISSUED.match(text, at)) and not _NO_NAME.match(match["name"]):
        return match.end(), Name("publisher", (match["name"],))
    if match := _KNOWN_VENUE.match(text, at) or _LOWER_VENUE.match(text, at):
        return match.end(), Name("venue", _several(match["names"]))
    if match := _COMMON_VENUE.match(text, at):
        names = _several(match["names"])
        return match.end(), Name("venue", names, len(names) > 1 or bool(re.match(_SHOWN, match.group())))
    if match := _OURS.match(text, at):
        return match.end(), Name("affiliation", _several(match["names"]), sure=False)
    if match := _COMMON_LIST.match(text, at):
        return match.end(), Name("venue", _several(match["names"]), sure=False)
    if match := _OUTSIDE.match(text, at):
        return match.end(), Name("population", tuple(f"!{name}" for name in match.groups() if name))
    if match := _FROM_PLACE.match(text, at):
        return match.end(), Name("population", (match["name"] or match["based"],), sure=False)
    if (match := _APPEARED.match(text, at)) and is_place(match["name"].strip()):
        return None  # where it was printed
    if match and not _NO_NAME.match(match["name"]):
        return match.end("name"), Name("venue", (match["name"].strip(),))
    if match := _IN_VENUE.match(text, at):
        return match.end(), Name("venue", ((match["name"] or match["own"]).strip(),))
    if match := _CITES.match(text, at):
        return match.end(), Name("cites", (match["name"].strip(),), sure=False)
    of = _OF.match(text, at) and not _WRITTEN.search(text[max(0, at - _BEFORE) : at])
    of = of or text.endswith("cited ", 0, at)  # "cited by Smith"
    if (match := _AUTHOR.match(text, at)) and not of and not _NO_AUTHOR.match(match["people"]):
        names = _several(match["people"])
        running = text.startswith("by ", at) and _RUNNING.search(text[max(0, at - _BEFORE) : at])
        alone = bool(running) and all(_PERSONAL.fullmatch(n) and not is_place(n) for n in names)
        return match.end(), Name(
            "author", names, bool(match["said"] or _CERTAIN.search(match["people"])), alone
        )
    for pattern in (_WROTE, _OWNER, _AUTHOR_AS, _WRITINGS):
        if (match := pattern.match(text, at)) and not _NO_NAME.match(match["people"]):
            names = _several(match["people"])
            issued = all(map(_KNOWN_PUBLISHER.fullmatch, names))
            return match.end(), Name("publisher" if issued else "author", names)
    if match := _ACRONYM_AT.match(text, at):
        return match.end(), Name("venue", _several(match["name"]), sure=False)
    if match := _AUTHOR_LOW.match(text, at):
        return match.end(), Name("author", (match["people"],))
    if (match := _IN_RUN.match(text, at)) and not _NO_NAME.match(match["name"]):
        return match.end(), Name("venue", (match["name"].strip(),), sure=False)
    if (match := _FROM.match(text, at)) and not _NO_NAME.match(match["name"]):
        return match.end(), Name("affiliation", _several(match["name"]), sure=False)
    return None
