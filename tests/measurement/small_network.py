"""What tests of simulated networks share: a configuration, records, series and marks."""

from __future__ import annotations

import struct

import numpy as np

from rheostat.measurement.network.port_series import PortSeries

CONF = ('num_groups="3";\nnum_routers="2";\n# num_routers="9";\nnum_cns_per_router="1";\n'
        'num_global_channels="1";\nlocal_bandwidth="2";\ncn_bandwidth="0.5";\n')  # fmt: skip


def record(router, when, radix, seed=0):
    """A router's record whose quantities are all different."""
    base = 1000 * seed + np.arange(radix)
    payload = struct.pack("<Qdqq", router, when, 5, 0) + b"\xee" * 40
    for kind, k in (("<f8", 1), ("<i8", 2), ("<u8", 3), ("<i4", 4), ("<i4", 5)):
        payload += (base * k).astype(kind).tobytes()
    return header(len(payload)) + payload


def header(size, flag=3):
    return struct.pack("<QQQddii", 4, 4, 0, 250_000.0, 0.0, size, flag)


def series(end_s, values):
    return PortSeries(np.asarray(end_s, float), np.asarray(values, float))


def mark(i, rank, ns, job=0):
    return f"ITERATION {i} node {10 + rank} job {job} rank {rank} time {ns}"
