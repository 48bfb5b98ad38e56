"""What `explain` takes from the floors below, each with what it says; entered in one table.

Every function takes a list of things of its class; where only one makes sense, the first is taken
and others are an error.
"""

from __future__ import annotations

from typing import Any

from rheostat.core.report import Report, Section
from rheostat.errors import DataError
from rheostat.explanation.explainer_table import Context, Things, explains


def only(things: Things) -> Any:
    """The one thing there is."""
    if len(things) > 1:
        name = type(things[0]).__name__
        raise DataError("explain", [f"expected one {name}, got {len(things)}"])
    return things[0]


@explains("core.front.Front", "a front, as front and search return it")
def front(things: Things, about: Context) -> Report:
    """The table of settings and the picture."""
    from rheostat.explanation.choices.front import asked, explain_front

    shown = only(things)
    return Report("", *explain_front(shown, None, asked(shown, about.job, about.requested)))


@explains("core.decision.Assignment", "a choice (Front.choose)")
def assignment(things: Things, about: Context) -> Report:
    """What to do, what it buys, and why."""
    from rheostat.explanation.choices.choice import explain_choice

    return Report("", *explain_choice(only(things), about.front, about.job, about.requested))


@explains("core.decision.Decision", "a decision for several jobs")
def decision(things: Things, about: Context) -> Report:
    """Each job's setting and reason."""
    from rheostat.explanation.choices.choice import explain_decision

    return Report("", *explain_decision(only(things)))


@explains("decision.decide.Advice", "an advice for a table of jobs (decide)")
def advice(things: Things, about: Context) -> Report:
    """How many jobs change and what that saves."""
    from rheostat.explanation.choices.advice import explain_advice

    return Report("", *explain_advice(only(things)))


@explains("decision.backtest.Backtest", "a back-test (backtest)")
def backtest(things: Things, about: Context) -> Report:
    """How right the predictions were, and what would have changed."""
    from rheostat.explanation.choices.advice import explain_backtest

    return Report("", *explain_backtest(only(things)))


@explains("decision.trials.trial.Trial", "a plan of a trial (plan_trial)")
def trial(things: Things, about: Context) -> Report:
    """Which jobs run at another setting."""
    from rheostat.core.report import Grid

    plan = only(things)
    part = plan.table.frame.filter(plan.table.frame["takes_part"])
    said = f"{plan.taking_part:,} of {len(plan.table):,} jobs take part."
    facts = {"share": plan.share, "knob": plan.knob, "taking_part": plan.taking_part}
    section = Section("trial", (said,), Grid(tuple(part.columns), tuple(part.rows())))
    return Report("", [section], {**facts, "jobs": part.to_dicts()})


@explains("decision.budget.allocate_power.BudgetPlan", "a plan of a budget (allocate_power)")
def budget(things: Things, about: Context) -> Report:
    """What the watts buy, and which nodes get them."""
    from rheostat.decision.budget.cap_plan import facts
    from rheostat.explanation.choices.budget import budget_report
    from rheostat.explanation.formats.json import plain

    return budget_report(plain(facts(only(things))))


@explains("decision.caps.CapAdvice", "an advice on caps (choose_caps)")
def caps(things: Things, about: Context) -> Report:
    """Which caps to keep, and the loss at each."""
    from rheostat.explanation.choices.caps import caps_facts, caps_report

    return caps_report(caps_facts(only(things)))


@explains("decision.policies.priority_tree.PriorityTree", "a tree of rules (rheostat explain)")
def tree(things: Things, about: Context) -> Report:
    """Its rules, the picture, and how far they can be trusted."""
    from rheostat.explanation.schedules.tree import tree_report

    return tree_report(only(things))


@explains("prediction.importance.Importance", "importances of columns")
def importance(things: Things, about: Context) -> Report:
    """Which columns a forecast uses."""
    from rheostat.explanation.models import explain_importance

    return Report("", *explain_importance(only(things)))


@explains("prediction.compare.Row", "rows of a comparison of models (compare)")
def comparison(things: Things, about: Context) -> Report:
    """Which method is nearest, and whether clearly."""
    from rheostat.explanation.models import explain_comparison

    return Report("", *explain_comparison(list(things)))


@explains("prediction.effects.identification.Identification", "what a log identifies")
def identification(things: Things, about: Context) -> Report:
    """Whether the log tells what a setting does."""
    from rheostat.explanation.identification import identification_facts, identification_words

    shown = only(things)
    section = Section("can this log answer?", identification_words(shown))
    return Report("", [section], identification_facts(shown))


@explains("prediction.counters.leverage.WhatIf", "what counters do to the power (leverage)")
def what_if(things: Things, about: Context) -> Report:
    """The change of the predicted quantity for each change of a counter."""
    from rheostat.explanation.counters import leverage_section

    facts = [{"target": w.target, "factors": dict(w.factors), "change": list(w.change)}
             for w in things]  # fmt: skip
    said = "What the model says of the table's runs, other counters held; no promise."
    return Report("", [leverage_section("what if", facts, said)], {"what_if": facts})


@explains("prediction.counters.counter_model.CounterModel", "a counter model, with job=runs")
def counter_model(things: Things, about: Context) -> Report:
    """What less of each counter would do to the prediction, on these runs."""
    from rheostat.prediction.counters.leverage import leverage

    model = only(things)
    if about.job is None:
        raise DataError("explain", ["expected job= with runs, to see what their counters do"])
    changes = leverage(model, about.job)
    if not changes:
        raise DataError("explain", ["expected job= with counters, it has settings alone"])
    return what_if(changes, about)
