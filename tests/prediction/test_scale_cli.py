"""`rheostat fit MONTH...` makes a model of many files that `rheostat predict` can use."""

from __future__ import annotations

import json
import math

import pytest

from rheostat.cli import run
from rheostat.errors import DataError
from rheostat.prediction.out_of_core.outofcore import ScaleModel
from rheostat.prediction.saved_models.persist import load
from rheostat.questions.models.fit import part_words
from rheostat.questions.workers import workers_of

from .scale_months import write_months

pytest.importorskip("xgboost")


def test_many_files_are_fitted_marked_saved_and_used(tmp_path, capsys):
    paths = [str(p) for p in write_months(tmp_path, 4, 2000)]
    out = str(tmp_path / "big.rheo")
    assert run(["fit", *paths, "--out", out, "--out-of-core", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["schema"] == "rheostat.fit/1"
    assert facts["rows"] == 4000  # months 0 and 1; 2 calibrates, 3 is marked on
    assert facts["accuracy"]["runtime_s"]["rows"] > 1800
    assert 0.8 < facts["accuracy"]["runtime_s"]["coverage"] < 0.97
    assert type(load(out)) is ScaleModel
    assert run(["predict", paths[3], "--model", out, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["jobs"]) == 2000
    answered = [j for j in told["jobs"] if j.get("runtime_s") is not None]
    assert len(answered) > 1900


def test_the_same_files_and_seed_give_the_same_bytes(tmp_path, capsys):
    paths = [str(p) for p in write_months(tmp_path, 3, 500)]
    for name in ("a", "b"):
        assert run(["fit", *paths, "--out", str(tmp_path / name), "--kind", "lightgbm"]) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_flags_become_workers():
    assert workers_of(None, None, 2, "8GB") is None
    assert workers_of("local", None, 3, "1GB").address is None
    assert workers_of("tcp://h:8786", None, 2, "8GB").address == "tcp://h:8786"
    assert workers_of(None, "batch", 2, "8GB").slurm == "batch"
    with pytest.raises(DataError, match="one of them"):
        workers_of("local", "batch", 2, "8GB")


def test_the_sentence_gives_the_factor_in_percent():
    mark = {"rows": 10, "median_abs_log_error": math.log(1.25), "coverage": 0.9}
    (said,) = part_words({"rows": 3, "runtime_s": mark})
    assert said.startswith("runtime_s: half of 10 newer jobs are within 25 %")
