"""Batches that others wrote: how they are read, and what share is judged rightly."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from benchmarks.code_corpus.candidate_batch import read_batch
from benchmarks.code_corpus.stages import PYTHON, counted
from rheostat.errors import DataError
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.sandboxed.sandbox import Unsafe
from rheostat.measurement.code.toolchain import BuildKind
from rheostat.measurement.code.workbench import Workbench

PLACE = Path(__file__).parents[2] / "benchmarks" / "code_verify.py"
spec = importlib.util.spec_from_file_location("code_verify_benchmark", PLACE)
assert spec is not None
assert spec.loader is not None
code_verify = importlib.util.module_from_spec(spec)
spec.loader.exec_module(code_verify)
LIST = """
[[candidates]]
original = "sum.c"
candidate = "sum_1.c"
kind = "right"

[[candidates]]
original = "sum.c"
candidate = "sum_2.c"
kind = "evasion"
why = "looks for the checker"
"""


def test_rates_count_undecided_right_ones_as_missed_and_undecided_wrong_ones_as_caught() -> None:
    states = [("right", "accepted"), ("right", "undecided"), ("evasion", "undecided"),
              ("evasion", "accepted"), ("evasion", "rejected")]  # fmt: skip
    rows = [{"kind": k, "verdict": v, "as_known": (v == "accepted") is (k == "right"), "cpu_s": 2.0}
            for k, v in states]  # fmt: skip
    right, evasion = code_verify.first_try(rows)
    assert (right["right"], right["candidates"], right["undecided"]) == (1, 2, 1)
    assert (evasion["right"], evasion["candidates"], evasion["cpu_s"]) == (2, 3, 2.0)
    z2 = 1.959964**2
    middle, half = (1 + z2 / 2) / (2 + z2), (z2 * (0.5 + z2 / 4)) ** 0.5 / (2 + z2)
    assert (right["low"], right["high"]) == pytest.approx((middle - half, middle + half), abs=1e-4)


def test_a_batch_is_read_as_pairs_of_files(tmp_path) -> None:
    for name in ("sum.c", "sum_1.c", "sum_2.c"):
        (tmp_path / name).write_text(f"int main(void) {{ return 0; }} /* {name} */")
    (tmp_path / "batch.toml").write_text(LIST)
    first, second = read_batch(tmp_path / "batch.toml")
    assert (first.is_right, second.is_right) == (True, False)
    assert second.why == "looks for the checker"
    assert "sum_2.c" in second.candidate.text
    assert first.path == second.path, "candidates of one original share its builds"


def test_a_list_with_mistakes_says_all_of_them(tmp_path) -> None:
    path = tmp_path / "batch.toml"
    path.write_text('[[candidates]]\noriginal = "a.c"\nkind = "wrong"\nreason = "race"\n')
    with pytest.raises(DataError) as caught:
        read_batch(path)
    said = str(caught.value)
    assert all(w in said for w in ("reason", "candidate, got None", "expected right"))
    path.write_text("kind = 1")
    with pytest.raises(DataError, match="candidates"):
        read_batch(path)


def test_stages_are_builds_by_kind_and_runs_by_who_asks(tmp_path, capsys) -> None:
    known = Workbench.build
    program = Program({"a.c": "int main(void) { return 0; }"}, is_kept=True)
    with counted() as stages:
        bench = Workbench(Unsafe(), tmp_path)
        made = bench.build(program, BuildKind("plain", "gcc"))
        bench.build(program, BuildKind("plain", "gcc"))
        for _ in range(3):
            bench.run(made, ProgramInput())
    assert made.ok
    test = test_stages_are_builds_by_kind_and_runs_by_who_asks.__name__
    here = f"{__name__.rpartition('.')[2]}.{test}"
    starts = {row["stage"]: row["starts"] for row in stages.rows()}
    assert starts == {"build: plain (original)": 1, f"run: {here} (original)": 3, PYTHON: 0}
    assert stages.cpu_s["build: plain (original)"] > 0
    assert Workbench.build is known
    code_verify.show_stages(stages, 3)
    assert "   1.0 run: " in capsys.readouterr().err
