"""``rheostat code verify`` as it is typed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rheostat.cli import run
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap
from rheostat.measurement.code.toolchain import absent

LACKING = Bubblewrap().why() or absent("gcc")
pytestmark = pytest.mark.skipif(bool(LACKING), reason=LACKING)
SUM = """#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 500;
  double s = 0;
  for (int i = 1; i <= n; i++) s += 1.0 / i;
  printf("%.10f\\n", s);
  return 0;
}
"""
QUICK = ["--rungs", "parse,output", "--seed", "3"]


@pytest.fixture
def original(tmp_path: Path) -> Path:
    path = tmp_path / "sum.c"
    path.write_text(SUM)
    return path


def candidate(original: Path, old: str, new: str) -> str:
    path = original.with_name("other.c")
    assert old in SUM
    path.write_text(SUM.replace(old, new))
    return str(path)


@pytest.mark.slow
def test_accepted_is_0_and_one_document(original, capsys):
    other = candidate(original, "int i = 1; i <= n; i++", "int i = n; i >= 1; i--")
    assert run(["code", "verify", str(original), other, "--json", *QUICK]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["schema"], said["verdict"]) == ("rheostat.code-verify/1", "accepted")
    assert (said["seed"], said["sandbox"]) == (3, "bubblewrap")
    assert "guessed from the original: n 15 to 625" in said["notes"][0]


@pytest.mark.slow
@pytest.mark.skipif(bool(absent("clang")), reason=absent("clang"))
def test_nothing_is_loaded_that_only_a_search_needs():
    """scipy takes half a CPU second, a quarter of what this package itself takes of a verdict."""
    code = "import sys, rheostat; rheostat.code.verify; print('scipy' in sys.modules)"
    argv = [sys.executable, "-c", code]
    assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout == "False\n"


def test_a_line_that_a_person_has_read_leaves_nothing_undecided(original, capsys):
    other = candidate(original, "s += 1.0 / i", "s += (long)(s * 1e6) == 1234567 ? 2 : 1.0 / i")
    call = ["code", "verify", str(original), other, *QUICK, "--input", "n=10..20"]
    assert run([*call, "--reviewed", "other.c:5"]) == 1
    said = capsys.readouterr().err
    assert "other.c is undecided: output cannot tell (other.c:6: " in said
    assert "adds --reviewed other.c:6." in said
    assert run([*call, "--reviewed", "other.c:6"]) == 0
    assert "not shown, but reviewed: other.c:6" in capsys.readouterr().out


@pytest.mark.slow
def test_rejected_is_1_with_the_input_and_both_numbers(original, capsys, tmp_path):
    other = candidate(original, "i <= n", "i < n")
    files = ["--junit", str(tmp_path / "x.xml"), "--sarif", str(tmp_path / "x.sarif")]
    given = ["--input", "n=10..20"]
    assert run(["code", "verify", str(original), other, *QUICK, *files, *given]) == 1
    said = capsys.readouterr()
    assert "output\tfailed" in said.out
    last = said.err.splitlines()[-1]
    assert last.startswith("rheostat: other.c is rejected by output: other.c: with n=1")
    assert "expected" in last
    assert '"output"' in (tmp_path / "x.sarif").read_text()


@pytest.mark.slow
def test_a_required_rung_that_does_not_run_leaves_it_undecided(original, capsys):
    call = ["code", "verify", str(original), str(original), *QUICK, "--require", "output,races"]
    assert run(call) == 1
    assert "undecided: races did not run" in capsys.readouterr().err


@pytest.mark.slow
def test_a_manifest_builds_several_files_with_commands_of_its_own(tmp_path, capsys):
    manifest = (
        'files = ["main.c", "lib/add.c", "lib/add.h"]\n'
        'build = "{cc} {flags} main.c lib/add.c -o add"\nrun = "./add"\n'
        '[inputs]\nstdin = "{n} {m}\\n"\nn = {low = 1, high = 99}\nm = {values = ["3", "5"]}\n'
    )
    main = '#include <stdio.h>\n#include "lib/add.h"\nint main(void) { int a, b;\n'
    main += 'if (scanf("%d %d", &a, &b) != 2) return 1; printf("%d\\n", add(a, b)); return 0; }\n'
    for name, sign in (("right", "+"), ("wrong", "-")):
        (tmp_path / name / "lib").mkdir(parents=True)
        (tmp_path / name / "main.c").write_text(main)
        (tmp_path / name / "lib/add.h").write_text("int add(int a, int b);\n")
        text = f'#include "add.h"\nint add(int a, int b) {{ return a {sign} b; }}\n'
        (tmp_path / name / "lib/add.c").write_text(text)
    path = tmp_path / "right" / "program.toml"
    path.write_text(manifest)
    call = ["code", "verify", str(path)]
    assert run([*call, str(tmp_path / "right"), "--rungs", "output"]) == 0
    assert run([*call, str(tmp_path / "wrong"), "--rungs", "output"]) == 1
    assert "rejected by output" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (["--input", "n=9..1"], 1, "expected low <= high"),
        (["--input", "n"], 2, "expected NAME=1..9"),
        (["--reviewed", "sum.c:99"], 2, "expected FILE:LINE of sum.c, got sum.c:99"),
        (["--rungs", "smell"], 2, "expected parse, compile"),
        (["--sandbox", "cellar"], 1, "expected bubblewrap, apptainer or none"),
    ],
)
def test_wrong_options_are_one_message(original, capsys, more, code, said):
    assert run(["code", "verify", str(original), str(original), *more]) == code
    assert said in " ".join(capsys.readouterr().err.replace("│", " ").split())
