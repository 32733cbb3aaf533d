"""Every page that links lead to: no finding of axe in either mode, fit for a phone, no error.

Pages are found as people find them, by their links, one of each kind; a kind is an address with
its ids taken out. So a page that is added is looked at without being named here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.platform.api.borrowers import drawn, paying, today
from tests.platform.api.served import Served, new_ref
from tests.platform.applicants import GOOD, WATCHED
from tests.platform.browser.conftest import Watched
from tests.platform.browser.test_screens import SERIOUS, found_by_axe
from usance.platform.console.frame import HOME, SCREENS
from usance.platform.console.tasks import tasks

pytestmark = pytest.mark.slow
ID = re.compile(r"[a-z]{2}_\w{11}|\d{4}[-Q]\w+")
FILES = re.compile(r"format=|\.pdf|\.css|\.js|/file$|/letter$|claims-file|\.csv")
CORPUS = '<script>xss = 1</script><img src=x onerror=alert(1)>" onmouseover="alert(1) {{ 7*7 }}'
"""Words a stranger may write where they may write anything: the browser would tell if it ran."""
PHONE, DESK = {"width": 360, "height": 740}, {"width": 1280, "height": 900}
BAD = 400
"""Statuses from here on are refusals."""
LINKS = """() => [...document.querySelectorAll('a[href]')].map(each => each.href)
    .filter(each => each.startsWith(location.origin))
    .map(each => each.slice(location.origin.length).split('#')[0])"""


def kind_of(address: str) -> str:
    """An address without its ids; the query counts only as being there.

    >>> kind_of("/console/loans/ln_00000000G01?day=3")
    '/console/loans/ID'
    """
    path, _, query = address.partition("?")
    return ID.sub("ID", path) + ("?name" if query.startswith("name=") else "")


def walked(page: Any, first: list[str], front: str) -> Iterator[str]:
    """Addresses of one page of each kind, looked at as they are found."""
    seen, waiting = set(), list(first)
    while waiting:
        address = waiting.pop(0)
        kind = kind_of(address)
        if kind in seen or FILES.search(address) or not address.startswith(front):
            continue
        seen.add(kind)
        page.goto(address)
        yield address
        waiting += page.evaluate(LINKS)


def refusals(page: Any) -> list[str]:
    """Addresses that were answered by a refusal, from now on."""
    found: list[str] = []
    page.on("response", lambda told: found.append(f"{told.status} {told.url}")
            if told.status >= BAD else None)  # fmt: skip
    return found


def problems_of(page: Any) -> list[str]:
    """Everything that is wrong with the page that is open."""
    wrong = list(found_by_axe(page))
    page.emulate_media(color_scheme="dark")
    told = page.evaluate("() => axe.run({runOnly: ['color-contrast']})")
    wrong += [f"dark: {each['nodes'][0]['html'][:160]}" for each in told["violations"]
              if each["impact"] in SERIOUS]  # fmt: skip
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(PHONE)
    wide = page.evaluate("() => document.documentElement.scrollWidth")
    page.set_viewport_size(DESK)
    if wide > PHONE["width"]:
        wrong.append(f"{wide} wide on a phone")
    if page.locator("header form[action$='/language'] button").count() != 1:
        wrong.append("no way to another language")
    return wrong


@pytest.fixture
def full(served: Served) -> dict[str, str]:
    """A lender with things of many kinds: a loan that was paid, a referral, a complaint."""
    loan = drawn(served)
    served.post("/v1/payments", paying(served, loan["loan"], 10_000, ref=f"{CORPUS} {new_ref()}"),
                "provider")  # fmt: skip
    named = {"client_ref": f"{CORPUS} {new_ref()}", "region": 3}
    user = served.post("/v1/users", named).json()["user"]
    body = {"user": user, "product": "instalment", "inputs": WATCHED}
    assert served.post("/v1/applications", body).is_success
    told = {"subject": "amount", "text": CORPUS}
    assert served.post(f"/v1/users/{loan['user']}/complaints", told).is_success
    lost = {"user": user, "amount_minor": 700, "currency": "CNY", "payer": CORPUS,
            "provider": "psp_a", "effective_on": today(served), "ref": new_ref()}  # fmt: skip
    assert served.post("/v1/payments", {name: lost[name] for name in lost if name != "payer"},
                       "provider").status_code == 201  # fmt: skip
    off = {"effective_on": today(served), "reason": CORPUS}
    served.post(f"/v1/loans/{loan['loan']}/charge-off", off, "operations")
    value = {"name": "servicing.late_fee", "value": "0.02", "valid_from": today(served),
             "source": CORPUS}  # fmt: skip
    served.post("/v1/parameters", value, "control")
    served.post("/v1/webhooks", {"url": "http://127.0.0.1:9/every-page"}, "channel")
    return loan


def test_every_page_of_the_console_is_clean_and_fits_a_phone(
    browser: Any, served: Served, full: dict[str, str]
) -> None:
    watched = Watched(browser, served.url)
    watched.sign_in(served.operators[0])
    refused = refusals(watched.page)
    loan = full["loan"]
    first = [
        *(screen.path for screen in SCREENS), f"{HOME}/loans/{loan}",
        f"{HOME}/borrowers/{full['user']}", f"{HOME}/applications/{full['decision']}",
        *(f"{HOME}/do/{name}" for name in ("flow.put", "key.create", "config.put")
          if name in tasks()),
    ]  # fmt: skip
    found, looked_at = {}, []
    for address in walked(watched.page, first, HOME):
        looked_at.append(kind_of(address))
        if address.startswith(f"{HOME}/do/") and address not in first:
            continue  # forms are made of one template
        if wrong := problems_of(watched.page):
            found[address] = wrong
    watched.context.close()
    assert (found, refused, watched.problems) == ({}, [], [])
    assert len(looked_at) > 50, looked_at


def test_every_page_of_borrowers_and_institutions_is_clean_and_fits_a_phone(
    browser: Any, served: Served
) -> None:
    named = {"client_ref": f"{CORPUS} {new_ref()}", "region": 3}
    user = served.post("/v1/users", named).json()["user"]
    body = {"user": user, "product": "instalment", "inputs": GOOD}
    assert served.post("/v1/applications", body).json()["outcome"] == "approved"
    wanted = {"user": user, "product": "instalment", "amount_minor": 600_000, "months": 6}
    loan = served.post("/v1/drawdowns", wanted).json()["loan"]
    paid = paying(served, loan, 10_000, ref=f"{CORPUS} {new_ref()}")
    assert served.post("/v1/payments", paid, "provider").is_success
    told = {"subject": "amount", "text": CORPUS}
    assert served.post(f"/v1/users/{user}/complaints", told).is_success
    asked = {"loan": loan, "reason": "illness", "text": CORPUS}
    assert served.post(f"/v1/users/{user}/hardship", asked).is_success
    link = served.post(f"/v1/users/{user}/links", {}).json()["url"]
    watched = Watched(browser, served.url)
    page, found = watched.page, {}
    refused = refusals(page)
    page.goto(link)
    page.get_by_role("button", name="Go on").click()
    page.wait_for_url("**/my")
    mine = ["/my", "/my/draw?amount=1000.00&product=instalment", f"/my/loans/{loan}/help"]
    for address in walked(page, mine, "/my"):
        if wrong := problems_of(page):
            found[address] = wrong
    page.goto("/portal/enter")
    page.locator("input[name=key]").fill(served.keys["institution"])
    page.keyboard.press("Enter")
    page.wait_for_url("**/portal")
    for address in walked(page, ["/portal"], "/portal"):
        if wrong := problems_of(page):
            found[address] = wrong
    watched.context.close()
    assert (found, refused, watched.problems) == ({}, [], [])
