"""What ports did, in numbers: closed forms of what is measured and of what follows from it."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.measurement.network.dragonfly import Dragonfly
from rheostat.prediction.iteration_time.port_features import (
    DERIVED,
    FEATURES,
    MEASURED,
    iteration_features,
    port_quantities,
    port_statistics,
)

SMALL = Dragonfly(9, 4, 2, 2)


def windows(count: int, network: Dragonfly = SMALL) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.integers(0, 50_000, (count, network.routers, network.radix, 5)).astype(float)


def quantity(values: np.ndarray, name: str) -> np.ndarray:
    """In its unit, (windows, ports)."""
    said = port_quantities(values, SMALL.peer)[..., (*MEASURED, *DERIVED).index(name)]
    return np.sign(said) * np.expm1(np.abs(said))


def test_every_port_has_five_statistics_of_nine_quantities():
    values = windows(20)
    rows = iteration_features(values, [(0, 8), (8, 9), (9, 20)], SMALL.peer)
    assert rows.shape == (3, 252, 45) == (3, SMALL.ports, FEATURES)
    assert np.array_equal(rows[1, :, 0::9][:, :1], rows[1, :, 9::9][:, :1])  # one window: no spread
    mean, least, most, low, high = np.split(rows, 5, axis=2)
    assert (least <= low).all()
    assert (low <= high).all()
    assert (high <= most).all()
    assert ((least <= mean + 1e-4) & (mean <= most + 1e-4)).all()


def test_what_comes_in_over_a_link_is_what_the_other_end_sent():
    values = windows(3)
    sent = values[1:, ..., 1].reshape(2, -1)
    came = quantity(values, "received")
    linked = SMALL.peer >= 0
    assert came[:, linked] == pytest.approx(sent[:, SMALL.peer[linked]])
    # bytes are kept: what a router sends on and did not receive came from its terminals
    own = (2, SMALL.routers, SMALL.radix)
    missing = (sent.reshape(own) - (came * linked).reshape(own)).sum(2).clip(0)
    assert (came * ~linked).reshape(own).sum(2) == pytest.approx(missing)


def test_waiting_bytes_here_and_there_and_stalls():
    values = windows(4)
    waiting = values[..., 3] + values[..., 4]
    assert quantity(values, "filling") == pytest.approx(np.diff(waiting, axis=0).reshape(3, -1))
    at = SMALL.peer // SMALL.radix
    there = waiting[1:].mean(2)[:, at] * (SMALL.peer >= 0)
    assert quantity(values, "onward") == pytest.approx(there)
    rate = values[1:, ..., 2] / (1 + values[1:, ..., 1] / 1024)
    assert quantity(values, "stall_rate") == pytest.approx(rate.reshape(3, -1))


def test_an_iteration_without_a_window_of_its_own_has_the_one_it_lies_in():
    values = windows(5)
    within, whole = iteration_features(values, [(3, 3), (2, 3)], SMALL.peer)
    assert np.array_equal(within, whole)
    assert not iteration_features(values, [(0, 0)], SMALL.peer).any()  # before the first window


def test_statistics():
    rows = np.arange(5.0)[:, None, None] * np.ones((1, 2, 9))
    assert port_statistics(rows)[0, ::9].tolist() == pytest.approx([2.0, 0.0, 4.0, 1.0, 3.0])
