"""Sentences of the contract that a walk from one end to the other does not meet."""

from __future__ import annotations

import pytest

from tests.platform.api.borrowers import WANTED, drawn, paying, registered, today
from tests.platform.api.served import Served, new_ref, refused
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


def test_a_provider_takes_back_what_it_brought_alone(served: Served) -> None:
    made = drawn(served)["loan"]
    served.post("/v1/payments", paying(served, made, 50_000), "provider")
    back = {"loan": made, "amount_minor": 100, "effective_on": today(served)}
    for who, amount_minor, status in (
        ("provider_2", 1, 422), ("provider", 50_001, 422), ("provider", 49_900, 201),
        ("provider", 101, 422), ("provider", 100, 201),
    ):  # fmt: skip
        body = {**back, "amount_minor": amount_minor, "ref": new_ref()}
        assert served.post("/v1/chargebacks", body, who).status_code == status, (who, amount_minor)
    assert served.get(f"/v1/loans/{made}").json()["paid"]["total_minor"] == 0


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


def test_a_quote_is_the_loan_that_is_drawn_with_it(served: Served) -> None:
    for region, product, months in ((2, "instalment", 9), (5, "sme", 12), (8, "v_pocket", 3)):
        user = registered(served, region)
        served.post("/v1/applications", {"user": user, "product": product, "inputs": GOOD})
        wanted = {"user": user, "product": product, "amount_minor": 450_000, "months": months}
        quote = served.post("/v1/quotes", wanted).json()
        loan = served.post("/v1/drawdowns", {**wanted, "quote": quote["quote"]}).json()["loan"]
        rows = served.get(f"/v1/loans/{loan}/schedule").json()["data"]
        assert [row["due"] for row in rows] == [row["due"] for row in quote["schedule"]]
        fees = {name: sum(row["due"][name] for row in rows)
                for name in ("service_fee_minor", "guarantee_fee_minor")}  # fmt: skip
        assert fees == {name: quote["fees"][name] for name in fees}


def test_a_closed_loan_takes_nothing_whatever_the_reference(served: Served) -> None:
    loan = drawn(served)["loan"]
    owed = served.get(f"/v1/loans/{loan}").json()["settlement_minor"]
    last = served.post("/v1/payments", paying(served, loan, owed + 5), "provider").json()
    assert last["unallocated_minor"] == 5
    for _ in range(6):  # references of one day stand before or behind the last by chance
        more = served.post("/v1/payments", paying(served, loan, 77), "provider").json()
        assert (more["unallocated_minor"], more["allocation"]) == (77, [])
    assert served.get(f"/v1/loans/{loan}").json()["overpaid_minor"] == 0


def test_money_of_a_user_pays_what_is_due_before_it_pays_ahead(served: Served) -> None:
    first = drawn(served)
    second = served.post("/v1/drawdowns", {**WANTED, "user": first["user"]}).json()["loan"]
    body = {**paying(served, second, 50_000), "user": first["user"]}
    del body["loan"]
    paid = served.post("/v1/payments", body, "provider").json()
    assert paid["unallocated_minor"] == 0
    assert {each["loan"] for each in paid["allocation"]} == {first["loan"]}
    whole = {**body, "ref": new_ref(), "amount_minor": 5_000_000}
    paid = served.post("/v1/payments", whole, "provider").json()
    assert {each["loan"] for each in paid["allocation"]} == {first["loan"], second}
    assert paid["unallocated_minor"] > 0
    for loan in (first["loan"], second):
        assert served.get(f"/v1/loans/{loan}").json()["status"] == "closed"


def test_days_and_moments_that_make_no_sense(served: Served) -> None:
    loan = drawn(served)["loan"]
    for day in ("0001-01-01", "1989-12-31", "2200-01-01"):
        body = {**paying(served, loan, 100), "effective_on": day}
        refused(served.post("/v1/payments", body, "provider"), 400, "date_out_of_range")
    body = {"client_ref": new_ref(), "region": 3, "registered_at": "0001-01-01T00:00:00Z"}
    refused(served.post("/v1/users", body), 400, "date_out_of_range")
    path = f"/v1/loans/{loan}/settlement-quote"
    refused(served.post(path, {"on": "2024-01-01"}), 422, "date_before_disbursement")
    refused(served.get(f"/v1/loans/{loan}?known_at=2024-01-01T00:00:00Z"), 404, "not_found")


def test_what_is_wrong_with_a_body_is_told_before_what_is_not_there(served: Served) -> None:
    nobody = "us_0000ZZZZZZZ"
    apply = {"user": nobody, "product": "instalment", "inputs": {**GOOD, "luck": 1}}
    refused(served.post("/v1/applications", apply), 400, "unknown_input")
    refused(served.post("/v1/applications", {**apply, "inputs": GOOD}), 404, "not_found")
    draw = {**WANTED, "user": nobody}
    refused(served.post("/v1/drawdowns", {**draw, "amount_minor": 0}), 400, "invalid_field")
    refused(served.post("/v1/quotes", {**draw, "product": "gold"}), 400, "invalid_field")
    refused(served.post("/v1/quotes", {**draw, "months": 5}), 404, "not_found")  # before 422
    account = {"bank": "b", "number": "letters", "holder": "A"}
    refused(served.post(f"/v1/users/{nobody}/accounts", account), 400, "invalid_field")


def test_scores_and_paths_are_for_operators(served: Served) -> None:
    user = registered(served)
    made = served.post("/v1/applications",
                       {"user": user, "product": "instalment", "inputs": GOOD}).json()  # fmt: skip
    path = f"/v1/decisions/{made['decision']}"
    own = served.get(path, served.session()).json()
    assert own["path"]
    assert own["inputs"]["age_years"] == 31
    for who in ("channel", "operations"):
        assert served.get(path, who).json() == made


def test_an_advance_tells_the_jobs_it_did_and_is_done_once_for_its_key(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    served = Served(tmp_path_factory.mktemp("clock"))
    served.start()
    try:
        to = {"to": "2024-07-03T12:00:00Z"}
        told = served.post("/v1/clock/advance", to, "control", key="a")
        done = [(each["day"], each["name"], each["state"]) for each in told.json()["jobs"]]
        assert done == [
            ("2024-07-01", "evening", "done"), ("2024-07-02", "morning", "done"),
            ("2024-07-02", "evening", "done"), ("2024-07-03", "morning", "done"),
        ]  # fmt: skip
        for hour in ("T14:00:00Z", "T16:00:00Z"):  # what falls due then is done then
            day = {"to": f"2024-07-03{hour}"}
            assert served.post("/v1/clock/advance", day, "control").status_code == 200
        registered(served)  # the clock has moved on by a microsecond
        again = served.post("/v1/clock/advance", to, "control", key="a")
        assert (again.content, again.headers["idempotent-replay"]) == (told.content, "true")
        refused(served.post("/v1/clock/advance", to, "control"), 409, "clock_backwards")
        dry = served.post("/v1/clock/advance?dry_run=true", {"to": "2024-07-09T00:00:00Z"},
                          "control", key=None)  # fmt: skip
        assert dry.json()["jobs"] == []
        assert served.get("/v1/clock").json()["business_date"] == "2024-07-04"
    finally:
        assert served.stop() == 0


def test_money_of_a_user_without_a_loan_waits(served: Served) -> None:
    user = registered(served)
    body = {**paying(served, "", 700), "user": user}
    del body["loan"]
    paid = served.post("/v1/payments", body, "provider")
    assert (paid.status_code, paid.json()["loan"]) == (201, None)
    assert (paid.json()["unallocated_minor"], paid.json()["allocation"]) == (700, [])
    assert served.get(f"/v1/payments/{paid.json()['payment']}").json() == paid.json()
