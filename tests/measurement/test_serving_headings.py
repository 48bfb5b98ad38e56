"""Headings of vendors' sheets: per GPU, in total, two lengths in one cell."""

import pytest

from rheostat.measurement.serving.runs import read_serving


def read(tmp_path, heading, row, **options):
    path = tmp_path / "runs.csv"
    path.write_text(f"{heading}\n{row}\n")
    return read_serving(path, **options).frame.row(0, named=True)


def test_a_sheet_per_gpu_with_two_lengths_in_one_cell(tmp_path):
    heading = "Model,GPU,TP,ISL/OSL,Concurrency,Throughput (tok/s/GPU),TPOT (ms),Power (W/GPU)"
    row = read(tmp_path, heading, "m-8B,H100,2,1000/128,16,800,10,400")
    assert (row["prompt_tokens"], row["output_tokens"]) == (1000, 128)
    assert (row["tokens_per_s"], row["power_w"]) == (1600, 800)
    assert row["energy_per_token_j"] == 0.5


@pytest.mark.parametrize(
    "name", ["power_total_W", "Total power (W)", "gpu_power_total", "watts_all"]
)
def test_power_that_is_said_to_be_of_all_is_not_asked_for(tmp_path, name):
    heading = f"model,gpu,gpus,batch_cap,itl_ms,tokens_per_s,{name}"
    assert read(tmp_path, heading, "m-8B,H100,4,16,10,1600,800")["power_w"] == 800
    row = read(tmp_path, heading, "m-8B,H100,4,16,10,1600,800", units={"power": "W/gpu"})
    assert row["power_w"] == 3200  # as stated
