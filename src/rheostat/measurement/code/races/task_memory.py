"""Tasks of OpenMP for checkers of races: memory that libomp gives from one task to the next.

ThreadSanitizer does not see inside libomp, so that the values handed to a new task and those that
the last owner of its memory has read look like a race, by chance.  A file beside the program tells
the checker that the memory of each task is new.
"""

from __future__ import annotations

import re
from dataclasses import replace

from rheostat.measurement.code.bundled import bundled
from rheostat.measurement.code.programs.program import PRAGMA, Program

RUNTIME = "task_memory.c"
TASKS = re.compile(PRAGMA + r"\b.*\btask(?:loop)?\b")
UNKNOWN = "libomp gives the memory of tasks on, and a build of its own does not let that be seen"


def with_task_memory(program: Program) -> Program:
    """The program with the file that keeps its tasks' memory apart; as it is without tasks.

    Parameters
    ----------
    program : Program
        What is built for a checker of races.

    Returns
    -------
    Program
        To be built by clang with OpenMP.

    Examples
    --------
    >>> sorted(with_task_memory(Program({"a.c": "#pragma omp task"}, "openmp")).files)
    ['a.c', 'task_memory.c']
    >>> sorted(with_task_memory(Program({"a.c": "#pragma omp for"}, "openmp")).files)
    ['a.c']
    """
    if program.build or not TASKS.search(program.text):
        return program
    text = bundled("runtimes", RUNTIME)
    return replace(program, files={**program.files, RUNTIME: text})
