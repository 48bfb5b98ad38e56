"""``rheostat doctor``: what this machine has, and what is missing and how to get it."""

from __future__ import annotations

import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rheostat.cli.options import Json

BASE = (
    "numpy",
    "scipy",
    "polars",
    "pyarrow",
    "scikit-learn",
    "skops",
    "moocore",
    "plotly",
    "typer",
)
EXTRAS = {
    "trees": ("xgboost", "lightgbm"),
    "bo": ("torch", "gpytorch", "botorch", "pymoo"),
    "deep": ("torch", "pytorch_tabnet", "safetensors"),
    "explain": ("shap",),
    "scale": ("dask", "distributed", "dask_jobqueue"),
    "exact": ("ortools",),
    "meters": ("pynvml",),
    "zeus": ("zeus",),
}
RAPL = Path("/sys/class/powercap")


def doctor(json: Json = False) -> None:
    """Say which versions, extras, meters and folders this machine has, and why not."""
    from rheostat.cli.output import put_json, put_report
    from rheostat.core.report import Report

    facts = {
        "versions": versions(),
        "extras": extras(),
        "meters": meters(),
        "folders": folders(),
        "precedence": precedence(),
    }
    if json:
        put_json("rheostat.doctor/1", facts)
    else:
        put_report(Report("", _sections(facts), facts))


def versions() -> dict[str, str | None]:
    """Versions of this package, Python and the base libraries; None where one is missing."""
    own = {"rheostat": _version("rheostat"), "python": platform.python_version()}
    return {**own, "system": f"{platform.system()} {platform.machine()}"} | {
        n: _version(n) for n in BASE
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def extras() -> dict[str, dict[str, Any]]:
    """Each extra: whether it is complete, what is missing, and the command that installs it."""
    found = {}
    for name, modules in EXTRAS.items():
        missing = [m for m in modules if find_spec(m) is None]
        command = f"pip install 'rheostat[{name}]'" if missing else None
        found[name] = {"present": not missing, "missing": missing, "install": command}
    return found


def meters() -> dict[str, dict[str, Any]]:
    """Each source of power or energy: whether it can be read here, and if not why."""
    from rheostat.measure.meters import meters as every
    from rheostat.measure.meters.perf import perf_why

    found = {m.name: m.why() for m in every()} | {"sacct": _slurm(), "perf": perf_why()}
    return {name: {"available": not why, "why": why or None} for name, why in found.items()}


def rapl(root: Path) -> str:
    """Why RAPL's energy counters cannot be read; empty if they can."""
    from rheostat.measure.meters.rapl import Rapl

    return Rapl(root).why()


def _slurm() -> str:
    if shutil.which("sacct") is None:
        return "sacct is not in PATH: export the log on a login node and give the file to read"
    return ""


def folders() -> dict[str, str]:
    """Where things are kept (XDG)."""
    from platformdirs import PlatformDirs

    place = PlatformDirs("rheostat", appauthor=False)
    return {
        "config": place.user_config_dir,
        "cache": place.user_cache_dir,
        "data": place.user_data_dir,
        "python": sys.prefix,
    }


def precedence() -> list[str]:
    """Where the value of an option comes from, the strongest first."""
    from rheostat.cli.settings import files

    found = [f"{p} ({'found' if p.is_file() else 'not there'})" for p in files().values()]
    return ["flag", "variable RHEOSTAT_COMMAND_OPTION", *reversed(found)]


def _sections(facts: dict[str, Any]) -> list[Any]:
    from rheostat.core.report import Grid, Section

    had = {True: "yes", False: "no"}
    kits = tuple(
        (n, had[e["present"]], ", ".join(e["missing"]), e["install"] or "")
        for n, e in facts["extras"].items()
    )
    reach = tuple((n, had[m["available"]], m["why"] or "") for n, m in facts["meters"].items())
    lines = [f"{n} {v or 'missing'}" for n, v in facts["versions"].items()]
    places = [f"{n:7} {p}" for n, p in facts["folders"].items()]
    return [
        Section("versions", tuple(", ".join(lines[i : i + 3]) for i in range(0, len(lines), 3))),
        Section("extras", (), Grid(("extra", "present", "missing", "install"), kits)),
        Section("meters", (), Grid(("meter", "here", "why not"), reach)),
        Section("folders", tuple(places)),
        Section("settings", ("The first that says something counts:", *facts["precedence"])),
    ]
