"""C++ with containers, heaps and tasks that do what the standard leaves open in another way."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from rheostat.measurement.code.bundled import with_included

LIBRARY, CONTAINERS, TASKS = "another_library.h", "another_containers.h", "another_tasks.h"

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
    plain, other = lines(tmp_path, edition), lines(tmp_path, edition, CONTAINERS)
    hashed, keys, queue = zip(plain, other, strict=True)
    for before, after in (hashed, queue):
        assert before != after
        assert sorted(before) == sorted(after)
    assert keys == (["0", "1", "1"], ["2", "1", "1"])
    ranks = [job.split(":")[0] for job in queue[1][:12]]
    assert ranks == ["1"] * 6 + ["0"] * 6


HEAPS = r"""
#include <algorithm>
#include <cstdio>
#include <vector>
using namespace std;
struct Job { int rank, number; };
int main() {
  auto less = [](const Job &a, const Job &b) { return a.rank < b.rank; };
  vector<Job> heap;
  for (int i = 0; i < 12; i++) {
    heap.push_back({i / 6, i});
    std::push_heap(heap.begin(), heap.end(), less);
  }
  for (; !heap.empty(); heap.pop_back()) {
    printf("%d:%d ", heap[0].rank, heap[0].number);
    pop_heap(heap.begin(), heap.end(), less);
  }
  puts("");
  vector<int> some{1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 1, 9};
  auto middle = partition(some.begin(), some.end(), [](int v) { return v % 2 == 0; });
  for (auto v = some.begin(); v != middle; v++) printf("%d ", *v);
  printf("\n%ld ", middle - some.begin());
  some = {1, 1, 2, 2, 3};
  auto end = std::unique(some.begin(), some.end());
  printf("%ld%d%d\n%d%d\n", end - some.begin(), some[0], some[2], some[3], some[4]);
}
"""


@pytest.mark.skipif(not shutil.which("g++"), reason="g++ is not installed")
def test_heaps_partitions_and_what_is_left_behind_are_others(tmp_path):
    plain, other = (lines(tmp_path, "gnu++17", *h, text=HEAPS) for h in ((), (LIBRARY,)))
    heap, first, kept, behind = zip(plain, other, strict=True)
    for before, after in (heap, first, behind):
        assert before != after
    assert sorted(heap[0]) == sorted(heap[1])
    assert sorted(first[0]) == sorted(first[1])
    assert [job[0] for job in heap[1]] == ["1"] * 6 + ["0"] * 6
    assert kept[0] == kept[1] == ["4", "313"]


ASYNC = r"""
#include <cstdio>
#include <future>
static thread_local int sum;
static int add(int v) { return sum += v; }
int main() {
  auto any = std::launch::async | std::launch::deferred;
  auto one = std::async(add, 1), two = std::async(any, add, 2);
  auto own = std::async(std::launch::async, add, 4);
  int last = two.get(), first = one.get();
  printf("%d %d %d %d\n", first, last, own.get(), std::async([] { return 8; }).get());
}
"""


@pytest.mark.skipif(not shutil.which("g++"), reason="g++ is not installed")
def test_tasks_without_a_policy_run_in_the_thread_that_asks(tmp_path):
    assert lines(tmp_path, "gnu++17", text=ASYNC) == [["1", "2", "4", "8"]]
    assert lines(tmp_path, "gnu++17", TASKS, text=ASYNC) == [["3", "2", "4", "8"]]


def lines(folder: Path, edition: str, *headers: str, text: str = PROGRAM) -> list[list[str]]:
    (folder / "a.cpp").write_text(text)
    for name, one in (with_included(CONTAINERS) | with_included(TASKS)).items():
        (folder / name).write_text(one)
    included = [word for h in headers for word in ("-include", h)]
    command = ["g++", f"-std={edition}", "-pthread", *included, "a.cpp", "-o", "a"]
    subprocess.run(command, cwd=folder, check=True)
    out = subprocess.run(["./a"], cwd=folder, check=True, capture_output=True, text=True)
    return [line.split() for line in out.stdout.splitlines()]
