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
from rheostat.simulation.serving.hit_rate import has_prefix_cache, read_hit_rate
from rheostat.simulation.serving.log_limits import (
    FREE_CAP,
    FREE_TOKENS,
    Limits,
    read_chunk,
    read_limits,
)
from rheostat.simulation.serving.log_replay import NAMES, Recording, Rows, fitted
from rheostat.simulation.serving.replica import Array, Replica

LEARN = 100
WRONG, WORSE = 0.05, 1.5
"""Errors beyond this share, and so many times those learned, are said to be no fit."""
LONGER = 3.0
"""Prompts so many times as long as any of those learned from are said to be beyond them."""
CALLS = 5
"""Tool calls among those learned from, from which the delay of their first tokens is read."""
SAID = {"ttft": "first tokens", "tpot": "times per token", "latency": "whole answers"}


EXCHANGED = 0.005
"""Relative error of times between tokens by which two ways to share a cost are told apart."""


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
    hit_rate
        Share of prompt tokens that a prefix cache held, where it was stated or read from when first
        tokens came; 0 where the log says what was held, or has the blocks of prompts.
    """

    replica: Replica
    deployment: Deployment
    learned: int
    learned_error: dict[str, float]
    median_error: dict[str, float]
    p90_error: dict[str, float]
    baselines: dict[str, dict[str, float]]
    notes: tuple[str, ...] = ()
    hit_rate: float = 0.0


def calibrate(
    recorded: JobTable, learn: int | None = None, *, batch_cap: int | None = None,
    cache_tokens: int | None = None, chunk: int | None = None,
    deployment: Deployment | None = None, hit_rate: float | None = None, seed: int = 0,
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
        Prompt tokens prefilled in a step; if None, 2048 or what first tokens show.
    deployment
        How many such replicas answered; one if None.  Of several the routing is learned, too: in
        turns, to the least loaded, or as one that steps together.  Where the log has
        ``prefix_blocks`` and no ``prefix_cache_tokens`` are stated, a prefix cache as large as the
        cache is tried.
    hit_rate
        Share of prompt tokens that a prefix cache held; if None, and the log says nothing of it,
        read from when first tokens came, where they show it.
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
    stated = hit_rate if log.known is None else None
    log = log if stated is None else log.with_hit_rate(stated)
    size = chunk or Replica.chunk
    at_first = Replica(batch_cap or FREE_CAP, cache_tokens or FREE_TOKENS, size)
    caches = has_prefix_cache(log, known, at_first, place, seed)
    place = replace(place, prefix_cache_tokens=at_first.cache_tokens) if caches else place
    part, read = log.until(known), 0.0
    asked = Limits(batch_cap, cache_tokens)
    limits = read_limits(log, asked, size, place, seed)
    if chunk is None:
        size = read_chunk(part, known, limits.replica(size), place, seed)
        limits = limits if size == Replica.chunk else read_limits(log, asked, size, place, seed)
    server = limits.replica(size)
    place = replace(place, prefix_cache_tokens=server.cache_tokens) if caches else place
    if hit_rate is None and log.known is None and not place.prefix_cache_tokens and not log.blind:
        hits = read_hit_rate(part, known, server, place, seed)
        if hits is not None:
            part, read = replace(part, known=hits.known), hits.rate
            log = log.with_hit_rate(read)
    replica, place = _learned(part, known, server, place, seed)
    replica = _tool_delay(part, known, replica, place)
    played = log.played(replica, place)
    rest = np.arange(count, len(log))
    result = CalibratedReplica(
        replica, place, count, errors(log, played, known), errors(log, played, rest),
        errors(log, played, rest, 0.9),
        {name: errors(log, guess, rest) for name, guess in _baselines(log, known).items()},
        hit_rate=stated or read,
    )  # fmt: skip
    notes = [*limits.notes, *_chunk(size, chunk), *_together(place, deployment),
             *_held(read, place, deployment), *_longer(log, count), *_verdict(result),
             *(_not_apart(log, result, known) if limits.notes else [])]  # fmt: skip
    return replace(result, notes=tuple(notes))


def errors(
    log: Recording, guess: Mapping[str, Array], rows: Rows, share: float = 0.5
) -> dict[str, float]:
    """Quantile of the relative errors of these rows, by what was measured; NaN where it was not."""
    made = {}
    for name in NAMES:
        with np.errstate(divide="ignore", invalid="ignore"):  # a whole answer at once: no time each
            off = np.abs(guess[name] / log.measured[name] - 1.0)[rows]
        off = off[np.isfinite(off)]
        made[name] = float(np.quantile(off, share)) if len(off) else float("nan")
    return made


def _learned(
    part: Recording, known: Rows, replica: Replica, place: Deployment, seed: int
) -> tuple[Replica, Deployment]:
    """Step times, and of several replicas how they work together, from the known rows."""
    if place.replicas == 1 or place.prefill_replicas:
        return fitted(part, known, replica, place, seed=seed)[0], place
    n = place.replicas
    whole = replace(replica, batch_cap=replica.batch_cap * n, chunk=replica.chunk * n,
                    cache_tokens=replica.cache_tokens * n)  # fmt: skip
    ways = [(replica, replace(place, routing="least-work")),
            (replica, replace(place, routing="round-robin")),
            (whole, Deployment(prefix_cache_tokens=place.prefix_cache_tokens * n))]  # fmt: skip
    fits = [(*fitted(part, known, r, d, seed=seed), d) for r, d in ways]
    best = min(fits, key=lambda f: f[1])
    return best[0], best[2]


def _held(read: float, place: Deployment, asked: Deployment | None) -> list[str]:
    if read:
        return [
            f"--hit-rate {read:.2f} was read from when first tokens came: about so much of "
            "the prompts was in a prefix cache; cached_tokens in the log would say it exactly"
        ]
    if place.prefix_cache_tokens and not (asked and asked.prefix_cache_tokens):
        return [f"--prefix-cache {place.prefix_cache_tokens} was not stated: prompts that begin "
                "alike have early first tokens"]  # fmt: skip
    return []


def _chunk(size: int, stated: int | None) -> list[str]:
    if size == (stated or Replica.chunk):
        return []
    return [f"--chunk {size} was not stated: first tokens come as if a step prefilled so many "
            "prompt tokens; state it"]  # fmt: skip


def _tool_delay(part: Recording, known: Rows, replica: Replica, place: Deployment) -> Replica:
    """With the median delay of first tokens of tool calls."""
    calls = known[part.calls[known]] if part.calls is not None else known[:0]
    if len(calls) < CALLS or part.blind:
        return replica
    late = (part.measured["ttft"] - part.played(replica, place)["ttft"])[calls]
    return replace(replica, tool_delay_s=max(0.0, float(np.median(late))))


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


def _not_apart(log: Recording, result: CalibratedReplica, known: Rows) -> list[str]:
    """Whether a running request's own cost and that of its cached tokens can be exchanged.

    Few requests at once differ little in how much each has cached; where far more run, or far
    longer ones, the two differ.  Asked where a limit of the server was not seen in the log.
    """
    replica, seen = result.replica, result.learned_error["tpot"]
    tokens = float((log.prompt + log.output / 2)[known].mean())
    each_s = replica.request_s + tokens * replica.context_s
    if not each_s > 0 or not np.isfinite(seen):
        return []
    others = (replace(replica, request_s=each_s, context_s=0.0),
              replace(replica, request_s=0.0, context_s=each_s / tokens))  # fmt: skip
    off = [errors(log, log.played(r, result.deployment), known)["tpot"] for r in others]
    if min(o for r, o in zip(others, off, strict=True) if _far(r, replica)) > seen + EXCHANGED:
        return []
    return [f"what a running request costs a step and what its cached tokens cost are not told "
            f"apart by this log, which they share in other ways as well: together "
            f"{1e3 * each_s:.3g} ms for one of {tokens:,.0f} tokens; with far more at once, or far "
            "longer ones, forecasts are less sure"]  # fmt: skip


def _far(other: Replica, replica: Replica) -> bool:
    """Whether a request's own cost is another one there."""
    return abs(other.request_s - replica.request_s) > max(other.request_s, replica.request_s) / 2
