"""All commands in one place; each module loads what it needs when it runs."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

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


_rooms = {name: f"{room}." for room, names in ROOMS.items() for name in names}
for _group, _lines in GROUPS.items():
    for _name, _line in _lines.items():
        _command = getattr(import_module(f"rheostat.cli.{_rooms.get(_name, '')}{_name}"), _name)
        if isinstance(_command, typer.Typer):
            for _info in _command.registered_commands:
                _info.cls = PlainCommand
            app.add_typer(_command, name=_name, cls=Group, short_help=_line, rich_help_panel=_group)
        else:
            app.command(_name, cls=PlainCommand, short_help=_line, rich_help_panel=_group)(_command)
