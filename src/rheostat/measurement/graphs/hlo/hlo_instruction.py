"""One instruction of HLO, its type, opcode, operands and attributes, and what stands around it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rheostat.measurement.graphs.hlo.hlo_opcodes import class_of
from rheostat.measurement.graphs.hlo.hlo_text import HloError, closing, split
from rheostat.measurement.graphs.hlo.hlo_types import COMMENT, HloType, read_type

_BEGIN = re.compile(r"(ROOT\s+)?%?([\w.\-]+)\s*=\s*")
_OPCODE = re.compile(r"\s*([a-z][\w\-]*)\(")
_OPERAND = re.compile(r"(?:(.*)\s)?%?([\w.\-]+)", re.DOTALL)
_ATTRIBUTE = re.compile(r"([A-Za-z_][\w\-]*)=(.*)", re.DOTALL)
LITERALS = ("parameter", "constant")
"""Opcodes whose parentheses hold no operands."""
CALLS = ("calls", "to_apply", "body", "condition", "branch_computations", "true_computation",
         "false_computation", "select", "scatter", "called_computations")  # fmt: skip


@dataclass(frozen=True)
class HloInstruction:
    """What one line says; ``operands`` are names, with the type before each where it is given."""

    name: str
    type: HloType
    opcode: str
    operands: tuple[str, ...]
    operand_types: tuple[HloType | None, ...]
    literal: str
    attributes: dict[str, str] = field(repr=False)
    root: bool
    line: int

    def integers(self, attribute: str) -> tuple[int, ...]:
        """Integers of an attribute as ``dimensions={0,1}``; KeyError where it is not there."""
        text = self.attributes[attribute].strip("{}")
        return tuple(int(v) for v in text.split(",")) if text else ()

    def optional(self, attribute: str) -> tuple[int, ...]:
        """The same, none where it is not there."""
        return self.integers(attribute) if attribute in self.attributes else ()

    @property
    def window(self) -> str:
        """The window's text; of a scalar there is none."""
        return self.attributes.get("window", "{}")

    def computations(self, attribute: str) -> tuple[str, ...]:
        """Names of computations in an attribute, none where it is not there."""
        text = self.attributes.get(attribute, "").strip("{}")
        return tuple(name.strip().removeprefix("%") for name in text.split(",")) if text else ()


@dataclass(frozen=True)
class HloComputation:
    """Instructions in their order; ``root`` is what it returns."""

    name: str
    instructions: Mapping[str, HloInstruction]
    root: HloInstruction
    line: int

    @property
    def parameters(self) -> list[HloInstruction]:
        """Parameters by their number."""
        every = (i for i in self.instructions.values() if i.opcode == "parameter")
        return sorted(every, key=lambda i: int(i.literal))


@dataclass(frozen=True)
class HloModule:
    """Computations by name; ``entry`` is what runs."""

    name: str
    computations: Mapping[str, HloComputation]
    entry: HloComputation


def read_instruction(text: str, line: int) -> HloInstruction:
    """The instruction in ``text``; HloError says what was expected and what came.

    >>> i = read_instruction("ROOT %d = f32[2]{0} add(f32[2]{0} %a, b), metadata={}", 7)
    >>> i.name, i.opcode, i.operands, i.root, str(i.operand_types[0])
    ('d', 'add', ('a', 'b'), True, 'f32[2]')
    """
    begin = _BEGIN.match(text)
    if begin is None:
        raise HloError(f"expected an instruction as name = type opcode(...), got {text[:80]!r}")
    type_, at = read_type(text, begin.end())
    called = _OPCODE.match(text, at)
    if called is None or class_of(called[1]) is None:
        got = called[1] if called else text[at : at + 30]
        raise HloError(f"expected an opcode of HLO after the type, got {got!r}")
    end = closing(text, called.end() - 1)
    inside = text[called.end() : end]
    names, types = ((), ()) if called[1] in LITERALS else _operands(inside)
    attributes = _attributes(text[end + 1 :])
    return HloInstruction(begin[2], type_, called[1], names, types, inside, attributes,
                          bool(begin[1]), line)  # fmt: skip


def _operands(text: str) -> tuple[tuple[str, ...], tuple[HloType | None, ...]]:
    names, types = [], []
    for part in split(COMMENT.sub("", text)):
        match = _OPERAND.fullmatch(part)
        if match is None:
            raise HloError(f"expected the name of an operand, got {part[:80]!r}")
        given = (match[1] or "").strip()
        type_, end = read_type(given) if given else (None, 0)
        if given[end:].strip():
            raise HloError(f"expected the type and name of an operand, got {part[:80]!r}")
        names.append(match[2])
        types.append(type_)
    return tuple(names), tuple(types)


def _attributes(text: str) -> dict[str, str]:
    attributes: dict[str, str] = {}
    rest = text.strip()
    if not rest:
        return attributes
    if not rest.startswith(","):
        raise HloError(f"expected a comma before attributes, got {rest[:80]!r}")
    for part in split(rest[1:]):
        match = _ATTRIBUTE.fullmatch(part)
        if match is None or match[1] in attributes:
            raise HloError(f"expected an attribute as name=value, once, got {part[:80]!r}")
        attributes[match[1]] = match[2]
    return attributes
