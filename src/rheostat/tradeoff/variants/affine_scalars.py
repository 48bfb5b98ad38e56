"""Scalars that stand for an element of an array, as the element: so that a nest may be reordered.

``w = a[i][j]; for k { w -= ...; } a[i][j] = w / d;`` sets one scalar in each iteration, and by it
iterations seem to need one another.  With the element in its place only what they hand on is left.
"""

from __future__ import annotations

import re

from rheostat.measurement.code.parsing.syntax_tree import walk
from rheostat.tradeoff.variants.accesses import WRITE, Access, declared_name
from rheostat.tradeoff.variants.affine_loops import (
    AffineRegion,
    Isl,
    NestStatement,
    regions,
)
from rheostat.tradeoff.variants.c_source import CSource, Edit
from rheostat.tradeoff.variants.dependence import read_after
from rheostat.tradeoff.variants.loop_blocks import declared_type


def in_elements(text: str, isl: Isl, *, headers: str = "") -> str:
    """A text with such scalars replaced, where nothing else looks at the element meanwhile.

    Parameters
    ----------
    text : str
        A C file.
    isl : module
        The library of integer sets, which says so.
    headers : str
        Text of the program's other files, whose macros it may use.

    Returns
    -------
    str
        The same text where there is none.
    """
    source = CSource(text, headers=headers)
    edits = [e for r in regions(source) for e in _edits(source, isl, r)]
    return source.edited(edits) if edits else text


def _edits(source: CSource, isl: Isl, region: AffineRegion) -> list[Edit]:
    """The edits of one region."""
    last = next(x for x in source.loops if x.start == region.nodes[-1].start_byte)
    names = {a.name for s in region.statements for a in s.accesses if a.kind == WRITE}
    edits: list[Edit] = []
    for name in sorted(names):
        windows = _windows(region, name)
        if windows and not read_after(source, last, name):
            made = [_replaced(source, isl, region, w, name) for w in windows]
            edits += [e for each in made for e in each] if all(made) else []
    return edits


def _windows(region: AffineRegion, name: str) -> list[list[NestStatement]]:
    """The statements that use a scalar, from each that sets it anew to the last before the next."""
    windows: list[list[NestStatement]] = []
    for s in region.statements:
        mine = [a for a in s.accesses if a.name == name]
        if any(a.subscripts or a.fields for a in mine):
            return []
        if mine and mine[0].kind == WRITE:
            windows.append([])
        elif mine and not windows:
            return []
        if mine:
            windows[-1].append(s)
    return windows


def _replaced(
    source: CSource, isl: Isl, region: AffineRegion, window: list[NestStatement], name: str
) -> list[Edit]:
    """The edits of one such row of statements; none where the element does not stand for it."""
    first, last = window[0], window[-1]
    place = last.node.named_children[0].child_by_field_name("left")
    target = [a for a in last.accesses if a.kind == WRITE]
    inside = all(s.loops[: len(first.loops)] == first.loops for s in window)
    if any(s.node.named_children[0].type != "assignment_expression" for s in window):
        return []
    if first is last or not inside or last.loops != first.loops or len(target) != 1:
        return []
    (element,) = target
    steady = all(region.linear(p, first.iterators) is not None for p in element.subscripts)
    if not (element.subscripts and steady and _alike(source, first, name, element.name)):
        return []
    between = region.statements[region.statements.index(first) : region.statements.index(last) + 1]
    if not all(_apart(isl, region, s, a, element) for s in between for a in s.accesses
               if a.place == element.place and a is not element
               and not (s is first and a.subscripts == element.subscripts)):  # fmt: skip
        return []
    text, edits = source.text_of(place), []
    for s in window:
        ((left, right),) = [[x.child_by_field_name(n) for n in ("left", "right")]
                            for x in s.node.named_children]  # fmt: skip
        ends = [text if source.text_of(x) == name else source.text_of(x) for x in (left, right)]
        if ends == [text, text] and source.text_of(left.next_sibling) == "=":
            edits.append((int(s.node.start_byte), int(s.node.end_byte), ""))
            continue
        edits += [(int(x.start_byte), int(x.end_byte), text) for x in walk(s.node)
                  if x.type == "identifier" and source.text_of(x) == name]  # fmt: skip
    return edits


def _alike(source: CSource, s: NestStatement, scalar: str, array: str) -> bool:
    """Whether a scalar and an array's elements are declared with the same type."""
    own = declared_type(source, s.loops[0].function, scalar)
    every = (x for x in walk(source.tree.root_node) if x.type == "declaration")
    kinds = {
        source.text_of(x.child_by_field_name("type"))
        for x in every
        for d in x.children_by_field_name("declarator")
        if declared_name(source, d) == array
    }
    in_macro = rf"\b{own}\s+(?:\w+\s*\(\s*|[*\s]|\w*restrict\w*\s)*{array}\b"
    return bool(own) and (kinds == {own} or bool(re.search(in_macro, source.text)))


def _apart(isl: Isl, region: AffineRegion, s: NestStatement, a: Access, element: Access) -> bool:
    """Whether an access is at another place than the element in each iteration of its statement."""
    if len(a.subscripts) != len(element.subscripts):
        return False
    pairs = [[region.linear(p, s.iterators) for p in pair]
             for pair in zip(a.subscripts, element.subscripts, strict=True)]  # fmt: skip
    known = [f"{x} = {y}" for x, y in pairs if x is not None and y is not None]
    limits = region.domain(s).partition(" : ")[2]
    own = ", ".join(f"i{k}" for k in range(len(s.loops)))
    sizes = ", ".join(region.sizes.values())
    both = isl.Set(f"[{sizes}] -> {{ [{own}] : {' and '.join([limits, *known])} }}")
    return bool(both.is_empty())
