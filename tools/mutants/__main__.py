"""How many small defects do the tests notice?  A seeded sample of changes, each tested by itself.

    python tools/mutants --seed 1 --number 400           sample, test, report
    python tools/mutants --seed 1 --number 400 --report  what is known so far

A change counts as killed when a test fails or runs three times as long as usual.  Work is done in a
copy of the tree, one change at a time; results are appended to a file of JSON lines, so that an
interrupted run goes on where it was.  Changes that no test could notice are listed, each with the
reason, in ``equivalent.toml``.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import math
import os
import random
import resource
import shutil
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import chain, groupby
from pathlib import Path

# loaded once, before the children are made; nothing of the project itself is
import hypothesis.extra.numpy  # noqa: F401
import moocore  # noqa: F401
import polars  # noqa: F401
import pyarrow.parquet  # noqa: F401
import pytest
import scipy.optimize
import scipy.stats  # noqa: F401
import sklearn.ensemble  # noqa: F401
from changes import Change, of_package
from child import BROKEN, Ended, in_child, raise_on_signals
from covered import OPTIONS, PACKAGES, WHOLE, Tests, environment, recorded, suited
from inplace import Judge, on_disk
from rich.console import Console
from rich.progress import track
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out" / "mutants"
KILLED, SURVIVED, TIMEOUT, UNTESTED, SAME = "killed", "survived", "timeout", "untested", "same"
SPARE_S, TIMES, WALL_S, MEMORY_B = 8.0, 3.0, 900.0, 12 * 2**30
BELOW = {"core": (), "measurement": ("core",), "tradeoff": ("core", "measurement", "prediction"),
         "decision": ("core", "measurement", "prediction")}  # fmt: skip
BELOW |= {"prediction": ("core", "measurement"), "simulation": BELOW["decision"],
          "training": (*BELOW["decision"], "simulation")}  # fmt: skip
HEAVY = {"training": ("torch", "torch._dynamo", "gymnasium", "safetensors.torch", "cma"),
         "prediction/iteration_time": ("torch", "torch._dynamo"),
         "prediction/step_cost": ("torch", "torch._dynamo"),
         "measurement/graphs": ("torch.export", "torch._dynamo", "jax")}  # fmt: skip
"""Libraries that take seconds to load, and of which the tests of one part alone have need."""
console = Console(stderr=True)


def sample(number: int, seed: int, packages: Sequence[str]) -> list[Change]:
    """``number`` changes, shared among files by how much there is to change, at least one each."""
    files = [found for p in packages for _, found in of_package(ROOT, p)]
    total = sum(map(len, files))
    shares = [max(1.0, number * len(found) / total) for found in files]
    scale = (number - len(files)) / max(sum(shares) - len(files), 1e-9)
    exact = [1 + (share - 1) * max(scale, 0.0) for share in shares]
    counts = [int(x) for x in exact]
    rest = sorted(range(len(files)), key=lambda i: counts[i] - exact[i])
    for i in rest[: max(0, number - sum(counts))]:
        counts[i] += 1
    chosen = []
    for found, count in zip(files, counts, strict=True):
        draw = random.Random(f"{seed}:{found[0].file}")
        chosen += draw.sample(found, min(count, len(found)))
    random.Random(seed).shuffle(chosen)  # so that a run cut short is a sample too
    return sorted(chosen, key=lambda c: PACKAGES.index(_package(c)))


def tried(change: Change, copy: Path, tests: Tests, tick: int) -> dict[str, object]:
    """The change made in the copy, tested, and taken back."""
    parts = [part for part in suited(tests, change.file, change.function) if part]
    if not parts:
        return {"status": UNTESTED}
    with on_disk(change, copy, tick):
        for part in parts:
            found = _result(copy, part, sum(tests[t][0] for t in part))
            if found["status"] != SURVIVED:
                break
        return found


def in_place(changes: Sequence[Change], copy: Path, tests: Tests, path: Path) -> int:
    """Judge in this process what can be so, and write it down."""

    def parts(change: Change) -> Iterator[tuple[list[str], float]]:
        for part in suited(tests, change.file, change.function):
            if part:
                yield part, sum(tests[t][0] for t in part)

    def write(change: Change, code: int, number: int, by: str) -> None:
        status = TIMEOUT if code < 0 else KILLED if code else SURVIVED
        row = asdict(change) | {"status": status, "tests": number, "by": by[:200]}
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    os.chdir(copy)
    os.environ.update(environment(copy))
    files = list(dict.fromkeys(t.partition("::")[0] for t in tests))
    judge = Judge(copy, changes, parts, _allowed_s, write)
    return int(pytest.main([*OPTIONS, "--tb=no", *files], plugins=[judge]))


def _allowed_s(usual_s: float) -> int:
    return int(SPARE_S + TIMES * usual_s)


def _result(copy: Path, chosen: Sequence[str], usual_s: float) -> dict[str, object]:
    """The tests in a child, which has the large libraries loaded already."""
    (copy / "list.json").write_text(json.dumps(chosen), encoding="utf-8")
    files = list(dict.fromkeys(t.partition("::")[0] for t in chosen))
    code = in_child(partial(_tested, copy, files, _allowed_s(usual_s)), WALL_S)
    said = (copy / "said.txt").read_text(encoding="utf-8", errors="replace").splitlines()
    last = [x.strip() for x in said if x.startswith(("FAILED", "ERROR"))]
    unloaded = any("while loading conftest" in x for x in said)  # unchanged, all could be loaded
    if code in (BROKEN, 3, 4) and not unloaded:  # the surroundings say nothing of the change
        raise RuntimeError("\n".join(said[-20:]))
    status = TIMEOUT if code < 0 else {0: SURVIVED, 5: UNTESTED}.get(code, KILLED)
    return {"status": status, "tests": len(chosen), "by": last[0][:200] if last else f"exit {code}"}


def _tested(copy: Path, files: Sequence[str], allowed_s: int) -> int:
    """The tests in this process, within so many CPU seconds; the exit code of pytest."""
    resource.setrlimit(resource.RLIMIT_CPU, (allowed_s, allowed_s + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_B, MEMORY_B))
    with (copy / "said.txt").open("wb") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    os.chdir(copy)
    os.environ.update(environment(copy, MUTANTS_LIST=str(copy / "list.json")))
    sys.dont_write_bytecode = False
    try:
        return int(pytest.main([*OPTIONS, "-x", "--tb=no", "-rfE", *files]))
    except (pytest.PytestUnraisableExceptionWarning, ExceptionGroup):
        return 1  # the change leaves something open, which pytest says at its very end


def load_below(package: str, copy: Path) -> None:
    """Load what the package stands on, once for all children: it cannot see what is changed."""
    sys.path[:] = [str(copy / "src"), *(p for p in sys.path if p != str(copy / "src"))]
    for floor in BELOW[package]:
        for path in sorted((copy / "src" / "rheostat" / floor).rglob("*.py")):
            name = ".".join(path.relative_to(copy / "src").with_suffix("").parts)
            with contextlib.suppress(ModuleNotFoundError):  # of a library that is optional
                importlib.import_module(name.removesuffix(".__init__"))


def copied() -> Path:
    """A copy of the tree, compiled code included."""
    copy = Path(tempfile.mkdtemp(prefix="mutants-"))
    left = shutil.ignore_patterns(".git", ".venv", "out", "*_cache", ".hypothesis")
    shutil.copytree(ROOT, copy, ignore=left, dirs_exist_ok=True)
    return copy


def equivalents() -> dict[str, str]:
    """Identifier of a change that nothing could notice, and why."""
    listed = tomllib.loads((Path(__file__).parent / "equivalent.toml").read_text(encoding="utf-8"))
    return {entry["change"]: entry["why"] for entry in listed["equivalent"]}


def results(path: Path) -> dict[str, dict[str, object]]:
    """Identifier to the last result."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {row["ident"]: row for row in map(json.loads, lines)}


def run(
    wanted: Sequence[Change],
    path: Path,
    packages: Sequence[str],
    only: Sequence[str],
    *,
    again: bool,
) -> None:
    """Test what has no result yet; with ``again`` also what survived."""
    known = results(path)
    keep = {KILLED, TIMEOUT} if again else {KILLED, TIMEOUT, SURVIVED, UNTESTED}
    same = equivalents()
    left = [c for c in wanted if c.ident not in same
            and known.get(c.ident, {}).get("status") not in keep]  # fmt: skip
    if not left:
        return
    for library in chain.from_iterable(HEAVY.get(part, ()) for part in packages):
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(library)
    tests = recorded(ROOT, OUT / "tests.json", packages, only)
    copy = copied()
    try:
        for package, some in groupby(left, key=_package):
            load_below(package, copy)
            if code := in_child(partial(in_place, [*some], copy, tests, path), math.inf):
                raise RuntimeError(f"pytest ended with {code}")
        left = [c for c in left if results(path).get(c.ident, {}).get("status") not in keep]
        with path.open("a", encoding="utf-8") as file:
            for tick, change in enumerate(track(left, "mutants", console=console)):
                row = asdict(change) | tried(change, copy, tests, tick)
                file.write(json.dumps(row) + "\n")
                file.flush()
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _package(change: Change) -> str:
    return change.file.split("/")[2]


def wilson(killed: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """Interval of 95 % of a share.

    >>> [round(x, 3) for x in wilson(90, 100)]
    [0.826, 0.945]
    """
    if not n:
        return math.nan, math.nan
    middle, spread = (killed + z * z / 2), z * math.sqrt(killed * (n - killed) / n + z * z / 4)
    return (middle - spread) / (n + z * z), (middle + spread) / (n + z * z)


def report(wanted: Sequence[Change], path: Path) -> float:
    """Print a row per package and what survived; return the share killed of all."""
    known, same = results(path), equivalents()
    status = {c.ident: SAME if c.ident in same else known.get(c.ident, {}).get("status", "left")
              for c in wanted}  # fmt: skip
    out = Console(width=None if sys.stdout.isatty() else 120)
    table = Table("package", "mutants", "killed", "timeout", "survived", "untested", "same", "left",
                  "share killed", "95 %")  # fmt: skip
    total: Counter[str] = Counter()
    for package in PACKAGES:
        inside = f"src/rheostat/{package}/"
        count = Counter(status[c.ident] for c in wanted if c.file.startswith(inside))
        total += count
        if count:
            table.add_row(package, *_cells(count))
    table.add_row("all", *_cells(total))
    for c in wanted:
        if status[c.ident] in (SURVIVED, UNTESTED):
            out.print(f"{c.file}:{c.line} {status[c.ident]}: {c.ident}", markup=False,
                      highlight=False, soft_wrap=True)  # fmt: skip
    out.print(table)
    return _share(total)[0]


def _share(count: Counter[str]) -> tuple[float, float, float]:
    killed = count[KILLED] + count[TIMEOUT]
    n = killed + count[SURVIVED] + count[UNTESTED]
    return (killed / n if n else math.nan, *wilson(killed, n))


def _cells(count: Counter[str]) -> Iterator[str]:
    yield str(sum(count.values()))
    for name in (KILLED, TIMEOUT, SURVIVED, UNTESTED, SAME, "left"):
        yield str(count[name])
    share, low, high = _share(count)
    yield f"{100 * share:.1f} %"
    yield f"{100 * low:.0f} to {100 * high:.0f} %"


def main() -> int:
    """0 if at least the share asked for is killed."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--number", type=int, default=400)
    which = "packages, or parts of them: prediction/effects, decision/trials"
    asked.add_argument("--packages", default=",".join(WHOLE), help=which)
    asked.add_argument("--tests", default="", help="these test files alone: a share of at least")
    asked.add_argument("--again", action="store_true", help="test again what survived")
    asked.add_argument("--report", action="store_true", help="only what is known so far")
    asked.add_argument("--least", type=float, default=0.9, help="share to be killed")
    given = asked.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / f"seed{given.seed}.jsonl"
    packages = given.packages.split(",")
    wanted = sample(given.number, given.seed, packages)
    if not given.report:
        raise_on_signals()
        try:
            only = [name for name in given.tests.split(",") if name]
            run(wanted, path, packages, only, again=given.again)
        except Ended as end:
            console.print(str(end))
            return end.exit_code
    return 0 if report(wanted, path) >= given.least else 1


if __name__ == "__main__":
    sys.exit(main())
