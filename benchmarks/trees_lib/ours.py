"""Our own student of orders of the queue: agreement, regret and loss on the part held out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from rheostat.simulate.imitate.dagger import imitate
from rheostat.simulate.imitate.weights import weights_of
from trees_lib.common import CANON, ROOT, trace

TEACHERS = ("wfp3", "unicef", "f1", "lxf")
LEARNED = ROOT / "out" / "learned"  # files of learned orders, where they have been trained
MOST = 1_000_000


def ours(*, quick: bool = False) -> dict[str, Any]:
    """Each teacher on each trace; learned orders, if there are any, with the whole table."""
    found: dict[str, Any] = {}
    for name in CANON:
        jobs, size = trace(name, 0, 3000 if quick else MOST, CANON), CANON[name][1]
        found[name] = {}
        for teacher, features in (*((t, "site") for t in TEACHERS), *learned()):
            begin = time.process_time()
            how = {"features": features, "rounds": 2, "decisions": 500 if quick else 2000}
            tree = imitate(teacher, jobs, size, **how).tree
            told = {
                **{k: tree.facts[k] for k in ("certificate", "slowdown")},
                "leaves": len(tree.leaves),
                "depth": tree.depth,
                "slopes": int(tree.slope.shape[1]),
                "asks": [f.name for f in tree.used],
                "cpu_s": time.process_time() - begin,
            }
            if features == "site":
                weights = weights_of(teacher, jobs, size, decisions=how["decisions"])
                told["multifactor"] = {"agreement": weights.agreement, "chance": weights.chance}
            found[name][Path(teacher).stem] = told
            print(name, teacher, told["leaves"], told["slowdown"], told["certificate"]["agreement"],
                  flush=True)  # fmt: skip
    return found


def learned() -> list[tuple[str, str]]:
    """Files of learned orders."""
    return [(str(p), "full") for p in sorted(LEARNED.glob("*.json"))[:1]]
