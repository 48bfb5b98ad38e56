"""``rheostat coschedule`` and ``rheostat counters`` on generated files."""

from __future__ import annotations

import json

import pytest

from rheostat.cli import run
from rheostat.measure.synthetic.counters import write_pcm

PROFILES = "app,gpus,runtime_s,power_w\n" + "".join(
    f"{a},{g},{t / g**p:.3f},{g * w}\n"
    for a, t, p, w in (("fast", 40, 0.9, 300), ("flat", 60, 0.1, 150))
    for g in (1, 2, 4)
)


@pytest.fixture
def profiles(tmp_path):
    (tmp_path / "p.csv").write_text(PROFILES)
    return str(tmp_path / "p.csv")


def test_policies_are_compared_and_the_schedule_is_whole(profiles, capsys):
    assert run(["coschedule", profiles, "--queue", "flat*3,fast*2", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["schema"] == "rheostat.coschedule/1"
    packed, marble = facts["policies"]
    assert packed["edp_js"] < marble["edp_js"]
    assert sorted(r["job_id"] for r in facts["schedule"]) == [
        "fast#1", "fast#2", "flat#1", "flat#2", "flat#3"]  # fmt: skip


def test_profiles_of_two_machines_are_not_averaged(tmp_path, capsys):
    rows = "".join(f"{m},a,{g},{10 * f},100\n" for m, f in (("X", 1), ("Y", 3)) for g in (1, 2))
    (tmp_path / "two.csv").write_text("system,app,gpus,runtime_s,power_w\n" + rows)
    assert run(["coschedule", str(tmp_path / "two.csv")]) == 1
    assert "--where system=... is needed: X, Y" in capsys.readouterr().err
    assert run(["coschedule", str(tmp_path / "two.csv"), "--where", "system=Y", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["policies"][0]["makespan_s"] == 30.0


def test_what_cannot_be_is_told(profiles, capsys):
    assert run(["coschedule", profiles, "--queue", "nobody"]) == 1
    assert "nobody has no profile; there are fast, flat" in capsys.readouterr().err
    assert run(["coschedule", profiles, "--policy", "magic"]) == 1
    assert run(["coschedule", profiles, "--policy", "ecosched"]) == 1
    assert "by='runtime'" in capsys.readouterr().err


def test_counters_tells_marks_and_what_if(tmp_path, capsys):
    path = str(write_pcm(tmp_path / "pcm.csv", n_apps=4, intervals=4))
    options = ["--methods", "ridge", "--target", "package_power_w", "--split", "application"]
    options += ["--what-if", "memory_read_b_per_s=0.8", "--predict", path, "--json"]
    assert run(["counters", path, *options]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [m["method"] for m in facts["marks"]] == ["cap", "ridge"]
    assert facts["what_if"][0]["factors"] == {"memory_read_b_per_s": 0.8}
    assert len(facts["predicted"]) == 20
    low, high = facts["predicted"][0]["interval"]
    assert low < facts["predicted"][0]["mean"] < high
