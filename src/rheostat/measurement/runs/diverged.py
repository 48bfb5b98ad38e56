"""Training runs and solvers that diverged: what they were to make small is no number at their end.

A table writes ``nan`` for it, or ``diverged``; an empty cell tells nothing.  Such a run took time
and energy and did not do its work.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import polars as pl

from rheostat.core.jobs import Note
from rheostat.core.vocabulary import VOCABULARY
from rheostat.measurement.checks import ROW, note_rows

NO_NUMBER = re.compile(
    r"[-+]?(nan(\(.*\))?|inf(inity)?|1\.?#(qnan|snan|ind|inf)\w*)|(has |was )?diverged?s?"
    r"|div(ergence|\.)|blew up|exploded",
    re.IGNORECASE,
)
"""What programs and people write for a number that has left all bounds."""
RESULT = re.compile(
    r"loss(es)?|perplexity|ppl|nll|residuals?|resid|rmse|mse|mae|grad(ient)?|accuracy|acc"
    r"|top|objective|crossentropy|entropy|likelihood|reward"
)
"""Words of headings below which stands how good a result is."""
OTHER = re.compile(
    r"packets?|power|heat|energy|transmission|line|frames?|time|seconds?|s|ms|watts?|w|data"
)
"""Words of headings of another loss than that of a training, or of how long a result took."""
SAID = (
    "{} is no number: it diverged and did not do its work, counts as unfinished; if it did, "
    "--column censored==false counts all runs"
)
EVERY = "{} is no number in any run, so it tells none apart: all count"


def of_result(heading: str) -> bool:
    """Whether a column says how good a result is, by its heading.

    >>> [of_result(h) for h in ("final_loss", "valLoss", "top1", "packet_loss", "time_to_acc_s")]
    [True, True, True, False, False]
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", heading).lower()
    words = [w for w in re.split(r"[^a-z]+", apart) if w]
    return any(map(RESULT.fullmatch, words)) and not any(map(OTHER.fullmatch, words))


def parted_results(
    cells: Mapping[str, Sequence[str]],
) -> tuple[dict[str, Sequence[str]], dict[str, list[int]]]:
    """Columns with empty cells for results that are no number, and where those are.

    A column of words among which is no number at all holds none.

    >>> cells, apart = parted_results({"loss": ["1.2", "-nan", ""], "app": ["nan", "b", "c"]})
    >>> cells["loss"], apart
    (['1.2', '', ''], {'loss': [1]})
    """
    made, apart = dict(cells), dict[str, list[int]]()
    for name in filter(of_result, cells):
        at = [i for i, c in enumerate(cells[name]) if NO_NUMBER.fullmatch(c.strip())]
        if at:
            made[name] = ["" if i in {*at} else c for i, c in enumerate(cells[name])]
            apart[name] = at
    return made, apart


def with_no_number(values: pl.Series, at: Sequence[int]) -> pl.Series:
    """Numbers with NaN, which is not null, in these places; a column of words stays as it is."""
    if not at or (values.null_count() < len(values) and not values.dtype.is_numeric()):
        return values
    return values.cast(pl.Float64).scatter(at, float("nan"))


def with_diverged(
    table: pl.DataFrame, asked: Collection[str] = ()
) -> tuple[pl.DataFrame, list[Note]]:
    """Flag runs whose result is no number as unfinished; where that is so of all it tells nothing.

    >>> runs = pl.DataFrame({ROW: [0, 1], "final_loss": [1.02, float("nan")]})
    >>> with_diverged(runs)[0]["censored"].to_list()
    [False, True]
    """
    notes, rows = list[Note](), set[int]()
    for name in (c for c in table.columns if c not in {ROW, *VOCABULARY, *asked}):
        if not table[name].dtype.is_float() or not of_result(name):
            continue
        bad = table.filter(~pl.col(name).is_finite())[ROW].to_list()
        every = len(bad) == table.height
        rows |= set() if every else {*bad}
        notes += [note_rows((EVERY if every else SAID).format(name), bad)] if bad else []
    if not rows:
        return table, notes
    before = pl.col("censored") if "censored" in table.columns else pl.lit(value=False)
    return table.with_columns(censored=pl.col(ROW).is_in(list(rows)) | before), notes
