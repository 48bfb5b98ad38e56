"""Along which axes launches of a CUDA kernel have one block, or blocks of one thread.

Read from what stands between the angles of a launch: a number, a ``dim3`` made there, or a variable
of that type.  An axis with one needs no loop, which would count to 1 whatever the input.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rheostat.tradeoff.variants.cuda_text import arguments_in

AXES = "xyz"


def single_axes(shapes: Iterable[str], text: str) -> str:
    """Axes along which all of these shapes are one, as far as the text tells.

    Parameters
    ----------
    shapes : iterable of str
        Of grids or of blocks, one for each launch.
    text : str
        The program.

    Returns
    -------
    str
        As ``yz``; empty for no shape.

    Examples
    --------
    >>> single_axes(["n / 4", "dim3(8, 1)"], "")
    'yz'
    >>> single_axes(["block"], "dim3 block(16, 16);")
    'z'
    >>> single_axes(["block"], "dim3 block(16, 1); block.y = n;")
    ''
    """
    every = [_axes_of(s.strip(), text) for s in shapes]
    return "".join(a for a in AXES if every and all(a in e for e in every))


def _axes_of(shape: str, text: str) -> str:
    if not shape.isidentifier():
        return _axes_made(shape)
    every = [_axes_given(_first_values(text, m.end()))
             for m in re.finditer(rf"\b{shape}(?=\s*[({{])", text)]  # fmt: skip
    every += [_axes_made(m[1]) for m in re.finditer(rf"\bdim3\s+{shape}\s*=\s*([^;]+);", text)]
    changed = re.search(
        rf"(?<!dim3 )\b{shape}\s*(?:\.\s*[xyz]\s*)?[-+*/]?=(?!=)|&\s*{shape}\b"
        rf"|\bdim3\b[\s&]*\b{shape}\s*[,;)]", text
    )  # fmt: skip
    return "".join(a for a in AXES if every and not changed and all(a in e for e in every))


def _axes_made(value: str) -> str:
    """Of ``dim3(n, 1)``, or of a number; what another function gives may be wide."""
    if value.startswith("dim3"):
        return _axes_given(arguments_in(value, len("dim3"))[0])
    return "" if re.match(r"[\w:]+\s*(?:<[^<>]*>)?\s*[({]", value) else _axes_given([value])


def _first_values(text: str, start: int) -> list[str]:
    braced = re.compile(r"\s*\{([^{}]*)\}").match(text, start)
    return braced[1].split(",") if braced else arguments_in(text, start)[0]


def _axes_given(values: list[str]) -> str:
    """Axes that are one in ``dim3(values)``: those that are not given, and those given as 1."""
    return "".join(a for i, a in enumerate(AXES) if i >= len(values) or values[i].strip() == "1")
