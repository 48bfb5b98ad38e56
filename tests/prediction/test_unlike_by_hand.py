"""Networks of no family, written out: distances, families, and how wrong a roofline is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student

from rheostat.prediction.step_cost.additive import AdditiveCost, fit_additive
from rheostat.prediction.step_cost.terms import TERMS
from rheostat.prediction.step_cost.transfer import Known
from rheostat.prediction.step_cost.unlike import (
    KINDS,
    Unlike,
    _made_of,
    families,
    plain_terms,
    roofline_terms,
)

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
    unlike = Unlike((LAW,) * 3, np.ones(3) / 3, seen, 1.0, 3.0)
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


def test_draws_of_a_network_of_no_family_are_those_of_student_around_the_mean_of_three_laws():
    """Around the plain roofline where most of the time is of a kind never timed, as in row one."""
    row = asked(made(matmul_f=[0.2, 0.8, 1.0], matmul_f_padded=[0.4, 0.8, 2.0],
                     gather_b=[0.7, 0.2, 0.0]))  # fmt: skip
    rates = np.zeros(len(TERMS))
    rates[TERMS.index("matmul_f")] = np.log(3.0)
    law = AdditiveCost(np.concatenate([rates, np.zeros(2 + 2 * len(TERMS))]), 2, len(TERMS))
    seen = _made_of(made(matmul_f_padded=[1.0]), LAW)
    weights = np.array([0.5, 0.125, 0.375])
    unlike = Unlike((LAW, LAW, law), weights, seen, 1.5, 4.0)
    each = np.log([[0.9, 1.0, 1.0], [1.1, 1.0, 2.0], [1.7, 3.4, 5.0]])
    assert unlike.each(row) == pytest.approx(each)
    novel, levels = np.array([0.7 / 1.1, 0.2, 0.0]), np.array([0.05, 0.5, 0.9])
    middle = weights @ each
    apart = weights @ (each - middle) ** 2
    middle[0] = each[0, 0]
    spread = np.sqrt((1.5 * 0.3) ** 2 + (1.8 * novel) ** 2 + apart)
    wanted = middle + student.ppf(levels, 4.0)[:, None] * spread
    assert unlike.draws(row, levels) == pytest.approx(wanted)
    few = Unlike((LAW, LAW, law), np.array([0.0, 1.0, 0.0]), seen, 1.5, 4.0)  # whole lanes alone
    assert few.draws(row, np.array([0.5]))[0] == pytest.approx(each[1])


def drawn():
    """Three families and their runs."""
    rng = np.random.default_rng(0)
    parts = [made(matmul_f_padded=rng.uniform(1, 4, 5), launches=[0.1] * 5),
             made(gather_b=rng.uniform(1, 4, 4), launches=[0.1] * 4),
             made(matmul_f_padded=rng.uniform(1, 4, 3), gather_b=[2.0] * 3)]  # fmt: skip
    terms, app = np.concatenate(parts), np.repeat([0, 1, 2], [5, 4, 3])
    known = Known(terms, np.zeros(12, dtype=np.int64), app, np.ones(12))
    return known, np.log(roofline_terms(terms) @ [0.5, 0.3, 0.9]) + 0.4 * rng.standard_normal(12)


def by_law(known, log_y):
    """All that is learned of networks of no family, and the rows as each law takes them."""
    every = (plain_terms(known.terms), roofline_terms(known.terms), known.terms)
    return Unlike.of(known, log_y, fit_additive(known.terms, log_y, known.device, 2)), every


def test_families_left_out_say_how_wrong_the_roofline_is():
    """Three prior families of average error, and those that there are."""
    known, log_y = drawn()
    unlike, every = by_law(known, log_y)
    shares = _made_of(known.terms, fit_additive(every[1], log_y, known.device, 2))
    family = families(shares, known.app)
    off = [np.mean((error[1] / np.hypot(0.3, 1.8 * never)) ** 2)
           for error, never in left_out(known, log_y, every, shares, family)]  # fmt: skip
    assert len(off) == 3
    times = np.sqrt((3.0 + sum(off)) / (3.0 + len(off)))
    assert unlike.weights.tolist() == [0.0, 1.0, 0.0]  # few families: whole lanes alone
    assert unlike.freedom == 3.0 + len(off)
    assert unlike.times == pytest.approx(max(times, 2.0))
    alone, _ = by_law(known._replace(app=0 * known.app), log_y)
    assert (alone.freedom, alone.times) == (3.0, 2.0)


def test_weights_make_the_mean_most_right_on_families_left_out_and_are_drawn_to_equal_ones():
    known, log_y = drawn()
    more = made(elementwise_b=[3.0, 5.0], matmul_f=[0.2, 0.9], launches=[0.1] * 2)
    known = Known(np.concatenate([known.terms, more]), np.zeros(14, dtype=np.int64),
                  np.append(known.app, [3, 3]), np.ones(14))  # fmt: skip
    log_y = np.append(log_y, np.log([2.0, 4.0]))
    unlike, every = by_law(known, log_y)
    shares = _made_of(known.terms, fit_additive(every[1], log_y, known.device, 2))
    left = left_out(known, log_y, every, shares, families(shares, known.app))
    best, least = None, np.inf
    for a in range(4, 13):
        for b in range(13 - a):
            w = np.array([a, b, 12 - a - b]) / 12
            wrong = sum(np.mean((w @ e) ** 2) for e, _ in left) + ((w - 1 / 3) ** 2).sum()
            best, least = (w, wrong) if wrong < least else (best, least)
    assert unlike.weights == pytest.approx(best)
    off = []
    for error, never in left:
        apart = best @ (error - best @ error) ** 2
        said = np.where(never > 0.5, error[0], best @ error)
        off.append(np.mean(said**2 / (0.3**2 + (1.8 * never) ** 2 + apart)))
    assert unlike.times == pytest.approx(np.sqrt((3.0 + sum(off)) / 7.0))


def left_out(known, log_y, every, shares, family):
    """Errors of the three laws on each family, and how much of it the others never had."""
    made_of = np.array([[row[[p in k for p in PARTS]].sum() for k in KINDS.values()]
                        for row in shares])  # fmt: skip
    left = []
    for f in range(family.max() + 1):
        out = family == f
        laws = [fit_additive(t[~out], log_y[~out], known.device[~out], 2) for t in every]
        said = [law.predict(t[out], known.device[out]) for law, t in zip(laws, every, strict=True)]
        never = np.maximum(made_of[out] - made_of[~out].max(axis=0), 0.0).sum(axis=1)
        left.append((log_y[out] - np.array(said), never))
    return left


PARTS = ("launches", "convolution_f_narrow", "line_f", "volume_f", "matmul_f_padded",
         "elementwise_f", "convolution_b", "depthwise_b", "matmul_b", "elementwise_b",
         "normalization_b", "reduction_b", "movement_b", "gather_b", "transcendentals",
         "rearranged_b", "reduced_b", "selected_b", "divided_b")  # fmt: skip
