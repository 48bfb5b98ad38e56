"""When may one say that a policy is better?  A protocol, and the sentence it allows.

Any order beats first come, first served; so a policy is compared with the *best* simple order
under EASY, chosen anew, in hindsight, for each trace.  Whole traces are run, not windows.  A policy
that was fitted or tuned is judged on machines it was not fitted on, and on the later part of every
trace.  A policy that lowers the mean by letting a few jobs wait for months is not better: the
longest wait is held against that of first come, first served under EASY.  Where one of these gates
fails there is no sentence, and the gate is named.

    Symbol  Shape   Meaning
    x_pt            mean bounded slowdown of policy p on trace t
    h_t             the least x of the simple orders under EASY on t
    R_p             geometric mean over traces of x_pt / h_t; below one is better
    L       (T, m)  log ratios of m drawings of time blocks of each of T traces

The interval over traces is Student's, of the logarithms of their ratios: it is as wide as the
traces differ, and one trace has none.  `low_within` and `high_within` draw blocks of time anew, for
these very traces.  Beside the longest wait of a whole trace, which may be that of one bad week,
stands the longest in the worst of its blocks of 10,000 jobs.

References
----------
Geometric means of ratios: Fleming, Wallace, "How not to lie with statistics: the correct way to
summarize benchmark results", CACM 29, 1986.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rheostat.errors import DataError
from rheostat.simulation.comparison.as_logged import joined
from rheostat.simulation.comparison.paired_comparison import (
    BLOCK_JOBS,
    DRAWS,
    LEVEL,
    drawn_means,
    interval,
    over_traces,
)
from rheostat.simulation.comparison.replayed_ratios import Slowdowns, replayed_ratio, slowdowns
from rheostat.simulation.comparison.sweep import Task, policy_name, trace_name

Array = np.ndarray
BASE = "easy"
ORDERS = ("sjf", "saf", "sqf", "lxf", "wfp3", "unicef", "f1", "f2", "f3", "f4")
HEURISTICS = (BASE, *(f"{o}+easy" for o in ORDERS))
GATES = {
    "unseen": "there are traces that the policy was not fitted on",
    "better": "on these, the whole interval of the ratio is below one, and so it is over replays",
    "later": "on the later part of all traces the ratio is below one",
    "max wait": "no trace's longest wait is beyond the limit",
    "known": "planned with what is known at submission, but for a hundredth of the jobs",
}
TOLERATED = 0.01
Results = Mapping[Task, Mapping[str, Any]]


@dataclass(frozen=True)
class ComparisonProtocol:
    """What is compared and how; ``fitted`` names the traces each policy was fitted or tuned on."""

    policies: tuple[str, ...]
    heuristics: tuple[str, ...] = HEURISTICS
    fitted: Mapping[str, frozenset[str]] = field(default_factory=dict)
    max_wait: float = 1.5
    seed: int = 0
    draws: int = DRAWS
    level: float = LEVEL

    @property
    def everything(self) -> tuple[str, ...]:
        """All policies that must be run, each once."""
        return tuple(dict.fromkeys((*self.policies, *self.heuristics, BASE)))


def fitted_of(texts: Sequence[str]) -> dict[str, frozenset[str]]:
    """From ``POLICY=trace,trace``; ``POLICY=all`` is fitted on every trace.

    >>> sorted(fitted_of(["mine+easy=a,b.swf.gz"])["mine+easy"])
    ['a', 'b']
    """
    fitted = {}
    for text in texts:
        policy, equals, traces = text.rpartition("=")
        if not equals or not policy or not traces:
            raise DataError("--fitted", [f"expected POLICY=TRACE,TRACE or POLICY=all, got {text}"])
        names = (trace_name(t.strip()) for t in traces.split(","))
        fitted[policy_name(policy)] = frozenset(n for n in names if n)
    return fitted


def judge(results: Results, rules: ComparisonProtocol) -> dict[str, Any]:
    """Ratios, gates and claims from the results of a sweep over ``rules.everything``."""
    grid: dict[str, dict[str, Mapping[str, Any]]] = {}
    slow = slowdowns(results)
    for task, result in results.items():
        if task.replay:
            continue
        grid.setdefault(trace_name(task.trace), {})[task.policy] = result
    grid = dict(sorted(grid.items()))
    check_fitted(rules, list(grid))
    traces = {name: _trace_facts(of, rules) for name, of in grid.items()}
    return {
        "protocol": {
            "base": BASE,
            "heuristics": list(rules.heuristics),
            "max_wait_limit": rules.max_wait,
            "seed": rules.seed,
            "draws": rules.draws,
            "level": rules.level,
            "gates": GATES,
        },
        "policies": {p: _policy_facts(p, grid, traces, slow, rules) for p in rules.policies},
        "traces": traces,
    }


def check_fitted(rules: ComparisonProtocol, names: Sequence[str]) -> None:
    """A `DataError` where ``rules.fitted`` names a trace or a policy that is not there."""
    odd = sorted(set().union(*rules.fitted.values()) - {*names, "all"}) if rules.fitted else []
    strange = sorted(set(rules.fitted) - set(rules.policies))
    problems = [f"trace {n} is not among {', '.join(names)}" for n in odd]
    problems += [f"policy {p} is not among {', '.join(rules.policies)}" for p in strange]
    if problems:
        raise DataError("--fitted", problems)


def _trace_facts(of: Mapping[str, Any], rules: ComparisonProtocol) -> dict[str, Any]:
    """The bar on one trace: the best order, and the best whose longest wait is within limits."""
    base = of[BASE]
    facts: dict[str, Any] = {"procs": base["procs"], "jobs": base["whole"]["jobs"]}
    facts["logged"] = joined(of[p]["logged"] for p in rules.everything)
    for part in ("whole", "later"):
        limit = rules.max_wait * base[part]["wait_s"]["max"]
        slow = {h: of[h][part]["bounded_slowdown"]["mean"] for h in rules.heuristics}
        kept = {h: x for h, x in slow.items() if of[h][part]["wait_s"]["max"] <= limit}
        best = min(slow, key=lambda h: (slow[h], h))
        held = min(kept, key=lambda h: (kept[h], h)) if kept else None
        facts[part] = {
            "base_slowdown": base[part]["bounded_slowdown"]["mean"],
            "base_max_wait_s": base[part]["wait_s"]["max"],
            "best": best,
            "best_slowdown": slow[best],
            "best_within_limit": held,
            "best_within_limit_slowdown": kept[held] if held else None,
        }
    facts["policies"] = {p: _without_blocks(of[p]) for p in rules.everything}
    return facts


def _without_blocks(result: Mapping[str, Any]) -> dict[str, Any]:
    whole, after = ({k: v for k, v in result[p].items() if k != "blocks"} for p in PARTS)
    known = {k: result[k] for k in ("clairvoyant", "clairvoyant_share")}
    return {**known, **whole, "later": after}


PARTS = ("whole", "later")


def _policy_facts(
    policy: str,
    grid: Mapping[str, Any],
    traces: Mapping[str, Any],
    slow: Slowdowns,
    rules: ComparisonProtocol,
) -> dict[str, Any]:
    fitted = rules.fitted.get(policy, frozenset())
    unseen = [] if "all" in fitted else [t for t in grid if t not in fitted]
    facts: dict[str, Any] = {
        "fitted_on": sorted(fitted),
        "whole": _ratio(policy, list(grid), grid, traces, part="whole", rules=rules),
        "later": _ratio(policy, list(grid), grid, traces, part="later", rules=rules),
        "unseen": _ratio(policy, unseen, grid, traces, part="whole", rules=rules),
    }
    if any(len(x) > 1 for x in slow[next(iter(grid))].values()):
        facts["replayed"] = {
            "whole": replayed_ratio(policy, slow, rules.heuristics, list(grid), rules.level),
            "unseen": replayed_ratio(policy, slow, rules.heuristics, unseen, rules.level),
        }
    waits = {t: _longest(policy, grid[t]) for t in grid}
    worst = max(waits, key=lambda t: waits[t])
    facts |= {"max_wait_ratio": waits[worst], "max_wait_trace": worst}
    blocks = {t: _longest_by_block(policy, grid[t]) for t in grid}
    worst = max(blocks, key=lambda t: blocks[t])
    facts |= {"block_wait_ratio": blocks[worst], "block_wait_trace": worst}
    facts["gates"] = _gates(policy, facts, grid, rules)
    failed = [g["gate"] for g in facts["gates"] if not g["passed"]]
    facts["claim"] = None if failed else _claim(policy, facts["unseen"], rules)
    facts["failed"] = failed
    return facts


def _longest(policy: str, of: Mapping[str, Any]) -> float:
    """Longest wait of a policy over that of the base, the worse of the whole and the later part."""
    pairs = [(of[policy][p]["wait_s"]["max"], of[BASE][p]["wait_s"]["max"]) for p in PARTS]
    return _worst(pairs)


def _longest_by_block(policy: str, of: Mapping[str, Any]) -> float:
    """The same for the worst block of jobs of the whole trace."""
    mine, base = (of[p]["whole"]["blocks"]["longest_wait_s"] for p in (policy, BASE))
    return _worst(list(zip(mine, base, strict=True)))


def _worst(pairs: Sequence[tuple[float, float]]) -> float:
    return max(1.0 if a == b else a / b if b > 0 else float("inf") for a, b in pairs)


def _ratio(
    policy: str,
    names: Sequence[str],
    grid: Mapping[str, Any],
    traces: Mapping[str, Any],
    *,
    part: str,
    rules: ComparisonProtocol,
) -> dict[str, Any] | None:
    """R of one policy over some traces, with two intervals; None over none."""
    if not names:
        return None
    logs, held, drawn = [], [], []
    for i, name in enumerate(names):
        bar, mine = traces[name][part], grid[name][policy][part]
        x = mine["bounded_slowdown"]["mean"]
        logs.append(np.log(x / bar["best_slowdown"]))
        held.append(np.log(x / (bar["best_within_limit_slowdown"] or bar["base_slowdown"])))
        drawn.append(_drawn(mine, grid[name][bar["best"]][part], rules, stream=i))
    within = interval(np.exp(np.mean(drawn, axis=0)), rules.level)
    ratio, low, high = over_traces(np.array(logs), rules.level)
    return {
        "traces": len(names),
        "ratio": ratio,
        "low": low,
        "high": high,
        "low_within": within[0],
        "high_within": within[1],
        "ratio_to_best_within_limit": float(np.exp(np.mean(held))),
        "by_trace": dict(zip(names, np.exp(logs).tolist(), strict=True)),
    }


def _drawn(
    mine: Mapping[str, Any], best: Mapping[str, Any], rules: ComparisonProtocol, *, stream: int
) -> Array:
    """(m,) log ratios over drawn time blocks; both policies are drawn the same blocks."""
    blocks = mine["blocks"], best["blocks"]
    sums = np.stack([b["bounded_slowdown"] for b in blocks], axis=1)
    count = np.asarray(blocks[0]["jobs"], float)
    seed = int(np.random.SeedSequence([rules.seed, stream]).generate_state(1)[0])
    means = drawn_means(count, sums, seed=seed, draws=rules.draws)
    log_ratios: Array = np.log(means[:, 0] / means[:, 1])
    return log_ratios


def _gates(
    policy: str, facts: Mapping[str, Any], grid: Mapping[str, Any], rules: ComparisonProtocol
) -> list[dict[str, Any]]:
    """Each condition of a claim, whether it holds, and its figures; `GATES` has their words."""
    unseen, after = facts["unseen"], facts["later"]
    known = max(grid[t][policy]["clairvoyant_share"] for t in grid)
    moved = facts["replayed"]["unseen"] if "replayed" in facts else None
    reached = [part for part in (unseen, moved) if part is not None]
    better = unseen is not None and all(part["high"] < 1 for part in reached)
    worst = facts["max_wait_ratio"]
    ratio = ", over replays ".join(f"{p['ratio']:.3f}, {_reach(p['high'])}" for p in reached)
    rows = (
        ("unseen", unseen is not None, "no trace that it was not fitted on"
         if unseen is None else f"{unseen['traces']} traces it was not fitted on"),
        ("better", better,
         f"ratio to the best simple order {ratio or 'none'}, where it was not fitted"),
        ("later", after["ratio"] < 1, f"ratio to it {after['ratio']:.3f} on the later part"),
        ("max wait", worst <= rules.max_wait,
         f"longest wait {worst:.3g} times that of EASY on {facts['max_wait_trace']}, "
         f"limit {rules.max_wait:.3g}; in the worst block of {BLOCK_JOBS:,} jobs "
         f"{facts['block_wait_ratio']:.3g} times, on {facts['block_wait_trace']}"),
        ("known", known <= TOLERATED,
         f"up to {100 * known:.3g} % of the jobs of a trace planned with their true run time"),
    )  # fmt: skip
    return [{"gate": g, "passed": bool(ok), "found": words} for g, ok, words in rows]


def _reach(high: float) -> str:
    """How far an interval reaches in words; of a single trace there is none."""
    return f"at most {high:.3f}" if math.isfinite(high) else "of one trace without interval"


def _claim(policy: str, unseen: Mapping[str, Any], rules: ComparisonProtocol) -> str:
    less, low, high = (100 * (1 - unseen[k]) for k in ("ratio", "high", "low"))
    count = unseen["traces"]
    return (
        f"{policy}: mean bounded slowdown {less:.1f} % below the best simple order under EASY "
        f"({100 * rules.level:.0f} % interval {low:.1f} to {high:.1f} %; geometric mean over "
        f"{count} trace{'' if count == 1 else 's'}), no job waiting longer than "
        f"{rules.max_wait:.3g} times the longest wait under FCFS with EASY."
    )
