"""The documentation keeps its word: code runs, commands exist, links resolve."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [code for found, code in FENCE.findall(page.read_text()) if found == language]


def names(pages: list[Path]) -> list[str]:
    return [str(p.relative_to(ROOT)) for p in pages]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the examples name, all generated."""
    from benchmarks.published_logs import write_pm100
    from rheostat.measurement.synthetic import World

    folder = tmp_path_factory.mktemp("desk")
    write_pm100(folder / "job_table.parquet", 3000, seed=0)
    World(seed=0).jobs(3000, seed=0).write_parquet(folder / "trace.parquet")
    site = ROOT / "docs" / "guide" / "site.md"
    (folder / "site.toml").write_text(blocks(site, "toml")[0])
    (folder / "alternatives.csv").write_text(blocks(site, "csv")[0])
    first_commands(folder)
    return folder


def first_commands(folder: Path) -> None:
    """What the README's users have: sacct's output, a trace, tables of runs, a code."""
    from datetime import datetime, timedelta

    from rheostat.measurement.job_logs.swf import write_swf
    from rheostat.measurement.synthetic import World
    from rheostat.training.priority.generated_sites import generated_site
    from tests.prediction.test_serving_law import runs as serving_runs

    def clock(seconds: float) -> str:
        return (datetime(2026, 10, 1) + timedelta(seconds=seconds)).isoformat(timespec="seconds")

    jobs = World(seed=0).jobs(1500, seed=0).frame
    first = jobs["submit_s"].min()
    rows = [
        "JobIDRaw|User|JobName|State|Submit|Start|End|NNodes|ReqMem|ElapsedRaw|ConsumedEnergyRaw"
    ]
    for r in jobs.iter_rows(named=True):
        begun = r["submit_s"] - first + 60.0
        times = clock(begun - 60.0), clock(begun), clock(begun + r["runtime_s"])
        asked = r["nodes"], f"{r['memory_b'] / 2**20:.0f}M"  # tells large problems from small ones
        used = (*asked, round(r["runtime_s"]), round(r["runtime_s"] * (r["power_w"] or 0)))
        rows.append(
            "|".join(map(str, (r["job_id"], r["user"], r["app"], "COMPLETED", *times, *used)))
        )
    (folder / "october.txt").write_text("\n".join(rows) + "\n")
    log, procs = generated_site(0, 300)
    write_swf(log.select([c for c in log.columns if c != "user"]), folder / "trace.swf",
              [f"MaxProcs: {procs}"])  # fmt: skip
    runs = "\n".join(f"{n},{400 / n + 9 * n},{0.3 * n}" for n in (1, 2, 4, 8))
    (folder / "runs.csv").write_text(f"nodes,wall_s,power_kW\n{runs}\n")
    serving_runs(36, seed=1).frame.write_csv(folder / "serving.csv")
    (folder / "space.toml").write_text("[knobs]\nnodes = [1, 2, 4, 8]\n")
    code = 'echo "{\\"runtime_s\\": $((400 / $1 + 9 * $1)), \\"power_w\\": $((250 * $1))}"'
    (folder / "solve").write_text(f"#!/bin/sh\n{code}\n")
    (folder / "solve").chmod(0o755)


with_python = [p for p in PAGES if blocks(p, "python")]
with_console = [p for p in PAGES if blocks(p, "console")]


@pytest.mark.slow
@pytest.mark.parametrize("page", with_python, ids=names(with_python))
def test_python_blocks_run_in_order(
    page: Path, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk)
    scope: dict[str, object] = {"__name__": "__docs__"}
    for code in blocks(page, "python"):
        exec(compile(code, str(page), "exec"), scope)


def commands(page: Path) -> list[str]:
    """Lines that begin with ``$ rheostat``, continuation lines joined."""
    lines = "\n".join(blocks(page, "console")).replace("\\\n", " ").splitlines()
    return [line[2:].split("#")[0].strip() for line in lines if line.startswith("$ rheostat")]


@pytest.mark.slow
@pytest.mark.parametrize("page", with_console, ids=names(with_console))
def test_console_commands_run(page: Path, desk: Path) -> None:
    for line in commands(page):
        argv = [sys.executable, "-m", "rheostat", *shlex.split(line)[1:]]
        done = subprocess.run(
            argv, cwd=desk, capture_output=True, text=True, timeout=200, check=False
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_links_resolve(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)", page.read_text())
    broken = [t for t in targets if "://" not in t and not (page.parent / t).exists()]
    assert not broken


def verbs() -> list[str]:
    """Command names, as the program lists them."""
    from typer.main import get_command

    from rheostat.cli.app import app

    return sorted(get_command(app).commands)  # type: ignore[attr-defined]


def test_every_command_is_documented() -> None:
    text = "\n".join(p.read_text() for p in PAGES)
    assert [v for v in verbs() if f"rheostat {v}" not in text] == []


def test_every_command_has_help_with_an_option_text() -> None:
    from typer.main import get_command

    from rheostat.cli.app import app

    bare = []
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        bare += [name] if not command.help else []
        bare += [f"{name} {p.name}" for p in command.params if not getattr(p, "help", None)]
    assert bare == []


@pytest.mark.slow
def test_reference_is_what_the_code_says() -> None:
    """`make docs` writes docs/reference.md; a stale page fails here."""
    script = ROOT / "docs" / "make_reference.py"
    made = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "90"},
    ).stdout
    assert made == (ROOT / "docs" / "reference.md").read_text()


def test_no_page_names_a_machine() -> None:
    found = [
        p.name for p in PAGES if re.search(r"(?<![\w.])/(work|root|opt|home|tmp)/", p.read_text())
    ]
    assert found == []


def gallery(name: str = "make_gallery") -> ModuleType:
    """The script that makes the gallery, or another page."""
    spec = spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


def test_the_gallery_shows_a_small_picture_of_every_command_that_has_one() -> None:
    made = gallery()
    assert (ROOT / "docs" / "gallery.md").read_text() == made.page()
    shown = {name for entry in made.GALLERY for name in entry.shows}
    sizes = {p.stem: p.stat().st_size for p in (ROOT / "docs" / "gallery").iterdir()}
    assert set(sizes) == shown
    assert max(sizes.values()) < 40_000
    assert sum(sizes.values()) < 600_000
    drawn = {name for name, flags in options().items() if "--figure" in flags}
    calls = [f"{entry.command} " for entry in made.GALLERY]
    assert {n for n in drawn if any(c.startswith(f"{n} ") for c in calls)} == drawn
    paged = {name for name, flags in options().items() if "--html" in flags}
    timed = {"code search", "code translate", "code refactor"}  # pictures of times just measured
    tables = {"measure", "code verify", "dnn predict", "site shadow"}  # no picture
    assert paged - drawn == tables | timed | {"site what-if"}  # power over time, as simulate's


def options() -> dict[str, set[str]]:
    """The flags of every command, those of groups included."""
    from typer.main import get_command

    from rheostat.cli.app import app

    found = {}
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        parts = getattr(command, "commands", {})
        for inner, leaf in parts.items() if parts else [("", command)]:
            found[f"{name} {inner}".strip()] = {flag for p in leaf.params for flag in p.opts}
    return found


@pytest.mark.slow
def test_every_command_of_the_gallery_can_be_typed(tmp_path: Path, monkeypatch) -> None:
    from typer.main import get_command

    from rheostat.cli.app import app

    made = gallery()
    made.write_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    for entry in made.GALLERY:
        words, command = shlex.split(entry.command), get_command(app)
        while hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
        command.make_context("rheostat", words)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["budget", "coschedule", "training"])
def test_the_gallery_is_what_the_commands_draw(name: str, tmp_path: Path) -> None:
    """The bytes, with the matplotlib that constraints.txt pins."""
    import matplotlib

    pinned = re.search(r"^matplotlib==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    if pinned is None or matplotlib.__version__ != pinned[1]:
        pytest.skip("another matplotlib draws other bytes")
    made = gallery()
    made.write_data(tmp_path)
    entry = next(e for e in made.GALLERY if name in e.shows)
    for drawn in made.draw(entry, tmp_path):
        assert drawn.read_bytes() == (ROOT / "docs" / "gallery" / drawn.name).read_bytes()


@pytest.mark.slow
def test_the_page_and_the_picture_of_the_demo_are_what_one_command_makes() -> None:
    import matplotlib

    made = gallery("make_demo")
    body, drawn = made.told()
    assert made.page(body) == made.PAGE.read_text()
    pinned = re.search(r"^matplotlib==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    if pinned is not None and matplotlib.__version__ == pinned[1]:
        assert drawn == made.PICTURE.read_bytes()
