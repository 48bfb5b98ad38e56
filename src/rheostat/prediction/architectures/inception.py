"""Inception-v3 and Inception-ResNet-v2, branch by branch (Szegedy et al., 2016 and 2017).

A branch is written as filters and kernels in a row: ``((64, 1), (96, 3))`` is a 1 x 1 convolution
to 64 channels and then a 3 x 3 one to 96.
"""

from __future__ import annotations

from collections.abc import Sequence

from rheostat.prediction.architectures.layers import Step, Tensor

Row = Sequence[tuple[int, int | tuple[int, int]]]


def inception_v3(s: Step, x: Tensor, classes: int) -> Tensor:
    """Inception-v3 without its auxiliary output."""
    x = _stem(s, x)
    for pooled in (32, 64, 64):
        x = _block(s, x, [((64, 1),), ((48, 1), (64, 5)), ((64, 1), (96, 3), (96, 3))], pooled)
    x = _reduced(s, x, [((384, 3),), ((64, 1), (96, 3), (96, 3))])
    for c in (128, 160, 160, 192):
        x = _block(s, x, [((192, 1),), ((c, 1), (c, (1, 7)), (192, (7, 1))),
                          ((c, 1), (c, (7, 1)), (c, (1, 7)), (c, (7, 1)), (192, (1, 7)))],
                   192)  # fmt: skip
    x = _reduced(s, x, [((192, 1), (320, 3)), ((192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3))])
    for _ in range(2):
        split, deep = _row(s, x, ((384, 1),)), _row(s, x, ((448, 1), (384, 3)))
        x = s.concat([
            _row(s, x, ((320, 1),)), *(_row(s, split, ((384, k),)) for k in ((1, 3), (3, 1))),
            *(_row(s, deep, ((384, k),)) for k in ((1, 3), (3, 1))),
            _row(s, s.pool(x, 3, 1, same=True), ((192, 1),)),
        ])  # fmt: skip
    return s.dense(s.global_pool(x), classes)


def inception_resnet_v2(s: Step, x: Tensor, classes: int) -> Tensor:
    """Inception-ResNet-v2."""
    x = _stem(s, x)
    x = _block(s, x, [((96, 1),), ((48, 1), (64, 5)), ((64, 1), (96, 3), (96, 3))], 64)
    for _ in range(10):
        x = _residual(s, x, [((32, 1),), ((32, 1), (32, 3)), ((32, 1), (48, 3), (64, 3))])
    x = _reduced(s, x, [((384, 3),), ((256, 1), (256, 3), (384, 3))])
    for _ in range(20):
        x = _residual(s, x, [((192, 1),), ((128, 1), (160, (1, 7)), (192, (7, 1)))])
    x = _reduced(s, x, [((256, 1), (384, 3)), ((256, 1), (288, 3)),
                        ((256, 1), (288, 3), (320, 3))])  # fmt: skip
    for block in range(10):
        last = block == 9
        x = _residual(s, x, [((192, 1),), ((192, 1), (224, (1, 3)), (256, (3, 1)))], last)
    return s.dense(s.global_pool(_row(s, x, ((1536, 1),))), classes)


def _conv(
    s: Step, x: Tensor, filters: int, kernel: int | tuple[int, int], stride: int, same: bool
) -> Tensor:
    y = s.conv(x, filters, kernel, stride, same=same, bias=False)
    return s.relu(s.norm(y, scale=False))


def _stem(s: Step, x: Tensor) -> Tensor:
    x = _conv(s, x, 32, 3, 2, False)
    x = _conv(s, _conv(s, x, 32, 3, 1, False), 64, 3, 1, True)
    x = _conv(s, s.pool(x, 3, 2), 80, 1, 1, False)
    return s.pool(_conv(s, x, 192, 3, 1, False), 3, 2)


def _row(s: Step, x: Tensor, row: Row) -> Tensor:
    for filters, kernel in row:
        x = _conv(s, x, filters, kernel, 1, True)
    return x


def _block(s: Step, x: Tensor, rows: Sequence[Row], pooled: int) -> Tensor:
    branches = [_row(s, x, row) for row in rows]
    return s.concat([*branches, _row(s, s.pool(x, 3, 1, same=True), ((pooled, 1),))])


def _reduced(s: Step, x: Tensor, rows: Sequence[Row]) -> Tensor:
    """Each branch ends in stride 2, and one only pools."""
    ends = [(_row(s, x, row[:-1]), *row[-1]) for row in rows]
    branches = [_conv(s, y, filters, kernel, 2, False) for y, filters, kernel in ends]
    return s.concat([*branches, s.pool(x, 3, 2)])


def _residual(s: Step, x: Tensor, rows: Sequence[Row], last: bool = False) -> Tensor:
    up = s.conv(s.concat([_row(s, x, row) for row in rows]), x.c, 1)
    x = s.add(x, up, scale=True)
    return x if last else s.relu(x)
