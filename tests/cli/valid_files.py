"""A folder with one valid file of every kind, and calls of the released command on its files."""

from __future__ import annotations

import contextlib
import functools
import io
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import malformed as m
import numpy as np
import pytest
import typer

from rheostat.cli import run

CODES = {0, 1, 2, 3}
NEVER_OPENED: set[str] = set()


def _audit(event: str, args: tuple[object, ...]) -> None:
    """A pipe waits for ever and /dev/zero never ends: opening one is the failure itself."""
    if event == "open" and isinstance(args[0], str) and args[0] in NEVER_OPENED:
        raise AssertionError(f"opened {args[0]}")


sys.addaudithook(_audit)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The tree of commands is made once, which takes most of a short call's time."""
    monkeypatch.setattr(typer.main, "get_command", functools.cache(typer.main.get_command))
    yield
    NEVER_OPENED.clear()


def told(call: str, home: Path, file: Path | str = "") -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of a call with names of files filled in."""
    words = [re.sub(r"@([\w.]+)", lambda k: str(home / k[1]), w) for w in shlex.split(call)]
    return called([w.replace("FILE", str(file)) for w in words])


def called(words: list[str]) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of a call in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(words)
    return code, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one valid file of every kind, made once."""
    return made_home(tmp_path_factory.getbasetemp())


@functools.cache
def made_home(base: Path) -> Path:
    """The folder, for all modules of a session."""
    from rheostat.core.vocabulary import VOCABULARY
    from rheostat.decision.actuate.actuators import write_tree
    from rheostat.measurement.network.port_series import PortSeries, write_ports
    from rheostat.measurement.read import read

    home = base / "valid"
    home.mkdir()
    for name, text in m.TEXTS.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    jobs = read(home / "trace.swf")
    jobs = jobs.with_columns([VOCABULARY["power_w"]], power_w=100.0 * jobs.numpy("cores"))
    jobs.write_parquet(home / "watts.parquet")
    write_tree(home / "panel", "n1", cpu_w=150.0, gpu_w=150.0)
    (home / "folder").mkdir()
    ports = PortSeries(0.1 * np.arange(1.0, 4.0), np.ones((3, 6, 4, 5)))
    write_ports(home / "ports.npz", ports)
    for call in m.MAKING:
        code, _, err = told(call, home)
        assert code == 0, f"{call}: {err}"
    return home


def clear(home: Path) -> None:
    """Nothing made yet, and the caps as they stood before any call set them."""
    from rheostat.decision.actuate.actuators import write_tree

    write_tree(home / "panel", "n1", cpu_w=150.0, gpu_w=150.0)
    made = home / "made"
    if made.is_dir() and not made.is_symlink():
        shutil.rmtree(made)
    made.unlink(missing_ok=True)


def wrong_in(code: int, out: str, err: str) -> Iterator[str]:
    if code not in CODES:
        yield f"exit code {code}"
    if "Traceback" in err:
        yield "prints a traceback"
    if code and out.strip() and code != 3 and " is rejected by " not in err:  # a verdict is both
        yield "a result and an error"
    if code == 1:
        lines = [x for x in err.splitlines() if x.startswith("rheostat: ")]
        if len(lines) != 1 or not err.rstrip().endswith(lines[0].rstrip()):
            yield f"expected one message at the end, got {err[-300:]!r}"
        elif len(lines[0]) > 5000:
            yield f"a message of {len(lines[0]):,} letters"
