"""Programs that XLA keeps in other forms than HLO text: StableHLO, and serialized modules.

Both are turned into HLO text by JAX's own parser, in a process of its own: it is not made for
damaged input, and what ends it does not end the caller.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from rheostat._optional import require
from rheostat.errors import DataError

SERIALIZED = (".pb", ".hlopb", ".binpb")
TIMEOUT_S = 120.0
MODULE_TAG = 0x0A
TO_TEXT = """
import sys
from jax._src.lib import xla_client as xla
given = sys.stdin.buffer.read()
if sys.argv[1] == "stablehlo":
    made = xla._xla.mlir.mlir_module_to_xla_computation(
        given.decode(), use_tuple_args=False, return_tuple=False)
else:
    made = xla.XlaComputation(given)
sys.stdout.buffer.write(made.as_hlo_text().encode())
"""


def hlo_text_of(content: bytes, source: Path | str, *, stable: bool) -> str:
    """HLO text of a program.

    Parameters
    ----------
    content : bytes
        StableHLO text, as ``jax.jit(f).lower(...).as_text()`` gives, or a serialized HloModuleProto
        or HloProto, as ``--xla_dump_hlo_as_proto`` writes.
    source : path
        Named in errors.
    stable : bool
        Whether it is StableHLO.

    Raises
    ------
    MissingExtra
        JAX is not installed.
    DataError
        It is no such program.
    """
    require("jax", extra="graphs")
    kind = "stablehlo" if stable else "module"
    given = content if stable else _unwrapped(content)
    command = [sys.executable, "-I", "-c", TO_TEXT, kind]
    try:
        done = subprocess.run(command, input=given, capture_output=True, timeout=TIMEOUT_S,
                              env=os.environ | {"JAX_PLATFORMS": "cpu"}, check=False)  # fmt: skip
    except subprocess.TimeoutExpired as error:
        problem = f"expected a program that is parsed within {TIMEOUT_S:.0f} s"
        raise DataError(str(source), [problem]) from error
    if done.returncode:
        said = (done.stderr.decode(errors="replace").strip().splitlines() or ["no word"])[-1]
        named = "StableHLO text" if stable else "a serialized HloModuleProto or HloProto"
        advice = "the file is damaged, or of another version of XLA: write it anew"
        raise DataError(str(source), [f"expected {named}, got {said[:300]}", advice])
    return done.stdout.decode()


def _unwrapped(content: bytes) -> bytes:
    """The module in an HloProto, whose first field holds most of the file; a module as it is.

    >>> _unwrapped(bytes([10, 3]) + b"abc") == b"abc"
    True
    >>> _unwrapped(bytes([10, 1]) + b"a" + b"the rest of a module") == b"a"
    False
    """
    size, at, shift = 0, 1, 0
    while content[:1] == bytes([MODULE_TAG]) and at < min(len(content), 6):
        size |= (content[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if content[at - 1] < 0x80:
            break
    inside = content[at : at + size]
    return inside if len(inside) == size and 2 * size > len(content) else content
