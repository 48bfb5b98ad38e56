"""``rheostat budget``: from a table of runs to caps on devices and back, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rheostat as rh
from rheostat.cli import run
from rheostat.errors import QuestionError

RUNS = "runs.csv"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("budget")
    assert run(["budget", "demo", str(folder / RUNS), "--apps", "4",
                "--tree", str(folder / "tree")]) == 0  # fmt: skip
    assert run(["budget", "plan", str(folder / RUNS), "--extra", "40",
                "--out", str(folder / "plan.json")]) == 0  # fmt: skip
    return folder


def told(capsys, *argv):
    capsys.readouterr()
    code = run(["budget", *(str(a) for a in argv)])
    found = capsys.readouterr()
    return code, found.out, found.err


def test_a_plan_is_one_document_with_price_and_certificate(desk, capsys) -> None:
    code, out, _ = told(capsys, "plan", desk / RUNS, "--budget", "1.4kW", "--json")
    plan = json.loads(out)
    assert code == 0
    assert plan["schema"] == "rheostat.plan/1"
    assert plan["caps_w"]["after"] <= 1400
    assert plan["certificate"]["exact"]
    watt = plan["watt"]["gain_per_w"]
    assert watt["low"] <= watt["value"] <= watt["high"]
    assert {n["node"] for n in plan["nodes"]} == {"n1", "n2", "n3", "n4"}
    assert plan["mean_gain"]["value"] >= max(v for v in plan["baselines"].values() if v is not None)
    again = told(capsys, "plan", desk / RUNS, "--budget", "1.4kW", "--json")[1]
    assert again == out  # same seed, same bytes


def test_too_small_a_budget_is_exit_3(desk, capsys) -> None:
    code, out, err = told(capsys, "plan", desk / RUNS, "--budget", "900W")
    assert (code, out) == (3, "")
    assert "need 1,160 W" in err


def test_more_nodes_than_a_plan_ends_for_are_refused_at_once(desk, capsys) -> None:
    code, _, err = told(capsys, "plan", desk / RUNS, "--budget", "1MW", "--count", "1000000")
    assert code == 2
    assert "less than or equal to 100000" in err
    with pytest.raises(QuestionError, match="expected 0 to 100,000 nodes, got 1,000,000"):
        rh.budget.plan(desk / RUNS, "1MW", count=1_000_000)


def test_one_budget_at_a_time(desk, capsys) -> None:
    assert told(capsys, "plan", desk / RUNS)[0] == 2
    assert told(capsys, "plan", desk / RUNS, "--budget", "1kW", "--extra", "5")[0] == 2


def test_apply_run_and_restore(desk, tmp_path, capsys) -> None:
    plan, where = desk / "plan.json", ("--tree", desk / "tree")
    book = ("--journal", tmp_path / "j", "--settle", "0")
    changes = json.loads(told(capsys, "diff", plan, *where, "--json")[1])["changes"]
    assert changes
    code, _, err = told(capsys, "apply", plan, *where, *book, "--dry-run")
    assert code == 0
    assert "nothing was changed" in err
    assert not (tmp_path / "j").exists()
    assert told(capsys, "apply", plan, *where, *book)[0] == 0
    assert json.loads(told(capsys, "diff", plan, *where, "--json")[1])["changes"] == []
    assert told(capsys, "restore", *where, *book)[0] == 0
    assert json.loads(told(capsys, "diff", plan, *where, "--json")[1])["changes"] == changes
    code, _, err = told(capsys, "run", plan, *where, *book, "--", "sh", "-c", "exit 7")
    assert code == 7
    assert "caps put back" in err
    assert json.loads(told(capsys, "diff", plan, *where, "--json")[1])["changes"] == changes


def test_on_a_machine_without_the_node_or_the_device_the_message_says_so(desk, capsys) -> None:
    code, _, err = told(capsys, "apply", desk / "plan.json", "--node", "elsewhere")
    assert code == 1
    assert "the plan has no node elsewhere" in err
    code, _, err = told(capsys, "diff", desk / "plan.json", "--node", "n1", "--gpu", "amd",
                        "--rapl", desk)  # fmt: skip
    assert code == 1
    assert "RAPL" in err


def test_slurm_scripts_are_shell(desk, tmp_path, capsys) -> None:
    import subprocess

    assert told(capsys, "slurm", desk / "plan.json", "--out", tmp_path)[0] == 0
    for name in ("prolog.sh", "epilog.sh"):
        assert subprocess.run(["sh", "-n", tmp_path / name], check=False).returncode == 0
    assert "budget apply" in (tmp_path / "prolog.sh").read_text()


def test_a_budget_over_time(desk, tmp_path, capsys) -> None:
    limits = tmp_path / "limits.toml"
    limits.write_text("[site]\ntotal = {from_s = [0, 600, 1200], value = [1500, 1200, 1400]}\n")
    code, out, _ = told(capsys, "follow", desk / RUNS, "--limits", limits, "--json")
    moments = json.loads(out)["moments"]
    assert code == 0
    assert [m["at_s"] for m in moments] == [0, 598, 1200]
    assert all(m["caps_w"] <= m["budget_w"] for m in moments)
    assert all(len(m["nodes"]) == m["nodes_changed"] for m in moments)
    moment, node = (moments[1]["nodes"] + moments[2]["nodes"])[0], "at_s\tnode\tapp\t"
    _, out, _ = told(capsys, "follow", desk / RUNS, "--limits", limits)
    assert node in out
    assert f"\t{moment['node']}\t{moment['app']}\t" in out


def test_a_slowdown_is_a_factor_of_the_runtime_now(tmp_path, capsys) -> None:
    """Runs of 10, 10.4 and 12 s from the highest cap down: 1.05 allows 4 %, 1.3 allows 20 %."""
    runs = tmp_path / "runs.csv"
    rows = [("a", cap, 1000 * t, 0.9 * cap) for cap, t in ((300, 10.0), (200, 10.4), (100, 12.0))]
    runs.write_text("app,cap_w,runtime_s,power_w\n"
                    + "".join(f"{a},{c},{t},{p}\n" for a, c, t, p in rows))  # fmt: skip
    ask = (
        "plan",
        runs,
        "--from",
        "cap_w=300",
        "--budget",
        "300W",
        "--objective",
        "energy",
        "--json",
    )
    for factor, cap in (("1", 300), ("1.05", 200), ("1.3", 100)):
        code, out, err = told(capsys, *ask, "--slowdown", factor)
        assert code == 0, err
        plan = json.loads(out)
        assert plan["slowdown"] == pytest.approx(float(factor) - 1)
        assert plan["nodes"][0]["after"] == {"cap_w": cap}
    code, _, err = told(capsys, *ask, "--slowdown", "0.05")
    assert code == 2
    assert "expected 1 or more, as 1.05" in err
