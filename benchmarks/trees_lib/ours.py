"""Our own student of orders of the queue: agreement, regret and loss on the part held out."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.decision.policies.batch_policy import batch_policy
from rheostat.simulation.comparison.protocol import HEURISTICS
from rheostat.simulation.learned_priority.priority import LearnedPriority
from rheostat.simulation.policies.learned_policy import LearnedPolicy
from rheostat.training.distill.dagger import SETS, DistilledTree, TrainingState, imitate
from rheostat.training.distill.decision_states import DistillTrace, watched
from rheostat.training.distill.fidelity import loss
from rheostat.training.distill.slurm_weights import weights_of
from trees_lib.common import CANON, ROOT, trace
from trees_lib.perturbed import perturbed

TEACHERS = ("wfp3", "unicef", "f1", "lxf")
LEARNED = ROOT / "out" / "learned"  # files of learned orders, where they have been trained
OTHERS = {"KTH-SP2": "B", "SDSC-SP2": "A"}  # the fold of `learned.py` that did not learn from it
MOST, HELD, SEEDS, FEW = 1_000_000, 0.8, 5, 10
ORDERS = 3  # learned ones; each has its own seed
Keep = Callable[[str, dict[str, Any]], None]


class Judged:
    """A trace, and what policies make of its last fifth."""

    def __init__(self, name: str, quick: bool) -> None:
        self.jobs, self.size = trace(name, 0, 3000 if quick else MOST, CANON), CANON[name][1]
        self.trial = DistillTrace.of(self.jobs, self.size)
        submit = self.trial.load.submit_s
        self.part = submit >= submit[int(HELD * (len(submit) - 1))]
        self.submit_s = submit[self.part]

    def slowdowns(self, start: np.ndarray) -> np.ndarray:
        """Bounded slowdown of each job of that part."""
        return self.trial.slowdowns(start)[self.part]

    def waits(self, start: np.ndarray) -> np.ndarray:
        """Wait of each job of that part, s."""
        found: np.ndarray = (start - self.trial.load.submit_s)[self.part]
        return found

    def told(self, start: np.ndarray) -> dict[str, float]:
        """Of a schedule of the whole trace."""
        wait, slow = self.waits(start), self.slowdowns(start)
        return {
            "mean_bounded_slowdown": float(slow.mean()),
            "mean_wait_s": float(wait.mean()),
            "max_wait_s": float(wait.max()),
        }


def simple(name: str, keep: Keep, quick: bool) -> None:
    """Every simple order under EASY."""
    on = Judged(name, quick)
    for rule in HEURISTICS:
        keep(rule, on.told(on.trial.starts(batch_policy(rule))))


def ours(name: str, keep: Keep, quick: bool) -> None:
    """Trees of simple orders, from what any site knows."""
    on, seeds = Judged(name, quick), 1 if quick else SEEDS
    for who in TEACHERS:
        facts = _students(on, [who] * seeds, "site", quick)
        weights = weights_of(who, on.jobs, on.size, decisions=500 if quick else 2000)
        facts["multifactor"] = {"agreement": weights.agreement, "chance": weights.chance}
        facts["perturbed"] = perturbed(who, on)
        keep(who, facts)
        _show(name, who, facts)


def learned(name: str, keep: Keep, quick: bool) -> None:
    """Trees of learned orders trained on other machines, if there are any; the whole table."""
    files = sorted(LEARNED.glob(f"{OTHERS[name]}*.json"))[: 1 if quick else ORDERS]
    if not files:
        print(f"no learned order in {LEARNED}: run benchmarks/learned.py first")
        return
    facts = _students(Judged(name, quick), files, "full", quick)
    keep("learned order", facts)
    _show(name, "learned order", facts)


def _students(
    on: Judged, teachers: list[str] | list[Path], features: str, quick: bool
) -> dict[str, Any]:
    """A tree per teacher, each with its own seed; the loss of all together."""
    how = {"features": features, "rounds": 2, "decisions": 500 if quick else 2000}
    each: dict[str, list[Any]] = {"slowdowns": [], "waits": []}
    seeds, taught = [], []
    for seed, teacher in enumerate(teachers):
        begin, teaching = time.process_time(), TrainingState.of(_policy(teacher))
        found = imitate(teaching, on.jobs, on.size, seed=seed, **how)
        start = teaching.starts(on.trial)
        seeds.append(_facts(on, found) | {"cpu_s": time.process_time() - begin})
        seeds[-1]["large"] = _large(on, teaching, found, features)
        taught.append(on.told(start))
        for what, pairs in each.items():
            pairs.append([getattr(on, what)(s) for s in (found.start, start)])
        seeds[-1]["few"] = _few(*each["slowdowns"][-1])
    told = {k: loss(*np.swapaxes(np.array(v), 0, 1), on.submit_s) for k, v in each.items()}
    return {"seeds": seeds, "teachers": taught, "loss": told["slowdowns"],
            "loss_wait": told["waits"]}  # fmt: skip


def _few(mine: np.ndarray, his: np.ndarray) -> float:
    """Loss that is made by the `FEW` jobs whose slowdown changes most."""
    change = mine - his
    most = np.argsort(-np.abs(change))[:FEW]
    return float(change[most].sum() / his.sum())


def _policy(teacher: str | Path) -> str | LearnedPolicy:
    """An order's name, or the learned priority in a file."""
    if isinstance(teacher, str):
        return teacher
    return LearnedPolicy(LearnedPriority.load(teacher), teacher.stem)


def _facts(on: Judged, found: DistilledTree) -> dict[str, Any]:
    tree = found.tree
    return {
        **{k: tree.facts[k] for k in ("certificate", "loss")},
        **on.told(found.start),
        "leaves": len(tree.leaves),
        "depth": tree.depth,
        "slopes": int((tree.slope[tree.leaves] >= 0).sum(axis=1).max()),
        "asks": [f.name for f in tree.used],
    }


def _large(
    on: Judged, teaching: TrainingState, found: DistilledTree, features: str
) -> dict[str, float]:
    """Decisions whose first job, to the teacher, takes half of the machine or more.

    Their share, that of the wrong ones among them, and that of the others' wrong ones.
    """
    asked: dict[str, Any] = {"features": SETS[features], "between": (on.submit_s[0], np.inf)}
    states = watched(on.trial, found.start, teaching.score, **asked)
    first, chosen = states.best(states.value), states.best(found.tree.predict(states.x))
    assert states.job is not None
    large = 2 * on.trial.load.procs[states.job[first]] >= on.size
    wrong, other = chosen != first, ~large
    return {
        "share": float(large.mean()),
        "wrong": float(wrong[large].mean()) if large.any() else float("nan"),
        "others_wrong": float(wrong[other].mean()),
    }


def _show(name: str, who: str, facts: dict[str, Any]) -> None:
    alike = [round(s["certificate"]["agreement"]["mean"], 3) for s in facts["seeds"]]
    each = [round(s["loss"]["mean"], 3) for s in facts["seeds"]]
    print(name, who, alike, each, facts["loss"], facts.get("perturbed"), flush=True)
