"""The tables about trees: of orders, of agents, and all beside the simple orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Facts = Mapping[str, Any]
ENOUGH = 0.9
CRITICAL = "critical, depth 10"
SHOWN = (CRITICAL, "all decisions, depth 10", "ours, depth 6")


def spread(value: Facts, digits: int = 1) -> str:
    """A share with its interval, in per cent."""
    told = (f"{round(100 * value[k], digits) + 0.0:.{digits}f}" for k in ("mean", "low", "high"))
    return "{} % [{}, {}]".format(*told)


def envelope(values: Sequence[Facts]) -> dict[str, float]:
    """The mean of seeds, the lowest and the highest limit of any."""
    means, low, high = ([v[k] for v in values] for k in ("mean", "low", "high"))
    return {"mean": float(np.mean(means)), "low": min(low), "high": max(high)}


def sure(seeds: Sequence[Facts], name: str) -> dict[str, float]:
    """`envelope` of a fact of the certificate."""
    return envelope([s["certificate"][name] for s in seeds])


def chance(seeds: Sequence[Facts]) -> str:
    """Agreement of drawing lots."""
    return f"{100 * np.mean([s['certificate']['chance'] for s in seeds]):.0f} %"


def span(values: Sequence[float]) -> str:
    """From least to most.

    >>> span([3, 1200, 3]), span([1, 1])
    ('3 to 1,200', '1')
    """
    ends = sorted({min(values), max(values)})
    return " to ".join(f"{v:,}" for v in ends)


def orders(found: Facts) -> list[str]:
    """Trees of orders of the queue."""
    lines = [
        "**Orders of the queue** under EASY, whole traces, users' estimates; learned on the first "
        "80 % of the jobs, everything here is of the rest. Five seeds; of the learned order three "
        "orders, trained on other machines. Agreement: the same job first; regret: share of what "
        "is at stake in a decision, in the teacher's own worth: means of the seeds, [lowest and "
        "highest limit of any seed's 95 % interval over blocks of decisions]. Loss: mean bounded "
        "slowdown against the teacher, 95 % intervals drawing weeks of jobs (or twentieths of the "
        "time, if shorter) and seeds; of it, what the ten jobs make whose slowdown changes most. "
        "Shaken: the teacher itself, each job's score larger or "
        "smaller by up to a thousandth, eight times. Trees of at most 6 questions and 8 slopes a "
        "rule; `multifactor`: agreement that fitted weights of `slurm.conf` keep.",
        "",
        "| trace | teacher | rules | slopes | agreement | lots | regret | loss "
        "| by ten jobs | loss of wait | perturbed: agreement | perturbed: loss | multifactor |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for trace, teachers in found.items():
        lines += [f"| {trace} | {name} | {_order(of)}" for name, of in teachers.items()]
    lines.append("")
    for trace, teachers in found.items():
        for name, of in teachers.items():
            if sure(of["seeds"], "agreement")["mean"] < ENOUGH:
                lines += [_wrong(f"{name} on {trace}", [s["large"] for s in of["seeds"]]), ""]
    return lines


def _wrong(name: str, large: Sequence[Facts]) -> str:
    share, wrong, other = (
        100 * np.mean([of[k] for of in large]) for k in ("share", "wrong", "others_wrong")
    )
    return (
        f"Where the tree of {name} goes wrong: in {share:.0f} % of the decisions the teacher's "
        f"first job takes half of the machine or more, and {wrong:.0f} % of these are decided "
        f"otherwise; of the others {other:.1f} %."
    )


def _order(of: Facts) -> str:
    seeds, other = of["seeds"], of.get("perturbed")
    told = [span([s["leaves"] for s in seeds]), span([s["slopes"] for s in seeds])]
    told += [spread(sure(seeds, "agreement")), chance(seeds), spread(sure(seeds, "regret"), 2)]
    few = 100 * np.mean([s["few"] for s in seeds])
    told += [spread(of["loss"]), f"{few:.1f} %", spread(of["loss_wait"])]
    told += [f"{100 * other['agreement']:.1f} %", spread(other["loss"])] if other else ["-", "-"]
    kept = of.get("multifactor", {}).get("agreement")
    told.append(f"{100 * kept['mean']:.0f} %" if kept else "-")
    return " | ".join(told) + " |"


def published(found: Facts, wide: Facts) -> list[str]:
    """Students of agents."""
    lines = [
        "**The published student** (regression of an agent's values on processors, requested time "
        "and busyness; DAgger): 10,000 jobs learned from, the next 2,500 judged. The agent is "
        "DRAS's value learning with a window of 20, layers of 128 and 64, scaled inputs, trained "
        "with three seeds (wide: 4,000 and 1,000, raw inputs, as on Theta; one seed). Loss below "
        "zero means better than the teacher; intervals as above.",
        "",
        "| trace | student | nodes | loss, wait | loss, slowdown | agreement | lots | regret "
        "| a decision | the agent's |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for trace, facts in found.items():
        lines += [f"| {trace} | {_student(n, of)}" for n, of in facts["students"].items()]
        if trace in wide:
            of_wide = wide[trace]["students"].items()
            lines += [f"| {trace} | wide: {_student(n, of)}" for n, of in of_wide]
    lines.append("")
    for trace, facts in found.items():
        lines += [_smaller(trace, facts["students"]), ""]
    return lines


def _student(name: str, of: Facts) -> str:
    seeds = of["seeds"]
    wait = [100 * s["loss"]["mean_wait_s"] for s in seeds]
    told = [name, span([s["nodes"] for s in seeds])]
    told += [f"{np.mean(wait):+.1f} % ({', '.join(f'{w:+.0f}' for w in wait)})", spread(of["loss"])]
    told += [spread(sure(seeds, "agreement")), chance(seeds), spread(sure(seeds, "regret"))]
    told += [f"{1e3 * np.mean([s[k] for s in seeds]):.2f} ms" for k in ("tree_s", "teacher_s")]
    return " | ".join(told) + " |"


def _smaller(trace: str, students: Facts) -> str:
    """What critical decisions alone make of the size, seed by seed."""
    plain, few = (
        np.array([s["nodes"] for s in students[n]["seeds"]])
        for n in ("all decisions, depth 10", CRITICAL)
    )
    each = ", ".join(f"{100 * v:+.0f} %" for v in few / plain - 1)
    return f"{trace}: nodes of a tree of critical decisions beside one of all, by seed: {each}."


def beside(facts: Facts) -> list[str]:
    """All policies over the simple order that is best in hindsight."""
    lines = [
        "**Beside the simple orders**, on the same held-out jobs: mean bounded slowdown over that "
        "of the simple order that is best in hindsight (below 1 is better; mean of seeds), and the "
        "longest wait among them, of any seed, over that of FCFS with EASY. First the last fifth "
        "of each trace, under EASY; then 2,500 jobs from an empty machine.",
        "",
        "| jobs | policy | slowdown over the best | longest wait over FCFS-EASY |",
        "|---|---|---|---|",
    ]
    for trace, simple in facts.get("simple", {}).items():
        rows: dict[str, Any] = {}
        more = facts.get("learned", {}).get(trace, {})
        for who, of in {**facts.get("ours", {}).get(trace, {}), **more}.items():
            rows |= {who: of["teachers"], f"tree of {who}": of["seeds"]}
        lines += _beside(f"{trace}, last fifth", simple, rows)
    for trace, of in facts.get("published", {}).items():
        lines += _beside(f"{trace}, 2,500 jobs", of["rules"], _agents("", of))
        more = facts.get("wide", {}).get(trace)
        lines += (
            _beside(f"{trace}, 2,500 jobs", of["rules"], _agents("wide ", more))[2:] if more else []
        )
    return [*lines, ""] if len(lines) > 4 else []


def _agents(kind: str, of: Facts) -> dict[str, Any]:
    return {f"{kind}agent": of["agents"]} | {
        f"tree of the {kind}agent: {n}": [s["student"] for s in of["students"][n]["seeds"]]
        for n in of["students"]
        if n in SHOWN
    }


def _beside(jobs: str, simple: Facts, rows: Facts) -> list[str]:
    slow = "mean_bounded_slowdown"
    best = min(simple, key=lambda n: simple[n][slow])
    bar, longest = simple[best][slow], simple["easy"]["max_wait_s"]
    named = {f"{best}, the best ({bar:.1f})": [simple[best]], "FCFS-EASY": [simple["easy"]]}
    return [
        f"| {jobs} | {name} | {np.mean([r[slow] for r in runs]) / bar:.2f} | "
        f"{max(r['max_wait_s'] for r in runs) / longest:.2f} |"
        for name, runs in {**named, **rows}.items()
    ]
