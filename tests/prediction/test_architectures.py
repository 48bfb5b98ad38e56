"""Graphs of named networks: published parameter counts and arithmetic, and the shape of a step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rheostat.errors import DataError
from rheostat.prediction.architectures import ARCHITECTURES, parameter_count, training_step
from rheostat.prediction.architectures.layers import Step

PUBLISHED = {
    ("VGG11", 224): 132_863_336, ("VGG13", 224): 133_047_848, ("VGG16", 224): 138_357_544,
    ("VGG19", 224): 143_667_240, ("MobileNetV2", 224): 3_504_872, ("InceptionV3", 299): 23_817_352,
    ("InceptionResNetV2", 299): 55_813_192, ("Xception", 299): 22_855_952,
}  # fmt: skip
"""What Keras and torchvision state, statistics of batch normalisation left out."""
GIGA_MACS = {("VGG16", 224): 15.5, ("ResNet18", 224): 1.82, ("ResNet34", 224): 3.67,
             ("ResNet50", 224): 3.86, ("MobileNetV2", 224): 0.30, ("InceptionV3", 299): 5.7,
             ("Xception", 299): 8.4}  # fmt: skip
"""Multiplications of one image's forward pass, in 1e9, as the papers state them."""


@pytest.mark.parametrize(("name", "image"), PUBLISHED)
def test_parameters_are_those_published(name, image):
    assert parameter_count(name, image) == PUBLISHED[name, image]


def test_lenet_has_the_parameters_of_its_paper():
    assert parameter_count("LeNet5", 32, 10, channels=1) == 61_706


@pytest.mark.parametrize(("name", "image"), GIGA_MACS)
def test_the_forward_pass_has_the_published_arithmetic(name, image):
    nodes = training_step(name, image, 2).nodes
    linear = nodes.filter(
        nodes["op_class"].is_in(["convolution", "matmul"])
        & ~nodes["opcode"].str.contains("gradient")
    )
    assert linear["flops"].sum() / 2 / 2e9 == pytest.approx(GIGA_MACS[name, image], rel=0.04)


@pytest.mark.parametrize("name", sorted(ARCHITECTURES))
def test_a_step_is_a_graph_without_circles_whose_gradients_follow_what_they_need(name):
    graph = training_step(name, 160, 4)
    assert (graph.edges[0] < graph.edges[1]).all()
    updates = graph.nodes["opcode"].str.ends_with("-update").to_numpy()
    assert updates.any()
    assert (graph.in_degree()[updates] == 1).all()
    assert (graph.numpy("flops") >= 0).all()
    assert (graph.numpy("bytes") >= 0).all()


@given(st.integers(1, 64), st.integers(1, 30), st.integers(1, 30))
def test_a_dense_layer_costs_its_closed_form(batch, inputs, units):
    step = Step("line", batch)
    hidden = step.dense(step.image(1, inputs), units)
    nodes = step.graph(step.dense(hidden, 3)).nodes.filter(op_class="matmul")
    first, second = 2.0 * batch * inputs * units, 2.0 * batch * units * 3
    assert nodes["flops"].sum() == 2 * first + 3 * second
    assert step.parameters == inputs * units + units + units * 3 + 3


def test_work_is_linear_in_the_batch_but_for_the_weights():
    a, b = (training_step("ResNet18", 64, n).nodes["flops"].sum() for n in (8, 16))
    c = training_step("ResNet18", 64, 32).nodes["flops"].sum()
    assert c - b == pytest.approx(2 * (b - a))
    adam = training_step("ResNet18", 64, 8, optimizer="adam").nodes
    assert adam["transcendentals"].sum() >= parameter_count("ResNet18", 64)


@pytest.mark.parametrize(
    ("call", "word"),
    [(("vgg99", 224, 8), "VGG16"), (("InceptionV3", 32, 8), "too small"),
     (("vgg16", 0, 0), "image")],
)  # fmt: skip
def test_what_cannot_be_built_is_named(call, word):
    with pytest.raises(DataError, match=word):
        training_step(*call)


def test_the_batch_is_what_the_host_sends():
    nodes = training_step("vgg-16", 224, 32).nodes
    sent = nodes.filter(opcode="infeed")
    assert sent["bytes"].to_list() == [4.0 * 32 * 224 * 224 * 3]
    assert np.prod(sent["shape"][0].to_list()) * 4 == sent["bytes"][0]
