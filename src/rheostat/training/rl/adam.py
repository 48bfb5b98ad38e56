"""Several steps of Adam in one pass over the weights, where each gradient is one sample's.

DRAS's value learning takes a step of Adam per decision, over 21 million weights, and all gradients
of one update are those of the network before it.  A gradient of one sample is an outer product, so
none has to be written out; and as all are known beforehand, every weight takes its steps one after
the other while it is at hand.  The memory is read once per update, not ten times per decision;
what comes out is what `torch.optim.Adam` gives, but for rounding.

    Symbol  Shape   Meaning
    w       (r, c)  weights; m, v are the running means of gradients and of their squares
    d       (k, r)  and
    x       (k, c)  gradient of step s: d[s] outer x[s]
    whole   (k,)    lr / (1 - beta1^t)
    root    (k,)    sqrt(1 - beta2^t)

References
----------
Kingma, Ba, "Adam: a method for stochastic optimization", ICLR 2015.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat.simulation.engine.jit import compiled

torch = require("torch", extra="train")

Array = np.ndarray
BETA1, BETA2, EPS = 0.9, 0.999, 1e-7
AT_ONCE = 1024  # columns whose weights and means stay in the first cache from step to step
# a mean that fades away ends in numbers a processor is a hundred times slower with; they move
# nothing: both are far below EPS
NO_M, NO_V = np.float32(1e-30), np.float32(1e-36)


@compiled
def _rows(
    w: Array,
    m: Array,
    v: Array,
    d: Array,
    x: Array,
    whole: Array,
    root: Array,
    fixed: tuple[Any, ...],
) -> None:
    """All steps of all rows."""
    beta1, rest1, beta2, rest2, eps, no_m, no_v = fixed
    zero = np.float32(0.0)
    for i in range(len(w)):
        for left in range(0, w.shape[1], AT_ONCE):
            right = min(left + AT_ONCE, w.shape[1])
            ws, ms, vs = w[i, left:right], m[i, left:right], v[i, left:right]
            for s in range(len(d)):
                di, lr, over = d[s, i], whole[s], root[s]
                xs = x[s, left:right]
                for j in range(len(ws)):
                    g = di * xs[j]
                    mean = beta1 * ms[j] + rest1 * g
                    square = beta2 * vs[j] + rest2 * g * g
                    mean = mean if abs(mean) > no_m else zero
                    square = square if square > no_v else zero
                    ms[j], vs[j] = mean, square
                    ws[j] -= lr * mean / (np.sqrt(square) / over + eps)


def steps(weight: Any, state: dict[str, Any], d: Any, x: Any, lr: float) -> None:
    """Take one step of Adam per row of ``d`` and ``x``; weight and state change in place."""
    if not state:
        state["step"] = torch.zeros(())
        state["exp_avg"], state["exp_avg_sq"] = (torch.zeros_like(weight) for _ in range(2))
    flat = weight.shape if weight.dim() == 2 else (1, weight.numel())
    w, m, v = (
        t.detach().view(flat).numpy() for t in (weight, state["exp_avg"], state["exp_avg_sq"])
    )
    d, x = (np.ascontiguousarray(a, np.float32) for a in (d, x))
    t = float(state["step"]) + 1 + np.arange(len(d))
    whole = (lr / (1 - BETA1**t)).astype(np.float32)
    root = np.sqrt(1 - BETA2**t).astype(np.float32)
    fixed = (*map(np.float32, (BETA1, 1 - BETA1, BETA2, 1 - BETA2, EPS)), NO_M, NO_V)
    _rows(w, m, v, d, x, whole, root, fixed)
    state["step"] += len(d)
