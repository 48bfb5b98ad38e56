"""What a request adds to a server that runs many at once: its prefill, and its part of each step.

Notation
--------
p, o  tokens of the prompt and of the answer
c     context of its o - 1 steps: p (o - 1) + o (o - 1) / 2
cost = p prefill_s + (o - 1) (base_s / batch_cap + request_s) + c context_s
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class StepTimes:
    """Seconds of a step of continuous batching.

    Parameters
    ----------
    base_s, request_s, context_s, prefill_s
        Of itself, per running request, per token in a running request's cache, per prefilled token.

    Examples
    --------
    >>> times = StepTimes(base_s=8e-3, request_s=0.0, context_s=0.0, prefill_s=1e-5)
    >>> float(times.cost_s(1000, 101, batch_cap=8))
    0.11
    """

    base_s: float = 8e-3
    request_s: float = 20e-6
    context_s: float = 22e-9
    prefill_s: float = 22e-6

    def cost_s(
        self, prompt: ArrayLike, output: ArrayLike, *, batch_cap: int
    ) -> NDArray[np.float64]:
        """Seconds that requests of these lengths add to a full batch, (n,)."""
        tokens, steps = np.asarray(prompt, float), np.asarray(output, float) - 1
        context = tokens * steps + steps * (steps + 1) / 2
        share = self.base_s / batch_cap + self.request_s
        return np.asarray(tokens * self.prefill_s + steps * share + self.context_s * context)
