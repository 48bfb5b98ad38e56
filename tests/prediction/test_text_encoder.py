"""Vectors of a tiny encoder in ONNX beside the words, and what is refused."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from rheostat import load, save, table
from rheostat.cli import run
from rheostat.errors import DataError
from rheostat.prediction.answer_length import text_encoder
from rheostat.prediction.answer_length.prompt_length import PromptLength
from tests.prediction.test_prompt_length import requests

SAME = {"ancient": "old", "elderly": "old", "aged": "old", "young": "new", "fresh": "new"}
"""Words that mean one of two things."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An encoder whose vectors say what a word means: rows of a table, looked up."""
    pytest.importorskip("onnxruntime", reason="the extra encoder is not installed")
    tokenizers = pytest.importorskip("tokenizers", reason="the extra encoder is not installed")
    onnx = pytest.importorskip("onnx", reason="the extra graphs is not installed")
    path = tmp_path_factory.mktemp("encoder")
    ids = {"[UNK]": 0, **{w: i + 1 for i, w in enumerate(SAME)}}
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(ids, unk_token="[UNK]"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    words.save(str(path / "tokenizer.json"))
    meant = {"[UNK]": [0.1, 0.1], "old": [1.0, 0.0], "new": [0.0, 1.0]}
    rows = np.array([meant[SAME.get(w, "[UNK]")] for w in ids], np.float32)
    make = onnx.helper
    graph = make.make_graph(
        [make.make_node("Gather", ["rows", "input_ids"], ["out"])], "encoder",
        [make.make_tensor_value_info("input_ids", onnx.TensorProto.INT64, ["n", "t"])],
        [make.make_tensor_value_info("out", onnx.TensorProto.FLOAT, ["n", "t", 2])],
        [onnx.numpy_helper.from_array(rows, "rows")],
    )  # fmt: skip
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(path / "model.onnx"))
    return path


def past():
    """Old things have long answers; every word of a prompt but its meaning is new."""
    kinds = ["ancient", "elderly", "young"] * 20
    length = [400.0 + i if SAME[w] == "old" else 4.0 + i for i, w in enumerate(kinds)]
    return table({"prompt": kinds, "output_tokens": length})


def test_a_vector_is_the_mean_over_tokens_of_length_1_and_of_its_text_alone(folder):
    one = text_encoder.vectors(str(folder), ["ancient young young"])
    assert one[0] == pytest.approx(np.array([1, 2]) / 5**0.5)
    texts = ["ancient young young", "", "fresh", "\ud800" + "aged " * 10**5]
    every = text_encoder.vectors(str(folder), texts)
    assert every[0].tolist() == one[0].tolist()
    assert np.isfinite(every).all()


def test_what_a_word_means_is_learned_from_other_words(folder):
    asked = ["aged", "fresh"]  # neither was seen
    old, new = PromptLength(encoder=str(folder)).fit(past()).score_prompts(asked)
    alone = np.ptp(PromptLength().fit(past()).score_prompts(asked))
    assert old - new > 20 * alone > 0


def test_a_kept_model_scores_the_same_and_knows_its_encoder_again(folder, tmp_path, monkeypatch):
    model = PromptLength(encoder=str(folder)).fit(past())
    again = load(save(model, tmp_path / "m.rheo"))
    assert again.score_prompts(["aged"]).tolist() == model.score_prompts(["aged"]).tolist()
    monkeypatch.setattr(text_encoder, "digest", lambda source: "another")
    with pytest.raises(DataError, match="expected the encoder that was learned with"):
        again.score_prompts(["aged"])
    before = {k: v for k, v in vars(PromptLength().fit(past())).items() if k != "encoder"}
    old = pickle.loads(pickle.dumps(model))
    vars(old).clear()
    vars(old).update(before)  # a file of a release without encoders
    assert np.isfinite(old.score_prompts(["aged"])).all()


def test_the_command_scores_words_alone_beside_it(folder, tmp_path, capsys):
    requests(60).frame.write_csv(tmp_path / "r.csv")
    file = str(tmp_path / "r.csv")
    assert run(["llm", "rank", file, "--encoder", str(folder), "--json"]) == 0
    methods = json.loads(capsys.readouterr().out)["methods"]
    assert set(methods) == {"ours", "words alone", "prompt length"}
    assert run(["llm", "rank", file, "--model", file, "--encoder", str(folder)]) == 1
    assert "--model: learns nothing" in capsys.readouterr().err


def test_a_language_model_is_asked_for_its_state_where_the_answer_begins(tmp_path, monkeypatch):
    """States lie far from 0 and differ little; what differs is learned from."""
    given = []

    class Server:
        def handle_embeddings(self, request):
            given.append(request["input"])
            old = any(w in request["input"] for w, kind in SAME.items() if kind == "old")
            return {"data": [{"embedding": [1.0, 0.01 if old else -0.01]}]}

    monkeypatch.setattr(text_encoder, "_language_model", lambda source: (Server(), "digest"))
    model = PromptLength(encoder="m.gguf").fit(past())
    old, new = model.score_prompts(["aged", "fresh"])
    assert old - new > 0.5
    model.score_prompts(["a" * 300 + "b" * 10**4 + "c" * 300])
    assert all(text.endswith("<|im_end|>\n<|im_start|>assistant\n") for text in given)
    assert len(given[-1]) < 700
    assert "a" * 200 in given[-1]
    assert "c" * 200 in given[-1]
    monkeypatch.undo()
    (tmp_path / "m.gguf").write_bytes(b"none")
    with pytest.raises(DataError, match="expected a GGUF file"):
        text_encoder.vectors(str(tmp_path / "m.gguf"), ["a"])


def test_a_folder_that_holds_no_whole_encoder_is_refused(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(DataError, match=r"expected a folder with model\.onnx and tokenizer\.json"):
        text_encoder.vectors(str(tmp_path), ["a"])
    pytest.importorskip("onnxruntime", reason="the extra encoder is not installed")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(DataError, match="expected an encoder in ONNX"):
        text_encoder.vectors(str(tmp_path), ["a"])


def test_the_packaged_encoder_is_the_one_that_was_measured(monkeypatch):
    for package, _, _ in text_encoder.PACKAGED:
        pytest.importorskip(package, reason="the extra encoder is not installed")
    like, other = text_encoder.vectors("int8", ["a poem of a cat", "verses on a kitten"])
    far = text_encoder.vectors("int8", ["sort an array in C"])[0]
    assert like @ other > like @ far + 0.2
    name = text_encoder.PACKAGED[1]
    monkeypatch.setattr(text_encoder, "PACKAGED", (*text_encoder.PACKAGED[:1], (*name[:2], "0")))
    with pytest.raises(DataError, match="expected the file with SHA-256 0"):
        text_encoder._packaged()
