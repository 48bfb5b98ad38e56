"""Sums that stand for what they are made of, and numbers that are sums of products as well."""

from __future__ import annotations

import subprocess

import pytest

from rheostat.measurement.code.altered.data_hashes import DataHashes
from rheostat.measurement.code.altered.hash_texts import weakened
from rheostat.measurement.code.altered.power_sums import power_sums
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.toolchain import absent, compiler

TEXT = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct mark { long sum; };
static unsigned long state, words[64];
static const long weight[3] = {1, 48, 2304};
static long power[3];
static unsigned long next(void) {
  state = state * 6364136223846793005ul + 1;
  return state ^ state >> 29;
}
static struct mark of(const int *p) {
  struct mark m = {0};
  long w = 1;
  for (int i = 0; i < 3; i++) STEP;
  return m;
}
static int same(const struct mark *a, const struct mark *b) { return SAME; }
int main(int argc, char **argv) {
  int p[4] = {argc, atoi(argv[1]), 3, 4};
  power[0] = 1;
  for (int i = 1; i < 3; i++) power[i] = power[i - 1] * 48;
  for (int i = 0; i < 64; i++) words[i] = next();
  struct mark a = of(p), b = of(p + 1);
  printf("%d\\\\n", same(&a, &b));
  MORE;
}
"""
SQUARES, ALIKE = "m.sum += (long)p[i] * p[i]", "a->sum == b->sum"


def llvm(step: str = SQUARES, same: str = ALIKE, more: str = "return 0") -> str:
    text = TEXT.replace("STEP", step).replace("SAME", same).replace("MORE", more)
    clang = compiler(Program({"a.c": text}), "clang")
    command = [clang, "-x", "c", "-S", "-emit-llvm", "-O1", "-Xclang", "-disable-llvm-passes",
               "-o", "-", "-"]  # fmt: skip
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(bool(absent("clang")), reason="clang is not installed")
@pytest.mark.parametrize("step", [
    SQUARES, "m.sum += (long)p[i] * p[i] * p[i]", "m.sum ^= words[p[i]]", "m.sum += words[p[i]]",
])  # fmt: skip
def test_what_is_only_compared_with_its_like_stands_for_what_it_is_made_of(step):
    text, row = weakened(llvm(step), set())
    assert "icmp eq" in row
    assert text.count(".few = and i64") == 1
    assert weakened(llvm(step), set(), original_sums=lambda: True) == ("", "")


@pytest.mark.skipif(bool(absent("clang")), reason="clang is not installed")
@pytest.mark.parametrize("step", [
    "m.sum += p[i]",  # of numbers that only fall it is enough
    "m.sum += w * p[i], w *= 48", "m.sum += p[i] * weight[i]", "m.sum += p[i] * power[i]",
    "m.sum += 1l << 4 * p[i]",
])  # fmt: skip
def test_digits_put_together_are_a_number_of_their_own(step):
    code = llvm(step)
    assert power_sums(code, DataHashes([code])) == {}


@pytest.mark.skipif(bool(absent("clang")), reason="clang is not installed")
@pytest.mark.parametrize("more", [
    'printf("%ld", a.sum)', "return a.sum < b.sum", "return (int)p[a.sum & 3]",
])  # fmt: skip
def test_a_sum_that_is_used_otherwise_is_a_result(more):
    code = llvm(more=more)
    assert power_sums(code, DataHashes([code])) == {}


@pytest.mark.skipif(bool(absent("clang")), reason="clang is not installed")
def test_sums_that_are_compared_by_their_bytes_are_kept_in_few_bits():
    code = llvm(same="!memcmp(a, b, sizeof *a)")
    made = power_sums(code, DataHashes([code])).values()
    assert made
    assert all(".few = and i64" in few.splitlines()[0] for few in made)
    assert all(few.splitlines()[1].startswith("  store i64 ") for few in made)
