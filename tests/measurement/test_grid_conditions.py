"""Price, carbon and power of a grid, as files and services give them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rheostat.errors import DataError
from rheostat.measurement.grid_conditions import read_grid

ELECTRICITY_MAPS = {
    "zone": "DE",
    "history": [
        {"datetime": "2026-01-01T00:00:00.000Z", "carbonIntensity": 302, "isEstimated": True},
        {"datetime": "2026-01-01T01:00:00.000Z", "carbonIntensity": 280},
    ],
}
WATT_TIME = {
    "data": [{"point_time": "2026-01-01T00:00:00+00:00", "value": 1000.0}],
    "meta": {"signal_type": "co2_moer", "units": "lbs_co2_per_mwh"},
}
POINTS = [{"position": "1", "price.amount": "50"}, {"position": "4", "price.amount": "-3"}]
PERIOD = {
    "timeInterval": {"start": "2026-01-01T00:00Z"}, "resolution": "PT15M", "Point": POINTS,
}  # fmt: skip
MARKET = {"Publication_MarketDocument": {"TimeSeries": {"Period": PERIOD}}}
NEW_YEAR_S = 1767225600.0


def read(tmp_path, name, text, **options):
    file = tmp_path / name
    file.write_text(text if isinstance(text, str) else json.dumps(text))
    return read_grid(file, **options)


def test_services_are_read_in_grams_and_per_kilowatt_hour(tmp_path) -> None:
    carbon = read(tmp_path, "maps.json", ELECTRICITY_MAPS).carbon_g_per_kwh
    assert carbon.from_s == (NEW_YEAR_S, NEW_YEAR_S + 3600)
    assert carbon.values == (302.0, 280.0)
    pounds = read(tmp_path, "watt.json", WATT_TIME).carbon_g_per_kwh
    assert pounds.values == pytest.approx((453.59237,))
    price = read(tmp_path, "market.json", MARKET).price_per_kwh
    assert price.from_s == (NEW_YEAR_S, NEW_YEAR_S + 2700)  # the price holds where none is given
    assert price.values == (0.05, -0.003)


def test_units_are_those_of_the_names(tmp_path) -> None:
    text = "start,available_MW,price_EUR/MWh,carbon_kg_per_mwh\n2026-01-01T01:00+01:00,1.5,80,300\n"
    made = read(tmp_path, "a.csv", text)
    assert made.available_w.values == (1.5e6,)
    assert made.price_per_kwh.values == (0.08,)
    assert made.carbon_g_per_kwh.values == (300.0,)
    assert made.span_s() == (NEW_YEAR_S, NEW_YEAR_S)


@pytest.mark.parametrize(
    ("heading", "per_kwh"),
    [
        ("price_ct_per_kwh", 0.3),
        ("Strompreis [ct/kWh]", 0.3),
        ("price_cents_per_kWh", 0.3),
        ("price_ore_per_kwh", 0.3),
        ("p/kWh", 0.3),
        ("price_sek_per_kwh", 30.0),
        ("price_per_kwh", 30.0),  # of a currency that is not said
        ("price (EUR/MWh)", 0.03),
    ],
)
def test_a_price_in_hundredths_is_in_the_whole(heading, per_kwh, tmp_path) -> None:
    made = read(tmp_path, "a.csv", f"time,{heading}\n00:00,30\n12:00,30\n")
    assert made.price_per_kwh.values == pytest.approx((per_kwh, per_kwh))


@pytest.mark.parametrize(
    ("heading", "value", "words"),
    [("price_eur_per_kwh", 85, "price_eur_per_mwh"), ("USD/kWh", 12, "price_ct_per_kwh"),
     ("carbon_g_per_kwh", 0.35, "kilograms")],
)  # fmt: skip
def test_values_of_another_unit_than_their_heading_says_are_refused(
    heading, value, words, tmp_path
) -> None:
    with pytest.raises(DataError, match=words):
        read(tmp_path, "a.csv", f"time,{heading}\n00:00,{value}\n12:00,{value}\n")
    made = read(tmp_path, "a.csv", f"time,{heading}\n00:00,3\n12:00,{value}\n18:00,3\n")
    assert made.span_s() is None  # one dear hour is no other unit


@pytest.mark.parametrize("heading", ["price", "price_pct", "ct_per_h", "share_per_kwh"])
def test_a_price_of_no_unit_is_refused(heading, tmp_path) -> None:
    with pytest.raises(DataError, match="price_ct_per_kwh"):
        read(tmp_path, "a.csv", f"time,{heading}\n00:00,30\n")


def test_a_clocks_times_are_each_days_in_the_sites_zone(tmp_path) -> None:
    text = "time,available_share\n20:00,1\n17:00,.8\n"
    july = NEW_YEAR_S + 190 * 86_400
    share = read(tmp_path, "a.csv", text, zone="Europe/Berlin", at_s=july).available_share
    hours = july - july % 86_400 + 3600 * np.arange(24.0)
    low = [h for h, v in enumerate(share.at(hours)) if v == 0.8]
    assert low == [15, 16, 17]  # UTC; summer time is two hours ahead


def test_a_logs_own_zero_moves_both_kinds_of_times(tmp_path) -> None:
    made = read(tmp_path, "a.csv", "time,available_share\n00:00,1\n17:00,.8\n20:00,1\n")
    share = made.since(5 * 86_400.0 + 3600.0).available_share
    assert [float(v) for v in share.at(np.array([0.0, 15.5, 16.5, 18.5, 19.5]) * 3600)] == [
        1.0, 1.0, 0.8, 0.8, 1.0,
    ]  # fmt: skip
    maps = read(tmp_path, "maps.json", ELECTRICITY_MAPS).since(NEW_YEAR_S)
    assert maps.carbon_g_per_kwh.from_s == (0.0, 3600.0)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.csv", "time,price\n00:00,3\n", "quantity and unit"),
        ("a.csv", "when,price_per_kwh\n00:00,3\n", "a column of time"),
        ("a.csv", "time,price_per_kwh\nsoon,3\n", "expected times like"),
        ("a.csv", "time,price_per_kwh\n00:00,3\n00:00,4\n", "one number for each moment"),
        ("a.csv", "time,price_per_kwh\n00:00,3\n01:00,cheap\n", "one number for each moment"),
        ("a.csv", "time,price_per_kwh,price_per_mwh\n00:00,3,4\n", "expected one column"),
        ("a.json", {"zone": "DE"}, "rows under history"),
        ("a.json", {"Publication_MarketDocument": {"TimeSeries": 3}}, "price.amount"),
    ],
)
def test_what_is_no_such_table_is_said(tmp_path, name, text, words) -> None:
    with pytest.raises(DataError, match=words):
        read(tmp_path, name, text)


def test_a_zone_that_is_none_is_said(tmp_path) -> None:
    with pytest.raises(DataError, match="name of a time zone"):
        read(tmp_path, "a.csv", "time,price_per_kwh\n00:00,3\n", zone="Berlin")
