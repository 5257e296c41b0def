"""German words of instructions, in the form of :mod:`~aspectra.search.reader.english`; read only in German texts."""

from __future__ import annotations

import re

__all__ = ["ATTRIBUTE_WORDS", "CONTEXT_WORDS", "GRAMMAR_WORDS", "looks_german"]

_CLUES = re.compile(
    r"\b(?:bitte|nur|nicht|keine?[nrms]?|auf|und|oder|ein(?:e[nrms]?)?|das|der|dem|den|mit|ohne|für|über|höchstens|mindestens|lieber|muss|"
    r"müssen|soll(?:te|en|ten)?|suche|thema|möchte|ich|gleiche[rsnm]?|andere[rsnm]?|zum|zur|vom|aus|seit|nichts|wie|warum|statt|außer|wörter|absatz|sätze)\b"
)


def looks_german(low: str) -> bool:
    """Whether a folded text has words that hardly any English text has."""
    return bool(_CLUES.search(low))


GRAMMAR_WORDS = """
neg strong = kein | keine | keinen | keiner | keinem | keines | nichts | ohne | nie | niemals | außer | ausgenommen | ausschließen | schließe | weglassen | lass weg | verzichte auf | darf nicht | dürfen nicht
neg not = nicht
neg avoid = vermeide | vermeiden | meide | statt | anstatt | anstelle von | weniger | lieber nicht | sollte nicht | sollten nicht | möglichst nicht | möglichst kein | möglichst keine | möglichst keinen | bloß nicht
hard = muss | müssen | nur | ausschließlich | unbedingt | lediglich | nichts anderes | nichts anderes als | nichts als | genau | zwingend | beschränke dich auf | beschränken auf | brauche | benötige
soft = sollte | sollten | soll | lieber | bevorzugt | am liebsten | vorzugsweise | möglichst | wenn möglich | falls möglich | wenn's geht | idealerweise | wäre {gut,schön,nett,toll,super,prima,ideal} | wären {gut,schön,nett,toll,super} | reicht | reichen | genügt | genügen | eher | bevorzuge | gerne | gern | ich hätte gern | ich hätte lieber
perm = muss nicht | müssen nicht | egal | ganz egal | ist mir egal | spielt keine rolle | darf auch | nichts gegen | gerne auch
open = suche | ich suche | zeige mir | zeig mir | gib mir | finde | ich möchte | ich will | erkläre( mir) | erklär( mir) | ich brauche etwas | ich interessiere mich für | gesucht | antworte | antworte mir
label: lead = thema | das thema | frage | meine frage
topic = über | zu | zum | zur | zum thema | das thema ist | thema ist | es geht um | bezüglich | betreffend | für
doc = etwas | text | texte | texten | artikel | artikeln | dokument | dokumente | dokumenten | arbeit | arbeiten | beitrag | beiträge | beiträgen | quelle | quellen | antwort | antworten | literatur | ergebnis | ergebnisse | material | seite | seiten | veröffentlichung | veröffentlichungen | studien | lesestoff
polite = bitte | danke | hallo | vielen dank
func = verständlich | lesbar | geeignet | ein | eine | einen | einem | einer | eines | der | die | das | den | dem | des | und | oder | aber | sondern | auf | in | im | aus | von | vom | mit | bei | an | am | als | ist | sind | sein | werden | wird | wurde | haben | hat | sich | es | sie | er | ich | mir | mich | wir | uns | man | auch | noch | mehr | ganz | ganzer | ganze | ganzen | ganzes | sehr | zu viel | geschrieben | verfasst | veröffentlicht | erschienen | vorkommen | enthalten | enthält | lesen | sprache | form | stammen | stammt | kommen | kommt | hätte | wäre | würde | dies | diese | dieser | dieses | davon | gute | guten | guter | gutes | leicht | etwas mehr
"""

ATTRIBUTE_WORDS = """
length sentence = {ein,einen,einem,ein einziger,einen einzigen} {satz} | einzeiler | in einem satz | einzelner satz | satz
length paragraph = absatz | ein absatz | einen absatz | einem absatz | zwei oder drei sätze | ein paar sätze | wenige sätze | {zwei,drei,vier} sätze
length article = ganzer artikel | ganzen artikel | ganze artikel | ganzes kapitel | langer artikel | lange artikel | langen artikel | ausführlicher{ artikel, text,} | ausführlich | ausführliche texte | langer text | lange texte | langen text | langatmig
length <=paragraph = kurz | kurzer{ text, artikel,} | kurze{ texte, artikel, antwort,} | kurzen{ text, artikel,} | kurzes | knapp | knappe | kürzer | kürzerer text | in aller kürze
format code: weak = code
format code = quellcode | quelltext | codebeispiel | codebeispiele | codebeispielen | code-beispiele | code-schnipsel | programmcode | beispielcode | codeschnipsel
format qa = frage und antwort | fragen und antworten | frage-antwort | frage-antwort-form | faq
format manual = handbuch | handbücher | anleitung | anleitungen | bedienungsanleitung | bedienungsanleitungen | gebrauchsanweisung | benutzerhandbuch
format prose = fließtext | prosa | fortlaufender text | zusammenhängender text | aufsatz | ganze sätze
format list: weak = liste | listen
format list = aufzählung | aufzählungen | stichpunkte | stichpunkten | stichpunktliste | als liste | nummerierte liste | checkliste | checklisten | schritt für schritt | spickzettel | stichworte
source blog = blogbeitrag | blogbeiträge | blogbeiträgen | blogartikel | blogeintrag | blogeinträge | blog | blogs | blogpost | blogposts
source forum = forenbeitrag | forenbeiträge | forenbeiträgen | forum | foren | forumsbeitrag | forumsbeiträge | diskussionsforum
source news = nachrichten | nachrichtenartikel | zeitungsartikel | zeitung | zeitungen | presse | pressebericht | presseberichte | zeitungsberichte | nachrichtenmeldung
source scholarly = wissenschaftlich | wissenschaftliche{ arbeit, arbeiten, artikel, literatur, quellen, texte,} | wissenschaftlicher artikel | fachartikel | fachzeitschrift | fachzeitschriften | begutachtet | begutachtete
source encyclopedia = lexikon | enzyklopädie | enzyklopädien | lexikonartikel | lexikoneintrag
source official documentation = offizielle dokumentation | offiziellen dokumentation | offizielle doku
audience lay: weak = einfach
audience lay = laien | laie | einsteiger | anfänger | allgemeinverständlich | allgemein verständlich | leicht verständlich | in einfachen worten | einfache sprache | einfacher sprache | leichte sprache | populärwissenschaftlich | für jedermann | die breite öffentlichkeit
audience expert = fachleute | fachleuten | fachmann | experten | expertinnen | profis | fachsprache | fachjargon | fachbegriffe | fachchinesisch | spezialisten | technisch | forscher | forschende
audience student = schüler | schülerinnen | studierende | studenten | studentinnen | studierenden | erstsemester | schulkinder
kind survey = überblick | überblicksartikel | übersichtsartikel | übersichtsarbeit | übersichtsarbeiten | literaturübersicht
kind method = neue methode | neue methoden | neues verfahren | neuer ansatz | neuen ansatz
kind dataset = neuer datensatz | datensätze | datensatz
kind theory = theoretische arbeit | theoretische arbeiten
kind evaluation = empirischer vergleich | vergleichsstudie | vergleichsstudien | empirische studie | empirische studien
kind position = meinungsbeitrag | meinungsbeiträge | kommentar | kommentare | positionspapier
"""

CONTEXT_WORDS = """
term verb = erwähnt | erwähnen | enthält | enthalten | nennt | beinhaltet | nennen
term noun = wort | wörter | begriff | begriffe | ausdruck | stichwort | schlagwort
term post = vorkommen | vorkommt | vorkommen muss | auftauchen | auftaucht | erscheinen | fallen | fällt | enthalten sein | stehen | erwähnt | erwähnt werden
same = gleich | gleiche | gleicher | gleichen | gleiches | selbe | dieselbe | derselbe | dasselbe | dieselben | ähnliche | ähnlicher | ähnlichen
diff = andere | anderer | anderen | anderes | verschiedene | unterschiedliche
samepost = übereinstimmen | gleich sein
diffpost = abweichen | anders sein
aspect background = hintergrund | motivation | ziel | ziele | problem | fragestellung | forschungsfrage
aspect method = methode | methoden | methodik | ansatz | ansätze | verfahren | technik | algorithmus
aspect result = ergebnis | ergebnisse | ergebnissen | resultat | resultate | schlussfolgerung | schlussfolgerungen | befunde
aspect free = aufgabe | aufgaben | daten | datensatz | modell | architektur | stichprobe | anwendung
"""
