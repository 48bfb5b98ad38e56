"""Training runs under the names of whoever wrote them."""

from __future__ import annotations

import json

import pytest

from rheostat.errors import DataError
from rheostat.measurement.read import read
from rheostat.prediction.step_cost import StepCost

HEAD = "model,gpu,batch,dtype,step_ms,mem_GB,power_W\n"
ROWS = [("vgg11", g, b, p, (2 if p == "fp32" else 1) * b / (3 if g == "T4" else 9)) for g in
        ("T4", "V100") for b in (8, 16, 32, 64) for p in ("fp32", "bf16")]  # fmt: skip


@pytest.fixture
def runs_of(tmp_path):
    """Reads a table of training runs from its text."""

    def made(text, name="runs.csv"):
        (tmp_path / name).write_text(text)
        return read(tmp_path / name, "training")

    return made


def messages(jobs):
    return " / ".join(n.message for n in jobs.notes)


def test_a_table_in_plain_names_is_learned_from(runs_of):
    jobs = runs_of(HEAD + "".join(f"{m},{g},{b},{p},{t},{b / 8},70\n" for m, g, b, p, t in ROWS))
    assert (
        "taken as: app = model, device = gpu, batch_size = batch, precision_bits = dtype, "
        "runtime_s = step_ms, memory_peak_b = mem_GB" in messages(jobs)
    )
    assert jobs.frame["runtime_s"].to_list() == pytest.approx([r[-1] / 1e3 for r in ROWS])
    assert jobs.frame["memory_peak_b"].to_list() == [r[2] / 8 * 1e9 for r in ROWS]
    assert jobs.frame["precision_bits"].to_list() == [32, 16] * 8
    model = StepCost().fit(jobs)
    assert list(model.fits_) == ["runtime_s", "energy_j", "memory_peak_b"]
    outcome = model.predict(jobs)
    assert outcome.mean("energy_j") == pytest.approx(70 * jobs.numpy("runtime_s"), rel=0.3)


def test_what_is_there_stays_and_two_that_fit_are_asked_about(runs_of):
    jobs = runs_of("app,model,gpu,batch,runtime_s,mem_gb,peak_mem_gb\na,b,1,8,2,1,1\n")
    assert jobs.frame.row(0, named=True).items() >= {"app": "a", "runtime_s": 2}.items()
    assert "device=unnamed" in messages(jobs)  # the number of a GPU is no name of one
    assert "memory_peak_b may be mem_gb or peak_mem_gb: say which" in messages(jobs)


@pytest.mark.parametrize(
    ("name", "value", "peak"),
    [("peak_mem_GiB", "2", 2.0**31), ("memory_mb", "5", 5e6), ("max_memory_bytes", "7e6", 7e6),
     ("gpu_mem_used_mib", "1", 2.0**20), ("Peak memory [GiB]", "2", 2.0**31),
     ("memory", "2 GiB", 2.0**31), ("vram", "6.5GB", 6.5e9), ("memory", "8e9", 8e9),
     ("max_mem_gb", "OOM", None)],
)  # fmt: skip
def test_memory_in_its_units(runs_of, name, value, peak):
    jobs = runs_of(f"app,device,batch,step_s,{name}\na,A,8,1,{value}\n")
    assert jobs.frame["memory_peak_b"].to_list() == [peak]


def test_memory_whose_unit_nobody_knows_is_not_learned_from(runs_of):
    jobs = runs_of("app,device,batch,step_s,memory\na,A,8,1,11\na,A,16,2,\n")
    assert "memory_peak_b" not in jobs.columns
    assert "memory is not learned from: its unit is not known" in messages(jobs)


def test_words_for_sixteen_bits(runs_of):
    cells = ("amp", "fp16", "Mixed", "x", "")
    jobs = runs_of("app,device,bs,step_s,precision\n" + "".join(f"a,A,8,1,{c}\n" for c in cells))
    assert jobs.frame["precision_bits"].to_list() == [16, 16, 16, None, None]
    assert "'x' is not understood" in messages(jobs)


@pytest.mark.parametrize(
    ("head", "row"),
    [("Time per iteration [ms]", "80"), ("ms/step", "80"), ("seconds_per_step", ".08"),
     ("step time", "80 ms"), ("it/s", "12.5"), ("images/s", "800"), ("throughput_img_s", "800"),
     ("epoch_time_s,dataset_size", "64,51200"), ("train_time_h,samples,epochs", "16,51200,900")],
)  # fmt: skip
def test_the_time_of_a_step_is_found_in_what_is_stated(runs_of, head, row):
    """64 images in 80 ms; a pass over 51,200 images is 800 steps."""
    jobs = runs_of(f"Network;GPU type;Global batch size;{head.replace(',', ';')}\n"
                   f"vgg11;T4;64;{row.replace(',', ';')}\n")  # fmt: skip
    assert jobs.frame["runtime_s"].to_list() == pytest.approx([0.08])


def test_a_pass_without_its_samples_is_no_step(runs_of):
    with pytest.raises(
        DataError, match=r"follows from epoch_time_s with samples.*expected columns"
    ):
        runs_of("net,gpu,batch,epoch_time_s\nvgg11,T4,64,80\n")


def test_the_batch_of_each_gpu_is_summed_and_runs_without_memory_measure_nothing(runs_of):
    jobs = runs_of(
        "net,gpu,batch_size_per_gpu,n_gpus,step_ms\nvgg11,T4,64,4,80\nvgg11,T4,99,4,OOM\n"
    )
    assert jobs.frame["batch_size"].to_list() == [256, 396]
    assert jobs.frame["runtime_s"].to_list() == [0.08, None]
    assert "step_ms: not a number, null: OOM" in messages(jobs)


def test_rows_of_nested_json_are_runs(runs_of):
    row = {"config": {"model": "vgg11", "device": "T4", "batch_size": 8, "betas": [0.9]},
           "result": {"step_time_ms": 80, "name": "x"}, "name": "y"}  # fmt: skip
    jobs = runs_of("\n".join(json.dumps(row) for _ in range(3)), "runs.jsonl")
    assert jobs.frame.select("app", "device", "batch_size", "runtime_s").row(0) == (
        "vgg11", "T4", 8, 0.08)  # fmt: skip
    assert {"result.name", "name"} <= set(jobs.columns)
    assert "not read (lists): config.betas" in messages(jobs)
