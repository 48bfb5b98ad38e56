"""`doctor`: what this machine has, and what is missing and how to get it."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rheostat._extras import install_command
from rheostat.core.report import Grid, Report, Section
from rheostat.core.storage.settings_files import settings_files
from rheostat.measurement.meters import meters as every_meter
from rheostat.measurement.meters.perf_counting import perf_why
from rheostat.measurement.meters.rapl import Rapl
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question

if TYPE_CHECKING:
    from packaging.requirements import Requirement

HAD = {True: "yes", False: "no"}


@dataclass(frozen=True, kw_only=True, repr=False)
class DoctorAnswer(Answer):
    """What this machine has.

    Parameters
    ----------
    versions : mapping
        Of this package, Python and the base libraries; None where one is missing.
    extras : mapping
        Each extra: whether it is complete, what is missing, and the command that installs it.
    meters : mapping
        Each source of power or energy: whether it can be read, and if not why.
    folders : mapping
        Where things are kept.
    precedence : tuple of str
        Where the value of an option comes from, the strongest first.
    """

    schema: ClassVar[str] = "rheostat.doctor/1"
    versions: Mapping[str, str | None]
    extras: Mapping[str, Mapping[str, Any]]
    meters: Mapping[str, Mapping[str, Any]]
    folders: Mapping[str, str]
    precedence: tuple[str, ...]

    def report(self) -> Report:
        """A section each."""
        kits = tuple(
            (n, HAD[e["present"]], ", ".join(e["missing"]), e["install"] or "")
            for n, e in self.extras.items()
        )
        reach = tuple((n, HAD[m["available"]], m["why"] or "") for n, m in self.meters.items())
        lines = [f"{n} {v or 'missing'}" for n, v in self.versions.items()]
        rows = tuple(", ".join(lines[i : i + 3]) for i in range(0, len(lines), 3))
        places = tuple(f"{n:7} {p}" for n, p in self.folders.items())
        order = ("The first that says something counts:", *self.precedence)
        return Report("", [
            Section("versions", rows),
            Section("extras", (), Grid(("extra", "present", "missing", "install"), kits)),
            Section("meters", (), Grid(("meter", "here", "why not"), reach)),
            Section("folders", places),
            Section("settings", order),
        ], self.facts())  # fmt: skip

    def facts(self) -> Mapping[str, Any]:
        """All of it."""
        return {"versions": self.versions, "extras": self.extras, "meters": self.meters,
                "folders": self.folders, "precedence": list(self.precedence)}  # fmt: skip


@question
def doctor() -> DoctorAnswer:
    """Say which versions, extras, meters and folders this machine has, and why not.

    Returns
    -------
    DoctorAnswer
        With ``versions``, ``extras``, ``meters``, ``folders`` and ``precedence``.

    Examples
    --------
    >>> import rheostat as rh
    >>> sorted(rh.doctor().folders)
    ['cache', 'config', 'data', 'python']
    """
    return DoctorAnswer(versions=_versions(), extras=_extras(), meters=_meters(),
                        folders=_folders(), precedence=_precedence())  # fmt: skip


def _versions() -> dict[str, str | None]:
    own = {"rheostat": _version("rheostat"), "python": platform.python_version()}
    return {**own, "system": f"{platform.system()} {platform.machine()}"} | {
        r.name: _version(r.name) for r in _requirements() if not r.marker
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _extras() -> dict[str, dict[str, Any]]:
    """The package's own metadata says which extras there are and what they need."""
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


def _meters() -> dict[str, dict[str, Any]]:
    reasons = {m.name: m.why() for m in every_meter()} | {"sacct": _slurm(), "perf": perf_why()}
    return {name: {"available": not why, "why": why or None} for name, why in reasons.items()}


def rapl(root: Path) -> str:
    """Why RAPL's energy counters cannot be read; empty if they can."""
    return Rapl(root).why()


def _slurm() -> str:
    if shutil.which("sacct") is None:
        return "sacct is not in PATH: export the log on a login node and give the file to read"
    return ""


def _folders() -> dict[str, str]:
    """By the XDG convention."""
    from platformdirs import PlatformDirs

    place = PlatformDirs("rheostat", appauthor=False)
    return {"config": place.user_config_dir, "cache": place.user_cache_dir,
            "data": place.user_data_dir, "python": sys.prefix}  # fmt: skip


def _precedence() -> tuple[str, ...]:
    files = [f"{p} ({'found' if p.is_file() else 'not there'})" for p in settings_files().values()]
    return ("flag", "variable RHEOSTAT_COMMAND_OPTION", *reversed(files))
