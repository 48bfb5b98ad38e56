"""Which named network is it?  Graphs of training steps of networks that papers and tables name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rheostat.core.graph import Graph
from rheostat.errors import DataError
from rheostat.prediction.architectures import convolutional as cnn
from rheostat.prediction.architectures.inception import inception_resnet_v2, inception_v3
from rheostat.prediction.architectures.layers import OPTIMIZERS, Step, Tensor

ARCHITECTURES: dict[str, Callable[[Step, Tensor, int], Tensor]] = {
    "LeNet5": cnn.lenet5,
    "MNIST_CNN": cnn.mnist_cnn,
    "CIFAR10_CNN": cnn.cifar10_cnn,
    "FLOWER_CNN": cnn.flower_cnn,
    "AlexNet": cnn.alexnet,
    "VGGSmall": cnn.vgg_small,
    **{f"VGG{n}": partial(cnn.vgg, layers=n) for n in cnn.VGG},
    "ResNetSmall": cnn.resnet_small,
    **{f"ResNet{n}": partial(cnn.resnet, layers=n) for n in cnn.RESNET},
    "MobileNetV2": cnn.mobilenet_v2,
    "InceptionV3": inception_v3,
    "InceptionResNetV2": inception_resnet_v2,
    "Xception": cnn.xception,
}
_SPELLED = {name.lower().replace("_", ""): name for name in ARCHITECTURES}


def training_step(
    name: str, image: int, batch: int, classes: int = 1000, *, channels: int = 3,
    optimizer: str = "sgd",
) -> Graph:  # fmt: skip
    """The graph of one training step of a network that has a name.

    Parameters
    ----------
    name : str
        One of `ARCHITECTURES`; case, ``-`` and ``_`` do not count.
    image : int
        Edge of the square images, in pixels.
    batch : int
        Images of a batch.
    classes : int
        Outputs of the network.
    channels : int
        Channels of an image.
    optimizer : str
        sgd, momentum or adam.

    Returns
    -------
    Graph
        Forward pass, gradients and optimiser, with arithmetic and bytes of every operation.

    Raises
    ------
    DataError
        The network or optimiser is unknown, or the images are too small for it.

    Examples
    --------
    >>> graph = training_step("resnet-50", 224, 32)
    >>> graph.name, f"{graph.nodes['flops'].sum() / 32 / 3e9:.2f} GFLOP per image and pass"
    ('ResNet50', '7.72 GFLOP per image and pass')
    """
    step, logits = _built(name, image, batch, classes, channels, optimizer)
    return step.graph(logits)


def parameter_count(name: str, image: int, classes: int = 1000, *, channels: int = 3) -> int:
    """How many numbers a named network learns.

    >>> parameter_count("VGG16", 224), parameter_count("MobileNetV2", 224)
    (138357544, 3504872)
    """
    step, logits = _built(name, image, 1, classes, channels, "sgd")
    step.graph(logits)
    return step.parameters


def architecture(name: str) -> str:
    """The name as `ARCHITECTURES` spells it; an unknown one is a `DataError`."""
    spelled = known_name(name)
    if spelled not in ARCHITECTURES:
        raise DataError("model", [f"expected one of {', '.join(ARCHITECTURES)}, got {name!r}"])
    return spelled


def known_name(name: str) -> str:
    """The name as `ARCHITECTURES` spells it, any other as it is.

    >>> known_name("resnet-50"), known_name("my_net")
    ('ResNet50', 'my_net')
    """
    return _SPELLED.get(name.lower().replace("_", "").replace("-", ""), name)


def _built(
    name: str, image: int, batch: int, classes: int, channels: int, optimizer: str
) -> tuple[Step, Tensor]:
    spelled = architecture(name)
    problems = [
        f"{what}: expected at least 1, got {value}"
        for what, value in (("image", image), ("batch", batch), ("classes", classes),
                            ("channels", channels))
        if value < 1
    ]  # fmt: skip
    if optimizer not in OPTIMIZERS:
        problems.append(f"optimizer: expected one of {', '.join(OPTIMIZERS)}, got {optimizer!r}")
    if problems:
        raise DataError(f"training step of {spelled}", problems)
    step = Step(spelled, batch, optimizer)
    logits = ARCHITECTURES[spelled](step, step.image(image, channels), classes)
    if any(min(node["shape"], default=1) < 1 for node in step._nodes):
        raise DataError(f"training step of {spelled}", [f"images of {image} pixels are too small"])
    return step, logits
