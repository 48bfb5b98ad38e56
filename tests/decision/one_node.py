"""What tests of co-scheduling share: a node, its queue, a tenant."""

from __future__ import annotations

from rheostat.decision.coschedule.gpu_profiles import Mode
from rheostat.decision.coschedule.shared_node import Node, Tenant, Waiting

NODE = Node(idle_w=50.0)


def waiting(*apps) -> list[Waiting]:
    return [Waiting(f"{a}#{i}", a) for i, a in enumerate(apps)]


def tenant(*gpus, domain=0, end_s=9.0) -> Tenant:
    return Tenant(Waiting("t", "t"), Mode("t", len(gpus), 9.0, 1.0), gpus, domain, 0.0, end_s)
