"""Random portfolios in one book: each has shards of its own, all have its cells and sources.

A portfolio is a few loans of any model and life in two shards, some of them co-funded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa

from tests.books.lives import BORROWED, EVERY, Lives, lives
from usance.base.book import Book
from usance.base.codes import FundingModel
from usance.base.columns import make, sort
from usance.base.segments import segment_code
from usance.base.tables import table
from usance.books.chart import load_chart
from usance.match.reservation.split import split_by_weight

RESTRICTED = load_chart()["restricted_cash"].number
SOURCES, PRODUCTS = (1, 2, 3), (1, 2)
SEGMENTS = tuple(
    sorted(segment_code(model, product) for model in FundingModel for product in PRODUCTS)
)
MONTH = 636
"""January 2023, when the first loan is drawn."""
SUPPLY = 40


@cache
def supply() -> list[Lives]:
    """Lives to choose from."""
    return [lives(model, path, SUPPLY, seed=11) for model, path in EVERY]


@dataclass(frozen=True)
class Chosen:
    """A loan of a portfolio: one of the supply, under an id, from a source."""

    loan_id: int
    life: Lives
    row: int
    product: int
    source: int
    shares: dict[int, int] = field(default_factory=dict)
    """Principal by source, if it is co-funded."""

    def term(self, name: str) -> int:
        """One of its terms."""
        return int(getattr(self.life.terms, name)[self.row])


@dataclass(frozen=True)
class Portfolio:
    """Loans by id, in two shards."""

    shards: tuple[int, int]
    loans: dict[int, Chosen]


def make_portfolios(folder: Path, seeds: Sequence[int]) -> tuple[Book, list[Portfolio]]:
    """A book with a portfolio for every seed."""
    book = Book.create(folder, currency="CNY", time_zone="Asia/Shanghai")
    found = [_portfolio(seed, 2 * place) for place, seed in enumerate(seeds)]
    draw = Random(seeds[0])
    with book.writing() as step:
        step.add("cells", _cells(draw))
        step.add("sources", _sources(draw))
        for each in found:
            for shard in each.shards:
                rows = [loan for loan in each.loans.values() if loan.loan_id >> 36 == shard]
                if rows:
                    step.add("loans", _loans(rows), month=MONTH, shard=shard)
                    step.add("facts", _facts(rows), month=MONTH, shard=shard)
        step.add("shares", _shares([loan for each in found for loan in each.loans.values()]))
    return book, found


def _portfolio(seed: int, first_shard: int) -> Portfolio:
    draw = Random(seed)
    loans = []
    for number in range(draw.randint(3, 16)):
        user = draw.randrange(1, 500) + ((first_shard + draw.randrange(2)) << 22)
        life, row = draw.choice(supply()), draw.randrange(SUPPLY)
        source = draw.choice(SOURCES)
        loan = Chosen(user * 16384 + number + 1, life, row, draw.choice(PRODUCTS), source)
        if life.model in BORROWED and draw.random() < 0.3:
            loan.shares.update(_co_funders(loan.term("principal_minor"), source, draw))
        loans.append(loan)
    by_id = {loan.loan_id: loan for loan in sorted(loans, key=lambda loan: loan.loan_id)}
    return Portfolio((first_shard, first_shard + 1), by_id)


def _co_funders(principal: int, lead: int, draw: Random) -> dict[int, int]:
    others = draw.sample([each for each in SOURCES if each != lead], draw.randint(1, 2))
    return split_by_weight(principal, {each: draw.randint(1, 9) for each in (lead, *others)})


def _cells(draw: Random) -> pa.Table:
    kinds = [
        (int(model), product, source)
        for model in FundingModel
        for product in PRODUCTS
        for source in SOURCES
    ]
    model, product, source = zip(*kinds, strict=True)
    return make(
        "cells", cell=range(1, len(kinds) + 1), model=model, product=product, source=source,
        entity=[draw.randint(1, 3) for _ in kinds], related=[draw.randint(0, 1) for _ in kinds],
        fund_cash=[draw.choice((0, RESTRICTED)) for _ in kinds],
        payout_cash=[draw.choice((0, RESTRICTED)) for _ in kinds],
    )  # fmt: skip


def _sources(draw: Random) -> pa.Table:
    zeros, ones = [0] * len(SOURCES), [1] * len(SOURCES)
    return make(
        "sources", source=SOURCES, version=ones, valid_from=zeros, valid_to=[30_000 for _ in ones],
        institution=SOURCES, entity=ones, model=zeros, coupon_ppm=zeros,
        fee_ppm=[draw.randint(1, 50_000) for _ in ones], trigger_days=[60 for _ in ones],
        guarantor=zeros, co_share_ppm=zeros, settlement_lag=[draw.randint(0, 3) for _ in ones],
    )  # fmt: skip


def _loans(loans: Sequence[Chosen]) -> pa.Table:
    ids, ones, zeros = [loan.loan_id for loan in loans], [1] * len(loans), [0] * len(loans)
    names = ("principal_minor", "rate_ppm", "coupon_ppm", "instalments", "disbursed_on",
             "first_due_on", "flat_fee_minor", "guarantee_fee_minor", "convention")  # fmt: skip
    return make(
        "loans", loan_id=ids, terms_no=ones, line_id=ids, decision_id=ids, currency=zeros,
        effective_on=[loan.term("disbursed_on") for loan in loans],
        product=[loan.product for loan in loans], model=[int(loan.life.model) for loan in loans],
        source=[loan.source for loan in loans], eir_ppb=zeros, grade=ones, user_loan_no=ones,
        channel=ones, region=ones, **{name: [loan.term(name) for loan in loans] for name in names},
        upfront_fee_minor=[int(loan.life.upfront_minor[loan.row]) for loan in loans],
    )  # fmt: skip


def _facts(loans: Sequence[Chosen]) -> pa.Table:
    parts = []
    for loan in loans:
        facts = loan.life.facts
        one = slice(int(facts.offsets[loan.row]), int(facts.offsets[loan.row + 1]))
        size = one.stop - one.start
        parts.append((
            np.full(size, loan.loan_id), facts.day[one], facts.kind[one], np.arange(1, size + 1),
            facts.amount_minor[one], facts.arg[one],
        ))  # fmt: skip
    loan_id, day, kind, ref, amount, arg = (
        np.concatenate(each) for each in zip(*parts, strict=True)
    )
    made = make(
        "facts", loan_id=loan_id, effective_on=day, kind=kind, ref=ref, amount_minor=amount,
        arg=arg, booked_at=day.astype(np.int64) * 86_400_000_000,
    )  # fmt: skip
    return sort(made, table("facts"))


def _shares(loans: Sequence[Chosen]) -> pa.Table:
    rows = sorted(
        (loan.loan_id, source, minor)
        for loan in loans
        for source, minor in loan.shares.items()
        if minor
    )
    loan_id, source, minor = zip(*rows, strict=True)
    return make("shares", loan_id=loan_id, source=source, principal_minor=minor)
