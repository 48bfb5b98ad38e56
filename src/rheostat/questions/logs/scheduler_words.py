"""What a site types to record more: the commands of the scheduler whose words its log has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rheostat.core.jobs import JobTable


@dataclass(frozen=True)
class Scheduler:
    """A batch system: headings that only its records have, and what prints all of a job.

    Parameters
    ----------
    headings : str
        Pattern of a whole heading, in small letters; ``name`` of the format that reads its records
        is one.
    everything : str
        The command or file that has all fields of a job.
    memory : str
        Where the memory that a job asked for stands.
    nodes : str
        What is to be done for nodes where its records never have them.
    """

    headings: str
    everything: str
    memory: str
    nodes: str = ""

    def recorded(self, lacking: Sequence[str]) -> str:
        """What to record of what a log lacks, and what has it."""
        if self.nodes and any("nodes" in what for what in lacking):
            return f"{self.nodes}."
        return f"Record {' and '.join(lacking)}: {self.everything} has them."


SCHEDULERS = (
    Scheduler(r"lsf|exec_host|from_host|nalloc_slot|nexec_host|nreq_slot|runtimelimit|proj_name",
              "bjobs -a -l (or bacct -l)", "bsub -M or rusage[mem=]; memlimit of bjobs -o"),
    Scheduler(r"pbs|pbs-json|resource_list.*|resources_used.*|qtime|etime|exec_vnode|exit_status",
              "the accounting log of PBS (tracejob, qstat -x -f)",
              "Resource_List.mem of PBS's accounting log or qstat -x -f"),
    Scheduler(r"grid-engine|qname|ru_wallclock|ru_maxrss|granted_pe|qsub_time", "qacct -j",
              "h_vmem or mem_free of category in qacct -j",
              "Grid Engine counts slots, no nodes: add a column of nodes to a table of its jobs "
              "(slots over the slots of a node, where jobs get whole ones)"),
    Scheduler(r"flux|t_submit|t_run|t_cleanup", "flux jobs -a --json or flux job info",
              "memory of the jobspec in flux job info"),
    Scheduler(r"htcondor|clusterid|procid|qdate|requestcpus|remotewallclocktime",
              "condor_history -json", "RequestMemory of condor_history -json"),
    Scheduler(r"oar|job_array_id|initial_request", "oarstat -J", "the properties of oarstat -J"),
    Scheduler(r"namespace|pod([_ ]name)?|containers?|completions|kube.*|creation_?timestamp",
              "kubectl get jobs,pods -A -o json",
              "resources.requests.memory in kubectl get pods -A -o json"),
    Scheduler(r"sacct|job_id_raw|jobidraw|alloctres|reqtres|reqmem|alloccpus|allocnodes|ncpus|nnodes"
              r"|eligible(_s)?|qos|timelimitraw|elapsedraw|jobname",
              "sacct -o ALL", "ReqMem of sacct -o ALL"),
)  # fmt: skip
UNKNOWN = Scheduler(
    "", "the scheduler's own records (sacct -o ALL of Slurm, bjobs -a -l of LSF, PBS's accounting "
    "log)", "ReqMem of sacct -o ALL, memlimit of bjobs, Resource_List.mem of PBS",
)  # fmt: skip


def scheduler_of(jobs: JobTable) -> Scheduler:
    """The batch system whose headings a log has most of; `UNKNOWN` where it has none.

    >>> from rheostat import table
    >>> scheduler_of(table({"qos": ["a"], "nodes": [1]})).everything
    'sacct -o ALL'
    >>> scheduler_of(table({"nodes": [1]})) is UNKNOWN
    True
    """
    words = {n.lower() for c in jobs.schema.values()
             for n in (c.name, re.sub("^(from|of) ", "", c.meaning))}  # fmt: skip
    words = {word.strip().lower() for word in words}
    count = {s: sum(bool(re.fullmatch(s.headings, w)) for w in words) for s in SCHEDULERS}
    best = max(SCHEDULERS, key=lambda s: count[s])
    return best if count[best] else UNKNOWN
