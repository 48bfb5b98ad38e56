"""Kernels that are launched by a pointer: the pointer's type has the sizes of a launch, too.

The compiler sees to it that such a pointer holds kernels of these parameters alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from rheostat.tradeoff.variants.c_source import CSource, Edit

OF_NAME = r"\bvoid\s*\(\s*\*\s*(?:const\s+)?{0}\s*(?:\[[^]]*\]\s*)?\)\s*\("
OF_TYPE = r"\busing\s+{0}\s*=\s*void\s*\(\s*\*\s*\)\s*\(|\btypedef\s+void\s*\(\s*\*\s*{0}\s*\)\s*\("
DECLARED = r"\b(\w+)\s+(?:const\s+)?{0}\s*[,)=;\[]"
NOTHING = re.compile(rb"\s*(?:void\s*)?\)")


def pointer_types(source: CSource, names: Collection[str]) -> dict[str, list[Edit]]:
    r"""How the types of pointers to kernels change.

    Parameters
    ----------
    source : CSource
        Parsed as CUDA.
    names : collection of str
        Names that are launched and are no kernels.

    Returns
    -------
    dict of str to list of Edit
        By name; a name of which no such type is known is absent.

    Examples
    --------
    >>> text = "using K = void (*)(int *, int);\nvoid f(K k, int *a) { k<<<1, 2>>>(a, 3); }"
    >>> source = CSource(text, "tree_sitter_cuda")
    >>> source.edited(pointer_types(source, ["k"])["k"]).splitlines()[0]
    'using K = void (*)(dim3, dim3, int *, int);'
    """
    return {name: edits for name in names if (edits := _edits(source.bytes, name))}


def _edits(data: bytes, name: str) -> list[Edit]:
    types = {m[1].decode() for m in re.finditer(DECLARED.format(name).encode(), data)}
    patterns = [OF_NAME.format(name), *(OF_TYPE.format(t) for t in sorted(types))]
    ends = {m.end() for p in patterns for m in re.finditer(p.encode(), data)}
    return [(end, end, f"dim3, dim3{'' if NOTHING.match(data, end) else ', '}") for end in ends]
