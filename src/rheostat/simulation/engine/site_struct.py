"""Compiled functions that share much state take it as one reference instead of dozens of arrays.

A tuple of arrays is passed to every compiled function number by number, hundreds of them, and most
of the time of compiling goes there.  A structure lives on the heap and is passed as one pointer.
"""

from __future__ import annotations

from typing import Any, TypeVar, dataclass_transform

from numba.core import types
from numba.experimental import structref

T = TypeVar("T")


@dataclass_transform()
def struct(declared: type[T]) -> type[T]:
    """A class with the fields of ``declared``; compiled code alone makes and uses its instances.

    Types of the fields are those of the values it is made from; the annotations are for readers.
    """

    def plain(self: Any, given: Any) -> Any:
        return tuple((f, types.unliteral(t)) for f, t in given)

    own = {"preprocess_fields": plain, "__module__": __name__}
    kind = structref.register(type(f"{declared.__name__}Type", (types.StructRef,), own))
    # where code from disk finds it again: pickled by value it would be another, unknown type
    globals()[kind.__name__] = kind
    made = type(declared.__name__, (structref.StructRefProxy,), {"__doc__": declared.__doc__})
    structref.define_constructor(made, kind, list(declared.__annotations__))
    structref.define_attributes(kind)
    return made
