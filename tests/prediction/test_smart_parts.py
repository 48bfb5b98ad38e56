"""SMART's nets against dense products and sums by hand; when its forecaster trains, and on what."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from rheostat.errors import DataError
from rheostat.prediction.iteration_time import smart_forecaster
from rheostat.prediction.iteration_time.smart_config import SmartConfig
from rheostat.prediction.iteration_time.smart_forecaster import SmartForecaster
from rheostat.prediction.iteration_time.smart_language import _body, describe, language_part
from rheostat.prediction.iteration_time.smart_nets import make_net, normalised_edges

EDGES, ACTIVE = np.array([[0, 1, 2, 0], [1, 2, 0, 2]]), [0, 2]
SMALL = {"hidden": 4, "heads": 2, "layers": 1, "look_back": 4, "prototypes": 5}


def net(name="dcrnn", **more):
    torch.manual_seed(0)
    return make_net(SmartConfig(net=name, **SMALL | more), 2, EDGES, ACTIVE, 3)


def inputs(batch=2, steps=2):
    draw = torch.Generator().manual_seed(1)
    return torch.rand((batch, 4), generator=draw), torch.rand((batch, steps, 3, 2), generator=draw)


def dense():
    whole = np.eye(3)
    whole[EDGES[1], EDGES[0]] = 1
    degree = whole.sum(axis=1)  # what leads in, and the node itself
    return torch.tensor(whole / np.sqrt(degree[:, None] * degree[None]), dtype=torch.float32)


def test_edges_are_divided_by_the_roots_of_both_degrees():
    torch.testing.assert_close(normalised_edges(EDGES, 3).to_dense(), dense())


def test_a_diffusion_net_is_a_gated_unit_over_neighbours():
    made, (series, snapshots) = net(), inputs()
    state = torch.zeros(2, 3, 4)
    for k in range(2):
        time = series[:, 2 + k, None, None].expand(-1, 3, 1)
        seen = torch.cat([snapshots[:, k], time], dim=2)
        both = torch.cat([seen, state], dim=2)
        gates = torch.sigmoid(made.gates(torch.cat([both, dense() @ both], dim=2)))
        reset, keep = gates[..., :4], gates[..., 4:]
        both = torch.cat([seen, reset * state], dim=2)
        new = torch.tanh(made.new(torch.cat([both, dense() @ both], dim=2)))
        state = keep * state + (1 - keep) * new
    wanted = made.out(state[:, ACTIVE]).mean(dim=(1, 2))
    torch.testing.assert_close(made(series, snapshots), wanted)


def test_the_smart_net_fuses_ports_of_the_application_with_the_series():
    made, (series, snapshots) = net("smart"), inputs()
    graph, states = made.graph, []
    for k in range(2):
        first = torch.relu(dense() @ graph.first(snapshots[:, k]))
        states.append((dense() @ graph.second(first))[:, ACTIVE])
    each = torch.stack(states, dim=2).flatten(0, 1)  # (batch x ports, steps, d)
    z = made.time(each, each[:, -1:])[:, 0].reshape(2, 2, 4)
    fused = [made.fuse(torch.cat([z[:, p], series], dim=1)) for p in range(2)]
    torch.testing.assert_close(made(series, snapshots), torch.stack(fused).mean(dim=0)[:, 0])
    sizes = [tuple(p.shape) for p in made.time.encoder.layers[0].parameters()]
    assert (8, 4) in sizes  # twice as wide inside
    assert len(made.time.encoder.layers) == len(made.time.decoder.layers) == 1
    assert {m.p for m in made.modules() if isinstance(m, torch.nn.Dropout)} == {0.0}


def test_a_series_net_reads_the_series_alone():
    made, (series, snapshots) = net("lstm"), inputs()
    wanted = made.out(made.cell(series[:, :, None])[0][:, -1])[:, 0]
    torch.testing.assert_close(made(series, 0 * snapshots), wanted)
    assert made.out.out_features == 1


@pytest.mark.parametrize(("language", "learned"), [("random", False), ("patch", True)])
def test_patches_attend_to_prototypes_before_a_small_transformer(language, learned):
    config = SmartConfig(language=language, **SMALL)
    torch.manual_seed(0)
    body, words, width = _body(config)
    assert (tuple(words.shape), width, len(body.layers)) == ((20, 4), 4, 1)
    assert {p.requires_grad for p in body.parameters()} == {learned}
    assert body.layers[0].linear1.out_features == 8
    assert (body.layers[0].dropout.p, body.layers[0].self_attn.num_heads) == (0.0, 2)
    part, (series, _) = language_part(config), inputs()
    flat = (series - series.mean(1, keepdim=True)) / (series.std(1, keepdim=True) + 1e-3)
    patches = torch.stack([flat[:, k : k + 2] for k in range(3)], dim=1)
    assert part.out.in_features == 3 * 4
    embedded = part.embed(patches)
    kept = []
    part.attend.register_forward_hook(lambda _, given, out: kept.append((given, out)))
    said = part(series)
    (asked, keys, _), out = kept[0]
    torch.testing.assert_close(asked, embedded)
    assert keys.shape == (2, 5, 4)
    torch.testing.assert_close(said, part.out(part.body(out[0]).flatten(1)))
    assert language_part(SmartConfig(**SMALL)) is None


def test_a_line_tells_of_a_series_what_it_is():
    assert describe(np.array([3.0, 2.0, 1.0, 2.0]), "x").endswith(
        "Minimum 1.00, maximum 3.00, median 2.00, trend down, strongest lags 1, 3, 2.")  # fmt: skip


class Last(torch.nn.Module):
    """The last time, plus a learned number, plus what the last snapshot is."""

    def __init__(self):
        super().__init__()
        self.more = torch.nn.Parameter(torch.zeros(1))

    def forward(self, series, snapshots):
        self.seen = series, snapshots
        return series[:, -1] + self.more + 0.0 * snapshots.sum()


@pytest.fixture
def forecaster(monkeypatch):
    monkeypatch.setattr(smart_forecaster, "make_net", lambda *_: Last())
    features = np.arange(60.0).reshape(20, 3, 1)
    config = SmartConfig(look_back=3, snapshots=2, epochs=2, tune_every=4, tune_steps=1, rate=0.01)
    return SmartForecaster(features, EDGES, ACTIVE, 6, config=config, horizon=2)


def test_it_repeats_the_last_until_it_has_trained_and_then_trains_every_few(forecaster):
    steps = []
    learn = forecaster._learn

    def noted(rows, epochs):
        steps.append((list(rows), epochs))
        learn(rows, epochs)

    forecaster._learn = noted
    assert np.isnan(forecaster.forecast(2).time_s).all()
    times = [2.0, 4.0, 2.0, 4.0, 3.0, 5.0, 4.0, 4.0, 2.0, 3.0, 4.0, 5.0]
    for n, t in enumerate(times, 1):
        forecaster.observe(t)
        if n < 6:
            assert forecaster.forecast(2).time_s == pytest.approx([t, t])
    assert steps == [([3, 4, 5], 2), ([4, 5, 6, 7], 1), ([8, 9, 10, 11], 1)]
    first = times[:6]
    assert (forecaster.mean, forecaster.spread) == pytest.approx((np.mean(first), np.std(first)))
    more = float(forecaster.net.more.detach()) * forecaster.spread
    assert more != 0.0
    assert forecaster.forecast(2).time_s == pytest.approx([5.0 + more] * 2, rel=1e-5)
    series, snapshots = forecaster.net.seen
    wanted = (np.array([3.0, 4.0, 5.0]) - np.mean(first)) / np.std(first)
    assert series[0].tolist() == pytest.approx(wanted.tolist(), rel=1e-5)
    part = np.arange(18.0)
    scaled = (np.arange(30.0, 36.0) - part.mean()) / (part.std() + 1e-6)
    assert snapshots.flatten().tolist() == pytest.approx(scaled.tolist(), rel=1e-5)
    forecaster.observe(1e-9)
    assert forecaster.forecast(1).time_s == pytest.approx([0.05 * np.mean(first)])  # no less
    logs = np.abs(np.diff(np.log(first)))  # of the last iteration, which was the answer so far
    assert np.abs(forecaster.intervals.errors[0][:5]).tolist() == pytest.approx(logs.tolist())
    assert len(forecaster.intervals.errors[0]) == len(times)


def test_a_gradient_is_cut_to_a_norm_of_one(forecaster):
    slope = 7.0
    forecaster.net.forward = lambda series, _: series[:, -1] + slope * forecaster.net.more
    for t in range(1, 7):  # each is longer than the last, which is the answer
        forecaster.observe(float(t))
    assert forecaster.net.more.grad.tolist() == pytest.approx([-1.0], rel=1e-5)


def test_few_iterations_are_waited_for_until_one_can_be_learned(monkeypatch):
    monkeypatch.setattr(smart_forecaster, "make_net", lambda *_: Last())
    config = SmartConfig(look_back=3, snapshots=4, epochs=1, tune_every=0)
    features = np.random.default_rng(0).random((20, 3, 1))
    made = SmartForecaster(features, EDGES, ACTIVE, 1, config=config)
    for n in range(1, 9):
        made.observe(1.0 + n % 2)
        assert made.trained is (n >= 5)


@pytest.mark.parametrize(("wrong", "said"), [
    ({"net": "gru"}, "net: expected"), ({"language": "/nowhere"}, "language: expected"),
    ({"hidden": 9, "heads": 2}, "hidden: expected a multiple of 2 heads, got 9"),
    ({"patch": 9}, r"patch: expected at most look_back \(8\), got 9"),
])  # fmt: skip
def test_a_setup_is_refused(wrong, said):
    with pytest.raises(DataError, match=said):
        SmartConfig(**wrong)
    assert SmartConfig(patch=8).patch == 8
    assert (SmartConfig().prompt, SmartConfig().random_weights) == (True, False)
    assert (SmartConfig().tune_every, SmartConfig().tune_steps, SmartConfig().epochs) == (8, 4, 20)
