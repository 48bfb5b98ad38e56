"""A site's loop: accounting and power in, advice out and away, what it saves, what a grid asks."""

from rheostat.questions.site_drift import site_drift as drift
from rheostat.questions.site_ingest import ingest
from rheostat.questions.site_ingest_power import power
from rheostat.questions.site_install import install, uninstall
from rheostat.questions.site_shadow import site_shadow as shadow
from rheostat.questions.site_what_if import site_what_if as what_if

__all__ = ["drift", "ingest", "install", "power", "shadow", "uninstall", "what_if"]
