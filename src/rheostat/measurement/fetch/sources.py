"""Where the public logs lie: Zenodo records, and the Parallel Workloads Archive's folders.

Addresses were taken from public download scripts and the archives' own pages; Zenodo's record page
(``/api/records/ID``) lists an MD5 sum and a size of every file, the Parallel Workloads Archive
publishes neither.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rheostat.errors import DataError

ZENODO = "https://zenodo.org"
ARCHIVE = "https://www.cs.huji.ac.il/labs/parallel/workload"
FIRST_MONTH, LAST_MONTH = "21_03", "24_04"

SWF_LOGS: dict[str, str] = {
    "NASA-iPSC-1993-3.1-cln": "l_nasa_ipsc", "LANL-CM5-1994-4.1-cln": "l_lanl_cm5",
    "SDSC-Par-1995-3.1-cln": "l_sdsc_par", "SDSC-Par-1996-3.1-cln": "l_sdsc_par",
    "CTC-SP2-1995-2": "l_ctc_sp2", "CTC-SP2-1996-3.1-cln": "l_ctc_sp2",
    "LLNL-T3D-1996-2": "l_llnl_t3d", "KTH-SP2-1996-2.1-cln": "l_kth_sp2",
    "SDSC-SP2-1998-4.2-cln": "l_sdsc_sp2", "LANL-O2K-1999-2": "l_lanl_o2k",
    "OSC-Clust-2000-3.1-cln": "l_osc", "SDSC-BLUE-2000-4.2-cln": "l_sdsc_blue",
    "Sandia-Ross-2001-1.1-cln": "l_sandia_ross", "HPC2N-2002-2.2-cln": "l_hpc2n",
    "DAS2-fs0-2003-1": "l_das2", "SDSC-DS-2004-2.1-cln": "l_sdsc_ds",
    "LPC-EGEE-2004-1.2-cln": "l_lpc", "LCG-2005-1": "l_lcg", "SHARCNET-2005-2": "l_sharcnet",
    "LLNL-uBGL-2006-2": "l_llnl_ubgl", "LLNL-Atlas-2006-2.1-cln": "l_llnl_atlas",
    "LLNL-Thunder-2007-1.1-cln": "l_llnl_thunder", "ANL-Intrepid-2009-1": "l_anl_int",
    "METACENTRUM-2009-2": "l_metacentrum", "PIK-IPLEX-2009-1": "l_pik_iplex",
    "RICC-2010-2": "l_ricc", "CEA-Curie-2011-2.1-cln": "l_cea_curie",
    "Intel-NetbatchA-2012-1": "l_intel_netbatch", "UniLu-Gaia-2014-2": "l_unilu_gaia",
    "METACENTRUM-2013-3": "l_metacentrum2", "CIEMAT-Euler-2008-1": "l_ciemat_euler",
    "KIT-FH2-2016-1": "l_kit_fh2",
}  # fmt: skip


@dataclass(frozen=True)
class ArchiveSource:
    """One file: its address, the page that lists its checksum ("" if none), its format."""

    name: str
    file: str
    url: str
    format: str
    record: str = ""


def locate(what: str, base_url: str | None = None) -> ArchiveSource:
    """The source of ``pm100``, ``adastra``, ``fdata:YY_MM`` or ``swf:NAME``.

    >>> locate("swf:KTH-SP2-1996-2.1-cln").url.rpartition("/")[2]
    'KTH-SP2-1996-2.1-cln.swf.gz'
    >>> locate("fdata:23_06").file
    '23_06.parquet'
    """
    kind, _, rest = what.partition(":")
    if kind == "swf" and rest:
        return _swf(rest.removesuffix(".gz").removesuffix(".swf"), base_url or ARCHIVE)
    site = (base_url or ZENODO).rstrip("/")
    if kind == "fdata":
        return _zenodo(what, 11467483, f"{_month(rest or FIRST_MONTH)}.parquet", "fdata", site)
    if what == "pm100":
        return _zenodo(what, 10127767, "job_table.parquet", "pm100", site)
    if what == "adastra":
        return _zenodo(what, 14007065, "AdastaJobsMI250_15days.parquet", "adastra", site)
    raise DataError("fetch", [f"expected pm100, adastra, fdata:YY_MM or swf:NAME, got {what!r}"])


def _zenodo(name: str, record: int, file: str, form: str, site: str) -> ArchiveSource:
    url = f"{site}/records/{record}/files/{file}"
    return ArchiveSource(name, file, url, form, f"{site}/api/records/{record}")


def _swf(log: str, site: str) -> ArchiveSource:
    if log not in SWF_LOGS:
        raise DataError("fetch", [f"no log {log!r}; known: {', '.join(sorted(SWF_LOGS))}"])
    file = f"{log}.swf.gz"
    return ArchiveSource(f"swf:{log}", file, f"{site.rstrip('/')}/{SWF_LOGS[log]}/{file}", "swf")


def _month(text: str) -> str:
    if not re.fullmatch(r"\d\d_(0[1-9]|1[0-2])", text) or not FIRST_MONTH <= text <= LAST_MONTH:
        raise DataError(
            "fetch", [f"month: expected YY_MM from {FIRST_MONTH} to {LAST_MONTH}, got {text!r}"]
        )
    return text
