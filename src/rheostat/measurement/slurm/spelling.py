"""How Slurm spells durations, amounts, resources and states; shared by the readers of its output.

Two traps live here.  Slurm abbreviates the same joules by 1000 in ConsumedEnergy and by 1024 in
TRES strings (6181 J is "6.18K" and "6.04K"), and it writes "Unknown", "UNLIMITED" or nothing where
a number is not known.
"""

from __future__ import annotations

import math
import re

_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGTPE]?)")
_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}

COMPLETED = "COMPLETED"
MOST_COUNT = 2.0**62
"""What is more stays this: a number that a column can hold, and that no job can have."""


def seconds(text: str) -> float | None:
    """Seconds in ``[D-]HH:MM:SS[.us]``, ``MM:SS`` or ``D-HH``; None where it is not a duration.

    >>> seconds("1-02:03:04"), seconds("00:00.002"), seconds("2-12"), seconds("UNLIMITED")
    (93784.0, 0.002, 216000.0, None)
    """
    text = text.strip()
    days, dash, rest = text.rpartition("-")
    parts = rest.split(":")
    if not re.fullmatch(r"\d+(:\d+){0,2}(\.\d+)?", rest) or (dash and not days.isdigit()):
        return None
    if len(parts) == 1 and not dash:
        return None
    values = [float(p) for p in parts]
    missing = [0.0] * (3 - len(values))
    values = [*values, *missing] if dash else [*missing, *values]  # D-HH counts from the left
    return float(days or 0) * 86400 + values[0] * 3600 + values[1] * 60 + values[2]


def amount(text: str, base: int = 1024) -> float | None:
    """A number with a K, M, G, T suffix; None where it is not one.

    >>> amount("4G"), amount("6.18K", base=1000), amount("Unknown"), amount("")
    (4294967296.0, 6180.0, None, None)
    """
    match = _AMOUNT.fullmatch(text.strip())
    return float(match[1]) * float(base) ** _POWER[match[2]] if match else None


def rounding(text: str) -> float:
    """By what share a number may be off that is written with a suffix: half of its last digit.

    >>> round(rounding("0.03G"), 3), rounding("6181"), rounding("0.00G")
    (0.167, 0.0, inf)
    """
    match = _AMOUNT.fullmatch(text.strip())
    if match is None or not match[2]:
        return 0.0
    value, digits = float(match[1]), len(match[1].partition(".")[2])
    return 0.5 * 10.0**-digits / value if value else math.inf


def tres(text: str) -> dict[str, str]:
    """Trackable resources by name; GPUs of all types together with the untyped entry untouched.

    >>> tres("billing=2,cpu=2,gres/gpu:a100=1,gres/gpu=1,mem=4000M,node=1")["gres/gpu"]
    '1'
    """
    pairs = (item.partition("=") for item in text.split(",") if "=" in item)
    return {name.strip(): value.strip() for name, _, value in pairs}


def gpus(resources: dict[str, str]) -> int | None:
    """GPUs in a TRES mapping: the untyped count, or the sum over types where only those are."""
    if (plain := resources.get("gres/gpu", "")).isdigit():
        return count(plain)
    typed = [v for k, v in resources.items() if k.startswith("gres/gpu:") and v.isdigit()]
    return count(sum(float(v) for v in typed)) if typed else None


def count(value: str | float) -> int:
    """A whole number that fits into a column.

    >>> count("12"), count("9" * 400) == count(1e25) == 2**62
    (12, True)
    """
    return int(min(float(value), MOST_COUNT))


def memory_b(text: str, cores: float | None, nodes: float | None) -> float | None:
    """ReqMem in bytes of the whole job: ``4G`` total, ``4Gn`` a node, ``4Gc`` a core.

    Zero asks for all memory of the nodes, which an accounting log does not tell.

    >>> memory_b("2800Mc", 12, 1) == 12 * 2800 * 2**20, memory_b("4Gn", None, None)
    (True, None)
    >>> memory_b("0", 12, 1), memory_b("0n", 12, 1)
    (None, None)
    """
    per = {"c": cores, "n": nodes}.get(text[-1:], 1.0)
    plain = amount(text.rstrip("cn"))
    return plain * per if plain and per is not None else None


def state(text: str) -> str | None:
    """``CANCELLED by 0`` is CANCELLED; empty is None.

    >>> state("CANCELLED by 0"), state("COMPLETED"), state("")
    ('CANCELLED', 'COMPLETED', None)
    """
    return text.split(maxsplit=1)[0].rstrip("+") if text.strip() else None
