"""``rheostat llm`` as it is typed."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rheostat as rh
from rheostat.cli import run
from tests.prediction.test_serving_law import runs


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "runs.csv"
    runs(36, seed=1).frame.write_csv(path)
    return str(path)


def test_the_law_is_printed_with_units_and_intervals(file, capsys):
    assert run(["llm", "fit", file, "--json", "--next", "2"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["schema"] == "rheostat.llm-law/1"
    assert len(said["next"]) == 2
    for p in said["parameters"].values():
        assert 0 < p["low"] < p["value"] < p["high"]
    for flag in ("--latex", "--python"):
        assert run(["llm", "fit", file, flag]) == 0
    assert "align" in capsys.readouterr().out


def test_rows_left_out_repeats_that_disagree_and_nothing_to_measure_are_said(tmp_path, capsys):
    path = tmp_path / "runs.csv"
    path.write_text(
        "app,params,gpu_model,gpus,batch_cap,itl_s,energy_per_token_j\n"
        "m,8e9,H100,1,8,0.010,0.5\nm,8e9,H100,1,8,0.050,4.5\nm,8e9,H100,1,32,0.014,0.2\n"
        "m,8e9,H100,1,32,,0.2\nm,8e9,B200,1,8,0.008,0.6\nm,8e9,B200,1,32,0.010,0.18\n"
    )
    for command in (["fit", "--next", "2"], ["plan", "--app", "m"]):
        assert run(["llm", command[0], str(path), *command[1:]]) == 0
        said = " ".join(capsys.readouterr().err.split())
        assert "rows without positive itl_s, energy_per_token_j were not learnt from" in said
        assert "runs of one configuration differ by a factor above 1.5, and all were" in said
        assert "batch_cap 8 one has 4.5 J a token where others have 0.5" in said
        assert ("0 of 2 named" in said) == (command[0] == "fit")


def test_a_plan_holds_its_limit_and_no_simple_rule_is_better(file, capsys):
    assert run(["llm", "plan", file, "--app", "m1", "--itl", "50ms", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["schema"] == "rheostat.llm-plan/1"
    assert said["simple_rules"]
    assert all(r["energy_ratio"] >= 1 - 1e-9 for r in said["simple_rules"].values())


def test_the_answer_comes_first_with_its_price_and_twenty_rows_stand_below(file):
    answer = rh.llm.plan(file, "m1", knobs=["batch_cap=8,16,24,32,48,64,96,128,192,256"])
    first, *_, start, front, every = answer.report().sections
    assert (first.title, start.title, front.title) == ("answer", "to start it", "front")
    assert start.listing == answer.engine_line
    assert " energy per token; " in first.sentences[0]
    assert "predicted" in first.sentences[0] or "measured in" in first.sentences[0]
    settings = [tuple(row[1:4]) for row in front.grid.rows]
    assert len(settings) == 20 < len(answer.front) == len(answer.grids()[0].rows)
    assert tuple(answer.setting.values()) == settings[front.grid.marked]
    kept = {tuple(answer.front.setting(int(i)).values()) for i in np.flatnonzero(answer.front.mask)}
    assert kept <= set(settings)
    assert every.folded
    assert len(every.grid.rows) == len(answer.front)


def test_the_report_shows_the_front_and_the_law(file, tmp_path, capsys):
    page = tmp_path / "plan.html"
    assert run(["llm", "plan", file, "--app", "m1", "--html", str(page)]) == 0
    said = page.read_text()
    assert "The law" in said
    assert "What simple rules would take" in said
    assert "fewest GPUs: gpu_model=" in said
    assert "share of the memory bandwidth that is reached" in said
    assert "each predicted by a law fitted to four fifths of them, itself left out" in said
    assert said.count("Predicted against measured") >= 3
    assert "The law" not in capsys.readouterr().out


def test_no_configuration_within_the_limit_is_exit_3_and_names_the_nearest(file, capsys):
    assert run(["llm", "plan", file, "--app", "m1", "--itl", "1ms"]) == 3
    assert "nearest" in capsys.readouterr().err


def test_measured_tokens_per_second_and_energy_hold_a_limit_on_power(file, capsys):
    """The watts of a measured setting are their product; the table has no column of watts."""
    assert run(["llm", "plan", file, "--app", "m1", "--power", "1W"]) == 3
    assert "power at most 1 W" in capsys.readouterr().err
    assert run(["llm", "plan", file, "--app", "m1", "--power", "500W"]) == 0


@pytest.mark.parametrize(
    ("more", "word"),
    [(["--app", "gpt-9"], "m0"), (["--app", "m1", "--itl", "soon"], "soon"),
     (["--app", "m1", "--itl", "50ms@x"], "@0.9")],
)  # fmt: skip
def test_what_cannot_be_meant_is_one_message(file, capsys, more, word):
    assert run(["llm", "plan", file, *more]) == 1
    assert word in capsys.readouterr().err


@pytest.mark.parametrize(("tokens", "why"), [
    (lambda i: 1 + 97 * i % 300, "prompt length: tau is not known: all 12 requests have one rank"),
    (lambda i: 16, "ours: pairs are not known: no two answers differ in length by a fifth"),
])  # fmt: skip
def test_a_score_that_is_not_known_has_its_reason(tokens, why, tmp_path, capsys):
    rows = [f"word{100 + i},{tokens(i)}\n" for i in range(60)]
    (tmp_path / "r.csv").write_text("prompt,output_tokens\n" + "".join(rows))
    assert run(["llm", "rank", str(tmp_path / "r.csv")]) == 0
    said = capsys.readouterr()
    assert "nan" in said.out
    assert why in " ".join(said.err.split())


def test_a_ranking_is_learned_saved_and_used_again(tmp_path, capsys):
    from tests.prediction.test_prompt_length import requests

    requests(200).frame.write_csv(tmp_path / "r.csv")
    model = str(tmp_path / "m.rheo")
    assert run(["llm", "rank", str(tmp_path / "r.csv"), "--save", model, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["schema"] == "rheostat.llm-rank/1"
    assert said["methods"]["ours"]["tau"] > 0.4
    assert run(["llm", "rank", str(tmp_path / "r.csv"), "--model", model]) == 0
    assert "ours\ttau 0." in capsys.readouterr().out
    assert run(["llm", "rank", str(tmp_path / "r.csv"), "--model", str(tmp_path / "r.csv")]) == 1


def test_the_parts_of_a_file_say_what_the_whole_says(file, tmp_path, capsys):
    from tests.prediction.test_prompt_length import requests

    for command, whole in (("fit", runs(36, seed=1).frame), ("rank", requests(120).frame)):
        paths = [tmp_path / f"{command}{i}.csv" for i in range(3)]
        half = len(whole) // 2
        for path, rows in zip(paths, (whole, whole[:half], whole[half:]), strict=True):
            rows.write_csv(path)
        said = []
        for files in (paths[:1], paths[1:]):
            assert run(["llm", command, *map(str, files), "--json"]) == 0
            said.append(capsys.readouterr().out)
        assert said[0] == said[1]
    assert run(["llm", "rank", *map(str, [*paths, paths[0]])]) == 1
    assert "is there twice" in capsys.readouterr().err
    paths[2].write_text(paths[2].read_text() + "no length,\n")
    assert run(["llm", "rank", *map(str, paths[1:])]) == 0
    assert f"note: {paths[2]}: no prompt" in capsys.readouterr().err


def test_a_trace_is_served_and_whether_an_order_helps_is_said(tmp_path, capsys):
    path = tmp_path / "t.csv"
    rows = ["TIMESTAMP,ContextTokens,GeneratedTokens"]
    rows += [f"2023-11-16 18:17:{s:02}.9799600,{100 + 7 * s % 50},{5 + s % 9}" for s in range(60)]
    path.write_text("\n".join([*rows, "never,1,1"]))
    assert run(["llm", "simulate", str(path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["schema"], said["requests"]) == ("rheostat.llm-simulate/1", 60)
    assert said["policies"]["fcfs"]["queued_share"] == 0.0
    assert run(["llm", "simulate", str(path)]) == 0
    assert "no order is better" in capsys.readouterr().err
    assert run(["llm", "simulate", str(path), "--rate", "1000", "--batch-cap", "1"]) == 0
    assert "an order can help" in capsys.readouterr().err
    assert run(["llm", "simulate", str(path), "--step", "1,2"]) == 1
    assert "expected 4 numbers" in capsys.readouterr().err


def test_first_tokens_of_tool_calls_are_late_where_the_trace_says_which_they_are(tmp_path):
    """A request alone on its server: its first token is later by the delay, no other is."""
    rows = [{"timestamp": 60 * k, "prompt_tokens": 100, "completion_tokens": 50,
             "finish_reason": "tool_calls" if k % 2 else "stop"} for k in range(6)]  # fmt: skip
    for name, kept in (("said", ()), ("unsaid", ("finish_reason",))):
        lines = (json.dumps({k: v for k, v in row.items() if k not in kept}) for row in rows)
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    plain, late, unsaid = (
        rh.llm.simulate(tmp_path / name, "fcfs", tool_delay_s=delay)
        for name, delay in (("said", 0.0), ("said", 0.25), ("unsaid", 0.25))
    )
    first = [a.served["fcfs"].requests.numpy("start_s") for a in (plain, late, unsaid)]
    assert first[1] - first[0] == pytest.approx([0, 0.25] * 3)
    assert first[2].tolist() == first[0].tolist()
    assert [any("--tool-delay is not used" in n for n in a.notes) for a in (late, unsaid)] == [
        False, True,
    ]  # fmt: skip


def test_every_order_is_to_be_had_where_the_trace_says_expected_lengths(tmp_path, capsys):
    path = tmp_path / "t.csv"
    rows = ["0,900,500,400", "0,90,10,12", "0,300,20,1", "0,10,300,1000"]
    path.write_text("\n".join(["submit_s,prompt_tokens,output_tokens,guess", *rows]))
    call = ["llm", "simulate", str(path), "--batch-cap", "1", "--json", "--policies"]
    asked = "fcfs,shortest-prompt,shortest-answer,cost,hrrn,cost-oracle,hrrn-oracle"
    assert run([*call, asked, "--column", "predicted_tokens=guess"]) == 0
    mean = {p: f["mean_latency_s"] for p, f in
            json.loads(capsys.readouterr().out)["policies"].items()}  # fmt: skip
    assert list(mean) == asked.split(",")
    assert mean["cost-oracle"] < mean["cost"] < mean["fcfs"]
    assert run([*call, "cost"]) == 1
    assert "predicted_tokens" in capsys.readouterr().err
    path.write_text(path.read_text().replace("1000", "nan"))
    assert run([*call, "cost", "--column", "predicted_tokens=guess"]) == 1
    assert "predicted_tokens: expected numbers from 1" in capsys.readouterr().err


def test_what_no_cache_can_hold_is_refused_and_counted(tmp_path, capsys):
    path = tmp_path / "trace.csv"
    path.write_text("submit_s,prompt_tokens,output_tokens\n0,100,10\n1,1000000,5\n2,50,5\n")
    assert run(["llm", "simulate", str(path), "--json"]) == 0
    out = capsys.readouterr()
    said = json.loads(out.out)
    assert (said["requests"], said["refused"]) == (2, 1)
    assert "1 of 3 requests are refused" in out.err
    assert run(["llm", "simulate", str(path), "--cache-tokens", "50"]) == 1
    assert "no request fits" in capsys.readouterr().err
    assert run(["llm", "simulate", str(path), "--policies", ""]) == 1
    assert "expected names of orders" in capsys.readouterr().err
