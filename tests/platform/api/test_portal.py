"""The institution portal: its own offers and loans, answered one or many, and nobody else's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import httpx
import pytest

from tests.platform.api.borrowers import drawn
from tests.platform.api.served import Served
from usance.platform.console.frame import POLICY, PORTAL
from usance.platform.console.portal import ENTRANCE


@pytest.fixture
def browser(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, timeout=60, follow_redirects=True) as opened:
        yield opened


def enter(browser: httpx.Client, key: str) -> httpx.Response:
    return browser.post(f"{PORTAL}/enter", data={"key": key})


def test_an_institution_answers_many_offers_at_once(browser: httpx.Client, served: Served) -> None:
    asked = [drawn(served, 9) for _ in range(2)]
    assert {each["state"] for each in asked} == {"pending"}
    page = enter(browser, served.keys["institution"])
    assert page.headers["content-security-policy"] == POLICY
    known = {each["offer"] for each in served.get("/v1/offers?state=open", "institution")
             .json()["data"]}  # fmt: skip
    offers = re.findall(r'name="(offer\.of_\w+)"', page.text)
    assert {each.removeprefix("offer.") for each in offers} == known
    body = {"key": "many", "answer": "approve", **dict.fromkeys(offers, "1")}
    for _ in range(2):  # a double click
        page = browser.post(PORTAL, data=body)
        assert page.status_code == 200
    assert "No offer waits" in page.text
    for each in asked:
        assert served.get(f"/v1/drawdowns/{each['loan']}").json()["state"] == "active"
        assert each["loan"] not in page.text  # ids are the institution's own
    page = browser.post(PORTAL, data={**body, "key": "again", "answer": "decline"})
    assert page.status_code == 409


def test_nobody_else_enters(browser: httpx.Client, served: Served) -> None:
    assert browser.get(PORTAL).url.path == f"{PORTAL}/enter"
    for key in ("", "usk_test_nobody", served.keys["channel"], served.keys["control"]):
        assert enter(browser, key).status_code == 401
        assert ENTRANCE.cookie not in browser.cookies
    enter(browser, served.keys["institution_2"])
    offer = drawn(served, 9)["loan"]
    page = browser.get(PORTAL)
    assert "No offer waits" in page.text
    assert offer not in page.text
    assert browser.post(f"{PORTAL}/leave").url.path == f"{PORTAL}/enter"
    assert browser.get(PORTAL).url.path == f"{PORTAL}/enter"


def test_a_form_of_another_site_answers_nothing(browser: httpx.Client, served: Served) -> None:
    enter(browser, served.keys["institution"])
    page = browser.post(PORTAL, data={"answer": "approve"}, headers={"origin": "https://x.example"})
    assert page.status_code == 403


def test_an_institution_proposes_tries_and_looks_at_its_own_alone(
    browser: httpx.Client, served: Served
) -> None:
    from usance.platform.lender import sandbox_document

    loan = drawn(served)["loan"]
    enter(browser, served.keys["institution"])
    page = browser.get(f"{PORTAL}/portfolio")
    own = re.findall(r"/portal/portfolio/(ln_\w+)", page.text)
    assert own
    assert loan not in page.text  # ids are the institution's own
    one = browser.get(f"{PORTAL}/portfolio/{own[0]}")
    assert (one.status_code, "Paid out" in one.text) == (200, True)
    assert browser.get(f"{PORTAL}/portfolio/{loan}").status_code == 404
    told = served.get("/v1/institution/loans?limit=200", "institution").json()["data"]
    sums = [int(each) for each in re.findall(r'data-minor="(\d+)"', page.text)]
    assert sum(sums[0::3]) == sum(each["principal_minor"] for each in told)
    text = sandbox_document()["mandates"]
    address = f"{PORTAL}/mandates"
    page = browser.post(address, data={"step": "test", "text": text})
    assert "Tried on past loans" in page.text
    assert browser.post(address, data={"step": "test", "text": "sources: [1]"}).status_code == 400
    for path in ("settlements", "keys"):
        page = browser.get(f"{PORTAL}/{path}")
        assert page.status_code == 200
        assert served.keys["institution"] not in page.text
    page = browser.get(f"{PORTAL}/settlements", params={"format": "csv"})
    assert page.headers["content-type"].startswith("text/csv")


def test_what_an_institution_proposes_changes_its_own_mandates_alone(
    browser: httpx.Client, served: Served
) -> None:
    enter(browser, served.keys["institution"])
    page = browser.get(f"{PORTAL}/mandates")
    found = re.search(r'<textarea name="text"[^>]*>(.*?)</textarea>', page.text, re.DOTALL)
    assert found is not None
    own = unescape(found[1])  # those in force stand there first: its own
    assert own.count("source:") == 1
    assert "sandbox_bank" in own
    before = served.get("/v1/mandates?limit=200", "control").json()["data"]
    given = {"step": "propose", "text": own, "valid_from": "2030-01-01", "key": "own"}
    assert browser.post(f"{PORTAL}/mandates", data=given).status_code == 200
    waiting = served.get("/v1/approvals?state=pending&limit=200", "control").json()["data"]
    proposed = [each["approval"] for each in waiting if each["command"] == "mandate.put"][-1]
    for number in range(len(served.operators)):
        agreed = served.post(f"/v1/approvals/{proposed}/approve", {}, served.session(number))
        assert agreed.is_success, agreed.text
    after = served.get("/v1/mandates?limit=200", "control").json()["data"]
    assert {row["source"] for row in after} == {row["source"] for row in before}
    other = next(row["source"] for row in before if row["institution"] != "sandbox_bank")
    foreign = own.replace(f"source: {own.partition('source: ')[2].split()[0]}", f"source: {other}")
    page = browser.post(f"{PORTAL}/mandates", data={**given, "text": foreign, "key": "foreign"})
    assert (page.status_code, "is not yours" in page.text) == (400, True)
