"""Of rows of mean and deviation the mean is the run; runs set aside by a word do not count."""

from __future__ import annotations

import pytest

import rheostat as rh
from rheostat.measurement.runs.reader import read_runs


def table(tmp_path, text):
    (file := tmp_path / "runs.csv").write_text(text)
    return read_runs(file)


@pytest.mark.parametrize("words", ["mean std", "Mean Stdev", "median iqr", "avg min max", "mean n"])
def test_the_rows_of_the_mean_are_the_runs(words, tmp_path):
    kinds = words.split()
    rows = "".join(f"{k},{n},{t if k == kinds[0] else 5},90\n"
                   for n, t in ((1, 400), (2, 210)) for k in kinds)  # fmt: skip
    jobs = table(tmp_path, f"stat,nodes,time_s,energy_kJ\n{rows}")
    assert jobs.frame["runtime_s"].to_list() == [400, 210]
    said = [n for n in jobs.notes if "no run, the row of the" in n.message]
    assert [(n.count, n.dropped) for n in said] == [(2 * (len(kinds) - 1), True)]


@pytest.mark.parametrize("words", ["mean mode", "std max", "fast mean"])
def test_other_words_are_kinds_of_runs(words, tmp_path):
    rows = "".join(f"{k},{n},{t},90\n" for n, t in ((1, 400), (2, 210)) for k in words.split())
    assert len(table(tmp_path, f"kind,nodes,time_s,energy_kJ\n{rows}")) == 4


@pytest.mark.parametrize("words", ["mean std", "Std", "avg min max", "Mittelwert Stdabw", "median"])
@pytest.mark.parametrize("heading", ["run", "Trial No", "statistic"])
def test_statistics_beside_numbered_runs_are_none(heading, words, tmp_path):
    each = ["1", "2", *words.split()]
    rows = "".join(f"{r},{n},{t if r in '12' else 5},90\n"
                   for n, t in ((1, 400), (2, 210)) for r in each)  # fmt: skip
    jobs = table(tmp_path, f"{heading},nodes,time_s,energy_kJ\n{rows}")
    assert jobs.frame["runtime_s"].to_list() == [400, 400, 210, 210]
    said = [n for n in jobs.notes if "no run, but a statistic" in n.message]
    assert [(n.count, n.dropped) for n in said] == [(2 * len(words.split()), True)]
    assert not any("two kinds" in n for n in front(jobs).notes)


def front(jobs):
    return rh.front(jobs, knobs="nodes=1,2", rule="weighted=runtime_s:1")


@pytest.mark.parametrize(
    ("heading", "words"),
    [
        ("governor", "1 2 max"),
        ("clock", "800 1200 min"),
        ("run", "1 mean"),  # of one run there are no statistics
        ("run", "1 2 quiet"),
        ("run", "1 2 3"),
    ],
)
def test_a_setting_called_by_a_word_and_other_names_of_runs_stay(heading, words, tmp_path):
    rows = "".join(f"{r},{n},{t},90\n" for n, t in ((1, 400), (2, 210)) for r in words.split())
    assert len(table(tmp_path, f"{heading},nodes,time_s,energy_kJ\n{rows}")) == 2 * len(
        words.split()
    )


@pytest.mark.parametrize("word", ["warmup", "warm-up", "Burn-in", "discarded", "outlier"])
def test_a_run_that_was_set_aside_does_not_count(word, tmp_path):
    jobs = table(tmp_path, f"nodes,time_s,kind\n1,400,{word}\n1,300,timed\n2,160,timed\n")
    assert jobs.frame["censored"].to_list() == [True, False, False]


def test_where_all_were_set_aside_all_count(tmp_path):
    jobs = table(tmp_path, "nodes,time_s,kind\n1,400,warmup\n2,300,warmup\n")
    assert "censored" not in jobs.columns


@pytest.mark.parametrize("heading", ["dataset", "Input case", "model name"])
def test_what_ran_may_be_called_so(heading, tmp_path):
    jobs = table(tmp_path, f"nodes,time_s,{heading}\n1,400,outlier\n1,300,plain\n2,160,plain\n")
    assert "censored" not in jobs.columns
