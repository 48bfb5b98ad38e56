"""Speed under caps from a few runs: ways to fill the row, weighed, and a promise that holds.

No single curve is best everywhere.  The mixture of Gaussian processes knows which shapes are
common; a line between the runs, of log speed or, along a single knob, of speed itself, needs no
other application; a line along what each cap costs the others on average is right where
applications differ in degree only; the nearest known applications are right where shapes repeat.
Each known application is left out in turn, shown at the same settings and predicted in all ways;
the mean of their errors there gives their weights.  It is left out together with all that are more
like it, at these settings, than any known one is like the new one: else a program that is among
the known with other inputs would be predicted from those, which tells nothing of a new program.

The same leaving out calibrates the answer, anew for the settings that were tried: spreads are
widened until lower bounds hold as often as they say, and the probability that a setting needs to
be kept untried is the least with which the setting kept would have broken the bound for so few of
the applications left out as was asked, counted as if one more had broken it (conformal risk
control).
Where they are too few to show that, only what was tried is kept.

Notation
--------
A  known applications      p  settings      n  settings tried      E = 4  ways, 5 of one knob
e : (E, p) log speed by each way      err : (A, E) mean absolute error of each, left out

References
----------
Angelopoulos, Bates, Fisch, Lei, Schuster: Conformal risk control, ICLR 2024.
Wolpert: Stacked generalization, Neural Networks 5 (1992).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from rheostat.core.outcome import Array
from rheostat.errors import NotFitted
from rheostat.prediction.completion.cap_choice import keep
from rheostat.prediction.completion.curves import costs, linear, nearest, whole
from rheostat.prediction.completion.mixture import CapMixture, Completion, Ints
from rheostat.prediction.completion.table import CapTable
from rheostat.prediction.saved_models.from_file import blames_its_file
from rheostat.prediction.surface import CAPS

WAYS = ("mixture", "line", "line along costs", "nearest applications", "ruler")
_LEAST = 1e-2  # speed on a ruler, whose logarithm is taken
_SHARPNESS = 6.0  # weight of a way: its error to the power of minus this
_MOST = 60  # applications left out in turn, at most
_PLANNED = 60  # settings looked at for the first try, at most
_SPREADS = (1.0, 1.15, 1.3, 1.5, 1.75, 2.0, 2.5, 3.0)
_STRICTER = (
    *(0.0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0),
    *(1.2, 1.4, 1.65, 2.0, 2.35, 2.8, 3.3, 3.9, 4.6, 5.5, 6.5),
)
"""What is asked of a setting not tried, in standard deviations as a multiple of those of the risk.

Below 1 as well: who asks 90 % of each setting is right far more often, as most settings that pass
are surer than that.  Never so low that a setting likelier to break the bound than not is kept.
"""


@dataclass(frozen=True)
class CompletionWays:
    """What some known applications teach: the mixture, the cost of each knob, their rows."""

    mixture: CapMixture
    coordinates: Array
    rows: Array

    @property
    def number(self) -> int:
        """How many there are, E."""
        return len(WAYS) if self.mixture.depth_.shape[1] == 1 else len(WAYS) - 1

    def fill(self, tried: list[int], speed: Array, noise: float) -> tuple[Array, Completion]:
        """Log speed by each way, (E, p), and the mixture's completion."""
        y = np.log(speed)
        skipped = self.mixture.start_ if self.mixture.by_default else -1
        others = [i for i, t in enumerate(tried) if t != skipped]
        completion = self.mixture.complete(tried, speed, noise=noise)
        known = [tried[i] for i in others]
        near = nearest(self.rows, known, y[others])
        mean = completion.weight @ completion.mean
        if not tried:
            return np.stack([mean, mean, mean, near, mean][: self.number]), completion
        lines = [linear(x, tried, y) for x in (self.mixture.depth_, self.coordinates)]
        ruler = np.log(np.maximum(linear(self.mixture.depth_, tried, speed), _LEAST))
        return np.stack([mean, *lines, near, ruler][: self.number]), completion


@dataclass(frozen=True)
class LeftOutApplications:
    """Known applications as if they were new, after runs at the same settings.

    ``completions`` of each, its ``truth`` (A, p), the ``weight`` (E,) of each way over all of them.
    """

    completions: list[Completion]
    truth: Array
    weight: Array


class CapModel:
    """Learns from known applications; completes the row of a new one and says how sure it is.

    ``by_default`` as in `CapMixture`.

    >>> from rheostat.measurement.synthetic.capped_runs import capped_runs
    >>> from rheostat.prediction.completion.table import cap_table
    >>> t = cap_table(capped_runs(12, seed=3))
    >>> model = CapModel().fit(t.only(range(11)))
    >>> seen = [t.default, 0, 10]
    >>> found = model.complete(seen, t.speed[11, seen])
    >>> bool(np.abs(found.speed() / t.speed[11] - 1).mean() < 0.03)
    True
    >>> bool(model.needed(seen, t.speed[11, seen], 0.05, 0.9) >= 0.5)
    True
    """

    def __init__(self, *, by_default: bool = True) -> None:
        self.by_default = by_default

    def fit(self, known: CapTable) -> CapModel:
        """Learn from all known applications."""
        self.known_, self.start_ = known, known.default
        self.rows_ = whole(np.log(known.speed), known.depth)
        mixture = CapMixture(by_default=self.by_default).fit(known)
        every = np.arange(len(known.apps))
        self.all_ = self._ways(mixture, every)
        alone = len(every) < 2
        self.left_ = every[:0] if alone else np.unique(np.linspace(0, every[-1], _MOST).astype(int))
        self.by_rows_: dict[bytes, CompletionWays] = {}
        self.seen_: dict[tuple[float, ...], LeftOutApplications] = {}
        self.first_: dict[bytes, int] = {}
        return self

    def _ways(self, mixture: CapMixture, rows: Ints) -> CompletionWays:
        mean = self.rows_[rows].mean(axis=0)
        mean = mean - mean[self.start_]
        falling = [j for j, knob in enumerate(self.known_.knobs) if knob in CAPS]
        return CompletionWays(mixture, costs(mean, mixture.depth_, falling), self.rows_[rows])

    @blames_its_file
    def complete(
        self, tried: Sequence[int], speed: Array, *, noise: float = 0.0, level: float = 0.9
    ) -> Completion:
        """What is believed after runs at settings ``tried`` (indices) showed ``speed``.

        ``noise`` is the relative error of the speeds beyond that of a run, ``level`` the
        probability of the lower bounds that spreads are widened for.
        """
        if not hasattr(self, "all_"):
            raise NotFitted(self)
        tried, fixed = list(tried), self._fixed(tried, noise)
        speed = self._seen(tried, np.asarray(speed, dtype=float))
        ways, completion = self.all_.fill(tried, speed, noise)
        left = self._left_out(tried, speed, noise)
        joined = _centred(completion, left.weight @ ways, fixed)
        return _widened(joined, self._spread(left, tried, level), fixed)

    @blames_its_file
    def needed(
        self, tried: Sequence[int], speed: Array, loss: float, risk: float, *, noise: float = 0.0
    ) -> float:
        """Probability that a setting not tried needs to be kept; inf where none can be promised.

        Parameters
        ----------
        tried : sequence of int
            Indices of the settings that were run.
        speed : array
            What they showed.
        loss : float
            Share of speed that may be lost.
        risk : float
            Probability with which the setting kept must hold that.
        noise : float
            Relative error of the speeds seen, beyond that of a run.
        """
        tried, fixed = list(tried), self._fixed(tried, noise)
        allowed = (1.0 - risk) * (len(self.left_) + 1) - 1.0
        left = self._left_out(tried, self._seen(tried, np.asarray(speed, dtype=float)), noise)
        spread = self._spread(left, tried, risk)
        steps = np.array([float(ndtr(ndtri(risk) * s)) for s in _STRICTER])
        broken = np.zeros(len(steps))
        for completion, truth in zip(left.completions, left.truth, strict=True):
            wide, saved = _widened(completion, spread, fixed), self.known_.saved_w.copy()
            saved[~np.isfinite(truth)] = -1.0
            kept = [keep(wide, saved, loss, s, self.start_).setting for s in steps]
            broken += truth[kept] < np.log(1.0 - loss) - 1e-9
        enough = np.append(broken > allowed + 1e-9, False)
        first = int(np.flatnonzero(enough).max(initial=-1)) + 1
        return float(steps[first]) if first < len(steps) else np.inf

    @blames_its_file
    def first_try(self, there: NDArray[np.bool_]) -> int:
        """The setting of ``there`` (p,) after whose run applications left out are known best."""
        if there.tobytes() not in self.first_:
            settings = np.flatnonzero(there)
            some = settings[np.unique(np.linspace(0, len(settings) - 1, _PLANNED).astype(int))]
            best = int(np.argmin([self._missed(int(s)) for s in some]))
            self.first_[there.tobytes()] = int(some[best])
        return self.first_[there.tobytes()]

    def _missed(self, setting: int) -> float:
        """Mean error of log speed of applications left out after a run at one setting."""
        left = self._leave_out([*([self.start_] if self.by_default else []), setting], 0.0, 0.0)
        if not left.completions:
            return float(-self.known_.depth[setting].sum())
        mean = np.array([b.weight @ b.mean for b in left.completions])
        return float(np.nanmean(np.abs(mean - left.truth)))

    def _seen(self, tried: list[int], speed: Array) -> Array:
        """Speeds with that of the default, which is 1 by definition."""
        if not self.by_default:
            return speed
        return np.where(np.array(tried) == self.start_, 1.0, speed)

    def _fixed(self, tried: list[int], noise: float) -> list[int]:
        """Settings that are known exactly."""
        return [*(tried if noise == 0.0 else []), *([self.start_] if self.by_default else [])]

    def _left_out(self, tried: list[int], speed: Array, noise: float) -> LeftOutApplications:
        """Every application as if it were as new as the one with ``speed``; remembered."""
        nearest_one = self._apart(tried, np.log(speed)).min(initial=np.inf)
        key = (*sorted(tried), noise, float(nearest_one))
        if key not in self.seen_:
            self.seen_[key] = self._leave_out(sorted(tried), noise, float(nearest_one))
        return self.seen_[key]

    def _apart(self, tried: list[int], y: Array) -> Array:
        """How far each known application is from log speeds ``y`` at ``tried``, (A,)."""
        return np.asarray(
            np.sqrt(((self.rows_[:, tried] - y) ** 2).sum(axis=1) / max(len(tried), 1))
        )

    def _without(self, row: int, tried: list[int], nearest_one: float) -> CompletionWays:
        """Taught by those at least so far from an application, by half of the others at least."""
        apart = self._apart(tried, self.rows_[row, tried])
        apart[row] = -1.0
        farthest = np.argsort(apart, kind="stable")[1 + (len(apart) - 1) // 2 :]
        far = apart >= nearest_one
        far[farthest], far[row] = True, False
        rows = np.flatnonzero(far)
        if rows.tobytes() not in self.by_rows_:
            mixture = self.all_.mixture.learned_from(rows)
            self.by_rows_[rows.tobytes()] = self._ways(mixture, rows)
        return self.by_rows_[rows.tobytes()]

    def _leave_out(self, tried: list[int], noise: float, nearest_one: float) -> LeftOutApplications:
        filled, completions = [], []
        for i in self.left_:
            ways = self._without(int(i), tried, nearest_one)
            wobble = noise * np.random.default_rng([i, len(tried)]).standard_normal(len(tried))
            speed = self._seen(tried, np.exp(self.rows_[i, tried] + wobble))
            curves, completion = ways.fill(tried, speed, noise)
            filled.append(curves)
            completions.append(completion)
        truth = np.log(self.known_.speed[self.left_])
        if not completions:
            return LeftOutApplications([], truth, _weights(np.zeros((0, self.all_.number))))
        errors = np.abs(np.array(filled) - truth[:, None])
        errors[..., [*tried, *([self.start_] if self.by_default else [])]] = np.nan
        errors = np.nansum(errors, axis=2) / np.maximum(np.isfinite(errors).sum(axis=2), 1)
        fixed = self._fixed(tried, noise)
        joined = [
            _centred(completion, _weights(np.delete(errors, i, axis=0)) @ filled[i], fixed)
            for i, completion in enumerate(completions)
        ]
        return LeftOutApplications(joined, truth, _weights(errors))

    def _spread(self, left: LeftOutApplications, tried: list[int], level: float) -> float:
        """The factor on spreads with which lower bounds hold for applications left out."""
        for spread in _SPREADS:
            below = 1.0  # as if one more had missed all of them
            for completion, truth in zip(left.completions, left.truth, strict=True):
                held = np.isfinite(truth)
                held[[*tried, self.start_]] = False
                reached = _widened(completion, spread, []).reaches_each(np.exp(truth))
                below += (reached[held] <= 1.0 - level).mean() if held.any() else 0.0
            if below <= (1.0 - level) * (len(left.completions) + 1):
                return spread
        return _SPREADS[-1]


def _weights(errors: Array) -> Array:
    """Weight of each way (E,) from its errors (A, E)."""
    if not len(errors):
        return np.full(errors.shape[1], 1.0 / errors.shape[1])
    mean = np.maximum(errors.mean(axis=0), 1e-6)
    weight = (mean.min() / mean) ** _SHARPNESS
    return np.asarray(weight / weight.sum())


def _centred(completion: Completion, mean: Array, fixed: list[int]) -> Completion:
    """A completion moved so that its mean is ``mean`` (p,), except where it is known."""
    moved = completion.mean + (mean - completion.weight @ completion.mean)
    moved[:, fixed] = completion.mean[:, fixed]
    return replace(completion, mean=moved)


def _widened(completion: Completion, spread: float, fixed: list[int]) -> Completion:
    """A completion whose spreads are wider, except where it is known."""
    sd = completion.sd * spread
    sd[:, fixed] = completion.sd[:, fixed]
    return replace(completion, sd=sd)
