"""The institution portal: its own offers and loans, answered one or many, and nobody else's."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from tests.platform.api.borrowers import drawn
from tests.platform.api.served import Served
from usance.platform.console.frame import POLICY, PORTAL
from usance.platform.console.portal import COOKIE


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
        assert COOKIE not in browser.cookies
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
