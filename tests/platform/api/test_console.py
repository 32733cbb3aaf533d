"""The console as a browser sees it: who comes in, what each role has, and what is refused."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from importlib.resources import files

import httpx
import pytest
import yaml

from tests.platform.api.borrowers import drawn
from tests.platform.api.served import Served, new_ref
from tests.platform.applicants import GOOD
from usance.platform.console.frame import HOME, LANGUAGES, POLICY, SCREENS, texts
from usance.platform.security.roles import Roles

ATTACKS = ("<script>alert(1)</script>", '" onmouseover="alert(1)', "{{ 7 * 7 }}", "</title><b>")


@pytest.fixture
def browser(served: Served) -> Iterator[httpx.Client]:
    """A browser that keeps its cookies and follows where it is led."""
    with httpx.Client(base_url=served.url, timeout=30, follow_redirects=True) as opened:
        yield opened


def sign_in(browser: httpx.Client, served: Served, number: int = 0) -> httpx.Response:
    return browser.post(f"{HOME}/sign-in", data=served.operators[number])


def test_nobody_sees_a_screen_without_signing_in(browser: httpx.Client) -> None:
    for screen in SCREENS:
        page = browser.get(screen.path)
        assert page.url.path == f"{HOME}/sign-in"


def test_a_wrong_password_is_told_and_what_was_typed_is_kept(
    browser: httpx.Client, served: Served
) -> None:
    email = served.operators[0]["email"]
    page = browser.post(f"{HOME}/sign-in", data={"email": email, "password": "wrong wrong wrong"})
    assert page.status_code == 401
    assert texts("en")["sign_in_failed"] in page.text
    assert f'value="{email}"' in page.text
    assert "usance_session" not in browser.cookies


def test_an_administrator_signs_in_looks_around_and_leaves(
    browser: httpx.Client, served: Served
) -> None:
    page = sign_in(browser, served)
    assert page.url.path == f"{HOME}/overview"
    for screen in SCREENS:
        assert browser.get(screen.path).status_code == 200, screen
    assert browser.post(f"{HOME}/sign-out").url.path == f"{HOME}/sign-in"
    assert browser.get(f"{HOME}/overview").url.path == f"{HOME}/sign-in"


def test_a_session_that_was_ended_elsewhere_is_no_session(
    browser: httpx.Client, served: Served
) -> None:
    sign_in(browser, served)
    token = browser.cookies["usance_session"]
    assert served.ask("DELETE", "/v1/sessions", token).status_code == 200
    assert browser.get(f"{HOME}/overview").url.path == f"{HOME}/sign-in"


def test_each_role_has_its_screens_and_no_others(browser: httpx.Client, served: Served) -> None:
    sign_in(browser, served, 1)
    own = {each.name for each in SCREENS if Roles.load().shows("finance_controller", each.name)}
    assert 3 < len(own) < len(SCREENS)
    for screen in SCREENS:
        page = browser.get(screen.path)
        assert page.status_code == (200 if screen.name in own else 403), screen
        shown = set(re.findall(r'href="/console/(\w+)" data-letter', page.text))
        assert shown == own


def test_a_borrower_is_found_by_id_and_by_reference(browser: httpx.Client, served: Served) -> None:
    name = new_ref()
    user = served.post("/v1/users", {"client_ref": name, "region": 1}).json()["user"]
    sign_in(browser, served)
    for asked in (name, user):
        page = browser.get(f"{HOME}/search", params={"q": asked})
        assert page.url.path == f"{HOME}/borrowers/{user}"
        assert name in page.text
    assert "Nothing was found" in browser.get(f"{HOME}/search", params={"q": "?"}).text
    assert "Nothing was found" in browser.get(f"{HOME}/search", params={"q": "7 2024-02-31"}).text
    for unknown in ("us_0000000ZZZZ", "ln_00000000G01", "us_", "..%2f"):
        assert browser.get(f"{HOME}/borrowers/{unknown}").status_code == 404


def test_a_borrower_is_found_by_phone_however_it_is_written(
    browser: httpx.Client, served: Served
) -> None:
    user = served.post("/v1/users", {"client_ref": new_ref(), "region": 1}).json()["user"]
    person = {"name": "Li Hua", "national_id": new_ref(), "phone": "+8613877001234",
              "email": "l@h.example"}  # fmt: skip
    assert served.ask("PUT", f"/v1/users/{user}/person", json=person).status_code == 200
    sign_in(browser, served)
    for asked in ("+8613877001234", "+86 138 7700 1234", "86-138-7700-1234"):
        page = browser.get(f"{HOME}/search", params={"q": asked})
        assert page.url.path == f"{HOME}/borrowers/{user}", asked
        assert "13877001234" not in page.text.replace(" ", "")
    assert "Nothing was found" in browser.get(f"{HOME}/search", params={"q": "+8613877001235"}).text


def test_a_loan_shows_what_the_api_says(browser: httpx.Client, served: Served) -> None:
    body = {"client_ref": new_ref(), "region": 3}
    user = served.post("/v1/users", body).json()["user"]
    applied = {"user": user, "product": "instalment", "inputs": GOOD}
    assert served.post("/v1/applications", applied).json()["outcome"] == "approved"
    wanted = {"user": user, "product": "instalment", "amount_minor": 600_000, "months": 6}
    loan = served.post("/v1/drawdowns", wanted).json()["loan"]
    told = served.get(f"/v1/loans/{loan}").json()
    sign_in(browser, served)
    page = browser.get(f"{HOME}/search", params={"q": loan})
    assert page.url.path == f"{HOME}/loans/{loan}"
    owed = told["outstanding"]["total_minor"]
    assert f"{owed // 100:,}.{owed % 100:02}" in page.text
    lines = [int(each) for each in re.findall(r'data-minor="(-?\d+)"', page.text)]
    assert len(lines) > 6 * 3  # instalments, and a journal
    assert sum(lines[6 * 3 :]) == 0
    assert loan in browser.get(f"{HOME}/borrowers/{user}").text
    assert "Paid out" in page.text.partition("<h2>Facts")[2].partition("<h2")[0]
    assert browser.get(f"{HOME}/loans/{loan}", params={"as_of": "soon"}).status_code == 400
    assert browser.get(f"{HOME}/loans/ln_0000000ZZ01").status_code == 404


@pytest.mark.parametrize("attack", ATTACKS)
def test_text_of_others_stays_text(browser: httpx.Client, served: Served, attack: str) -> None:
    name = f"{attack} {new_ref()}"
    user = served.post("/v1/users", {"client_ref": name, "region": 1}).json()["user"]
    sign_in(browser, served)
    for page in (
        browser.get(f"{HOME}/borrowers/{user}"),
        browser.get(f"{HOME}/search", params={"q": f"{attack} nobody"}),
    ):
        assert attack not in page.text.replace("{{ 7 * 7 }}", "") or attack == "{{ 7 * 7 }}"
        assert "49" not in re.sub(r"\d{3,}|ref-\d+", "", page.text)


def test_every_page_has_the_strict_policy_and_nothing_inline(
    browser: httpx.Client, served: Served
) -> None:
    sign_in(browser, served)
    for screen in SCREENS:
        page = browser.get(screen.path)
        assert page.headers.get_list("content-security-policy") == [POLICY]
        assert page.headers["x-content-type-options"] == "nosniff"
        assert not re.search(r"<style|<script>|\sstyle=|\son\w+=['\"]|javascript:", page.text)
        assert not re.search(r'(?:href|src|action)="(?!/console|#content|\?)', page.text)


@pytest.mark.parametrize(
    "headers", [{"origin": "https://elsewhere.example"}, {"sec-fetch-site": "cross-site"}]
)
def test_forms_of_other_sites_are_refused(
    browser: httpx.Client, served: Served, headers: dict[str, str]
) -> None:
    sign_in(browser, served)
    for path in ("sign-out", "sign-in", "language", "developers/jobs/jb_00000000001/retry"):
        assert browser.post(f"{HOME}/{path}", headers=headers).status_code == 403
    assert browser.get(f"{HOME}/overview").url.path == f"{HOME}/overview"


def test_the_language_is_the_visitors(browser: httpx.Client) -> None:
    page = browser.get(f"{HOME}/sign-in", headers={"accept-language": "zh-CN,en;q=0.5"})
    assert texts("zh")["sign_in"] in page.text
    page = browser.post(f"{HOME}/language", data={"language": "zh", "back": f"{HOME}/sign-in"})
    assert 'lang="zh-CN"' in page.text
    for back in ("https://elsewhere.example", "//elsewhere.example"):
        page = browser.post(f"{HOME}/language", data={"language": "en", "back": back})
        assert page.status_code == 403


def test_languages_have_the_same_texts() -> None:
    own = [set(texts(language)) for language in LANGUAGES]
    assert own[0] == own[1]
    assert all(isinstance(key, str) for keys in own for key in keys)  # YAML reads `no` as a truth
    assert all(value.strip() for language in LANGUAGES for value in texts(language).values())


def test_every_screen_names_roles_that_there_are() -> None:
    document = yaml.safe_load(
        files("usance.platform.security").joinpath("roles.yaml").read_text("utf-8")
    )
    assert set(document["screens"]) == {screen.name for screen in SCREENS}
    assert {role for roles in document["screens"].values() for role in roles} == set(
        document["roles"]
    )


def test_the_script_is_short_and_served_from_here(browser: httpx.Client) -> None:
    script = browser.get(f"{HOME}/console.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert script.text.count("\n") <= 200
    assert not re.search(r"eval|innerHTML|https?:", script.text)
    assert browser.get(f"{HOME}/console.css").headers["content-type"].startswith("text/css")


def test_the_list_of_loans_keeps_its_filters_in_the_address(
    browser: httpx.Client, served: Served
) -> None:
    loans = [drawn(served)["loan"] for _ in range(2)]
    sign_in(browser, served)
    page = browser.get(f"{HOME}/loans", params={"state": "open", "product": "instalment"})
    assert all(f'href="{HOME}/loans/{loan}"' in page.text for loan in loans)
    assert 'value="open" selected' in page.text
    found = browser.get(f"{HOME}/loans", params={"state": "open", "format": "csv"})
    rows = {row["loan"]: row for row in csv.DictReader(io.StringIO(found.text))}
    for loan in loans:
        told = served.get(f"/v1/loans/{loan}").json()
        assert rows[loan]["principal"].replace(",", "") == f"{told['principal_minor'] / 100:.2f}"
        assert rows[loan]["days_past_due"] == str(told["days_past_due"])
    assert loans[0] not in browser.get(f"{HOME}/loans", params={"state": "closed"}).text
    assert browser.get(f"{HOME}/loans", params={"state": "lost"}).status_code == 400


def test_what_if_it_were_paid_says_what_the_payment_then_does(
    browser: httpx.Client, served: Served
) -> None:
    loan = drawn(served)["loan"]
    told = served.get(f"/v1/loans/{loan}").json()
    today = served.get("/v1/clock").json()["business_date"]
    sign_in(browser, served)
    address = f"{HOME}/loans/{loan}"
    page = browser.get(address, params={"pay": "250.00", "pay_on": today})
    before, after = re.findall(r"Still to pay.*?data-minor=\"(\d+)\".*?data-minor=\"(\d+)\"",
                               page.text, re.DOTALL)[0]  # fmt: skip
    assert (int(before), int(after)) == (told["outstanding"]["total_minor"],
                                         told["outstanding"]["total_minor"] - 25_000)  # fmt: skip
    assert served.get(f"/v1/loans/{loan}").json()["outstanding"] == told["outstanding"]
    body = {"loan": loan, "amount_minor": 25_000, "currency": told["currency"],
            "effective_on": today, "provider": "psp_a", "ref": f"if-{loan}"}  # fmt: skip
    assert served.post("/v1/payments", body, "provider").status_code == 201
    left = served.get(f"/v1/loans/{loan}").json()["outstanding"]["total_minor"]
    assert left == int(after)
    for typed in ("a lot", "0", "-5", "1e400"):
        assert 'role="alert"' in browser.get(address, params={"pay": typed}).text
    for q in (f"if-{loan}", f"250.00 {today}"):
        page = browser.get(f"{HOME}/search", params={"q": q})
        assert loan in page.text, q
