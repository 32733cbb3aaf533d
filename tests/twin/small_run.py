"""The sample book with a group around it: closed quarters without a simulated economy."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import pyarrow as pa

from usance.base.book import Book
from usance.base.codes import FundingModel
from usance.books.close.checklist import close
from usance.books.periods import parse_close_period
from usance.books.sample import sample_book
from usance.twin.run.group_facts import AfterClose, month_facts, opening_facts
from usance.world.scenario.file import read_scenario, write_policies
from usance.world.scenario.scenario import Scenario

SCALE_PPB = 25 * 10**6
"""A fortieth of calm: the sample has five loans, and they are lent from what the platform has."""
OWN = {FundingModel.ON_BALANCE_SHEET: 18_000_00}
PERIODS = ("2022-12", "2023", "2024Q1")


def closed_book(folder: Path, scenario: Scenario | None = None) -> Book:
    """A book with the facts of every month, closed to the end of March 2024."""
    economy = scenario or read_scenario("calm")
    book = sample_book(folder / "book")
    policies = write_policies(economy, folder / "policies")
    before = opening_facts(economy, SCALE_PPB)
    with book.writing() as step:
        step.add("group_facts", before, month=economy.first_month - 1)
    next_id = 1000
    for label in PERIODS:
        period = parse_close_period(label)
        owed = None
        for month in period.months:
            if month < economy.first_month:
                continue
            volumes = OWN if month == economy.first_month + 11 else {}
            balances = OWN if month >= economy.first_month + 11 else {}
            made = month_facts(
                economy, month, volumes, balances, {1: 3, 2: 4}, SCALE_PPB, next_id, before, owed
            )
            next_id, owed = next_id + made.num_rows, None
            before = pa.concat_tables([before, made])
            with book.writing() as step:
                step.add("group_facts", made, month=month)
        close(book, period, policies=policies, clock=perf_counter)
        owed = AfterClose.of(book)
    return book
