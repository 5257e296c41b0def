"""LaTeX in bibliographies to Unicode and back.

The common spellings (accents, letters, escaped signs, ligatures, short formulas) are converted in one
pass whose pieces are remembered; whatever else holds a macro goes through pylatexenc as a whole, which
is correct but thousands of times slower.
"""

from __future__ import annotations

import re
from functools import lru_cache

from pylatexenc.latex2text import LatexNodes2Text
from pylatexenc.latexwalker import LatexWalkerError

_SPECIAL = re.compile(r"[\\{}$~]|--|``|''|[?!]`")
_TOKEN = re.compile(
    r"""
      (?P<sign>\\(?:text(?:backslash|braceleft|braceright|asciitilde|asciicircum|less|greater|bar|underscore
                |quotedbl)|copyright|pounds|euro|ddag|slash|S|P)(?:\{\}|(?![A-Za-z])[ ]*))
    | (?P<escaped>\\[&%$\#_{}])
    | (?P<space>\\[ ,;:!/@-]|\\(?=\n))
    | (?P<accent>\\[`'^"~=.](?:\{\\[ij]\}|\{[A-Za-z]\}|\\[ij](?![A-Za-z])(?:[ ]|\{\})?|[ ]*[A-Za-z])
                |\\[uvHtcdbkr](?:\{\\[ij]\}|\{[A-Za-z]\}|[ ]+[A-Za-z]))
    | (?P<logo>\\(?:LaTeXe?|BibTeX|TeX)(?![A-Za-z])(?:\{\})?)
    | (?P<letter>\\(?:ss|aa|AA|ae|AE|oe|OE|o|O|l|L|i|j|dh|DH|th|TH|dj|DJ|ng|NG)(?![A-Za-z])(?:\{\}|[ ]+)?)
    | (?P<style>\\(?:emph|text(?:it|bf|sc|tt|rm|sf|sl|up|md)?|mbox|uppercase)[ ]*(?=\{)
               |\\(?:it|bf|sc|tt|rm|em|sl)(?![A-Za-z])[ ]*|\\noopsort\{[^{}]*\})
    | (?P<math>(?<!\\)\$(?![\s$])[^$]{0,400}?(?<![\s\\])\$(?!\d))
    | (?P<ligature>---|--|``|''|[?!]`)
    | (?P<tie>~)
    | (?P<brace>[{}])
    | (?P<macro>\\)
    """,
    re.X,
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
    "copyright": "©",
    "pounds": "£",
    "euro": "€",
    "ddag": "‡",
    "slash": "/",
    "S": "§",
    "P": "¶",
}
_UNKNOWN_SIGN = re.compile(r"\\(" + "|".join([*_SIGNS][5:]) + r")(?:\{\}|(?![A-Za-z])[ ]*)")
_LIGATURES = {"---": "—", "--": "–", "``": "“", "''": "”", "?`": "¿", "!`": "¡"}
_MATH = re.compile(r"(?<!\\)\$[^$]{1,400}(?<!\\)\$")
_DISPLAYED = re.compile(r"(?<![\\$])\$\$(?!\$)")
_INDEX = re.compile(r"_(?:\{\s?(\d{1,3})\s?\}|(\d))")  # of a formula: CO$_2$ is written CO2
_POWER = re.compile(r"\^\s?(?:\{\s?([+-]?\d{1,5})\s?\}|(\d))")
_DEGREE = re.compile(r"\^\s?(?:\{\s?\\circ\s?\}|\\circ(?![A-Za-z]))")
# pylatexenc takes these as comment, tabulation and parameter signs; in a bibliography they are text.
_BARE = re.compile(r"(?<!\\)([%&#])")
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
                return _LIGATURES[found]
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
    text = _BARE.sub(r"\\\1", _UNKNOWN_SIGN.sub(lambda m: text_to_latex(_SIGNS[m.group(1)]), value))
    if len(re.findall(r"(?<!\\)\$", text)) % 2:
        text = re.sub(r"(?<!\\)\$", r"\\$", text)
    return _convert(text)


def _convert(latex: str) -> str:
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
_PLAIN = re.compile(r"[\\{}~^$&#%_]|(?<=-)-|(?<=`)`|(?<=')'|(?<=[?!])`|^@|(?<=\n)[ \t]*@", re.M)


def text_to_latex(text: str) -> str:
    r"""Text as a BibTeX value (without the outer braces): specials escaped, braces always balanced.

    Letters stay Unicode, as every current BibTeX tool reads UTF-8.

    >>> text_to_latex("R&D {a_b} -- 5%")
    'R\\&D \\textbraceleft{}a\\_b\\textbraceright{} -{-} 5\\%'
    """
    return _PLAIN.sub(lambda m: _ESCAPES.get(m.group()) or "{" + m.group() + "}", text)
