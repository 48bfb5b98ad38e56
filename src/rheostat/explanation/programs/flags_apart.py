"""What flags of a compiler do and what a rewriting does, never as one figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rheostat.core.report import Grid, Section
from rheostat.tradeoff.variants.compilers import COMPILERS

Row = Mapping[str, Any]
FLAGS, TEXT, BOTH = "flags", "text", "text and flags"
"""What a variant changes of the original."""
WORDS = {FLAGS: "flags alone", TEXT: "rewriting alone", BOTH: "rewriting and flags"}
QUANTITY = {"runtime_s": "time", "energy_j": "energy"}
HEADS = ("what", "variant", "by", "verdict", "time", "energy", "kind")


def ratio(row: Row, objective: str) -> float:
    """A figure of a variant over the original's: of runs in turns, where there are such.

    Parameters
    ----------
    row : mapping
        A row of a code search.
    objective : str
        As runtime_s.

    Returns
    -------
    float
        NaN where either was not measured.
    """
    figures = row["figures"]
    paired = figures.get(f"{objective.rpartition('_')[0]}_ratio", math.nan)
    if math.isfinite(paired):
        return float(paired)
    before = figures[f"original_{objective}"]
    return float(figures[objective] / before) if before else math.nan


def flags_only(rows: Sequence[Row], row: Row) -> Row | None:
    """The original with the flags of a variant, if it was run.

    Parameters
    ----------
    rows : sequence of mapping
        Of a code search.
    row : mapping
        One of them.

    Returns
    -------
    mapping or None
        Its verdict may be any.
    """
    same = (r for r in rows if r["changed"] == FLAGS and r["flags"] == row["flags"])
    return next(same, None)


def saved_by(rows: Sequence[Row], row: Row, objective: str) -> dict[str, float]:
    """What a variant saves of the original's time or energy: by flags alone, and by rewriting.

    Parameters
    ----------
    rows : sequence of mapping
        Of a code search.
    row : mapping
        The variant.
    objective : str
        runtime_s or energy_j.

    Returns
    -------
    dict
        Shares ``flags`` and ``rewriting``, which add up to all; NaN where flags alone have no
        figure.

    Examples
    --------
    >>> flags = {"changed": "flags", "flags": "-O3", "figures": {"energy_ratio": 0.5}}
    >>> best = {"changed": "text and flags", "flags": "-O3", "figures": {"energy_ratio": 0.25}}
    >>> saved_by([flags, best], best, "energy_j")
    {'flags': 0.5, 'rewriting': 0.25}
    """
    whole = 1.0 - ratio(row, objective)
    if row["changed"] != BOTH:
        by_flags = whole if row["changed"] == FLAGS else 0.0
    else:
        alone = flags_only(rows, row)
        by_flags = math.nan if alone is None else 1.0 - ratio(alone, objective)
    return {"flags": by_flags, "rewriting": whole - by_flags}


def apart_facts(rows: Sequence[Row], best: Row | None, objective: str) -> dict[str, Any]:
    """The best of each kind of change, and what the variant taken owes to each.

    Parameters
    ----------
    rows : sequence of mapping
        Of a code search.
    best : mapping or None
        The row that is taken.
    objective : str
        What it has least of.

    Returns
    -------
    dict
        For a JSON document: identities by kind (``best_of``) and by compiler (``compilers``), and
        the shares ``saved_by`` flags and rewriting where one is taken.
    """
    kinds = {k: r["variant"] for k, r in _best_of(rows, objective)}
    others = {r["proposer"]: r["variant"] for r in rows if r["proposer"] in COMPILERS}
    parts = None if best is None else saved_by(rows, best, objective)
    return {"best_of": kinds, "compilers": others, "saved_by": parts}


def _best_of(rows: Sequence[Row], objective: str) -> list[tuple[str, Row]]:
    """By kind of change the accepted row with the least, else the first; compilers' are apart."""
    kept = []
    for kind in (FLAGS, TEXT, BOTH):
        some = [r for r in rows if r["changed"] == kind and r["proposer"] not in COMPILERS]
        good = [r for r in some if r["verdict"] == "accepted"]
        if some:
            kept.append((kind, min(good or some[:1], key=lambda r: _least(r, objective))))
    return kept


def _least(row: Row, objective: str) -> float:
    value = ratio(row, objective)
    return math.inf if math.isnan(value) else value


def apart_section(rows: Sequence[Row], best: Row | None, objective: str) -> Section:
    """Flags, rewritings and compilers that share loops, side by side.

    Parameters
    ----------
    rows : sequence of mapping
        Of a code search.
    best : mapping or None
        The row that is taken.
    objective : str
        runtime_s or energy_j.

    Returns
    -------
    Section
        With a line for the best of each kind of change, and for each compiler.
    """
    lines = [(WORDS[k], r) for k, r in _best_of(rows, objective)]
    lines += [(f"loops shared by {r['proposer']}", r) for r in rows if r["proposer"] in COMPILERS]
    grid = Grid(HEADS, tuple(
        (what, r["variant"], r["proposer"], said_of(r), ratio(r, "runtime_s"),
         ratio(r, "energy_j"), kind_of_energy(r)) for what, r in lines
    ))  # fmt: skip
    return Section("flags and rewriting", (_words(rows, best, objective),) if best else (), grid)


def kind_of_energy(row: Row) -> str:
    """What a variant's energy is: measured, or modelled from what.

    >>> kind_of_energy({"figures": {"energy_kind": "modelled", "energy_basis": "time"}})
    'modelled from time'
    """
    kind, basis = (row["figures"].get(f"energy_{x}", "") for x in ("kind", "basis"))
    return f"{kind} from {basis}" if basis else str(kind)


def said_of(row: Row) -> str:
    """A variant's verdict in two or three words."""
    return f"rejected by {row['rejected_by']}" if row["rejected_by"] else str(row["verdict"])


def _words(rows: Sequence[Row], best: Row, objective: str) -> str:
    """What is saved by each, in a sentence."""
    saved = saved_by(rows, best, objective)
    parts = {k: "an unknown share" if math.isnan(v) else f"{100 * v:.3g} %"
             for k, v in saved.items()}  # fmt: skip
    return (f"Of the original's {QUANTITY[objective]} {best['variant']} saves {parts['flags']} by "
            f"flags alone and {parts['rewriting']} by rewriting.")  # fmt: skip
