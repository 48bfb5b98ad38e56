"""Variables that are not 0 only where memory was not had: ``failed = !keys || !counts;``.

Whether such a one is 0 is the question of a pointer beside null, asked later or by another thread,
and no run has to show it.  Every store to the variable has to be 0 or such a truth, as far as its
address goes nowhere but into the list of a loop's reduction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rheostat.measurement.code.reached.constant_values import NAME
from rheostat.measurement.code.reached.truths import ALLOCATES, LOADED, STORED, maker

WITH_NULL = re.compile(rf"icmp (?P<how>eq|ne) ptr (?P<one>{NAME}), null(?:,|$)")
WIDER = re.compile(rf"zext i1 (?P<of>{NAME}) to ")
EITHER = re.compile(rf"or i1 (?P<one>{NAME}), (?P<other>{NAME})(?:,|$)")
NOT = re.compile(rf"xor i1 (?P<of>{NAME}), true(?:,|$)")
JOINED = re.compile(r"phi i1 ")
FROM = re.compile(r"\[ (?P<value>[^\s,]+), %(?P<label>[^\s\]]+) \]")
BEGINS = re.compile(r"([-\w.$]+):")
BRANCH = re.compile(rf"\s*br i1 (?P<of>{NAME}), label %(?P<one>[^\s,]+), label %(?P<other>[^\s,]+)")
VARIABLE = re.compile(r"alloca i(?:8|32)(?:,|$)")
PASSED = re.compile(
    rf"\s*(?:call void @llvm\.(?:lifetime|dbg)\.|store ptr {NAME}, ptr (?P<list>{NAME}))"
)
REDUCED = ".omp.reduction.red_list"


def tells_failure(
    m: re.Match[str], rows: Sequence[str], defined: Mapping[str, str]
) -> bool:  # fmt: skip
    """Whether a comparison with 0 asks nothing but whether memory was had.

    Parameters
    ----------
    m : re.Match
        The comparison.
    rows : sequence of str
        Its function, before it is optimised.
    defined : mapping of str to str
        What its values are.
    """
    slot = LOADED.match(defined.get(m["one"], ""))
    if m["other"] != "0" or not slot or not VARIABLE.match(defined.get(slot[1], "")):
        return False
    return _Failures(rows, defined).alone_set(slot[1])


class _Failures:
    def __init__(self, rows: Sequence[str], defined: Mapping[str, str]) -> None:
        self.rows, self.defined = rows, defined
        self.labels = dict[str, str]()
        self.ends = dict[str, re.Match[str]]()
        label = "entry"
        for row in rows[1:]:
            if begins := BEGINS.match(row):
                label = begins[1]
            elif m := BRANCH.match(row):
                self.ends[label] = m
            self.labels[row.strip().partition(" = ")[0]] = label

    def alone_set(self, place: str) -> bool:
        """Whether nothing but 0 and failures is stored there, and something is."""
        used = re.compile(rf"{re.escape(place)}(?=[\s,)]|$)")
        stored = [m for row in self.rows if (m := STORED.match(row)) and m["place"] == place]
        others = [
            row for row in self.rows if used.search(row) and not self._is_harmless(row, place)
        ]
        values = [m["value"] for m in stored if m["value"] != "0"]
        return bool(values) and not others and all(map(self.failed, values))

    def _is_harmless(self, row: str, place: str) -> bool:
        """Whether a row declares, reads or sets the variable, or hands it to a reduction."""
        said = row.strip()
        if said.startswith(f"{place} = ") or LOADED.match(said.partition(" = ")[2]):
            return True
        if (m := STORED.match(row)) and m["place"] == place:
            return True
        passed = PASSED.match(row)
        return bool(passed and (not passed["list"] or REDUCED in self._whole(passed["list"])))

    def _whole(self, name: str) -> str:
        return f"{name} {self.defined.get(name, '')}"

    def failed(self, value: str) -> bool:
        """Whether a truth is true only where memory was not had."""
        said = self.defined.get(value, "")
        if m := WITH_NULL.match(said):
            return m["how"] == "eq" and self._allocated(m["one"])
        if m := WIDER.match(said):
            return self.failed(m["of"])
        if m := EITHER.match(said):
            return self.failed(m["one"]) and self.failed(m["other"])
        if m := NOT.match(said):
            return self._had(m["of"])
        ways = FROM.findall(said) if JOINED.match(said) else []
        return bool(ways) and all(self._failed_from(v, b, self.labels[value]) for v, b in ways)

    def _failed_from(self, value: str, label: str, here: str) -> bool:
        """The same where control comes from a block."""
        if value != "true":
            return value == "false" or self.failed(value)
        end = self.ends.get(label)
        return (
            end is not None
            and end["one"] != end["other"]
            and (self.failed(end["of"]) if end["one"] == here else self._had(end["of"]))
        )

    def _had(self, value: str) -> bool:
        """Whether a truth is false only where memory was not had."""
        said = self.defined.get(value, "")
        if m := WITH_NULL.match(said):
            return m["how"] == "ne" and self._allocated(m["one"])
        m = NOT.match(said)
        return m is not None and self.failed(m["of"])

    def _allocated(self, pointer: str) -> bool:
        return ALLOCATES.match(maker(pointer, self.rows, self.defined)) is not None
