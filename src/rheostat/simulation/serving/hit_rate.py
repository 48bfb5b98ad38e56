"""How much of the prompts a prefix cache held, from first tokens that came early.

A log that does not say it shows it where prompts of like length wait for their first tokens for
very unlike times: those that were computed whole give what a token takes, those that are early what
was not computed.  Step times and tokens held are fitted in turns.  A share that all prompts have in
common, such as the system's instructions, looks like a faster server, and is not seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rheostat.simulation.serving.deployment import Deployment
from rheostat.simulation.serving.log_replay import QUICK, Recording, Rows, fitted
from rheostat.simulation.serving.replica import Array, Replica

EARLY = 0.7
"""First tokens before this share of when they should come are early."""
LEAST = 0.3
"""A smaller share of a prompt is noise, not what a cache held."""
FEW = 0.1
"""Share of requests with early first tokens below which nothing is looked for."""
BETTER = 0.6
"""Misfit beside that without a prefix cache, below which there was one."""
TURNS, SETTLED = 4, 0.02


@dataclass(frozen=True)
class HitRate:
    """Share of all prompt tokens held, tokens of each prompt (n,), and how often it was better."""

    rate: float
    known: Array


def has_prefix_cache(
    log: Recording, rows: Rows, replica: Replica, deployment: Deployment, seed: int = 0
) -> bool:
    """Whether first tokens came as if prompts that begin alike were held; parameters as below."""
    stated = log.blocks is None or log.known is not None or deployment.prefix_cache_tokens
    if stated or log.blind or deployment.replicas > 1:
        return False
    held = replace(deployment, prefix_cache_tokens=replica.cache_tokens)
    part = log.until(rows)
    without, off = (fitted(part, rows, replica, d, generations=QUICK, seed=seed)[1]
                    for d in (deployment, held))  # fmt: skip
    return off < without


def read_hit_rate(
    log: Recording, rows: Rows, replica: Replica, deployment: Deployment, seed: int = 0
) -> HitRate | None:
    """What a prefix cache held of the prompts; None where the log shows none.

    Parameters
    ----------
    log
        Requests with first tokens, of which no others than ``rows`` are looked at.
    rows
        Those learned from.
    replica
        Its limits.
    deployment
        How many of them.
    seed
        Of the search for step times.
    """
    fit, without = fitted(log, rows, replica, deployment, generations=QUICK, seed=seed)
    played = log.played(fit, deployment)["ttft"][rows]
    if (log.measured["ttft"][rows] < EARLY * played).mean() < FEW:
        return None
    known, rate, off = np.zeros(len(log)), 0.0, without
    for _ in range(TURNS):
        known = _held(log, known, rows, fit, deployment)
        before, rate = rate, float(known[rows].sum() / log.prompt[rows].sum())
        held = replace(log, known=known)
        fit, off = fitted(held, rows, replica, deployment, generations=QUICK, seed=seed)
        if abs(rate - before) < SETTLED:
            break
    return HitRate(rate, known) if off < BETTER * without else None


def _held(
    log: Recording, known: Array, rows: Rows, replica: Replica, deployment: Deployment
) -> Array:
    """Tokens of each prompt that were not computed, if steps take what those of a replica do."""
    others = np.ones(len(log), bool)
    others[rows] = False
    for _ in range(3):  # who is early makes others early, too
        played = replace(log, known=known).played(replica, deployment)["ttft"]
        early = np.where(others, 0.0, played - log.measured["ttft"])
        known = np.clip(known + early / replica.prefill_s, 0.0, log.prompt - 1.0)
        known = np.where(known < LEAST * log.prompt, 0.0, known)
        known[others] = known[rows].sum() / log.prompt[rows].sum() * log.prompt[others]
    return known
