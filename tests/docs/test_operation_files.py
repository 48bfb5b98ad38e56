"""Units for systemd and the container's recipe: they are valid, and the commands in them exist."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer

from rheostat.cli.app import app

DOCS = Path(__file__).parents[2] / "docs"
UNITS = sorted((DOCS / "systemd").iterdir())
SERVICES = [u for u in UNITS if u.suffix == ".service"]
CONTAINERFILE = DOCS / "container" / "Containerfile"


def parsed(words: list[str]) -> None:
    """Go down the command tree with the words as a shell would give them; nothing is run."""
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        assert words[0] in command.commands
        command, words = command.commands[words[0]], words[1:]
    given = {w for w in words if w.startswith("--")}
    assert given <= {o for p in command.params for o in p.opts}
    assert words[0].startswith("--") or any(p.param_type_name == "argument" for p in command.params)


@pytest.mark.parametrize("unit", SERVICES, ids=lambda u: u.name)
def test_what_a_unit_starts_is_a_command_of_this_release(unit: Path) -> None:
    (line,) = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.M)
    program, *words = shlex.split(line)
    assert Path(program).name == "rheostat"
    parsed(words)


def test_what_the_container_starts_is_a_command_of_this_release() -> None:
    text = CONTAINERFILE.read_text()
    (start,) = re.findall(r"^ENTRYPOINT (.*)$", text, re.M)
    (words,) = re.findall(r"^CMD (.*)$", text, re.M)
    assert json.loads(start) == ["rheostat"]
    parsed(json.loads(words))
    assert re.search(r"^USER (?!root)\w", text, re.M), "nothing in it needs root"


def test_every_timer_has_its_service() -> None:
    timers = {u.stem for u in UNITS if u.suffix == ".timer"}
    assert timers
    assert timers <= {u.stem for u in SERVICES}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here")
def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path) -> None:
    """The program and the user, which a site makes, are replaced by ones that exist."""
    for unit in UNITS:
        text = unit.read_text().replace("/opt/rheostat/bin/rheostat", "/bin/true")
        (tmp_path / unit.name).write_text(text.replace("User=rheostat", "User=daemon"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *map(str, sorted(tmp_path.iterdir()))],
        check=False, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    ours = [line for line in done.stderr.splitlines() if "rheostat-" in line]
    assert (done.returncode, ours) == (0, [])
