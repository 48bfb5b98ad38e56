"""Sizes and training of SMART and the nets beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rheostat.errors import DataError

LANGUAGE = ("none", "random", "patch")
NETS = ("smart", "lstm", "dcrnn")


@dataclass(frozen=True)
class SmartConfig:
    """Sizes and training; as published where that is known.

    Parameters
    ----------
    net
        ``smart``, or of the baselines ``lstm`` (series alone) and ``dcrnn``.
    language
        ``none``, ``random`` (frozen random weights), ``patch`` (a small transformer that learns),
        or the path of a local model: a folder, or a GGUF file.
    random_weights
        Of a local model only the architecture is taken, with random weights, frozen too.
    prompt
        A local model reads a line about the series before the patches, as in Time-LLM.
    workload
        Name of the application in that line.
    hidden, heads, layers
        Width, attention heads, layers of encoder and of decoder.
    look_back, snapshots
        Iteration times and graph states that an answer sees.
    patch
        Iterations of a patch; patches overlap by all but one.
    prototypes
        Words that patches attend to.
    language_layers
        Layers of the language model that are used; 0: all.
    epochs, rate
        Of the first training.
    tune_every, tune_steps
        Iterations between two trainings online, and their steps.
    """

    net: str = "smart"
    language: str = "none"
    random_weights: bool = False
    prompt: bool = True
    workload: str = "application"
    hidden: int = 128
    heads: int = 8
    layers: int = 2
    look_back: int = 8
    snapshots: int = 2
    patch: int = 2
    prototypes: int = 100
    language_layers: int = 0
    epochs: int = 20
    rate: float = 1e-3
    tune_every: int = 8
    tune_steps: int = 4

    def __post_init__(self) -> None:
        problems = []
        if self.net not in NETS:
            problems.append(f"net: expected {', '.join(NETS)}, got {self.net!r}")
        if self.language not in LANGUAGE and not Path(self.language).exists():
            problems.append(
                f"language: expected {', '.join(LANGUAGE)} or a path, got {self.language}"
            )
        if self.hidden % self.heads:
            problems.append(f"hidden: expected a multiple of {self.heads} heads, got {self.hidden}")
        if self.patch > self.look_back:
            problems.append(
                f"patch: expected at most look_back ({self.look_back}), got {self.patch}"
            )
        if problems:
            raise DataError("SMART", problems)
