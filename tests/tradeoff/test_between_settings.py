"""A setting is between those that ran only if its knobs together are, not each alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import rheostat as rh
from rheostat.core.front import Front
from rheostat.core.outcome import GRADES

CORES = 256


def runs_on(cores: int) -> rh.JobTable:
    """Ranks times threads fill the cores; what fewer or more of them would do is not known."""
    ranks = [r for r in (8, 16, 32, 64, 128, 256) if cores // r in (1, 2, 4, 8, 16, 32)]
    threads = [cores // r for r in ranks]
    seconds = [40.0 + 9000.0 / cores + 6.0 * np.log2(t) for t in threads]
    half = [r // 2 for r in ranks]
    return rh.table({
        "app": ["cfd"] * 2 * len(ranks), "ranks": [*ranks, *half], "threads": [*threads, *threads],
        "runtime_s": [*seconds, *(2 * s for s in seconds)],
        "power_w": [1900.0] * len(ranks) + [1400.0] * len(ranks),
    })  # fmt: skip


def grades(front: Front) -> NDArray[np.str_]:
    assert front.outcome.grade is not None
    return np.array(GRADES)[front.outcome.grade]


def test_more_workers_than_ever_ran_are_not_chosen() -> None:
    answer = rh.front(
        runs_on(CORES), knobs=["ranks=4,8,16,32,64,128,256", "threads=1,2,4,8,16,32"],
        rule="weighted=runtime_s:1,energy_j:1",
    )  # fmt: skip
    front = answer.front
    workers = front.alternatives.numpy("ranks") * front.alternatives.numpy("threads")
    beyond = (workers > CORES) | (workers < CORES // 2)
    assert set(grades(front)[beyond]) <= {"borrowed", "none"}
    assert answer.choice.setting["ranks"] * answer.choice.setting["threads"] <= CORES


def test_the_inside_of_a_box_of_runs_is_between_them() -> None:
    settings = [(1, 1.0), (2, 2.0), (4, 1.0), (4, 4.0), (1, 4.0)]
    runs = rh.table({
        "app": ["a"] * len(settings), "nodes": [n for n, _ in settings],
        "ghz": [g for _, g in settings],
        "runtime_s": [100.0 / n / g for n, g in settings], "power_w": [n * g for n, g in settings],
    })  # fmt: skip
    answer = rh.front(runs, knobs=["nodes=1,2,4", "ghz=1,2,4"], rule="weighted=runtime_s:1")
    assert set(grades(answer.front)) == {"measured", "interpolated"}
