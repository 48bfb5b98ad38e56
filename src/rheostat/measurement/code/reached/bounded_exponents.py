"""Powers of e whose argument the original keeps small by a difference, and the candidate does not.

Softmax and sums of logarithms take the highest away before `exp`.  Without it the numbers are the
same until one of them is large, which inputs that are drawn hardly are; then they are infinite.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.verdict import Finding

EXPONENTIAL = re.compile(
    r"\b(?:__|native_|half_)?exp(?:2|10)?f?\s*\((?P<of>(?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)"
)
DIFFERENCE = re.compile(r"[\w\])]\s*-\s*[A-Za-z_(]")
SAID = "the original takes something away before it, and large numbers overflow without that"


def unbounded_exponents(case: Case) -> list[Finding]:
    """Calls of `exp` without a difference, where each of the original's has one.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    """
    ours = EXPONENTIAL.findall(case.original.text)
    if not ours or any(_plain(case.original.text)):
        return []
    return [Finding("calls", file, text.count("\n", 0, m.start()) + 1, f"{m[0]}: {SAID}")
            for file, text in case.candidate.files.items() for m in _plain(text)]  # fmt: skip


def _plain(text: str) -> Iterator[re.Match[str]]:
    r"""Calls whose argument is no difference, nor named as one before.

    >>> [m[0] for m in _plain("d = x[i] - top; y = exp(d) + exp(x[i] - top) + exp(x[i]);")]
    ['exp(x[i])']
    """
    for m in EXPONENTIAL.finditer(text):
        names = "|".join(re.findall(r"\b[A-Za-z_]\w*", m["of"]))
        less = rf"\b(?:{names})\b\s*(?:\[[^;=]*\]\s*)?(?:-=|=[^;=]*{DIFFERENCE.pattern})"
        if names and "-" not in m["of"] and not re.search(less, text):
            yield m
