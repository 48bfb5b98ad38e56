"""HeCBench by path: sources and arguments are read, a baseline is admitted after it ran."""

from __future__ import annotations

import pytest

from rheostat.errors import DataError
from rheostat.measurement.code.hecbench import admit, hecbench_names, read_hecbench, with_arguments
from rheostat.measurement.code.sandbox import Bubblewrap
from rheostat.measurement.code.toolchain import absent

WHY = Bubblewrap().why() or absent("g++")
MAIN = """#include <cstdio>
#include <cstdlib>
#include <ctime>
#include "reference.h"
int main(int argc, char **argv) {
  double s = 0;
  long n = atol(argv[1]);
  for (long i = 1; i < n; i++) s += FACTOR / i;
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
        factor = "clock()" if name == "ticks" else "2.0"
        header = tmp_path / "src" / f"{name}-cuda" / "reference.h"
        header.write_text(f"#define FACTOR {factor}\n")
    (tmp_path / "benchmarks.yaml").write_text(
        'summary:\n  models: [omp]\n\nsum:\n  categories: [math]\n  models: [cuda, omp]\n'
        '  test:\n    regex: \'x\'\n    args: ["60000000", "7"]\n    timeout: 300\n\n'
        'wrong:\n  models: [omp]\n'
    )  # fmt: skip
    return tmp_path


def test_sources_headers_of_other_versions_and_arguments_are_read(checkout) -> None:
    assert hecbench_names(checkout) == ["sum", "ticks", "wrong"]
    program = read_hecbench(checkout, "sum")
    assert set(program.files) == {"main.cpp", "reference.h"}
    assert program.inputs.arguments == ("60000000", "7")
    assert read_hecbench(checkout, "wrong").inputs.arguments == ()
    assert read_hecbench(checkout, "sum", "cuda").language == "cuda"
    with pytest.raises(DataError, match="no program 'other' in src; there are 3 of omp: sum"):
        read_hecbench(checkout, "other")


@pytest.mark.skipif(bool(WHY), reason=WHY)
def test_a_baseline_is_admitted_once_it_ran_right_and_long_enough(checkout) -> None:
    program = read_hecbench(checkout, "sum")
    good = admit(program)
    assert (good.admitted, good.reason) == (True, "")
    assert good.cpu_s > 0.05
    assert "too short" in admit(with_arguments(program, "10")).reason
    assert "ended with status 1" in admit(with_arguments(program, "-1")).reason
    ticks = with_arguments(read_hecbench(checkout, "ticks"), "100")
    assert "prints something else each time" in admit(ticks).reason
    wrong = with_arguments(read_hecbench(checkout, "wrong"), "60000000")
    assert admit(wrong).reason == "it prints 'FAIL'"
