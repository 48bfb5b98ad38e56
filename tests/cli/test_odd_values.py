"""Values that nobody means: said at once, in words of who wrote them."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pyarrow as pa
import pytest
from pyarrow import parquet

from rheostat.cli import _open_streams, run

RUNS = "app,nodes,runtime_s,power_w\na,1,100,200\na,2,60,400\na,4,40,800\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs.csv").write_text(RUNS)
    return tmp_path


def test_a_value_that_a_file_set_is_blamed_on_the_file(here, capsys) -> None:
    (here / "rheostat.toml").write_text('[front]\nseed = "$(touch PWNED)"\n')
    assert run(["front", "runs.csv"]) == 2
    assert "It is set in rheostat.toml here or in your config.toml." in capsys.readouterr().err
    (here / "rheostat.toml").unlink()
    assert run(["front", "runs.csv", "--seed", "x"]) == 2
    assert "config.toml" not in capsys.readouterr().err
    assert not (here / "PWNED").exists()


@pytest.mark.parametrize(("words", "said"), [
    (["--rule", "weighted=runtime_s:1e308,energy_j:1e308"], "expected weights from 0 to 1e+06"),
    (["--knob", "nodes=1e16..1.0000000000000002e16/1e-3"], "a step of 0.001 is lost in numbers"),
])  # fmt: skip
def test_an_odd_value_is_named(here, capsys, words, said) -> None:
    assert run(["front", "runs.csv", *words]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("encoding", "written"), [
    ("ascii", b"5 \\xb1 1 \\u65e5"), ("iso-8859-1", b"5 \xb1 1 \\u65e5"),
    ("utf-8", "5 \xb1 1 \u65e5".encode()),
])  # fmt: skip
def test_letters_that_a_terminal_lacks_are_written_as_escapes(monkeypatch, encoding, written):
    got = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(got, encoding=encoding))
    _open_streams()
    print("5 \xb1 1 \u65e5", end="", flush=True)
    assert got.getvalue() == written


CASES: dict[str, tuple[str, list[str], str]] = {
    "an open quote": (
        'app,nodes,runtime_s\na,1,2\n"b,1,3\nc,1,4\n', ["read", "FILE", "--format", "runs"],
        "line 3 opens a quote that nothing closes"),
    "two open quotes": (
        'app,nodes,runtime_s\na,1,2\n"b,1,3\nc,1,4\n"d,1,2\nd,2,2\n',
        ["read", "FILE", "--format", "runs"], "a cell with a line break: is a quote open"),
    "columns of a CSV": (
        ",".join(f"c{i}" for i in range(10_001)) + "\n", ["read", "FILE", "--format", "runs"],
        "expected at most 10,000 columns, it has 10,001"),
    "columns of JSON": (
        json.dumps([{"app": "a", **{f"c{i}": 1 for i in range(10_000)}}]),
        ["read", "FILE", "--format", "runs"], "expected at most 10,000 columns, it has 10,001"),
    "columns of counters": (
        "Time,EXEC," + ",".join(f"c{i}" for i in range(10_000)) + "\n", ["counters", "FILE"],
        "expected at most 10,000 columns, it has 10,002"),
    "processors of a log": (
        "JobID|State|Submit|Elapsed|ReqCPUS|NNodes\n1|COMPLETED|2024-01-01T00:00:00|01:00:00|1"
        + "0" * 400 + "|1\n2|COMPLETED|2024-01-01T00:00:00|01:00:00|4|1\n",
        ["read", "FILE", "--format", "sacct"], "cores is beyond 1e+12"),
    "a count of a queue": (
        "app,gpus,runtime_s,power_w\nlbm,1,10,100\n",
        ["coschedule", "FILE", "--queue", "lbm*999999999999"],
        "expected 1 to 100,000 jobs, got 999,999,999,999"),
    "a moment of a request": (
        "submit_s,prompt_tokens,output_tokens\n0,10,10\n1e300,10,10\n", ["llm", "simulate", "FILE"],
        "submit_s: expected seconds, at most 1e+11, got 1e+300, which is none"),
    "a cap of nothing": (
        "app,cap_w,runtime_s\na,100,20\na,200,10\nb,100,21\nb,200,10\nb,0,30\nc,100,22\nc,200,10\n",
        ["caps", "FILE", "--app", "a"],
        "left out, a cap, a count or the runtime is not known or not above 0: 1 rows"),
}  # fmt: skip


def test_more_generated_runs_than_memory_takes_are_refused(here, capsys) -> None:
    assert run(["budget", "demo", "made.csv", "--apps", "10000", "--repeats", "10000"]) == 1
    assert "expected at most 10,000,000 runs" in capsys.readouterr().err
    assert not (here / "made.csv").exists()


@pytest.mark.parametrize("case", CASES)
def test_what_a_file_holds_too_much_of_or_wrongly_is_said_in_one_line(here, capsys, case) -> None:
    text, words, said = CASES[case]
    (here / "f").write_text(text)
    run(["f" if w == "FILE" else w for w in words])
    assert said in capsys.readouterr().err


def test_a_text_that_a_parquet_file_holds_once_for_many_rows_is_refused(here, capsys) -> None:
    """51 kB on disk, 5 GB once each row has its own: neither Arrow nor polars comes to that."""
    rows = 5_000
    word = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["w" * 1_000_000])
    table = pa.table({"app": word, "runtime_s": [1.0] * rows, "nodes": [1] * rows})
    parquet.write_table(table, "word.parquet", store_schema=False)
    assert run(["read", "word.parquet", "--format", "runs"]) == 1
    assert "its texts come to 5,000,000,000 bytes" in capsys.readouterr().err


@pytest.mark.slow
def test_a_folder_steers_neither_pictures_nor_the_compiler_nor_the_terminal(here) -> None:
    """``matplotlibrc`` may name TeX, ``.numba_config.yaml`` switches, ``rheostat.toml`` codes."""
    trace = "".join(f"{i} {60 * i} 0 600 4 -1 -1 4 900 -1 1 1 1 1 1 1 -1 -1\n" for i in range(1, 9))
    (here / "t.swf").write_text("; MaxProcs: 8\n" + trace)
    (here / "matplotlibrc").write_text("text.usetex: True\nfont.size: 40\n")
    (here / ".numba_config.yaml").write_text("disable_jit: 1\n")
    (here / "rheostat.toml").write_text('"a\\u001b[2J" = 1\n')
    for words in (["front", "runs.csv", "--figure", "o.svg"],
                  ["simulate", "t.swf", "--policy", "easy"]):  # fmt: skip
        done = subprocess.run([sys.executable, "-m", "rheostat", *words], cwd=here,
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "\x1b" not in done.stderr
        assert r"a\x1b[2J" in done.stderr
    assert "font-size:40" not in (here / "o.svg").read_text().replace(" ", "")
