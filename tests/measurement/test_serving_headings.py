"""Headings of serving tables that say a unit or a setting of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from rheostat.measurement.serving.runs import read_serving

HEAD = "model,gpu,gpus,batch,ISL,OSL,TPOT (ms)"
ROW = "Llama-3.1-8B,H100,1,8,512,256,9.5"


def written(folder: Path, heads: str, *rows: str) -> Path:
    file = folder / "runs.csv"
    file.write_text("\n".join([f"{HEAD},{heads}", *(f"{ROW},{r}" for r in rows), ""]))
    return file


@pytest.mark.parametrize(
    ("heading", "joules"),
    [
        ("Wh per 1k requests", 3600 / 1000 / 256),
        ("kWh per million requests", 3.6e6 / 1e6 / 256),
        ("Wh/request", 3600 / 256),
        ("kWh per million tokens", 3.6),
    ],
)
def test_energy_of_many_requests_is_that_of_their_tokens(tmp_path, heading, joules):
    runs = read_serving(written(tmp_path, heading, "33.79"))
    assert runs.frame["energy_per_token_j"][0] == pytest.approx(33.79 * joules)


@pytest.mark.parametrize("heading", ["power_limit_W", "GPU power cap (W)", "gpu_cap_w"])
def test_the_limit_of_power_is_a_setting(tmp_path, heading):
    runs = read_serving(written(tmp_path, f"{heading},J/token", "300,0.2", "700,0.3"))
    assert runs.frame["power_cap_w"].to_list() == [300.0, 700.0]
    assert runs.frame["energy_per_token_j"].to_list() == [0.2, 0.3]


def test_lengths_that_were_drawn_part_the_tokens_of_prompts_and_answers(tmp_path):
    file = tmp_path / "sglang.csv"
    heads = "model,gpu,tp,max_concurrency,random_input_len,random_output_len"
    file.write_text(
        f"{heads},total_token_throughput,median_itl_ms,power_w\n"
        "Llama-3.1-8B,H100,1,8,1024,128,8120.7,7.98,420\n"
        "Llama-3.1-8B,H100,1,16,1024,128,14627.7,8.86,455\n"
    )
    runs = read_serving(file)
    answers = [8120.7 / 9, 14627.7 / 9]
    assert runs.frame["tokens_per_s"].to_list() == pytest.approx(answers)
