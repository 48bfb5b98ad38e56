"""Which step size, which discount?  Optuna tests some in short trainings, and keeps a journal.

A trial trains for a few rounds on the earlier jobs of the past and is judged on the later ones,
never on those held out for the end.  Trial ``i`` is drawn by a sampler seeded with the seed and
``i`` from the trials that are complete: a search that was killed takes the trial it was in again,
and ends with the same settings as one that was not.

References
----------
Akiba, Sano, Yanase, Ohta, Koyama, "Optuna: a next-generation hyperparameter optimization
framework", KDD 2019 (its sampler: Bergstra, Bardenet, Bengio, Kegl, NeurIPS 2011).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rheostat._optional import require
from rheostat.errors import DataError
from rheostat.training.rl.curriculum import Curriculum, TrainingResult
from rheostat.training.rl.objective import judged

Learn = Callable[[Curriculum], TrainingResult]
Progress = Callable[[int, int, dict[str, Any]], None]


def actor_switches(trial: Any) -> dict[str, Any]:
    """Of A2C and PPO."""
    widths = trial.suggest_categorical("hidden", ["32,16", "64,32", "128,64"])
    return {
        "lr": trial.suggest_float("lr", 1e-4, 1e-2, log=True),
        "gamma": 1 - trial.suggest_float("1-gamma", 1e-3, 0.2, log=True),
        "entropy": trial.suggest_float("entropy", 1e-4, 0.03, log=True),
        "hidden": tuple(map(int, widths.split(","))),
    }


def dras_switches(trial: Any) -> dict[str, Any]:
    """Of DRAS."""
    return {
        "lr": trial.suggest_float("lr", 1e-5, 1e-2, log=True),
        "gamma": 1 - trial.suggest_float("1-gamma", 1e-3, 0.5, log=True),
        "instances": trial.suggest_categorical("instances", [10, 30, 100]),
    }


def search(
    course: Curriculum,
    learn: Learn,
    *,
    trials: int,
    rounds: int,
    journal: Path,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """The best switches of ``trials`` trials of ``rounds`` rounds; the journal's count, too."""
    optuna = require("optuna", extra="train")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = _study(optuna, course, rounds, journal)
    suggest = dras_switches if course.agent.startswith("dras") else actor_switches
    for number in range(_complete(optuna, study), trials):
        study.sampler = optuna.samplers.TPESampler(seed=1000 * course.seed + number)
        trial = study.ask()
        short = course.shorter(rounds, **suggest(trial))
        score = _score(short, learn(short))
        study.tell(trial, score)
        if progress is not None:
            progress(number + 1, trials, {"score": score, "best": study.best_value})
    return suggest(optuna.trial.FixedTrial(study.best_params))


def _score(course: Curriculum, learned: TrainingResult) -> float:
    if course.check is None:
        raise DataError("search", ["too few jobs to hold any out for a trial"])
    starts = learned.agent.play(course.check, seed=course.seed).starts
    return judged(course.objective or "slowdown", course.check, starts, course.machine)


def _study(optuna: Any, course: Curriculum, rounds: int, journal: Path) -> Any:
    """The study in the journal, begun or gone on with; what another search wrote is refused."""
    journal.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        backend = optuna.storages.journal.JournalFileBackend(str(journal))
        storage = optuna.storages.JournalStorage(backend)
    study = optuna.create_study(storage=storage, study_name="rheostat", load_if_exists=True)
    asked = {"agent": course.agent, "objective": course.objective, "rounds": rounds}
    asked |= {"seed": course.seed, "jobs": len(course.past), "faithful": course.faithful}
    asked |= {f"--{k}": str(v) for k, v in course.switches.items()}
    had = dict(study.user_attrs)
    if had and had != asked:
        problems = [
            f"{k}: expected {had.get(k)!r}, as it was begun, got {asked.get(k)!r}"
            for k in sorted(had | asked)
            if had.get(k) != asked.get(k)
        ]
        raise DataError(str(journal), [*problems, "delete the file to begin anew"])
    for key, value in asked.items():
        study.set_user_attr(key, value)
    for trial in study.get_trials(states=(optuna.trial.TrialState.RUNNING,)):
        study.tell(trial.number, state=optuna.trial.TrialState.FAIL)  # it was killed
    return study


def _complete(optuna: Any, study: Any) -> int:
    return len(study.get_trials(states=(optuna.trial.TrialState.COMPLETE,)))
