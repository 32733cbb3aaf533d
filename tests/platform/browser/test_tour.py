"""The tour of the console as somebody new takes it: screen alone, and figures held to the API.

Pictures of the guide are made here: `USANCE_SHOTS=docs/images/console` with `USANCE_TOUR` naming
the home of a demo that is served takes them from that lender.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.platform.api.borrowers import drawn, registered
from tests.platform.api.served import Served
from tests.platform.applicants import GOOD, WATCHED
from tests.platform.browser.conftest import Watched
from tests.platform.browser.test_screens import found_by_axe

pytestmark = pytest.mark.slow
PICTURES = {
    "overview": "/console/overview", "matching": "/console/matching", "risk": "/console/risk",
    "close": "/console/close", "collections": "/console/collections",
    "statements": "/console/statements",
}  # fmt: skip


def amount(text: str) -> int:
    """Minor units of an amount on the screen."""
    return round(float(text.replace(",", "").replace("\N{MINUS SIGN}", "-")) * 100)


def test_a_loan_as_of_an_earlier_day_and_a_payment_that_is_only_tried(
    tab: Watched, served: Served
) -> None:
    loan = drawn(served)["loan"]
    told = served.get(f"/v1/loans/{loan}").json()
    tab.sign_in(served.operators[0])
    page = tab.page
    page.goto(f"/console/loans/{loan}")
    before = told["outstanding"]["total_minor"]
    page.locator("input[name=pay]").fill("100.00")
    page.locator("input[name=pay]").press("Enter")
    cell = page.locator("#answer tr", has_text="Still to pay").locator("td").nth(1)
    cell.wait_for()
    assert amount(cell.inner_text()) == before - 10_000
    assert "pay=100.00" in page.url  # the state of the view is its address
    page.reload()
    cell.wait_for()
    page.go_back()
    page.locator("#answer table").wait_for(state="detached")
    assert served.get(f"/v1/loans/{loan}").json()["outstanding"]["total_minor"] == before


def test_a_borrower_draws_an_institution_answers_and_the_loan_is_seen(
    browser: Any, served: Served
) -> None:
    user = registered(served, 9)  # a region of which the institution is asked
    body = {"user": user, "product": "instalment", "inputs": GOOD}
    assert served.post("/v1/applications", body).json()["outcome"] == "approved"
    link = served.post(f"/v1/users/{user}/links", {}).json()["url"]
    phone = Watched(browser, served.url)
    phone.page.set_viewport_size({"width": 360, "height": 740})
    page = phone.page
    page.goto(link)
    page.get_by_role("button", name="Go on").click()
    page.wait_for_url("**/my")
    page.goto("/my/draw")
    page.locator("input[name=amount]").fill("5,000")
    page.get_by_role("button", name="Show what it costs").click()
    page.locator("button[name=months][value='6']").click()
    page.wait_for_url("**/my/offers/*")
    assert found_by_axe(page) == []
    page.locator("input[name=read]").check()
    page.get_by_role("button", name="Accept and borrow").click()
    page.wait_for_url("**/my/drawdowns/ln_*")
    loan = page.url.rpartition("/")[2]
    bank = Watched(browser, served.url)
    bank.page.goto("/portal/enter")
    bank.page.locator("input[name=key]").fill(served.keys["institution"])
    bank.page.keyboard.press("Enter")
    bank.page.wait_for_url("**/portal")
    assert found_by_axe(bank.page) == []
    bank.page.locator("input[data-all]").check()
    bank.page.get_by_role("button", name="Approve").click()
    bank.page.get_by_text("No offer waits").wait_for()
    page.wait_for_url(f"**/my/loans/{loan}*")  # the page asks by itself how far it is
    owed = page.locator(".choice p[data-minor]").get_attribute("data-minor")
    told = served.get(f"/v1/loans/{loan}").json()
    assert int(owed) == told["settlement_minor"]
    wide = page.evaluate("() => document.documentElement.scrollWidth")
    assert wide <= 360
    problems = phone.problems + bank.problems
    for each in (phone, bank):
        each.context.close()
    assert problems == []


def test_a_referral_is_decided_again_and_a_list_is_exported(tab: Watched, served: Served) -> None:
    user = registered(served)
    body = {"user": user, "product": "instalment", "inputs": WATCHED}
    decision = served.post("/v1/applications", body).json()["decision"]
    tab.sign_in(served.operators[0])
    page = tab.page
    page.goto("/console/applications")
    page.get_by_role("link", name=decision).click()
    page.get_by_role("button", name="Decide again").click()
    page.get_by_text("The same score").wait_for()
    page.goto("/console/applications")
    page.locator("select[name=outcome]").select_option("referred")
    page.wait_for_url("**outcome=referred*")  # a choice goes by itself
    with page.expect_download() as waiting:
        page.get_by_role("link", name="CSV").click()
    assert decision in Path(waiting.value.path()).read_text("utf-8")


def test_a_lost_server_is_told_and_what_was_typed_stays(tab: Watched, served: Served) -> None:
    loan = drawn(served)["loan"]
    tab.sign_in(served.operators[0])
    page = tab.page
    page.goto(f"/console/loans/{loan}/charge_off")
    reason = page.locator("input[name=reason]")
    reason.fill("kept while it is away")
    page.route("**/*", lambda route: route.abort())
    page.get_by_role("button", name="Show the effect").click()
    page.locator("#lost").wait_for(state="visible")
    assert reason.input_value() == "kept while it is away"
    page.unroute("**/*")
    page.locator("#lost").wait_for(state="hidden", timeout=30_000)
    page.get_by_role("button", name="Show the effect").click()
    page.locator("#content [role=alert], #content h2").first.wait_for()
    tab.problems[:] = [each for each in tab.problems if "ERR_FAILED" not in each]


def test_keys_are_listed_and_a_log_follows(tab: Watched, served: Served) -> None:
    tab.sign_in(served.operators[0])
    tab.page.keyboard.press("?")
    tab.page.locator("dialog#keys[open]").wait_for()
    tab.page.keyboard.press("Escape")
    tab.page.keyboard.press("g")
    tab.page.keyboard.press("d")
    tab.page.wait_for_url("**/console/developers")
    tab.page.get_by_role("link", name="Log").click()
    tab.page.locator("#tail pre").wait_for()


@pytest.fixture
def pictured(browser: Any, served: Served) -> Iterator[tuple[Watched, dict[str, str]]]:
    """A tab on the lender of the pictures, and somebody who sees everything."""
    home = os.environ.get("USANCE_TOUR", "")
    url, person = served.url, served.operators[0]
    if home:
        url = os.environ.get("USANCE_TOUR_URL") or (Path(home) / "address").read_text()
        person = json.loads((Path(home) / "sandbox.json").read_text())["operators"][0]
    watched = Watched(browser, url)
    yield watched, person
    watched.context.close()


def test_pictures_of_the_guide_are_made(
    pictured: tuple[Watched, dict[str, str]], tmp_path: Path
) -> None:
    watched, person = pictured
    folder = Path(os.environ.get("USANCE_SHOTS") or tmp_path)
    watched.sign_in(person)
    page = watched.page
    page.goto("/console/loans?state=open&sort=-days_past_due")
    loans = page.locator("#list td a")
    loan = loans.first.get_attribute("href") if loans.count() else None
    for name, address in {**PICTURES, **({"loan": loan} if loan else {})}.items():
        page.goto(address)
        made = folder / f"{name}.png"
        page.screenshot(path=made)
        assert made.stat().st_size > 10_000, name
    assert re.match("http://127", page.url)
