"""What can be capped: addresses that hold watts, and how a node's caps map to them.

A node's CPU cap is spread over its processor packages, a GPU cap holds for each GPU.  A *device*
knows the addresses of one kind on one node; `Actuators` holds the devices of a node's knobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rheostat.errors import DataError, RheostatError

LIKE_W = 0.5
"""Caps this near are the same: hardware rounds what is written, RAPL to an eighth of a watt."""


@dataclass(frozen=True)
class Write:
    """``watts`` are to stand at ``address``; addresses begin with the device's name."""

    address: str
    watts: float


class Device(Protocol):
    """One kind of capped thing on one node.

    ``writes`` expands a cap into addresses and watts, or raises `DataError` where the hardware
    does not allow so few or so many; ``standing`` is the way back.  ``refusals`` says, without
    changing anything, why it would not write: an address that is none of its own, watts outside
    its range, a missing privilege.
    """

    def standing(self) -> list[float]:
        """The caps in force, one for each thing that a cap of this kind holds for."""
        ...

    def writes(self, watts: float) -> list[Write]:
        """The addresses that a cap of ``watts`` sets."""
        ...

    def get(self, address: str) -> float:
        """Watts at an address."""
        ...

    def put(self, address: str, watts: float) -> None:
        """Set watts at an address."""
        ...

    def refusals(self, writes: Sequence[Write]) -> list[str]:
        """Why these cannot be written; empty if they can."""
        ...


@dataclass(frozen=True)
class Actuators:
    """Devices by knob, for one node or many: ``devices[node][knob]``.

    ``absent`` says of a (node, knob) why there is no device.
    """

    devices: Mapping[str, Mapping[str, Device]]
    absent: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def writes(self, node: str, after: Mapping[str, float]) -> list[tuple[str, Write]]:
        """Every (address with node, write) that the caps of a node mean."""
        have = self.devices.get(node, {})
        missing = [k for k in after if k not in have]
        if missing:
            raise DataError(
                f"node {node}",
                [f"{k}: no device of this kind here, only {', '.join(have) or 'none'}"
                 for k in missing],
            )  # fmt: skip
        return [
            (join(node, knob, write.address), write)
            for knob, watts in after.items()
            for write in have[knob].writes(watts)
        ]

    def caps(self, node: str) -> dict[str, float]:
        """The caps of a node as they stand, by knob; `DataError` where its GPUs differ."""
        caps_w, problems = {}, []
        for knob, device in self.devices.get(node, {}).items():
            watts = device.standing()
            caps_w[knob] = max(watts)
            if max(watts) - min(watts) > LIKE_W:
                each = ", ".join(f"{w:g} W" for w in watts)
                problems.append(f"{knob}: expected one cap for all, found {each}: set them alike")
        if problems:
            raise DataError(f"node {node}", problems)
        return caps_w

    def get(self, place: str) -> float:
        """Watts at a place (node, knob and address joined)."""
        node, knob, address = split(place)
        return self.devices[node][knob].get(address)

    def put(self, place: str, watts: float) -> None:
        """Set watts at a place."""
        node, knob, address = split(place)
        self.devices[node][knob].put(address, watts)

    def refusals(self, place: str, watts: Sequence[float]) -> list[str]:
        """Why one of ``watts`` cannot be written to a place; empty if all can."""
        node, knob, address = split(place)
        device = self.devices.get(node, {}).get(knob)
        if device is None:
            return [self.absent.get((node, knob), f"node {node}: no device for {knob} here")]
        try:
            return device.refusals([Write(address, w) for w in watts])
        except RheostatError as error:
            return [str(error)]


def join(node: str, knob: str, address: str) -> str:
    """One text for node, knob and address."""
    return "|".join((node, knob, address))


def split(place: str) -> tuple[str, str, str]:
    """Node, knob and address of a place.

    >>> split("n1|cpu_cap_w|intel-rapl:0")
    ('n1', 'cpu_cap_w', 'intel-rapl:0')
    """
    node, knob, address = place.split("|", 2)
    return node, knob, address
