"""Whatever an option says, a command ends with a documented code and one message, soon."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import hostile as h
import malformed as m
from valid_files import _quick, called, clear, home, wrong_in

from rheostat.cli.command import UsageError
from rheostat.errors import RheostatError

pytestmark = pytest.mark.xdist_group("files")
__all__ = ["_quick", "home"]  # fixtures
LEAVES = dict(h.leaves())
SEED = m.SEED
DRAWN, DAYS = 20, 7
"""One try of 20 is drawn, by its own name: a new option changes no other; a week has them all."""
CPU_S, MORE_B = 120.0, 3 * 2**30
"""What a call may take: seconds of a processor, the simulator's compilation included, and bytes
beyond those that are held already."""
WAITING = {
    "serve --stop-after", "llm proxy --stop-after", "network serve --stop-after", "fit --dask",
    "compare --dask",
}  # fmt: skip
"""These wait for long, by their meaning: for ever at 0, for a cluster that does not answer."""


def test_every_number_has_its_bounds() -> None:
    """A count drives a loop or an array: without a largest one, a typing error fills the memory."""
    loose = [
        f"{name} {p.opts[0]}" for name, command in LEAVES.items() for p in h.asked(command)
        if p.type_descriptor.annotation is int and None in (
            p.type_descriptor.parameter_info.min, p.type_descriptor.parameter_info.max)
    ]  # fmt: skip
    assert loose == []


@pytest.mark.parametrize("name", LEAVES)
def test_what_no_option_means_is_refused_before_any_work(name: str) -> None:
    """NaN, infinities, numbers beyond all use, names that are not UTF-8: all options, always."""
    command, taken = LEAVES[name], []
    needed = {p.name: "1" if h.kind(p) == "number" else "x" for p in h.asked(command) if p.required}
    for param in h.asked(command):
        for value in h.NO_NUMBERS if h.kind(param) == "number" else h.NO_TEXTS:
            words = _words(command, needed | {param.name: value})
            try:
                command.make_context(name, words)
            except (UsageError, RheostatError):
                continue
            taken.append((param.opts[0], value))
    assert taken == []


def _words(command: Any, given: dict[str, str]) -> list[str]:
    flags = {
        p.name: [max(p.opts, key=len)] for p in command.params if p.param_type_name == "option"
    }
    options = [w for n, v in given.items() if n in flags for w in (*flags[n], v)]
    arguments = [p.name for p in command.params if p.param_type_name == "argument"]
    return [*options, "--", *(given.get(n, "x") for n in arguments)]


def tries() -> Iterator[h.Try]:
    """Every hostile value that some option may take, in a call that is valid without it."""
    for name, command in LEAVES.items():
        for param in h.asked(command):
            if f"{name} {param.opts[0]}" not in WAITING:
                for value in h.values(param):
                    yield h.Try(name, param, value, h.call(name, command, param, value))


def some() -> list[h.Try]:
    """Those of the day; all, or all of one command, where RHEOSTAT_FUZZ says so."""
    every, chosen = list(tries()), os.environ.get("RHEOSTAT_FUZZ", "")
    assert len(every) > 2000
    if chosen:
        return [t for t in every if chosen in ("all", t.command)]
    drawn = [t for t in every if t.number % DRAWN == 0]
    return [t for t in drawn if t.number // DRAWN % DAYS == SEED % DAYS]


@pytest.mark.slow
def test_a_hostile_value_ends_with_a_code_and_one_message(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the day; RHEOSTAT_FUZZ_SEED is what repeats it, RHEOSTAT_FUZZ=all tries every one."""
    print(f"RHEOSTAT_FUZZ_SEED={SEED}")
    wrong = []
    for number, one in enumerate(some()):
        clear(home)
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        wrong += [f"{one}: {w}" for w in outcome(one, home)]
        monkeypatch.chdir(tmp_path)
        shutil.rmtree(folder)
    assert not wrong, "\n".join([f"RHEOSTAT_FUZZ_SEED={SEED}", *wrong])


class TooLong(BaseException):
    """More seconds of a processor than any call of a test needs."""


def _stop(*_: object) -> None:
    raise TooLong


def outcome(one: h.Try, home: Path) -> Iterator[str]:
    """What is wrong with how a call ends."""
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    usual = signal.signal(signal.SIGPROF, _stop)
    resource.setrlimit(resource.RLIMIT_AS, (held + MORE_B, before[1]))
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    try:
        for wrong in wrong_in(*called([_filled(w, home) for w in one.words])):
            if wrong != "a result and an error" or not one.writes:  # nothing is lost by it
                yield wrong
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        at = traceback.extract_tb(error.__traceback__)
        ours = [x for x in at if "src/rheostat" in x.filename] or at
        yield f"{type(error).__name__} at {ours[-1].filename}:{ours[-1].lineno}: {error}"[:300]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, usual)
        resource.setrlimit(resource.RLIMIT_AS, before)


def _filled(word: str, home: Path) -> str:
    return re.sub(r"@([\w.]+)", lambda k: str(home / k[1]), word)


def test_what_is_read_is_not_written_over(tmp_path: Path) -> None:
    data = tmp_path / "runs.csv"
    data.write_text("app,nodes,runtime_s\na,1,9\n")
    (tmp_path / "link.csv").symlink_to(data)
    code, out, err = called(["read", str(data), "--out", str(tmp_path / "link.csv")])
    assert (code, out) == (2, "")
    assert "would write over" in err
    assert data.read_text() == "app,nodes,runtime_s\na,1,9\n"


def test_a_message_is_one_line_whatever_a_name_holds() -> None:
    code, _, err = called(["read", "a\n\x1b[31mb" + "x" * 5000])
    assert code == 1
    assert err.startswith(r"rheostat: a\n\x1b[31mbxx")
    assert err.count("\n") == 1
    assert len(err) < 4100


def test_a_stream_that_is_closed_goes_nowhere(tmp_path: Path) -> None:
    """And no file of ours gets its number, so that nothing is printed into it."""
    data = tmp_path / "runs.csv"
    data.write_text("app,nodes,runtime_s\na,1,9\n")
    call = f"exec {sys.executable} -m rheostat read {data} --out {tmp_path / 'made.parquet'}"
    done = subprocess.run(f"{call} <&- >&- 2>&-", shell=True, check=False)
    assert done.returncode == 0
    assert (tmp_path / "made.parquet").read_bytes()[-4:] == b"PAR1"
