"""The file of advice: a hash table on disk, read by a seek, replaced as a whole.

Slurm's hooks run in Lua inside slurmctld and sbatch; a look into this file costs them the same
however many kinds of job it has, and it is opened anew each time, so that a new one counts at once.

The first 32 bytes name the format and the number of slots.  Each slot is 16 digits: the place of a
line, or zero.  A line is key, nodes and words.  A key is user, application, partition and nodes,
set apart by the unit separator; users and partitions may be empty, which means any.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rheostat.core.texts.printable import printable

FORMAT = "rheostat-advice/1"
HEAD_B, SLOT_B = 32, 16
MOST_STEPS = 64
MOST_WORDS = 400
"""Letters of a sentence to who submits."""


@dataclass(frozen=True)
class SubmissionAdvice:
    """What is said to who submits an application at a number of nodes.

    Parameters
    ----------
    user, app, partition : str
        Of whom, what and where; an empty user or partition is any.
    requested, nodes : int
        The number of nodes asked for, and the one that is advised.
    words : str
        The sentence.
    """

    user: str
    app: str
    partition: str
    requested: int
    nodes: int
    words: str

    @property
    def key(self) -> bytes:
        """As Lua puts it together."""
        parts = (self.user, self.app, self.partition, str(self.requested))
        return "\x1f".join(parts).encode("utf-8", "surrogateescape")


def slot_of(key: bytes, slots: int) -> int:
    """Where a key is looked for first.

    >>> slot_of(b"a", 2**32) == 5381 * 33 + 97
    True
    """
    value = 5381
    for byte in key:
        value = (value * 33 + byte) % 2**32
    return value % slots


def advice_bytes(every: Iterable[SubmissionAdvice]) -> bytes:
    """The file of these; of two with one key the last stands.

    >>> one = SubmissionAdvice("", "cfd", "", 64, 32, "32 nodes save 45 %")
    >>> advice_bytes([one])[:20]
    b'rheostat-advice/1 2 '
    """
    lines = {}
    for one in every:
        words = printable(one.words).replace("\t", " ").replace("\n", " ")[:MOST_WORDS].encode()
        if not set(b"\t\n") & set(one.key):
            lines[one.key] = one.key + f"\t{one.nodes}\t".encode() + words + b"\n"
    slots = max(1, 2 * len(lines))
    while True:
        table = _placed(lines, slots)
        if table is not None:
            head = f"{FORMAT} {slots}".ljust(HEAD_B - 1).encode() + b"\n"
            digits = b"".join(f"{place:0{SLOT_B}d}".encode() for place in table)
            return head + digits + b"".join(lines.values())
        slots *= 2


def _placed(lines: dict[bytes, bytes], slots: int) -> list[int] | None:
    """The place in each slot; None where some key would be further off than is looked."""
    table = [0] * slots
    place = HEAD_B + SLOT_B * slots
    for key, line in lines.items():
        first = slot_of(key, slots)
        free = next((k for k in range(min(MOST_STEPS, slots))
                     if not table[(first + k) % slots]), None)  # fmt: skip
        if free is None:
            return None
        table[(first + free) % slots] = place
        place += len(line)
    return table
