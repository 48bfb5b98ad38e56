"""`compare`: methods of forecasting side by side, judged on the newest jobs of a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.report import Grid, Report
from rheostat.decision.backtest import divided
from rheostat.errors import DataError
from rheostat.explanation.narrate import Narrative, explain
from rheostat.prediction import compare as comparing
from rheostat.prediction.baselines import baselines
from rheostat.prediction.compare import Row
from rheostat.questions import inputs, listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.parse import Names, parse_names
from rheostat.recipes.nodecount import REPEAT, model, targets_in

LEAST_SETTINGS = 5


@dataclass(frozen=True, kw_only=True, repr=False)
class CompareAnswer(Answer):
    """Error and coverage of each method, beside what is guessed without a model.

    Parameters
    ----------
    rows : tuple of Row
        One per method and quantity.
    """

    schema: ClassVar[str] = "rheostat.compare/1"
    rows: tuple[Row, ...]

    def report(self) -> Report:
        """The table, and which method to take."""
        return self._explained

    def facts(self) -> dict[str, Any]:
        """The rows without times, so that the same seed gives the same bytes."""
        rows = self._explained.facts["rows"]
        return {"rows": [{k: v for k, v in r.items() if k != "fit_s"} for r in rows]}

    def grids(self) -> tuple[Grid, ...]:
        """A row per method and quantity."""
        grid = self._explained.sections[0].grid
        return () if grid is None else (grid,)

    @cached_property
    def _explained(self) -> Narrative:
        said: Narrative = explain(list(self.rows))
        return said


@question
def compare(
    jobs: inputs.Jobs,
    *,
    methods: Names = "forest,xgboost,lightgbm",
    test_fraction: float = 0.2,
    seed: int = 0,
    format: str = "",
    columns: Path | None = None,
    renamed: Sequence[str] = (),
) -> CompareAnswer:
    """Compare forecasting methods on the newest jobs of a log, or on whole settings of runs.

    All learn from the same past and are judged on the same recent jobs, beside what is guessed
    without a model: mean and median of all runs, the user's last two, the user's most similar ones.

    Parameters
    ----------
    jobs : JobTable or path
        A job log or a table of runs.
    methods : sequence of str
        Of forest, boosting, xgboost, lightgbm, tabnet, attention, law.
    test_fraction : float
        Share of the newest jobs that is not learned from and tested on; of settings, drawn by the
        seed, where a table of runs does not say when they were submitted.
    seed : int
        Of everything that draws.
    format, columns, renamed : str, path and sequence of str
        How a file is read.

    Returns
    -------
    CompareAnswer
        With ``rows``.

    Raises
    ------
    DataError
        No method has this name, or too few jobs are on one side.

    Examples
    --------
    >>> from rheostat.measurement.synthetic.world import World
    >>> answer = compare(World(seed=1).jobs(200), methods="lightgbm")
    >>> {row.method for row in answer.rows} >= {"lightgbm", "mean"}
    True
    """
    table = inputs.opened(jobs, format, columns, columns=renamed)
    past, recent = _parts(table, test_fraction, seed)
    targets = targets_in(table)
    trivial = baselines(targets, users="user" in table.columns)
    judged = {**trivial, **{m: model(m, table, seed=seed) for m in parse_names(methods)}}
    with listener.working(f"{len(judged)} methods learn from {len(past):,} jobs"):
        rows = comparing.compare(judged, past, recent, targets=targets, seed=seed)
    for name, seconds in {r.method: r.fit_s for r in rows}.items():
        listener.line(f"{name}: learnt in {seconds:.1f} s")
    return CompareAnswer(rows=tuple(rows))


def _parts(table: JobTable, share: float, seed: int) -> tuple[JobTable, JobTable]:
    """What is learned from and what is judged on: newest jobs, or settings where nothing is dated.

    All runs of a setting are on one side, so that no method is judged on repeats of what it saw.
    """
    if "submit_s" in table.columns:
        past, recent, _ = divided(table, 1.0 - share)
        return past, recent
    asked = table.known_at(Moment.SUBMIT).frame
    own = [c for c in asked.columns if c != "job_id" and not REPEAT.fullmatch(c.lower())]
    if not own:
        raise DataError("table", ["expected submit_s, or settings of runs to hold out"])
    setting = asked.select(pl.struct(own).rank("dense")).to_series().to_numpy()
    kinds = np.unique(setting)
    count = max(1, round(share * len(kinds)))
    if len(kinds) < LEAST_SETTINGS:
        said = f"expected submit_s, or {LEAST_SETTINGS} settings of runs, got {len(kinds)}"
        raise DataError("table", [said])
    out = np.isin(setting, np.random.default_rng(seed).permutation(kinds)[:count])
    listener.note(
        f"nothing says when runs were submitted: judged on {count} whole settings of {len(kinds)} "
        f"({', '.join(own)}), drawn by --seed {seed} and not learned from"
    )
    return table.rows(~out), table.rows(out)
