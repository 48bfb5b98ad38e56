"""Values that nobody means: said at once, in words of who wrote them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rheostat.cli import run

RUNS = "app,nodes,runtime_s,power_w\na,1,100,200\na,2,60,400\na,4,40,800\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs.csv").write_text(RUNS)
    return tmp_path


def test_a_value_that_a_file_set_is_blamed_on_the_file(here, capsys) -> None:
    (here / "rheostat.toml").write_text('[front]\nseed = "$(touch PWNED)"\n')
    assert run(["front", "runs.csv"]) == 2
    assert "It is set in rheostat.toml here or in your config.toml." in capsys.readouterr().err
    (here / "rheostat.toml").unlink()
    assert run(["front", "runs.csv", "--seed", "x"]) == 2
    assert "config.toml" not in capsys.readouterr().err
    assert not (here / "PWNED").exists()


@pytest.mark.parametrize(("words", "said"), [
    (["--rule", "weighted=runtime_s:1e308,energy_j:1e308"], "expected weights from 0 to 1e+06"),
    (["--knob", "nodes=1e16..1.0000000000000002e16/1e-3"], "a step of 0.001 is lost in numbers"),
])  # fmt: skip
def test_an_odd_value_is_named(here, capsys, words, said) -> None:
    assert run(["front", "runs.csv", *words]) == 1
    assert said in capsys.readouterr().err


def test_a_folder_steers_neither_pictures_nor_the_compiler_nor_the_terminal(here) -> None:
    """``matplotlibrc`` may name TeX, ``.numba_config.yaml`` switches, ``rheostat.toml`` codes."""
    trace = "".join(f"{i} {60 * i} 0 600 4 -1 -1 4 900 -1 1 1 1 1 1 1 -1 -1\n" for i in range(1, 9))
    (here / "t.swf").write_text("; MaxProcs: 8\n" + trace)
    (here / "matplotlibrc").write_text("text.usetex: True\nfont.size: 40\n")
    (here / ".numba_config.yaml").write_text("disable_jit: 1\n")
    (here / "rheostat.toml").write_text('"a\\u001b[2J" = 1\n')
    for words in (["front", "runs.csv", "--figure", "o.svg"],
                  ["simulate", "t.swf", "--policy", "easy"]):  # fmt: skip
        done = subprocess.run([sys.executable, "-m", "rheostat", *words], cwd=here,
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "\x1b" not in done.stderr
        assert r"a\x1b[2J" in done.stderr
    assert "font-size:40" not in (here / "o.svg").read_text().replace(" ", "")
