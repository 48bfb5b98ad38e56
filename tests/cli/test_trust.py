"""A file of defaults that somebody else left in the folder runs nothing; what a shell would say."""

import pytest

from rheostat.cli import run
from rheostat.measurement.command import parse


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "space.toml").write_text("[knobs]\nnodes = [1, 2]\n")
    program = "touch ran; echo {nodes}"
    (tmp_path / "rheostat.toml").write_text(f'[search]\nmeasure = "{program}"\nmethod = "sobol"\n')
    return tmp_path


def test_a_program_of_the_projects_file_runs_only_when_it_is_trusted(folder, capsys):
    given = ["search", "space.toml", "--objectives", "runtime_s", "--budget", "1"]
    assert run(given) == 2
    said = capsys.readouterr().err
    assert "[search] measure" in said
    assert "--trust-config" in said
    assert not (folder / "ran").exists()
    assert run([*given, "--trust-config"]) == 0
    assert (folder / "ran").exists()


def test_a_command_that_is_not_there_is_127_and_one_that_may_not_run_126(tmp_path, capsys):
    assert run(["measure", "--", "no-such-program-anywhere"]) == 127
    assert "no-such-program-anywhere" in capsys.readouterr().err
    (tmp_path / "text").write_text("not a program")
    assert run(["measure", "--", str(tmp_path / "text")]) == 126


def test_words_after_the_dashes_belong_to_the_command(capfd):
    assert run(["measure", "--", "echo", "--trust-config"]) == 0
    assert "--trust-config" in capfd.readouterr().out


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", '{"runtime_s": NaN}', "1e999"])
def test_what_is_no_finite_number_is_no_measurement(text):
    assert parse(text) == {}


def test_an_option_of_a_format_may_be_a_fraction(tmp_path, capsys):
    from rheostat.cli.read import _value

    assert _value("2.0") == 2.0
    assert _value("4") == 4
    assert _value("bt") == "bt"
    assert _value("a,b") == ["a", "b"]
