"""Reads and writes that are each atomic: an update is lost so, a mark that all set alike is not."""

from __future__ import annotations

import pytest

from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.races.split_updates import split_updates

HELPERS = """
template <class T> static inline T fetch(T *p) {
  T value;
  #pragma omp atomic read
  value = p[0];
  return value;
}
template <class T, class V> static inline void put(T *p, V value) {
  T given = value;
  #pragma omp atomic write
  p[0] = given;
}
"""
MARKS = """
static void mark(int *d, bool *done, int n, int level) {
  BEFORE
  #pragma omp parallel for
  for (int i = 0; i < n; i++)
    if (fetch(&d[i]) < 0) {
      WITHIN
      put(&*done, false);
    }
}
AFTER
"""


def lines(within: str, before: str = "", after: str = "", helpers: str = HELPERS) -> list[str]:
    text = MARKS.replace("WITHIN", within).replace("BEFORE", before).replace("AFTER", after)
    return [f.words for f in split_updates(Program({"a.cc": helpers + text}, "openmp"))]


@pytest.mark.parametrize(("within", "before"), [
    ("put(&d[n - i], level + 1);", ""), ("put(&d[n - i], -1);", ""), ("put(&d[i], true);", ""),
    ("put(&d[n - i], next);", "int next = level + 1;"),
    ("int next = level + 1; put(&d[n - i], next);", ""),
])  # fmt: skip
def test_a_value_that_all_threads_share_is_no_update(within, before):
    assert lines(within, before) == []


@pytest.mark.parametrize(("within", "before"), [
    ("int v = fetch(&d[0]); put(&d[0], v + 1);", ""), ("put(&d[0], fetch(&d[0]) + 1);", ""),
    ("put(&d[0], i);", ""), ("put(&d[0], d[1]);", ""), ("level++; put(&d[0], level);", ""),
    ("put(&d[0], level); put(&d[0], level + 1);", ""), ("put(&d[0], total);", ""),
    ("put(&d[0], next);", "int next = level; next += fetch(&d[1]);"),
    ("put(&d[0], fetch<int>(d) + level);", ""), ("auto how = put<int, int>; how(d, i);", ""),
])  # fmt: skip
def test_a_value_that_a_thread_may_have_read_is_an_update(within, before):
    assert len(lines(within, before)) >= 1
    assert "is read by one atomic and written by another" in lines(within, before)[0]


def test_a_team_that_threads_of_another_make_shares_no_value_with_it():
    nested = """void outer(int *d, bool *b, int n) {
  #pragma omp parallel for
  for (int i = 0; i < n; i++) mark(d, b, 1, i);
}"""
    assert lines("put(&d[n - i], level);", after=nested)
    assert (
        lines("put(&d[n - i], level);", after=nested.replace("#pragma omp parallel for", "")) == []
    )


def test_a_function_that_reads_before_it_writes_is_the_update_itself():
    adds = HELPERS.replace("T given = value;", "T given = fetch(p) + value;")
    assert lines("put(&d[0], 1);", helpers=adds)
    assert lines("put(&d[0], level);", helpers=adds)
