"""CUDA programs with OpenMP, without a model: by rule, and refused by name where a rule lacks.

A launch becomes a call, a kernel a function with loops (`cuda_kernels`, `cuda_blocks`), the runtime
the host's own memory (`cuda_calls`).  What the rules do not know is refused with its lines; what
they make is verified as any other proposal is.
"""

from __future__ import annotations

import re

from rheostat.errors import DataError
from rheostat.measurement.code.syntax_tree import walk
from rheostat.tradeoff.variants.c_source import CSource, Edit, Node
from rheostat.tradeoff.variants.cuda_blocks import block_loop
from rheostat.tradeoff.variants.cuda_calls import NVIDIA_HEADER, call_edits, checking_functions
from rheostat.tradeoff.variants.cuda_helpers import code_of, with_helpers
from rheostat.tradeoff.variants.cuda_kernels import (
    CudaKernel,
    UnsupportedKernelError,
    flat_loop,
    strided_loop,
)
from rheostat.tradeoff.variants.variant import Variant

TARGETS = {"openmp": "omp parallel for", "serial": ""}
"""Languages with the pragma of their loops over threads."""
ATTRIBUTE = re.compile(
    r"__launch_bounds__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)|^[ \t]*#pragma\s+unroll[^\n]*\n",
    re.MULTILINE,
)
LEFT = re.compile(
    r"\bcuda[A-Z]\w*|\bcu[A-Z]\w+\(|<<<|\b__(?:global|shared|constant)__\b|\b__sync\w+|\b__shfl\w*"
    r"|\b(?:texture|surface)<|\bthrust::|\bcub::|\bcooperative_groups\b"
)


def from_cuda(text: str, to: str, flags: tuple[str, ...] = ("-O2",)) -> Variant:
    """The variant that the rules make of a CUDA program.

    Parameters
    ----------
    text : str
        In CUDA, all in one file.
    to : str
        openmp or serial.
    flags : tuple of str
        Of the compiler.

    Returns
    -------
    Variant
        In C++.

    Raises
    ------
    DataError
        What no rule knows, with its lines.

    Examples
    --------
    >>> made = from_cuda('''__global__ void twice(double *a, int n) {
    ...   int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...   if (i < n) a[i] = 2 * a[i];
    ... }
    ... ''', "openmp")
    >>> print(made.text.partition("};")[2].strip())
    static void twice(dim3 gridDim, dim3 blockDim, double *a, int n) {
      #pragma omp parallel for schedule(static)
      for (int i = 0; i < (int)(gridDim.x * blockDim.x); i++) {
        if (i < n) a[i] = 2 * a[i];
      }
    }
    """
    return Variant(_translated(text, TARGETS[to]), "rules", "kernels as loops", flags, to)


def _translated(text: str, pragma: str) -> str:
    """The program with a pragma before loops over threads or blocks, empty for none."""
    plain = ATTRIBUTE.sub(lambda m: "\n" * m[0].count("\n"), text)
    source = CSource(plain, "tree_sitter_cuda")
    problems: list[str] = []
    edits: list[Edit] = []
    kernels = _kernels(source)
    for kernel in kernels.values():
        try:
            lines = (strided_loop(kernel, pragma) or flat_loop(kernel, pragma)
                     or block_loop(kernel, pragma))  # fmt: skip
        except UnsupportedKernelError as e:
            problems.append(str(e))
            continue
        edits.append((kernel.node.start_byte, kernel.node.end_byte, kernel.function(lines)))
    edits += _launches(source, kernels)
    edits += _without_checks(source)
    edits += _inner_edits(call_edits(source), edits)
    made = _qualifiers(NVIDIA_HEADER.sub("", source.edited(edits)))
    problems = problems or [f"{m[0]}: no rule for it" for m in LEFT.finditer(code_of(made))]
    if problems:
        raise DataError("the translation without a model", list(dict.fromkeys(problems)))
    return with_helpers(made, _device_code(source, kernels))


def _kernels(source: CSource) -> dict[str, CudaKernel]:
    nodes = (n for n in walk(source.tree.root_node) if n.type == "function_definition")
    kernels = [CudaKernel(source, n) for n in nodes if "__global__" in _before_body(source, n)]
    return {k.name: k for k in kernels}


def _before_body(source: CSource, function: Node) -> str:
    body = function.child_by_field_name("body")
    return source.bytes[function.start_byte : body.start_byte].decode() if body else ""


def _launches(source: CSource, kernels: dict[str, CudaKernel]) -> list[Edit]:
    """``k<<<g, b>>>(a)`` as ``k(g, b, a)``."""
    edits = []
    for call in walk(source.tree.root_node):
        shape = next((c for c in call.children if c.type == "kernel_call_syntax"), None)
        arguments = call.child_by_field_name("arguments")
        if call.type != "call_expression" or shape is None or arguments is None:
            continue
        kernel = kernels.get(source.text_of(call.child_by_field_name("function")).partition("<")[0])
        given = [source.text_of(n) for n in shape.named_children]
        kept = given[: 3 if kernel is not None and kernel.takes_shared_bytes else 2]
        rest = ", " if arguments.named_child_count else ""
        edits.append((shape.start_byte, arguments.start_byte + 1, f"({', '.join(kept)}{rest}"))
    return edits


def _without_checks(source: CSource) -> list[Edit]:
    """Functions and macros that only check what a call of the runtime returns, deleted."""
    edits = []
    for node in checking_functions(source).values():
        end = node.end_byte
        while source.bytes[end : end + 1] == b"\n":
            end += 1
        edits.append((node.start_byte, end, ""))
    return edits


def _inner_edits(edits: object, others: list[Edit]) -> list[Edit]:
    """Edits that lie in none of the others."""
    return [
        e for e in edits  # type: ignore[attr-defined]
        if not any(low <= e[0] < high for low, high, _ in others)
    ]  # fmt: skip


def _qualifiers(text: str) -> str:
    text = re.sub(r"\b__constant__\s+", "static ", text)
    text = re.sub(r"\bstatic\s+static\b", "static", text)
    return re.sub(r"\b(?:__device__|__host__|__forceinline__|__noinline__)\s+", "", text)


def _device_code(source: CSource, kernels: dict[str, CudaKernel]) -> str:
    functions = [n for n in source.functions.values() if "__device__" in _before_body(source, n)]
    return "\n".join([*map(source.text_of, functions), *(k.text for k in kernels.values())])
