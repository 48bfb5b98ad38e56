"""A real run goes down its floors, and comes back to the command line from one question alone."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "walks.py"))
RUNS = "nodes,runtime_s,power_w\n1,3600,420\n2,1900,830\n4,1040,1640\n8,640,3260\n"


def test_floors_are_those_that_imports_are_held_to() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = [row.split(" | ") for row in settings["contracts"][0]["layers"]][::-1]
    height = {floor: k for k, row in enumerate(layers) for floor in row}
    assert sorted(height) == sorted(TOOL["FLOORS"])
    floors = sorted(height, key=lambda floor: (height[floor], floor))
    assert floors == sorted(height, key=lambda floor: (TOOL["FLOORS"][floor], floor))


class Frame:
    """A function of a module, as a profiler is shown it."""

    def __init__(self, module: str, code) -> None:
        self.f_globals, self.f_code = {"__name__": module}, code


def test_calls_are_of_the_module_above_unless_it_is_loaded_now() -> None:
    ask, read = (lambda: None), (lambda: None)
    above = Frame("rheostat.questions.made", ask.__code__)
    below = Frame("rheostat.measurement.made", read.__code__)
    loaded = Frame("rheostat.tradeoff.made", compile("", "made", "exec"))
    walk = TOOL["Walk"]()
    for frame, event in ((above, "call"), (loaded, "call"), (below, "call"), (below, "return"),
                         (loaded, "return"), (below, "call"), (below, "return")):  # fmt: skip
        walk(frame, event, None)
    assert [(a.module, b.module, n) for (a, b), n in walk.calls.items()] == [
        ("rheostat.questions.made", "rheostat.measurement.made", 1)
    ]
    assert TOOL["returns"](walk) == {"questions": {"rheostat.measurement.made"}}
    assert walk.pairs(up=True) == {}


@pytest.mark.slow
def test_one_question_is_asked_and_nothing_climbs_but_objects(tmp_path, monkeypatch) -> None:
    (tmp_path / "runs.csv").write_text(RUNS)
    monkeypatch.chdir(tmp_path)
    walk = TOOL["walked"](["front", "runs.csv", "--knob", "nodes=1..8"])
    back = TOOL["returns"](walk)["cli"]
    asked = {name for name in back if name.startswith("rheostat.questions.")}
    assert asked == {f"rheostat.questions.{m}" for m in ("answer", "listener", "settings.front")}
    assert all(name.startswith("rheostat.explanation.") for name in back - asked)
    assert [b.function for _, b in walk.pairs(up=True).values() if not b.method] == []
