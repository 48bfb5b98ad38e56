"""Training runs under the names of whoever wrote them."""

from __future__ import annotations

import pytest

from rheostat import table
from rheostat.measurement.read import read
from rheostat.measurement.training_runs.own_names import in_our_names
from rheostat.prediction.step_cost import StepCost

HEAD = "model,gpu,batch,dtype,step_ms,mem_GB,power_W\n"
ROWS = [("vgg11", g, b, p, (2 if p == "fp32" else 1) * b / (3 if g == "T4" else 9)) for g in
        ("T4", "V100") for b in (8, 16, 32, 64) for p in ("fp32", "bf16")]  # fmt: skip


def test_a_table_in_plain_names_is_learned_from(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text(HEAD + "".join(f"{m},{g},{b},{p},{t},{b / 8},70\n" for m, g, b, p, t in ROWS))
    jobs, (note,) = in_our_names(read(path))
    assert note.message == (
        "taken as: app = model, device = gpu, precision_bits = dtype, memory_peak_b = mem_GB"
    )
    assert jobs.frame["runtime_s"].to_list() == pytest.approx([r[-1] / 1e3 for r in ROWS])
    assert jobs.frame["memory_peak_b"].to_list() == [r[2] / 8 * 1e9 for r in ROWS]
    assert jobs.frame["precision_bits"].to_list() == [32, 16] * 8
    model = StepCost().fit(jobs)
    assert list(model.fits_) == ["runtime_s", "energy_j", "memory_peak_b"]
    outcome = model.predict(jobs)
    assert outcome.mean("energy_j") == pytest.approx(70 * jobs.numpy("runtime_s"), rel=0.3)


def test_what_is_there_or_is_not_plain_stays(tmp_path):
    jobs = table({"app": ["a"], "model": ["b"], "gpu": [1], "step_s": [1.0], "iter_s": [2.0]})
    assert in_our_names(jobs) == (jobs, [])


@pytest.mark.parametrize(
    ("name", "value", "peak"),
    [("peak_mem_GiB", 2.0, 2.0**31), ("memory_mb", 5.0, 5e6), ("max_memory_bytes", 7.0, 7.0),
     ("gpu_mem_used_mib", 1.0, 2.0**20)],
)  # fmt: skip
def test_memory_in_its_units(name, value, peak):
    jobs, _ = in_our_names(table({"app": ["a"], name: [value]}))
    assert jobs.frame["memory_peak_b"].to_list() == [peak]


def test_words_for_sixteen_bits():
    jobs, _ = in_our_names(
        table({"app": ["a"] * 5, "precision": ["amp", "fp16", "Mixed", "x", None]})
    )
    assert jobs.frame["precision_bits"].to_list() == [16, 16, 16, None, None]
