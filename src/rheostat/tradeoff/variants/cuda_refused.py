"""What of a CUDA program no rule knows, by name and line: libraries, warps, the runtime's calls.

And what is no part of it, as its build does not ask for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping

from rheostat.tradeoff.variants.c_source import CSource
from rheostat.tradeoff.variants.cuda_device import unknown_properties
from rheostat.tradeoff.variants.cuda_helpers import HELPERS, INTRINSICS, code_of
from rheostat.tradeoff.variants.cuda_kernels import WITHIN_WARP
from rheostat.tradeoff.variants.cuda_text import DEFINE, body_of, device_functions

LIBRARIES = {
    "curand": "cuRAND", "cublas": "cuBLAS", "cusparse": "cuSPARSE", "cufft": "cuFFT",
    "cusolver": "cuSOLVER", "cudnn": "cuDNN", "nccl": "NCCL", "cub/": "CUB", "thrust/": "Thrust",
    "cutlass": "CUTLASS", "npp": "NPP", "nvrtc": "NVRTC", "nvToolsExt": "NVTX", "nvtx": "NVTX",
    "cuda_fp16": "arithmetic of half precision", "cuda_bf16": "arithmetic of bfloat16",
    "cuda_fp8": "arithmetic of 8 bits", "cuda_fp4": "arithmetic of 4 bits", "mma.h": "tensor cores",
    "cooperative_groups": "cooperative groups", "cuda/": "libcu++", "cuComplex": "cuComplex",
    "cuda_pipeline": "copies beside the threads", "math_constants": "constants of CUDA's library",
    "nvml": "NVML", "cupti": "CUPTI", "helper_": "helpers of NVIDIA's samples",
}  # fmt: skip
"""Headers by how they begin, with what is behind them."""
INSTEAD = {
    "cooperative groups": "__syncthreads(), __shfl_down_sync() and the like have",
    "cuRAND": "random numbers by functions of the program's own have",
    "arithmetic of half precision": "float has",
}
"""What the same may be said by that has rules."""
TEXTURES = re.compile(
    r"tex(?:ture<|[123]D\w*)|surface<|cuda(?:\w*(?:Texture|Surface|ChannelFormat)\w*|\w*Array\w*"
    r"|ResourceDesc|ResourceType\w*|CreateChannelDesc|ReadMode\w+|AddressMode\w+|FilterMode\w+)"
)
HEADER = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
LEFT = re.compile(
    r"\bcuda[A-Z]\w*|\bcu[A-Z]\w+\(|\bc(?:urand|ublas|usparse|ufft|usolver|udnn)[A-Z_]\w*"
    r"|\bnccl[A-Z]\w*|<<<|\b__(?:global|shared|constant)__|\b__(?:sync|shfl)\w*"
    r"|\b(?:texture|surface)<|\btex[123]D\w*|\bthrust::|\bcub::|\bcooperative_groups\b"
)
NO_CONDITION = r"((?:(?![ \t]*#[ \t]*(?:if|el|endif))[^\n]*\n)*)"
BRANCH = re.compile(
    rf"^[ \t]*#[ \t]*ifdef[ \t]+(\w+)[^\n]*\n{NO_CONDITION}"
    rf"(?:[ \t]*#[ \t]*else\b[^\n]*\n{NO_CONDITION})?[ \t]*#[ \t]*endif\b[^\n]*", re.MULTILINE
)  # fmt: skip
"""One that holds no other: its name, and both its sides."""
OPENMP = re.compile(
    r"(?m)^([ \t]*#[ \t]*)(?:if(n?)def[ \t]+_OPENMP\b|((?:el)?if\b[^\n]*?)\bdefined[ \t]*\(?[ \t]*"
    r"_OPENMP\b[ \t]*\)?)"
)
"""Conditions that hold where a compiler reads pragmas of OpenMP; NVIDIA's does not by itself."""
PRAGMA = re.compile(r"(?m)^[ \t]*#[ \t]*pragma[ \t]+omp\b(?:\\[ \t]*\n|[^\n])*")
INTRINSIC = re.compile(r"(?<![\w.:])__(?!builtin_|sync_|atomic_|attribute)[a-z]\w*(?=\s*\()")
WITHIN = {
    re.compile(r"\b__sync\w+"): "a barrier within {0}, a function that kernels call",
    re.compile(r"\b__shared__"): "shared memory within {0}, a function that kernels call",
}


def libraries(text: str, own: Callable[[str], bool], line: Callable[[int], str]) -> Iterator[str]:
    """Libraries of the device that a program includes.

    Parameters
    ----------
    text : str
        CUDA.
    own : callable
        Whether a header is a file of the program.
    line : callable
        How a line is named.

    Yields
    ------
    str
        A problem each.
    """
    for match in HEADER.finditer(text):
        header = match[1]
        known = next((v for k, v in LIBRARIES.items() if header.startswith(k)), None)
        if known and not own(header):
            number = text.count("\n", 0, match.start(1)) + 1
            instead = f": {INSTEAD[known]}" if known in INSTEAD else ""
            yield f"{line(number)}: {header} is {known}, which has no rule{instead}"


def without_absent_libraries(
    text: str, files: Mapping[str, str], flags: Collection[str] = ()
) -> str:
    r"""A text without the branches for libraries that this build has not asked for.

    Parameters
    ----------
    text : str
        CUDA.
    files : mapping of str to str
        The program's files, which may define what such a branch asks for.
    flags : collection of str
        Of the compiler, which may, too.

    Returns
    -------
    str
        Every ``#ifdef NAME`` of a name that nothing defines is gone if one of them includes a
        library of the device; lines stay.

    Examples
    --------
    >>> text = "#ifdef DNN\n#include <cudnn.h>\n#else\nint a;\n#endif"
    >>> print(without_absent_libraries(text, {}))
    <BLANKLINE>
    <BLANKLINE>
    <BLANKLINE>
    int a;
    <BLANKLINE>
    """
    every = "\n".join([text, *files.values()])
    names = {
        m[1] for m in BRANCH.finditer(text)
        if any(h[1].startswith(tuple(LIBRARIES)) for h in HEADER.finditer(m[2]))
        and not re.search(rf"^[ \t]*#[ \t]*define[ \t]+{m[1]}\b", every, re.MULTILINE)
        and not any(re.match(rf"-D{m[1]}\b", f) for f in flags)
    }  # fmt: skip
    return BRANCH.sub(lambda m: _other_branch(m) if m[1] in names else m[0], text)


def _other_branch(match: re.Match[str]) -> str:
    """What is read where a name is not defined, at the same lines."""
    if match[3] is None:
        return "\n" * match[0].count("\n")
    return "\n" * match[0][: match.start(3) - match.start()].count("\n") + match[3]


def without_openmp(text: str, flags: Collection[str] = ()) -> str:
    r"""A text that reads with OpenMP as it does without, unless its build asks for OpenMP.

    Parameters
    ----------
    text : str
        CUDA.
    flags : collection of str
        Of the compiler.

    Returns
    -------
    str
        The translation is built with OpenMP: what the original's build does not read, as pragmas
        of its host's code, must not begin to count.  Lines stay.

    Examples
    --------
    >>> print(without_openmp("#ifdef _OPENMP\n#if defined(_OPENMP) && X\n#ifndef _OPENMP"))
    #if 0
    #if 0 && X
    #if 1
    >>> without_openmp("#pragma omp simd \\\n reduction(+:s)\nfor")
    '\n\nfor'
    """
    if "-fopenmp" in flags or re.search(r"\bomp_\w+\s*\(", code_of(text)):
        return text
    text = PRAGMA.sub(lambda m: "\n" * m[0].count("\n"), text)
    return OPENMP.sub(lambda m: f"{m[1]}{m[3]}0" if m[3] else f"{m[1]}if {int(bool(m[2]))}", text)


def within_functions(source: CSource, line: Callable[[int], str]) -> Iterator[str]:
    """What functions of the device do that only a kernel may.

    Parameters
    ----------
    source : CSource
        Parsed as CUDA.
    line : callable
        How a line is named.

    Yields
    ------
    str
        A problem each.
    """
    for name, node in device_functions(source).items():
        body = body_of(node)
        text = source.text_of(body)
        for pattern, said in WITHIN.items():
            if match := pattern.search(text):
                yield f"{line(_row(body, text, match.start()))}: {said.format(name)}"
        if match := WITHIN_WARP.search(text):
            place = line(_row(body, text, match.start()))
            yield f"{place}: {match[0]} is of a warp, which a CPU lacks"


def _row(body: object, text: str, at: int) -> int:
    return int(body.start_point[0]) + text.count("\n", 0, at) + 1  # type: ignore[attr-defined]


def _declared(name: str, code: str) -> bool:
    """Whether a name that looks like the runtime's is a variable or function of the program."""
    if re.search(rf"(?m)^[ \t]*#[ \t]*define[ \t]+{name}\b", code) or re.search(
        rf"\w[\w\s*&:<>]*[\s*&]{name}\s*\([^;{{}}]*\)\s*\{{", code
    ):
        return True
    kind = r"(?!(?:return|else|case|throw|new|delete)\b)\b[A-Za-z_]\w*(?:\s*[*&]\s*|\s+)"
    return bool(re.search(rf"{kind}{name}\s*[=;,\[{{]", code))


def _without_unused(code: str) -> str:
    """A program without the macros that nothing names, as checks of libraries it does not use."""
    while unused := [m for m in DEFINE.finditer(code)
                     if len(re.findall(rf"\b{m[1]}\b", code)) == 1]:  # fmt: skip
        for m in reversed(unused):
            code = code[: m.start()] + code[m.end() :]
    return code


def left_over(made: str, device: str, text: str, line: Callable[[int], str]) -> Iterator[str]:
    """What is still CUDA in a translation.

    Parameters
    ----------
    made : str
        The translation.
    device : str
        What was the device's code.
    text : str
        The program in CUDA, where lines are looked for.
    line : callable
        How a line is named.

    Yields
    ------
    str
        A problem each.
    """
    code = _without_unused(code_of(made))
    names = [m[0] for m in LEFT.finditer(code) if not _declared(m[0], code)]
    names += [m[0] for m in INTRINSIC.finditer(code_of(device))
              if m[0] not in HELPERS and m[0] not in INTRINSICS and m[0] in code
              and not re.search(rf"\b\w[\w\s*&]*\b{m[0]}\s*\([^;]*?\)\s*\{{", code)]  # fmt: skip
    names += re.findall(r"\basm\b(?=\s*(?:volatile\b|__volatile__\b)?\s*\()", code_of(device))
    names += unknown_properties(code)
    of_textures = [n for n in names if TEXTURES.fullmatch(n)]
    names = [n for n in names if n in of_textures[:1] or n not in of_textures]
    for name in dict.fromkeys(names):
        at = re.search(rf"(?<!\w){re.escape(name)}", text)
        place = f"{line(text.count(chr(10), 0, at.start()) + 1)}: " if at else ""
        instead = " nor for other textures: read the array by its index" * (name in of_textures)
        yield f"{place}{name}: no rule for it{instead}"
