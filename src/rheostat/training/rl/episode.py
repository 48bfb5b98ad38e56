"""One jobset played from an empty machine, as a DRAS agent sees it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rheostat.simulation.engine.env_layout import (
    BACKFILL,
    BUSY,
    FREE,
    NEED,
    NEXT,
    NOW,
    PHASE,
    PLAN,
    RUN,
    STARTED,
    WAITING,
)
from rheostat.training.env.batch import Batch
from rheostat.training.env.episode_trace import EpisodeRules, EpisodeTrace
from rheostat.training.env.played_trace import PlayedTrace
from rheostat.training.rl.dras_config import DrasConfig
from rheostat.training.rl.dras_state import encode_jobs, encode_nodes, list_jobs, settle


@dataclass(frozen=True)
class WindowView:
    """One decision: rows of jobs (2w, 2), rows of nodes (N, 2), and how many jobs are shown.

    ``owner`` (N,) is the job on each node, -1 if free; None where it is not told.
    """

    jobs: np.ndarray
    nodes: np.ndarray
    count: int
    owner: np.ndarray | None = None


class Episode(PlayedTrace):
    """A jobset on an empty machine; `view`, then `choose` one of the jobs shown, until ``over``.

    Nothing is skipped in a backfill: as in the released code, jobs are taken until none is left
    that may be.
    """

    def __init__(self, trace: EpisodeTrace, setup: DrasConfig) -> None:
        rules = EpisodeRules(
            window=setup.window, reward=setup.reward, episode_jobs=None, warm=False,
            backfill=setup.backfill, promise=setup.promise,
        )  # fmt: skip
        self.trace, self.setup = planned(trace, setup.plans), setup
        self._scaled, self._urgent = setup.inputs == "scaled", setup.priorities == "trace"
        super().__init__(Batch(self.trace, rules, 1, record=True), self.trace.clairvoyant)
        self._slots = np.full(setup.window, -1)
        self._owner = np.full(trace.size, -1)
        self._chosen: list[int] = []
        self._batch.step(np.zeros(1, np.int64), np.zeros(1, np.int64))

    @property
    def over(self) -> bool:
        """Have all jobs started?"""
        return bool(self._batch.ended[0, 0])

    @property
    def now_s(self) -> float:
        """Time, s."""
        return float(self._batch.real[0, NOW])

    @property
    def free(self) -> int:
        """Processors free now."""
        return int(self._batch.whole[0, FREE])

    @property
    def started(self) -> int:
        """Jobs that have started."""
        return int(self._batch.real[0, STARTED])

    @property
    def waiting(self) -> int:
        """Jobs that wait, those shown and others."""
        return int(self._batch.whole[0, WAITING])

    @property
    def backfills(self) -> bool:
        """Is a job promised its start, and is a hole before it to be filled?"""
        return bool(self._batch.whole[0, PHASE] == BACKFILL)

    @property
    def shown(self) -> np.ndarray:
        """Jobs of the last view, numbered in order of submission; (count,)."""
        return self._slots[self._slots >= 0].copy()

    @property
    def event(self) -> int:
        """Submissions and ends so far."""
        whole, real = self._batch.whole[0], self._batch.real[0]
        return int(whole[NEXT] + real[STARTED] - whole[BUSY])

    def view(self) -> WindowView:
        """What is to be decided now."""
        whole, real, window, _, _, starts = (s[0] for s in self._batch.states)
        jobs, mask, size = self.trace.jobs, self._batch.masks[0], self.trace.size
        seen = np.empty((2 * len(self._slots), 2), np.float32)
        floor = np.empty((size, 2), np.float32)
        anywhere = self.backfills and self.setup.backfill == "queue"
        count = list_jobs(jobs, whole, real, window, starts, mask, anywhere, self._slots)
        encode_jobs(jobs, real, self._slots, (size, self._scaled, self._urgent), seen)
        begun = [job for job in self._chosen if starts[job] == starts[job]]  # NaN: not yet
        self._chosen = [job for job in self._chosen if job not in begun]
        in_order = np.array(sorted(begun, key=starts.__getitem__), np.int64)
        settle(jobs, starts, self._owner, in_order, real[NOW])
        encode_nodes(jobs, real, starts, self._owner, self._scaled, floor)
        return WindowView(seen, floor, count, self._owner.copy())

    def choose(self, slot: int) -> tuple[float, bool]:
        """Choose a job of the last view: its reward, and does it start at once?"""
        job = int(self.shown[slot])
        fits = bool(self.trace.jobs[job, NEED] <= self._batch.whole[0, FREE])
        if fits or self.setup.promise != "first":
            dropped = not fits and self.setup.promise == "first_held"
            self._chosen.append(int(self.shown[0]) if dropped else job)
        self._batch.step(np.array([-2 - job]))
        return float(self._batch.rewards[0]), fits


def planned(trace: EpisodeTrace, plans: str) -> EpisodeTrace:
    """The trace with waiting jobs planned as asked: "requested", or "true" (clairvoyant)."""
    if plans == "requested":
        return trace
    jobs = trace.jobs.copy()
    jobs[:, PLAN] = jobs[:, RUN]
    return replace(trace, jobs=jobs, clairvoyant=True)
