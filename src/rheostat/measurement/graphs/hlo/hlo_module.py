"""A module of HLO: its computations, each with instructions that define every name they use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from rheostat.errors import DataError
from rheostat.measurement.graphs.hlo.hlo_check import check_calls, check_instruction
from rheostat.measurement.graphs.hlo.hlo_instruction import (
    HloComputation,
    HloInstruction,
    HloModule,
    read_instruction,
)
from rheostat.measurement.graphs.hlo.hlo_text import AGAIN, HloError, damaged, split, statements
from rheostat.measurement.graphs.hlo.hlo_types import HloType, read_type

_MODULE = re.compile(r"HloModule\s+([^\s,]+)(,.*)?")
_HEADER = re.compile(r"(ENTRY\s+)?%?([\w.\-]+)\s*(?:\((.*)\)\s*->\s*(.*))?\{")
_END = re.compile(r"\}(,\s*execution_thread=\".*\")?")
UNUSED = ("get-tuple-element", "constant", "bitcast", "tuple")
"""Opcodes that are left out where nothing uses their value."""
_LAYOUT = "entry_computation_layout={"


def read_module(text: str, source: str = "HLO text") -> HloModule:
    """The module in a text.

    Parameters
    ----------
    text : str
        HLO as XLA dumps it, optimised or not.
    source : str
        What errors call it.

    Returns
    -------
    HloModule
        Every name defined, every type checked against operands and attributes.

    Raises
    ------
    DataError
        With the line of the first statement that is not what it should be.
    """
    lines = statements(text, source)
    number, first = next(lines, (1, ""))
    module = _MODULE.fullmatch(first)
    if module is None:
        raise damaged(source, number, "HloModule and its name", first)
    computations: dict[str, HloComputation] = {}
    entries = []
    for number, line in lines:
        header = _HEADER.fullmatch(line)
        if header is None or header[2] in computations:
            raise damaged(source, number, "the head of another computation as name {", line)
        computations[header[2]] = made = _computation(header, number, lines, source)
        entries += [made] if header[1] else []
    if len(entries) != 1:
        raise damaged(
            source, number, "one ENTRY computation in the text", f"{len(entries)} of them"
        )
    with _at(source, 1):
        _check_layout(first, entries[0])
    for computation in computations.values():
        for instruction in computation.instructions.values():
            with _at(source, instruction.line):
                check_calls(instruction, computation.instructions, computations)
    return HloModule(module[1], computations, entries[0])


@contextmanager
def _at(source: str, line: int) -> Iterator[None]:
    """A `HloError` inside becomes the error about this line."""
    try:
        yield
    except HloError as error:
        raise DataError(source, [f"line {line}: {error}", AGAIN]) from error
    except RecursionError as error:
        raise DataError(source, [f"line {line}: expected fewer brackets in each other"]) from error


def _computation(
    header: re.Match[str], begun: int, lines: Iterator[tuple[int, str]], source: str
) -> HloComputation:
    """The instructions up to the closing brace, each checked as it comes."""
    instructions: dict[str, HloInstruction] = {}
    for number, line in lines:
        if _END.fullmatch(line):
            break
        with _at(source, number):
            made = read_instruction(line, number)
            check_instruction(made, instructions)
        instructions[made.name] = made
    else:
        raise damaged(source, begun, f"a closing brace of {header[2]}", "the end of the text")
    roots = [i for i in instructions.values() if i.root]
    if len(roots) != 1:
        raise damaged(source, begun, f"one ROOT in {header[2]}", f"{len(roots)} of them")
    computation = HloComputation(header[2], _used(instructions), roots[0], begun)
    with _at(source, begun):
        _check_parameters(computation, header)
    return computation


def _used(instructions: dict[str, HloInstruction]) -> dict[str, HloInstruction]:
    """Without values that cost nothing and that nothing uses, which some writers leave behind."""
    used: set[str] = set()
    kept = []
    for made in reversed(instructions.values()):
        if made.root or made.name in used or made.opcode not in UNUSED:
            used.update(made.operands)
            kept.append(made)
    return {made.name: made for made in reversed(kept)}


def _check_parameters(computation: HloComputation, header: re.Match[str]) -> None:
    """Parameters are numbered from 0, and types are those of the head, where it has them."""
    types = [p.type for p in computation.parameters]
    numbers = [int(p.literal) for p in computation.parameters]
    if numbers != list(range(len(numbers))):
        raise HloError(f"expected parameters 0 to {len(numbers) - 1}, got {numbers}")
    if header[3] is None:
        return
    given = [_signed(part) for part in split(header[3])]
    if given != types:
        raise HloError(f"expected parameters ({_said(types)}) as below, got ({_said(given)})")
    result, _ = read_type(header[4])
    if result != computation.root.type:
        raise HloError(f"expected {computation.root.type}, what ROOT has, got {result}")


def _signed(part: str) -> HloType:
    name, colon, type_ = part.partition(":")
    if not colon:
        raise HloError(f"expected a parameter as name: type, got {name[:80]!r}")
    return read_type(type_.strip())[0]


def _said(types: list[HloType]) -> str:
    return ", ".join(map(str, types))


def _check_layout(first: str, entry: HloComputation) -> None:
    """What the first line says of the entry's parameters and result, where it says it."""
    at = first.find(_LAYOUT)
    if at < 0:
        return
    given, end = read_type(first, at + len(_LAYOUT))
    types = [p.type for p in entry.parameters]
    if list(given.parts) != types:
        raise HloError(f"expected the entry's parameters ({_said(types)}), got {given}")
    if not first.startswith("->", end):
        raise HloError(f"expected -> and the entry's result, got {first[end : end + 20]!r}")
    result, _ = read_type(first, end + 2)
    if result != entry.root.type:
        raise HloError(f"expected {entry.root.type} as the entry's result, got {result}")
