"""Tables of training runs, each to the last field."""

from __future__ import annotations

import gzip
import json
import math

import polars as pl
import pytest

from rheostat.core.jobs import Moment, Note
from rheostat.errors import DataError
from rheostat.measurement.training_columns import number, training_table
from rheostat.measurement.training_runs import (
    read_graph_records,
    read_hlogencnn,
    read_justus,
    read_profet,
)
from rheostat.measurement.training_runs.hlogencnn import is_hlogencnn
from rheostat.measurement.training_runs.justus import CONVOLUTION, DENSE, NEEDED, is_justus
from rheostat.measurement.training_runs.profet import is_profet
from tests.measurement.exactly import refused, written


def test_steps_that_took_no_time_are_noted():
    frame = pl.DataFrame({"runtime_s": [0.25, 0.0, None, math.inf, -1.0]})
    jobs = training_table(frame, [Note("own")])
    assert jobs.frame["runtime_s"].to_list() == [0.25]
    assert jobs.notes == (
        Note("own"),
        Note("runtime is no number above 0", (1, 2, 3, 4), 4, dropped=True),
    )
    numbers = pl.DataFrame({"a": ["2", "x"]}).select(number("a"), b=number("a", 3.0))
    assert numbers.rows() == [(2.0, 6.0), (None, None)]


RECORD = {
    "cfg": {"fam": "cnn", "in": 8, "width": 4, "depth": 1, "heads": 2, "batch": 3, "opt": "sgd"},
    "nodes": [], "edges": [], "cpu": [1.0, 2.0, 6.0], "arg": 1, "outb": 2, "temp": 4, "flops": 9,
    "bytes": 8, "trans": 7, "params": 6}  # fmt: skip


def test_a_record_in_full(tmp_path):
    lines = [json.dumps(RECORD), "{}", json.dumps(RECORD | {"cpu": []}), json.dumps(
        RECORD | {"w": [5.0, 7.0], "device": "gpu"}), "3"]  # fmt: skip
    jobs = read_graph_records(written(tmp_path / "r.jsonl", "\n".join(lines)))
    first, last = jobs.frame.rows(named=True)
    assert {k: first[k] for k in (
        "device", "app", "input_size", "width", "depth", "heads", "batch_size", "optimizer",
        "flops", "bytes_accessed", "transcendentals", "params", "runtime_s", "runtime_min_s",
        "wall_s", "memory_peak_b", "graph")} == {
        "device": "cpu", "app": "cnn", "input_size": 8, "width": 4, "depth": 1, "heads": 2,
        "batch_size": 3, "optimizer": "sgd", "flops": 9, "bytes_accessed": 8, "transcendentals": 7,
        "params": 6, "runtime_s": 2.0, "runtime_min_s": 1.0, "wall_s": 2.0, "memory_peak_b": 7,
        "graph": "r.jsonl#0"}  # fmt: skip
    assert first["runtime_std_s"] == pytest.approx(math.sqrt(14 / 3))
    assert (last["device"], last["wall_s"], last["graph"]) == ("gpu", 6.0, "r.jsonl#3")
    assert jobs.notes == (
        Note("line is no record of a measured step", (1, 2, 4), 3, dropped=True),)  # fmt: skip
    clean = read_graph_records(written(tmp_path / "c.jsonl", lines[0]))
    assert clean.notes == ()
    refused(lambda: read_graph_records(written(tmp_path / "n.jsonl", "{}\n[]\n")),
            "expected records with cfg, nodes, edges, cpu, got none in 2")  # fmt: skip
    (tmp_path / "e.gz").write_bytes(gzip.compress(b""))
    refused(lambda: read_graph_records(tmp_path / "e.gz"),
            "expected records with cfg, nodes, edges, cpu, got none in 0")  # fmt: skip


JUSTUS = "device,batchsize,precision,timeUsed_median,opt_None,opt_SGD,act_None,act_relu"
TIMES = "timeUsed_min,timeUsed_max,timeUsed_std"


def test_layers_by_justus_in_full(tmp_path):
    dense = f"{JUSTUS},{TIMES},dim_input,dim_output,gpu\n"
    rows = "p100,32,16,2.0,1,0,1,0,1.0,3.0,0.5,7,9,2\np100,32,16,2.0,0,0,0,1,1.0,3.0,0.5,7,9,2\n"
    jobs = read_justus(written(tmp_path / "d.csv", dense + rows))
    first, second = jobs.frame.rows(named=True)
    assert first == {
        "device": "P100",
        "app": "dense",
        "batch_size": 32,
        "input_size": 7,
        "width": 9,
        "optimizer": "none",
        "activation": "none",
        "precision_bits": 16,
        "gpu_index": 2,
        "runtime_s": 0.002,
        "runtime_min_s": 0.001,
        "runtime_max_s": 0.003,
        "runtime_std_s": 0.0005,
    }
    assert (second["optimizer"], second["activation"]) == (None, "relu")
    names = list(CONVOLUTION)
    text = (
        f"{JUSTUS},{TIMES},{','.join(names)}\np100,1,16,2.0,0,1,1,0,1,3,1,{','.join('1234567')}\n"
    )
    row = read_justus(written(tmp_path / "c.csv", text)).frame.row(0, named=True)
    assert [row[c] for c in CONVOLUTION.values()] == [1, 2, 3, 4, 5, 6, 7]
    assert (row["app"], row["optimizer"], "gpu_index" in row) == ("convolution", "SGD", False)
    missing = ", ".join(sorted({*names, *TIMES.split(",")}))
    refused(lambda: read_justus(written(tmp_path / "e.csv", JUSTUS + "\n1,1,1,1,1,1,1,1\n")),
            f"no table of layers: {missing} missing")  # fmt: skip
    assert is_justus({*NEEDED, *DENSE})
    assert is_justus({*NEEDED, *CONVOLUTION, "more"})
    assert not is_justus(set(NEEDED))
    assert not is_justus(set(DENSE) | set(CONVOLUTION))


PROFET = "instance_name,dataset,model,optimizer,batchsize,batch_latency"


def test_steps_of_profet_in_full(tmp_path):
    images = {32: (10, 50_000), 64: (100, 5_000), 128: (100, 5_000), 224: (1000, 2_000),
              256: (1000, 2_000), 99: (None, None)}  # fmt: skip
    machines = ("g3s.x", "g4dn.x", "p2.x", "p3.x", "p3.y", "odd.z")
    rows = "".join(
        f"{m},{px}dataset,VGG,SGD,16,0.5\n" for m, px in zip(machines, images, strict=True)
    )
    jobs = read_profet(written(tmp_path / "p.csv", f"{PROFET}\n{rows}"))
    names = ("device", "instance", "image_px", "classes", "samples", "batch_size", "runtime_s")
    devices = ("M60", "T4", "K80", "V100", "V100", "odd.z")
    assert jobs.frame.select(names).rows() == [
        (d, m, px, *facts, 16, 0.5)
        for d, m, (px, facts) in zip(devices, machines, images.items(), strict=True)]  # fmt: skip
    assert not {"epoch_s", "experiment"} & set(jobs.columns)
    more = f"{PROFET},epoch_latency,exp_name\np3.x,32dataset,VGG,SGD,16,0.5,9,e1\n"
    row = read_profet(written(tmp_path / "q.csv", more)).frame.row(0, named=True)
    assert (row["epoch_s"], row["experiment"], row["app"], row["optimizer"]) == (
        9.0,
        "e1",
        "VGG",
        "SGD",
    )
    refused(
        lambda: read_profet(written(tmp_path / "n.csv", "model,dataset\na,b\n")),
        "no table of PROFET: batch_latency, batchsize, instance_name, optimizer missing",
    )
    assert is_profet(set(PROFET.split(",")))
    assert not is_profet(set(PROFET.split(",")[1:]))


def test_fits_of_generated_networks(tmp_path):
    assert is_hlogencnn({"fit_time", "epochs", "batch"})
    assert not is_hlogencnn({"fit_time", "epochs"})
    assert not is_hlogencnn({"fit_time", "batch"})
    text = '"fit_time",epochs,batch_size,batch,graph_file,hlo,Peak\n2,3,4,5,a.txt,b.txt,1\n'
    jobs = read_hlogencnn(written(tmp_path / "f.csv", text))
    row = jobs.frame.row(0, named=True)
    assert (row["runtime_s"], row["batch_size"], row["graph"]) == (2.0, 4, "a.txt")
    assert (jobs.schema["runtime_s"].meaning, jobs.schema["Peak"].known) == (
        "the whole fit", Moment.END)  # fmt: skip
    said = "kept as features under their own names: epochs, batch, hlo, Peak"
    assert jobs.notes[-1] == Note(said)
    named = read_hlogencnn(tmp_path / "f.csv", graphs="{epochs}/{batch_size}.txt")
    assert named.frame["graph"].to_list() == ["3/4.txt"]
    with pytest.raises(DataError) as error:
        read_hlogencnn(tmp_path / "f.csv", graphs="{odd}")
    assert error.value.problems[0] == "graphs: '{odd}' names what is no column: 'odd'"
    refused(
        lambda: read_hlogencnn(written(tmp_path / "n.csv", "a,b\n1,2\n")),
        "no table of ICICLE's CNNs: expected fit_time, epochs and batch",
        "present: a, b",
    )
