"""Where foreign code is compiled and run: no network, no files of the host, limits on everything.

Bubblewrap (Debian package ``bubblewrap``) or Apptainer.  Without either, nothing is run unless a
person asks for `Unsafe`, which has limits but no walls; every verdict names what was used.
"""

from __future__ import annotations

import math
import os
import resource
import shutil
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rheostat.errors import RheostatError
from rheostat.measurement.code.sandboxed.capture import FILTER, SandboxLimits, SandboxRun, captured
from rheostat.measurement.code.sandboxed.system_calls import call_filter

NOBODY = 65534
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/OpenCL", "/opt/rocm",
            "/sys/devices/system")  # fmt: skip
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "TMPDIR": "/tmp",
               "LANG": "C.UTF-8"}  # fmt: skip
INSIDE = "/sandbox"
"""What the folder of a run is called in the sandbox."""
CACHE = "/cache"
"""The same of a folder that stays from one run to the next."""
WAITING = ("sh", "-c", '"$@"; exit $?', "sh")
"""The sandbox's first process; it collects the program, so that its CPU time is known outside."""
OF_LIBRARIES = "/usr/lib/debug"
"""Lines and variables of libraries, which valgrind reads for half of its start's CPU time."""
GPUS = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")


class SandboxUnavailable(RheostatError):
    """Foreign code cannot be confined on this machine; the message says what to install."""


@dataclass(frozen=True)
class Sandbox(ABC):
    """Something that runs a command in a folder and confines it; a kind of it says how."""

    name: ClassVar[str]
    tools: ClassVar[tuple[str, ...]] = ()
    packages: ClassVar[str] = ""
    as_nobody: ClassVar[bool] = False
    keeps_environment: ClassVar[bool] = False
    sees_host: ClassVar[bool] = False

    @abstractmethod
    def command(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str],
        writable: bool = False, *, cache: Path | None = None,
    ) -> list[str]:  # fmt: skip
        """The command line that confines ``command``."""

    def why(self) -> str:
        """Why it cannot be used here; empty if it can."""
        missing = [t for t in self.tools if shutil.which(t) is None]
        if missing:
            how = f": apt-get install {self.packages}" if self.packages else ""
            return f"{' and '.join(missing)} not installed{how}"
        probe = self.run(["true"], Path("/usr"))
        return "" if probe.ok else f"{self.name}: {probe.stderr.strip() or probe.ending}"

    def run(
        self,
        command: Sequence[str],
        folder: Path,
        *,
        stdin: str = "",
        limits: SandboxLimits | None = None,
        environment: Mapping[str, str] | None = None,
        writable: bool = False,
        cache: Path | None = None,
    ) -> SandboxRun:
        """Run the command in the folder; `INSIDE` is what the folder is called in there.

        Libraries that compile as they run find what they keep in ``cache`` the next time.
        """
        limits = limits or SandboxLimits()
        variables = {**ENVIRONMENT, **(environment or {})}
        if cache is not None:
            variables["XDG_CACHE_HOME"] = str(cache) if self.sees_host else CACHE
        user = NOBODY if self.as_nobody and os.getuid() == 0 else None
        counted = os.getuid() if user is None else user
        others = tasks_of(counted) if counted else 0  # of root's none counts in a namespace
        whole = self.command(limited(command, limits, others), folder, variables,
                             writable=writable, cache=cache)  # fmt: skip
        return captured(whole, stdin, limits, user=user, keep_environment=self.keeps_environment,
                        call_filter=self.call_filter)  # fmt: skip

    @property
    def call_filter(self) -> bytes:
        """Which calls of the kernel are refused; nothing where the sandbox takes no such filter."""
        return b""


def limited(command: Sequence[str], limits: SandboxLimits, others: int = 0) -> list[str]:
    """The command under rlimits, set in the same user namespace as the command.

    The kernel counts all processes and threads of the user, ``others`` of them outside.
    """
    most = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    tasks = limits.processes + others
    tasks = tasks if most == resource.RLIM_INFINITY else min(tasks, most)
    given = {"nproc": tasks, "fsize": limits.file_b, "core": 0,
             "cpu": max(1, math.ceil(limits.cpu_s))}  # fmt: skip
    if limits.address_space_b:
        given["as"] = limits.address_space_b
    return ["prlimit", *(f"--{k}={v}" for k, v in given.items()), "--", *command]


def tasks_of(user: int) -> int:
    """Processes and threads that a user runs now.

    >>> tasks_of(os.getuid()) >= 1
    True
    """
    count = 0
    with os.scandir("/proc") as places:
        for place in places:
            if place.name.isdecimal():
                with suppress(OSError):  # it has just ended
                    own = place.stat().st_uid == user
                    count += os.stat(f"{place.path}/task").st_nlink - 2 if own else 0
    return count


@dataclass(frozen=True)
class Bubblewrap(Sandbox):
    """Linux namespaces by bubblewrap: own users, processes, network; the host's files unseen.

    ``read_only`` are further folders of the host that programs may read, as a compiler under /opt.
    """

    name = "bubblewrap"
    tools, packages, as_nobody = ("bwrap", "prlimit", "setpriv"), "bubblewrap util-linux", True
    read_only: tuple[str, ...] = ()
    gpu: bool = False

    def command(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str],
        writable: bool = False, *, cache: Path | None = None,
    ) -> list[str]:  # fmt: skip
        """All but the folder is read-only or absent."""
        bind = "--bind" if writable else "--ro-bind"
        kept = [] if cache is None else ["--bind", str(cache), CACHE]
        filtered = ["--seccomp", FILTER] if self.call_filter else []
        unread = "valgrind" in command and os.path.isdir(OF_LIBRARIES)
        hidden = ["--tmpfs", OF_LIBRARIES] if unread else []
        return ["bwrap", *self._walls(environment), *hidden, *filtered, bind, str(folder), INSIDE,
                *kept, "--chdir", INSIDE, "--", *WAITING, *command]  # fmt: skip

    @property
    def call_filter(self) -> bytes:
        """No new namespaces, mounts, or memory of other processes."""
        return call_filter()

    def _walls(self, environment: Mapping[str, str]) -> Iterator[str]:
        yield from ("--unshare-all", "--die-with-parent", "--new-session", "--clearenv")
        yield "--as-pid-1"
        yield from ("--uid", str(NOBODY), "--gid", str(NOBODY), "--hostname", "sandbox")
        for path in SYSTEM:
            if os.path.islink(path):
                yield from ("--symlink", os.readlink(path), path)
            elif os.path.isdir(path):
                yield from ("--ro-bind", path, path)
        for path in (*SETTINGS, *self.read_only):
            if os.path.exists(path):
                yield from ("--ro-bind", path, path)
        yield from ("--proc", "/proc", "--dev", "/dev")
        for path, most_b in (("/tmp", 2**28), ("/dev/shm", 2**26)):
            yield from ("--size", str(most_b), "--tmpfs", path)
        if self.gpu:
            for path in GPUS:
                yield from ("--dev-bind-try", path, path)
        yield from ("--dir", INSIDE, "--dir", CACHE, "--remount-ro", "/dev", "--remount-ro", "/")
        for key, value in environment.items():
            yield from ("--setenv", key, value)


@dataclass(frozen=True)
class Apptainer(Sandbox):
    """A container of Apptainer (formerly Singularity), for sites that offer no bubblewrap.

    ``image`` holds compilers and tools; without one the host's /usr is seen through ``/``.
    """

    name = "apptainer"
    tools, keeps_environment = ("apptainer",), True
    image: str = "/"

    def command(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str],
        writable: bool = False, *, cache: Path | None = None,
    ) -> list[str]:  # fmt: skip
        """No network, no home, nothing of the environment."""
        variables = [f"--env={k}={v}" for k, v in environment.items()]
        mode = "rw" if writable else "ro"
        kept = [] if cache is None else [f"--bind={cache}:{CACHE}:rw"]
        return ["apptainer", "--silent", "exec", "--containall", "--cleanenv", "--no-home",
                "--net", "--network=none", "--pid", "--ipc", "--no-privs",
                f"--bind={folder}:{INSIDE}:{mode}", *kept, f"--pwd={INSIDE}", *variables,
                self.image, *command]  # fmt: skip


@dataclass(frozen=True)
class Unsafe(Sandbox):
    """No walls: limits, a clean environment and the current user.  For code that is trusted."""

    name = "none (unsafe)"
    sees_host = True

    def command(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str],
        writable: bool = False, *, cache: Path | None = None,
    ) -> list[str]:  # fmt: skip
        """In the folder itself."""
        put = [f"{k}={v}" for k, v in environment.items()]
        return ["env", "-i", "-C", str(folder), *put, *command]


def sandbox(name: str = "", *, image: str = "/") -> Sandbox:
    """The sandbox by name, or the first that works here.

    Parameters
    ----------
    name : str
        bubblewrap, apptainer, or none for no confinement at all.
    image : str
        For apptainer: the container image.

    Returns
    -------
    Sandbox
        One that works.

    Raises
    ------
    SandboxUnavailable
        Where none works, with the reasons.
    """
    if name == "none":
        return Unsafe()
    every: dict[str, Sandbox] = {"bubblewrap": Bubblewrap(gpu=os.path.exists(GPUS[0])),
                                 "apptainer": Apptainer(image)}  # fmt: skip
    if name and name not in every:
        raise SandboxUnavailable(f"sandbox: expected {', '.join(every)} or none, got {name!r}")
    reasons = []
    for one in [every[name]] if name else every.values():
        reason = one.why()
        if not reason:
            return one
        reasons.append(f"{one.name}: {reason}")
    raise SandboxUnavailable(
        f"no sandbox for foreign code ({'; '.join(reasons)}); to run it unconfined say so: "
        "--unsafe-no-sandbox"
    )


@contextmanager
def workspace() -> Iterator[Path]:
    """A folder for builds that the sandbox's user may write; gone at the end."""
    folder = Path(tempfile.mkdtemp(prefix="rheostat-code-"))
    try:
        give_away(folder)
        yield folder
    finally:
        for _ in range(3):
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(0.05)


def give_away(path: Path) -> None:
    """Let the sandbox's user own it, where this process is root."""
    if os.getuid() == 0:
        os.chown(path, NOBODY, NOBODY)
