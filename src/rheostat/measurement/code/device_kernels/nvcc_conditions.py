"""Branches of the preprocessor that only NVIDIA's compiler reads, or that it passes over."""

from __future__ import annotations

import re

OF_NVCC = r"(?:__CUDACC__|__NVCC__)"
CONDITIONAL = re.compile(r"[ \t]*#[ \t]*(ifdef|ifndef|if|elif|else|endif)\b[ \t]*(.*)")
WHOLE = re.compile(rf"(!?)[ \t]*(?:defined[ \t]*\(?[ \t]*)?{OF_NVCC}[ \t]*\)?$")
"""A condition that asks for nothing but NVIDIA's compiler."""
PART = re.compile(rf"\bdefined[ \t]*\(?[ \t]*{OF_NVCC}\b[ \t]*\)?")


def as_nvcc_reads(text: str) -> str:
    r"""A text without what NVIDIA's compiler passes over: another one builds the translation.

    Parameters
    ----------
    text : str
        CUDA.

    Returns
    -------
    str
        Lines stay.  Where ``__CUDACC__`` is one condition among others, it is true.

    Examples
    --------
    >>> as_nvcc_reads("#ifdef __CUDACC__\na\n#else\n#if X\nb\n#endif\n#endif\nc")
    '\na\n\n\n\n\n\nc'
    >>> as_nvcc_reads("#if defined(__CUDACC__) && X\na\n#endif")
    '#if 1 && X\na\n#endif'
    """
    if not re.search(OF_NVCC, text):
        return text
    rows, above = [], [(False, True)]  # whether a condition is decided here, and its branch is read
    for row in text.split("\n"):
        word, asked = m.groups() if (m := CONDITIONAL.match(row)) else ("", "")
        decided, is_read = above[-1]
        if word.startswith("if"):
            above.append(_opened(word, _bare(asked), is_read))
        elif word == "else" and decided:
            above[-1] = (True, above[-2][1] and not is_read)
        elif word == "endif" and len(above) > 1:
            above.pop()
        gone = above[-1][0] if word.startswith("if") else decided and word in ("else", "endif")
        kept = not gone and (is_read if word != "endif" else above[-1][1])
        rows.append((PART.sub("1", row) if word in ("if", "elif") else row) if kept else "")
    return "\n".join(rows)


def _bare(condition: str) -> str:
    """A condition without comments and the parentheses around all of it."""
    plain = re.sub(r"//.*|/\*.*?\*/", "", condition).strip()
    return plain[1:-1].strip() if re.fullmatch(r"\([^()]*\)", plain) else plain


def _opened(word: str, asked: str, is_read: bool) -> tuple[bool, bool]:
    """Whether a condition is decided by the compiler's name, and its first branch is read."""
    match = WHOLE.match(asked)
    if match is None:
        return False, is_read
    return True, is_read and (word == "ifndef") == bool(match[1])
