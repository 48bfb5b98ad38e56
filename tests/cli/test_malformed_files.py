"""Whatever a file holds, a command that is given it ends with a documented code and one message."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import random
import re
import shlex
import shutil
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

sys.path.insert(0, str(Path(__file__).parent))
import malformed as m

from rheostat.cli import run

pytestmark = pytest.mark.xdist_group("files")
CODES = {0, 1, 2, 3}
SAMPLE = 3
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
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([w.replace("FILE", str(file)) for w in words])
    return code, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one valid file of every kind."""
    from rheostat.core.vocabulary import VOCABULARY
    from rheostat.decision.actuate.actuators import write_tree
    from rheostat.measurement.read import read

    home = tmp_path_factory.mktemp("valid")
    for name, text in m.TEXTS.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    jobs = read(home / "trace.swf")
    jobs = jobs.with_columns([VOCABULARY["power_w"]], power_w=100.0 * jobs.numpy("cores"))
    jobs.write_parquet(home / "watts.parquet")
    write_tree(home / "panel", "n1", cpu_w=150.0, gpu_w=150.0)
    (home / "folder").mkdir()
    for call in m.MAKING:
        assert told(call, home)[0] == 0, call
    return home


def test_every_argument_that_takes_a_file_has_a_call() -> None:
    """A new command, or a new option of one, cannot be forgotten: the tree itself is asked."""
    found = {s.id for s in m.slots() if m.takes_a_file(s)}
    named = {" ".join(name.split(" (")[0].split()) for name in m.CALLS}
    assert found - named == set(), "say in malformed.CALLS how to call it with a file"
    assert named - found == {"rheostat.toml"}, "no command takes these"


def test_a_file_that_is_written_is_told_from_one_that_is_read() -> None:
    """An option that only writes says so; all that do are tried in the test below."""
    written = {s.id for s in m.slots() if s.is_path and s.written}
    assert written == set(m.WRITTEN)


@pytest.mark.parametrize("name", m.CALLS)
def test_the_valid_call_is_valid(home: Path, name: str) -> None:
    """So that what goes wrong below goes wrong by the file."""
    base, call = m.CALLS[name]
    if m.lacking(name):
        pytest.skip(m.lacking(name))
    _clear(home)
    if base:
        shutil.copy(home / base, home / f"copy-{base}")
        assert told(call, home, home / f"copy-{base}")[0] == 0


def _clear(home: Path) -> None:
    """Nothing made yet, and the caps as they stood before any call set them."""
    from rheostat.decision.actuate.actuators import write_tree

    write_tree(home / "panel", "n1", cpu_w=150.0, gpu_w=150.0)
    made = home / "made"
    if made.is_dir() and not made.is_symlink():
        shutil.rmtree(made)
    made.unlink(missing_ok=True)


@pytest.mark.parametrize("name", m.CALLS)
def test_whatever_a_file_holds_the_command_ends_with_a_code_and_one_message(
    home: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, call = m.CALLS[name]
    valid = (home / base).read_bytes() if base else b"x = 1\n"
    special = m.Special(tmp_path)
    NEVER_OPENED.update((str(special.pipe), "/dev/zero"))
    every = list(m.variants(valid, special))
    assert len(every) >= 60
    if not os.environ.get("RHEOSTAT_FUZZ"):  # `make fuzz` tries them all, in about ten minutes
        every = random.Random(name).sample(every, SAMPLE)
    wrong = []
    for number, variant in enumerate(every):
        _clear(home)
        folder = tmp_path / str(number)
        folder.mkdir()
        file = variant.make(folder / (base or "x"))
        if name == "rheostat.toml":
            (folder / "here").mkdir()
            monkeypatch.chdir(folder / "here")
            Path("rheostat.toml").symlink_to(file)
        try:
            wrong += [f"{variant.name}: {w}" for w in _wrong(*told(call, home, file))]
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            at = traceback.extract_tb(error.__traceback__)[-1]
            wrong.append(f"{variant.name}: {type(error).__name__} at {at.filename}:{at.lineno}")
    assert wrong == []


def _wrong(code: int, out: str, err: str) -> Iterator[str]:
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


@pytest.mark.parametrize("name", [n for n, (base, _) in m.CALLS.items() if base in m.TABLES])
def test_a_value_that_cannot_be_measured_is_said_or_refused(
    home: Path, tmp_path: Path, name: str
) -> None:
    """inf, 1e308, a negative count, text among numbers: never taken without a word."""
    base, call = m.CALLS[name]
    silent = []
    valid = tmp_path / "0" / base
    valid.parent.mkdir()
    shutil.copy(home / base, valid)
    _clear(home)
    usual = set(_lines(told(call, home, valid)[2]))
    for number, (what, content) in enumerate(m.poisoned(base, valid.read_text()), 1):
        _clear(home)
        file = tmp_path / str(number) / base
        file.parent.mkdir()
        file.write_text(content)
        code, _, err = told(call, home, file)
        if code == 0 and set(_lines(err)) <= usual:
            silent.append(what)
    assert silent == []


def _lines(err: str) -> list[str]:
    return [re.sub(r"/\d+/", "/", x) for x in err.splitlines()]


@pytest.mark.parametrize("name", m.WRITTEN)
def test_what_cannot_be_written_is_one_message(home: Path, tmp_path: Path, name: str) -> None:
    """A folder, a full device, a folder that is a file: told, and no result is lost by it."""
    (tmp_path / "file").write_text("x")
    for target in (tmp_path, tmp_path / "file" / "x.csv", Path("/dev/full")):
        _clear(home)
        code, _, err = told(m.WRITTEN[name], home, target)
        assert code in (0, 1, 2), (target, err)
        if code == 1:
            assert err.splitlines()[-1].startswith("rheostat: "), (target, err)
    assert (tmp_path / "file").read_text() == "x"
    assert [p for p in tmp_path.rglob("*") if p.name.endswith(".part")] == []
