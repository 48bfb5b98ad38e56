"""Compiled functions that share much state take it as one reference instead of dozens of arrays.

A tuple of arrays is passed to every compiled function number by number, hundreds of them, and most
of the time of compiling goes there.  A structure lives on the heap and is passed as one pointer.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.experimental import structref


def struct(name: str, *fields: str) -> Any:
    """A class whose instances exist in compiled code only, made there by calling it."""

    def plain(self: Any, given: Any) -> Any:
        return tuple((f, types.unliteral(t)) for f, t in given)

    own = {"preprocess_fields": plain, "__module__": __name__}
    kind = structref.register(type(f"{name}Type", (types.StructRef,), own))
    # where code from disk finds it again: pickled by value it would be another, unknown type
    globals()[kind.__name__] = kind
    made = type(name, (structref.StructRefProxy,), {})
    structref.define_constructor(made, kind, list(fields))
    structref.define_attributes(kind)
    return made
