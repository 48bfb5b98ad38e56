"""A log is asked whether it can tell what a setting does; what it cannot is not claimed."""

import json

import numpy as np
import polars as pl
import pytest

from benchmarks.confounding_lib.confounded_site import ConfoundedSite
from rheostat.cli import run
from rheostat.decision.decide import decide
from rheostat.decision.evidence import e_value, variation
from rheostat.decision.placebo import placebos, untested
from rheostat.decision.trials.trial import plan_trial
from rheostat.decision.trials.trial_size import trial_size
from rheostat.explanation.choices.advice import explain_advice
from rheostat.explanation.identification import identification_words
from rheostat.prediction.effects import WithinApplication
from rheostat.tradeoff.limits import MaxSlowdown
from rheostat.tradeoff.rules import Weighted

from rheostat import Knob, powers_of_two, table  # isort: skip

MENU = Knob("nodes", powers_of_two(1, 256))
LIMIT = 1.25


def months(seed, proxy, share):
    """A log of users who give larger problems more nodes, and the month to advise."""
    site = ConfoundedSite(seed, between=0.5, within=1.0, proxy=proxy)
    past, after = site.month(2000, seed=0), site.month(1000, seed=1)
    nodes = plan_trial(past.requests, share, "nodes", seed=seed).table.frame["nodes"]
    return past.run(nodes.to_numpy()) if share else past.run(), after


def test_hidden_weak_scaling_cannot_be_told_and_the_command_says_so(tmp_path, capsys):
    log, _ = months(0, "none", 0.0)
    assert WithinApplication(("nodes",)).fit(log).identification_.by == "nothing"
    log.write_parquet(tmp_path / "log.parquet")
    assert run(["decide", str(tmp_path / "log.parquet"), "--json"]) == 3
    said = capsys.readouterr()
    assert "nothing in this log tells the two apart" in said.err
    facts = json.loads(said.out)
    assert facts["schema"] == "rheostat.decide/1"
    asked = facts["identification"]
    assert not asked["can_answer"]
    assert f"A trial of {asked['trial']['needed']} jobs tells" in said.err
    plan = plan_trial(log, 0.05, high=256)
    assert asked["trial"]["expected"] == plan.taking_part
    assert asked["trial"]["needed"] == trial_size(plan, log).needed


def test_one_job_of_such_a_log_gets_no_advice_either(tmp_path, capsys):
    """A forecast from settings that users chose for reasons said 20 -> 8 nodes, 58 % less."""
    log, _ = months(0, "none", 0.0)
    log.write_parquet(tmp_path / "log.parquet")
    job = str(log.frame["job_id"][-1])
    assert run(["front", str(tmp_path / "log.parquet"), "--job", job, "--json"]) == 3
    said = capsys.readouterr()
    assert "Can this log answer? No" in said.err
    assert not json.loads(said.out)["identification"]["can_answer"]


def test_a_model_that_is_named_does_not_ask_and_that_is_said(tmp_path, capsys):
    log, _ = months(0, "none", 0.0)
    log.rows(np.arange(300)).write_parquet(tmp_path / "log.parquet")
    assert run(["decide", str(tmp_path / "log.parquet"), "--kind", "forest", "--json"]) == 0
    said = capsys.readouterr()
    assert "as if chance had chosen them" in said.err
    assert json.loads(said.out)["identification"]["variation"][0]["knob"] == "nodes"


def test_the_page_begins_with_the_answer(tmp_path, capsys):
    log, _ = months(0, "script", 0.0)
    log.write_parquet(tmp_path / "log.parquet")
    page = tmp_path / "page.html"
    given = ["decide", str(tmp_path / "log.parquet"), "--slowdown", "25", "--html", str(page)]
    assert run(given) == 0
    reason, advice = "problems ran at two or more settings", "jobs should change"
    assert 0 < page.read_text().index(advice) < page.read_text().index(reason)
    said = capsys.readouterr().err  # the table alone is in the pipe: its sums stand beside it
    assert 0 < said.index(reason) < said.index(advice) < said.index("E-value")


def test_a_log_says_how_its_applications_vary_the_knob():
    """Three applications: two of them at one setting each; variances by hand."""
    log = table({"app": ["a"] * 4 + ["b"] * 2 + ["c"] * 2, "nodes": [1, 4, 1, 4, 8, 8, 2, 2]})
    found = variation(log, "nodes")
    k = np.log2([1, 4, 1, 4, 8, 8, 2, 2])
    assert (found.applications, found.two_settings) == (3, pytest.approx(1 / 3))
    assert found.two_settings_jobs == 0.5
    assert found.within == pytest.approx(0.5 / np.var(k))
    assert "33 % of 3 applications" in found.words()
    assert variation(table({"nodes": [1, 2]}), "nodes") is None
    assert np.isnan(variation(log.rows([4, 5]), "nodes").within)


def test_a_record_of_size_that_is_too_rough_does_not_answer():
    good = ConfoundedSite(0, between=0.5, within=0.0, proxy="memory").month(2000, seed=0).run()
    rough, _ = months(0, "rough-memory", 0.0)
    assert WithinApplication(("nodes",)).fit(good).identification_.answers
    found = WithinApplication(("nodes",)).fit(rough).identification_
    assert found.by == "size"
    assert not found.answers
    assert "too rough" in identification_words(found)[0]


@pytest.mark.parametrize("nodes", [[4] * 60, [1, 4] * 30])
def test_a_record_that_explains_nothing_does_not_answer(nodes):
    """Eighteen jobs of one setting each were told "in part": their memory explained 0 %."""
    rng = np.random.default_rng(0)
    log = table({
        "job_id": np.arange(60), "app": ["a"] * 30 + ["b"] * 30, "submit_s": np.arange(60.0),
        "nodes": nodes, "memory_b": rng.lognormal(24, 1, 60), "power_w": [300.0] * 60,
        "runtime_s": rng.lognormal(5, 1, 60),
    })  # fmt: skip
    asked = WithinApplication(("nodes",)).fit(log).identification_
    assert (asked.by, asked.answers) == ("size", False)


@pytest.mark.parametrize(
    ("proxy", "share", "by"), [("none", 0.05, "trial"), ("script", 0, "repeats")]
)
def test_advised_jobs_hold_their_limit_where_the_log_can_tell(proxy, share, by):
    broken = advised = 0
    for seed in range(3):
        log, month = months(seed, proxy, share)
        model = WithinApplication(("nodes",)).fit(log)
        assert model.identification_.by == by
        rules = Weighted({"energy_j": 1}), MaxSlowdown(LIMIT, "requested", 0.9)
        frame = decide(month.requests, model, MENU, *rules).table.frame
        moved = (frame["status"] == "advised").to_numpy()
        runtime = [
            month.truth(month.requests.with_columns((), nodes=frame[c].to_numpy()))["runtime_s"][0]
            for c in ("nodes", "nodes_requested")
        ]
        broken += int((moved & (runtime[0] > LIMIT * runtime[1] * (1 + 1e-9))).sum())
        advised += int(moved.sum())
    assert advised > 100
    assert broken <= 0.1 * advised


@pytest.mark.parametrize("proxy", ["none", "memory", "script"])
def test_intervals_of_the_next_month_as_asked_hold(proxy):
    """Where scripts are recorded, the spread of one problem's runs was taken for that of all."""
    log, month = months(1, proxy, 0.05 if proxy == "none" else 0)
    forecast = WithinApplication(("nodes",)).fit(log).predict(month.requests)
    ran = month.run()
    for quantity in ("runtime_s", "power_w"):
        low, high = forecast.interval(quantity)
        true = ran.numpy(quantity)
        known = np.isfinite(low)
        assert 0.75 < np.mean(((low <= true) & (true <= high))[known]) < 0.97


def test_a_placebo_tells_hidden_reasons_from_none():
    def passes(within, proxy="none"):
        log = ConfoundedSite(seed=3, within=within, proxy=proxy).month(2000).run()
        return [p.passes for p in placebos(log, "nodes")]

    assert passes(0.0) == [True, True]
    assert passes(1.0) == [False, True]  # power hardly depends on the size of the problem
    assert passes(1.0, "memory") == [True, True]
    assert placebos(table({"app": ["a"], "nodes": [2], "submit_s": [0.0]}), "nodes") == ()
    log = ConfoundedSite(seed=3, within=1.0).month(2000).run()
    nothing = pl.Series([None] * len(log), dtype=pl.Float64)
    blank = table({**log.frame.to_dict(), "memory_b": nothing})
    assert placebos(blank, "nodes") == placebos(log, "nodes")  # a column of nothing is no size
    per_node = blank.with_columns((), memory_b=64e9 * log.frame["nodes"])
    assert placebos(per_node, "nodes") == ()
    assert "leaves nothing of nodes to test" in untested(per_node, "nodes")
    few = log.rows(pl.col("app").is_in(log.frame["app"].unique(maintain_order=True)[:3].to_list()))
    assert (placebos(few, "nodes"), untested(few, "nodes").rpartition(" ")[2]) == ((), "3")


def test_the_e_value_is_that_of_its_source():
    # VanderWeele and Ding (2017), smoking and lung cancer: risk ratio 10.73 (8.02 to 14.36)
    assert e_value((9.73, 7.02, 13.36)) == pytest.approx((20.9, 15.5), abs=0.06)
    assert e_value((1 / 10.73 - 1, 1 / 14.36 - 1, 1 / 8.02 - 1)) == pytest.approx(
        (20.9, 15.5), abs=0.06
    )
    assert e_value((-0.1, -0.3, 0.2))[1] == 1.0


def test_the_e_value_is_that_of_the_saving_that_is_shown():
    """With node-hours as the objective it was that of energy, which nobody asked about."""
    log, month = months(2, "script", 0.0)
    spent = Weighted({"node_hours": 1})
    advice = decide(
        month.requests, WithinApplication(("nodes",)).fit(log), MENU, spent,
        MaxSlowdown(1.2, "requested"), objectives=("runtime_s", "node_hours"),
    )  # fmt: skip
    said = " ".join(explain_advice(advice)[0][0].sentences)
    assert f"factor of {e_value(advice.totals['node_hours'].change)[0]:.2f} each" in said
    assert "saving in node-hours" in said


def test_a_trial_is_drawn_by_the_job_and_the_seed_alone():
    jobs = table({"job_id": list(range(4000)), "nodes": [8] * 4000})
    one = plan_trial(jobs, 0.05).table.frame
    assert one["takes_part"].sum() == pytest.approx(200, abs=3 * np.sqrt(190))
    assert set(one.filter(one["takes_part"])["nodes"]) == {2, 32}
    assert (one["nodes_requested"] == 8).all()
    assert plan_trial(jobs, 0.05).table.frame.equals(one)
    backwards = plan_trial(jobs.rows(np.arange(4000)[::-1]), 0.05).table.frame.sort("job_id")
    assert backwards["nodes"].equals(one["nodes"])
    assert not plan_trial(jobs, 0.05, seed=1).table.frame["nodes"].equals(one["nodes"])


def test_every_job_that_is_drawn_turns_unless_there_is_no_other_setting():
    """A quarter of 512 nodes in all: upward draws of the largest used to change nothing."""
    jobs = table({"job_id": list(range(3000)), "nodes": [1, 128, 256] * 1000})
    one = plan_trial(jobs, 0.2, low=1, high=256).table.frame
    drawn = one.filter(one["takes_part"])
    assert len(drawn) == pytest.approx(600, abs=3 * np.sqrt(600))
    turned = {a: set(drawn.filter(drawn["nodes_requested"] == a)["nodes"]) for a in (128, 256)}
    assert turned == {128: {32, 256}, 256: {64}}
    alone = plan_trial(table({"job_id": [1, 2], "nodes": [4, 4]}), 0.4, low=4, high=4)
    assert alone.taking_part == 0


def test_the_trial_of_the_command_line_keeps_what_was_asked_for(tmp_path, capsys):
    log, _ = months(0, "none", 0.0)
    log.write_parquet(tmp_path / "log.parquet")
    plan_file = tmp_path / "plan.csv"
    given = ["trial", "plan", str(tmp_path / "log.parquet"), "--out", str(plan_file), "--json"]
    assert run(given) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["taking_part"] == len(facts["jobs"]) > 0
    assert all(j["nodes"] != j["nodes_requested"] for j in facts["jobs"])
    assert plan_file.read_text().startswith("job_id")
