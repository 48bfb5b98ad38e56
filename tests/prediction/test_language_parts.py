"""A local language model through a stand-in of its library: what it is handed, patch by patch."""

from __future__ import annotations

from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from rheostat.prediction.iteration_time import smart_forecaster, smart_language
from rheostat.prediction.iteration_time.simple_forecasters import SimpleForecaster
from rheostat.prediction.iteration_time.smart_config import SmartConfig
from rheostat.prediction.iteration_time.smart_forecaster import SmartForecaster
from rheostat.prediction.iteration_time.smart_language import (
    WORDS,
    LocalModel,
    describe,
    language_part,
)

WIDTH = 4


class Body(torch.nn.Module):
    """A model of the library: layers that add up, and a note of everything it was called with."""

    name_of_cache = "past_key_values"

    def __init__(self, config):
        super().__init__()
        self.config, self.calls = config, []
        self.words = torch.nn.Embedding(config.vocabulary, WIDTH)
        self.layers = torch.nn.ModuleList(
            torch.nn.Linear(WIDTH, WIDTH) for _ in range(config.num_hidden_layers))  # fmt: skip

    def get_input_embeddings(self):
        return self.words

    def forward(self, **given):
        self.calls.append(given)
        if "input_ids" in given:  # keys and values, (1, heads, tokens, width of a head)
            count = given["input_ids"].shape[1]
            kept = [SimpleNamespace(keys=torch.full((1, 2, count, 2), 10.0 * k + count),
                                    values=torch.full((1, 2, count, 2), -10.0 * k - count))
                    for k in range(len(self.layers))]  # fmt: skip
            return SimpleNamespace(**{self.name_of_cache: SimpleNamespace(layers=kept)})
        return SimpleNamespace(last_hidden_state=given["inputs_embeds"] + 1.0)


class NewerBody(Body):
    """A model of the library from 5.24 on, which warns of the older name and drops it in 5.40."""

    name_of_cache = "cache"

    def forward(self, cache=None, **given):
        return super().forward(**given, **({} if cache is None else {"cache": cache}))


class Cache:
    """What was put into it, by layer."""

    def __init__(self):
        self.kept = {}

    def update(self, keys, values, layer):
        self.kept[layer] = keys, values


@pytest.fixture(params=[Body, NewerBody], ids=["5.0", "5.24"])
def library(monkeypatch, request):
    """(the library, the model of its folder)."""
    config = SimpleNamespace(num_hidden_layers=3, vocabulary=3 * WORDS + 5)
    whole, body = request.param(config), request.param
    made = SimpleNamespace(AutoModel=SimpleNamespace(from_config=body), DynamicCache=Cache)

    def tokeniser(line):
        return {"input_ids": [len(word) for word in line.split()]}

    plain = smart_language.require
    monkeypatch.setattr(
        smart_language,
        "require",
        lambda name, extra: made if name == "transformers" else plain(name, extra),
    )
    monkeypatch.setattr(smart_language, "_loaded", lambda path: (whole, tokeniser))
    return whole


def test_a_local_model_keeps_its_first_layers_is_frozen_and_draws_weights_where_asked(library):
    for asked, layers in ((0, 3), (2, 2), (9, 3)):
        model = LocalModel("x", asked)
        assert len(model.model.layers) == layers
        for k, layer in enumerate(model.model.layers):
            assert torch.equal(layer.weight, library.layers[k].weight)
        assert not any(p.requires_grad for p in model.model.parameters())
        assert not model.model.training
    assert len(library.layers) == library.config.num_hidden_layers == 3
    drawn = LocalModel("x", 0, random_weights=True)
    assert not torch.equal(drawn.model.words.weight, library.words.weight)
    words = LocalModel("x").words
    assert torch.equal(words, library.words.weight[::3])
    library.words = torch.nn.Embedding(7, WIDTH)
    library.config.vocabulary = 7
    assert len(LocalModel("x").words) == 7  # fewer than are drawn: all


def test_without_lines_patches_are_all_that_is_read(library):
    model, patches = LocalModel("x"), torch.rand(2, 3, WIDTH)
    assert torch.equal(model(patches, []), patches + 1.0)
    (given,) = model.model.calls
    assert set(given) == {"inputs_embeds", "use_cache"}
    assert given["use_cache"] is False


def test_each_row_stands_behind_its_own_line_and_shorter_lines_are_filled_at_the_front(library):
    model, patches = LocalModel("x", 2), torch.rand(2, 3, WIDTH)
    said = model(patches, ["one", "a line of four"])
    assert torch.equal(said, patches + 1.0)
    given = model.model.calls[-1]
    assert given["use_cache"] is True
    assert given["position_ids"].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert given["attention_mask"].tolist() == [[0, 0, 0, 1, 1, 1, 1], [1] * 7]
    assert given["attention_mask"].dtype == torch.int64
    kept = given[model.model.name_of_cache].kept
    assert sorted(kept) == [0, 1]
    for layer, (keys, values) in kept.items():
        assert keys.shape == values.shape == (2, 2, 4, 2)
        for row, count in enumerate((1, 4)):
            wanted = [0.0] * (4 - count) + [10.0 * layer + count] * count
            assert keys[row, 0, :, 0].tolist() == wanted
            assert values[row, 1, :, 1].tolist() == [-w for w in wanted]
    assert [c["input_ids"].tolist() for c in model.model.calls[:2]] == [[[3]], [[1, 4, 2, 4]]]
    model(patches, ["one", "one"])
    assert sum("input_ids" in c for c in model.model.calls) == 2  # read once


def test_patches_of_a_series_go_through_the_model_behind_a_line_about_it(library, tmp_path):
    sizes = {"hidden": 4, "heads": 2, "look_back": 4, "prototypes": 5}
    series, read = torch.rand(2, 4), []
    for prompt in (True, False):
        config = SmartConfig(language=str(tmp_path), prompt=prompt, workload="milc", **sizes)
        part = language_part(config)
        assert part.embed.out_features == WIDTH
        plain = part.body.__class__.__call__
        part.body.__class__.__call__ = lambda self, asked, lines, plain=plain: (
            read.append(lines) or plain(self, asked, lines))  # fmt: skip
        try:
            assert part(series).shape == (2, 4)
        finally:
            part.body.__class__.__call__ = plain
    middle = series.mean(1, keepdim=True)
    scaled = (series - middle) / (series.std(1, keepdim=True) + 1e-3)
    assert read == [[describe(s, "milc") for s in scaled.numpy()], []]


def test_a_series_that_ends_where_it_began_is_not_said_to_rise():
    said = [describe(np.array(s), "x") for s in ([1.0, 2.0, 1.0], [1.0, 2.0, 1.1], [1.0, 2.0, 0.9])]
    assert [s.split("trend ")[1].split(",")[0] for s in said] == ["down", "up", "down"]
    lags = describe(np.tile([0.0, 0.0, 1.0], 5), "x").split("lags ")[1]
    assert lags.startswith("3, 6")
    assert len(lags.split(",")) == 5


def test_sizes_and_training_are_as_published_unless_they_are_named():
    assert asdict(SmartConfig()) == {
        "net": "smart", "language": "none", "random_weights": False, "prompt": True,
        "workload": "application", "hidden": 128, "heads": 8, "layers": 2, "look_back": 8,
        "snapshots": 2, "patch": 2, "prototypes": 100, "language_layers": 0, "epochs": 20,
        "rate": 1e-3, "tune_every": 8, "tune_steps": 4,
    }  # fmt: skip


def test_weights_of_a_forecaster_are_of_its_seed_alone():
    sizes = {"hidden": 4, "heads": 2, "layers": 1, "look_back": 3, "prototypes": 5}
    features, edges = np.random.default_rng(0).random((9, 3, 2)), np.array([[0, 1], [1, 2]])

    def weights(seed):
        torch.rand(1)  # wherever other draws stand
        made = SmartForecaster(features, edges, [0, 2], 6, config=SmartConfig(**sizes), seed=seed)
        return torch.cat([p.detach().flatten() for p in made.net.parameters()])

    first = weights(0)
    assert torch.equal(first, weights(0))
    assert not torch.equal(first, weights(1))
    before = torch.random.get_rng_state()
    SmartForecaster(features, edges, [0, 2], 6, config=SmartConfig(**sizes))
    assert torch.equal(torch.random.get_rng_state(), before)


class Echo(torch.nn.Module):
    """The last time and a learned number, which it notes the size of."""

    def __init__(self):
        super().__init__()
        self.more, self.batches = torch.nn.Parameter(torch.zeros(1)), []

    def forward(self, series, snapshots):
        self.batches.append(len(series))
        return series[:, -1] + self.more


def test_a_training_goes_over_all_samples_in_parts_of_eight_at_most(monkeypatch):
    monkeypatch.setattr(smart_forecaster, "make_net", lambda *_: Echo())
    config = SmartConfig(look_back=2, snapshots=1, epochs=3, tune_every=0)
    made = SmartForecaster(np.ones((40, 3, 1)), np.zeros((2, 0)), [0], 19, config=config)
    assert (made.horizon, made.forecast(99).time_s.shape) == (30, (30,))
    for k in range(19):
        made.observe(1.0 + k % 2)
    assert made.net.batches == [6, 6, 5] * 3  # iterations 2 to 18
    said = made.forecast(4)
    assert made.net.batches[9:] == [1]
    np.testing.assert_allclose(said.low_s * said.high_s, said.time_s**2)
    assert (said.low_s < said.time_s).all()
    made.skip(3)
    made.observe(2.0)
    assert made.net.batches[9:] == [1, 1]  # an answer; nothing is learned again


def test_before_eight_errors_an_interval_is_two_and_a_half_scales(monkeypatch):
    monkeypatch.setattr(smart_forecaster, "make_net", lambda *_: Echo())
    config = SmartConfig(look_back=2, snapshots=1)
    made = SmartForecaster(np.ones((9, 3, 1)), np.zeros((2, 0)), [0], 8, config=config, horizon=2)
    made.observe(4.0)
    said = made.forecast(1)
    assert said.time_s.tolist() == pytest.approx([4.0])
    assert said.high_s.tolist() == pytest.approx([4.0 * np.exp(2.5)])
    assert said.low_s.tolist() == pytest.approx([4.0 * np.exp(-2.5)])


def test_a_simple_forecast_has_its_interval_about_it_in_the_logarithm():
    model = SimpleForecaster("last")
    assert model.horizon == 30
    model.observe(3.0)
    said = model.forecast(2)
    assert said.time_s.tolist() == pytest.approx([3.0, 3.0])
    assert said.high_s.tolist() == pytest.approx([3.0 * np.exp(2.5)] * 2)
    assert said.low_s.tolist() == pytest.approx([3.0 * np.exp(-2.5)] * 2)
    model.skip(5)
    assert model.forecast(1).time_s.tolist() == pytest.approx([3.0])
    assert (said.simulate, said.reason) == (False, "")
