"""Whatever a file holds, a command that is given it ends with a documented code and one message."""

from __future__ import annotations

import os
import random
import re
import shutil
import sys
import traceback
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import malformed as m
from valid_files import NEVER_OPENED, _quick, clear, home, told, wrong_in

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("files")]
__all__ = ["_quick", "home"]  # fixtures
SAMPLE = 1
ALWAYS = {"empty", "zeros", "pickle", "program"}
"""With the special files: what costs least to refuse, and most where it is not."""


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
    clear(home)
    if base:
        shutil.copy(home / base, home / f"copy-{base}")
        assert told(call, home, home / f"copy-{base}")[0] == 0


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
        always = [v for v in every if v.name in ALWAYS | set(special.cheap)]
        rest = [v for v in every if v not in always]
        every = always + random.Random(f"{name} {m.SEED}").sample(rest, SAMPLE)
    print(f"RHEOSTAT_FUZZ_SEED={m.SEED}")
    wrong = []
    for number, variant in enumerate(every):
        clear(home)
        folder = tmp_path / str(number)
        folder.mkdir()
        file = variant.make(folder / (base or "x"))
        if name == "rheostat.toml":
            (folder / "here").mkdir()
            monkeypatch.chdir(folder / "here")
            Path("rheostat.toml").symlink_to(file)
        try:
            wrong += [f"{variant.name}: {w}" for w in wrong_in(*told(call, home, file))]
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            at = traceback.extract_tb(error.__traceback__)[-1]
            wrong.append(f"{variant.name}: {type(error).__name__} at {at.filename}:{at.lineno}")
    assert wrong == [], f"RHEOSTAT_FUZZ_SEED={m.SEED}"


@pytest.mark.parametrize("name", [n for n, (base, _) in m.CALLS.items() if base in m.TABLES])
def test_a_value_that_cannot_be_measured_is_said_or_refused(
    home: Path, tmp_path: Path, name: str
) -> None:
    """inf, 1e308, a negative count, text among numbers: never taken without a word.

    A third of them by a seed; `make fuzz` tries them all.
    """
    base, call = m.CALLS[name]
    silent = []
    valid = tmp_path / "0" / base
    valid.parent.mkdir()
    shutil.copy(home / base, valid)
    clear(home)
    usual = set(_lines(told(call, home, valid)[2]))
    every = list(m.poisoned(base, valid.read_text()))
    if not os.environ.get("RHEOSTAT_FUZZ"):
        every = random.Random(f"{name} {m.SEED}").sample(every, -(-len(every) // 3))
    for number, (what, content) in enumerate(every, 1):
        clear(home)
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
        clear(home)
        code, _, err = told(m.WRITTEN[name], home, target)
        assert code in (0, 1, 2), (target, err)
        if code == 1:
            assert err.splitlines()[-1].startswith("rheostat: "), (target, err)
    assert (tmp_path / "file").read_text() == "x"
    assert [p for p in tmp_path.rglob("*") if p.name.endswith(".part")] == []
