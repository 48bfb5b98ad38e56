"""A serving row whose watts, tokens per second and joules contradict each other."""

from __future__ import annotations

import polars as pl
import pytest

import rheostat as rh
from rheostat.errors import DataError
from rheostat.measurement.serving.runs import read_serving


def table(factor: float, tmp_path) -> str:
    """Eight batches of one GPU; the energy of the last but one is ``factor`` times what it was."""
    caps = [1, 2, 4, 8, 16, 32, 64, 128]
    speed = [90.0 * cap**0.8 for cap in caps]
    power = [300.0 + 40.0 * i for i in range(8)]
    joules = [w / s for w, s in zip(power, speed, strict=True)]
    joules[6] *= factor
    itl_ms = [1e3 * cap / s for cap, s in zip(caps, speed, strict=True)]
    columns = {"model": ["m-8B"] * 8, "gpu": ["H100"] * 8, "num_gpus": [1] * 8,
               "max_num_seqs": caps,
               "itl_ms": itl_ms, "tokens_per_s": speed, "power_w": power,
               "energy_per_token_j": joules}  # fmt: skip
    path = tmp_path / "runs.csv"
    pl.DataFrame(columns).write_csv(path)
    return str(path)


def measured(answer):
    frame = answer.table().filter(pl.col("evidence") == "measured")
    return set(frame["batch_cap"].to_list())


@pytest.mark.parametrize("factor", [1 / 4.5, 0.6, 1.7, 4.5])
def test_a_row_that_alone_contradicts_itself_is_left_out_by_its_number(factor, tmp_path):
    answer = rh.llm.plan(table(factor, tmp_path), "m-8B")
    assert any("(row 7)" in n and "is not the power, as it is in" in n for n in answer.notes)
    assert measured(answer) == {1, 2, 4, 8, 16, 32, 128}


def test_rows_that_agree_as_the_others_do_stay(tmp_path):
    assert {64, 128} <= measured(rh.llm.plan(table(1.2, tmp_path), "m-8B"))


def test_a_row_of_another_unit_is_refused_by_its_number(tmp_path):
    with pytest.raises(DataError, match=r"row 7 says .* a factor of 1e\+03"):
        rh.llm.plan(table(1e3, tmp_path), "m-8B")


def test_energy_follows_from_watts_and_full_batches_where_no_throughput_is_stated(tmp_path):
    """300 W at 64 tokens each 20 ms."""
    path = tmp_path / "runs.csv"
    path.write_text("app,gpu_model,gpus,batch_cap,itl_s,power_w\nm-8B,H100,1,64,0.02,300\n")
    runs = read_serving(path)
    assert runs.frame["energy_per_token_j"].to_list() == [300 / 3200]
    assert any("as in full batches" in n.message for n in runs.notes)
