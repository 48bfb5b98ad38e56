"""For pytest: note what functions a test runs (MUTANTS_RECORD), or run a list (MUTANTS_LIST)."""

from __future__ import annotations

import ast
import json
import os
import signal
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import coverage
import covered
import pytest

RECORD, LIST = os.environ.get("MUTANTS_RECORD"), os.environ.get("MUTANTS_LIST")
SOURCES = [f"src/rheostat/{p}/*" for p in covered.PACKAGES]
tracer = coverage.Coverage(data_file=None, include=SOURCES) if RECORD else None
if tracer:
    tracer.start()
    # skipped: what fails is tried again by hypothesis, for a smaller example
    signal.signal(signal.SIGPROF, lambda *_: pytest.skip("too dear for any change"))
passed: dict[str, bool] = {}
seconds: dict[str, float] = {}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """One context for each test, its fixtures included."""
    began = time.process_time()
    if tracer:
        tracer.switch_context(item.nodeid)
        signal.setitimer(signal.ITIMER_PROF, covered.DEAREST_S)
    yield
    if tracer:
        signal.setitimer(signal.ITIMER_PROF, 0)
        tracer.switch_context("")
    seconds[item.nodeid] = time.process_time() - began


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A test that is skipped or fails kills nothing."""
    passed[report.nodeid] = passed.get(report.nodeid, True) and report.outcome == "passed"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of the list alone, in its order."""
    if LIST:
        place = {n: i for i, n in enumerate(json.loads(Path(LIST).read_text(encoding="utf-8")))}
        items[:] = sorted((i for i in items if i.nodeid in place), key=lambda i: place[i.nodeid])


def pytest_sessionfinish() -> None:
    """Write {test: [seconds, functions]}."""
    if not tracer or not RECORD:
        return
    tracer.stop()
    data, runs = tracer.get_data(), defaultdict(set)
    for file in data.measured_files():
        owner = functions(Path(file))
        name = Path(file).relative_to(Path.cwd()).as_posix()
        for line, tests in data.contexts_by_lineno(file).items():
            if line in owner:
                for test in filter(None, tests):
                    runs[test].add(f"{name}::{owner[line]}")
    found = {t: [round(seconds[t], 3), sorted(runs[t])] for t, ok in passed.items() if ok}
    Path(RECORD).write_text(json.dumps(found), encoding="utf-8")


def functions(path: Path) -> dict[int, str]:
    """Line to the name of the function whose body it is in."""
    owner: dict[int, str] = {}

    def walk(node: ast.AST, scope: list[str]) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = [*scope, child.name]
                if not isinstance(child, ast.ClassDef):
                    lines = range(child.body[0].lineno, child.end_lineno + 1)
                    owner.update(dict.fromkeys(lines, ".".join(inner)))
                walk(child, inner)
            else:
                walk(child, scope)

    walk(ast.parse(path.read_text(encoding="utf-8")), [])
    return owner
