"""Registration to consent: who a user is, kept under keys, and found again."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import asyncpg
import pytest

from tests.platform.applicants import GOOD, borrower
from tests.platform.databases import with_owner
from tests.platform.sandbox import Sandbox
from usance.acquire.identity import IdentityCheck, Person
from usance.base.ids import print_id
from usance.platform.errors import InvalidField, MissingField, NotFound, UnknownField
from usance.platform.live import Platform
from usance.platform.reads.lending.applications import trace
from usance.platform.refusals import (
    AccountNeeded,
    AccountWaits,
    DateInFuture,
    DuplicateIdentity,
    PersonNeeded,
    QuoteNeeded,
)

ANNA = {"client_ref": "anna", "region": 3}
ADA = {"name": "Ada", "national_id": "11010519491231002X", "phone": "13800000000"}


def register(sandbox: Sandbox, ref: str = "anna", by: str = "channel") -> str:
    return str(sandbox.do(by, "user.register", {"client_ref": ref, "region": 3}).answer["user"])


def test_a_user_is_registered_and_read(sandbox: Sandbox) -> None:
    made = sandbox.do("channel", "user.register", {**ANNA, "registered_at": "2024-06-01T00:00:00Z"})
    assert made.answer == {
        "user": "us_00000000001", "client_ref": "anna", "channel": "channel", "region": 3,
        "kind": "consumer", "registered_on": "2024-06-01", "person": None,
    }  # fmt: skip
    assert made.status == 201
    assert sandbox.do("channel", "user.register", ANNA).status == 200
    assert sandbox.read("channel", "users_named", "anna") == [made.answer]
    with pytest.raises(NotFound):
        sandbox.read("channel_2", "user", made.answer["user"])


class Bureau:
    """Knows one person, by name and number."""

    def check(self, person: Person, face_match_ppm: int | None, on: date) -> IdentityCheck:
        known = (person.name, person.document) == ("Bert", "B-7") and on.year == 2024
        return IdentityCheck(known, face_match_ppm or 0, "not_checked", 0)


def test_who_somebody_is_says_the_identity_port(sandbox: Sandbox) -> None:
    """A sandbox takes a resident number with a true check digit, a lender whoever it connects."""
    user, wrong = register(sandbox), {**ADA, "national_id": "110105194912310021"}
    told = sandbox.do("channel", "person.set", {"user": user, **wrong}).answer
    assert (told["verified"], told["level"]) == (False, 0)
    assert "110105194912310021" not in json.dumps(told)
    assert sandbox.read("channel", "user", user)["person"] == {"verified": False, "level": 0}
    told = sandbox.do("channel", "person.set", {"user": user, **ADA}).answer
    assert (told["verified"], told["level"]) == (True, 1)
    unborn = {**ADA, "national_id": "110105209912310029", "phone": "13800000009"}
    other = register(sandbox, "bert")
    assert not sandbox.do("channel", "person.set", {"user": other, **unborn}).answer["verified"]

    async def by_bureau(platform: Platform) -> list[bool]:
        platform.services.identity = Bureau()
        channel, found = await platform.principal("channel"), []
        for name in ("Bert", "Carl"):
            body = {"user": other, "name": name, "national_id": "B-7", "phone": "13800000009"}
            found.append((await platform.do(channel, "person.set", body)).answer["verified"])
        return found

    assert sandbox.within(by_bureau) == [True, False]


def test_a_person_is_kept_sealed_and_shown_masked(sandbox: Sandbox) -> None:
    user = register(sandbox)
    set_person = sandbox.do("channel", "person.set", {"user": user, **ADA}).answer
    assert set_person["phone"] == "1*********0"
    assert sandbox.read("channel", "user", user)["person"] == {"verified": True, "level": 1}
    kept = bytes(sandbox.sql("operations", "select details from usance.user_persons"))
    assert b"Ada" not in kept
    with pytest.raises(DuplicateIdentity):
        sandbox.do("channel", "person.set", {"user": register(sandbox, "bert"), **ADA})
    elsewhere = register(sandbox, by="channel_2")
    other = sandbox.do("channel_2", "person.set", {"user": elsewhere, **ADA}).answer
    assert other["person"] == set_person["person"]  # one person, two channels


def test_a_second_account_waits_a_day(sandbox: Sandbox) -> None:
    account = {"user": register(sandbox), "bank": "b", "number": "6222021234567894", "holder": "A"}
    first, second = (sandbox.do("channel", "account.add", account).answer for _ in range(2))
    assert first["usable_from"].startswith("2024-07-01")
    assert second["usable_from"].startswith("2024-07-02")
    assert first["number"] == "************7894"


def test_consents_are_listed_as_they_were_given(sandbox: Sandbox) -> None:
    user = register(sandbox)
    for granted in (True, False):
        body = {"user": user, "purpose": "credit_check", "text_version": "1", "granted": granted}
        sandbox.do("channel", "consent.give", body)
    given = sandbox.read("channel", "consents", user)
    assert [each["granted"] for each in given] == [True, False]
    assert given[0]["given_at"] < given[1]["given_at"]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"client_ref": "a"}, MissingField),
        ({**ANNA, "regoin": 1}, UnknownField),
        ({**ANNA, "region": "3"}, InvalidField),
        ({**ANNA, "region": 2**60}, InvalidField),
        ({**ANNA, "region": 40_000}, InvalidField),
        ({**ANNA, "client_ref": ""}, InvalidField),
        ({**ANNA, "kind": "robot"}, InvalidField),
        ({**ANNA, "registered_at": "2024-06-01"}, InvalidField),
        ({**ANNA, "registered_at": "2030-06-01T00:00:00Z"}, DateInFuture),
    ],
)
def test_bad_input_is_named_and_leaves_nothing(
    sandbox: Sandbox, body: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        sandbox.do("channel", "user.register", body)
    assert sandbox.sql("operations", "select count(*) from usance.users") == 0


def test_money_goes_to_accounts_in_the_person_s_name_after_their_day(sandbox: Sandbox) -> None:
    user = borrower(sandbox)
    sandbox.do("channel", "person.set", {"user": user, **ADA})
    account = {"user": user, "bank": "b", "number": "6222021234567894", "holder": " ada "}
    first = sandbox.do("channel", "account.add", account).answer
    other = sandbox.do("channel", "account.add", {**account, "holder": "Bea"}).answer
    second = sandbox.do("channel", "account.add", account).answer
    assert [each["verified"] for each in (first, other, second)] == [True, False, True]
    draw = {"user": user, "product": "instalment", "amount_minor": 100_000, "months": 6}
    with pytest.raises(AccountNeeded):
        sandbox.do("channel", "drawdown.request", {**draw, "account": other["account"]})
    with pytest.raises(AccountWaits):
        sandbox.do("channel", "drawdown.request", {**draw, "account": second["account"]})
    sandbox.do("channel", "drawdown.request", draw)
    paid = sandbox.sql("operations", "select max(account_id) from usance.orders")
    assert print_id("ac", paid) == first["account"]  # the one that could be used
    sandbox.do("control", "clock.advance", {"to": "2024-07-02T02:00:00Z"})
    made = sandbox.do("channel", "drawdown.request", {**draw, "account": second["account"]})
    assert made.answer["state"] == "active"


def test_one_person_is_one_over_all_channels(sandbox: Sandbox) -> None:
    first = borrower(sandbox)
    sandbox.do("channel", "person.set", {"user": first, **ADA})
    draw = {"user": first, "product": "instalment", "amount_minor": 100_000, "months": 6}
    sandbox.do("channel", "drawdown.request", draw)
    second = register(sandbox, by="channel_2")
    sandbox.do("channel_2", "person.set", {"user": second, **ADA})
    applied = {"user": second, "product": "instalment", "inputs": GOOD}
    made = sandbox.do("channel_2", "application.decide", applied).answer

    async def known(platform: Platform) -> dict[str, Any]:
        operations = await platform.principal("operations")
        async with platform.reading(operations) as read:
            lender, vault = read.moment.lender, read.moment.vault
            told = await trace(read.transaction, lender, vault, made["decision"])
            maximum = lender.parameters.at("lines.consumer_maximum", read.moment.business_date)
            return {**told["inputs"], "maximum": maximum.integer}

    inputs = sandbox.within(known)
    assert inputs["applications_24h"] == 2
    assert inputs["platform_worst_days"] == 0  # they have borrowed, elsewhere
    assert inputs["line_maximum_minor"] == inputs["maximum"] - 2_220_000


def test_a_live_drawdown_needs_quote_agreement_account_person_and_consent(
    sandbox: Sandbox,
) -> None:
    user = borrower(sandbox)

    async def go_live(owner: asyncpg.Connection) -> None:
        await owner.execute("update usance.installation set mode = 1")

    with_owner(sandbox.server, sandbox.name, go_live)
    draw = {"user": user, "product": "instalment", "amount_minor": 100_000, "months": 6}

    def refused(kind: type[Exception], what: str) -> None:
        with pytest.raises(kind, match=what):
            sandbox.do("channel", "drawdown.request", draw)

    refused(QuoteNeeded, "no quote")
    quote = sandbox.do("channel", "quote.make", draw).answer["quote"]
    draw["quote"] = quote
    refused(QuoteNeeded, "no agreement")
    agreed = {
        "quote": quote,
        "document_sha256": "0" * 64,
        "method": "code",
        "shown_at": "2024-07-01T01:00:00Z",
        "accepted_at": "2024-07-01T01:01:00Z",
    }
    draw["agreement"] = sandbox.do("channel", "agreement.make", agreed).answer["agreement"]
    account = {"user": user, "bank": "b", "number": "6222021234567894", "holder": "Ada"}
    sandbox.do("channel", "account.add", account)
    refused(AccountNeeded, "no account")  # in nobody's name yet
    sandbox.do("channel", "person.set", {"user": user, **ADA})
    refused(AccountNeeded, "no account")
    sandbox.do("channel", "account.add", account)
    wait = "update usance.accounts set usable_from = added_at"

    async def day_later(owner: asyncpg.Connection) -> None:
        await owner.execute(wait)

    with_owner(sandbox.server, sandbox.name, day_later)
    refused(PersonNeeded, "consent is missing")
    consent = {"user": user, "purpose": "credit_check", "text_version": "1"}
    sandbox.do("channel", "consent.give", {**consent, "granted": False})
    refused(PersonNeeded, "consent is missing")
    sandbox.do("channel", "consent.give", consent)

    async def with_a_bureau(platform: Platform) -> None:
        # Ada was verified by nobody: whoever connects a bureau lends to those it knows.
        platform.services.identity = Bureau()
        await platform.do(await platform.principal("channel"), "drawdown.request", draw)

    with pytest.raises(PersonNeeded, match="identity is not verified"):
        sandbox.within(with_a_bureau)
    assert sandbox.do("channel", "drawdown.request", draw).answer["state"] == "active"


def test_a_live_drawdown_needs_a_person_even_with_an_account(sandbox: Sandbox) -> None:
    user = borrower(sandbox)
    account = {"user": user, "bank": "b", "number": "6222021234567894", "holder": "Ada"}
    sandbox.do("channel", "account.add", account)  # taken as it is, in a sandbox

    async def go_live(owner: asyncpg.Connection) -> None:
        await owner.execute("update usance.installation set mode = 1")

    with_owner(sandbox.server, sandbox.name, go_live)
    draw = {"user": user, "product": "instalment", "amount_minor": 100_000, "months": 6}
    draw["quote"] = sandbox.do("channel", "quote.make", draw).answer["quote"]
    agreed = {
        "quote": draw["quote"],
        "document_sha256": "0" * 64,
        "method": "code",
        "shown_at": "2024-07-01T01:00:00Z",
        "accepted_at": "2024-07-01T01:01:00Z",
    }
    draw["agreement"] = sandbox.do("channel", "agreement.make", agreed).answer["agreement"]
    with pytest.raises(PersonNeeded, match="person is not known"):
        sandbox.do("channel", "drawdown.request", draw)
