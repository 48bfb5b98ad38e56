"""Terms of a prompt: hashed words and pieces of words, counted.

A prompt's bytes are read once as UTF-8 in lower case.  A word is a run of letters, digits and
bytes above 127; any other visible byte is a word of its own.  Terms come in `BLOCKS` groups:

    0  words and pairs of neighbours        1  runs of 3 to 5 bytes within text between spaces
    2, 3  the same of the opening           4  pairs of different words of the opening

The opening is the first line, up to `OPENING` bytes: it mostly says what is asked.
Many prompts are read in machine code, few by NumPy, with the same result: what answers one
request at a time needs no compiler, which alone is 130 MB of memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rheostat.core.texts.turns import question

if TYPE_CHECKING:
    from types import ModuleType

    from scipy.sparse import csr_matrix

    from rheostat.core.outcome import Array

BLOCKS, BUCKETS = 5, 2**17
TERMS = BLOCKS * BUCKETS
OPENING, PAIRED = 300, 24
LONGEST = 4000
"""Characters of a prompt that are looked at: what is asked stands at its beginning or end."""
SIZES = 8
"""Numbers that `sizes` counts: bytes, words, lines, ``?``, ``.``, ``,``, digits, brackets."""
FIRST = 2166136261
KIND_OF = np.zeros(256, np.int64)
"""Which of the sizes a byte counts for; 0 for none."""
for _kind, _bytes in ((2, b"\n"), (3, b"?"), (4, b"."), (5, b","), (6, b"0123456789"),
                      (7, b"`{}()[];=")):  # fmt: skip
    KIND_OF[list(_bytes)] = _kind
Bytes = NDArray[np.uint8]
Rows = NDArray[np.int64]
FEW = 8
"""Prompts at once that are read without machine code."""


def reader(prompts: int) -> ModuleType:
    """What reads so many prompts: its ``counted``, ``weigh``, ``added`` and ``read``."""
    if prompts <= FEW:
        from rheostat.prediction.answer_length import few_prompts

        return few_prompts
    from rheostat.prediction.answer_length import prompt_code

    return prompt_code


def terms(prompts: Sequence[str]) -> tuple[csr_matrix, Array]:
    """How often each term occurs, (n, TERMS), and sizes of the prompts, (n, SIZES).

    >>> counts, sizes = terms(["Say yes, yes"])
    >>> int(counts.max()), sizes[0, :2].tolist()
    (2, [12.0, 4.0])
    """
    from scipy.sparse import csr_matrix

    slots, counts, starts, sizes = counted_terms(prompts)
    return csr_matrix((counts, slots, starts), shape=(len(prompts), TERMS)), sizes


def counted_terms(prompts: Sequence[str]) -> tuple[Rows, Array, Rows, Array]:
    """Slots and counts of the terms, where each prompt's begin and the last end, and sizes."""
    made: tuple[Rows, Array, Rows, Array] = reader(len(prompts)).counted(*encoded(prompts))
    return made


def seen_characters(prompts: Sequence[str]) -> Rows:
    """How many characters of each prompt are looked at, (n,).

    >>> seen_characters(["Say yes", "x" * 10**6]).tolist()
    [7, 4000]
    """
    return np.array([min(len(question(p)), LONGEST) for p in prompts], np.int64)


def encoded(prompts: Sequence[str]) -> tuple[Bytes, Rows]:
    """What each prompt asks in lower case, one after the other, and where each ends."""
    half = LONGEST // 2
    asked = map(question, prompts)
    cut = (t if len(t) <= LONGEST else t[:half] + t[-half:] for t in asked)
    parts = [t.lower().encode("utf-8", "replace") for t in cut]
    return np.frombuffer(b"".join(parts), np.uint8), np.cumsum([0, *map(len, parts)])
