"""Headers of the device's libraries that a CUDA program includes and does not use."""

from __future__ import annotations

import re
from collections.abc import Iterable

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"][^\n]*', re.MULTILINE)
NO_CODE = re.compile(
    rf'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|{INCLUDE.pattern}', re.DOTALL | re.MULTILINE
)
USES = {
    "curand": "curand", "cublas": "cublas", "cusparse": "cusparse", "cufft": "cufft",
    "cusolver": "cusolver", "cudnn": "cudnn", "nccl": "nccl", "nvrtc": "nvrtc", "nvml": "nvml",
    "nvToolsExt": "nvtx", "cupti": "cupti", "thrust/": "thrust", "cub/": "cub::",
    "cutlass": "cutlass", "cooperative_groups": r"cooperative_groups|cg::",
    "cuda_fp16": r"_{0,2}half|__h(?!ost)",
}  # fmt: skip
"""How names begin that come with a header, by how it begins; of others it is not known."""


def unused_headers(texts: Iterable[str]) -> set[str]:
    r"""Headers of which no name stands in a program.

    Parameters
    ----------
    texts : iterable of str
        All of the program's files.

    Returns
    -------
    set of str
        As they are included.

    Examples
    --------
    >>> unused_headers(["#include <curand.h>\n#include <thrust/sort.h>\nthrust::sort(a, b);"])
    {'curand.h'}
    """
    every = list(texts)
    code = "\n".join(NO_CODE.sub("", t) for t in every)
    named = {m[1] for t in every for m in INCLUDE.finditer(t)}
    return {
        header for header in named for start, uses in USES.items()
        if header.startswith(start) and not re.search(rf"\b(?:{uses})", code, re.IGNORECASE)
    }  # fmt: skip


def without_unused_headers(text: str, others: Iterable[str] = ()) -> str:
    """A text without them, at the same lines."""
    unused = unused_headers([text, *others])
    return INCLUDE.sub(lambda m: "" if m[1] in unused else m[0], text)
