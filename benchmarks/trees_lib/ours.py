"""Our own student of orders of the queue: agreement, regret and loss on the part held out."""

from __future__ import annotations

import time
from typing import Any

from rheostat.simulate.imitate.dagger import imitate
from rheostat.simulate.imitate.weights import weights_of
from trees_lib.common import CANON, ROOT, trace

TEACHERS = ("wfp3", "unicef", "f1", "lxf")
LEARNED = ROOT / "out" / "learned"  # files of learned orders, where they have been trained
MOST = 1_000_000


def ours(*, quick: bool = False) -> dict[str, Any]:
    """Each simple order on each trace, from what any site knows."""
    return {name: {t: _student(name, t, "site", quick=quick) for t in TEACHERS} for name in CANON}


def learned(*, quick: bool = False) -> dict[str, Any]:
    """A learned order that has been trained here, if there is one, from the whole table."""
    files = sorted(LEARNED.glob("*.json"))[:1]
    if not files:
        print(f"no learned order in {LEARNED}: train one first")
        return {}
    return {"KTH-SP2": {"learned order": _student("KTH-SP2", str(files[0]), "full", quick=quick)}}


def _student(name: str, teacher: str, features: str, *, quick: bool) -> dict[str, Any]:
    jobs, size = trace(name, 0, 3000 if quick else MOST, CANON), CANON[name][1]
    begin = time.process_time()
    how = {"features": features, "rounds": 2, "decisions": 500 if quick else 2000}
    tree = imitate(teacher, jobs, size, **how).tree
    told = {
        **{k: tree.facts[k] for k in ("certificate", "slowdown")},
        "leaves": len(tree.leaves),
        "depth": tree.depth,
        "slopes": int((tree.slope[tree.leaves] >= 0).sum(axis=1).max()),
        "asks": [f.name for f in tree.used],
        "cpu_s": time.process_time() - begin,
    }
    if features == "site":
        weights = weights_of(teacher, jobs, size, decisions=how["decisions"])
        told["multifactor"] = {"agreement": weights.agreement, "chance": weights.chance}
    print(name, teacher, told["leaves"], told["slowdown"], told["certificate"]["agreement"],
          flush=True)  # fmt: skip
    return told
