"""Trainings that took unlike many epochs or steps to one target: what compares the times to it.

The larger a batch, the faster are its samples and the more epochs it needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from shlex import quote

import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.vocabulary import VOCABULARY
from rheostat.measurement.serving.energy_names import plain
from rheostat.questions.settings.lacking import their_name

TO_TARGET = re.compile(
    r"(^|_)(epochs?|steps?|iter(ation)?s?|its)_(to|until|till|needed|required)(_|$)"
)
"""Headings of how often the data, or a batch of it, was gone through until the target was met."""
EPOCH = re.compile(r"(^|_)epochs?(_|$)")
COMPARED = ("runtime_s", "energy_j")


def counts_to_target(runs: JobTable, knobs: Sequence[str]) -> list[str]:
    """Columns that count epochs or steps to a target, which differ between settings.

    >>> from rheostat import table
    >>> counts_to_target(table({"batch": [8, 16], "epochs_to_75.9%": [71, 80]}), ["batch"])
    ['epochs_to_75.9%']
    """
    others = [c for c in runs.columns if c not in {*knobs, *VOCABULARY}]
    numbers = [c for c in others if runs.frame[c].dtype.is_numeric()]
    named = [c for c in numbers if TO_TARGET.search(plain(their_name(runs, c)))]
    return [c for c in named if runs.frame[c].n_unique() > 1 and not times_it(runs, c)]


def times_it(runs: JobTable, column: str) -> bool:
    """Whether the run time is already that of another column times this one."""
    took = their_name(runs, "runtime_s") if "runtime_s" in runs.columns else ""
    return f"*{their_name(runs, column)}" in took


def asked_to_target(runs: JobTable, column: str, size: str = "") -> str:
    """What to type for times to the target; "" where run times are of neither steps nor epochs.

    ``size`` is the heading of how many samples a step has, where times are of a step or a sample.

    >>> from rheostat.core.jobs import Column, Moment
    >>> from rheostat import table
    >>> took = Column("runtime_s", "s", Moment.END, "from step_ms")
    >>> runs = table({"batch": [8], "runtime_s": [1.0], "epochs_to_target": [71]}, [took])
    >>> asked_to_target(runs, "epochs_to_target", "batch")
    "--column 'runtime_s=step_ms*epochs_to_target/batch'"
    """
    made = [(q, _to_target(their_name(runs, q), their_name(runs, column), size))
            for q in COMPARED if q in runs.columns]  # fmt: skip
    return " ".join(f"--column {quote(f'{q}={of}')}" for q, of in made if of)


def _to_target(each: str, count: str, size: str) -> str:
    """The product of what a step, a sample or an epoch took and how many there were."""
    whole = each.removesuffix(f"/{size}") if size else each
    epochs = EPOCH.search(plain(count)) is not None
    if size:
        return f"{whole}*{count}/{size}" if epochs else f"{whole}*{count}"
    return f"{each}*{count}" if epochs and EPOCH.search(plain(each)) else ""


def tell_targets(runs: JobTable, knobs: Sequence[str]) -> Iterator[str]:
    """That settings needed unlike many epochs, where times are of an epoch or a sample."""
    took = their_name(runs, "runtime_s") if "runtime_s" in runs.columns else ""
    size = next((n for n in (their_name(runs, k) for k in knobs) if took.endswith(f"/{n}")), "")
    for column in counts_to_target(runs, knobs) if took else ():
        if typed := asked_to_target(runs, column, size):
            low, high = runs.frame.select(a=pl.col(column).min(), b=pl.col(column).max()).row(0)
            yield (
                f"{their_name(runs, column)} differs between the settings ({low:g} to {high:g}), "
                f"and runtime_s ({took}) does not count it: {typed} compares times to that target"
            )
