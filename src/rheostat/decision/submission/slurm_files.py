"""The files of an installation: what is written into Slurm's folder, and how it is taken out again.

Nothing of the site's own is changed: a file of a name of ours that is not ours stops the
installation, and ``slurm.conf`` gets one line that an administrator adds and removes.  A list with
check sums says what was written; what has been changed since is not removed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from rheostat.core.storage.files import file_digest, read_json, replace_file
from rheostat.errors import DataError

LISTED = "rheostat-installed.json"
SETTINGS = "rheostat.conf"
ADVICE = "rheostat-advice"
INCLUDE = f"include {SETTINGS}"
MODES = ("record", "suggest", "set", "trial")
OWN_LINES = ("CliFilterPlugins", "JobSubmitPlugins", "Prolog", "Epilog")
SAFE = re.compile(r"/[\w./+-]*")
NAME = re.compile(r"\w[\w.-]*")


def submission_files(etc: str, mode: str, advice: bytes, share: float = 0.5) -> dict[str, bytes]:
    """The files by name, for Slurm's folder ``etc`` as the cluster sees it."""
    if mode not in MODES:
        raise DataError("--mode", [f"expected {', '.join(MODES)}, got {mode!r}"])
    if not SAFE.fullmatch(etc) or ".." in etc:
        problem = f"expected an absolute path of letters, digits and ./_+-, got {etc!r}"
        raise DataError("--etc", [problem])
    here = resources.files("rheostat.decision.submission")
    names = {"@MODE@": mode, "@ETC@": etc, "@ADVICE@": f"{etc.rstrip('/')}/{ADVICE}",
             "@SHARE@": f"{share:g}"}  # fmt: skip
    names["@LOOKUP@"] = here.joinpath("lookup.lua").read_text()
    files = {}
    for name in ("cli_filter.lua", "job_submit.lua"):
        text = here.joinpath(name).read_text()
        for word, value in names.items():
            text = text.replace(word, value)
        files[name] = text.encode()
    lines = [f"# Written by rheostat site install (mode {mode}); slurm.conf has: {INCLUDE}",
             f"# To take it out: that line first, then rheostat site uninstall --etc {etc}",
             "CliFilterPlugins=lua", "JobSubmitPlugins=lua"]  # fmt: skip
    whole = advice + _way_out(etc)  # behind the last line, where no slot leads
    return {**files, SETTINGS: ("\n".join(lines) + "\n").encode(), ADVICE: whole}


def _way_out(etc: str) -> bytes:
    return f"# To take it out: rheostat site uninstall --etc {etc}\n".encode()


def with_caps(files: Mapping[str, bytes], etc: str, hooks: Mapping[str, str]) -> dict[str, bytes]:
    """The files, and a prolog and an epilog that apply and restore the caps of a plan."""
    lines = [
        f"{kind}={etc.rstrip('/')}/rheostat-{kind.lower()}.sh" for kind in ("Prolog", "Epilog")
    ]
    settings = files[SETTINGS] + ("\n".join(lines) + "\n").encode()
    own = {}
    for name, text in hooks.items():
        first, *rest = text.encode().splitlines(keepends=True)
        own[f"rheostat-{name}"] = b"".join([first, _way_out(etc), *rest])
    return {**files, **own, SETTINGS: settings}


def with_priority(files: Mapping[str, bytes], weights: str) -> dict[str, bytes]:
    """The files, and weights of the queue's order among the settings."""
    return {**files, SETTINGS: files[SETTINGS] + f"{weights}\n".encode()}


@dataclass(frozen=True)
class FileChange:
    """A file of the installation: what would be, or was, done with it."""

    path: str
    change: str
    size_b: int


def install(folder: Path, files: Mapping[str, bytes], *, dry_run: bool) -> list[FileChange]:
    """Write the files; with ``dry_run`` say what would be written.

    Raises
    ------
    DataError
        Files of the site's own stand there, or ``slurm.conf`` sets what ours sets; all at once.
    """
    ours = _listed(folder)
    problems = [
        f"{folder / name} is there and not ours: call ours from it, or move it away"
        for name in files
        if (folder / name).exists() and ours.get(name) != file_digest(folder / name)
    ]
    problems += _settings_of_the_site(folder, files[SETTINGS].decode())
    if problems:
        raise DataError(str(folder), problems)
    changes = []
    for name, content in files.items():
        there = (folder / name).read_bytes() if (folder / name).exists() else None
        change = "unchanged" if there == content else "new" if there is None else "replaced"
        changes.append(FileChange(str(folder / name), change, len(content)))
    if not dry_run:
        # The list first: what a killed installation has written can be taken out, too.
        sums = {name: _digest(content) for name, content in files.items()}
        facts = {"schema": "rheostat.installed/1", "before": ours, "files": sums}
        text = json.dumps(facts, indent=1)
        replace_file(folder / LISTED, f"{text}\n")
        for name, content in files.items():
            replace_file(folder / name, content)
            (folder / name).chmod(0o755 if name.endswith(".sh") else 0o644)
    return changes


def uninstall(folder: Path, *, dry_run: bool) -> list[FileChange]:
    """Remove what was written and is as it was written.

    Raises
    ------
    DataError
        Nothing is installed there, or ``slurm.conf`` still names our settings: slurmctld would not
        start without them.
    """
    if not (folder / LISTED).exists():
        raise DataError(str(folder), ["nothing is installed there: no " + LISTED])
    if any(line.strip().lower() == INCLUDE for line in slurm_conf(folder)):
        problem = f"slurm.conf has the line {INCLUDE!r}: remove it, scontrol reconfigure, and again"
        raise DataError(str(folder), [problem])
    sums = _sums(folder)
    changes = []
    for name in dict.fromkeys(n for each in sums for n in each):
        path = folder / name
        if not path.is_file():
            continue
        own = file_digest(path) in [each.get(name) for each in sums]
        changes.append(FileChange(str(path), "removed" if own else "left: changed since",
                                  path.stat().st_size))  # fmt: skip
        if own and not dry_run:
            path.unlink()
    if not dry_run:
        (folder / LISTED).unlink()
    return changes


def _listed(folder: Path) -> dict[str, Any]:
    """Check sums of what is ours, a killed installation's among them."""
    if not (folder / LISTED).exists():
        return {}
    sums = _sums(folder)
    there = {n: file_digest(folder / n) for n in sums[0] if (folder / n).is_file()}
    return {n: d for n, d in there.items() if d in [each.get(n) for each in sums]}


def _sums(folder: Path) -> list[dict[str, str]]:
    """Names of our files with check sums, now and before: files of this folder alone."""
    facts = read_json(folder / LISTED)
    sums: list[Any] = []
    if isinstance(facts, dict):
        sums = [facts.get(k) for k in ("files", "before")]
    every = [pair for each in sums if isinstance(each, dict) for pair in each.items()]
    good = all(NAME.fullmatch(n) and isinstance(d, str) for n, d in every)
    if len(sums) < 2 or not all(isinstance(each, dict) for each in sums) or not good:
        raise DataError(str(folder / LISTED), ["expected names and check sums of files beside it"])
    return sums


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def slurm_conf(folder: Path) -> list[str]:
    """Lines of the site's own settings; none where it has no such file there."""
    path = folder / "slurm.conf"
    return path.read_text(errors="replace").splitlines() if path.is_file() else []


def _settings_of_the_site(folder: Path, ours: str) -> list[str]:
    """Lines of ``slurm.conf`` that set what our settings set: Slurm would take the last one."""
    names = "|".join(n for n in OWN_LINES if f"{n}=" in ours)
    lines = [x.strip() for x in slurm_conf(folder) if re.match(rf"\s*({names})\s*=", x, re.I)]
    hint = "name lua there as well and leave ours out, or take the line out"
    return [f"slurm.conf sets {line!r}: {hint}" for line in lines]
