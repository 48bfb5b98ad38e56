"""Iteration times in what programs of training print, one line for an iteration.

``iteration  3/ 500 | elapsed time per iteration (ms): 1850.2 |`` (Megatron-LM), ``iter 3: loss 2.5,
time 231.4ms`` (nanoGPT), ``step 3/500 | loss 2.5 | 350.1 ms |`` (llm.c), ``steps: 3 loss: 2.5 iter
time (s): 1.2`` (DeepSpeed), ``iter: 3  loss: 2.5  time: 0.23  data_time: 0.01`` (Detectron2) and
``Epoch: [0][ 3/500] Time 0.25 (0.31)`` (examples of PyTorch; the last two count in seconds).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.lines import Records

NUMBER = re.compile(
    r"(?<![\w.])(?:iter(?:ation)?s?|steps?)\s*[:=#]?\s*(\d[\d,]*)|\]\[\s*(\d+)/\d+\]", re.I
)
_AMOUNT, _UNIT = r"(?P<amount>\d+(?:\.\d+)?)", r"(?P<unit>ms|us|s(?:ec)?)"
_KIND = r"(?:iter(?:ation)?|step)"
_NAME = r"(?<![\w.])(?<!total )(?<!elapsed )(?<!train )"
TIMES = tuple(re.compile(text, re.I) for text in (
    rf"(?:per[ _]{_KIND}|{_KIND}[ _]time) ?\({_UNIT}\)\s*[:=]\s*{_AMOUNT}",
    rf"{_NAME}(?:{_KIND}[ _])?(?:time|dt)\s*[:=]?\s*{_AMOUNT}\s*{_UNIT}\b",
    rf"\|\s*{_AMOUNT}\s*{_UNIT}\s*\|",
    rf"{_NAME}time: {_AMOUNT}\s+(?:last_time: [\d.]+\s+)?data_time:",
    rf"{_NAME}time\s+{_AMOUNT}\s*\(\s*[\d.]+\)",
))  # fmt: skip
"""How long the iteration took; without a unit in s."""
SECONDS = {"ms": 1e-3, "us": 1e-6}
FEWEST = 3
"""Lines that make a log."""
LOOKED_AT = 2000
Lines = list[tuple[int, float]]


def is_training_log(path: Path) -> bool:
    """Whether lines at its beginning say how long an iteration took."""
    return len(_timed(text for _, text in islice(Records(path), LOOKED_AT))) >= FEWEST


def read_training_log(path: str | Path, notes: list[Note]) -> pl.DataFrame:
    r"""Columns ``iteration`` and ``runtime_s``; lines without a time, of evaluations, are passed.

    Of a log with a line for every tenth iteration the lines are counted, which is noted.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "train.log"
    >>> _ = file.write_text("".join(f"iter {i}0: loss 2.5, time {9 + i}.0ms\n" for i in range(4)))
    >>> read_training_log(file, said := [])["runtime_s"].to_list()
    [0.009, 0.01, 0.011, 0.012]
    >>> said[0].message
    'a line for every 10 iterations: one iteration here is such a line'
    """
    records = Records(path)
    lines = _timed(text for _, text in records)
    notes += records.notes
    count = np.array([n for n, _ in lines])
    apart = int(np.median(np.diff(count)))
    if apart > 1:
        notes.append(
            Note(f"a line for every {apart} iterations: one iteration here is such a line")
        )
        count = np.arange(len(lines))
    return pl.DataFrame({"iteration": count, "runtime_s": [s for _, s in lines]})


def _timed(texts: Iterable[str]) -> Lines:
    """Number and seconds of the lines in the most frequent of the forms; ascending at first."""
    each: list[Lines] = [[] for _ in TIMES]
    for text in texts:
        if (number := NUMBER.search(text)) is None:
            continue
        for lines, form in zip(each, TIMES, strict=True):
            if (took := form.search(text)) is not None:
                scale = SECONDS.get((took.groupdict().get("unit") or "s").lower(), 1.0)
                count = int((number[1] or number[2]).replace(",", ""))
                lines.append((count, round(float(took["amount"]) * scale, 9)))
    most = max(each, key=len)
    return most if len(most) > 1 and most[0][0] < most[1][0] else []
