"""Candidate programs that are right, and wrong ones with the rung that has to name each.

Kernels are bodies of ``main`` with places (``//@NAME``); variants put text there or replace some,
so that a program is a line or two.  `benchmarks/code_verify.py` verifies them all.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from rheostat.measurement.code.programs.program import Program, language_of
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs

HEAD = """#include <math.h>
#include <stdio.h>
#include <stdlib.h>
static unsigned state;
static double uniform(void) {
  state = state * 1664525u + 1013904223u;
  return state / 4294967296.0;
}
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 100;
  state = argc > 2 ? (unsigned)atoi(argv[2]) : 1u;
//@begin
"""
TAIL = """//@end
  return 0;
}
"""
FILE, CUDA_FILE = "kernel.c", "kernel.cu"
FLAGS = ("-O2", "-lm")


@dataclass(frozen=True)
class CorpusCase:
    """A candidate for a kernel; ``rung`` is empty if it is right, ``kind`` says what is wrong."""

    name: str
    kernel: str
    kind: str
    rung: str
    original: Program
    candidate: Program

    @property
    def is_right(self) -> bool:
        """Whether it has to be accepted."""
        return not self.rung


def corpus() -> list[CorpusCase]:
    """All candidates, right ones first.

    Returns
    -------
    list of CorpusCase
        In the order of the file that describes them.
    """
    kernels, variants = _table("kernels.toml"), _table("variants.toml")
    cases = [c for entry in variants["right"] for c in _cases(entry, kernels)]
    return cases + [c for entry in variants["wrong"] for c in _cases(entry, kernels)]


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads((files(__name__) / name).read_text(encoding="utf-8"))


def _cases(entry: Mapping[str, Any], kernels: Mapping[str, Any]) -> Iterator[CorpusCase]:
    names = [entry["kernel"]] if isinstance(entry["kernel"], str) else entry["kernel"]
    for name in names:
        inputs = _inputs(kernels[name]["n"])
        body = kernels[name]["body"]
        whole = body if kernels[name].get("whole") else HEAD + body + TAIL
        original = _program(whole, inputs, name)
        for puts in entry.get("at", [""]):
            text = _replaced(whole, entry.get("replace", []), name)
            text = _put(_including(text, entry.get("includes", "")), puts)
            label = f"{name}: {puts or entry['replace'][0][1]}".replace("\n", "; ")
            yield CorpusCase(label, name, entry.get("kind", "right"), entry.get("rung", ""),
                             original, _program(text, inputs, label))  # fmt: skip


def _inputs(sizes: list[int]) -> ProgramInputs:
    low, high = sizes
    ranges = {"n": InputRange(low, high), "seed": InputRange(1, 1e6, kind="seed")}
    return ProgramInputs(ranges, ("{n}", "{seed}"))


def _program(text: str, inputs: ProgramInputs, name: str) -> Program:
    lines = [line for line in text.splitlines() if not line.strip().startswith("//@")]
    text = "\n".join(lines) + "\n"
    sources = {CUDA_FILE if "__global__" in text else FILE: text}
    return Program(sources, language_of(sources), flags=FLAGS, inputs=inputs, name=name)


def _replaced(text: str, pairs: list[list[str]], name: str) -> str:
    for old, new in pairs:
        if old not in text:
            raise ValueError(f"{name}: no text {old!r} to replace")
        text = text.replace(old, new)
    return text


def _including(text: str, header: str) -> str:
    return f"#define _GNU_SOURCE\n#include <{header}>\n{text}" if header else text


def _put(text: str, puts: str) -> str:
    """Text at places: lines of "place: pragma" or "place:= code"; further lines go with them."""
    if not puts:
        return text
    parts: list[list[str]] = []
    for line in puts.split("\n"):
        place = line.partition(":")[0]
        if place.isidentifier() and f"//@{place}\n" in text:
            code = line.startswith(f"{place}:=")
            what = line[len(place) + 1 :].lstrip("=").strip()
            parts.append([place, what if code else f"#pragma omp {what}"])
        else:
            parts[-1][1] += f"\n{line}"
    for place, what in parts:
        text = text.replace(f"//@{place}\n", f"{what}\n", 1)
    return text
