"""Every file that a command writes, given to every argument that takes a file: works or is named.

An argument that is given a file of another kind ends with one message that says what the file is
and what the argument takes.  Both lists come from the tree of commands (`malformed`), so a new
command, or a new kind of file, cannot be forgotten.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import malformed as m
from valid_files import CODES, _quick, clear, home, told

from rheostat.core.storage.file_kinds import describe_file, kind_in
from rheostat.prediction.saved_models.persist import KINDS, PREDICTORS

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("files")]
__all__ = ["_quick", "home"]  # fixtures
MODELS = {
    "surrogate": "fit @runs.csv --kind lightgbm --test-fraction 0 --out FILE",
    "scaling-law": "fit @runs.csv --kind law --test-fraction 0 --out FILE",
    "within-application": "fit @runs.csv --kind within --test-fraction 0 --out FILE",
    "out-of-core": "fit @runs.csv --kind lightgbm --out-of-core --test-fraction 0 --out FILE",
    "counters": "counters @counters.csv --methods ridge --leave-out application --save FILE",
    "serving-law": "llm fit @own_serving.csv --save FILE",
    "prompt-length": "llm rank @own_requests.csv --save FILE",
    "graph": "dnn import @step.hlo --out FILE",
    "iteration-times": "network fit @run --app job-0 --save FILE",
    "step-cost": "dnn fit @training.csv --out FILE",
    "dras-agent": "train @trace.swf --out FILE --agent dras-pg --jobsets 1 --test-fraction 0",
    "actor-critic-agent": "train @trace.swf --out FILE --agent ppo --updates 1 --test-fraction 0",
    "learned-priority": "train @trace.swf --out FILE --agent ours --updates 1 --test-fraction 0",
    "priority-tree": "explain fcfs --trace @trace.swf --rounds 1 --save FILE",
}
"""The command that writes each kind of saved model."""
TAKES = {
    "predict --model": PREDICTORS,
    "front --model": PREDICTORS,
    "decide --model": PREDICTORS,
    "simulate --estimates": PREDICTORS,
    "compare --estimates": PREDICTORS,
    "simulate --power-model": PREDICTORS,
    "train --power-model": PREDICTORS,
    "search --power-model": PREDICTORS,
    "dnn import SOURCES": ("graph",),
    "llm rank --model": ("prompt-length",),
    "llm proxy --model": ("prompt-length",),
    "dnn front SOURCE": ("step-cost", "graph"),
    "dnn predict SOURCE": ("step-cost", "graph"),
    "serve --model": PREDICTORS,
    "site drift --model": PREDICTORS,
    "site refit --model": PREDICTORS,
    "counters --model": ("counters",),
    "network serve --model": ("iteration-times",),
    "simulate --policy": ("priority-tree",),
    "compare --policies": ("priority-tree",),
    "simulate --policy (agent)": ("dras-agent", "actor-critic-agent", "learned-priority"),
    "explain POLICY": ("priority-tree",),
    "explain POLICY (agent)": ("dras-agent", "learned-priority"),
    "train --out": ("learned-priority",),
}
"""Arguments that take a saved model, and the kinds that each takes."""
NO_KIND = re.compile(  # an empty file has no kind
    r"column|present:|no known format|machine: the trace|no such row|no application|"
    r"names no|applications|holds another search|no positive|jobs? |rows?\b|app |line \d+|differ|"
    r"--where|--app|has no profile|is there twice|no processor package|file is empty"
)
"""A table in place of another table: the message says which columns or rows it misses."""
SAMPLE = 1


@pytest.fixture(scope="module")
def models(home: Path) -> dict[str, Path]:
    """A file of every kind of saved model that a command writes."""
    from tests.prediction.test_prompt_length import requests
    from tests.prediction.test_serving_law import runs

    runs(36, seed=1).frame.write_csv(home / "own_serving.csv")
    requests(200).frame.write_csv(home / "own_requests.csv")
    made = {}
    for kind, call in MODELS.items():
        made[kind] = home / f"kind-{kind}"
        code, _, err = told(call, home, made[kind])
        assert code == 0, err
        assert kind_in(made[kind]) == kind
    return made


def test_every_kind_that_a_command_writes_is_in_the_matrix() -> None:
    assert set(MODELS) == {name for name, kind in KINDS.items() if kind.command != "rheostat.save"}


def test_every_argument_whose_valid_file_is_a_model_is_in_the_matrix(
    home: Path, models: dict[str, Path]
) -> None:
    taking = {n for n, (base, _) in m.CALLS.items() if base and kind_in(home / base)}
    assert taking - set(TAKES) == set(), "say in TAKES which kinds it takes"


def given(home: Path, name: str, file: Path) -> tuple[int, str]:
    """(exit code, last lines of stderr) of a call with a copy of the file in place of its own."""
    clear(home)
    copy = home / f"copy-{file.name}"
    shutil.copy(file, copy)
    code, _, err = told(m.CALLS[name][1], home, copy)
    assert code in CODES, (name, file.name, err)
    assert "Traceback" not in err
    return code, err


@pytest.mark.parametrize("name", [n for n in TAKES if n in m.CALLS])
def test_a_saved_model_is_used_or_named(home: Path, models: dict[str, Path], name: str) -> None:
    wrong = []
    for kind, file in models.items():
        code, err = given(home, name, file)
        if kind in TAKES[name]:
            wrong += [f"{kind}: refused: {err[-300:]}"] if REFUSED.search(err) else []
            continue
        both = re.search(rf"got an? {re.escape(KINDS[kind].title)} \(", err)
        takes = [k for k in TAKES[name] if KINDS[k].title in err]
        if code not in (1, 2) or not both or not takes:
            wrong.append(f"{kind}: {code} {err[-300:]}")
    assert wrong == [], "\n".join(wrong)


REFUSED = re.compile(r"expected an? [\w -]+ \(rheostat|of another kind|saved model of kind")


def other_files(home: Path) -> Iterator[tuple[str, Path]]:
    """Everything else that commands write: tables, pages, plans, journals, source code."""
    for name, call in m.WRITTEN.items():
        file = home / f"written-{re.sub(r'[^a-z]+', '-', name)}"
        file = file.with_suffix({"decide --out": ".csv"}.get(name, ".svg"))
        clear(home)
        code, _, err = told(call, home, file)
        assert code == 0 or "--figure" in name or m.lacking(name), (name, err)
        inside = sorted(p for p in file.rglob("*") if p.is_file()) if file.is_dir() else [file]
        yield from [(name, inside[0])] if inside and inside[0].is_file() else []
    yield from ((name, home / name) for name in ("journal", "restore", "results"))


def test_any_other_file_is_used_or_named(home: Path, models: dict[str, Path]) -> None:
    """`make fuzz` tries them all; a seeded sample for each argument otherwise."""
    rng, wrong = random.Random(0), []
    files = [*models.items(), *other_files(home)]
    for name in m.CALLS:
        if name in TAKES or name in ("rheostat.toml", "serve --tokens"):  # no table, no model
            continue
        every = files if os.environ.get("RHEOSTAT_FUZZ") else rng.sample(files, SAMPLE)
        for what, file in every:
            code, err = given(home, name, file)
            last = err.strip().splitlines()[-1] if err.strip() else ""
            named = describe_file(file) in last and ("takes: " in last or "expected " in last)
            if code == 1 and not named and not NO_KIND.search(last):
                wrong.append(f"{name} <- {what}: {last[:300]}")
    assert wrong == [], "\n".join(wrong)
