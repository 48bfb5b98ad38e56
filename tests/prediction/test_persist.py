"""A saved model answers the same bytes, runs nothing; a bad file is refused with a reason."""

from __future__ import annotations

import hashlib
import json
import pickle
import random
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge

from rheostat.core.outcome import Outcome
from rheostat.core.storage.archive import Archive, read_archive, write_archive
from rheostat.core.storage.file_kinds import kind_in
from rheostat.core.storage.files import seal
from rheostat.errors import ModelFileError, NotFitted
from rheostat.measurement.synthetic import World
from rheostat.prediction.saved_models.persist import KINDS, load, save
from rheostat.prediction.surrogate.loss_sampling import LossProportional
from rheostat.prediction.surrogate.surrogate import Surrogate

JOBS = World(seed=1).jobs(300)
Fitted = tuple[Any, Callable[[Any], Any]]


def small(**options: Any) -> Surrogate:
    return Surrogate(RandomForestRegressor(n_estimators=5, random_state=0), **options)


def predicting(model: Any, jobs: Any = JOBS) -> Fitted:
    return model.fit(jobs), lambda m: m.predict(jobs)


def _within() -> Fitted:
    from rheostat.prediction.effects import WithinApplication

    return predicting(WithinApplication())


def _law() -> Fitted:
    from rheostat.prediction.scaling_law import LawGP

    return predicting(LawGP(context=("user",)))


def _large() -> Fitted:
    from rheostat.prediction.out_of_core.boosters import Settings
    from rheostat.prediction.out_of_core.outofcore import fit_out_of_core

    made = fit_out_of_core(JOBS, kind="lightgbm", settings=Settings(rounds=5))
    return made, lambda m: m.predict(JOBS)


def _counters(method: str = "law+trees") -> Fitted:
    from rheostat.measurement.read import read
    from rheostat.measurement.synthetic.counter_runs import write_pcm
    from rheostat.prediction.counters.counter_model import CounterModel

    with TemporaryDirectory() as folder:
        write_pcm(Path(folder) / "pcm.csv")
        jobs = read(Path(folder) / "pcm.csv")
    return predicting(CounterModel(method), jobs)


def _caps() -> Fitted:
    from rheostat.measurement.synthetic.capped_runs import capped_runs
    from rheostat.prediction.completion.model import CapModel
    from rheostat.prediction.completion.table import cap_table

    known = cap_table(capped_runs(6, seed=3))
    seen = [known.default, 0]
    return CapModel().fit(known.only(range(5))), lambda m: m.complete(seen, known.speed[5, seen])


def _priority() -> Fitted:
    from rheostat.simulation.learned_priority.priority import SHIPPED, LearnedPriority

    return LearnedPriority.load(SHIPPED), lambda m: m


def _tree() -> Fitted:
    from rheostat.decision.policies.priority_tree import PriorityTree, TreeFeature

    arrays = {"feature": [0, -1, -1], "threshold": [2.5, 0, 0], "left": [1, -1, -1],
              "right": [2, -1, -1], "value": [0.5, 1 / 3, 0.0]}  # fmt: skip
    tree = PriorityTree.of([TreeFeature("hours")], {"plays": "window"}, **arrays)
    return tree, lambda m: m.predict([[1.0], [3.0]])


def _dras() -> Fitted:
    from rheostat.training.rl.agent import Agent
    from rheostat.training.rl.dras_config import DrasConfig

    agent = Agent(DrasConfig(window=3, hidden=(8, 4)), 8, seed=2)
    return agent, lambda m: m.network.state_dict()


def _actor() -> Fitted:
    from rheostat.training.rl.actor import Actor
    from rheostat.training.rl.actor_critic_config import ActorCriticConfig

    return Actor(ActorCriticConfig(), seed=2), lambda m: m.network.state_dict()


def _serving() -> Fitted:
    from rheostat.prediction.serving_law import ServingLaw
    from tests.prediction.test_serving_law import runs

    return predicting(ServingLaw(), runs())


def _prompts() -> Fitted:
    from rheostat.prediction.answer_length.prompt_length import PromptLength
    from tests.prediction.test_prompt_length import requests

    return predicting(PromptLength(), requests(60))


def _graph() -> Fitted:
    from rheostat.measurement.graphs.hlo.hlo_graph import from_hlo

    text = "HloModule m\nENTRY e {\na = f32[2]{0} parameter(0)\nROOT b = f32[2]{0} tanh(a)\n}"
    return from_hlo(text), lambda m: (m.name, m.nodes.rows(), m.edges.tolist(), m.notes)


def _iterations() -> Fitted:
    from rheostat.prediction.iteration_time.adaptive import AdaptiveForecaster
    from rheostat.prediction.iteration_time.iteration_model import IterationModel

    model = IterationModel({"a": AdaptiveForecaster()})
    for time_s in [1.0, 1.1, 2.0] * 8:
        model.of("a").observe(time_s)
    return model, lambda m: m.forecast("a", 4).time_s


def _steps() -> Fitted:
    from rheostat.prediction.step_cost import StepCost
    from tests.prediction.test_step_cost import many_runs

    return predicting(StepCost(), many_runs())


MAKE: dict[str, Callable[[], Fitted]] = {
    "surrogate": lambda: predicting(small()),
    "scaling-law": _law,
    "within-application": _within,
    "out-of-core": _large,
    "counters": _counters,
    "serving-law": _serving,
    "prompt-length": _prompts,
    "graph": _graph,
    "iteration-times": _iterations,
    "step-cost": _steps,
    "caps": _caps,
    "dras-agent": _dras,
    "actor-critic-agent": _actor,
    "learned-priority": _priority,
    "priority-tree": _tree,
}


def answer_bytes(answer: Any) -> bytes:
    """What a model says, to the last bit."""
    if isinstance(answer, Outcome):
        parts = [answer[n].tobytes() for n in answer.names]
        return b"".join([*parts, np.asarray(answer.support).tobytes(), repr(answer.notes).encode()])
    if isinstance(answer, np.ndarray):
        return answer.tobytes()
    if isinstance(answer, dict):
        return b"".join(v.numpy().tobytes() for v in answer.values())
    if hasattr(answer, "speed"):
        return bytes(answer.speed().tobytes())
    return repr(answer).encode()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, bytes, Any]]:
    """(file, answer before it was saved, how to ask) of every kind."""
    folder = tmp_path_factory.mktemp("kinds")
    made = {}
    for kind, make in MAKE.items():
        model, ask = make()
        made[kind] = save(model, folder / kind), answer_bytes(ask(model)), ask
    return made


def test_every_kind_is_in_the_contract() -> None:
    assert set(MAKE) == set(KINDS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_loaded_answers_the_same_bytes(kind: str, files: Any, tmp_path: Path) -> None:
    path, answer, ask = files[kind]
    assert kind_in(path) == kind
    again = load(path)
    assert answer_bytes(ask(again)) == answer
    assert answer_bytes(ask(load(save(again, tmp_path / "again")))) == answer
    header = read_archive(path).header
    assert header["version"] == KINDS[kind].version
    assert all(header["libraries"].values()), "a library without a version"


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_is_refused(kind: str, files: Any, tmp_path: Path) -> None:
    whole = files[kind][0].read_bytes()
    rng = random.Random(kind)
    ends = [*range(4), *range(len(whole) - 70, len(whole) - 1)]
    for at in [*rng.sample(range(len(whole)), 20), *rng.sample(ends, 10)]:
        if whole[at : at + 1].isspace():  # blanks of a text mean nothing
            continue
        (tmp_path / "f").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(ModelFileError, match="expected a "):
            load(tmp_path / "f")


@pytest.mark.parametrize("kind", KINDS)
def test_another_kind_is_refused_with_both_named(kind: str, files: Any) -> None:
    wanted = "counters" if kind != "counters" else "surrogate"
    with pytest.raises(ModelFileError) as told:
        load(files[kind][0], [wanted])
    assert re.search(rf"got an? {re.escape(KINDS[kind].title)} \(", str(told.value))
    assert f"expected a {KINDS[wanted].title} (" in str(told.value)


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_kind_and_other_versions_say_what_to_do(
    kind: str, files: Any, tmp_path: Path
) -> None:
    archive = read_archive(files[kind][0])
    for change, message in (
        ({"kind": "crystal-ball"}, "'crystal-ball', which this release does not know: update"),
        ({"version": 99}, "of version 99 of a .*: update rheostat"),
        ({"version": 0}, r"make it anew \(rheostat"),
    ):
        write_archive(tmp_path / "f", replace(archive, **change))
        with pytest.raises(ModelFileError, match=message):
            load(tmp_path / "f")


@pytest.mark.parametrize("kind", [k for k in KINDS if KINDS[k].before])
def test_a_file_of_the_first_release_names_what_to_run(kind: str, tmp_path: Path) -> None:
    mark = KINDS[kind].before.decode()
    if mark.endswith(".json"):
        with zipfile.ZipFile(tmp_path / "f", "w") as archive:
            archive.writestr(mark, "{}")
    else:
        text = mark + ('/1"' if mark.endswith("/") else '"')
        (tmp_path / "f").write_text("{" + text.replace("//", "/") + ', "a": 1}')
    with pytest.raises(ModelFileError, match=r"0\.1\.0.*make it anew \(rheostat"):
        load(tmp_path / "f")


def test_a_release_that_reads_no_such_contents_names_the_libraries(
    files: Any, tmp_path: Path
) -> None:
    archive = read_archive(files["surrogate"][0])
    older = {**archive.libraries, "scikit-learn": "0.1"}
    write_archive(tmp_path / "f", replace(archive, libraries=older, contents={"$class": "Stage"}))
    with pytest.raises(ModelFileError, match=r"made with scikit-learn 0\.1, here"):
        load(tmp_path / "f")


@pytest.mark.parametrize("kind", [Ridge(), "forest", "xgboost", "lightgbm"], ids=str)
def test_every_regressor_comes_back(kind: Any, tmp_path: Path) -> None:
    model = Surrogate(kind).fit(JOBS)
    back = load(save(model, tmp_path / "m"))
    assert answer_bytes(back.predict(JOBS)) == answer_bytes(model.predict(JOBS))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tabnet", "attention"])
def test_every_network_comes_back(kind: str, tmp_path: Path) -> None:
    test_every_regressor_comes_back(kind, tmp_path)


def test_options_survive(tmp_path: Path) -> None:
    model = small(features=["nodes", "app"], sample=LossProportional(0.7), min_support=2).fit(JOBS)
    back = load(save(model, tmp_path / "m"))
    assert back.features == ["nodes", "app"]
    assert back.sample == LossProportional(0.7)
    assert back.fit(JOBS).features_ == ("nodes", "app")


@pytest.mark.slow
def test_the_same_archive_gives_the_same_bytes(files: Any, tmp_path: Path) -> None:
    for kind, (path, _, _) in files.items():
        write_archive(tmp_path / kind, read_archive(path))
        assert (tmp_path / kind).read_bytes() == path.read_bytes()


def test_an_unfitted_model_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFitted):
        save(small(), tmp_path / "m")
    with pytest.raises(ModelFileError, match="dict cannot be saved: expected one of Surrogate"):
        save({}, tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 almost", b'{"format": 1}'])
def test_a_foreign_file_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ModelFileError, match=r"x: expected a surrogate.*, (got|the file is empty)"):
        load(tmp_path / "x")


def test_a_missing_file_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="no such file"):
        load(tmp_path / "nothing")


class Bomb:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("where", ["extra", "arrays", "skops"])
def test_a_malicious_pickle_does_not_run(where: str, files: Any, tmp_path: Path) -> None:
    """Whoever writes a file can make its checksum right: that must not be enough."""
    mark = tmp_path / "ran"
    poison = pickle.dumps(Bomb(mark))
    archive = read_archive(files["surrogate"][0])
    skops = next(n for n in archive.parts if n.endswith(".skops"))
    name = {"extra": "evil.pkl", "arrays": "arrays.npz", "skops": skops}[where]
    write_archive(tmp_path / "evil", replace(archive, parts={**archive.parts, name: poison}))
    with pytest.raises(ModelFileError):
        load(tmp_path / "evil")
    assert not mark.exists()


def test_a_skops_part_with_a_type_off_the_list_is_refused(files: Any, tmp_path: Path) -> None:
    from skops import io as skops_io

    archive = read_archive(files["surrogate"][0])
    parts = {n: skops_io.dumps(Path("/tmp")) if n.endswith(".skops") else d
             for n, d in archive.parts.items()}  # fmt: skip
    write_archive(tmp_path / "evil", replace(archive, parts=parts))
    with pytest.raises(ModelFileError, match="not allowed in a model file"):
        load(tmp_path / "evil")


def test_contents_that_name_another_class_are_refused(files: Any, tmp_path: Path) -> None:
    archive = read_archive(files["surrogate"][0])
    text = json.dumps(archive.contents).replace('"Encoder"', '"Popen"')
    write_archive(tmp_path / "evil", replace(archive, contents=json.loads(text)))
    with pytest.raises(ModelFileError, match="'Popen' is no class that a model file may hold"):
        load(tmp_path / "evil")


def test_a_text_and_a_zip_say_the_same(tmp_path: Path) -> None:
    for parts in ({}, {"x": b"1"}):
        made = Archive("caps", 1, {"a": [1, 0.1]}, parts, {"numpy": "2"})
        write_archive(tmp_path / "f", made)
        assert read_archive(tmp_path / "f") == made
    text = json.loads(json.dumps(seal({"a": 1})))
    assert text["sha256"] == hashlib.sha256(b'{"a": 1}').hexdigest()


def test_a_model_of_answer_lengths_is_read_without_the_library_of_tables(files: Any) -> None:
    """A proxy with a model would hold 25 MB more."""
    code = "import sys, rheostat.prediction.saved_models.persist as p; p.load(sys.argv[1]); "
    code += "sys.exit('polars' in sys.modules)"
    subprocess.run([sys.executable, "-c", code, str(files["prompt-length"][0])], check=True)
