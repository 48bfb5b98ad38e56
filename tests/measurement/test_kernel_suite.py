"""The suite of kernels: serial and OpenMP by hand print the same, naive versions too."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from rheostat.errors import DataError
from rheostat.measurement.code.kernel_suite import suite_kernels

KERNELS = suite_kernels()


def output(kernel, version, folder) -> list[float]:
    program = kernel.program(version)
    flags = ["-fopenmp"] if version == "openmp" else []
    command = ["gcc", "-O1", "-Werror", *flags, "-x", "c", "-", "-o", str(folder / version), "-lm"]
    subprocess.run(command, input=program.text, text=True, check=True)
    sizes = [str(kernel.n[0]), str(kernel.steps[0]), "7"]
    environment = {"OMP_NUM_THREADS": "3", "OMP_WAIT_POLICY": "passive"}
    run = subprocess.run(
        [str(folder / version), *sizes], capture_output=True, check=True, env=environment
    )
    return [float(x) for x in run.stdout.split()]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("name", KERNELS)
def test_all_versions_print_the_same_numbers(name, tmp_path) -> None:
    kernel = KERNELS[name]
    expected = output(kernel, "serial", tmp_path)
    assert len(set(expected)) >= 4
    for version in {"openmp", "naive"} & set(kernel.versions):
        assert output(kernel, version, tmp_path) == pytest.approx(expected, rel=1e-6)


def test_more_than_twenty_have_serial_and_openmp() -> None:
    both = [k for k in KERNELS.values() if {"serial", "openmp"} <= set(k.versions)]
    assert len(both) > 20
    assert sum("naive" in k.versions for k in both) >= 10


def test_a_version_that_is_not_there_is_refused() -> None:
    with pytest.raises(DataError, match="expected serial, openmp"):
        KERNELS["bfs"].program("naive")
