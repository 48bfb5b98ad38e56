"""Where a verdict's CPU seconds go: each build by its kind, each group of runs by who asks for it.

    with counted() as stages:
        ...  # verdicts
    stages.rows()

Seconds of builds and runs are those of all processes of the sandbox; what is left of this process
stands as `PYTHON`.
"""

from __future__ import annotations

import functools
import resource
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.sandboxed.sandbox import Sandbox
from rheostat.measurement.code.workbench import Workbench

PYTHON = "this package's own Python"
CARRIERS = ("workbench", "kept_results", "sandbox", "capture", "stages", "each_input", "runtimes")
"""Modules that only carry out what another one asks for."""
COUNTED = ((Workbench, "build"), (Workbench, "run"), (Workbench, "tool"), (Sandbox, "run"))


@dataclass
class Stages:
    """CPU seconds and starts by stage."""

    cpu_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    starts: Counter[str] = field(default_factory=Counter)
    names: list[str] = field(default_factory=list)

    def rows(self) -> list[dict[str, Any]]:
        """The dearest first."""
        every = sorted(self.cpu_s.items(), key=lambda one: -one[1])
        return [{"stage": n, "starts": self.starts[n], "cpu_s": s} for n, s in every]

    def parts(self) -> list[dict[str, Any]]:
        """The same, put together by `part_of`."""
        whole = Stages()
        for name, seconds in self.cpu_s.items():
            whole.cpu_s[part_of(name)] += seconds
            whole.starts[part_of(name)] += self.starts[name]
        return whole.rows()


def part_of(stage: str) -> str:
    """What a stage is a part of.

    >>> part_of("build: reached LLVM's text (original)"), part_of("build: object (own)")
    ('builds of marked texts', 'own programs, which are kept for all')
    >>> part_of("run: reference._many many (original)"), part_of("run: rungs_run.threads")
    ('thousands of inputs', 'runs, one from each start')
    """
    if stage == PYTHON or stage.startswith("tool"):
        return stage.partition(":")[0]
    if stage.endswith("(own)"):
        return "own programs, which are kept for all"
    if stage.startswith("build"):
        return "builds of marked texts" if " LLVM's text (" in stage else "builds"
    if "_many many" in stage:
        return "thousands of inputs"
    if "count_work" in stage:
        return "valgrind"
    return "runs, many from each start" if " many" in stage else "runs, one from each start"


def used_s(who: int) -> float:
    """CPU seconds of this process, or of those that it has waited for."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


@contextmanager
def counted() -> Iterator[Stages]:
    """Count what is built and run within."""
    stages = Stages()
    own_s = used_s(resource.RUSAGE_SELF)
    known = {(w, n): getattr(w, n) for w, n in COUNTED}
    Workbench.build = _named(stages, Workbench.build, _build)  # type: ignore[method-assign]
    Workbench.run = _named(stages, Workbench.run, _run)  # type: ignore[method-assign]
    Workbench.tool = _named(stages, Workbench.tool, _tool)  # type: ignore[method-assign]
    Sandbox.run = _measured(stages, Sandbox.run)  # type: ignore[method-assign]
    try:
        yield stages
    finally:
        for (whose, name), what in known.items():
            setattr(whose, name, what)
        stages.cpu_s[PYTHON] += used_s(resource.RUSAGE_SELF) - own_s


def _named(
    stages: Stages, what: Callable[..., Any], name: Callable[..., str]
) -> Callable[..., Any]:
    @functools.wraps(what)
    def wrapped(*args: Any, **options: Any) -> Any:
        stages.names.append(name(*args, **options))
        try:
            return what(*args, **options)
        finally:
            stages.names.pop()

    return wrapped


def _measured(stages: Stages, what: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(what)
    def wrapped(*args: Any, **options: Any) -> Any:
        before_s = used_s(resource.RUSAGE_CHILDREN)
        try:
            return what(*args, **options)
        finally:
            name = stages.names[-1] if stages.names else f"run: {_asking()}"
            stages.cpu_s[name] += used_s(resource.RUSAGE_CHILDREN) - before_s
            stages.starts[name] += 1

    return wrapped


def _whose(program: Program) -> str:
    if program.is_ours:
        return "own"
    return "original" if program.is_kept else "candidate"


def _build(_: Workbench, program: Program, kind: Any, output: Any = ()) -> str:
    words = " ".join(output[:2])
    text = "LLVM's text" if any(f.endswith(".ll") for f in program.files) else ""
    return " ".join(f"build: {kind.name} {words} {text} ({_whose(program)})".split())


def _run(_: Workbench, built: Any, *args: Any, wrapper: Any = (), **options: Any) -> str:
    many = any("each_input.so" in word for word in wrapper)
    return f"run: {_asking()}{' many' if many else ''} ({_whose(built.program)})"


def _tool(_: Workbench, command: Any, built: Any, *args: Any) -> str:
    return f"tool: {command[0].rpartition('/')[2]} ({_whose(built.program)})"


def _asking() -> str:
    """Module and function of who asks for a run."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        module = frame.f_globals.get("__name__", "").rpartition(".")[2]
        if module not in (*CARRIERS, "functools", "contextlib"):
            return f"{module}.{frame.f_code.co_name}"
        frame = frame.f_back
    return "?"
