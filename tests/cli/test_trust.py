"""A file of defaults that somebody else left in the folder runs nothing; what a shell would say."""

import json
from pathlib import Path

import pytest
import typer

from rheostat.cli import run
from rheostat.cli.app import app
from rheostat.cli.config import HARMLESS, defaults, is_harmless
from rheostat.measurement.commands.command import parse


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


def test_code_that_a_table_names_is_not_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text("open('ran', 'w')\n")
    rows = "".join(f"net,A,32,10,{b},0.{b},evil.py:step\n" for b in (8, 16, 32))
    names = "app,device,image_px,classes,batch_size,runtime_s,graph\n"
    (tmp_path / "runs.csv").write_text(names + rows)
    assert run(["dnn", "fit", "runs.csv", "--out", "made"]) == 1
    assert "evil.py:step: no such file" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()


ROOT = typer.main.get_command(app)
NEEDS_TRUST = {
    "names a file or a folder": """
        admit advice agent allocation alternatives cache encoder endpoint estimates etc export
        figure fitted folder from gguf graphs grid hecbench heuristics html input journal journals
        junit kernels larger-gguf limits machine manifest map memory model model-config models
        net nodes out output past patch plan policies policy power-model predict prior program
        queue rapl rapl-root record reference replay results sarif save schedule served set source
        store symbolic trace traces transcript tree trial tried work workload
        symbolic telemetry trace traces transcript tree trial tried work workload
    """,
    "names a program, an address or a model": """
        arguments base-url check dask host image larger larger-url measure meters model-name
        allowed-host engine option per-tenant perf port priority sacct sandbox slurm
        tenant-header upstream version
    """,
    "checks less, or confines less": """
        tokens new-token of-user
        accept all atol force judge least-work no-output-check one-run only require reviewed rtol
        rungs own-build trust-config unsafe-no-sandbox
    """,
    "spends: time, money, watts, runs": """
        capped longer
        ageing apps batch-cap body-limit budget cache-tokens chunk compile corrections count
        delay depth domains dry-run epochs exact extra faithful features frequency gpu gpus
        head-start hysteresis idle in-flight install-completion interval iterations jobs
        jobsets joules latex lead learn load max-tokens max-wait most-changes mode most-tokens
        networks newlines-deleted node noise orders out-of-core overlap pairs patience phases power
        power-cap prefill-replicas prefix-cache processes python rate reclaim repeat repeats
        requests rounds routing samples search seconds self-prompting settle show-completion
        since sizes step steps stop-after temperature threads timeout to transfer demo
        unlimited-corrections until updates version waiting window workers
    """,
}


def commands(command=ROOT, where=()):
    """Every command and group of the tree, with its words."""
    yield where, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*where, name))


def options():
    return [(w, p) for w, c in commands() for p in c.params if p.opts[0].startswith("-")]


def test_each_option_of_each_command_is_harmless_or_needs_trust():
    """A new one needs trust until it is put into one of the lists."""
    flags = {next(o for o in p.opts if o.startswith("--"))[2:] for _, p in options()}
    trusted = {n for names in NEEDS_TRUST.values() for n in names.split()}
    new, gone = flags - HARMLESS - trusted, (HARMLESS | trusted) - flags
    assert not new, "needs trust until it is listed: in NEEDS_TRUST here, or in config.HARMLESS"
    assert not gone
    assert not HARMLESS & trusted
    for where, param in options():
        if is_harmless(param):
            assert "Path" not in str(param.type_descriptor.annotation), (where, param.name)
    assert not any(is_harmless(p) for _, c in commands() for p in c.params if p.opts[0][0] != "-")


def test_a_folders_file_sets_what_is_harmless_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = ["trust_config = true"]
    for where, command in commands():
        if where and not hasattr(command, "commands"):
            names = {p.opts[0].lstrip("-") if len(p.opts) == 1 else p.name for p in command.params}
            lines += [f"[{'.'.join(where)}]", *(f'"{n}" = 1' for n in sorted(names))]
    Path("rheostat.toml").write_text("\n".join(lines))
    found, whole = defaults(ROOT), defaults(ROOT, trust=True)
    for where, command in commands():
        if hasattr(command, "commands"):
            continue
        values, all_of_them = found.values, whole.values
        for word in where:
            values, all_of_them = values[word], all_of_them[word]
        assert set(values) == {p.name for p in command.params if is_harmless(p)}
        assert set(all_of_them) == {p.name for p in command.params}
        aside = {name for at, name in found.untrusted if at == where}
        assert len(aside) == len(command.params) - len(values)
    assert ((), "trust_config") in found.untrusted
    assert whole.untrusted == found.unknown == whole.unknown == []


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("[search]\nmeasure = 'touch ran'", "[search] measure"),
        ("[search]\nhtml = 'x'", "[search] html"),
        ("[search]\nspace = 'space.toml'", "[search] space"),
        ("[search]\nmesure = 'x'", "[search] mesure"),
        ("[serch]\nmeasure = 'x'", "serch"),
        ("search = 3", "search"),
    ],
)
def test_what_is_left_aside_is_said(table, said, folder, capsys):
    (folder / "rheostat.toml").write_text(table)
    assert run(["search", "space.toml", "--measure", "echo 1", "--budget", "1",
                "--objectives", "runtime_s", "--json"]) == 0  # fmt: skip
    told = capsys.readouterr()
    note = next(line for line in told.err.splitlines() if said in line)
    assert ("--trust-config" in note) is (said.split()[-1] in ("measure", "html", "space"))
    assert json.loads(told.out)["evaluations"] == 1
    assert not (folder / "ran").exists()
    assert run(["doctor", "--json"]) == 0
    assert (said in capsys.readouterr().err) is ("[" not in said)  # the command's own alone


def test_an_option_is_set_by_its_flag_whatever_the_code_calls_it(folder, capsys):
    (folder / "r.csv").write_text("app,nodes,runtime_s\na,1,2\n")
    (folder / "rheostat.toml").write_text('[read]\nformat = "swf"\n')
    assert run(["read", "r.csv"]) == 1
    assert "not SWF" in capsys.readouterr().err


def test_the_users_file_sets_everything_and_the_folders_beats_it(folder, monkeypatch):
    monkeypatch.setattr("platformdirs.user_config_path", lambda *_, **__: folder / "mine")
    (folder / "mine").mkdir()
    (folder / "mine" / "config.toml").write_text(
        '[llm.fit]\nsave = "x"\nseed = 1\n[llm.plan]\nseed = 2\n'
    )
    (folder / "rheostat.toml").write_text("[llm.fit]\nseed = 3\n")
    assert defaults(ROOT).values["llm"] == {"fit": {"save": "x", "seed": 3}, "plan": {"seed": 2}}


def test_a_command_that_is_not_there_is_127_and_one_that_may_not_run_126(tmp_path, capsys):
    assert run(["measure", "--", "no-such-program-anywhere"]) == 127
    assert "no-such-program-anywhere" in capsys.readouterr().err
    (tmp_path / "text").write_text("not a program")
    assert run(["measure", "--", str(tmp_path / "text")]) == 126


def test_words_after_the_dashes_belong_to_the_command(capfd):
    assert run(["measure", "--", "echo", "--trust-config"]) == 0
    assert "--trust-config" in capfd.readouterr().out


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_what_is_no_finite_number_is_no_measurement(text):
    assert parse(text) == {}


def test_an_option_of_a_format_may_be_a_fraction():
    from rheostat.questions.parse import parse_reader_options

    typed = ["a=2.0", "b=4", "c=bt", "d=a,b"]
    assert parse_reader_options(options=typed) == {"a": 2.0, "b": 4, "c": "bt", "d": ["a", "b"]}


def test_nothing_of_what_a_folders_file_links_to_is_shown(folder, capsys):
    (folder / "secret").write_text("hidden:*:20228:0:99999:7:::\n")
    (folder / "rheostat.toml").unlink()
    (folder / "rheostat.toml").symlink_to("secret")
    assert run(["read", "runs.csv"]) == 1
    said = capsys.readouterr().err
    assert "rheostat.toml: expected TOML: " in said
    assert "line 1" in said
    assert "hidden" not in said
    assert "20228" not in said
