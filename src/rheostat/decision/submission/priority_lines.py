"""Weights of the queue's order that an installation brings, beside what ``slurm.conf`` has.

They are lines of ``rheostat.conf``: Slurm takes the last value of a key, so that the site's own
weights count again as soon as ``slurm.conf`` no longer includes that file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from rheostat.core.storage.file_kinds import other_kind
from rheostat.core.storage.files import read_text
from rheostat.decision.policies.multifactor import KEYS, Multifactor, slurm_priority
from rheostat.errors import DataError

KIND = "priority/multifactor"
WRITTEN = ("PriorityType", *(k for k in KEYS if k != "PriorityWeightQOS"))
"""What ``rheostat explain --export slurm`` writes; qualities of service stay the site's."""
ENTRY = re.compile(r"\s*(Priority\w+)\s*=\s*([^\s#]+)", re.I)


def read_weights(path: str | Path) -> str:
    """The lines of a file of ``rheostat explain --export slurm``, its comments among them.

    Raises
    ------
    DataError
        It has other lines, or values that are none.
    """
    lines = [x.strip() for x in read_text(path, errors="replace").splitlines() if x.strip()]
    known = {name.lower() for name in WRITTEN}
    kept = [x for x in lines if not x.startswith("#")]
    odd = [x for x in kept if (m := ENTRY.fullmatch(x)) is None or m[1].lower() not in known]
    expected = f"what rheostat explain --export slurm writes: {', '.join(WRITTEN)}"
    if odd and len(odd) == len(kept):
        raise other_kind(path, expected)
    if odd:
        raise DataError(
            str(path), [*(f"got the line {x!r}" for x in odd[:3]), f"expected {expected}"]
        )
    kind = _entries(kept).get("prioritytype", ("", KIND))[1]
    if kind != KIND:
        raise DataError(str(path), [f"PriorityType: expected {KIND}, got {kind}"])
    try:
        Multifactor(**slurm_priority("\n".join(kept)))
    except DataError as error:
        raise DataError(str(path), error.problems) from error
    return "\n".join(lines)


def beside_the_sites(weights: str, slurm_conf: Sequence[str]) -> tuple[str, ...]:
    """What an administrator has to know of the site's own priority.

    >>> for line in beside_the_sites("PriorityWeightAge=7", ["PriorityType=priority/multifactor",
    ...                              "PriorityWeightAge=1000", "PriorityWeightQOS=2000"]):
    ...     print(line)
    While ours is included, and as the last line, it stands in place of: PriorityWeightAge=1000.
    Of the site's priority goes on: PriorityWeightQOS=2000.
    """
    ours, theirs = _entries(weights.splitlines()), _entries(slurm_conf)
    kind = theirs.pop("prioritytype", ("", "Slurm's default"))[1]
    replaced = [f"{n}={v}" for k, (n, v) in theirs.items() if v != ours.get(k, ("", v))[1]]
    others = [f"{n}={v}" for k, (n, v) in theirs.items() if k not in ours]
    said = []
    if replaced:
        said.append("While ours is included, and as the last line, it stands in place of: "
                    f"{', '.join(replaced)}.")  # fmt: skip
    if others:
        said.append(f"Of the site's priority goes on: {', '.join(others)}.")
    if kind != KIND:
        said.append(f"PriorityType is {kind}: for {KIND} start slurmctld anew, reconfigure is "
                    "not enough.")  # fmt: skip
    return tuple(said)


def _entries(lines: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Name and value by the name in small letters; the last of a name counts, as for Slurm."""
    named = [m for x in lines if (m := ENTRY.match(x))]
    return {m[1].lower(): (m[1], m[2]) for m in named}
