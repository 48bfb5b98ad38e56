"""What people type of programs, turned into values: rungs, ranges of inputs, the sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rheostat.measurement.code.sandbox import Sandbox


def asked_rungs(text: str, flag: str) -> tuple[str, ...]:
    """Rungs by name, in the order of the ladder."""
    from rheostat.measurement.code.verdict import RUNGS
    from rheostat.questions.parse import parse_names

    names = RUNGS if text == "all" else parse_names(text)
    unknown = [n for n in names if n not in RUNGS]
    if unknown:
        problem = f"expected {', '.join(RUNGS)} or all, got {', '.join(unknown)}"
        raise typer.BadParameter(problem, param_hint=flag)
    return tuple(r for r in RUNGS if r in names)


def input_ranges(flags: list[str]) -> Any:
    """Ranges of inputs as they are typed, in the order of the program's arguments.

    >>> inputs = input_ranges(["n=64..512", "seed=1..99", "method=cg,jacobi"])
    >>> inputs.arguments, inputs.ranges["seed"].kind, inputs.ranges["method"].values
    (('{n}', '{seed}', '{method}'), 'seed', ('cg', 'jacobi'))
    """
    from rheostat.measurement.code.program_inputs import SEED_NAME, InputRange, ProgramInputs

    ranges = {}
    for flag in flags:
        name, _, text = flag.partition("=")
        low, dots, high = text.partition("..")
        values = tuple(v.strip() for v in text.split(",") if v.strip())
        real = any(c in low + high for c in ".eE")
        kind = "seed" if SEED_NAME.search(name) else "real" if real else "size"
        try:
            ranges[name] = (
                InputRange(float(low), float(high), kind=kind)
                if dots
                else InputRange(values=values)
            )
        except ValueError:
            values = ()
        if not (name.isidentifier() and values):
            problem = f"expected NAME=1..9 or NAME=a,b, got {flag!r}"
            raise typer.BadParameter(problem, param_hint="--input")
    return ProgramInputs(ranges, tuple(f"{{{n}}}" for n in ranges))


def confinement(name: str, image: str, *, unsafe: bool) -> Sandbox:
    """The sandbox that was asked for, or the first that works here."""
    from rheostat.measurement.code.sandbox import sandbox

    return sandbox("none" if unsafe else name, image=image)
