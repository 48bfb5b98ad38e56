"""`rheostat next` and `search --from`: what to measure, from the results at hand."""

import json

import pytest

from rheostat.cli import run

pytest.importorskip("gpytorch")
NODES = [1, 2, 4, 8, 16, 32]


def cost(nodes, work):
    return 10 + work / nodes, 100 + 300.0 * nodes


def written(path, own):
    lines = ["app,nodes,runtime_s,power_w"]
    for i, work in enumerate((400, 900, 1500, 2500)):
        lines += [f"old{i},{n},{cost(n, work)[0]},{cost(n, work)[1]}" for n in NODES]
    lines += [f"mine,{n},{cost(n, 1200)[0]},{cost(n, 1200)[1]}" for n in own]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def ask(capsys):
    """Facts of ``rheostat next`` on a table."""

    def facts(path, *more):
        knob = "nodes=" + ",".join(map(str, NODES))
        assert run(["next", str(path), "--where", "app=mine", "--knob", knob, "--json", *more]) == 0
        return json.loads(capsys.readouterr().out)

    return facts


def test_it_names_settings_not_measured_yet_until_none_is_left(ask, tmp_path, capsys):
    own = [4]
    while len(own) < len(NODES):
        facts = ask(written(tmp_path / "runs.csv", own))
        asked = facts["next"][0]["setting"]["nodes"]
        assert facts["measured"] == len(own)
        assert asked in NODES
        assert asked not in own
        own.append(asked)
    path = written(tmp_path / "runs.csv", own)
    assert run(["next", str(path), "--where", "app=mine", "--knob", "nodes=1..32"]) == 1
    said = capsys.readouterr().err
    assert "nothing is left. Best measured: 16 nodes" in " ".join(said.split())


def test_several_settings_complement_each_other_and_limits_keep_the_method(ask, tmp_path):
    path = written(tmp_path / "runs.csv", [8])
    facts = ask(path, "-n", "3", "--within", "deadline=200s")
    named = [s["setting"]["nodes"] for s in facts["next"]]
    assert len(set(named)) == 3
    assert facts["method"] == "LawGuided"
    # 1 to 4 nodes take 1,210, 610 and 310 s: under the limit they teach nothing about the front
    assert set(named[:2]) <= {16, 32}


def test_what_is_expected_to_be_better_is_named_beside_the_best_measured(ask, tmp_path):
    path = written(tmp_path / "runs.csv", [1, 2, 32])
    facts = ask(path, "--rule", "deadline=100s")
    assert facts["best_measured"]["setting"] == {"nodes": 32}  # the only one measured in time
    truth = {n: cost(n, 1200)[0] * cost(n, 1200)[1] for n in NODES if cost(n, 1200)[0] <= 100}
    assert facts["expected_better"]["setting"] == {"nodes": min(truth, key=truth.get)}


def test_a_search_goes_on_from_results_at_hand(tmp_path, capsys):
    path = written(tmp_path / "runs.csv", [1, 32])
    mine = tmp_path / "mine.csv"
    rows = path.read_text().splitlines()
    mine.write_text("\n".join([rows[0], *(r for r in rows if r.startswith("mine"))]) + "\n")
    space = tmp_path / "space.toml"
    space.write_text(f"[knobs]\nnodes = {NODES}\n")
    program = """printf '{{"runtime_s": %s, "power_w": 50}}' {nodes}"""
    given = ["--measure", program, "--from", str(mine), "--budget", "1", "--json"]
    assert run(["search", str(space), *given]) == 0
    said = capsys.readouterr()
    nodes = sorted(s["nodes"] for s in json.loads(said.out)["front"])
    assert len(set(nodes)) == 3
    assert {1, 32} < set(nodes)
    assert "2 settings of" in said.err


def test_a_table_of_runs_with_units_and_decimal_commas_is_asked_as_it_is(tmp_path, capsys):
    """Nothing was asked for there, knobs take units, and a missing knob names those there."""
    rows = [f"{app};{mhz};{work / mhz:.1f};{0.1 * mhz + 0.5:.1f}"
            for app, work in (("a", 9e4), ("b", 5e4)) for mhz in (900, 1300, 1700)]  # fmt: skip
    table = tmp_path / "runs.csv"
    header = "Application;Frequency [MHz];Elapsed time [s];Avg. power [W]"
    table.write_text("\n".join([header, *rows]).replace(".", ",").replace("Avg,", "Avg.") + "\n")
    assert run(["front", str(table), "--where", "app=a", "--knob", "nodes=1,2"]) == 1
    assert (
        "turned here: --knob frequency_hz=900000000,1300000000,1700000000"
        in capsys.readouterr().err
    )
    asked = ["--knob", "frequency_hz=900MHz..1.7GHz/400MHz", "--where", "app=a"]
    assert run(["front", str(table), *asked, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [e["frequency_hz"] for e in said["front"]] == [9e8, 13e8, 17e8]
    assert not said["requested"]
    assert run(["front", str(table), *asked[2:], "--knob", "frequency_hz=900Watt"]) == 1
    assert "900Watt" in capsys.readouterr().err


def test_a_table_without_energy_is_refused_with_what_works_instead(tmp_path, capsys):
    path = tmp_path / "runs.csv"
    path.write_text("nodes,wall_s\n1,100\n4,30\n16,12\n")
    given = ["next", str(path), "--knob", "nodes=1..16"]
    assert run(given) == 1
    assert "try --objectives runtime_s,node_hours" in capsys.readouterr().err
    assert run([*given, "--objectives", "runtime_s,node_hours", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["next"][0]["setting"]["nodes"] in (2, 8)


def test_whole_numbers_of_a_knob_and_broken_ones_of_a_table_are_the_same_settings(tmp_path, capsys):
    """Three objectives make the default method draw from what was told and what was not."""
    rows = [f"a,{n}.0,{100 / n + 9},{100 * n},{1e6 * n}" for n in (1, 2, 4)]
    (tmp_path / "t.csv").write_text("\n".join(["app,nodes,runtime_s,power_w,memory_b", *rows]))
    asked = ["next", str(tmp_path / "t.csv"), "--knob", "nodes=1,2,4,8", "--json"]
    assert run([*asked, "--objectives", "runtime_s,power_w,memory_b"]) == 0
    assert json.loads(capsys.readouterr().out)["next"][0]["setting"] == {"nodes": 8}
    assert run([*asked, "--objectives", " "]) == 1
    assert "--objectives: expected like runtime_s,energy_j" in capsys.readouterr().err


def test_limits_that_nothing_meets_name_the_nearest_and_a_knob_all_runs_share_is_named(
    tmp_path, capsys
):
    path = tmp_path / "runs.csv"
    path.write_text("nodes,cap_w,runtime_s,power_w\n1,200,100,90\n4,200,30,300\n")
    given = ["next", str(path), "--knob", "nodes=1,2,4", "--knob", "cap_w=200,250"]
    assert run([*given, "--within", "deadline=10s", "--method", "sobol", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["best_measured"] is None
    assert facts["nearest"] == {"nodes": 4, "cap_w": 200}
    assert "nearest is nodes=4, cap_w=200, 200.0 % over" in facts["misses"]
    assert run([*given, "--method", "sobol", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["best_measured"]["setting"]["cap_w"] == 200


def test_runs_of_others_that_the_method_does_not_learn_from_are_not_left_aside_in_silence(
    tmp_path, capsys
):
    path = written(tmp_path / "runs.csv", [1, 32])
    given = ["next", str(path), "--where", "app=mine", "--knob", "nodes=1..32", "--json"]
    given += ["--prior", str(path)]
    assert run([*given, "--method", "sobol"]) == 0
    assert "--prior is not used: Sobol does not learn" in capsys.readouterr().err
    assert run([*given, "--method", "law"]) == 0
    assert "--prior is not used" not in capsys.readouterr().err


TIMES = {32: 90, 64: 60, 256: 40}
BLOCKS = "block=32,64,128,256,512,1024"


@pytest.mark.parametrize("failed", ["3,failed", "OOM,", "out of memory,"])
def test_a_setting_that_failed_is_named_and_not_asked_again(failed, tmp_path, capsys):
    rows = [*(f"{b},{t},ok" if failed[0] == "3" else f"{b},{t}," for b, t in TIMES.items())]
    path = tmp_path / "runs.csv"
    heads = "block,time_s,state" if failed[0] == "3" else "block,time_s,remark"
    path.write_text("\n".join([heads, *rows, f"1024,{failed}", "128,,"]) + "\n")
    more = ["--objectives", "runtime_s", "--rule", "weighted=runtime_s:1", "-n", "6", "--json"]
    assert run(["next", str(path), "--knob", BLOCKS, *more]) == 0
    out, err = capsys.readouterr()
    named = {s["setting"]["block"] for s in json.loads(out)["next"]}
    assert named == {128, 512}  # 128 has a row that is yet to be run
    word = {"3": "failed", "O": "OOM", "o": "OUT_OF_MEMORY"}[failed[0]]
    said = " ".join(err.split())
    assert f"block 1024 ({word}) did not finish (not asked again)" in said
    assert "block 128 lacks runtime_s" in said


def test_nothing_is_left_where_the_rest_failed(tmp_path, capsys):
    path = tmp_path / "runs.csv"
    path.write_text("block,time_s,state\n32,90,ok\n64,3,failed\n")
    more = ["--objectives", "runtime_s", "--rule", "weighted=runtime_s:1"]
    assert run(["next", str(path), "--knob", "block=32,64", *more]) == 1
    assert "every setting of --knob was run, 1 measured" in " ".join(
        capsys.readouterr().err.split()
    )


def test_objectives_are_known_by_the_names_of_the_file(tmp_path, capsys):
    """`peak_gb` is read as `peak_b`, and was then a column that is missing."""
    path = tmp_path / "runs.csv"
    path.write_text("nodes,runtime_s,peak_gb\n1,90,20\n2,50,12\n4,30,8\n8,20,8\n")
    run(["next", str(path), "--knob", "nodes=1,2,4,8,16", "--objectives", "runtime_s,peak_gb"])
    assert "16" in capsys.readouterr().out
    asked = ["front", str(path), "--knob", "nodes", "--objectives", "runtime_s,peak_gb", "--json"]
    assert run([*asked, "--rule", "weighted=peak_gb:1"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["objectives"] == ["runtime_s", "peak_b"]
    assert facts["choice"]["setting"] == {"nodes": 8}  # as little memory as 4, and faster


def test_a_rate_is_no_objective(tmp_path, capsys):
    """More images per second are better: the slowest setting was taken."""
    path = tmp_path / "runs.csv"
    path.write_text("batch_size,images_per_s\n8,106\n16,177\n")
    for question in ("front", "next"):
        asked = [question, str(path), "--knob", "batch_size=8,16,32"]
        assert run([*asked, "--objectives", "images_per_s"]) == 1
        assert "runtime_s=1/images_per_s" in capsys.readouterr().err
    assert run([*asked, "--objectives", "runtime_s,images_per_joule"]) == 1
    assert "energy_j=1/images_per_joule" in capsys.readouterr().err


def test_runs_without_a_value_of_a_knob_are_said(tmp_path, capsys):
    path = tmp_path / "runs.csv"
    path.write_text("solver,tile,runtime_s\nplain,,50\nblocked,16,44\nblocked,32,37\n")
    asked = ["next", str(path), "--knob", "solver", "--knob", "tile=16,32,64"]
    run([*asked, "--objectives", "runtime_s"])
    said = " ".join(capsys.readouterr().err.split())
    assert "left out for want of a value of tile, 1 of 3 runs, of solver plain" in said


def test_two_single_runs_alike_are_said(tmp_path, capsys):
    path = tmp_path / "runs.csv"
    path.write_text("threads,runtime_s\n1,30\n8,6.0\n16,6.01\n")
    asked = ["next", str(path), "--knob", "threads=1,2,4,8,16", "--objectives", "runtime_s"]
    assert run(asked) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "Not told apart by so few runs: 8 threads and 16 threads" in said


def test_of_settings_that_a_rule_finds_equal_the_better_one_is_taken(tmp_path, capsys):
    """Equal watts, and neither on the front of time and energy: the first in order was taken."""
    path = tmp_path / "runs.csv"
    rows = ("far,8,26,300", "near,8,20,300", "near,16,14,420", "far,16,15,420")
    path.write_text("numa,threads,runtime_s,power_w\n" + "\n".join(rows) + "\n")
    asked = ["front", str(path), "--knob", "numa", "--knob", "threads", "--json"]
    assert run([*asked, "--rule", "weighted=power_w:1"]) == 0
    chosen = json.loads(capsys.readouterr().out)["choice"]["setting"]
    assert chosen == {"numa": "near", "threads": 8}


def test_runs_of_the_chosen_setting_that_failed_are_said(tmp_path, capsys):
    path = tmp_path / "runs.csv"
    rows = ["2,50,COMPLETED", "4,25,COMPLETED", "8,12,COMPLETED", "8,600,TIMEOUT", "8,600,TIMEOUT"]
    path.write_text("ranks,elapsed_s,State\n" + "\n".join(rows) + "\n")
    assert run(["front", str(path), "--knob", "ranks", "--objectives", "runtime_s"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "ranks 8: 2 of 3 runs did not end well" in said
