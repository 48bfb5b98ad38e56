"""Runs of several applications or problem sizes: each has its own best setting, and is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from shlex import quote
from typing import Any

import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.errors import DataError, Infeasible
from rheostat.measurement.serving.energy_names import plain
from rheostat.questions import inputs
from rheostat.questions.listener import Silent, listening
from rheostat.questions.settings.lacking import their_name
from rheostat.questions.settings.unlike_work import of_a_step
from rheostat.recipes.nodecount import PROBLEM, differing

MOST = 6
"""Applications or sizes that are each answered."""
ALIKE = 1.05
"""Means of one setting that differ by less may be of one problem."""
QUANTITIES = ("runtime_s", "power_w", "energy_j")


def parting(jobs: JobTable, where: Sequence[str], knobs: Sequence[str]) -> str:
    """The column by which measured runs are of several problems, or "".

    >>> from rheostat import table
    >>> runs = {"cells": [1, 1, 2, 2], "nodes": [1, 2, 1, 2], "runtime_s": [9.0, 5.0, 18.0, 9.9]}
    >>> parting(table(runs), [], ["nodes"])
    'cells'
    """
    if "submit_s" in jobs.columns or not set(knobs) <= set(jobs.columns):
        return ""
    fixed = {inputs.condition(jobs, text)[0] for text in where}
    own = inputs.only(jobs, where)
    who = next((c for c in ("app", "user") if c in own.columns), "")
    if who and who not in {*fixed, *knobs} and own.frame[who].n_unique() > 1:
        return who
    there = [q for q in QUANTITIES if q in own.columns]
    stepped = [c for c in own.columns if "runtime_s" in own.columns and of_a_step(own, c)]
    sizes = [c for c in differing(own, knobs)
             if c not in fixed and (PROBLEM.search(plain(c)) or c in stepped)]  # fmt: skip
    for name in (c for c in sizes if own.frame[c].n_unique() <= MOST):
        if _unlike(own.frame, knobs, name, there):
            return name
    return ""


def _unlike(frame: pl.DataFrame, knobs: Sequence[str], name: str, there: Sequence[str]) -> bool:
    """Whether runs of one setting differ by a column's value, more than runs do."""
    means = [pl.col(q).cast(pl.Float64, strict=False).mean().alias(q) for q in there]
    each = frame.drop_nulls(name).group_by(*knobs, name).agg(means).group_by(*knobs)
    apart = each.agg(pl.col(q).max() / pl.col(q).min() for q in there).select(there)
    return any((apart[q] > ALIKE).any() for q in there)


def each_apart(jobs: JobTable, where: Sequence[str], by: str, ask: Callable[..., Any]) -> list[str]:
    """What each problem's answer is, and what to type for it alone."""
    levels = inputs.only(jobs, where).frame[by].drop_nulls().unique(maintain_order=True).to_list()
    heading = their_name(jobs, by)
    said = [f"runs of {len(levels)} values of {heading} do not compare: name one"]
    for level in levels[:MOST]:
        value = f"{level:.15g}" if isinstance(level, float) else str(level)
        chosen = f"--where {quote(f'{heading}={value}')}"
        said.append(f"{chosen}: {_answer([*where, f'{by}={value}'], ask)}")
    return [*said, *[f"and {len(levels) - MOST} more"] * (len(levels) > MOST)]


def _answer(where: Sequence[str], ask: Callable[..., Any]) -> str:
    """The first sentence of an answer, or why there is none."""
    try:
        with listening(Silent()):
            return str(ask(where=where).beside()[0]).rstrip(".")
    except Infeasible:
        return "no setting holds the limits"
    except DataError as error:
        return str(error).partition(":")[2].strip() or str(error)
