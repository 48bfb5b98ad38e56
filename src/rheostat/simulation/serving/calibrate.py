"""`calibrate`: what a step of a server takes, from when it answered recorded requests.

The trace is served again with candidate step times, and these are moved until the first requests
get their tokens when they did.  Later requests are played too, since they share the batch, but when
they were answered is not looked at: they judge the result, beside two baselines that know nothing
of steps.  Limits of the server that were not stated are read from the whole log, which is noted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.errors import DataError
from rheostat.simulation.serving.deployment import Deployment
from rheostat.simulation.serving.log_limits import Limits, read_limits
from rheostat.simulation.serving.log_replay import NAMES, Recording, Rows, fitted
from rheostat.simulation.serving.replica import Array, Replica

LEARN = 100
WRONG, WORSE = 0.05, 1.5
"""Errors beyond this share, and so many times those learned, are said to be no fit."""
LONGER = 3.0
"""Prompts so many times as long as any of those learned from are said to be beyond them."""
SAID = {"ttft": "first tokens", "tpot": "times per token", "latency": "whole answers"}


@dataclass(frozen=True)
class CalibratedReplica:
    """A replica whose steps take what the recorded server's took, and how far off it is.

    Parameters
    ----------
    replica, deployment
        What to simulate with.
    learned
        How many of the first requests were learned from.
    learned_error, median_error, p90_error
        Relative errors of ``ttft``, ``tpot`` and ``latency``: medians of the requests learned from,
        and medians and 90th percentiles of the others; NaN where the log lacks first tokens.
    baselines
        Median errors of the others by name of a baseline: the median of the requests learned from
        (``median``), and a line through their numbers of tokens (``tokens``).
    notes
        What was read from the log, and what does not hold.
    """

    replica: Replica
    deployment: Deployment
    learned: int
    learned_error: dict[str, float]
    median_error: dict[str, float]
    p90_error: dict[str, float]
    baselines: dict[str, dict[str, float]]
    notes: tuple[str, ...] = ()


def calibrate(
    recorded: JobTable, learn: int | None = None, *, batch_cap: int | None = None,
    cache_tokens: int | None = None, chunk: int = Replica.chunk,
    deployment: Deployment | None = None, seed: int = 0,
) -> CalibratedReplica:  # fmt: skip
    """Step times under which the first of ``recorded`` are answered when they were.

    Parameters
    ----------
    recorded
        ``submit_s``, ``prompt_tokens``, ``output_tokens``, ``end_s`` and, where known, ``start_s``
        (first token), in order of submission.
    learn
        How many of the first requests are learned from; 100, or half of fewer, if None.
    batch_cap, cache_tokens
        What each server was started with; read from the log where None.
    chunk
        Prompt tokens prefilled in a step.
    deployment
        How many such replicas answered; one if None.  Of several the routing is learned, too: in
        turns, to the least loaded, or as one that steps together.
    seed
        Of the search for step times.

    Returns
    -------
    CalibratedReplica

    Raises
    ------
    DataError
        Fewer than two requests are left to judge by, or columns are missing.
    """
    log = Recording.of(recorded)
    count = min(LEARN, len(log) // 2) if learn is None else learn
    if not 2 <= count <= len(log) - 2:
        most = f"2 to {len(log) - 2} to learn" if len(log) > 3 else "4 requests or more"
        raise DataError("calibrate", [f"expected {most}, got {count} of {len(log)} requests"])
    known = np.arange(count)
    place = deployment or Deployment()
    limits = read_limits(log, Limits(batch_cap, cache_tokens), chunk, place, seed)
    replica, place = _learned(log, known, limits.replica(chunk), place, seed)
    played = log.played(replica, place)
    rest = np.arange(count, len(log))
    result = CalibratedReplica(
        replica, place, count, errors(log, played, known), errors(log, played, rest),
        errors(log, played, rest, 0.9),
        {name: errors(log, guess, rest) for name, guess in _baselines(log, known).items()},
    )  # fmt: skip
    notes = [*limits.notes, *_together(place, deployment), *_longer(log, count), *_verdict(result)]
    return replace(result, notes=tuple(notes))


def errors(
    log: Recording, guess: Mapping[str, Array], rows: Rows, share: float = 0.5
) -> dict[str, float]:
    """Quantile of the relative errors of these rows, by what was measured; NaN where it was not."""
    made = {}
    for name in NAMES:
        off = np.abs(guess[name] / log.measured[name] - 1.0)[rows]
        off = off[np.isfinite(off)]
        made[name] = float(np.quantile(off, share)) if len(off) else float("nan")
    return made


def _learned(
    log: Recording, known: Rows, replica: Replica, place: Deployment, seed: int
) -> tuple[Replica, Deployment]:
    """Step times, and of several replicas how they work together, from the known rows."""
    part = log.until(known)
    if place.replicas == 1 or place.prefill_replicas:
        return fitted(part, known, replica, place, seed=seed)[0], place
    n = place.replicas
    whole = replace(replica, batch_cap=replica.batch_cap * n, chunk=replica.chunk * n,
                    cache_tokens=replica.cache_tokens * n)  # fmt: skip
    ways = [(replica, replace(place, routing="least-work")),
            (replica, replace(place, routing="round-robin")), (whole, Deployment())]  # fmt: skip
    fits = [(*fitted(part, known, r, d, seed=seed), d) for r, d in ways]
    best = min(fits, key=lambda f: f[1])
    return best[0], best[2]


def _together(place: Deployment, asked: Deployment | None) -> list[str]:
    if asked is None or place.replicas == asked.replicas:
        return []
    return [f"the {asked.replicas} replicas step together, as with expert parallelism: simulate "
            "them as one that is as large as all"]  # fmt: skip


def _baselines(log: Recording, known: Rows) -> dict[str, dict[str, Array]]:
    """The median of what is known, and a line through its numbers of tokens."""
    ones = np.ones(len(log))
    tokens = np.column_stack([ones, log.prompt, log.output])
    constant, line = {}, {}
    for name in NAMES:
        values = log.measured[name]
        rows = known[np.isfinite(values[known])]
        if not len(rows):
            constant[name] = line[name] = np.full(len(log), np.nan)
            continue
        constant[name] = ones * np.median(values[rows])
        slope, *_ = np.linalg.lstsq(tokens[rows], values[rows], rcond=None)
        line[name] = np.maximum(tokens @ slope, values[rows].min())
    return {"median": constant, "tokens": line}


def _verdict(result: CalibratedReplica) -> list[str]:
    """What the requests that were not learned from say against it."""
    off, seen = result.median_error["latency"], result.learned_error["latency"]
    notes = []
    if off > WRONG and off > WORSE * seen:
        notes.append(f"does not hold for later requests: whole answers are off by {100 * off:.1f} %"
                     f" in the median, those learned from by {100 * seen:.1f} %; learn from more, "
                     "or check the limits and how many replicas there were")  # fmt: skip
    elif off > WRONG:
        notes.append(f"whole answers are off by {100 * off:.1f} % in the median: the server does "
                     "something that a replica does not have")  # fmt: skip
    notes += _nearer(result)
    return notes


def _nearer(result: CalibratedReplica) -> list[str]:
    """What a baseline that knows nothing of steps predicts better."""
    notes = []
    for quantity, off in result.median_error.items():
        name, least = min(
            ((n, e[quantity]) for n, e in result.baselines.items()), key=lambda b: b[1]
        )
        if off > least:
            notes.append(f"{SAID[quantity]}: the baseline {name!r} is nearer ({100 * least:.1f} %, "
                         f"the replica {100 * off:.1f} %)")  # fmt: skip
    return notes


def _longer(log: Recording, count: int) -> list[str]:
    """Later prompts that are far longer than those learned from."""
    seen, later = log.prompt[:count].max(), log.prompt[count:]
    beyond = int((later > LONGER * seen).sum())
    if not beyond:
        return []
    return [f"{beyond} later prompts are more than {LONGER:g} times as long as any of those "
            f"learned from ({seen:,.0f} tokens; the longest has {later.max():,.0f}): what "
            "prefilling them takes was not seen; learn from more"]  # fmt: skip
