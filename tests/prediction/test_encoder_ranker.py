"""A pretrained encoder, from a folder, trained to rank: on a tiny one of random weights."""

from __future__ import annotations

import pytest

from rheostat.errors import DataError
from rheostat.prediction.answer_length.encoder_ranker import EncoderRanker, _pace
from rheostat.recipes.pars import evaluated
from tests.prediction.test_prompt_length import requests


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("torch", reason="the extra neural is not installed")
    transformers = pytest.importorskip("transformers", reason="the extra lm is not installed")
    path = tmp_path_factory.mktemp("encoder")
    words = sorted({w for p in requests().frame["prompt"] for w in p.lower().split()})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    (path / "vocab.txt").write_text("\n".join(vocabulary))
    transformers.BertTokenizerFast(str(path / "vocab.txt")).save_pretrained(path)
    transformers.set_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=128,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(path)
    return path


@pytest.mark.parametrize("loss", ["margin", "buckets"])
def test_kinds_of_prompts_are_told_apart_the_same_for_the_same_seed(folder, loss):
    seen, asked = requests(240), requests(60, seed=9)
    both = [EncoderRanker(folder, loss, rate=5e-3).fit(seen).score(asked) for _ in range(2)]
    assert both[0].tolist() == both[1].tolist()
    lengths = asked.numpy("output_tokens")
    pairs = (lengths[:, None] > 3 * lengths) & (both[0][:, None] != both[0])
    assert (both[0][:, None] > both[0])[pairs].mean() > 0.9


def test_its_score_stands_beside_ours(folder):
    _, scores = evaluated(requests(100), 0.25, 0, [], folder)
    assert set(scores) == {"ours", "prompt length", "encoder, margin"}


def test_a_folder_without_an_encoder_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"config\.json"):
        EncoderRanker(tmp_path)
    with pytest.raises(DataError, match="margin"):
        EncoderRanker(tmp_path, "best")


def test_the_rate_rises_for_a_tenth_and_falls_to_nothing():
    pace = _pace(100)
    assert [pace(i) for i in (0, 9, 10, 55, 100)] == pytest.approx([0.1, 1.0, 1.0, 0.5, 0.0])
