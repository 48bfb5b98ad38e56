"""A search in a process of its own: ``python killable.py JOURNAL BUDGET BATCH PAUSE``.

Prints each result after it was told, so that whoever kills the process knows what was promised.
"""

import sys
import time

import numpy as np

from rheostat import Knob, Outcome
from rheostat.tradeoff.propose import Sobol
from rheostat.tradeoff.search import search

SPACE = (Knob("nodes", range(1, 65)), Knob("cap_w", low=100.0, high=300.0))


def measure(jobs):
    n, cap = jobs.numpy("nodes")[None, :], jobs.numpy("cap_w")[None, :]
    return Outcome({"runtime_s": 10 + 90 / n * 300 / cap, "power_w": n * cap})


def main(journal, budget, batch, pause):
    def slowly(jobs):
        time.sleep(float(pause))
        return measure(jobs)

    front = search(
        Sobol(SPACE, seed=3),
        slowly,
        int(budget),
        batch=int(batch),
        journal=journal,
        progress=lambda done, budget: print(done, flush=True),
    )
    np.savetxt(sys.stdout, front.values)


if __name__ == "__main__":
    main(*sys.argv[1:])
