"""An actor: a small network that scores each waiting job alone, for A2C and PPO.

One network looks at one job and at the state of the machine, and says how good it would be to take
that job next; the same weights serve every job, so neither the number of jobs nor the size of the
machine is built in.  Only jobs that may be chosen are scored.  A second output says what the state
is worth, which is what a choice is compared with when learning.

    Symbol  Shape      Meaning
    views   (b, d)     observations of `rheostat.simulation.engine.env_view`, and `extras`
    mask    (b, w+1)   which choices are legal, the last: none
    scores  (b, w+1)   log-probabilities but for a constant; -inf where illegal
    values  (b,)       sum of later rewards, discounted and scaled, that the state promises

References
----------
Mao, Schwarzkopf, Venkatakrishnan, Meng, Alizadeh, "Learning scheduling algorithms for data
processing clusters", SIGCOMM 2019; Zhang, Dai, He, Xing, "RLScheduler", SC 2020 (one network scores
every job).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat.simulation.engine.env_layout import FEATURES, NEED, NOW, POINTS, TOTALS, WATTS
from rheostat.training.env.batch import Batch
from rheostat.training.env.episode_trace import EpisodeTrace
from rheostat.training.rl.actor_critic_config import ActorCriticConfig

torch = require("torch", extra="train")
AHEAD_S = 3600.0 * np.array([0.0, 1.0, 2.0, 4.0, 8.0, 16.0])


class ActorNetwork(torch.nn.Module):  # type: ignore[misc, name-defined]
    """The network of an `ActorCriticConfig`; first weights depend on ``seed`` alone."""

    def __init__(self, setup: ActorCriticConfig, seed: int) -> None:
        super().__init__()
        first, second = setup.hidden
        self.window, self.per_job = setup.window, FEATURES + setup.billed
        state = POINTS + TOTALS + len(AHEAD_S) * setup.billed
        shapes = {
            "job": (self.per_job, first), "state": (state, first), "both": (first, second),
            "score": (second, 1), "none": (first, 1),
            "value_state": (state, first), "value_jobs": (second, first), "value": (first, 1),
        }  # fmt: skip
        rng = torch.Generator().manual_seed(seed)
        for name, (fan, width) in shapes.items():
            layer = torch.nn.Linear(fan, width)
            gain = 0.01 if name in ("score", "none") else 2**0.5  # at first all choices are alike
            with torch.no_grad():
                torch.nn.init.orthogonal_(layer.weight, gain, generator=rng)
                layer.bias.zero_()
            setattr(self, name, layer)

    def forward(self, views: Any, mask: Any) -> tuple[Any, Any]:
        """(scores, values)."""
        jobs, state = views[:, : self.window * self.per_job], views[:, self.window * self.per_job :]
        rows, places = mask[:, :-1].nonzero(as_tuple=True)
        seen = jobs.reshape(len(views), self.window, self.per_job)[rows, places]
        situation = self.state(state)
        hidden = torch.relu(self.both(torch.relu(self.job(seen) + situation[rows])))
        none = self.none(torch.relu(situation))[:, 0]
        scores = torch.full(mask.shape, -torch.inf)
        scores[rows, places] = self.score(hidden)[:, 0]
        scores[:, -1] = torch.where(mask[:, -1], none, -torch.inf)
        pooled = torch.zeros(len(views), hidden.shape[1]).index_add(0, rows, hidden)
        pooled = pooled / mask[:, :-1].sum(1).clamp(min=1)[:, None]
        critic = torch.relu(self.value_state(state) + self.value_jobs(pooled))
        return scores, self.value(critic)[:, 0]


class Observation:
    """Observations as the network takes them, from the arrays of a `Batch`."""

    def __init__(self, setup: ActorCriticConfig, trace: EpisodeTrace, watts: float) -> None:
        """``watts``: per processor, what counts as much."""
        self.billed, self.window = setup.billed, setup.window
        if not self.billed:
            return
        trace.bill.check({"energy": 1.0}, trace.jobs[:, WATTS])
        self.share = (trace.jobs[:, WATTS] / trace.jobs[:, NEED] / watts).astype(np.float32)
        self.prices = trace.bill.carbon or trace.bill.tariff
        self.usual = 1.0 if self.prices is None else float(np.mean(self.prices.values)) or 1.0

    def views(self, batch: Batch) -> np.ndarray:
        """(count, d): a copy; with bills also each job's watts, and prices hours ahead."""
        if not self.billed:
            return batch.views.copy()
        count, cut = batch.count, FEATURES * self.window
        jobs = batch.views[:, :cut].reshape(count, self.window, FEATURES)
        own = self.share[batch.states[2]] * jobs[..., 0]
        ahead = np.zeros((count, len(AHEAD_S)), np.float32)
        if self.prices is not None:
            when = batch.real[:, NOW, None] + AHEAD_S
            ahead = (self.prices.at(when.ravel()).reshape(when.shape) / self.usual - 1).astype("f4")
        both = np.concatenate((jobs, own[..., None]), axis=2).reshape(count, -1)
        return np.concatenate((both, batch.views[:, cut:], ahead), axis=1, dtype=np.float32)
