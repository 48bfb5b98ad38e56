"""A value of a knob is a word of the command and never a part of a program."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat import table
from rheostat.errors import DataError
from rheostat.measurement.commands.command import Command
from rheostat.measurement.commands.shell_line import ShellLine


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("run")


WORD = "printf '[%s]' "
UNQUOTED = [
    "{x}", "--x={x}", "0.{x}5", "'q'{x}\"r\"", "\\'{x}", "{x} 'it' {x}", "\"a\\\"b'\" {x}",
    "'}}' {x} '{{'", "< /dev/null {x}", "{x} 2> log", "{x} 2>&1",
]  # fmt: skip
SCRIPTS = ["sh -c 'printf %s \"$1\" | cat' sh {x}", "/bin/sh -c 'run \"$1\"' run {x}",
         "nosuch-srun sh -c 'run' sh {x}", "python3 nosuch.py {x}", "sh nosuch.sh {x}"]  # fmt: skip
QUOTED = [
    "sh -c 'run {x}'", 'echo "{x}"', "echo \\{x}", "echo `run {x}`", 'echo "$(echo "{x}")"',
    "cat <<E\n{x}\nE", "echo $(({x}))", "echo $'it\\'s {x}'", "true # no {x}",
    'echo "`echo "{x}"`"', "echo \"${A:-\"{x}\"}\"", "# it's\necho 'a {x}'",
    "echo \"$(case a in a) echo \"{x}\";; esac)\"",
    "echo $(echo '{x}')", "(({x}))", "echo \"a\"'b {x}'", "echo {x} '{x}'", "echo ${A:-'{x}'}",
]  # fmt: skip


@pytest.mark.parametrize("template", QUOTED)
def test_a_place_inside_quotes_takes_plain_words_alone(template):
    line = ShellLine(template)
    assert line.filled({"x": "1.5e3"}) == template.replace("{x}", "1.5e3")
    with pytest.raises(DataError, match="no plain word") as refused:
        line.filled({"x": "$(ls)"})
    assert "sh -c 'run \"$1\" | tail -1' sh {x}" in str(refused.value)
    assert ShellLine("sh -c 'printf %s \"$1\"' sh {x}").filled({"x": "$(ls) b"})


SHELLS_OWN = [
    "run {x} | awk '{print $2}'", "printf '{\"a\": {\"b\": %s}}' {x}", "echo ${HOME} {x}",
    "echo {1..3} {a,b} {x}", "find . -exec run {x} {} +", "f() { run {x}; }", "echo {x} }",
]  # fmt: skip


@pytest.mark.parametrize("template", SHELLS_OWN)
def test_other_braces_are_the_shells_own(template):
    assert ShellLine(template).filled({"x": 4}) == template.replace("{x}", "4")


def test_a_line_whose_braces_are_all_doubled_is_read_so():
    line = ShellLine('printf \'{{"a": {{"b": %s}}}}\' {x}')
    assert line.filled({"x": 4}) == 'printf \'{"a": {"b": %s}}\' 4'


@pytest.mark.parametrize("template", UNQUOTED)
def test_a_place_outside_quotes_takes_any_value_and_runs_none(template, tmp_path):
    value = "$(touch ran) `touch ran`; touch ran #'\"\\\ntouch ran\n"
    line = ShellLine(WORD + template).filled({"x": value})
    done = subprocess.run(
        line, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "touch" in done.stdout + done.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("template", SCRIPTS)
def test_after_the_script_of_a_shell_or_an_interpreter_values_are_data(template, tmp_path):
    line = ShellLine(template).filled({"x": "$(touch ran)"})
    subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, check=False)
    assert line.endswith(" '$(touch ran)'")
    assert not (tmp_path / "ran").exists()


AROUND = st.text("12 '\"`$()\\#\n<;", max_size=16)
VALUES = ["$(touch ran)", "'$(touch ran)'", "`touch ran`", '"$(touch ran)"', "\ntouch ran\n"]


@given(AROUND, AROUND, st.sampled_from(VALUES))
@settings(max_examples=150, deadline=None)
def test_whatever_is_written_around_it_a_value_does_not_run(folder, before, after, value):
    try:
        line = ShellLine(f"{before}{{x}}{after}").filled({"x": value})
    except DataError:
        return
    subprocess.run(line, shell=True, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL,
                   check=False)  # fmt: skip
    assert not (folder / "ran").exists()


ONCE_MORE = [
    "eval run {x}", "ssh node run {x}", "sh -c run' '{x}", "sh -c {x}", "bash -l -c 'run '{x}",
    "cd a && [[ {x} -eq 1 ]]", "printf %s {x} | sh", "trap {x} EXIT", "S=sh; $S -c {x}",
    "sh <<< {x}", ". {x}", "source {x}", "e\"va\"l {x}", "e\\val {x}", "env -S {x}", "su -c {x}",
    "script -qc {x} log", "flock f -c {x}", "watch {x}", "parallel ::: {x}", "exec sh -c {x}",
    "python -c {x}", "/usr/bin/python3.11 -c {x}", "awk {x}", "perl -e {x}",
    "find . -exec sh -c {x} \\;", "xargs sh -c {x}", "A=1 run {x}", "run {x} &", "run\n{x}",
    "$(printf %s {x})", "`echo sh` -c {x}", "$HOME/sh {x}", "srun sh -c {x}", "srun 's'h -c {x}",
    "srun /bin/s? -c {x}", "srun {ba,}sh -c {x}", "{x} a", "> log sh -c {x}", "(run {x})",
    "{ run {x}; }", "! run {x}", "printf -v {x} 1", "printf {x} {x}", "'printf' -v {x} 1",
    "sh -c \"$S\" sh {x}", "sh -c 'a'{x} sh", "sh +x {x}", "sh -c 'a' {x}", "sh",
]  # fmt: skip


@pytest.mark.parametrize("template", ONCE_MORE)
def test_where_a_value_could_be_run_it_is_a_plain_word(template):
    line = ShellLine(template if "{x}" in template else template + " {x}")
    assert "1.5e3" in line.filled({"x": "1.5e3"})
    with pytest.raises(DataError, match="no plain word") as refused:
        line.filled({"x": "$(touch ran)"})
    assert "./run {x}" in str(refused.value)


@pytest.mark.parametrize(
    ("template", "said"),
    [("echo {x!r}", "a name alone"), ("echo {x:>9}", "a name alone"), ("a\0", "NUL"),
     ("echo {x.__class__}", "a name alone"), ("echo ${x}", "variable of the shell"),
     ("echo {y}", "must be one of x; got 'y'"), ("awk '{print}' {x}", "{ print }")],
)  # fmt: skip
def test_what_stands_in_braces_is_the_name_of_a_knob(template, said):
    with pytest.raises(DataError, match=said):
        ShellLine(template).filled({"x": 1})


def test_a_value_with_nul_is_named():
    with pytest.raises(DataError, match=r"x: no command takes a NUL"):
        ShellLine("echo {x}").filled({"x": "a\0b"})


def test_bytes_that_are_no_utf8_are_no_measurement_and_stop_nothing():
    jobs = table({"nodes": [1, 2]})
    line = "printf '\\377 x\\n'; printf '{{\"runtime_s\": %s}}' {nodes}"
    assert Command(line)(jobs)["runtime_s"].tolist() == [[1.0, 2.0]]
    assert Command("printf '{{\"energy_j\": 2, \"\\377\": 3}}'", ["energy_j"])(jobs).mean(
        "energy_j").tolist() == [2.0, 2.0]  # fmt: skip
