"""A deal in force: approved by two, its dates paid by jobs from what its loans did."""

from __future__ import annotations

import json
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.platform.applicants import borrower, drawn
from tests.platform.sandbox import Sandbox
from tests.platform.test_business_day import DUE, advance, pay
from tests.platform.test_closing import close_month
from usance.base.dates import last_of_month
from usance.base.ids import print_id
from usance.base.money import half_up
from usance.books.chart import load_chart
from usance.platform.errors import PlatformError
from usance.platform.jobs.kinds import kinds_of
from usance.platform.jobs.worker import run_jobs
from usance.platform.live import Platform
from usance.platform.principals import SYSTEM
from usance.platform.records.deal_record import load_deal
from usance.platform.refusals import LoanInDeal

DEAL: dict[str, Any] = {
    "name": "PLAN7", "source": 1, "entity": 2, "holders": [2],
    "closing_on": "2024-07-02", "first_period": "2024-07", "periods": 6, "pay_day": 15,
    "day_count": "actual/365", "status": "amortising", "price_minor": 1_190_000,
    "eligibility": {"not past due": "dpd == 0"},
    "pool": {"balance_minor": 1_200_000, "rate_ppm": 150_000, "months": 6,
             "amortisation": "level", "mdr_ppm": [10_000]},
    "classes": [{"name": "A", "balance_minor": 900_000, "rate_ppm": 40_000},
                {"name": "S", "balance_minor": 300_000}],
    "accounts": {"reserve": 10_000},
    "fees": [{"name": "servicing", "annual_ppm": 10_000, "base": "pool_start"}],
    "triggers": [{"name": "defaults above a tenth", "at": "collection", "to": "accelerated",
                  "when": "defaulted_to_date * 10 > pool_original"}],
    "waterfall": {
        "amortising": [{"fee": "servicing"}, {"interest": ["A"]},
                       {"principal": ["A", "S"], "amount": "max([classes - pool_end, 0])"},
                       {"residual": "S"}],
        "accelerated": [{"fee": "servicing"}, {"interest": ["A"]}, {"principal": ["A"]},
                        {"principal": ["S"]}, {"residual": "S"}],
    },
}  # fmt: skip


def put(sandbox: Sandbox, loans: list[str], **changes: Any) -> Any:
    """A deal proposed by a key and agreed to by two people."""
    body = {"text": json.dumps({**DEAL, **changes}), "loans": loans}
    proposed = sandbox.do("finance", "deal.put", body).answer
    for who in ("administrator", "controller"):
        done = sandbox.do(who, "approval.approve", {"approval": proposed["approval"]}).answer
    assert done["state"] == "approved"
    return done["answer"]


def run_due(sandbox: Sandbox) -> int:
    return sandbox.within(
        lambda platform: run_jobs(platform.database, kinds_of(platform), until_empty=True)
    )


def two_loans(sandbox: Sandbox) -> list[str]:
    made = [str(drawn(sandbox, borrower(sandbox, f"anna {n}", region=8)).answer["loan"])
            for n in (1, 2)]  # fmt: skip
    advance(sandbox, "2024-07-02")
    return made


def investors(sandbox: Sandbox) -> int:
    """What the ledger owes to investors and as interest on it."""
    chart = load_chart()
    numbers = [chart[name].number for name in ("trust_investors", "interest_payable")]
    listed = ", ".join(map(str, numbers))
    sql = f"select sum(amount_minor)::bigint from usance.postings where account in ({listed})"
    return -int(sandbox.sql("finance", sql) or 0)


TO_2024 = 54 * 12


def test_a_deal_is_paid_by_jobs_and_ties_to_the_ledger(sandbox: Sandbox, tmp_path: Path) -> None:
    first, second = two_loans(sandbox)
    made = put(sandbox, [first, second])
    assert (made["status"], made["pool_minor"], made["loans"]) == ("amortising", 1_200_000, 2)
    assert sandbox.sql("finance", "select sum(price_minor)::bigint from usance.deal_pools") == 1_190_000  # noqa: E501 # fmt: skip
    owed_then: dict[int, int] = {}
    for month in range(8, 12):
        advance(sandbox, f"2024-{month:02}-01")
        pay(sandbox, first, DUE, f"2024-{month:02}-01", f"first {month}")
        if month == 8:
            pay(sandbox, second, DUE, "2024-08-01", "second")
        advance(sandbox, f"2024-{month:02}-16")
        assert run_due(sandbox) >= 1
        assert deal(sandbox)["period"] == month - 7
        owed_then[month] = owed(sandbox, last_of_month(TO_2024 + month - 1))
        advance(sandbox, last_of_month(TO_2024 + month - 1).isoformat())
        if month > 8:
            close_month(sandbox, tmp_path, f"2024-{month - 1:02}")
            assert investors(sandbox) == owed_then[month - 1]
    dates = rows(sandbox)
    assert [row["period"] for row in dates] == [1, 2, 3, 4]
    lines = [{each["line"]: each["amount_minor"] for each in row["lines"]} for row in dates]
    assert [line["collected_principal"] + line["collected_interest"] for line in lines] == [
        0, 2 * DUE, DUE, DUE]  # fmt: skip
    # The second borrower stops in September: ninety-one days past due on the first of December.
    advance(sandbox, "2024-12-16")
    assert run_due(sandbox) >= 1
    assert deal(sandbox)["status"] == "amortising"
    advance(sandbox, "2025-01-16")
    assert run_due(sandbox) >= 1
    after = deal(sandbox)
    assert (after["status"], after["is_over"], after["defaulted_loans"]) == ("accelerated", True, 1)
    assert sandbox.sql("finance", "select count(*) from usance.deal_pools where to_on is null") == 0


def owed(sandbox: Sandbox, day: date) -> int:
    """What the deal says its classes are owed at the end of a day: balances and interest."""

    async def work(platform: Platform) -> int:
        async with platform.reading(SYSTEM) as read:
            record = await load_deal(read.transaction, "PLAN7")
        names, total = record.state.names, 0
        for each in record.deal.classes:
            accrued = record.state.accrued[each.name]
            paid = half_up(accrued.numerator, accrued.denominator) - names[f"{each.name}.due"]
            since = (day - record.state.paid_on).days
            later = accrued + Fraction(
                names[f"{each.name}.balance"] * each.rate_ppm * since, 365 * 10**6
            )
            total += names[f"{each.name}.balance"] + half_up(later.numerator, later.denominator)
            total -= paid
        return total

    return sandbox.within(work)


def deal(sandbox: Sandbox, who: str = "finance") -> Any:
    return sandbox.read(who, "deal", "PLAN7")


def rows(sandbox: Sandbox, who: str = "finance") -> Any:
    return sandbox.read(who, "deal_dates", "PLAN7")


def test_what_is_reversed_or_late_is_of_the_next_date(sandbox: Sandbox) -> None:
    """Over all dates the deal collects what was paid and stood, each payment once."""
    first, second = two_loans(sandbox)
    put(sandbox, [first, second])
    advance(sandbox, "2024-08-01")
    undone = pay(sandbox, first, DUE, "2024-08-01", "a")
    pay(sandbox, second, DUE, "2024-08-01", "b")
    collected: list[int] = []

    def date_on(day: str) -> int:
        advance(sandbox, day)
        assert run_due(sandbox) >= 1
        lines = {each["line"]: each["amount_minor"] for each in rows(sandbox)[-1]["lines"]}
        assert min(lines.values()) >= 0
        collected.append(lines["collected_interest"] + lines["collected_principal"])
        return collected[-1]

    assert date_on("2024-08-16") == 0
    assert date_on("2024-09-16") == 2 * DUE
    sandbox.do(
        "provider",
        "payment.reverse",
        {"payment": undone["payment"], "effective_on": "2024-09-16", "reason": "bounced"},
    )
    assert date_on("2024-10-16") == 0  # what was reversed is more than September brought
    pay(sandbox, second, DUE, "2024-09-01", "late")  # told in October, after the date of September
    pay(sandbox, second, DUE, "2024-10-16", "own")
    date_on("2024-11-16")
    pay(sandbox, second, DUE, "2024-11-16", "last")
    date_on("2024-12-16")
    # Of five payments one was reversed; it had been passed on, so that much less came later.
    assert sum(collected) == 4 * DUE


def test_a_loan_is_in_one_deal(sandbox: Sandbox, tmp_path: Path) -> None:
    first, second = two_loans(sandbox)
    put(sandbox, [first, second])
    with pytest.raises(LoanInDeal, match="2 in PLAN7"):
        put(sandbox, [first, second], name="PLAN8")
    with pytest.raises(PlatformError, match="no free loan"):
        put(sandbox, [], name="PLAN8")
    advance(sandbox, "2024-08-01")
    close_month(sandbox, tmp_path, "2024-07")
    with pytest.raises(PlatformError, match="2024-07 is not open"):
        put(sandbox, [first], name="PLAN9", closing_on="2024-07-20")
    with pytest.raises(PlatformError, match="in force already"):
        put(sandbox, [first], name="PLAN7")


@pytest.mark.parametrize(("changes", "told"), [
    ({"name": "a/b"}, "the deal's name is 'a/b'"),
    ({"closing_on": "2024-07-03"}, "closes on 2024-07-03, and it is 2024-07-02"),
    ({"pool": {**DEAL["pool"], "balance_minor": 1}}, "Let pool.balance_minor be 1200000"),
    ({"source": 2}, "no open loans of source 2"),
    ({"eligibility": {"small": "principal_minor < 600000"}}, "not eligible: 2 by 'small'"),
    ({"limits": [{"region": "each", "share_ppm": 400_000}]}, "region: above 400000"),
    ({"pool": {"balance_minor": 1, "flows": [[0, 1, 0, 0]]}}, "its pool has flows"),
    ({"price_minor": 1}, "proceeds 1200000 are not the price 1"),
])  # fmt: skip
def test_what_a_deal_may_not_be(sandbox: Sandbox, changes: dict[str, Any], told: str) -> None:
    loans = two_loans(sandbox)
    with pytest.raises(PlatformError, match=told):
        put(sandbox, loans, **changes)
    with pytest.raises(PlatformError, match="no such deal"):
        sandbox.do("finance", "deal.pay", {"deal": "PLAN7", "period": 1})


REVOLVING: dict[str, Any] = {
    "status": "revolving", "price_minor": 1_200_000,
    "classes": [{"name": "A", "balance_minor": 1_500_000, "rate_ppm": 40_000},
                {"name": "S", "balance_minor": 300_000}],
    "accounts": {"idle": 600_000}, "retained": ["S"],
    "purchase": {"rate_ppm": 150_000, "months": 6, "amortisation": "level",
                 "price_ppm": 1_000_000, "supply_minor": [2_000_000]},
    "limits": [{"region": 8, "share_ppm": 1_000_000}],
    "triggers": [{"name": "end of term", "at": "collection", "when": "period > 2",
                  "to": "amortising"}],
    "waterfall": {
        "revolving": [{"fee": "servicing"}, {"interest": ["A"]},
                      {"buy": "max([classes - pool_end, 0])", "from": "idle"},
                      {"move": "collection", "to": "idle"}],
        "amortising": [{"move": "idle", "to": "collection"}, {"fee": "servicing"},
                       {"interest": ["A"]}, {"principal": ["A", "S"]}, {"residual": "S"}],
    },
}  # fmt: skip


def budgets(sandbox: Sandbox) -> list[tuple[str, int]]:
    """Versions of the mandate of source 1: first day and total budget."""

    async def work(platform: Platform) -> list[tuple[str, int]]:
        async with platform.reading(SYSTEM) as read:
            versions = read.moment.lender.mandates.of_source(1)
        return [(each.valid_from.isoformat(), each.budgets.total_minor) for each in versions]

    return sandbox.within(work)


def test_a_revolving_deal_buys_loans_and_puts_its_mandate_in_force(sandbox: Sandbox) -> None:
    loans = two_loans(sandbox)
    before = budgets(sandbox)
    put(sandbox, loans, **REVOLVING)
    # Its classes lent 600,000 beyond the pool: so much its source may lend from the closing on.
    # Until its next date, on which the mandate is written anew.
    assert budgets(sandbox) == [before[0], ("2024-07-02", 600_000), ("2024-08-15", 0)]
    third = str(drawn(sandbox, borrower(sandbox, "third", region=8)).answer["loan"])
    held = "select count(*) from usance.deal_pools where reason = 'purchase'"
    assert sandbox.sql("finance", held) == 0
    advance(sandbox, "2024-08-16")
    assert run_due(sandbox) >= 1
    row = rows(sandbox)[-1]
    lines = {each["line"]: each["amount_minor"] for each in row["lines"]}
    assert (row["status"], lines["bought"], lines["pool_end"]) == ("revolving", 600_000, 1_800_000)
    assert lines["account.idle"] == 0
    assert sandbox.sql("finance", held) == 1
    bought = "select loan_id from usance.deal_pools where reason = 'purchase'"
    assert print_id("ln", int(sandbox.sql("finance", bought) or 0)) == third
    assert budgets(sandbox)[-1] == ("2024-08-16", 0)
    # What the loan pays from the day it came is the deal's.
    pay(sandbox, third, DUE, "2024-08-16", "third 1")
    advance(sandbox, "2024-09-16")
    run_due(sandbox)
    lines = {each["line"]: each["amount_minor"] for each in rows(sandbox)[-1]["lines"]}
    assert lines["collected_principal"] + lines["collected_interest"] == DUE
    left = budgets(sandbox)[-2]
    assert left[0] == "2024-09-16"
    assert budgets(sandbox)[-1] == ("2024-10-15", 0)
    assert left[1] == lines["collected_principal"] > 0
    # A trigger ends it: nothing may be lent for it any more.
    advance(sandbox, "2024-10-16")
    run_due(sandbox)
    assert rows(sandbox)[-1]["status"] == "amortising"
    assert budgets(sandbox)[-1] == ("2024-10-16", 0)


def test_a_trust_sells_what_is_past_due_to_the_platform(sandbox: Sandbox, tmp_path: Path) -> None:
    """After sixty days, at par and the interest due; what is paid later is not the trust's."""
    first, second = two_loans(sandbox)
    put(sandbox, [first, second], kind="trust", clean_up={"when": "period > 5", "price": "0"})
    for month in range(8, 12):
        advance(sandbox, f"2024-{month:02}-01")
        pay(sandbox, first, DUE, f"2024-{month:02}-01", f"first {month}")
        advance(sandbox, f"2024-{month:02}-16")
        run_due(sandbox)
    lines = [{each["line"]: each["amount_minor"] for each in row["lines"]} for row in rows(sandbox)]
    # Nothing came of the second: sixty-one days past due on the first of October.
    assert [line["defaulted"] for line in lines] == [0, 0, 0, 600_000]
    facts = sandbox.sql(
        "finance", "select sum(amount_minor)::bigint from usance.group_facts where kind = 14"
    )
    assert facts == lines[3]["recovered"] > 600_000
    out = "select count(*) from usance.deal_pools where to_on is not null"
    assert sandbox.sql("finance", out) == 1
    pay(sandbox, second, 3 * DUE, "2024-11-16", "second, late")
    advance(sandbox, "2024-12-16")
    run_due(sandbox)
    last = {each["line"]: each["amount_minor"] for each in rows(sandbox)[-1]["lines"]}
    assert last["recovered"] == 0
    close_month(sandbox, tmp_path, "2024-07")
