"""One layer alone: the graph of a training step of a dense or convolutional layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rheostat.core.graph import Graph
from rheostat.prediction.architectures.layers import Step, Tensor

LAYERS = ("dense", "convolution")
NEEDED = {
    "dense": ("batch_size", "input_size", "width"),
    "convolution": ("batch_size", "image_px", "channels_in", "channels_out", "kernel_px",
                    "stride"),
}  # fmt: skip


def single_layer(row: Mapping[str, Any]) -> Graph:
    """A training step of one layer, or its forward pass where the optimizer is none.

    Parameters
    ----------
    row : mapping
        ``app`` is dense or convolution, the other keys are those of `NEEDED`; ``optimizer``,
        ``activation``, ``padding`` and ``use_bias`` may be there.

    Returns
    -------
    Graph
        Operations with arithmetic and bytes.

    Examples
    --------
    >>> layer = {"app": "dense", "batch_size": 8, "input_size": 3, "width": 2, "optimizer": "none"}
    >>> single_layer(layer).nodes["opcode"].to_list()
    ['infeed', 'dot', 'add']
    """
    optimizer = str(row.get("optimizer") or "sgd").lower()
    step = Step(str(row["app"]), int(row["batch_size"]), nearest_optimizer(optimizer))
    y = _activated(step, _linear(step, row), str(row.get("activation") or "none").lower())
    return step.graph(y, training=optimizer != "none")


def _linear(step: Step, row: Mapping[str, Any]) -> Tensor:
    if row["app"] == "dense":
        return step.dense(step.image(1, int(row["input_size"])), int(row["width"]))
    image = step.image(int(row["image_px"]), int(row["channels_in"]))
    return step.conv(
        image, int(row["channels_out"]), int(row["kernel_px"]), int(row["stride"]),
        same=bool(row.get("padding", 1)), bias=bool(row.get("use_bias", 1)),
    )  # fmt: skip


def _activated(step: Step, x: Tensor, activation: str) -> Tensor:
    if activation == "none":
        return x
    return step.relu(x) if activation == "relu" else step.squashed(x)


def nearest_optimizer(name: str) -> str:
    """The optimizer whose cost is known and nearest.

    >>> [nearest_optimizer(n) for n in ("AdamW", "SGD", "sgd_momentum", "rmsprop", "none")]
    ['adam', 'sgd', 'momentum', 'adam', 'sgd']
    """
    plain = name.lower()
    if "momentum" in plain or "nesterov" in plain:
        return "momentum"
    return "sgd" if "sgd" in plain or plain == "none" else "adam"
