"""Networks of no family, written out: distances, families, and how wrong a roofline is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student

from rheostat.prediction.step_cost.additive import AdditiveCost, fit_additive
from rheostat.prediction.step_cost.terms import TERMS
from rheostat.prediction.step_cost.transfer import Known
from rheostat.prediction.step_cost.unlike import KINDS, Unlike, _made_of, families, roofline_terms

LAW = AdditiveCost(np.zeros(3 + 2 + 6), 2, 3)  # one second for each unit of starts, work, traffic


def made(**entries):
    """Rows of entries, a list each."""
    terms = np.zeros((len(next(iter(entries.values()))), len(TERMS)))
    for entry, values in entries.items():
        terms[:, TERMS.index(entry)] = values
    return terms


def asked(terms, app=-1, device=0):
    n = len(terms)
    return Known(terms, np.full(n, device), np.full(n, app), np.ones(n))


def test_what_a_step_is_made_of_are_shares_of_its_time():
    law = AdditiveCost(np.log([[2.0, 3.0, 5.0]]).ravel().tolist() + [0.0] * 8, 2, 3)
    law = replace(law, parameters=np.array(law.parameters))
    terms = made(launches=[1.0], matmul_f_padded=[1.0], transcendentals=[2.0], gather_b=[3.0],
                 divided_b=[1.0])  # fmt: skip
    shares = _made_of(terms, law)
    assert sorted(shares[shares > 0]) == pytest.approx(np.array([2, 3, 5, 6, 15]) / 31)
    assert roofline_terms(terms).tolist() == [[1.0, 1.0, 3.0]]  # further parts are in the others
    assert _made_of(0 * terms, law).tolist() == [[0.0] * shares.shape[1]]


@pytest.mark.parametrize(("distance", "share"), [
    (0.0499, 0.0), (0.06, 0.2), (0.075, 0.5), (0.0999, 0.998), (0.2, 1.0),
])  # fmt: skip
def test_between_a_family_and_none_the_answer_is_mixed(distance, share):
    """Hellinger: 1 - h^2 is the sum of roots of products, here of (1, 0) and (x, 1 - x)."""
    x = (1 - distance**2) ** 2
    seen = _made_of(made(matmul_f_padded=[1.0], gather_b=[0.0]), LAW)
    unlike = Unlike(LAW, seen, 1.0, 3.0, few=False)
    row = asked(made(matmul_f_padded=[x], gather_b=[1 - x]))
    assert unlike.share(row) == pytest.approx([share], abs=1e-6)
    assert unlike.never_timed(row)[0, list(KINDS).index("gather")] == pytest.approx(1 - x)
    assert unlike.never_timed(row).sum() == pytest.approx(1 - x)
    gone = unlike.share(row._replace(device=np.array([1])))  # a device never run
    assert gone.tolist() == [0.0]
    assert unlike.share(row._replace(app=np.array([0]))).tolist() == [0.0]


def test_families_are_chains_of_steps_within_a_tenth():
    away = [0.0, 0.09, 0.18, 0.5, 0.61]
    angle = np.array([2 * np.arcsin(h / np.sqrt(2)) for h in away])  # of unit vectors
    rows = np.stack([np.cos(angle) ** 2, np.sin(angle) ** 2], axis=1)
    assert families(rows, np.arange(5)).tolist() == [0, 0, 0, 1, 2]
    assert families(rows, np.array([0, 1, 2, 3, 0])).tolist() == [0, 0, 0, 1, 0]


def test_draws_of_a_network_of_no_family_are_those_of_student_around_both_answers():
    seen = _made_of(made(matmul_f_padded=[1.0]), LAW)
    row = asked(made(matmul_f_padded=[0.3, 0.8, 1.0], gather_b=[0.7, 0.2, 0.0]))
    levels, others = np.array([0.05, 0.5, 0.9]), np.array([1.0, 2.0, 3.0])
    novel = np.array([0.7, 0.2, 0.0])
    for few, weight in ((False, np.array([0.7, 0.5, 0.5])), (True, np.ones(3))):
        unlike = Unlike(LAW, seen, 1.5, 4.0, few)
        middle = weight * unlike.predict(row) + (1 - weight) * others
        spread = np.hypot(1.5 * 0.3, 1.8 * novel)
        wanted = middle + student.ppf(levels, 4.0)[:, None] * spread
        assert unlike.draws(row, levels, others) == pytest.approx(wanted)
    assert unlike.predict(row) == pytest.approx([0.0, 0.0, 0.0])


def test_families_left_out_say_how_wrong_the_roofline_is():
    """Three prior families of average error, and those that there are."""
    rng = np.random.default_rng(0)
    parts = [made(matmul_f_padded=rng.uniform(1, 4, 5), launches=[0.1] * 5),
             made(gather_b=rng.uniform(1, 4, 4), launches=[0.1] * 4),
             made(matmul_f_padded=rng.uniform(1, 4, 3), gather_b=[2.0] * 3)]  # fmt: skip
    terms, app = np.concatenate(parts), np.repeat([0, 1, 2], [5, 4, 3])
    known = Known(terms, np.zeros(12, dtype=np.int64), app, np.ones(12))
    log_y = np.log(roofline_terms(terms) @ [0.5, 0.3, 0.9]) + 0.4 * rng.standard_normal(12)
    unlike = Unlike.of(known, log_y, 2)
    law = fit_additive(roofline_terms(terms), log_y, known.device, 2)
    shares = _made_of(terms, law)
    family, off = families(shares, app), []
    for f in range(family.max() + 1):
        out = family == f
        less = fit_additive(roofline_terms(terms[~out]), log_y[~out], known.device[~out], 2)
        new = np.array([[shares[i, [p in k for p in PARTS]].sum() for k in KINDS.values()]
                        for i in range(12)])  # fmt: skip
        never = np.maximum(new[out] - new[~out].max(axis=0), 0.0).sum(axis=1)
        error = log_y[out] - less.predict(roofline_terms(terms[out]), known.device[out])
        off.append(np.mean((error / np.hypot(0.3, 1.8 * never)) ** 2))
    assert len(off) >= 2
    times = np.sqrt((3.0 + sum(off)) / (3.0 + len(off)))
    assert unlike.few
    assert unlike.freedom == 3.0 + len(off)
    assert unlike.times == pytest.approx(max(times, 2.0))
    more = made(elementwise_b=[3.0, 5.0], launches=[0.1] * 2)
    fourth = Known(np.concatenate([terms, more]), np.zeros(14, dtype=np.int64),
                   np.append(app, [3, 3]), np.ones(14))  # fmt: skip
    assert len(off) == 3
    assert not Unlike.of(fourth, np.append(log_y, np.log([2.0, 4.0])), 2).few
    alone = Unlike.of(known._replace(app=0 * app), log_y, 2)
    assert (alone.freedom, alone.times) == (3.0, 2.0)


PARTS = ("launches", "convolution_f_narrow", "matmul_f_padded", "elementwise_f", "convolution_b",
         "depthwise_b", "matmul_b", "elementwise_b", "normalization_b", "reduction_b", "movement_b",
         "gather_b", "transcendentals", "rearranged_b", "reduced_b", "selected_b",
         "divided_b")  # fmt: skip
