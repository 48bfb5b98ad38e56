"""``rheostat llm demo``: files for a stranger, whose commands work and find what is true."""

from __future__ import annotations

import json

import polars as pl
import pytest

from rheostat.cli import run
from rheostat.measurement.synthetic.served_models import true_cost


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("demo") / "llm-demo"
    assert run(["llm", "demo", str(made)]) == 0
    return made


def asked(capsys, *argv):
    assert run(["llm", *map(str, argv), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_same_seed_writes_the_same_bytes_and_the_commands_name_the_files(
    folder, tmp_path, capsys
):
    value = asked(capsys, "demo", tmp_path / "again", "--requests", 1500)
    assert value["schema"] == "rheostat.llm-demo/1"
    for name in ("runs.csv", "requests.jsonl"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()
    assert len(value["commands"]) == 4
    for command in value["commands"]:
        assert f"{tmp_path}/again/" in command
    assert run(["llm", "demo", str(tmp_path / "other"), "--seed", "1"]) == 0
    assert (tmp_path / "other/runs.csv").read_bytes() != (folder / "runs.csv").read_bytes()


@pytest.mark.slow
def test_the_configuration_taken_is_nearly_the_best_one_in_truth(folder, capsys):
    value = asked(capsys, "plan", folder / "runs.csv", "--app", "m32", "--itl", "12ms")
    names = ("gpu_model", "gpus", "batch_cap")
    truth = {}
    for row in value["front"]:
        itl_s, energy_j = true_cost(32e9, *(row[n] for n in names))
        truth[tuple(row[n] for n in names)] = energy_j if itl_s <= 0.012 else float("inf")
    taken = tuple(value["choice"]["setting"][n] for n in names)
    assert truth[taken] <= 1.1 * min(truth.values())
    same = asked(capsys, "plan", folder / "runs.csv", "--app", "m32", "--itl", "12ms",
                 "--knob", "gpus=2,4")  # fmt: skip
    assert same["choice"]["setting"] == value["choice"]["setting"]  # other knobs stay as offered
    assert {row["gpus"] for row in same["front"]} == {2, 4}
    simple = pl.read_csv(folder / "runs.csv").filter(app="m32")["energy_per_token_j"]
    assert truth[taken] < 0.2 * simple.median()


@pytest.mark.slow
def test_the_requests_can_be_ranked_and_an_order_helps(folder, capsys):
    rank = asked(capsys, "rank", folder / "requests.jsonl")
    assert rank["methods"]["ours"]["tau"] > 0.7
    assert abs(rank["methods"]["prompt length"]["tau"]) < 0.2
    capsys.readouterr()
    assert run(["llm", "simulate", str(folder / "requests.jsonl"), "--rate", "8"]) == 0
    assert "an order can help" in capsys.readouterr().err
