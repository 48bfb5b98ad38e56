"""How others spell things: Slurm's amounts, columns of tables, archives, programs that measure."""

from __future__ import annotations

import json
import math
import os

import polars as pl
import pytest

from rheostat.core.jobs import Moment, Note
from rheostat.core.vocabulary import table
from rheostat.errors import DataError, FetchError
from rheostat.measurement.commands import command
from rheostat.measurement.commands.command import Command, parse
from rheostat.measurement.fetch.resume import Resuming
from rheostat.measurement.fetch.sources import ARCHIVE, SWF_LOGS, ZENODO, ArchiveSource, locate
from rheostat.measurement.meters import meters
from rheostat.measurement.runs.guess import (
    Guess,
    device_caps,
    guess_known,
    guess_name,
    interval_names,
    lone_quantity,
)
from rheostat.measurement.runs.header_units import LOWER, either_prefix, split_unit
from rheostat.measurement.slurm import spelling as slurm
from rheostat.measurement.slurm.sacct_json import read_sacct_json, unwrap
from tests.measurement.exactly import refused, written

# --- Slurm -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "value"), [
    ("1-02:03:04.5", 93784.5), ("02:03", 123.0), ("2-12", 216000.0), ("2-12:30", 217800.0),
    ("1:00:00", 3600.0), (" 00:01 ", 1.0), ("5", None), ("x-1:2", None), ("-1:2", None),
    ("1:2:3:4", None), ("", None), ("0-00:00:00", 0.0),
])  # fmt: skip
def test_durations_of_slurm(text, value):
    assert slurm.seconds(text) == value


@pytest.mark.parametrize(("text", "base", "value"), [
    ("3", 1024, 3.0), ("2K", 1024, 2048.0), ("2M", 1000, 2e6), ("1G", 1000, 1e9),
    ("1T", 1000, 1e12), ("1P", 1000, 1e15), ("1E", 1000, 1e18), (" 1.5 K ", 1000, 1500.0),
    ("-1", 1024, None), ("1Z", 1024, None),
])  # fmt: skip
def test_amounts_of_slurm(text, base, value):
    assert slurm.amount(text, base) == value
    assert slurm.amount("1K") == 1024.0


def test_resources_memory_and_states_of_slurm():
    assert slurm.tres("cpu=2, gres/gpu:a=1,odd") == {"cpu": "2", "gres/gpu:a": "1"}
    assert slurm.gpus({"gres/gpu": "3", "gres/gpu:a": "1"}) == 3
    assert slurm.gpus({"gres/gpu:a": "1", "gres/gpu:b": "2", "gres/gpu:c": "x"}) == 3
    assert slurm.gpus({"cpu": "2", "gres/gpu:c": "x"}) is None
    assert slurm.memory_b("4G", 3, 2) == 4 * 2**30
    assert (slurm.memory_b("1Kn", 3, 2), slurm.memory_b("1Kc", 3, 2)) == (2048.0, 3072.0)
    assert (slurm.memory_b("1Kc", None, 2), slurm.memory_b("x", 1, 1)) == (None, None)
    assert [slurm.state(s) for s in ("RUNNING+", " ", "OUT_OF_ME+ x")] == [
        "RUNNING", None, "OUT_OF_ME"]  # fmt: skip


JOB = {
    "job_id": 7, "user": "u", "group": "g", "account": "a", "name": "n", "partition": "p",
    "qos": "q", "cluster": "c", "priority": {"set": True, "number": 5},
    "exit_code": {"return_code": {"number": 2}},
    "state": {"current": ["FAILED"]},
    "time": {"submission": 100, "eligible": 110, "start": 120, "end": 180, "elapsed": 60,
             "limit": {"set": True, "number": 3}},
    "tres": {"requested": [{"type": "cpu", "count": 8}, {"type": "mem", "count": 4},
                           {"type": "node", "count": 2}],
             "allocated": [{"type": "cpu", "count": 16}, {"type": "node", "count": 3},
                           {"type": "gres", "name": "gpu:a", "count": 1},
                           {"type": "gres", "name": "gpu:b", "count": 2},
                           {"type": "energy", "count": 0}]},
    "steps": [{"step": {"id": "7.batch"}, "statistics": {"energy": {"consumed": 50}}},
              {"step": {"id": {"number": 0}}, "statistics": {"energy": {"consumed": 0.5}}},
              {"step": {"id": "7.1"}, "statistics": {"energy": {"consumed": {"number": 4}}}}],
}  # fmt: skip


def test_a_job_of_sacct_as_json_in_full(tmp_path):
    array = JOB | {"array": {"job_id": 9, "task_id": {"set": True, "number": 0}}}
    meta = {"slurm": {"release": "24.11"}}
    document = {"jobs": [JOB, {"odd": 1}, array, 5], "meta": meta}
    jobs = read_sacct_json(written(tmp_path / "s.json", json.dumps(document)))
    row, second = jobs.frame.rows(named=True)
    expected = {"job_id": "7", "user": "u", "group": "g", "account": "a", "app": "n",
                "partition": "p", "qos": "q", "priority": 5.0, "submit_s": 100,
                "eligible_s": 110, "start_s": 120,
                "end_s": 180, "nodes": 2, "nodes_alloc": 3, "cores": 8, "cores_alloc": 16,
                "gpus_alloc": 3, "memory_b": 4 * 2**20, "time_limit_s": 180.0, "runtime_s": 60.0,
                "state": "FAILED", "exit_code": "2", "energy_j": 4.5}  # fmt: skip
    assert {k: row[k] for k in expected} == expected
    assert second["job_id"] == "9_0"
    assert jobs.notes[0] == Note("record is not a job of a known shape", (1, 3), 2, dropped=True)
    assert jobs.notes[1] == Note("Slurm 24.11")
    clean = read_sacct_json(written(tmp_path / "c.json", json.dumps({"jobs": [JOB]})))
    assert not any(n.message.startswith("Slurm 2") or n.dropped for n in clean.notes)
    refused(lambda: read_sacct_json(written(tmp_path / "n.json", '{"jobs": [5]}')),
            "has no job: the list is empty or holds something else")  # fmt: skip
    with pytest.raises(DataError, match=r'expected a "jobs" list, as in the output of sacct'):
        read_sacct_json(written(tmp_path / "n.json", "[]"))
    with pytest.raises(DataError, match="expected complete JSON of sacct --json"):
        read_sacct_json(written(tmp_path / "n.json", "{"))
    endless = {"set": True, "infinite": True}
    values = ({"number": 3}, [], "", [{"number": 2}], endless)
    assert list(map(unwrap, values)) == [3, None, None, 2, None]


# --- columns of tables -------------------------------------------------------------------------


def test_every_suffix_has_its_unit_and_factor():
    factors = {"s": 1, "sec": 1, "secs": 1, "seconds": 1, "ms": 1e-3, "us": 1e-6, "min": 60,
               "mins": 60, "minutes": 60, "h": 3600, "hours": 3600, "days": 86400, "w": 1,
               "watts": 1, "kw": 1e3, "kilowatts": 1e3, "j": 1, "joules": 1, "kj": 1e3, "uj": 1e-6,
               "wh": 3600, "kwh": 3.6e6, "hz": 1, "mhz": 1e6, "ghz": 1e9, "khz": 1e3, "kb": 1e3,
               "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2**10, "mib": 2**20, "gib": 2**30,
               "tib": 2**40, "bytes": 1}  # fmt: skip
    assert {k: LOWER[k][1] for k in factors} == factors
    assert [either_prefix(f"x_{u}") for u in ("mw", "mW", "MW", "mb")] == ["mw", "", "", ""]
    assert split_unit("power_mW") == ("power", "_w", "W", 1e-3)
    assert split_unit("power_MW") == ("power", "_w", "W", 1e6)
    assert split_unit("mW") == ("mW", "", "", 1.0)
    assert split_unit("s") == ("s", "", "", 1.0)
    assert split_unit("Wall Time [min]") == ("Wall_Time", "_s", "s", 60.0)
    assert split_unit("tile_min") == ("tile_min", "", "", 1.0)
    assert (Guess("a", "b").scale, Guess("a", "b").known) == (1.0, Moment.SUBMIT)


@pytest.mark.parametrize(("theirs", "ours"), [
    ("makespan", "runtime_s"), ("solve_time_ms", "runtime_s"), ("power_cap_w", "cap_w"),
    ("num_nodes", "nodes"), ("nodes_used", "nodes_alloc"), ("ngpus", "gpus"), ("ranks", "cores"),
    ("Total Energy (kWh)", "energy_j"), ("energy_w", None), ("core_hz", "core_hz"),
    ("Return code", "exit_code"), ("nothing", None), ("IPC", "ipc"), ("span_s", "span_s"),
])  # fmt: skip
def test_names_that_mean_ours(theirs, ours):
    assert guess_name(theirs) == ours


def test_caps_intervals_and_the_only_quantity():
    assert device_caps(["cpu_cap_w", "gpu cap", "GPU_cap_w"]) == {
        "cpu_cap_w": "cpu_cap_w", "gpu_cap_w": "gpu cap"}  # fmt: skip
    assert device_caps(["cpu_cap_w"]) == {}
    assert device_caps(["cpu_cap_j", "gpu_cap_w"]) == {}
    assert interval_names(["run_id", "span_s", "x"]) == {"run_id": "run_id"}
    assert interval_names(["span_s"]) == {}
    assert lone_quantity("energy_j", ["gpu_energy_kJ", "a"]) == "gpu_energy_kJ"
    assert lone_quantity("runtime_s", ["step_time_s", "wait_time_s", "time"]) == "step_time_s"
    assert lone_quantity("power_w", ["package_power_w"]) is None
    assert lone_quantity("power_w", ["a_power_W", "b_power_W"]) is None


@pytest.mark.parametrize(("name", "values", "known"), [
    ("tile", ["a", "b"], Moment.SUBMIT), ("mean_x", ["a", "b"], Moment.END),
    ("hits", [1, 1, 2, 2], Moment.SUBMIT), ("hits", [1, 2, 3, 3], Moment.END),
    ("hits", [1.0, 1.0, None], Moment.END), ("tile", [1, 2, 3], Moment.SUBMIT),
    ("tile", [1.0, 1.0, 2.0, 2.0], Moment.SUBMIT),
    ("tile", [1.5, 1.5, 1.5, 1.5], Moment.SUBMIT), ("tile", [1.5], Moment.END),
    ("tile", [1], Moment.SUBMIT),
])  # fmt: skip
def test_what_is_known_at_submission(name, values, known):
    assert guess_known(name, pl.Series(values)) is known


# --- archives ----------------------------------------------------------------------------------


def test_where_the_public_logs_lie():
    assert locate("pm100") == ArchiveSource(
        "pm100", "job_table.parquet", f"{ZENODO}/records/10127767/files/job_table.parquet", "pm100",
        f"{ZENODO}/api/records/10127767")  # fmt: skip
    assert locate("adastra", "http://x/").url == (
        "http://x/records/14007065/files/AdastaJobsMI250_15days.parquet")  # fmt: skip
    assert (locate("fdata").file, locate("fdata:24_04").record[-8:]) == (
        "21_03.parquet",
        "11467483",
    )
    for name in ("swf:RICC-2010-2", "swf:RICC-2010-2.swf", "swf:RICC-2010-2.swf.gz"):
        assert locate(name) == ArchiveSource(
            "swf:RICC-2010-2", "RICC-2010-2.swf.gz", f"{ARCHIVE}/l_ricc/RICC-2010-2.swf.gz", "swf"
        )
    assert locate("swf:RICC-2010-2", "http://x/").url == "http://x/l_ricc/RICC-2010-2.swf.gz"
    for odd in ("21_02", "24_05", "22_13", "22_00", "2204"):
        refused(lambda odd=odd: locate(f"fdata:{odd}"),
                f"month: expected YY_MM from 21_03 to 24_04, got {odd!r}")  # fmt: skip
    refused(lambda: locate("swf"), "expected pm100, adastra, fdata:YY_MM or swf:NAME, got 'swf'")
    refused(lambda: locate("swf:x"), f"no log 'x'; known: {', '.join(sorted(SWF_LOGS))}")


def test_meters_come_in_the_order_in_which_they_are_believed():
    assert [m.name for m in meters()] == ["rapl", "nvml", "zeus", "slurm"]
    assert [m.name for m in meters(["zeus", "rapl"])] == ["zeus", "rapl"]
    refused(lambda: meters(["a", "rapl", "b"]),
            *(f"meter: expected rapl, nvml, zeus, slurm, got '{x}'".removeprefix("meter: ")
              for x in "ab"))  # fmt: skip


class Reply:
    """What a server answers: a status, and so many bytes."""

    def __init__(self, status, content=b"", **headers):
        self.status_code, self.headers, self.raw = status, headers, self
        self._pieces = [content, b""]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def read1(self, _):
        return self._pieces.pop(0)

    def raise_for_status(self):
        return None


def test_a_download_goes_on_or_begins_anew(tmp_path, monkeypatch):
    replies, asked, told = [], [], []

    def get(_, headers, **__):
        asked.append(headers.get("Range"))
        return replies.pop(0)

    monkeypatch.setattr("requests.get", get)
    part, out = tmp_path / "a.part", tmp_path / "a"
    part.write_bytes(b"0123456789")
    replies += [Reply(416), Reply(200, b"abc", **{"Content-Length": "5", "ETag": "t"}),
                Reply(206, b"de", **{"Content-Length": "2"})]  # fmt: skip
    Resuming(part, lambda *x: told.append(x))("http://x", out)
    assert (out.read_bytes(), part.exists(), (tmp_path / "a.part.etag").exists()) == (
        b"abcde", False, False)  # fmt: skip
    assert (asked, told) == (["bytes=10-", None, "bytes=3-"], [(3, 5), (5, 5)])
    replies += [
        Reply(200, b"abc", **{"Content-Length": "5"}),
        Reply(206, b"", **{"Content-Length": "2"}),
    ]
    with pytest.raises(FetchError) as error:
        Resuming(part, attempts=2)("http://x", out)
    assert str(error.value) == ("http://x: the connection was cut after 3 bytes: 5 were promised; "
                                "they are kept, run the same command again to go on")  # fmt: skip
    assert (Resuming(part).attempts, Resuming(part).timeout_s) == (3, 60.0)


# --- programs that measure ---------------------------------------------------------------------


def test_a_program_prints_its_measurement_last(tmp_path):
    settings = table({"nodes": [2, 4], "name": ["a b", "c"]})
    count = tmp_path / "count"
    prints = 'echo x; printf "{{\\"energy_j\\": $2}}"; echo'
    measure = Command(f"sh -c 'echo $1 >> {count}; {prints}' sh {{name}} {{nodes}}",
                      ["energy_j"], repeat=2)  # fmt: skip
    made = measure(settings)
    assert made["energy_j"].tolist() == [[2.0, 4.0], [2.0, 4.0]]
    assert count.read_text() == "a b\na b\nc\nc\n"
    assert (made["runtime_s"] > 0).all()
    assert (measure.wanted, measure.timeout_s) == (("energy_j",), 86400.0)
    assert measure.notes[0] == Note("energy_j: printed by the command")
    assert prints in measure.program


def test_a_run_that_fails_or_hangs_is_a_note_without_a_value():
    one = table({"nodes": [2]})
    failing = Command("exit {nodes}")
    made = failing(one)
    assert math.isnan(made["runtime_s"][0, 0])
    assert failing.notes == (Note("exit 2: ended with status 2", count=1),)
    slow = Command("sleep {nodes}", timeout_s=0.2)
    assert math.isnan(slow(one)["runtime_s"][0, 0])
    assert slow.notes == (Note("sleep 2: took longer than 0.2 s", count=1),)
    refused(lambda: Command("echo 5", ["power_w"])(one), "the command gave runtime_s, not power_w",
            'print a JSON object such as {"runtime_s": 12.5, "energy_j": 4100} '
            "on a line")  # fmt: skip
    refused(lambda: Command("echo {odd}")(one),
            "'echo {odd}': {NAME} must be one of nodes; got 'odd'; braces of the shell's own are "
            "told by a blank: { odd }")  # fmt: skip


def test_an_interrupt_ends_the_program_and_goes_on(monkeypatch):
    ended = []

    class Running:
        pid, stdout = 1, open(os.devnull, "rb")  # noqa: SIM115 - the reader closes it

        def wait(self, timeout=None):
            raise KeyboardInterrupt

    monkeypatch.setattr(command.subprocess, "Popen", lambda *_, **__: Running())
    monkeypatch.setattr(command, "_stop", ended.append)
    with pytest.raises(KeyboardInterrupt):
        command._finished("x", 1.0)
    assert len(ended) == 1


@pytest.mark.parametrize(("text", "values"), [
    ("", {}), ("\n \n", {}), ("5\nx", {}), ("[5]", {}), ("true", {}), ("NaN", {}),
    ("7", {}), ("{" * 9999, {}), ('{"a": 1}\nbye', {"a": 1.0}),
    ('{"a": 1, "b": "x", "c": true, "d": NaN}', {"a": 1.0, "d": math.nan}),
])  # fmt: skip
def test_a_line_with_an_object_holds_the_quantities(text, values):
    assert parse(text) == pytest.approx(values, nan_ok=True)
