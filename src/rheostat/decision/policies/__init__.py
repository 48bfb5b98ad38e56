"""Who goes next: orders of the waiting jobs, and policies made of an order and a backfilling."""

from rheostat.decision.policies.batch_policy import BatchPolicy, batch_policy
from rheostat.decision.policies.priority_functions import (
    PRIORITY_FUNCTIONS,
    PriorityFunction,
    priority_function,
)

__all__ = [
    "PRIORITY_FUNCTIONS",
    "BatchPolicy",
    "PriorityFunction",
    "batch_policy",
    "priority_function",
]
