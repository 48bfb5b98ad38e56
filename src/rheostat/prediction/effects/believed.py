"""Which records of a log are believed, and how far they may mislead; the tests are in `doubts`.

Notation
--------
n  rows in order of time      A  applications      u : rows that ran as they asked
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rheostat.core.outcome import Array
from rheostat.prediction.effects import doubts
from rheostat.prediction.effects.doubts import FEWEST_TURNED, Ints, Slope
from rheostat.prediction.effects.effect_coding import Rows
from rheostat.prediction.effects.eras import by_era, date_of_change, date_of_step
from rheostat.prediction.effects.levels import centred

FEWEST_AGAIN = 8
"""Runs beyond the first at equal settings with which a user's problems are judged by themselves."""
FOLLOWED, PARTLY = 1.5, 0.6
"""c of `doubts`: a record that does not tell the problem leaves all of it to the users' choice
(correlation .83); what a recorded size misses they follow in part (.5)."""
TOO_FAR = 0.3
"""Error of an exponent that a problem's runs leave open, beyond which they are not believed."""


@dataclass(frozen=True)
class Believed:
    """What of the log's records is used.

    ``rows`` has problems of their own where the record of problems is not believed.
    ``by_problem`` and ``by_size`` bound the error of an exponent that each record leaves open (NaN:
    no such record), ``placebo`` (A,) is the exponent of the run before where it is not nothing.
    ``words`` say what was not believed; what a problem takes is told by the rows
    from ``since`` on.
    """

    rows: Rows
    by_problem: float
    by_size: float
    placebo: Array
    words: tuple[str, ...]
    since: int = 0


def moved_by_chance(rows: Rows, names: tuple[str, ...]) -> tuple[str, ...]:
    """Columns among sizes and guesses, called ``names``, that the drawn setting changes."""
    if rows.turned.sum() < FEWEST_TURNED:
        return ()
    ran, asked = rows.log_run[:, 0], rows.log_asked[:, 0]
    columns = np.concatenate([rows.size, rows.guess], axis=1).T
    moves = (doubts.moves_with_chance(c, ran, asked, rows.cell) for c in columns)
    return tuple(n for n, m in zip(names, moves, strict=True) if m)


def examine(
    rows: Rows,
    y: Array,
    apps: int,
    record: str | None,
    sizes: tuple[str, ...],
    said: Sequence[str] = (),
) -> Believed:
    """Test the records of ``rows`` (n,) by the log outcome ``y`` (n,); ``said`` is known before."""
    words: list[str] = []
    by_problem, since = float("nan"), 0
    if record is not None:
        rows, since, words = _eras(rows, y, record)
        rows, by_problem, doubted = _problems(rows, y, record)
        words += doubted
    by_size = _size_error(rows, y) if sizes else float("nan")
    return Believed(rows, by_problem, by_size, _placebo(rows, y, apps), (*said, *words), since)


def _eras(rows: Rows, y: Array, record: str) -> tuple[Rows, int, list[str]]:
    """Rows whose problems are others since a date, its row (0: none), and what is said of it.

    A date at which most went over to other settings, or since which equal runs take otherwise.
    """
    if rows.turned.sum() >= FEWEST_TURNED:
        return rows, 0, []
    asked, problem = rows.log_asked[:, 0], rows.problem
    said = (
        "most runs of one {0} had other settings before run {1:,} of {2:,}, in order of time, than "
        "since, and a new version of the code then would look the same: runs before and since are "
        "not compared"
    )
    since = date_of_change(asked, y, problem)
    if since is None:
        said = (
            "runs of one {0} at equal settings took otherwise before run {1:,} of {2:,}, in order "
            "of time, than since, as on another machine or with another version of the code: runs "
            "before and since are not compared"
        )
        since = date_of_step(asked, y, problem)
    if since is None:
        return rows, 0, []
    return (
        replace(rows, problem=by_era(problem, since)),
        since,
        [said.format(record, since, len(y))],
    )


def _problems(rows: Rows, y: Array, record: str) -> tuple[Rows, float, list[str]]:
    """Rows whose problems are believed, the error they leave open, and what is said.

    A user's application with enough runs is judged by itself; where most are wrong, all are.
    """
    u = ~rows.turned
    asked, same = rows.log_asked[:, 0], _same(rows.problem, rows.log_asked)
    noise = doubts.noise_of_repeats(y[u], same[u], rows.cell[u])
    cells, known, wrong = np.unique(rows.cell[u]), [], []
    for cell in cells:
        here = u & (rows.cell == cell)
        known.append(here.sum() - len(np.unique(same[here])) >= FEWEST_AGAIN)
        left = _open(y[here], asked[here], rows.problem[here], same[here], noise)
        spread, _ = doubts.hidden_spread(y[here], same[here], noise)
        wrong.append(left > TOO_FAR and spread > doubts.MOST_NOISE)
    weight = np.bincount(np.searchsorted(cells, rows.cell[u])) * np.array(known)
    mostly = bool(weight @ wrong > 0.5 * weight.sum()) if weight.any() else bool(np.any(wrong))
    bad = np.isin(rows.cell, cells[np.array(known) & wrong | mostly])
    if not bad.any():
        return rows, _open(y[u], asked[u], rows.problem[u], same[u], noise), []
    alone = np.arange(len(y)) - len(y)
    spread, _ = doubts.hidden_spread(y[u & bad], same[u & bad], noise)
    said = (
        f"{record} is not believed for {int(bad.sum()):,} of {len(y):,} runs: those of one "
        f"{record} at equal settings differ by {spread:.2f} in logarithm, true repeats by "
        f"{noise:.2f}"
    )
    kept = u & ~bad
    left = _open(y[kept], asked[kept], rows.problem[kept], same[kept], noise)
    return replace(rows, problem=np.where(bad, alone, rows.problem)), left, [said]


def _open(y: Array, asked: Array, problem: Ints, same: Ints, noise: float) -> float:
    """The error of an exponent that runs of one problem at equal settings allow."""
    _, hidden = doubts.hidden_spread(y, same, noise)
    varied, _ = doubts.hidden_spread(asked, problem, 0.0)
    return FOLLOWED * hidden / varied if np.isfinite(hidden) and varied > 0 else 0.0


def exponent_by_chance(rows: Rows, y: Array) -> Slope | None:
    """Exponent of ``y`` in the setting that ran, of jobs that chance turned; None if too few."""
    if rows.turned.sum() < FEWEST_TURNED:
        return None
    ran, asked = rows.log_run[:, 0], rows.log_asked[:, 0]
    given = np.column_stack([asked, asked**2, rows.size])
    return doubts.within_slope(ran, y, rows.cell, np.arange(len(y)), given)


def contradiction(change: Array, turned: Array, by_chance: Slope) -> str:
    """How forecasts of log changes (B, n) of turned jobs contradict chance; "" where they do not.

    ``turned`` (n,) is by how much, in logarithm.
    """
    each = change @ turned / float(turned @ turned)
    by_record = Slope(float(each.mean()), float(each.std()))
    if not by_record.differs(by_chance):
        return ""
    return (
        f"its exponent is {by_record.words()} for the jobs that chance turned, and "
        f"{by_chance.words()} as they ran"
    )


def _size_error(rows: Rows, y: Array) -> float:
    """Error of an exponent that what the sizes do not tell allows."""
    u = ~rows.turned
    cell = rows.cell
    same = _same(cell, np.column_stack([rows.log_asked, rows.size]))
    noise = doubts.noise_of_repeats(y[u], same[u], cell[u])
    rest, varied = _residuals(rows, y)
    left = len(rest) - len(np.unique(cell[u]))
    if left <= 0 or not varied.any():
        return float("nan")
    hidden = np.sqrt(max(float(rest @ rest) / left - noise**2, 0.0))
    return float(PARTLY * hidden / np.sqrt(float(varied @ varied) / left))


def _residuals(rows: Rows, y: Array) -> tuple[Array, Array]:
    """(u,): of ``y`` at equal requests and sizes, of the request at equal sizes, by application."""
    u = ~rows.turned
    asked = rows.log_asked[:, 0]
    flat = centred(np.column_stack([y, asked, asked**2, rows.size]), rows.cell)[u]
    rest, varied = np.zeros(u.sum()), np.zeros(u.sum())
    for a in np.unique(rows.app[u]):
        here = rows.app[u] == a
        part = flat[here]
        rest[here] = unexplained(part[:, 0], part[:, 1:])
        varied[here] = unexplained(part[:, 1], part[:, 3:])
    return rest, varied


def unexplained(values: Array, given: Array) -> Array:
    """What ``given`` does not explain linearly of ``values``."""
    return np.asarray(values - given @ np.linalg.lstsq(given, values, rcond=None)[0])


def _placebo(rows: Rows, y: Array, apps: int) -> Array:
    """What the next request tells of the run before, at equal records, in each application."""
    u = ~rows.turned
    rest, varied = _residuals(rows, y)
    group = rows.cell[u]
    if (np.bincount(np.unique(rows.problem, return_inverse=True)[1]) > 1).any():
        group = np.unique(rows.problem[u], return_inverse=True)[1]
        rest, varied = centred(rest, group), centred(rows.log_asked[u, 0], group)
    return doubts.placebo(rest, varied, group, rows.app[u], apps)


def _same(group: Ints, values: Array) -> Ints:
    """A number for rows of one group with equal ``values`` (n, k)."""
    key = np.column_stack([group.astype(float), values])
    return np.unique(key, axis=0, return_inverse=True)[1].reshape(-1)
