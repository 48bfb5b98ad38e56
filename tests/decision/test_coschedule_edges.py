"""Co-scheduling at its edges: what just fits, what is equally good, what a solver is asked for."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.decision.coschedule.constraint_programme import _solved
from rheostat.decision.coschedule.expected_schedule import NodeSite, Planned, foresee
from rheostat.decision.coschedule.gpu_profiles import Mode
from rheostat.decision.coschedule.many_nodes import PER_NODE, Matched
from rheostat.decision.coschedule.shared_node import (
    Node,
    NodeState,
    Tenant,
    Waiting,
    best_place,
    place,
)
from rheostat.decision.coschedule.simple_policies import Marble, near_fastest, next_domain
from rheostat.errors import DataError, Infeasible

NODE = Node(idle_w=50.0)


def waiting(*apps) -> list[Waiting]:
    return [Waiting(f"{a}#{i}", a) for i, a in enumerate(apps)]


def tenant(*gpus, domain=0) -> Tenant:
    return Tenant(Waiting("t", "t"), Mode("t", len(gpus), 9.0, 1.0), gpus, domain, 0.0, 9.0)


def test_near_the_fastest_is_up_to_the_share_itself_and_the_faster_of_equal_size() -> None:
    modes = [Mode("a", g, r, 1.0) for g, r in ((4, 8.0), (2, 12.0), (2, 11.0), (1, 12.1))]
    assert near_fastest(modes, 0.5).runtime_s == 11.0
    assert near_fastest([modes[0], modes[1]], 0.5).gpus == 2
    assert near_fastest([modes[0], modes[3]], 0.5).gpus == 4
    exactly = [Mode("a", 4, 100.0, 1.0), Mode("a", 1, 105.0, 1.0)]
    assert Marble({"a": exactly}).modes["a"].gpus == 1  # 5 % is near


def test_a_job_that_needs_all_gpus_of_a_node_starts_there() -> None:
    policy = Matched({"s": (Mode("s", 4, 10.0, 200.0),)}, 50.0)
    ((node, start),) = policy.choose(waiting("s"), [NodeState(NODE, (tenant(0),)), NodeState(NODE)])
    assert (node, start.gpus, start.domain) == (1, (0, 1, 2, 3), 0)
    assert start.score == pytest.approx(4 + 0.5 + 0.25 - 0.3 * 2)


def test_as_many_candidates_are_looked_at_as_rooms_times_four() -> None:
    policy = Matched({"s": (Mode("s", 1, 10.0, 200.0),), "l": (Mode("l", 3, 5.0, 1.0),)}, 50.0)
    queue = waiting(*["s"] * PER_NODE, "l")
    ((_, start),) = policy.choose(queue, [NodeState(NODE)])
    assert start.job.app == "s"  # the one that fills more is the fifth
    ((_, start),) = policy.choose(queue[1:], [NodeState(NODE)])
    assert start.job.app == "l"


def test_a_plan_is_made_again_for_jobs_that_it_does_not_know() -> None:
    policy = Matched({"s": (Mode("s", 1, 10.0, 200.0),)}, 50.0)
    policy.choose(waiting("s"), [NodeState(NODE)])
    later = [Waiting("late", "s")]
    ((_, start),) = policy.choose(later, [NodeState(NODE)])
    assert start.job.name == "late"


@settings(deadline=None, max_examples=60)
@given(taken=st.sets(st.integers(0, 5)), gpus=st.integers(1, 6))
def test_a_place_has_least_spill_then_the_tightest_fit_then_the_first_domain(taken, gpus) -> None:
    node = Node(((0, 1, 2), (3,), (4, 5)))
    state = NodeState(node, (tenant(*sorted(taken)),) if taken else ())
    free = [g for g in range(6) if g not in taken]
    if gpus > len(free):
        with pytest.raises(DataError, match=f"{gpus} GPUs asked for, {len(free)} are free"):
            place(state, gpus, 0)
        return
    rows = []
    for d, members in enumerate(node.domains):
        home = [g for g in members if g in free]
        chosen = tuple((home + [g for g in free if g not in home])[:gpus])
        spilled = sum(g not in members for g in chosen)
        assert place(state, gpus, d) == (chosen, spilled)
        if home:
            rows.append((spilled, len(home) - min(len(home), gpus), d, chosen))
    *_, domain, chosen = min(rows)
    assert best_place(state, gpus) == (chosen, domain)


def test_the_next_domain_is_the_first_without_a_tenant() -> None:
    three = Node(((0,), (1,), (2,)))
    homes = ([], [0], [0, 1], [1], [0, 1, 2])
    states = [NodeState(three, tuple(tenant(d, domain=d) for d in home)) for home in homes]
    assert [next_domain(s) for s in states] == [0, 1, 2, 0, 0]


def simulated(order, site, running, stretch):
    """Second by second of work in whole numbers: who fits starts, in order; (makespan, energy)."""
    left = [[w, g] for w, g in running]
    queue, now, energy = list(order), 0.0, 0.0
    while queue or left:
        for m in list(queue):
            if m.gpus <= site.gpus - sum(g for _, g in left) and len(left) < site.tenants:
                left.append([m.runtime_s * stretch, m.gpus])
                queue.remove(m)
                energy += (m.power_w - site.idle_w * m.gpus) * m.runtime_s
        if not left:
            return float("inf"), float("inf")
        now += 1 + site.crowd * (len(left) - 1)
        left = [[w - 1, g] for w, g in left if w > 1]
    return now, energy + site.idle_w * site.gpus * now


@settings(deadline=None, max_examples=80)
@given(
    jobs=st.lists(
        st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(50, 900)), max_size=5
    ),
    running=st.lists(st.tuples(st.integers(1, 4), st.just(1)), max_size=2),
    tenants=st.integers(1, 3),
    crowd=st.sampled_from([0.0, 0.25]),
    stretch=st.sampled_from([1, 2]),
)
def test_what_is_foreseen_is_what_comes_second_by_second(
    jobs, running, tenants, crowd, stretch
) -> None:
    order = [Mode(f"j{i}", g, float(r), float(p)) for i, (r, g, p) in enumerate(jobs)]
    site = NodeSite(3, max(tenants, len(running)), 20.0, crowd)
    found = foresee(order, site, running, stretch)
    assert (found.makespan_s, found.energy_j) == pytest.approx(
        simulated(order, site, running, stretch)
    )


def test_a_plan_is_carried_out_in_its_order_as_far_as_it_fits() -> None:
    modes = {"x#0": Mode("x", 3, 1.0, 1.0), "y#1": Mode("y", 2, 1.0, 1.0)}
    plan = Planned(modes.items(), 2, "planned")
    state = NodeState(NODE, (tenant(0, 1),))
    assert plan.choose(waiting("x"), state) == ()  # two of the three are free
    (start,) = plan.choose(waiting("x", "y"), state)
    assert (start.job.name, start.gpus) == ("y#1", (2, 3))
    assert list(plan.left) == ["x#0"]
    both = NodeState(NODE, (tenant(0), tenant(1)))
    assert Planned(modes.items(), 2, "planned").choose(waiting("y"), both) == ()
    assert len(Planned(modes.items(), 3, "planned").choose(waiting("x", "y"), both)) == 1


OPTIMAL, FEASIBLE, UNKNOWN = 4, 2, 0


@pytest.mark.parametrize(("status", "proven"), [(OPTIMAL, True), (FEASIBLE, False)])
def test_the_solver_gets_one_worker_the_seed_and_the_effort(status, proven) -> None:
    asked = SimpleNamespace()
    solver = SimpleNamespace(parameters=asked, solve=lambda model: status,
                             value=lambda number: number, best_objective_bound=80.0)  # fmt: skip
    cp = SimpleNamespace(OPTIMAL=OPTIMAL, FEASIBLE=FEASIBLE, CpSolver=lambda: solver)
    a, b = waiting("a", "b")
    one, two = Mode("m", 1, 5.0, 300.0), Mode("m", 2, 3.0, 500.0)
    chosen = [(b, 40, [(0, one), (1, two)]), (a, 40, [(1, one), (0, two)])]
    found = _solved(cp, None, chosen, NodeSite(4, 2, 10.0), "makespan", 7.5, 3)
    assert vars(asked) == {"num_workers": 1, "random_seed": 3, "max_deterministic_time": 7.5}
    assert found.starts == ((4.0, a, one), (4.0, b, two))  # by time, then name
    assert (found.makespan_s, found.bound, found.proven) == (9.0, 8.0, proven)
    assert found.energy_j == pytest.approx(290.0 * 5 + 480.0 * 3 + 10 * 4 * 9.0)
    by_energy = _solved(cp, None, chosen, NodeSite(4, 2, 10.0), "energy", 7.5, 3)
    assert by_energy.bound == 80.0


def test_without_a_schedule_the_effort_is_said() -> None:
    solver = SimpleNamespace(parameters=SimpleNamespace(), solve=lambda model: UNKNOWN)
    cp = SimpleNamespace(OPTIMAL=OPTIMAL, FEASIBLE=FEASIBLE, CpSolver=lambda: solver)
    with pytest.raises(Infeasible, match=r"no schedule found with effort 0\.5: raise it"):
        _solved(cp, None, [], NodeSite(4, 2, 10.0), "makespan", 0.5, 0)


def test_the_exact_schedule_is_the_best_of_all_modes_and_orders() -> None:
    pytest.importorskip("ortools", reason="pip install 'rheostat[exact]'")
    from rheostat.decision.coschedule.constraint_programme import optimum

    rng = np.random.default_rng(0)
    for _ in range(4):
        profiles = {app: tuple(Mode(app, g, float(rng.integers(2, 9)), float(rng.integers(50, 400)))
                               for g in (1, 2, 4)) for app in "abc"}  # fmt: skip
        queue, site = waiting("a", "b", "c"), NodeSite(4, 2, 15.0)
        plans = [foresee(order, site)
                 for picks in itertools.product(*profiles.values())
                 for order in itertools.permutations(picks)]  # fmt: skip
        fast, cheap = (optimum(queue, profiles, site, minimise=m) for m in ("makespan", "energy"))
        assert fast.makespan_s == pytest.approx(min(p.makespan_s for p in plans))
        assert cheap.energy_j == pytest.approx(min(p.energy_j for p in plans))
        assert fast.proven
        assert cheap.proven
        assert cheap.bound == pytest.approx(cheap.energy_j)
