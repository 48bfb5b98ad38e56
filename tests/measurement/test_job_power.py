"""Energy of jobs from samples: closed forms, gaps, resets, missing nodes, company."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import chain, repeat

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rheostat.core.vocabulary import table
from rheostat.errors import DataError, RheostatError
from rheostat.measurement.monitoring.integrate import counter_energy, gauge_energy
from rheostat.measurement.monitoring.job_power import job_energy
from rheostat.measurement.monitoring.power_mapping import PowerMapping, PowerSeries, read_mapping
from rheostat.measurement.monitoring.prometheus import Samples, samples


def by_job(quantity="power_w", **more):
    return PowerMapping("http://x", (PowerSeries("q", quantity, job="jobid", **more),), 10.0)


def by_node(quantity="power_w"):
    return PowerMapping("http://x", (PowerSeries("q", quantity, node="instance"),), 10.0)


def server(*every):
    """Hands out the samples of a stretch, as a real one does."""

    def asked(mapping, series, start, end):
        cut = [(s, (s.t >= start) & (s.t <= end)) for s in every]
        return [Samples(s.labels, s.t[c], s.v[c]) for s, c in cut if c.any()]

    return asked


def jobs(**more):
    rows = {"job_id": ["1"], "submit_s": [0.0], "start_s": [100.0], "end_s": [1100.0]}
    return table({**rows, **more})


def ramp(labels, first=0.0, last=1200.0, step=10.0):
    """Power grows by a watt a second: from a to b it is (b² - a²) / 2 joules."""
    t = np.arange(first, last + step, step)
    return Samples(labels, t, t)


@settings(deadline=None)
@given(st.floats(0, 900), st.floats(1, 300), st.integers(1, 40))
def test_a_ramp_has_the_energy_of_its_integral_gauge_or_counter(start, length, step):
    t = np.arange(0.0, 1300.0, step)
    law = ((start + length) ** 2 - start**2) / 2
    gauge = gauge_energy(t, t, start, start + length, 100.0)
    counter = counter_energy(t, t**2 / 2, start, start + length, 100.0)
    assert gauge.energy_j == pytest.approx(law, rel=1e-9)
    assert counter.energy_j == pytest.approx(law, abs=step**2)  # linear within a step
    assert [gauge.covered_s, counter.covered_s] == pytest.approx([length, length])


@pytest.mark.parametrize("window", [50.0, 333.0, 3600.0])
@pytest.mark.parametrize("quantity", ["power_w", "energy_j"])
def test_the_window_of_a_query_does_not_matter(window, quantity):
    one = ramp({"jobid": "1"})
    one = one if quantity == "power_w" else Samples(one.labels, one.t, one.v**2 / 2)
    row = job_energy(jobs(), by_job(quantity), server(one), window).frame.row(0, named=True)
    assert row["energy_j"] == pytest.approx((1100**2 - 100**2) / 2, rel=1e-6)
    assert (row["energy_covered"], row["energy_source"]) == (pytest.approx(1.0), "monitoring")


def test_array_tasks_are_joined_by_slurms_own_number():
    tasks = jobs(job_id=["5_1"], job_id_raw=["17"])
    assert job_energy(tasks, by_job(), server(ramp({"jobid": "17"}))).frame["energy_j"].count() == 1
    assert job_energy(tasks, by_job(), server(ramp({"jobid": "5"}))).frame["energy_j"].count() == 0


def test_a_gap_is_neither_zero_nor_filled_in():
    flat = Samples({"jobid": "1"}, np.arange(0.0, 1200.0, 10.0), np.full(120, 50.0))
    short = (flat.t < 500) | (flat.t > 600)
    long = (flat.t < 300) | (flat.t > 700)
    for held, known in ((short, 50_000.0), (long, None)):
        part = Samples(flat.labels, flat.t[held], flat.v[held])
        answer = job_energy(jobs(), by_job(), server(part))
        assert answer.frame["energy_j"].to_list() == [pytest.approx(known) if known else None]
        assert bool(answer.notes) == (known is None)
    assert answer.notes[0].message.startswith("less than 80% of the run has samples")


def test_a_counter_that_begins_anew_is_counted_up_to_there_and_from_there():
    t = np.arange(0.0, 1200.0, 10.0)
    v = np.where(t < 500, 9e6 + 50 * t, 50 * (t - 500))
    answer = job_energy(jobs(), by_job("energy_j"), server(Samples({"jobid": "1"}, t, v)))
    row = answer.frame.row(0, named=True)
    assert (row["energy_j"], row["energy_covered"]) == (pytest.approx(50_000), 0.99)
    assert "began anew" in answer.notes[0].message


def test_nodes_add_up_and_a_missing_one_is_missed():
    two = jobs(node_list=["n[1-2]"], shared=[False])
    every = [ramp({"instance": f"n{k}.cluster:9100", "package": p}) for k in (1, 2) for p in "01"]
    law = (1100**2 - 100**2) / 2
    full = job_energy(two, by_node(), server(*every)).frame.row(0, named=True)
    half = job_energy(two, by_node(), server(*every[:2])).frame.row(0, named=True)
    assert full["energy_j"] == pytest.approx(4 * law)
    assert (half["energy_j"], half["energy_covered"]) == (None, pytest.approx(0.5))


def test_a_node_that_was_shared_says_nothing_of_its_jobs():
    company = jobs(node_list=["n1"], shared=[True])
    answer = job_energy(company, by_node(), server(ramp({"instance": "n1"})))
    assert answer.frame["energy_j"].to_list() == [None]
    assert "shared a node" in answer.notes[0].message


def test_parts_of_a_job_add_up_only_if_all_are_there():
    parts = PowerMapping(
        "http://x", (PowerSeries("a", job="jobid"), PowerSeries("b", job="gpu")), 10.0
    )
    both = server(ramp({"jobid": "1", "gpu": "1"}))
    assert job_energy(jobs(), parts, both).frame["energy_j"][0] == pytest.approx(1100**2 - 100**2)
    assert job_energy(jobs(), parts, server(ramp({"jobid": "1"}))).frame["energy_j"][0] is None


def test_every_mistake_of_a_mapping_is_said_at_once(tmp_path):
    path = tmp_path / "power.toml"
    path.write_text('url = "ftp://x"\nstep = 5\n[[series]]\nquantity = "watts"\nscale = -1\n')
    with pytest.raises(DataError) as told:
        read_mapping(path)
    for word in ("url", "step: no such key", "query is missing", "quantity", "scale", "a label"):
        assert word in str(told.value)


def test_no_server_is_one_sentence():
    with pytest.raises(RheostatError, match="9: no answer"):
        samples(
            PowerMapping("http://127.0.0.1:9", ()), PowerSeries("up", node="instance"), 0.0, 9.0
        )


@contextmanager
def answering(body, status=200, *, headers=(), sends=None):
    """A server with one answer, and what it was asked."""
    heard = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            heard.append(dict(self.headers))
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()
            for part in sends or [body]:
                self.wfile.write(part)

        def log_message(self, *words):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as there:
        threading.Thread(target=there.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://reader:secret@127.0.0.1:{there.server_port}", heard
        finally:
            there.shutdown()


def matrix(*result):
    data = {"resultType": "matrix", "result": result}
    return json.dumps({"status": "success", "data": data}).encode()


def one(*values, **labels):
    return {"metric": labels, "values": values}


def asked_of(url, **more):
    series = PowerSeries("up", node="instance", **more)
    return samples(PowerMapping(url, (series,)), series, 0.0, 9.0)


def test_samples_are_in_order_once_and_such_as_a_machine_can_have():
    odd = [2, "5"], [1, "4"], [2, "6"], [3, "NaN"], [4, "+Inf"], [5, "1e300"], [6, "-1e13"]
    with answering(matrix(one(*odd, instance="n1", rack=7))) as (url, _):
        said = asked_of(url)
    assert said[0].labels == {"instance": "n1", "rack": "7"}
    assert (said[0].t.tolist(), said[0].v.tolist()) == ([1.0, 2.0], [4.0, 5.0])


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[" * 100_000, b'{"status":"success"}', matrix(7), matrix("x"), matrix({}),
     b'{"status":"success","data":{"resultType":"matrix","result":{"a":1}}}', matrix(one([1])),
     matrix(one([1, "x"])), matrix(one([[], {}])), matrix(one([1, 10**400])),
     matrix({"metric": [], "values": []}), b'{"status":"error","error":{"a":[1]}}',
     gzip.compress(matrix(), mtime=0)],
    ids=lambda body: body[:60].decode("latin-1"),
)  # fmt: skip
def test_whatever_a_server_answers_is_one_sentence_without_the_password(body):
    with (
        answering(body, headers=[("content-encoding", "gzip")]) as (url, _),
        pytest.raises(RheostatError) as told,
    ):
        asked_of(url)
    assert "127.0.0.1" in str(told.value)
    assert "secret" not in str(told.value)
    assert len(str(told.value)) < 800


def test_an_answer_has_an_end_in_bytes_and_in_seconds(monkeypatch):
    from rheostat.measurement.monitoring import prometheus

    monkeypatch.setattr(prometheus, "MOST_B", 10**5)
    with answering(b"", sends=[b" " * 60_000] * 2) as (url, _):
        with pytest.raises(RheostatError, match="answers more than"):
            asked_of(url)
        monkeypatch.setattr(prometheus, "MOST_B", 10**9)
        monkeypatch.setattr(prometheus, "MOST_S", -1.0)
        with pytest.raises(RheostatError, match="answers for more than"):
            asked_of(url)


def test_a_server_that_sends_its_head_letter_by_letter_is_left(monkeypatch):
    monkeypatch.setattr("rheostat.measurement.monitoring.prometheus.MOST_S", 0.2)
    left = threading.Event()

    def drip(listening):
        with listening.accept()[0] as there:
            for letter in chain(b"HTTP/1.1 200 OK\r\nx: ", repeat(ord("x"))):
                there.sendall(bytes([letter]))
                if left.wait(0.01):
                    return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = threading.Thread(target=drip, args=(listening,), daemon=True)
        server.start()
        with pytest.raises(RheostatError, match=r"answers for more than 0\.2 s"):
            asked_of(f"http://127.0.0.1:{listening.getsockname()[1]}")
        left.set()
        server.join()


def test_another_address_is_not_asked():
    with answering(matrix()) as (other, heard):
        away = other.replace("reader:secret@", "") + "/api/v1/query"
        with (
            answering(b"", 307, headers=[("location", away)]) as (url, _),
            pytest.raises(RheostatError, match="got no JSON"),
        ):
            asked_of(url)
        assert heard == []


def test_a_file_that_is_no_token_is_sent_to_nobody(tmp_path):
    key, token = tmp_path / "key", tmp_path / "token"
    key.write_text("-----BEGIN KEY-----\nabc\n")
    token.write_text("abc.def-1\n")
    series = PowerSeries("up", node="instance")
    with answering(matrix()) as (url, heard):
        plain = url.replace("reader:secret@", "")
        with pytest.raises(DataError, match="expected a token"):
            samples(PowerMapping(plain, (), bearer_token_file=str(key)), series, 0.0, 9.0)
        assert heard == []
        samples(PowerMapping(plain, (), bearer_token_file=str(token)), series, 0.0, 9.0)
    assert [h["Authorization"] for h in heard] == ["Bearer abc.def-1"]
