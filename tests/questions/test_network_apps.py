"""Which applications of a run are asked about."""

from __future__ import annotations

import pytest

from rheostat.errors import DataError
from rheostat.questions.network.runs import applications, opened


def test_of_too_many_applications_some_have_to_be_named(tmp_path, monkeypatch):
    file = tmp_path / "times.csv"
    rows = [f"a{i % 3},{i // 3},0,0.5" for i in range(3 * 40)] + ["short,0,0,0.5"]
    file.write_text("\n".join(["app,iteration,rank,runtime_s", *rows]))
    run = opened(file)
    assert applications(run, ()) == ["a0", "a1", "a2"]
    monkeypatch.setattr("rheostat.questions.network.runs.MOST_APPS", 3)
    with pytest.raises(DataError, match="at most 3 applications, got 4: name some by --app"):
        applications(run, ())
    assert applications(run, "a1") == ["a1"]
