"""Tables of training runs: which device, how many seconds a step, and where its graph is."""

from __future__ import annotations

import gzip

import polars as pl
import pytest

from rheostat.core.jobs import Moment
from rheostat.errors import DataError
from rheostat.measurement.read import guess_format, read
from rheostat.measurement.training_runs import (
    read_graph_records,
    read_hlogencnn,
    read_justus,
    read_profet,
)

PROFET = (
    "exp_name,instance_name,dataset,model,optimizer,batchsize,epoch_latency,batch_latency\n"
    "exp01,p3.2xlarge,224dataset,VGG11,SGD,32,9.5,0.05\n"
    "exp01,x9.huge,32dataset,VGG11,SGD,32,9.5,\n"
)
RECORD = (
    '{"cfg": {"fam": "mlp", "in": 8, "width": 4, "depth": 1, "batch": 2, "opt": "sgd"}, '
    '"nodes": [], "edges": [], "arg": 8, "outb": 4, "temp": 2, "cpu": [0.3, 0.1, 0.2]}'
)
FITS = "model_name,batch,epochs,gpu_core_count,gpu_mem_gb,util,fit_time\n"


def write(path, text):
    path.write_text(text)
    return path


def test_a_step_of_profet_names_its_gpu_and_a_row_without_a_time_is_noted(tmp_path):
    jobs = read(write(tmp_path / "p.csv", PROFET))
    row = jobs.frame.row(0, named=True)
    assert (row["device"], row["image_px"], row["runtime_s"]) == ("V100", 224, 0.05)
    assert (len(jobs), jobs.notes[0].rows, jobs.notes[0].dropped) == (1, (1,), True)
    assert {"device", "app", "image_px", "batch_size"} <= set(jobs.known_at(Moment.SUBMIT).columns)


def test_layers_are_in_seconds_and_say_how_they_are_trained(shared_data):
    public = shared_data / "dnn" / "public"
    dense = read(public / "justus_dense.csv.gz")
    first = dense.frame.row(0, named=True)
    assert first["runtime_s"] == pytest.approx(2.3390769958496094e-3)
    assert (first["optimizer"], first["activation"], first["width"]) == ("Adam", "none", 3675)
    theirs = pl.read_csv(public / "justus_dense.csv.gz")
    counts = dict(dense.frame["optimizer"].value_counts().iter_rows())
    names = [c for c in theirs.columns if c.startswith("opt_")]
    assert counts == {n[4:].replace("None", "none"): int(theirs[n].sum()) for n in names}


def test_an_epoch_is_its_steps(shared_data):
    """Epoch over step, times the batch, is how many images a size has: the same on all GPUs."""
    jobs = read(shared_data / "dnn" / "public" / "profet_target_latency.csv.gz")
    images = (pl.col("epoch_s") / pl.col("runtime_s") * pl.col("batch_size")).median()
    large = jobs.frame.filter(pl.col("runtime_s") > 0.2)
    by_size = large.group_by("image_px", "device").agg(images.alias("images"))
    spread = by_size.group_by("image_px").agg(pl.col("images").max() / pl.col("images").min())
    assert spread["images"].max() < 1.1


def test_a_record_has_the_median_of_its_repetitions_and_names_its_graph(tmp_path):
    file = tmp_path / "r.jsonl.gz"
    file.write_bytes(gzip.compress(f"{RECORD}\nnot json\n{RECORD}\n".encode()))
    assert guess_format(file) == "graph-records"
    jobs = read(file)
    assert jobs.frame["graph"].to_list() == ["r.jsonl.gz#0", "r.jsonl.gz#2"]
    assert (jobs.notes[0].count, jobs.notes[0].rows) == (1, (1,))
    assert jobs.frame.row(0, named=True) | {"graph": ""} == jobs.frame.row(1, named=True) | {
        "graph": ""
    }
    assert (jobs.frame["runtime_s"][0], jobs.frame["memory_peak_b"][0]) == (0.2, 14)


def test_columns_of_the_cnns_that_nobody_described_are_kept_and_noted(tmp_path):
    file = write(tmp_path / "f.csv", FITS + "a,32,2,5120,15.8,0.4,12.5\nb,64,3,2560,7.9,0.5,9.25\n")
    assert guess_format(file) == "hlogencnn"
    jobs = read(file)
    early = set(jobs.known_at(Moment.SUBMIT).columns)
    assert {"batch_size", "epochs", "gpu_core_count", "gpu_mem_gb", "model_name"} <= {
        *early, *(c.meaning.removeprefix("from ") for c in jobs.schema.values())}  # fmt: skip
    assert jobs.schema["util"].known is Moment.END
    assert jobs.frame["runtime_s"].to_list() == [12.5, 9.25]
    assert any("gpu_core_count" in n.message and "util" in n.message for n in jobs.notes)


def test_the_graph_of_a_cnn_is_a_column_or_named_by_others(tmp_path):
    named = write(tmp_path / "f.csv", FITS + "a,32,2,5120,15.8,0.4,12.5\nb,64,3,2560,7.9,0.5,9.2\n")
    jobs = read_hlogencnn(named, graphs="hlo/{batch_size}.txt")
    assert jobs.frame["graph"].to_list() == ["hlo/32.txt", "hlo/64.txt"]
    with pytest.raises(DataError, match="names what is no column: 'nothing'"):
        read_hlogencnn(named, graphs="{nothing}")
    column = write(tmp_path / "g.csv", "batch,epochs,hlo_path,fit_time\n1,2,x.txt,3\n2,2,y.txt,3\n")
    assert read(column).frame["graph"].to_list() == ["x.txt", "y.txt"]


def test_a_table_of_ones_own_keeps_the_column_that_names_the_graph(tmp_path):
    file = write(tmp_path / "own.csv", "device,batch_size,graph,runtime_s\nA100,32,a.hlo,0.1\n")
    jobs = read(file)
    assert guess_format(file) == "runs"
    assert jobs.schema["graph"].known is Moment.SUBMIT
    assert jobs.frame["graph"].to_list() == ["a.hlo"]


@pytest.mark.parametrize("reader", [read_profet, read_justus, read_hlogencnn])
def test_another_table_is_refused_by_name(tmp_path, reader):
    with pytest.raises(DataError, match=r"no table of .*"):
        reader(write(tmp_path / "t.csv", "a,b\n1,2\n"))


def test_a_file_without_a_record_is_refused(tmp_path):
    with pytest.raises(DataError, match="expected records with cfg, nodes, edges, cpu"):
        read_graph_records(write(tmp_path / "t.jsonl", '{"a": 1}\n'))
