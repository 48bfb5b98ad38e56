"""EcoSched's choice and the caps put back, against the same written out plainly."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rheostat.decision.actuate.apply import CapChange, CapChanges, apply, put_back, restore, steps
from rheostat.decision.actuate.cap_journal import CapEntry, CapJournal
from rheostat.decision.budget.cap_plan import CapPlan
from rheostat.decision.coschedule.ecosched import EcoSched
from rheostat.decision.coschedule.gpu_profiles import Mode
from rheostat.decision.coschedule.shared_node import Node, NodeState, Tenant, Waiting
from tests.decision.emulated_nodes import rehearsal

NODE = Node(idle_w=50.0)


def profiles(rng):
    return {a: tuple(Mode(a, g, 1.0, float(p), dram=float(d)) for g, p, d in
                     zip((1, 2, 3), rng.integers(80, 400, 3), rng.uniform(0.85, 1.0, 3),
                     strict=True))
            for a in "abc"}  # fmt: skip


@pytest.mark.parametrize(("bandit", "blocking", "metric"), [
    (True, 0.0, "ne"), (False, 0.0, "nedp"), (True, 0.3, "nedp"), (False, 0.5, "ne"),
])  # fmt: skip
def test_the_best_action_is_the_best_of_all_that_fit(bandit, blocking, metric) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        known = profiles(rng)
        policy = EcoSched(known, 40.0, bandit=bandit, blocking=blocking, metric=metric, alpha=0.7)
        names = rng.choice(list("abc"), 2 + seed % 4)
        queue = [Waiting(f"{a}#{i}", a) for i, a in enumerate(names)]
        busy = (Tenant(Waiting("t", "a"), known["a"][0], (1,), 0, 0.0, 9.0),) if seed % 2 else ()
        free = 4 - len(busy)
        if bandit:  # some experience
            policy._last = np.array([0.3, 0.5])
            policy.reward(-1.2)
        options = {}
        for app, modes in known.items():
            nrt = np.array([max(m.dram for m in modes) / m.dram for m in modes])
            power = np.array([m.power_w for m in modes])
            each = power * (nrt if metric == "ne" else nrt**2)
            options[app] = [(m, e / each.min() - 1, n - 1)
                            for m, e, n in zip(modes, each, nrt,
                            strict=True) if n <= 1.14]  # fmt: skip
        single = [((j, o),) for j in queue for o in options[j.app]]
        pairs = [(a[0], b[0]) for a, b in itertools.combinations(single, 2) if a[0][0] != b[0][0]]
        scores = {}
        for action in [*single, *(pairs if not busy else [])]:
            used = sum(o[0].gpus for _, o in action)
            if used > free:
                continue
            x = np.array([np.mean([o[1] for _, o in action]), (free - used) / 4])
            score = x[0] + policy.idle_weight * x[1]
            if bandit:
                spread = np.sqrt(x @ np.linalg.inv(policy.A) @ x)
                score = -(x @ np.linalg.inv(policy.A) @ policy.b) - 0.7 * spread
            rest = [w for w in queue if w not in [j for j, _ in action]]
            stuck = [all(m.gpus > free - used for m, *_ in options[w.app]) for w in rest]
            score += blocking * (np.mean(stuck) if rest else 0.0)
            scores[frozenset((j.app, o[0].gpus) for j, o in action), len(action)] = score
        starts = policy.choose(queue, NodeState(NODE, busy)) if not busy else None
        if busy:
            policy.tenants = 2
            starts = policy.choose(queue, NodeState(NODE, busy))
        chosen = frozenset((s.job.app, s.mode.gpus) for s in starts), len(starts)
        assert scores[chosen] == pytest.approx(min(scores.values()), abs=1e-8)
        taken = [g for s in starts for g in s.gpus]
        assert len(set(taken)) == len(taken) == sum(s.mode.gpus for s in starts)
        assert not set(taken) & {g for t in busy for g in t.gpus}


A, B, C = (f"{n}|cap_w|emulated" for n in "abc")


def nodes(**caps):
    return rehearsal({n: {"cap_w": float(w)} for n, w in caps.items()}, lag_s=0.0)


def test_steps_are_those_that_change_a_cap_down_before_up() -> None:
    r = nodes(a=100, b=200, c=300)
    plans = [CapPlan("a", {"cap_w": 100.0}, {"cap_w": 150.0}),
             CapPlan("b", {"cap_w": 190.0}, {"cap_w": 120.0}),
             CapPlan("c", {"cap_w": 250.0, "gpu_cap_w": 9.0}, {"cap_w": 300.0})]  # fmt: skip
    todo = steps(plans, r.panel())
    assert todo == CapChanges((CapChange(B, 200.0, 120.0),), (CapChange(A, 100.0, 150.0),),
                              {"b cap_w": (190.0, 200.0)})  # fmt: skip
    assert len(todo) == 2


@pytest.mark.parametrize(("broken", "said", "caps"), [
    ({3}, "write 3 failed; 3 caps put back", [100.0, 200.0, 300.0]),
    ({3, 4}, "write 3 failed; 3 caps could not be put back: run rheostat budget restore",
     [150.0, 120.0, 300.0]),
    ({3, 6}, "write 3 failed; 1 caps could not be put back: run rheostat budget restore",
     [100.0, 120.0, 300.0]),
    ({1}, "write 1 failed; 1 caps put back", [100.0, 200.0, 300.0]),
])  # fmt: skip
def test_a_write_that_fails_undoes_what_was_done_and_says_what_is_left(
    tmp_path, broken, said, caps
) -> None:
    r = nodes(a=100, b=200, c=300)
    r.fails = lambda n: n in broken
    todo = CapChanges((CapChange(B, 200.0, 120.0),),
                      (CapChange(A, 100.0, 150.0), CapChange(C, 300.0, 310.0)))  # fmt: skip
    waits = []
    with pytest.raises(OSError, match=said):
        apply(todo, r.panel(), CapJournal(tmp_path / "j"), settle_s=2.0, sleep=waits.append)
    assert [r.caps[p] for p in (A, B, C)] == caps


def test_changes_are_journalled_and_waited_for_between_down_and_up(tmp_path) -> None:
    r, book, waits = nodes(a=100, b=200), CapJournal(tmp_path / "j"), []
    down, up = CapChange(B, 200.0, 120.0), CapChange(A, 100.0, 150.0)
    assert apply(CapChanges((down,), (up,)), r.panel(), book, settle_s=2.0, sleep=waits.append) == 2
    assert waits == [2.0]
    entries, problems = book.entries()
    assert entries == [CapEntry(B, 200.0, 120.0), CapEntry(A, 100.0, 150.0)]
    assert problems == []
    for one in (CapChanges((down,)), CapChanges((), (up,)), CapChanges()):
        assert apply(one, r.panel(), book, settle_s=2.0, sleep=waits.append) == len(one)
    assert waits == [2.0]


def test_raised_caps_that_do_not_come_down_keep_the_others_low() -> None:
    r = nodes(a=150, b=120)
    done = [CapChange(B, 200.0, 120.0), CapChange(A, 100.0, 150.0)]
    r.fails = lambda n: n == 1
    assert put_back(done, r.panel(), sleep=lambda s: None) == 0
    assert r.caps == {A: 150.0, B: 120.0}
    r.fails = lambda n: n == 3
    assert put_back(done, r.panel(), sleep=lambda s: None) == 1
    assert r.caps == {A: 100.0, B: 120.0}


def test_what_is_restored_is_what_stood_first_and_what_others_set_is_left(tmp_path) -> None:
    r, book = nodes(a=70, b=90, c=55), CapJournal(tmp_path / "j")
    for entry in (CapEntry(A, 100.0, 80.0), CapEntry(A, 80.0, 70.0), CapEntry(B, 100.0, 80.0),
                  CapEntry(C, 55.0, 60.0)):  # fmt: skip
        book.write(entry)
    r.fails = lambda n: n == 1
    found = restore(book, r.panel(), sleep=lambda s: None)
    assert (found.places, found.left) == (0, {B: 90.0})
    assert found.problems == ("1 of 1 caps could not be written: try again",)
    again = restore(book, r.panel(), sleep=lambda s: None)
    assert (again.places, again.left, again.problems) == (1, {B: 90.0}, ())
    assert r.caps == {A: 100.0, B: 90.0, C: 55.0}
    assert not book.path.exists()
    for entry in (CapEntry(B, 100.0, 80.0), CapEntry("x|cap_w|e", 5.0, 6.0)):
        book.write(entry)
    forced = restore(book, r.panel(), force=True, sleep=lambda s: None)
    assert r.caps[B] == 100.0
    assert (forced.places, forced.left, len(forced.problems)) == (1, {}, 1)
    assert book.path.exists()  # kept for the place that is not here
