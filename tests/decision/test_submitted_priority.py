"""Weights of a learned policy among the settings of an installation, and out again."""

from __future__ import annotations

import polars as pl
import pytest

from rheostat.decision.submission.slurm_files import SETTINGS
from rheostat.errors import DataError, FileKindError
from rheostat.questions.scheduling.policies import open_policy
from rheostat.questions.site.install import install, uninstall

ADVISED = pl.DataFrame({"app": ["cfd"], "nodes_requested": [4], "nodes": [2],
                        "status": ["advised"]})  # fmt: skip
WEIGHTS = (
    "# Nearest to ours: 80.0 % [70.0 90.0] of 300 later decisions\n\n"
    "PriorityType=priority/multifactor\nPriorityWeightAge=2060\nPriorityWeightJobSize=10000\n"
    "PriorityWeightFairshare=0\nPriorityMaxAge=1-0\nPriorityDecayHalfLife=7-0\n"
    "PriorityFavorSmall=YES\n"
)


@pytest.fixture
def site(tmp_path):
    """Slurm's folder, and a file of weights beside it."""
    etc = tmp_path / "etc"
    etc.mkdir()
    (tmp_path / "weights.conf").write_text(WEIGHTS)
    return etc


def test_settings_have_the_weights_as_they_were_fitted_and_a_policy_reads_them_back(site):
    install(ADVISED, site, priority=site.parent / "weights.conf")
    weights, settings = (
        open_policy(f"multifactor:{path}+easy").order.factors
        for path in (site.parent / "weights.conf", site / SETTINGS)
    )
    assert settings == weights
    assert (settings.age, settings.size, settings.favour_small) == (2060, 10_000, True)
    assert "of 300 later decisions" in (site / SETTINGS).read_text()
    install(ADVISED, site)  # without them
    assert "Priority" not in (site / SETTINGS).read_text()
    uninstall(site)
    assert list(site.iterdir()) == []


def test_what_the_site_has_itself_is_named_and_left(site):
    own = (
        "PriorityType = priority/basic\nPriorityMaxAge=1-0 # a day\npriorityweightage=7\n"
        "PriorityWeightAge=1000\nPriorityWeightQOS=2000\nPriorityFlags=FAIR_TREE\n#PriorityFoo=1\n"
    )
    (site / "slurm.conf").write_text(own)
    replaced, others, kind = install(
        ADVISED, site, priority=site.parent / "weights.conf", dry_run=True
    ).hints[:3]
    assert replaced.endswith("in place of: PriorityWeightAge=1000.")
    assert others.endswith(": PriorityWeightQOS=2000, PriorityFlags=FAIR_TREE.")
    assert "start slurmctld anew" in kind
    assert (site / "slurm.conf").read_text() == own


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("Prolog=/tmp/x", "got the line 'Prolog=/tmp/x'"),
        ("PriorityWeightQOS=5", "got the line 'PriorityWeightQOS=5'"),
        ("PriorityMaxAge=1-0 Prolog=/tmp/x", "got the line"),
        ("# a comment\x0bProlog=/tmp/x", "got the line 'Prolog=/tmp/x'"),
        ("PriorityWeightAge=soon", "expected a number or a time, got 'soon'"),
        ("PriorityWeightAge=-3", "at least 0"),
        ("PriorityType=priority/basic", "expected priority/multifactor"),
    ],
)
def test_other_lines_and_values_are_refused_before_anything_is_written(site, line, why):
    weights = site.parent / "weights.conf"
    weights.write_text(f"{WEIGHTS}{line}\n")
    with pytest.raises(DataError, match=r"weights\.conf") as refused:
        install(ADVISED, site, priority=weights)
    assert why in str(refused.value)
    assert list(site.iterdir()) == []


def test_a_file_of_another_kind_is_named(site):
    page = site.parent / "page.html"
    page.write_text("<!doctype html>\n<html>\n</html>\n")
    with pytest.raises(FileKindError, match=r"expected what rheostat explain .* got an HTML page"):
        install(ADVISED, site, priority=page)


def test_a_file_without_weights_is_refused(site):
    weights = site.parent / "weights.conf"
    weights.write_text("# nothing\n")
    with pytest.raises(DataError, match="PriorityWeightAge=1000"):
        install(ADVISED, site, priority=weights)
