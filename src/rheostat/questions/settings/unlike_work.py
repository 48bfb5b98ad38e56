"""Whether a run time is the time of the same work at every setting.

A benchmark that lasts a minute whatever is turned did more work where it was faster, and a training
step of a larger batch does more than one of a smaller.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from shlex import quote

import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.errors import QuestionError
from rheostat.measurement.runs.mapping import RATE
from rheostat.measurement.serving.energy_names import plain
from rheostat.questions.settings.lacking import columns_over, their_name
from rheostat.questions.settings.to_target import asked_to_target, counts_to_target, times_it

FEWEST = 3
"""Settings that last equally long by no chance."""
EQUAL = 0.01
"""A share of the run time."""
STEP = re.compile(r"(^|_)(steps?|its?|iter|iterations?|batch|minibatch|forward|backward)(_|$)")
"""Headings of times that are of a step."""
BATCH = re.compile(r"(^|_)(batch|batches|batchsize|bs|minibatch|microbatch)(_|$)")
"""Knobs that say how much a step does."""


def of_a_step(runs: JobTable, knob: str) -> bool:
    """Whether run times are of a step, of which a larger ``knob`` makes one do more."""
    if BATCH.search(plain(knob)) is None:
        return False
    took = their_name(runs, "runtime_s")
    if took.endswith(f"/{their_name(runs, knob)}") or any(times_it(runs, c) for c in runs.columns):
        return False  # of one sample, or of all that there were, already
    return STEP.search(plain(took)) is not None


def refuse_unlike_steps(runs: JobTable, knobs: Sequence[str]) -> None:
    """Refuse to take one of settings whose steps do more work than each other's."""
    if not {"runtime_s", *knobs} <= set(runs.columns):
        return
    known = runs.frame.filter(pl.col("runtime_s") > 0)
    sizes = [k for k in knobs if of_a_step(runs, k)] + _done_by_a_step(runs, knobs)
    sizes = [c for c in sizes if known[c].drop_nulls().n_unique() > 1]
    if not sizes:
        return
    size, heading = their_name(runs, sizes[0]), their_name(runs, "runtime_s")
    one = (
        f"{columns_over(runs, size)} compares times of one sample, "
        if not RATE.search(heading)
        else ""
    )
    for count in counts_to_target(runs, knobs) if one else ():
        typed = asked_to_target(runs, count, size)
        one = f"{typed} compares times to the target of {their_name(runs, count)}, {one}"
    raise QuestionError(
        f"runtime_s is of a step ({heading}), and one of a larger {size} does more work: settings "
        f"of unlike {size} do not compare; name one: {one}"
        f"--where {sizes[0]}=... keeps one size; where a column has samples per second, "
        "--column runtime_s=1/THAT"
    )


DONE_BY_ONE = re.compile(
    r"(tokens|samples|images|sequences|rows|items)_per_(step|it|iter|iteration|batch)$"
    r"|(^|_)global_(batch|batchsize|batch_size)$"
)
"""Columns that say how much a step does."""


def _done_by_a_step(runs: JobTable, knobs: Sequence[str]) -> list[str]:
    """Columns beside the knobs that say how much each step does, where run times are of a step."""
    took = their_name(runs, "runtime_s")
    if STEP.search(plain(took)) is None or any(times_it(runs, c) for c in runs.columns):
        return []
    named = [c for c in runs.columns if c not in knobs and DONE_BY_ONE.search(plain(c))]
    numbers = [c for c in named if runs.frame[c].dtype.is_numeric()]
    return [c for c in numbers if not took.endswith(f"/{their_name(runs, c)}")]


PART = re.compile(
    r"((run|exec(ution)?|app(lication)?|program|job|code|kernel)_)?"
    r"(phases?|stages?|sections?|regions?|components?|parts?)(_?(name|id))?"
)
"""Headings of parts of a run, each in a row of its own."""


def refuse_parts(runs: JobTable, knobs: Sequence[str], mixed: Sequence[str]) -> None:
    """Refuse rows of parts of runs as repeats of each other, where each setting has all parts."""
    for column in (c for c in mixed if PART.fullmatch(plain(their_name(runs, c)))):
        each = runs.frame.drop_nulls(column).group_by(knobs).agg(pl.col(column).n_unique())
        parts = runs.frame[column].drop_nulls().unique(maintain_order=True).to_list()
        if len(parts) < 2 or (each[column] < len(parts)).any():
            continue
        few = ", ".join(map(str, parts[:FEWEST])) + ", ..." * (len(parts) > FEWEST)
        name = their_name(runs, column)
        raise QuestionError(
            f"{name} parts each run ({few}), and rows of parts are no repeats: name one, "
            f"--where {quote(f'{name}={parts[-1]}')}; of whole runs write a row each, with the "
            "sums of its times and energies"
        )


def unlike_work(runs: JobTable, knobs: Sequence[str]) -> Iterator[str]:
    """What makes settings of ``knobs`` do other work than each other; nothing where they do not.

    >>> from rheostat import table
    >>> lasts = {"threads": [1, 2, 4], "runtime_s": [60.0, 60.1, 60.0], "energy_j": [6e3, 7e3, 9e3]}
    >>> [said.partition(":")[0] for said in unlike_work(table(lasts), ["threads"])]
    ['every setting ran for 60 s']
    """
    if not {"runtime_s", *knobs} <= set(runs.columns):
        return
    known = runs.frame.filter(pl.col("runtime_s") > 0).drop_nulls(knobs)
    took, settings = known["runtime_s"], known.select(knobs).unique().height
    middle = took.median()
    if settings >= FEWEST and isinstance(middle, float):
        spread = float(took.max()) - float(took.min())  # type: ignore[arg-type]
        if spread <= EQUAL * middle:
            yield (
                f"every setting ran for {middle:.3g} s: if that is a fixed time, settings "
                "did not do the same work, and least energy is least work: where a column counts "
                "the work, --column runtime_s=1/THAT with watts compares times of a piece of it"
            )
