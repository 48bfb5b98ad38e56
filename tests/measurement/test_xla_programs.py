"""StableHLO text and serialized modules are the graph of their HLO text; what is none is told."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.errors import DataError
from rheostat.measurement.graphs.from_jax import from_jax
from rheostat.measurement.graphs.read_graph import read_graph
from rheostat.measurement.graphs.xla_programs import _unwrapped

jax = pytest.importorskip("jax")


@pytest.fixture(scope="module")
def lowered():
    def loss(weights, x):
        return jax.numpy.tanh(x @ weights).sum()

    sizes = [jax.ShapeDtypeStruct(s, "float32") for s in ((8, 16), (4, 8))]
    made = jax.jit(jax.grad(loss)).lower(*sizes)
    return made, from_jax(jax.grad(loss), *sizes)


def number(size: int) -> bytes:
    """A length as protocol buffers write it."""
    return bytes([size & 127 | 128]) + number(size >> 7) if size > 127 else bytes([size])


def test_every_form_of_a_module_is_the_same_graph(lowered, tmp_path) -> None:
    made, graph = lowered
    module = made.compiler_ir("hlo").as_serialized_hlo_module_proto()
    contents = {"step.mlir": made.as_text().encode(), "step.pb": module}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        said = read_graph(tmp_path / name)
        assert sorted(said.nodes["opcode"]) == sorted(graph.nodes["opcode"])
        assert np.array_equal(np.sort(said.numpy("flops")), np.sort(graph.numpy("flops")))
    wrapped = b"\x0a" + number(len(module)) + module + b"\x12\x00"
    assert _unwrapped(wrapped) == module
    assert _unwrapped(module) == module


def test_what_is_damaged_is_one_message(lowered, tmp_path) -> None:
    text = lowered[0].as_text().encode()
    for name, content in {"cut.mlir": text[: 2 * len(text) // 3], "none.pb": b"\x0a\x03ab"}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=r"expected (StableHLO|a serialized).*write it anew"):
            read_graph(tmp_path / name)
