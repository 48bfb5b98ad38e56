"""How an argument walks through the floors of rheostat: one real run of a command, call by call.

``python tools/walks.py COMMAND...`` runs ``rheostat COMMAND...`` and prints, of the main thread:

- the modules that it enters, by floor;
- *returns*: modules of a lower floor that a floor calls and comes back from (`core`, the nouns that
  all use, is left out): those of the command line by name, of the other floors their number;
- *climbs*: calls from a floor to a function of a higher one, which imports rule out and objects
  that were handed down allow: a method of such an object, or a function.

Calls of one module by another are counted once, however often they are made.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from types import CodeType, FrameType
from typing import NamedTuple

FLOORS = {
    "core": 0, "measurement": 1, "prediction": 1, "tradeoff": 2, "decision": 2, "explanation": 3,
    "simulation": 3, "training": 4, "recipes": 5, "questions": 6, "service": 7, "cli": 8,
}  # fmt: skip
"""As `docs/design.md` has them."""


class Place(NamedTuple):
    """Where a function stands."""

    module: str
    floor: str
    function: str
    method: bool

    @property
    def height(self) -> int:
        return FLOORS[self.floor]


class Walk:
    """What was called from where; a profile function while it is set."""

    def __init__(self) -> None:
        self.places: dict[CodeType, Place | None] = {}
        self.stack: list[tuple[FrameType, Place | None]] = []
        self.calls: Counter[tuple[Place, Place]] = Counter()

    def place(self, frame: FrameType) -> Place | None:
        """Of a function of the library; what stands on no floor (errors, extras) has none."""
        code = frame.f_code
        if code not in self.places:
            module = str(frame.f_globals.get("__name__", ""))
            floor = module.split(".")[1] if module.startswith("rheostat.") else ""
            known = floor in FLOORS and code.co_name != "<module>"
            method = code.co_varnames[:1] in (("self",), ("cls",))
            place = Place(module, floor, code.co_qualname, method) if known else None
            self.places[code] = place
        return self.places[code]

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call; leave what has returned."""
        if event == "return":
            if self.stack and self.stack[-1][0] is frame:
                self.stack.pop()
        elif event == "call" and self._loading():
            return
        elif event == "call" and frame.f_code.co_name == "<module>":
            self.stack.append((frame, None))
        elif event == "call" and (here := self.place(frame)) is not None:
            if self.stack and (caller := self.stack[-1][1]) is not None:
                self.calls[caller, here] += 1
            self.stack.append((frame, here))

    def _loading(self) -> bool:
        """Whether a module is loaded, which calls what it declares."""
        return bool(self.stack) and self.stack[-1][1] is None

    def modules(self) -> list[Place]:
        """One function of each module that was entered."""
        return list({p.module: p for p in self.places.values() if p is not None}.values())

    def pairs(self, *, up: bool) -> dict[tuple[str, str], tuple[Place, Place]]:
        """Calls between modules of two floors, up or down, each once."""
        return {
            (a.module, b.module): (a, b)
            for a, b in self.calls
            if (a.height < b.height if up else a.height > b.height)
        }


def returns(walk: Walk) -> dict[str, set[str]]:
    """The modules below that each floor calls itself."""
    below: dict[str, set[str]] = {}
    for above, called in walk.pairs(up=False).values():
        if called.floor != "core":
            below.setdefault(above.floor, set()).add(called.module)
    return below


def walked(argv: Sequence[str]) -> Walk:
    """The walk of one command."""
    from rheostat.cli import run

    walk = Walk()
    sys.setprofile(walk)
    try:
        run(list(argv))
    finally:
        sys.setprofile(None)
    return walk


def main() -> None:
    """Print the walk of a command to standard error, beside its answer."""
    walk = walked(sys.argv[1:])
    below, up = returns(walk), walk.pairs(up=True)
    count = Counter(p.floor for p in walk.modules())
    functions = {pair for pair, (_, b) in up.items() if not b.method}
    lines = [
        f"{sum(count.values())} modules: "
        + ", ".join(f"{floor} {count[floor]}" for floor in FLOORS if count[floor]),
        "returns: " + ", ".join(f"{floor} {len(names)}" for floor, names in below.items()),
        *(f"  {name}" for name in sorted(below["cli"])),
        f"{len(up)} climbs, {len(functions)} of them to functions",
        *(f"  {a.module}:{a.function} -> {b.module}:{b.function}" for a, b in up.values()),
    ]
    print("\n".join(lines), file=sys.stderr)


if __name__ == "__main__":
    main()
