"""Prompts as terms and numbers: many at once in machine code, few by NumPy, with the same result.

What answers one request at a time so needs no compiler, which alone is 130 MB of memory.  Where the
machine code is loaded already, few prompts are read by it, too, in half the time.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rheostat.core.texts.turns import TURN, turn_lengths
from rheostat.prediction.answer_length.prompt_numbers import COUNT, TURNS
from rheostat.prediction.answer_length.prompt_terms import TERMS, Bytes, Rows, encoded

if TYPE_CHECKING:
    from types import ModuleType

    from scipy.sparse import csr_matrix

    from rheostat.core.outcome import Array

FEW = 8
"""Prompts at once that machine code is not loaded for."""
CODE = "rheostat.prediction.answer_length.prompt_code"


def reader(prompts: int) -> ModuleType:
    """What reads so many prompts: its ``counted``, ``weigh``, ``added`` and ``read``."""
    if prompts <= FEW and CODE not in sys.modules:
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


def numbers(prompts: Sequence[str], data: Bytes, ends: Rows) -> Array:
    """Numbers of each prompt, (n, COUNT); ``data`` and ``ends`` are what `encoded` made of them.

    >>> from rheostat.prediction.answer_length.prompt_numbers import KINDS
    >>> prompts = ["Write 3 short sentences, only 3"]
    >>> by_name = dict(zip(KINDS, numbers(prompts, *encoded(prompts))[0]))
    >>> [float(by_name[kind]) for kind in ("sentences", "short", "code")]
    [1.0, 2.0, 0.0]
    """
    read = np.zeros((len(prompts), COUNT))
    reader(len(prompts)).read(data, ends, read)
    for i, prompt in enumerate(prompts):
        if TURN in prompt:
            read[i, -TURNS:] = _of_turns(turn_lengths(prompt))
    return read


def _of_turns(lengths: Sequence[int]) -> tuple[float, ...]:
    answers = lengths[1::2] or [0]
    asked = lengths[-2] if len(lengths) > 1 else lengths[0]
    logs = np.log1p([answers[-1], sum(answers) / len(answers), asked, sum(lengths)])
    return (float(len(lengths)), *logs.tolist())
