"""Tasks: every command of a role can be done on a screen, by forms made from its fields."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import httpx
import pytest

from tests.platform.api.borrowers import drawn, registered
from tests.platform.api.served import Served, new_ref
from tests.platform.api.test_console import ATTACKS
from tests.platform.api.test_console_work import enter, hidden
from usance.platform.console.frame import HOME
from usance.platform.console.tasks import elsewhere, tasks
from usance.platform.security.roles import Roles

People = dict[str, dict[str, str]]


@pytest.fixture
def browser(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, timeout=30, follow_redirects=True) as opened:
        yield opened


def done(browser: httpx.Client, command: str, **given: str) -> httpx.Response:
    """The page after a task: its effect was shown first, then it was done."""
    address = f"{HOME}/do/{command}"
    key = hidden(browser.get(address, params=given))["key"]
    shown = browser.post(address, data={**given, "key": key, "step": "preview"})
    assert shown.status_code == 200, told(shown)
    assert 'value="confirm"' in shown.text
    return browser.post(address, data={**given, "key": key, "step": "confirm"})


def told(page: httpx.Response) -> str:
    found = re.findall(r'(?:warning|problem)" role="alert"[^>]*>(.*?)<', page.text)
    return html.unescape(" ".join(found)) or page.text[:500]


def facts(page: httpx.Response) -> dict[str, str]:
    pairs = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page.text)
    return {html.unescape(name): html.unescape(value) for name, value in pairs}


def test_every_command_of_a_role_is_on_a_screen_that_the_role_has() -> None:
    known = Roles.load()

    def screens_of(command: str) -> set[str]:
        own = {tasks()[command].place.screen} if command in tasks() else set()
        return own | {screen for screen, names in elsewhere().items() if command in names}

    gaps = [(role, command) for role in known.by_name for command in known.commands(role)
            if not any(known.shows(role, screen) for screen in screens_of(command))]  # fmt: skip
    assert gaps == []


def test_every_task_opens_for_its_roles_and_for_nobody_else(
    browser: httpx.Client, roles: People
) -> None:
    known = Roles.load()
    for role, person in roles.items():
        enter(browser, person)
        for command, task in tasks().items():
            may = command in known.commands(role) and known.shows(role, task.place.screen)
            address = f"{HOME}/do/{command}"
            assert browser.get(address).status_code == (200 if may else 403), (role, command)
            if not may:
                assert browser.post(address, data={"step": "confirm"}).status_code == 403
        browser.post(f"{HOME}/sign-out")
    assert browser.get(f"{HOME}/do/key.create").url.path == f"{HOME}/sign-in"


def test_whatever_is_typed_into_a_task_stays_text(browser: httpx.Client, roles: People) -> None:
    attack = " ".join(ATTACKS)
    for role in ("administrator", "operations_lead", "collections_lead", "finance_controller"):
        enter(browser, roles[role])
        for command, task in tasks().items():
            if command not in Roles.load().commands(role):
                continue
            data = {each.name: attack for each in task.fields} | {"step": "preview", "key": "a"}
            page = browser.post(f"{HOME}/do/{command}", data=data)
            assert page.status_code < 500, (command, page.text[:300])
            assert not re.search(r"<script>|</title><b>|\sonmouseover=['\"]", page.text), command


def test_money_goes_back_with_its_effect_shown_first(
    browser: httpx.Client, served: Served, roles: People
) -> None:
    loan = drawn(served)["loan"]
    today = served.get("/v1/clock").json()["business_date"]
    enter(browser, roles["operations"])
    page = browser.get(f"{HOME}/loans/{loan}")
    assert f"{HOME}/do/payment.charge_back?loan={loan}" in page.text
    paid = {"loan": loan, "amount_minor": 50_000, "currency": "CNY", "effective_on": today,
            "provider": "psp_a", "ref": new_ref()}  # fmt: skip
    assert served.post("/v1/payments", paid, "provider").status_code == 201
    owed = served.get(f"/v1/loans/{loan}").json()["outstanding"]["total_minor"]
    given = {"loan": loan, "amount_minor": "100.00", "effective_on": today, "provider": "psp_a",
             "ref": new_ref()}  # fmt: skip
    typed = {**given, "amount_minor": "much", "key": "w", "step": "confirm"}
    wrong = browser.post(f"{HOME}/do/payment.charge_back", data=typed)
    assert wrong.status_code == 400
    assert re.search(r'name="amount_minor"[^>]*aria-invalid', wrong.text)
    page = done(browser, "payment.charge_back", **given)
    assert (page.url.path, "Note a chargeback</p>" in page.text) == (f"{HOME}/loans/{loan}", True)
    after = served.get(f"/v1/loans/{loan}").json()["outstanding"]["total_minor"]
    assert after == owed + 10_000


def test_a_complaint_is_taken_found_in_the_queue_and_answered(
    browser: httpx.Client, served: Served, roles: People
) -> None:
    user = registered(served)
    enter(browser, roles["operations"])
    words = "They rang <b>nine</b> times"
    page = done(browser, "complaint.open", user=user, subject="contact", text=words)
    assert page.url.path == f"{HOME}/borrowers/{user}"
    assert html.escape(words) in page.text
    assert user in browser.get(f"{HOME}/borrowers/help").text
    to = re.search(rf'href="({HOME}/do/complaint\.answer\?[^"]+)"', page.text)
    assert to is not None
    number = re.search(r"complaint=(cp_\w+)", to[1])
    assert number is not None
    page = done(browser, "complaint.answer", user=user, complaint=number[1], answer="Never again")
    assert "Never again" in page.text
    assert user not in browser.get(f"{HOME}/borrowers/help").text
    enter(browser, roles["auditor"])  # reads everything but personal data
    page = browser.get(f"{HOME}/borrowers/{user}")
    assert (page.status_code, "nine" in page.text, "Never" in page.text) == (200, False, False)


def test_a_key_by_two_people_is_shown_once_to_the_second_and_opens(
    browser: httpx.Client, served: Served, roles: People
) -> None:
    enter(browser, roles["administrator"])
    page = done(browser, "key.create", kind="institution", party="bank_b",
                **{"scopes.institution": "1"})  # fmt: skip
    approval = re.search(r"control/approvals/(ap_\w+)", page.text)
    assert approval is not None, told(page)
    enter(browser, roles["finance_controller"])
    page = browser.post(f"{HOME}/control/{approval[1]}/approve", data={"key": "once"})
    key = facts(page)["Key"]
    assert served.ask("GET", "/v1/offers", key).status_code == 200
    assert key not in browser.get(f"{HOME}/control/approvals/{approval[1]}").text
    enter(browser, roles["administrator"])
    page = browser.get(f"{HOME}/developers/keys")
    row = next(each for each in page.text.split("<tr") if key[-4:] in each)
    ended = re.search(r"do/key\.end\?key_id=(\d+)", row)
    assert ended is not None
    done(browser, "key.end", key_id=ended[1])
    assert served.ask("GET", "/v1/offers", key).status_code == 401


def test_somebody_is_invited_by_two_and_signs_in_with_the_password_told_once(
    browser: httpx.Client, roles: People
) -> None:
    enter(browser, roles["administrator"])
    page = done(browser, "person.invite", email="new@work.example", role="auditor")
    approval = re.search(r"control/approvals/(ap_\w+)", page.text)
    assert approval is not None, told(page)
    enter(browser, roles["finance_controller"])
    marked = {f"approval.{approval[1]}": "1", "key": "bulk"}
    page = browser.post(f"{HOME}/control", data=marked)
    password = next(value for name, value in facts(page).items() if approval[1] in name)
    enter(browser, {"email": "new@work.example", "password": password})


def test_a_secret_is_told_when_it_is_made_and_never_by_a_preview(
    browser: httpx.Client, served: Served, roles: People
) -> None:
    user = registered(served)
    person = {"name": "Mei Chen", "national_id": f"once-{user}", "phone": "+8613800000099"}
    served.ask("PUT", f"/v1/users/{user}/person", json=person)
    enter(browser, roles["operations_lead"])
    address = f"{HOME}/do/person.reveal"
    given = {"user": user, "field": "name", "reason": "they called about their line", "key": "r"}
    page = browser.post(address, data={**given, "step": "preview"})
    assert (page.status_code, "Mei Chen" in page.text) == (200, False)
    page = browser.post(address, data={**given, "step": "confirm"})
    assert "Mei Chen" in page.text
    enter(browser, roles["developer"])
    page = done(browser, "webhook.add", url="http://127.0.0.1:9/hook", names="payment.booked")
    secret = facts(page)["Secret"]
    assert len(secret) > 20
    page = browser.get(f"{HOME}/developers/webhooks")
    assert ("http://127.0.0.1:9/hook" in page.text, secret in page.text) == (True, False)
    hook = re.search(r"do/webhook\.end\?webhook=(wh_\w+)", page.text)
    assert hook is not None
    done(browser, "webhook.end", webhook=hook[1])


def test_a_file_is_chosen_shown_and_taken(
    browser: httpx.Client, served: Served, roles: People
) -> None:
    loan = drawn(served)["loan"]
    day = served.get("/v1/clock").json()["business_date"]
    text = ("order_no,provider_ref,settled_on,amount,fee,batch,loan,payer\n"
            f",{loan},{day},10.00,0.00,b,,\n")  # fmt: skip
    long = text + "\n" * 30_000  # longer than a text of the API
    enter(browser, roles["operations"])
    address = f"{HOME}/do/file.take"
    key = hidden(browser.get(address))["key"]
    given = {"profile": "psp", "provider": "psp_a", "key": key, "name": "", "content": ""}
    chosen = {"content": (f"day-{loan}.csv", long, "text/csv")}
    page = browser.post(address, data={**given, "step": "preview"}, files=chosen)
    assert page.status_code == 200, told(page)
    assert loan in page.text.partition("<textarea")[2].partition("</textarea>")[0]
    kept = {**given, "name": f"day-{loan}.csv", "content": long, "step": "confirm"}
    page = browser.post(address, data=kept)
    assert page.url.path == f"{HOME}/money/files", told(page)
    assert f"day-{loan}.csv" in page.text
    huge = {"content": ("big.csv", "x" * (9 << 20), "text/csv")}
    assert browser.post(address, data=given, files=huge).status_code == 403
