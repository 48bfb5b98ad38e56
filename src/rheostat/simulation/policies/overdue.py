"""When jobs that outlived their estimate are expected to end: one convention for one comparison.

EASY with overdue jobs expected in the past lets nothing pass them, and waits far longer than with
their estimates extended.  A policy that is compared with it under another convention wins or loses
by the convention, so all policies of one table are run under the same.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from rheostat.decision.policies.batch_policy import OVERDUE, BatchPolicy
from rheostat.errors import DataError
from rheostat.simulation.policies.estimates import overdue_of

PREFERRED = ("extend", "past", "now")


class Named(Protocol):
    """A policy, of which the name alone matters here."""

    @property
    def name(self) -> str:
        """What it is called in tables."""
        ...


P = TypeVar("P", bound=Named)


def conventions(policy: Named) -> tuple[str, ...]:
    """Which of "past", "now" and "extend" ``policy`` can be run under.

    An agent sees the ends that the requests gave, and so does a policy without an attribute
    ``overdue``: "past" alone.

    >>> from rheostat.decision.policies.batch_policy import batch_policy
    >>> conventions(batch_policy("easy"))
    ('past', 'now', 'extend')
    """
    return OVERDUE if hasattr(policy, "overdue") else OVERDUE[:1]


def usual(policy: Named, estimates: Any = "user") -> str:
    """The convention that ``policy`` has when it is run alone.

    >>> from rheostat.decision.policies.batch_policy import batch_policy
    >>> usual(batch_policy("easy")), usual(batch_policy("easy"), "last2")
    ('past', 'extend')
    """
    own: str | None = getattr(policy, "overdue", OVERDUE[0])
    if own is None and isinstance(policy, BatchPolicy) and policy.order.tree is not None:
        own = "extend" if policy.order.tree.facts.get("trust") else None
    return overdue_of(own, estimates)


def agreed(
    policies: Sequence[Named], asked: str | None, estimates: Any = "user", default: str = ""
) -> str:
    """The one convention of a comparison: as ``asked``, else what all of them can be run under.

    Without ``asked`` it is ``default``, or what all have by themselves; where these differ, the
    first of extend, past and now that all can have.

    Raises
    ------
    DataError
        ``asked`` is no convention, or a policy cannot be run under it.

    >>> from rheostat.decision.policies.batch_policy import batch_policy
    >>> agreed([batch_policy("easy"), batch_policy("sjf")], None)
    'past'
    """
    able = [how for how in PREFERRED if all(how in conventions(p) for p in policies)]
    if asked:
        problems = [
            f"{p.name} sees overdue jobs in the {' or '.join(conventions(p))}: expected no other "
            f"convention, got {asked}"
            for p in policies
            if asked not in conventions(p)
        ]
        if asked not in OVERDUE:
            problems = [f"expected one of {', '.join(OVERDUE)}, got {asked!r}"]
        if problems:
            raise DataError("overdue", problems)
        return asked
    wanted = {default} if default else {usual(p, estimates) for p in policies}
    return next((how for how in able if wanted == {how}), able[0])


def under(policy: P, convention: str) -> P:
    """``policy`` under a convention of `conventions`.

    >>> from rheostat.decision.policies.batch_policy import batch_policy
    >>> under(batch_policy("easy"), "extend").overdue
    'extend'
    """
    if convention not in conventions(policy):
        agreed([policy], convention)
    if not hasattr(policy, "overdue"):
        return policy
    changed = copy.copy(policy)
    object.__setattr__(changed, "overdue", convention)
    return changed
