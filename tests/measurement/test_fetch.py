"""Downloads against a local server: whole, wrong, absent, cut and resumed."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from benchmarks.published_logs import write_pm100
from rheostat.errors import DataError, FetchError
from rheostat.measurement.fetch import SWF_LOGS
from rheostat.measurement.fetch.download import fetch
from rheostat.measurement.fetch.sources import locate
from rheostat.measurement.fetch.whole import why_not_whole
from rheostat.measurement.read import read

NAME = "KTH-SP2-1996-2.1-cln"
LINE = "1 0 10 100 4 -1 -1 8 3600 2048 1 3 2 7 1 -1 -1 -1\n"
PM100 = "/records/10127767/files/job_table.parquet"
SWF = f"/l_kth_sp2/{NAME}.swf.gz"


class Site(ThreadingHTTPServer):
    """Files by path; ``cut`` closes that many replies after 5,000 bytes; ``asked`` logs ranges."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.cut = 0
        self.ranges = True
        self.asked: list[tuple[str, str | None]] = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        site, wanted = self.server, self.headers.get("Range")
        site.asked.append((self.path, wanted))
        data = site.files.get(self.path)
        if data is None:
            self.send_error(404)
            return
        tag = f'"{hashlib.md5(data).hexdigest()}"'
        start = int(wanted.split("=")[1].split("-")[0]) if wanted and site.ranges else 0
        if self.headers.get("If-Range", tag) != tag:
            start = 0
        if start >= len(data):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("ETag", tag)
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        if site.cut and not self.path.startswith("/api"):
            site.cut -= 1
            self.wfile.write(data[start : start + 5000])
            self.wfile.flush()
            self.connection.close()
            return
        self.wfile.write(data[start:])

    def log_message(self, *args):
        pass


@pytest.fixture
def site(tmp_path):
    server = Site()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    write_pm100(tmp_path / "pm100", 300)
    data = (tmp_path / "pm100").read_bytes()
    server.files[PM100] = data
    server.files[SWF] = gzip.compress(LINE.encode() * 3)
    listed = {"key": "job_table.parquet", "checksum": f"md5:{hashlib.md5(data).hexdigest()}"}
    server.files["/api/records/10127767"] = json.dumps({"files": [listed]}).encode()
    yield server
    server.shutdown()
    server.server_close()


def get(site, what, tmp_path, **options):
    return fetch(what, base_url=site.url, cache=tmp_path / "cache", **options)


def test_a_good_file_is_checked_kept_and_not_fetched_again(site, tmp_path):
    seen = []
    got = get(site, "pm100", tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert got.path.read_bytes() == site.files[PM100]
    assert got.checked == "archive"
    assert seen[-1] == (len(site.files[PM100]),) * 2
    assert len(read(got.path)) == 300
    before = len(site.asked)
    again = get(site, "pm100", tmp_path)
    assert (again.path, again.sha256, again.checked) == (got.path, got.sha256, "lock")
    assert len(site.asked) == before


def test_without_a_published_sum_the_first_one_is_recorded_and_compared(site, tmp_path):
    got = get(site, f"swf:{NAME}", tmp_path)
    assert got.checked == "first use"
    lock = json.loads((tmp_path / "cache" / "fetched.json").read_text())
    assert lock[f"{NAME}.swf.gz"]["sha256"] == hashlib.sha256(site.files[SWF]).hexdigest()
    got.path.unlink()
    site.files[SWF] = gzip.compress(LINE.encode() * 4)
    with pytest.raises(FetchError, match="wrong checksum"):
        get(site, f"swf:{NAME}", tmp_path)
    assert not got.path.exists()


def test_a_wrong_checksum_keeps_nothing(site, tmp_path):
    site.files[PM100] = site.files[PM100][:-10] + b"0123456789"
    with pytest.raises(FetchError, match="wrong checksum, nothing was kept"):
        get(site, "pm100", tmp_path)
    assert [p.name for p in (tmp_path / "cache").iterdir()] == []


def test_a_file_that_is_not_there_names_the_answer(site, tmp_path):
    with pytest.raises(FetchError, match="the server answered 404"):
        get(site, "adastra", tmp_path)


def test_a_server_that_is_not_there_is_one_message(tmp_path):
    with pytest.raises(FetchError, match="connection was cut after 0 bytes"):
        fetch("adastra", base_url="http://127.0.0.1:9", cache=tmp_path, attempts=1)


def test_a_cut_connection_is_resumed_where_it_stopped(site, tmp_path):
    site.cut = 2
    got = get(site, "pm100", tmp_path)
    assert got.path.read_bytes() == site.files[PM100]
    ranges = [r for path, r in site.asked if path == PM100]
    assert ranges == [None, "bytes=5000-", "bytes=10000-"]


def test_what_arrived_survives_the_process_and_the_next_call_goes_on(site, tmp_path):
    site.cut = 1
    with pytest.raises(FetchError, match=r"cut after 5,000 bytes.*run the same command again"):
        get(site, "pm100", tmp_path, attempts=1)
    assert (tmp_path / "cache" / "job_table.parquet.part").stat().st_size == 5000
    got = get(site, "pm100", tmp_path)
    assert got.path.read_bytes() == site.files[PM100]
    assert site.asked[-1] == (PM100, "bytes=5000-")
    assert not list((tmp_path / "cache").glob("*.part*"))


def test_pieces_of_two_versions_are_not_joined(site, tmp_path):
    old, new = (gzip.compress(_log(k).encode()) for k in (1, 2))
    assert min(len(old), len(new)) > 5000
    site.files[SWF], site.cut = old, 1
    with pytest.raises(FetchError, match="cut after 5,000 bytes"):
        get(site, f"swf:{NAME}", tmp_path, attempts=1)
    site.files[SWF] = new
    assert get(site, f"swf:{NAME}", tmp_path).path.read_bytes() == new


def _log(seed):
    """Lines that do not compress away."""
    drawn = np.random.default_rng(seed).integers(0, 10**9, (2000, 2))
    return "".join(f"{i} {a} 10 {b} 4 -1 -1 8 3600 -1 1 3 2 7 1 -1 -1 -1\n" for i, (a, b) in
                   enumerate(drawn))  # fmt: skip


def test_a_server_without_ranges_starts_over(site, tmp_path):
    site.cut, site.ranges = 1, False
    assert get(site, "pm100", tmp_path).path.read_bytes() == site.files[PM100]


def test_a_page_instead_of_data_is_refused(site, tmp_path):
    site.files[SWF] = b"<html>please log in</html>"
    with pytest.raises(FetchError, match="is not a swf file"):
        get(site, f"swf:{NAME}", tmp_path)
    assert not (tmp_path / "cache" / f"{NAME}.swf.gz").exists()


def test_names_are_checked_before_anything_is_asked():
    with pytest.raises(DataError, match="expected pm100, adastra"):
        locate("pm1000")
    with pytest.raises(DataError, match="expected YY_MM from 21_03 to 24_04, got '24_05'"):
        locate("fdata:24_05")
    with pytest.raises(DataError, match="no log 'KTH'; known: ANL-Intrepid"):
        locate("swf:KTH")
    assert all(locate(f"swf:{n}").url.startswith("https://www.cs.huji.ac.il/") for n in SWF_LOGS)
    assert locate("pm100").url == "https://zenodo.org/records/10127767/files/job_table.parquet"


class Talkative(Handler):
    """A server that tells no length and may close early, as HTTP/1.0 allows."""

    def do_GET(self):
        site = self.server
        data = site.files[self.path]
        wanted = self.headers.get("Range") if site.ranges else None
        start = int(wanted.split("=")[1].split("-")[0]) if wanted else 0
        if start >= len(data):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.end_headers()
        stop = start + 5000 if site.cut else len(data)
        site.cut = max(0, site.cut - 1)
        self.wfile.write(data[start:stop])


@pytest.fixture
def mute(site):
    site.RequestHandlerClass = Talkative
    return site


def packed(kind: str, tmp_path) -> bytes:
    if kind == "gzip":
        return gzip.compress(_log(1).encode())
    write_pm100(tmp_path / "pm", 300)
    return (tmp_path / "pm").read_bytes()


@pytest.mark.parametrize(("what", "path"), [(f"swf:{NAME}", SWF), ("pm100", PM100)])
def test_half_a_file_without_a_length_is_neither_kept_nor_trusted(mute, tmp_path, what, path):
    """The server says nothing and closes: half an archive looks complete to HTTP."""
    mute.files[path] = packed("gzip" if what != "pm100" else "parquet", tmp_path)
    mute.files["/api/records/10127767"] = b"{}"  # no sum is published
    mute.cut = 10**6
    with pytest.raises(FetchError, match=r"cut after [\d,]+ bytes: the \w+ file .*cut off"):
        get(mute, what, tmp_path, attempts=2)
    cache = tmp_path / "cache"
    assert not (cache / "fetched.json").exists()
    assert [p.suffix for p in cache.iterdir()] == [".part"]
    mute.cut = 0
    got = get(mute, what, tmp_path)
    assert got.path.read_bytes() == mute.files[path]
    assert got.checked == "first use"


def test_a_half_that_an_older_release_trusted_is_dropped_and_fetched_anew(site, tmp_path):
    site.files[SWF] = gzip.compress(_log(1).encode())
    got = get(site, f"swf:{NAME}", tmp_path)
    half = site.files[SWF][:6000]
    got.path.write_bytes(half)
    lock = tmp_path / "cache" / "fetched.json"
    facts = json.loads(lock.read_text())
    facts[got.path.name]["sha256"] = hashlib.sha256(half).hexdigest()
    lock.write_text(json.dumps(facts))
    with pytest.raises(FetchError, match=r"gzip file is cut off.*run the same command again"):
        get(site, f"swf:{NAME}", tmp_path)
    assert get(site, f"swf:{NAME}", tmp_path).path.read_bytes() == site.files[SWF]


def test_the_end_of_an_archive_is_looked_at(tmp_path):
    """Each kind, cut by a byte at the end and spoiled by a byte in the middle."""
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("a.txt", _log(2))
    made = {"a.gz": packed("gzip", tmp_path), "a.parquet": packed("parquet", tmp_path),
            "a.zip": zipped.getvalue()}  # fmt: skip
    for name, data in made.items():
        path = tmp_path / name
        path.write_bytes(data)
        assert why_not_whole(path) == ""
        for wrong in (data[:-1], data[: len(data) // 2], _spoiled(data)):
            path.write_bytes(wrong)
            assert why_not_whole(path)
    (tmp_path / "a.txt").write_text(LINE)
    assert "its end cannot be checked" in why_not_whole(tmp_path / "a.txt")


def _spoiled(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes(b ^ 0x55 for b in data[middle : middle + 40]) + data[middle + 40 :]


@pytest.mark.parametrize("text", ["[]", '{"a": []}', "{", '{"a": {"url": 1}}'])
def test_a_damaged_record_of_sums_is_named(site, tmp_path, text):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "fetched.json").write_text(text)
    with pytest.raises(FetchError, match=r"fetched\.json is damaged: delete it"):
        get(site, f"swf:{NAME}", tmp_path)
