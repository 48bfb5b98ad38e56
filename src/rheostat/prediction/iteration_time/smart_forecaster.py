"""SMART as a forecaster: trained on the first iterations, tuned online, asked one step ahead."""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat.core.outcome import Array
from rheostat.prediction.iteration_time.forecast import (
    HORIZON,
    NOTHING,
    IterationForecast,
    Surroundings,
)
from rheostat.prediction.iteration_time.interval import AdaptiveIntervals
from rheostat.prediction.iteration_time.smart_config import SmartConfig
from rheostat.prediction.iteration_time.smart_nets import make_net


class SmartForecaster:
    """The published system, or one of the nets beside it; further steps repeat the first.

    Parameters
    ----------
    features
        (iterations, ports, features): what ports did during each iteration; row t is looked at only
        after iteration t was observed.
    edges, active
        Port graph (2, e), and the ports of the application's terminals.
    train
        Iterations that are seen before the first training.
    config
        Sizes and training.
    seed
        Of weights and of the order of samples.
    horizon
        Steps of an answer.
    """

    def __init__(
        self,
        features: Array,
        edges: Any,
        active: Any,
        train: int,
        *,
        config: SmartConfig | None = None,
        seed: int = 0,
        horizon: int = HORIZON,
    ) -> None:
        self.config, self.train, self.horizon = config or SmartConfig(), train, horizon
        torch = require("torch", extra="network")
        self.torch, self.rng = torch, np.random.default_rng(seed)
        scale = features[:train].std(axis=(0, 1)) + 1e-6
        mean = features[:train].mean(axis=(0, 1))
        self.features = torch.tensor((features - mean) / scale, dtype=torch.float32)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.net = make_net(self.config, features.shape[2], edges, active, features.shape[1])
        learning = [p for p in self.net.parameters() if p.requires_grad]
        self.optimiser = torch.optim.Adam(learning, lr=self.config.rate)
        self.times: list[float] = []
        self.trained = False
        self.intervals = AdaptiveIntervals(horizon)

    @property
    def _least(self) -> int:
        return max(self.config.look_back, self.config.snapshots)

    def _log_answer(self) -> Array:
        if not self.times:
            return np.full(self.horizon, np.nan)
        if not self.trained:
            return np.full(self.horizon, np.log(self.times[-1]))
        with self.torch.no_grad():
            said = float(self._output(np.array([len(self.times)]))[0]) * self.spread + self.mean
        return np.full(self.horizon, np.log(max(said, 0.05 * self.mean)))

    def forecast(self, steps: int, around: Surroundings = NOTHING) -> IterationForecast:
        """The next iterations; until the training the last one comes again."""
        z, width = self._log_answer(), self.intervals.width(1.0)
        return IterationForecast(
            np.exp(z)[:steps], np.exp(z - width)[:steps], np.exp(z + width)[:steps]
        )

    def observe(self, time_s: float, around: Surroundings = NOTHING) -> None:
        """An iteration took so long; trains when it is time to."""
        if self.times:
            self.intervals.answered(self._log_answer(), 1.0)
            self.intervals.observe(float(np.log(time_s)))
        self.times.append(time_s)
        n = len(self.times)
        if n == max(self.train, self._least + 1):
            self.mean, self.spread = float(np.mean(self.times)), float(np.std(self.times)) + 1e-9
            self._learn(range(self._least, n), self.config.epochs)
            self.trained = True
        elif self.trained and self.config.tune_every and n % self.config.tune_every == 0:
            recent = range(max(self._least, n - self.config.tune_every), n)
            self._learn(recent, self.config.tune_steps)

    def skip(self, steps: int) -> None:
        """Iterations that nobody saw change nothing."""

    def _output(self, rows: Array) -> Any:
        """What the net says of each iteration from those before, in spreads about the mean."""
        times = (np.array(self.times) - self.mean) / self.spread
        series = np.stack([times[n - self.config.look_back : n] for n in rows])
        states = [self.features[n - self.config.snapshots : n] for n in rows]
        return self.net(self.torch.tensor(series, dtype=self.torch.float32),
                        self.torch.stack(states))  # fmt: skip

    def _learn(self, rows: range, epochs: int) -> None:
        for _ in range(epochs):
            for batch in np.array_split(self.rng.permutation(np.array(rows)), -(-len(rows) // 8)):
                truth = (np.array(self.times)[batch] - self.mean) / self.spread
                loss = (self._output(batch) - self.torch.tensor(truth)).abs().mean()
                self.optimiser.zero_grad()
                loss.backward()
                self.torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
                self.optimiser.step()
