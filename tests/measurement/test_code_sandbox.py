"""The sandbox: what foreign code tries to reach is not there, and what it uses up is limited."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from rheostat.errors import RheostatError
from rheostat.measurement.code.sandboxed import capture
from rheostat.measurement.code.sandboxed.capture import SandboxLimits
from rheostat.measurement.code.sandboxed.sandbox import (
    Apptainer,
    Bubblewrap,
    limited,
    sandbox,
    tasks_of,
    workspace,
)
from rheostat.measurement.code.sandboxed.system_calls import call_filter
from rheostat.measurement.code.workbench import BUILDING

WHY = Bubblewrap().why()
confined = pytest.mark.skipif(bool(WHY), reason=WHY)
PYTHON = shutil.which("python3", path="/usr/local/bin:/usr/bin")
needs_python = pytest.mark.skipif(PYTHON is None, reason="no python3 that the sandbox sees")
TIGHT = SandboxLimits(wall_s=20.0, cpu_s=1.0, address_space_b=2**29, file_b=2**20, processes=20,
                      output_b=2**16)  # fmt: skip


@pytest.fixture
def folder():
    with workspace() as made:
        yield made


def shell(folder: Path, script: str, **more):
    return Bubblewrap().run(["bash", "-c", script], folder, limits=TIGHT, **more)


@confined
def test_nothing_of_the_host_is_seen_and_nothing_but_tmp_can_be_written(folder, tmp_path):
    secret = tmp_path / "expected.txt"
    secret.write_text("42")
    (folder / "program").write_text("")
    run = shell(folder, f"cat {secret} /etc/passwd /etc/shadow /root/.bashrc; ls; "
                "for f in /sandbox/x /usr/x /x /etc/x; do touch $f && echo wrote $f; done; "
                "touch /tmp/x && echo tmp; id -u; env | cut -d= -f1 | sort | xargs")  # fmt: skip
    said = run.stdout.split("\n")
    assert said[:3] == ["program", "tmp", "65534"], "the folder, one place to write, nobody"
    assert "wrote" not in run.stdout
    assert set(said[3].split()) <= {"HOME", "LANG", "PATH", "PWD", "SHLVL", "TMPDIR", "_"}


@confined
def test_there_is_no_network(folder):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        threading.Thread(target=_accept, args=(server,), daemon=True).start()
        run = shell(folder, f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected")
    assert "connected" not in run.stdout


def _accept(server):
    try:
        server.accept()
    except OSError:
        return


def test_what_else_a_user_runs_is_not_counted_against_a_program() -> None:
    """The kernel counts all of a user's tasks: with 64 others a right program made no thread."""
    assert "--nproc=164" in limited(["true"], SandboxLimits(processes=64), others=100)
    assert tasks_of(os.getuid()) >= len(os.listdir("/proc/self/task"))
    assert tasks_of(2**31) == 0


@confined
def test_a_fork_bomb_stops_at_the_limit_and_is_gone_with_its_sandbox(folder):
    script = "for i in $(seq 1000); do sleep 30 & done; echo all"
    run = shell(folder, script)
    assert "Resource temporarily unavailable" in run.stderr
    assert run.wall_s < 25.0


@confined
@pytest.mark.parametrize(
    ("script", "how"),
    [
        ("while :; do :; done", "of CPU time"),
        ("yes", "of output"),
        ("sleep 60", "after 2 s"),
        ("exec >&- 2>&-; sleep 60", "after 2 s"),
    ],
)
def test_what_takes_too_long_or_prints_too_much_is_stopped(folder, script, how):
    limits = SandboxLimits(wall_s=2.0 if "sleep" in script else 30.0, cpu_s=1.0, output_b=2**16)
    run = Bubblewrap().run(["bash", "-c", script], folder, limits=limits)
    assert (how in run.stopped, run.ok) == (True, False)
    assert len(run.stdout) <= 2**16


@confined
@pytest.mark.parametrize("closed", ["", "exec >&- 2>&-; "])
def test_what_is_at_work_has_its_cpu_time_where_the_clock_runs_ahead(folder, closed, monkeypatch):
    work = f"{closed}for ((i = 0; i < 40000; i++)); do :; done"
    limits = SandboxLimits(wall_s=1e-3, cpu_s=20.0)
    monkeypatch.setattr(capture, "MOST_WAITS", 10**6)
    monkeypatch.setattr(capture, "BUSY_SHARE", 0.0)
    monkeypatch.setattr(capture, "group_delay_s", lambda leader: 0.0)
    assert Bubblewrap().run(["bash", "-c", work], folder, limits=limits).ok
    monkeypatch.setattr(capture, "BUSY_SHARE", 10.0)
    assert Bubblewrap().run(["bash", "-c", work], folder, limits=limits).stopped == (
        "stopped after 0.001 s"
    )
    monkeypatch.setattr(capture, "group_delay_s", lambda leader: 1e9)  # no core was free
    assert Bubblewrap().run(["bash", "-c", work], folder, limits=limits).ok


@confined
@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc not installed")
def test_memory_and_files_are_limited_and_includes_of_the_host_fail(folder):
    (folder / "hog.c").write_text(
        "#include <stdlib.h>\n#include <string.h>\n"
        "int main(void) { for (;;) { char *p = malloc(1 << 24); if (!p) return 7; "
        "memset(p, 1, 1 << 24); } }\n"
    )
    (folder / "peek.c").write_text('#include "/etc/passwd"\nint main(void) { return 0; }\n')
    built = Bubblewrap().run(["gcc", "hog.c", "-o", "hog"], folder, writable=True)
    assert built.ok, built.stderr
    run = Bubblewrap().run(["./hog"], folder, limits=replace(TIGHT, cpu_s=60.0, wall_s=120.0))
    assert run.status == 7, "malloc fails: the memory of this machine is not used up"
    peek = Bubblewrap().run(["gcc", "peek.c"], folder, writable=True)
    assert "No such file" in peek.stderr
    full = shell(folder, "head -c 5000000 /dev/zero > /tmp/big; stat -c %s /tmp/big")
    assert full.stdout.strip() == str(2**20)


@confined
@pytest.mark.skipif(shutil.which("clang-16") is None, reason="clang-16 not installed")
def test_a_compiler_has_so_much_memory_at_most(folder):
    """To fill a frame of 8 GB with a pattern took it 23 GB."""
    (folder / "frame.c").write_text(
        "int main(void) { double a[999999999]; for (int i = 0; i < 9; i++) a[i] = i; "
        "return (int)a[8]; }\n"
    )
    flags = ["-O1", "-fsanitize=address", "-ftrivial-auto-var-init=pattern"]
    built = Bubblewrap().run(["clang-16", *flags, "frame.c"], folder, limits=BUILDING,
                             writable=True)  # fmt: skip
    assert not built.ok
    assert built.max_rss_b < 1.1 * BUILDING.address_space_b


@confined
@needs_python
def test_all_processes_of_a_run_have_one_limit_of_memory(folder):
    hold = "python3 -c 'import time; x = bytearray(4 * 10**7); time.sleep({})'"
    limits = replace(TIGHT, memory_b=90 * 2**20)
    one = Bubblewrap().run(["bash", "-c", hold.format(0.3)], folder, limits=limits)
    many = f"for i in 1 2 3; do {hold.format(15)} & done; wait"
    all_ = Bubblewrap().run(["bash", "-c", many], folder, limits=limits)
    assert (one.stopped, all_.stopped) == ("", "stopped at 90 MiB of memory of all its processes")


@confined
@needs_python
@pytest.mark.skipif(not call_filter(), reason="no numbers of system calls for this processor")
def test_calls_that_lead_out_of_a_sandbox_are_refused(folder):
    script = (
        "import ctypes; f = ctypes.CDLL(None, use_errno=True).syscall; "
        "print([(f(*c), ctypes.get_errno()) for c in ((425, 8, 0), (435, 0, 0), (428, 0, 0))])"
    )
    run = shell(folder, f"unshare -U true || echo refused; python3 -c '{script}'")
    assert run.stdout.splitlines() == ["refused", "[(-1, 38), (-1, 38), (-1, 1)]"]


@confined
def test_cpu_seconds_of_what_is_stopped_are_counted(folder, monkeypatch):
    monkeypatch.setattr(capture, "group_cpu_s", lambda leader: 7.0 if leader else 0.0)
    run = Bubblewrap().run(["yes"], folder, limits=SandboxLimits(output_b=2**16))
    assert (run.stopped, run.cpu_s) == ("stopped after 64 KiB of output", 7.0)
    assert Bubblewrap().run(["true"], folder).cpu_s < 7.0  # the kernel tells


@confined
def test_cpu_seconds_and_endings_are_known_outside(folder):
    run = shell(folder, "for ((i = 0; i < 60000; i++)); do :; done; kill -SEGV $$")
    assert run.cpu_s > 0.02
    assert run.ending == "ended by signal 11 (SIGSEGV)"


def test_without_a_sandbox_nothing_is_run_unless_asked_for(monkeypatch, folder):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(RheostatError, match=r"apt-get install bubblewrap.*--unsafe-no-sandbox"):
        sandbox()
    monkeypatch.undo()
    open_air = sandbox("none")
    assert open_air.name == "none (unsafe)"
    assert open_air.run(["sh", "-c", "echo $HOME"], folder).stdout == "/tmp\n"


def test_apptainer_is_called_without_network_home_or_environment():
    command = Apptainer("gcc.sif").command(["./a"], Path("/build"), {"OMP_NUM_THREADS": "2"}, False)
    assert command == [
        "apptainer", "--silent", "exec", "--containall", "--cleanenv", "--no-home", "--net",
        "--network=none", "--pid", "--ipc", "--no-privs", "--bind=/build:/sandbox:ro",
        "--pwd=/sandbox", "--env=OMP_NUM_THREADS=2", "gcc.sif", "./a",
    ]  # fmt: skip
