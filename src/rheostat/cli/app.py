"""All commands in one place; each module loads what it needs when it runs."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from rheostat.cli.command import Group, PlainCommand

GROUPS = {
    "Start here": ("demo", "doctor"),
    "Measure": ("summary", "read", "measure", "fetch"),
    "Predict": ("fit", "predict", "compare", "counters"),
    "Trade off and decide": (
        "front",
        "decide",
        "backtest",
        "trial",
        "search",
        "next",
        "caps",
        "budget",
        "coschedule",
    ),
    "Simulate and train": ("simulate", "train", "explain"),
    "At a site": ("site", "serve"),
    "AI, programs, networks": ("llm", "dnn", "code", "network"),
}

app = typer.Typer(
    name="rheostat",
    cls=Group,
    epilog="Every option may also be set by a variable, RHEOSTAT_FIT_SEED=1 for fit --seed 1, or "
    "in a file, seed = 1 under [fit] of rheostat.toml; rheostat doctor says which counts.",
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


for _group, _names in GROUPS.items():
    for _name in _names:
        _command = getattr(import_module(f"rheostat.cli.{_name}"), _name)
        if isinstance(_command, typer.Typer):
            for _info in _command.registered_commands:
                _info.cls = PlainCommand
            app.add_typer(_command, name=_name, cls=Group, rich_help_panel=_group)
        else:
            app.command(_name, cls=PlainCommand, rich_help_panel=_group)(_command)
