"""Names of series that stand side by side, as Grafana and Prometheus write them in headings."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rheostat.measurement.runs.header_units import split_unit

SERIES = re.compile(r"([\w:. ]*?)\s*\{(.*)\}\s*")
LABEL = re.compile(r'([\w.]+)\s*[=:]\s*"?((?:[^",\\]|\\.)*)"?')
HOSTS = ("instance", "hostname", "host", "node", "nodename", "exported_instance")
GPUS = ("gpu", "index", "gpu_id", "minor_number")


def series_names(headings: Sequence[str]) -> list[str]:
    r"""What tells series apart: the labels that differ, or the headings without what all share.

    >>> series_names(['{instance="n1:9100", job="ipmi"}', '{instance="n2:9100", job="ipmi"}'])
    ['n1', 'n2']
    >>> series_names(['POWER{gpu="0", Hostname="n1"}', 'POWER{gpu="1", Hostname="n1"}'])
    ['GPU 0', 'GPU 1']
    >>> series_names(["node01 (W)", "node02 (W)"]), series_names(["Rack 7 power (kW)"])
    (['node01', 'node02'], ['Rack 7 power'])
    """
    matches = [SERIES.fullmatch(h.strip()) for h in headings]
    if not all(matches):
        return [_bare(h) for h in headings]
    labels = [{k.lower(): v for k, v in LABEL.findall(m[2])} for m in matches if m]
    every = dict.fromkeys(k for own in labels for k in own)
    apart = [k for k in every if len({own.get(k) for own in labels}) > 1]
    kept = apart or [k for k in every if k in HOSTS][:1] or list(every)[:1]
    ordered = sorted(kept, key=lambda k: k not in HOSTS)
    names = [" ".join(_named(k, own[k]) for k in ordered if k in own) for own in labels]
    return names if len(set(names)) == len(names) and all(names) else list(headings)


def _named(label: str, value: str) -> str:
    """A label's value as people say it: a host without its port, the number of a GPU."""
    if label in HOSTS:
        return re.sub(r":\d+$", "", value)
    return f"GPU {value}" if label in GPUS else value


def _bare(heading: str) -> str:
    """A heading without its unit."""
    stem, _, unit, _ = split_unit(heading)
    return re.sub(r"\s*[(\[].*[)\]]$", "", heading) or stem if unit else heading
