"""Calls of the kernel that no program here needs, refused by a filter (seccomp) in the sandbox.

New namespaces, mounts, other processes' memory, keys, kernel modules and rings of calls are how one
gets out of a sandbox where the kernel has a fault.  The filter is Berkeley packet filter code.
"""

from __future__ import annotations

import functools
import platform
import struct
from collections.abc import Iterator

NUMBERS = {
    "x86_64": {
        "clone": 56, "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311,
        "unshare": 272, "setns": 308, "mount": 165, "umount2": 166, "pivot_root": 155,
        "chroot": 161, "add_key": 248, "request_key": 249, "keyctl": 250, "bpf": 321,
        "perf_event_open": 298, "userfaultfd": 323, "kexec_load": 246, "init_module": 175,
        "finit_module": 313, "delete_module": 176, "name_to_handle_at": 303,
        "open_by_handle_at": 304,
    },
    "aarch64": {
        "clone": 220, "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271,
        "unshare": 97, "setns": 268, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51,
        "add_key": 217, "request_key": 218, "keyctl": 219, "bpf": 280, "perf_event_open": 241,
        "userfaultfd": 282, "kexec_load": 104, "init_module": 105, "finit_module": 273,
        "delete_module": 106, "name_to_handle_at": 264, "open_by_handle_at": 265,
    },
}  # fmt: skip
ANYWHERE = {"open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432,
            "mount_setattr": 442}  # fmt: skip
"""Younger calls have one number everywhere."""
NOT_THERE = {"io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "clone3": 435}
"""Whoever calls these does without where they are not there; clone3's flags cannot be looked at."""
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
OTHER_NUMBERS = 0x40000000
"""From here on calls of x86_64 are the same ones under other numbers."""
NEW_NAMESPACES = 0x7E020000
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER_AT, MACHINE_AT, FIRST_ARGUMENT_AT = 0, 4, 16
ALLOWED, EPERM, ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026


@functools.cache
def call_filter(machine: str = "") -> bytes:
    """The filter as the kernel takes it; empty for a machine whose numbers are not known.

    Parameters
    ----------
    machine : str
        As x86_64; this one where none is given.

    Returns
    -------
    bytes
        Eight for each instruction.

    Examples
    --------
    >>> len(call_filter("x86_64")) % 8, call_filter("vax")
    (0, b'')
    """
    machine = machine or platform.machine()
    if machine not in NUMBERS:
        return b""
    return b"".join(struct.pack("<HBBI", *one) for one in _code(machine))


def _code(machine: str) -> Iterator[tuple[int, int, int, int]]:
    """Instructions: what, how many to skip if it holds and if not, and a number."""
    refused = {**NUMBERS[machine], **ANYWHERE}
    clone = refused.pop("clone")
    yield LOAD, 0, 0, MACHINE_AT
    yield EQUAL, 1, 0, MACHINES[machine]
    yield RETURN, 0, 0, EPERM
    yield LOAD, 0, 0, NUMBER_AT
    yield from _returned(AT_LEAST, OTHER_NUMBERS, EPERM)
    for number in NOT_THERE.values():
        yield from _returned(EQUAL, number, ENOSYS)
    for number in refused.values():
        yield from _returned(EQUAL, number, EPERM)
    yield EQUAL, 1, 0, clone
    yield RETURN, 0, 0, ALLOWED
    yield LOAD, 0, 0, FIRST_ARGUMENT_AT
    yield from _returned(ANY_BIT, NEW_NAMESPACES, EPERM)
    yield RETURN, 0, 0, ALLOWED


def _returned(how: int, number: int, what: int) -> Iterator[tuple[int, int, int, int]]:
    yield how, 0, 1, number
    yield RETURN, 0, 0, what
