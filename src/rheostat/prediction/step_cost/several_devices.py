"""A step on several devices of one machine: how its work is shared, and what a ring exchanges.

Data: each device takes a share of the batch, gradients are summed.  Tensor: each takes a share of
every layer, activations are summed in each.  Pipeline: each takes some of the layers.

Notation
--------
n  devices      m  parts of a batch that follow one another through a pipeline
"""

from __future__ import annotations

from rheostat.prediction.accelerators import Accelerator

MESSAGE_S = 5e-6
"""From one device to the next, before the first byte: set, not measured."""
SUMS_PER_LAYER = 4
"""Of activations, where layers are shared: after attention and after the inner layers, each way."""


def ring_all_reduce_s(size_b: float, devices: int, sheet: Accelerator) -> float:
    """Seconds to sum an array over all devices: each sends 2 (n - 1) / n of it, one way.

    Parameters
    ----------
    size_b : float
        The array's bytes on each device.
    devices : int
        n.
    sheet : Accelerator
        Whose ``link_b_per_s`` counts both directions.

    Examples
    --------
    >>> from rheostat.prediction.accelerators import accelerator
    >>> f"{ring_all_reduce_s(3e9, 4, accelerator('A100')):.4f}"
    '0.0150'
    >>> ring_all_reduce_s(3e9, 1, accelerator("A100"))
    0.0
    """
    hops = 2 * (devices - 1)
    return hops / devices * size_b / (sheet.link_b_per_s / 2.0) + hops * MESSAGE_S


def data_parallel_s(share_s: float, gradients_b: float, devices: int, sheet: Accelerator) -> float:
    """Seconds of a step: that of a device's share of the batch, then the sum of all gradients.

    The sum is not taken to hide behind the way back, so this is a little too long.

    >>> from rheostat.prediction.accelerators import accelerator
    >>> data_parallel_s(0.5, 3e9, 1, accelerator("A100"))
    0.5
    """
    return share_s + ring_all_reduce_s(gradients_b, devices, sheet)


def tensor_parallel_s(
    step_s: float, starts_s: float, layers: int, activations_b: float, devices: int,
    sheet: Accelerator,
) -> float:  # fmt: skip
    """Seconds of a step whose layers are shared: as many starts, less of everything else.

    Parameters
    ----------
    step_s, starts_s : float
        On one device, and what of it is starts of operations.
    layers : int
        Of a transformer.
    activations_b : float
        Between two layers, of the whole batch.
    devices : int
        n.
    sheet : Accelerator
        Their links.
    """
    sums = SUMS_PER_LAYER * layers * ring_all_reduce_s(activations_b, devices, sheet)
    return (step_s - starts_s) / devices + starts_s + sums


def pipeline_parallel_s(
    step_s: float, activations_b: float, devices: int, sheet: Accelerator, parts: int = 1
) -> float:
    """Seconds of a step whose layers lie one after the other on n devices: (m + n - 1) / m n of it.

    ``step_s`` is that of one device, ``activations_b`` go from each device to the next and back.

    >>> from rheostat.prediction.accelerators import accelerator
    >>> [round(pipeline_parallel_s(1.0, 0.0, 4, accelerator("A100"), m), 3) for m in (1, 4, 64)]
    [1.0, 0.438, 0.264]
    """
    handed = 2 * (devices - 1) * (activations_b / (sheet.link_b_per_s / 2.0) + MESSAGE_S * parts)
    return step_s * (parts + devices - 1) / (parts * devices) + handed
