"""The fund room: scenarios of a deal with five classes and 36 dates on strata of a large pool."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import date

import numpy as np
import pyarrow as pa

from bench.portfolio import payments, portfolio
from bench.report import Report
from usance.fund.deal import Amortisation, Deal, Pool, Scenario
from usance.fund.deal_file import parse_deal
from usance.fund.deal_terms import PoolLimit, read_terms
from usance.fund.loan_collections import DealLoans
from usance.fund.payment_date import pay_date
from usance.fund.pool_columns import eligible, pool_of_table
from usance.fund.projection import Stratum, schedule_shares
from usance.fund.sample import sample_path
from usance.fund.scenarios import run_scenarios
from usance.fund.selection import Objective, SelectionRules, select_pool
from usance.fund.state import opening_state

POOL = 600_000_000_000
SHARES = {"A": (400, 30_000), "B": (80, 40_000), "C": (60, 50_000), "D": (30, 60_000), "S": (30, 0)}
SCENARIOS = (1_000, 100_000)
AIMS = (10, 60)
LOANS = 1_000_000
FEWER = LOANS // 4
"""Loans of a second, smaller run, to see that time is linear."""
LINEAR = 5
"""Times that four times the loans may take, with a quarter for the clock."""
DATES = (date(2024, 4, 30), date(2024, 5, 31))


def run(report: Report) -> None:
    """Every figure of the room."""
    scenarios(report)
    for measured in (selection, payment_date):
        few, many = (measured(report, loans) for loans in (FEWER, LOANS))
        report.at_most("four times the loans take", many / few, LINEAR, "times")


def selection(report: Report, loans: int) -> float:
    """A pool of about a quarter of the loans under shares and averages; its processor time."""
    report.section(f"fund: selection from {loans:,} loans")
    made = np.random.default_rng(1)
    table = pa.table({
        "loan_id": np.arange(1, loans + 1) * 16384 + 1,
        "principal_minor": made.integers(1_000_00, 20_000_00, loans),
        "rate_ppm": made.integers(90_000, 240_000, loans),
        "months_left": made.integers(1, 30, loans), "instalments_paid": made.integers(0, 12, loans),
        "dpd": made.choice([0, 0, 0, 0, 5, 40], loans), "grade": made.integers(1, 7, loans),
        "region": made.integers(1, 31, loans), "pd_ppm": made.integers(5_000, 120_000, loans),
    })  # fmt: skip
    terms = read_terms(sample_path())
    limits = (*terms.limits, PoolLimit("grade", 200_000, 6), PoolLimit("min_rate_ppm", 150_000))
    begun, worked = time.perf_counter(), time.process_time()
    pool = pool_of_table(table, "pool")
    fits, _ = eligible(pool, terms.eligibility, "PLAN1")
    offered = pool.take(np.flatnonzero(fits))
    rules = SelectionRules(300_000 * loans, limits, Objective.MARGIN, 3, 20_000_000)
    found = select_pool(offered, rules)
    report.at_most("eligibility and selection", time.perf_counter() - begun, 20, "s")
    spent = time.process_time() - worked
    report.line("  of processor time", f"{spent:,.1f} s")
    report.at_most("gap", found.gap_ppm / 10_000, 0.1, "%")
    report.line("  loans taken", f"{len(found.rows):,} of {len(offered):,}")
    return spent


def payment_date(report: Report, loans: int) -> float:
    """Collections of a period from terms and facts, and the date they pay; its processor time."""
    report.section(f"fund: a payment date of {loans:,} loans")
    terms = portfolio(loans, split=False)
    held = DealLoans(terms, payments(terms, 4))
    held.period(DATES[0], DATES[1])  # compiled and warm
    begun, worked = time.perf_counter(), time.process_time()
    period = held.period(DATES[0], DATES[1])
    deal = replace(large_deal(), pool=Pool(int(terms.principal_minor.sum())))
    pay_date(deal, opening_state(deal), period.collections)
    report.at_most("replay, collections, payment", time.perf_counter() - begun, 20, "s")
    spent = time.process_time() - worked
    report.line("  of processor time", f"{spent:,.1f} s")
    return spent


def scenarios(report: Report) -> None:
    """Scenarios by the kernel, in wall-clock time on all cores."""
    deal, strata = large_deal(), large_strata()
    report.section(f"fund: scenarios, 5 classes, 36 dates, {len(strata)} strata")
    run_scenarios(deal, [Scenario()], strata)  # compiled and warm
    for count, aim in zip(SCENARIOS, AIMS, strict=True):
        wanted = [Scenario(0, n % 2_000, 50 + n % 100) for n in range(count)]
        begun, worked = time.perf_counter(), time.process_time()
        found = run_scenarios(deal, wanted, strata)
        report.at_most(f"{count:,} scenarios", time.perf_counter() - begun, aim, "s")
        report.line("  of processor time", f"{time.process_time() - worked:,.1f} s")
        report.line("  decided by the exact form", f"{found.by_exact_form}")


def large_deal() -> Deal:
    """The sample deal with five classes and three years."""
    text = sample_path().read_text(encoding="utf-8")
    classes = "\n".join(
        f"  - {{name: {name}, balance_minor: {part * 10**9}, rate_ppm: {rate}}}"
        for name, (part, rate) in SHARES.items()
    )
    first, last = text.index("  - {name: A,"), text.index("fees:")
    text = f"{text[:first]}{classes}\n\n{text[last:]}"
    for old, new in (
        ("periods: 12", "periods: 36"),
        ("months: 12", "months: 36"),
        ("legal_final_on: 2026", "legal_final_on: 2028"),
        ("price_minor: 9900000000", f"price_minor: {POOL - 10**8}"),
        ("balance_minor: 10000000000", f"balance_minor: {POOL}"),
        ("[A, B, S]", "[A, B, C, D, S]"),
        ("{interest: [B]}", "{interest: [B, C, D]}"),
        ("{principal: [B]}", "{principal: [B, C, D], pro_rata: true}"),
    ):
        text = text.replace(old, new)
    return parse_deal(text)


def large_strata() -> list[Stratum]:
    """Six grades, twelve ages, thirteen terms to run."""
    keys = [
        (grade, age, left) for grade in range(6) for age in range(12) for left in range(12, 37, 2)
    ]
    return [
        Stratum(
            POOL // len(keys),
            *schedule_shares(180_000 + 1_000 * grade, left, Amortisation.LEVEL),
            tuple(1_000 + 300 * grade + 100 * ((month + age) % 7) for month in range(36)),
            tuple(10_000 + 50 * month for month in range(36)),
            (0, 0, 0, 30_000, 20_000, 10_000),
        )
        for grade, age, left in keys
    ]
