"""Apply a plan without ever exceeding the budget, and put everything back.

Lower first, wait until the lowered caps hold, then raise: at every moment the caps in force are,
place by place, at most the old or the new one, and their sum at most the larger of the two sums.
Every change is in the journal before it is made.  If a write fails, what was changed is put back in
the same order of lowering before raising.

References
----------
The invariant is proved by the property test ``tests/decision/test_transition.py``, with lag, idle
nodes and failing writes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rheostat.decision.actuate.cap_journal import CapEntry, CapJournal
from rheostat.decision.actuate.device import LIKE_W, Actuators
from rheostat.decision.budget.cap_plan import CapPlan
from rheostat.errors import NotPermitted, RheostatError

SETTLE_S = 1.0
_EVEN_W = 1e-3


@dataclass(frozen=True)
class CapChange:
    """A change of one place, in watts."""

    place: str
    before_w: float
    to_w: float


@dataclass(frozen=True)
class CapChanges:
    """Changes in the order in which they are made; ``moved`` are places that were not as planned.

    ``moved`` maps a node's knob to (planned, found) where the plan expected something else.
    """

    lower: tuple[CapChange, ...] = ()
    higher: tuple[CapChange, ...] = ()
    moved: dict[str, tuple[float, float]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.lower) + len(self.higher)


def steps(nodes: Sequence[CapPlan], panel: Actuators) -> CapChanges:
    """What is to be done, from what stands now; changes nothing."""
    lower, higher, moved = [], [], {}
    for node in nodes:
        for place, write in panel.writes(node.node, node.after):
            now = panel.get(place)
            step = CapChange(place, now, write.watts)
            if now > write.watts + _EVEN_W:
                lower.append(step)
            elif now < write.watts - _EVEN_W:
                higher.append(step)
        for knob, watts in node.before.items():
            standing_w = _moved(panel, node, knob)
            if standing_w is not None:
                moved[f"{node.node} {knob}"] = (watts, standing_w)
    return CapChanges(tuple(lower), tuple(higher), moved)


def _moved(panel: Actuators, node: CapPlan, knob: str) -> float | None:
    """The watts that stand for a knob, if neither those before the plan nor those after it."""
    if knob not in panel.devices.get(node.node, {}):
        return None
    caps_w = panel.devices[node.node][knob].standing()
    planned = (node.before[knob], node.after.get(knob, node.before[knob]))
    as_planned = any(all(abs(w - p) <= LIKE_W for w in caps_w) for p in planned)
    return None if as_planned else max(caps_w)


def check(todo: CapChanges, panel: Actuators, journal: CapJournal) -> None:
    """Raise if some step could not be made, journalled or undone; changes nothing.

    Raises
    ------
    NotPermitted
        Every reason why a place cannot be written, or could not be put back.
    DataError, OSError
        The journal cannot be written, or what is there could not be restored from.
    """
    journal.check()
    problems = [
        reason
        for s in (*todo.lower, *todo.higher)
        for reason in panel.refusals(s.place, [s.before_w, s.to_w])
    ]
    if problems:
        raise NotPermitted(list(dict.fromkeys(problems)))


def apply(
    todo: CapChanges,
    panel: Actuators,
    journal: CapJournal,
    *,
    settle_s: float = SETTLE_S,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Make the changes; returns how many.

    Raises
    ------
    NotPermitted
        Before anything is changed, if some place cannot be written, or could not be put back.
    OSError
        A write failed halfway: what was changed has been put back, and the error says so.
    """
    check(todo, panel, journal)
    done: list[CapChange] = []
    try:
        for group in (todo.lower, todo.higher):
            for step in group:
                journal.write(CapEntry(step.place, step.before_w, step.to_w))
                done.append(step)
                panel.put(step.place, step.to_w)
            if group and group is todo.lower and todo.higher:
                sleep(settle_s)
    except OSError as error:
        undone = put_back(done, panel, settle_s=settle_s, sleep=sleep)
        outcome = f"{undone} caps put back"
        if undone < len(done):
            left = len(done) - undone
            outcome = f"{left} caps could not be put back: run rheostat budget restore"
        raise OSError(f"{error}; {outcome}") from error
    return len(done)


def put_back(
    done: Sequence[CapChange],
    panel: Actuators,
    *,
    settle_s: float = SETTLE_S,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Undo steps, lowering before raising; goes on past writes that fail; returns how many held."""
    held = 0
    raised = [s for s in done if s.to_w > s.before_w]
    lowered = [s for s in done if s.to_w <= s.before_w]
    for group in (raised, lowered):
        for step in group:
            try:
                panel.put(step.place, step.before_w)
                held += 1
            except OSError:
                if group is raised:  # its watts are still out: give none back on top of them
                    return held
        if group is raised and raised and lowered:
            sleep(settle_s)
    return held


@dataclass(frozen=True)
class Restored:
    """How many places were put back, and what was not.

    ``left`` are places that somebody else had changed since, with what stands there: left alone.
    ``problems`` are lines and places that could not be put back; the journal is kept for them.
    """

    places: int
    left: dict[str, float]
    problems: tuple[str, ...] = ()


def restore(
    journal: CapJournal,
    panel: Actuators,
    *,
    force: bool = False,
    settle_s: float = SETTLE_S,
    sleep: Callable[[float], None] = time.sleep,
) -> Restored:
    """Put back what stood at every place before the journal's first change of it.

    Whatever is wrong with a line or a place, the others are put back: nothing that the journal says
    is believed unless the device itself says that the address is its own and the watts are within
    its range.  A place that holds neither what was written last nor what stood before was changed
    by somebody else and is left alone, unless ``force``.  Done twice, the second finds nothing to
    do.
    """
    entries, problems = journal.entries()
    first, last = {e.place: e for e in reversed(entries)}, {e.place: e for e in entries}
    back, left = [], {}
    for place, entry in first.items():
        before, refused = entry.before_w, panel.refusals(place, [entry.before_w])
        try:
            now = float("nan") if refused else panel.get(place)
        except (RheostatError, OSError) as error:
            refused = [str(error)]
        if refused:
            problems += refused
            continue
        ours = [last[place].to_w, last[place].before_w, before]
        if not force and all(abs(now - w) > LIKE_W for w in ours):
            left[place] = now
        elif abs(now - before) > _EVEN_W:
            back.append(CapChange(place, before, now))
    held = put_back(back, panel, settle_s=settle_s, sleep=sleep)
    if held < len(back):
        problems.append(f"{len(back) - held} of {len(back)} caps could not be written: try again")
    if not problems:
        journal.close()
    return Restored(held, left, tuple(dict.fromkeys(problems)))
