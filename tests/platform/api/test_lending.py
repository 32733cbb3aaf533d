"""From registration to the ledger over HTTP, as a partner's engineer walks it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.platform.api.borrowers import WANTED, drawn, paying, registered, today, with_line
from tests.platform.api.served import Served, refused
from tests.platform.applicants import GOOD, LISTED, WATCHED
from usance.platform.api import control_shapes, shapes

AMOUNTS = {"principal_minor", "interest_minor", "guarantee_fee_minor", "service_fee_minor",
           "penalty_minor", "total_minor"}  # fmt: skip


def fits(shape: type[shapes.Shape], answer: dict[str, Any]) -> None:
    """An answer has every field of its shape, of its type, and no other."""
    shape.model_validate(answer)
    assert set(answer) - set(shape.model_fields) <= {"would"}


def test_a_loan_from_registration_to_its_journal(served: Served) -> None:
    user = with_line(served)
    line = served.get(f"/v1/users/{user}/lines").json()["data"][0]
    fits(shapes.Line, line)
    quote = served.post("/v1/quotes", {"user": user, **WANTED}).json()
    fits(shapes.Quote, quote)
    assert quote["total_to_pay_minor"] == sum(
        each["due"]["total_minor"] for each in quote["schedule"]
    )
    body = {"user": user, **WANTED, "quote": quote["quote"]}
    tried = served.post("/v1/drawdowns?dry_run=true", body, key=None).json()
    assert tried["would"]["facts"][0]["kind"] == "disbursed"
    assert sum(each["amount_minor"] for each in tried["would"]["postings"]) == 0
    assert served.get(f"/v1/users/{user}/loans").json()["data"] == []
    made = served.post("/v1/drawdowns", body)
    assert (made.status_code, made.json()["state"]) == (201, "active")
    fits(shapes.Drawdown, made.json())
    loan = made.json()["loan"]
    shown = served.get(f"/v1/loans/{loan}").json()
    fits(shapes.Loan, shown)
    rows = served.get(f"/v1/loans/{loan}/schedule").json()["data"]
    assert [row["no"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert set(rows[0]["due"]) == AMOUNTS
    assert sum(row["outstanding"]["principal_minor"] for row in rows) == 600_000
    paid = served.post("/v1/payments", paying(served, loan, 50_000), "provider")
    assert paid.status_code == 201
    fits(shapes.Payment, paid.json())
    assert sum(each["amount_minor"] for each in paid.json()["allocation"]) == 50_000
    reversed_ = served.post(
        f"/v1/payments/{paid.json()['payment']}/reverse", {"reason": "bounced"}, "provider"
    )
    assert reversed_.status_code == 200
    after = served.get(f"/v1/loans/{loan}").json()
    assert after["outstanding"] == shown["outstanding"]
    amount = served.post(f"/v1/loans/{loan}/settlement-quote", {}).json()["amount_minor"]
    last = served.post("/v1/payments", paying(served, loan, amount + 77), "provider").json()
    assert last["unallocated_minor"] == 77
    assert served.get(f"/v1/loans/{loan}").json()["status"] == "closed"
    kinds = [fact["kind"] for fact in served.get(f"/v1/loans/{loan}/facts").json()["data"]]
    assert kinds[:3] == ["disbursed", "paid", "reversed"]
    journals = served.get(f"/v1/ledger/journals?loan={loan}", "finance").json()["data"]
    for journal in journals:
        fits(control_shapes.Journal, journal)
        assert sum(line["amount_minor"] for line in journal["lines"]) == 0
    balance = served.get("/v1/ledger/trial-balance", "finance").json()
    assert balance["debits_minor"] == balance["credits_minor"] > 0


def test_applications_approved_declined_and_referred(served: Served) -> None:
    user = registered(served)
    body = {"user": user, "product": "instalment"}
    declined = served.post("/v1/applications", {**body, "inputs": LISTED})
    assert (declined.status_code, declined.json()["outcome"]) == (201, "declined")
    fits(shapes.Decision, declined.json())
    refused(served.post("/v1/drawdowns", {"user": user, **WANTED}), 422, "no_line")
    referred = served.post("/v1/applications", {**body, "inputs": WATCHED})
    assert (referred.status_code, referred.json()["outcome"]) == (202, "referred")
    path = f"/v1/applications/{referred.json()['decision']}/review"
    refused(served.post(path, {"approve": True}, "control"), 403, "session_needed")
    reviewed = served.post(path, {"approve": True}, served.session())
    assert reviewed.json()["outcome"] == "approved"
    shown = served.get(f"/v1/applications/{referred.json()['decision']}").json()
    assert shown["review"] == reviewed.json()["decision"]
    unknown = served.post("/v1/applications", {**body, "inputs": {**GOOD, "luck": 1}})
    refused(unknown, 400, "unknown_input")


def test_an_asked_bank_answers_under_ids_of_its_own(served: Served) -> None:
    made = drawn(served, region=9)
    assert made["state"] == "pending"
    refused(served.get(f"/v1/loans/{made['loan']}"), 404, "not_found")
    offers = served.get("/v1/offers?state=open", "institution").json()["data"]
    offer = offers[-1]
    fits(control_shapes.Offer, offer)
    assert offer["loan"] != made["loan"]
    path = f"/v1/offers/{offer['offer']}"
    refused(served.get(path, "institution_2"), 404, "not_found")
    refused(served.post(f"{path}/answer", {"approved": True}, "institution_2"), 404, "not_found")
    report = served.get(path, "institution").json()["report"]
    income = {each["name"]: each["value"] for each in report["sections"]["income_and_occupation"]}
    assert income["monthly_income_minor"] == GOOD["monthly_income_minor"]
    assert report["assessment"]["approved"] is True
    assert report["suggested"]["months"] == WANTED["months"]
    assert made["user"] not in str(report)
    page = served.get(f"{path}/report", "institution")
    assert page.headers["content-type"].startswith("text/html")
    assert "Pre-loan investigation report" in page.text
    assert made["user"] not in page.text
    refused(served.get(f"{path}/report", "institution_2"), 404, "not_found")
    yes = served.post(f"{path}/answer", {"approved": True, "reason": ""}, "institution")
    assert (yes.status_code, yes.json()["state"]) == (200, "approved")
    no = served.post(f"{path}/answer", {"approved": False, "reason": "x"}, "institution")
    refused(no, 409, "offer_closed")
    assert served.get(f"/v1/drawdowns/{made['loan']}").json()["state"] == "active"
    assert served.get(f"/v1/loans/{offer['loan']}", "institution").status_code == 200
    refused(served.get(f"/v1/loans/{made['loan']}", "institution"), 404, "not_found")
    own = served.get("/v1/institution/loans", "institution").json()["data"]
    assert offer["loan"] in [each["loan"] for each in own]
    assert made["user"] not in str(own)


@pytest.mark.parametrize(("amount", "state"), [(600_013, "payout_failed"), (600_017, "approved")])
def test_payouts_that_do_not_settle_at_once(served: Served, amount: int, state: str) -> None:
    assert drawn(served, amount_minor=amount)["state"] == state


def test_region_ten_has_no_source(served: Served) -> None:
    assert drawn(served, region=10)["state"] == "no_source"


def test_money_is_told_once_and_never_refused_for_its_size(served: Served) -> None:
    loan = drawn(served)["loan"]
    body = paying(served, loan, 1_000)
    first = served.post("/v1/payments", body, "provider")
    again = served.post("/v1/payments", body, "provider")
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    other = {**body, "amount_minor": 1_001}
    refused(served.post("/v1/payments", other, "provider"), 409, "reference_used")
    for change, status, code in (
        ({"currency": "USD"}, 422, "currency_mismatch"),
        ({"effective_on": "2030-01-01"}, 422, "date_in_future"),
        ({"effective_on": "2020-01-01"}, 422, "date_before_disbursement"),
        ({"amount_minor": 0}, 400, "invalid_field"),
        ({"amount_minor": 1.5}, 400, "invalid_field"),
        ({"loan": "ln_0000ZZZZZZZ"}, 404, "not_found"),
    ):
        refused(served.post("/v1/payments", paying(served, loan, 5) | change, "provider"),
                status, code)  # fmt: skip
    lines = [
        {"loan": loan, "amount_minor": 100, "currency": "CNY", "effective_on": today(served),
         "ref": f"n-{loan}-{number}"}
        for number in (1, 2, 1)
    ]  # fmt: skip
    batch = {"provider": "psp_a", "lines": [*lines, {**lines[0], "currency": "USD", "ref": "u"}]}
    told = served.post("/v1/provider/notices", batch, "provider", key=f"batch-{loan}")
    assert [each["result"] for each in told.json()["lines"]] == [
        "booked", "booked", "duplicate", "refused"
    ]  # fmt: skip
    assert told.json()["lines"][-1]["code"] == "currency_mismatch"
    lost = {**lines[0], "loan": "ln_0000ZZZZZZZ", "ref": f"lost-{loan}"}
    for result in ("unallocated", "duplicate"):  # money for nobody waits for a person
        stray = served.post("/v1/provider/notices", {**batch, "lines": [lost]}, "provider")
        assert stray.json()["lines"][0]["result"] == result
    waiting = served.get("/v1/unallocated", "operations").json()["data"]
    assert lost["ref"] in [each["ref"] for each in waiting]
    replay = served.post("/v1/provider/notices", batch, "provider", key=f"batch-{loan}")
    assert replay.json() == told.json()
    assert replay.headers["idempotent-replay"] == "true"


def test_the_clock_moves_forwards_and_runs_what_falls_due(served: Served) -> None:
    waiting = drawn(served, amount_minor=600_017)["loan"]
    now = served.get("/v1/clock").json()["now"]
    refused(served.post("/v1/clock/advance", {"to": "2024-01-01T00:00:00Z"}, "control"),
            409, "clock_backwards")  # fmt: skip
    refused(served.post("/v1/clock/advance", {"to": now}), 403, "forbidden")
    refused(served.post("/v1/clock/advance", {"to": "2199-01-01T00:00:00Z"}, "control"),
            400, "invalid_field")  # fmt: skip
    day = int(now[8:10])
    later = f"{now[:8]}{day + 1:02d}{now[10:19]}Z"
    told = served.post("/v1/clock/advance", {"to": later}, "control")
    assert told.status_code == 200, told.text
    assert told.json()["now"] == later
    fits(control_shapes.Advanced, told.json())
    assert served.get(f"/v1/drawdowns/{waiting}").json()["state"] == "active"
