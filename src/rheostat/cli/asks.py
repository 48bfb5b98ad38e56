"""A command is a list of options: what is typed goes to a question by name, its answer is printed.

``@asks("decide")`` makes a command of a function that declares options.  They are handed to
``rheostat.decide`` as what it calls them, which `taken_as` says.  Where several options make one
value, the function returns it by the question's name: ``{"workers": ...}``.  Options of several
commands are declared by functions of the same form: ``@asks("decide", o.table, o.drawn)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, Signature, signature
from pkgutil import resolve_name
from typing import Any

import typer

CALLED = {
    "file": "jobs", "form": "format", "mapped": "columns",
    "column": "renamed", "within": "limits", "kind": "method", "kinds": "methods",
}  # fmt: skip
"""What options of many commands are called in Python."""
SHOWN = ("json", "html", "figure")
"""Options of how an answer is shown."""
EMPTY: tuple[Any, ...] = (None, "", [], ())
"""An option without a value; the question has one of its own, then."""
Values = Mapping[str, Any]
NONE: Mapping[str, str] = {}


Declared = Callable[..., Values | None]
"""Its parameters are options; it refuses what cannot be, and returns values that several make."""


def asks(
    question: str, *shared: Declared, instead: Mapping[str, str] = NONE, quiet: str = "",
    most_notes: int = 8, **called: str,
) -> Callable[[Declared], Callable[..., None]]:  # fmt: skip
    """Make a command that asks a question.

    Parameters
    ----------
    question : str
        Its public name below `rheostat`, as ``llm.plan``; or ``module:name``.
    *shared : functions
        Further options, which other commands have as well.
    instead : mapping of str to str
        Options with which another question is asked, and that one.
    quiet : str
        The option of a file in place of what a pipe would get.
    most_notes : int
        Notes that are printed; of others the number is said.
    **called : str
        Options of this command, and what the question calls them.
    """

    def of(own: Declared) -> Callable[..., None]:
        options = _together(own, *shared)

        @wraps(own)
        def command(**typed: Any) -> None:
            from rheostat.cli.output import printed

            shown: dict[str, Any] = {name: typed[name] for name in SHOWN if name in typed}
            shown |= {"json": shown.get("json", False), "most_notes": most_notes}
            name = next((q for option, q in instead.items() if typed[option]), question)
            with printed(**shown, quiet=bool(typed.get(quiet))) as put:
                ask = asked(name)
                takes = signature(ask).parameters
                arguments = handed(options, takes, typed, called)
                for part in shared:
                    arguments |= {k: v for k, v in _made(part, typed).items() if k in takes}
                answer = ask(**arguments | _made(own, typed))
                if "json" in typed:
                    put(answer)
                    _leave(answer)

        vars(command).update(
            questions=(question, *instead.values()), instead=instead, called=called,
            parts=(own, *shared), __signature__=Signature(list(options.values())),
        )  # fmt: skip
        return command

    return of


def _together(*parts: Declared) -> dict[str, Parameter]:
    """The options of all parts; a command's own counts where a shared one is called so, too."""
    options: dict[str, Parameter] = {}
    for part in parts:
        for name, option in signature(part, eval_str=True).parameters.items():
            options.setdefault(name, option.replace(kind=Parameter.KEYWORD_ONLY))
    return options


def _made(part: Declared, typed: Values) -> dict[str, Any]:
    """The values that a part makes of its options."""
    return dict(part(**{name: typed[name] for name in signature(part).parameters}) or {})


def asked(name: str) -> Callable[..., Any]:
    """The question of this name; its module loads now."""
    question: Callable[..., Any] = resolve_name(name if ":" in name else f"rheostat:{name}")
    return question


def handed(
    options: Mapping[str, Parameter],
    takes: Mapping[str, Parameter],
    typed: Values,
    called: Mapping[str, str],
) -> dict[str, Any]:
    """What the question gets of what was typed; an option that was left empty is not mentioned."""
    arguments: dict[str, Any] = {}
    for option, parameter in options.items():
        name = taken_as(option, takes, called)
        if name and not (typed[option] in EMPTY and parameter.default in EMPTY):
            arguments[name] = typed[option]
    return arguments


def taken_as(option: str, takes: Mapping[str, Any], called: Mapping[str, str] = NONE) -> str:
    """What a question calls an option: the same, several of it, or with its unit; or empty.

    >>> taken_as("delay", {"delay_s": None}), taken_as("knob", {"knobs": None})
    ('delay_s', 'knobs')
    """
    own = called.get(option) or CALLED.get(option, option)
    names = (own, option, *(f"{option}{end}" for end in ("s", "_s", "_w", "_b")))
    return next((name for name in names if name in takes), "")


def _leave(answer: Any) -> None:
    """With why what was asked about is refused, or with the status of a program that was run."""
    from rheostat.errors import RheostatError

    if answer.refusal:
        raise RheostatError(answer.refusal)
    if status := getattr(answer, "status", 0):
        raise typer.Exit(status)
