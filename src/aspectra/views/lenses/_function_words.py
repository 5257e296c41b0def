"""Words that carry grammar rather than subject: what a hand repeats without noticing.

The English list is written for the style lens; other languages bring the common words by which the language
lens tells them apart.
"""

from __future__ import annotations

from aspectra.views.lenses._language_words import WORDS

__all__ = ["FUNCTION_WORDS"]

_ENGLISH = """
i me my mine myself you your yours yourself he him his himself she her hers herself it its itself we us our
ours ourselves they them their theirs themselves one ones oneself
this that these those here there now then today who whom whose which what where when why how whoever whatever
whichever wherever whenever
a an the some any no none every each either neither both all half several many much more most few fewer less
least little enough other another others such same own once twice
of to in for on with at by from about against between into through during before after above below up down out
off over under again further across along among amongst around behind beneath beside besides beyond despite
except inside like near onto outside past per since than till until toward towards underneath unto upon via
within without
and but or nor so yet if unless because although though while whilst whereas whether as lest provided
am is are was were be been being have has had having do does did doing done can could may might must shall
should will would ought need dare used cannot
not never ever always often sometimes seldom usually rarely perhaps maybe indeed rather quite very too also
just only even still already almost nearly hardly scarcely merely simply really certainly surely probably
possibly
however therefore thus hence moreover furthermore nevertheless nonetheless meanwhile otherwise instead else
yes oh ah well o nay
something anything nothing everything somebody anybody nobody everybody someone anyone everyone somewhere
anywhere nowhere everywhere
thou thee thy thine ye hath doth 'tis 'twas
don't didn't isn't wasn't won't can't couldn't wouldn't shouldn't haven't hasn't hadn't i'm i've i'll i'd it's
that's there's he's she's you're they're we're you've
"""

FUNCTION_WORDS = frozenset(_ENGLISH.split()) | frozenset(
    word for words in WORDS.values() for word in words.split()
)
