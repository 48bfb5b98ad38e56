"""`budget.diff`, `apply` and `restore`: what a plan means on devices, set and put back."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rheostat.core.report import Grid, Report, Section
from rheostat.decision.actuate.actuators import DeviceAddress
from rheostat.decision.actuate.apply import CapChanges, check, steps
from rheostat.decision.actuate.apply import apply as set_caps
from rheostat.decision.actuate.apply import restore as put_back
from rheostat.decision.actuate.cap_journal import CapJournal
from rheostat.decision.actuate.device import Actuators
from rheostat.decision.actuate.watchdog import panel_of
from rheostat.decision.budget.cap_plan import read_plan
from rheostat.errors import DataError
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.budget.fleets import devices
from rheostat.questions.listener import question

JOURNAL = "rheostat.journal"
HEADS = ("node", "knob", "address", "now_w", "then_w")
MOST_MOVED = 8


@dataclass(frozen=True, kw_only=True, repr=False)
class CapChangesAnswer(Answer):
    """Caps to change, in this order: lower first.

    Parameters
    ----------
    changes : CapChanges
        What goes down, what goes up, and what stands elsewhere than the plan expected.
    """

    schema: ClassVar[str] = "rheostat.diff/1"
    changes: CapChanges

    def report(self) -> Report:
        """A row a change."""
        return Report("Caps to change, in this order", [Section("", grid=self.grids()[0])])

    def facts(self) -> dict[str, Any]:
        """The changes."""
        rows = self.grids()[0].rows
        return {"changes": [dict(zip(HEADS, row, strict=True)) for row in rows],
                "not_as_planned": len(self.changes.moved)}  # fmt: skip

    def grids(self) -> tuple[Grid, ...]:
        """A row a change."""
        every = (*self.changes.lower, *self.changes.higher)
        rows = tuple((*s.place.split("|", 2), s.before_w, s.to_w) for s in every)
        return (Grid(HEADS, rows),)


@dataclass(frozen=True, kw_only=True, repr=False)
class AppliedAnswer(CapChangesAnswer):
    """Caps that were changed.

    Parameters
    ----------
    done : int
        How many; 0 where all was only checked.
    """

    schema: ClassVar[str] = "rheostat.apply/1"
    done: int


@question
def diff(
    plan: Path | str, *, node: str = "", where: DeviceAddress | None = None
) -> CapChangesAnswer:
    """Tell what applying a plan would change here, from what stands now; change nothing.

    Parameters
    ----------
    plan : path
        As `rheostat.budget.plan` writes it.
    node : str
        This node's name in the plan; the host's name by default, all nodes of a tree.
    where : DeviceAddress, optional
        The `devices`; this machine's by default.

    Returns
    -------
    CapChangesAnswer
        With ``changes``.

    Raises
    ------
    DataError
        The file is no plan, this node is not in it, or caps that it assumed stand elsewhere.
    """
    return CapChangesAnswer(changes=changes_of(plan, node, where or devices())[0])


@question
def apply(
    plan: Path | str,
    *,
    journal: Path | str = JOURNAL,
    dry_run: bool = False,
    node: str = "",
    where: DeviceAddress | None = None,
    settle_s: float = 1.0,
) -> AppliedAnswer:
    """Set the caps of a plan: lower first, then raise; every change is journalled before.

    Parameters
    ----------
    plan : path
        As `rheostat.budget.plan` writes it.
    journal : path
        What stood before, a line before every change.
    dry_run : bool
        Check everything, change nothing.
    node, where
        As for `diff`.
    settle_s : float
        Seconds until a lowered cap holds.

    Returns
    -------
    AppliedAnswer
        With ``done``.

    Raises
    ------
    DataError
        As of `diff`.
    NotPermitted
        A cap cannot be set; nothing was changed.
    """
    changes, panel = changes_of(plan, node, where or devices())
    book = CapJournal(Path(journal))
    check(changes, panel, book)
    if dry_run:
        listener.line("dry run: nothing was changed")
        return AppliedAnswer(changes=changes, done=0)
    done = set_caps(changes, panel, book, settle_s=settle_s)
    listener.line(f"{done} caps set; rheostat budget restore --journal {journal} puts them back")
    return AppliedAnswer(changes=changes, done=done)


def restore(
    journal: Path | str = JOURNAL,
    *,
    force: bool = False,
    where: DeviceAddress | None = None,
    settle_s: float = 1.0,
) -> int:
    """Put back every cap that the journal names, as it stood before the first change.

    Parameters
    ----------
    journal : path
        As `apply` wrote it.
    force : bool
        Also where somebody else has set a cap since.
    where : DeviceAddress, optional
        The `devices`; this machine's by default.
    settle_s : float
        Seconds until a lowered cap holds.

    Returns
    -------
    int
        Caps that were put back.

    Raises
    ------
    DataError
        Some could not be put back; all others were.
    """
    book = CapJournal(Path(journal))
    back = put_back(book, panel_of(book, where or devices()), force=force, settle_s=settle_s)
    listener.line(f"{back.places} caps put back")
    for place, watts in back.left.items():
        listener.note(
            f"{place} stands at {watts:g} W, set by somebody else: left (--force puts back)"
        )
    if back.problems:
        raise DataError(str(journal), [*back.problems, "all others were put back"])
    return back.places


def changes_of(plan: Path | str, node: str, where: DeviceAddress) -> tuple[CapChanges, Actuators]:
    """What a plan means here: all nodes of a tree, or this machine's own."""
    nodes, plan_facts = read_plan(Path(plan))
    if node or not where.tree:
        name = node or socket.gethostname()
        mine = [n for n in nodes if n.node in (name, name.split(".", maxsplit=1)[0])]
        if not mine:
            hint = f"its nodes: {', '.join(n.node for n in nodes[:8])}; name one with --node"
            raise DataError(str(plan), [f"the plan has no node {name}", hint])
        nodes = mine
    panel = where.panel(
        [n.node for n in nodes], {k for n in nodes for k in {**n.before, **n.after}}
    )
    changes = steps(nodes, panel)
    if changes.moved and plan_facts.get("caps_now") == "assumed":
        few = list(changes.moved.items())[:5]
        problems = [f"{place}: assumed {planned:g} W, found {w:g} W" for place, (planned, w) in few]
        hint = "plan again with --from device, or with the caps in --nodes"
        raise DataError(str(plan), ["was planned for caps that were assumed", *problems, hint])
    for name, (planned, standing) in list(changes.moved.items())[:MOST_MOVED]:
        listener.note(f"{name}: the plan expected {planned:g} W, {standing:g} W stand there")
    return changes, panel
