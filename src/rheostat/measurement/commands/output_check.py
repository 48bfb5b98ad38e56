"""Is what a run printed right?  A fast run with a wrong answer is no measurement."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from typing import Any

from rheostat.errors import DataError
from rheostat.measurement.commands.shell_line import ShellLine

COMMAND = "cmd:"


class OutputCheck:
    """A regular expression to be found in the output, or ``cmd:`` and a command that reads it.

    Parameters
    ----------
    text : str
        Nothing for no check.
    timeout_s : float
        Longest check by a command, s.

    Raises
    ------
    DataError
        Not a regular expression.

    Examples
    --------
    >>> OutputCheck("residual 1e-0[89]")("residual 1e-09", {})
    ''
    >>> OutputCheck("cmd: grep -q {nodes}")("4 nodes", {"nodes": 8})
    'its output is wrong: grep -q 8 ended with status 1'
    """

    def __init__(self, text: str, timeout_s: float = 86400.0) -> None:
        self.text, self.timeout_s = text, timeout_s
        self._line = self._pattern = None
        try:
            if text.startswith(COMMAND):
                self._line = ShellLine(text.removeprefix(COMMAND).strip())
            elif text:
                self._pattern = re.compile(text, re.MULTILINE)
        except re.error as error:
            hint = (
                f"expected a regular expression, or {COMMAND} and a command; got {text!r}: {error}"
            )
            raise DataError("--check", [hint]) from error

    def __call__(self, output: str, setting: Mapping[str, Any]) -> str:
        """Why the output of a run is wrong; nothing where it is right."""
        if self._pattern is not None and not self._pattern.search(output):
            return f"its output is wrong: nothing matches {self.text!r}"
        if self._line is None:
            return ""
        line = self._line.filled(setting)
        try:
            done = subprocess.run(
                line, shell=True, input=output.encode(), stdout=subprocess.DEVNULL,
                timeout=self.timeout_s, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"its output was not checked: {line} took longer than {self.timeout_s:g} s"
        wrong = f"its output is wrong: {line} ended with status {done.returncode}"
        return wrong if done.returncode else ""
