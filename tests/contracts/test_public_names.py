"""The public names: typed, plain, picklable, and one word for one idea."""

from __future__ import annotations

import ast
import copy
import inspect
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rheostat as rh

ROOT = Path(__file__).parents[2]
NAMES = [n for n in rh.__all__ if n != "__version__" and n not in rh._GROUPS]
FUNCTIONS = [n for n in NAMES if inspect.isfunction(getattr(rh, n))]
SYNONYMS = {
    "within": "limits",
    "constraint": "limits",
    "random_state": "seed",
    "rng": "seed",
    "by": "group_by",
    "similar_by": "group_by",
    "kind": "method",
    "algorithm": "method",
    "callback": "progress",
    "verbose": "progress",
    "meter": "measure",
    "failure": "failures",
    "wish": "objective",
    "asked": "knobs",
    "tried": "runs",
}


def parameters(name: str) -> list[inspect.Parameter]:
    """Those of a function or a class; a protocol has none of its own."""
    thing = getattr(rh, name)
    if inspect.isclass(thing) and (getattr(thing, "_is_protocol", False) or name == "Moment"):
        return []
    return list(inspect.signature(thing).parameters.values())


def test_what_type_checkers_see_is_what_loads() -> None:
    tree = ast.parse(Path(rh.__file__).read_text())
    block = next(n for n in tree.body if isinstance(n, ast.If))
    seen = {
        a.asname: n.module for n in block.body if isinstance(n, ast.ImportFrom) for a in n.names
    }
    groups = dict.fromkeys(rh._GROUPS, "rheostat.questions")
    assert seen == {n: f"rheostat.{module}" for n, module in rh._MODULES.items()} | groups


def test_names_complete() -> None:
    assert set(dir(rh)) == set(rh.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'tradeof'"):
        rh.tradeof  # noqa: B018


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, rheostat; print([m for m in sys.modules if m.startswith('rheostat.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_group_of_questions_loads_a_compiler_or_a_learner() -> None:
    """`rh.llm.plan` and the command wait for what they use, not for what ranks and simulates.

    All in one process: what the first of them loads would be there for all behind it.
    """
    code = (
        "import sys, rheostat as rh\n"
        "heavy = ('numba', 'sklearn', 'torch', 'xgboost')\n"
        "for group in sorted(rh._GROUPS):\n"
        "    getattr(rh, group)\n"
        "    print(group, [m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{group} []" for group in sorted(rh._GROUPS)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_a_real_signature(name: str) -> None:
    signature = inspect.signature(getattr(rh, name))
    starred = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    assert [p.name for p in signature.parameters.values() if p.kind in starred] == []
    bare = [p.name for p in signature.parameters.values() if p.annotation is p.empty]
    assert (bare, signature.return_annotation is signature.empty) == ([], False)


@pytest.mark.parametrize("name", NAMES)
def test_names_pickle_and_copy(name: str) -> None:
    thing = getattr(rh, name)
    assert pickle.loads(pickle.dumps(thing)) is thing
    assert copy.deepcopy(thing) is thing


@pytest.mark.parametrize("name", NAMES)
def test_one_word_for_one_idea(name: str) -> None:
    found = {p.name: SYNONYMS[p.name] for p in parameters(name) if p.name in SYNONYMS}
    assert found == {}, f"{name}: say {found}"


@pytest.mark.slow
def test_mypy_knows_the_type_of_every_name(tmp_path: Path) -> None:
    lines = ["import rheostat as rh", *(f"reveal_type(rh.{n})" for n in NAMES)]
    script = tmp_path / "names_of_rheostat.py"
    script.write_text("\n".join(lines))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", script],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    told = re.findall(r'names_of_rheostat\.py:(\d+): note: Revealed type is "(.*)"', done.stdout)
    types = {NAMES[int(line) - 2]: text for line, text in told}
    assert list(types) == NAMES, done.stdout + done.stderr
    assert {n: t for n, t in types.items() if t in ("Any", "builtins.object")} == {}
    untyped = {n: types[n] for n in FUNCTIONS if not types[n].startswith(("def ", "Overload"))}
    assert untyped == {}
