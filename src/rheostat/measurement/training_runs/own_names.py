"""Tables of training runs in the names of whoever wrote them, given ours.

`read_runs` has brought units to SI before; here ``model``, ``gpu``, ``step_ms``, ``mem_GB`` or
``dtype`` become ``app``, ``device``, ``runtime_s``, ``memory_peak_b`` and ``precision_bits``.
"""

from __future__ import annotations

import re

import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.measurement.training_columns import COLUMNS

OURS = {c.name: c for c in COLUMNS}
THEIRS = {
    "app": r"(model|net|network|architecture|arch)(_?name)?",
    "device": r"(gpu|accelerator|hardware|chip|device)(_?(type|model|name))?",
    "runtime_s": r"((train|training)_?)?(step|iter|iteration|batch|minibatch)(_?(time|duration))?_s"
                 r"|(s|sec|time|duration)_per_(step|iter|iteration|batch)(_s)?|latency_s",
    "precision_bits": r"precision|dtype|bits|data_?type",
    "memory_peak_b": r"((peak|max)_?)?((gpu|device)_?)?mem(ory)?(_?(peak|used|usage|max))?"
                     r"_?(?P<unit>b|bytes|mb|mib|gb|gib)",
}  # fmt: skip
BYTES = {"b": 1.0, "bytes": 1.0, "mb": 1e6, "mib": 2.0**20, "gb": 1e9, "gib": 2.0**30}
MIXED = r"(?i)^(amp|mixed|half)$"


def in_our_names(jobs: JobTable) -> tuple[JobTable, list[Note]]:
    """A table of training runs under our names where theirs are plain, and a note of which.

    A column that is there already is kept; a number is no name of a device.

    Parameters
    ----------
    jobs : JobTable
        As read.

    Returns
    -------
    JobTable, list of Note
        The table, and what was renamed.

    Examples
    --------
    >>> from rheostat import table
    >>> runs = table({"model": ["vgg16"], "gpu": ["T4"], "step_s": [0.1], "mem_GB": [2.0],
    ...               "dtype": ["bf16"]})
    >>> named, notes = in_our_names(runs)
    >>> named.frame.select("app", "device", "runtime_s", "memory_peak_b", "precision_bits").row(0)
    ('vgg16', 'T4', 0.1, 2000000000.0, 16)
    >>> notes[0].message[:30]
    'taken as: app = model, device '
    """
    taken = {}
    for ours in (o for o in THEIRS if o not in jobs.columns):
        fits = [c for c in jobs.columns if c not in OURS and _fits(jobs, ours, c)]
        if len(fits) == 1:
            taken[ours] = fits[0]
    if not taken:
        return jobs, []
    made = {ours: _values(ours, theirs) for ours, theirs in taken.items()}
    named = jobs.with_columns([OURS[o] for o in taken], **made)
    kept = [c for c in named.columns if c not in taken.values()]
    words = ", ".join(f"{ours} = {theirs}" for ours, theirs in taken.items())
    return named.select(kept), [Note(f"taken as: {words}")]


def _fits(jobs: JobTable, ours: str, theirs: str) -> bool:
    if re.fullmatch(THEIRS[ours], theirs, re.IGNORECASE) is None:
        return False
    text = jobs.frame[theirs].dtype == pl.String
    return text if ours in ("app", "device") else not text or ours == "precision_bits"


def _values(ours: str, theirs: str) -> pl.Expr:
    if ours == "precision_bits":
        text = pl.col(theirs).cast(pl.String).str.replace(MIXED, "16")
        return text.str.extract(r"(\d+)").cast(pl.Int64, strict=False)
    if ours != "memory_peak_b":
        return pl.col(theirs)
    match = re.fullmatch(THEIRS[ours], theirs, re.IGNORECASE)
    assert match is not None
    return pl.col(theirs).cast(pl.Float64, strict=False) * BYTES[match["unit"].lower()]
