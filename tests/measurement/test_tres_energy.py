"""Energy of a job that stands among its trackable resources alone."""

from rheostat.measurement.slurm.sacct import read_sacct

HEAD = "JobIDRaw|State|Submit|Start|End|Elapsed|AllocTRES"
DAY = "2026-10-01T"


def job(number: int, energy: str) -> str:
    times = f"{DAY}08:00:00|{DAY}08:10:00|{DAY}09:10:00|01:00:00"
    return f"{number}|COMPLETED|{times}|billing=64,cpu=64,{energy}mem=480G,node=2"


def test_energy_of_the_allocation_is_that_of_the_job(tmp_path):
    path = tmp_path / "tres.txt"
    path.write_text("\n".join([HEAD, job(1, "energy=7200000,"), job(2, ""), ""]))
    jobs = read_sacct(path)
    assert jobs.frame["energy_j"].to_list() == [7.2e6, None]
    assert jobs.frame["power_w"].to_list() == [2000.0, None]
