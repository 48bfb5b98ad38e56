"""CUDA's runtime in a program of the host: memory of the device is memory, waiting is nothing.

Each call becomes an expression of value 0, which is success, or where it stands alone, or within a
macro or function that only checks it, a statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.measurement.code.reached.lines_elsewhere import ERRORS
from rheostat.tradeoff.variants.c_source import CSource, Edit, Node
from rheostat.tradeoff.variants.cuda_device import ATTRIBUTES, TYPE

NOTHING = ("cudaDeviceSynchronize", "cudaThreadSynchronize", "cudaGetLastError",
           "cudaPeekAtLastError", "cudaDeviceReset", "cudaSetDevice", "cudaStreamCreate",
           "cudaStreamDestroy", "cudaStreamSynchronize", "cudaEventCreate", "cudaEventDestroy",
           "cudaEventSynchronize", "cudaFuncSetCacheConfig", "cudaDeviceSetCacheConfig",
           "cudaMemPrefetchAsync", "cudaMemAdvise", "cudaStreamCreateWithFlags",
           "cudaEventCreateWithFlags", "cudaStreamWaitEvent", "cudaStreamQuery", "cudaEventQuery",
           "cudaHostRegister", "cudaHostUnregister", "cudaFuncSetAttribute", "cudaProfilerStart",
           "cudaProfilerStop", "cudaDeviceSetLimit", "cudaSetDeviceFlags", "cudaThreadExit",
           "cudaDeviceSetSharedMemConfig", "cudaFuncSetSharedMemConfig",
           "cudaStreamCreateWithPriority")  # fmt: skip
TYPES = {"cudaError_t": "int", "cudaError": "int", "cudaStream_t": "int", "cudaEvent_t": "double",
         "cudaMemcpyKind": "int", "cudaDeviceProp": TYPE}  # fmt: skip
ERROR_TEXTS = {"cudaGetErrorString": '"no error"', "cudaGetErrorName": '"cudaSuccess"'}
FLAG = re.compile(
    r"cuda(?:(?:HostAlloc|HostRegister|MemAttach|DeviceSchedule|Memcpy(?:Host|Device)To)[A-Z]\w*"
    r"|MemcpyDefault|StreamDefault|StreamNonBlocking|EventDefault|EventDisableTiming"
    r"|EventBlockingSync|DeviceMapHost|DeviceLmemResizeToMax)"
)
"""Constants that change nothing on a host."""
IN_MACRO = {
    re.compile(r"\bcudaGetErrorString\s*\([^()]*(?:\([^()]*\))?\)"): '"no error"',
    re.compile(r"\bcudaGetErrorName\s*\([^()]*(?:\([^()]*\))?\)"): '"cudaSuccess"',
    re.compile(rf"\b(?:{'|'.join(NOTHING)})\s*\(\s*\)"): "0",
    **{re.compile(rf"\b{n}\b"): new for n, new in (TYPES | ERRORS).items()},
}
"""What the runtime has in macros that stay, which are no tree but a text."""
NVIDIA_HEADER = re.compile(
    r"^[ \t]*#\s*include\s*[<\"](?:cuda|cuda_runtime|cuda_runtime_api|device_launch_parameters|"
    r"device_functions|device_atomic_functions|sm_20_atomic_functions|cuda_profiler_api|"
    r"vector_types|vector_functions|driver_types|builtin_types|host_defines)"
    r"\.h[>\"][^\n]*\n", re.MULTILINE
)  # fmt: skip


def call_edits(source: CSource) -> Iterator[Edit]:
    """Edits that put the host's own calls in place of the runtime's.

    Parameters
    ----------
    source : CSource
        Parsed as CUDA.

    Yields
    ------
    Edit
        In bytes of the source.

    Examples
    --------
    >>> text = "void f(float *d, float *h) { cudaMemcpy(d, h, 8, cudaMemcpyHostToDevice); }"
    >>> source = CSource(text, "tree_sitter_cuda")
    >>> source.edited(call_edits(source))
    'void f(float *d, float *h) { memcpy(d, h, 8); }'
    """
    checks = checking_functions(source)
    for node in walk(source.tree.root_node):
        if node.type == "call_expression":
            yield from _call(source, node, checks)
        elif node.type == "preproc_arg" and "cuda" in source.text_of(node):
            yield node.start_byte, node.end_byte, _in_macro(source.text_of(node))
        elif node.type in ("type_identifier", "identifier"):
            name = source.text_of(node)
            new = (TYPES | ERRORS).get(name) or ("0" if FLAG.fullmatch(name) else "")
            if new and not _within_call(source, node):
                yield node.start_byte, node.end_byte, new


def _in_macro(text: str) -> str:
    for pattern, new in IN_MACRO.items():
        text = pattern.sub(new, text)
    return text


def _within_call(source: CSource, node: Node) -> bool:
    """Whether something is an argument of a call that is replaced as a whole."""
    above = node.parent
    while above is not None and above.type != "compound_statement":
        if above.type == "call_expression":
            name = source.text_of(above.child_by_field_name("function"))
            if _made(name, _arguments(source, above) + [""] * 4) is not None:
                return True
        above = above.parent
    return False


def checking_functions(source: CSource) -> dict[str, Node]:
    """Functions of an error, and macros of one or of such a function, by name.

    None of which the value is used, as ``if (!ok(cudaMalloc(&p, n))) return 1;`` uses it, and none
    that is given something else, as ``check(status);``.

    Parameters
    ----------
    source : CSource
        Parsed as CUDA.

    Returns
    -------
    dict of str to tree_sitter.Node
        Definitions.
    """
    asked = set(_asked(source))
    checks = {
        name: node for name, node in source.functions.items() if name not in asked
        and "cudaError" in source.text_of(node.child_by_field_name("declarator"))
    }  # fmt: skip
    for node in walk(source.tree.root_node):
        if node.type == "preproc_function_def":
            text = source.text_of(node)
            if re.search(
                rf"\bcuda(?:Success|GetErrorString)\b|{'|'.join([r'(?!)', *checks])}", text
            ):
                checks[source.text_of(node.child_by_field_name("name"))] = node
    kept = {n for n in checks if n in _given_more(source)}
    bodies = " ".join(source.text_of(checks[n]) for n in kept if n not in source.functions)
    kept |= {n for n in checks if n in source.functions and re.search(rf"\b{n}\b", bodies)}
    return {n: node for n, node in checks.items() if n not in kept}


def _given_more(source: CSource) -> set[str]:
    """Names of what is called with more than a call of the runtime, or is more than a statement."""
    return {
        source.text_of(call.child_by_field_name("function"))
        for call in walk(source.tree.root_node) if call.type == "call_expression"
        and not (call.parent.type == "expression_statement" and _is_check(source, call))
    }  # fmt: skip


def _is_check(source: CSource, call: Node) -> bool:
    """Whether a call is given one of the runtime, also one of which no rule is known."""
    names = (source.text_of(a.child_by_field_name("function"))
             for a in call.child_by_field_name("arguments").named_children
             if a.type == "call_expression")  # fmt: skip
    return any(re.fullmatch(r"cuda[A-Z]\w*", n) and n not in source.functions for n in names)


def _asked(source: CSource) -> Iterator[str]:
    """Names of functions of which a call is more than a statement."""
    for node in walk(source.tree.root_node):
        if node.type == "call_expression" and node.parent.type != "expression_statement":
            yield source.text_of(node.child_by_field_name("function"))


def _call(source: CSource, node: Node, checks: Collection[str]) -> Iterator[Edit]:
    name = source.text_of(node.child_by_field_name("function"))
    arguments = _arguments(source, node)
    if name in ERROR_TEXTS:
        yield node.start_byte, node.end_byte, ERROR_TEXTS[name]
        return
    made = _made(name, arguments)
    if made is None:
        return
    whole = statement_of(source, node, checks)
    if whole is None:
        new = f"({made}, 0)" if made else "0"
        yield node.start_byte, node.end_byte, new
    elif made:
        yield whole.start_byte, whole.end_byte, made + ";"
    else:
        yield _line_of(source, whole)


def _arguments(source: CSource, call: Node) -> list[str]:
    return [source.text_of(a) for a in call.child_by_field_name("arguments").named_children]


def _made(name: str, given: list[str]) -> str | None:
    """What stands for a call: empty where nothing is to be done, None where it is not known."""
    base = re.sub(r"Async$", "", name)
    if name in NOTHING or base in NOTHING:
        return ""
    if name == "cudaDeviceGetAttribute" and given[1].strip() not in ATTRIBUTES:
        return None
    if name == "cudaOccupancyMaxPotentialBlockSize" and given[4:5] not in ([], ["0"], [""]):
        return None  # a most that the program states
    rule = RULES.get(base)
    return None if rule is None else rule(given)


def _pointed(argument: str) -> str:
    """The variable behind ``&p`` or ``(void **)&p``."""
    plain = re.sub(r"^\(\s*void\s*\*\s*\*\s*\)\s*", "", argument.strip())
    if cast := re.fullmatch(r"reinterpret_cast<\s*void\s*\*\s*\*\s*>\s*\((.*)\)", plain):
        plain = cast[1].strip()
    match = re.fullmatch(r"&\s*\(?([\w.\->\[\]]+)\)?", plain)
    return match[1] if match else f"*({plain})"


def _allocated(given: list[str]) -> str:
    return _set_to(given[0], f"malloc({given[1]})")


def _allocated_rows(given: list[str]) -> str:
    """Rows of memory as far apart as the host in the place of a GPU lays them, too."""
    pitch = _pointed(given[1])
    rows = _set_to(given[0], f"malloc({pitch} * ({given[3]}))")
    return f"{pitch} = (({given[2]}) + 511) / 512 * 512, {rows}"


def _set_to(argument: str, value: str) -> str:
    """The pointer behind an argument set to a value of another type."""
    pointer = _pointed(argument)
    plain = re.fullmatch(r"[\w.]+", pointer)  # of an element it would be a reference
    kind = pointer if plain else f"+{pointer}"
    return f"{pointer} = (decltype({kind})){value}"


def _symbol(name: str, offset: list[str]) -> str:
    """Where a copy from or to a variable of the device begins."""
    return f"(char *)&{name} + {offset[0]}" if offset and offset[0] != "0" else f"&{name}"


def _copy(given: list[str]) -> str:
    """What copies: ``memcpy`` may be given no pointer to nothing, as an empty vector has."""
    return "copy_bytes" if any(".data()" in g for g in given[:2]) else "memcpy"


RULES: dict[str, Callable[[list[str]], str]] = {
    "cudaMalloc": _allocated,
    "cudaMallocManaged": _allocated,
    "cudaMallocHost": _allocated,
    "cudaHostAlloc": _allocated,
    "cudaMallocPitch": _allocated_rows,
    "cudaMemcpy2D": lambda g: f"memcpy_rows({', '.join(g[:6])})",
    "cudaMemset2D": lambda g: f"memset_rows({', '.join(g[:5])})",
    "cudaMemcpy": lambda g: f"{_copy(g)}({g[0]}, {g[1]}, {g[2]})",
    "cudaMemset": lambda g: f"memset({g[0]}, {g[1]}, {g[2]})",
    "cudaMemcpyToSymbol": lambda g: f"memcpy({_symbol(g[0], g[3:4])}, {g[1]}, {g[2]})",
    "cudaMemcpyFromSymbol": lambda g: f"memcpy({g[0]}, {_symbol(g[1], g[3:4])}, {g[2]})",
    "cudaFree": lambda g: f"free({g[0]})",
    "cudaFreeHost": lambda g: f"free({g[0]})",
    "cudaGetSymbolAddress": lambda g: _set_to(g[0], f"&{g[1]}"),
    "cudaHostGetDevicePointer": lambda g: _set_to(g[0], g[1]),
    "cudaGetSymbolSize": lambda g: f"{_pointed(g[0])} = sizeof({g[1]})",
    "cudaOccupancyMaxPotentialBlockSize": (
        lambda g: f"{_pointed(g[0])} = 16, {_pointed(g[1])} = 1024"
    ),
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor": (
        lambda g: f"{_pointed(g[0])} = min(2048 / ((({g[2]}) + 31) / 32 * 32), 16)"
    ),
    "cudaChooseDevice": lambda g: f"{_pointed(g[0])} = 0",
    "cudaDeviceCanAccessPeer": lambda g: f"{_pointed(g[0])} = 0",
    "cudaDriverGetVersion": lambda g: f"{_pointed(g[0])} = 13000",
    "cudaRuntimeGetVersion": lambda g: f"{_pointed(g[0])} = 13000",
    "cudaGetDeviceCount": lambda g: f"{_pointed(g[0])} = 1",
    "cudaGetDeviceProperties": lambda g: f"{_pointed(g[0])} = {TYPE}()",
    "cudaDeviceGetAttribute": lambda g: f"{_pointed(g[0])} = {ATTRIBUTES.get(g[1].strip())}",
    "cudaGetDevice": lambda g: f"{_pointed(g[0])} = 0",
    "cudaEventRecord": lambda g: f"{g[0]} = omp_get_wtime()",
    "cudaEventElapsedTime": lambda g: f"{_pointed(g[0])} = 1e3 * ({g[2]} - {g[1]})",
}


def statement_of(source: CSource, node: Node, checks: Collection[str]) -> Node | None:
    """The statement that a call is, alone or within a check of it; None where its value is used."""
    above = node.parent
    if above.type == "argument_list" and above.parent.type == "call_expression":
        function = above.parent.child_by_field_name("function")
        if source.text_of(function) in checks:
            above = above.parent.parent
    return above if above.type == "expression_statement" else None


def _line_of(source: CSource, statement: Node) -> Edit:
    """The statement's line, where it has one for itself."""
    start, end, data = statement.start_byte, statement.end_byte, source.bytes
    low = data.rfind(b"\n", 0, start) + 1
    high = data.find(b"\n", end)
    in_block = statement.parent.type == "compound_statement"
    if not data[low:start].strip() and high >= 0 and not data[end:high].strip() and in_block:
        return low, high + 1, ""
    return start, end, "" if in_block else ";"
