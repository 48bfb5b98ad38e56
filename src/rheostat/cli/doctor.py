"""``rheostat doctor``: what this machine has, and what is missing and how to get it."""

from __future__ import annotations

import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli.options import Json

if TYPE_CHECKING:
    from packaging.requirements import Requirement

RAPL = Path("/sys/class/powercap")


def doctor(
    compile_: Annotated[
        bool,
        typer.Option(
            "--compile",
            help="Compile the simulator now, so that its first use need not; a minute of CPU time.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Say which versions, extras, meters and folders this machine has, and why not."""
    from rheostat.cli.output import put_json, put_report
    from rheostat.core.report import Report

    if compile_:
        facts = compiled()
        if json:
            put_json("rheostat.compile/1", facts)
        return
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


def compiled() -> dict[str, Any]:
    """Compile what is not compiled yet; where the machine code lies and what making it took."""
    from time import process_time

    from rheostat._machine_code import can_keep
    from rheostat.cli.output import COMPILING, tell
    from rheostat.cli.progress import watched
    from rheostat.questions.compile_ahead import compile_ahead
    from rheostat.simulation.engine.jit import FOLDER

    begun, before = process_time(), COMPILING.functions
    COMPILING.muted = True  # the bar below says it
    with watched("compiling") as progress:
        compile_ahead(progress)
    COMPILING.muted = False
    spent, functions = process_time() - begun, COMPILING.functions - before
    where = FOLDER if can_keep(FOLDER) else None
    tell(f"{functions} functions compiled in {spent:.0f} CPU-seconds, kept in {where or 'memory'}")
    return {"functions": functions, "cpu_s": spent, "folder": where}


def versions() -> dict[str, str | None]:
    """Versions of this package, Python and the base libraries; None where one is missing."""
    own = {"rheostat": _version("rheostat"), "python": platform.python_version()}
    return {**own, "system": f"{platform.system()} {platform.machine()}"} | {
        r.name: _version(r.name) for r in _requirements() if not r.marker
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def extras() -> dict[str, dict[str, Any]]:
    """Each extra: whether it is complete, what is missing, and the command that installs it.

    The package's own metadata says which extras there are and what they need.
    """
    from rheostat._extras import install_command

    state = {}
    for name, needs in required().items():
        missing = list(dict.fromkeys(n for n in map(_lacking, needs) if n))
        command = install_command(name) if missing else None
        state[name] = {"present": not missing, "missing": missing, "install": command}
    return state


def required() -> dict[str, list[Requirement]]:
    """What each extra needs on this system, without what the base has; empty: not installed."""
    try:
        names = metadata("rheostat").get_all("Provides-Extra") or []
    except PackageNotFoundError:
        return {}
    every = [r for r in _requirements() if r.marker]
    needs = {n: [r for r in every if r.marker.evaluate({"extra": n})] for n in names}  # type: ignore[union-attr]

    def spread(name: str) -> list[Requirement]:
        parts = [spread(e) for r in needs[name] if r.name == "rheostat" for e in sorted(r.extras)]
        return [r for r in needs[name] if r.name != "rheostat"] + [r for p in parts for r in p]

    return {name: spread(name) for name in names}


def _requirements() -> list[Requirement]:
    """All that the package's metadata asks for; nothing where it is run without being installed."""
    from packaging.requirements import Requirement

    try:
        return [Requirement(r) for r in requires("rheostat") or []]
    except PackageNotFoundError:
        return []


def _lacking(need: Requirement) -> str:
    """What is missing of a requirement; empty if it is met."""
    here = _version(need.name)
    if here is None:
        return need.name
    return "" if here in need.specifier else f"{need.name} {need.specifier} (here: {here})"


def meters() -> dict[str, dict[str, Any]]:
    """Each source of power or energy: whether it can be read here, and if not why."""
    from rheostat.measurement.meters import meters as every
    from rheostat.measurement.meters.perf_counting import perf_why

    reasons = {m.name: m.why() for m in every()} | {"sacct": _slurm(), "perf": perf_why()}
    return {name: {"available": not why, "why": why or None} for name, why in reasons.items()}


def rapl(root: Path) -> str:
    """Why RAPL's energy counters cannot be read; empty if they can."""
    from rheostat.measurement.meters.rapl import Rapl

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
    from rheostat.cli.config import files

    sources = [f"{p} ({'found' if p.is_file() else 'not there'})" for p in files().values()]
    return ["flag", "variable RHEOSTAT_COMMAND_OPTION", *reversed(sources)]


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
