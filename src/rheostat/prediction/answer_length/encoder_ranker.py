"""`EncoderRanker`: PARS, a pretrained encoder trained further to rank prompts by answer length.

The encoder's first output ([CLS]) goes to one number; pairs whose lengths differ by a fifth or more
are pushed apart by a margin of 1, all such pairs of a batch at once.  The settings are those of its
published code: 128 tokens, AdamW at 2e-5 with a tenth of warm-up, 3 epochs, gradients clipped at 1.
The other losses of `rheostat.prediction.answer_length.prompt_ranker` can be had in its place.

References
----------
Tao, Zhang, Dearing, Wang, Fan, Papka, Lan: PARS, arXiv 2510.03243.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat._threads import one_thread
from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.core.storage.file_kinds import describe_file
from rheostat.errors import DataError, NotFitted
from rheostat.prediction.answer_length.prompt_length import TARGET, PromptLength
from rheostat.prediction.answer_length.prompt_ranker import CLASSES, LOSSES

TOKENS, EPOCHS, BATCH, RATE, DECAY, WARMING, CLIPPED = 128, 3, 128, 2e-5, 0.01, 0.1, 1.0


class EncoderRanker:
    """Scores prompts: the longer the answer, the higher.

    Parameters
    ----------
    encoder
        Folder of a BERT-class encoder as Hugging Face's libraries keep it: ``config.json``, weights
        and tokeniser.  Nothing is fetched.
    loss
        One of `rheostat.prediction.answer_length.prompt_ranker.LOSSES`.
    rate, epochs
        Of learning, and passes over the prompts.
    seed
        Of the last layer and of the order of the batches.

    Raises
    ------
    DataError
        The folder holds no encoder.
    """

    def __init__(
        self, encoder: str | Path, loss: str = "margin", *, rate: float = RATE,
        epochs: int = EPOCHS, seed: int = 0,
    ) -> None:  # fmt: skip
        if loss not in LOSSES:
            raise DataError("loss", [f"expected one of {', '.join(LOSSES)}, got {loss!r}"])
        if not (Path(encoder) / "config.json").is_file():
            problem = ("expected a folder with model.onnx and tokenizer.json, or with config.json, "
                       f"weights and tokeniser, got {describe_file(encoder)}")  # fmt: skip
            raise DataError(str(encoder), [problem])
        self.encoder, self.loss = str(encoder), loss
        self.rate, self.epochs, self.seed = rate, epochs, seed

    def fit(self, requests: JobTable) -> EncoderRanker:
        """Learn from answered requests: columns ``prompt`` and ``output_tokens``."""
        torch = require("torch", extra="neural")
        self._load(torch)
        prompts = requests.frame["prompt"].to_list()
        lengths = requests.numpy(TARGET).astype(float)
        self.words_ = PromptLength(seed=self.seed).fit(requests)
        scores = self.words_.normal_score(lengths)
        weights = [*self.body_.parameters(), *self.head_.parameters()]
        learner = torch.optim.AdamW(weights, lr=self.rate, weight_decay=DECAY)
        batches = -(-len(prompts) // BATCH)
        pace = torch.optim.lr_scheduler.LambdaLR(learner, _pace(self.epochs * batches))
        rng = np.random.default_rng(self.seed)
        self.body_.train()
        with one_thread():
            for _ in range(self.epochs):
                for rows in np.array_split(rng.permutation(len(prompts)), batches):
                    out = self._outputs(torch, [prompts[i] for i in rows])
                    loss = LOSSES[self.loss](torch, out, lengths[rows], scores[rows])
                    learner.zero_grad()
                    loss.backward()
                    torch.nn.utils.clip_grad_norm_(weights, CLIPPED)
                    learner.step()
                    pace.step()
        self.body_.eval()
        return self

    def score(self, requests: JobTable) -> Array:
        """A number per request, (n,)."""
        if not hasattr(self, "body_"):
            raise NotFitted(self)
        torch = require("torch", extra="neural")
        prompts = requests.frame["prompt"].to_list()
        scores = np.zeros(len(prompts))
        order = np.argsort([len(p) for p in prompts], kind="stable")  # batches of like lengths
        with one_thread(), torch.no_grad():
            for rows in np.array_split(order, -(-len(prompts) // BATCH)):
                out = self._outputs(torch, [prompts[i] for i in rows])
                if self.loss == "buckets":
                    out = torch.softmax(out, 1) @ torch.arange(CLASSES, dtype=out.dtype)[:, None]
                scores[rows] = out[:, 0].numpy()
        return scores

    def _load(self, torch: Any) -> None:
        transformers = require("transformers", extra="lm")
        try:
            self.tokeniser_ = transformers.AutoTokenizer.from_pretrained(
                self.encoder, local_files_only=True
            )
            self.body_ = transformers.AutoModel.from_pretrained(self.encoder, local_files_only=True)
        except (OSError, ValueError) as error:
            raise DataError("encoder", [f"{self.encoder} cannot be read: {error}"]) from error
        torch.manual_seed(self.seed)
        outputs = CLASSES if self.loss == "buckets" else 1
        self.head_ = torch.nn.Linear(self.body_.config.hidden_size, outputs)

    def _outputs(self, torch: Any, prompts: list[str]) -> Any:
        given = self.tokeniser_(
            prompts, padding=True, truncation=True, max_length=TOKENS, return_tensors="pt"
        )
        return self.head_(self.body_(**given).last_hidden_state[:, 0])


def _pace(steps: int) -> Any:
    """Part of the rate at a step: up over the first tenth, then down to 0."""
    warm = max(1.0, WARMING * steps)
    return lambda i: min((i + 1) / warm, max(0.0, (steps - i) / max(1.0, steps - warm)))
