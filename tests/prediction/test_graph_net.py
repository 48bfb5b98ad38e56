"""A graph network: what it sees of each graph, draws for each update, and joins."""

from __future__ import annotations

import numpy as np
import pytest

from tests.prediction.test_step_memory import graph


def chain(*bytes_, times=1.0):
    """Operations one after the other."""
    rows = [("add", "elementwise", [4], "f32", b, times, False, [i - 1] if i else [])
            for i, b in enumerate(bytes_)]  # fmt: skip
    return graph(rows)


def test_graphs_together_are_what_each_is_alone():
    torch = pytest.importorskip("torch", reason="extra graphs")
    from benchmarks.graph_net import GraphNet, node_features

    graphs = [chain(1e3, 1e9), chain(1e8, 1e6, 1e3), chain(1e10)]
    net = GraphNet(6, 2, steps=0).fit(graphs, np.arange(3), np.array([0, 1, 1]), np.zeros(3))
    with torch.no_grad():
        together = net._forward(torch, graphs, [node_features(g) for g in graphs]).numpy()
    assert together.shape == (3, 2)
    assert together == pytest.approx(net.predict(graphs), rel=1e-5)
    assert np.abs(np.diff(together, axis=0)).min() > 1e-4
    assert len(net.net_["layers"]) == 2
    assert [tuple(p.shape) for p in net.net_["layers"].parameters()][::2] == [
        (6, 3 * node_features(graphs[0]).shape[1]), (6, 18)]  # fmt: skip


def test_a_node_is_joined_with_the_means_of_both_sides():
    torch = pytest.importorskip("torch", reason="extra graphs")
    from benchmarks.graph_net import _neighbours

    x = torch.tensor([[1.0, 10.0], [2.0, 20.0], [6.0, 60.0]])
    read, readers = _neighbours(torch, x, np.array([[0, 1, 0], [2, 2, 1]]))
    assert read.tolist() == [[0.0, 0.0], [1.0, 10.0], [1.5, 15.0]]
    assert readers.tolist() == [[4.0, 40.0], [6.0, 60.0], [0.0, 0.0]]


@pytest.mark.parametrize(("batch", "drawn"), [(2, 2), (4, 3)])
def test_an_update_sees_so_many_different_graphs_that_were_run(monkeypatch, batch, drawn):
    pytest.importorskip("torch", reason="extra graphs")
    from benchmarks.graph_net import GraphNet

    graphs, seen = [chain(10.0**k) for k in range(4)], []
    forward = GraphNet._forward

    def spied(self, torch, some, features):
        seen.append([graphs.index(g) for g in some])
        return forward(self, torch, some, features)

    monkeypatch.setattr(GraphNet, "_forward", spied)
    net = GraphNet(3, 1, steps=12, batch=batch)
    net.fit(graphs, np.array([0, 1, 3, 3]), np.array([0, 0, 0, 1]), np.zeros(4))
    assert len(seen) == 12
    assert all(len(s) == len(set(s)) == drawn for s in seen)
    assert set(np.concatenate(seen)) == {0, 1, 3}


def test_each_run_is_compared_with_its_graph_on_its_device(monkeypatch):
    """Costs of 10 g + d in an update: the loss is of these, in order of the graphs drawn."""
    torch = pytest.importorskip("torch", reason="extra graphs")
    from benchmarks.graph_net import GraphNet

    graphs, seen = [chain(10.0**k) for k in range(3)], []

    def known(self, torch, some, features):
        rows = [[10.0 * graphs.index(g), 10.0 * graphs.index(g) + 1] for g in some]
        return torch.tensor(rows, requires_grad=True)

    def loss(cost, truth, beta):
        seen.append((cost.tolist(), truth.tolist(), beta))
        return cost.sum()

    monkeypatch.setattr(GraphNet, "_forward", known)
    monkeypatch.setattr(torch.nn.functional, "smooth_l1_loss", loss)
    which, device = np.array([2, 0, 2, 1]), np.array([1, 0, 0, 1])
    GraphNet(3, 1, steps=3).fit(graphs, which, device, 10.0 * which + device)
    for cost, truth, beta in seen:
        assert cost == truth
        assert beta == 0.1
        assert sorted(truth) == [0.0, 11.0, 20.0, 21.0]
    assert len(seen) == 3
