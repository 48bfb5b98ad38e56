"""What will this job cost at every setting, given past jobs and the few runs of its own so far?

Nothing is fitted to a handful of points.  Some hundred combinations of structure and hyper-
parameters each give a Gaussian process; combinations are trusted by how well they predict past
jobs from one another and by how well they explain this job's own runs, and a share of them listens
to the own runs alone, so that past jobs which mislead lose their say as soon as data contradict
them.  Draws come from the whole mixture.

Notation
--------
M  members     Z  entries of z     S  structures     N  settings     d  draws
z : (M, Z)    structure : (M,)    own : (M,) log evidence of the job's runs    weights : (M,)
past(z) = log mean_j exp(l_j(z) - log mean_z' exp(l_j(z')))        l_j : job j predicted from others
The prior of z is N(0, I) times exp(past): every job has its own z, the target's is one more draw.

References
----------
Chopin: A sequential Monte Carlo method for static models (2002): reweight, resample, move.
Wilson et al.: Efficiently sampling functions from Gaussian process posteriors (2020).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy, deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheostat._optional import require
from rheostat.prediction.scaling_law import hyper
from rheostat.prediction.scaling_law.coordinates import Array
from rheostat.prediction.scaling_law.structures import Structure

Index = NDArray[np.int64]
MOVES = 2
TEMPER = 16.0
"""A past job's log evidence counts as that of eight settings, two values each."""
FREE = 0.15
"""Prior weight of the members that do not listen to past jobs' hyper-parameters."""

_ENTRIES, _FEWEST = 1_000_000, 16
"""Covariance entries worked on for one set of draws: fewer distinct members on larger spaces."""
_BLOCK = 2_000
"""Settings looked at together where each is looked at alone."""


class LawEnsemble:
    """Mixture of Gaussian processes over the settings of one job.

    Parameters
    ----------
    structures : list of Structure
    members : int
        Gaussian processes in the mixture.
    trials : int
        Hyper-parameter vectors tried on the past jobs before the members are drawn.
    seed : int
    """

    def __init__(
        self,
        structures: Sequence[Structure],
        *,
        members: int = 64,
        trials: int = 512,
        seed: int = 0,
    ) -> None:
        self.structures = list(structures)
        self.rng = np.random.default_rng(seed)
        self.measured: list[int] = []
        self.logs: list[tuple[float, float]] = []
        self.noise: list[tuple[float, float]] = []
        self.n = len(self.structures[0].target.units)
        self._size = hyper.SHARED + self.structures[0].target.units.shape[1]
        self._jobs = len(self.structures[0].left_out)
        self._start(members, trials)

    def _start(self, members: int, trials: int) -> None:
        """Draw members from the prior that past jobs teach; a share from the generic prior."""
        z = self._normal(trials if self._jobs else members)
        s = np.arange(len(z)) % len(self.structures)
        self.free = np.ones(len(z), dtype=bool)
        self._norm = np.zeros(self._jobs)
        self.z, self.structure, self.log_weight = z, s, np.zeros(len(z))
        self.past = np.zeros(len(z))
        if self._jobs:
            table = self._predicted(z, s)
            self._norm = np.logaddexp.reduce(table, axis=0) - np.log(len(z))
            past = np.logaddexp.reduce(table - self._norm, axis=1) - np.log(self._jobs)
            listening = members - members // 4
            kept = self._resample(_normalised(past), listening)
            none = np.zeros(listening, dtype=bool)
            zi, si, past, _ = self._move(
                z[kept], s[kept], none, past=past[kept], own=np.zeros(listening)
            )
            rest = self._normal(members - listening)
            self.z = np.vstack([zi, rest])
            self.structure = np.concatenate([si, np.arange(len(rest)) % len(self.structures)])
            self.free = np.arange(members) >= listening
            self.past = np.concatenate([past, np.zeros(len(rest))])
            share = np.where(self.free, FREE / len(rest), (1 - FREE) / listening)
            self.log_weight = np.log(share)
        self._reweigh()

    def tell(
        self,
        index: int,
        log_runtime: float,
        log_power: float,
        noise: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """Take a measurement at setting ``index``; members that explain it gain weight.

        ``noise`` are the variances with which log runtime and log power were measured.
        """
        self.measured.append(int(index))
        self.logs.append((float(log_runtime), float(log_power)))
        self.noise.append((float(noise[0]), float(noise[1])))
        self._reweigh()
        if 1 / (self.weights**2).sum() < 0.4 * len(self.z):
            kept = self._resample(self.weights, len(self.z))
            self.free = self.free[kept]
            self.z, self.structure, self.past, own = self._move(
                self.z[kept],
                self.structure[kept],
                self.free,
                past=self.past[kept],
                own=self.own[kept],
            )
            self.log_weight = -own
            self._reweigh()

    def copy(self) -> LawEnsemble:
        """The same belief, to be told more without changing this one; structures are shared."""
        twin = copy(self)
        twin.rng = deepcopy(self.rng)
        twin.measured, twin.logs, twin.noise = [*self.measured], [*self.logs], [*self.noise]
        return twin

    def without(self, place: int) -> LawEnsemble:
        """The belief without the measurement at ``place`` among those taken, by reweighing."""
        twin = self.copy()
        for values in (twin.measured, twin.logs, twin.noise):
            del values[place]
        twin._reweigh()
        return twin

    def draws(self, count: int, at: Index | None = None) -> tuple[Array, Array]:
        """Joint draws of log runtime and log power.

        Parameters
        ----------
        count : int
            How many draws, d.
        at : (n,) int, optional
            Settings, ascending; those measured must be among them.  Default: all.

        Returns
        -------
        (d, n) and (d, n)
            Settings measured without noise have their measured value in every draw.
        """
        torch = require("torch", extra="search")
        at = np.arange(self.n) if at is None else at
        parts = []
        most = max(_FEWEST, _ENTRIES // (2 * len(at)) ** 2)
        distinct = self._resample(self.weights, min(count, most))
        share = np.bincount(distinct[np.arange(count) % len(distinct)], minlength=len(self.z))
        for members, means, spread in self._posteriors(np.flatnonzero(share), at):
            factors = torch.linalg.cholesky(spread).numpy()
            for row, i in enumerate(members):
                of = self.rng.choice(means.shape[1], share[i], p=self._components[i])
                noise = self.rng.normal(size=(share[i], 2 * len(at)))
                parts.append(means[row, of] + noise @ factors[row].T)
        out = np.vstack(parts)[self.rng.permutation(count)]
        exact = self._noise() == 0
        out[:, self._rows(at)[exact]] = self._values()[exact]
        return out[:, : len(at)], out[:, len(at) :]

    def marginals(self) -> tuple[Array, Array]:
        """Mean and standard deviation (3, N) of log runtime, power and energy at each setting.

        Without the joint covariance, so that large spaces are cheap.  While nothing is measured
        they are relative to the most central setting, whose level says nothing about the others.
        """
        middle = int(((units := self.structures[0].target.units) ** 2).sum(axis=1).argmin())
        known = np.array(self.measured or [middle], dtype=np.int64)
        order = np.argsort(self.structure, kind="stable")
        even = (np.arange(_FEWEST) + 0.5) / _FEWEST  # members in proportion to their weights
        place = np.searchsorted(np.cumsum(self.weights[order]), even)
        members, times = np.unique(order[np.minimum(place, len(order) - 1)], return_counts=True)
        first, second = np.zeros((3, len(units))), np.zeros((3, len(units)))
        for s in range(len(self.structures)):
            here = self.structure[members] == s
            these, counts = members[here], times[here]
            for start in range(0, len(units) if len(these) else 0, _BLOCK):
                rows = np.arange(start, min(start + _BLOCK, len(units)))
                means, var = self._marginal(self.structures[s].target, these, known, rows)
                for row, (i, count) in enumerate(zip(these, counts, strict=True)):
                    share = count / _FEWEST * self._components[i][:, None, None]
                    first[:, rows] += (share * means[row]).sum(axis=0)
                    second[:, rows] += (share * (means[row] ** 2 + var[row])).sum(axis=0)
        return first, np.sqrt(np.maximum(second - first**2, 0.0))

    def _marginal(
        self, curve: hyper.Curve, members: Index, known: Index, rows: Index
    ) -> tuple[Array, Array]:
        """Means (m, C, 3, n) and variances (m, 3, n) at ``rows`` given what is ``known``."""
        torch = require("torch", extra="search")
        both = np.concatenate([known, self.n + known])
        prior = curve.means[:, both]
        values = self._values() if self.measured else prior
        with torch.no_grad():
            z = self.z[members]
            cross = hyper.covariance(curve, z, known, rows)
            own = hyper.covariance(curve, z, known)
            if self.measured:
                own = own + torch.diag(torch.as_tensor(self._noise()))
            gain = torch.linalg.solve(own, cross)
            pulled = (torch.as_tensor(values - prior) @ gain).numpy()
            gone = (cross * gain).numpy().sum(axis=1)
            n = len(rows)
            shared = (cross[:, :, :n] * gain[:, :, n:]).numpy().sum(axis=1)
        means = np.stack([curve.means[:, rows], curve.means[:, self.n + rows]], axis=1)
        means = means + pulled.reshape(len(members), len(prior), 2, n)
        if not self.measured:
            means = means - prior.reshape(len(prior), 2, 1)
        var = hyper.variances(curve, z, rows) - np.stack([gone[:, :n], gone[:, n:], shared], axis=1)
        t, p, tp = var[:, 0], var[:, 1], var[:, 2]
        means = np.concatenate([means, means.sum(axis=2, keepdims=True)], axis=2)
        return means, np.maximum(np.stack([t, p, t + p + 2 * tp], axis=1), 0.0)

    def _posteriors(self, members: Index, at: Index) -> Iterator[tuple[Index, Array, Any]]:
        """Members sharing a structure, means (m, C, 2n) and covariances (m, 2n, 2n) ``at`` some."""
        torch = require("torch", extra="search")
        known, y = torch.as_tensor(self._rows(at)), torch.as_tensor(self._values())
        both = np.concatenate([at, self.n + at])
        for s, structure in enumerate(self.structures):
            these = members[self.structure[members] == s]
            if not len(these):
                continue
            with torch.no_grad():
                k = hyper.covariance(structure.target, self.z[these], at)
                means = structure.target.tensors()["means"][:, both].expand(len(these), -1, -1)
                if self.measured:
                    noise = torch.diag(torch.as_tensor(self._noise()))
                    gain = torch.linalg.solve(k[:, known][:, :, known] + noise, k[:, known])
                    means = means + (y - means[:, :, known]) @ gain
                    k = k - k[:, :, known] @ gain
                    k = (k + k.mT) / 2 + 1e-8 * torch.eye(k.shape[1], dtype=k.dtype)
            yield these, means.numpy(), k

    def _rows(self, at: Index) -> Index:
        """Places of what was measured in a vector of log runtimes and log powers at ``at``."""
        place = np.searchsorted(at, np.array(self.measured, dtype=np.int64))
        return np.concatenate([place, len(at) + place])

    def _values(self) -> Array:
        return np.array(self.logs, dtype=float).reshape(-1, 2).T.ravel()

    def _noise(self) -> Array:
        return np.array(self.noise, dtype=float).reshape(-1, 2).T.ravel()

    def _normal(self, count: int) -> Array:
        """Quasi-random standard normal vectors (count, Z)."""
        from scipy.stats import qmc

        return np.asarray(
            qmc.MultivariateNormalQMC(np.zeros(self._size), rng=self.rng).random(count)
        )

    def _resample(self, weights: Array, count: int) -> Index:
        """Systematic resampling: indices drawn in proportion to ``weights``, with least noise."""
        at = (self.rng.random() + np.arange(count)) / count
        places = np.searchsorted(np.cumsum(weights), at)
        return np.minimum(places, len(weights) - 1).astype(np.int64)

    def _reweigh(self) -> None:
        self.own, self._components = self._own(self.z, self.structure)
        self.weights = _normalised(self.log_weight + self.own)

    def _own(self, z: Array, structure: Index) -> tuple[Array, list[Array]]:
        """Log evidence (M,) of the runs so far, and each member's component weights."""
        total = np.zeros(len(z))
        shares: list[Array] = [np.ones(1)] * len(z)
        at, y = np.array(self.measured, dtype=np.int64), self._values()
        for s, structure_ in enumerate(self.structures):
            members = np.flatnonzero(structure == s)
            if not len(members):
                continue
            curve = structure_.target
            log_evidence = np.zeros((len(members), len(curve.means)))
            if self.measured:
                log_evidence = hyper.log_evidence(curve, z[members], y, at, self._noise())
            total[members] = np.logaddexp.reduce(log_evidence, axis=1) - np.log(
                log_evidence.shape[1]
            )
            for row, i in enumerate(members):
                shares[i] = _normalised(log_evidence[row])
        return total, shares

    def _predicted(self, z: Array, structure: Index) -> Array:
        """Tempered log evidence (M, J) of each past job given the others."""
        table = np.zeros((len(z), self._jobs))
        for s, structure_ in enumerate(self.structures):
            members = np.flatnonzero(structure == s)
            if len(members):
                values = np.array([2 * len(c.units) for c in structure_.left_out])
                each = hyper.log_evidence_of_each(structure_.left_out, z[members])
                table[members] = each * np.minimum(1.0, TEMPER / values)
        return table

    def _past(self, z: Array, structure: Index) -> Array:
        """Log weight (M,) that past jobs give to members."""
        if not self._jobs:
            return np.zeros(len(z))
        table = self._predicted(z, structure) - self._norm
        return np.asarray(np.logaddexp.reduce(table, axis=1) - np.log(self._jobs))

    def _move(
        self,
        z: Array,
        structure: Index,
        free: NDArray[np.bool_],
        *,
        past: Array,
        own: Array,
    ) -> tuple[Array, Index, Array, Array]:
        """Metropolis-Hastings moves that leave the members' distribution as it is.

        Returns z, structure, past and own; the past of a ``free`` member is not looked at.
        """
        spread = np.linalg.cholesky(np.cov(z.T) + 0.02 * np.eye(self._size))
        for step in range(MOVES):
            noise = self.rng.normal(size=z.shape)
            if step % 2 == 0:  # random walk along the members' own spread
                z_new = z + 1.6 / np.sqrt(self._size) * noise @ spread.T
                gain = ((z**2).sum(axis=1) - (z_new**2).sum(axis=1)) / 2
            else:  # a step that keeps the standard normal as it is
                z_new, gain = 0.8 * z + 0.6 * noise, np.zeros(len(z))
            other = self.rng.integers(0, len(self.structures), len(z))
            s_new = np.where(self.rng.random(len(z)) < 0.3, other, structure)
            past_new = np.zeros(len(z))
            past_new[~free] = self._past(z_new[~free], s_new[~free])
            own_new = self._own(z_new, s_new)[0]
            gain = gain + np.where(free, 0.0, past_new - past) + own_new - own
            taken = np.log(self.rng.random(len(z))) < gain
            z = np.where(taken[:, None], z_new, z)
            structure = np.where(taken, s_new, structure)
            past, own = np.where(taken, past_new, past), np.where(taken, own_new, own)
        return z, structure, past, own


def _normalised(log_weights: Array) -> Array:
    """exp(log_weights) scaled to sum to 1."""
    w = np.exp(log_weights - log_weights.max())
    return np.asarray(w / w.sum())
