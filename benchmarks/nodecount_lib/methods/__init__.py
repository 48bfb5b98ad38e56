"""The registry of methods.  Heavy libraries are imported when a method is first built."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from .base import Entry, Method, Problem
from .version import code_version


def _late(module: str, cls: str) -> Callable[[Problem, int], Method]:
    def build(problem: Problem, seed: int) -> Method:
        return getattr(import_module(f"{__name__}.{module}"), cls)(problem, seed)

    return build


def _entry(name: str, module: str, cls: str, version: str, **options: object) -> Entry:
    return Entry(name, _late(module, cls), version, **options)  # type: ignore[arg-type]


REGISTRY: dict[str, Entry] = {
    e.name: e
    for e in [
        _entry("ours", "ours", "Ours", code_version() + "-2", uses_prior=True),
        _entry("ours-cold", "ours", "OursCold", code_version() + "-1"),
        _entry("random", "simple", "RandomSearch", "1", pair_free=True),
        _entry("sobol", "simple", "SobolSearch", "1", pair_free=True),
        _entry("nsga2", "simple", "Nsga2", "1"),
        _entry("sobo-runtime", "gp", "SoboRuntime", "1", pair_free=True),
        _entry("sobo-power", "gp", "SoboPower", "1", pair_free=True),
        _entry("sobo-edp", "gp", "SoboEdp", "1", pair_free=True),
        _entry("parego", "gp", "Parego", "1"),
        _entry("botorch", "gp", "BotorchNehvi", "1"),
        _entry("botorch-corners", "gp", "BotorchCorners", "1", max_seeds=5),
        _entry("optuna-gp", "optuna_peers", "OptunaGp", "1", max_seeds=5),
        _entry("smac", "smac_peer", "Smac", "1", max_seeds=5),
        _entry("optuna-tpe", "optuna_peers", "OptunaTpe", "1"),
        *[
            _entry(f"paper-{name}", "paper", cls, "1", uses_prior=True, max_seeds=most)
            for name, cls, most in [
                ("lgbm", "PaperLightgbm", None),
                ("xgb", "PaperXgboost", 5),
                ("rf", "PaperForest", 5),
                ("tabnet", "PaperTabnet", 5),
                ("rf-emb", "PaperForestEmb", 5),
                ("xgb-emb", "PaperXgboostEmb", 5),
                ("lgbm-emb", "PaperLightgbmEmb", 5),
                ("lgbm-raw", "PaperLightgbmRaw", 5),
            ]
        ],
    ]
}

QUICK_METHODS = [
    "ours",
    "ours-cold",
    "botorch",
    "botorch-corners",
    "random",
    "nsga2",
    "optuna-tpe",
    "parego",
    "sobo-edp",
    "paper-lgbm",
    "paper-rf",
    "paper-rf-emb",
]
