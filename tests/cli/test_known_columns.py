"""A column of one's own that explains the run time is named, and used where it is known."""

from __future__ import annotations

import json

import numpy as np

from rheostat.cli import run


def log(tmp_path, name="past.csv", *, ended=True):
    rng = np.random.default_rng(1)
    lines = ["job_id,app,submit_time,nodes,mesh_mcells" + ",runtime_s,power_w" * ended]
    for i in range(240 if ended else 3):
        mesh, nodes = round(float(np.exp(rng.normal(3, 0.8))), 1), int(rng.choice([1, 2, 4, 8]))
        took = 60 * mesh / nodes**0.8
        line = f"{i},a{i % 3},2026-10-{1 + i // 24:02d}T{i % 24:02d}:00:00,{nodes},{mesh}"
        lines.append(line + f",{took:.1f},{nodes * 300}" * ended)
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    return str(tmp_path / name)


def test_what_is_not_used_is_said_with_what_to_type(tmp_path, capsys) -> None:
    past, out = log(tmp_path), str(tmp_path / "m.rheo")
    fit = ["fit", past, "--kind", "boosting", "--out", out, "--json"]
    assert run(fit) == 0
    shown = capsys.readouterr()
    assert "--known mesh_mcells=submit" in " ".join(shown.err.split())
    before = json.loads(shown.out)
    assert run([*fit, "--known", "mesh_mcells=submit"]) == 0
    shown = capsys.readouterr()
    assert "not used" not in shown.err
    after = json.loads(shown.out)
    assert "mesh_mcells" in after["features"]
    errors = [d["accuracy"]["runtime_s"]["error"] for d in (before, after)]
    assert errors[1] < errors[0] / 2
    assert run(["predict", log(tmp_path, "new.csv", ended=False), "--model", out, "--json"]) == 0
    values = [job["runtime_s"] for job in json.loads(capsys.readouterr().out)["jobs"]]
    assert len(set(values)) == 3
    assert np.isfinite(values).all()
