"""Borrower pages: in by link or code, offer, contract, draw, pay, settle, help, own data."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Iterator

import httpx
import pytest

from tests.platform.api.borrowers import drawn, registered
from tests.platform.api.served import Served, new_ref
from tests.platform.api.test_console import ATTACKS
from tests.platform.applicants import GOOD
from usance.platform.console.borrower_pages import COOKIE
from usance.platform.console.frame import MINE, POLICY

PHONES = iter(range(13_800_000_001, 13_900_000_000))


@pytest.fixture
def phone(served: Served) -> Iterator[httpx.Client]:
    """A browser that keeps its cookies and follows where it is led."""
    with httpx.Client(base_url=served.url, timeout=60, follow_redirects=True) as opened:
        yield opened


def enter(phone: httpx.Client, served: Served, user: str) -> httpx.Response:
    """Come in by a link that the channel made."""
    made = served.post(f"/v1/users/{user}/links", {})
    assert made.status_code == 201, made.text
    token = made.json()["url"].partition("token=")[2]
    return phone.post(f"{MINE}/enter", data={"token": token})


def known(served: Served, user: str) -> str:
    """Give a user a person with a phone of their own."""
    number = f"+86{next(PHONES)}"
    body = {"name": "Li Hua", "national_id": new_ref(), "phone": number, "email": "l@h.example"}
    answer = served.ask("PUT", f"/v1/users/{user}/person", json=body)
    assert answer.status_code == 200, answer.text
    return number


def hidden(page: httpx.Response) -> dict[str, str]:
    return {name: html.unescape(value) for name, value in
            re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page.text)}  # fmt: skip


def test_a_link_opens_once_and_shows_one_user_alone(phone: httpx.Client, served: Served) -> None:
    mine, other = drawn(served), drawn(served)
    made = served.post(f"/v1/users/{mine['user']}/links", {}).json()
    page = phone.get(made["url"])
    assert (page.status_code, COOKIE in phone.cookies) == (200, False)  # a look uses nothing up
    token = hidden(page)["token"]
    page = phone.post(f"{MINE}/enter", data={"token": token})
    assert page.url.path == MINE
    assert page.headers.get_list("content-security-policy") == [POLICY]
    assert mine["loan"] in page.text
    assert phone.get(f"{MINE}/loans/{mine['loan']}").status_code == 200
    theirs = other["loan"]
    for path in (f"loans/{theirs}", f"loans/{theirs}/statement.pdf", "offers/qu_1", "loans/ln_",
                 f"drawdowns/{theirs}", f"loans/{theirs}/help"):  # fmt: skip
        assert phone.get(f"{MINE}/{path}").status_code == 404, path
    pay = {"amount": "1.00", "key": new_ref()}
    assert phone.post(f"{MINE}/loans/{other['loan']}/pay", data=pay).status_code in (400, 404)
    phone.post(f"{MINE}/leave")
    assert phone.get(MINE).url.path == f"{MINE}/enter"
    assert phone.post(f"{MINE}/enter", data={"token": token}).status_code == 401
    assert served.post(f"/v1/users/{mine['user']}/links", {}, "channel_2").status_code == 404


def test_a_code_opens_within_five_tries_and_says_nothing_of_unknown_phones(
    phone: httpx.Client, served: Served
) -> None:
    user = registered(served)
    number = known(served, user)
    sent, unknown = (phone.post(f"{MINE}/enter", data={"phone": each})
                     for each in (number, "+8613000000000"))  # fmt: skip
    code = re.search(r"The code is <b>(\d{6})", sent.text)
    assert code is not None
    told = [re.sub(r"\d{5,}", "…", each.text) for each in (sent, unknown)]
    assert told[0] == told[1]
    wrong = f"{(int(code[1]) + 1) % 10**6:06}"
    for _ in range(4):
        page = phone.post(f"{MINE}/enter", data={"phone": number, "code": wrong})
        assert page.status_code == 401
    written = f"+86 {number[3:6]} {number[6:]}"
    page = phone.post(f"{MINE}/enter", data={"phone": written, "code": code[1]})
    assert page.url.path == MINE
    phone.post(f"{MINE}/leave")
    again = phone.post(f"{MINE}/enter", data={"phone": number, "code": code[1]})
    assert again.status_code == 401  # used
    sent = phone.post(f"{MINE}/enter", data={"phone": number})
    code = re.search(r"The code is <b>(\d{6})", sent.text)
    assert code is not None
    for _ in range(5):
        phone.post(f"{MINE}/enter", data={"phone": number, "code": "x"})
    late = phone.post(f"{MINE}/enter", data={"phone": number, "code": code[1]})
    assert late.status_code == 401  # five tries
    asked = [phone.post(f"{MINE}/enter", data={"phone": number}).status_code for _ in range(5)]
    assert asked[-1] == 429
    assert phone.post(f"{MINE}/enter", data={"phone": "nobody"}).status_code == 400


def test_a_borrower_reads_the_offer_draws_pays_and_settles(
    phone: httpx.Client, served: Served
) -> None:
    user = registered(served)
    body = {"user": user, "product": "instalment", "inputs": GOOD}
    assert served.post("/v1/applications", body).json()["outcome"] == "approved"
    number = known(served, user)
    enter(phone, served, user)
    page = phone.get(f"{MINE}/draw", params={"product": "instalment", "amount": "6,000"})
    assert "costs least" in page.text
    assert "costs most" in page.text
    page = phone.post(f"{MINE}/draw", data={**hidden(page), "months": "6"})
    assert page.url.path.startswith(f"{MINE}/offers/qu_")
    address = page.url.path
    pdf = phone.get(f"{address}/contract.pdf")
    assert pdf.content[:5] == b"%PDF-"
    given = hidden(page)
    assert given["sha256"] == hashlib.sha256(pdf.content).hexdigest()
    assert phone.post(address, data={**given, "step": "accept"}).status_code == 400  # not read
    assert phone.post(address, data={**given, "read": "1"}).status_code == 401  # no code
    page = phone.post(address, data={**given, "step": "code"})
    code = re.search(r"The code is <b>(\d{6})", page.text)
    assert code is not None
    page = phone.post(address, data={**given, "read": "1", "code": code[1]})
    assert page.url.path.startswith(f"{MINE}/loans/ln_"), page.text
    loan = page.url.path.rpartition("/")[2]
    told = served.get(f"/v1/loans/{loan}").json()
    assert told["principal_minor"] == 600_000
    agreed = served.get(f"/v1/users/{user}/documents").json()["data"]
    assert [each["document_sha256"] for each in agreed] == [given["sha256"]]
    pay = {"amount": "1,000.00", "key": new_ref()}
    for _ in range(2):  # a double click
        page = phone.post(f"{page.url.path.partition('?')[0]}/pay" if page.url.path.endswith(loan)
                          else f"{MINE}/loans/{loan}/pay", data=pay)  # fmt: skip
        assert "arrived" in page.text
    after = served.get(f"/v1/loans/{loan}").json()
    assert after["paid"]["total_minor"] == 100_000
    settle = re.search(r'<p data-minor="(\d+)">', page.text)
    assert settle is not None
    assert int(settle[1]) == after["settlement_minor"]
    amount = f"{int(settle[1]) / 100:.2f}"
    settled = {"amount": amount, "key": new_ref(), "ref": hidden(page)["ref"]}
    page = phone.post(f"{MINE}/loans/{loan}/pay", data=settled)
    assert served.get(f"/v1/loans/{loan}").json()["status"] == "closed"
    assert phone.get(f"{MINE}/loans/{loan}/statement.pdf").content[:5] == b"%PDF-"
    for wrong in ("", "a lot", "-5", "0"):
        data = {"amount": wrong, "key": new_ref()}
        assert phone.post(f"{MINE}/loans/{loan}/pay", data=data).status_code == 400
    assert number  # known to nobody but us


def test_help_is_shown_before_it_is_asked_for_and_a_complaint_arrives(
    phone: httpx.Client, served: Served
) -> None:
    mine = drawn(served)
    enter(phone, served, mine["user"])
    address = f"{MINE}/loans/{mine['loan']}/help"
    page = phone.post(address, data={"step": "ask", "reason": "income", "text": "less work",
                                     "key": new_ref()})  # fmt: skip
    assert "wish has arrived" in page.text
    asked = served.get(f"/v1/users/{mine['user']}/hardship").json()["data"]
    assert [(each["loan"], each["reason"], each["state"]) for each in asked] == [
        (mine["loan"], "income", "open")]  # fmt: skip
    given = {"key": new_ref(), "kind": "longer_term", "months": "1"}
    page = phone.post(address, data={**given, "step": "preview"})
    assert page.status_code == 422  # nobody may change a loan that nobody has paid on
    body = {"loan": mine["loan"], "kind": "longer_term", "months": 1}
    assert served.post(f"/v1/users/{mine['user']}/plans", body).status_code == 422
    page = phone.post(f"{MINE}/complaint", data={"subject": "contact", "text": "too many calls",
                                                 "key": new_ref()})  # fmt: skip
    assert "complaint has arrived" in page.text
    page = phone.post(f"{MINE}/complaint", data={"subject": "", "text": "", "key": new_ref()})
    assert page.status_code in (400, 422)


def test_own_data_is_given_consented_and_forgotten(phone: httpx.Client, served: Served) -> None:
    user = registered(served)
    known(served, user)
    enter(phone, served, user)
    phone.post(f"{MINE}/consents", data={"purpose": "marketing", "granted": "1", "key": new_ref()})
    told = served.get(f"/v1/users/{user}/consents").json()["data"]
    assert [(each["purpose"], each["granted"]) for each in told] == [("marketing", True)]
    data = phone.post(f"{MINE}/export", data={"key": new_ref()}).json()
    assert data["person"]["name"] == "Li Hua"
    assert phone.post(f"{MINE}/erase", data={"key": new_ref()}).status_code == 400
    page = phone.post(f"{MINE}/erase", data={"key": new_ref(), "sure": "1"})
    assert page.url.path == f"{MINE}/enter"
    assert served.post(f"/v1/users/{user}/export", {}).status_code in (200, 404)
    entered = enter(phone, served, user)
    assert entered.status_code == 401  # an erased user has no session any more


def test_whoever_owes_is_not_forgotten(phone: httpx.Client, served: Served) -> None:
    mine = drawn(served)
    enter(phone, served, mine["user"])
    page = phone.post(f"{MINE}/erase", data={"key": new_ref(), "sure": "1"})
    assert (page.status_code, mine["loan"] in phone.get(MINE).text) == (409, True)


@pytest.mark.parametrize("attack", ATTACKS)
def test_text_stays_text(phone: httpx.Client, served: Served, attack: str) -> None:
    mine = drawn(served)
    enter(phone, served, mine["user"])
    pages = [
        phone.get(f"{MINE}/draw", params={"product": attack, "amount": attack}),
        phone.post(f"{MINE}/complaint", data={"subject": attack, "text": ""}),
        phone.post(f"{MINE}/loans/{mine['loan']}/help", data={"kind": attack, "months": attack}),
        phone.post(f"{MINE}/loans/{mine['loan']}/pay", data={"amount": attack}),
    ]
    for page in pages:
        assert not re.search(r"<script>|</title><b>|\sonmouseover=['\"]", page.text)


def test_a_borrowers_session_is_none_of_an_operators(phone: httpx.Client, served: Served) -> None:
    enter(phone, served, registered(served))
    token = phone.cookies[COOKIE]
    assert served.ask("GET", "/v1/loans/ln_00000000G01", token).status_code == 401
    with httpx.Client(base_url=served.url, cookies={"usance_session": token}) as other:
        assert other.get("/console/overview").status_code == 303
    page = phone.post(f"{MINE}/leave", headers={"origin": "https://x.example"})
    assert page.status_code == 403
