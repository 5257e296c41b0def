"""Replies made by rule: none is read as another answer than it means."""

from __future__ import annotations

import random

import pytest

from aspectra.search.rerank.repair import read_choice, read_labels, read_number
from long import LONG

FORMS = ["{}", "{}.", "**{}**", "\n\n{}", "`{}`", '"{}"', "<answer>{}</answer>", "__{}__\n", "  {}\n\n"]
LABELS = [
    "Answer: {}",
    "**Answer:** {}",
    "Final answer: {}",
    "My judgement is {}.",
    "Antwort: {}",
    "# Result\n{}",
]
NUMBERED = [
    "Score: {}",
    "Grade: **{}**",
    "Score (0-{high}): {}",
    "Rating [0-{high}]: {}",
    "I give it {}.",
    "{}/{high}",
    "Score: {}/{high}",
    "Points = {}",
    "Note : {}",
    '{{"points": {}}}',
    '{{"score": "{}/{high}"}}',
    "{} out of {high}",
    "Here is what I found.\n\n{}",
]
THOUGHTS = [
    "<think>{}</think>\n",
    "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>",
    "[THINK]{}[/THINK]",
    "◁think▷{}◁/think▷",
    "<seed:think>{}</seed:think>",
    "<reflection>{}</reflection> ",
    "<|begin_of_thought|>{}<|end_of_thought|>",
    "<reasoning>\n{}\n</reasoning>\n\n",
    "<inner_thoughts>{}</inner_thoughts>",
]
MUSING = ["The text names 3 birds, so {} at first; or {}?", "Score: {}", "Perhaps {}.\nAnswer: {}", "{}"]
NOTHING = [
    "",
    "\n",
    "I cannot say {}.",
    "It is not {}.",
    "Is it {} or {other}?",
    "Not {}, not {other}.",
    "Either {} or {other}",
    "The text reports {} of {other} birds.",
    "Score: {} to {other}",
    "Score: {}-{other}",
    "{} or {other}",
    "There may be {}; there may be {other}.",
    "Score: {}? Score: {other}?",
    "{}\n{other}",
    "{}, {other}",
    "Maybe {}",
    "Score: between {} and {other}",
    "{} is worse than {other}.",
    "Answer: not {}",
    "Unless {other}, {}",
    "The scale has {} and {other}.",
    "It would be {} if it named owls.",
    "one of the words",
]
FORMS += (
    "[[{}]] ¦ ({}) ¦ \\boxed{{{}}} ¦ $\\boxed{{{}}}$ ¦ > {} ¦ - {} ¦ 「{}」 ¦ {}。 ¦ <b>{}</b> ¦ ‘{}’ ¦ "
    '{}! ¦ ```\n{}\n``` ¦ ```json\n{{"answer": "{}"}}\n``` ¦ <|assistant|>{} ¦ {}<|im_end|> ¦ '
    "{}</s> ¦ <answer>\n{}\n</answer>\n ¦ “{}” ¦ {}, ¦ \t{}\r\n ¦ "
    "<relevance>{}</relevance> ¦ <better>{}</better>"
).split(" ¦ ")
LABELS += (
    "Réponse : {} ¦ Respuesta: {} ¦ Risposta: {} ¦ Ответ: {} ¦ 答案：{} ¦ 回答：{} ¦ 答案是{}。 ¦ "
    "Odpowiedź: {} ¦ Svar: {} ¦ Resposta: {} ¦ Cevap: {} ¦ الجواب: {} ¦ उत्तर: {} ¦ 정답: {} ¦ "
    "The answer is {}. ¦ So my final answer is: {} ¦ Sure! {} ¦ Sure, here it is: {} ¦ "
    "Here is my answer:\n{} ¦ Verdict → {} ¦ ### Answer\n\n{} ¦ **Final Answer**\n\n{} ¦ Answer - {} ¦ "
    "ANSWER: {} ¦ answer: {}\n\nexplanation: the text names owls ¦ "
    "Answer: {}\nReason: it names owls. ¦ Judgment: {} ¦ Decision: **{}** ¦ Result => {} ¦ "
    "| Answer |\n|---|\n| {} | ¦ Answer:\n{} ¦ I choose {}. ¦ My choice: {} ¦ I would say {}. ¦ "
    "I'd say {}. ¦ {} - the text names owls. ¦ {} (the text names owls) ¦ {}: it names owls."
).split(" ¦ ")
NUMBERED += (
    "{} pts ¦ {} points ¦ Score (out of {high}): {} ¦ Relevance score: {} ¦ Score={} ¦ "
    "The score is {}. ¦ 评分：{} ¦ 得分: {} ¦ Оценка: {} ¦ {}分 ¦ Bewertung: {} ¦ Punkte: {} ¦ "
    "Puntuación: {} ¦ {} points out of {high} ¦ On a scale of 0 to {high}, {} ¦ "
    "On a scale from 0 to {high} I would say {}. ¦ Score: {} out of {high} ¦ Relevance: {} ¦ "
    "Rating: {} / {high} ¦ I would rate it {}. ¦ I'd give this a {}. ¦ {}.0 ¦ Score: {}.0/{high} ¦ "
    'Score on 0-{high}: {} ¦ {{"points": "{}"}} ¦ '
    '{{"points": {}, "reason": "names 3 owls"}} ¦ Score: {} because it names 3 owls ¦ '
    "Punktzahl (0 bis {high}): {} ¦ Note (0 à {high}) : {} ¦ [0, {high}] → {} ¦ 0 <= {} <= {high}"
).split(" ¦ ")
THOUGHTS += (
    "<thinking>\n{}\n</thinking>\n ¦ <think>{}</think></think> ¦ "
    "<|START_THINKING|>{}<|END_THINKING|> ¦ <|START_THINKING|>{}<|END_THINKING|><|START_RESPONSE|> ¦ "
    "<analysis>{}</analysis> ¦ <scratchpad>{}</scratchpad> ¦ [reasoning]{}[/reasoning] ¦ "
    "<|inner_prefix|>{}<|inner_suffix|> ¦ <unused94>thought\n{}<unused95> ¦ ```thinking\n{}\n```\n ¦ "
    "<details><summary>Thinking</summary>{}</details> ¦ <mm:think>{}</mm:think> ¦ "
    "<|thinking|>{}<|/thinking|> ¦ <|begin_of_thinking|>{}<|end_of_thinking|> ¦ <think>{}<|/think|> ¦ "
    "<THINK>{}</THINK>\n\n ¦ <thought_process>{}</thought_process> ¦ <cot>{}</cot> ¦ "
    "<inner_monologue>{}</inner_monologue> ¦ <|thought|>{}<|endofthought|> ¦ <plan>{}</plan> ¦ "
    "<internal>{}</internal> ¦ <|channel>thought\n{}<channel|> ¦ "
    "<seed:cot_budget_reflect>{}</seed:cot_budget_reflect> ¦ <ponder>{}</ponder> ¦ "
    "<working>{}</working> ¦ <assessment>{}</assessment>"
).split(" ¦ ")
NOTHING += (
    "Nicht {}. ¦ Das ist nicht {}. ¦ Ce n'est pas {}. ¦ Не {}. ¦ 不是{} ¦ {} ou {other} ¦ "
    "{} oder {other} ¦ {} o {other} ¦ {} или {other} ¦ Vielleicht {} ¦ Peut-être {} ¦ Quizás {} ¦ "
    "Возможно {} ¦ Possibly {} ¦ {}? ¦ Antwort: nicht {} ¦ Antwort: {} oder {other} ¦ "
    "Answer: {} oder {other} ¦ Note : entre {} et {other} ¦ Score: zwischen {} und {other} ¦ "
    "Score: {} bis {other} ¦ Score: {} à {other} ¦ Answer: {} / {other} ¦ Answer: {}/{other} ¦ "
    "{} vs. {other} ¦ First {}, then {other}. ¦ Answer: {}, no wait, {other} ¦ "
    "Answer: {}. Actually, {other}. ¦ Answer: {}\nAnswer: {other} ¦ Example answer: {} ¦ "
    "For example, {} ¦ e.g. {} ¦ If it named owls, the answer would be {}. ¦ "
    "The prompt says to answer {} or {other}. ¦ Score: ~{} to ~{other} ¦ Score: {}±5 ¦ "
    "Score: at least {} ¦ Score: more than {} ¦ Score: < {} ¦ Score: >{} ¦ Score: {}+ ¦ "
    "Score: up to {} ¦ Answer with {} or {other} only. ¦ Score: {}..{other} ¦ Score: {}–{other} ¦ "
    "I cannot answer {} ¦ Unable to say {} ¦ Score: under {} ¦ Answer: neither {} nor {other} ¦ "
    "Answer: both {} and {other} ¦ Answer: not sure, {} ¦ Answer: hardly {} ¦ Answer: {} is wrong ¦ "
    "Answer: {} (but {other} is possible) ¦ Answer: {} would be wrong ¦ Score: <{}"
).split(" ¦ ")
SCRIPTS = ["0123456789", "٠١٢٣٤٥٦٧٨٩", "०१२३४५६७८९", "０１２３４５６７８９"]


def _reply(pick, value, other, forms):
    """(a reply, whether it means an answer, whether it is cut)."""
    fill = {"high": 100, "other": other}
    before = pick(THOUGHTS) if pick((0, 1)) else ""
    thoughts = pick(MUSING).format(other, value) if before else ""
    if pick(range(8)) == 0:
        cut = (
            before.format(thoughts).rsplit("</", 1)[0]
            if before.startswith("<think")
            else "Okay, let me see: " + thoughts
        )
        return cut, False, True
    if pick(range(5)) == 0:
        return before.format(thoughts) + pick(NOTHING).format(value, **fill), False, False
    return before.format(thoughts) + pick(forms).format(value, **fill), True, False


def _read_one(rng):
    """(what a reply means, None for nothing; what was read; the reply)."""
    kind = rng.choice(["yes", "AB", "points", "list"])
    if kind == "list":
        labels = [str(n) for n in range(1, rng.randint(3, 9))]
        order = rng.sample(labels, len(labels))
        form = rng.choice(['{{"order": [{}]}}', "```json\n[{}]\n```", "The order: {}", "**{}**"])
        joined = ", ".join(f'"{n}"' for n in order) if "[" in form else " > ".join(f"[{n}]" for n in order)
        text, means, cut = _reply(rng.choice, "%", "?", [form])
        shuffled = " ".join(f"Text [{n}] names an owl." for n in rng.sample(labels, len(labels)))
        text = text.replace("?", shuffled).replace("%", joined if means else shuffled)
        return (
            (tuple(order) if means else None),
            (read_labels(text, labels, cut=cut).labels if means or cut else ()) or None,
            text,
        )
    if kind == "points":
        value = rng.randint(2, 100)
        digits = str(value).translate(str.maketrans("0123456789", rng.choice(SCRIPTS)))
        other = str(rng.randint(2, 100) if value < 2 else value - 1)
        text, means, cut = _reply(rng.choice, digits, other, FORMS + LABELS + NUMBERED)
        if means and rng.random() < 0.2:
            text, value = (
                rng.choice([f"{value % 11}/10", f"Score: **{value % 11}/10**", f"{value % 11} out of 10"]),
                value % 11 * 10,
            )
        return (
            (float(value) if means else None),
            read_number(text, ["points", "score"], 0, 100, cut=cut),
            text,
        )
    words = ("A", "B") if kind == "AB" else ("yes", "no")
    value, other = rng.sample(words, 2)
    spelt = value if kind == "AB" else rng.choice([value, value.upper(), value.title()])
    text, means, cut = _reply(
        rng.choice, spelt, other, FORMS + LABELS + ['{{"better": "{}"}}', "{}, it fits."]
    )
    return (value if means else None), read_choice(text, words, cut=cut), text


@pytest.mark.parametrize("seed", range(4))
def test_no_reply_is_read_as_another_answer(seed, capsys):
    rng, count = random.Random(seed), 25_000 if LONG else 2_000
    none = meant = 0
    for _ in range(count):
        means, read, text = _read_one(rng)
        assert read is None or read == means, text
        meant += means is not None
        none += means is not None and read is None
    with capsys.disabled():
        print(f"\n{count:,} replies, {meant:,} with an answer: {none / meant:.1%} of those read as no answer")
    assert none / meant < 0.1
