"""sbatch on a real Slurm with the hooks installed: told, recorded, set, left alone."""

from __future__ import annotations

import re
import time
from pathlib import Path

import polars as pl
import pytest

from rheostat.questions.site.install import install, uninstall

pytestmark = [pytest.mark.slow, pytest.mark.slurm, pytest.mark.xdist_group("slurm")]
ADVICE = pl.DataFrame({
    "app": ["cfd"], "user": ["alice"], "partition": ["batch"], "nodes_requested": [4],
    "nodes": [2], "status": ["advised"], "runtime_s_requested": [60.0],
    "runtime_s_advised": [90.0], "energy_j_requested": [5e4], "energy_j_advised": [3e4],
    "energy_j_change": [-0.4],
})  # fmt: skip
SAID = "rheostat: 4 nodes: 1m, 50 kJ; 2 nodes: 1m 30s, 30 kJ; --nodes=2 saves 40 %"


@pytest.fixture
def site(lab):
    """Installs in a mode; at the end the folder is as it was."""
    etc, conf = lab.folder / "etc", lab.folder / "etc" / "slurm.conf"
    before, files = conf.read_text(), sorted(p.name for p in etc.iterdir())

    def put(mode, **more):
        install(ADVICE, etc, mode=mode, **more)
        conf.write_text(f"{before}include rheostat.conf\n")
        lab.run("scontrol", "reconfigure")
        time.sleep(1.0)
        return etc

    yield put
    conf.write_text(before)
    uninstall(etc)
    lab.run("scontrol", "reconfigure")
    time.sleep(1.0)
    assert sorted(p.name for p in etc.iterdir()) == files
    lab.run("scancel", "--user=alice")


def sbatch(lab, *options, name="cfd"):
    """What alice is told, and the nodes of her job."""
    done = lab.run("sbatch", "-o", "/dev/null", "-J", name, "--begin=now+1hour", "-p", "batch",
                   *options, "--wrap", "true", user="alice")  # fmt: skip
    job = re.search(r"Submitted batch job (\d+)", done.stdout)
    assert job, done
    shown = lab.run("scontrol", "show", "job", job[1]).stdout
    return done.stderr, re.search(r"NumNodes=(\d+)", shown)[1]


def test_suggest_tells_and_changes_nothing(lab, site):
    site("suggest")
    said, nodes = sbatch(lab, "-N4")
    assert (SAID in said, nodes) == (True, "4")
    assert "rheostat" not in sbatch(lab, "-N3")[0]


def test_record_is_silent_and_writes_to_the_log(lab, site):
    site("record")
    said, nodes = sbatch(lab, "-N4")
    assert ("rheostat" in said, nodes) == (False, "4")
    assert "nodes=4 advised=2 mode=record" in (lab.folder / "log" / "slurmctld.log").read_text()


def test_set_gives_the_advised_nodes_and_leaves_who_says_so(lab, site):
    etc = site("set")
    said, nodes = sbatch(lab, "-N4")
    assert (SAID in said, nodes) == (True, "2")
    assert sbatch(lab, "-N4", "--comment=rheostat=off")[1] == "4"
    Path(etc / "rheostat-advice").rename(etc / "away")
    assert sbatch(lab, "-N4")[1] == "4"
    (etc / "away").rename(etc / "rheostat-advice")


WEIGHTS = """# Nearest to ours
PriorityType=priority/multifactor
PriorityWeightAge=0
PriorityWeightJobSize=4000
PriorityWeightFairshare=0
PriorityMaxAge=3-0
PriorityDecayHalfLife=7-0
PriorityFavorSmall=YES
"""


def shown(lab):
    """What slurmctld says of its priority."""
    said = lab.run("scontrol", "show", "config").stdout
    return dict(re.findall(r"^(Priority\w+) *= (\S+)", said, re.M))


def test_weights_of_a_policy_order_the_queue_while_they_are_included(lab, site, tmp_path):
    before = shown(lab)
    (tmp_path / "weights.conf").write_text(WEIGHTS)
    etc = site("record", priority=tmp_path / "weights.conf")
    now = shown(lab)
    assert (now["PriorityWeightJobSize"], now["PriorityFavorSmall"]) == ("4000", "Yes")
    assert (now["PriorityWeightAge"], now["PriorityMaxAge"]) == ("0", "3-00:00:00")
    first = lab.submit("cfd", "sleep 60", "-N4", "-c64")
    lab.seen("RUNNING")  # the others wait
    jobs = [lab.submit("cfd", "true", f"-N{n}", "-c64") for n in (1, 2, 4)]
    listed = lab.run("sprio", "-h", "-o", "%i %J").stdout.split()
    order = dict(zip(listed[::2], map(float, listed[1::2]), strict=True))
    assert [order[j] for j in jobs] == [3000, 2000, 0]  # 4000 (1 - n / 4)
    lab.run("scancel", first, *jobs)
    conf = etc / "slurm.conf"
    conf.write_text(conf.read_text().replace("include rheostat.conf\n", ""))
    lab.run("scontrol", "reconfigure")
    time.sleep(1.0)
    assert shown(lab) == before
