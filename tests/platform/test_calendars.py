"""Calendars on the platform: a year that is lacking is named, one party waits, the others go on."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.platform.applicants import borrower, drawn
from tests.platform.sandbox import Sandbox, installed
from tests.platform.test_money_files import HEADER, take
from tests.platform.test_orders import advance
from tests.platform.test_settlements import HEAVY, LIGHT, START, Days, during
from usance.base.errors import ParameterError
from usance.platform.business_calendars import business_days, calendar_ends
from usance.platform.closing.day_end import end_day
from usance.platform.lender import Lender, read_lender, sandbox_document
from usance.platform.live import Platform
from usance.platform.reads.control.gauges import condition
from usance.platform.store.server import Embedded


def agreed(sandbox: Sandbox, name: str, value: str, valid_from: str) -> None:
    """Put the days of a calendar in force by two people."""
    body = {"name": name, "value": value, "valid_from": valid_from, "source": "the bank's letter"}
    waits = sandbox.do("administrator", "parameter.put", body).answer["approval"]
    sandbox.do("controller", "approval.approve", {"approval": waits})


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """A lender two of whose partners go by a calendar that begins with nobody's days of 2024."""
    made = sandbox_document()
    made["mandates"] = made["mandates"].replace("[1, 2, 3, 4, 5, 6, 7, 8]", "[8]", 1)
    made["institutions"] = {HEAVY: {"calendar": "a_bank"}}
    made["providers"] = {"psp_b": {"port": "instant", "calendar": "a_bank"}}
    return made


@pytest.fixture
def sandbox(server: Embedded, document: dict[str, Any], request: pytest.FixtureRequest) -> Sandbox:
    name = installed(server, f"calendars_{request.node.name}"[:60], document)
    made = Sandbox(server, name)
    agreed(made, "calendars.a_bank", "saturday sunday 12-25", "2023-01-01")
    return made


def runs(sandbox: Sandbox, name: str) -> dict[str, Any]:
    sql = "select coalesce(json_object_agg(day, result), '{}')::text from usance.money_runs "
    found: dict[str, Any] = json.loads(sandbox.sql("finance", f"{sql} where name = '{name}'"))
    return found


def test_who_lacks_a_year_waits_and_is_settled_once_it_is_there(sandbox: Sandbox) -> None:
    heavy, light = (drawn(sandbox, borrower(sandbox, ref, region)).answer["loan"]
                    for ref, region in (("anna", 3), ("bo", 9)))  # fmt: skip
    for each in sandbox.read("institution", "offers", "open"):
        sandbox.do("institution", "offer.answer", {"offer": each["offer"], "approved": True})

    async def lived(days: Days) -> None:
        await days.pay(heavy, 30_000, START, "one")
        await days.pay(light, 20_000, START, "two")
        await days.night(START)

    during(sandbox, lived)
    told = sandbox.read("finance", "settlements")
    assert {each["institution"] for each in told if each["total_minor"]} == {LIGHT}
    waiting = runs(sandbox, "settle")["2024-07-01"]["waiting"]
    assert list(waiting) == [HEAVY]
    assert "calendars.a_bank: has no days of 2024: they end with 2023-12-31" in waiting[HEAVY]
    agreed(sandbox, "calendars.a_bank", "saturday sunday 07-02", "2024-01-01")

    async def two_nights(days: Days) -> list[dict[str, int]]:
        told = []
        for number in (1, 2):
            await days.night(START + timedelta(days=number))
            told.append(await days.settled())
        return told

    first, second = during(sandbox, two_nights)  # the 2nd is a day off
    assert set(first) == {LIGHT}
    assert second[HEAVY] == 30_000
    assert "waiting" not in runs(sandbox, "settle").get("2024-07-02", {})
    assert during(sandbox, lambda days: days.in_ledger()) == second


def test_a_provider_whose_calendar_lacks_a_year_is_named_and_the_other_reconciled(
    sandbox: Sandbox,
) -> None:
    for provider in ("psp_a", "psp_b"):
        stray = f"X{provider},T{provider},2024-07-01,75.00,0.00,B1,,Bo\n"
        take(sandbox, f"{provider}.csv", HEADER + stray, provider=provider)
    with pytest.raises(ParameterError, match=r"calendars.a_bank: has no days of 2024"):
        sandbox.do("finance", "day.reconcile", {"provider": "psp_b", "day": "2024-07-01"})
    advance(sandbox, "2024-07-02T01:00:00Z")
    assert runs(sandbox, "reconcile/psp_a")["2024-07-01"]["provider"] == "psp_a"
    assert runs(sandbox, "reconcile/psp_b") == {}
    agreed(sandbox, "calendars.a_bank", "saturday sunday", "2024-01-01")
    advance(sandbox, "2024-07-03T01:00:00Z")
    assert runs(sandbox, "reconcile/psp_b")["2024-07-02"]["provider"] == "psp_b"


def lender_of(sandbox: Sandbox) -> Lender:
    async def read(platform: Platform) -> Lender:
        async with platform.database.transaction(0) as transaction:
            return await read_lender(transaction)

    return sandbox.within(read)


def test_a_calendar_is_named_a_month_before_it_ends(sandbox: Sandbox, tmp_path: Path) -> None:
    lender = lender_of(sandbox)
    lender = replace(lender, document={**lender.document, "calendar": "banks"})
    assert [each.calendar for each in calendar_ends(lender, date(2026, 11, 30))] == ["a_bank"]
    ends = calendar_ends(lender, date(2026, 12, 15))
    told = {each.calendar: (each.last_day, each.parties) for each in ends}
    assert told == {
        "a_bank": (date(2023, 12, 31), (HEAVY, "psp_b")),
        "banks": (date(2026, 12, 31), (LIGHT, "psp_a")),
    }
    made = sandbox.within(lambda platform: end_day(platform, tmp_path))
    assert [note for note in made.notes if "calendar a_bank" in note and "days of 2024" in note]

    async def watched(platform: Platform) -> dict[str, float]:
        async with platform.database.transaction(0) as transaction:
            found = await condition(transaction, None, await read_lender(transaction))
        return next(each.values for each in found if each.name == "usance_calendar_days")

    days = sandbox.within(watched)
    assert set(days) == {"a_bank"}
    assert days["a_bank"] < 0


def test_a_list_of_days_in_a_contract_ends_with_its_last_year(sandbox: Sandbox) -> None:
    lender = lender_of(sandbox)
    listed = {"weekend": ["sunday"], "holidays": ["2024-10-01"]}
    lender = replace(lender, document={**lender.document, "institutions": {
        HEAVY: {"calendar": listed}, LIGHT: {"calendar": {"weekend": ["friday"]}}}})  # fmt: skip
    heavy, light = (business_days(lender, "institution", name) for name in (HEAVY, LIGHT))
    assert not heavy.is_business(date(2024, 10, 1))
    assert light.is_business(date(2031, 10, 2))
    with pytest.raises(ParameterError, match="has none of 2025"):
        heavy.is_business(date(2025, 1, 2))
    assert [each.calendar for each in calendar_ends(lender, date(2024, 12, 20))] == [
        HEAVY,
        "a_bank",
    ]
