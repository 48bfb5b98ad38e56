"""What a learned order knows of a waiting job: numbers that mean the same on any machine.

A policy moves from one machine to another only if what it sees does.  So sizes are shares of the
machine, times are on a log scale, and the queue appears as sums over its jobs, however many there
are.  Nothing is known before its time: of run times only those of jobs that have *ended* count.
They predict: a job is like the user's jobs of the same size and request, these like all of the
user's, and these like everybody's, each as far as there are any.

    Symbol   Shape   Meaning
    x        (m, F)  features of the m waiting jobs, in order of arrival; columns as in `FEATURES`
    table    (n, 6)  submission s, run time s, processors, request s, user, kind: columns as below
    memory   (k, 6)  of users, then kinds, then all: jobs ended, mean log run / request, mean log
                     run, mean 1 / max(run, 10 s), last log run, mean run / request
    profile  (r, 2)  expected ends of running jobs, s, ascending; processors free from then on
    free, size       processors free now, and of the machine

Run times of a user change with the work: a mean forgets, newest eighth (`FORGET`).

References
----------
Users repeat themselves: Tsafrir, Etsion, Feitelson, IEEE TPDS 2007.  Sums over a set as the way to
see any number of things: Zaheer et al., "Deep sets", NeurIPS 2017.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rheostat.simulation.learned_priority.compiled import lent
from rheostat.simulation.learned_priority.machine_state import shadow_time


class QueueFeature(NamedTuple):
    """``words`` complete "the job with the smaller (or larger) ..."; ``queue``: same for all."""

    name: str
    unit: str
    words: str
    queue: bool = False


FEATURES = (
    QueueFeature("ask", "ln s", "requested walltime"),
    QueueFeature("share", "ln", "requested share of the machine"),
    QueueFeature("predicted", "ln s", "predicted run time"),
    QueueFeature("brief", "ln s", "predicted run time (harmonic mean, at least 10 s)"),
    QueueFeature("last", "ln s", "run time of the user's previous job"),
    QueueFeature("known", "ln(1 + jobs)", "finished jobs of the user"),
    QueueFeature("wait", "ln(1 + min)", "wait time"),
    QueueFeature("grown", "ln(1 + wait / ask)", "wait time / requested walltime"),
    QueueFeature("slowed", "ln(1 + wait / brief)", "wait time / predicted run time"),
    QueueFeature("fits", "0 or 1", "fits the free processors"),
    QueueFeature("hold", "ln(1 + min)", "time until enough processors are free"),
    QueueFeature("mine", "ln(1 + jobs)", "queued jobs of the user"),
    QueueFeature("older", "0 to 1", "share of the queue that arrived earlier"),
    QueueFeature("area", "ln", "predicted area (run time x processors) / mean of the queue"),
    QueueFeature("brevity", "ln", "predicted run time / mean of the queue"),
    QueueFeature("free", "0 to 1", "free share of the machine", True),
    QueueFeature("queue", "ln(1 + jobs)", "queue length", True),
    QueueFeature("load", "ln(1 + h)", "queued work (hours of the whole machine)", True),
    QueueFeature("delay", "ln(1 + min)", "mean wait time of the queue", True),
)
NAMES = tuple(f.name for f in FEATURES)
F = len(FEATURES)
(ASK, SHARE, PREDICTED, BRIEF, LAST, KNOWN, WAIT, GROWN, SLOWED, FITS, HOLD, MINE, OLDER, AREA,
 BREVITY, FREE, QUEUE, LOAD, DELAY) = range(F)  # fmt: skip

Array = np.ndarray
SUBMIT, RUN, PROCS, REQUEST, USER, KIND = range(6)
ENDED, RATIO, LOGRUN, RATE, NEWEST, USED = range(6)
FORGET = 1 / 8
SHORTEST_S = 10.0  # of the bounded slowdown
OF_KIND, OF_USER = 1.0, 2.0  # jobs that what is known of the user, and of all, counts as


def table(submit: Array, run: Array, procs: Array, ask: Array, user: Array) -> tuple[Array, Array]:
    """(``table``, an empty ``memory``) of jobs in order of submission, arrays of shape (n,).

    A kind is the jobs of one user with the same size and request.
    """
    columns = [np.asarray(c, float) for c in (submit, run, procs, np.maximum(ask, 1.0))]
    number = np.unique(user, return_inverse=True)[1]
    alike = np.stack([number, columns[2], columns[3]], axis=1)
    kind = np.unique(alike, axis=0, return_inverse=True)[1].reshape(-1)
    users = int(number.max()) + 1
    made = np.stack([*columns, number, users + kind], axis=1)
    return np.ascontiguousarray(made), np.zeros((users + int(kind.max()) + 2, 6))


@lent
def remember(memory: Array, job: Array) -> None:
    """A job (a row of ``table``) has ended: from now on its run time is known."""
    run = max(job[RUN], 1.0)
    for k in (int(job[USER]), int(job[KIND]), len(memory) - 1):
        seen = memory[k]
        seen[ENDED] += 1
        part = max(1 / seen[ENDED], FORGET)
        seen[RATIO] += part * (np.log(run / job[REQUEST]) - seen[RATIO])
        seen[LOGRUN] += part * (np.log(run) - seen[LOGRUN])
        seen[RATE] += part * (1 / max(run, SHORTEST_S) - seen[RATE])
        seen[USED] += part * (min(run / job[REQUEST], 1.0) - seen[USED])
        seen[NEWEST] = np.log(run)


@lent
def recall(row: Array, memory: Array, job: Array) -> None:
    """Write what ended jobs tell of a waiting one; anew whenever a job of its user ends."""
    user, kind, everybody = memory[int(job[USER])], memory[int(job[KIND])], memory[-1]
    ask, n, m = np.log(job[REQUEST]), user[ENDED], kind[ENDED]
    ratio = (n * user[RATIO] + OF_USER * everybody[RATIO]) / (n + OF_USER)
    row[PREDICTED] = (m * kind[LOGRUN] + OF_KIND * (ask + ratio)) / (m + OF_KIND)
    fair = everybody[RATE] if everybody[ENDED] else 1 / max(job[REQUEST], SHORTEST_S)
    rate = (n * user[RATE] + OF_USER * fair) / (n + OF_USER)
    row[BRIEF] = -np.log((m * kind[RATE] + OF_KIND * rate) / (m + OF_KIND))
    row[LAST] = user[NEWEST] if n else row[PREDICTED]
    row[KNOWN] = np.log1p(n)


@lent
def expect(memory: Array, job: Array) -> float:
    """The run time expected of a job (arithmetic mean), s; what it asked for while none ended."""
    user, everybody = memory[int(job[USER])], memory[-1]
    expected: float = job[REQUEST]
    if everybody[ENDED] > 0:
        n = user[ENDED]
        expected = job[REQUEST] * (n * user[USED] + OF_USER * everybody[USED]) / (n + OF_USER)
    return expected


@lent
def enter(row: Array, memory: Array, job: Array, size: int) -> None:
    """Write what does not change while the job waits, and what is known of it now."""
    row[ASK], row[SHARE] = np.log(job[REQUEST]), np.log(job[PROCS] / size)
    recall(row, memory, job)


@lent
def look(
    x: Array,
    queue: Array,
    table: Array,
    mine: Array,
    now: float,
    place: tuple[int, int, Array, int],
) -> None:
    """Write the features that change with time; ``queue`` numbers the m jobs, as they arrived.

    ``mine`` counts the waiting jobs of each user; ``place`` is (free, size, profile, running).
    """
    free, size, profile, running = place
    m = len(queue)
    work = wait = area = brevity = 0.0
    for k in range(m):
        row, job = x[k], table[queue[k]]
        work += np.exp(row[PREDICTED] + row[SHARE])
        wait += now - job[SUBMIT]
        area += row[PREDICTED] + row[SHARE]
        brevity += row[PREDICTED]
    shown = free / size, np.log1p(m), np.log1p(work / 3600.0), np.log1p(wait / m / 60.0)
    for k in range(m):
        row, job = x[k], table[queue[k]]
        waited = now - job[SUBMIT]
        row[WAIT], row[GROWN] = np.log1p(waited / 60.0), np.log1p(waited / job[REQUEST])
        row[SLOWED] = np.log1p(waited * np.exp(-row[BRIEF]))
        row[FITS] = 1.0 if job[PROCS] <= free else 0.0
        row[HOLD] = 0.0
        if job[PROCS] > free:
            when, _ = shadow_time(profile, running, job[PROCS])
            row[HOLD] = np.log1p(max(when - now, 0.0) / 60.0)
        row[MINE], row[OLDER] = np.log1p(mine[int(job[USER])]), k / m
        row[AREA] = row[PREDICTED] + row[SHARE] - area / m
        row[BREVITY] = row[PREDICTED] - brevity / m
        row[FREE], row[QUEUE], row[LOAD], row[DELAY] = shown
