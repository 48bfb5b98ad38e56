"""Plans of small queues against the best of all orders and all numbers of GPUs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rheostat.decision.coschedule.expected_schedule import NodeSite, foresee
from rheostat.decision.coschedule.gpu_profiles import Mode
from rheostat.decision.coschedule.packed import Packed
from rheostat.decision.coschedule.shared_node import Node, NodeState, Waiting

IDLE_W = 60.0
NEAR = 1.02


def modes(name, alone_s, serial, power_w):
    """Amdahl's law, at constant watts of a busy GPU."""
    times = {g: alone_s * (1 - serial + serial / g) for g in (1, 2, 4)}
    return tuple(
        Mode(name, g, t, g * (IDLE_W + (power_w - IDLE_W) * alone_s / g / t))
        for g, t in times.items()
    )


def applications(seed, most):
    """Two to ``most`` applications, some that scale and some that do not."""
    rng = np.random.default_rng(seed)
    return {
        f"a{k}": modes(f"a{k}", rng.uniform(60, 600), rng.uniform(0.05, 0.98),
                       rng.uniform(180, 350))
        for k in range(int(rng.integers(2, most + 1)))
    }  # fmt: skip


def queue_of(profiles, count):
    names = list(profiles)
    return [Waiting(f"j{i}", names[i % len(names)]) for i in range(count)]


def gap(profiles, queue, crowd=0.0):
    """How many times the product of energy and makespan of the best plan, by trying all."""
    plan = Packed(profiles, IDLE_W, crowd=crowd)._plan(queue, NodeState(Node(idle_w=IDLE_W)))
    sites = [NodeSite(4, k, IDLE_W, crowd) for k in ((4,) if crowd == 0.0 else (4, 3, 2, 1))]
    tried, best = set(), np.inf
    for chosen in itertools.product(*(profiles[j.app] for j in queue)):
        for order in itertools.permutations(chosen):
            if order not in tried:
                tried.add(order)
                best = min(best, *(foresee(order, site).edp_js for site in sites), np.inf)
    return plan.foreseen([]).edp_js / best


def test_jobs_that_pay_only_together_on_more_gpus_are_found_there():
    # one GPU each is the best plan with one size; b and one c on two GPUs each is 8 % better
    table = {
        "c": ((1, 300, 310), (2, 165, 590), (4, 100, 1100)),
        "o": ((1, 420, 180), (2, 400, 260), (4, 390, 420)),
        "b": ((1, 500, 340), (2, 255, 660), (4, 132, 1290)),
        "f": ((1, 90, 250), (2, 70, 380), (4, 60, 640)),
    }
    profiles = {a: tuple(Mode(a, g, float(t), float(w)) for g, t, w in own)
                for a, own in table.items()}  # fmt: skip
    queue = [Waiting(f"j{i}", a) for i, a in enumerate("ccobff")]
    plan = Packed(profiles, 55.0, crowd=0.0)._plan(queue, NodeState(Node(idle_w=55.0)))
    seen = plan.foreseen([])
    assert (seen.makespan_s, seen.energy_j) == pytest.approx((465.0, 485_850.0))


@pytest.mark.parametrize("seed", [3, 41])
def test_a_local_optimum_of_single_changes_is_left(seed):
    profiles = applications(seed, 3)
    assert gap(profiles, queue_of(profiles, 5)) <= NEAR


@pytest.mark.slow
@pytest.mark.parametrize(("crowd", "near"), [(0.0, 40), (0.05, 38)])
def test_small_queues_are_planned_as_well_as_any_plan(crowd, near):
    """Where GPUs slow each other down one drawn queue in sixty is planned 2.6 % worse."""
    drawn = [applications(seed, 3) for seed in range(40)]
    gaps = np.array([gap(profiles, queue_of(profiles, 5), crowd) for profiles in drawn])
    assert (gaps <= NEAR).sum() >= near
    assert gaps.max() <= 1.04


@pytest.mark.slow
def test_six_jobs_are_planned_as_well_as_any_plan():
    profiles = applications(7, 2)
    assert gap(profiles, queue_of(profiles, 6)) <= NEAR
