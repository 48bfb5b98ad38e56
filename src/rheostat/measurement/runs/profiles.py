"""Profiles of one run, whose rows are its kernels or functions and no runs: named, not read."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from rheostat.measurement.runs.header_units import split_unit

TOOLS = (
    (r"Flat profile:", "gprof"), (r"NVPROF is profiling|GPU activities", "nvprof"),
    (r"#\s*Overhead\s.*(Symbol|Shared Object)", "perf report"), (r"Self CPU %.*# of Calls",
    "PyTorch's profiler"), (r"ncalls\s+tottime\s+percall", "cProfile"),
    (r'"?Kernel Name"?[\t,].*"?(Metric Name|Section Name|gpu__time_duration\S*)"?', "ncu"),
    (r"Time \(%\).*Total Time", "nsys stats"), (r"TotalDurationNs.*AverageNs", "rocprof --stats"),
    (r"Path\s+.*Time %", "Caliper"), (r"flt\s+type\s+.*visits\s+time\[s\]", "Score-P"),
)  # fmt: skip
"""A line that only such a profile has, and who writes it."""
SHARE = re.compile(
    r"((self|total|cpu)[ _])?time[ _]?[(\[]?(%|pct|percent)[)\]]?|%[ _]?time|percent(age)?|%"
)
CALLS = re.compile(r"(#|n|no\.?|num)?[ _]*(of )?(calls?|invocations|visits|launches)")
PART = re.compile(r"(kernel|function|symbol|region|op|operation)?[ _]?(name)?")
LOOKED_AT = 40
SAID = (
    "is a profile of one run{}: a row is a kernel or function of it, no run{}. Give a table with a "
    "row per run: its settings, runtime_s and where metered power_w or energy_j (--format runs "
    "reads this one as it stands)"
)


def profile_said(lines: Sequence[str], *, whole: bool = True) -> str:
    """What a profile is and what to give instead; "" for any other text.

    The time of all rows is said where the lines are the ``whole`` of it.

    >>> profile_said(["Name,Calls,Time (%)", "gemm,10,61.2"])[:24]
    'is a profile of one run:'
    >>> profile_said(["nodes,time_s", "1,9"])
    ''
    """
    first = list(lines[:LOOKED_AT])
    tool = next((name for line in first for mark, name in TOOLS if re.search(mark, line)), "")
    if not tool and not (first and _by_headings(first[0])):
        return ""
    return SAID.format(f" by {tool}" * bool(tool), _together(lines) if whole else "")


def _by_headings(line: str) -> bool:
    """Whether a line heads a share of time, a count of calls and a name."""
    heads = [h.lower() for h in _cells(line)]
    return all(any(h and mark.fullmatch(h) for h in heads) for mark in (SHARE, CALLS, PART))


def _together(lines: Sequence[str]) -> str:
    """The time of all rows, where a column has totals in a unit."""
    for at, line in enumerate(lines[:LOOKED_AT]):
        heads = _cells(line)
        total = next((k for k, h in enumerate(heads) if _is_total(h)), None)
        if total is None:
            continue
        rows = [cells for x in lines[at + 1 :] if len(cells := _cells(x)) == len(heads)]
        try:
            seconds = [float(r[total].replace(",", "")) * _factor(heads[total]) for r in rows]
        except ValueError:
            return ""
        return f"; {len(seconds)} of them took {sum(seconds):.4g} s together" if seconds else ""
    return ""


def _is_total(heading: str) -> bool:
    return bool(re.match(r"total[ _]?(time|duration)", heading.lower())) and _factor(heading) > 0


def _factor(heading: str) -> float:
    """Seconds of one unit of a heading, 0 where it says none."""
    stem = re.sub(r"(?i)(ns|us|ms)$", r" (\1)", heading) if heading.endswith("s") else heading
    matches = [split_unit(h.replace("Ns", "ns"), timed=True) for h in (heading, stem)]
    return next((factor for _, suffix, _, factor in matches if suffix == "_s"), 0.0)


def _cells(line: str) -> list[str]:
    return [c.strip() for c in next(csv.reader([line], delimiter="," if "," in line else "\t"), [])]
