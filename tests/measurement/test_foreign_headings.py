"""Headings and words of systems that nobody told of: what they say is read, or asked for."""

from __future__ import annotations

import pytest

from rheostat.core.jobs import Moment
from rheostat.measurement.runs import read_runs


@pytest.fixture
def jobs(tmp_path):
    def read(text, **options):
        path = tmp_path / "jobs.csv"
        path.write_text(text)
        return read_runs(path, **options)

    return read


def _said(table):
    return "\n".join(note.message for note in table.notes)


def test_a_column_of_words_for_ends_is_the_state_whatever_its_name(jobs):
    rows = "cfd,90,Succeeded\nmd,40,Failed\ncfd,80,Evicted\ncfd,70,\n"
    ended = jobs("app,runtime_s,phase\n" + rows)
    assert ended.frame["censored"].to_list() == [False, True, True, None]
    assert ended.schema["state"].known is Moment.END
    assert "state = phase" in _said(ended)
    assert "known before a run: app\n" in _said(ended) + "\n"


@pytest.mark.parametrize("text", [
    "app,runtime_s,mesh\ncfd,90,complete\nmd,40,partial\n",  # a setting: nothing failed
    "app,runtime_s,check,phase\ncfd,90,ok,failed\nmd,40,failed,ok\n",  # which of the two?
    "app,runtime_s,phase,exit_code\ncfd,90,ok,0\nmd,40,failed,0\n",  # another says it
])  # fmt: skip
def test_words_for_ends_are_no_state_where_they_may_be_something_else(jobs, text):
    assert "state" not in jobs(text).columns
