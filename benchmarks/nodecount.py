"""The benchmark that decides: who finds the runtime-energy and runtime-power front with fewest
evaluations?

    python benchmarks/nodecount.py --quick              # 4 pools, 3 seeds, a table on stderr
    python benchmarks/nodecount.py --json > rows.json   # all pools, 20 seeds, one JSON document
    python benchmarks/nodecount.py --data DIR --json    # other tables of measured runs (any CSV)
    python benchmarks/nodecount.py --write-docs         # and rewrite docs/benchmarks.md

Real measured pools whose true front is known are replayed; see docs/benchmarks.md for the protocol.
Progress goes to stderr.  Results are cached per (method, pool, seed), so a run can be interrupted.
"""

from __future__ import annotations

import os

for _threads in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")  # tiny matrices: a second thread only spins

import sys  # noqa: E402
from pathlib import Path  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))

from nodecount_lib.command import main  # noqa: E402

if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
