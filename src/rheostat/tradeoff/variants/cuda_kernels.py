"""CUDA kernels as functions of a CPU: the threads of a launch become loops that OpenMP shares.

Three forms, the most readable first.  *Strided*: a kernel that is one loop from its global index in
steps of all threads becomes that loop from 0 in steps of 1.  *Flat*: a kernel that uses its global
index alone, ``blockIdx.x * blockDim.x + threadIdx.x``, becomes a loop over that index.  *Blocked*:
all others become a loop over blocks with loops over the threads of a block in it, see
`rheostat.tradeoff.variants.cuda_blocks`.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.c_source import ASSIGNMENTS, CSource, Node
from rheostat.tradeoff.variants.cuda_helpers import code_of

AXES = "xyz"
INDENT = "  "
THREADS_ALONG = "threads_along"
DYNAMIC_SHARED = re.compile(r"\bextern\s+__shared__\s+([\w\s:]+?)\s*(\w+)\s*\[\s*\]\s*;")
THREAD = re.compile(r"\b(?:threadIdx|blockIdx)\b")
WITHIN_WARP = re.compile(
    r"\b__(?:shfl|ballot|any|all|syncwarp|activemask|match|reduce)\w*|\bthis_grid\b"
)
LEAVES = re.compile(r"\b(?:return|break)\b")
CAST = r"(?:\(\s*[a-z_][\w\s]*\)\s*)?"
LOOPS_WITHIN = ("for_statement", "while_statement", "do_statement", "switch_statement",
                "for_range_loop")  # fmt: skip


class UnsupportedKernelError(ValueError):
    """A kernel that has no such form: why, and at which line."""

    def __init__(self, node: Node, reason: str) -> None:
        super().__init__(reason)
        self.line = int(node.start_point[0]) + 1


@dataclass(frozen=True)
class CudaKernel:
    """The definition of a kernel, taken apart.

    Parameters
    ----------
    source : CSource
        The file, parsed as CUDA.
    node : tree_sitter.Node
        The definition.
    single_blocks : str
        Axes along which each launch of it says that there is one block, which needs no loop.
    single_threads : str
        Axes along which its blocks have one thread.
    is_one_of_many : bool
        Whether the program has other kernels, with which it shares what it says of a launch.
    """

    source: CSource
    node: Node = field(repr=False)
    single_blocks: str = ""
    single_threads: str = ""
    is_one_of_many: bool = False

    @property
    def body(self) -> Node:
        """The braces and what is in them."""
        return self.node.child_by_field_name("body")

    @property
    def text(self) -> str:
        """Of the body."""
        return self.source.text_of(self.body)

    @property
    def name(self) -> str:
        """By which it is launched."""
        return self.source.text_of(self._declarator.child_by_field_name("declarator"))

    @property
    def parameters(self) -> str:
        """As they are declared, without the parentheses."""
        return self.source.text_of(self._declarator.child_by_field_name("parameters"))[1:-1].strip()

    @property
    def _declarator(self) -> Node:
        return self.node.child_by_field_name("declarator")

    @property
    def takes_shared_bytes(self) -> bool:
        """Whether a launch gives the size of its shared memory."""
        return bool(DYNAMIC_SHARED.search(self.text))

    @property
    def axes(self) -> str:
        """Axes that the body names; x at least."""
        code = code_of(self.text)
        if re.search(r"\b(?:threadIdx|blockIdx)\b(?!\s*\.)", code):  # a function may use any
            return AXES
        used = set(re.findall(r"\b(?:threadIdx|blockIdx|blockDim|gridDim)\.([xyz])", code))
        return "".join(a for a in AXES if a in used | {"x"})

    @property
    def block_axes(self) -> str:
        """Axes along which there may be several blocks."""
        return "".join(a for a in self.axes if a not in self.single_blocks)

    @property
    def thread_axes(self) -> str:
        """Axes along which a block may have several threads; x at least."""
        return "".join(a for a in self.axes if a == "x" or a not in self.single_threads)

    @property
    def lone_axes(self) -> str:
        """Axes along which a launch has one thread in all."""
        return "".join(a for a in self.single_blocks if a in self.single_threads)

    def size_of(self, axis: str) -> str:
        """How many threads a launch has along an axis, without factors that are always one."""
        blocks = [f"gridDim.{axis}"] * (axis in self.block_axes)
        threads = [f"blockDim.{axis}"] * (axis not in self.single_threads or not blocks)
        if self.is_one_of_many and blocks and threads:
            return f"{THREADS_ALONG}({blocks[0]}, {threads[0]})"
        return f"({' * '.join([*blocks, *threads])})"

    @property
    def changed_parameters(self) -> list[str]:
        """Parameters that a thread sets, each in a copy of its own."""
        named = set(re.findall(r"(\w+)\s*(?:,|$|\[|=)", self.parameters))
        return sorted(named & {n for n, _ in changes(self.source, self.body)})

    @property
    def statements(self) -> list[Node]:
        """Of the body, without comments."""
        return [s for s in self.body.named_children if s.type != "comment"]

    def function(self, lines: list[str]) -> str:
        """A function of the host with these lines as its body."""
        body = textwrap.indent("\n".join(lines), INDENT)
        return f"{self.head} {{\n{body}\n}}"

    @property
    def head(self) -> str:
        """The function's type, name and parameters."""
        given = [
            "dim3 gridDim",
            "dim3 blockDim",
            *["size_t shared_bytes"] * self.takes_shared_bytes,
        ]
        given += [self.parameters] * bool(self.parameters)
        return f"static void {self.name}({', '.join(given)})"


def strided_loop(kernel: CudaKernel, pragma: str) -> list[str]:
    """Lines of a kernel that is one loop over its share of the elements; none for another."""
    text, values = kernel.source.text_of, {}
    *before, loop = kernel.statements or [kernel.body]
    for statement in before:
        declared = first_value(kernel.source, statement)
        if declared is None:
            return []
        values[declared[1]] = declared[2]
    if loop.type != "for_statement" or kernel.axes != "x" or needs_frame(kernel):
        return []
    parts = [loop.child_by_field_name(n) for n in ("initializer", "condition", "update", "body")]
    if None in parts or (begun := first_value(kernel.source, parts[0])) is None:
        return []
    kind, name, start = begun
    plain = re.escape(name)
    bound = re.fullmatch(rf"{plain}\s*<\s*(\w+)", text(parts[1]))
    step = re.fullmatch(rf"{plain}\s*\+=\s*(.+)", text(parts[2]), re.DOTALL)
    body = text(parts[3])
    shared = bool(kernel.changed_parameters)  # of which each thread changes a copy of its own
    if bound is None or step is None or shared or not _is_for_itself(body, values):
        return []
    start, every = (values.get(x.strip(), x.strip()) for x in (start, step[1]))
    if not global_index("x").fullmatch(start) or not _all_threads("x").fullmatch(every):
        return []
    head = f"for ({kind} {name} = 0; {name} < {bound[1]}; {name}++) "
    return [*pragma_line(pragma), head + dedented(body)]


def flat_loop(kernel: CudaKernel, pragma: str) -> list[str]:
    """Lines of a kernel that uses its global index alone; none for another."""
    body = inner_text(kernel.text)
    for axis in kernel.axes:
        body = global_index(axis).sub(f"index_{axis}", body)
    if THREAD.search(code_of(body)) or needs_frame(kernel):
        return []
    axes = "".join(a for a in reversed(kernel.axes) if a not in kernel.lone_axes)
    lone = [f"const long index_{a} = 0;" for a in kernel.lone_axes if f"index_{a}" in body]
    if not axes:
        return [*lone, body]
    body = "\n".join([*lone, body])
    plain = re.match(
        r"\s*(?:const\s+)?(int|unsigned|long|size_t)\s+(\w+)\s*=\s*index_x\s*;\n?", body
    )
    kind, name = "long", "index_x"
    if axes == "x" and plain and plain[2] not in dict(changes(kernel.source, kernel.body)):
        (kind, name), body = plain.groups(), body[plain.end() :]
    names = {a: f"index_{a}" for a in axes} | ({"x": name} if axes == "x" else {})
    sizes = {a: kernel.size_of(a) for a in axes}
    heads = [
        f"for ({kind} {names[a]} = 0; {names[a]} < ({kind}){size}; {names[a]}++)"
        for a, size in sizes.items()
    ]
    return [*pragma_line(pragma), *nested(heads, continued(kernel, body))]


def global_index(axis: str) -> re.Pattern[str]:
    """What kernels write for the number of a thread in the launch."""
    block, size, thread = (
        f"{CAST}\\b{n}\\.{axis}\\b" for n in ("blockIdx", "blockDim", "threadIdx")
    )
    product = rf"(?:{block}\s*\*\s*{size}|{size}\s*\*\s*{block})"
    product = rf"(?:{CAST}\(\s*{product}\s*\)|{product})"
    return re.compile(rf"(?:{product}\s*\+\s*{thread}|{thread}\s*\+\s*{product})")


def _all_threads(axis: str) -> re.Pattern[str]:
    blocks, size = (f"{CAST}{n}\\.{axis}\\b" for n in ("gridDim", "blockDim"))
    return re.compile(rf"\(?\s*(?:{blocks}\s*\*\s*{size}|{size}\s*\*\s*{blocks})\s*\)?")


def first_value(source: CSource, node: Node) -> tuple[str, str, str] | None:
    """Type, name and value of a declaration of one plain variable, else None."""
    declarators = node.children_by_field_name("declarator")
    if node.type != "declaration" or [d.type for d in declarators] != ["init_declarator"]:
        return None
    name, value = (declarators[0].child_by_field_name(n) for n in ("declarator", "value"))
    if name.type != "identifier":  # a pointer is no index
        return None
    kind = source.text_of(node.child_by_field_name("type"))
    return kind, source.text_of(name), source.text_of(value)


def pragma_line(pragma: str, nested_loops: int = 1) -> list[str]:
    """The pragma before loops of which so many stand right within another."""
    collapse = f" collapse({nested_loops})" * (nested_loops > 1)
    return [f"#pragma {pragma}{collapse} schedule(static)"] if pragma else []


def nested(heads: list[str], body: str) -> list[str]:
    """Loops within another with a body in braces."""
    lines = [INDENT * i + head for i, head in enumerate(heads)]
    lines[-1] += " {"
    close = INDENT * (len(heads) - 1)
    return [*lines, textwrap.indent(body, close + INDENT), close + "}"]


def inner_text(text: str) -> str:
    """What stands between braces, with no indentation of its own."""
    inside = text.strip()[1:-1].strip("\n").rstrip()
    first = "" if inside.startswith((" ", "\t")) else INDENT  # `{ a[i] = 0; }` on one line
    return textwrap.dedent(first + inside.lstrip() if first else inside).strip("\n")


def dedented(text: str) -> str:
    """A statement of which the first line begins where the others' indentation ends."""
    head, newline, rest = text.partition("\n")
    return head + newline + textwrap.dedent(rest)


def needs_frame(kernel: CudaKernel) -> bool:
    """Whether threads of a block share, wait or talk, so that blocks must stay blocks."""
    code = code_of(kernel.text)
    return bool(re.search(r"__shared__|__sync\w+", code) or WITHIN_WARP.search(code))


def continued(kernel: CudaKernel, body: str) -> str:
    """The body of a loop over threads: a thread that returns goes on with the next.

    Within a loop of its own, or where it changes a parameter, each thread is a call of a lambda.
    """
    returns = [n for n in walk(kernel.body) if n.type == "return_statement"]
    changed = kernel.changed_parameters
    if changed or any(within_loop(n, kernel.body) for n in returns):
        capture = "[=]() mutable" if changed else "[&]"
        return f"{capture} {{\n{textwrap.indent(body, INDENT)}\n}}();"
    return re.sub(r"\breturn\s*;", "continue;", body)


def within_loop(node: Node, top: Node) -> bool:
    """Whether a loop or switch stands between a node and one above."""
    above = node.parent
    while above is not None and above.start_byte > top.start_byte:
        if above.type in LOOPS_WITHIN:
            return True
        above = above.parent
    return False


def changes(source: CSource, top: Node) -> Iterator[tuple[str, Node]]:
    """Names that are assigned below a node, with the assignment."""
    for node in walk(top):
        if node.type in ASSIGNMENTS:
            left = node.child_by_field_name("left") or node.child_by_field_name("argument")
            if left is not None and left.type == "identifier":
                yield source.text_of(left), node
        elif node.type == "pointer_expression" and source.text_of(node).startswith("&"):
            argument = node.child_by_field_name("argument")
            if argument is not None and argument.type == "identifier":
                yield source.text_of(argument), node


def _is_for_itself(body: str, values: dict[str, str]) -> bool:
    """Whether what is done with an element hangs on no thread and ends no thread."""
    named = any(re.search(rf"\b{re.escape(n)}\b", body) for n in values)
    return not (named or THREAD.search(code_of(body)) or LEAVES.search(body))
