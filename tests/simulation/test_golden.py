"""Every start of every golden schedule: CQSim's own, and an independent reference's."""

from __future__ import annotations

import json

import pytest

from rheostat.decision.policies.batch_policy import batch_policy
from rheostat.measurement.read import read
from rheostat.simulation.schedule_metrics import metrics
from rheostat.simulation.simulate import simulate_run
from tests.simulation.conftest import PROCS

BACKFILL = {"easy": "easy", "easy_cq": "easy", "cons": "conservative", "fcfs": "fcfs"}
CQSIM = [f"{t}.easy" for t in PROCS] + ["theta_2018_cqgym.cons", "theta_2018_cqgym.fcfs"]
REFERENCE = [f"{t}.{kind}.perevent" for t in PROCS for kind in ("easy", "easy_cq", "fcfs")]
REFERENCE += [f"sdsc_sp2.{kind}.batch" for kind in ("easy", "easy_cq", "fcfs")]
TABLE_NAMES = {"LargestFirst": "largest"}


@pytest.mark.parametrize(
    ("folder", "name"),
    [("cqsim", n) for n in CQSIM] + [("reference", n) for n in REFERENCE],
)
def test_no_start_differs(golden, folder, name):
    jobs, starts = golden(folder, name)
    parts = name.split(".")
    rule = batch_policy(
        BACKFILL[parts[1]],
        semantics="cqsim" if folder == "cqsim" or parts[1] == "easy_cq" else "textbook",
        ties="batch" if parts[-1] == "batch" else "event",
    )
    run = simulate_run(jobs, rule, PROCS[parts[0]])
    assert int((run.jobs.numpy("start_s") != starts).sum()) == 0
    assert run.clairvoyant == (rule.semantics == "cqsim")


@pytest.mark.slow
@pytest.mark.parametrize("trace", sorted(PROCS))
def test_the_table_of_heuristics_under_easy(shared_data, trace):
    """Made by a simulator that lets jobs ending together leave in order of their expected end.

    How it orders those that are expected to end together too is not told: on the largest trace the
    means differ by up to 1e-7 of their value.
    """
    told = json.loads((shared_data / "golden" / "heuristics_easy.json").read_text())
    jobs = read(shared_data / "swf" / f"{trace}.swf.gz")
    wrong = {}
    for key, row in told.items():
        of, estimates, name = key.split("|")
        if of != trace:
            continue
        rule = batch_policy(f"{TABLE_NAMES.get(name, name)}+easy", ends="expected")
        run = simulate_run(jobs, rule, PROCS[trace], estimates=estimates.removesuffix("_estimate"))
        found = metrics(run.jobs, PROCS[trace])
        got = (
            found["wait_s"]["mean"],
            found["bounded_slowdown"]["mean"],
            found["wait_s"]["max"],
            found["utilisation"],
        )
        if got != pytest.approx([row[k] for k in ("wait", "bsld", "maxwait", "util")], rel=1e-6):
            wrong[key] = got
    assert not wrong
