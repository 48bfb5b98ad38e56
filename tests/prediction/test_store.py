"""A model file gives the same bytes back, runs nothing, and says what is wrong with a bad one."""

from __future__ import annotations

import hashlib
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge

from rheostat.errors import ModelFileError, NotFitted
from rheostat.measurement.synthetic import World
from rheostat.prediction.loss_sampling import LossProportional
from rheostat.prediction.store import _seal, describe, load, save
from rheostat.prediction.surrogate import Surrogate

JOBS = World(seed=1).jobs(300)


def small(**options) -> Surrogate:
    return Surrogate(RandomForestRegressor(n_estimators=5, random_state=0), **options)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(small().fit(JOBS), tmp_path_factory.mktemp("model") / "m.rheostat")


def same_answers(model: Surrogate, path: Path) -> None:
    a, b = model.predict(JOBS), load(save(model, path)).predict(JOBS)
    assert all(a[n].tobytes() == b[n].tobytes() for n in a.names)
    assert np.array_equal(a.support, b.support)
    again = load(save(load(path), path)).predict(JOBS)
    assert all(a[n].tobytes() == again[n].tobytes() for n in a.names)


@pytest.mark.parametrize("kind", [Ridge(), "forest", "xgboost", "lightgbm"], ids=str)
def test_a_loaded_model_answers_the_same_bytes(kind, tmp_path: Path) -> None:
    same_answers(Surrogate(kind).fit(JOBS), tmp_path / "m")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tabnet", "attention"])
def test_a_loaded_network_answers_the_same_bytes(kind: str, tmp_path: Path) -> None:
    same_answers(Surrogate(kind).fit(JOBS), tmp_path / "m")


def test_options_survive(tmp_path: Path) -> None:
    model = small(features=["nodes", "app"], sample=LossProportional(0.7), min_support=2).fit(JOBS)
    back = load(save(model, tmp_path / "m"))
    assert back.features == ["nodes", "app"]
    assert back.sample == LossProportional(0.7)
    assert back.fit(JOBS).features_ == ("nodes", "app")


def test_saving_twice_gives_the_same_file(tmp_path: Path) -> None:
    a, b = (save(Surrogate(Ridge()).fit(JOBS), tmp_path / n) for n in "ab")
    assert describe(a)["sha256"]["state.json"] == describe(b)["sha256"]["state.json"]


def test_an_unfitted_model_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFitted):
        save(small(), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def rewrite(path: Path, out: Path, change) -> Path:
    """Copy a model file with ``change(parts, manifest)`` applied and every sum made right again."""
    with zipfile.ZipFile(path) as archive:
        parts = {n: archive.read(n) for n in archive.namelist()}
    manifest = json.loads(parts.pop("manifest.json"))
    change(parts, manifest)
    manifest["sha256"] = {n: hashlib.sha256(d).hexdigest() for n, d in parts.items()}
    manifest["seal"] = _seal(manifest)
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        for name, data in parts.items():
            archive.writestr(name, data)
    return out


def test_a_truncated_file_is_refused(saved: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    cut.write_bytes(saved.read_bytes()[:-200])
    with pytest.raises(ModelFileError, match=r"damaged|cut short"):
        load(cut)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 almost"])
def test_a_foreign_file_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ModelFileError, match="x: expected a model written by rheostat"):
        load(tmp_path / "x")


def test_a_missing_file_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="no such file"):
        load(tmp_path / "nothing")


def test_someone_elses_zip_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "z", "w") as archive:
        archive.writestr("hello.txt", "hi")
    with pytest.raises(ModelFileError, match="not a rheostat model"):
        load(tmp_path / "z")


def test_a_changed_part_is_named(saved: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(saved) as archive:
        parts = {n: archive.read(n) for n in archive.namelist()}
    parts["state.json"] = parts["state.json"].replace(b"runtime_s", b"runtime_x")
    with zipfile.ZipFile(tmp_path / "t", "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    with pytest.raises(ModelFileError, match=r"part state\.json was changed"):
        load(tmp_path / "t")


def test_a_newer_version_says_update(saved: Path, tmp_path: Path) -> None:
    new = rewrite(saved, tmp_path / "new", lambda parts, m: m.update(version=2))
    with pytest.raises(ModelFileError, match="version 2, this release reads 1: update"):
        load(new)


class Bomb:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("where", ["extra", "arrays", "skops"])
def test_a_malicious_pickle_does_not_run(where: str, saved: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    poison = pickle.dumps(Bomb(mark))

    def plant(parts, manifest) -> None:
        skops = next(n for n in parts if n.endswith(".skops"))
        parts[{"extra": "evil.pkl", "arrays": "arrays.npz", "skops": skops}[where]] = poison

    evil = rewrite(saved, tmp_path / "evil", plant)
    if where == "extra":
        load(evil)
    else:
        with pytest.raises(ModelFileError):
            load(evil)
    assert not mark.exists()


def test_a_skops_part_with_a_type_off_the_list_is_refused(saved: Path, tmp_path: Path) -> None:
    from skops import io as skops_io

    def plant(parts, manifest) -> None:
        skops = next(n for n in parts if n.endswith(".skops"))
        parts[skops] = skops_io.dumps(Path("/tmp"))

    with pytest.raises(ModelFileError, match="not allowed in a model file"):
        load(rewrite(saved, tmp_path / "evil", plant))


def test_a_state_that_names_another_class_is_refused(saved: Path, tmp_path: Path) -> None:
    def plant(parts, manifest) -> None:
        parts["state.json"] = parts["state.json"].replace(b'"Encoder"', b'"Popen"')

    with pytest.raises(ModelFileError, match="not a model this release can read"):
        load(rewrite(saved, tmp_path / "evil", plant))
