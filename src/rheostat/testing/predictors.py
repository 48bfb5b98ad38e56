"""`check_predictor`: what every predictor owes its callers, checked on yours.

Call it with a function that makes your predictor from a seed, and a table to learn from.  Each
promise is a function of its own, so that a failure names the promise that was broken.  The two that
matter most: columns known later than the question change nothing, and an interval said to hold 90 %
does so where the truth is known.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Outcome, Predictor
from rheostat.core.vocabulary import table

Make = Callable[[int], Predictor]

LEARNT_FROM = frozenset({"censored", "weight"})
"""Columns known at the end that say which rows to learn from: poisoning them changes the lesson."""


def check_predictor(
    make: Make,
    jobs: JobTable,
    *,
    asked_at: Moment = Moment.SUBMIT,
    truth: Callable[[int, int], JobTable] | None = None,
) -> None:
    """Raise `AssertionError` naming the promise that ``make``'s predictors break.

    Parameters
    ----------
    make : callable(seed) -> Predictor
        Makes an unfitted predictor.
    jobs : JobTable
        Finished jobs with the targets; a hundred rows or more.
    asked_at : Moment
        What the predictor may look at.
    truth : callable(n, seed) -> JobTable
        A generator of jobs with independent noise, for the coverage; `noisy_site` if not given.
    """
    model = returns_itself(make, jobs)
    repeats_itself(model, make, jobs)
    forgets_row_order(model, jobs)
    forgets_batch_size(model, jobs)
    bears_unseen_names(model, jobs)
    stays_physical(model, jobs)
    ignores_the_future_in_questions(model, jobs, asked_at)
    ignores_the_future_in_lessons(model, make, jobs, asked_at)
    covers_the_truth(make, truth or noisy_site)


def returns_itself(make: Make, jobs: JobTable) -> Predictor:
    """``fit`` returns the predictor, ``predict`` an outcome with a column per row."""
    model = make(0)
    assert model.fit(jobs) is model, "fit does not return self"
    asked = jobs.rows(np.arange(min(5, len(jobs))))
    outcome = model.predict(asked)
    assert isinstance(outcome, Outcome), f"predict returned {type(outcome).__name__}"
    assert len(outcome) == len(asked), f"{len(outcome)} predictions for {len(asked)} rows"
    return model


def repeats_itself(model: Predictor, make: Make, jobs: JobTable) -> None:
    """The same seed gives the same bytes; ``model`` was made with seed 0 and fitted on ``jobs``."""
    again = make(0).fit(jobs).predict(jobs)
    _same(model.predict(jobs), again, "two fits with the same seed")


def forgets_row_order(model: Predictor, jobs: JobTable) -> None:
    """A row's prediction does not depend on where in the table it stands."""
    order = np.random.default_rng(0).permutation(len(jobs))
    _same(model.predict(jobs).rows(order), model.predict(jobs.rows(order)), "rows shuffled")


def forgets_batch_size(model: Predictor, jobs: JobTable) -> None:
    """A row asked alone gets what it gets in company."""
    together = model.predict(jobs)
    for i in range(0, len(jobs), max(1, len(jobs) // 10)):
        row = np.array([i])
        _same(together.rows(row), model.predict(jobs.rows(row)), f"row {i} alone and in company")


def bears_unseen_names(model: Predictor, jobs: JobTable) -> None:
    """Names that never occurred are answered or abstained on, without an error."""
    texts = [c for c in jobs.columns if jobs.frame[c].dtype == pl.String]
    strange = jobs.frame.with_columns(pl.lit("never seen before").alias(c) for c in texts)
    outcome = model.predict(JobTable(strange, jobs.schema))
    assert len(outcome) == len(jobs), "rows were lost where a name was never seen"


def stays_physical(model: Predictor, jobs: JobTable) -> None:
    """Runtimes, powers and energies are positive and finite, or the row is abstained on."""
    outcome = model.predict(jobs)
    for name in outcome.names:
        draws = outcome[name][:, ~outcome.abstained]
        bad = ~((draws > 0) & np.isfinite(draws))
        assert not bad.any(), f"{name}: {int(bad.sum())} draws are not positive and finite"


def ignores_the_future_in_questions(model: Predictor, jobs: JobTable, asked_at: Moment) -> None:
    """Later-known columns of the asked table can be poisoned or left out: nothing changes."""
    plain = model.predict(jobs)
    _same(plain, model.predict(poisoned(jobs, asked_at)), "later-known columns poisoned")
    _same(plain, model.predict(jobs.known_at(asked_at)), "later-known columns left out")


def ignores_the_future_in_lessons(
    model: Predictor, make: Make, jobs: JobTable, asked_at: Moment
) -> None:
    """Later-known columns of past jobs, other than the targets, can be poisoned as well."""
    plain = model.predict(jobs.known_at(asked_at))
    keep = LEARNT_FROM | set(plain.names)
    again = make(0).fit(poisoned(jobs, asked_at, keep=keep)).predict(jobs.known_at(asked_at))
    _same(plain, again, "later-known columns of the past poisoned")


def covers_the_truth(make: Make, truth: Callable[[int, int], JobTable]) -> None:
    """90 % intervals hold 80 to 97 % of new jobs, for each target, where noise is independent."""
    model = make(0).fit(truth(600, 0))
    new = truth(600, 1)
    outcome = model.predict(new.known_at(Moment.SUBMIT))
    answered = ~outcome.abstained
    assert answered.mean() > 0.5, f"abstains on {100 * (1 - answered.mean()):.0f} % of plain jobs"
    for name in outcome.names:
        low, high = outcome.interval(name, 0.9)
        y = new.numpy(name)
        share = float(np.mean(((y >= low) & (y <= high))[answered]))
        assert 0.80 <= share <= 0.97, f"{name}: 90 % intervals hold {100 * share:.1f} %"


def poisoned(
    jobs: JobTable, asked_at: Moment, keep: frozenset[str] | set[str] = frozenset()
) -> JobTable:
    """The table with every column known after ``asked_at``, but those in ``keep``, made absurd."""
    frame = jobs.frame
    for column in jobs.schema.values():
        if column.known <= asked_at or column.name in keep:
            continue
        dtype = frame[column.name].dtype
        if dtype.is_numeric():
            absurd = (pl.col(column.name).reverse().fill_null(1) + 1e9).cast(dtype, strict=False)
        elif dtype == pl.Boolean:
            absurd = ~pl.col(column.name).fill_null(value=True)
        else:
            absurd = pl.lit("poison" if dtype == pl.String else None, dtype=dtype)
        frame = frame.with_columns(absurd.alias(column.name))
    return JobTable(frame, jobs.schema)


def noisy_site(n: int, seed: int) -> JobTable:
    """Jobs of three applications with perfect scaling and independent log-normal noise.

    >>> noisy_site(4, 0).columns
    ('user', 'app', 'nodes', 'submit_s', 'runtime_s', 'power_w', 'state')
    """
    rng = np.random.default_rng([seed, 77])
    app = rng.integers(0, 3, n)
    nodes = 2.0 ** rng.integers(0, 5, n)
    shared = rng.normal(0, 0.1, n)
    return table(
        {
            "user": pl.Series([f"u{i}" for i in rng.integers(0, 6, n)], dtype=pl.String),
            "app": pl.Series([("cfd", "md", "ml")[a] for a in app], dtype=pl.String),
            "nodes": nodes.astype(np.int64),
            "submit_s": 1e9 + np.sort(rng.uniform(0, 1e6, n)),
            "runtime_s": np.array([8e3, 2e3, 3e4])[app] / nodes * np.exp(shared),
            "power_w": (300.0 + 100 * app) * nodes * np.exp(rng.normal(0, 0.1, n) - 0.5 * shared),
            "state": pl.Series(["COMPLETED"] * n, dtype=pl.String),
        }
    )


def _same(a: Outcome, b: Outcome, what: str) -> None:
    assert a.names == b.names, f"{what}: quantities differ, {a.names} and {b.names}"
    for name in a.names:
        equal = np.array_equal(a[name], b[name], equal_nan=True)
        assert equal, f"{what}: {name} differs, by up to {_gap(a[name], b[name]):.3g}"
    if a.support is not None and b.support is not None:
        assert np.array_equal(a.support, b.support), f"{what}: support differs"


def _gap(a: np.ndarray, b: np.ndarray) -> float:
    if a.shape != b.shape:
        return float("inf")
    both = np.isfinite(a) & np.isfinite(b)
    return float(np.max(np.abs(a - b)[both])) if both.any() else float("inf")
