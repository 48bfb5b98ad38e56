"""A sandbox whose compilers and programs do as a test says: rungs without running any code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rheostat.measurement.code.sandboxed.capture import SandboxLimits, SandboxRun
from rheostat.measurement.code.sandboxed.sandbox import Sandbox

SOURCES = ("a.c", "a.cc", "a.cu", "empty.c", "empty.cc", "empty.cu", "probe.c", "parent.c",
           "each_input.c", "another_library.c", "lock_sets.c", "other_data.c",
           "cuda_on_host.cc")  # fmt: skip
KINDS = {"-fsyntax-only": "syntax", "-fsanitize=address,undefined": "sanitizers",
         "-fsanitize=thread": "races", "-fopenmp-targets=x86_64-pc-linux-gnu": "device",
         "-ffast-math": "reassociated", "-mfpmath=387": "extended", "-emit-llvm": "text",
         "-O1": "work"}  # fmt: skip


def done(stdout: str = "", stderr: str = "", status: int = 0, **more: Any) -> SandboxRun:
    """How something ended; well by default, within a hundredth of a second."""
    facts = {"wall_s": 0.01, "cpu_s": 0.01, "max_rss_b": 0, "stopped": "", **more}
    return SandboxRun(status, stdout, stderr, **facts)


@dataclass(frozen=True)
class Asked:
    """One command: whose program, what is done (``build gcc``, ``run races``, ``nm``), and how."""

    whose: str
    what: str
    command: tuple[str, ...]
    stdin: str
    limits: SandboxLimits | None
    environment: Mapping[str, str]
    cache: Path | None = None


@dataclass(frozen=True)
class Scripted(Sandbox):
    """``says`` maps (whose, what) to an end, or to a function of what was asked; else all is well.

    A program prints its arguments.
    """

    name = "scripted"
    says: dict[tuple[str, str], Any] = field(default_factory=dict)
    log: list[Asked] = field(default_factory=list)
    kinds: dict[Path, str] = field(default_factory=dict)

    def command(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], **_: Any
    ) -> list[str]:
        """As it is."""
        return list(command)

    def run(self, command: Sequence[str], folder: Path, **how: Any) -> SandboxRun:
        """What the test says."""
        if how.get("writable"):
            kind = next((k for flag, k in KINDS.items() if flag in command), "")
            kind = kind or {"g++": "gcc", "clang++": "clang"}.get(Path(command[0]).name, "")
            kind = kind or Path(command[0]).name
            self.kinds[folder] = kind
            what = f"build {kind}"
        else:
            what = {"nm": "nm", "objdump": "objdump", "true": "start"}.get(
                command[0], f"run {self.kinds.get(folder)}")  # fmt: skip
        asked = Asked(_whose(folder), what, tuple(command), how.get("stdin", ""), how.get("limits"),
                      how.get("environment") or {}, how.get("cache"))  # fmt: skip
        self.log.append(asked)
        if command[0] == "env":
            return done("".join(map(_framed, map(self._answer, _each(asked)))))
        return self._answer(asked)

    def _answer(self, asked: Asked) -> SandboxRun:
        usual = done(f"sum {' '.join(asked.command[1:])}")
        answer = self.says.get((asked.whose, asked.what), usual)
        return answer(asked) if callable(answer) else answer

    def asked(self, what: str) -> list[Asked]:
        """All that was asked of a kind."""
        return [a for a in self.log if a.what == what]


def _each(asked: Asked) -> list[Asked]:
    """A run for each input of a start that forks."""
    count, _, _, _, *words = asked.stdin.split("\0")[:-1]
    step = int(count) + 1
    program = asked.command[2 : len(asked.command) - int(count)]
    return [replace(asked, command=(*program, *words[k : k + step - 1]), stdin=words[k + step - 1])
            for k in range(0, len(words), step)]  # fmt: skip


def _framed(run: SandboxRun) -> str:
    return f"{run.status} {len(run.stdout)}\n{run.stdout}"


def _whose(folder: Path) -> str:
    text = next((folder / n).read_text() for n in SOURCES if (folder / n).exists())
    return next((w for w in ("original", "candidate", "changed") if w in text), "empty")
