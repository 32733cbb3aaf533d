"""Random closed books: any models and lives, co-funders, two shards, and a group around them."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

from tests.books.portfolios import make_portfolios
from usance.base.book import Book
from usance.base.dates import parse_month
from usance.books.close.checklist import close
from usance.books.group.documents import parse_facts
from usance.books.group.facts import table_of_facts
from usance.books.periods import parse_close_period

ENTITIES = """\
currency: CNY
entities:
  - {number: 1, name: Example Platform, role: platform, owner: 2, tax: 15%}
  - {number: 2, name: "Example Holding, Inc.", role: parent}
  - {number: 3, name: Example Lending, role: subsidiary, owner: 1, share: 70%, tax: 25%}
"""
_UNTIL = "until: 2025-03-31, amount: 1000000"
QUARTERS = ("2023Q1", "2023Q2", "2023Q3", "2023Q4", "2024Q1", "2024Q2")


def random_book(folder: Path, seed: int) -> Book:
    """A book of a few random loans and random group facts, closed for six quarters."""
    book, _ = make_portfolios(folder / "book", [seed, seed + 1])
    with book.writing() as step:
        facts = parse_facts(group_facts(Random(seed)))
        step.add("group_facts", table_of_facts(facts), month=parse_month("2023-01"))
    policies = folder / "policies"
    policies.mkdir()
    (policies / "entities.yaml").write_text(ENTITIES, encoding="utf-8")
    for period in QUARTERS:
        close(book, parse_close_period(period), policies=policies, clock=time.perf_counter)
    return book


def group_facts(draw: Random) -> str:
    """Capital, shares, a repurchase, costs, interest and deposits of any size."""
    rows = [
        _opening(1, 1, draw.randint(10**9, 10**11), "retained_earnings"),
        _opening(2, 2, draw.randint(10**8, 10**10), "paid_in_capital"),
        _opening(3, 3, draw.randint(10**8, 10**10), "retained_earnings"),
        "{id: 5, kind: exchange_rate, entity: 2, on: 2022-12-30, currency: USD, rate: 6.9646}",
    ]
    shares, bought, limit = (draw.randint(10**4, 10**8), *(draw.randint(1, 10**3) for _ in "ab"))
    own = "entity: 2, on: 2024-05-02, programme: '2024'"
    rows += [
        f"{{id: 4, kind: shares_issued, entity: 2, on: 2023-01-01, quantity: {shares}, amount: 0}}",
        f"{{id: 6, kind: programme_opened, entity: 2, on: 2024-04-01, name: '2024', {_UNTIL}}}",
        f"{{id: 7, kind: shares_repurchased, {own}, quantity: {bought}, amount: {limit}.25}}",
    ]
    kinds = ("cost_incurred", "bank_interest", "subsidy", "deposit_placed", "sundry")
    for number in range(8, 8 + draw.randint(4, 20)):
        kind, entity = draw.choice(kinds), draw.choice((1, 3))
        day = f"{draw.choice((2023, 2024))}-{draw.randint(1, 6):02}-{draw.randint(1, 28):02}"
        more = {
            "cost_incurred": f", function: {draw.choice(('marketing', 'administration'))}",
            "deposit_placed": f", as: {draw.choice(('restricted_cash', 'security_deposits'))}",
        }.get(kind, "")
        minor = draw.randint(1, 10 ** draw.randint(3, 8))
        rows.append(
            f"{{id: {number}, kind: {kind}, entity: {entity}, on: {day}, "
            f"amount: {minor // 100}.{minor % 100:02}{more}}}"
        )
    return "facts:\n" + "".join(f"  - {row}\n" for row in rows)


def _opening(number: int, entity: int, minor: int, account: str) -> str:
    """Cash, half of it restricted, so that no cell can draw an account below zero."""
    half, whole = (f"{part // 100}.{part % 100:02}" for part in (minor, 2 * minor))
    return (
        f"{{id: {number}, kind: opening_balance, entity: {entity}, on: 2022-12-31, lines: "
        f"[{{account: cash, amount: {half}}}, {{account: restricted_cash, amount: {half}}}, "
        f"{{account: {account}, amount: -{whole}}}]}}"
    )
