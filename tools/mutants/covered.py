"""Which tests run which function: recorded once per test file, and again where the file changes.

A test that is marked slow, or takes more CPU time than a change may cost, is never run for a
change: noting leaves such a test at that time, and a file after `LONGEST_S`, both of CPU time.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from child import in_child
from rich.progress import track

HERE = Path(__file__).resolve().parent
WHOLE = ("core", "measurement", "tradeoff", "decision")
PACKAGES = ("core", "measurement", "prediction", "tradeoff", "decision", "simulation", "training")
# tests beside the four that say much of them and take seconds, not minutes
BESIDE = ("contracts/test_meters.py", "contracts/test_readers.py", "contracts/test_proposers.py",
          "cli/test_budget.py", "cli/test_caps.py", "cli/test_code.py", "cli/test_coschedule.py",
          "explanation/test_export.py",
          "prediction/test_surface.py", "simulation/test_multifactor.py",
          "simulation/test_coschedule.py", "simulation/test_malformed.py")  # fmt: skip
# of a part of a package, tests beside those in its package's folder that name its modules
OF_PART = {
    "measurement/network": ("simulation/test_director_process.py",),
    "decision/trials": ("contracts/test_one_forecast.py",),
    "prediction/effects": ("decision/test_evidence.py",),
    "prediction/iteration_time": ("recipes/test_smart.py", "recipes/test_smart_nets.py"),
    "prediction/serving_law": ("recipes/test_new_model.py", "questions/test_serving_plan.py"),
    "prediction/step_cost": ("recipes/test_dnnperf.py",),
}
LITTLE_OF_MUCH = ("prediction/test_persist.py",)
CLOSEST = 3  # files at first, then the others
DEAREST_S, TOGETHER_S = 6.0, 10.0  # CPU seconds of a test, and of all tests then and later
LONGEST_S = 300  # of a file, while notes are taken: CPU seconds
WALL_S = 1800.0  # of a file whose tests wait for what does not come
OPTIONS = ["-n", "0", "-p", "plugin", "-p", "no:cacheprovider", "-m", "not slow",
           "-W", "ignore::pytest.PytestAssertRewriteWarning"]  # fmt: skip
Tests = dict[str, tuple[float, list[str]]]


def environment(root: Path, **more: str) -> dict[str, str]:
    """To run the tests of the tree at ``root`` and no other."""
    paths = [str(root / "src"), str(HERE), os.environ.get("PYTHONPATH", "")]
    data = os.environ.get("RHEOSTAT_DATA", str(HERE.parents[2] / "shared" / "data"))
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "OMP_NUM_THREADS": "1", "RHEOSTAT_DATA": data, **more}  # fmt: skip


def recorded(root: Path, book: Path, wanted: Sequence[str], only: Sequence[str] = ()) -> Tests:
    """Test to its CPU seconds and the functions it runs; what is not in ``book`` is run now.

    ``wanted`` are packages, or parts of them: folders and files without their ending; ``only`` are
    test files, where not all of theirs are to run.
    """
    before = json.loads(book.read_text(encoding="utf-8")) if book.exists() else {}
    files = dict(_test_files(root, wanted))
    files = {n: d for n, d in files.items() if not only or n.startswith("src/") or n in only}
    known = {n: entry for n, entry in before.items() if entry["digest"] == files.get(n)}
    left = [name for name in files if name not in known]
    for name in track(left, "noting which test runs what", disable=not left):
        found = book.with_suffix(f".{os.getpid()}")  # another run may take notes of its own
        found.write_text("{}")
        in_child(partial(_noted, root, name, found), WALL_S)
        known[name] = {"digest": files[name], "tests": json.loads(found.read_text())}
        found.unlink()
        book.write_text(json.dumps(before | known), encoding="utf-8")
    return {t: (s, f) for entry in known.values() for t, (s, f) in entry["tests"].items()}


def _noted(root: Path, name: str, found: Path) -> int:
    """The tests of one file in this process, which has the large libraries loaded already."""
    with Path(os.devnull).open("wb") as nothing:
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST_S, LONGEST_S + 5))
    os.chdir(root)
    os.environ.update(environment(root, MUTANTS_RECORD=str(found)))
    sys.path.insert(0, str(root / "src"))
    return int(pytest.main([*OPTIONS, name]))


def _test_files(root: Path, wanted: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(what pytest is given, digest) of each test file, and of each package for its examples."""
    tests, found = root / "tests", set()
    for part in wanted:
        if part in WHOLE:
            found |= {tests / name for name in BESIDE}
            found |= {*(tests / part).rglob("test_*.py"), *(tests / "properties").glob("test_*.py")}
        else:
            module = re.compile(rf"\brheostat\.{part.replace('/', '[.]')}")
            near = {*(tests / part.split("/")[0]).rglob("test_*.py")}
            near -= {tests / name for name in LITTLE_OF_MUCH}
            found |= {path for path in near if module.search(path.read_text("utf-8"))}
            found |= {tests / name for name in OF_PART.get(part, ())}
        for path in sorted((root / "src" / "rheostat").glob(f"{part}*")):
            examples = sorted(path.rglob("*.py")) if path.is_dir() else [path]
            yield path.relative_to(root).as_posix(), _digest(examples)
    for path in sorted(found):
        yield path.relative_to(root).as_posix(), _digest([path])


def _digest(paths: list[Path]) -> str:
    return hashlib.sha256(b"".join(p.read_bytes() for p in paths)).hexdigest()[:16]


def suited(tests: Tests, file: str, function: str) -> list[list[str]]:
    """The tests to run for a change of a function: first the closest files, then the others.

    What runs when a file is loaded is the business of all tests that use the file.  Fixtures are
    shared within a test file, so after the tests that run the function come its other ones.
    """
    name = f"{file}::{function}"
    direct = {t for t, (_, runs) in tests.items() if name in runs}
    if not direct:
        inside = f"{file}::"
        direct = {t for t, (_, runs) in tests.items() if any(r.startswith(inside) for r in runs)}
    if not direct:  # a script: the tests of what starts it
        starts = tuple(f"{user}::" for user in users(file))
        direct = {t for t, (_, runs) in tests.items() if any(r.startswith(starts) for r in runs)}
    near = f"/{file.split('/')[2]}/"
    direct = direct or {t for t in tests if near in t}  # nothing but names and defaults in the file
    groups: dict[str, list[str]] = {}
    for test in tests:
        groups.setdefault(test.partition("::")[0], []).append(test)

    def distance(group: str) -> tuple[bool, float]:
        """Tests of the same package first, then those that run little else."""
        return near not in group, min(len(tests[t][1]) for t in groups[group] if t in direct)

    order = sorted((g for g, every in groups.items() if direct & set(every)), key=distance)
    return [
        _affordable(tests, direct, [t for g in part for t in groups[g]])
        for part in (order[:CLOSEST], order[CLOSEST:])
    ]


def users(file: str) -> list[str]:
    """Files of the same folder that name this one."""
    path = HERE.parents[1] / file
    return [
        f"{Path(file).parent.as_posix()}/{p.name}"
        for p in sorted(path.parent.glob("*.py"))
        if p != path and f'"{path.name}"' in p.read_text(encoding="utf-8")
    ]


def _affordable(tests: Tests, direct: set[str], every: list[str]) -> list[str]:
    """Those that run the function, then the others, while the time lasts.

    File by file, in each those first that are likely to fail soon.
    """

    def soon(test: str) -> tuple[bool, float]:
        return test not in direct, tests[test][0]

    chosen, left = set(), TOGETHER_S
    for test in sorted(every, key=soon):
        if tests[test][0] <= left:
            left -= tests[test][0]
            chosen.add(test)
    place = {file: i for i, file in enumerate(dict.fromkeys(t.partition("::")[0] for t in every))}
    return sorted(chosen, key=lambda t: (place[t.partition("::")[0]], *soon(t)))
