"""Contents of files, broken somewhere: what a fuzzer tries, by a seed that it prints."""

from __future__ import annotations

import copy
import io
import math
import random
import re
from typing import Any

import numpy as np

ODD: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 2**63, -(2**70), 1e308, math.nan, math.inf, "", "x", "\0", "$array",
    [], [[]], {}, {"a": 1}, "../../etc/passwd",
)  # fmt: skip
"""Values that stand where others were."""


def broken_json(document: Any, rng: random.Random) -> Any:
    """A copy with one value lost, doubled, or another one in its place."""
    document = copy.deepcopy(document)
    places = list(_places(document))
    if not places:
        return rng.choice(ODD)
    holder, key = rng.choice(places)
    how = rng.randrange(4)
    if how == 0:
        del holder[key]
    elif how == 1 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif how == 2 and isinstance(holder[key], (int, float)):
        holder[key] = rng.choice((-holder[key], holder[key] + 1, holder[key] * 10**6))
    else:
        holder[key] = rng.choice(ODD)
    return document


def _places(value: Any) -> Any:
    """Every (holder, key) below a value."""
    inner = value.items() if isinstance(value, dict) else (
        enumerate(value) if isinstance(value, list) else ())  # fmt: skip
    for key, below in inner:
        yield value, key
        yield from _places(below)


def broken_bytes(data: bytes, rng: random.Random) -> bytes:
    """Bytes cut off, one of them changed, or a number in a text replaced by another one."""
    how = rng.randrange(4)
    if how == 0:
        return data[: rng.randrange(len(data) + 1)]
    numbers = list(re.finditer(rb"-?\d+", data)) if how > 1 else []
    if numbers:
        found = rng.choice(numbers)
        new = rng.choice((b"-1", b"0", b"7", b"-7", b"1000000", b"99999999999", b"nan", b""))
        return data[: found.start()] + new + data[found.end() :]
    at = rng.randrange(max(len(data), 1))
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def broken_arrays(data: bytes, rng: random.Random) -> bytes:
    """An npz in which one array lost a row or an axis, or has another value or type."""
    with np.load(io.BytesIO(data)) as packed:
        arrays = dict(packed)
    if arrays:
        name = rng.choice(sorted(arrays))
        arrays[name] = _broken_array(arrays[name], rng)
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _broken_array(array: Any, rng: random.Random) -> Any:
    how = rng.randrange(5)
    if how == 0 or not array.size:
        return array[..., :-1] if array.ndim else np.array([array] * 2)
    if how == 1:
        return array.ravel()[: max(1, array.size // 2)]
    if how == 2:
        return array.astype(str)
    changed = array.copy()
    if np.issubdtype(array.dtype, np.number):
        odd = (-1, 10**6, 0) if np.issubdtype(array.dtype, np.integer) else (np.nan, np.inf, -1e300)
        changed.reshape(-1)[rng.randrange(array.size)] = np.array(rng.choice(odd)).astype(
            array.dtype
        )
    return changed
