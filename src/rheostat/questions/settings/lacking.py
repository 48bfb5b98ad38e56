"""What a table lacks, in words, and the column that may be it, as one would name it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from shlex import quote
from typing import Any

import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.vocabulary import VOCABULARY
from rheostat.measurement.runs.cell_units import PLAIN_NUMBERS
from rheostat.measurement.runs.derived import BOUND, only_grows
from rheostat.measurement.runs.guess import TIMES_PARTS
from rheostat.measurement.runs.header_units import split_unit
from rheostat.measurement.runs.mapping import YIELD
from rheostat.tradeoff.rules import Weighted

OF_A_PIECE = re.compile(r"per_(epoch|step|it|iter(?:ation)?|sample|im(?:a)?ge?)(?![a-z])")
"""Energies of one of many steps."""
POWERED = re.compile(r"energy|power|joule|watt|_j$|_w$|/ ?k?(j|wh|w)[)\]]?$")
RATE = re.compile(
    r"per_s(ec|econd)?$|/ ?(s(ec|econd)?|min|h(our)?|day)[)\]]?$|flops?$|throughput|mlups|rate$"
    r"|speed(up)?$|fom"
)
TIMED = re.compile(r"time|elapsed|duration|latency|_(s|ms|us|secs?|seconds|mins?|minutes)$|"
                   rf"{RATE.pattern}")  # fmt: skip
TOKENS = re.compile(r"tok(en)?s?([_/ ]|$)|ttft|tpot|itl|_tps")
"""Times and speeds of a token or of the first one are none of a run."""


def without_energy(columns: Iterable[str]) -> str:
    """Objectives that need no energy; node-hours need nodes.

    >>> without_energy(["nodes"]), without_energy(["cap_w"])
    ('runtime_s,node_hours', 'runtime_s')
    """
    return "runtime_s,node_hours" if "nodes" in columns else "runtime_s"


def instead(jobs: JobTable, measured: Sequence[str], *, model: bool) -> list[str]:
    """What can be typed in place of what was asked, where no column is proposed."""
    if measured and "runtime_s" not in measured:
        given = perhaps(jobs, measured)
        return [] if given else ["where a column is one: --column runtime_s=THEIRS, a rate: "
                                 "runtime_s=1/THEIRS"]  # fmt: skip
    return [f"try --objectives {without_energy(jobs.columns)}" + ", or give --model" * model]


def missing(measured: Sequence[str]) -> str:
    """What no row has, given what some have.

    >>> missing(["power_w"]), missing(["runtime_s"])
    ('no row of this log has a run time', 'no row of this log has power or energy')
    """
    if measured and "runtime_s" not in measured:
        return "no row of this log has a run time"
    return "no row of this log has power or energy"


def perhaps(jobs: JobTable, measured: Sequence[str]) -> list[str]:
    """Columns whose names speak of what is missing, as they would be named."""
    ours, pattern = ("runtime_s", TIMED) if measured else ("energy_j", POWERED)
    ours, pattern = ("energy_j", POWERED) if "runtime_s" in measured else (ours, pattern)
    own = [c for c in jobs.columns if c not in VOCABULARY and jobs.frame[c].count()
           and "%" not in their_name(jobs, c)]  # fmt: skip
    shared = [c for c in own if TIMES_PARTS.fullmatch(_hours(jobs, c))]
    if ours == "runtime_s" and shared:
        return [
            f"{their_name(jobs, shared[0])} is the time of all parts of a run together: write how "
            "many there were in a column cores, gpus or nodes, which it is divided by"
        ]
    own = [c for c in own if not (ours == "energy_j" and BOUND.search(their_name(jobs, c)))]
    spoken = [c for c in own if pattern.search(c.lower())]
    powered = [c for c in spoken if not TOKENS.search(c.lower())]
    powered = powered or [c for c in spoken if RATE.search(c.lower())]
    names = [their_name(jobs, c) for c in powered]
    if not names:
        return []
    whole = ours == "energy_j" and not RATE.search(their_name(jobs, "runtime_s"))
    if whole and (piece := OF_A_PIECE.search(names[0])):
        return [
            f"{names[0]} is of one {piece[1]}, and runtime_s ({their_name(jobs, 'runtime_s')}) is "
            f"not: write how many each run did in a column {piece[1]}s, or name the time of one: "
            f"--column runtime_s=THEIRS --column {quote(f'energy_j={names[0]}')}"
        ]
    rate = ours == "runtime_s" and RATE.search(names[0].lower())
    watts = split_unit(names[0])[1] == "_w" or re.search("^(?!.*energy).*power", names[0].lower())
    ours = "power_w" if ours == "energy_j" and watts and not YIELD.search(names[0]) else ours
    if len(names) == 1 and (grown := [n for n in names if only_grows(jobs.frame[powered[0]])]):
        return [
            f"{grown[0]} only grows from row to row, as the readings of a meter do: write what "
            "each run took, its reading after it less the one before it, as energy_j"
        ]
    if jobs.frame[powered[0]].dtype == pl.String and len(names) == 1:
        cell = jobs.frame[powered[0]].drop_nulls()[0]
        return [f"{names[0]} holds text, {cell!r}: {PLAIN_NUMBERS}"]
    alike = [n for n in names if split_unit(n)[1] == split_unit(names[0])[1]]
    parts = ours != "runtime_s" and len(alike) > 1  # of processors and memory, say
    spent = ours == "energy_j" and YIELD.search(names[0])
    inverse = "1/" if rate or spent else ""
    said = f"--column {quote(f'{ours}={inverse}{names[0]}')}"
    added = quote(f"{ours}={'+'.join(alike)}")
    both = f" (or --column {added}: their sum)" * parts
    return [f"is it {' or '.join(names)}? name it: {said}{both}"]


def _hours(jobs: JobTable, name: str) -> str:
    """A heading without marks, as ``core hours`` of ``Core-Hours [h]``."""
    return re.sub(r"\s*[\[(].*", "", their_name(jobs, name)).strip()


def their_name(jobs: JobTable, name: str) -> str:
    """A column's name in the file."""
    meaning = jobs.schema[name].meaning
    return meaning.removeprefix("from ") if meaning.startswith("from ") else name


def columns_over(jobs: JobTable, over: str) -> str:
    """What to type for times and energies of one of ``over``, a heading.

    >>> from rheostat.core.vocabulary import table
    >>> columns_over(table({"nodes": [1], "runtime_s": [9.0], "cells": [8]}), "cells")
    '--column runtime_s=runtime_s/cells'
    """
    names = (q for q in ("runtime_s", "energy_j") if q in jobs.columns)
    return " ".join(f"--column {quote(f'{q}={their_name(jobs, q)}/{over}')}" for q in names)


def our_names(jobs: JobTable, names: Iterable[str]) -> tuple[str, ...]:
    """Quantities by our names, which may be asked by those of the file.

    >>> from rheostat.core.jobs import Column, Moment
    >>> from rheostat.core.vocabulary import table
    >>> peak = Column("peak_b", "B", Moment.END, "from peak_gb")
    >>> runs = table({"peak_b": [9.0]}, [peak])
    >>> our_names(runs, ["runtime_s", "peak_gb"])
    ('runtime_s', 'peak_b')
    """
    ours = {their_name(jobs, c): c for c in jobs.columns}
    return tuple(n if n in jobs.columns else ours.get(n, n) for n in names)


def our_rule(jobs: JobTable, rule: Any) -> Any:
    """A rule that weighs quantities by our names."""
    if not isinstance(rule, Weighted):
        return rule
    names = our_names(jobs, rule.weights)
    return replace(rule, weights=dict(zip(names, rule.weights.values(), strict=True)))
