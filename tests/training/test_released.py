"""DRAS-PG's released scheduler, from its description: the same decisions, the same starts."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from rheostat.recipes.dras import dras
from rheostat.training.env.episode_trace import trace as prepare
from rheostat.training.rl import dras as training
from rheostat.training.rl.episode import Episode
from tests.simulation.conftest import trace
from tests.training.test_dras import SMALL, loaded

WINDOW = 4


class Released:
    """One pass per event.  A choice that does not fit is dropped: the queue is read again in order
    of arrival, and its first job is reserved, fits it or not, until it starts at a later event."""

    def __init__(self, jobs, rng):
        self.submit, self.run, self.procs, self.ask = (
            jobs.numpy(c) for c in ("submit_s", "runtime_s", "cores", "time_limit_s")
        )
        self.rng, self.start, self.told = rng, np.full(len(self.submit), np.nan), []
        self.waiting, self.ends, self.reserved, self.free, self.begun = [], [], None, SMALL, 0

    def play(self):
        arrivals = list(range(len(self.submit)))
        while arrivals or self.ends:
            if self.ends and (not arrivals or self.ends[0][0] <= self.submit[arrivals[0]]):
                now, _, job = self.ends.pop(0)
                self.free += self.procs[job]
            else:
                job = arrivals.pop(0)
                now = self.submit[job]
                self.waiting.append(job)
            self.scan(now)
        return self

    def choose(self, candidates):
        shown = candidates[:WINDOW]
        chosen = shown[self.rng.integers(len(shown))]
        self.told.append((shown, chosen))
        return chosen

    def begin(self, job, now):
        self.start[job] = now
        self.free -= self.procs[job]
        self.begun += 1
        self.ends.append((now + self.run[job], self.begun, job))
        self.ends.sort()
        self.waiting.remove(job)

    def scan(self, now):
        while self.waiting:
            first = self.waiting[0]
            chosen = first if first == self.reserved else self.choose(self.waiting)
            if self.procs[chosen] > self.free:
                self.reserved = first
                self.backfill(first, now)
                return
            self.begin(chosen, now)

    def backfill(self, first, now):
        """Jobs are tested with their true run time."""
        busy = sorted((self.start[j] + self.ask[j], self.procs[j]) for _, _, j in self.ends)
        need, room, until = self.procs[first], self.free, now
        for end, procs in busy:
            if room >= need and end > until:
                break
            room, until = room + procs, (until if room >= need else end)
        extra = room - need
        while True:
            able = [
                j
                for j in self.waiting
                if j != first
                and self.procs[j] <= self.free
                and (now + self.run[j] <= until or self.procs[j] <= extra)
            ]
            if not able:
                return
            job = self.choose(able)
            extra -= 0 if now + self.run[job] <= until else self.procs[job]
            self.begin(job, now)


def played(jobs, rng, setup):
    episode, told = Episode(prepare(jobs, SMALL), setup), []
    while not episode.over:
        view = episode.view()
        shown = episode.shown.tolist()
        slot = int(rng.integers(view.count))
        told.append((shown, shown[slot]))
        episode.choose(slot)
    return episode.starts, told


@pytest.mark.parametrize("seed", range(6))
def test_the_faithful_agent_decides_and_starts_as_the_released_scheduler(seed):
    jobs = loaded(seed)
    plain = Released(jobs, np.random.default_rng(seed)).play()
    setup = dras("dras-pg", window=WINDOW, hidden=(4, 4))
    starts, told = played(jobs, np.random.default_rng(seed), setup)
    assert told == plain.told
    assert starts.tolist() == plain.start.tolist()
    held = dras("dras-pg", window=WINDOW, hidden=(4, 4), promise="held")
    other, _ = played(jobs, np.random.default_rng(seed), held)
    assert (other != starts).any()


@pytest.mark.parametrize(
    ("promise", "starts"),
    [("held", [0, 100, 100, 200, 150]), ("first_held", [0, 100, 150, 200, 210])],
)
def test_a_first_job_that_fits_waits_for_the_next_event_where_another_was_chosen(promise, starts):
    # at 100 s the second job starts and leaves room for the third, but the fourth is chosen
    jobs = trace([0, 1, 2, 3, 150], [100, 100, 50, 10, 5], [3, 2, 2, 4, 1])
    episode = Episode(prepare(jobs, 4), dras("dras-pg", promise=promise, hidden=(4, 4)))
    while not episode.over:
        episode.view()
        episode.choose(int(np.argmax(episode.shown == 3)))
    assert episode.starts.tolist() == starts


@pytest.mark.parametrize(("promise", "all_of_them"), [("first_held", True), ("first", False)])
def test_a_dropped_choice_is_learned_from_as_the_code_of_pg_does(promise, all_of_them, monkeypatch):
    learned, step = [], training.UpdateStep
    monkeypatch.setattr(training, "UpdateStep", lambda *a: learned.append(a) or step(*a))
    setup = dras("dras-pg", window=WINDOW, hidden=(4, 4), promise=promise)
    facts = training.train([prepare(loaded(), SMALL)], setup).history[0]
    assert (len(learned) == facts["decisions"]) == all_of_them
