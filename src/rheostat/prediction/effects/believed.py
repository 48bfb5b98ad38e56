"""Which records of a log are believed, and how far they may mislead; the tests are in `doubts`.

Notation
--------
n  rows in order of time      A  applications      u : rows that ran as they asked
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtri

from rheostat.core.outcome import Array
from rheostat.prediction.effects import doubts
from rheostat.prediction.effects.doubts import FEWEST_TURNED, Ints, Mask, Slope
from rheostat.prediction.effects.effect_coding import Rows
from rheostat.prediction.effects.eras import by_era, date_of_change, date_of_step
from rheostat.prediction.effects.growth import Grown, Growth
from rheostat.prediction.effects.levels import centred
from rheostat.prediction.effects.machine_date import MachineDate, Stepped, date_of_machine

FEWEST_AGAIN = 8
"""Runs beyond the first at equal settings with which a user's problems are judged by themselves."""
FOLLOWED, PARTLY = 1.5, 0.6
"""c of `doubts`: a record that does not tell the problem leaves all of it to the users' choice
(correlation .83); what a recorded size misses they follow in part (.5)."""
FEWEST_OF_APP = 100
"""Runs of an application of which a date of its own is told."""
SURELY = 0.95
"""How sure it has to be that runs are as alike as repeats where most of a log's are not."""
UNLIKE = (
    ", as with a new version of the code or on another machine: runs before and since are not "
    "compared"
)
LEAST_ALIKE = 0.1
"""Share of the runs that have to be so alike: of many problems some always seem to be."""
TOO_FAR = 0.3
"""Error of an exponent that a problem's runs leave open, beyond which they are not believed."""


Changed = Grown | Stepped | None
"""How a quantity changed over a log, other things being equal."""


@dataclass(frozen=True)
class Believed:
    """What of the log's records is used.

    ``rows`` has problems of their own where the record of problems is not believed.
    ``by_problem`` and ``by_size`` bound the error of an exponent that each record leaves open (NaN:
    no such record), ``placebo`` (A,) is the exponent of the run before where it is not nothing.
    ``words`` say what was not believed; what a problem takes is told by the ``late``
    rows, and as of the end of the log where problems have ``growth``.
    """

    rows: Rows
    by_problem: float
    by_size: float
    placebo: Array
    words: tuple[str, ...]
    late: Mask
    growth: Growth | MachineDate | None = None


def at_end(believed: Believed | None, y: Array, seen: Ints) -> tuple[Array, list[Changed]]:
    """Log outcomes ``y`` (n, quantities) as at the end of the log, and how each one came there."""
    growth = None if believed is None else believed.growth
    if growth is None:
        return y, [None] * y.shape[1]
    ended = [growth.ended(v, seen) for v in y.T]
    return np.stack([now for now, _ in ended], axis=1), [how for _, how in ended]


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
    submit_s: Array | None = None,
) -> Believed:
    """Test the records of ``rows`` (n,) by the log outcome ``y`` (n,); ``said`` is known before.

    Without ``submit_s`` (n,) runs count as submitted at equal intervals.
    """
    when = np.arange(len(y), dtype=float) if submit_s is None else submit_s
    words: list[str] = []
    by_problem, late = float("nan"), np.ones(len(y), dtype=bool)
    growth: Growth | MachineDate | None = None
    if record is not None:
        rows, late, words = _eras(rows, y, record, apps)
        plain, grows = y, Growth.of(when, rows.problem, rows.log_run[:, 0])
        if (rates := grows.slopes(y)) is not None and rates.there:
            growth, y = grows, grows.removed(y, rates)
            words.append(rates.words(record))
        rows, by_problem, doubted = _problems(rows, y, record)
        if growth is not None and rates is not None:
            by_problem += grows.left_open(rates, rows.log_asked[:, 0])
        if doubted and (rows.problem < 0).all():  # inputs that come and go, and no growth
            growth, y, words = None, plain, []
        words += doubted
    elif (step := date_of_machine(rows, y, when)) is not None:
        words.append(step.words(y))
        growth, y = step, step.ended(y, rows.seen)[0]
    by_size = _size_error(rows, y) if sizes else float("nan")
    placebo = _placebo(rows, y, apps)
    return Believed(rows, by_problem, by_size, placebo, (*said, *words), late, growth)


def _eras(rows: Rows, y: Array, record: str, apps: int) -> tuple[Rows, Mask, list[str]]:
    """Rows whose problems are others since a date, the rows since, and what is said of it.

    A date at which most went over to other settings, or since which equal runs take otherwise: of
    all runs, else of an application's.
    """
    n, late = len(y), np.ones(len(y), dtype=bool)
    if rows.turned.sum() >= FEWEST_TURNED:
        return rows, late, []
    since, said = _date(rows.log_asked[:, 0], y, rows.problem, record)
    words = [f"{said} before run {since:,} of {n:,}, in order of time, than since{UNLIKE}"]
    if since:
        late = np.arange(n) >= since
        return replace(rows, problem=by_era(rows.problem, late)), late, words
    own: dict[str, int] = {}
    for a in range(apps):
        here = np.flatnonzero(rows.app == a)
        if len(here) >= FEWEST_OF_APP:
            since, said = _date(rows.log_asked[here, 0], y[here], rows.problem[here], record)
            late[here[:since]] = False
            own[said] = own.get(said, 0) + (since > 0)
    words = [f"{said} before a date of its own than since, in {k} of {apps} applications{UNLIKE}"
             for said, k in own.items() if k]  # fmt: skip
    return replace(rows, problem=by_era(rows.problem, late)) if words else rows, late, words


def _date(asked: Array, y: Array, problem: Ints, record: str) -> tuple[int, str]:
    """The run since which a log is another one, 0 for none, and what was otherwise before."""
    since = date_of_change(asked, y, problem)
    if since is not None:
        return since, f"most runs of one {record} had other settings"
    since = date_of_step(asked, y, problem)
    return since or 0, f"runs of one {record} at equal settings took otherwise"


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
    sure = _surely_alike(y, same, rows.cell, u) | _surely_alike(y, same, rows.problem, u)
    bad &= ~(sure & (sure[u].mean() > LEAST_ALIKE))
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


def _surely_alike(y: Array, same: Ints, group: Ints, u: Mask) -> Mask:
    """Rows (n,) of groups whose runs at equal settings are surely as alike as true repeats.

    A user's array of many inputs does not tell against the scripts beside it.
    """
    code = np.unique(group, return_inverse=True)[1]
    rest = centred(y[u], np.unique(same[u], return_inverse=True)[1])
    first = np.unique(same[u], return_index=True)[1]
    size = int(code.max()) + 1
    free = np.bincount(code[u], minlength=size) - np.bincount(code[u][first], minlength=size)
    squares = np.bincount(code[u], rest**2, minlength=size)
    most = squares / np.maximum(chdtri(np.maximum(free, 1), SURELY), 1e-9)
    return np.asarray(((free >= FEWEST_AGAIN) & (most < doubts.MOST_NOISE**2))[code])


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
