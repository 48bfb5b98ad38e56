"""What a command prints of the moment, which is no record of runs: named, with what to export.

A queue or a list of pods has no run times of jobs that ended, a sensor no clock.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rheostat.measurement.batch_systems import flux, htcondor, lsf, pbs_json
from rheostat.measurement.runs.pair_lines import is_flat, is_yaml

SACCT = "sacct -a -X --parsable2 -S 2026-10-01 -E 2026-11-01 --format=ALL > october.txt"
POWER = "what `ipmitool dcmi power reading` prints every 10 s, all of it in one file"
KINDS: tuple[tuple[str, str, str], ...] = (
    (r"\s*JOBID\s+.*NODELIST\(REASON\)", "squeue", SACCT),
    (r"PARTITION\s+AVAIL\s+TIMELIMIT\s+NODES\s+STATE", "sinfo", SACCT),
    (r"JOBID\s+USER\s+STAT\s+QUEUE", "bjobs", lsf.ABOUT),
    (r"(Job [Ii][Dd]\s+Name\s+User|\s+Req'd\s+Req'd\s+Elap|Job ID\s+Username\s+Queue)", "qstat",
     f"{pbs_json.ABOUT}, or its accounting files (server_priv/accounting/20261001)"),
    (r"job-ID\s+prior\s+name\s+user\s+state", "qstat of Grid Engine",
     "what qacct -j prints"),
    (r"NAME\s+(READY\s+)?(STATUS|COMPLETIONS)\s+.*AGE", "kubectl get",
     "a table with a row for each job: its name, what it asked for, when it began and ended "
     "(app,gpus,start,end)"),
    (r"NAME\s+CPU\(cores\)", "kubectl top",
     "the power of the nodes from Prometheus (rheostat site ingest), and a table of jobs"),
    (r"\s*ID\s+OWNER\s+SUBMITTED\s+RUN_TIME", "condor_q", htcondor.ABOUT),
    (r"\s*JOBID\s+QUEUE\s+USER|\s*JOBID\s+USER\s+NAME\s+ST", "flux jobs",
     flux.ABOUT),
    (r"[^|]+\|\s*[\d.]+\s*\|\s*(Watts|degrees C|Volts|RPM)\s*\|", "ipmitool sensor",
     POWER),
    (r"[^|]+\|\s*[0-9A-F]{2}h\s*\|\s*\w+\s*\|\s*[\d.]+\s*\|", "ipmitool sdr",
     POWER),
)  # fmt: skip
"""A line that only such a listing has, who prints it, and what has the run times or the clock."""
LOOKED_AT = 10
YAML = (
    "is a YAML list whose rows hold lists or mappings: as JSON it is read: "
    "python3 -c 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)' "
    "< FILE > runs.json"
)


def listing_said(lines: Sequence[str]) -> str:
    """What prints such a text and what to export instead; "" for any other.

    >>> listing_said(["JOBID   USER    STAT  QUEUE", "1004 u RUN normal"])[:35]
    'is a list of this moment by bjobs: '
    >>> listing_said(["nodes,time_s", "1,9"])
    ''
    """
    if is_yaml(lines) and not is_flat(lines):
        return YAML
    for line in lines[:LOOKED_AT]:
        for mark, name, instead in KINDS:
            if re.match(mark, line):
                return (
                    f"is a list of this moment by {name}: it has no run that ended, with its run "
                    f"time or energy. Export {instead}"
                )
    return ""
