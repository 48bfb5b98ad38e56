"""Waits that nothing asks again after, and memory of a device's heap, are not shown to be right."""

from __future__ import annotations

import pytest

from rheostat.measurement.code.device_kernels.device_heap import device_heap
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.surroundings.bare_waits import bare_waits

OF_C = "void f(void) {\n{%s}\n}\n"


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("pthread_cond_wait(&c, &m);", 1),
        ("if (busy) pthread_cond_wait(&c, &m);", 1),
        ("while (busy) pthread_cond_wait(&c, &m);", 0),
        ("while (busy) { pthread_cond_wait(&c, &m); n++; }", 0),
        ("do { pthread_cond_wait(&c, &m); } while (busy);", 0),
        ("for (;;) { if (!jobs) pthread_cond_wait(&c, &m); take(); }", 1),
        ("for (;;) { if (!jobs) { pthread_cond_wait(&c, &m); continue; } take(); }", 0),
        ("for (;;) { pthread_cond_wait(&c, &m); if (jobs) break; }", 0),
        ("for (; busy;) cnd_wait(&c, &m);", 0),
        ("/* pthread_cond_wait(&c, &m); */", 0),
    ],
)
def test_a_wait_is_named_where_no_loop_asks_again(body, named):
    assert len(bare_waits(Program({"a.c": OF_C % body}))) == named


def test_what_waits_and_is_no_condition_variable_is_not():
    text = "std::thread t; std::future<int> all;\nvoid f() { all.wait(); latch.wait(lock); }\n"
    assert bare_waits(Program({"a.cpp": text})) == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("__global__ void k(int n) { int *a = (int *)malloc(n); }", 1),
        ("__device__ __forceinline__ int f(int n) { int *a = new int[n]; return a[0]; }", 1),
        ("__global__ void k(int *a) { a[0] = 1; } int main(void) { malloc(9); }", 0),
        ("__global__ void k(void *p) { Node *a = new (p) Node; }", 0),
        (
            "__global__ void k(int n) { int *a = (int *)malloc(n); }\n"
            "int main(void) { cudaDeviceSetLimit(cudaLimitMallocHeapSize, most); }",
            0,
        ),
    ],
)
def test_memory_that_a_kernel_takes_is_named_unless_the_heap_is_made_larger(text, named):
    assert len(device_heap(Program({"a.cu": text}))) == named
