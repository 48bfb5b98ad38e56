"""The site engine: on a plain machine it is the plain engines; on any site nothing is oversold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.core.machine import Machine, Partition, RandomFailures
from rheostat.core.vocabulary import table
from rheostat.decision.policies.batch_policy import BACKFILLING, OVERDUE, batch_policy
from rheostat.decision.policies.priority_functions import PRIORITY_FUNCTIONS
from rheostat.errors import DataError
from rheostat.measurement.job_logs.swf import read_swf
from rheostat.simulation.simulate import simulate_run
from rheostat.simulation.site.capacity_changes import failures
from rheostat.simulation.site.simulate_site import simulate_site
from tests.simulation.conftest import trace
from tests.simulation.sites import any_case, case, use
from tests.simulation.test_engine import workloads


def starts(run):
    return run.jobs.numpy("start_s").tolist()


@settings(max_examples=200)
@given(
    workloads(),
    st.sampled_from(sorted(PRIORITY_FUNCTIONS)),
    st.sampled_from(BACKFILLING),
    st.data(),
)
def test_a_plain_machine_has_the_starts_of_the_plain_engines(load, name, backfill, data):
    *columns, size = load
    semantics = data.draw(st.sampled_from(("textbook", "cqsim")))
    ties = data.draw(st.sampled_from(("event", "batch")))
    overdue = data.draw(st.sampled_from(OVERDUE))
    rule = batch_policy(f"{name}+{backfill}", semantics=semantics, ties=ties, overdue=overdue)
    jobs = trace(*columns)
    assert starts(simulate_site(jobs, rule, Machine(size))) == starts(
        simulate_run(jobs, rule, size)
    )


@pytest.mark.parametrize("semantics", ["textbook", "cqsim"])
@pytest.mark.parametrize("rule", ["easy", "fcfs", "conservative", "sjf+easy", "lxf+easy"])
def test_and_so_it_has_on_a_real_trace(rule, semantics, shared_data):
    jobs = read_swf(shared_data / "swf" / "sdsc_sp2.swf.gz").rows(np.arange(4000))
    made = batch_policy(rule, semantics=semantics)
    site, plain = simulate_site(jobs, made, Machine(128)), simulate_run(jobs, made, 128)
    assert starts(site) == starts(plain)
    assert site.jobs.frame.equals(plain.jobs.frame.select(site.jobs.columns))


@settings(max_examples=200)
@given(st.integers(0, 10**6), st.integers(1, 40))
def test_no_site_gives_more_than_it_has(seed, n):
    found = _run(any_case(seed, n=n, span=2 * n))
    if found is None:
        return
    for k, part in enumerate(found.machine.parts):
        for of in ("procs", "gpus"):
            _, taken = use(found, k, of)
            assert taken.max(initial=0) <= getattr(part, of)
    assert (found.jobs.numpy("start_s") >= found.jobs.numpy("submit_s")).all()
    assert (found.account.runs.start_s >= found.account.runs.alloc_s).all()


def _run(given_case, **options):
    """The run of a case; None where no job can ever run."""
    c = given_case
    try:
        return simulate_run(c.jobs, c.policy, c.machine, alternatives=c.alternatives, **options)
    except DataError as error:
        if "no row of the trace can run" in str(error):
            return None
        raise


@settings(max_examples=80)
@given(st.integers(0, 10**6))
def test_one_alternative_is_the_rigid_run(seed):
    c = replace(any_case(seed, n=20, span=30), alternatives=None)
    rigid = _run(c)
    names = ("job_id", "cores", "gpus", "runtime_s", "time_limit_s", "power_w")
    same = c.jobs.select(names).rows(np.random.default_rng(seed).permutation(len(c.jobs)))
    moldable = _run(replace(c, alternatives=same))
    if rigid is None:
        assert moldable is None
        return
    shared = [n for n in rigid.jobs.columns if n in moldable.jobs.columns]
    assert moldable.jobs.frame.select(shared).equals(rigid.jobs.frame.select(shared))
    assert moldable.account.metrics() == pytest.approx(rigid.account.metrics(), nan_ok=True)


def test_alternatives_are_taken_in_order_of_preference():
    jobs = trace([0, 0, 0], [5, 1, 1], [2, 1, 1])
    other = table(
        {"job_id": [2, 2, 3], "cores": [4, 2, 1], "runtime_s": [2.0, 4.0, 9.0],
         "time_limit_s": [2.0, 4.0, 9.0]}
    )  # fmt: skip
    found = simulate_run(jobs, "easy", 4, alternatives=other).jobs.frame
    assert found["cores"].to_list() == [2, 2, 1]  # four do not fit beside the first job: two do
    assert found["start_s"].to_list() == [0.0, 0.0, 4.0]
    assert found["alternative"].to_list() == [None, 1, 2]
    alone = simulate_run(jobs.rows([1]), "easy", 4, alternatives=other).jobs.frame
    assert alone["alternative"].to_list() == [0]


def test_alternatives_that_cannot_be_are_refused_and_those_of_other_jobs_noted():
    jobs = trace([0, 0], [9, 1], [4, 1])
    other = {"job_id": [2, 7], "cores": [4, 1], "runtime_s": [2.0, 8.0]}
    found = simulate_run(jobs, "easy", 4, alternatives=table(other)).jobs.notes
    assert [n.count for n in found if n.message.startswith("alternatives of jobs not in")] == [1]
    bad = other | {"time_limit_s": [-1.0, 5.0], "power_w": [1.0, np.inf]}
    with pytest.raises(DataError, match=r"rows 0: expected time_limit_s.*rows 1: expected power_w"):
        simulate_run(jobs, "easy", 4, alternatives=table(bad))
    none = table(other | {"time_limit_s": [np.nan, 5.0]})
    assert simulate_run(jobs, "easy", 4, alternatives=none).jobs.frame["start_s"].len() == 2


def test_a_job_waits_for_its_preferred_way_when_no_way_fits():
    jobs = trace([0, 0], [9, 1], [4, 1])
    other = table({"job_id": [2, 2], "cores": [4, 1], "runtime_s": [2.0, 8.0]})
    found = simulate_run(jobs, "easy", 4, alternatives=other)
    assert starts(found) == [0.0, 9.0]
    assert any("clairvoyant" in n.message for n in found.jobs.notes)


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_partitions_know_nothing_of_each_other(seed):
    c = case(seed, "partitions", "gpus", n=20, span=25)
    c = replace(c, policy="easy")
    together = _run(c).jobs.frame
    assert (together["end_s"] - together["start_s"] == together["runtime_s"]).all()
    for name in together["partition"].unique():
        apart = _run(replace(c, jobs=c.jobs.rows(c.jobs.frame["partition"] == name))).jobs.frame
        here = together.filter(together["partition"] == name)
        assert here["start_s"].to_list() == apart["start_s"].to_list()


def test_gpus_are_what_a_job_waits_for():
    machine = Machine(8, partitions=(Partition(8, "a", gpus=2),))
    jobs = table({**trace([0, 0, 0], [5, 5, 5], [1, 1, 1]).frame.to_dict(), "gpus": [2, 1, 0]})
    assert starts(simulate_run(jobs, "easy", machine)) == [0.0, 5.0, 0.0]


def test_what_no_partition_takes_is_left_out_and_said():
    machine = Machine(6, partitions=(Partition(4, "a"), Partition(2, "b", gpus=1)))
    jobs = table(
        {
            **trace([0] * 4, [1] * 4, [5, 1, 3, 1]).frame.to_dict(),
            "partition": ["a", "c", "b", "b"],
            "gpus": [0, 0, 0, 2],
        }
    )
    with pytest.raises(DataError, match="no row of the trace can run"):
        simulate_run(jobs, "easy", machine)
    one = table({**jobs.frame.to_dict(), "gpus": [0, 0, 0, 1]})
    found = simulate_run(one, "easy", machine).jobs
    assert found.frame["job_id"].to_list() == [4]
    told = " ".join(n.message for n in found.notes)
    assert "partition that the machine has not" in told
    assert "more processors than its partition" in told


@pytest.mark.parametrize("seed", range(12))
def test_same_input_same_bytes(seed):
    c = any_case(seed, n=30, span=50)
    one, two = _run(c), _run(c)
    assert one.jobs.frame.equals(two.jobs.frame)
    assert one.account.watts.tobytes() == two.account.watts.tobytes()


def test_random_failures_follow_their_seed():
    rng = np.random.default_rng(0)
    jobs = trace(
        np.sort(rng.integers(0, 900, 60)), rng.integers(20, 90, 60), rng.integers(1, 5, 60)
    )

    def ends(seed):
        machine = Machine(6, random_failures=RandomFailures(mtbf_s=400.0, repair_s=30.0, seed=seed))
        return simulate_run(jobs, "easy", machine).jobs.numpy("end_s").tolist()

    assert ends(1) == ends(1) != ends(2)


def test_types_of_the_engine_are_the_same_in_code_from_disk():
    """Signatures are kept pickled; a type that is in no module comes back as a stranger."""
    from rheostat.simulation.engine import site_engine as site
    from rheostat.simulation.engine import site_struct

    assert site.run_site is not None
    for name in ("StateType", "HeapType"):
        kind = getattr(site_struct, name)
        assert (kind.__module__, kind.__qualname__) == (site_struct.__name__, name)


def test_failures_between_which_no_time_passes_are_refused():
    machine = Machine(procs=8, random_failures=RandomFailures(mtbf_s=1e-300, repair_s=1.0))
    with pytest.raises(DataError, match="1e-300 s is no time between two failures"):
        failures(machine, 1e9, 1e9)
