"""Energy, cost and cap of sites that sleep, fail and mold jobs are sums that can be had by hand."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rheostat.cli import run
from rheostat.core.machine import Failure, Machine, Partition
from rheostat.core.series import Series
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.simulation.simulate import simulate_run
from tests.simulation.by_hand import summed
from tests.simulation.sites import case

MORE = ("partitions", "gpus", "windows", "links", "limit")


def drawn_case(seed: int, more: list[str], n: int):
    """A site that sleeps, fails and molds under a cap, with a price by the time of day.

    Failures have moments of their own, and jobs last: what happens at one moment is then in order.
    """
    c = case(seed, "sleep", "ways", "failures", "cap", *more, n=n, span=2 * n)
    alone = {f.at_s: f for f in c.machine.failures}.values()
    tariff = Series((0.0, 7.0), (0.1, 0.4), 20.0)
    lasting = np.maximum(c.jobs.numpy("runtime_s"), 0.5)
    machine = replace(c.machine, failures=tuple(alone), tariff_per_kwh=tariff)
    return replace(c, machine=machine, jobs=c.jobs.with_columns([], runtime_s=lasting))


def checked(c, books) -> None:
    """All sums of ``books`` are those by hand."""
    mine = summed(c.machine, books.runs, float(c.jobs.numpy("submit_s").min()))
    assert [mine.start_s[i] for i in range(len(books.runs.job))] == books.runs.start_s.tolist()
    energy = {k: v for k, v in mine.energy_j.items() if abs(v) > 1e-6}
    assert {k: v for k, v in books.energy_j.items() if abs(v) > 1e-6} == pytest.approx(energy)
    assert books.cost == pytest.approx(mine.cost)
    assert books.peak_w == pytest.approx(mine.peak_w)
    assert books.cap_exceeded_s == pytest.approx(mine.cap_exceeded_s)
    assert books.cap_excess_w == pytest.approx(mine.cap_excess_w)


def simulated(c):
    """What ran, if all jobs did: the first submission is then known."""
    try:
        found = simulate_run(c.jobs, c.policy, c.machine, ties="batch", alternatives=c.alternatives)
    except DataError as error:
        if "no row of the trace can run" in str(error):
            return None
        raise
    return found if len(found.jobs) == len(c.jobs) else None


@settings(max_examples=70)
@given(st.integers(0, 10**6), st.lists(st.sampled_from(MORE), unique=True), st.integers(3, 16))
def test_sleep_moldable_jobs_and_failures_together_are_sums_by_hand(seed, more, n):
    c = drawn_case(seed, more, n)
    found = simulated(c)
    assume(found is not None)
    checked(c, found.account)


def test_gpus_idle_while_the_processors_beside_them_wake():
    part = Partition(
        2, "a", idle_w=50.0, busy_w=100.0, gpus=1, gpu_idle_w=30.0, gpu_busy_w=200.0,
        sleep_after_s=1.0, sleep_w=5.0, wake_s=4.0, wake_w=80.0,
    )  # fmt: skip
    jobs = table({"job_id": [1, 2], "submit_s": [0.0, 10.0], "runtime_s": [1.0, 3.0],
                  "cores": [1, 2], "gpus": [0, 1], "time_limit_s": [1.0, 3.0]})  # fmt: skip
    found = simulate_run(jobs, "easy", Machine(2, partitions=(part,))).account
    assert found.energy_j["idle_gpus"] == 30 * 14
    assert found.energy_j["wake"] == 2 * 80 * 4


def test_processors_repaired_before_the_first_job_came_idle_since_then():
    """A file of failures of the whole year, and the log of its last month."""
    part = Partition(2, "a", idle_w=50.0, busy_w=100.0, sleep_after_s=5.0, sleep_w=5.0, wake_s=2.0,
                     wake_w=80.0)  # fmt: skip
    jobs = table({"job_id": [1], "submit_s": [100.0], "runtime_s": [4.0], "cores": [2],
                  "time_limit_s": [4.0]})  # fmt: skip
    machine = Machine(2, partitions=(part,), failures=(Failure(7.0, 3.0, procs=1),))
    found = simulate_run(jobs, "easy", machine)
    assert found.jobs.frame["start_s"].to_list() == [100.0]
    assert dict(found.account.energy_j) == {"jobs": 800.0, "idle": 0.0, "wake": 0.0, "sleep": 0.0}


def _toml(machine: Machine) -> str:
    """The site as a file."""
    parts = [("[[partition]]", asdict(p)) for p in machine.partitions]
    falls = [("[[failure]]", asdict(f)) for f in machine.failures]
    power = {
        key: f"{{ from_s = {list(s.from_s)}, value = {list(s.values)}, repeat_s = {s.repeat_s} }}"
        for key, s in (("cap_w", machine.cap_w), ("tariff_per_kwh", machine.tariff_per_kwh))
    }
    rules = {"requeue": machine.rules.requeue}
    lines = []
    for head, facts in (*parts, *falls, ("[power]", power), ("[rules]", rules)):
        known = {k: v for k, v in facts.items() if not isinstance(v, float) or math.isfinite(v)}
        text = str if head == "[power]" else json.dumps
        lines += [head, *(f"{k} = {text(v)}" for k, v in known.items())]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(0, 40, 10))
def test_the_command_line_prints_these_sums(seed, tmp_path, monkeypatch, capsys):
    cases = (drawn_case(k, ["gpus", "partitions"], 20) for k in range(seed, 10**6))
    c = next(c for c in cases if c.alternatives is not None and simulated(c) is not None)
    found = simulated(c)
    monkeypatch.chdir(tmp_path)
    c.jobs.frame.write_csv("jobs.csv")
    c.alternatives.frame.write_csv("ways.csv")
    (tmp_path / "site.toml").write_text(_toml(c.machine))
    argv = ["simulate", "jobs.csv", "--machine", "site.toml", "--alternatives", "ways.csv",
            "--policy", c.policy, "--ties", "batch", "--json"]  # fmt: skip
    assert run(argv) == 0
    printed = json.loads(capsys.readouterr().out)["policies"][c.policy]["power"]
    expected = {k: v for k, v in found.account.metrics().items() if k != "carbon_g"}
    assert {k: printed[k] for k in expected} == pytest.approx(expected)
    assert printed["carbon_g"] is None
    checked(c, found.account)
