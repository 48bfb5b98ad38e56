"""Of which lengths the requests are that a plan is for: as stated, or as most runs have them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Moment, Note
from rheostat.core.outcome import Array
from rheostat.prediction.serving_law.measured_rows import QUANTITIES

LENGTHS = ("prompt_tokens", "output_tokens")
ALIKE = 1.25
"""Factor within which requests of two runs are taken to be as long."""


def at_lengths(
    own: JobTable, prompt_tokens: float = 0.0, output_tokens: float = 0.0
) -> tuple[JobTable, tuple[Note, ...]]:
    """Runs of one service under requests of these lengths, and what there is to say of it.

    Parameters
    ----------
    own
        Runs of one service, one or more.
    prompt_tokens, output_tokens
        As asked; 0 takes the lengths that most runs have.

    Returns
    -------
    The runs whose lengths are within a factor of `ALIKE`, with the lengths asked; where there are
    none, one row without a measurement.  Runs that state no lengths come back as they are.
    """
    asked = np.array([prompt_tokens, output_tokens])
    known = np.column_stack([_stated(own, c) for c in LENGTHS])
    if not np.isfinite(known).all(axis=1).any():
        said = "RUNS do not state prompt_tokens and output_tokens: predicted are requests as theirs"
        return own, (*_taken_together(known), *([Note(said)] if asked.any() else []))
    pairs = Counter(tuple(row) for row in known.tolist() if np.isfinite(row).all())
    usual = np.array(pairs.most_common(1)[0][0])
    wanted = np.where(asked > 0, asked, usual)
    away = np.nan_to_num(np.abs(np.log(known / wanted)).max(axis=1), nan=np.inf)
    near = np.flatnonzero(away <= np.log(ALIKE))
    notes = []
    if len(near) < len(own) and not asked.all():
        said = f"planned for prompts of {wanted[0]:g} and answers of {wanted[1]:g} tokens"
        said += " (--prompt-tokens, --output-tokens)"
        notes.append(Note(f"requests differ in length in RUNS: {said}"))
    made = own.rows(near) if len(near) else _unmeasured(own.rows([0]))
    values = {c: pl.lit(float(v)) for c, v in zip(LENGTHS, wanted, strict=True)}
    return JobTable(made.frame.with_columns(**values), made.schema, made.notes), tuple(notes)


def _taken_together(known: Array) -> list[Note]:
    """A note where requests differ in one length, and the other is not stated.

    >>> [n.message for n in _taken_together(np.array([[8.0, np.nan], [9.0, np.nan]]))]
    ['runs that differ in prompt_tokens are taken together: --column output_tokens==VALUE, too']
    """
    said = "runs that differ in {} are taken together: --column {}==VALUE, too"
    return [Note(said.format(own, other)) for own, other, values in
            zip(LENGTHS, LENGTHS[::-1], known.T, strict=True)
            if len(np.unique(values[np.isfinite(values)])) > 1]  # fmt: skip


def _unmeasured(row: JobTable) -> JobTable:
    blank = {c: pl.lit(None, pl.Float64) for c in (*QUANTITIES, "tokens_per_s") if c in row.columns}
    return JobTable(row.frame.with_columns(**blank), row.schema, row.notes)


def _stated(own: JobTable, column: str) -> Array:
    if column not in own.columns or own.schema[column].known > Moment.SUBMIT:
        return np.full(len(own), np.nan)
    values = own.frame[column].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    return np.where(values > 0, values, np.nan)
