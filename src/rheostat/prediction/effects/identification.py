"""What in a log tells the effect of a setting from the reasons why it was chosen?

A user who gives a larger problem more nodes makes a log in which runtime hardly falls with nodes,
exactly like a code that does not scale.  The two are told apart by jobs that ran at another setting
than was asked for (a trial), by the same problem run at several settings, or by a record of the
problem's size.  Such a record is never perfect.  Its reliability is at least the share R^2 of the
runtime's variance at equal requests that it explains, so what it misses biases the exponent of the
knob by at most slope x follow x (1 - R^2) / R^2 (errors in variables [Klepper1984]_).

Notation
--------
n  rows, all less the means of their group      s  request columns, the first of each knob its slope
slope : of log runtime on log size at equal requests     follow : of log size on the log request

References
----------
.. [Klepper1984] Klepper, S., Leamer, E.: Consistent sets of estimates for regressions with errors
   in all variables. Econometrica 52 (1984).
.. [Cinelli2020] Cinelli, C., Hazlett, C.: Making sense of sensitivity: extending omitted variable
   bias. J. Royal Statistical Society B 82 (2020).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rheostat.core.outcome import Array
from rheostat.prediction.effects.believed import Believed, unexplained
from rheostat.prediction.effects.doubts import Ints, Mask
from rheostat.prediction.effects.effect_coding import Rows

FEWEST = 10
"""Randomised jobs, or problems run at several settings, with which a log may begin to answer."""
UNKNOWN = 1.5
"""Exponents by which requests may mislead where nothing bounds it: a log that does not tell."""
PLAIN_SPREAD = 0.2
"""Expected spread between applications of what their requests betray."""


MISLED = 0.4
"""Error of an exponent beyond which a recorded size is too rough to answer with."""
LEAST_EXPLAINED = 0.1
"""A record that explains less than this share of the runtime's variance bounds nothing."""
LEAST_DRIFT = 0.03
"""Exponents that requests may betray even where the recorded size seems perfect."""
POWER_DRIFT = 0.03
"""The same for power, which depends on the nodes far more than on the size of the problem."""


@dataclass(frozen=True)
class Identification:
    """How a log may tell effect from choice.

    ``designed``: the table holds measured runs, settings were chosen to be compared.  ``turned``
    and ``turned_apps`` count jobs that ran at another setting than asked for, and their
    applications; ``repeats`` counts problems that ran at several settings.  ``reliability`` is the
    share of the runtime's variance that the recorded sizes explain at equal requests (NaN: none is
    recorded), ``misled`` the largest error of an exponent that remains possible where chance did
    not choose.  ``doubts`` says which records are not believed, and why, ``conflict`` how a trial
    contradicts the forecast itself.  ``drawn``: chance drew the setting of every job of a log.
    """

    designed: bool
    turned: int
    turned_apps: int
    repeats: int
    sizes: tuple[str, ...]
    reliability: float
    misled: float
    doubts: tuple[str, ...] = ()
    conflict: str = ""
    drawn: bool = False

    @property
    def by(self) -> str:
        """The strongest source: "design", "trial", "repeats", "size" or "nothing"."""
        if self.designed:
            return "design"
        if self.turned >= FEWEST:
            return "trial"
        if self.repeats >= FEWEST:
            return "repeats"
        return "size" if self.sizes else "nothing"

    @property
    def answers(self) -> bool:
        """Whether the log tells enough to advise by."""
        if self.conflict:
            return False
        bounded = self.by in ("size", "repeats")
        return self.by != "nothing" and not (bounded and abs(self.misled) > MISLED)

    def selection(self, quantity: str, first: Array) -> tuple[Array, Array, Array]:
        """Prior mean, standard deviation and spread between applications of request weights, (s,).

        ``first`` is True at the slope of each knob, False at its bends.
        """
        bend, none = np.where(first, 1.0, 0.5), np.zeros(len(first))
        if self.by == "design":
            return none, 1e-3 * bend, 1e-3 * bend
        if self.by != "size":
            return none, UNKNOWN * bend, PLAIN_SPREAD * bend
        if quantity != "runtime_s":
            return none, POWER_DRIFT * bend, POWER_DRIFT * bend
        half = np.where(first, self.misled, 0.0) / 2
        sd = max(float(np.abs(half).max()), LEAST_DRIFT)
        return half, sd * bend, sd * bend


def identify(
    rows: Rows,
    request: Array,
    size: Array,
    y: Array,
    sizes: tuple[str, ...],
    *,
    designed: bool,
    believed: Believed | None = None,
    record: str | None = None,
) -> Identification:
    """How the log of ``rows`` may answer.

    ``request`` (n, s), ``size`` (n, k) and log runtime ``y`` (n,) are less their group's means;
    ``record`` is the column that names problems.
    """
    moved = rows.turned
    reliability, misled = float("nan"), np.array([UNKNOWN])
    if sizes:
        reliability, slopes = _reliability(
            request[~moved], size[~moved], y[~moved], rows.app[~moved]
        )
        if reliability >= LEAST_EXPLAINED and request[~moved].any():
            misled = slopes * (1 - reliability) / reliability
    worst = float(misled[np.argmax(np.abs(misled))])
    repeats = _repeats(rows)
    if believed is not None:
        by_problem = repeats >= FEWEST and np.isfinite(believed.by_problem)
        least = believed.by_problem if by_problem else believed.by_size
        worst = least if by_problem else float(np.copysign(np.fmax(abs(worst), least), worst))
    log = Identification(
        designed,
        int(moved.sum()),
        len(np.unique(rows.app[moved])),
        repeats,
        sizes,
        reliability,
        float(np.clip(worst, -UNKNOWN, UNKNOWN)),
        () if believed is None else believed.words,
    )
    silent = record is None or any(f"{record} is not believed" in d for d in log.doubts)
    if silent or log.by not in ("size", "nothing"):
        return log
    few = (
        f"{record} does not count as the same problem: {repeats} of its {_named(rows)} problems "
        f"ran at two settings or more, and {FEWEST} are needed"
    )
    return replace(log, doubts=(*log.doubts, few))


def _repeats(rows: Rows) -> int:
    """Problems that ran at two or more requests."""
    return int(several(rows).sum())


def _named(rows: Rows) -> int:
    """Problems that the log's record names; rows without a name have numbers below n."""
    return len(np.unique(rows.problem[rows.problem >= len(rows.problem)]))


def several(rows: Rows) -> Mask:
    """Of each problem, in order of its number, whether it ran at two or more requests."""
    _, code = np.unique(rows.problem, return_inverse=True)
    low = np.full((code.max() + 1, rows.log_asked.shape[1]), np.inf)
    high = -low
    np.minimum.at(low, code, rows.log_asked)
    np.maximum.at(high, code, rows.log_asked)
    return np.asarray((high - low > 1e-9).any(axis=1))


def _reliability(request: Array, size: Array, y: Array, app: Ints) -> tuple[float, Array]:
    """Partial R^2 of the sizes for ``y`` at equal requests; their index's slopes on requests.

    Each application scales with its requests in its own way, which is no size that is hidden.
    """
    own = _by_application(request, app)
    left_y, left_size = unexplained(y[:, None], own)[:, 0], unexplained(size, own)
    weight = np.linalg.lstsq(left_size, left_y, rcond=None)[0]
    explained = left_size @ weight
    total = float(left_y @ left_y)
    share = float(explained @ explained) / total if total > 0 else 0.0
    slopes = np.linalg.lstsq(request, size @ weight, rcond=None)[0]
    return share, np.asarray(slopes, dtype=float)


def _by_application(request: Array, app: Ints) -> Array:
    """Columns of ``request`` for each application with many rows, and for all others together."""
    _, code, count = np.unique(app, return_inverse=True, return_counts=True)
    many = np.flatnonzero(count >= FEWEST * (1 + request.shape[1]))
    own = [np.where((code == c)[:, None], request, 0.0) for c in many]
    rest = np.where(np.isin(code, many)[:, None], 0.0, request)
    return np.hstack([*own, rest])
