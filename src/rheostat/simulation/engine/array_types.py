"""Types of what the compiled functions are handed; numba makes its own from the values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

Score = Callable[[float, float, float, float], float]
"""(now, submit, estimate, processors) -> place in the queue, smallest first."""
WaitingJobs = tuple[Floats, Floats, Ints, Floats, Floats]
"""submit, run, procs, planned, booked, each (n,)."""
OrderedJobs = tuple[Floats, Floats, Ints, Floats, Floats, Floats]
"""`WaitingJobs` and rank (n,)."""
Busy = tuple[Floats, Floats, Floats, bool]
"""few, ends, running as in `running_jobs`; do jobs that end together go by expected end?"""
Overdue = tuple[int, Floats, Floats]
"""What holds for jobs that run longer than expected, as in `running_jobs.extend`."""
Learning = tuple[Ints, Floats, Floats, Score, bool]
"""user, recent, ask, score, last_two as in `static_priority.run_fixed`."""
