"""C++ with containers that answer what the standard leaves open in another way."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from rheostat.measurement.code.bundled import with_included

PROGRAM = r"""
#include <cstdio>
#include <map>
#include <queue>
#include <unordered_map>
#include <vector>
struct Job { int rank, number; bool operator<(const Job &o) const { return rank < o.rank; } };
struct Own { int operator()(int key) const { return key; } };
int main() {
  std::unordered_map<int, int> plain, brought{{1, 2}};
  std::unordered_map<int, int, Own> own(8, Own());
  for (int i = 0; i < 9; i++) plain[i] = own[i] = i;
  brought = plain;
  for (auto &one : brought) printf("%d ", one.second);
  for (auto &one : own) printf("%d ", one.second);
  puts("");
  std::unordered_multimap<int, int> hashed;
  std::multimap<int, int> sorted;
  for (int i = 0; i < 5; i++) hashed.insert({i / 3, i}), sorted.insert({i / 3, i});
  bool ends = sorted.find(9) == sorted.end();
  printf("%d %d %d\n", sorted.find(0)->second, hashed.find(1)->first, ends);
  std::priority_queue<Job> queue;
  std::vector<Job> some(3, {7, 9});
  std::priority_queue<Job, std::vector<Job>> full(some.begin(), some.end());
  for (int i = 0; i < 12; i++) queue.push({i / 6, i});
  for (; !queue.empty(); queue.pop()) printf("%d:%d ", queue.top().rank, queue.top().number);
  printf("%d\n", full.top().number);
}
"""


@pytest.mark.skipif(not shutil.which("g++"), reason="g++ is not installed")
@pytest.mark.parametrize("edition", ["gnu++11", "gnu++20"])
def test_order_of_what_is_hashed_and_of_equals_is_another_and_nothing_else(tmp_path, edition):
    plain, other = lines(tmp_path, edition), lines(tmp_path, edition, "another_containers.h")
    hashed, keys, queue = zip(plain, other, strict=True)
    for before, after in (hashed, queue):
        assert before != after
        assert sorted(before) == sorted(after)
    assert keys == (["0", "1", "1"], ["2", "1", "1"])
    ranks = [job.split(":")[0] for job in queue[1][:12]]
    assert ranks == ["1"] * 6 + ["0"] * 6


def lines(folder: Path, edition: str, *headers: str) -> list[list[str]]:
    (folder / "a.cpp").write_text(PROGRAM)
    for name, text in with_included("another_containers.h").items():
        (folder / name).write_text(text)
    included = [word for h in headers for word in ("-include", h)]
    command = ["g++", f"-std={edition}", *included, "a.cpp", "-o", "a"]
    subprocess.run(command, cwd=folder, check=True)
    out = subprocess.run(["./a"], cwd=folder, check=True, capture_output=True, text=True)
    return [line.split() for line in out.stdout.splitlines()]
