"""Files of the library form no circle; imports inside functions and for types alone count."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

import rheostat

SRC = Path(rheostat.__file__).parent


def name_of(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(p for p in parts if p != "__init__")


def imports(code: str, here: str, known: set[str]) -> set[str]:
    """Modules of the library that this code imports anywhere; ``here`` is itself."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {w if w.removeprefix("rheostat.") in known else node.module for w in whole}
    found = {f.removeprefix("rheostat.") for f in found if f.startswith("rheostat.")}
    return (found & known) - {here}


def circles(files: dict[str, str]) -> list[set[str]]:
    """Sets of files of which each leads to each other; ``files`` are modules and their code."""
    names = list(files)
    leads = np.zeros((len(names), len(names)), bool)
    for row, name in enumerate(names):
        for other in imports(files[name], name, set(files)):
            leads[row, names.index(other)] = True
    _, part = connected_components(csr_array(leads), connection="strong")
    groups = (np.flatnonzero(part == k) for k in np.flatnonzero(np.bincount(part) > 1))
    return [{names[i] for i in group} for group in groups]


@pytest.mark.slow
def test_no_circle_of_files() -> None:
    # the package itself loads its public names when they are first used: no file depends on it
    files = {name_of(p, SRC): p.read_text() for p in sorted(SRC.rglob("*.py")) if p.parent != SRC
             or p.stem != "__init__"}  # fmt: skip
    assert circles(files) == []


@pytest.mark.parametrize(
    "back",
    [
        "from rheostat.a import x",
        "import rheostat.a",
        "def f():\n    from rheostat import a",
        "if TYPE_CHECKING:\n    from rheostat.a import X",
    ],
)
def test_a_circle_is_found_however_it_is_hidden(back: str) -> None:
    files = {"a": "from rheostat.b import y", "b": "from rheostat.c.d import z", "c.d": back}
    assert circles(files) == [{"a", "b", "c.d"}]
    assert circles(files | {"c.d": "import numpy"}) == []


MOST_LOOSE = 12
"""Modules that lie loose on a floor; what belongs together beyond that has a folder."""


def loose(floor: Path) -> list[str]:
    return sorted(p.stem for p in floor.glob("*.py") if p.stem != "__init__")


@pytest.mark.parametrize("floor", sorted(p.parent.name for p in SRC.glob("*/__init__.py")))
def test_few_modules_lie_loose_on_a_floor(floor: str) -> None:
    assert len(loose(SRC / floor)) <= MOST_LOOSE, loose(SRC / floor)


def test_no_file_is_longer_than_four_hundred_lines() -> None:
    """A longer one holds several mechanisms, in whatever language."""
    files = [p for p in SRC.rglob("*") if p.suffix in (".py", ".c", ".cc", ".cl", ".h")]
    lines = {str(p): p.read_text(encoding="utf-8").count("\n") for p in files}
    assert {name: n for name, n in lines.items() if n > 400} == {}


BESIDE_THE_LIBRARY = {
    "decision.serving.vllm_scheduler": "vLLM loads it by name",
    "measurement.network.simgrid_run": "another Python runs it, with SimGrid",
    "measurement.synthetic.counter_runs": "runs with known truth, for users who try the counters",
    "prediction.language_model.small_models": "a command of its own: python -m",
    "tradeoff.front_metrics": "a guide shows users how good a front is",
}
"""Modules that no other one imports, and who does use them."""


def named(code: str) -> set[str]:
    """What code may load: names of modules, as imports and as text (``"site.savings:..."``)."""
    texts = re.findall(r"\"(?:rheostat\.questions\.)?([a-z_.]+)(?::\w+)?\"", code)
    found = {f"questions.{text}" for text in texts}
    for module, names in re.findall(r"from rheostat\.([\w.]+) import (\([^)]*\)|[^\n]*)", code):
        found |= {module, *(f"{module}.{name}" for name in re.findall(r"\w+", names))}
    return found


def test_no_module_is_there_for_tests_and_benchmarks_alone() -> None:
    """What only those use stands with them; suites for users' own parts are what `testing` is."""
    files = {name_of(p, SRC): p.read_text() for p in SRC.rglob("*.py") if p.stem != "__init__"}
    loaded = set().union(*(named(p.read_text()) for p in SRC.rglob("*.py")))
    alone = {
        name for name in files
        if name not in loaded and "." in name and not name.startswith(("cli.", "testing."))
    }  # fmt: skip
    assert alone == set(BESIDE_THE_LIBRARY)
