"""What compilers make of a serial program's loops, as variants of it."""

from __future__ import annotations

import shutil

import pytest

from rheostat.measurement.code import toolchain
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.toolchain import COUNTED, GCC, RACES, compile_flags
from rheostat.tradeoff.variants import compilers
from rheostat.tradeoff.variants.compilers import shared_by_compilers

SERIAL = Program({"a.c": "int main(void) { return 0; }\n"}, flags=("-O3", "-lm"))


@pytest.fixture
def both_here(monkeypatch):
    monkeypatch.setattr(compilers, "absent", lambda name: "")
    monkeypatch.setattr(compilers, "polly_absent", lambda: "")


@pytest.mark.usefixtures("both_here")
def test_they_keep_text_and_flags_and_add_their_own() -> None:
    gcc, polly = shared_by_compilers(SERIAL, 4)
    assert {v.text for v in (gcc, polly)} == {SERIAL.files["a.c"]}
    assert gcc.flags == ("-O3", "-lm", "-ftree-parallelize-loops=4")
    assert polly.flags == ("-O3", "-lm", *toolchain.POLLY)
    assert (gcc.proposer, polly.proposer, polly.language) == ("gcc", "Polly", "serial")


@pytest.mark.usefixtures("both_here")
@pytest.mark.parametrize(("name", "language"), [("a.c", "openmp"), ("a.cu", "cuda")])
def test_what_has_threads_or_is_for_a_device_has_none(name, language) -> None:
    assert shared_by_compilers(Program({name: ""}, language), 2) == []


def test_a_compiler_that_is_absent_proposes_nothing(monkeypatch) -> None:
    monkeypatch.setattr(compilers, "absent", lambda name: "not installed")
    monkeypatch.setattr(compilers, "polly_absent", lambda: "built without Polly")
    assert shared_by_compilers(SERIAL, 2) == []


@pytest.mark.parametrize("kind", [GCC, COUNTED, RACES])
def test_checkers_of_the_other_family_are_not_handed_its_flags(kind) -> None:
    flags = ("-O2", *toolchain.POLLY, "-ftree-parallelize-loops=2", "-g0")
    made = compile_flags(Program({"a.c": ""}, flags=flags), kind)
    assert "-g0" in made
    assert ("-mllvm" in made) == (kind.family == "clang") == ("-polly" in made)
    assert ("-ftree-parallelize-loops=2" in made) == (kind.family == "gcc")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_a_clang_without_polly_is_told_by_asking_it(monkeypatch, tmp_path) -> None:
    fake = tmp_path / "clang"
    fake.write_text("#!/bin/sh\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setattr(toolchain, "tool", lambda name: str(fake))
    toolchain.polly_absent.cache_clear()
    assert toolchain.polly_absent() == "this clang was built without Polly"
    toolchain.polly_absent.cache_clear()
