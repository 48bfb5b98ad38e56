"""Whether settings did the same work: columns that tell how large a problem is, by name or value.

Weak scaling: a setting that did twice the work is no slower for taking as long.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations, pairwise
from shlex import quote

import polars as pl

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.vocabulary import VOCABULARY
from rheostat.errors import QuestionError
from rheostat.measurement.runs.mapping import RATE
from rheostat.measurement.serving.energy_names import plain
from rheostat.questions.settings.lacking import columns_over, their_name
from rheostat.questions.settings.to_target import times_it
from rheostat.questions.settings.unlike_work import STEP
from rheostat.recipes.nodecount import PROBLEM, REPEAT, differing

NAMED = 4
"""Sizes that are named."""
FEWEST_SIZES, GROWTH = 3, 1.5
"""Texts tell a size from that many settings on, of which the last is larger by that factor."""
AMOUNT = re.compile(r"\s*[~≈<>]?\s*(\d+(?:[.,]\d+)?)(?![\d.,:/-])\s*([kKMGT](?![a-z]))?\s*(.*)")
PREFIX = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
RESULT_UNIT = re.compile(r"([mun]?s|sec\w*|min\w*|h|hours?|[kM]?W|[kMG]?J|k?Wh|[MG]?Hz|x|times)?")
"""What follows a number that was measured or names a knob, in place of a size."""
NO_SIZE = re.compile(
    r"(^|_)(n?nodes?|nodelist|cores?|n?cpus?|n?gpus?|ranks?|n?procs?|process\w*|tasks?|threads?|"
    r"hosts?|hostnames?|date|day|started|ended|seed|id|job|run|notes?|remarks?|comments?|version|"
    r"commit|speed_?up|efficiency|ratio|gain|throughput|cost|price|cap|freq|frequency|limit|"
    r"jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)(_|$)"
)
"""Words of headings and cells that count machines, days or results."""
PER = re.compile(
    r"_per_(s|sec\w*|min\w*|h|hours?|j|joules?|w|watts?|k?wh|nodes?|cores?|cpus?|gpus?|ranks?|"
    r"proc\w*|tasks?|threads?)(_|$)"
)
"""Rates, and what falls to a node where the whole is divided."""


COUNTED = re.compile(
    r"(^|_)(cells|particles|atoms|elements|dofs?|unknowns|molecules|bodies|problem_size)(_|$)"
)
"""Words of headings that count what a problem is made of, and are no result of it."""
DONE_AT_ONCE = re.compile(
    r"(^|_)(batch|batches|batchsize|bs|microbatch|accumulation|gpus?|nodes?|ranks?|workers?|dp|seq_len"
    r"|sequence_length|context)(_|$)"
)
"""Headings of how much one step does."""
MOST_FACTORS, SAME = 3, 1.02
PIECES = re.compile(r"((n|no|nr|num|number|total)_(of_)?)?(steps|time_?steps|iterations|iters)")
EPOCHS = re.compile(r"((n|no|nr|num|number|total)_(of_)?)?epochs")
"""Headings of how often a run did its work, which it was told, or took as often as it needed."""


def refuse_unlike_sizes(runs: JobTable, knobs: Sequence[str]) -> None:
    """Refuse to take one of settings that did unlike amounts of work, and say what compares them.

    Numbers of steps are what runs were told to do where all are round; else they may be what a
    solver needed for the same problem.
    """
    if not {"runtime_s", *knobs} <= set(runs.columns):
        return
    ended = runs.frame.filter(~runs.cut_off)
    words = not any(ended[k].dtype.is_numeric() for k in knobs)  # a method has steps of its own
    for size in (c for c in grown(runs, knobs) if ended[c].dtype.is_numeric()):
        pairs = ended.select(*knobs, size).drop_nulls().unique()
        alone = pairs.height == pairs.select(knobs).unique().height
        unlike = alone and pairs[size].n_unique() > 1 and not _same_in_all(ended, size)
        if unlike and _of_the_task(runs, pairs[size], words=words):
            raise QuestionError(_how_to_compare(runs, pairs[size]))


def _same_in_all(ended: pl.DataFrame, size: str) -> bool:
    """Whether steps times what each does, as samples of a batch, are as many in every run.

    >>> runs = pl.DataFrame({"batch_size": [64, 128], "gpus": [1, 1], "steps": [2000, 1000]})
    >>> _same_in_all(runs, "steps"), _same_in_all(runs.drop("batch_size"), "steps")
    (True, False)
    """
    known = ended.filter(pl.col(size) > 0)
    each = [c for c in known.columns if c != size and known[c].dtype.is_numeric()
            and DONE_AT_ONCE.search(plain(c))]  # fmt: skip
    for count in range(1, min(len(each), MOST_FACTORS) + 1):
        for columns in combinations(each, count):
            done = known.select(
                pl.reduce(lambda a, b: a * b, [pl.col(c) for c in (size, *columns)])
            )
            low, high = float(done.to_series().min() or 0), float(done.to_series().max() or 0)  # type: ignore[arg-type]
            if low > 0 and high <= SAME * low:
                return True
    return False


def _of_the_task(runs: JobTable, sizes: pl.Series, *, words: bool) -> bool:
    """Whether amounts are how much there was to do in the time that is told."""
    took, heading = their_name(runs, "runtime_s"), plain(sizes.name)
    if (sizes <= 0).any() or RATE.search(took) or STEP.search(plain(took)):
        return False
    steps = PIECES.fullmatch(heading) is not None and all(map(_round, sizes.to_list()))
    steps |= EPOCHS.fullmatch(heading) is not None and bool((sizes % 5 == 0).all())
    return (steps and not words) or COUNTED.search(heading) is not None


def _settled(runs: JobTable, column: str) -> bool:
    """Whether a column is said to be a result, or the run time is that of one of its pieces."""
    if is_result(runs, column):
        return True
    timed = their_name(runs, "runtime_s") if "runtime_s" in runs.columns else ""
    return timed.endswith(f"/{their_name(runs, column)}") or times_it(runs, column)


def is_result(runs: JobTable, column: str) -> bool:
    """Whether it is said, not guessed, that a column is known after a run alone.

    A moment that nobody guessed has no source in the column's meaning.
    """
    said = runs.schema[column]
    return said.known is Moment.END and not said.meaning.startswith("from ")


def _round(count: float) -> bool:
    """Whether a number is one that people choose: two digits and zeros.

    >>> [_round(n) for n in (100, 2500, 412, 7)]
    [True, True, False, False]
    """
    return count % 10 == 0 and float(f"{count:.1e}") == count


def _how_to_compare(runs: JobTable, sizes: pl.Series) -> str:
    """That settings of unlike sizes do not compare, and what to type."""
    name = their_name(runs, sizes.name)
    amounts = sizes.unique().sort()
    few = ", ".join(f"{v:,.15g}" for v in amounts[:NAMED]) + ", ..." * (len(amounts) > NAMED)
    typed = columns_over(runs, name)
    most = sizes.value_counts(sort=True).row(0)
    same = f", --where {quote(f'{name}={most[0]:.15g}')} those of one size" if most[1] > 1 else ""
    return (
        f"{name} differs between the settings ({few}): they did not do the same work and do not "
        f"compare; {typed} compares times of one of {name}{same}; if it is a result and no task, "
        f"front --known {quote(f'{name}=end')} says so (elsewhere [known] of --map)"
    )


def grown(runs: JobTable, knobs: Sequence[str]) -> tuple[str, ...]:
    """Columns that tell how large a problem is and differ from one setting of ``knobs`` to another.

    By their name, or as texts that begin with a number which rises with a knob.

    >>> from rheostat import table
    >>> grown(table({"nodes": [1, 2], "cells": [100, 200], "runtime_s": [9.0, 9.1]}), ["nodes"])
    ('cells',)
    >>> share = {"nodes": [1, 2, 4], "Part": ["12.5% / ~150", "25% / ~300", "50% / ~600"]}
    >>> grown(table({**share, "runtime_s": [9.0, 9.1, 9.3]}), ["nodes"])
    ('Part',)
    """
    mixed, before = differing(runs, knobs), runs.known_at(Moment.SUBMIT).columns
    others = [c for c in runs.columns
              if c not in (*knobs, *mixed, *VOCABULARY) and not _settled(runs, c)]  # fmt: skip
    return tuple(
        c
        for c in others
        if (_named_size(c) and runs.frame[c].drop_nulls().n_unique() > 1)
        or (c in before and any(_rises(runs.frame, c, k) for k in knobs))
    )


def _named_size(column: str) -> bool:
    """Whether a heading names a size, and not its rate or its share of a part of the machine."""
    heading = plain(column)
    return bool(PROBLEM.search(heading)) and not PER.search(heading)


def _rises(frame: pl.DataFrame, column: str, knob: str) -> bool:
    """Whether a column of texts begins with a number that grows with the knob and is not it."""
    heading = plain(column)
    if frame[column].dtype != pl.String or NO_SIZE.search(heading) or REPEAT.fullmatch(heading):
        return False
    if knob not in frame.columns or not frame[knob].dtype.is_numeric():
        return False
    pairs = frame.select(knob, column).drop_nulls().unique().sort(knob)
    values = pairs[knob].to_list()
    sizes = [_size(text) for text in pairs[column]]
    known = [s for s in sizes if s is not None]
    if len(known) < max(FEWEST_SIZES, len(sizes), frame[knob].n_unique()) or known == values:
        return False
    return known[-1] > GROWTH * known[0] and all(a < b for a, b in pairwise(known))


def _size(text: str) -> float | None:
    """The amount that a text begins with; None of a count of machines, a date or a result.

    >>> [_size(t) for t in ("~150 k cells", "4 GB", "1.9x", "12 s", "64 cores", "1.2.2025", "n4")]
    [150000.0, 4000000000.0, None, None, None, None, None]
    """
    amount = AMOUNT.fullmatch(text)
    if amount is None:
        return None
    number, prefix, rest = amount.groups()
    if (rest and RESULT_UNIT.fullmatch(rest)) or NO_SIZE.search(plain(rest)):
        return None
    return float(number.replace(",", ".")) * PREFIX.get(prefix, 1.0)
