"""A setting whose repeat is worth more than a new setting is asked again."""

import json
import re

import numpy as np
import pytest

from rheostat.cli import run
from rheostat.core.outcome import GRADES
from rheostat.tradeoff.measured_cells import better_unmeasured, expected_front, tell_runs
from rheostat.tradeoff.propose import Sobol
from rheostat.tradeoff.propose.lookahead import value_of_a_run
from rheostat.tradeoff.propose.observations import merged
from rheostat.tradeoff.propose.proposer import proposer
from rheostat.tradeoff.rules import Weighted
from rheostat.tradeoff.search import search

from rheostat import Knob, Outcome, Space, table  # isort: skip

NODES = Knob("nodes", [1, 2, 4, 8, 16, 32])


def runs(noise, repeats=2, seed=0):
    """All nodes but the last, ``repeats`` runs each, of a code that is fastest on 4 nodes."""
    rng = np.random.default_rng(seed)
    n = np.repeat(NODES.values[:-1], repeats)
    runtime = (100 / np.minimum(n, 4) * np.maximum(n / 4, 1)) * np.exp(
        noise * rng.standard_normal(len(n))
    )
    return table({"nodes": n, "runtime_s": runtime, "power_w": 100.0 * n})


def asked(noise):
    """What is asked after a table on which a repeat is worth more (of ten, four are such)."""
    asker = proposer("law", NODES, ("runtime_s", "energy_j"), budget=6)
    tell_runs(asker, runs(noise, seed=3))
    return asker.ask().frame["nodes"].to_list()


@pytest.mark.filterwarnings("ignore")
def test_noise_asks_again_and_exact_runs_do_not():
    pytest.importorskip("torch")
    assert asked(0.001) == [32]
    assert asked(0.2)[0] in NODES.values[:-1]


def test_a_run_is_worth_what_it_can_change():
    rng = np.random.default_rng(1)
    middle = np.array([[0.0, 1.0], [0.5, 0.5], [0.51, 0.49], [0.52, 0.52], [1.0, 0.0]])
    logs = middle + 0.1 * rng.standard_normal((4000, 5, 2))
    values = [value_of_a_run(logs, np.full(2, v), [1, 2, 3]) for v in (1e9, 0.01, 0.0)]
    assert values[0][1:4] == pytest.approx(0, abs=1e-4)  # a run that tells nothing
    assert (values[0][1:4] < values[1][1:4]).all()
    assert (values[1][1:4] < values[2][1:4]).all()
    assert value_of_a_run(middle[None], np.ones(2), [1, 2, 3])[1:4] == pytest.approx(0, abs=1e-12)


def test_repeats_are_draws_of_one_setting():
    space = Space.of(NODES)
    rows = Outcome(
        {"runtime_s": np.array([[1.0, 5.0, 3.0]]), "power_w": np.array([[2.0, 2.0, 2.0]])}
    )
    jobs, whole = merged(space, table({"nodes": [1, 2, 1]}), rows)
    assert jobs.frame["nodes"].to_list() == [1, 2]
    assert whole.mean("runtime_s").tolist() == [2.0, 5.0]
    assert whole.mean("energy_j").tolist() == [4.0, 10.0]

    class Twice:
        space, objectives = Space.of(NODES), proposer("sobol", NODES, ("runtime_s",)).objectives

        def __init__(self):
            self.values = iter([1.0, 9.0])

        def ask(self, n=1):
            return table({"nodes": [4]})

        def tell(self, jobs, outcome):
            pass

    twice = Twice()
    front = search(twice, lambda row: Outcome({"runtime_s": np.array([[next(twice.values)]])}), 2)
    assert len(front) == 1
    assert front.mean("runtime_s").tolist() == [5.0]


def test_next_and_search_say_in_the_same_words_that_a_setting_is_measured_already(tmp_path, capsys):
    pytest.importorskip("torch")
    file = tmp_path / "runs.csv"
    runs(0.2, seed=3).frame.write_csv(file)
    knob = "nodes=" + ",".join(map(str, NODES.values))
    assert run(["next", str(file), "--knob", knob, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["next"][0]
    assert first["repeat"]
    assert first["setting"]["nodes"] != 32
    assert run(["next", str(file), "--knob", knob]) == 0
    told = capsys.readouterr().err
    nodes = first["setting"]["nodes"]
    said = re.search(r"\d+ nodes?: measured already, but runs differ so much.*?\.", told)
    assert said
    space = tmp_path / "space.toml"
    space.write_text(f"[knobs]\nnodes = {list(NODES.values)}\n")
    program = """echo '{{"runtime_s": 30, "power_w": 400}}'"""
    given = ["--measure", program, "--from", str(file), "--budget", "1", "--json"]
    assert run(["search", str(space), *given]) == 0
    out, err = capsys.readouterr()
    assert said[0] in err.splitlines()
    assert json.loads(out)["repeats"] == [{"nodes": nodes}]


class Guessing(Sobol):
    """Sobol' points, with a forecast of so many seconds for what was not measured."""

    seconds = 8.0

    def forecast(self, settings):
        return Outcome({"runtime_s": np.full((2, len(settings)), self.seconds)})


def test_what_is_expected_stands_beside_what_was_measured() -> None:
    searcher = Guessing(Knob("nodes", [1, 2, 4, 8]), ("runtime_s",))
    assert expected_front(searcher) is None
    tell_runs(searcher, table({"nodes": [1, 1, 4], "runtime_s": [9.0, 11.0, 4.0]}))
    front = expected_front(searcher)
    assert front.mean("runtime_s").tolist() == [10.0, 8.0, 4.0, 8.0]
    grades = [GRADES[g] for g in front.outcome.grade]
    assert grades == ["measured", "interpolated", "measured", "borrowed"]
    assert front.outcome.support.tolist() == [1.0, 0.0, 1.0, 0.0]
    fastest = Weighted({"runtime_s": 1.0})
    assert better_unmeasured(searcher, fastest) is None
    searcher.seconds = 3.0
    assert better_unmeasured(searcher, fastest).setting == {"nodes": 2}
    searcher.forecast = lambda settings: None
    assert expected_front(searcher) is None
    assert better_unmeasured(searcher, fastest) is None
