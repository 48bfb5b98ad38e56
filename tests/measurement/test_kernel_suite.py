"""The suite of kernels: serial and OpenMP by hand print the same, naive versions too."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter

import pytest

from rheostat.errors import DataError
from rheostat.measurement.code.device_kernels.cuda_on_host import on_host, parser_absent
from rheostat.measurement.code.programs.kernel_suite import suite_kernels
from rheostat.measurement.code.sandboxed import own_runtimes
from rheostat.measurement.code.toolchain import absent

KERNELS = suite_kernels()
CL_HEADERS = ("/usr/include/CL/cl.h", "/usr/local/include/CL/cl.h")


FLAGS = {"openmp": ["-fopenmp"], "target": ["-fopenmp", "-foffload=disable"]}


def built(kernel, version, folder) -> None:
    program = kernel.program(version)
    runtime = {}
    if version == "cuda":
        program, runtime = on_host(program), own_runtimes.runtime(own_runtimes.CUDA)[0].files
    for name, text in {**program.files, **runtime}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    cuda = ["g++", "-include", "cuda_on_host.h", "-I.", "-x", "c++", "main.cu", "cuda_on_host.cc"]
    plain = ["gcc", "-Werror", *FLAGS.get(version, ()), "main.c"]
    command = [*(cuda if version == "cuda" else plain), "-O1", "-o", version, "-lm"]
    if version == "opencl":
        command.append("-lOpenCL")
    subprocess.run(command, cwd=folder, check=True)


def output(kernel, version, folder) -> list[float]:
    built(kernel, version, folder)
    sizes = [str(kernel.n[0]), str(kernel.steps[0]), "7"]
    environment = {"OMP_NUM_THREADS": "3", "OMP_WAIT_POLICY": "passive"}
    simulator = ["oclgrind"] if version == "opencl" else []
    command = [*simulator, str(folder / version), *sizes]
    environment |= {"PATH": os.environ["PATH"]}
    run = subprocess.run(command, capture_output=True, check=True, env=environment)
    return [float(x) for x in run.stdout.split()]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("name", KERNELS)
def test_all_versions_print_the_same_numbers(name, tmp_path) -> None:
    kernel = KERNELS[name]
    expected = output(kernel, "serial", tmp_path)
    assert len(set(expected)) >= 4
    for version in {"openmp", "naive", "target"} & set(kernel.versions):
        assert output(kernel, version, tmp_path) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("version", ["cuda", "opencl"])
def test_a_version_for_devices_prints_the_same_numbers(version, tmp_path) -> None:
    lacking = parser_absent() if version == "cuda" else absent("oclgrind")
    if lacking or absent("g++"):
        pytest.skip(lacking or absent("g++"))
    if version == "opencl" and not any(map(os.path.exists, CL_HEADERS)):
        pytest.skip("no CL/cl.h: apt-get install ocl-icd-opencl-dev")
    kernel = KERNELS["dot"]
    expected = output(kernel, "serial", tmp_path)
    assert output(kernel, version, tmp_path) == pytest.approx(expected, rel=1e-6)


def test_a_handful_has_each_language_of_devices() -> None:
    many = Counter(v for k in KERNELS.values() for v in k.versions)
    assert min(many["target"], many["cuda"]) >= 5
    assert many["opencl"] >= 3


def test_more_than_twenty_have_serial_and_openmp() -> None:
    both = [k for k in KERNELS.values() if {"serial", "openmp"} <= set(k.versions)]
    assert len(both) > 20
    assert sum("naive" in k.versions for k in both) >= 10


def test_a_version_that_is_not_there_is_refused() -> None:
    with pytest.raises(DataError, match="expected serial, openmp"):
        KERNELS["bfs"].program("naive")
