"""All commands in one place; each module loads what it needs when it runs."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer

from rheostat.cli.command import Group, PlainCommand, Root

GROUPS = {
    "Start here": {
        "demo": "The whole job on a generated log whose truth is known",
        "doctor": "What this machine has: versions, extras, meters, folders",
    },
    "Operators: a log of jobs, a site": {
        "summary": "What is in a log: use, energy, failures, waits",
        "decide": "A setting for every job, with the saving and its interval",
        "backtest": "What advice would have changed, had it been followed",
        "trial": "A small randomised trial, to learn what settings do",
        "budget": "Share a power budget: plan caps, compare, apply, put back",
        "site": "Take in accounting and power, install advice and caps",
        "serve": "The same questions over HTTP, a page to watch, metrics",
    },
    "Engineers and scientists: runs of one code": {
        "front": "One job at every setting: the front, and which to take",
        "search": "Measure a few settings, well chosen, and take one",
        "next": "Which settings to measure next; nothing is run",
        "caps": "How slow it gets under power caps, and which cap to keep",
        "measure": "Run a command; print its time and energy",
        "counters": "Power from hardware counters",
        "coschedule": "Pack jobs on the GPUs of a node",
    },
    "Researchers: a trace": {
        "simulate": "The trace under batch policies: how long jobs wait",
        "train": "Train a scheduling agent for an objective",
        "explain": "How a policy decides: its rules, how far to trust them",
    },
    "AI, programs, networks": {
        "llm": "Serve language models: energy law, configuration, order",
        "dnn": "Time, memory and energy of a training step",
        "code": "Verify a changed program, search faster variants",
        "network": "Forecast iterations on a shared network",
    },
    "Models and tables": {
        "fit": "Learn from a log and save the model",
        "predict": "Forecast every job of a table, with intervals",
        "compare": "Forecasting methods, or policies, side by side",
        "read": "Columns of a table, with units, and what was odd",
        "fetch": "Download a public log with checksum and resume",
    },
}
"""Commands for whom, each with its line on the first page of the help."""
ROOMS = {
    "advice": ("decide", "backtest"),
    "logs": ("summary", "read", "fetch"),
    "models": ("fit", "predict", "compare", "counters"),
    "scheduling": ("simulate", "train", "explain", "coschedule"),
    "settings": ("front", "search", "next", "caps", "measure"),
}
"""Folders of commands, named as those of their questions; what is in none lies beside this file."""
MEMBERS = {
    "budget": "plan follow demo set_caps.diff set_caps.apply set_caps.restore set_caps.run "
    "set_caps.slurm",
    "code": "verify search translate refactor suite",
    "dnn": "fit predict front import_graphs.import_",
    "llm": "demo plan fit simulate calibrate rank proxy",
    "network": "runs.read generate runs.forecast runs.fit serve",
    "site": "ingest power what_if shadow model.drift model.refit install install.uninstall",
    "trial": "trials.plan trials.read",
}
"""Groups of commands, in their folders: modules, and the function where it is called otherwise."""

app = typer.Typer(
    name="rheostat",
    cls=Root,
    epilog="Options may stand in variables (RHEOSTAT_FIT_SEED=1 for fit --seed 1) or "
    "rheostat.toml (seed = 1 under [fit]); rheostat doctor says which counts.",
    help="Turn the knob, see the price: trade runtime against power and energy.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={
        "auto_envvar_prefix": "RHEOSTAT",
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
    },
)


def _version(asked: bool) -> None:
    if asked:
        from rheostat import __version__

        print(f"rheostat {__version__}")
        raise typer.Exit


@app.callback()
def everything(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_version, is_eager=True),
    ] = False,
    trust_config: Annotated[
        bool,
        typer.Option(
            help="Take every option from rheostat.toml in this folder, not the harmless ones alone."
        ),
    ] = False,
) -> None:
    """Turn the knob, see the price: trade runtime against power and energy."""


def _command(module: str, name: str) -> Any:
    return getattr(import_module(f"rheostat.cli.{module}"), name)


def _group(name: str) -> typer.Typer:
    """The commands of a folder; its help is what the folder says of itself."""
    made = typer.Typer(help=import_module(f"rheostat.cli.{name}").__doc__, no_args_is_help=True)
    for member in MEMBERS[name].split():
        module, _, function = member.partition(".")
        called = (function or module).strip("_").replace("_", "-")
        command = _command(f"{name}.{module}", function or module)
        made.command(called, cls=PlainCommand)(command)
    return made


_rooms = {name: f"{room}." for room, names in ROOMS.items() for name in names}
for _panel, _lines in GROUPS.items():
    for _name, _line in _lines.items():
        if _name in MEMBERS:
            app.add_typer(
                _group(_name), name=_name, cls=Group, short_help=_line, rich_help_panel=_panel
            )
        else:
            app.command(_name, cls=PlainCommand, short_help=_line, rich_help_panel=_panel)(
                _command(f"{_rooms.get(_name, '')}{_name}", _name)
            )
