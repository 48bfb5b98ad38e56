"""Which tests run which function: recorded once per test file, and again where the file changes."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.progress import track

HERE = Path(__file__).resolve().parent
PACKAGES = ("core", "measurement", "tradeoff", "decision")
FOLDERS = (*PACKAGES, "properties")
# tests beside them that say much of these packages and take seconds, not minutes
BESIDE = ("contracts/test_meters.py", "contracts/test_readers.py", "contracts/test_proposers.py",
          "cli/test_budget.py", "cli/test_caps.py", "cli/test_code.py", "cli/test_coschedule.py",
          "explanation/test_export.py",
          "prediction/test_surface.py", "simulation/test_multifactor.py",
          "simulation/test_coschedule.py", "simulation/test_malformed.py")  # fmt: skip
CLOSEST, DEAREST_S = 3, 6.0  # files at first; CPU seconds then and later
OPTIONS = ["-n", "0", "-p", "plugin", "-p", "no:cacheprovider", "-m", "not slow"]
Tests = dict[str, tuple[float, list[str]]]


def environment(root: Path, **more: str) -> dict[str, str]:
    """To run the tests of the tree at ``root`` and no other."""
    paths = [str(root / "src"), str(HERE), os.environ.get("PYTHONPATH", "")]
    data = os.environ.get("RHEOSTAT_DATA", str(HERE.parents[2] / "shared" / "data"))
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "OMP_NUM_THREADS": "1", "RHEOSTAT_DATA": data, **more}  # fmt: skip


def recorded(root: Path, book: Path) -> Tests:
    """Test to its CPU seconds and the functions it runs; what is not in ``book`` is run now."""
    known = json.loads(book.read_text(encoding="utf-8")) if book.exists() else {}
    files = dict(_test_files(root))
    known = {name: entry for name, entry in known.items() if entry["digest"] == files.get(name)}
    left = [name for name in files if name not in known]
    for name in track(left, "noting which test runs what", disable=not left):
        found = book.with_suffix(f".{os.getpid()}")  # another run may take notes of its own
        found.write_text("{}")
        subprocess.run([sys.executable, "-m", "pytest", *OPTIONS, name], cwd=root, check=False,
                       stdout=subprocess.DEVNULL,
                       env=environment(root, MUTANTS_RECORD=str(found)))  # fmt: skip
        known[name] = {"digest": files[name], "tests": json.loads(found.read_text())}
        found.unlink()
        book.write_text(json.dumps(known), encoding="utf-8")
    return {t: (s, f) for entry in known.values() for t, (s, f) in entry["tests"].items()}


def _test_files(root: Path) -> Iterator[tuple[str, str]]:
    """(what pytest is given, digest) of each test file, and of each package for its examples."""
    for folder in FOLDERS:
        for path in sorted((root / "tests" / folder).rglob("test_*.py")):
            yield path.relative_to(root).as_posix(), _digest([path])
    for name in BESIDE:
        yield f"tests/{name}", _digest([root / "tests" / name])
    for package in PACKAGES:
        folder = root / "src" / "rheostat" / package
        yield folder.relative_to(root).as_posix(), _digest(sorted(folder.rglob("*.py")))


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
    """Those that run the function, then the others, while the time lasts; file by file."""
    chosen, left = set(), DEAREST_S
    for test in sorted(every, key=lambda t: (t not in direct, tests[t][0])):
        if tests[test][0] <= left:
            left -= tests[test][0]
            chosen.add(test)
    return [t for t in every if t in chosen]
