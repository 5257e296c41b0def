"""Cleaning of text before it is stored, LaTeX included: one policy for every source.

==========================================  ====================================================
field                                       function
==========================================  ====================================================
title, names, venue, url, headings, ids     :func:`one_line`
title, names, venue, abstract of a record   :func:`unmarked` before it
abstract, text of sections                  :func:`clean`: line ends and paragraphs stay
metadata                                    :func:`storable`: the value stays as it is, as JSON
text printed in lines (PDF, ``.txt``)       :func:`strip_invisible`, then :func:`mend_hyphens`
abstracts wrapped at a fixed width          :func:`unwrap`
==========================================  ====================================================

:func:`aspectra.papers.sources.assembly.assemble` applies the first two, so a source passes what it read. The
functions change nothing when they are applied again.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from aspectra.base.expressions import expression

# LaTeX in bibliographies to Unicode and back.
#
# The common spellings (accents, letters, escaped signs, ligatures, short formulas) are converted in one
# pass whose pieces are remembered; whatever else holds a macro goes through pylatexenc as a whole, which
# is correct but thousands of times slower.

_SPECIAL = expression(r"[\\{}$~]|--|``|''|[?!]`")
_GREEK = (  # micro is a sign that pylatexenc knows
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda nu xi omicron pi rho sigma tau upsilon"
    " phi chi psi omega"
)
_SIGNS = {
    "textbackslash": "\\",
    "textbraceleft": "{",
    "textbraceright": "}",
    "textasciitilde": "~",
    "textasciicircum": "^",
    # What pylatexenc does not know it leaves out, and "p < 0.05" must not become "p 0.05".
    "textless": "<",
    "textgreater": ">",
    "textbar": "|",
    "textunderscore": "_",
    "textquotedbl": '"',
    "textminus": "\u2212",
    **{f"text{name}": letter for name, letter in zip(_GREEK.split(), "αβγδεζηθικλνξοπρστυφχψω", strict=True)},
    "copyright": "©",
    "pounds": "£",
    "euro": "€",
    "ddag": "‡",
    "slash": "/",
    "S": "§",
    "P": "¶",
}
_TOKEN = expression(
    rf"(?P<sign>\\(?:{'|'.join(_SIGNS)})(?:\{{\}}|(?![A-Za-z])[ ]*))"
    r"""
    | (?P<escaped>\\[&%$\#_{}])
    | (?P<space>\\[ ,;:!/@-]|\\(?=\n))
    | (?P<accent>\\[`'^"~=.](?:\{\\[ij]\}|\{[A-Za-z]\}|\\[ij](?![A-Za-z])(?:[ ]|\{\})?|[ ]*[A-Za-z])
                |\\[uvHtcdbkr](?:\{\\[ij]\}|\{[A-Za-z]\}|[ ]+[A-Za-z]))
    | (?P<logo>\\(?:LaTeXe?|BibTeX|TeX)(?![A-Za-z])(?:\{\})?)
    | (?P<letter>\\(?:ss|aa|AA|ae|AE|oe|OE|o|O|l|L|i|j|dh|DH|th|TH|dj|DJ|ng|NG)(?![A-Za-z])(?:\{\}|[ ]+)?)
    | (?P<style>\\(?:emph|text(?:it|bf|sc|tt|rm|sf|sl|up|md)?|mbox|uppercase)[ ]*(?=\{)
               |\\(?:it|bf|sc|tt|rm|em|sl)(?![A-Za-z])[ ]*|\\noopsort\{[^{}]*\}
               |\\href[ ]*\{[^{}]*\}[ ]*(?=\{))
    | (?P<math>(?<!\\)\$(?![\s$])[^$]{0,400}?(?<![\s\\])\$(?!\d))
    | (?P<ligature>---|--|``|''|[?!]`)
    | (?P<tie>~)
    | (?P<brace>[{}])
    | (?P<macro>\\)
    """,
    re.X,
)
_UNKNOWN_SIGN = expression(r"\\(" + "|".join([*_SIGNS][5:]) + r")(?:\{\}|(?![A-Za-z])[ ]*)")
_MARKS_OF_TEX = {"---": "—", "--": "–", "``": "“", "''": "”", "?`": "¿", "!`": "¡"}
_MATH = expression(r"(?<!\\)\$[^$]{1,400}(?<!\\)\$")
_DISPLAYED = expression(r"(?<![\\$])\$\$(?!\$)")
_INDEX = expression(r"_(?:\{\s?(\d{1,3})\s?\}|(\d))")  # of a formula: CO$_2$ is written CO2
_POWER = expression(r"\^\s?(?:\{\s?([+-]?\d{1,5})\s?\}|(\d))")
_DEGREE = expression(r"\^\s?(?:\{\s?\\circ\s?\}|\\circ(?![A-Za-z]))")
# pylatexenc takes these as comment, tabulation and parameter signs; in a bibliography they are text.
_BARE = expression(r"(?<!\\)([%&#])")
RAISED = str.maketrans("0123456789+-\u2212", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_LONGEST = 20_000


def latex_to_text(value: str) -> str:
    r"""The text that a LaTeX value means; never raises.

    >>> latex_to_text(r"{\"U}ber {BERT} \& Co -- 50% of $\alpha$")
    'Über BERT & Co – 50% of α'
    >>> latex_to_text(r"{CO$_2$} at 37~$^{\circ}$C, $x_i$, $^{14}$C, $10^{-3}$")
    'CO2 at 37 °C, x_i, ¹⁴C, 10⁻³'
    >>> latex_to_text(r"The $$\phi$$ Detector, for $5")
    'The ϕ Detector, for $5'
    >>> latex_to_text(r"{\LaTeX} and \BibTeX{} keys")
    'LaTeX and BibTeX keys'
    >>> latex_to_text(r"\mbox{T-cell} and \textalpha-beads of 5~\textmu m in \LaTeX")
    'T-cell and α-beads of 5 µm in LaTeX'
    """
    if _SPECIAL.search(value) is None:
        return value
    if "$" in value:
        value = _MATH.sub(_plain_figures, _DISPLAYED.sub("$", value))
    unknown = False

    def piece(match: re.Match[str]) -> str:
        nonlocal unknown
        kind, found = match.lastgroup, match.group()
        match kind:
            case "sign":
                return _SIGNS[found[1:].rstrip("{} ")]
            case "escaped":
                return found[1]
            case "logo":
                return found[1:].rstrip("{}")
            case "accent" | "letter" | "math":
                return _snippet(found.rstrip(" ") if kind == "letter" else found)
            case "ligature":
                return _MARKS_OF_TEX[found]
            case "tie":
                return " "
            case "space":
                return " " if found in ("\\ ", "\\,", "\\;", "\\:") else ""
            case "macro":
                unknown = True
        return ""

    text = _TOKEN.sub(piece, value)
    if unknown and len(value) <= _LONGEST:
        return _whole(value) or text
    return text


def _plain_figures(formula: re.Match[str]) -> str:
    text = _DEGREE.sub("°", _INDEX.sub(r"\1\2", formula[0]))
    return _POWER.sub(lambda found: (found[1] or found[2]).translate(RAISED), text)


@lru_cache(maxsize=20_000)
def _snippet(latex: str) -> str:
    return _convert(latex) or latex.strip("\\{}$")


def _whole(value: str) -> str:
    def plain(match: re.Match[str]) -> str:
        return {"style": "", "logo": match[0][1:]}.get(str(match.lastgroup), match[0])

    value = _TOKEN.sub(plain, value)  # pylatexenc leaves out what stands in a box, and names of programs
    text = _BARE.sub(r"\\\1", _UNKNOWN_SIGN.sub(lambda m: text_to_latex(_SIGNS[m.group(1)]), value))
    if len(re.findall(r"(?<!\\)\$", text)) % 2:
        text = re.sub(r"(?<!\\)\$", r"\\$", text)
    return _convert(text)


def _convert(latex: str) -> str:
    from pylatexenc.latex2text import LatexNodes2Text  # a search, which cleans no records, needs neither
    from pylatexenc.latexwalker import LatexWalkerError

    try:
        text: str = LatexNodes2Text(math_mode="text").latex_to_text(latex)
    except (LatexWalkerError, RecursionError, ArithmeticError, LookupError, ValueError, TypeError):
        return ""
    except AttributeError:  # pylatexenc meets a missing argument as None
        return ""
    return text.replace("\xa0", " ").replace("<cit.>", "")


_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
}
# What LaTeX or a BibTeX reader would take for something else gets an empty or a one-letter group.
_PLAIN_TEX = expression(r"[\\{}~^$&#%_]|(?<=-)-|(?<=`)`|(?<=')'|(?<=[?!])`|^@|(?<=\n)[ \t]*@", re.M)


def text_to_latex(text: str) -> str:
    r"""Text as a BibTeX value (without the outer braces): specials escaped, braces always balanced.

    Letters stay Unicode, as every current BibTeX tool reads UTF-8.

    >>> text_to_latex("R&D {a_b} -- 5%")
    'R\\&D \\textbraceleft{}a\\_b\\textbraceright{} -{-} 5\\%'
    """
    return _PLAIN_TEX.sub(lambda m: _ESCAPES.get(m.group()) or "{" + m.group() + "}", text)


# Control characters other than tab and newline, and lone surrogates, which UTF-8 cannot hold.

_UNCLEAN = expression(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
# A terminal sequence is removed as a whole: its letters ("[31m") are not text either.
_CONTROL = expression(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_MAX_DEPTH = 50
FOLDING_VERSION = 1  # of :func:`folded`: another one rebuilds an index

_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})
# Zero-width, bidirectional controls, invisible operators, byte order marks, language tags.
_INVISIBLE = expression(
    "[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f]"
)
# Joiners shape Arabic and Indic words; between other letters they only hide things.
_JOINER = expression("(?<![\u0600-\u0dff])[\u200c\u200d]|[\u200c\u200d](?![\u0600-\u0dff])")

_HYPHEN = expression(r"(?<=[^\W\d_])[-\u2010\u00ad]\n[ \t]*(?=[^\W\d_])")
_WORD = expression(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LETTERS = expression(r"\w+")
_ENTITY = expression(r"&(?:amp;){0,3}(#?\w{2,31};)")  # also one that was escaped again
_TAG = expression(
    r"</?(?:[abiup]|em|strong|bold|italic|underline|su[bp]|inf|sc|span|br|title|sec|div|h[1-6]|[ou]l|li|math"
    r"|(?:inline|disp)-formula|alternatives|tex(?:-math)?|m(?:[ion]|row|text|s(?:ub|up|ubsup|qrt|pace|tyle)|frac"
    r"|over|under)|(?:jats|mml):[a-z-]+)(?:\s[^<>=]+=[^<>]*)?\s?/?>|<!\[CDATA\[|\]\]>",
    re.I,
)
_END = expression(r" ?(?:</(?:jats:)?(?:p|title|sec|div|li|h[1-6])>|<br\s?/?>)", re.I)
# Of a formula that is given twice, as TeX and as MathML, the second is read.
_TWICE = expression(r"<(?:jats:)?tex-math[^<>]{0,99}>[^<>]{0,2000}</(?:jats:)?tex-math>(?=\s{0,9}<mml:)")
_RAISED = expression(r"<(?:jats:)?sup>\s?([\d+\u2212-]{1,6})\s?</(?:jats:)?sup>", re.I)
# Formulas that no sum of money is, commands around a few words, accents.
_TEX = expression(
    r"\$\$?(?=[^$]{0,400}[\\^_{<>=]|[A-Za-z]\$)[^$\s](?:[^$]{0,398}[^$\s])?\$\$?(?!\d)"
    r"|\{?\\(?:emph|mbox|(?:text|math)[a-z]{2,11})\s?\{[^{}$\\]{0,200}\}\}?"
    r"|(?:(?<=[A-Za-z])|\{)\\['`^\"~=.](?!(?:s|t|d|m|re|ll|ve)\b)\{?\\?[A-Za-z]\}{0,2}"
    r"|\\['`^\"~=.cvuH]\{\\?[A-Za-z]\}"
)
# What is not seen: soft and zero-width signs; what is seen as other signs: blanks, ligatures, marks apart.
_UNPLAIN = expression(
    "[\xa0\xad\u2000-\u200f\u202a-\u202f\u205f-\u206f\u3000\ufb00-\ufb06\ufeff\u0300-\u0345]"
)
_BLANKS = expression(r"(?<=\S) {2,}")
_SOFT = expression(r"\xad(?:\s(?=[^\W\d_]))?")
_BLANK = expression("[\xa0\u2000-\u200a\u202f\u205f\u3000]")
_LATIN_MARKS = expression("(?<=[a-z])[\u0300-\u036f]+")
_PLAIN = dict(zip("øłđðħıµ₀₁₂₃₄₅₆₇₈₉⁰¹²³⁴⁵⁶⁷⁸⁹", "olddhiμ01234567890123456789", strict=True))
_SPELT_OUT = expression("([aou])e")
_AS_TYPED = _PLAIN | {"ß": "ss", "æ": "ae", "œ": "oe", "þ": "th"}
_TYPED = expression(f"[{''.join(_AS_TYPED)}]")  # four times as fast as str.translate
_WRAP = expression(r"(?<![ \t])[ \t]*+\n[ \t]*+(?=\S)")
_PARAGRAPH = expression(r"\n[ \t]{2,}(?=\S)|\n[ \t]*\n")


def clean(text: object) -> str:
    """Text without control characters, with plain newlines, stripped at both ends; None gives ""."""
    if text is None:
        return ""
    out = str(text)
    if _UNCLEAN.search(out) is not None:
        out = out.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode("utf-8")
        out = _CONTROL.sub("", out)
    return out.strip()


def one_line(text: object) -> str:
    """Cleaned text on one line: every run of white space is a single blank."""
    return " ".join(clean(text).split())


def unmarked(text: str) -> str:
    r"""Text without the entities, tags, TeX, unseen signs and doubled blanks that services leave in it.

    >>> unmarked("Gut &amp; Liver"), unmarked("CO<sub>2</sub> in <i>F. gutta</i> (p &lt; 0.05)")
    ('Gut & Liver', 'CO2 in F. gutta (p < 0.05)')
    >>> unmarked('where a <b and c> d, <p class="x">text'), unmarked("$^{14}$C for $5 or $10, m<sup>2</sup>")
    ('where a <b and c> d, text', '¹⁴C for $5 or $10, m²')
    >>> unmarked(r"Caf\'e, but don\'t")  # which some exports escape
    "Café, but don\\'t"
    """
    if "&" in text:
        text = _ENTITY.sub(lambda found: html.unescape("&" + found[1]), text).replace("\xa0", " ")
    if "<" in text:
        text = _RAISED.sub(_plain_tex, _TWICE.sub("", text))
        text = re.sub(r"\n\s*\n\s*", "\n\n", _TAG.sub("", _END.sub("\n\n", text)))
    if "$" in text or "\\" in text:
        text = _TEX.sub(_plain_tex, text)
    if not text.isascii() and _UNPLAIN.search(text):
        shown, _ = strip_invisible(_SOFT.sub("", _BLANK.sub(" ", text)))
        text = unicodedata.normalize("NFC", shown)
    return _BLANKS.sub(" ", text) if "  " in text else text


def _plain_tex(found: re.Match[str]) -> str:
    return found[1].translate(RAISED) if found.lastindex else latex_to_text(found[0].replace("$$", "$"))


def folded(text: str) -> str:
    """Text in lower case, Latin letters without marks, small figures as others: as people type it.

    >>> folded("Łódź, İstanbul, Straße, CO₂")
    'lodz, istanbul, strasse, co2'
    """
    text = text.lower()
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFD", _TYPED.sub(lambda found: _AS_TYPED[found[0]], text))
    return unicodedata.normalize("NFC", _LATIN_MARKS.sub("", apart))


def unspelt(text: str) -> str:
    """Spelt-out umlauts of a text in lower case as :func:`folded` writes umlauts.

    >>> unspelt("duesseldorf")
    'dusseldorf'
    """
    return _SPELT_OUT.sub(r"\1", text)


def storable(value: Any, depth: int = 0) -> Any:
    """The same JSON value with finite numbers and storable text (no control characters or surrogates).

    Raises:
        ValueError: nested deeper than any real record.
    """
    if isinstance(value, str):
        if _UNCLEAN.search(value) is None:
            return value
        return _UNCLEAN.sub("", value.replace("\r\n", "\n").replace("\r", "\n"))
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth >= _MAX_DEPTH:
        raise ValueError(f"nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        return {str(storable(str(k))): storable(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [storable(v, depth + 1) for v in value]
    return storable(str(value))


def strip_invisible(text: str) -> tuple[str, int]:
    r"""``text`` with ligatures spelt out and without invisible characters, and how many those were.

    >>> strip_invisible("e\ufb03cient \u200btext")
    ('efficient text', 1)
    """
    text, first = _INVISIBLE.subn("", text.translate(_LIGATURES))
    text, second = _JOINER.subn("", text)
    return text, first + second


def mend_hyphens(text: str) -> str:
    r"""Words broken at line ends put together.

    The hyphen stays where the text elsewhere writes the word with it (``self-supervised``), where a capital
    follows, or where the joined word would be long and both parts are words of the text.

    >>> mend_hyphens("a re-\ntrieval of state-of-the-\nart")
    'a retrieval of state-of-the-art'
    """
    words: set[str] = set()

    def mend(match: re.Match[str]) -> str:
        if not words:
            words.update(word.casefold() for word in _WORD.findall(text))
        start = end = match.start()
        while start and (text[start - 1].isalnum() or text[start - 1] == "_"):
            start -= 1
        left, found = text[start:end], _LETTERS.match(text, match.end())
        right = found.group() if found else ""
        joined, hyphened = (left + right).casefold(), f"{left}-{right}".casefold()
        keep = not right[:1].islower() or (joined not in words and _compound(left, right, hyphened, words))
        return "-" if keep or text[start - 1 : start] == "-" else ""

    return _HYPHEN.sub(mend, text)


def _compound(left: str, right: str, hyphened: str, words: Collection[str]) -> bool:
    """True if a divided word is a compound: hyphenated elsewhere, or long and made of two known words."""
    if hyphened in words:
        return True
    long = min(len(left), len(right)) >= 4 and len(left) + len(right) >= 15
    return long and left.casefold() in words and right.casefold() in words


def unwrap(text: str) -> str:
    """Lines broken at a fixed width put together; an indented line begins a paragraph."""
    return "\n\n".join(_WRAP.sub(" ", part).strip() for part in _PARAGRAPH.split(text) if part.strip())
