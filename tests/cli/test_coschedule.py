"""``rheostat coschedule`` and ``rheostat counters`` on generated files."""

from __future__ import annotations

import json

import pytest

from rheostat.cli import run
from rheostat.measurement.synthetic.counter_runs import write_pcm
from rheostat.recipes.ecosched import POLICIES

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
    named = {p["policy"] for p in facts["policies"]}
    assert {"list" if n.startswith("list-") else n for n in named} == set(POLICIES)
    assert facts["best"] == facts["policies"][0]["policy"] == "packed"
    assert max(r["end_s"] for r in facts["schedule"]) == facts["policies"][0]["makespan_s"]
    assert sorted(r["job_id"] for r in facts["schedule"]) == [
        "fast#1", "fast#2", "flat#1", "flat#2", "flat#3"]  # fmt: skip


def test_the_best_in_the_objective_is_shown_and_the_comparison_is_in_a_pipe_too(profiles, capsys):
    for objective, column in (("makespan", 1), ("energy", 2), ("edp", 3)):
        argv = ["coschedule", profiles, "--queue", "flat*3,fast*2", "--objective", objective]
        assert run([*argv, "--interference", "0.4"]) == 0
        compared, schedule = (
            [line.split("\t") for line in block.splitlines()]
            for block in capsys.readouterr().out.split("\n\n")
        )
        assert compared[0] == ["policy", "makespan_s", "energy_j", "edp_js", "mean_wait_s"]
        costs = [float(row[column]) for row in compared[1:]]
        assert len(costs) == len(POLICIES)
        assert costs[0] == min(costs)
        ends = [float(row[schedule[0].index("end")]) for row in schedule[1:]]
        assert max(ends) == pytest.approx(float(compared[1][1]), abs=1e-3)


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
    assert "expected one of packed, ecosched" in capsys.readouterr().err
    assert run(["coschedule", profiles, "--policy", "ecosched"]) == 0
    assert "ecosched is given the profiled runtimes" in capsys.readouterr().err
    assert run(["coschedule", profiles, "--objective", "speed"]) == 1
    assert "expected one of edp, makespan, energy" in capsys.readouterr().err


GOOD = "app,gpus,runtime_s,power_w\nA,1,40,300\nA,2,20,600\n"


@pytest.mark.parametrize(("text", "said"), [
    (GOOD.replace("40", "inf"), "runtime_s: expected numbers from 1e-06 to 1e+09, got inf"),
    (GOOD.replace("300", "1e308"), "power_w: expected numbers from 1e-06 to 1e+08"),
    (GOOD.replace("A,2", "A,-2"), "gpus: expected whole numbers from 1 to 10000, got -2 in row 2"),
    (GOOD.replace("A,2", "A,1.5"), "got 1.5 in row 2"),
    (GOOD.replace("20", "soon"), "runtime_s: expected numbers"),
    (GOOD.replace("20", ""), "got None in row 2"),
    (GOOD.replace("A,2", ",2"), "app: missing in row 2"),
    (GOOD.replace("power_w", "x"), "--column power_w=THEIRS"),
    (GOOD.replace("600", "600,7"), "row has not 4 cells: row 2"),
    (GOOD.splitlines()[0] + "\n", "no row"),
    ("\0\1\2" * 50, "p.csv"),
    ("," * 2_000_000, "2,000,000 bytes long"),
])  # fmt: skip
def test_a_broken_profile_is_one_message(tmp_path, capsys, text, said):
    (tmp_path / "p.csv").write_text(text)
    assert run(["coschedule", str(tmp_path / "p.csv")]) == 1
    told = capsys.readouterr().err
    assert said in told
    assert told.count("rheostat: ") == 1


QUEUES = {
    "app,submit_s\nA,0\nA,5\n": 0,
    "app,submit_s\nA,0\nA,\n": 1,
    "app,submit_s\nA,0\nA,nan\n": 1,
    "app,submit_s\nA,later\nA,5\n": 1,
    "app,submit_s\nA,1e300\nA,5\n": 1,
    "app,job_id\nA,7\nA,7\n": 1,
    "app\nB\n": 1,
    "app\n": 1,
    "name\nA\n": 1,
    "app\nA\nA,3\n": 1,
    "": 1,
}


@pytest.mark.parametrize(("text", "code"), QUEUES.items())
def test_a_queue_file_is_whole_or_refused(tmp_path, capsys, text, code):
    (tmp_path / "p.csv").write_text(GOOD)
    (tmp_path / "q.csv").write_text(text)
    argv = ["coschedule", str(tmp_path / "p.csv"), "--queue", str(tmp_path / "q.csv"), "--json"]
    assert run(argv) == code
    told = capsys.readouterr()
    if code:
        assert told.err.startswith(f"rheostat: {tmp_path / 'q.csv'}: ")
    else:
        assert [r["submit_s"] for r in json.loads(told.out)["schedule"]] == [0.0, 5.0]


@pytest.mark.parametrize(
    "queue",
    ["A*0", "A*-1", "A*x", "A*1.5", "*3", "A**2", ",", "A*100001", "A*" + "9" * 5000, "/",
     "/dev/zero", "missing.csv", "A," * 300 + "B"],
)  # fmt: skip
def test_a_queue_that_names_no_jobs_is_refused(tmp_path, capsys, queue):
    (tmp_path / "p.csv").write_text(GOOD)
    assert run(["coschedule", str(tmp_path / "p.csv"), "--queue", queue]) == 1
    assert capsys.readouterr().err.count("rheostat: ") == 1


def test_jobs_of_a_queue_have_names_of_their_own(tmp_path, capsys):
    (tmp_path / "p.csv").write_text(GOOD)
    queue = ",".join(["A"] * 150 + ["A*2"])  # longer than any name of a file
    assert run(["coschedule", str(tmp_path / "p.csv"), "--queue", queue, "--json"]) == 0
    names = [r["job_id"] for r in json.loads(capsys.readouterr().out)["schedule"]]
    assert sorted(names) == sorted(f"A#{k + 1}" for k in range(152))


def test_counters_tells_marks_and_what_if(tmp_path, capsys):
    path = str(write_pcm(tmp_path / "pcm.csv", n_apps=4, intervals=4))
    options = ["--methods", "ridge", "--target", "package_power_w", "--leave-out", "application"]
    options += ["--what-if", "memory_read_b_per_s=0.8", "--predict", path, "--json"]
    assert run(["counters", path, *options]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [m["method"] for m in facts["marks"]] == ["cap", "ridge"]
    assert facts["what_if"][0]["factors"] == {"memory_read_b_per_s": 0.8}
    assert len(facts["predicted"]) == 20
    low, high = facts["predicted"][0]["interval"]
    assert low < facts["predicted"][0]["mean"] < high


def test_pairs_run_side_by_side_on_a_node_of_one_domain(tmp_path, capsys):
    (tmp_path / "p.csv").write_text("app,gpus,runtime_s,power_w\na,2,9,20\nb,2,9,21\n")
    asked = ["coschedule", str(tmp_path / "p.csv"), "--policy", "ecosched", "--json"]
    assert run([*asked, "--domains", "1"]) == 0
    policies = json.loads(capsys.readouterr().out)["policies"]
    assert [p["policy"] for p in policies] == ["ecosched"]


def test_a_plan_says_whether_it_is_proven_least(profiles, capsys):
    said = "The plan is the best of the policies tried, not proven least"
    argv = ["coschedule", profiles, "--queue", "flat*3,fast*2", "--objective", "makespan"]
    assert run(argv) == 0
    assert said in capsys.readouterr().err
    assert run([*argv, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["certainty"].startswith(said)
    pytest.importorskip("ortools")
    assert run([*argv, "--exact", "--interference", "0", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    reached = facts["policies"][0]["makespan_s"] <= facts["exact"]["bound"] * (1 + 1e-6)
    assert facts["exact"]["proven"]
    assert ("proven least" not in facts["certainty"]) == reached
