"""Levels of a column, by which runs of one setting differ: by one factor, or here more, there less.

Notation
--------
d  difference of two levels' mean logarithms in a setting that both ran in    k  such settings
levels differ clearly where |mean d| > log `CLEAR` and > `SURE` deviations of d / sqrt(k), or where
the root mean square of d > log `CROSSED` and k > `FEW`: what one setting gains another loses;
where k is less than `FEW` and d has no deviation to speak of, where |mean d| > log `FAR`
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

CLEAR, CROSSED, FAR, SURE, FEW = 1.05, 1.1, 1.5, 3.0, 3


@dataclass(frozen=True, order=True)
class LevelsApart:
    """Two levels of a column and how far runs of one setting lie apart by them.

    Parameters
    ----------
    farthest : float
        The largest factor of a setting, above 1.
    quantity : str
        Of which quantity.
    low, high : str
        Levels: the second is higher in the mean.
    least, most : float
        Factors of the second to the first, over the settings.
    mean : float
        Their geometric mean.
    settings : int
        Settings in which both ran.
    uniform : bool
        Whether one factor says it all.
    """

    farthest: float
    quantity: str
    low: str
    high: str
    least: float
    most: float
    mean: float
    settings: int
    uniform: bool

    def words(self, column: str) -> str:
        """How far, in how many settings."""
        same = f"the same {self.settings} settings" if self.settings > 1 else "the same setting"
        by = f"{self.mean:.3g}" if self.uniform else f"{self.least:.3g} to {self.most:.3g}"
        return (f"{self.quantity} with {column}={self.high} is {by} times that with "
                f"{column}={self.low} in {same}")  # fmt: skip


def levels_apart(
    frame: pl.DataFrame, keys: Sequence[str], column: str, quantities: Sequence[str]
) -> LevelsApart | None:
    """The two levels that lie farthest apart of those that do so clearly; None where none do.

    Parameters
    ----------
    frame : polars.DataFrame
        A row per run.
    keys : sequence of str
        Columns that make a setting.
    column : str
        Whose levels.
    quantities : sequence of str
        What is compared, each above 0.

    Examples
    --------
    >>> runs = pl.DataFrame({"n": [1, 1, 2, 2, 4, 4, 8, 8], "kind": ["a", "b"] * 4,
    ...                      "t_s": [9.0, 9.0, 5.0, 8.0, 3.0, 9.0, 2.0, 9.0]})
    >>> levels_apart(runs, ["n"], "kind", ["t_s"]).words("kind")
    't_s with kind=b is 1 to 4.5 times that with kind=a in the same 4 settings'
    """
    pairs = [p for q in quantities for p in _pairs(frame, keys, column, q)]
    return max(pairs) if pairs else None


def _pairs(
    frame: pl.DataFrame, keys: Sequence[str], column: str, quantity: str
) -> list[LevelsApart]:
    value = pl.col(quantity).cast(pl.Float64, strict=False)
    known = frame.filter(value.is_finite() & (value > 0) & pl.col(column).is_not_null())
    cells = known.group_by([*keys, column], maintain_order=True).agg(log=value.log().mean())
    levels = cells[column].unique(maintain_order=True).to_list()
    pairs = []
    for a, b in itertools.combinations(levels, 2):
        both = cells.filter(pl.col(column) == a).join(
            cells.filter(pl.col(column) == b), on=list(keys), nulls_equal=True, suffix="_b"
        )
        apart = (both["log_b"] - both["log"]).to_numpy()
        uniform = _uniform(apart)
        if not uniform and not _crossed(apart):
            continue
        low, high, apart = (a, b, apart) if apart.mean() > 0 else (b, a, -apart)
        farthest = float(apart.mean() if uniform else np.abs(apart).max())
        least, most, mean = (float(np.exp(x)) for x in (apart.min(), apart.max(), apart.mean()))
        pairs.append(LevelsApart(math.exp(farthest), quantity, str(low), str(high), least, most,
                                 mean, len(apart), uniform))  # fmt: skip
    return pairs


def _uniform(apart: np.ndarray) -> bool:
    """Whether differences of logarithms, one a setting, are of one direction for sure."""
    if len(apart) < FEW:
        return bool(len(apart)) and bool(np.abs(apart.mean()) > math.log(FAR))
    error = apart.std(ddof=1) / math.sqrt(len(apart))
    return bool(abs(apart.mean()) > max(math.log(CLEAR), SURE * error))


def _crossed(apart: np.ndarray) -> bool:
    """Whether differences are large, though not alike in all settings."""
    return len(apart) > FEW and bool(np.sqrt((apart**2).mean()) > math.log(CROSSED))
