"""Peak memory of a run, told by a parent of its own that is smaller than what it measures.

The kernel counts what a process was before it became the program, too: what is told of a child of
this interpreter begins with the interpreter's own memory.  A parent of a few kilobytes, compiled
and run in the sandbox, has no such floor.
"""

from __future__ import annotations

import math
import re
import secrets
import shutil

from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.sandboxed.capture import SandboxLimits
from rheostat.measurement.code.sandboxed.sandbox import give_away
from rheostat.measurement.code.toolchain import BINARY
from rheostat.measurement.code.workbench import Built, Workbench

PARENT = Program(
    {
        "parent.c": r"""#define _GNU_SOURCE
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
  struct rusage used;
  int status = 0;
  pid_t child = argc > 2 ? fork() : -1;
  if (child == 0) {
    execvp(argv[2], argv + 2);
    _exit(127);
  }
  if (child < 0 || wait4(child, &status, 0, &used) < 0) return 127;
  fprintf(stderr, "\n%s %ld\n", argv[1], used.ru_maxrss);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
"""
    },
    is_ours=True,
)
FILE = "rheostat-parent"


def peak_memory_b(
    bench: Workbench, built: Built, given: ProgramInput, *, threads: int, limits: SandboxLimits
) -> float:
    """Peak memory of a program on an input.

    Parameters
    ----------
    bench : Workbench
        Where it is run.
    built : Built
        The program.
    given : ProgramInput
        Its input.
    threads : int
        That it has.
    limits : SandboxLimits
        What it may use.

    Returns
    -------
    float
        Bytes; NaN where the run ends badly or the parent cannot be built.
    """
    parent = bench.build(PARENT, built.kind)
    if not (parent.ok and (parent.folder / BINARY).exists()):
        return math.nan
    tool = built.folder / FILE
    if not tool.exists():
        shutil.copy(parent.folder / BINARY, tool)
        give_away(tool)
    mark = secrets.token_hex(8)
    run = bench.run(built, given, threads=threads, limits=limits, wrapper=(f"./{FILE}", mark),
                    anew=True)  # fmt: skip
    said = re.findall(rf"^{mark} (\d+)$", run.stderr, re.MULTILINE)
    return 1024.0 * float(said[-1]) if run.ok and said else math.nan
