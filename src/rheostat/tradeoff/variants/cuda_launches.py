"""``cudaLaunchKernel`` with an array of addresses, as a launch between angles.

The array is read where it is declared: what it holds are addresses of variables, whose values the
kernel is given.  One that is changed, or filled elsewhere, is left, and refused by its name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.c_source import CSource, Edit, Node
from rheostat.tradeoff.variants.cuda_calls import checking_functions, statement_of
from rheostat.tradeoff.variants.cuda_variables import declared_name

LAUNCH = "cudaLaunchKernel"
CAST = re.compile(r"^\(\s*(?:const\s+)?void\s*\*\s*\*?\s*\)\s*")
CALL_CAST = re.compile(r"^(?:reinterpret_cast|static_cast)\s*<[^<>]*\*\s*>\s*\((.*)\)$", re.DOTALL)
ADDRESS = re.compile(r"&\s*(?:\(\s*([\w.\->\[\]]+)\s*\)|([\w.\->\[\]]+))")
KERNEL = re.compile(r"[\w:]+(?:\s*<[^()]*>)?")


def with_plain_launches(text: str) -> str:
    r"""A text in which kernels are launched between angles alone.

    Parameters
    ----------
    text : str
        CUDA.

    Returns
    -------
    str
        Launches whose arguments are not in sight stay; lines stay, too.

    Examples
    --------
    >>> text = '''void f(int *d, int n) {
    ...   void *all[] = {&d, (void *)&n};
    ...   cudaLaunchKernel((void *)k, 2, 32, all, 0, 0);
    ... }'''
    >>> print(with_plain_launches(text))
    void f(int *d, int n) {
    <BLANKLINE>
      k<<<2, 32, 0, 0>>>(d, n);
    }
    """
    if LAUNCH not in text:
        return text
    source = CSource(text, "tree_sitter_cuda")
    checks = checking_functions(source)
    edits = [e for f in source.definitions for e in _edits(source, f, checks)]
    return source.edited(edits) if edits else text


def _edits(source: CSource, function: Node, checks: Collection[str]) -> Iterator[Edit]:
    named = [source.text_of(n) for n in walk(function) if n.type == "identifier"]
    declared = Counter(source.text_of(declared_name(d)) for n in walk(function)
                       if n.type in ("declaration", "parameter_declaration")
                       for d in n.children_by_field_name("declarator"))  # fmt: skip
    for call in walk(function):
        if call.type != "call_expression" or _called(source, call) != LAUNCH:
            continue
        given = [source.text_of(a) for a in call.child_by_field_name("arguments").named_children]
        kernel = _plain(given[0]).removeprefix("&") if given else ""
        array = _array(source, function, given[3], named) if len(given) > 3 else None
        values = [_value(source.text_of(v)) for v in array[1]] if array else []
        hidden = any(declared[re.split(r"\W", v)[0]] > 1 for v in values)
        if array is None or hidden or not all(values) or not KERNEL.fullmatch(kernel):
            continue
        shape = ", ".join([*given[1:3], *(given[4:6] or ["0"])])
        launch = f"{kernel}<<<{shape}>>>({', '.join(values)})"
        whole = statement_of(source, call, checks)
        if whole is None:
            yield call.start_byte, call.end_byte, f"({launch}, cudaSuccess)"
        else:
            yield whole.start_byte, whole.end_byte, f"{launch};"
        if array[0] is not None:
            yield array[0].start_byte, array[0].end_byte, ""


def _called(source: CSource, call: Node) -> str:
    return source.text_of(call.child_by_field_name("function"))


def _plain(text: str) -> str:
    """What is given, without casts to pointers of no type."""
    text = text.strip()
    while (shorter := CALL_CAST.sub(r"\1", CAST.sub("", text)).strip()) != text:
        text = shorter
    return text


def _value(text: str) -> str:
    """The variable whose address is given; empty for anything else."""
    inner = ADDRESS.fullmatch(_plain(text))
    return (inner[1] or inner[2]) if inner else ""


def _array(
    source: CSource, function: Node, name: str, named: list[str]
) -> tuple[Node | None, list[Node]] | None:
    """The declaration of an array that is only given to one launch, if so, and its values."""
    for node in walk(function):
        if node.type != "init_declarator":
            continue
        first, value = (node.child_by_field_name(n) for n in ("declarator", "value"))
        said = re.sub(r"[\s*]|\[\w*\]", "", source.text_of(first))
        alone = node.parent.type == "declaration" and len(
            node.parent.children_by_field_name("declarator")) == 1  # fmt: skip
        if said == name and value is not None and value.type == "initializer_list" and alone:
            return (node.parent, value.named_children) if named.count(name) == 2 else None
    return None
