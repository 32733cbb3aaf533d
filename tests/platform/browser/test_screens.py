"""Screens in a real browser: keyboard alone, both colour modes, no error, no request elsewhere."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from tests.platform.api.borrowers import drawn
from tests.platform.api.served import USANCE, Served
from tests.platform.browser.conftest import Watched

pytestmark = pytest.mark.slow
PERSON = {"email": "keys@work.example", "password": "correct horse battery staple"}
SERIOUS = {"serious", "critical"}


def found_by_axe(page: Any) -> list[str]:
    """Serious and critical findings of axe; its own text is evaluated outside the page's policy."""
    from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]

    page.evaluate(AXE_SCRIPT)
    told = page.evaluate("() => axe.run()")
    return [f"{each['id']}: {each['nodes'][0]['html'][:160]}" for each in told["violations"]
            if each["impact"] in SERIOUS]  # fmt: skip


def test_a_payment_is_taken_with_the_keyboard_alone(tab: Watched, served: Served) -> None:
    command = [USANCE, "people", "create", "--home", str(served.home), "--role", "operations",
               "--email", PERSON["email"], "--password-stdin"]  # fmt: skip
    subprocess.run(command, input=PERSON["password"], text=True, check=True, capture_output=True)
    loan = drawn(served)["loan"]
    owed = served.get(f"/v1/loans/{loan}").json()["outstanding"]["total_minor"]
    tab.sign_in(PERSON)
    page = tab.page
    page.keyboard.press("/")
    page.keyboard.type(loan)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/loans/{loan}")
    page.get_by_role("link", name="Take a payment").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/loans/{loan}/payment")
    tab.type_into("amount_minor", "250.00")
    page.locator("input[name=ref]").focus()
    page.keyboard.type("by-keyboard")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Do it").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/loans/*?done=payment")
    after = served.get(f"/v1/loans/{loan}").json()["outstanding"]["total_minor"]
    assert after == owed - 25_000


def test_the_language_is_switched_and_stays(tab: Watched, served: Served) -> None:
    tab.sign_in(served.operators[0])
    tab.page.get_by_role("button", name="中文").click()
    tab.page.get_by_role("heading", name="总览").wait_for()
    tab.page.goto("/console/control")
    assert tab.page.locator("html").get_attribute("lang") == "zh-CN"
