"""Group facts are stated on the screen: a form for each kind, without JSON and without script."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import httpx
import pytest

from tests.platform.api.served import Served
from tests.platform.api.test_console_tasks import People, done, told
from tests.platform.api.test_console_work import enter, hidden
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.fact_schemas import FACT_SCHEMAS, ValueForm
from usance.platform.console.fact_fields import fact_fields
from usance.platform.console.frame import HOME, LANGUAGES, texts

ADDRESS = f"{HOME}/do/group_fact.state"
ON = {"entity": "1", "effective_on": "2024-06-30", "currency": "CNY"}
SAID: dict[GroupFactKind, dict[str, str]] = {
    GroupFactKind.OPENING_BALANCE: {
        "lines": "cash 5,000.00\nretained_earnings \N{MINUS SIGN}5000", "tag": "none"},
    GroupFactKind.FUNDING_RAISED: {
        "amount_minor": "9,000.00", "deal": "T1", "lender": "trust_investors", "rate": "4.2",
        "value_on": "2024-06-29"},
    GroupFactKind.FUNDING_SCHEDULE: {
        "deal": "T1", "days": "2024-07-31\n2024-08-31", "amounts": "1,000.00\n500"},
    GroupFactKind.NOTES_ISSUED: {
        "amount_minor": "990", "name": "N1", "face": "1,000.00", "rate": "3 %".replace(" ", ""),
        "a_year": "2", "days": "2024-12-31", "lender": "other_long_term"},
    GroupFactKind.COST_INCURRED: {"amount_minor": "800", "function": "marketing"},
    GroupFactKind.GROUP_TRANSFER: {"amount_minor": "10", "to": "2"},
    GroupFactKind.FEES_RECEIVED: {"amount_minor": "10", "party": "7"},
    GroupFactKind.SHARES_ISSUED: {"quantity": "1000"},
    GroupFactKind.GRANT: {
        "name": "G1", "award": "restricted", "fair_value": "8.6525",
        "tranches": "2025-06-30 1000\n2026-06-30 10 100",
        "functions": "general_and_administrative 100"},
    GroupFactKind.VESTING_ESTIMATE: {"grant": "G1", "shares": "2/3 95%", "leavers": "5"},
    GroupFactKind.DIVIDEND_DECLARED: {
        "amount_minor": "10", "name": "D1", "per_share": "0.31", "record_on": "2024-06-30",
        "ordinary": "currency: HKD\npaid_on: 2024-07-31"},
    GroupFactKind.EXCHANGE_RATE: {"rate": "7.2672"},
    GroupFactKind.CURRENCY_EXCHANGED: {"amount_minor": "720", "bought": "100.00 USD"},
}  # fmt: skip
"""A fact of each way to write a key."""


@pytest.fixture
def browser(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, timeout=30, follow_redirects=True) as opened:
        yield opened


def form_of(kind: GroupFactKind, said: dict[str, str]) -> dict[str, str]:
    """What a person sends: the fields of the kind's form."""
    names = {each.name.removeprefix("detail."): each.name for each in fact_fields(kind)}
    own = {name: value for name, value in ON.items() if name not in said}
    return {**own, "kind": str(int(kind)), **{names.get(name, name): value
                                              for name, value in said.items()}}  # fmt: skip


def test_every_way_to_write_a_key_is_tried_and_has_its_words() -> None:
    forms = {key.type.form for kind in SAID for key in FACT_SCHEMAS[kind].keys.values()}
    assert forms == set(ValueForm)
    keys = {f"key_{name}" for each in FACT_SCHEMAS.values() for name in each.keys}
    for language in LANGUAGES:
        assert keys <= set(texts(language))


def test_every_kind_has_a_form_of_its_own(browser: httpx.Client, roles: People) -> None:
    enter(browser, roles["accountant"])
    page = browser.get(ADDRESS)
    assert page.text.count("<option") == len(GroupFactKind)
    for kind in GroupFactKind:
        page = browser.get(ADDRESS, params={"kind": int(kind)})
        assert (page.status_code, "JSON" in page.text) == (200, False), kind
        for each in fact_fields(kind):
            assert f'name="{each.name}"' in page.text, (kind, each.name)


def test_facts_of_every_form_show_their_effect(browser: httpx.Client, roles: People) -> None:
    enter(browser, roles["accountant"])
    for kind, said in SAID.items():
        given = form_of(kind, said)
        key = hidden(browser.get(ADDRESS, params=given))["key"]
        shown = browser.post(ADDRESS, data={**given, "key": key, "step": "preview"})
        assert (shown.status_code, 'value="confirm"' in shown.text) == (200, True), told(shown)


def test_a_fact_is_proposed_and_kept_as_its_document_would_have_it(
    browser: httpx.Client, served: Served, roles: People
) -> None:
    enter(browser, roles["accountant"])
    said = SAID[GroupFactKind.FUNDING_RAISED]
    page = done(browser, "group_fact.state", **form_of(GroupFactKind.FUNDING_RAISED, said))
    approval = re.search(r"control/approvals/(ap_\w+)", page.text)
    assert approval is not None, told(page)
    enter(browser, roles["finance_controller"])
    shown = html.unescape(browser.get(f"{HOME}/control/approvals/{approval[1]}").text)
    for part in ("T1", "trust_investors", "4.2%", "2024-06-29", "9,000.00"):
        assert part in shown, part
    agreed = browser.post(f"{HOME}/control/{approval[1]}/approve", data={"key": "agreed"})
    assert agreed.status_code == 200, told(agreed)
    kept = served.get(f"/v1/approvals/{approval[1]}", "control").json()
    assert kept["state"] == "approved"


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (GroupFactKind.FUNDING_RAISED, {"rate": "much"}),
        (GroupFactKind.FUNDING_RAISED, {"deal": ""}),
        (GroupFactKind.OPENING_BALANCE, {"lines": "cash"}),
        (GroupFactKind.OPENING_BALANCE, {"lines": "cash 1\nnowhere -1"}),
        (GroupFactKind.GRANT, {"tranches": "never 5"}),
        (GroupFactKind.DIVIDEND_DECLARED, {"ordinary": "only words"}),
        (GroupFactKind.NOTES_ISSUED, {"a_year": "x"}),
    ],
)
def test_a_wrong_key_is_told_beside_its_field(
    browser: httpx.Client, roles: People, kind: GroupFactKind, wrong: dict[str, str]
) -> None:
    enter(browser, roles["accountant"])
    given = form_of(kind, {**SAID[kind], **wrong})
    page = browser.post(ADDRESS, data={**given, "key": "w", "step": "preview"})
    assert page.status_code == 400
    name = f"detail.{next(iter(wrong))}"
    assert re.search(rf'name="{re.escape(name)}"[^>]*aria-invalid', page.text), told(page)
    kept = next(iter(wrong.values())).partition("\n")[0]
    assert kept in page.text
