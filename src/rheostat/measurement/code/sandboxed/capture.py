"""Run a command, read its output up to a limit, and end all of it when time is up."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rheostat.measurement.code.sandboxed.group_memory import (
    group_cpu_s,
    group_delay_s,
    group_memory_b,
)

CHUNK_B, POLL_S = 65536, 0.005
MEMORY_S = 0.1
"""Between two looks at how much memory all processes of a run have."""
FILTER = "{filter}"
"""In a command: the number of the file that holds a filter of system calls."""
BUSY_SHARE, MOST_WAITS = 0.04, 12
"""Share of the time by the clock that a program at work gets at the least on a busy machine, and
how many times its limit by the clock it may take there."""
DELAYED_SHARE = 0.25
"""Share of the time by the clock that one waits for a core who gets hardly any of it."""
COUNTED_AT_LEAST = 0.7
"""Share of the CPU time at its limit that is counted at the least: accounting goes by ticks."""


@dataclass(frozen=True)
class SandboxLimits:
    """What one run may use; ``address_space_b`` 0 for tools that reserve more than they use.

    ``wall_s`` ends what waits; what is at work on a busy machine has more, up to ``cpu_s``.
    ``memory_b`` is what all processes of the run may have together.
    """

    wall_s: float = 20.0
    cpu_s: float = 20.0
    address_space_b: int = 2 * 2**30
    file_b: int = 64 * 2**20
    processes: int = 64
    output_b: int = 2**20
    memory_b: int = 4 * 2**30


@dataclass(frozen=True)
class SandboxRun:
    """How a run ended: status (negative for a signal), output, seconds, and the limit it hit."""

    status: int
    stdout: str
    stderr: str
    wall_s: float
    cpu_s: float
    max_rss_b: int
    stopped: str = ""

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with status 0."""
        return self.status == 0 and not self.stopped

    @property
    def ending(self) -> str:
        """How it ended, in words.

        >>> SandboxRun(139, "", "", 0.1, 0.1, 0).ending
        'ended by signal 11 (SIGSEGV)'
        """
        if self.stopped:
            return self.stopped
        number = -self.status if self.status < 0 else self.status - 128
        if 0 < number < 32:
            return f"ended by signal {number} ({signal.Signals(number).name})"
        return f"ended with status {self.status}"

    @property
    def ending_and_words(self) -> str:
        r"""How it ended, and the last line that it wrote to stderr.

        >>> SandboxRun(1, "", "reading\ncannot open out.txt\n", 0.1, 0.1, 0).ending_and_words
        'ended with status 1 (cannot open out.txt)'
        """
        lines = [x.strip() for x in self.stderr.splitlines() if x.strip()]
        return f"{self.ending} ({lines[-1][:120]})" if lines else self.ending


def captured(
    command: Sequence[str],
    stdin: str,
    limits: SandboxLimits,
    *,
    user: int | None = None,
    keep_environment: bool = False,
    call_filter: bytes = b"",
) -> SandboxRun:
    """Run a command in a session of its own; a limit that is hit ends the whole session."""
    # not Popen's ``user``: that copies the pages of this process for each run, 10 ms of CPU time
    whose = [] if user is None else [
        "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--"]  # fmt: skip
    began = time.perf_counter()
    with _in_memory(call_filter) as file:
        process = subprocess.Popen(
            [*whose, *(str(file) if word == FILTER else word for word in command)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, env=None if keep_environment else {"PATH": os.environ["PATH"]},
            cwd="/", pass_fds=(file,) if call_filter else (),
        )  # fmt: skip
    stopped = "interrupted"
    texts: list[bytes] = []
    try:
        _feed(process, stdin)
        texts, stopped = _read(process, limits, began)
    finally:
        stopped = stopped or _waited(process, began, limits)
        running_s = group_cpu_s(process.pid) if stopped else 0.0  # of what nobody waits for
        used = _ended(process)
    seconds = time.perf_counter() - began
    cpu_s = max(used.ru_utime + used.ru_stime, running_s)
    killed = process.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
    if not stopped and killed and cpu_s > COUNTED_AT_LEAST * limits.cpu_s:
        stopped = f"stopped after {limits.cpu_s:.3g} s of CPU time"
    out, err = (t.decode("utf-8", "replace") for t in texts)
    return SandboxRun(process.returncode, out, err, seconds, cpu_s, used.ru_maxrss * 1024, stopped)


@contextmanager
def _in_memory(content: bytes) -> Iterator[int]:
    """The descriptor of a file that lies nowhere; each run reads its own to the end."""
    if not content:
        yield -1
        return
    file = os.memfd_create("filter")
    try:
        os.write(file, content)
        os.lseek(file, 0, os.SEEK_SET)
        yield file
    finally:
        os.close(file)


def _feed(process: subprocess.Popen[bytes], text: str) -> None:
    """Write standard input from a thread: a program that reads nothing must not hold us."""

    def write() -> None:
        assert process.stdin is not None
        try:
            with process.stdin:
                process.stdin.write(text.encode())
        except OSError:
            return

    threading.Thread(target=write, daemon=True).start()


def _read(
    process: subprocess.Popen[bytes], limits: SandboxLimits, began: float
) -> tuple[list[bytes], str]:
    texts: dict[Any, bytearray] = {process.stdout: bytearray(), process.stderr: bytearray()}
    stopped = ""
    with selectors.DefaultSelector() as waiting:
        for pipe in texts:
            waiting.register(pipe, selectors.EVENT_READ)
        while waiting.get_map() and not stopped:
            left = limits.wall_s - (time.perf_counter() - began)
            if left <= 0:
                stopped = _late(process, limits, began)
            ready = waiting.select(min(left, MEMORY_S) if left > 0 else MEMORY_S)
            stopped = stopped or ("" if ready else _takes_too_much(process, limits))
            for key, _ in ready:
                piece = os.read(key.fd, CHUNK_B)
                if not piece:
                    waiting.unregister(key.fileobj)
                texts[key.fileobj] += piece
                if len(texts[key.fileobj]) > limits.output_b:
                    stopped = f"stopped after {limits.output_b >> 10} KiB of output"
    return [bytes(t[: limits.output_b]) for t in texts.values()], stopped


def _late(process: subprocess.Popen[bytes], limits: SandboxLimits, began: float) -> str:
    """Why a run is stopped whose time by the clock is over; nothing while it is at work."""
    elapsed_s, cpu_s = time.perf_counter() - began, group_cpu_s(process.pid)
    most_s, delayed = limits.wall_s, group_delay_s(process.pid) > DELAYED_SHARE * elapsed_s
    if (delayed or BUSY_SHARE * elapsed_s <= cpu_s) and cpu_s <= limits.cpu_s:
        most_s *= MOST_WAITS
    return f"stopped after {most_s:.3g} s" if elapsed_s > most_s else ""


def _takes_too_much(process: subprocess.Popen[bytes], limits: SandboxLimits) -> str:
    """Why a run is stopped whose processes have more memory together than all may; or nothing."""
    much = group_memory_b(process.pid) > limits.memory_b
    return f"stopped at {limits.memory_b >> 20} MiB of memory of all its processes" * much


def _waited(process: subprocess.Popen[bytes], began: float, limits: SandboxLimits) -> str:
    """Wait for the end of a process that has closed its output; why it was stopped, if it was."""
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        over = time.perf_counter() - began > limits.wall_s
        if stopped := _late(process, limits, began) if over else "":
            return stopped
        if stopped := _takes_too_much(process, limits):
            return stopped
        time.sleep(POLL_S)
    return ""


def _ended(process: subprocess.Popen[bytes]) -> Any:
    """Kill what is left of the session, then collect its status; what it used."""
    os.killpg(process.pid, signal.SIGKILL)  # the leader is not collected yet: the group exists
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    return used
