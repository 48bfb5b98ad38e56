"""What compilers, sanitizers, race checkers and device simulators print, as findings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rheostat.measurement.code.device_kernels.cuda_on_host import HEADER
from rheostat.measurement.code.sandboxed.capture import SandboxRun
from rheostat.measurement.code.sandboxed.sandbox import INSIDE
from rheostat.measurement.code.verdict import Finding

MOST = 20
COMPILER = re.compile(
    r"^(?P<file>[^\s:(][^:(\n]*)(?::(?P<line>\d+)(?::\d+)?|\((?P<nv>\d+)\)):\s*"
    r"(?P<level>fatal error|error|warning)\s*(?:#\d+-D)?:\s*(?P<message>.+)$",
    re.MULTILINE,
)
LINKER = re.compile(
    r"^(?:.*?: )?(?P<message>undefined reference to .+|cannot find -l\S+|"
    r"multiple definition of .+)$",
    re.MULTILINE,
)
UNDEFINED = re.compile(
    r"^(?P<file>[^\s:]+):(?P<line>\d+):\d+: runtime error: (?P<message>.+)$", re.MULTILINE
)
ADDRESS = re.compile(r"ERROR: (?P<tool>\w+Sanitizer): (?P<message>[^\n]+)")
FRAME = re.compile(r"(?P<file>[\w./+-]+\.(?:c|cc|cpp|cxx|C|cu|h|hpp|cl)):(?P<line>\d+)")
RACE = re.compile(r"WARNING: ThreadSanitizer: (?P<message>[^\n(]+)")


BEYOND_HOST = {
    "cuRAND": r"\bcurand", "textures": r"\btex[123]D\w*\s*[<(]|\bcudaTextureObject_t\b",
    "cooperative groups": r"\bcooperative_groups\b", "Thrust": r"\bthrust\b",
    "CUB": r"<cub/|\bcub::", "cuBLAS": r"\bcublas", "cuFFT": r"\bcufft",
    "cuSPARSE": r"\bcusparse", "CUDA graphs": r"\bcudaGraph", "PTX": r"\basm\s*(?:volatile)?\s*\(",
}  # fmt: skip
"""What CUDA programs use that the host has nothing for, by the names that show it."""


def compiler_findings(text: str, rung: str = "compile") -> tuple[Finding, ...]:
    r"""Errors of gcc, clang, nvcc and the linker; warnings where there is no error.

    >>> compiler_findings("a.c:3:5: error: expected ';'\n")[0].words
    "a.c:3: expected ';'"
    """
    seen: dict[tuple[str, int, str], Finding] = {}
    for m in COMPILER.finditer(text):
        level = "warning" if m["level"] == "warning" else "error"
        line = int(m["line"] or m["nv"])
        finding = Finding(rung, _short(m["file"]), line, m["message"].strip(), level)
        seen.setdefault((finding.file, line, finding.message), finding)
    for m in LINKER.finditer(text):
        finding = Finding(rung, "", 0, m["message"].strip())
        seen.setdefault(("", 0, finding.message), finding)
    errors = [f for f in seen.values() if f.level == "error"]
    return tuple((errors or list(seen.values()))[:MOST])


def not_on_host(said: SandboxRun, text: str = "") -> str:
    """Why CUDA that may be right is not run on the host: what it uses is not known there.

    >>> not_on_host(SandboxRun(1, "", "", 0.1, 0.1, 0), "#include <curand.h>")
    'no CUDA device, and the host cannot build it: it has no cuRAND (ended with status 1)'
    """
    findings = compiler_findings(said.stderr)
    reason = findings[0].words if findings else said.ending
    used = [name for name, mark in BEYOND_HOST.items() if re.search(mark, text)]
    because = f"it has no {' and no '.join(used)} ({reason})" if used else reason
    return f"no CUDA device, and the host cannot build it: {because}"


def sanitizer_findings(text: str, rung: str = "sanitizers") -> tuple[Finding, ...]:
    """Reports of AddressSanitizer and UndefinedBehaviorSanitizer, each at its first own line."""
    made = [
        Finding(rung, _short(m["file"]), int(m["line"]), m["message"])
        for m in UNDEFINED.finditer(text)
    ]
    for m in ADDRESS.finditer(text):
        file, line = _own_frame(text[m.end() :])
        message = re.sub(r"\s*(?:on|at)?\s*(?:unknown )?address (?:0x|\().*|\(pid.*|\s0x\w+.*", "",
                         m["message"])  # fmt: skip
        made.append(Finding(rung, file, line, f"{m['tool']}: {message.strip()}"))
    return tuple(dict.fromkeys(made))[:MOST]


def without_lines(findings: Sequence[Finding], why: str) -> tuple[Finding, ...]:
    """Reports that name no line say why.

    >>> without_lines([Finding("races", "", 0, "data race")], "no symbolizer")[0].words
    'data race (no symbolizer)'
    """
    return tuple(
        replace(f, message=f"{f.message} ({why})") if why and not f.line else f for f in findings
    )


def race_findings(text: str, rung: str = "races") -> tuple[Finding, ...]:
    """Data races that ThreadSanitizer reports, at the lines of both accesses."""
    made = []
    for m, report in _reports(text):
        places = [p for part in _accesses(report) if (p := _own_frame(part))[1]]
        place = places[0] if places else ("", 0)
        other = next((p for p in places[1:] if p != place), None)
        also = f", with {other[0]}:{other[1]}" if other else ""
        made.append(Finding(rung, *place, f"{m['message'].strip()}{also}"))
    return tuple(dict.fromkeys(made))[:MOST]


def _reports(text: str) -> Iterator[tuple[re.Match[str], str]]:
    starts = list(RACE.finditer(text))
    ends = [*(m.start() for m in starts[1:]), len(text)]
    for m, end in zip(starts, ends, strict=False):
        yield m, text[m.end() : end]


def _accesses(report: str) -> Sequence[str]:
    parts = re.split(r"\n  (?=\S)", report)
    return [p for p in parts if re.match(r"(?:Previous )?(?:atomic )?(?:[Rr]ead|[Ww]rite)", p)]


def oclgrind_findings(text: str, rung: str = "races") -> tuple[Finding, ...]:
    """Races and invalid accesses that oclgrind reports, at the line of the kernel."""
    made = []
    pattern = r"(?m)^((?:Read-write|Write-write) data race[^\n]*|Invalid (?:read|write)[^\n]*)\n(.*?)(?=^\S|\Z)"  # noqa: E501
    for m in re.finditer(pattern, text, re.DOTALL | re.MULTILINE):
        at = re.search(r"At line (\d+)[^\n]* of (\S+?):?\n", m[2])
        file, line = (_short(at[2]), int(at[1])) if at else ("", 0)
        message = re.sub(r"\s+at .*address 0x\w+", "", m[1])
        made.append(Finding(rung, file, line, message))
    return tuple(dict.fromkeys(made))[:MOST]


def _own_frame(text: str) -> tuple[str, int]:
    """The first place in a file of the program's own."""
    for m in FRAME.finditer(text):
        file = m["file"]
        own = file.startswith(f"{INSIDE}/") or not file.startswith("/")
        if own and not file.endswith(f"/{HEADER}"):
            return _short(file), int(m["line"])
    return "", 0


def _short(file: str) -> str:
    return file.removeprefix(f"{INSIDE}/")
