"""Write the lab's configuration: four nodes of 64 pretended cores on one machine."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

SLURM = """\
ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=16817
AuthType=auth/munge
CredType=cred/munge
SlurmctldPidFile={lab}/run/slurmctld.pid
SlurmdPidFile={lab}/run/slurmd.%n.pid
SlurmdSpoolDir={lab}/spool/%n
StateSaveLocation={lab}/state
SlurmctldLogFile={lab}/log/slurmctld.log
SlurmdLogFile={lab}/log/slurmd.%n.log
SlurmctldDebug=info
SlurmdDebug=info
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,bf_window=2880,sched_min_interval=100000
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/multifactor
PriorityWeightAge=1000
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1,energy=1
AcctGatherNodeFreq=1
AcctGatherEnergyType=acct_gather_energy/pm_counters
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=16819
AccountingStorageTRES=energy,cpu,mem,node,billing
InactiveLimit=0
KillWait=2
MinJobAge=300
SlurmctldTimeout=60
SlurmdTimeout=300
MessageTimeout=60
Waittime=0
NodeName=n[1-4] NodeHostname={host} NodeAddr=127.0.0.1 Port=17001-17004 CPUs=64 Boards=1 \
SocketsPerBoard=2 CoresPerSocket=32 ThreadsPerCore=1 RealMemory=256000 State=UNKNOWN
PartitionName=batch Nodes=n[1-4] Default=YES MaxTime=2-00:00:00 DefaultTime=00:10:00 State=UP \
DefMemPerCPU=1000
"""
SLURMDBD = """\
AuthType=auth/munge
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=16819
SlurmUser=root
DebugLevel=info
LogFile={lab}/log/slurmdbd.log
PidFile={lab}/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=13306
StorageUser=slurm
StoragePass=slurmlab
StorageLoc=slurm_acct_db
"""
PROMETHEUS = """\
global:
  scrape_interval: 1s
scrape_configs:
  - job_name: nodes
    static_configs:
      - targets: ["127.0.0.1:19100"]
"""


def main(lab: Path) -> None:
    """Write the files; slurmdbd refuses to start if others may read its own."""
    fields = {"lab": lab, "host": socket.gethostname().split(".", maxsplit=1)[0]}
    (lab / "etc" / "slurm.conf").write_text(SLURM.format(**fields))
    (lab / "etc" / "prometheus.yml").write_text(PROMETHEUS)
    own = lab / "etc" / "slurmdbd.conf"
    own.touch(mode=0o600)
    own.write_text(SLURMDBD.format(**fields))
    for node in ("n1", "n2", "n3", "n4"):
        (lab / "counters" / node).mkdir(exist_ok=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
