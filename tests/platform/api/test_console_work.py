"""Work done in the console, by forms alone: payments and reversals, reviews, approvals, closes."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.platform.api.borrowers import drawn, registered
from tests.platform.api.served import Served
from tests.platform.api.test_console import ATTACKS, sign_in
from tests.platform.applicants import LISTED, WATCHED
from usance.platform.console.actions import ACTIONS
from usance.platform.console.addresses import screen_of
from usance.platform.console.frame import HOME, SCREENS
from usance.platform.console.routes import PAGES
from usance.platform.security.roles import Roles


@pytest.fixture
def browser(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, timeout=30, follow_redirects=True) as opened:
        yield opened


def enter(browser: httpx.Client, person: dict[str, str]) -> None:
    assert browser.post(f"{HOME}/sign-in", data=person).url.path == f"{HOME}/overview"


def hidden(page: httpx.Response) -> dict[str, str]:
    """Hidden fields of a page's last form."""
    return dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page.text))


def test_a_payment_is_previewed_taken_once_and_reversed(
    browser: httpx.Client, served: Served, roles: dict[str, dict[str, str]]
) -> None:
    loan = drawn(served)["loan"]
    owed = served.get(f"/v1/loans/{loan}").json()["outstanding"]["total_minor"]
    enter(browser, roles["operations"])
    address = f"{HOME}/loans/{loan}/payment"
    page = browser.get(address)
    today = re.search(r'name="effective_on" value="([\d-]+)"', page.text)
    assert today is not None
    given = {"amount_minor": "1,000.50", "effective_on": today[1], "provider": "psp_a",
             "ref": f"console-{loan}", "key": hidden(page)["key"]}  # fmt: skip
    page = browser.post(address, data={**given, "step": "preview"})
    assert page.status_code == 200
    assert "1,000.50" in page.text.partition("What would happen")[2]
    assert served.get(f"/v1/loans/{loan}").json()["outstanding"]["total_minor"] == owed
    assert hidden(page)["key"] == given["key"]
    for _ in range(2):  # a double click, or a reload
        page = browser.post(address, data={**given, "step": "confirm"})
        assert page.url.path == f"{HOME}/loans/{loan}"
    after = served.get(f"/v1/loans/{loan}").json()["outstanding"]["total_minor"]
    assert after == owed - 100_050
    payment = re.search(r"reversal\?payment=(pm_\w+)", page.text)
    assert payment is not None
    address = f"{HOME}/loans/{loan}/reversal"
    undo = {"payment": payment[1], "reason": "it bounced", "step": "confirm", "key": "k"}
    page = browser.post(address, data=undo)
    assert 'class="undone"' in page.text
    assert served.get(f"/v1/loans/{loan}").json()["outstanding"]["total_minor"] == owed
    assert browser.post(address, data={**undo, "key": "l"}).status_code == 409


@pytest.mark.parametrize("amount", ["", "a lot", "1.005", "-5", "1e400", "0"])
def test_a_wrong_amount_is_told_beside_its_field(
    browser: httpx.Client, served: Served, roles: dict[str, dict[str, str]], amount: str
) -> None:
    loan = drawn(served)["loan"]
    enter(browser, roles["operations"])
    given = {
        "amount_minor": amount,
        "effective_on": "2024-07-01",
        "provider": "psp_a",
        "ref": "<b>",
    }
    page = browser.post(
        f"{HOME}/loans/{loan}/payment", data={**given, "step": "confirm", "key": "x"}
    )
    assert page.status_code == 400
    assert re.search(r'name="amount_minor"[^>]*aria-invalid', page.text)
    assert "&lt;b&gt;" in page.text  # what was typed is kept, as text


def test_a_referred_application_is_replayed_and_reviewed(
    browser: httpx.Client, served: Served, roles: dict[str, dict[str, str]]
) -> None:
    user = registered(served)
    body = {"user": user, "product": "instalment", "inputs": WATCHED}
    decision = served.post("/v1/applications", body).json()["decision"]
    enter(browser, roles["credit_officer"])
    assert decision in browser.get(f"{HOME}/applications").text
    address = f"{HOME}/applications/{decision}"
    page = browser.get(address, params={"replay": "1"})
    assert "The same score" in page.text, page.text
    page = browser.post(address, data={"answer": "approve", "line": "60,000", "key": "beyond"})
    assert page.status_code in (400, 403, 422)
    key = hidden(browser.get(address))["key"]
    page = browser.post(address, data={"answer": "approve", "line": "1,000", "key": key})
    assert page.status_code == 200
    assert served.get(f"/v1/decisions/{decision}").json()["review"]
    assert decision not in browser.get(f"{HOME}/applications").text
    found = browser.get(f"{HOME}/applications", params={"outcome": "referred", "format": "csv"})
    rows = list(csv.DictReader(io.StringIO(found.text)))
    assert decision in {row["decision"] for row in rows}
    assert {row["outcome"] for row in rows} == {"referred"}
    page = browser.get(f"{HOME}/applications", params={"outcome": "x"})
    assert page.status_code == 400


def flow_files(number: int) -> dict[str, str]:
    """The flow that ships, from a later day, under another number: who is watched is let in."""
    from usance.assess.flow.files import SHIPPED, content_of

    found = {name: text.decode() for name, text in content_of(SHIPPED / "consumer").items()}
    head = found["flow.yaml"].replace("number: 1\n", f"number: {number}\n", 1)
    found["flow.yaml"] = head.replace("valid_from: 2024-01-01", "valid_from: 2024-09-01", 1)
    assert "refer" in found["registration.json"]
    found["registration.json"] = found["registration.json"].replace('\\"refer\\"', '\\"pass\\"')
    return found


def test_a_decision_is_made_again_under_another_version_of_the_flow(
    browser: httpx.Client, served: Served, roles: dict[str, dict[str, str]]
) -> None:
    user = registered(served)
    body = {"user": user, "product": "instalment", "inputs": WATCHED}
    decision = served.post("/v1/applications", body).json()["decision"]
    put = {"name": "open_door", "valid_from": "2024-09-01", "files": flow_files(7)}
    proposed = served.post("/v1/flows", put, "control").json()["approval"]
    enter(browser, roles["administrator"])
    assert browser.post(f"{HOME}/control/{proposed}/approve", data={"key": "1"}).is_success
    enter(browser, roles["finance_controller"])
    assert browser.post(f"{HOME}/control/{proposed}/approve", data={"key": "2"}).is_success
    enter(browser, roles["credit_officer"])
    address = f"{HOME}/applications/{decision}"
    assert "open_door/1" in browser.get(address).text
    page = browser.get(address, params={"replay": "1", "flow": "open_door/1"})
    again = page.text.partition('id="again"')[2].partition("<h2")[0]
    assert re.search(r">referred</td><td class=\"n\">approved<", again), again
    page = browser.get(address, params={"replay": "1", "flow": ""})
    again = page.text.partition('id="again"')[2].partition("<h2")[0]
    assert re.search(r">referred</td><td class=\"n\">referred<", again), again
    page = browser.get(address, params={"replay": "1", "flow": "<script>/9"})
    assert (page.status_code, "no version" in page.text) == (400, True)


@pytest.mark.parametrize(("name", "files", "told"), [
    ("../consumer", None, "no flow that comes along"),
    ("own", {"../../flow.yaml": "flow: own"}, "no name of a file"),
    ("own", {"/tmp/flow.yaml": "flow: own"}, "no name of a file"),
    ("own", {"flow.yaml": "flow: own"}, "number is missing"),
    ("own", {"flow.yaml": ["flow"]}, "no text"),
])  # fmt: skip
def test_a_flow_that_nobody_could_decide_by_is_never_put_in_force(
    browser: httpx.Client, served: Served, roles: dict[str, dict[str, str]], name: str,
    files: dict[str, str] | None, told: str,
) -> None:  # fmt: skip
    body = {"name": name, "valid_from": "2024-09-01", "files": files}
    refused = served.post("/v1/flows?dry_run=true", body, "control")
    assert (refused.status_code, told in refused.text) == (400, True), refused.text
    proposed = served.post("/v1/flows", body, "control")
    if proposed.status_code == 202:  # seen by whoever agrees, at the latest
        enter(browser, roles["administrator"])
        address = f"{HOME}/control/{proposed.json()['approval']}/approve"
        browser.post(address, data={"key": "1"})
        enter(browser, roles["finance_controller"])
        page = browser.post(address, data={"key": "2"})
        assert (page.status_code, told in page.text) == (400, True)


def test_mandates_are_proposed_by_one_and_approved_by_another(
    browser: httpx.Client, served: Served, roles: dict[str, dict[str, str]]
) -> None:
    from usance.platform.lender import sandbox_document

    text = sandbox_document()["mandates"]
    enter(browser, roles["funding_manager"])
    address = f"{HOME}/matching/mandates"
    tested = browser.post(address, data={"step": "test", "text": "sources: [1]"})
    assert tested.status_code == 400
    loan = drawn(served)
    tested = browser.post(address, data={"step": "test", "text": text})
    found = re.findall(r"<td>[^<]+</td><td class=\"n\">(\d+)</td><td class=\"n\">(\d+)</td>",
                       tested.text)  # fmt: skip
    assert found, loan
    assert any(int(taken) > 0 for _, taken in found)
    assert all(int(taken) <= int(tried) for tried, taken in found)
    given = {"step": "propose", "text": text, "valid_from": "2024-07-01", "key": "mandate"}
    page = browser.post(address, data=given)
    waiting = re.search(r"control/approvals/(ap_\w+)", page.text)
    assert waiting is not None
    address = f"{HOME}/control/{waiting[1]}/approve"
    page = browser.post(address, data={"key": "first"})
    assert page.status_code == 422
    assert "agreed already" in page.text
    enter(browser, roles["finance_controller"])
    assert browser.post(address, data={"key": "second"}).status_code == 200
    assert served.get(f"/v1/approvals/{waiting[1]}", "control").json()["state"] == "approved"


def test_the_chain_is_verified_and_periods_move(
    browser: httpx.Client, served: Served, roles: dict[str, dict[str, str]]
) -> None:
    enter(browser, roles["accountant"])
    assert "Every seal holds" in browser.get(f"{HOME}/control/audit", params={"verify": "1"}).text
    page = browser.post(f"{HOME}/close", data={"period": "2024-01", "state": "locked", "key": "p"})
    assert page.status_code == 409
    form = r'name="period" value="([\d-]+)"/><input type="hidden" name="state" value="closing"'
    offered = re.findall(form, browser.get(f"{HOME}/close").text)
    assert served.get("/v1/clock").json()["business_date"][:7] not in offered  # it is not over
    page = browser.post(f"{HOME}/close", data={"period": "2099-01", "state": "closing", "key": "q"})
    assert (page.status_code, "2099-01 ends on 2099-01-31" in page.text) == (422, True)


def test_every_role_meets_every_screen_and_action_as_the_file_says(
    browser: httpx.Client, served: Served, roles: dict[str, dict[str, str]]
) -> None:
    loan = drawn(served)["loan"]
    for role, person in roles.items():
        enter(browser, person)
        for screen in SCREENS:
            wanted = 200 if Roles.load().shows(role, screen.name) else 403
            assert browser.get(screen.path).status_code == wanted, (role, screen)
        for name, action in ACTIONS.items():
            may = (Roles.load().shows(role, "loans")
                   and action.command in Roles.load().commands(role))  # fmt: skip
            address = f"{HOME}/loans/{loan}/{name}"
            assert browser.get(address).status_code == (200 if may else 403), (role, name)
            if not may:
                assert browser.post(address, data={"step": "confirm"}).status_code == 403
        browser.post(f"{HOME}/sign-out")


def test_pages_of_the_closed_book_are_shown_inside_the_frame(
    browser: httpx.Client, served: Served, roles: dict[str, dict[str, str]]
) -> None:
    pages = served.home / "pages"
    write_book(pages)
    try:
        enter(browser, roles["accountant"])
        page = browser.get(f"{HOME}/statements")
        assert "<b>Net income</b>" in page.text
        assert f'href="{HOME}/books/lines/net.html#x"' in page.text
        chinese = browser.get(f"{HOME}/statements", headers={"Accept-Language": "zh"})
        assert "<b>净利润</b>" in chinese.text
        page = browser.get(f"{HOME}/books/lines/net.html")
        assert f'href="{HOME}/loans/ln_00000000G01"' in page.text
        assert 'aria-current="page">Statements' in page.text
        for path in ("..%2fsandbox.json", "secret.html", "lines/../../sandbox.json"):
            assert browser.get(f"{HOME}/books/{path}").status_code in (403, 404)
        enter(browser, roles["operations"])
        assert browser.get(f"{HOME}/books/statements.html").status_code == 403
    finally:
        (pages / ".usance-site").unlink()


def write_book(folder: Path) -> None:
    """A closed book's pages, as small as they can be, and a file that is not one of them."""
    (folder / "lines").mkdir(parents=True)
    frame = "<html><body><main><h1>{}</h1>{}</main></body></html>"
    line = '<b>Net income</b> <a href="lines/net.html#x">1</a>'
    (folder / "statements.html").write_text(frame.format("Statements", line))
    loan = '<a href="../loans/ln_00000000G01.html">ln_00000000G01</a>'
    (folder / "lines" / "net.html").write_text(frame.format("Net", loan))
    (folder / "secret.html").write_text(frame.format("Secret", ""))
    (folder / ".usance-site").write_text("statements.html\nlines/net.html\n")


def test_every_page_of_a_book_has_a_screen_of_its_own() -> None:
    from usance.pages.site.page import NAVIGATION

    assert all(screen_of(to.lstrip("/")) for _, to in NAVIGATION)


@pytest.mark.parametrize("attack", ATTACKS)
def test_whatever_is_typed_into_a_form_stays_text(
    browser: httpx.Client, served: Served, roles: dict[str, dict[str, str]], attack: str
) -> None:
    loan = drawn(served)["loan"]
    enter(browser, roles["operations_lead"])
    for name, action in ACTIONS.items():
        data = {field.name: attack for field in action.fields}
        page = browser.post(f"{HOME}/loans/{loan}/{name}", data={**data, "step": "preview"})
        assert page.status_code in (400, 404, 422), name
        assert not re.search(r"<script>|</title><b>|\sonmouseover=['\"]", page.text)


def test_every_address_has_a_screen_that_there_is() -> None:
    assert {screen for screen, _ in PAGES.values()} <= {each.name for each in SCREENS}


def test_an_administrator_lets_days_go_by_as_a_job(browser: httpx.Client, served: Served) -> None:
    sign_in(browser, served)
    page = browser.post(f"{HOME}/developers/clock", data={"days": "99"})
    assert page.status_code == 400
    page = browser.post(f"{HOME}/developers/clock", data={"days": "two"})
    assert page.status_code == 400


def test_what_is_safe_together_is_approved_together(
    browser: httpx.Client, served: Served, roles: dict[str, dict[str, str]]
) -> None:
    enter(browser, roles["finance_controller"])
    day = served.get("/v1/clock").json()["business_date"]
    for rate in ("0.011", "0.012"):
        given = {"name": "servicing.late_fee", "value": rate, "valid_from": day,
                 "source": "a test", "key": rate}  # fmt: skip
        assert browser.post(f"{HOME}/control/parameters", data=given).status_code == 200
    page = browser.get(f"{HOME}/control", params={"q": "parameter.put"})
    marked = re.findall(r'name="(approval\.ap_\w+)"', page.text)
    assert len(marked) >= 2
    mine = browser.post(f"{HOME}/control", data={"key": "mine", **dict.fromkeys(marked, "1")})
    assert mine.status_code == 409  # nobody agrees to what they proposed
    one = marked[0].removeprefix("approval.")
    page = browser.get(f"{HOME}/control/approvals/{one}")
    assert "servicing.late_fee" in page.text
    enter(browser, roles["administrator"])
    data = {"key": "bulk", **dict.fromkeys(marked, "1")}
    for _ in range(2):  # a double click
        assert browser.post(f"{HOME}/control", data=data).status_code in (200, 409)
    for each in marked:
        told = served.get(f"/v1/approvals/{each.removeprefix('approval.')}", "control").json()
        assert told["state"] == "approved"


def test_lists_of_the_console_keep_their_search_and_are_exported(
    browser: httpx.Client, served: Served, roles: dict[str, dict[str, str]]
) -> None:
    user = registered(served)
    asked = served.ask("POST", "/v1/quotes", json={"user": user}, key="searched-for")
    enter(browser, roles["auditor"])
    found: list[dict[str, str]] = []
    for _ in range(200):  # the log is written behind the answer
        page = browser.get(f"{HOME}/developers/requests",
                           params={"key": "searched-for", "format": "csv"})  # fmt: skip
        found = list(csv.DictReader(io.StringIO(page.text)))
        if found:
            break
        time.sleep(0.1)
    assert [(each["path"], each["status"]) for each in found] == [
        ("/v1/quotes", str(asked.status_code))]  # fmt: skip
    page = browser.get(f"{HOME}/control/audit", params={"subject": user, "format": "csv"})
    rows = list(csv.DictReader(io.StringIO(page.text)))
    assert {each["command"] for each in rows} == {"user.register"}
    page = browser.get(f"{HOME}/developers/events", params={"subject": user})
    event = re.search(r"/developers/events/(ev_\w+)", page.text)
    assert event is not None
    assert user in browser.get(f"{HOME}/developers/events/{event[1]}").text
    assert browser.get(f"{HOME}/developers/events/ev_").status_code == 404
    assert browser.get(f"{HOME}/developers/log").status_code == 200


def test_two_operators_on_one_record_the_second_is_told(
    browser: httpx.Client, served: Served, roles: dict[str, dict[str, str]]
) -> None:
    user = registered(served)
    body = {"user": user, "product": "instalment", "inputs": WATCHED}
    decision = served.post("/v1/applications", body).json()["decision"]
    address = f"{HOME}/applications/{decision}"
    enter(browser, roles["credit_officer"])
    with httpx.Client(base_url=served.url, timeout=30, follow_redirects=True) as other:
        enter(other, roles["credit_lead"])
        page = other.get(address)
        mine = {"answer": "approve", "line": "1,000", "key": hidden(browser.get(address))["key"]}
        assert browser.post(address, data=mine).status_code == 200
        theirs = {"answer": "decline", "key": hidden(page)["key"]}
        told = other.post(address, data=theirs)
    assert told.status_code == 409
    alert = re.search(r'warning" role="alert">(.*?)</p>', told.text)
    assert alert is not None
    assert "credit_officer@work.example did application.review" in alert[1]


def test_drift_tells_the_stability_of_what_lies_open(
    browser: httpx.Client, served: Served, roles: dict[str, dict[str, str]]
) -> None:
    drawn(served)
    enter(browser, roles["risk_analyst"])
    page = browser.get(f"{HOME}/risk/drift")
    assert page.status_code == 200
    assert "PSI" in page.text
    assert "no data" in page.text  # a young lender has nothing to compare with
    page = browser.get(f"{HOME}/risk/models")
    assert "monthly_income_minor" in page.text


def test_the_dashboard_names_figures_that_there_are(served: Served) -> None:
    path = Path(__file__).parents[3] / "docs" / "dashboards" / "usance.json"
    board = json.loads(path.read_text("utf-8"))
    wanted = {name for panel in board["panels"] for target in panel["targets"]
              for name in re.findall(r"usance_\w+", target["expr"])}  # fmt: skip
    told = served.get("/metrics", "operations").text
    assert len(wanted) >= 4
    assert all(re.search(rf"^{name} ", told, re.MULTILINE) for name in wanted), wanted


def test_requests_about_data_are_answered_on_the_part_checks(
    browser: httpx.Client, served: Served, roles: dict[str, dict[str, str]]
) -> None:
    user = registered(served)
    person = {"name": "Dora Lim", "national_id": f"check-{user}", "phone": "+8613800000077"}
    served.ask("PUT", f"/v1/users/{user}/person", json=person)
    asked = {"field": "name", "value": "Dora Lin", "text": "a slip of the pen"}
    case = served.post(f"/v1/users/{user}/corrections", asked).json()["case"]
    enter(browser, roles["credit_lead"])
    address = f"{HOME}/applications/checks"
    page = browser.get(address)
    assert case in page.text
    assert browser.post(address, data={"key": f"{case}-nothing"}).status_code == 400
    given = {"key": case, "correction": case, "answer": "grant", "reason": "the passport says so"}
    assert case not in browser.post(address, data=given).text
    told = served.get(f"/v1/users/{user}/data-requests").json()["data"]
    assert (told[0]["state"], told[0]["answer"]) == ("granted", "the passport says so")


def test_a_decision_that_was_asked_about_is_reviewed_with_its_reason(
    browser: httpx.Client, served: Served, roles: dict[str, dict[str, str]]
) -> None:
    user = registered(served)
    applied = {"user": user, "product": "instalment", "inputs": LISTED}
    decision = served.post("/v1/applications", applied).json()["decision"]
    enter(browser, roles["credit_lead"])
    address = f"{HOME}/applications/{decision}"
    assert 'name="answer"' not in browser.get(address).text
    assert served.post(f"/v1/decisions/{decision}/review-request", {"text": "not me"}).is_success
    given = {"key": hidden(browser.get(address))["key"], "answer": "approve", "line": "1,000.00"}
    assert browser.post(address, data=given).status_code == 400  # no word for the borrower
    given |= {"reason": "It was <b>another</b> person", "key": f"{decision}-again"}
    assert browser.post(address, data=given).status_code == 200
    told = served.get(f"/v1/users/{user}/data-requests").json()["data"][0]
    assert (told["state"], told["answer"]) == ("granted", given["reason"])
    assert served.get(f"/v1/users/{user}/lines").json()["data"][0]["limit_minor"] == 100_000
