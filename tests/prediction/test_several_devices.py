"""Steps on several devices: closed forms of a ring, of shares, and of a pipeline."""

from __future__ import annotations

import pytest

from rheostat.core.graph import Graph
from rheostat.errors import DataError, QuestionError
from rheostat.prediction.accelerators import accelerator
from rheostat.prediction.architectures import training_step
from rheostat.prediction.step_cost.several_devices import (
    MESSAGE_S,
    data_parallel_s,
    pipeline_parallel_s,
    ring_all_reduce_s,
    tensor_parallel_s,
)
from rheostat.prediction.step_cost.sheet_forecast import forecast_step
from rheostat.questions.dnn.step import predict

SHEET = accelerator("A100")
ONE_WAY = SHEET.link_b_per_s / 2


@pytest.mark.parametrize("n", [1, 2, 4, 8])
def test_a_ring_sends_each_byte_twice_but_for_one_share(n) -> None:
    said = ring_all_reduce_s(1e9, n, SHEET)
    assert said == pytest.approx(2 * (n - 1) / n * 1e9 / ONE_WAY + 2 * (n - 1) * MESSAGE_S)
    assert data_parallel_s(0.1, 1e9, n, SHEET) == pytest.approx(0.1 + said)
    shared = tensor_parallel_s(1.0, 0.2, 3, 1e9, n, SHEET)
    assert shared == pytest.approx(0.8 / n + 0.2 + 12 * said)


def test_a_pipeline_of_one_part_gains_nothing_and_of_many_all() -> None:
    assert pipeline_parallel_s(1.0, 0.0, 4, SHEET) == pytest.approx(1.0 + 6 * MESSAGE_S)
    assert pipeline_parallel_s(1.0, 0.0, 4, SHEET, 1000) == pytest.approx(0.25, rel=0.15)


def test_gpus_share_the_batch_and_add_the_sum_of_gradients() -> None:
    graph = training_step("resnet50", 64, 8)
    one, four = (forecast_step(graph, "V100", "sgd", gpus=n) for n in (1, 4))
    exchange = ring_all_reduce_s(one.memory.parameters_b, 4, accelerator("V100"))
    assert four.runtime_s[0] == pytest.approx(one.runtime_s[0] + exchange)
    assert four.parts_s["exchange"] == exchange
    asked = predict("resnet50", device="V100", batch_size=32, image_px=64, optimizer="sgd", gpus=4)
    assert asked.forecasts[0].runtime_s == four.runtime_s
    assert asked.batch_size == 32


def test_what_cannot_be_shared_is_told() -> None:
    with pytest.raises(QuestionError, match="share evenly, got 10"):
        predict("resnet50", device="V100", batch_size=10, gpus=4)
    graph = training_step("lenet5", 32, 16, 10)
    plain = graph.nodes["opcode"].str.replace("weight", "input").str.replace("-update", "")
    without = Graph(graph.name, graph.nodes.with_columns(opcode=plain), graph.edges)
    with pytest.raises(DataError, match="not told from data"):
        forecast_step(without, "V100", gpus=2)
