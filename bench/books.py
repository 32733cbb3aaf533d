"""The close of a large book, against the bare replay of the same loans and against its own size."""

from __future__ import annotations

import resource
import shutil
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.report import Report, best_seconds
from usance.base.book import Book
from usance.base.codes import FactKind, FundingModel
from usance.base.columns import make
from usance.base.dates import parse_month, to_day
from usance.books.close.checklist import close
from usance.books.periods import parse_close_period
from usance.loan.batch import replay_columns, schedule_columns
from usance.loan.columns import FactColumns, TermColumns
from usance.loan.convention import CONVENTION_CODES

PERIOD = "2024Q2"
LAST_DAY = date(2024, 6, 30)
SHARD_LOANS = 1_000_000
SIZES = (250_000, 1_000_000)
MODELS = (
    FundingModel.CAPITAL_HEAVY,
    FundingModel.ON_BALANCE_SHEET,
    FundingModel.CAPITAL_LIGHT,
    FundingModel.ICE,
)
SHARES = (0.35, 0.2, 0.3, 0.15)
MICROSECONDS = 86_400_000_000


Columns = dict[str, NDArray[Any]]


def shard_columns(shard: int, count: int) -> tuple[Columns, Columns]:
    """Loans of the last year, and their facts to the end of June: 5 to 6 each."""
    draw = np.random.default_rng(20240630 + shard)
    users = (shard << 22) + 1 + np.arange(count)
    ids = users * 16384 + 1
    drawn = to_day(LAST_DAY) - draw.integers(1, 360, count)
    first_due = drawn + 30
    model = draw.choice([int(each) for each in MODELS], count, p=SHARES)
    principal = draw.integers(1_000_00, 20_000_00, count)
    coupon = np.where(model == FundingModel.ON_BALANCE_SHEET, 180_000, 70_000)
    terms = TermColumns(
        principal, np.full(count, 180_000, np.int32), coupon.astype(np.int32),
        np.full(count, 12, np.int16), drawn.astype(np.int32), first_due.astype(np.int32),
        np.zeros(count, np.int64), np.zeros(count, np.int64),
        np.full(count, CONVENTION_CODES["level_monthly"], np.int16),
    )  # fmt: skip
    plan = schedule_columns(terms)
    fees = np.add.reduceat(plan.guarantee_fee + plan.service_fee, plan.offsets[:-1])
    guarantee = np.where(model == FundingModel.CAPITAL_HEAVY, fees // 2, 0)
    stops = np.where(draw.random(count) < 0.04, draw.integers(0, 9, count), 99)
    number = np.arange(len(plan.due_on)) - np.repeat(plan.offsets[:-1], 12)
    paid = (plan.due_on <= to_day(LAST_DAY)) & (number < np.repeat(stops, 12))
    paid &= np.repeat(model != FundingModel.ICE, 12)
    owner = np.concatenate([ids, np.repeat(ids, 12)[paid]])
    day = np.concatenate([drawn, plan.due_on[paid]])
    kind = np.concatenate([np.full(count, FactKind.DISBURSED), np.full(paid.sum(), FactKind.PAID)])
    amount = np.concatenate([principal, plan.total[paid]])
    order = np.lexsort((kind, day, owner))
    facts: Columns = {
        "loan_id": owner[order], "effective_on": day[order], "kind": kind[order],
        "ref": np.arange(1, len(order) + 1), "amount_minor": amount[order],
        "arg": np.zeros(len(order), np.int64), "booked_at": day[order] * MICROSECONDS,
    }  # fmt: skip
    zeros, ones = np.zeros(count, np.int64), np.ones(count, np.int64)
    loans: Columns = {
        "loan_id": ids, "terms_no": ones, "effective_on": drawn, "line_id": ids,
        "decision_id": ids, "product": ones, "convention": terms.convention, "model": model,
        "source": draw.integers(1, 160, count), "currency": zeros, "disbursed_on": drawn,
        "first_due_on": first_due, "instalments": terms.instalments,
        "principal_minor": principal, "rate_ppm": terms.rate_ppm, "coupon_ppm": coupon,
        "guarantee_fee_minor": guarantee, "eir_ppb": zeros, "grade": ones, "user_loan_no": ones,
        "channel": ones, "region": ones, "flat_fee_minor": zeros,
        "upfront_fee_minor": np.where(model == FundingModel.ON_BALANCE_SHEET, principal // 100, 0),
    }  # fmt: skip
    return loans, facts


def make_book(folder: Path, loans: int) -> Book:
    """A book of so many live loans, a million to a shard."""
    shutil.rmtree(folder, ignore_errors=True)
    book = Book.create(folder, currency="CNY", time_zone="Asia/Shanghai")
    month = parse_month("2024-06")
    for shard, first in enumerate(range(0, loans, SHARD_LOANS)):
        columns, facts = shard_columns(shard, min(SHARD_LOANS, loans - first))
        with book.writing() as step:
            step.add("loans", make("loans", **columns), month=month, shard=shard)
            step.add("facts", make("facts", **facts), month=month, shard=shard)
    return book


def peak_gib() -> float:
    """The most memory this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def run(report: Report, sizes: tuple[int, ...] = SIZES) -> None:
    """Close books of growing size; the cost of a loan must not grow."""
    report.section("books: the close of a quarter")
    per_loan = []
    with tempfile.TemporaryDirectory() as home:
        warm = make_book(Path(home) / "warm", 1_000)
        close(warm, parse_close_period(PERIOD), clock=time.perf_counter)
        for size in sizes:
            book = make_book(Path(home) / "book", size)
            begun = time.perf_counter()
            made = close(book, parse_close_period(PERIOD), clock=time.perf_counter)
            seconds = time.perf_counter() - begun
            per_loan.append(seconds / size)
            report.line(f"close of {size:,} loans", f"{seconds:,.1f} s")
            for name, spent in sorted(made.seconds.items(), key=lambda pair: -pair[1])[:4]:
                report.line(f"  {name}", f"{spent:,.2f} s")
        report.at_most("10 million loans at this cost", per_loan[-1] * 10_000_000, 60, "s")
        report.at_most("cost of a loan, large to small", per_loan[-1] / per_loan[0], 1.2, "x")
        report.at_most("memory", peak_gib(), 4, "GiB")
        _against_replay(report, per_loan[-1])


def _against_replay(report: Report, close_seconds: float) -> None:
    loans, facts = shard_columns(0, 200_000)
    terms = TermColumns(
        loans["principal_minor"].astype(np.int64), loans["rate_ppm"].astype(np.int32),
        loans["coupon_ppm"].astype(np.int32), loans["instalments"].astype(np.int16),
        loans["disbursed_on"].astype(np.int32), loans["first_due_on"].astype(np.int32),
        loans["flat_fee_minor"].astype(np.int64), loans["guarantee_fee_minor"].astype(np.int64),
        loans["convention"].astype(np.int16),
    )  # fmt: skip
    offsets = np.searchsorted(facts["loan_id"], np.append(loans["loan_id"], 2**62))
    columns = FactColumns(
        offsets.astype(np.int64), facts["effective_on"].astype(np.int32),
        facts["kind"].astype(np.int8), facts["amount_minor"].astype(np.int64),
        facts["arg"].astype(np.int64),
    )  # fmt: skip
    out = replay_columns(terms, columns, LAST_DAY)
    bare = best_seconds(lambda: replay_columns(terms, columns, LAST_DAY, out=out), 5) / 200_000
    report.line("close of a loan / bare replay of it", f"{close_seconds / bare:,.1f} x")


if __name__ == "__main__":
    run(Report(), tuple(int(each) for each in sys.argv[1:]) or SIZES)
