"""A deal over HTTP, in the console and in its holders' portal, on a sandbox of its own."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import httpx
import pytest

from tests.platform.api.borrowers import drawn
from tests.platform.api.served import Served, refused
from tests.platform.api.test_console import sign_in
from tests.platform.test_deals import DEAL
from usance.platform.console.frame import HOME, PORTAL
from usance.platform.store.server import Embedded


@pytest.fixture(scope="module")
def own(server: Embedded, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A sandbox whose clock may move."""
    assert server.data.exists()
    running = Served(tmp_path_factory.mktemp("funding"))
    running.start()
    yield running
    assert running.stop() == 0


def advance(own: Served, day: str) -> None:
    answer = own.post("/v1/clock/advance", {"to": f"{day}T01:00:00Z"}, "control")
    assert answer.status_code == 200, answer.text


def waited(own: Served, period: int) -> dict[str, object]:
    """The deal once a job has paid its date."""
    for _ in range(100):
        told = own.get("/v1/deals/PLAN7", "finance").json()
        if told["period"] == period:
            return dict(told)
        time.sleep(0.2)
    raise AssertionError(told)


def test_a_deal_from_its_proposal_to_its_report(own: Served) -> None:
    loans = [drawn(own, 8)["loan"] for _ in range(2)]
    advance(own, "2024-07-02")
    text = json.dumps(DEAL)
    body = {"text": text, "loans": loans}
    wrong = {**body, "text": text.replace("PLAN7", "a/b")}
    refused(own.post("/v1/deals", wrong, "finance"), 400, "invalid_field")
    refused(own.post("/v1/deals", body, "channel"), 403, "forbidden")
    proposed = own.post("/v1/deals", body, "finance")
    assert proposed.status_code == 202, proposed.text
    path = f"/v1/approvals/{proposed.json()['approval']}/approve"
    for number in range(2):
        answer = own.post(path, {}, own.session(number))
        assert answer.status_code == 200, answer.text
    assert answer.json()["state"] == "approved"
    refused(own.post("/v1/deals", {**body, "text": text.replace("PLAN7", "PLAN8")},
                     "finance"), 409, "loan_in_deal")  # fmt: skip
    nothing = {**body, "loans": [], "text": text.replace("PLAN7", "PLAN8")}
    refused(own.post("/v1/deals", nothing, "finance"), 422, "not_eligible")
    refused(own.get("/v1/deals/PLAN7/report", "finance"), 404, "not_found")
    refused(own.post("/v1/deals/PLAN7/dates", {"period": 2}, "finance"), 409, "wrong_state")
    advance(own, "2024-08-16")
    told = waited(own, 1)
    assert told["next_on"] == "2024-09-15"
    dates = own.get("/v1/deals/PLAN7/dates", "finance").json()["data"]
    assert [each["paid_on"] for each in dates] == ["2024-08-15"]
    to_come = own.get("/v1/deals/PLAN7/projection", "finance").json()
    assert [each["period"] for each in to_come["dates"]] == [2, 3, 4, 5, 6]
    report = own.get("/v1/deals/PLAN7/report?language=zh", "finance").json()
    assert report["title"] == "投资者报告 PLAN7"
    again = own.post("/v1/deals/PLAN7/dates", {"period": 1}, "finance")
    assert again.status_code == 200  # a date is paid once

    holder, other = "institution_2", "institution"
    assert [each["deal"] for each in own.get("/v1/deals", holder).json()["data"]] == ["PLAN7"]
    assert own.get("/v1/deals", other).json()["data"] == []
    refused(own.get("/v1/deals/PLAN7", other), 404, "not_found")
    refused(own.get("/v1/deals/PLAN7/dates", other), 404, "not_found")
    refused(own.get("/v1/deals/PLAN7/projection", holder), 403, "forbidden")


def test_the_screen_funding(own: Served) -> None:
    with httpx.Client(base_url=own.url, timeout=60, follow_redirects=True) as browser:
        sign_in(browser, own)
        page = browser.get(f"{HOME}/funding")
        assert f'href="{HOME}/funding/PLAN7"' in page.text
        page = browser.get(f"{HOME}/funding/PLAN7")
        assert "defaults above a tenth" in page.text
        assert "2024-08-15" in page.text
        assert "2025-01-15" in page.text  # still to come
        page = browser.get(f"{HOME}/funding/PLAN7/report")
        assert "Distance to triggers" in page.text
        for kind, begins in (("pdf", b"%PDF"), ("xlsx", b"PK")):
            made = browser.get(f"{HOME}/funding/PLAN7/report", params={"format": kind})
            assert made.content.startswith(begins)
        assert browser.get(f"{HOME}/funding/PLAN9").status_code == 404
        tested = browser.post(f"{HOME}/funding", data={"text": "{", "step": "test"})
        assert tested.status_code == 400
        tested = browser.post(f"{HOME}/funding", data={"text": json.dumps(DEAL), "step": "test"})
        assert "PLAN7 can be read: 2 classes, 6 payment dates" in tested.text
        body = {"text": json.dumps(DEAL), "step": "propose", "key": "again"}
        assert browser.post(f"{HOME}/funding", data=body).status_code == 409


def test_holders_read_in_their_portal(own: Served) -> None:
    for who, sees in (("institution_2", True), ("institution", False)):
        with httpx.Client(base_url=own.url, timeout=60, follow_redirects=True) as browser:
            page = browser.post(f"{PORTAL}/enter", data={"key": own.keys[who]})
            assert page.status_code == 200
            assert ("PLAN7" in page.text) is sees
            report = browser.get(f"{PORTAL}/deals/PLAN7")
            assert report.status_code == (200 if sees else 404)
            assert ("Investor report PLAN7" in report.text) is sees
