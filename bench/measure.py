"""Metrics on a tape of many loan-months: seconds, nanoseconds a row, and memory.

The tape is made once in a temporary folder and used again. Its size is `USANCE_BENCH_TAPE` rows,
ten million if that is not set; the aims are for a hundred million, so smaller runs are scaled:

    USANCE_BENCH_TAPE=100000000 python -m bench measure
"""

from __future__ import annotations

import os
import resource
import tempfile
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.report import Report, best_seconds
from usance.base.columns import make
from usance.base.dates import first_of_month, last_of_month, to_day
from usance.base.parquet import write_parquet
from usance.base.periods import MetricPeriod
from usance.base.tables import table
from usance.measure.inputs import Inputs
from usance.measure.metrics import measure

FULL = 100_000_000
LIFE = 7  # month ends a loan is on the tape
FIRST, MONTHS = 600, 48  # from 2020-01
CELLS = 12


def run(report: Report) -> None:
    """The aims of the tape, and the whole pack of a book of a million loans."""
    rows = int(os.environ.get("USANCE_BENCH_TAPE", "10000000"))
    inputs = Inputs.open(tape_folder(rows))
    report.section(f"Measure: a tape of {rows:,} loan-months")
    last = last_of_month(FIRST + MONTHS - 1)
    measure(inputs, ["repeat_contribution"], as_of=last)  # what is loaded once
    everything = MetricPeriod(first_of_month(FIRST), last)
    for what, metrics, aim, counted in (
        ("vintage 30+ and 180+", ["vintage_30", "vintage_180"], 5, rows),
        ("90 day+ delinquency", ["delinquency_90"], 5, rows),
        ("repeat contribution", ["repeat_contribution"], 5, rows // LIFE),
        ("transition matrix, all months", ["transition_balance", "transition_count"], 20, rows),
    ):
        _timed(report, what, inputs, metrics, everything, aim * rows / FULL, counted)
    report.section("Measure: a book of 1,000,000 loans")
    book = Inputs.open(tape_folder(LIFE * 1_000_000))
    seconds = best_seconds(lambda: measure(book, as_of=last), repeats=1)
    report.at_most("the whole pack of metrics", seconds, 20, "s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    report.at_most("memory at its peak", peak, 4, "GiB")


def _timed(
    report: Report,
    what: str,
    inputs: Inputs,
    metrics: list[str],
    span: MetricPeriod,
    aim: float,
    rows: int,
) -> None:
    def ask() -> object:
        return measure(inputs, metrics, as_of=span.end, period=span)

    seconds = best_seconds(ask, repeats=2)
    report.line(what, f"{seconds / rows * 1e9:,.1f} ns a row")
    # Some tenths of a second go into making the query, whatever the size.
    report.at_most(f"{what}, seconds", seconds, max(aim, 1), "s")


def tape_folder(rows: int) -> Path:
    """The folder of a tape of so many rows with its loans, made if it is not there."""
    folder = Path(tempfile.gettempdir()) / f"usance-bench-tape-{rows}"
    done = folder / "done"
    if done.exists():
        return folder
    (folder / "tape").mkdir(parents=True, exist_ok=True)
    (folder / "loans").mkdir(exist_ok=True)
    each = max(1, rows // LIFE // (MONTHS - LIFE + 1))
    for month in range(FIRST, FIRST + MONTHS):
        data = _tape_month(month, each)
        write_parquet(data, table("tape"), folder / "tape" / f"{month}.parquet")
        if month <= FIRST + MONTHS - LIFE:
            write_parquet(
                _loans(month, each), table("loans"), folder / "loans" / f"{month}.parquet"
            )
    write_parquet(_cells(), table("cells"), folder / "cells.parquet")
    write_parquet(_dues(), table("dues"), folder / "dues.parquet")
    done.touch()
    return folder


def _ids(cohort: int, count: int) -> np.ndarray:
    return (np.arange(count, dtype=np.int64) + (cohort - FIRST) * count + 1) * 16384 + 1


def _tape_month(month: int, each: int) -> pa.Table:
    draw = np.random.default_rng(month)
    cohorts = [c for c in range(month - LIFE + 1, month + 1) if FIRST <= c <= FIRST + MONTHS - LIFE]
    cohort = np.repeat(np.array(cohorts, np.int64), each)
    size = len(cohort)
    mob = month - cohort
    late = draw.random(size) < 0.08
    bucket = np.where(late, draw.integers(1, 8, size), 0)
    before = np.where(mob == 0, -1, np.maximum(bucket - draw.integers(0, 2, size), 0))
    principal = 100_000 * (LIFE - mob) + draw.integers(0, 9_000, size)
    zero = np.zeros(size, np.int64)
    return make(
        "tape", month=np.full(size, month), mob=mob, cohort=cohort, dpd=bucket * 30 - 5 * late,
        loan_id=np.concatenate([_ids(c, each) for c in cohorts] or [zero]),
        bucket=bucket, bucket_prev=before, status=zero, principal_minor=principal,
        principal_prev_minor=np.where(mob == 0, 0, principal + 100_000), past_due_minor=zero,
        net30_minor=np.where(bucket > 1, principal, 0),
        net180_minor=np.where(bucket > 6, principal, 0), prepaid_minor=zero, recovered_minor=zero,
        cell=draw.integers(1, CELLS + 1, size),
    )  # fmt: skip


def _loans(month: int, each: int) -> pa.Table:
    draw = np.random.default_rng(10_000 + month)
    zero, one = np.zeros(each, np.int64), np.ones(each, np.int64)
    day = to_day(first_of_month(month)) + draw.integers(0, 28, each)
    return make(
        "loans", loan_id=_ids(month, each), terms_no=one, effective_on=day, line_id=one,
        decision_id=_ids(month, each), product=draw.integers(0, 3, each), convention=one,
        model=draw.integers(0, 4, each), source=one, currency=zero, disbursed_on=day,
        first_due_on=day + 30, instalments=one * LIFE,
        principal_minor=draw.integers(100_000, 900_000, each), rate_ppm=one * 180_000,
        coupon_ppm=one * 70_000, guarantee_fee_minor=zero, eir_ppb=zero,
        grade=draw.integers(1, 6, each), user_loan_no=draw.integers(1, 6, each),
        channel=draw.integers(1, 6, each), region=draw.integers(1, 31, each),
    )  # fmt: skip


def _cells() -> pa.Table:
    number = np.arange(1, CELLS + 1)
    return make("cells", cell=number, model=number % 4, product=number % 3, source=number,
                entity=number * 0)  # fmt: skip


def _dues() -> pa.Table:
    days = np.arange(to_day(date(2020, 1, 1)), to_day(date(2023, 12, 31)) + 1)
    due_on, cell = np.repeat(days, CELLS), np.tile(np.arange(1, CELLS + 1), len(days))
    amount = np.full(len(due_on), 1000)
    names = [column for column in table("dues").names if column.endswith("_minor")]
    return make("dues", due_on=due_on.astype(np.int32), cell=cell, **dict.fromkeys(names, amount))
