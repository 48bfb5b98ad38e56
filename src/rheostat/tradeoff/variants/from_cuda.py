"""CUDA programs with OpenMP, without a model: by rule, and refused by name where a rule lacks.

A launch becomes a call, a kernel a function with loops (`cuda_kernels`, `cuda_blocks`), the runtime
the host's own memory (`cuda_calls`).  What the rules do not know is refused with its lines; what
they make is verified as any other proposal is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from rheostat.errors import DataError
from rheostat.measurement.code.device_kernels.nvcc_conditions import as_nvcc_reads
from rheostat.measurement.code.device_kernels.unused_headers import without_unused_headers
from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.c_source import CSource, Edit, Node
from rheostat.tradeoff.variants.cuda_atomic_writes import with_atomic_marks
from rheostat.tradeoff.variants.cuda_atomics import with_atomic_reads
from rheostat.tradeoff.variants.cuda_blocks import block_loop
from rheostat.tradeoff.variants.cuda_calls import NVIDIA_HEADER, call_edits, checking_functions
from rheostat.tradeoff.variants.cuda_ends import with_early_ends
from rheostat.tradeoff.variants.cuda_helpers import INTRINSICS, with_helpers
from rheostat.tradeoff.variants.cuda_inline import with_inlined_functions
from rheostat.tradeoff.variants.cuda_kernels import (
    CudaKernel,
    UnsupportedKernelError,
    flat_loop,
    strided_loop,
)
from rheostat.tradeoff.variants.cuda_lanes import with_lanes
from rheostat.tradeoff.variants.cuda_launches import with_plain_launches
from rheostat.tradeoff.variants.cuda_parameters import with_own_counters, with_own_parameters
from rheostat.tradeoff.variants.cuda_pointers import pointer_types
from rheostat.tradeoff.variants.cuda_refused import (
    left_over,
    libraries,
    within_functions,
    without_absent_libraries,
    without_openmp,
)
from rheostat.tradeoff.variants.cuda_shapes import single_axes
from rheostat.tradeoff.variants.cuda_text import (
    DEFINE,
    Lines,
    one_text,
    with_indices,
    with_outer_macros,
    without_hidden_macros,
)
from rheostat.tradeoff.variants.variant import Variant

TARGETS = {"openmp": "omp parallel for", "serial": ""}
"""Languages with the pragma of their loops over threads."""
ATTRIBUTE = re.compile(
    r"__launch_bounds__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)|^[ \t]*#pragma\s+unroll[^\n]*\n"
    r"|(?<=__shared__ )__align__\s*\([^()]*\)",
    re.MULTILINE,
)

INSTANTIATED = re.compile(r"^[ \t]*template\s+__global__\s[^;{}]*;", re.MULTILINE)
"""A kernel of which another source is to know; here all is one."""
WRAPS = re.compile(
    r"\batomicInc(\s*\((?:[^(),;]|\([^();]*\))*,)\s*"
    r"(?:UINT_MAX|0[xX][fF]{8}[uU]?|~0[uU]?|\(unsigned(?:\s+int)?\)\s*-1|-1)\s*\)"
)
"""A counter up to the most that its type holds, which is a sum."""
OF_ENUM = re.compile(r"\benum\s+(?=cuda(?:Error|MemcpyKind)\b)")


def from_cuda(
    text: str, to: str, flags: tuple[str, ...] = ("-O2",), files: Mapping[str, str] | None = None
) -> Variant:
    """The variant that the rules make of a CUDA program.

    Parameters
    ----------
    text : str
        In CUDA.
    to : str
        openmp or serial.
    flags : tuple of str
        Of the compiler.
    files : mapping of str to str, optional
        Other files of the program; what they hold of CUDA takes the place of its ``#include``.

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
    lines = one_text("", {**(files or {}), "": text})
    read = without_absent_libraries(as_nvcc_reads(lines.text), files or {}, flags)
    read = without_unused_headers(without_openmp(read, flags), (files or {}).values())
    made = _translated(replace(lines, text=read), TARGETS[to], files or {})
    return Variant(made, "rules", "kernels as loops", flags, to)


def _translated(lines: Lines, pragma: str, files: Mapping[str, str]) -> str:
    """The program with a pragma before loops over threads or blocks, empty for none."""
    plain = ATTRIBUTE.sub(_blank, lines.text)
    plain = with_plain_launches(OF_ENUM.sub("", INSTANTIATED.sub(_blank, plain)))
    plain = with_inlined_functions(with_outer_macros(without_hidden_macros(plain)))
    plain = with_lanes(with_early_ends(WRAPS.sub(r"atomicAdd\1 1u)", plain)))
    plain = with_atomic_marks(with_atomic_reads(with_indices(plain)))
    plain = with_own_counters(with_own_parameters(plain))
    source = CSource(plain, "tree_sitter_cuda")
    problems = [*libraries(lines.text, files.__contains__, lines.place),
                *within_functions(source, lines.place)]  # fmt: skip
    edits: list[Edit] = []
    kernels = _kernels(source)
    for kernel in kernels:
        try:
            body = (strided_loop(kernel, pragma) or flat_loop(kernel, pragma)
                    or block_loop(kernel, pragma))  # fmt: skip
        except UnsupportedKernelError as e:
            problems.append(f"{lines.place(e.line)}: {e}")
            continue
        edits.append((kernel.node.start_byte, kernel.node.end_byte, kernel.function(body)))
    named = {k.name: k for k in kernels}
    edits += _declared(source, named)
    pointers = pointer_types(source, {_pointed(source, c) for c, _ in _launched(source)} - {*named})
    edits += dict.fromkeys(e for one in pointers.values() for e in one)
    for call, launch in _launches(source, named, pointers):
        edits += launch
        if not launch:
            problems.append(f"{lines.place(call.start_point[0] + 1)}: "
                            "a launch of what is no kernel by its name")  # fmt: skip
    edits += _without_checks(source)
    edits += _inner_edits(call_edits(source), edits)
    made = _host_names(_qualifiers(NVIDIA_HEADER.sub("", source.edited(edits))))
    device = _device_code(source, kernels)
    problems = problems or [*left_over(made, device, lines.text, lines.place)]
    if problems:
        raise DataError("the translation without a model", list(dict.fromkeys(problems)))
    return with_helpers(made, _host_names(device))


def _blank(match: re.Match[str]) -> str:
    """Nothing, on as many lines."""
    return "\n" * match[0].count("\n")


def _kernels(source: CSource) -> list[CudaKernel]:
    shapes: dict[str, list[list[str]]] = {}
    for call, shape in _launched(source):
        given = [source.text_of(n) for n in shape.named_children]
        shapes.setdefault(_name(source, call), []).append(given)
    text = source.bytes.decode()
    made = [CudaKernel(source, n) for n in source.definitions
            if "__global__" in _before_body(source, n)]  # fmt: skip
    names = {k.name for k in made}
    by_pointer = [s for name, every in shapes.items() if name not in names for s in every]
    return [
        replace(
            k, single_blocks=single_axes((s[0] for s in own), text),
            single_threads=single_axes((s[1] for s in own), text),
            is_one_of_many=len(made) > 1,
        ) for k in made for own in [[*shapes.get(k.name, ()), *by_pointer]]
    ]  # fmt: skip


def _declared(source: CSource, kernels: Mapping[str, CudaKernel]) -> Iterator[Edit]:
    """Kernels that are declared before they are defined."""
    for node in walk(source.tree.root_node):
        text = source.text_of(node)
        if node.type == "declaration" and "__global__" in text:
            called = re.search(r"(\w+)\s*\(", text[text.index("__global__") :].split("void", 1)[-1])
            if called and called[1] in kernels:
                yield node.start_byte, node.end_byte, f"{kernels[called[1]].head};"


def _before_body(source: CSource, function: Node) -> str:
    body = function.child_by_field_name("body")
    return source.bytes[function.start_byte : body.start_byte].decode() if body else ""


def _launches(
    source: CSource, kernels: Mapping[str, CudaKernel], pointers: Collection[str]
) -> Iterator[tuple[Any, list[Edit]]]:
    """``k<<<g, b>>>(a)`` as ``k(g, b, a)``; no edit where k is no kernel and no pointer to one."""
    for call, shape in _launched(source):
        arguments = call.child_by_field_name("arguments")
        kernel = kernels.get(_name(source, call))
        if kernel is None and _pointed(source, call) not in pointers:
            yield call, []
            continue
        given = [source.text_of(n) for n in shape.named_children]
        kept = given[: 3 if kernel and kernel.takes_shared_bytes else 2]
        rest = ", " if arguments.named_child_count else ""
        yield call, [(shape.start_byte, arguments.start_byte + 1, f"({', '.join(kept)}{rest}")]


def _launched(source: CSource) -> Iterator[tuple[Any, Any]]:
    """Launches, each with what stands between its angles."""
    for call in walk(source.tree.root_node):
        shape = next((c for c in call.children if c.type == "kernel_call_syntax"), None)
        if call.type == "call_expression" and shape and call.child_by_field_name("arguments"):
            yield call, shape


def _name(source: CSource, call: Any) -> str:
    """Name of the kernel that is launched, without what its template is given."""
    name = source.text_of(call.child_by_field_name("function")).partition("<")[0].strip()
    return name.rpartition("::")[2]


def _pointed(source: CSource, call: Any) -> str:
    """Name of the variable, or of the array, by which a kernel may be launched."""
    return re.sub(r"\s*\[[^][]*\]$", "", _name(source, call))


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
    text = re.sub(r"\b(?:__constant__|__managed__)\s+", "static ", text)
    text = re.sub(r"\b__device__\s+static\s+(?:__device__\s+)?", "static ", text)
    text = re.sub(r"\b__(?:device|host|forceinline|noinline)__[ \t]*", "", text)
    text = re.sub(r"\b__inline__\b", "inline", text)
    return re.sub(r"\bstatic(?:\s+static)+\b", "static", text).replace("__align__(", "alignas(")


def _host_names(text: str) -> str:
    """Functions of the device by the name that the host has for them."""
    names = "|".join(INTRINSICS)
    return re.sub(rf"(?<![\w.:])(?:{names})(?=\s*\()", lambda m: INTRINSICS[m[0]], text)


def _device_code(source: CSource, kernels: list[CudaKernel]) -> str:
    """Functions and kernels of the device, and macros, which they may use."""
    functions = [n for n in source.definitions if "__device__" in _before_body(source, n)]
    macros = [m[0] for m in DEFINE.finditer(source.bytes.decode())]
    return "\n".join([*macros, *map(source.text_of, functions), *(k.text for k in kernels)])
