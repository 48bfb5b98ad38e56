"""Turn the knob, see the price: what does this setting cost, and which one should I take?

measure -> predict -> trade off -> decide -> explain, and simulate: time passes.  Names load when
first used, so importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

# Twice, for those who run and for type checkers; a test compares the two.
_MODULES = {
    "Constraint": "core.front",
    "Front": "core.front",
    "Objective": "core.front",
    "Rule": "core.front",
    "Column": "core.jobs",
    "JobTable": "core.jobs",
    "Moment": "core.jobs",
    "Machine": "core.machine",
    "Outcome": "core.outcome",
    "Predictor": "core.outcome",
    "Series": "core.series",
    "Knob": "core.space",
    "Space": "core.space",
    "powers_of_two": "core.space",
    "table": "core.vocabulary",
    "PowerLimits": "decision.budget.allocate_power",
    "allocate_power": "decision.budget.allocate_power",
    "BudgetObjective": "decision.budget.node_options",
    "NodeFleet": "decision.budget.nodes",
    "choose_caps": "decision.caps",
    "read_profiles": "decision.coschedule.queue_files",
    "read_queue": "decision.coschedule.queue_files",
    "Node": "decision.coschedule.shared_node",
    "Advice": "decision.decide",
    "BatchPolicy": "decision.policies.batch_policy",
    "batch_policy": "decision.policies.batch_policy",
    "plan_trial": "decision.trials.trial",
    "Narrative": "explanation.narrate",
    "explain": "questions.explain",
    "Command": "measurement.commands.command",
    "read": "measurement.read",
    "load": "prediction.saved_models.persist",
    "save": "prediction.saved_models.persist",
    "LawGP": "prediction.scaling_law",
    "Surrogate": "prediction.surrogate.surrogate",
    "node_fleet": "recipes.ecoshift",
    "prepared": "recipes.nodecount",
    "LogSummary": "questions.logs.log_summary",
    "summary": "questions.logs.summary",
    "compare": "questions.models.compare",
    "compare_policies": "questions.scheduling.compare_policies",
    "simulate": "questions.scheduling.simulate",
    "coschedule": "questions.scheduling.coschedule",
    "fit": "questions.models.fit",
    "open_policy": "questions.scheduling.policies",
    "Answer": "questions.answer",
    "backtest": "questions.advice.backtest",
    "decide": "questions.advice.decide",
    "describe": "questions.logs.describe",
    "front": "questions.settings.front",
    "listening": "questions.listener",
    "caps": "questions.settings.caps",
    "next_settings": "questions.settings.next_settings",
    "predict": "questions.models.predict",
    "search": "questions.settings.search",
    "demo": "questions.demonstration.answer",
    "doctor": "questions.doctor",
    "fetch": "questions.logs.fetch",
    "measure": "questions.settings.measure",
    "counters": "questions.models.counters",
    "predict_counters": "questions.models.counters",
    "train": "questions.scheduling.train",
    "ImitationSettings": "questions.scheduling.explain_policy",
    "explain_policy": "questions.scheduling.explain_policy",
    "export_policy": "questions.scheduling.explain_policy",
    "ServiceSettings": "service.http_server",
    "add_token": "service.http_server",
    "serve": "service.http_server",
    "EventPolicy": "simulation.policies.event_policy",
    "QuantileBoosting": "simulation.policies.quantile_boosting",
    "metrics": "simulation.schedule_metrics",
    "Proposer": "tradeoff.propose.base",
    "Deadline": "tradeoff.limits",
    "EnergyBudget": "tradeoff.limits",
    "Knee": "tradeoff.rules",
    "MaxSlowdown": "tradeoff.limits",
    "NodeHours": "tradeoff.limits",
    "PowerCap": "tradeoff.limits",
    "Weighted": "tradeoff.rules",
    "proposer": "tradeoff.propose.proposer",
}

_GROUPS = {
    "budget": "questions.budget",
    "code": "questions.code",
    "dnn": "questions.dnn",
    "llm": "questions.llm",
    "network": "questions.network",
    "site": "questions.site",
    "trial": "questions.trial",
}
"""Questions that belong together, `rheostat.trial.plan` say: modules, and no names of things."""

__all__ = ["__version__", *_GROUPS, *_MODULES]  # noqa: PLE0604

if TYPE_CHECKING:
    from rheostat.core.front import Constraint as Constraint
    from rheostat.core.front import Front as Front
    from rheostat.core.front import Objective as Objective
    from rheostat.core.front import Rule as Rule
    from rheostat.core.jobs import Column as Column
    from rheostat.core.jobs import JobTable as JobTable
    from rheostat.core.jobs import Moment as Moment
    from rheostat.core.machine import Machine as Machine
    from rheostat.core.outcome import Outcome as Outcome
    from rheostat.core.outcome import Predictor as Predictor
    from rheostat.core.series import Series as Series
    from rheostat.core.space import Knob as Knob
    from rheostat.core.space import Space as Space
    from rheostat.core.space import powers_of_two as powers_of_two
    from rheostat.core.vocabulary import table as table
    from rheostat.decision.budget.allocate_power import PowerLimits as PowerLimits
    from rheostat.decision.budget.allocate_power import allocate_power as allocate_power
    from rheostat.decision.budget.node_options import BudgetObjective as BudgetObjective
    from rheostat.decision.budget.nodes import NodeFleet as NodeFleet
    from rheostat.decision.caps import choose_caps as choose_caps
    from rheostat.decision.coschedule.queue_files import read_profiles as read_profiles
    from rheostat.decision.coschedule.queue_files import read_queue as read_queue
    from rheostat.decision.coschedule.shared_node import Node as Node
    from rheostat.decision.decide import Advice as Advice
    from rheostat.decision.policies.batch_policy import BatchPolicy as BatchPolicy
    from rheostat.decision.policies.batch_policy import batch_policy as batch_policy
    from rheostat.decision.trials.trial import plan_trial as plan_trial
    from rheostat.explanation.narrate import Narrative as Narrative
    from rheostat.measurement.commands.command import Command as Command
    from rheostat.measurement.read import read as read
    from rheostat.prediction.saved_models.persist import load as load
    from rheostat.prediction.saved_models.persist import save as save
    from rheostat.prediction.scaling_law import LawGP as LawGP
    from rheostat.prediction.surrogate.surrogate import Surrogate as Surrogate
    from rheostat.questions import budget as budget
    from rheostat.questions import code as code
    from rheostat.questions import dnn as dnn
    from rheostat.questions import llm as llm
    from rheostat.questions import network as network
    from rheostat.questions import site as site
    from rheostat.questions import trial as trial
    from rheostat.questions.advice.backtest import backtest as backtest
    from rheostat.questions.advice.decide import decide as decide
    from rheostat.questions.answer import Answer as Answer
    from rheostat.questions.demonstration.answer import demo as demo
    from rheostat.questions.doctor import doctor as doctor
    from rheostat.questions.explain import explain as explain
    from rheostat.questions.listener import listening as listening
    from rheostat.questions.logs.describe import describe as describe
    from rheostat.questions.logs.fetch import fetch as fetch
    from rheostat.questions.logs.log_summary import LogSummary as LogSummary
    from rheostat.questions.logs.summary import summary as summary
    from rheostat.questions.models.compare import compare as compare
    from rheostat.questions.models.counters import counters as counters
    from rheostat.questions.models.counters import predict_counters as predict_counters
    from rheostat.questions.models.fit import fit as fit
    from rheostat.questions.models.predict import predict as predict
    from rheostat.questions.scheduling.compare_policies import compare_policies as compare_policies
    from rheostat.questions.scheduling.coschedule import coschedule as coschedule
    from rheostat.questions.scheduling.explain_policy import ImitationSettings as ImitationSettings
    from rheostat.questions.scheduling.explain_policy import explain_policy as explain_policy
    from rheostat.questions.scheduling.explain_policy import export_policy as export_policy
    from rheostat.questions.scheduling.policies import open_policy as open_policy
    from rheostat.questions.scheduling.simulate import simulate as simulate
    from rheostat.questions.scheduling.train import train as train
    from rheostat.questions.settings.caps import caps as caps
    from rheostat.questions.settings.front import front as front
    from rheostat.questions.settings.measure import measure as measure
    from rheostat.questions.settings.next_settings import next_settings as next_settings
    from rheostat.questions.settings.search import search as search
    from rheostat.recipes.ecoshift import node_fleet as node_fleet
    from rheostat.recipes.nodecount import prepared as prepared
    from rheostat.service.http_server import ServiceSettings as ServiceSettings
    from rheostat.service.http_server import add_token as add_token
    from rheostat.service.http_server import serve as serve
    from rheostat.simulation.policies.event_policy import EventPolicy as EventPolicy
    from rheostat.simulation.policies.quantile_boosting import QuantileBoosting as QuantileBoosting
    from rheostat.simulation.schedule_metrics import metrics as metrics
    from rheostat.tradeoff.limits import Deadline as Deadline
    from rheostat.tradeoff.limits import EnergyBudget as EnergyBudget
    from rheostat.tradeoff.limits import MaxSlowdown as MaxSlowdown
    from rheostat.tradeoff.limits import NodeHours as NodeHours
    from rheostat.tradeoff.limits import PowerCap as PowerCap
    from rheostat.tradeoff.propose.base import Proposer as Proposer
    from rheostat.tradeoff.propose.proposer import proposer as proposer
    from rheostat.tradeoff.rules import Knee as Knee
    from rheostat.tradeoff.rules import Weighted as Weighted


def __getattr__(name: str) -> Any:
    if name in _GROUPS:
        return import_module(f"rheostat.{_GROUPS[name]}")
    if name in _MODULES:
        return getattr(import_module(f"rheostat.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'rheostat' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
