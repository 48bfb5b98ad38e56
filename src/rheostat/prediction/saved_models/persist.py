"""Save and load whatever was fitted: models, agents, learned priorities, trees.

`KINDS` says for each kind of file which class it holds.  A class brings ``to_archive`` and
``from_archive`` if its file should have a form of its own; any other is taken apart by
`state_tree`.  The file itself is `rheostat.core.storage.archive`.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from dataclasses import replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from typing import Any, NamedTuple

from rheostat.core.storage.archive import NOT_A_ZIP, Archive, read_archive, write_archive
from rheostat.errors import ModelFileError, NotFitted, RheostatError
from rheostat.prediction.saved_models.from_file import remember
from rheostat.prediction.saved_models.state_tree import (
    FileParts,
    StateReader,
    StateWriter,
    state_of,
)


class Kind(NamedTuple):
    """A kind of file: its name, its class, the version of its schema, the command that writes it.

    ``before`` tells files of release 0.1.0 by a member of their zip or their first bytes.
    """

    title: str
    cls: str
    version: int
    command: str
    before: bytes = b""


KINDS = {
    "surrogate": Kind("surrogate", "prediction.surrogate.surrogate:Surrogate", 3,
                      "rheostat fit", b"manifest.json"),
    "scaling-law": Kind("scaling-law model", "prediction.scaling_law.scaling_law:LawGP", 5,
                        "rheostat fit --kind law", b"law.json"),
    "within-application": Kind("model of settings within applications",
                               "prediction.effects.predictor:WithinApplication", 4,
                               "rheostat fit --kind within"),
    "out-of-core": Kind("out-of-core model", "prediction.out_of_core.outofcore:ScaleModel", 2,
                        "rheostat fit --out-of-core", b"index.json"),
    "counters": Kind("counter model", "prediction.counters.counter_model:CounterModel", 1,
                     "rheostat counters --save"),
    "serving-law": Kind("law of serving", "prediction.serving_law.predictor:ServingLaw", 7,
                        "rheostat llm fit --save"),
    "prompt-length": Kind("model of answer lengths",
                          "prediction.answer_length.prompt_length:PromptLength", 2,
                          "rheostat llm rank --save"),
    "graph": Kind("graph of operations", "core.graph:Graph", 1, "rheostat dnn import --out"),
    "iteration-times": Kind("model of iteration times",
                            "prediction.iteration_time.iteration_model:IterationModel", 2,
                            "rheostat network fit --save"),
    "step-cost": Kind("model of training steps", "prediction.step_cost.predictor:StepCost", 4,
                      "rheostat dnn fit"),
    "caps": Kind("cap model", "prediction.completion.model:CapModel", 3, "rheostat.save"),
    "dras-agent": Kind("DRAS agent", "training.rl.agent:Agent", 2,
                       "rheostat train", b'"rheostat.agent/1'),
    "actor-critic-agent": Kind("actor-critic agent", "training.rl.actor:Actor", 2,
                               "rheostat train --agent ppo", b'"rheostat.actor/1'),
    "learned-priority": Kind("learned priority",
                             "simulation.learned_priority.priority:LearnedPriority", 3,
                             "rheostat train --agent ours", b'"kind": "rheostat.rank/'),
    "priority-tree": Kind("decision tree", "decision.policies.priority_tree:PriorityTree", 3,
                          "rheostat explain --save", b'"schema": "rheostat.tree/'),
}  # fmt: skip
"""A new kind of file is one line here."""
MOST_DRAWS = 100_000
"""Each is a number for every job that is asked about."""
PREDICTORS = ("surrogate", "scaling-law", "within-application", "out-of-core", "step-cost")
"""Kinds that predict what jobs cost from a job log's columns."""


def save(model: Any, path: str | Path) -> Path:
    """Write a fitted model to one file; the old file or the new one, never half.

    Parameters
    ----------
    model
        A fitted object of a class in `KINDS`: `Surrogate`, `LawGP`, ...
    path
        The file; an existing one is replaced.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    NotFitted
        ``fit`` was not called.
    ModelFileError
        It holds something that no safe format holds, such as a regressor of an unknown library.

    Examples
    --------
    >>> import tempfile, rheostat as rh
    >>> past = rh.table({"nodes": [1, 2, 4] * 9, "runtime_s": [8.0, 4.0, 2.0] * 9,
    ...                  "power_w": [9.0, 18.0, 36.0] * 9})
    >>> file = rh.save(rh.Surrogate("forest").fit(past), tempfile.mkdtemp() + "/m.rheo")
    >>> rh.load(file).predict(past.rows([0])).mean("runtime_s").round().tolist()
    [8.0]
    """
    kind = _kind_of(model)
    archive = model.to_archive() if hasattr(model, "to_archive") else _taken_apart(model)
    libraries = {"rheostat": _version("rheostat"), **archive.libraries}
    write_archive(
        path, replace(archive, kind=kind, version=KINDS[kind].version, libraries=libraries)
    )
    return Path(path)


def load(path: str | Path, kinds: Iterable[str] = tuple(KINDS)) -> Any:
    """What `save` wrote: it predicts, or decides, the same to the last bit.

    Parameters
    ----------
    path
        A file.
    kinds
        Kinds of file that will do; all by default.

    Returns
    -------
    object
        A fitted object of the class that the file names.

    Raises
    ------
    ModelFileError
        The file is damaged, of another kind, of another version, or none of ours; the message
        names the kind that the file has and those that were expected.

    Notes
    -----
    No code in the file is run.
    """
    wanted = tuple(kinds)
    try:
        archive = read_archive(path)
    except ModelFileError as error:
        if (older := _before(path)) is not None:
            raise ModelFileError(str(path), [_again(older, "0.1.0")]) from error
        message = f"{_expected(wanted)}, {'; '.join(error.problems)}"
        raise ModelFileError(str(path), [message]) from error
    _check(archive, path, wanted)
    try:
        model = _built(archive)
    except ModelFileError as error:
        raise ModelFileError(str(path), [str(error)]) from error
    except RheostatError as error:
        raise ModelFileError(str(path), [f"is damaged: {error}"]) from error
    except Exception as error:
        raise ModelFileError(str(path), [_unreadable(archive, error)]) from error
    draws = getattr(model, "n_draws", 1)
    if not (isinstance(draws, int) and 1 <= draws <= MOST_DRAWS):
        problem = f"is damaged: n_draws: expected 1 to {MOST_DRAWS:,}, got {draws!r}"
        raise ModelFileError(str(path), [problem])
    remember(model, path)
    return model


def _built(archive: Archive) -> Any:
    cls, parts = _class(archive.kind), FileParts(archive.parts)
    if hasattr(cls, "from_archive"):
        model = cls.from_archive(replace(archive, parts=parts))
    else:
        model = StateReader(parts).whole(archive.contents)
    if type(model) is not cls:
        raise ModelFileError(f"its contents are of a {type(model).__name__}, not {cls.__name__}")
    parts.check()
    return model


def _kind_of(model: Any) -> str:
    where = f"{type(model).__module__}:{type(model).__qualname__}".removeprefix("rheostat.")
    kind_name = next((name for name, kind in KINDS.items() if kind.cls == where), None)
    if kind_name is None:
        names = ", ".join(kind.cls.partition(":")[2] for kind in KINDS.values())
        raise ModelFileError(f"{type(model).__name__} cannot be saved: expected one of {names}")
    return kind_name


def _taken_apart(model: Any) -> Archive:
    if not any(name.endswith("_") for name in vars(model)) and not _is_value(model):
        raise NotFitted(model)
    writer = StateWriter()
    tree = writer.put(model)
    used = {name: _version(name) for name in sorted({*writer.libraries, "numpy"})}
    return Archive("", 0, tree, writer.parts, used)


def _is_value(model: Any) -> bool:
    return hasattr(model, "__dataclass_fields__") and bool(state_of(model))


def _class(kind: str) -> Any:
    module, _, name = KINDS[kind].cls.partition(":")
    return getattr(import_module(f"rheostat.{module}"), name)


def _version(library: str) -> str:
    """Of a library by the name of its distribution, or of its module (xgboost-cpu has xgboost)."""
    try:
        return version(library)
    except PackageNotFoundError:
        named = packages_distributions().get(library, [])
        return version(named[0]) if named else ""


def _check(archive: Archive, path: str | Path, wanted: tuple[str, ...]) -> None:
    """The kind is known and wanted, the version is ours."""
    kind = KINDS.get(archive.kind)
    if kind is None:
        message = f"is of kind {archive.kind!r}, which this release does not know: update rheostat"
    elif archive.kind not in wanted:
        message = f"{_expected(wanted)}, got {title(archive.kind)}"
    elif archive.version > kind.version:
        message = f"is of version {archive.version} of a {kind.title}, this release reads "
        message += f"{kind.version}: update rheostat"
    elif archive.version < kind.version:
        message = _again(archive.kind, f"version {archive.version}")
    else:
        return
    raise ModelFileError(str(path), [message])


def _expected(kinds: Iterable[str]) -> str:
    """In words.

    >>> _expected(["caps", "counters"])
    'expected a cap model (rheostat.save) or a counter model (rheostat counters --save)'
    """
    named = [title(k) for k in kinds]
    return "expected " + ", ".join(named[:-1]) + " or " * (len(named) > 1) + named[-1]


def title(kind: str) -> str:
    """A kind in words, with the command that writes it.

    >>> title("out-of-core")
    'an out-of-core model (rheostat fit --out-of-core)'
    """
    named, command = KINDS[kind].title, KINDS[kind].command
    return f"{'an' if named[0] in 'aeio' else 'a'} {named} ({command})"


def _again(kind: str, release: str) -> str:
    named, command = KINDS[kind].title, KINDS[kind].command
    return f"is a {named} of {release}, which this release does not open: make it anew ({command})"


def _unreadable(archive: Archive, error: Exception) -> str:
    here = [
        f"{name} {made}, here {_version(name) or 'none'}"
        for name, made in archive.libraries.items()
        if made != _version(name)
    ]
    made = f"; it was made with {', '.join(here)}" if here else ""
    return f"is not a {KINDS[archive.kind].title} this release can read{made}: {error!r}"[:500]


def _before(path: str | Path) -> str | None:
    """The kind of a file of release 0.1.0; None where it is none."""
    if not Path(path).is_file():  # a pipe has no end
        return None
    try:
        with Path(path).open("rb") as file:
            start = file.read(2**16).replace(b'\\"', b'"')
            members = zipfile.ZipFile(file).namelist() if start[:2] == b"PK" else None
    except NOT_A_ZIP:
        return None
    for name, kind in KINDS.items():
        mark = kind.before
        if mark and (mark.decode() in members if members is not None else mark in start):
            return name
    return None
