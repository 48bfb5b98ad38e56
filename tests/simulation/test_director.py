"""The director's protocol: the recorded exchange, a client made from its description, refusals."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

from rheostat.errors import DataError
from rheostat.measurement.network.dragonfly import read_dragonfly
from rheostat.measurement.network.folder import read_network_run
from rheostat.measurement.network.network_jobs import jobs_by_name, read_network_jobs
from rheostat.prediction.iteration_time.clients import ClientForecasts
from rheostat.recipes.smart import backtest, method
from rheostat.simulation.network.director import DirectorService, serve
from rheostat.simulation.network.port_telemetry import GrowingTelemetry

RECORDS = ("95091.745288 97135.511967 97401.768606 100055.075875 94945.082196 99772.045954 "
           "96040.859604 97466.375811 99440.748887")  # fmt: skip
HEAD = '{"cmd":"director-request","surrogate_family":"iteration-time",'
HEAD += '"surrogate_backend":"director",'


class DirectorClient:
    """The director as CODES has it: a new socket per request; a list of values per reply."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint

    def ask(self, text: str, payload: str = "") -> list[str]:
        """Status, then et, id and predictions where they are there, in this order."""
        import zmq

        with zmq.Context() as context, context.socket(zmq.REQ) as socket:
            socket.setsockopt(zmq.RCVTIMEO, 20_000)
            socket.connect(self.endpoint)
            socket.send(text.encode() + b"\0" + payload.encode())
            reply = json.loads(socket.recv())
        assert all(isinstance(v, str) for v in reply.values())
        return [reply[k] for k in ("status", "et", "id", "predictions") if k in reply]


@pytest.fixture
def service(tmp_path) -> DirectorService:
    return DirectorService(ClientForecasts(dict.fromkeys(range(72), "milc")), tmp_path)


def reply(service: DirectorService, text: str, payload: str = "") -> dict[str, str]:
    return json.loads(service.answer(text.encode() + b"\0" + payload.encode()))


def request(operation: str, *args: str, **more: str) -> str:
    counted = [str(len(args)), *args] if operation in ("inference", "send-records") else args
    return json.dumps({"cmd": "director-request", "args": counted, "operation": operation,
                       "surrogate_family": "iteration-time", **more})  # fmt: skip


def test_the_recorded_exchange_has_the_same_answers_in_the_same_keys(service, tmp_path):
    status = reply(service, request("model-status", "all"))
    assert {**status, "et": ""} == {
        "status": "done", "et": "", "target": "all", "total_clients": "0", "trained_clients": "0",
        "total_records": "0", "model_version": "0", "clients": ""}  # fmt: skip
    assert reply(service, '{"cmd":"set-debug","args":["1","1"]}') == {"status": "done", "et": "0.0"}
    for client in range(72):
        text = f'{HEAD}"operation":"send-records","args":["2","{client}","9"]}}'
        assert set(reply(service, text, RECORDS)) == {"status", "et"}
    trained = reply(service, request("train-model", "all"))
    figures = {k: v for k, v in trained.items() if k not in ("et", "training_examples")}
    assert figures == {
        "status": "done", "target": "all", "total_clients": "72", "trained_clients": "72",
        "skipped_clients": "0", "total_records": "648", "model_version": "1"}  # fmt: skip
    saved = reply(service, request("save-model", "model.pt"))
    assert (saved["path"], saved["model_version"]) == ("model.pt", "1")
    assert reply(service, request("load-model", "model.pt"))["model_version"] == "2"
    text = f'{HEAD}"operation":"inference","args":["2","44","1"]}}'
    said = reply(service, text)
    assert list(said) == ["status", "et", "predictions"]
    assert 94_000 < float(said["predictions"]) < 101_000
    assert reply(service, '{"cmd": "exit", "args": []}') == {"status": "none"}
    assert service.stopped


def test_over_the_wire(service):
    pytest.importorskip("zmq")
    bound, there = [], threading.Event()

    def ready(endpoint: str) -> None:
        bound.append(endpoint)
        there.set()

    server = threading.Thread(target=serve, args=(service, "tcp://127.0.0.1:*", ready))
    server.start()
    assert there.wait(20)
    client = DirectorClient(bound[0])
    assert client.ask('{"cmd":"set-debug","args":["1","1"]}') == ["done", "0.0"]
    for rank in range(3):
        client.ask(f'{HEAD}"operation":"send-records","args":["2","{rank}","9"]}}', RECORDS)
    answer = client.ask(f'{HEAD}"operation":"inference","args":["2","1","1"]}}')
    assert answer[0] == "done"
    assert float(answer[2]) == pytest.approx(97_401, rel=0.02)
    assert client.ask('{"cmd":"exit","args":["1","dummy"]}', "None") == ["none"]
    server.join(20)
    assert not server.is_alive()


def test_a_window_is_answered_step_by_step_and_the_pattern_goes_on_behind_it(service):
    """Every request is for one step; the server counts them, for each client by itself."""
    pattern = [1e5, 1e5, 1e5, 2e5]
    for client in (3, 9):
        text = request("send-records", str(client), "80")
        reply(service, text, " ".join(map(str, pattern * 20)))

    def window(client: int, steps: int) -> list[float]:
        text = request("inference", str(client), "1")
        return [float(reply(service, text)["predictions"]) for _ in range(steps)]

    one, two = window(3, 6), window(9, 6)
    assert one == two
    assert np.array(one) == pytest.approx([1e5, 1e5, 1e5, 2e5, 1e5, 1e5], rel=0.1)
    for client in (3, 9):  # two iterations into the pattern: the window of six had passed
        reply(service, request("send-records", str(client), "2"), "1e5 2e5")
    assert np.array(window(9, 4)) == pytest.approx(pattern, rel=0.1)


def test_beyond_the_horizon_the_pattern_goes_on(service):
    reply(service, request("send-records", "1", "80"), " ".join(["1e5", "1e5", "1e5", "2e5"] * 20))
    text = request("inference", "1", "48")
    times = [float(v) for v in reply(service, text)["predictions"].split()]
    assert len(times) == 48
    again = [float(v) for v in reply(service, text)["predictions"].split()]
    assert again[3] == pytest.approx(2e5, rel=0.2)
    assert again[:3] == pytest.approx([1e5] * 3, rel=0.1)


def test_records_follow_a_window_longer_than_any_that_the_rule_knows(tmp_path):
    """A director takes the window that its configuration names; a refusal would end its run."""
    service = DirectorService(ClientForecasts({1: "halo"}, most_error=0.01), tmp_path)
    reply(service, request("send-records", "1", "40"), "3e6 " * 40)
    for _ in range(45):
        assert reply(service, request("inference", "1", "1"))["status"] == "done"
    assert reply(service, request("send-records", "1", "9"), "3e6 " * 9)["status"] == "done"
    assert service.clients.groups["halo"].control.forecast_s == pytest.approx(45 * 3e-3)


def test_records_that_are_no_times_are_dropped_and_ranks_are_one_series(service):
    reply(service, request("send-records", "1", "4"), "1e5 nan -3 inf 2e5")
    assert service.clients.counts() == {1: 2}
    for client, times in ((2, "1e5 3e5"), (3, "1e5 2e5")):
        reply(service, request("send-records", str(client), "2"), times)
    assert reply(service, request("train", "all"))["training_examples"] == "2"
    assert np.exp(service.clients.groups["milc"].forecaster.logs) == pytest.approx([1e-4, 2e-4])


def test_what_all_ranks_have_reported_is_learned_before_anybody_asks():
    clients = ClientForecasts({1: "milc", 2: "milc"})
    clients.report(1, [1e-3] * 3)
    assert clients.groups["milc"].learned == 0
    clients.report(2, [1e-3] * 2)
    assert clients.groups["milc"].learned == 2
    clients.forecast(1, 1)  # rank 2 may have left: the answer is of what follows rank 1's own
    assert clients.groups["milc"].learned == 3


def test_a_model_of_one_application_is_for_terminals_without_a_place(tmp_path):
    from rheostat.errors import DataError
    from rheostat.prediction.iteration_time.adaptive import AdaptiveForecaster
    from rheostat.prediction.iteration_time.iteration_model import IterationModel
    from rheostat.questions.network.serve import others

    learned = AdaptiveForecaster()
    for _ in range(20):
        learned.observe(3e-3)
    one = IterationModel({"milc": learned})
    assert others({}, one) == "milc"
    assert others({7: "milc"}, one) == ""
    clients = ClientForecasts({}, one, "milc")
    assert clients.forecast(5, 1) == pytest.approx([3e-3])
    clients.report(5, [4e-3])
    clients.report(6, [4e-3])
    clients.learn()
    assert clients.groups["milc"].learned == 1  # terminals 5 and 6 are one series
    with pytest.raises(DataError, match="it has lammps, milc: expected --workload"):
        others({}, IterationModel({"milc": learned, "lammps": learned}))


def test_before_anything_was_reported(service, caplog):
    failed = reply(service, request("train-model", "all"))
    assert (failed["status"], "no records" in failed["error"]) == ("failed", True)
    for _ in range(2):
        said = reply(service, request("inference", "200", "1"))
        assert (said["status"], "predictions" in said) == ("failed", False)
        assert "no forecast yet" in said["error"]
    (line,) = caplog.messages[1:]  # told once
    assert "no forecast yet: nothing was reported or loaded for client-200" in line
    reply(service, request("send-records", "1", "1"), "5e5")
    said = reply(service, request("inference", "201", "1"))  # another application
    assert said["status"] == "failed"
    said = reply(service, request("inference", "2", "1"))  # the same, which has one record
    assert float(said["predictions"]) == pytest.approx(5e5)


def test_a_server_that_was_killed_answers_no_time_before_its_model_is_loaded(service, tmp_path):
    reply(service, request("send-records", "1", "40"), "1e5 2e5 " * 20)
    reply(service, request("train-model", "all"))
    before = reply(service, request("inference", "1", "1"))["predictions"]
    reply(service, request("save-model", "m"))
    anew = DirectorService(ClientForecasts(dict.fromkeys(range(72), "milc")), tmp_path)
    assert "no forecast yet" in reply(anew, request("inference", "1", "1"))["error"]
    reply(anew, request("load-model", "m"))
    assert reply(anew, request("inference", "1", "1"))["predictions"] == before


def test_clients_and_records_have_a_bound(service, monkeypatch):
    for name in ("MOST_APPS", "MOST_RECORDS"):
        monkeypatch.setattr(f"rheostat.prediction.iteration_time.clients.{name}", 3)
    for client in range(100, 103):
        assert reply(service, request("send-records", str(client), "1"), "")["status"] == "done"
    refused = reply(service, request("send-records", "103", "1"), "")
    assert "expected at most 3 clients without an application" in refused["error"]
    assert len(service.clients.groups) == 3
    assert reply(service, request("inference", "104", "1"))["status"] == "failed"
    assert len(service.clients.groups) == 3
    refused = reply(service, request("send-records", "100", "1"), "1e5")
    assert "3 are here: start the server anew" in refused["error"]


def test_records_that_are_none_are_counted_and_steps_that_are_none_refused(service):
    sent = reply(service, request("send-records", "5", "4"), "3e6 nan 0 3e6")
    assert (sent["status"], sent["dropped"]) == ("done", "2")
    assert "dropped" not in reply(service, request("send-records", "6", "1"), "3e6")
    for steps in ("x", "0", "1001", "-1", "1.5"):
        failed = reply(service, request("inference", "5", steps))
        assert failed["error"] == f"inference: expected 1 to 1000 steps, got {steps}"


def test_an_address_that_is_none_is_one_message(service):
    pytest.importorskip("zmq")
    with pytest.raises(DataError, match=r"expected an address that is free, as tcp://127.0.0.1"):
        serve(service, "nonsense", print)


@pytest.mark.parametrize("command", ["execute", "launch", "send", "query", "anything"])
def test_commands_that_run_programs_or_write_files_are_refused(service, tmp_path, command):
    text = json.dumps({"cmd": command, "args": ["../../x", "0"]})
    assert reply(service, text, "content")["status"] == "none"
    assert list(tmp_path.iterdir()) == []


def test_paths_stay_in_the_folder(service, tmp_path):
    reply(service, request("send-records", "1", "1"), "5e5")
    for name in ("../model", "/etc/model", "", "a/b", ".."):
        for operation in ("save-model", "load-model", "load-records-csv"):
            failed = reply(service, request(operation, name))
            assert failed["status"] == "failed", (operation, name)
    (tmp_path / "model").write_bytes(b"\x80\x04cos\nsystem\n(S'x'\ntR.")  # a pickle is not opened
    assert reply(service, request("load-model", "model"))["status"] == "failed"
    (tmp_path / "r.csv").write_text("client,value,app_id\n4,1e5,0\n4,2e5,0\n5,1e5,0\n")
    loaded = reply(service, request("load-records-csv", "r.csv"))
    assert (loaded["loaded_rows"], loaded["loaded_clients"]) == ("3", "2")
    for client in ("inf", "nan", "1e300", "-1", "x", "1.5"):
        (tmp_path / "r.csv").write_text(f"client,value\n{client},1e5\n")
        failed = reply(service, request("load-records-csv", "r.csv"))
        assert failed["status"] == "failed", client
        assert "expected a whole number from 0" in failed["error"]


@pytest.mark.parametrize("message", [
    b"", b"\0", b"{}", b"[1]\0", b"{\0", b'{"cmd":"director-request"}\0', b"\xff\xfe\0\xff",
    b'{"cmd":"director-request","operation":"inference","args":["x","1"]}\0',
    b'{"cmd":"director-request","operation":"inference","args":["2","1","0"]}\0',
    b'{"cmd":"director-request","operation":"inference","args":["2","1","1e9"]}\0',
    b'{"cmd":"director-request","operation":"send-records","args":["2","1","1"]}\0a b',
    b'{"cmd":"director-request","operation":"inference","surrogate_family":"event-time"}\0',
    b"[" * 100_000 + b"\0",
    b'{"cmd":"director-request","operation":"inference","args":["2","inf","1"]}\0',
    b'{"cmd":"director-request","operation":"send-records","args":["1","' + b"9" * 5000 + b'"]}\0',
    b'{"cmd":"director-request","operation":"send-records","args":["1","\xc2\xb2"]}\0',
])  # fmt: skip
def test_whatever_comes_there_is_a_reply_and_the_server_goes_on(service, message):
    answer = json.loads(service.answer(message))
    assert answer["status"] in ("failed", "none")
    assert not service.stopped
    assert reply(service, '{"cmd":"nothing","args":["dummy"]}')["status"] == "done"


def test_an_error_that_nobody_foresaw_is_a_reply_too(service, monkeypatch, caplog):
    monkeypatch.setattr(service.clients, "forecast", lambda *_: 1 / 0)
    for _ in range(2):
        failed = reply(service, request("inference", "5", "1"))
        assert failed == {"status": "failed", "error": "ZeroDivisionError: division by zero"}
    assert caplog.messages == ["refused: ZeroDivisionError: division by zero"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["codes72_milc_lammps_ur", "codes72_varying_ur"])
def test_the_server_forecasts_what_the_backtest_did(shared_data, name, tmp_path):
    """A recorded run, sent by its 68 ranks and asked about before every iteration."""
    folder = shared_data / "network" / name
    run = read_network_run(folder)
    jobs = jobs_by_name(read_network_jobs(folder / "wl.conf", folder / "alloc.conf"))
    named = {n: j for n, j in jobs.items() if not j.interval_s}
    telemetry = GrowingTelemetry(
        folder / "ports.npz", read_dragonfly(folder / "net.conf"), list(jobs.values()), named
    )
    places = {t: n for n, j in jobs.items() for t in j.terminals}
    service = DirectorService(ClientForecasts(places, telemetry=telemetry), tmp_path)
    own, since = {}, {}
    for terminal, rows in run.finished.sort("iteration").group_by("terminal"):
        since[terminal[0]] = 1e9 * rows["time_s"][0]
        own[terminal[0]] = 1e9 * np.diff(rows["time_s"])
    said = {a: [] for a in run.applications}
    moments = sorted((t, a, k) for a in said for k, t in enumerate(run.mark_s(a)))
    for _, app, k in moments:
        for client in run.applications[app].terminals:
            text = "" if k == 0 else repr(float(own[client][k - 1]))
            sent = request("send-records", str(client), "1", since=str(since[client]))
            assert reply(service, sent, text)["status"] == "done"
        asked = service.clients.groups[app].outlook(30)
        said[app].append(asked.time_s)
    for app, answers in said.items():
        tested = backtest(run, app, method("ours"))
        np.testing.assert_allclose(answers[:-1], tested.forecast_s, rtol=1e-6)
        np.testing.assert_allclose(answers[-1], tested.after.time_s, rtol=1e-6)
