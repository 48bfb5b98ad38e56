"""The changes of a mutation run: what a slip makes, each its own, the same when lines move."""

from __future__ import annotations

import ast
import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "tools" / "mutants"


def loaded(name: str):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


changes, child, inplace = loaded("changes"), loaded("child"), loaded("inplace")

SOURCE = '''"""A docstring with 1 + 2 and True."""

from __future__ import annotations

from typing import TYPE_CHECKING

DAY_S = 86_400.0
_SLACK_W = 1e-6

if TYPE_CHECKING:
    x = 5


def chosen(n: int | None, level: float = 0.9) -> list[int] | None:
    """Not 3."""
    if not n or n <= 2 and level in (1, 2):
        raise ValueError(f"n is {n + 1}")
    total = max(n // 2, -1)
    total += 7
    table = dict(zip("ab", "cd", strict=True))
    table["a"] = "é" + "b"
    return [total]
'''


def found(source: str, folder: Path):
    path = folder / "a.py"
    path.write_text(source, encoding="utf-8")
    return changes.changes(path, folder)


def test_every_kind_of_slip_is_made_and_nothing_that_says_nothing(tmp_path) -> None:
    said = {(c.kind, c.before, c.after) for c in found(SOURCE, tmp_path)}
    assert said == {
        ("number", "86_400.0", "43200.0"), ("number", "1e-6", "0.01"), ("number", "0.9", "0.45"),
        ("boolean", "not n", "n"), ("boolean", "or", "and"), ("boolean", "and", "or"),
        ("boolean", "not n or n <= 2 and level in (1, 2)",
         "not (not n or n <= 2 and level in (1, 2))"),
        ("compare", "<=", "<"), ("compare", "in", "not in"), ("number", "1", "2"),
        ("number", "2", "3"), ("statement", 'raise ValueError(f"n is {n + 1}")', "pass"),
        ("function", "max", "min"), ("arithmetic", "//", "/"), ("statement", "total += 7", "pass"),
        ("number", "7", "8"), ("statement", 'table["a"] = "é" + "b"', "pass"),
        ("return", "return [total]", "return None"),
    }  # fmt: skip


def test_each_change_is_python_touches_one_place_and_keeps_its_name(tmp_path) -> None:
    first = found(SOURCE, tmp_path)
    assert len({c.ident for c in first}) == len(first)
    for change in first:
        after = change.applied(SOURCE)
        ast.parse(after)
        assert after != SOURCE
        assert len(after) - len(SOURCE) == len(change.after) - len(change.before)
    moved = found("\n\n" + SOURCE, tmp_path)
    assert [c.ident for c in moved] == [c.ident for c in first]
    assert [c.line for c in moved] == [c.line + 2 for c in first]


def test_a_method_that_waits_has_its_own_name(tmp_path) -> None:
    source = "class A:\n    async def run(self):\n        return 1\n"
    assert {c.function for c in found(source, tmp_path)} == {"A.run"}


def test_equivalent_changes_are_listed_once_with_a_reason() -> None:
    import tomllib

    listed = tomllib.loads((FOLDER / "equivalent.toml").read_text())["equivalent"]
    names = [entry["change"] for entry in listed]
    assert len(set(names)) == len(names)
    assert all(len(entry["why"]) > 10 for entry in listed)


@pytest.mark.parametrize("package", ["core", "measurement", "tradeoff", "decision"])
def test_a_package_offers_many_changes(package) -> None:
    root = FOLDER.parents[1]
    every = [c for _, one in changes.of_package(root, package) for c in one]
    assert len({c.ident for c in every}) == len(every) > 500


@pytest.mark.parametrize(("part", "files"), [
    ("prediction/answer_length/score_stack", ["score_stack.py"]),
    ("decision/trials/trial", ["trial.py", "trial_size.py"]),
    ("prediction/saved_models", ["from_file.py", "model_parts.py", "persist.py", "state_tree.py",
                                 "tree_checks.py"]),
])  # fmt: skip
def test_a_part_of_a_package_is_a_folder_or_files_of_that_name(part, files) -> None:
    found = [file for file, _ in changes.of_package(FOLDER.parents[1], part)]
    assert [file.rpartition("/")[2] for file in found] == files


@pytest.mark.parametrize(
    ("work", "limit_s", "code"),
    [(lambda: 5, 60, 5), (lambda: 1 // 0, 60, 70),
     (lambda: os.killpg(0, signal.SIGTERM), 60, -15), (lambda: time.sleep(60), 0.3, -9)],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:os.fork")  # JAX warns where another test has loaded it
def test_however_a_child_ends_its_parent_goes_on(work, limit_s, code, capfd) -> None:
    assert child.in_child(work, limit_s) == code


FUNCTIONS = """from functools import cache

SCALE = 2.0


def plain(x, more=1):
    return SCALE * x + more


def made(n):
    def inner(x):
        return [y - n for y in (x, 7)]

    return inner


kept = made(1)


class Shape:
    sides = 4

    @cache
    def area(self):
        return self.sides * 3

    @property
    def corners(self):
        return (lambda: self.sides + 5)()
"""


def run_as(source: str, path: Path):
    module = ModuleType("functions")
    exec(compile(source, str(path), "exec", dont_inherit=True), vars(module))
    return module


def answers(module):
    shape = module.Shape()
    return [module.plain(3.0), module.made(4)(5), module.kept(5), shape.area(), shape.corners]


def test_an_exchanged_function_answers_as_the_changed_source_does(tmp_path) -> None:
    """But for what functions do not hold: constants of a module or class, and defaults."""
    path, left = tmp_path / "a.py", []
    module = run_as(FUNCTIONS, path)
    living, usual = inplace.Living(), answers(module)
    for change in found(FUNCTIONS, tmp_path):
        new = change.applied(FUNCTIONS)
        pairs = inplace.exchanged(*(compile(text, str(path), "exec") for text in (FUNCTIONS, new)))
        if pairs is None:
            left.append(change.before)
        elif change.kind != "return":
            exchange(living.of(pairs))
            module.Shape.area.cache_clear()
            assert usual != answers(module) == answers(run_as(new, path))
            exchange(living.of([(after, before) for before, after in pairs]))
    assert left == ["2.0", "1", "1", "4"]
    elsewhere = (compile(f"def f(): return {x}", "elsewhere", "exec") for x in (1, 2))
    assert living.of(inplace.exchanged(*elsewhere)) is None


def exchange(functions) -> None:
    for function, code in functions:
        function.__code__ = code


JUDGED = """
import sys
from pathlib import Path
folder = Path.cwd()
sys.path[:0] = [{tools!r}, str(folder)]
import pytest
from changes import changes
from inplace import Judge

names = ["test_a.py::test_odd", "test_a.py::test_double", "test_a.py::test_sign"]
judge = Judge(folder, changes(folder / "a.py", folder), lambda change: [(names, 1.0)],
              lambda usual_s: 20,
              lambda c, code, n, by: print("judged", c.ident, code, by, flush=True))
print(pytest.main(["-q", "-s", "-p", "no:cacheprovider", *names], plugins=[judge]))
"""
TESTS = """
import os
from a import double, sign

HERE = os.getpid()

def test_odd():
    assert os.getpid() == HERE  # never so in a child

def test_double():
    assert double(3) == 6

def test_sign():
    assert [sign(x) for x in (-2, 2)] == [-1, 1]
"""


def test_a_change_is_killed_by_a_test_that_passes_without_it(tmp_path) -> None:
    source = "def double(x):\n    return x + x\n\n\ndef sign(x):\n    return 1 if x > 0 else -1\n"
    (tmp_path / "a.py").write_text(source)
    (tmp_path / "test_a.py").write_text(TESTS)
    run = subprocess.run([sys.executable, "-c", JUDGED.format(tools=str(FOLDER))], cwd=tmp_path,
                         env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
                         capture_output=True, text=True, check=True)  # fmt: skip
    judged = [x[len("judged a.py::") :] for x in run.stdout.splitlines() if x.startswith("judged")]
    double, sign = "1 test_a.py::test_double", "1 test_a.py::test_sign"
    assert judged == [f"double::return::return x + x -> return None {double}",
                      f"double::arithmetic::+ -> - {double}",
                      f"sign::return::return 1 if x > 0 else -1 -> return None {sign}",
                      f"sign::number::1 -> 2 {sign}", "sign::compare::> -> >= 0 ",
                      "sign::number::0 -> 1 0 ", f"sign::number::1 -> 2 #2 {sign}"]  # fmt: skip
    assert (tmp_path / "a.py").read_text() == source


WAITS = """
import os, sys, time
sys.path.insert(0, {folder!r})
from child import Ended, in_child, raise_on_signals

def work():
    print(os.getpid(), flush=True)
    time.sleep(60)

raise_on_signals()
try:
    in_child(work, 60)
except Ended as end:
    print(end)
    sys.exit(end.exit_code)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_ended_says_so_and_takes_its_child_with_it(number) -> None:
    source = WAITS.format(folder=str(FOLDER))
    run = subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)
    inner = int(run.stdout.readline())
    run.send_signal(number)
    said, _ = run.communicate(timeout=60)
    assert said == f"ended by {number.name}; the same command goes on\n"
    assert run.returncode == 128 + number
    with pytest.raises(ProcessLookupError):
        os.kill(inner, 0)
