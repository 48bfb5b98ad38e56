"""Arrays that the largest inputs fill to one and the same place: no other input goes further.

An index that came near the end of an array is no question where many inputs of the greatest sizes
all come as far and none beyond: it is as many as there are letters, workers, cells.  What hangs on
chance comes less far with most inputs than with few, and one further with hardly fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.reached.constant_values import RECORD
from rheostat.measurement.code.reached.marked_builds import LINKED, bytes_left, keeping
from rheostat.measurement.code.reached.marks import Marked, still_asked
from rheostat.measurement.code.reached.open_marks import Left
from rheostat.measurement.code.reached.room import ArrayRoom

INPUTS, LEAST_RUNS, LEAST_PART, MANY_S = 512, 64, 0.125, 1.0
"""Inputs of the greatest sizes; how many, and which part of them, have to come as far as any; CPU
seconds of runs."""


def without_filled(case: Case, whole: Sequence[Marked], left: Left) -> Left:
    """What runs leave open, without arrays that the largest inputs fill to the same place.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    whole : sequence of Marked
        Its sources.
    left : Left
        What its runs left.
    """
    rooms = [n for n, _ in left.values if isinstance(n, ArrayRoom)]
    rng = np.random.default_rng([case.reference.seed, 58])
    inputs = case.original.inputs.corners(rng, INPUTS)[:INPUTS]  # the greatest come first
    if not rooms or not inputs or case.reference.starts_dearly:
        return left
    numbers = {n.number for n in rooms}
    texts = {f"filled{i}.ll": "\n".join([*still_asked(m.text, b"\1" * m.end, numbers), ""])
             for i, m in enumerate(whole)}  # fmt: skip
    values = sum(len(m.values) for m in whole)
    built = case.bench.build(keeping(case.candidate, texts, whole[-1].end, values), LINKED)
    if not built.ok:
        return left
    limits = case.limits(case.reference.expected[0])
    with case.bench.run_folder("filled") as place:
        runs = len(case.bench.run_many(built, inputs, limits, MANY_S, kept=place))
        kept = bytes_left(place / "values", RECORD.size * values)
    filled = {n.number for n in rooms if is_filled(n, kept, left.kept, runs)}
    return replace(left, values=[v for v in left.values if v[0].number not in filled])


def is_filled(room: ArrayRoom, kept: bytes, before: bytes, runs: int) -> bool:
    """Whether enough runs came as far as any, those before them, too.

    >>> room, before = ArrayRoom(("a.c", 1, 1), 0, 127, 0), RECORD.pack(0, 119, 9, 1)
    >>> [is_filled(room, RECORD.pack(0, 119, 9, n), before, 512) for n in (63, 64)]
    [False, True]
    >>> is_filled(room, RECORD.pack(0, 118, 9, 300), before, 512)
    False
    """
    at = room.number * RECORD.size
    *_, most, _, most_in = RECORD.unpack_from(kept, at)
    *_, known, _, _ = RECORD.unpack_from(before, at)
    enough = most_in >= max(LEAST_RUNS, LEAST_PART * runs)
    return bool(enough and known <= most <= room.most)
