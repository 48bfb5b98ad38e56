"""Convolutional networks layer by layer, as their public definitions say.

Sources: LeCun et al. (1998); Simonyan, Zisserman (2015); He et al. (2016, pre-activation); Sandler
et al. (2018); Chollet (2017); the small nets of the Keras examples; AlexNet as the PROFET
measurements trained it (stride 1, batch normalisation; Lee et al., 2022).
"""

from __future__ import annotations

from rheostat.prediction.architectures.layers import Step, Tensor

VGG = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
RESNET = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3)}
MOBILENET = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
             (6, 160, 3, 2), (6, 320, 1, 1))  # fmt: skip
"""Expansion, channels, blocks and stride of the first block."""


def conv_relu(s: Step, x: Tensor, filters: int, kernel: int, *, same: bool = True) -> Tensor:
    """Convolution, bias, positive part."""
    return s.relu(s.conv(x, filters, kernel, same=same))


def dense_relu(s: Step, x: Tensor, units: int) -> Tensor:
    """Fully connected layer, bias, positive part."""
    return s.relu(s.dense(x, units))


def lenet5(s: Step, x: Tensor, classes: int) -> Tensor:
    """LeNet-5 with greatest-value pooling."""
    x = s.pool(conv_relu(s, x, 6, 5, same=False), 2, 2)
    x = s.pool(conv_relu(s, x, 16, 5, same=False), 2, 2)
    return s.dense(dense_relu(s, dense_relu(s, x, 120), 84), classes)


def mnist_cnn(s: Step, x: Tensor, classes: int) -> Tensor:
    """The Keras example for MNIST."""
    x = s.pool(conv_relu(s, x, 32, 3, same=False), 2, 2)
    x = s.pool(conv_relu(s, x, 64, 3, same=False), 2, 2)
    return s.dense(s.dropout(x), classes)


def cifar10_cnn(s: Step, x: Tensor, classes: int) -> Tensor:
    """The Keras example for CIFAR-10."""
    for filters in (32, 64):
        x = conv_relu(s, conv_relu(s, x, filters, 3), filters, 3, same=False)
        x = s.dropout(s.pool(x, 2, 2))
    return s.dense(s.dropout(dense_relu(s, x, 512)), classes)


def flower_cnn(s: Step, x: Tensor, classes: int) -> Tensor:
    """The TensorFlow example for flowers."""
    for filters in (16, 32, 64):
        x = s.pool(conv_relu(s, x, filters, 3), 2, 2)
    return s.dense(dense_relu(s, x, 128), classes)


def alexnet(s: Step, x: Tensor, classes: int) -> Tensor:
    """AlexNet as PROFET trained it: stride 1 throughout, so far larger than the original."""
    for filters, kernel, edge, pooled in ((96, 11, 0, True), (256, 5, 0, True), (512, 3, 1, True),
                                          (1024, 3, 1, False), (1024, 3, 1, True)):  # fmt: skip
        x = s.pad(x, edge) if edge else x
        x = s.relu(s.norm(s.conv(x, filters, kernel)))
        x = s.pool(x, 2, 2) if pooled else x
    for units in (3072, 4096):
        x = s.dropout(s.relu(s.norm(s.dense(x, units))))
    return s.norm(s.dense(x, classes))


def vgg(s: Step, x: Tensor, classes: int, layers: int) -> Tensor:
    """VGG with so many layers."""
    for filters, convolutions in zip((64, 128, 256, 512, 512), VGG[layers], strict=True):
        for _ in range(convolutions):
            x = conv_relu(s, x, filters, 3)
        x = s.pool(x, 2, 2)
    return s.dense(dense_relu(s, dense_relu(s, x, 4096), 4096), classes)


def vgg_small(s: Step, x: Tensor, classes: int) -> Tensor:
    """Three double convolutions and three fully connected layers."""
    for filters in (32, 64, 128):
        x = s.pool(conv_relu(s, conv_relu(s, x, filters, 3), filters, 3), 2, 2)
    return s.dense(dense_relu(s, dense_relu(s, x, 1024), 1024), classes)


def resnet_small(s: Step, x: Tensor, classes: int) -> Tensor:
    """Four residual blocks of 1 x 1 convolutions."""
    x = s.norm(s.relu(s.conv(x, 64, 7, 2)))
    x = s.pool(x, 3, 2, same=True)
    for filters, stride in ((64, 2), (64, 1), (128, 2), (128, 1)):
        short = s.norm(s.conv(x, filters, 1, stride)) if stride > 1 else x
        x = s.relu(s.norm(s.conv(x, filters, 1, stride)))
        x = s.relu(s.add(short, s.norm(s.conv(x, filters, 1))))
    return s.dense(s.global_pool(x), classes)


def resnet(s: Step, x: Tensor, classes: int, layers: int) -> Tensor:
    """A residual network that normalises before it convolves, with an L2 penalty."""
    wide = 4 if layers >= 50 else 1
    x = s.relu(s.norm(s.conv(x, 64, 7, 2, decay=True)))
    x = s.pool(x, 3, 2, same=True)
    for stage, blocks in enumerate(RESNET[layers]):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            y = x if not (stage or block) else s.relu(s.norm(x))
            y = _residual(s, y, 64 * 2**stage, stride, wide)
            if (x.h, x.c) != (y.h, y.c):
                x = s.conv(x, y.c, 1, stride, decay=True)
            x = s.add(x, y)
    return s.dense(s.global_pool(s.relu(s.norm(x))), classes)


def _residual(s: Step, x: Tensor, filters: int, stride: int, wide: int) -> Tensor:
    if wide == 1:
        x = s.conv(x, filters, 3, stride, decay=True)
        return s.conv(s.relu(s.norm(x)), filters, 3, decay=True)
    x = s.conv(x, filters, 1, stride, decay=True)
    x = s.conv(s.relu(s.norm(x)), filters, 3, decay=True)
    return s.conv(s.relu(s.norm(x)), filters * wide, 1, decay=True)


def mobilenet_v2(s: Step, x: Tensor, classes: int) -> Tensor:
    """MobileNetV2 of width 1."""
    x = s.relu(s.norm(s.conv(x, 32, 3, 2, bias=False)))
    for expansion, filters, blocks, first in MOBILENET:
        for block in range(blocks):
            stride = first if not block else 1
            y = x
            if expansion > 1:
                y = s.relu(s.norm(s.conv(y, expansion * x.c, 1, bias=False)))
            y = s.relu(s.norm(s.conv(y, 0, 3, stride, depthwise=True, bias=False)))
            y = s.norm(s.conv(y, filters, 1, bias=False))
            x = s.add(x, y) if stride == 1 and x.c == filters else y
    x = s.relu(s.norm(s.conv(x, 1280, 1, bias=False)))
    return s.dense(s.global_pool(x), classes)


def xception(s: Step, x: Tensor, classes: int) -> Tensor:
    """Xception."""
    x = s.relu(s.norm(s.conv(x, 32, 3, 2, same=False, bias=False)))
    x = s.relu(s.norm(s.conv(x, 64, 3, same=False, bias=False)))
    for filters, first in ((128, False), (256, True), (728, True)):
        x = _entry(s, x, filters, filters, first)
    for _ in range(8):
        y = x
        for _ in range(3):
            y = _separable(s, s.relu(y), 728)
        x = s.add(x, y)
    x = _entry(s, x, 728, 1024, True)
    for filters in (1536, 2048):
        x = s.relu(_separable(s, x, filters))
    return s.dense(s.global_pool(x), classes)


def _separable(s: Step, x: Tensor, filters: int) -> Tensor:
    x = s.conv(x, 0, 3, depthwise=True, bias=False)
    return s.norm(s.conv(x, filters, 1, bias=False))


def _entry(s: Step, x: Tensor, inner: int, filters: int, first: bool) -> Tensor:
    short = s.norm(s.conv(x, filters, 1, 2, bias=False))
    y = _separable(s, s.relu(x) if first else x, inner)
    y = _separable(s, s.relu(y), filters)
    return s.add(short, s.pool(y, 3, 2, same=True))
