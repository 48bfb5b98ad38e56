"""The text of a CUDA program before its rules: headers in their place, hidden words in sight.

Kernels stand in headers, loops over threads in macros, and thread indices in functions that kernels
call.  Here headers that hold CUDA are read where they are included, macros that name what only CUDA
has are written out, and functions of the device are given the indices as arguments.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.c_source import CSource, Edit, Node
from rheostat.tradeoff.variants.cuda_helpers import NO_CODE, code_of

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"[^\n]*$')
DEFINE = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^()\n]*\))?((?:\\[ \t]*\n|[^\n])*)", re.MULTILINE
)
BARRIER = "__syncthreads"
QUALIFIER = r"__(?:global|device|host|shared|constant|managed|forceinline|noinline)__"
INDEX = r"\b(?:threadIdx|blockIdx|blockDim|gridDim)\b"
HIDDEN = re.compile(
    rf"\b{QUALIFIER}|{INDEX}|<<<|\b__(?:sync(?:threads|warp)|launch_bounds__|"
    r"shfl\w*|ballot\w*|(?:any|all)_sync)\b"
)
OF_CUDA = re.compile(
    rf"{HIDDEN.pattern}|\bcuda[A-Z]\w*|\bdim3\b|\b(?:make_)?(?:float|double|u?int|u?short|u?char|"
    r"u?long|u?longlong)[1-4]\b"
)
NVIDIA = re.compile(r'(?m)^[ \t]*#[ \t]*include[ \t]*[<"]cuda(?:_runtime(?:_api)?)?\.h[">]')
CONDITION = r"(?m:^[ \t]*#[ \t]*(?:ifn?def|undef|if|elif|include)\b[^\n]*)"
ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b[^\n]*", re.MULTILINE)
GUARD = re.compile(r"\s*#[ \t]*ifndef[ \t]+(\w+)[ \t]*\n\s*#[ \t]*define[ \t]+\1\b")
INDICES = ("gridDim", "blockDim", "blockIdx", "threadIdx")
Macros = Mapping[str, tuple[list[str] | None, str]]


@dataclass(frozen=True)
class Lines:
    """A text of several files, and where each of its lines came from."""

    name: str
    text: str
    origins: tuple[tuple[str, int], ...]

    def place(self, line: int) -> str:
        """How a line of the text is named: by its number, in a header by that, too.

        Parameters
        ----------
        line : int
            From 1.
        """
        file, number = self.origins[min(line, len(self.origins)) - 1]
        return f"line {number}" if file == self.name else f"{file}, line {number}"


def one_text(name: str, files: Mapping[str, str]) -> Lines:
    r"""A source with those of its headers that hold CUDA where they are included.

    Parameters
    ----------
    name : str
        The source.
    files : mapping of str to str
        All files of the program.

    Returns
    -------
    Lines
        Other headers stay included.  Other sources in CUDA follow, as one unit with it.

    Examples
    --------
    >>> files = {"a.cu": '#include "k.h"\n#include "plain.h"\nint a;\n',
    ...          "k.h": "__device__ int k;\n", "plain.h": "int b;\n"}
    >>> made = one_text("a.cu", files)
    >>> print(made.text, made.place(1), made.place(3), sep="\n")
    __device__ int k;
    #include "plain.h"
    int a;
    <BLANKLINE>
    k.h, line 1
    line 3
    """
    read: set[str] = set()
    rows = [r for source in (name, *_units(name, files)) for r in _rows(source, files, read, ())]
    text = "".join(f"{row}\n" for *_, row in rows)
    return Lines(name, text, tuple((file, number) for file, number, _ in rows))


def _units(name: str, files: Mapping[str, str]) -> list[str]:
    """Other sources in CUDA that no file includes."""
    included = {
        os.path.normpath(PurePosixPath(by).parent / m[1]) for by, text in files.items()
        for row in text.splitlines() if (m := INCLUDE.match(row))
    }  # fmt: skip
    return sorted(n for n in {*files} - included - {name} if n.endswith(".cu"))


def _rows(
    name: str, files: Mapping[str, str], read: set[str], above: tuple[str, ...]
) -> Iterator[tuple[str, int, str]]:
    text = files[name]
    if name in read and (ONCE.search(text) or GUARD.match(code_of(text))):
        return
    text = ONCE.sub("", text)
    read.add(name)
    for number, row in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(row)
        inner = match[1] if match else ""
        if inner in {*files} - {"", name, *above} and _holds_cuda(inner, files, {name}):
            yield from _rows(inner, files, read, (*above, name))
        else:
            yield name, number, row


def _holds_cuda(name: str, files: Mapping[str, str], above: set[str]) -> bool:
    text = files[name]
    inner = [m[1] for row in text.splitlines() if (m := INCLUDE.match(row)) and m[1] in files]
    return bool(OF_CUDA.search(code_of(text)) or NVIDIA.search(text)) or any(
        _holds_cuda(i, files, above | {name}) for i in inner if i not in above | {name}
    )


# ---- macros ----


def without_hidden_macros(text: str) -> str:
    r"""A text with macros written out that name what only CUDA has; its lines stay.

    Parameters
    ----------
    text : str
        CUDA.

    Returns
    -------
    str
        Macros with the preprocessor's ``#x``, or of two meanings, stay as they are.

    Examples
    --------
    >>> print(without_hidden_macros("#define T(i) int i = threadIdx.x\nvoid f() { T(k); }"))
    <BLANKLINE>
    void f() { int k = threadIdx.x; }
    """
    macros = _hidden(text)
    if not macros:
        return text
    plain = DEFINE.sub(lambda m: "\n" * m[0].count("\n") if m[1] in macros else m[0], text)
    return _written_out(plain, macros)


def with_outer_macros(text: str) -> str:
    r"""A text in which what kernels define by the preprocessor stands before them.

    Parameters
    ----------
    text : str
        CUDA.

    Returns
    -------
    str
        Statements of a kernel change their places, so that a name has to be known to all.
        Macros of two meanings, under a condition or undefined later stay; other lines stay, too.

    Examples
    --------
    >>> print(with_outer_macros("__global__ void k() {\n#define N 4\n  int a[N];\n}"))
    #define N 4
    __global__ void k() {
    <BLANKLINE>
      int a[N];
    }
    """
    source = CSource(text, "tree_sitter_cuda")
    once = {n for n, c in Counter(m[1] for m in DEFINE.finditer(text)).items() if c == 1}
    edits: list[Edit] = []
    for function in source.definitions:
        body = function.child_by_field_name("body")
        if body is None or "__global__" not in _head(source, function):
            continue
        for node in body.named_children:
            name = node.child_by_field_name("name")
            inner = node.type in ("preproc_def", "preproc_function_def") and source.text_of(name)
            if inner and inner in once and not re.search(rf"#\s*undef\s+{inner}\b", text):
                line = source.text_of(node)
                edits.append((function.start_byte, function.start_byte, line))
                edits.append((node.start_byte, node.end_byte, "\n" * line.count("\n")))
    return source.edited(edits) if edits else text


def _hidden(text: str) -> Macros:
    """Parameters and replacement of the macros that hide CUDA, and of those that use them."""
    every: dict[str, tuple[list[str] | None, str]] = {}
    twice: set[str] = set()
    for name, parameters, rest in DEFINE.findall(text):
        body = " ".join(re.sub(r"\\[ \t]*\n", " ", re.sub(r"//[^\n]*|/\*.*?\*/", "", rest)).split())
        given = [p.strip() for p in parameters[1:-1].split(",")] if parameters else None
        if name in every and every[name][1] and body and every[name] != (given, body):
            twice.add(name)
        if name not in every or not every[name][1]:
            every[name] = (given, body)
    hidden = {n for n, (_, body) in every.items() if HIDDEN.search(body)}
    while more := {n for n, (_, body) in every.items()
                   if n not in hidden and hidden & set(re.findall(r"\w+", body))}:  # fmt: skip
        hidden |= more
    return {n: every[n] for n in hidden - twice if not re.search(r"(?<!#)#(?!#)", every[n][1])}


def _written_out(text: str, macros: Macros) -> str:
    if not macros:
        return text
    names = "|".join(map(re.escape, macros))
    parts, last = [], 0
    for m in re.finditer(rf"{CONDITION}|{NO_CODE}|\b({names})\b", text, re.DOTALL):
        if m[1] is None or m.start() < last:
            continue
        parameters, body = macros[m[1]]
        end = m.end()
        if parameters is not None:
            given, end = arguments_in(text, end)
            if end < 0:
                continue
            body = _filled(body, parameters, [_written_out(x, macros) for x in given])
        body = _written_out(body, {n: v for n, v in macros.items() if n != m[1]})
        parts += [text[last : m.start()], body, "\n" * text.count("\n", m.start(), end)]
        last = end
    return "".join([*parts, text[last:]])


def arguments_in(text: str, start: int) -> tuple[list[str], int]:
    """Arguments in parentheses from here on, and where they end.

    Parameters
    ----------
    text : str
        Of a program.
    start : int
        Where the parentheses open, but for blanks.

    Returns
    -------
    tuple of list of str and int
        No arguments and -1 where none open.
    """
    opened = re.compile(r"\s*\(").match(text, start)
    if opened is None:
        return [], -1
    depth, low, given = 1, opened.end(), []
    for i in range(opened.end(), len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth == 0 or (depth == 1 and text[i] == ","):
            given.append(" ".join(text[low:i].split()))
            low = i + 1
        if depth == 0:
            return given, i + 1
    return [], -1


def _filled(body: str, parameters: list[str], given: list[str]) -> str:
    values = dict(zip(parameters, given, strict=False))
    if parameters and parameters[-1].endswith("..."):
        rest = ", ".join(given[len(parameters) - 1 :])
        values[parameters[-1].removesuffix("...").strip() or "__VA_ARGS__"] = rest
    body = re.sub(r"\b[A-Za-z_]\w*\b", lambda m: values.get(m[0], m[0]), body)
    return re.sub(r"\s*##\s*", "", body)


# ---- indices in functions of the device ----


def with_indices(text: str) -> str:
    r"""A text in which functions of the device are given the indices that they name.

    Parameters
    ----------
    text : str
        CUDA.

    Returns
    -------
    str
        Calls of them, too, name grid, block and thread.

    Examples
    --------
    >>> text = "__device__ int own() { return threadIdx.x; }\n__global__ void k() { own(); }"
    >>> print(with_indices(text).splitlines()[1])
    __global__ void k() { own(gridDim, blockDim, blockIdx, threadIdx); }
    """
    source = CSource(text, "tree_sitter_cuda")
    functions = device_functions(source)
    asks = {n for n, f in functions.items() if re.search(INDEX, source.text_of(body_of(f)))}
    while more := {n for n, f in functions.items()
                   if n not in asks and asks & set(_called(source, f))}:  # fmt: skip
        asks |= more
    return source.edited(_index_edits(source, asks)) if asks else text


def device_functions(source: CSource) -> dict[str, Node]:
    """Functions that only the device has, by name; of several of a name the last.

    Parameters
    ----------
    source : CSource
        Parsed as CUDA.
    """
    return {
        name: node for node in source.definitions
        if "__device__" in _head(source, node) and (name := _name(source, node))
    }  # fmt: skip


def body_of(function: Node) -> Node:
    """The braces of a function, or all of it where it has none."""
    return function.child_by_field_name("body") or function


def _head(source: CSource, function: Node) -> str:
    return source.bytes[function.start_byte : body_of(function).start_byte].decode()


def _declarator(node: Node) -> Node | None:
    """The part of a function's head that has parameters."""
    part = node.child_by_field_name("declarator")
    while part is not None and part.type != "function_declarator":
        inner = part.child_by_field_name("declarator")
        part = inner or next((c for c in part.named_children if "declarator" in c.type), None)
    return part


def _name(source: CSource, function: Node) -> str:
    declarator = _declarator(function)
    name = declarator and declarator.child_by_field_name("declarator")
    plain = name is not None and name.type in ("identifier", "field_identifier")
    return source.text_of(name) if plain else ""


def _called(source: CSource, top: Node) -> Iterator[str]:
    for node in walk(top):
        if node.type == "call_expression":
            yield _callee(source, node)


def _callee(source: CSource, call: Node) -> str:
    """Name of what is called, without what it is called on or the types of a template."""
    function = source.text_of(call.child_by_field_name("function"))
    return re.split(r"\.|->|::", function.partition("<")[0])[-1].strip()


def _index_edits(source: CSource, asks: set[str]) -> Iterator[Edit]:
    taken = ", ".join(f"const dim3 &{n}" for n in INDICES)
    for node in walk(source.tree.root_node):
        if node.type in ("function_definition", "declaration"):
            declarator = _declarator(node)
            if declarator is not None and _name(source, node) in asks:
                yield _first(declarator.child_by_field_name("parameters"), taken)
        elif node.type == "call_expression" and _callee(source, node) in asks:
            yield _first(node.child_by_field_name("arguments"), ", ".join(INDICES))


def _first(within: Node, text: str) -> Edit:
    """What goes before the first in parentheses."""
    more = ", " * bool(within.named_child_count)
    return within.start_byte + 1, within.start_byte + 1, text + more
