"""Slurm's hooks run in Lua: what they say and change, and that a job always passes."""

from __future__ import annotations

import hashlib
import json
import random
import re
import subprocess

import lupa
import polars as pl
import pytest

import rheostat as rh
from rheostat.decision.actuate.prolog import scripts
from rheostat.decision.submission.advice_file import SubmissionAdvice, advice_bytes
from rheostat.decision.submission.slurm_files import (
    ADVICE,
    SETTINGS,
    submission_files,
    with_caps,
)
from rheostat.errors import DataError
from rheostat.questions.site.ingest import ingest
from rheostat.questions.site.install import install, uninstall

ADVISED = {
    "app": ["cfd", "cfd", "md"], "user": ["alice", "bob", "bob"], "partition": ["batch"] * 3,
    "nodes_requested": [4, 4, 2], "nodes": [2, 4, 1], "status": ["advised", "kept", "advised"],
    "runtime_s_requested": [60.0, 60.0, 50.0], "runtime_s_advised": [90.0, 60.0, 70.0],
    "energy_j_requested": [5e4, 5e4, 4e4], "energy_j_advised": [3e4, 5e4, 3e4],
    "energy_j_change": [-0.4, 0.0, -0.25], "submit_s": [1.0, 2.0, 3.0],
}  # fmt: skip


class Hooks:
    """Both scripts with the functions that Slurm gives them."""

    def __init__(self, folder, mode, share=0.5):
        install(pl.DataFrame(ADVISED), folder, mode=mode, share=share)
        self.lua, self.said, self.logged = lupa.LuaRuntime(), [], []
        slurm = {"SUCCESS": 0, "ERROR": -1, "log_user": lambda form, *a: self.said.append(a[0]),
                 "log_info": lambda form, *a: self.logged.append(a[0])}  # fmt: skip
        self.lua.globals().slurm = self.lua.table_from(slurm)
        for name in ("cli_filter.lua", "job_submit.lua"):
            self.lua.execute((folder / name).read_text())

    def submit(self, **fields):
        job = self.lua.table_from({"min_nodes": 4, "max_nodes": 4, "name": "cfd", **fields})
        assert self.lua.globals().slurm_job_submit(job, None, 1001) == 0
        return job

    def asked(self, **options):
        named = {k.replace("_", "-"): v for k, v in options.items()}
        given = self.lua.table_from(named)
        assert self.lua.globals().slurm_cli_pre_submit(given, 0) == 0
        return dict(given) == named


@pytest.mark.parametrize("mode", ["record", "suggest"])
def test_a_job_is_as_it_was_unless_the_mode_is_set(tmp_path, mode):
    hooks = Hooks(tmp_path, mode)
    fields = {"min_nodes": 4, "max_nodes": 4, "name": "cfd", "user_name": "alice"}
    assert dict(hooks.submit(user_name="alice")) == fields
    assert hooks.said == []
    assert hooks.logged == [f"rheostat: uid=1001 name=cfd nodes=4 advised=2 mode={mode}"]


def test_set_gives_the_advised_nodes_and_says_so(tmp_path):
    hooks = Hooks(tmp_path, "set")
    job = hooks.submit(user_name="alice")
    assert (job.min_nodes, job.max_nodes) == (2, 2)
    words = "rheostat: 4 nodes: 1m, 50 kJ; 2 nodes: 1m 30s, 30 kJ; --nodes=2 saves 40 %"
    assert hooks.said[0].startswith(words)


@pytest.mark.parametrize(
    "fields",
    [{"user_name": "bob"}, {"name": "other"}, {"name": None}, {"comment": "a rheostat=off"},
     {"min_nodes": 4294967294}, {"max_nodes": 8}, {"array_inx": "1-9"}, {"min_nodes": None},
     {"num_tasks": 64}, {"name": "x\ty"}, {"min_nodes": 3, "max_nodes": 3}],
    ids=str,
)  # fmt: skip
def test_set_leaves_alone_what_it_does_not_know_or_was_told_not_to(tmp_path, fields):
    hooks = Hooks(tmp_path, "set")
    given = {"min_nodes": 4, "max_nodes": 4, "name": "cfd", "user_name": "alice", **fields}
    job = hooks.submit(**given)
    assert {k: job[k] for k in given} == given
    assert hooks.said == []


def test_who_is_unknown_gets_the_advice_of_the_newest_of_that_application(tmp_path):
    hooks = Hooks(tmp_path, "record")
    hooks.submit(user_name="carol")  # bob's is newer than alice's
    hooks.submit(user_name="carol", name="md", min_nodes=2, max_nodes=2)
    assert [said.split()[4] for said in hooks.logged] == ["advised=4", "advised=1"]


@pytest.mark.parametrize("user", ["carol", "", None])
def test_no_job_is_changed_by_what_another_user_ran(tmp_path, user):
    hooks = Hooks(tmp_path, "set")
    for asked in ({"name": "cfd"}, {"name": "md", "min_nodes": 2, "max_nodes": 2}):
        job = hooks.submit(user_name=user, **asked)
        assert job.min_nodes == asked.get("min_nodes", 4)
    assert not hooks.said + hooks.logged
    own = pl.DataFrame(ADVISED).drop("user")  # a table without users: the site's own choice
    install(own, tmp_path, mode="set")
    assert hooks.submit(user_name=user, name="md", min_nodes=2, max_nodes=2).min_nodes == 1


def test_the_filter_tells_who_submits_and_changes_nothing(tmp_path, monkeypatch):
    hooks = Hooks(tmp_path, "suggest")
    hooks.lua.globals().os.getenv = lambda name: "alice"
    assert hooks.asked(nodes="4-4", job_name="cfd", partition="batch")
    assert hooks.asked(nodes="4", job_name="cfd")
    assert [s.partition(";")[0] for s in hooks.logged] == ["rheostat: 4 nodes: 1m, 50 kJ"] * 2
    assert hooks.asked(nodes="7", job_name="cfd")
    assert hooks.asked()
    assert len(hooks.logged) == 2


@pytest.mark.parametrize("damage", [b"", b"x", b"rheostat-advice/1 9999999 ", b"\0" * 4000, None])
def test_a_damaged_or_absent_file_of_advice_lets_the_job_pass(tmp_path, damage):
    hooks = Hooks(tmp_path, "set")
    path = tmp_path / ADVICE
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    assert hooks.submit(user_name="alice").min_nodes == 4


def test_slurm_functions_that_fail_let_the_job_pass(tmp_path):
    hooks = Hooks(tmp_path, "set")
    hooks.lua.globals().slurm.log_info = None
    assert hooks.submit(user_name="alice").min_nodes == 4


def test_every_key_of_a_large_file_is_where_lua_looks(tmp_path):
    names = [f"app{random.Random(k).getrandbits(40):x}" for k in range(5000)]
    every = [SubmissionAdvice("", n, "", 8, k % 7 + 1, f"w{k}") for k, n in enumerate(names)]
    path = tmp_path / ADVICE
    path.write_bytes(advice_bytes(every))
    lua = lupa.LuaRuntime()
    text = submission_files(str(tmp_path), "record", b"")["job_submit.lua"].decode()
    lua.execute(
        "slurm = {}\n" + text.replace("local function rheostat_advice", "function rheostat_advice")
    )
    look = lua.globals().rheostat_advice
    assert all(look(str(path), "u", a.app, "p", "8").words == a.words for a in every)
    assert look(str(path), "u", "none", "p", "8") is None


def test_a_file_of_the_site_is_not_written_over_and_a_dry_run_writes_nothing(tmp_path):
    install(pl.DataFrame(ADVISED), tmp_path, dry_run=True)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "job_submit.lua").write_text("-- the site's")
    (tmp_path / "slurm.conf").write_text("ClusterName=x\nCliFilterPlugins=own\n")
    with pytest.raises(DataError) as refused:
        install(pl.DataFrame(ADVISED), tmp_path)
    assert "job_submit.lua is there and not ours" in str(refused.value)
    assert "CliFilterPlugins=own" in str(refused.value)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["job_submit.lua", "slurm.conf"]


def test_uninstall_leaves_the_site_as_it_was(tmp_path):
    conf = tmp_path / "slurm.conf"
    conf.write_text("ClusterName=x\n")
    install(pl.DataFrame(ADVISED), tmp_path)
    install(pl.DataFrame(ADVISED), tmp_path, mode="set")  # again, in another mode
    conf.write_text(f"ClusterName=x\ninclude {SETTINGS}\n")
    with pytest.raises(DataError, match="remove it"):
        uninstall(tmp_path)
    conf.write_text("ClusterName=x\n")
    uninstall(tmp_path, dry_run=True)
    assert (tmp_path / "job_submit.lua").exists()
    assert {c.change for c in uninstall(tmp_path).changes} == {"removed"}
    assert [p.name for p in tmp_path.iterdir()] == ["slurm.conf"]
    with pytest.raises(DataError, match="nothing is installed"):
        uninstall(tmp_path)


def test_every_file_says_how_it_is_taken_out_and_scripts_stay_scripts(tmp_path):
    hooks = scripts("/shared/plan.json", "/var/lib/rheostat")
    files = with_caps(submission_files("/etc/slurm", "set", b"x\n"), "/etc/slurm", hooks)
    assert sorted(files)[3:] == ["rheostat-epilog.sh", "rheostat-prolog.sh", "rheostat.conf"]
    way = b"rheostat site uninstall --etc /etc/slurm\n"
    assert [name for name, content in files.items() if way not in content] == []
    for name in ("prolog.sh", "epilog.sh"):
        script = tmp_path / name
        script.write_bytes(files[f"rheostat-{name}"])
        assert script.read_bytes().startswith(b"#!/bin/sh\n# To take it out")
        assert subprocess.run(["sh", "-n", str(script)], check=False).returncode == 0


def test_what_was_changed_since_is_left(tmp_path):
    install(pl.DataFrame(ADVISED), tmp_path)
    (tmp_path / "cli_filter.lua").write_text("-- mine now")
    answer = uninstall(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["cli_filter.lua"]
    assert "left: " in answer.hints[0] or "left" in answer.hints[0]


@pytest.mark.parametrize("name", ["../kept", "/etc/passwd", "", "..", 7])
def test_a_list_that_names_files_elsewhere_takes_nothing_out(tmp_path, name):
    """A list that somebody changed."""
    etc, kept = tmp_path / "etc", tmp_path / "kept"
    etc.mkdir()
    kept.write_text("x")
    install(pl.DataFrame(ADVISED), etc)
    sums = {name: hashlib.sha256(b"x").hexdigest()} if isinstance(name, str) else name
    (etc / "rheostat-installed.json").write_text(json.dumps({"files": sums, "before": {}}))
    for again in (uninstall, lambda to: install(pl.DataFrame(ADVISED), to)):
        with pytest.raises(DataError, match="names and check sums of files beside it"):
            again(etc)
    assert kept.exists()


def test_a_name_writes_no_line_of_its_own_into_slurmctlds_log(tmp_path):
    """Nor moves the cursor of who reads it."""
    odd = "cfd\r\x1b[2Jslurmctld: error"
    hooks = Hooks(tmp_path, "record")
    advice = SubmissionAdvice("", odd, "", 4, 2, "words")
    (tmp_path / ADVICE).write_bytes(advice_bytes([advice]))
    hooks.submit(name=odd)
    assert hooks.logged[0].split(" nodes=")[0] == (
        "rheostat: uid=1001 name=cfd??[2Jslurmctld: error"
    )


def test_an_installation_that_was_killed_is_finished_or_taken_out(tmp_path, monkeypatch):
    from rheostat.decision.submission import slurm_files

    real, left = slurm_files.replace_file, [3]

    def killed(path, content):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        real(path, content)

    monkeypatch.setattr(slurm_files, "replace_file", killed)
    with pytest.raises(KeyboardInterrupt):
        install(pl.DataFrame(ADVISED), tmp_path)
    monkeypatch.setattr(slurm_files, "replace_file", real)
    install(pl.DataFrame(ADVISED), tmp_path, mode="suggest")
    uninstall(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_advice_of_another_type_is_refused_before_anything_is_written(tmp_path):
    frame = pl.DataFrame(ADVISED).with_columns(nodes=pl.lit("2024-01-0"), energy_j_change=1e308)
    with pytest.raises(DataError) as refused:
        install(frame, tmp_path)
    assert [p.split(":")[0] for p in refused.value.problems] == ["energy_j_change", "nodes"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("etc", ["relative", "/etc/a b", '/etc/"', "/etc/../x"])
def test_odd_folders_and_modes_are_refused(etc):
    with pytest.raises(DataError, match="--etc"):
        submission_files(etc, "record", b"")
    with pytest.raises(DataError, match="--mode"):
        submission_files("/etc", "all", b"")


def drawn_arms(hooks, count, **fields):
    """The arm that each of many submissions was drawn for, as accounting keeps it."""
    given = {"user_name": "alice", "min_nodes": 4, "max_nodes": 4, "name": "cfd", **fields}
    jobs = [hooks.submit(**given) for _ in range(count)]
    notes = [re.fullmatch(r"rheostat trial=(\w+) nodes=4", j.admin_comment)[1] for j in jobs]
    assert [(j.min_nodes, j.max_nodes) for j in jobs] == [
        (2, 2) if arm == "advised" else (4, 4) for arm in notes
    ]
    return notes


@pytest.mark.parametrize(("cores", "left"), [(64, 32), (4, 2), (5, 3), (1, 1), (4294967294,) * 2])
def test_half_the_nodes_have_half_the_cores(tmp_path, cores, left):
    hooks = Hooks(tmp_path, "set")
    assert hooks.submit(user_name="alice", min_cpus=cores).min_cpus == left


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_a_trial_changes_its_share_of_the_jobs_and_no_neighbour_tells_of_another(tmp_path, share):
    hooks = Hooks(tmp_path, "trial", share)
    hooks.lua.globals().os.time = lambda: 1_790_000_000
    arms = [a == "advised" for a in drawn_arms(hooks, 4000)]
    spread = (share * (1 - share) / 4000) ** 0.5
    assert abs(sum(arms) / 4000 - share) < 4 * spread
    for lag in (1, 2, 3, 10):
        both = sum(a and b for a, b in zip(arms, arms[lag:], strict=False)) / (4000 - lag)
        exact = share**2 * (1 + 2 * share - 3 * share**2)  # of pairs that follow one another
        assert abs(both - share**2) < 4 * (exact / 4000) ** 0.5, lag
    assert len(hooks.said) == sum(arms)


@pytest.mark.parametrize("fields", [{"user_name": "bob"}, {"num_tasks": 64}, {"array_inx": "1-9"},
                                    {"comment": "rheostat=off"}], ids=str)  # fmt: skip
def test_a_job_that_set_would_leave_alone_is_in_no_arm_of_a_trial(tmp_path, fields):
    hooks = Hooks(tmp_path, "trial")
    given = {"user_name": "alice", "min_nodes": 4, "max_nodes": 4, "name": "cfd", **fields}
    assert hooks.submit(**given).admin_comment is None


def test_what_a_trial_notes_of_a_job_is_read_from_accounting(tmp_path):
    hooks = Hooks(tmp_path, "trial", 0.99)
    job = hooks.submit(user_name="alice", admin_comment="the site's own")
    lines = ["JobID|State|Submit|Elapsed|ReqNodes|AdminComment"]
    lines += [f"{k}|COMPLETED|2026-10-01T00:00:00|00:02:00|{n}|{note}"
              for k, n, note in ((7, job.min_nodes, job.admin_comment), (8, 16, ""))]  # fmt: skip
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join(lines) + "\n")
    store = tmp_path / "store"
    ingest(store, path)
    read = rh.read(store).frame.sort("job_id")
    assert job.admin_comment == "the site's own rheostat trial=advised nodes=4"
    assert read.select("nodes", "nodes_requested", "trial_arm").rows() == [
        (2, 4, "advised"), (16, 16, None)]  # fmt: skip
