"""The description of the API held to by the API: every route, with bodies nobody would think of."""

from __future__ import annotations

import itertools
from typing import Any

import hypothesis
import pytest
import schemathesis
from schemathesis.checks import CHECKS

from tests.platform.api.served import Served

CHECKED = ("not_a_server_error", "status_code_conformance", "content_type_conformance",
           "response_schema_conformance")  # fmt: skip
OWN = ("/v1/clock/advance", "/v1/sessions")
"""Routes that move the tests' own clock, or end in a rest for the account."""
PARTS = 8
"""Parts that the routes are asked in by night, each within the time of one test."""
NUMBERS = itertools.count(1)


def key_for(served: Served, operation: Any, session: str) -> str:
    """A key that opens a route, else the session of an administrator."""
    scopes = operation.definition.raw.get("x-scopes", [])
    return next((served.keys[each] for each in scopes if each in served.keys), session)


def ask(operation: Any, key: str, count: int) -> int:
    """Ask a route with what its description allows; the number of requests."""
    excluded = [each for each in CHECKS.get_all() if each.__name__ not in CHECKED]
    asked = [0]

    @hypothesis.settings(
        max_examples=count, deadline=None, database=None, derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck), phases=[hypothesis.Phase.generate],
    )  # fmt: skip
    @hypothesis.given(case=operation.as_strategy())
    def one(case: Any) -> None:
        asked[0] += 1
        case.headers = {
            name: value for name, value in dict(case.headers or {}).items()
            if name.lower() not in ("idempotency-key", "authorization")
        }  # fmt: skip
        headers = {"Authorization": f"Bearer {key}"}
        if case.method.upper() == "POST":
            headers["Idempotency-Key"] = f"described-{next(NUMBERS)}"
        case.validate_response(case.call(headers=headers), excluded_checks=excluded)

    one()
    return asked[0]


@pytest.mark.parametrize(
    ("count", "part"),
    [(3, slice(None)),
     *(pytest.param(150, slice(n, None, PARTS), marks=pytest.mark.nightly, id=f"150-{n}")
       for n in range(PARTS))],
)  # fmt: skip
def test_every_route_answers_as_it_is_described(served: Served, count: int, part: slice) -> None:
    session, asked = served.session(), 0
    described: Any = schemathesis.openapi.from_url(f"{served.url}/v1/openapi.json")
    for found in list(described.get_all_operations())[part]:
        operation = found.ok()
        if operation.path.startswith("/v1/") and operation.path not in OWN:
            asked += ask(operation, key_for(served, operation, session), count)
    assert asked > 80 * count // (part.step or 1)
