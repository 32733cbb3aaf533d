"""Sentences of the contract that a walk from one end to the other does not meet."""

from __future__ import annotations

import pytest

from tests.platform.api.borrowers import drawn, paying, registered
from tests.platform.api.served import Served, refused
from tests.platform.applicants import GOOD

OFFERED = {"v_pocket": (1, 3), "instalment": (3, 6, 9, 12, 24), "sme": (6, 12, 24)}


@pytest.mark.parametrize("product", OFFERED)
def test_every_product_is_funded_for_all_its_months(served: Served, product: str) -> None:
    for region, months in enumerate(OFFERED[product], start=1):
        user = registered(served, region)
        applied = {"user": user, "product": product, "inputs": GOOD}
        assert served.post("/v1/applications", applied).json()["outcome"] == "approved"
        body = {"user": user, "product": product, "amount_minor": 100_000, "months": months}
        assert served.post("/v1/drawdowns", body).json()["state"] == "active", (region, months)


def test_more_than_is_owed_closes_a_loan_that_paid_ahead_the_same_day(served: Served) -> None:
    for _ in range(4):  # payments of one day count in the order of their references, by chance
        loan = drawn(served)["loan"]
        for _ in range(3):
            served.post("/v1/payments", paying(served, loan, 100_000), "provider")
        owed = served.get(f"/v1/loans/{loan}").json()["outstanding"]["total_minor"]
        last = served.post("/v1/payments", paying(served, loan, 9_000_000), "provider").json()
        after = served.get(f"/v1/loans/{loan}").json()
        assert after["status"] == "closed"
        assert last["unallocated_minor"] + after["overpaid_minor"] >= 9_000_000 - owed


def test_a_provider_reverses_and_sees_what_it_brought_alone(served: Served) -> None:
    loan = drawn(served)["loan"]
    paid = served.post("/v1/payments", paying(served, loan, 50_000), "provider").json()["payment"]
    path = f"/v1/payments/{paid}"
    refused(served.post(f"{path}/reverse", {"reason": "x"}, "provider_2"), 404, "not_found")
    refused(served.get(path, "provider_2"), 404, "not_found")
    assert served.post(f"{path}/reverse", {"reason": "bounced"}, "provider").status_code == 200
    for who in ("provider", "channel", "operations"):
        assert served.get(path, who).json()["state"] == "reversed"
    batch = {"provider": "psp_b", "lines": []}
    refused(served.post("/v1/provider/notices", batch, "provider"), 400, "invalid_field")


def test_nothing_is_known_of_the_future(served: Served) -> None:
    made = drawn(served)
    later = {"known_at": "2199-01-01T00:00:00Z"}
    for path, who in (
        (f"/v1/loans/{made['loan']}", "channel"),
        (f"/v1/loans/{made['loan']}/facts", "finance"),
        (f"/v1/users/{made['user']}/lines", "channel"),
        ("/v1/ledger/balances", "finance"),
        ("/v1/ledger/trial-balance", "finance"),
    ):
        error = refused(served.get(path, who, params=later), 422, "date_in_future")
        assert error["param"] == "query.known_at"
