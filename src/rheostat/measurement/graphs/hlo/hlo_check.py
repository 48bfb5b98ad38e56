"""Whether an instruction agrees with what it uses: names, types, attributes, computations.

The rules are XLA's shape inference where it follows from the text.  A text in which a size, a name
or a line was damaged is refused here, instead of giving another graph.
"""

from __future__ import annotations

from collections.abc import Mapping

from rheostat.measurement.graphs.hlo.hlo_infer import infer
from rheostat.measurement.graphs.hlo.hlo_instruction import CALLS, HloComputation, HloInstruction
from rheostat.measurement.graphs.hlo.hlo_text import HloError
from rheostat.measurement.graphs.hlo.hlo_types import HloType


def check_instruction(made: HloInstruction, before: Mapping[str, HloInstruction]) -> None:
    """`HloError` where the instruction does not follow from those before it."""
    if made.name in before:
        raise HloError(f"expected a new name, got {made.name} again")
    if made.opcode == "parameter" and not made.literal.strip().isdecimal():
        raise HloError(f"expected the number of a parameter, got {made.literal[:40]!r}")
    for name, given in zip(made.operands, made.operand_types, strict=True):
        if name not in before:
            raise HloError(f"expected an operand defined above, got {name}")
        if given is not None and not same(given, before[name].type):
            raise HloError(f"expected {name} as {before[name].type}, got {given}")
    types = [before[n].type for n in made.operands]
    try:
        expected = infer(made, types)
    except HloError:
        raise
    except (KeyError, IndexError, ValueError, ArithmeticError) as error:
        given_types = ", ".join(map(str, types))
        has = ", ".join(f"{k}={v[:40]}" for k, v in made.attributes.items() if k != "metadata")
        problem = f"expected operands and attributes of {made.opcode}, got ({given_types})"
        raise HloError(f"{problem} and {has or 'no attributes'}") from error
    if expected is not None and not same(expected, made.type):
        raise HloError(f"expected {expected} as the result of {made.opcode}, got {made.type}")


def same(a: HloType, b: HloType) -> bool:
    """Whether two types are one, an unknown size or an unknown dtype (``?``) fitting any."""
    if len(a.dims) != len(b.dims) or len(a.parts) != len(b.parts):
        return False
    if a.dtype != b.dtype and "?" not in (a.dtype, b.dtype):
        return False
    sizes = all(x == y or x < 0 or y < 0 for x, y in zip(a.dims, b.dims, strict=True))
    return sizes and all(map(same, a.parts, b.parts))


def check_calls(
    made: HloInstruction,
    local: Mapping[str, HloInstruction],
    computations: Mapping[str, HloComputation],
) -> None:
    """`HloError` where what it calls is not there or takes or gives other types."""
    for attribute in CALLS:
        for name in made.computations(attribute):
            if name not in computations:
                raise HloError(f"expected a computation of the text in {attribute}, got {name}")
    types = [local[n].type for n in made.operands]
    if made.opcode in ("call", "fusion", "map", "async-start"):
        called = [*made.computations("calls"), *made.computations("to_apply")]
        if len(called) != 1:
            raise HloError(f"expected {made.opcode} of one computation, got {len(called)}")
        if made.opcode in ("call", "fusion"):
            _fits(computations[called[0]], types, made.type)
    elif made.opcode == "while":
        body, condition = made.computations("body"), made.computations("condition")
        if len(body) != 1 or len(condition) != 1 or len(types) != 1:
            raise HloError("expected while with one operand, a body and a condition")
        _fits(computations[body[0]], types, types[0])
        _fits(computations[condition[0]], types, HloType("pred"))
    elif made.opcode == "conditional":
        _conditional(made, types, computations)
    elif made.opcode in ("reduce", "all-reduce", "reduce-window", "reduce-scatter"):
        _applied(made, len(types), computations)


def _conditional(
    made: HloInstruction, types: list[HloType], computations: Mapping[str, HloComputation]
) -> None:
    branches = branches_of(made)
    if not branches or len(branches) != len(types) - 1:
        raise HloError(f"expected a branch for each of {len(types) - 1} operands, "
                         f"got {len(branches)}")  # fmt: skip
    for name, type_ in zip(branches, types[1:], strict=True):
        _fits(computations[name], [type_], made.type)


def branches_of(made: HloInstruction) -> tuple[str, ...]:
    """Names of the computations that a conditional chooses from."""
    two = made.computations("true_computation") + made.computations("false_computation")
    return made.computations("branch_computations") or two


def _applied(made: HloInstruction, count: int, computations: Mapping[str, HloComputation]) -> None:
    called = made.computations("to_apply")
    if len(called) != 1:
        raise HloError(f"expected to_apply of {made.opcode}, got {len(called)} computations")
    wanted = count if made.opcode.startswith("reduce") and made.opcode != "reduce-scatter" else 2
    got = len(computations[called[0]].parameters)
    if got != wanted:
        raise HloError(f"expected {called[0]} with {wanted} parameters, got {got}")


def _fits(called: HloComputation, types: list[HloType], result: HloType) -> None:
    takes = [p.type for p in called.parameters]
    if len(takes) != len(types) or not all(map(same, takes, types)):
        said = ", ".join(map(str, takes))
        raise HloError(f"expected operands ({said}) of {called.name}, "
                         f"got ({', '.join(map(str, types))})")  # fmt: skip
    if not same(called.root.type, result):
        raise HloError(f"expected {called.root.type} from {called.name}, got {result}")
