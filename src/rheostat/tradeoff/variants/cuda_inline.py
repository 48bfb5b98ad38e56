"""Functions of the device that hold a barrier, written out where kernels call them.

A barrier or an exchange within a warp is one of the whole block: its place among the phases of a
kernel is known only within the kernel itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.c_source import ASSIGNMENTS, CSource, Edit, Node
from rheostat.tradeoff.variants.cuda_kernels import WITHIN_WARP
from rheostat.tradeoff.variants.cuda_text import body_of, device_functions

OF_A_BLOCK = re.compile(rf"\b__(?:syncthreads|shared__)\b|{WITHIN_WARP.pattern}")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
DEEPEST = 8
"""How many functions may call one another."""
QUALIFIERS = re.compile(r"\b(?:const|volatile|static|register|__restrict(?:__)?)\b\s*")


def with_inlined_functions(text: str) -> str:
    r"""A text in which functions with barriers or exchanges stand where they are called.

    Parameters
    ----------
    text : str
        CUDA.

    Returns
    -------
    str
        Calls that are no statements of their own, and functions that return before their end, stay;
        so do lines.

    Examples
    --------
    >>> text = "__device__ int f(int v) { __syncthreads(); return v + 1; }\n"
    >>> print(with_inlined_functions(text + "__global__ void k(int a) { int b = f(a); }"))
    <BLANKLINE>
    __global__ void k(int a) { int v_1 = a; __syncthreads(); int b = v_1 + 1; }
    """
    if not OF_A_BLOCK.search(text):
        return text
    for _ in range(DEEPEST):
        source = CSource(text, "tree_sitter_cuda")
        functions = {n: f for n, f in device_functions(source).items()
                     if OF_A_BLOCK.search(source.text_of(body_of(f)))}  # fmt: skip
        edits = list(_edits(source, functions))
        if not edits:
            return text
        text = source.edited(edits)
    return text


def _edits(source: CSource, functions: Mapping[str, Node]) -> Iterator[Edit]:
    named = source.bytes.decode()
    for name, function in functions.items():
        if not re.findall(rf"\b{name}\s*(?:<[^<>;]*>)?\s*\(", named)[1:]:
            whole = function.parent if _is_template(function) else function
            yield whole.start_byte, whole.end_byte, "\n" * source.text_of(whole).count("\n")
    number = 0
    for caller in source.definitions:
        head = source.bytes[caller.start_byte : body_of(caller).start_byte].decode()
        inner = [n for n in walk(caller) if n.type == "call_expression"]
        for call in inner if "__global__" in head or "__device__" in head else ():
            name = _name(source, call)
            if name not in functions or functions[name] == caller:
                continue
            number += 1
            while re.search(rf"\w_{number}\b", named):
                number += 1
            made = _instead(source, caller, call, functions[name], f"_{number}")
            if made is not None:
                yield made


def _name(source: CSource, call: Node) -> str:
    return source.text_of(call.child_by_field_name("function")).partition("<")[0].strip()


def _is_template(function: Node) -> bool:
    return function.parent is not None and function.parent.type == "template_declaration"


def _instead(source: CSource, caller: Node, call: Node, function: Node, suffix: str) -> Edit | None:
    """What stands in the place of the statement that a call is; None where there is no rule."""
    above, end = call.parent, ";"
    value = ""
    if above.type in ASSIGNMENTS and above.child_by_field_name("right") == call:
        value, above = _text(source, above.start_byte, call.start_byte), above.parent
    elif above.type == "init_declarator" and above.parent.type == "declaration":
        statement = above.parent
        if statement.named_children[-1] != above or statement.named_children[-2].type in (
            "init_declarator", "identifier"):  # fmt: skip
            return None
        value, above = _text(source, statement.start_byte, call.start_byte), statement
    if above.type not in ("expression_statement", "declaration"):
        return None
    made = _written_out(source, caller, call, function, suffix)
    if made is None or (value and not made[1]):
        return None
    text = " ".join([*made[0], *([f"{value}{made[1]}{end}"] if value else [])])
    if above.parent.type != "compound_statement":
        text = f"{{ {text} }}"
    lost = source.text_of(above).count("\n")
    return above.start_byte, above.end_byte, text + "\n" * lost


def _text(source: CSource, start: int, end: int) -> str:
    return source.bytes[start:end].decode()


def _written_out(
    source: CSource, caller: Node, call: Node, function: Node, suffix: str
) -> tuple[list[str], str] | None:
    """Statements of a function with its variables renamed, and what it returns."""
    body = body_of(function)
    given = call.child_by_field_name("arguments").named_children
    parameters = _parameters(function)
    kinds = _template_values(source, caller, call, function, given)
    if kinds is None or len(given) != len(parameters) or "#" in source.text_of(body):
        return None
    statements = [s for s in body.named_children if s.type != "comment"]
    returns = [n for n in walk(body) if n.type == "return_statement"]
    last = statements[-1] if statements and statements[-1].type == "return_statement" else None
    if any(r != last for r in returns):
        return None
    own = {n: f"{n}{suffix}" for n in (*map(_declared(source), parameters), *_locals(source, body))}
    lines = []
    for parameter, argument in zip(parameters, given, strict=True):
        name, kind = _declared(source)(parameter), source.text_of(parameter)
        if "&" in kind:
            if argument.type != "identifier":
                return None
            own[name] = source.text_of(argument)
            continue
        kind = re.sub(rf"\b{name}\b\s*\[[^\]]*\]", f"*{name}", QUALIFIERS.sub("", kind))
        const = "const " * bool(re.match(r"\s*const\b.*\*", source.text_of(parameter)))
        kind = re.sub(rf"\b{name}\b", own[name], _named(kind, kinds))
        lines.append(f"{const}{' '.join(kind.split())} = {source.text_of(argument)};")
    inside = [s for s in statements if s != last]
    lines += [_renamed(source, s, own, kinds) for s in inside]
    value = last.named_children[0] if last is not None and last.named_children else None
    return lines, "" if value is None else _renamed(source, value, own, kinds)


def _parameters(function: Node) -> list[Node]:
    part = function.child_by_field_name("declarator")
    while part.type != "function_declarator":
        part = part.child_by_field_name("declarator") or part.named_children[-1]
    return [p for p in part.child_by_field_name("parameters").named_children if p.type != "comment"]


def _declared(source: CSource) -> Any:
    def name(node: Node) -> str:
        named = [n for n in walk(node) if n.type == "identifier"]
        return source.text_of(named[0]) if named else ""

    return name


def _locals(source: CSource, body: Node) -> list[str]:
    return [
        _declared(source)(d) for n in walk(body) if n.type == "declaration"
        for d in n.children_by_field_name("declarator")
    ]  # fmt: skip


def _template_values(
    source: CSource, caller: Node, call: Node, function: Node, given: list[Node]
) -> dict[str, str] | None:
    """What a template's parameters are in a call; None where the text does not tell."""
    if not _is_template(function):
        return {}
    parameters = function.parent.child_by_field_name("parameters").named_children
    names = [source.text_of(p).split("=")[0].split()[-1] for p in parameters]
    explicit = source.text_of(call.child_by_field_name("function")).partition("<")[2][:-1]
    values = dict(zip(names, [x.strip() for x in explicit.split(",") if x.strip()], strict=False))
    types = types_in(source, caller)
    for parameter, argument in zip(_parameters(function), given, strict=False):
        kind = QUALIFIERS.sub("", source.text_of(parameter)).replace("&", " ").split()
        if len(kind) == 2 and kind[0] in names and kind[0] not in values:
            its_type = type_of(source, argument, types)
            if its_type:
                values[kind[0]] = its_type
    return values if set(names) <= set(values) else None


def _renamed(source: CSource, node: Node, own: Mapping[str, str], kinds: Mapping[str, str]) -> str:
    """A statement on one line, in which names of a function are a kernel's."""
    edits = []
    for n in walk(node):
        new = {**own, **kinds} if n.type == "identifier" else kinds
        text = source.text_of(n)
        if n.type in ("identifier", "type_identifier") and text in new:
            edits.append((n.start_byte - node.start_byte, n.end_byte - node.start_byte, new[text]))
    data = source.bytes[node.start_byte : node.end_byte]
    for start, end, new_text in sorted(edits, reverse=True):
        data = data[:start] + new_text.encode() + data[end:]
    return re.sub(r"\s*\n\s*", " ", COMMENT.sub("", data.decode()))


def _named(text: str, kinds: Mapping[str, str]) -> str:
    for name, kind in kinds.items():
        text = re.sub(rf"\b{name}\b", kind, text)
    return text


def types_in(source: CSource, function: Node) -> dict[str, str]:
    """Types of a function's variables and parameters by name; of an array its elements' with []."""
    types = {}
    for node in walk(function):
        if node.type not in ("declaration", "parameter_declaration"):
            continue
        kind = node.child_by_field_name("type")
        for declarator in node.children_by_field_name("declarator"):
            part = declarator.child_by_field_name("declarator") if (
                declarator.type == "init_declarator") else declarator  # fmt: skip
            name = _declared(source)(declarator)
            stars = "[]" if part.type == "array_declarator" else ""
            stars = "*" * source.text_of(part).count("*") if "pointer" in part.type else stars
            types[name] = f"{source.text_of(kind)}{stars}" if kind is not None else ""
    return types


def type_of(source: CSource, value: Node, types: Mapping[str, str]) -> str:
    """Type of a number that an expression is, as far as the text tells; else empty."""
    if value.type == "parenthesized_expression":
        return type_of(source, value.named_children[0], types)
    if value.type == "cast_expression":
        kind = source.text_of(value.child_by_field_name("type"))
        return "" if "*" in kind else kind
    if value.type == "subscript_expression":
        array = types.get(source.text_of(value.child_by_field_name("argument")), "")
        return array.removesuffix("[]").removesuffix("*") if array.endswith(("[]", "*")) else ""
    if value.type in ("binary_expression", "unary_expression"):
        kinds = {type_of(source, x, types) for x in value.named_children}
        return kinds.pop() if len(kinds) == 1 else ""
    kind = types.get(source.text_of(value), "") if value.type == "identifier" else ""
    return "" if kind.endswith(("[]", "*")) or "auto" in kind else kind
