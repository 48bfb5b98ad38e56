"""The poster's parts: trees on a table, a graph network, and a line that corrects it."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.black_box import BlackBox, corrected
from rheostat.prediction.architectures import training_step
from tests.prediction.test_step_cost import many_runs


@pytest.fixture(scope="module")
def log_s():
    return np.log(many_runs().numpy("runtime_s"))


def test_the_black_box_sees_sizes_and_names_and_no_measurement(log_s):
    runs = many_runs()
    box = BlackBox(60).fit(runs, log_s)
    assert "runtime_s" not in box.columns_
    assert np.median(np.abs(box.predict(runs) - log_s)) < 0.3 * log_s.std()
    told = BlackBox(60).fit(runs, log_s, log_s[:, None]).predict(runs, log_s[:, None])
    assert np.abs(told - log_s).mean() < np.abs(box.predict(runs) - log_s).mean()


def test_a_line_corrects_a_device_of_another_speed(log_s):
    assert corrected(log_s, np.arange(5), 1.0 + log_s[:5]) == pytest.approx(1.0 + log_s, abs=0.01)


def test_the_graph_network_learns_a_sum_of_costs_and_repeats_itself():
    pytest.importorskip("torch", reason="extra graphs")
    from benchmarks.graph_net import GraphNet

    graphs = [training_step("LeNet5", 32 * k, b) for k in (1, 2) for b in (8, 16, 32, 64)]
    work = np.log([g.nodes["bytes"].sum() / 2e9 for g in graphs])
    which, device = np.tile(np.arange(8), 2), np.repeat([0, 1], 8)
    log_y = work[which] + np.log([1.0, 3.0])[device]
    nets = [GraphNet(8, 1, steps=150, rate=0.02).fit(graphs, which, device, log_y) for _ in "ab"]
    said = nets[0].predict(graphs)
    assert np.abs(said[which, device] - log_y).mean() < 0.3 * log_y.std()
    assert np.array_equal(said, nets[1].predict(graphs))


def test_a_net_without_exchange_adds_up_what_its_operations_cost():
    """Zero weights: exp(bias) times each operation's first guess, up to exp(10), and the base."""
    torch = pytest.importorskip("torch", reason="extra graphs")
    from benchmarks.graph_net import GraphNet, node_features

    graph = training_step("LeNet5", 32, 8, 10)
    net = GraphNet(4, 1, steps=0).fit([graph], np.array([0]), np.array([0]), np.zeros(1))
    made = node_features(graph)
    first, live = made[:, -3] * 10, made[:, -1]
    for bias in (0.0, 8.0, 30.0):
        with torch.no_grad():
            for p in net.net_["out"].parameters():
                p.zero_()
            net.net_["out"].bias.fill_(bias)
            net.net_["base"].weight.zero_()
        cost = (np.exp(np.minimum(bias + first, 10.0)) * live).sum()
        assert net.predict([graph]) == pytest.approx(np.log([[cost + 1e-3]]), rel=1e-4)
