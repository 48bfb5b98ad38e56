"""HeCBench by path: sources and arguments are read, a baseline is admitted after it ran."""

from __future__ import annotations

import json

import pytest

from rheostat.cli import run
from rheostat.errors import DataError
from rheostat.measurement.code.programs.hecbench import (
    admit,
    hecbench_names,
    read_hecbench,
    with_arguments,
)
from rheostat.measurement.code.programs.kernel_suite import suite_kernels
from rheostat.measurement.code.programs.manifest import read_manifest, write_manifest
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap
from rheostat.measurement.code.toolchain import absent

WHY = Bubblewrap().why() or absent("g++")
MAIN = """#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include "reference.h"
int main(int argc, char **argv) {
  double s = 0;
  long n = atol(argv[1]);
  for (long i = 1; i < n; i++) s += FACTOR / i;
  while (n > 100 && clock() < 0.1 * CLOCKS_PER_SEC) {}  // whatever the machine, CPU seconds enough
  printf("%.10g\\nAverage kernel time %g s\\n%s\\n", s, 0.1 * clock(), VERDICT);
  return n < 0;
}
"""


@pytest.fixture
def checkout(tmp_path):
    for name, verdict in (("sum", '"PASS"'), ("wrong", '"FAIL"'), ("ticks", '"PASS"')):
        for model, ending in (("omp", "cpp"), ("cuda", "cu")):
            folder = tmp_path / "src" / f"{name}-{model}"
            folder.mkdir(parents=True)
            (folder / f"main.{ending}").write_text(MAIN.replace("VERDICT", verdict))
        # not a clock, whose ticks are 10 ms on some machines
        factor = "std::random_device{}()" if name == "ticks" else "2.0"
        header = tmp_path / "src" / f"{name}-cuda" / "reference.h"
        header.write_text(f"#define FACTOR {factor}\n")
    (tmp_path / "benchmarks.yaml").write_text(
        'summary:\n  models: [omp]\n\nsum:\n  categories: [math]\n  models: [cuda, omp]\n'
        '  test:\n    regex: \'x\'\n    args: ["600", "7"]\n    timeout: 300\n\n'
        'wrong:\n  models: [omp]\n\nticks:\n  test:\n    args: ["100"]\n'
    )  # fmt: skip
    return tmp_path


def test_sources_headers_of_other_versions_and_arguments_are_read(checkout) -> None:
    assert hecbench_names(checkout) == ["sum", "ticks", "wrong"]
    program = read_hecbench(checkout, "sum")
    assert set(program.files) == {"main.cpp", "reference.h"}
    assert program.inputs.arguments == ("600", "7")
    assert read_hecbench(checkout, "wrong").inputs.arguments == ()
    assert read_hecbench(checkout, "sum", "cuda").language == "cuda"
    with pytest.raises(DataError, match="no program 'other' in src; there are 3 of omp: sum"):
        read_hecbench(checkout, "other")


@pytest.mark.slow
@pytest.mark.skipif(bool(WHY), reason=WHY)
def test_a_baseline_is_admitted_once_it_ran_right_and_long_enough(checkout) -> None:
    program = read_hecbench(checkout, "sum")
    good = admit(program, least_s=0.0)  # whatever the speed of this machine
    assert (good.admitted, good.reason) == (True, "")
    assert "too short, expected 1e+06 s" in admit(program, least_s=1e6).reason
    assert "ended with status 1" in admit(with_arguments(program, "-1")).reason
    ticks = read_hecbench(checkout, "ticks")
    assert "prints something else each time" in admit(ticks).reason
    wrong = with_arguments(read_hecbench(checkout, "wrong"), "600")
    assert admit(wrong).reason == "it prints 'FAIL'"


def suite_call(checkout, *more) -> list[str]:
    return ["code", "suite", "--hecbench", str(checkout), "--json", *more]


def listed(capsys) -> dict:
    return {p["program"]: p for p in json.loads(capsys.readouterr().out)["programs"]}


def test_a_checkout_is_listed_without_running_it(checkout, capsys) -> None:
    (checkout / "src" / "ticks-cuda" / "main.cu").write_text('#include "../../x.h"\n')
    (checkout / "x.h").write_text("")
    assert run(suite_call(checkout)) == 0
    rows = listed(capsys)
    assert {n: (r["arguments"], r["baseline"]) for n, r in rows.items()} == {
        "sum-omp": ("600 7", "not run"), "ticks-omp": ("100", "not run"),
        "wrong-omp": ("", "not run"),
    }  # fmt: skip
    assert run(suite_call(checkout, "--version", "cuda", "--only", "sum")) == 0
    assert listed(capsys)["sum-cuda"]["language"] == "cuda"


@pytest.mark.slow
@pytest.mark.skipif(bool(WHY), reason=WHY)
def test_admission_says_why_not_and_writes_what_search_and_translate_take(
    checkout, capsys, tmp_path
) -> None:
    out = tmp_path / "admitted"
    call = suite_call(checkout, "--only", "sum,ticks", "-o", str(out))
    assert run(call) == 0
    rows = listed(capsys)
    assert rows["sum-omp"]["baseline"] == "admitted"
    assert rows["sum-omp"]["cpu_s"] > 0.05
    assert "prints something else each time" in rows["ticks-omp"]["reason"]
    program, _ = read_manifest(out / "sum-omp" / "program.json")
    original = read_hecbench(checkout, "sum")
    assert (program.files, program.flags, program.inputs, program.language) == (
        original.files, original.flags, original.inputs, original.language
    )  # fmt: skip
    assert [p.name for p in out.iterdir()] == ["sum-omp"]
    call = suite_call(checkout, "--only", "sum", "--arguments", "5", "-o", str(out))
    assert run(call) == 0  # too short, if it were run again
    assert "it was before" in listed(capsys)["sum-omp"]["reason"]
    assert run(suite_call(checkout, "--only", "wrong", "--arguments", "9", "--admit")) == 3
    assert listed(capsys)["wrong-omp"]["reason"] == "it prints 'FAIL'"


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [(["--only", "nothing"], 2, "no nothing in"), (["--version", "hip"], 2, "omp or cuda"),
     (["--arguments", "5"], 2, "expected with --only")],
)  # fmt: skip
def test_what_a_checkout_has_not_is_named(checkout, capsys, more, code, words) -> None:
    assert run(suite_call(checkout, *more)) == code
    assert words in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_a_folder_without_programs_is_no_checkout(tmp_path, capsys) -> None:
    assert run(suite_call(tmp_path)) == 1
    assert "expected a checkout of HeCBench" in capsys.readouterr().err
    assert run(["code", "suite", "--admit"]) == 2


def test_the_own_kernels_are_listed(capsys) -> None:
    assert run(["code", "suite", "--json", "--only", "dot"]) == 0
    assert listed(capsys)["dot"]["versions"][:2] == ["serial", "openmp"]


def test_a_manifest_that_is_written_reads_the_same(tmp_path) -> None:
    kernel = suite_kernels()["dot"].program("serial")
    write_manifest(kernel, tmp_path / "dot" / "program.json")
    assert read_manifest(tmp_path / "dot" / "program.json")[0] == kernel
