"""EcoSched: which jobs share a node's GPUs, on how many each; as released, and ours beside it.

The mechanisms are `rheostat.decision.coschedule` (policies) and
`rheostat.simulation.coschedule` (what comes of them); here are the authors' settings, policies by
name, and all of them compared on a queue.

References
----------
Zheng, Papka, Lan: Towards energy efficient co-scheduling in HPC, arXiv 2604.17640 (2026); settings
are those of the logs released with the code (EcoPack).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rheostat.decision.coschedule.ecosched import EcoSched
from rheostat.decision.coschedule.expected_schedule import Planned, cost
from rheostat.decision.coschedule.gpu_profiles import Profiles, has_signals
from rheostat.decision.coschedule.list_schedules import ListSchedule, list_schedules
from rheostat.decision.coschedule.many_nodes import Matched
from rheostat.decision.coschedule.packed import Packed
from rheostat.decision.coschedule.shared_node import CoPolicy, Node, Waiting
from rheostat.decision.coschedule.simple_policies import Marble, Sequential
from rheostat.errors import DataError
from rheostat.simulation.coschedule.interference import Truth
from rheostat.simulation.coschedule.node_simulation import NodeRun, run_queue

LISTS = "list"
"""All list schedules that `list_schedules` knows; the best of them counts."""
POLICIES = ("packed", "ecosched", "ecosched-score", "marble", "sequential-fastest",
            "sequential-most", LISTS)  # fmt: skip
IDLE_W = {"V100": 43.0, "A100": 53.0, "H100": 70.0}
TOLERANCE = {"V100": 0.2, "A100": 0.2, "H100": 0.14}
ANCHOR = "pot3d"
"""The first action of the released policy had to hold this application."""


def make_policy(name: str, profiles: Profiles, idle_w: float, **options: Any) -> CoPolicy:
    """A policy by name; ``options`` are its own (tolerance, anchor, tenants, crowd, seed, ...)."""
    if name == "packed":
        return Packed(profiles, idle_w, **options)
    if name.startswith("ecosched"):
        return EcoSched(profiles, idle_w, bandit=name == "ecosched", **options)
    if name == "marble":
        return Marble(profiles, **options)
    if name.startswith("sequential-") and name.split("-")[1] in ("most", "fastest"):
        return Sequential(profiles, name.split("-")[1], **options)
    if name.startswith(f"{LISTS}-"):
        return ListSchedule(profiles, name, **options)
    raise DataError("--policy", [f"expected one of {', '.join(POLICIES)}, got {name!r}"])


def coschedule(  # noqa: PLR0913 - what a node is and what is wanted, all but three by keyword
    queue: Sequence[Waiting],
    profiles: Profiles,
    node: Node,
    *,
    candidates: Sequence[str] = POLICIES,
    plans: Sequence[Planned] = (),
    objective: str = "edp",
    nodes: int = 1,
    tenants: int = 4,
    crowd: float = 0.05,
    seed: int = 0,
) -> list[NodeRun]:
    """The queue under each candidate, simulated from profiles; the best in the objective first.

    Parameters
    ----------
    queue : sequence of Waiting
        Jobs, in order of submission.
    profiles : mapping
        Modes of each application.
    node : Node
        What they run on.
    candidates : sequence of str
        Names out of `POLICIES`.
    plans : sequence of Planned
        Plans made elsewhere for one node.
    objective : str
        "edp" (energy times makespan), "makespan" or "energy".
    nodes : int
        With several, packed matches jobs to nodes.
    tenants : int
        Most jobs on a node at once, for packed and list schedules.
    crowd : float
        Slowdown of a job per neighbour, 0.05 is 5 %.
    seed : int
        Of what packed draws.

    Returns
    -------
    list of NodeRun
        Schedules with makespan in s and energy in J, the best first.

    Notes
    -----
    Where a mode has no signal, EcoSched is given profiled runtimes instead.  The whole queue is
    known when the best is picked, later arrivals included, so the first is never worse than a plain
    list schedule where "list" is among the candidates.
    """
    mine = {a: tuple(m for m in profiles[a] if m.gpus <= node.gpus) for a in {j.app for j in queue}}
    ours: dict[str, Any] = {"tenants": tenants, "crowd": crowd, "objective": objective}
    eco = {"by": "signal" if has_signals(mine) else "runtime"}
    own = {"packed": {**ours, "seed": seed}, "ecosched": eco, "ecosched-score": eco}
    policies = [make_policy(n, mine, node.idle_w, **own.get(n, {})) for n in candidates
                if n != LISTS]  # fmt: skip
    truth = Truth(crowd=crowd)

    def run(policy: CoPolicy) -> NodeRun:
        many = None
        if nodes > 1 and policy.name == "packed":
            many = Matched(mine, node.idle_w, **ours).choose
        return run_queue(queue, policy, node, truth, nodes=nodes, chooser=many, name=policy.name)

    def price(run: NodeRun) -> float:
        return cost(objective, run.makespan_s, run.energy_j)

    runs = [run(policy) for policy in (*policies, *plans)]
    if LISTS in candidates:
        runs.append(min(map(run, list_schedules(mine, node.gpus, tenants)), key=price))
    return sorted(runs, key=price)


def gain(better: Sequence[float], worse: Sequence[float]) -> tuple[float, float, float]:
    """Percent less (energy, makespan, their product) of one outcome against another.

    >>> [round(v, 1) for v in gain((90.0, 50.0), (100.0, 100.0))]
    [10.0, 50.0, 55.0]
    """
    e, m = better[0] / worse[0], better[1] / worse[1]
    return 100 * (1 - e), 100 * (1 - m), 100 * (1 - e * m)


def coschedule_facts(
    runs: Sequence[NodeRun], node_gpus: int, nodes: int = 1, how: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Runs of one queue as data: makespans, joules, and the schedule of the first.

    Parameters
    ----------
    runs : sequence of NodeRun
        From `coschedule`, the best first.
    node_gpus, nodes : int
        GPUs of a node, and nodes.
    how : mapping, optional
        What the runs were made with: idle_w, crowd and objective, for the record.

    Returns
    -------
    dict
        Seconds, joules and joule-seconds by policy; one mapping per job of the first schedule.
    """
    policies = [
        {"policy": r.policy, "makespan_s": r.makespan_s, "energy_j": r.energy_j,
         "edp_js": r.edp_js, "mean_wait_s": float((r.jobs.numpy("start_s")
                                                   - r.jobs.numpy("submit_s")).mean())}
        for r in runs
    ]  # fmt: skip
    columns = ["job_id", "app", "node", "gpus", "gpu_ids", "submit_s", "start_s", "end_s",
               "energy_j"]  # fmt: skip
    rows = runs[0].jobs.frame.select(columns).to_dicts()
    return {"node_gpus": node_gpus, "nodes": nodes, **(how or {}), "best": runs[0].policy,
            "policies": policies, "schedule": rows}  # fmt: skip
