"""`LawGuided` keeps a proposer's promises and needs few runs, fewer with past applications."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat import Knob, Outcome, Space, table
from rheostat.core.dominance import hypervolume_2d
from rheostat.errors import DataError
from rheostat.testing.proposers import check_proposer
from rheostat.tradeoff.propose.proposer import proposer
from rheostat.tradeoff.search import search

pytest.importorskip("gpytorch")

from rheostat.prediction.scaling_law import LawEnsemble
from rheostat.tradeoff.limits import Limit
from rheostat.tradeoff.propose.law_guided import LawGuided, past_jobs

NODES = [1, 2, 4, 8, 16, 32, 64, 128]


def cost(n, serial=10.0, work=900.0, over=0.05):
    return serial + work / n + over * n, 100 + 300.0 * n


def measure(jobs):
    t, p = cost(jobs.numpy("nodes"))
    return Outcome({"runtime_s": t[None], "power_w": p[None]})


def others():
    rng = np.random.default_rng(0)
    n = np.tile(NODES, 6).astype(float)
    app = np.repeat([f"a{i}" for i in range(6)], len(NODES))
    work = np.repeat(rng.uniform(300, 3000, 6), len(NODES))
    t, p = cost(n, serial=work / 90, work=work)
    return table({"app": app, "nodes": n.astype(int), "runtime_s": t, "power_w": p})


@pytest.mark.slow
def test_it_keeps_the_promises_of_a_proposer():
    def make(space, seed):
        return LawGuided(space, seed=seed)

    check_proposer(
        make,
        Space.of([Knob("a", [1, 2, 4, 8]), Knob("b", [0.1, 0.5, 1.0])]),
        seeds=1,
        beats_random=False,
    )


def test_four_measurements_find_nearly_all_that_four_can():
    found = search(LawGuided(Knob("nodes", NODES), prior=others(), budget=4), measure, 4)
    every = measure(table({"nodes": NODES}))
    y = np.log(np.column_stack([every.mean("runtime_s"), every.mean("energy_j")]))
    y = (y - y.min(axis=0)) / (y.max(axis=0) - y.min(axis=0))
    place = [NODES.index(n) for n in found.alternatives.frame["nodes"]]
    from itertools import combinations

    best = max(hypervolume_2d(y[list(c)], (1.1, 1.1)) for c in combinations(range(len(y)), 4))
    assert hypervolume_2d(y[place], (1.1, 1.1)) >= 0.97 * best


def stepped(n, work, step):
    """Nearly ideal speed-up, 1.8 times faster from ``step`` nodes on (the problem fits a cache)."""
    n = np.asarray(n, dtype=float)
    return work / n**0.85 / np.where(n >= step, 1.8, 1.0), 400.0 * n**0.97


def test_past_applications_that_agree_on_what_does_not_hold_here_are_doubted():
    """All of them have their step at six nodes, this one has none: few nodes cost no more here."""
    nodes = [1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32]
    n, works = np.tile(nodes, 6), np.repeat([300.0, 500.0, 800.0, 1300.0, 2000.0, 3000.0], 14)
    t, p = stepped(n, works, 6)
    prior = table({"app": works.astype(str), "nodes": n, "runtime_s": t, "power_w": p})

    def here(jobs):
        t, p = stepped(jobs.numpy("nodes"), 1000.0, 0)
        return Outcome({"runtime_s": t[None], "power_w": p[None]})

    found = search(LawGuided(Knob("nodes", nodes), prior=prior, budget=8), here, 8)
    assert min(found.alternatives.frame["nodes"]) <= 2


def test_what_the_model_was_told_last_time_is_not_told_again(monkeypatch):
    told = []
    tell = LawEnsemble.tell
    monkeypatch.setattr(LawEnsemble, "tell", lambda *x: told.append(x[1]) or tell(*x))
    search_, anew = (LawGuided(Knob("nodes", NODES), seed=2) for _ in range(2))
    for n in (1, 4, 128, 16):
        job = table({"nodes": [n]})
        for one in (search_, anew):
            one.tell(job, measure(job))
        search_.ask()
    assert told == [0, 2, 7, 4, 7]  # by nodes: 16 stands before 128, which is told anew
    later, once = (x.forecast([{"nodes": 8}])["runtime_s"] for x in (search_, anew))
    assert (later == once).all()


def test_past_applications_are_curves_and_short_ones_are_left_out():
    prior = others()
    assert len(past_jobs(prior, ["nodes"], ["app"])) == 6
    few = prior.rows(np.arange(10))
    assert len(past_jobs(few, ["nodes"], ["app"])) == 1


def test_what_does_not_fit_is_said_at_once():
    late = Limit("ttft_s", 1.0, "s")
    with pytest.raises(DataError, match=r"objectives: expected some of .*; limit on ttft_s"):
        LawGuided(Knob("compiler", ["a", "b"]), ("runtime_s", "edp_js"), limits=[late])


def test_without_past_jobs_energy_is_expected_to_be_least_between_the_ends_of_a_cap():
    """What caps do: they bind at first, then they do not; the first two settings are no corners."""
    asker = LawGuided(Knob("cap_w", range(100, 301, 25)), budget=2)
    first = asker.ask().frame["cap_w"][0]
    assert 100 < first < 300


def _runs(app, work, settings):
    """Runs at (nodes, compiler): icx halves the time of every application but takes more power."""
    rows = []
    for n, c in settings:
        faster, hungrier = (2.0, 1.3) if c == "icx" else (1.0, 1.0)
        rows.append((app, n, c, (work / n + 5) / faster, 300.0 * n * hungrier))
    return dict(zip(("app", "nodes", "compiler", "runtime_s", "power_w"), zip(*rows, strict=True),
                    strict=True))  # fmt: skip


@pytest.mark.parametrize("wanted", [
    ("runtime_s", "power_w", "energy_j"), ("energy_j",), ("runtime_s", "energy_j"),
])  # fmt: skip
def test_runs_of_others_teach_names_and_any_number_of_objectives(wanted):
    space = Space((Knob("nodes", [1, 2, 4, 8]), Knob("compiler", ["gcc", "icx"])))
    grid = [(n, c) for n in (1, 2, 4, 8) for c in ("gcc", "icx")]
    parts = [_runs(f"a{w}", w, grid) for w in (100, 300, 900, 2500)]
    prior = table({k: [v for p in parts for v in p[k]] for k in parts[0]})
    asker = proposer("auto", space, wanted, prior=prior, budget=3)
    assert type(asker) is LawGuided
    own = table(_runs("mine", 600, [(2, "gcc")]))
    asker.tell(own.select(space.names), Outcome.measured(own, "runtime_s", "power_w"))
    expected = asker.forecast([{"nodes": 2, "compiler": "icx"}]).quantile("runtime_s", 0.5)[0]
    assert expected == pytest.approx(305 / 2, rel=0.1)  # of a compiler that it never ran with
    asked = {tuple(r) for r in asker.ask(2).select(space.names).frame.rows()}
    assert len(asked - {(2, "gcc")}) == 2
    if wanted == ("energy_j",):
        assert (1, "icx") in asked  # least energy: 393 / 2 s at 390 W and one node
