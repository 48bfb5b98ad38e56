"""Who goes next: orders of the waiting jobs, and policies made of an order and a backfilling."""

from rheostat.decide.queue.orders import ORDERS, Order, order
from rheostat.decide.queue.policy import Policy, policy

__all__ = ["ORDERS", "Order", "Policy", "order", "policy"]
