"""ML.ENERGY's tables: names, units, and what is known when."""

from __future__ import annotations

import pytest

from rheostat.core.jobs import Moment
from rheostat.errors import DataError
from rheostat.measurement.read import guess_format, read
from rheostat.measurement.serving.mlenergy import V2, V3, read_mlenergy

ROW3 = {c: "1" for c in V3} | {"model_id": "a/b", "task": "chat", "gpu_model": "H100",
        "weight_precision": "fp8", "architecture": "MoE"}  # fmt: skip
MORE3 = {"total_params_billions": "30", "activated_params_billions": "3", "median_itl_ms": "20"}


def write(path, rows):
    head = list(rows[0])
    lines = [head, *([row[c] for c in head] for row in rows)]
    path.write_text("\n".join(",".join(line) for line in lines) + "\n")
    return path


def test_version_three_has_si_units_and_moments(tmp_path):
    file = write(tmp_path / "t.csv", [ROW3 | MORE3])
    assert guess_format(file) == "mlenergy"
    jobs = read(file)
    row = jobs.frame.row(0, named=True)
    assert (row["itl_s"], row["params"], row["active_params"]) == (0.02, 30e9, 3e9)
    late = {"batch_mean", "output_tokens", "itl_s", "tokens_per_s", "energy_per_token_j", "power_w"}
    assert late <= {c for c in jobs.columns if jobs.schema[c].known is Moment.END}
    assert {"gpus", "batch_cap", "app"} <= set(jobs.known_at(Moment.SUBMIT).columns)


def test_version_two_has_energy_per_token_where_the_output_is_known(tmp_path):
    row = {c: "2" for c in V2} | {
        "Model": "x/Mixtral-8x7B",
        "task": "chat",
        "GPU": "A100",
        "TP": "2",
        "PP": "2",
    }
    rows = [row | {"Energy/req (J)": "50", "Avg Output Tokens": "100", "params_B": "7"},
            row | {"Avg Output Tokens": "", "params_B": "7"}]  # fmt: skip
    jobs = read(write(tmp_path / "t.csv", rows))
    assert jobs.frame["energy_per_token_j"].to_list() == [0.5, None]
    assert jobs.frame["gpus"].to_list() == [4, 4]
    assert jobs.frame["active_params"][0] == 12.9e9
    assert jobs.notes[0].count == 1


def test_another_table_is_refused_by_name(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"no ML\.ENERGY table"):
        read_mlenergy(tmp_path / "t.csv")


def test_the_measured_table_agrees_with_itself(shared_data):
    """Power is energy per token times tokens per second, in all 838 rows."""
    jobs = read(shared_data / "llm" / "mlenergy_v3" / "mlenergy_v3_llm_mllm.csv")
    power = jobs.numpy("energy_per_token_j") * jobs.numpy("tokens_per_s")
    assert len(jobs) == 838
    assert power == pytest.approx(jobs.numpy("power_w"), rel=1e-6)
