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
from rheostat._threads import one_thread
from rheostat.core.outcome import Array
from rheostat.tradeoff.limits import Limit
from rheostat.tradeoff.propose.bridge import drawn_model, finite, first_outputs, noisy_hypervolume
from rheostat.tradeoff.propose.candidate_view import CandidateView
from rheostat.tradeoff.propose.climb import climb, climbable
from rheostat.tradeoff.propose.modelled import Modelled

_TOGETHER = 512  # candidates scored at a time


class NoisyHypervolume(Modelled):
    """Largest qLogNEHVI: BoTorch's noisy expected hypervolume improvement, on a log scale."""

    rereads = True

    def propose(self, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        """Evenly spread settings first, then BoTorch's best; a batch greedily, as BoTorch does."""
        if self.listed() is None and climbable(self) and not self.early():
            self.refit()
            settings = climb(self, n, rng)
            if len({self.key(s) for s in settings if not self.taken(s)}) == n:
                return settings
        return super().propose(n, rng)

    def score(self, view: CandidateView, rng: np.random.Generator) -> Array:
        """The acquisition of each candidate over the draws of the view; no chance is involved."""
        torch = require("torch", extra="search")
        outputs = _outputs(view, self.limits)
        m = view.y.shape[-1]
        rows = torch.arange(len(view.settings), dtype=torch.double)[:, None]
        with one_thread(), torch.no_grad():
            model, sampler = drawn_model(outputs)
            acquisition = noisy_hypervolume(
                model,
                view.reference,
                rows[list(view.baseline)],
                objective=first_outputs(m),
                constraints=[_missed(j) for j in range(m, outputs.shape[-1])],
                sampler=sampler,
                pending=rows[list(view.fixed)] if view.fixed else None,
            )
            blocks = rows[: view.candidates, None].split(_TOGETHER)
            return np.asarray(torch.cat([acquisition(x) for x in blocks]).numpy())


def _outputs(view: CandidateView, limits: tuple[Limit, ...]) -> Array:
    """Draws of minus the objectives, then of what is left under each limit; (s, N, m + limits)."""
    left = [
        np.broadcast_to(1.0 - view.front.draws(x.quantity) / x.most, view.y.shape[:2])[..., None]
        for x in limits
    ]
    far = float(np.abs(view.reference).max() + 10 * np.abs(view.span).max() + 10)
    return finite(np.concatenate([-view.y, *left], axis=-1), far)


def _missed(output: int) -> Any:
    """BoTorch's constraint: at most 0 where the limit holds."""
    return lambda samples: -samples[..., output]
