"""A book that a release can be made of: the sample's loans, and a group around them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from usance.base.book import Book
from usance.base.book_step import Step
from usance.base.columns import make
from usance.base.dates import parse_month, to_day
from usance.books.close.checklist import close
from usance.books.group.documents import parse_facts
from usance.books.group.facts import table_of_facts
from usance.books.periods import parse_close_period
from usance.books.sample import sample_book

MICROSECONDS = 86_400_000_000
QUARTERS = ("2023Q4", "2024Q1", "2024Q2", "2024Q3", "2024Q4")
ENTITIES = """\
currency: CNY
entities:
  - {number: 1, name: Example Platform, role: platform, owner: 2, tax: 15%}
  - {number: 2, name: "Example Holding, Inc.", role: parent}
  - {number: 3, name: Example Lending, role: subsidiary, owner: 1, share: 80%, tax: 25%}
"""
FACTS = """\
facts:
  - {id: 1, kind: opening_balance, entity: 1, on: 2023-09-30, lines: [
     {account: cash, amount: 9000000.37}, {account: retained_earnings, amount: -9000000.37}]}
  - {id: 2, kind: opening_balance, entity: 2, on: 2023-09-30, lines: [
     {account: cash, amount: 4000000.61}, {account: paid_in_capital, amount: -4000000.61}]}
  - {id: 3, kind: opening_balance, entity: 3, on: 2023-09-30, lines: [
     {account: cash, amount: 1000000.49}, {account: non_controlling_interests, amount: -200000.11},
     {account: retained_earnings, amount: -800000.38}]}
  - {id: 4, kind: shares_issued, entity: 2, on: 2023-12-01, quantity: 1000000, amount: 500.00}
  - {id: 5, kind: grant, entity: 2, on: 2024-01-31, name: staff, award: restricted,
     fair_value: 12.50, tranches: [{units: 8000, on: 2025-01-31},
     {units: 8000, on: 2026-01-31}]}
  - {id: 6, kind: exchange_rate, entity: 2, on: 2023-09-30, currency: USD, rate: 7.0999}
  - {id: 65, kind: exchange_rate, entity: 2, on: 2023-12-31, currency: USD, rate: 7.0827}
  - {id: 66, kind: exchange_rate, entity: 2, on: 2024-03-28, currency: USD, rate: 7.2203}
  - {id: 67, kind: exchange_rate, entity: 2, on: 2024-06-28, currency: USD, rate: 7.2672}
  - {id: 7, kind: cost_incurred, entity: 1, on: 2023-12-20, amount: 41234.56, function: marketing}
  - {id: 8, kind: cost_incurred, entity: 1, on: 2024-02-20, amount: 51234.57, function: marketing}
  - {id: 9, kind: cost_incurred, entity: 1, on: 2024-05-20, amount: 61234.58,
     function: administration}
  - {id: 10, kind: cost_incurred, entity: 1, on: 2024-08-20, amount: 71234.59,
     function: servicing_cost}
  - {id: 11, kind: cost_paid, entity: 1, on: 2024-03-05, amount: 41234.56}
  - {id: 12, kind: bank_interest, entity: 3, on: 2023-12-31, amount: 90500.50}
  - {id: 13, kind: bank_interest, entity: 3, on: 2024-03-31, amount: 90499.50}
  - {id: 14, kind: bank_interest, entity: 3, on: 2024-06-30, amount: 190499.49}
  - {id: 15, kind: bank_interest, entity: 1, on: 2024-09-30, amount: 290499.49}
  - {id: 16, kind: sundry, entity: 1, on: 2024-06-15, amount: -1499.50}
  - {id: 17, kind: deposit_placed, entity: 1, on: 2024-04-02, amount: 250000.25,
     as: restricted_cash}
  - {id: 18, kind: asset_bought, entity: 1, on: 2024-01-10, amount: 360000, asset: property,
     name: servers, months: 36, function: servicing_cost}
  - {id: 19, kind: share_price, entity: 2, on: 2023-12-31, price: 14,
     first: 2023-10-01, last: 2023-12-31}
  - {id: 20, kind: share_price, entity: 2, on: 2024-03-31, price: 14,
     first: 2024-01-01, last: 2024-03-31}
  - {id: 21, kind: share_price, entity: 2, on: 2024-06-30, price: 15,
     first: 2024-04-01, last: 2024-06-30}
  - {id: 22, kind: share_price, entity: 2, on: 2024-06-30, price: 14.5,
     first: 2024-01-01, last: 2024-06-30}
  - {id: 23, kind: share_price, entity: 2, on: 2024-12-31, price: 16,
     first: 2024-10-01, last: 2024-12-31}
  - {id: 24, kind: share_price, entity: 2, on: 2024-12-31, price: 15,
     first: 2024-01-01, last: 2024-12-31}
"""


def release_book(
    folder: Path, periods: Sequence[str] = QUARTERS, facts: str = FACTS, entities: str = ENTITIES,
    *, people: bool = True,
) -> Book:  # fmt: skip
    """The book, closed for some periods one after another."""
    book = sample_book(folder)
    with book.writing() as step:
        if people:
            add_people(step, book)
        step.add("group_facts", table_of_facts(parse_facts(facts)), month=parse_month("2023-12"))
    policies = folder.parent / f"{folder.name}-policies"
    policies.mkdir()
    (policies / "entities.yaml").write_text(entities, encoding="utf-8")
    for period in periods:
        close(book, parse_close_period(period), policies=policies, clock=time.perf_counter)
    return book


def add_people(step: Step, book: Book) -> None:
    """The users behind the loans, what was decided about them, and one institution."""
    loans = book.read("loans").to_pylist()
    drawn = [to_day(loan["disbursed_on"]) for loan in loans]
    ids, ones, zeros = [loan["loan_id"] for loan in loans], [1] * len(loans), [0] * len(loans)
    users = [loan_id >> 14 for loan_id in ids]
    step.add("users", make("users", user_id=users, registered_on=[day - 9 for day in drawn],
                           channel=ones, region=ones, kind=zeros))  # fmt: skip
    step.add("decisions", make(
        "decisions", decision_id=ids, booked_at=[(day - 1) * MICROSECONDS for day in drawn],
        kind=zeros, approved=ones, score=[600] * len(ids), pd_ppm=[20_000] * len(ids), grade=ones,
        line_minor=[5_000_000] * len(ids), rate_ppm=[180_000] * len(ids), flow_no=ones,
        model_no=ones, reason_1=zeros, reason_2=zeros, reason_3=zeros, reason_4=zeros,
        latency_us=[900] * len(ids),
    ))  # fmt: skip
    names = ("entity", "model", "coupon_ppm", "fee_ppm", "trigger_days", "guarantor",
             "co_share_ppm", "settlement_lag")  # fmt: skip
    step.add("sources", make("sources", source=[1], version=[1], valid_from=[min(drawn) - 30],
                             valid_to=[30_000], institution=[7],
                             **{name: [0] for name in names}))  # fmt: skip


def in_two_currencies() -> tuple[str, str]:
    """The same facts and entities with a parent in dollars, and the rates of the time."""
    own = {"shares_issued", "grant", "share_price"}
    facts = FACTS.replace(
        "id: 2, kind: opening_balance, entity: 2,",
        "id: 2, kind: opening_balance, entity: 2, currency: USD,",
    )
    for kind in own:
        facts = facts.replace(
            f"kind: {kind}, entity: 2,", f"kind: {kind}, entity: 2, currency: USD,"
        )
    rates = {"2022-12-30": "6.9646", "2023-12-29": "7.0827", "2024-03-29": "7.2203"}
    stated = "".join(
        f"  - {{id: {50 + place}, kind: exchange_rate, entity: 2, on: {on}, currency: USD,\n"
        f"     rate: {rate}}}\n"
        for place, (on, rate) in enumerate(rates.items())
    )
    earned = "  - {id: 60, kind: bank_interest, entity: 2, on: 2024-02-28, currency: USD,\n"
    return f"{facts}{stated}{earned}     amount: 1234.56}}\n", ENTITIES.replace(
        "role: parent", "role: parent, currency: USD"
    )
