"""One thread, where the same seed must give the same bytes on every machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """BLAS, OpenMP and, where it is loaded, torch on one thread; outside again as before.

    Sums in several threads are added up in an order that depends on how many there are, so that
    the last bits of a result depend on the machine's cores.

    >>> import numpy as np
    >>> with one_thread():
    ...     float(np.ones((2, 2)).dot(np.ones(2)).sum())
    4.0
    """
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else 0
    with threadpool_limits(1):
        try:
            if torch:
                torch.set_num_threads(1)
            yield
        finally:
            if torch:
                torch.set_num_threads(before)
