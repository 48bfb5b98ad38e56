"""`NoisyHypervolume`: BoTorch's qLogNEHVI over any model's draws, or up a Gaussian process.

The acquisition compares each candidate with what each draw says about the settings already told, so
that noisy results do not freeze the front, and it takes any number of objectives.  Candidates are
the settings left of a finite space, or an even sample of an endless one; where the model is our
`GaussianProcess` and a knob is a range, the gradient is climbed instead, discrete knobs enumerated.

References
----------
Daulton, Balandat, Bakshy: Parallel Bayesian optimization of multiple noisy objectives with expected
hypervolume improvement (2021).  Ament, Daulton, Eriksson, Balandat, Bakshy: Unexpected improvements
to expected improvement for Bayesian optimization (2023).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat.core.outcome import Array
from rheostat.predict.gp import quietly
from rheostat.tradeoff.propose.bridge import drawn_model, finite, first_outputs, noisy_hypervolume
from rheostat.tradeoff.propose.climb import climb, climbable
from rheostat.tradeoff.propose.modelled import Modelled
from rheostat.tradeoff.propose.view import View

_CHOICES = 1024  # candidates scored at a time


class NoisyHypervolume(Modelled):
    """Largest qLogNEHVI: BoTorch's noisy expected hypervolume improvement, on a log scale."""

    def propose(self, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        """Evenly spread settings first, then BoTorch's best, jointly for a batch."""
        free = self.free()
        if self.early() or free == []:
            return super().propose(n, rng)
        self.refit()
        if free is None and climbable(self):
            found = climb(self, n, rng)
            if len({self.key(s) for s in found if not self.taken(s)}) == n:
                return found
        if free is None:
            free = self.unseen([*self.sample(rng), *self._near_the_front(rng)], [])
        return choose(self, free, min(n, len(free)), int(rng.integers(2**31)))

    def _near_the_front(self, rng: np.random.Generator) -> list[dict[str, Any]]:
        """The surroundings of the best settings so far, where an even sample is too thin."""
        best = self.front.alternatives.rows(self.front.mask).select(self.space.names)
        centres = best.frame.rows(named=True)
        return [s for step in self.steps for s in self.around(centres, step, rng)]


def choose(
    searcher: Modelled, free: list[dict[str, Any]], n: int, seed: int
) -> list[dict[str, Any]]:
    """The ``n`` candidates of largest qLogNEHVI over the model's draws."""
    torch = require("torch", extra="bo")
    optim = require("botorch.optim", extra="bo")
    told = searcher.front.alternatives.select(searcher.space.names).frame.rows(named=True)
    view = searcher.view(free, [*searcher.pending, *told])
    waiting = len(searcher.pending)
    rows = torch.arange(len(view.settings), dtype=torch.double)[:, None]
    candidates, pending, baseline = rows.split([len(free), waiting, len(told)])
    outputs = _outputs(searcher, view)
    with torch.no_grad(), quietly(seed):
        model, sampler = drawn_model(outputs)
        acquisition = noisy_hypervolume(
            model,
            view.reference,
            baseline,
            objective=first_outputs(view.y.shape[-1]),
            constraints=[_missed(j) for j in range(view.y.shape[-1], outputs.shape[-1])],
            sampler=sampler,
            pending=pending if waiting else None,
        )
        chosen, _ = optim.optimize_acqf_discrete(
            acquisition, q=n, choices=candidates, max_batch_size=_CHOICES
        )
    return [free[int(i)] for i in chosen[:, 0]]


def _outputs(searcher: Modelled, view: View) -> Array:
    """Draws of minus the objectives, then of what is left under each limit; (s, N, m + limits)."""
    left = [
        np.broadcast_to(1.0 - view.front.draws(x.quantity) / x.most, view.y.shape[:2])[..., None]
        for x in searcher.limits
    ]
    far = float(np.abs(view.reference).max() + 10 * np.abs(view.span).max() + 10)
    return finite(np.concatenate([-view.y, *left], axis=-1), far)


def _missed(output: int) -> Any:
    """BoTorch's constraint: at most 0 where the limit holds."""
    return lambda samples: -samples[..., output]
