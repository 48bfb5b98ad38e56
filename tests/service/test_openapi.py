"""Whatever a client sends by the published description, the service answers and never fails."""

from __future__ import annotations

import pytest

schemathesis = pytest.importorskip("schemathesis", reason="needs the extra dev")
from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402

ASK = settings(
    max_examples=8, deadline=None, derandomize=True, database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
STREAM = "/api/v1/events"
"""Never ends: asked in the browser's test."""


@pytest.mark.slow
def test_no_request_ends_in_an_error_of_the_server(running) -> None:
    described = schemathesis.openapi.from_url(f"{running.address}/api/openapi.json")
    asked = set()
    for found in described.exclude(path=STREAM).get_all_operations():
        operation = found.ok()
        asked.add(operation.path)

        @ASK
        @given(case=operation.as_strategy())
        def one(case) -> None:
            reply = case.call(base_url=running.address, timeout=280)
            assert reply.status_code < 500, (reply.status_code, reply.text[:300], case)

        one()
    assert {"/api/v1/front", "/api/v1/decide", "/api/v1/advice", "/metrics"} <= asked
