"""How often a loop runs, where its counter starts, steps and ends at constants."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from rheostat.measurement.graphs.hlo.hlo_instruction import HloComputation, HloInstruction

_KNOWN = re.compile(r'\\?"known_trip_count\\?":\{\\?"n\\?":\\?"(\d+)\\?"')
MOST = 2**50
DEEPEST = 200
"""Instructions, one using the next, that a counter may go through."""
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
    "minimum": min, "maximum": max, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
}  # fmt: skip
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "LT": lambda a, b: a < b, "LE": lambda a, b: a <= b, "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b, "EQ": lambda a, b: a == b, "NE": lambda a, b: a != b,
}  # fmt: skip
Computations = Mapping[str, HloComputation]


class NotConstant(Exception):
    """A value that the text alone does not give."""


def trip_count(
    loop: HloInstruction, local: Mapping[str, HloInstruction], computations: Computations
) -> int | None:
    """Executions of a loop's body; None where they depend on data.

    Parameters
    ----------
    loop : HloInstruction
        A ``while``.
    local : mapping
        Instructions of the computation it stands in.
    computations : mapping
        All computations.

    Returns
    -------
    int or None
        What XLA noted in the loop's configuration, else what counting gives.
    """
    known = _KNOWN.search(loop.attributes.get("backend_config", ""))
    if known is not None:
        return int(known[1])
    condition = computations[loop.computations("condition")[0]]
    body = computations[loop.computations("body")[0]]
    try:
        return _count(_Values(computations), loop, local, condition, body)
    except NotConstant:
        return None


def _count(
    values: _Values,
    loop: HloInstruction,
    local: Mapping[str, HloInstruction],
    condition: HloComputation,
    body: HloComputation,
) -> int:
    """Each part of the loop's tuple that the condition looks at grows by a constant."""
    used = _looked_at(condition)
    start = local[loop.operands[0]]
    if start.opcode != "tuple" or body.root.opcode != "tuple":
        raise NotConstant
    first = {k: values.of(local[start.operands[k]], local, {}) for k in used}
    second = {k: values.part(body, k, first) for k in used}
    third = {k: values.part(body, k, second) for k in used}
    steps = {k: second[k] - first[k] for k in used}
    if any(third[k] - second[k] != steps[k] for k in used):
        raise NotConstant

    def goes_on(turn: int) -> bool:
        state = {k: first[k] + turn * steps[k] for k in used}
        return bool(values.of(condition.root, condition.instructions, state))

    return _first_false(goes_on)


def _looked_at(condition: HloComputation) -> list[int]:
    """Parts of the loop's tuple that the condition's result depends on."""
    parts, seen, more = set(), set(), [condition.root.name]
    while more:
        made = condition.instructions[more.pop()]
        if made.opcode == "get-tuple-element":
            parts.add(int(made.attributes["index"]))
        elif made.name not in seen:
            seen.add(made.name)
            more += made.operands
    return sorted(parts)


def _first_false(goes_on: Callable[[int], bool]) -> int:
    high = 1
    if not goes_on(0):
        return 0
    while goes_on(high):
        high *= 2
        if high > MOST:
            raise NotConstant
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if goes_on(middle) else (low, middle)
    return high


class _Values:
    """Integers that instructions have, given parts of the only parameter."""

    def __init__(self, computations: Computations) -> None:
        self._computations = computations

    def part(self, body: HloComputation, index: int, state: Mapping[int, int]) -> int:
        """What the body gives as this part of the next tuple."""
        return self.of(body.instructions[body.root.operands[index]], body.instructions, state)

    def of(
        self,
        made: HloInstruction,
        local: Mapping[str, HloInstruction],
        state: Mapping[int, int],
        given: Sequence[int] = (),
        depth: int = 0,
    ) -> int:
        """The value; `NotConstant` where it is not given by constants and ``state``."""
        if depth > DEEPEST:
            raise NotConstant
        if made.opcode == "constant":
            return _literal(made.literal)
        if made.opcode == "parameter" and int(made.literal) < len(given):
            return given[int(made.literal)]
        if made.opcode == "get-tuple-element":
            return _part_of(made, local, state)
        inner = [self.of(local[n], local, state, given, depth + 1) for n in made.operands]
        if made.opcode in ("call", "fusion"):
            names = (*made.computations("calls"), *made.computations("to_apply"))
            called = self._computations[names[0]]
            return self.of(called.root, called.instructions, {}, inner, depth + 1)
        return _computed(made, inner)


def _part_of(
    made: HloInstruction, local: Mapping[str, HloInstruction], state: Mapping[int, int]
) -> int:
    index = int(made.attributes["index"])
    if local[made.operands[0]].opcode != "parameter" or index not in state:
        raise NotConstant
    return state[index]


def _computed(made: HloInstruction, inner: list[int]) -> int:
    if made.opcode in ("copy", "convert", "bitcast", "reshape") and len(inner) == 1:
        return inner[0]
    if made.opcode in _ARITHMETIC and len(inner) == 2:
        return _ARITHMETIC[made.opcode](*inner)
    if made.opcode == "compare" and len(inner) == 2:
        return _COMPARED[made.attributes["direction"]](*inner)
    raise NotConstant


def _literal(text: str) -> int:
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError as error:
        raise NotConstant from error
