"""How long a decision of an exported tree takes, beside the table the network looks at."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.decision.policies.batch_policy import batch_policy
from rheostat.decision.policies.export import export
from rheostat.decision.policies.priority_functions import priority_function
from rheostat.decision.policies.priority_tree import PriorityTree
from rheostat.decision.policies.tree_priority import SITE
from rheostat.training.distill.decision_states import DistillTrace, of_order, watched
from rheostat.training.distill.fit_tree import SLOPES, grown, polishes, stakes_of
from trees_lib.common import CANON, trace

QUEUE, STATES, DECISIONS = 50, 100_000, 20_000


def exports(*, quick: bool = False) -> dict[str, Any]:
    """CPU time of one decision among 50 jobs: the C source, and ours in Python."""
    jobs = trace("KTH-SP2", 0, 3000, CANON)
    trial, teacher = DistillTrace.of(jobs, CANON["KTH-SP2"][1]), priority_function("wfp3")
    start = trial.starts(batch_policy("wfp3+easy"))
    # six questions deep whatever that is good for: the most a decision can cost
    states = watched(trial, start, of_order(teacher), features=SITE, most=1000)
    matter = stakes_of(states)
    tree = polishes(grown(states, 6, matter), states, matter, SLOPES)[-1]
    rng = np.random.default_rng(0)
    wait, request = (np.exp(rng.normal(8, 2, STATES)) for _ in range(2))
    procs = rng.integers(1, 101, STATES).astype(float)
    x = np.stack([wait, request, procs, request * procs, wait / request], axis=1)
    found: dict[str, Any] = {"leaves": len(tree.leaves), "depth": tree.depth, "queue": QUEUE}
    begin = time.process_time()
    for k in range(200):
        tree.predict(x[k * QUEUE : (k + 1) * QUEUE]).argmax()
    found["python_s"] = (time.process_time() - begin) / 200
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        print("no C compiler: the C source is not timed")
        return found
    with tempfile.TemporaryDirectory() as folder:
        found |= _timed(tree, x, compiler, Path(folder))
    return found


TIMER = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int rheostat_first(const double *x, int n);
int main(int count, char **words)
{
    int states = atoi(words[2]), wide = atoi(words[3]), queue = atoi(words[4]);
    long decisions = atol(words[5]), sum = 0;
    double *x = malloc(sizeof(double) * states * wide);
    FILE *file = fopen(words[1], "rb");
    if (count < 6 || !file || fread(x, sizeof(double), (size_t)states * wide, file) == 0) return 1;
    clock_t begin = clock();
    for (long k = 0; k < decisions; k++)
        sum += rheostat_first(x + (k % (states / queue)) * queue * wide, queue);
    printf("%.9g %ld\\n", (double)(clock() - begin) / CLOCKS_PER_SEC / decisions, sum);
    return 0;
}
"""


def _timed(tree: PriorityTree, x: np.ndarray, compiler: str, folder: Path) -> dict[str, Any]:
    """Compiled without optimisation beyond -O2, and asked from C."""
    (folder / "tree.c").write_text(export(tree, "c"))
    (folder / "timer.c").write_text(TIMER)
    x.tofile(folder / "x")
    built = [compiler, "-O2", "-o", folder / "timer", folder / "tree.c", folder / "timer.c", "-lm"]
    subprocess.run(built, check=True)
    sizes = [str(v) for v in (len(x), x.shape[1], QUEUE, DECISIONS)]
    done = subprocess.run(
        [folder / "timer", folder / "x", *sizes], check=True, capture_output=True, text=True
    )
    seconds, total = done.stdout.split()
    own = sum(
        int(tree.predict(x[i * QUEUE : (i + 1) * QUEUE]).argmax()) for i in range(len(x) // QUEUE)
    )
    rounds = DECISIONS // (len(x) // QUEUE)
    lib = ctypes.CDLL(str(_library(compiler, folder)))
    lib.rheostat_worth.argtypes = [ctypes.c_double] * x.shape[1]
    lib.rheostat_worth.restype = ctypes.c_double
    same = [lib.rheostat_worth(*row) for row in x.tolist()] == tree.predict(x).tolist()
    return {"c_s": float(seconds), "same_choices": own * rounds == int(total),
            "same_worths": same, "states": len(x)}  # fmt: skip


def _library(compiler: str, folder: Path) -> Path:
    built = [
        compiler,
        "-O2",
        "-shared",
        "-fPIC",
        "-o",
        folder / "tree.so",
        folder / "tree.c",
        "-lm",
    ]
    subprocess.run(built, check=True)
    return folder / "tree.so"
