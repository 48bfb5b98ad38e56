"""Plans of queues, orders, trials and journals, against the same in plain loops."""

from __future__ import annotations

import hashlib
import json
import os
import zlib

import numpy as np
import pytest

from rheostat import table
from rheostat.decision.actuate.cap_journal import CapEntry, CapJournal
from rheostat.decision.coschedule.expected_schedule import ExpectedSchedule, NodeSite, Plan
from rheostat.decision.coschedule.gpu_profiles import Mode
from rheostat.decision.coschedule.packed import Packed, _by_deadlines, _by_rules, _columns
from rheostat.decision.policies.priority_functions import PRIORITY_FUNCTIONS, priority_function
from rheostat.decision.trials.trial import plan_trial, probabilities
from rheostat.errors import DataError

OPTIONS = [
    tuple(Mode("p", g, 100.0 / g**0.5, 100.0 * g) for g in (1, 2, 4)),
    tuple(Mode("q", g, 60.0 / g**0.9, 120.0 * g) for g in (1, 2)),
    (Mode("r", 3, 20.0, 500.0),),
]


def test_modes_are_chosen_by_sixteen_deadlines_and_four_prices() -> None:
    count, site = np.array([3.0, 5.0, 1.0]), NodeSite(4, 2, 40.0)
    shortest = max(min(m.runtime_s for m in ms) for ms in OPTIONS)
    least = (
        sum(c * min(m.runtime_s * m.gpus for m in ms) for c, ms in zip(count, OPTIONS, strict=True))
        / 4
    )
    wanted = []
    for price in (0.0, 1.0, 2.0, 4.0):
        for d in np.geomspace(max(shortest, least / 2), max(2 * least, shortest), 16):
            pick = []
            for modes in OPTIONS:
                cost = [m.energy_j + price * 40.0 * m.gpus * m.runtime_s if m.runtime_s <= d
                        else np.inf for m in modes]  # fmt: skip
                pick.append(int(np.argmin(cost)))
            wanted.append(pick)
    assert [p.tolist() for p in _by_deadlines(OPTIONS, count, site)] == wanted
    rules = [p.tolist() for p in _by_rules(OPTIONS)]
    assert rules[:4] == [[2, 1, 0]] * 3 + [[0, 0, 0]]  # three baselines, the least energy
    assert rules[4:] == [[0, 0, 0], [1, 1, 0], [1, 1, 0], [2, 1, 0]]  # up to 1, 2, 3, 4 GPUs
    t, e, g = _columns(OPTIONS)
    assert t.shape == e.shape == g.shape == (3, 3)
    assert np.isnan(t).tolist() == [[False] * 3, [False, False, True], [False, True, True]]
    assert e[1, 1] == OPTIONS[1][1].energy_j


def test_the_best_plan_seen_is_kept_and_a_late_one_accepted() -> None:
    packed = Packed({"p": OPTIONS[0]}, 50.0, crowd=0.0, iterations=400)
    site, guard = NodeSite(4, 4, 50.0), ExpectedSchedule(1e9, 1e12)
    slow = Plan([OPTIONS[0][0]] * 4, [0, 1, 2, 3], NodeSite(4, 1, 50.0))
    begin = packed._guarded(slow, [], guard)
    better = packed._improved(slow, [OPTIONS[0]] * 4, [], guard)
    assert packed._guarded(better, [], guard) < begin
    again = packed._improved(slow, [OPTIONS[0]] * 4, [], guard)
    assert (again.modes, again.order) == (better.modes, better.order)
    packed.iterations = 0
    assert packed._improved(slow, [OPTIONS[0]] * 4, [], guard) is slow
    single = Plan([OPTIONS[2][0]], [0], site)
    packed.iterations = 9
    assert packed._improved(single, [OPTIONS[2]], [], guard).modes == single.modes


def test_orders_that_change_with_time_rise_or_fall_as_is_said() -> None:
    moving = {n for n, f in PRIORITY_FUNCTIONS.items() if not f.fixed}
    falling = {n for n, f in PRIORITY_FUNCTIONS.items() if f.falling}
    assert moving == {"lxf", "wfp3", "unicef", "multifactor"}
    assert falling == {"lxf", "wfp3", "unicef"}
    unicef = priority_function("unicef").score
    assert unicef(5.0, 5.0, 10.0, 1.0) == pytest.approx(-1e-6)  # equal ones: 1e-15 / 1e-9
    assert unicef(6.0, 5.0, 10.0, 1.0) == pytest.approx(-1e9)
    assert unicef(6.0, 5.0, 10.0, 2.0) == pytest.approx(-0.1)


def uniform(job, seed, which) -> float:
    digest = hashlib.blake2b(f"{seed}/{which}/{job}".encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) / 2**53


@pytest.mark.parametrize("whole", [True, False])
def test_a_trial_is_drawn_job_by_job(whole) -> None:
    asked = [1, 2, 3, 8, 16, 256] * 40
    knob = "nodes" if whole else "cap_w"
    jobs = table({"job_id": range(240), knob: asked if whole else [float(a) for a in asked],
                  "user": ["u"] * 240, "power": [1.0] * 240})  # fmt: skip
    trial = plan_trial(jobs, 0.3, knob, factors=(0.25, 0.5, 4.0), low=1, high=64, seed=7)
    chance = probabilities(np.array(asked, dtype=float), 0.3)
    frame = trial.table.frame
    for i, a in enumerate(asked):
        ways = [min(max(a * f, 1.0), 64.0) for f in (0.25, 0.5, 4.0)]
        ways = [max(float(np.rint(w)), 1.0) if whole else w for w in ways]
        ways = [w for w in ways if w != a]
        part = bool(ways) and uniform(i, 7, 0) < chance[i]
        value = ways[int(uniform(i, 7, 1) * len(ways))] if part else a
        assert (frame["takes_part"][i], frame[knob][i]) == (part, value)
        assert frame["probability"][i] == pytest.approx(chance[i])
    assert frame[f"{knob}_requested"].to_list() == jobs.frame[knob].to_list()
    assert frame.columns == [
        "job_id",
        "user",
        f"{knob}_requested",
        knob,
        "probability",
        "takes_part",
    ]
    assert (trial.taking_part, trial.factors) == (frame["takes_part"].sum(), (0.25, 0.5, 4.0))
    assert chance.mean() == pytest.approx(0.3)


@pytest.mark.parametrize(("how", "said"), [
    ({"share": 1.0}, "share: expected 0 to 1, got 1.0"), ({"share": -0.1},
     "share: expected 0 to 1"),
    ({"factors": (0.0, 2.0)}, "factor: expected above 0, got 0.0"),
    ({"factors": ()}, "expected at least one factor"), ({"knob": "gpus"}, "gpus"),
])  # fmt: skip
def test_a_trial_that_makes_no_sense_is_refused(how, said) -> None:
    jobs = table({"job_id": [1], "nodes": [4]})
    with pytest.raises(DataError, match=said):
        plan_trial(jobs, **how)
    assert plan_trial(jobs, 0.0).taking_part == 0


def test_a_line_of_a_journal_is_checked_word_by_word() -> None:
    entry = CapEntry("n1|gpu_cap_w|gpu0", 250.0, 200.0)
    values = ["n1|gpu_cap_w|gpu0", 250.0, 200.0]
    assert json.loads(entry.line()) == [*values, zlib.crc32(json.dumps(values).encode())]
    assert CapEntry.of(entry.line()) == entry

    def line(*given) -> str:
        return json.dumps([*given, zlib.crc32(json.dumps(list(given)).encode())])

    for text, said in ((entry.line().replace("250", "251"), "its checksum differs"),
                       (line("n1|gpu_cap_w", 1.0, 2.0), "expected node|knob|address and watts"),
                       (line("a|b|c", 1, 2.0), r"expected \[place, before, to, checksum\]"),
                       ("[1]", r"expected \[place, before, to, checksum\]")):  # fmt: skip
        with pytest.raises(ValueError, match=said.replace("|", r"\|")):
            CapEntry.of(text)
    assert CapEntry.of(line("a|b|c|d", 1.0, 2.0)).place == "a|b|c|d"


def test_a_journal_goes_on_after_a_torn_line_and_names_damaged_ones(tmp_path) -> None:
    book = CapJournal(tmp_path / "deep" / "journal")
    book.check()  # its folder can be made
    book.write(CapEntry("a|k|x", 1.0, 2.0))
    with book.path.open("a") as file:
        file.write("[torn")
    assert book.entries() == ([CapEntry("a|k|x", 1.0, 2.0)], [])
    book.check()
    book.write(CapEntry("a|k|y", 3.0, 4.0))
    assert [e.place for e in book.entries()[0]] == ["a|k|x", "a|k|y"]
    with book.path.open("a") as file:
        file.write("damaged\n")
    entries, problems = book.entries()
    assert len(entries) == 2
    assert [p.split(":")[0] for p in problems] == ["line 4"]
    with pytest.raises(DataError) as caught:
        book.check()
    assert caught.value.problems[-1].startswith("restore from it first")
    assert book.close().name == "journal.restored"
    other = CapJournal(tmp_path / "other")
    other.path.write_text("something else\n")
    for look in (other.check, other.entries):
        with pytest.raises(DataError, match="a journal of caps"):
            look()


def test_a_journal_cannot_begin_where_nobody_may_write(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError) as caught:
        CapJournal(tmp_path / "a" / "b").check()
    assert caught.value.filename == str(tmp_path)
