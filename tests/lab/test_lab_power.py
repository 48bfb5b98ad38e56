"""The lab's Prometheus has the energy that Slurm counted, and that the law of power says."""

from __future__ import annotations

import shutil
import time

import polars as pl
import pytest

from rheostat.measurement.monitoring.power_mapping import PowerMapping, PowerSeries
from rheostat.measurement.read import read
from rheostat.questions.site.ingest import ingest
from rheostat.questions.site.ingest_power import power

pytestmark = [pytest.mark.slow, pytest.mark.slurm, pytest.mark.xdist_group("slurm")]
SERIES = {
    "gauge of jobs": PowerSeries("lab_job_power_watts", job="jobid", node="node"),
    "expression of jobs": PowerSeries("sum by (jobid) (lab_job_power_watts)", job="jobid"),
    "gauge of nodes": PowerSeries("lab_node_power_watts", node="node"),
    "counter of nodes": PowerSeries("lab_node_energy_joules_total", "energy_j", node="node"),
    "counter in MJ": PowerSeries(
        "lab_node_energy_joules_total / 1e6", "energy_j", 1e6, node="node"
    ),
}


@pytest.fixture(scope="module")
def folder(lab, tmp_path_factory):
    folder = tmp_path_factory.mktemp("power") / "jobs"
    lab.drained()  # short jobs of other tests leave no sample: the store has those of here alone
    time.sleep(1.0)  # accounting counts whole seconds
    begun = time.time()
    lab.submit("cfd", "sleep 8", "-N2", "-n128", "--exclusive")
    lab.submit("md", "srun -n64 sleep 8", "-N1", "-n64", "--exclusive")
    lab.submit("stencil", "sleep 8", "-n2")
    lab.submit("stencil", "sleep 8", "-n2")
    lab.drained()
    time.sleep(4.5)  # as long as a gap may be, that samples after the end are there
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", lab.env["SLURM_CONF"])
        ingest(folder, since=f"{time.time() - begun:.0f}s")
    return folder


@pytest.mark.parametrize("name", SERIES)
def test_energy_by_the_real_prometheus_follows_the_law(lab, folder, name, tmp_path):
    store = tmp_path / "jobs"
    shutil.copytree(folder, store)
    mapping = PowerMapping(lab.prometheus, (SERIES[name],), 1.0)
    answer = power(store, mapping)
    assert power(store, mapping).merged.new == 0
    frame = read(store).frame
    cfd, md = (frame.filter((pl.col("app") == a) & (pl.col("runtime_s") >= 8)).row(-1, named=True)
               for a in ("cfd", "md"))  # fmt: skip
    assert (cfd["energy_source"], md["energy_source"]) == ("monitoring", "accounting")
    assert cfd["energy_j"] == pytest.approx(2 * (180 + 64 * 5) * cfd["runtime_s"], rel=0.2)
    assert cfd["energy_covered"] > 0.9
    known = "nodes" not in name and "MJ" not in name
    assert (answer.known == answer.jobs) == known  # of nodes that two shared nothing is known
