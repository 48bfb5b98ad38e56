"""Numbers of a prompt: what kind of answer its words ask for, how long one, and what was said.

Read from the bytes of `prompt_terms.encoded`.  A prompt has

    for each of `KINDS`    how often a word of the kind stands in it, and whether one begins it
    for each of `UNITS`    the logarithm of the number before such a word: "in 3 short sentences"
    six numbers            the largest and the first number, the share of bytes above 127, whether
                           it ends with ``?`` or with ``:``, and the length of its last line
    five numbers           of the conversation before: its turns, and the length of the last answer,
                           of all answers in the mean, of the last question and of everything
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rheostat.prediction.answer_length.prompt_terms import FIRST

if TYPE_CHECKING:
    from rheostat.core.outcome import Array

UNITS = ("words", "sentences", "paragraphs", "items")
KINDS = {
    "words": "word words",
    "sentences": "sentence sentences line lines",
    "paragraphs": "paragraph paragraphs page pages",
    "items": "bullet bullets point points item items example examples idea ideas way ways reason "
             "reasons tip tips step steps fact facts thing things question questions title titles "
             "name names option options",
    "short": "brief briefly short concise concisely summarize summarise summary simple quick only "
             "just",
    "long": "detail details detailed comprehensive depth long elaborate thorough extensive full "
            "complete",
    "prose": "essay article blog post story poem script letter email speech chapter song lyrics "
             "report proposal plan guide tutorial lesson course outline",
    "code": "code function python java javascript typescript sql html css react bash program class "
            "api regex query algorithm implement",
    "change": "translate rewrite paraphrase rephrase correct proofread edit improve convert "
              "replace fix classify identify extract categorize",
    "role": "act pretend imagine role roleplay you",
    "wait": "understood ready acknowledge wait confirm reply respond answer yes no ok",
    "more": "continue next go more",
    "table": "table csv json spreadsheet columns",
    "explain": "explain describe discuss analyze compare why how",
    "which": "what who when where which whose",
    "whether": "is are can do does did was were could should would will",
    "make": "write create generate make give provide design develop build compose draft suggest "
            "list",
    "greet": "hi hello hey thanks thank",
}  # fmt: skip
"""Kinds of words; the first four are units of length."""
SPELLED = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NEAR = 3  # words that a number may stand before its unit
OTHERS, TURNS = 6, 5
COUNT = 2 * len(KINDS) + len(UNITS) + OTHERS + TURNS


def _hashed(word: str) -> int:
    value = FIRST
    for byte in word.encode():
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value


def _tables() -> tuple[Array, Array]:
    """Hashes of the words in order, and the kind of each; numbers have kinds below 0."""
    kinds = {_hashed(w): i for i, words in enumerate(KINDS.values()) for w in words.split()}
    kinds |= {_hashed(w): -1 - i for i, w in enumerate(SPELLED)}
    known = sorted(kinds)
    return np.array(known, np.int64), np.array([kinds[h] for h in known], np.int64)


WORD_TABLE, KIND_TABLE = _tables()
FIRST_WORD, NUMBERED, REST = len(KINDS), 2 * len(KINDS), 2 * len(KINDS) + len(UNITS)
UNITS_KNOWN = len(UNITS)
