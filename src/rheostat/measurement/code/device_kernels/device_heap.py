"""Memory that a kernel takes for itself: a device's heap has 8 MB, the host here has all it asks.

``malloc`` in a kernel gives null where the heap is full (``cudaLimitMallocHeapSize``), which hangs
on how many threads hold some at once.
"""

from __future__ import annotations

import re

from rheostat.measurement.code.parsing.blocks import closed
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.races.simd_updates import without_comments
from rheostat.measurement.code.verdict import Finding

OF_DEVICE = re.compile(r"\b__(?:global|device)__\b[^;{}]*\)[^;{}()]*\{")
TAKEN = re.compile(r"\b(?:malloc|calloc|__nv_aligned_device_malloc)\s*\(|\bnew\b(?!\s*\()")
MADE_LARGER = re.compile(r"\bcudaLimitMallocHeapSize\b")
SAID = (
    "takes memory in a kernel, from a heap of 8 MB that all threads share: null on larger inputs; "
    "take it on the host, or set cudaLimitMallocHeapSize"
)


def device_heap(program: Program) -> list[Finding]:
    r"""Each place in a kernel that takes memory, where the program sets no larger heap.

    Examples
    --------
    >>> kernel = "__global__ void k(int n) {\n int *own = (int *)malloc(n * 4);\n}\n"
    >>> [f.line for f in device_heap(Program({"a.cu": kernel}))]
    [2]
    >>> device_heap(Program({"a.cu": kernel.replace("__global__ ", "")}))
    []
    """
    if MADE_LARGER.search(program.text):
        return []
    return [
        Finding("calls", name, text.count("\n", 0, m.start()) + 1, SAID)
        for name, text in ((n, without_comments(t)) for n, t in program.files.items())
        for kernel in OF_DEVICE.finditer(text)
        for m in TAKEN.finditer(text, kernel.end(), closed(text, kernel.end() - 1))
    ]
