"""`check_reader` over every built-in reader, and proven able to fail on wrong ones."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from benchmarks.published_logs import write_adastra, write_fdata, write_pm100
from rheostat.core.jobs import Column, JobTable, Moment, Note, Schema
from rheostat.measurement.job_logs.job_store import JobStore
from rheostat.measurement.job_logs.pm100 import read_pm100
from rheostat.measurement.read import READERS, read
from rheostat.measurement.synthetic import World
from rheostat.testing.readers import check_reader

N = 400
SACCT = "JobID|State|Submit|Start|End|ElapsedRaw|NNodes|ConsumedEnergyRaw\n" + "".join(
    f"{i}|COMPLETED|2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-01T00:02:00|60|2|24000\n"
    f"{i}.batch|COMPLETED|2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-01T00:02:00|60|2|9\n"
    for i in range(N // 2)
)
SWF = "; MaxNodes: 4\n; MaxProcs: 8\n" + "".join(
    f"{i} {i} 5 60 4 -1 -1 4 600 -1 1 3 -1 -1 1 -1 -1 -1\n" for i in range(N)
)
JSON = '{"jobs": [' + ",".join(
    f'{{"job_id": {i}, "time": {{"submission": 10, "start": 20, "end": 80, "elapsed": 60, '
    f'"limit": 5}}, "state": {{"current": "COMPLETED"}}, "tres": {{"requested": [{{"type": "node", '
    f'"count": 2}}], "allocated": [{{"type": "energy", "count": 24000}}]}}}}'
    for i in range(N)
) + "]}"  # fmt: skip
RUNS = "nodes,wall_s,power_W\n" + "".join(
    f"{1 + i % 4},{100 / (1 + i % 4)},500\n" for i in range(N)
)


PCM = "app,cpu_cap_w,Time,EXEC,CFREQ,INST,Proc Energy (Joules)\n" + "".join(
    f"bt,80,10:{i // 60:02}:{i % 60:02}.0,0.4,2.1,4000,70\n" for i in range(N)
)
PERF = "".join(
    f"{i + 1}.0,500,,instructions,1000000000,100.00,,\n{i + 1}.0,9,,LLC-loads,1000000000,100.00,,\n"
    for i in range(N)
)
LIKWID = "likwid\n" + "".join(
    f"Region r{i}, Group 1: MEM\n| Metric | HWThread 0 |\n| Runtime (RDTSC) [s] | 2 |\n"
    f"| Power [W] | 90 |\n"
    for i in range(N)
)
PAPI = '{"threads": [{"regions": [' + ",".join(
    f'{{"name": "r{i}", "real_time_nsec": "1000", "PAPI_TOT_INS": "400"}}' for i in range(N)
) + "]}]}"  # fmt: skip
MLENERGY = (
    "Model,task,GPU,TP,PP,Max BS (reqs),Avg BS (reqs),Avg Output Tokens,Energy/req (J),"
    "Avg TPOT (s),Token tput (tok/s),params_B\n"
) + "Llama-8B,chat,A100,1,1,32,30.5,400,120,0.02,1400,8\n" * N
SERVING = "app,gpu_model,batch_cap,energy_per_token_j\n" + "Llama-8B,A100,32,0.3\n" * N
PROFET = (
    "exp_name,instance_name,dataset,model,optimizer,batchsize,epoch_latency,batch_latency\n"
) + "exp01,g4dn.xlarge,64dataset,VGG11,SGD,32,9.5,0.05\n" * N
JUSTUS = (
    "device,batchsize,dim_input,dim_output,gpu,precision,timeUsed_max,timeUsed_median,"
    "timeUsed_min,timeUsed_std,opt_Adam,opt_None,act_None,act_relu\n"
) + "v100,8,32,64,0,32,1.2,1.0,0.9,0.1,1,0,0,1\n" * N
TRAINING = "Network,GPU type,Batch,ms/step\n" + "vgg11,T4,32,80\n" * N
HLOGENCNN = "batch,epochs,gpu_core_count,hlo_path,fit_time\n" + "32,2,5120,a.txt,12.5\n" * N
RECORDS = (
    '{"cfg": {"fam": "mlp", "in": 8, "width": 4, "depth": 1, "batch": 2, "opt": "sgd"}, '
    '"nodes": [["kParameter", "f32", [2, 8], 0]], "edges": [], "flops": 1, "arg": 8, "outb": 8, '
    '"temp": 0, "w": [0.2, 0.3], "cpu": [0.1, 0.2]}\n'
) * N
GENAI_PERF = """Metric,avg,p50
Inter Token Latency (ms),21.0,20.0
Output Sequence Length,200.0,200.0

Metric,Value
Output Token Throughput (per sec),3100.0
Total GPU Power (W),1240
"""
TRTLLM_BENCH = (
    '{"engine": {"model": "Llama-8B"}, "world_info": {"world_size": 2, "tp_size": 2}, '
    '"request_info": {"avg_num_concurrent_requests": 64.0, "avg_output_length": 200.0}, '
    '"performance": {"system_output_throughput_tok_s": 3100.0}}\n'
)
VLLM = "".join(
    f'{{"model_id": "Llama-8B", "num_prompts": 9, "request_rate": "inf", "completed": 9, '
    f'"total_output_tokens": 900, "output_throughput": 90.0, "median_itl_ms": {20 + i % 5}.5}}\n'
    for i in range(N)
)
MODEL_CONFIG = (
    '{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, '
    '"vocab_size": 99, "intermediate_size": 128}\n'
) * N
INFERENCEX = "Model,Hardware,TP,Conc,Median TPOT (ms),Output TPUT per GPU\n" + "".join(
    f"Llama-70B,h200,{1 + i % 4},64,21.5,300\n" for i in range(N)
)
TRAFFIC = '{"timestamp": 3000, "input_length": 700, "output_length": 50, "hash_ids": [0, 1]}\n' * N
REQUESTS = (
    '{"created": 7, "request": {"messages": [{"role": "user", "content": "hi"}]}, '
    '"response": {"usage": {"prompt_tokens": 5, "completion_tokens": 9}}}\n'
) * N
PBS = "".join(
    f"09/01/2026 09:00:00;E;{i};user=u ctime=10 start=20 end=80 Exit_status=0 "
    "Resource_List.nodect=2 resources_used.walltime=00:01:00\n"
    for i in range(N)
)
QSTAT = '{"pbs_version": "23", "Jobs": {' + ",".join(
    f'"{i}": {{"job_state": "F", "ctime": 10, "stime": 20, "obittime": 80, "Exit_status": 0}}'
    for i in range(N)
) + "}}"  # fmt: skip
BJOBS = '{"COMMAND": "bjobs", "RECORDS": [' + ",".join(
    f'{{"JOBID": "{i}", "STAT": "DONE", "SUBMIT_TIME": "Sep 01 08:00:00 2026"}}' for i in range(N)
) + "]}"  # fmt: skip
QACCT = "".join(
    f"{'=' * 62}\nqname        q\njobnumber    {i}\nslots        1\nexit_status  0\n"
    for i in range(N)
)
FLUX = '{"jobs": [' + ",".join(f'{{"id": {i}, "t_submit": 10}}' for i in range(N)) + "]}"
CONDOR = "[" + ",".join(f'{{"ClusterId": {i}, "QDate": 10}}' for i in range(N)) + "]"
OAR = "{" + ",".join(f'"{i}": {{"submissionTime": 10}}' for i in range(N)) + "}"
HYPERFINE = f'{{"results": [{{"command": "a", "times": {[1.5] * N}}}]}}'
_TIMED = ",".join(['{"name": "BM_a/8", "real_time": 2.5, "time_unit": "ms"}'] * N)
GOOGLE = f'{{"context": {{"num_cpus": 8}}, "benchmarks": [{_TIMED}]}}'
PYTEST = (
    f'{{"machine_info": {{"node": "n"}}, "benchmarks": [{{"name": "test_a", "params": null, '
    f'"stats": {{"data": {[1.5] * N}}}}}]}}'
)
JMH_REPORT = (
    '[{"jmhVersion": "1.37", "benchmark": "a.B.c", "mode": "avgt", "primaryMetric": '
    f'{{"score": 1.5, "scoreUnit": "ms/op", "rawData": [{[1.5] * N}]}}}}]'
)
_TUNED = ",".join(f'"{i}": {{"block": {i}, "time": 2.5}}' for i in range(N))
TUNER = (
    '{"device_name": "A100", "kernel_name": "gemm", "tune_params_keys": ["block"], '
    f'"cache": {{{_TUNED}}}}}'
)
SMI = "timestamp, index, power.draw [W]\n" + "".join(
    f"2025/03/01 00:00:0{s}.000, {i}, {100 + i % 9} W\n" for s in (0, 1) for i in range(N)
)
GRAFANA = (
    ",".join(["Time", *(f"node{i}" for i in range(N))])
    + "\n"
    + "".join(f"2026-03-02 08:00:{k:02d}{',310 W' * N}\n" for k in range(9))
)
BATCH = (
    ("google-benchmark", GOOGLE), ("pytest-benchmark", PYTEST), ("jmh", JMH_REPORT),
    ("kernel-tuner", TUNER), ("hyperfine", HYPERFINE), ("pbs", PBS), ("pbs-json", QSTAT),
    ("lsf", BJOBS), ("grid-engine", QACCT), ("flux", FLUX), ("htcondor", CONDOR), ("oar", OAR),
    ("power-samples", SMI), ("grafana", GRAFANA),
)  # fmt: skip
COUNTERS = (("pcm", PCM), ("perf", PERF), ("likwid", LIKWID), ("papi", PAPI))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("contract")
    for name, text in (
        ("sacct", SACCT),
        ("swf", SWF),
        ("sacct-json", JSON),
        ("runs", RUNS),
        ("mlenergy", MLENERGY),
        ("serving", SERVING),
        ("profet", PROFET),
        ("justus", JUSTUS),
        ("training", TRAINING),
        ("hlogencnn", HLOGENCNN),
        ("graph-records", RECORDS),
        ("vllm-bench", VLLM),
        ("genai-perf", GENAI_PERF),
        ("trtllm-bench", TRTLLM_BENCH),
        ("model-config", MODEL_CONFIG),
        ("inferencex", INFERENCEX),
        ("traffic", TRAFFIC),
        ("requests", REQUESTS),
        *COUNTERS,
        *BATCH,
    ):
        (folder / name).write_text(text)
    write_pm100(folder / "pm100", N)
    write_adastra(folder / "adastra", N)
    write_fdata(folder / "fdata", N)
    World().jobs(N).write_parquet(folder / "rheostat")
    JobStore(folder / "store", new=True).merge(World().jobs(N))
    return folder


ONE_RUN = ("genai-perf", "trtllm-bench")


@pytest.mark.parametrize("name", [n for n in READERS if n not in ONE_RUN])
def test_every_reader_keeps_the_promises(files, name):
    jobs = check_reader(READERS[name].read, files / name, rows=N)
    assert len(jobs)


@pytest.mark.parametrize("name", ONE_RUN)
def test_a_file_of_one_run_keeps_them_too(files, name):
    columns = {"gpu_model": "=H100", "gpus": "=1", "batch_cap": "=64", "power_w": "=900"}
    stated = {"columns": columns, "units": {"power": "W/deployment"}}
    assert len(check_reader(lambda f: read(f, options=stated), files / name, rows=1)) == 1


@pytest.mark.slow
def test_real_files_keep_them_too(shared_data):
    check_reader(READERS["sacct"].read, shared_data / "slurm" / "sacct_P.psv", rows=39)
    check_reader(READERS["sacct-json"].read, shared_data / "slurm" / "sacct.json", rows=18)
    check_reader(READERS["sacct-json"].read, shared_data / "slurm/v24.11/sacct.json", rows=11)
    check_reader(READERS["swf"].read, shared_data / "swf" / "lublin_256.swf.gz", rows=10_000)
    dnn = shared_data / "dnn"
    check_reader(READERS["profet"].read, dnn / "public/profet_target_latency.csv.gz", rows=11_736)
    check_reader(READERS["justus"].read, dnn / "public/justus_dense.csv.gz", rows=150_000)
    check_reader(READERS["justus"].read, dnn / "public/justus_convolution.csv.gz", rows=125_000)
    lulesh = shared_data / "runs" / "lulesh_likwid" / "lulesh_omp.csv"
    check_reader(READERS["runs"].read, lulesh, rows=1412)


def _table(jobs: JobTable, **columns: pl.Expr) -> JobTable:
    return replace(jobs, frame=jobs.frame.with_columns(**columns))


def _described(jobs: JobTable, column: Column) -> JobTable:
    return replace(jobs, schema=jobs.schema.with_columns([column]))


calls = iter(range(10**6))

WRONG = {
    "loses a row": (lambda j: j.rows(range(N - 1)), "400 rows in, 399 out"),
    "drops without row numbers": (
        lambda j: j.rows(range(N - 1)).noted(Note("bad", (), 1, dropped=True)), "no row numbers"),
    "notes rows that are not in the file": (
        lambda j: j.noted(Note("odd", (10_000,), 1)), "row numbers outside"),
    "reads minutes as seconds the wrong way": (
        lambda j: _table(j, runtime_s=pl.col("runtime_s") * 1e6), "runtime_s is"),
    "takes joules for watts": (
        lambda j: _table(j, power_w=pl.col("energy_j")), "not a node's power"),
    "takes watt-hours for joules": (
        lambda j: _table(j, energy_j=pl.col("energy_j") / 3600), "times power_w"),
    "ends before it starts": (
        lambda j: _table(j, end_s=pl.col("start_s") - 1), "start_s is after end_s"),
    "starts before it is submitted": (
        lambda j: _table(j, submit_s=pl.col("end_s") + 9), "submit_s is after start_s"),
    "says the runtime is known at submission": (
        lambda j: _described(j, Column("runtime_s", "s", Moment.SUBMIT, "x")), "vocabulary says"),
    "gives no meaning": (
        lambda j: _described(j, Column("power_samples", "", Moment.END)), "has no meaning"),
    "keeps kilowatts": (
        lambda j: _described(j, Column("power_w", "kW", Moment.END, "x")), "unit 'kW'"),
    "is different each time": (
        lambda j: _table(j, priority=pl.lit(next(calls))), "two tables"),
    "has no schema for time": (
        lambda j: JobTable(j.frame.select("nodes"), Schema([j.schema["nodes"]])).rows(range(9)),
        "9 out"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_the_suite_can_fail(files, wrong):
    spoil, said = WRONG[wrong]

    def reader(path):
        return spoil(read_pm100(path))

    with pytest.raises(AssertionError, match=said):
        check_reader(reader, files / "pm100", rows=N)


def test_a_reader_that_lets_a_librarys_error_through_fails(files):
    def reader(path):
        if not path.exists():
            raise FileNotFoundError(path)
        return read_pm100(path)

    with pytest.raises(AssertionError, match="raises FileNotFoundError, expected DataError"):
        check_reader(reader, files / "pm100", rows=N)


def test_all_breaches_are_reported_at_once(files):
    def reader(path):
        jobs = read_pm100(path).rows(range(N - 1))
        return _table(jobs, end_s=pl.col("start_s") - 1)

    with pytest.raises(AssertionError, match=r"399 out.*start_s is after end_s"):
        check_reader(reader, files / "pm100", rows=N)
