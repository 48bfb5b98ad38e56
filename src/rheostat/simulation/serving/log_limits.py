"""Limits of a server that nobody stated, read from a log of what it answered.

A batch cap shows as a number of requests that is never passed, and a cache as a number of tokens,
while others wait.  Each is tried in turn, with step times that fit all requests then.  It was
reached where all were answered more as it says, or those who would wait for it, however few they
are, as if they had; of several the one stands that explains the whole log best.  Where none was
reached, the log says nothing of it.  How many prompt tokens a step prefills
shows in first tokens under load.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rheostat.simulation.serving.deployment import Deployment
from rheostat.simulation.serving.log_replay import QUICK, Recording, Rows, fitted, misfit
from rheostat.simulation.serving.replica import Replica

MOST = 4000  # requests by which limits are compared
BETTER = 0.85  # misfit beside that without a limit, below which a limit was reached
WAITED = 0.1  # a first token or an answer later by this log share had to wait
UNSEEN = "first tokens are not recorded, so that the log shows no limits: state them"
FREE_CAP, FREE_TOKENS = 4096, 100_000_000
CHUNKS = (512, 1024, 4096, 8192)
"""Prompt tokens in a step that are tried beside the default: engines' own defaults among them."""
GRIDS = {"batch_cap": ((1.01, 1.02, 1.04),),
         "cache_tokens": ((0.8, 0.85, 0.9, 0.95, 1.05, 1.1), (0.96, 0.98, 1.02, 1.04))}  # fmt: skip
"""Around what was seen: prefilled requests are not seen to run, those that were put back are."""


@dataclass(frozen=True)
class Limits:
    """Of one replica; None where not known.  ``notes`` say what was read from the log."""

    batch_cap: int | None = None
    cache_tokens: int | None = None
    running: int = 0
    held: int = 0
    notes: tuple[str, ...] = ()

    def replica(self, chunk: int) -> Replica:
        """With what is not known as by default, and large enough for what was seen."""
        cap = self.batch_cap or max(Replica.batch_cap, self.running)
        tokens = self.cache_tokens or max(Replica.cache_tokens, 2 * self.held)
        return Replica(cap, tokens, chunk)


def read_limits(
    log: Recording, stated: Limits, chunk: int, place: Deployment, seed: int = 0
) -> Limits:
    """What was stated, completed by what the log shows.

    Parameters
    ----------
    log
        All requests.
    stated
        Limits that are known.
    chunk
        Prompt tokens prefilled in a step.
    place
        How many replicas answered.
    seed
        Of the search for step times.
    """
    running, held = most_at_once(log, place.replicas)
    seen = replace(stated, running=running, held=held)
    if stated.batch_cap and running > stated.batch_cap:
        seen = replace(seen, notes=(
            f"{running} requests were between first and last token at once on each server: "
            f"--batch-cap {stated.batch_cap} is too low, or there were more",))  # fmt: skip
    if (stated.batch_cap and stated.cache_tokens) or not running:
        return seen if running else replace(seen, notes=(UNSEEN,))
    part = log.first(min(MOST, len(log)))
    rows = np.arange(len(part))
    free = Replica(stated.batch_cap or FREE_CAP, stated.cache_tokens or FREE_TOKENS, chunk)
    ways = {"": free}
    if not stated.batch_cap:
        ways["batch_cap"] = replace(free, batch_cap=running)
    if not stated.cache_tokens:
        ways["cache_tokens"] = replace(free, cache_tokens=held)
    fits = {n: fitted(part, rows, r, place, generations=QUICK, seed=seed) for n, r in ways.items()}
    free, off = fits.pop("")
    shown = {n: f for n, f in fits.items()
             if f[1] < BETTER * off or waited(part, f[0], n, free, place)}  # fmt: skip
    if not shown:
        return replace(seen, notes=(*seen.notes, *_unknown(seen)))
    reached = min(shown, key=lambda n: shown[n][1])
    replica = shown[reached][0]
    for grid in GRIDS[reached]:
        at = getattr(replica, reached)
        values = sorted({max(int(at * g), running + 1) for g in grid} | {at})
        changed = [replace(replica, **{reached: v}) for v in values]
        replica = min(changed, key=lambda r: misfit(part, r, place, rows))
        replica, _ = fitted(part, rows, replica, place, generations=QUICK, seed=seed)
    best = getattr(replica, reached)
    said = {"batch_cap": f"--batch-cap {best}", "cache_tokens": f"--cache-tokens {best}"}[reached]
    read = "all requests" if len(part) == len(log) else f"the first {len(part):,} requests"
    note = f"{said} was not stated but read from {read}, those included that judge: state it"
    known = replace(seen, **{reached: best})
    return replace(known, notes=(*seen.notes, note))


def read_chunk(
    log: Recording, rows: Rows, replica: Replica, place: Deployment, seed: int = 0
) -> int:
    """Prompt tokens prefilled in a step, where first tokens show another number than the replica's.

    Parameters
    ----------
    log
        Requests, of which no others than ``rows`` are looked at.
    rows
        Those learned from.
    replica
        Its limits, and the number that stands where the log shows none.
    place
        How many replicas answered.
    seed
        Of the search for step times.
    """
    if log.blind:
        return replica.chunk
    off = {c: fitted(log, rows, replace(replica, chunk=c), place, generations=QUICK, seed=seed)[1]
           for c in (replica.chunk, *CHUNKS)}  # fmt: skip
    best = min(off, key=lambda c: off[c])
    return best if off[best] < BETTER * off[replica.chunk] else replica.chunk


def waited(log: Recording, replica: Replica, limit: str, free: Replica, place: Deployment) -> bool:
    """Whether those whom this limit keeps waiting were answered as it says, as well as others."""
    with_it = log.played(replica, place)
    without = log.played(replace(replica, **{limit: getattr(free, limit)}), place)
    later = [np.abs(np.log(with_it[n] / without[n])) for n in ("ttft", "latency")]
    rows = np.flatnonzero(np.maximum(*later) > WAITED)
    if not len(rows):
        return False
    off, everyone = (misfit(log, replica, place, r) for r in (rows, np.arange(len(log))))
    return off < min(everyone, BETTER * misfit(log, free, place, rows))


def most_at_once(log: Recording, replicas: int) -> tuple[int, int]:
    """Requests, and tokens of them, between first and last token at once, of each replica.

    Both 0 where the log has no first tokens.
    """
    first, end = log.submit + log.measured["ttft"], log.end
    if not np.isfinite(first).all():
        return 0, 0
    order = np.argsort(first)
    first, end, prompt, output = (a[order] for a in (first, end, log.prompt, log.output))
    running, held = 0, 0.0
    inside: Rows = np.empty(0, np.int64)
    for k in range(len(first)):
        inside = np.append(inside[end[inside] > first[k]], k)
        age = (first[k] - first[inside]) / np.maximum(end[inside] - first[inside], 1e-9)
        running = max(running, len(inside))
        held = max(held, float((prompt[inside] + age * output[inside]).sum()))
    return -(-running // replicas), int(-(-held // replicas))


def _unknown(limits: Limits) -> list[str]:
    names = [n for n, v in (("batch cap", limits.batch_cap), ("cache", limits.cache_tokens))
             if not v]  # fmt: skip
    seen = f"at most {limits.running} requests with {limits.held} tokens ran at once"
    said = f"{' and '.join(names)}: not stated, and not reached in this log ({seen})"
    return [f"{said}; under more load state them, and expect larger errors: step times then go "
            "beyond this log"]  # fmt: skip
