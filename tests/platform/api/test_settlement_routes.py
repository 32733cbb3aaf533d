"""Settlement over HTTP: an institution sees its own batches, takes their file and answers."""

from __future__ import annotations

from tests.platform.api.borrowers import drawn, paying, today
from tests.platform.api.served import Served, refused
from usance.platform.api.control_shapes import SettlementBatch


def test_an_institution_takes_its_file_and_answers(served: Served) -> None:
    loan = drawn(served, region=9)["loan"]
    for each in served.get("/v1/offers?state=open", "institution").json()["data"]:
        served.post(f"/v1/offers/{each['offer']}/answer", {"approved": True}, "institution")
    paid = served.post("/v1/payments", paying(served, loan, 70_000), "provider")
    assert paid.status_code == 201, paid.text
    day = today(served)
    for _ in range(4):  # over a weekend, wherever the clock of this server stands
        now = served.get("/v1/clock").json()["business_date"]
        served.post("/v1/clock/advance", {"to": f"{now}T23:59:59Z"}, "control")
    batches = served.get("/v1/settlements", "institution").json()["data"]
    assert batches
    for each in batches:
        SettlementBatch.model_validate(each)
        refused(served.get(f"/v1/settlements/{each['settlement']}", "institution_2"), 404,
                "not_found")  # fmt: skip
    path = f"/v1/settlements/{batches[-1]['settlement']}"
    told = served.get(path, "institution").json()
    own = {
        each["loan"] for each in served.get("/v1/institution/loans", "institution").json()["data"]
    }
    assert {row["loan"] for row in told["rows"]} <= own
    assert loan not in own
    file = served.get(f"{path}/file", "institution")
    assert (file.status_code, file.headers["content-type"]) == (200, "text/csv; charset=utf-8")
    head, *lines = file.text.splitlines()
    assert head == "loan,day,kind,correction,amount"
    assert (
        sum(int(line.rpartition(",")[2]) for line in lines if ",disbursement," not in line)
        == (told["total_minor"])
    )
    assert served.get(f"{path}/file", "finance").content == file.content
    lines_of = [{name: row[name] for name in ("loan", "day", "kind", "amount_minor")}
                for row in told["rows"]]  # fmt: skip
    refused(served.post(f"{path}/acknowledge", {"lines": lines_of, "day": "2023-01-01"},
                        "institution"), 400, "invalid_field")  # fmt: skip
    refused(served.post(f"{path}/acknowledge", {"lines": [{**lines_of[0], "kind": "gift"}]},
                        "institution"), 400, "invalid_field")  # fmt: skip
    agreed = served.post(f"{path}/acknowledge", {"lines": lines_of}, "institution")
    assert (agreed.status_code, agreed.json()["state"]) == (200, "acknowledged"), (day, agreed.text)
    assert served.get("/v1/claims", "institution").json() == {"data": [], "next": None}
    rows = served.get("/v1/settlement-control", "finance").json()["data"]
    own_row = next(each for each in rows if each["institution"] == told["institution"])
    assert own_row["batches_minor"] == sum(each["total_minor"] for each in batches)
    assert own_row["difference_minor"] == 0
