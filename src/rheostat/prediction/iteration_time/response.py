"""What the phases of neighbours do to an iteration: recursive least squares, learned as it goes.

A neighbour that sends in bursts, once per iteration of its own, slows down whoever meets a burst.
Where in its iteration it is when ours begins is known from its last mark.  Further ahead the phase
is less and less known, and so is the answer: it fades as the spread of the phase grows.
"""

from __future__ import annotations

import numpy as np

from rheostat.core.outcome import Array
from rheostat.prediction.iteration_time.forecast import Neighbour, Surroundings

HARMONICS = 2
FADE = 0.995
"""Of past iterations, per iteration."""
RIDGE = 10.0
"""Prior precision of a weight, in iterations: the target is in scales, features are of size 1."""
OUTDATED = 0.8
"""What telemetry says of a further iteration, of what it says of the one before."""
LARGEST = 3.0
"""Errors beyond so many scales are cut: they are changes, not responses."""


class NeighbourResponse:
    """Regression of what the pattern leaves over, on phases of neighbours and the errors before.

    With ``ports`` also on the numbers about ports in `Surroundings`.
    """

    def __init__(self, *, ports: bool = False) -> None:
        self.ports, self.size = ports, 0
        self.weights, self.spread = np.zeros(0), np.zeros((0, 0))
        self.past = np.zeros(2)
        self.scale = 0.1

    def forecast(self, steps: int, log_times: Array, around: Surroundings) -> Array:
        """By how much log times differ from the pattern's ``log_times`` for each step."""
        if not self.size:
            return np.zeros(steps)
        ahead = np.concatenate([[0.0], np.cumsum(np.exp(log_times))[:-1]])
        parts = [_phases(n, ahead, self.scale) for n in around.neighbours]
        past = np.zeros((steps, 2))
        past[0], past[1:2, 1] = self.past, self.past[0]
        parts.append(past)
        if self.ports:
            parts.append(OUTDATED ** np.arange(steps)[:, None] * around.ports)
        rows = np.concatenate(parts, axis=1)
        if rows.shape[1] != self.size:
            return np.zeros(steps)
        return np.asarray(np.clip(rows @ self.weights, -LARGEST, LARGEST) * self.scale)

    def observe(self, error: float, around: Surroundings, scale: float) -> None:
        """The iteration that began in ``around`` took ``error`` more, in the logarithm."""
        row = np.concatenate([
            *(_phases(n, np.zeros(1), 0.0)[0] for n in around.neighbours), self.past,
            *([around.ports] if self.ports else []),
        ])  # fmt: skip
        if len(row) != self.size:
            self.size = len(row)
            self.weights, self.spread = np.zeros(self.size), np.eye(self.size) / RIDGE
        target = float(np.clip(error / scale, -LARGEST, LARGEST))
        gain = self.spread @ row / (FADE + row @ self.spread @ row)
        self.weights = self.weights + gain * (target - row @ self.weights)
        self.spread = (self.spread - np.outer(gain, row @ self.spread)) / FADE
        self.spread += (1.0 - FADE) * np.eye(self.size) / RIDGE
        self.past = np.array([target, self.past[0]])
        self.scale = scale


def _phases(neighbour: Neighbour, ahead_s: Array, spread: float) -> Array:
    """(steps, 2 * harmonics): sines and cosines of its phase, faded; 0 where it rests."""
    if not neighbour.running or neighbour.usual_s <= 0:
        return np.zeros((len(ahead_s), 2 * HARMONICS))
    turns = (neighbour.since_s + ahead_s) / neighbour.usual_s
    far = np.arange(len(ahead_s))
    own = ahead_s / np.maximum(far, 1) / neighbour.usual_s
    out = []
    for k in range(1, HARMONICS + 1):
        known = np.exp(-2.0 * (np.pi * k * spread * own) ** 2 * far)
        out += [known * np.sin(2 * np.pi * k * turns), known * np.cos(2 * np.pi * k * turns)]
    return np.column_stack(out)
