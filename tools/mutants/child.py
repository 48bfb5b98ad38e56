"""A function in a child process with its own session, which ends with its time or its parent."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

BROKEN = 70
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """A signal asked this process to end; unhandled, SIGTERM and SIGHUP end it in silence."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}; the same command goes on")
        self.exit_code = 128 + number


def _raise(number: int, _: FrameType | None) -> NoReturn:
    raise Ended(number)


def raise_on_signals() -> None:
    """Have a signal that ends this process raise `Ended`, so that it is said and cleaned up."""
    for number in SIGNALS:
        signal.signal(number, _raise)


def in_child(work: Callable[[], int], wall_s: float) -> int:
    """The exit code of ``work`` in a child; minus the signal that ended it.

    A signal to the child's process group misses this process.  The group is killed after ``wall_s``
    seconds, and when this process is interrupted.
    """
    child = os.fork()
    if not child:
        _child(work)
    until, ended = time.monotonic() + wall_s, 0
    try:
        while not (status := os.waitpid(child, os.WNOHANG))[0]:
            if time.monotonic() > until:
                _kill(child)
            time.sleep(0.02)
        ended = child
        return os.waitstatus_to_exitcode(status[1])
    finally:
        if not ended:
            _kill(child)
            os.waitpid(child, 0)


def _kill(child: int) -> None:
    """Kill the child's group; the child alone while it has none yet."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(child, signal.SIGKILL)


def _child(work: Callable[[], int]) -> NoReturn:
    code = BROKEN
    try:
        os.setsid()
        for number in SIGNALS[1:]:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = int(work())
    except BaseException:  # noqa: BLE001 - a child must not go on as its parent
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
