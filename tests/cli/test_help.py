"""What help shows is what was written, and an option of old names the new one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from rheostat.cli import run
from rheostat.cli.app import app
from rheostat.cli.command import RENAMED
from rheostat.cli.first_options import FIRST, JARGON


def tree(command: Any = None, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with the words that call it, groups included."""
    command = command or get_command(app)
    yield words, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from tree(inner, (*words, name))


TREE = dict(tree())


def letters(text: str) -> str:
    """Without spaces, line ends and the lines of boxes."""
    return re.sub(r"[\s│─╭╮╰╯]", "", text)


@pytest.mark.parametrize("words", [w for w in TREE if w], ids=" ".join)
def test_help_shows_every_letter_of_what_was_written(words, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "2000")
    command = TREE[words]
    assert run([*words, "--help" if hasattr(command, "commands") else "--help-all"]) == 0
    shown = letters(capsys.readouterr().out)
    inner = getattr(command, "commands", {}).values()
    texts = [command.help, command.epilog, *(p.help for p in command.params)]
    texts += [(c.help or "").split("\n\n")[0] for c in inner]
    lost = [t for t in texts if t and letters(t) not in shown]
    assert lost == []
    assert "envvar" not in shown
    metavars = [p.metavar for p in command.params if p.metavar]
    assert [m for m in metavars if letters(m) not in shown] == []


def test_the_first_page_has_every_command_on_one_screen(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    for name in TREE[()].commands:
        (line,) = [x for x in lines if x.startswith(f"  {name} ")]
        assert len(line) > 30
    options = next(x for x in lines if x.startswith("Options:"))
    assert "--version" in options


@pytest.mark.parametrize("columns", ["80", "100"])
@pytest.mark.parametrize("words", [w for w in TREE if w], ids=" ".join)
def test_the_help_of_a_command_is_a_screen_and_names_every_option(
    words, columns, capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", columns)
    assert run([*words, "--help"]) == 0
    shown = capsys.readouterr().out
    assert len(shown.splitlines()) <= 45
    options = [p.opts[0] for p in TREE[words].params if p.param_type_name == "option"]
    assert [o for o in options if not re.search(rf"{re.escape(o)}(?![\w-])", shown)] == []
    explained = set(re.findall(r"^│ +\*? *--([a-z-]+)", shown, re.MULTILINE))
    assert set(FIRST.get(" ".join(words), "").split()) <= explained


def test_options_that_come_first_are_options_of_commands_that_have_more():
    for path, names in FIRST.items():
        options = {o for p in TREE[tuple(path.split())].params for o in p.opts}
        assert [n for n in names.split() if f"--{n}" not in options] == []
        assert len(names.split()) < len(options)


def test_words_that_the_help_points_to_stand_in_the_glossary():
    page = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text()
    assert [word for word in JARGON if f"\n| {word} |" not in page] == []


def test_help_says_once_how_variables_are_called(capsys):
    assert run(["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count("RHEOSTAT_") == 1
    assert "RHEOSTAT_FIT_SEED=1 for fit --seed 1" in shown


def test_a_variable_still_sets_an_option(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("RHEOSTAT_BUDGET_DEMO_APPS", "3")
    assert run(["budget", "demo", str(tmp_path / "a.csv")]) == 0
    assert len({x.split(",")[0] for x in (tmp_path / "a.csv").read_text().splitlines()[1:]}) == 3


@pytest.mark.parametrize(("command", "old"), RENAMED)
@pytest.mark.parametrize("way", ["flag", "variable", "file"])
def test_an_option_of_old_names_the_new_one(command, old, way, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    argv, name = [command, "FILE"], old.removeprefix("--")
    if way == "flag":
        argv += [old, "0.1"]
    elif way == "variable":
        variable = f"RHEOSTAT_{command}_{name}".upper().replace("-", "_")
        monkeypatch.setenv(variable, "0.1")
    else:
        (tmp_path / "rheostat.toml").write_text(f"[{command}]\n{name} = 0.1\n")
    assert run(argv) == 2
    out, err = capsys.readouterr()
    new = re.match(r"--[a-z-]+", RENAMED[command, old])
    assert new is not None
    assert out == ""
    assert f"isnow{new[0]}" in letters(err)
    options = [o for p in TREE[command,].params for o in p.opts]
    assert new[0] in options
    assert old not in options
