"""A fit that never holds all rows says what a fit in memory says, and survives interruption."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.outcome import Predictor
from rheostat.core.vocabulary import table
from rheostat.errors import DataError, LeakError, ModelFileError, NotFitted
from rheostat.prediction.out_of_core.boosters import Settings
from rheostat.prediction.out_of_core.category_counts import merge, tally, with_folds
from rheostat.prediction.out_of_core.coding import make_coding
from rheostat.prediction.out_of_core.engines import engine_of
from rheostat.prediction.out_of_core.memory_plan import log_targets, make_plan
from rheostat.prediction.out_of_core.outofcore import centred, fit_out_of_core
from rheostat.prediction.out_of_core.partitions import Part, parts_of, read_own, split_last
from rheostat.prediction.out_of_core.score import score
from rheostat.prediction.saved_models.persist import load, save
from rheostat.testing.predictors import check_predictor

from .scale_months import month, write_months

pytest.importorskip("xgboost")
lgb = pytest.importorskip("lightgbm")
SMALL = Settings(rounds=40, depth=6, threads=1)
TARGETS = ("runtime_s", "power_w")


@pytest.fixture(scope="module")
def months() -> list[JobTable]:
    return [month(i, 3000) for i in range(5)]


@pytest.fixture(scope="module")
def fitted(months: list[JobTable]):
    return {k: fit_out_of_core(months[:4], kind=k, settings=SMALL) for k in ("xgboost", "lightgbm")}


def joined(months: list[JobTable]) -> JobTable:
    return table(pl.concat([m.frame for m in months]))


def in_memory(kind: str, months: list[JobTable]):
    """The libraries' plain fit on one matrix; only the coding of columns is shared."""
    plan = make_plan(months[0], TARGETS, None, Moment.SUBMIT)
    coding = make_coding(plan, merge([tally(plan, [m], 10**6) for m in months], 10**6))
    pieces = [piece for m in months for piece in with_folds([m])]
    x = np.concatenate([coding.matrix(b, f) for b, f in pieces])
    y = np.concatenate([log_targets(plan, b) for b, _ in pieces])
    models = []
    for t in range(2):
        label, weight = centred(y[:, t], float(coding.prior[t]))
        models.append(plain_fit(kind, x, label, weight))
    return coding, models


def plain_fit(kind, x, label, weight):
    import xgboost as xgb

    parameters = engine_of(kind).parameters(SMALL)
    if kind == "xgboost":
        data = xgb.QuantileDMatrix(x, label=label, weight=weight, max_bin=256)
        booster = xgb.train(parameters, data, SMALL.rounds)
        return booster.inplace_predict
    data = lgb.Dataset(x.astype(float), label=label, weight=weight)
    return lgb.train(parameters, data, SMALL.rounds).predict


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm"])
def test_out_of_core_is_the_in_memory_fit(kind, months, fitted):
    coding, models = in_memory(kind, months[:3])
    x = coding.matrix(months[4])
    ours = fitted[kind].predict_log(months[4])
    nodes = np.log(months[4].numpy("nodes"))
    for t, scale in ((0, 0.0), (1, nodes)):
        plain = models[t](x) + coding.prior[t] + scale
        assert np.abs(np.expm1(ours[:, t] - plain)).max() < 1e-3


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm"])
def test_it_predicts_well_and_its_intervals_hold(kind, months, fitted):
    marks = score(fitted[kind], [months[4]])
    assert marks["runtime_s"]["median_abs_log_error"] < 0.2  # noise alone gives 0.135
    assert marks["power_w"]["r2_log"] > 0.98
    assert marks["power_per_node_w"]["r2_log"] > 0.8
    for target in TARGETS:
        assert 0.86 < marks[target]["coverage"] < 0.94


class OutOfCore:
    """`fit_out_of_core` as a `Predictor`, for a table that is there already."""

    def __init__(self, kind, seed):
        self.how = {"kind": kind, "settings": Settings(rounds=40, threads=1, seed=seed)}

    def fit(self, jobs):
        ordered = replace(jobs, frame=jobs.frame.sort("submit_s", maintain_order=True))
        self.model_ = fit_out_of_core(ordered, None, TARGETS, **self.how)
        return self

    def predict(self, jobs):
        if not hasattr(self, "model_"):
            raise NotFitted(self)
        return self.model_.predict(jobs)


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm"])
def test_it_keeps_what_every_predictor_promises(kind, months):
    check_predictor(lambda seed: OutOfCore(kind, seed), months[0])


def test_score_is_what_numpy_says_over_all_rows(months, fitted):
    model, jobs = fitted["xgboost"], months[4]
    marks = score(model, [jobs.rows(np.arange(1000)), jobs.rows(np.arange(1000, 3000))])
    keep = ~jobs.frame["censored"].to_numpy() & ~model.coding.outside(jobs)
    y, p = jobs.numpy("runtime_s")[keep], np.exp(model.predict_log(jobs)[keep, 0])
    found = marks["runtime_s"]
    assert found["rows"] == keep.sum()
    assert found["mape"] == pytest.approx(np.mean(np.abs(p - y) / y))
    assert found["median_abs_log_error"] == pytest.approx(
        np.median(np.abs(np.log(p / y))), abs=2e-4
    )
    assert found["r2"] == pytest.approx(1 - np.sum((p - y) ** 2) / np.sum((y - y.mean()) ** 2))
    low, high = model.predict(jobs).interval("runtime_s")
    t = jobs.numpy("runtime_s")
    inside = ((t >= low) & (t <= high))[keep].mean()
    assert found["coverage"] == pytest.approx(inside, abs=1e-9)


def test_draws_keep_the_median_and_abstain_beyond_the_range(months, fitted):
    model = fitted["xgboost"]
    assert isinstance(model, Predictor)
    asked = table({**{c: months[4].frame[c][:2] for c in model.coding.plan.features}})
    asked = asked.with_columns([], nodes=np.array([8, 10**6]), user=["u0", "nobody"])
    out = model.predict(asked)
    assert out.abstained.tolist() == [False, True]
    assert out.support is not None
    assert out.support[0] > 50
    assert out.support[1] == 0
    assert out.notes[0].rows == (1,)
    middle = out.quantile("runtime_s", 0.5)[0] / np.exp(model.predict_log(asked)[0, 0])
    assert 0.9 < middle < 1.1


def test_a_later_known_feature_is_refused_and_never_read(months):
    late = table(months[0].frame.with_columns(energy_j=pl.lit(1.0)))
    with pytest.raises(LeakError, match="energy_j"):
        fit_out_of_core([late, late], features=["nodes", "energy_j"], settings=SMALL)
    poisoned = [
        table(m.frame.with_columns(energy_j=pl.col("runtime_s") * pl.col("power_w"), end_s=1.0))
        for m in months[:2]
    ]
    model = fit_out_of_core(poisoned, settings=SMALL)
    assert set(model.coding.plan.features) == {"user", "app", "nodes", "time_limit_s", "submit_s"}


def test_only_the_planned_columns_leave_the_disk(tmp_path):
    asked: list[object] = []

    def read(path, columns):
        asked.append(columns)
        return read_own(path, columns)

    paths = write_months(tmp_path, 2, 500)
    fit_out_of_core(parts_of(paths, read), settings=Settings(rounds=2, threads=1))
    full = [c for c in asked if c is None]
    assert len(full) == 1  # one look at the first batch, to choose columns
    assert all("job_id" not in c for c in asked if c is not None)


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm"])
def test_an_interrupted_fit_goes_on(kind, months, fitted, tmp_path):
    rounds: list[float] = []

    def stop_early(stage: str, done: float, total: float) -> None:
        if stage == "train power_w" and done == 31:
            raise KeyboardInterrupt

    def watch(stage: str, done: float, total: float) -> None:
        if stage.startswith("train"):
            rounds.append(done)
        assert stage != "code", "the chunks were there already"

    paths = [tmp_path / f"{i}.parquet" for i in range(4)]
    for path, jobs in zip(paths, months, strict=False):
        jobs.write_parquet(path)
    how = {"kind": kind, "settings": SMALL, "work_dir": tmp_path / "work"}
    with pytest.raises(KeyboardInterrupt):
        fit_out_of_core(parts_of(paths), **how, progress=stop_early)
    model = fit_out_of_core(parts_of(paths), **how, progress=watch)
    assert rounds == list(range(26, 41))  # runtime was done, power had a checkpoint at 25
    straight = fitted[kind].predict_log(months[4])
    assert np.abs(model.predict_log(months[4]) - straight).max() < 1e-3


def test_other_data_in_the_same_work_dir_is_not_mistaken(months, tmp_path):
    few = Settings(rounds=3, threads=1)
    first = fit_out_of_core(months[:2], settings=few, work_dir=tmp_path)
    second = fit_out_of_core(months[1:3], settings=few, work_dir=tmp_path)
    alone = fit_out_of_core(months[1:3], settings=few)
    assert np.array_equal(second.predict_log(months[4]), alone.predict_log(months[4]))
    assert not np.array_equal(second.predict_log(months[4]), first.predict_log(months[4]))


def test_bins_on_disk_give_the_same_trees(months, fitted):
    tight = Settings(rounds=40, depth=6, threads=1, memory_b=1.0)
    model = fit_out_of_core(months[:4], settings=tight)
    difference = model.predict_log(months[4]) - fitted["xgboost"].predict_log(months[4])
    assert np.abs(difference).max() < 1e-4


def test_tallies_add_up_however_the_rows_are_cut(months):
    plan = make_plan(months[0], TARGETS, None, Moment.SUBMIT)
    whole = tally(plan, [months[0]], 1000)
    cuts = [months[0].rows(np.arange(a, b)) for a, b in ((0, 7), (7, 1500), (1500, 3000))]
    pieces = tally(plan, cuts, 1000)
    for name in plan.categories:
        a, b = (t.levels[name].sort("value", "fold") for t in (whole, pieces))
        assert a["n0"].to_list() == b["n0"].to_list()
        assert np.allclose(a["s1"].to_numpy(), b["s1"].to_numpy())
    assert np.allclose(whole.totals, pieces.totals)


def test_a_submission_becomes_its_hour_of_the_day_and_day_of_the_week():
    hours = np.array([0.0, 5.0, 13.0, 23.5, 24.0, 7 * 24.0 - 1, 7 * 24.0])
    jobs = table({"submit_s": 3600 * hours, "runtime_s": 1.0 + hours})
    plan = make_plan(jobs, ["runtime_s"], ["submit_s"], Moment.SUBMIT)
    hour, day = make_coding(plan, tally(plan, [jobs], 1000)).columns(jobs)
    assert hour.tolist() == [0, 5, 13, 23.5, 0, 23, 0]
    assert day.tolist() == [0, 0, 0, 0, 1, 6, 0]


def test_a_name_does_not_give_its_own_row_away():
    # Names that occur once: what a row sees of its own name must not depend on its own runtime.
    rng = np.random.default_rng(0)
    jobs = table({"app": [f"a{i // 2}" for i in range(200)], "nodes": 1 + np.arange(200) % 4,
                  "runtime_s": rng.lognormal(0, 1, 200)})  # fmt: skip
    plan = make_plan(jobs, ["runtime_s"], ["app", "nodes"], Moment.SUBMIT)
    coding = make_coding(plan, tally(plan, [jobs], 1000))
    other = jobs.with_columns(
        [], runtime_s=np.where(np.arange(200) == 10, 1e6, jobs.numpy("runtime_s"))
    )
    changed = make_coding(plan, tally(plan, [other], 1000))
    fold = np.arange(200) % 4
    seen, then = (c.columns(jobs, fold)[-1][10] - 5 / 6 * c.prior[0] for c in (coding, changed))
    assert seen == pytest.approx(then, abs=1e-5)
    assert abs(coding.columns(jobs)[-1][10] - changed.columns(jobs)[-1][10]) > 1


def test_saved_models_come_back_and_tampering_is_refused(fitted, months, tmp_path):
    for kind, model in fitted.items():
        save(model, tmp_path / kind)
        back = load(tmp_path / kind)
        for name in ("runtime_s", "power_w"):
            a, b = model.predict(months[4])[name], back.predict(months[4])[name]
            assert np.array_equal(a, b, equal_nan=True)
        assert back.notes == model.notes
    save(back, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "lightgbm").read_bytes()
    whole = (tmp_path / "xgboost").read_bytes()
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "foreign").write_bytes(b"not a model")
    for name in ("cut", "foreign"):
        with pytest.raises(ModelFileError, match=name):
            load(tmp_path / name)


def test_rows_left_out_are_noted_and_nothing_left_is_an_error(months, fitted):
    lost = sum(int(m.frame["censored"].sum()) for m in months[:3])
    assert [n.count for n in fitted["xgboost"].notes] == [lost, lost]
    dead = table(months[0].frame.with_columns(power_w=pl.lit(0.0)))
    with pytest.raises(DataError, match="no row has power_w > 0"):
        fit_out_of_core([dead, dead], settings=SMALL)
    with pytest.raises(DataError, match="expected one of xgboost, lightgbm, got 'forest'"):
        fit_out_of_core(months, kind="forest")
    with pytest.raises(DataError, match="no rows in any"):
        fit_out_of_core([months[0].rows(np.arange(0))])


def test_batches_that_come_once_are_spooled(months, tmp_path):
    few = Settings(rounds=3, threads=1)
    once = fit_out_of_core((m for m in months[:3]), settings=few, work_dir=tmp_path)
    listed = fit_out_of_core(months[:3], settings=few)
    assert np.array_equal(once.predict_log(months[4]), listed.predict_log(months[4]))


def test_parts_cut_rows_across_batches():
    def read(path, columns):
        return (table({"nodes": [i, i + 1, i + 2]}) for i in (0, 3, 6))

    part = Part("made up", read, start=2, stop=7)
    assert [b.frame["nodes"].to_list() for b in part.batches()] == [[2], [3, 4, 5], [6]]
    past, last = split_last([Part("a", read), Part("b", read)])
    assert [p.path for p in (*past, *last)] == ["a", "b"]
