"""The doctor: extras, what works from a checkout, meters with the reason why not."""

from __future__ import annotations

import json

import pytest

from tests.cli.telling import told


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A rheostat as pip would record it, from a checkout, with two extras and both together."""
    info = tmp_path / "rheostat-9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.4\nName: rheostat\nVersion: 9.9\n"
        "Requires-Dist: numpy>=2\n"
        "Provides-Extra: near\nRequires-Dist: no-such-library>=3; extra == 'near'\n"
        "Provides-Extra: old\nRequires-Dist: typer>=999; extra == 'old'\n"
        "Provides-Extra: there\nRequires-Dist: rich>=1; extra == 'there'\n"
        "Provides-Extra: all\nRequires-Dist: rheostat[near,old]; extra == 'all'\n"
    )
    origin = {"url": "file:///srv/the%20checkout", "dir_info": {"editable": True}}
    (info / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("installed")
def test_doctor_reads_extras_from_the_metadata_and_says_what_works_from_a_checkout(capsys):
    value = json.loads(told(capsys, "doctor", "--json")[1])
    assert value["schema"] == "rheostat.doctor/1"
    assert value["versions"]["rheostat"] == "9.9"
    assert "numpy" in value["versions"]
    extras = value["extras"]
    assert list(extras) == ["near", "old", "there", "all"]
    assert extras["there"] == {"present": True, "missing": [], "install": None}
    assert extras["near"]["missing"] == ["no-such-library"]
    assert extras["near"]["install"] == "pip install -e '/srv/the checkout[near]'"
    assert extras["old"]["missing"][0].startswith("typer >=999 (here: ")
    assert extras["all"]["missing"] == extras["near"]["missing"] + extras["old"]["missing"]


def test_the_metadata_has_every_extra_of_the_project():
    import tomllib
    from pathlib import Path

    from rheostat.questions.doctor import required

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    told = set(required())
    if not told:
        pytest.skip("rheostat is run from its sources and is not installed")
    assert told <= set(project["optional-dependencies"])
    assert {"trees", "train", "exact", "zeus", "all"} <= told


def test_a_missing_library_is_named_with_a_command_that_works_from_a_checkout(installed):
    from rheostat._optional import require
    from rheostat.errors import MissingExtra

    with pytest.raises(MissingExtra, match=r"pip install -e '/srv/the checkout\[search\]'"):
        require("no_such_module", "search")


def test_meters_come_with_the_reason_why_not(capsys):
    value = json.loads(told(capsys, "doctor", "--json")[1])
    for meter in value["meters"].values():
        assert meter["available"] == (meter["why"] is None)
    assert "cache" in value["folders"]


def test_doctor_finds_a_counter_and_says_why_a_closed_one_is_closed(tmp_path):
    from rheostat.questions.doctor import rapl

    assert "no energy counter" in rapl(tmp_path)
    counter = tmp_path / "intel-rapl:0" / "energy_uj"
    counter.parent.mkdir()
    counter.write_text("1")
    assert rapl(tmp_path) == ""
