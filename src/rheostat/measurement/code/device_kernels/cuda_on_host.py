"""CUDA programs turned into C++ that a CPU runs, for machines without a GPU.

Launches become calls, shared variables memory of their block; every line stays where it was, so
that findings point at the program's own lines.  The rest, blocks and threads and the runtime, is in
``runtimes/cuda_on_host``.  It finds mistakes; times and joules of a GPU it cannot tell.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import Any

from rheostat.measurement.code.bundled import with_included
from rheostat.measurement.code.device_kernels.nvcc_conditions import as_nvcc_reads
from rheostat.measurement.code.device_kernels.unused_headers import unused_headers
from rheostat.measurement.code.parsing.syntax_tree import syntax_tree, walk
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.sandboxed.own_runtimes import CUDA as RUNTIME
from rheostat.measurement.code.toolchain import BINARY

HEADER = "cuda_on_host.h"
NVIDIA_HEADERS = ("cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h",
                  "device_functions.h", "device_atomic_functions.h", "sm_20_atomic_functions.h",
                  "cuda_profiler_api.h", "driver_types.h", "builtin_types.h", "host_defines.h",
                  "vector_types.h", "vector_functions.h")  # fmt: skip
CODE = (".cu", ".cuh", ".h", ".hpp", ".cc", ".cpp", ".cxx")
KEPT_FLAGS = re.compile(r"-(?:O\w*|g|mfma|D\S+|I\S*|std=\S+|f[a-z]\S*|l(?!cuda)\S+|W[a-z]\S*)$")
ATTRIBUTE = re.compile(r"__(?:align|launch_bounds)__\s*(\((?:[^()]|\([^()]*\))*\))")
STORAGE = re.compile(
    rf"\b(?:__shared__|extern|static)\b|{ATTRIBUTE.pattern}|\balignas\s*\([^()]*\)"
)
OF_DEVICE = re.compile(
    r"^[ \t]*(?:static\s+|extern\s+)?__(?:constant|device)__\s+(?:static\s+|volatile\s+)?"
    r"[\w:<>,\s]+?[\s*]+(\w+)\s*(?:\[[^;{}()]*\]\s*)*(?:=[^;]*)?;", re.MULTILINE
)  # fmt: skip
"""Variables of the device: what the host assigns to one, no kernel sees."""
INDICES = ("gridDim", "blockDim", "blockIdx", "threadIdx")
OF_HOST = r"\b(?:dim3|int|unsigned|size_t|auto)\b[^;(){{}}]*?(?:\([^();]*\)[^;(){{}}]*?)*\b{}\b"
"""A declaration of a variable of the host that is named as an index of the device."""
ANGLES = re.compile(rb"^<\s*<\s*<|>\s*>\s*>$")
"""Of a launch, also apart, as some editors write them."""
OF_NO_TYPE = re.compile(
    rb"^(?:\(\s*(?:const\s+)?void\s*\*\s*\)|\w+_cast\s*<\s*(?:const\s+)?void\s*(?:const\s*)?\*\s*>)"
    rb"\s*\(?(.*?)\)?$", re.DOTALL
)  # fmt: skip
"""A kernel's address as a pointer to no type."""
OF_KERNELS = re.compile(r"__(?:global|device)__")
FILLS = ("memcpy", "memset", "memmove", "std::memcpy", "std::memset", "std::memmove")
ORDERS = {"backward": 1, "shuffled": 2, "shuffled again": 3}
"""Orders of threads and blocks beside the usual one, as ``CUDA_ORDER`` in the environment."""

Edit = tuple[int, int, bytes]


def on_host(program: Program) -> Program:
    """A CUDA program as one that a compiler of C++ builds and a CPU runs.

    Parameters
    ----------
    program : Program
        In CUDA; a build command of its own is not used.

    Returns
    -------
    Program
        With the same lines, the header and what stands in for NVIDIA's.

    Examples
    --------
    >>> made = on_host(Program({"a.cu": "void g(int *a) { f<<<2, 32>>>(a); }"}, "cuda"))
    >>> print(made.files["a.cu"].partition("::launch")[2])
    (cuda_on_host::Config(2, 32), "f", [=](auto... x) { f(x...); }, a); }
    """
    code = {n: t for n, t in program.files.items() if PurePosixPath(n).suffix in CODE}
    of_device = frozenset(n for t in code.values() for n in OF_DEVICE.findall(t))
    made = {**program.files, **{n: rewritten(t, of_device) for n, t in code.items()}}
    include = f'#include "{HEADER}"\n'
    known = {*NVIDIA_HEADERS, *unused_headers(code.values())}
    made |= {name: include for name in known if name not in made}
    made |= with_included(HEADER)
    flags = [f for f in program.flags if KEPT_FLAGS.match(f)]
    run = (f"./{BINARY}", *program.run[1:])
    return replace(program, files=made, build=(), run=run, objects=objects_of(program),
                   flags=("-include", HEADER, "-I.", *flags))  # fmt: skip


def objects_of(program: Program) -> tuple[str, ...]:
    """The own runtimes of what is built of a program for the host."""
    return (*program.objects, *((RUNTIME,) if program.language == "cuda" else ()))


def parser_absent() -> str:
    """Why CUDA cannot be rewritten for the host; empty if it can."""
    missing = [n for n in ("tree_sitter", "tree_sitter_cuda") if find_spec(n) is None]
    return f"{' and '.join(missing)} not installed: pip install 'rheostat[code]'" * bool(missing)


def rewritten(text: str, of_device: Collection[str] = ()) -> str:
    """Launches and shared variables of a file in C++; macros that launch, too.

    Parameters
    ----------
    text : str
        CUDA.
    of_device : collection of str
        Variables of the device; a program that sets one as if it was the host's stops there.

    Returns
    -------
    str
        C++ with as many lines.
    """
    source = _with_host_names(as_nvcc_reads(text)).encode()
    edits = [*_edits(source), *_writes(source, of_device)]
    parts, last = [], 0
    for low, high, new in sorted(edits):
        if low < last:
            continue
        lost = source[low:high].count(b"\n") - new.count(b"\n")
        parts += [source[last:low], new, b"\n" * lost]
        last = high
    return b"".join([*parts, source[last:]]).decode()


def _with_host_names(text: str) -> str:
    """A text in which variables of the host that are named as indices of the device are others."""
    source = text.encode()
    parts, last = [], 0
    for function in (n for n in walk(_tree(source)) if n.type == "function_definition"):
        own = source[function.start_byte : function.end_byte].decode()
        body = function.child_by_field_name("body")
        head = own[: body.start_byte - function.start_byte] if body else own
        names = [n for n in INDICES if re.search(OF_HOST.format(n), own)]
        if names and function.start_byte >= last and not OF_KERNELS.search(head):
            named = rf"(?<![\w.>])(?:{'|'.join(names)})\b"
            parts += [source[last : function.start_byte].decode(), re.sub(named, r"\g<0>_", own)]
            last = function.end_byte
    return "".join([*parts, source[last:].decode()])


def _edits(source: bytes) -> Iterator[Edit]:
    for node in walk(_tree(source)):
        if node.type == "call_expression":
            yield from _launch(source, node)
            yield from _launch_by_addresses(source, node)
        elif node.type == "declaration":
            yield from _shared(source, node)
        elif node.type == "preproc_arg" and b"<<<" in source[node.start_byte : node.end_byte]:
            yield from _macro_edits(source, node.start_byte, node.end_byte)


def _writes(source: bytes, of_device: Collection[str]) -> Iterator[Edit]:
    """Where functions of the host assign to variables of the device."""
    if not of_device or not any(n.encode() in source for n in of_device):
        return
    for function in (n for n in walk(_tree(source)) if n.type == "function_definition"):
        body = function.child_by_field_name("body")
        head = source[function.start_byte : body.start_byte if body else function.end_byte]
        if body is None or b"__global__" in head or b"__device__" in head:
            continue
        own = {_first_name(p.child_by_field_name("declarator") or p)[1] for d in walk(function)
               if d.type in ("declaration", "parameter_declaration")
               for p in d.children_by_field_name("declarator")}  # fmt: skip
        for place in filter(None, map(_written, walk(body))):
            base, name = _first_name(place)
            if name in of_device and name not in own:
                new = f'(cuda_on_host::written_by_host("{name}"), {name})'
                yield base.start_byte, base.end_byte, new.encode()


def _first_name(node: Any) -> tuple[Any, str]:
    """What is declared, or an element of which is meant."""
    first = next((n for n in walk(node) if n.type == "identifier"), None)
    return first, first.text.decode() if first else ""


def _written(node: Any) -> Any:
    """What a statement assigns to, or fills; None for any other."""
    if node.type == "assignment_expression":
        return node.child_by_field_name("left")
    if node.type == "update_expression":
        return node.child_by_field_name("argument")
    if node.type == "call_expression":
        called = node.child_by_field_name("function")
        given = node.child_by_field_name("arguments")
        if called.text.decode() in FILLS and given.named_children:
            return given.named_children[0]
    return None


def _macro_edits(source: bytes, low: int, high: int) -> Iterator[Edit]:
    """Edits of what a macro stands for, whose lines end with a backslash before and after."""
    before = b"void f() { "
    body = re.sub(rb"\\(?=[ \t]*\n)", b" ", source[low:high])
    for a, b, new in _edits(before + body + b"; }"):
        start, end = a + low - len(before), b + low - len(before)
        lost = source[start:end].count(b"\n") - new.count(b"\n")
        yield start, end, re.sub(rb"[ \t]*\n", rb" \\\n", new + b"\n" * lost)


def _tree(source: bytes) -> Any:
    """The tree, attributes with parentheses blanked: the grammar does not know them."""
    plain = ATTRIBUTE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), source.decode("latin-1"))
    return syntax_tree(plain.encode("latin-1"), "tree_sitter_cuda").root_node


def _launch(source: bytes, call: Any) -> Iterator[Edit]:
    """``f<T><<<g, b>>>(a)`` up to the first argument, as a call of launch."""
    kernel = call.child_by_field_name("function")
    arguments = call.child_by_field_name("arguments")
    shape = next((c for c in call.children if c.type == "kernel_call_syntax"), None)
    if shape is None or arguments is None:
        return
    name = source[kernel.start_byte : kernel.end_byte]
    config = ANGLES.sub(b"", source[shape.start_byte : shape.end_byte])
    short = re.sub(rb"<.*", b"", name, flags=re.DOTALL).strip()
    more = b", " if arguments.named_child_count else b""
    new = b'cuda_on_host::launch(cuda_on_host::Config(%s), "%s", [=](auto... x) { %s(x...); }%s' % (
        config, short, b" ".join(name.split()), more)  # fmt: skip
    yield kernel.start_byte, arguments.start_byte + 1, new


def _launch_by_addresses(source: bytes, call: Any) -> Iterator[Edit]:
    """``cudaLaunchKernel((void *)f, ...)`` as a call that knows the kernel's type."""
    function, arguments = (call.child_by_field_name(n) for n in ("function", "arguments"))
    if function.text != b"cudaLaunchKernel" or not arguments or not arguments.named_children:
        return
    first, last = arguments.named_children[0], arguments
    kernel = OF_NO_TYPE.sub(rb"\1", source[first.start_byte : first.end_byte].strip())
    short = re.sub(rb"^&|<.*", b"", kernel, flags=re.DOTALL).strip()
    yield call.start_byte, first.end_byte, b'(cuda_on_host::launch_by("%s", %s' % (short, kernel)
    yield last.end_byte, last.end_byte, b", cudaPeekAtLastError())"


def _shared(source: bytes, declaration: Any) -> Iterator[Edit]:
    """Shared variables as references to memory of the block."""
    words = [source[c.start_byte : c.end_byte] for c in declaration.children]
    if b"__shared__" not in words:
        return
    places = declaration.children_by_field_name("declarator")
    if not places or any(p.type in ("init_declarator", "function_declarator") for p in places):
        return
    head = source[declaration.start_byte : places[0].start_byte].decode()
    kind = " ".join(STORAGE.sub("", head).split())
    made = []
    for number, place in enumerate(places):
        text = source[place.start_byte : place.end_byte].decode()
        parts = re.fullmatch(r"(\**)\s*(\w+)\s*((?:\[.*\])?)", text, re.DOTALL)
        if parts is None:
            return
        stars, name, sizes = parts.groups()
        if b"extern" in words:
            made.append(f"{kind} {stars}*{name} = ({kind} {stars}*)cuda_on_host::dynamic_shared();")
            continue
        site = declaration.start_byte * 8 + number
        whole = f"{kind}{stars}{sizes}"
        made.append(f"{kind} {stars}(&{name}){sizes} = cuda_on_host::shared<{whole}, {site}>();")
    yield declaration.start_byte, declaration.end_byte, " ".join(made).encode()
