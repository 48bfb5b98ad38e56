"""Changes of functions, judged in children of one process that has collected the tests already.

Loading and collecting takes most of the time of a change that is judged by itself.  Here a child
exchanges the code of the functions that a change concerns and runs the tests.  What this does not
reach is left for a process of its own: module constants, defaults, compiled functions, functions
that nothing has made yet, scripts, and everything where collecting the tests has made threads.
"""

from __future__ import annotations

import ast
import gc
import inspect
import os
import re
import resource
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from changes import Change
from child import BROKEN, in_child

Pairs = list[tuple[CodeType, CodeType]]
Functions = list[tuple[FunctionType, CodeType]]
OF_FUNCTION = inspect.CO_OPTIMIZED
WALL_S = 900.0


def exchanged(old: CodeType, new: CodeType) -> Pairs | None:
    """Code of functions before and after a change; None where more than functions changed.

    >>> both = (compile(f"def f(): return {x}", "f", "exec") for x in "12")
    >>> [old.co_name for old, _ in exchanged(*both)]
    ['f']
    >>> exchanged(*(compile(f"def f(a={x}): return a", "f", "exec") for x in "12")) is None
    True
    """
    if _own(old) != _own(new):
        return None
    pairs: Pairs = []
    for a, b in zip(_inner(old), _inner(new), strict=True):
        if a.co_flags & OF_FUNCTION:
            if _all(a) != _all(b):
                pairs += _with_inner(a, b)
        elif (inner := exchanged(a, b)) is None:
            return None
        else:
            pairs += inner
    return pairs


def _with_inner(old: CodeType, new: CodeType) -> Pairs:
    """A function, and those in it that differ: of these there may be some, made already."""
    inner = [(a, b) for a, b in zip(_inner(old), _inner(new), strict=False) if _all(a) != _all(b)]
    return [(old, new), *chain.from_iterable(_with_inner(a, b) for a, b in inner)]


def _inner(code: CodeType) -> list[CodeType]:
    return [c for c in code.co_consts if isinstance(c, CodeType)]


def _own(code: CodeType) -> tuple[Any, ...]:
    """What runs, but for the code inside; where it stands is left out."""
    plain = tuple((type(c), c) for c in code.co_consts if not isinstance(c, CodeType))
    return code.co_code, code.co_names, code.co_varnames, repr(plain), len(_inner(code))


def _all(code: CodeType) -> tuple[Any, ...]:
    return _own(code), *map(_all, _inner(code))


class Living:
    """The functions that there are."""

    def __init__(self) -> None:
        self._at: dict[tuple[str, str, int], list[FunctionType]] = {}
        self._compiled: set[int] = set()
        for thing in gc.get_objects():
            if type(thing) is FunctionType:  # to ask a stranger's object for its class may warn
                self._at.setdefault(_place(thing.__code__), []).append(thing)
            elif type(thing).__name__.endswith("Dispatcher"):
                self._compiled.add(id(getattr(thing, "py_func", None)))

    def of(self, pairs: Pairs) -> Functions | None:
        """Each function with its new code; None where one is not there, or runs compiled."""
        found = []
        for old, new in pairs:
            functions = [f for f in self._at.get(_place(old), []) if _all(f.__code__) == _all(old)]
            fits = all(f.__code__.co_freevars == new.co_freevars for f in functions)
            made_later = "<locals>" in old.co_qualname  # by the function around it, exchanged too
            missing = not functions and not made_later
            if missing or not fits or self._compiled & {*map(id, functions)}:
                return None
            found += [(f, new) for f in functions]
        return found


def _has_threads() -> bool:
    """Whether collecting the tests has made polars' threads: a child waits for them for ever."""
    names = (path.read_text(encoding="utf-8") for path in Path("/proc/self/task").glob("*/comm"))
    return any(re.fullmatch(r"polars-\d+", name.strip()) for name in names)


def _place(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


class Judge:
    """A plugin of pytest: collects once, then judges one change after the other.

    Parameters
    ----------
    copy
        Of the tree.
    changes
        What is judged.
    parts
        Names of the tests of a change, with the CPU seconds that they usually take together.
    allowed_s
        How many they may take, of those.
    write
        Takes a change, the exit code of its tests, their number and the one that failed.
    """

    def __init__(
        self,
        copy: Path,
        changes: Sequence[Change],
        parts: Callable[[Change], Iterable[tuple[list[str], float]]],
        allowed_s: Callable[[float], int],
        write: Callable[[Change, int, int, str], None],
    ) -> None:
        self.copy, self.changes, self.parts = copy, changes, parts
        self.allowed_s, self.write = allowed_s, write
        self.sound: set[str] = set()
        """Tests that pass here without a change, after those that come before them."""
        self.unsound: set[str] = set()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Each change, in order."""
        if _has_threads():
            return True
        self.items = {item.nodeid: item for item in session.items}
        living = Living()
        for tick, change in enumerate(self.changes):
            with on_disk(change, self.copy, tick) as (path, old, new):
                pairs = exchanged(*(compile(text, str(path), "exec", dont_inherit=True)
                                    for text in (old, new)))  # fmt: skip
                if pairs and (functions := living.of(pairs)) is not None:
                    self._judge(change, functions)
        return True

    def _judge(self, change: Change, functions: Functions) -> None:
        number, code, by = 0, 0, ""
        for part, usual_s in self.parts(change):
            names = [name for name in part if name in self.items and name not in self.unsound]
            if not names:
                continue
            number += len(names)
            code, by = self._result(names, functions, usual_s)
            if code:
                break
        if code != BROKEN and number:
            self.write(change, code, number, by)

    def _result(self, names: list[str], functions: Functions, usual_s: float) -> tuple[int, str]:
        while True:
            code, by = self._in_child(names, functions, usual_s)
            if code != 1 or by in self.sound:
                return code, by
            before = names[: names.index(by) + 1]
            if self._in_child(before, [], usual_s)[0] == 0:
                self.sound.add(by)
                return code, by
            self.unsound.add(by)
            names = [name for name in names if name != by]

    def _in_child(self, names: list[str], functions: Functions, usual_s: float) -> tuple[int, str]:
        """Exit code, 1 where a test fails, and its name."""
        said = self.copy / "said.txt"
        said.write_text("", encoding="utf-8")
        items = [self.items[name] for name in names]
        code = in_child(partial(_run, items, functions, self.allowed_s(usual_s), said), WALL_S)
        return code, said.read_text(encoding="utf-8")


def _run(items: Sequence[pytest.Item], functions: Functions, allowed_s: int, said: Path) -> int:
    resource.setrlimit(resource.RLIMIT_CPU, (allowed_s, allowed_s + 5))
    for function, code in functions:
        function.__code__ = code
    for item, following in zip(items, [*items[1:], None], strict=True):
        reports = runtestprotocol(item, log=False, nextitem=following)
        if any(report.failed for report in reports):
            said.write_text(item.nodeid, encoding="utf-8")
            return 1
    return 0


@contextmanager
def on_disk(change: Change, copy: Path, tick: int) -> Iterator[tuple[Path, str, str]]:
    """The file as it was and as it is while the change stands in it."""
    path = copy / change.file
    old, times = path.read_text(encoding="utf-8"), path.stat()
    new = change.applied(old)
    ast.parse(new)  # a change that is no Python would be killed by anything
    path.write_text(new, encoding="utf-8")
    os.utime(path, (times.st_atime, times.st_mtime + 1 + tick))  # no cached code fits it
    try:
        yield path, old, new
    finally:
        path.write_text(old, encoding="utf-8")
        os.utime(path, (times.st_atime, times.st_mtime))
