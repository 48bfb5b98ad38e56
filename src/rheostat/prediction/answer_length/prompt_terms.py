"""Terms of a prompt: hashed words and pieces of words.

A prompt's bytes are read once as UTF-8 in lower case.  A word is a run of letters, digits and
bytes above 127; any other visible byte is a word of its own.  Terms come in `BLOCKS` groups:

    0  words and pairs of neighbours        1  runs of 3 to 5 bytes within text between spaces
    2, 3  the same of the opening           4  pairs of different words of the opening

The opening is the first line, up to `OPENING` bytes: it mostly says what is asked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rheostat.core.texts.turns import question

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
