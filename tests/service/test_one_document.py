"""HTTP gives the document that Python gives, and the error that Python raises."""

from __future__ import annotations

import inspect
import json
import urllib.request

import pytest

import rheostat as rh
from rheostat.errors import Infeasible
from rheostat.questions.advice.lookup import advice_lookup
from rheostat.questions.site.drawn_power import site_power
from rheostat.questions.site.last_weeks import site_daily_cap, site_policies
from rheostat.questions.site.savings import site_savings
from rheostat.service.question_fields import FIELDS, QUESTIONS, body_of
from tests.service.conftest import asked, send

KNOBS = ["nodes=1..64"]


@pytest.fixture(scope="module")
def log(site):
    return rh.read(site.log)


@pytest.fixture(scope="module")
def model(site):
    return rh.load(site.model)


def steady(document):
    if isinstance(document, dict):
        return {k: steady(v) for k, v in document.items() if k not in ("engine", "notes", "model")}
    return [steady(v) for v in document] if isinstance(document, list) else document


def same(document, answer) -> None:
    assert steady(document) == steady(json.loads(json.dumps(answer.to_dict())))


@pytest.mark.parametrize(
    ("body", "given"),
    [
        ({}, {}),
        ({"limits": ["deadline=3d"]}, {"limits": ["deadline=3d"]}),
        ({"rule": "weighted=energy_j:1", "seed": 2}, {"rule": "weighted=energy_j:1", "seed": 2}),
    ],
)
def test_front_over_http_is_front_in_python(running, log, model, body, given) -> None:
    job = str(log.frame["job_id"][700])
    status, document = asked(running, "front", job=job, **body)
    assert status == 200
    same(document, rh.front(log, job=job, model=model, knobs=KNOBS, **given))


def test_other_questions_too(running, log, model, site) -> None:
    status, document = asked(running, "site-power", bins=20)
    assert status == 200
    same(document, site_power(log, machine=str(site.machine), bins=20))
    status, document = asked(running, "site-savings", days=5)
    assert status == 200
    same(document, site_savings(log, model=model, knobs=KNOBS, days=5))
    status, document = asked(running, "site-daily-cap", days=5, cap_share=0.7)
    assert status == 200
    where = str(site.machine)
    same(document, site_daily_cap(log, machine=where, days=5, cap_share=0.7))
    status, document = asked(running, "site-policies", days=5, policies=["easy", "sjf+easy"])
    assert status == 200
    both = ["easy", "sjf+easy"]
    same(document, site_policies(log, machine=where, days=5, policies=both))
    status, document = asked(running, "summary")
    assert status == 200
    same(document, rh.summary(log, machine=str(site.machine)))


def test_rows_of_a_client_are_advised(running, log, model) -> None:
    row = log.frame.row(650, named=True)
    sent = {
        k: row[k]
        for k in ("user", "account", "app", "partition", "nodes", "memory_b", "time_limit_s")
    }
    status, document = asked(running, "decide", rows=[sent])
    assert status == 200, document
    same(document, rh.decide(rh.table({k: [v] for k, v in sent.items()}), past=log, model=model,
                             knobs=KNOBS))  # fmt: skip


def test_no_setting_and_a_wrong_word_are_the_errors_of_python(running, log, model) -> None:
    job = str(log.frame["job_id"][700])
    status, document = asked(running, "front", job=job, limits=["deadline=1s"])
    with pytest.raises(Infeasible) as stop:
        rh.front(log, job=job, model=model, knobs=KNOBS, limits=["deadline=1s"])
    assert (status, document["error"]) == (409, str(stop.value))
    same(document["answer"], stop.value.answer)
    status, document = asked(running, "front", job="no such job")
    assert status == 422
    assert "no such row" in document["error"]
    status, document = asked(running, "front", job=job, rule="fast")
    assert status == 422
    assert "expected one of knee" in document["error"]


def test_advice_is_the_row_of_the_table_that_python_makes(running, log, model) -> None:
    lookup = advice_lookup(log, model=model, knobs=KNOBS)
    row = lookup.rows.filter(lookup.rows["status"] == "kept").row(0, named=True)
    settings = {k: row[k] for k in ("user", "account", "app", "partition")}
    settings["nodes"] = row["nodes_requested"]
    status, document = asked(running, "advice", settings=settings)
    assert (status, document["status"]) == (200, "kept")
    assert document["row"]["runtime_s_advised"] == pytest.approx(row["runtime_s_advised"], 1e-8)
    unknown = asked(running, "advice", settings={"app": "never seen", "nodes": 3})
    assert unknown == (200, {"status": "unknown", "words": ""})


def test_a_client_sets_no_parameter_that_is_not_listed() -> None:
    for name, question in QUESTIONS.items():
        taken = set(inspect.signature(question.function()).parameters)
        assert set(body_of(name).model_fields) - {"rows"} == taken & set(FIELDS)
        assert not {"jobs", "past", "trial", "model", "machine", "format", "columns", "options",
                    "known", "runs", "renamed"} & set(body_of(name).model_fields)  # fmt: skip


def test_what_is_not_offered_is_refused(running) -> None:
    for name, body in (("front", {"jobs": "/etc/passwd"}), ("front", {"model": "/etc/passwd"}),
                       ("summary", {"machine": "/etc/passwd"}), ("summary", {"format": "swf"}),
                       ("front", {"seed": -1}), ("front", {"method": "tabnet"})):  # fmt: skip
        assert asked(running, name, **body)[0] == 422


def test_the_description_names_every_question(running) -> None:
    document = json.loads(send(running, "/api/openapi.json")[2])
    assert {f"/api/v1/{name}" for name in QUESTIONS} < set(document["paths"])


def test_state_and_metrics_say_what_drift_and_power_are(running, log, site) -> None:
    def got(path: str) -> str:
        with urllib.request.urlopen(f"{running.address}{path}", timeout=60) as reply:
            return reply.read().decode()

    drift = rh.site.drift(log, site.model).to_dict()
    state = json.loads(got("/api/v1/state"))["facts"]["drift"]
    assert (state["alarms"], state["weeks"]) == (drift["alarms"], drift["weeks"])
    metrics = got("/metrics")
    held = {w["quantity"]: w["coverage"] for w in drift["weeks"]}
    for quantity, share in held.items():
        assert f'rheostat_interval_coverage_ratio{{quantity="{quantity}"}} {share}' in metrics
    assert f"rheostat_drift_alarms {float(len(drift['alarms']))}" in metrics
    hours = site_power(log, machine=str(site.machine), days=1, bins=24).series
    assert f'rheostat_site_power_watts{{what="cap"}} {hours["cap_w"][-1]}' in metrics
