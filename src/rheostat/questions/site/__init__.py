"""A site's loop: accounting and power in, advice out and away, what it saves, what a grid asks."""

from rheostat.questions.site.drift import site_drift as drift
from rheostat.questions.site.ingest import ingest
from rheostat.questions.site.ingest_power import power
from rheostat.questions.site.install import install, uninstall
from rheostat.questions.site.model_refit import site_refit as refit
from rheostat.questions.site.shadow import site_shadow as shadow
from rheostat.questions.site.what_if import site_what_if as what_if

__all__ = ["drift", "ingest", "install", "power", "refit", "shadow", "uninstall", "what_if"]
