"""A knob by its name alone, and runs of one language model without its name."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import rheostat as rh
from rheostat.errors import DataError
from rheostat.questions.inputs import load, rows_with
from rheostat.questions.settings.knob_columns import turned_columns

RUNS = rh.table(
    {
        "nodes": [1, 2, 1, 2],
        "cap_w": [200, 200, 300, 300],
        "runtime_s": [100.0, 55.0, 90.0, 48.0],
        "energy_j": [20e3, 22e3, 27e3, 28.8e3],
    }
)


def test_a_name_alone_is_the_values_that_were_run() -> None:
    alone = rh.front(RUNS, knobs=["cap_w", "nodes"])
    listed = rh.front(RUNS, knobs=["cap_w=200,300", "nodes=1,2"])
    assert alone.to_dict() == listed.to_dict()


def test_next_mixes_a_name_alone_with_values() -> None:
    answer = rh.next_settings(RUNS, knobs=["cap_w", "nodes=1,2,4"], method="sobol", count=2)
    assert sorted(s["cap_w"] for s in answer.settings) == [200, 300]
    assert {s["nodes"] for s in answer.settings} == {4}


def test_a_name_that_is_no_column_is_refused_with_what_was_turned() -> None:
    with pytest.raises(DataError, match="column gpus is missing; turned here: --knob nodes=1,2"):
        rh.front(RUNS, knobs="gpus")


def serving(*apps: str) -> rh.JobTable:
    n = len(apps)
    return rh.table(
        {
            "app": [app for app in apps for _ in range(4)],
            "params": [8e9] * 4 * n,
            "gpu_model": ["H100", "H100", "A100", "A100"] * n,
            "gpus": [1] * 4 * n,
            "batch_cap": [8, 32, 8, 32] * n,
            "itl_s": [0.010, 0.014, 0.013, 0.018] * n,
            "energy_per_token_j": [0.5, 0.2, 0.6, 0.25] * n,
        }
    )


def test_runs_of_one_model_need_no_name() -> None:
    assert rh.llm.plan(serving("m8"), itl="15ms").setting == {
        **rh.llm.plan(serving("m8"), "m8", itl="15ms").setting
    }


def test_of_several_models_each_is_named() -> None:
    with pytest.raises(DataError, match="runs of 2 models; take one: m8, 'a b'"):
        rh.llm.plan(serving("m8", "a b"), itl="15ms")


@pytest.mark.parametrize(("one", "other", "values"), [
    (1, 2, None), ("a", "b", None), ("run-1", "run-2", None), ("plain", "tuned", "plain,tuned"),
])  # fmt: skip
def test_what_counts_the_repeats_is_no_knob(one, other, values) -> None:
    frame = RUNS.frame.with_columns(Run=pl.Series([one, other, other, one]))
    turned = dict(turned_columns(rh.table(frame.to_dict(as_series=False))))
    assert turned.pop("Run", None) == values
    assert turned == {"nodes": "1,2", "cap_w": "200,300"}


def test_where_takes_the_name_that_sacct_gives_a_program(tmp_path: Path) -> None:
    head = "JobID|JobName|Comment|State|Submit|Start|End|NNodes\n"
    row = "{}|{}|{}|COMPLETED|2026-10-01T00:00:00|2026-10-01T00:01:00|2026-10-01T00:11:00|2\n"
    (file := tmp_path / "log.txt").write_text(
        head + row.format(1, "lbm", "x") + row.format(2, "cfd", "y")
    )
    assert rows_with(load(file), "JobName=cfd") == [1]
    mapped = load(file, columns=["app=Comment"])
    assert rows_with(mapped, "Comment=y") == [1]
    with pytest.raises(DataError, match="JobName"):
        rows_with(mapped, "JobName=cfd")
