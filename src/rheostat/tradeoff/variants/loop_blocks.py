"""Blocks of a loop: a loop over them around it, made and recognised."""

from __future__ import annotations

import re

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.accesses import declared_name
from rheostat.tradeoff.variants.c_source import CSource, Loop, identifiers

BLOCK = 64
"""Iterations of a block: eight lines of a cache of double precision."""


def blocked(source: CSource, loop: Loop) -> str | None:
    """The text with a loop over blocks around a loop; None where it does not count up by one."""
    kind, variable = declared_type(source, loop.function, loop.variable), loop.variable
    counts_up = re.fullmatch(rf"{variable}\+\+|\+\+{variable}", re.sub(r"\s", "", loop.step))
    begin, end = loop.head
    condition = loop.node.child_by_field_name("condition")
    operator = source.text_of(condition.child_by_field_name("operator"))
    name = f"{variable}_block"
    taken = identifiers(source, loop.node) | {x.variable for x in source.around(loop)}
    if not counts_up or kind not in ("int", "long", "size_t") or operator != "<" or name in taken:
        return None
    low, high = source.text_of(loop.low), source.text_of(loop.high)
    last = f"{name} + {BLOCK}"
    declared = (
        f"{kind} " if loop.node.child_by_field_name("initializer").type == "declaration" else ""
    )
    outer = f"for ({kind} {name} = {low}; {name} < {high}; {name} += {BLOCK})"
    inner = (f"for ({declared}{variable} = {name}; {variable} < ({high} < {last} ? {high} : "
             f"{last}); {variable}++)")  # fmt: skip
    return source.edited([(begin, end, f"{outer}\n{indent_of(source, begin)}  {inner}")])


def declared_type(source: CSource, function: str, name: str) -> str:
    """The type that a function or its parameters declare a name with; empty where they do not."""
    for node in walk(source.functions[function]):
        if node.type not in ("declaration", "parameter_declaration"):
            continue
        if name in {declared_name(source, d) for d in node.children_by_field_name("declarator")}:
            return source.text_of(node.child_by_field_name("type"))
    return ""


def indent_of(source: CSource, at: int) -> str:
    """The blanks at the beginning of a place's line."""
    begin = source.bytes.rfind(b"\n", 0, at) + 1
    line = source.bytes[begin:at].decode()
    return line[: len(line) - len(line.lstrip())]


def counter(source: CSource, loop: Loop) -> str:
    """The variable that tells iterations apart: of a loop over blocks that of the loops in it.

    Those begin at the block and end within a step of it, so that other blocks have other values.
    """
    step = re.fullmatch(rf"{loop.variable}\s*\+=\s*(\w+)", loop.step)
    within = [x for x in source.inside(loop) if source.text_of(x.low) == loop.variable]
    own = {x.variable for x in within}
    every = [x for x in source.inside(loop) if x.variable in own]
    ends = f"{loop.variable} + {step[1]}" if step else ""
    fits = all(x in within and _ends_at(source, x, ends) for x in every)
    return own.pop() if step and fits and len(own) == 1 else loop.variable


def is_rest(source: CSource, loop: Loop) -> bool:
    """Whether a loop runs over what steps of several left: ``for (i = n / 4 * 4; i < n; i++)``."""
    low = re.sub(r"\s", "", source.text_of(loop.low))
    return re.search(r"/(\w+)\*\1$|-.*%\w+\)?$", low) is not None


def _ends_at(source: CSource, loop: Loop, end: str) -> bool:
    """Whether a loop counts up and ends there, or at something else if that is less."""
    high = re.sub(r"\s+", " ", source.text_of(loop.high))
    least = re.fullmatch(r"\((.+) < (.+) \? (.+) : (.+)\)", high)
    ends = high == end or (
        least is not None and least[1] == least[3] and least[2] == least[4] == end
    )
    return ends and loop.step in (f"{loop.variable}++", f"++{loop.variable}")
