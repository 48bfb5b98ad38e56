"""Damaged HLO: one clear error, or the same graph; never another error, never another graph."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.core.graph import Graph
from rheostat.errors import DataError
from rheostat.measurement.graphs.hlo.hlo_graph import from_hlo
from tests.measurement.test_hlo import OLD

EACH = 250
"""Damaged texts of each of the four programs."""


def _texts() -> dict[str, str]:
    """Text of a training step and of a loop, before and after optimisation."""
    jax = pytest.importorskip("jax")
    jnp, lax, shape = jax.numpy, jax.lax, jax.ShapeDtypeStruct

    def loss(p: Any, x: Any, y: Any) -> Any:
        names = ("NHWC", "HWIO", "NHWC")
        h = jax.nn.relu(lax.conv_general_dilated(x, p[0], (1, 1), "SAME", dimension_numbers=names))
        h = lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        h = jax.nn.log_softmax(h.reshape(4, -1) @ p[1])
        return -jnp.take_along_axis(h, y[:, None], 1).mean()

    def loop(x: Any) -> Any:
        return lax.scan(lambda c, _: (jnp.tanh(c @ c), c.sum()), x, None, length=7)

    weights = (shape((3, 3, 3, 5), "float32"), shape((80, 10), "float32"))
    data = (shape((4, 8, 8, 3), "float32"), shape((4,), "int32"))
    texts = {}
    for name, function, args in (
        ("step", jax.grad(loss), (weights, *data)), ("loop", loop, (shape((6, 6), "float32"),))
    ):  # fmt: skip
        lowered = jax.jit(function).lower(*args)
        texts[f"{name} before"] = lowered.compiler_ir("hlo").as_hlo_text()
        texts[f"{name} after"] = lowered.compile().as_text()
    return texts


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return _texts()


def damaged(text: str, rng: random.Random) -> str:
    """Cut off, two letters swapped, a letter replaced, a line left out or twice."""
    kind, at = rng.randrange(5), rng.randrange(1, len(text) - 1)
    if kind == 0:
        return text[:at]
    if kind == 1:
        return text[: at - 1] + text[at] + text[at - 1] + text[at + 1 :]
    if kind == 2:
        return text[:at] + chr(rng.randrange(1, 256)) + text[at + 1 :]
    lines = text.split("\n")
    row = rng.randrange(len(lines))
    return "\n".join([*lines[:row], *lines[row : row + 1] * 2 * (kind - 3), *lines[row + 1 :]])


def facts(graph: Graph) -> tuple[Any, ...]:
    """All but how often loops run, which stands in literals that nothing checks."""
    return graph.nodes.drop("times").rows(), graph.edges.tolist()


def outcome(text: str) -> Any:
    """The graph's facts, or the message of its one error."""
    try:
        return facts(from_hlo(text))
    except DataError as error:
        return str(error)


@pytest.mark.parametrize("name", ["step before", "step after", "loop before", "loop after"])
def test_a_damaged_text_is_refused_or_gives_the_same_graph(
    texts: dict[str, str], name: str
) -> None:
    rng, whole = random.Random(name), facts(from_hlo(texts[name]))
    refused, other = 0, []
    for _ in range(EACH):
        text = damaged(texts[name], rng)
        said = outcome(text)
        if isinstance(said, str):
            refused += 1
            assert "line " in said, said
            assert "expected " in said, said
        elif said != whole:
            other.append(text)
    assert not other, other[0]
    assert refused > 0.6 * EACH


@settings(deadline=None, max_examples=60)
@given(st.text(alphabet='{}()[]=,%ROENTHlf32 \n"01dot-add_', max_size=80), st.integers(0, 2000))
def test_anything_put_into_a_text_ends_with_a_graph_or_one_error(put: str, at: int) -> None:
    assert outcome(OLD[:at] + put + OLD[at:])
