"""The loan room: schedules, replays, steps, one loan, memory, start-up."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date, timedelta
from decimal import Decimal
from functools import partial

import numpy as np

from bench import peers
from bench.portfolio import AFTER_ALL, in_another_order, months, payments, portfolio, uneven
from bench.report import Report, best_seconds
from usance.base.codes import FactKind
from usance.base.dates import from_day
from usance.loan import Fact, Terms, replay, replay_columns, schedule
from usance.loan.batch import schedule_columns, start_columns, step_columns, view_columns

MILLION = 1_000_000


def run(report: Report) -> None:
    """Everything, in the order of the promises."""
    report.section("loan: schedules of 12 instalments, 500,000 loans, all cores")
    schedules(report)
    report.section("loan: replay from terms and facts")
    replays(report)
    report.section("loan: growth")
    growth(report)
    report.section("loan: one loan from Python")
    one_loan(report)
    report.section("loan: memory and start-up")
    memory(report)
    start_up(report)


def schedules(report: Report) -> None:
    """The kernel beside a Decimal loop, NumPy and QuantLib."""
    loans = MILLION // 2
    plain, split = portfolio(loans, split=False), portfolio(loans, split=True)
    memory = schedule(plain)  # used again, as a run in pieces does: first touch is the system's
    kernel = loans / best_seconds(lambda: schedule_columns(plain, out=memory))
    report.at_least("kernel, interest only", kernel / MILLION, 10, "m loans/s")
    with_fees = loans / best_seconds(partial(schedule_columns, split, out=schedule(split)))
    report.line("kernel, coupon, service and guarantee fee", f"{with_fees / MILLION:.1f} m loans/s")
    rate = Decimal("0.18")
    slow = 2_000 / best_seconds(
        lambda: [peers.decimal_schedule(Decimal(10_000 + n), rate, 12) for n in range(2_000)], 3
    )
    report.at_least(f"kernel / Decimal loop ({slow:,.0f}/s)", kernel / slow, 100, "×")
    for size, aim in ((MILLION, 5.0), (10_000, None)):
        columns = (
            plain.principal_minor[:size],
            plain.rate_ppm[:size].astype(np.int64),
            plain.disbursed_on[:size],
        )
        vector = size / best_seconds(partial(peers.numpy_schedules, *columns, 12))
        name = f"kernel / NumPy on {size:,} loans ({vector / MILLION:.1f} m/s)"
        if aim:
            report.at_least(name, kernel / vector, aim, "×")
        else:
            report.line(name, f"{kernel / vector:.1f} ×")
    bonds = 3_000 / best_seconds(lambda: peers.quantlib_schedules(3_000, 12), 3)
    report.at_least(f"kernel / QuantLib ({bonds:,.0f}/s)", kernel / bonds, 1_000, "×")


def replays(report: Report) -> None:
    """Whole lives, other orders, and month by month."""
    loans = MILLION // 2
    for split, name in ((False, "interest only"), (True, "with split fees")):
        terms = portfolio(loans, split=split)
        facts = payments(terms, 12)
        views = replay_columns(terms, facts, AFTER_ALL)
        speed = loans / best_seconds(partial(replay_columns, terms, facts, AFTER_ALL, out=views))
        report.at_least(f"12 payments, {name}", speed / MILLION, 5, "m loans/s")
    longer = portfolio(loans, split=False, instalments=24)
    facts = payments(longer, 12)
    halfway = int(facts.day.max()) + 10
    speed = loans / best_seconds(partial(replay_columns, longer, facts, halfway, out=views))
    report.line("12 payments of 24, still running", f"{speed / MILLION:.1f} m loans/s")
    terms = portfolio(loans, split=True)
    facts = payments(terms, 12)
    other = in_another_order(terms)
    speed = loans / best_seconds(partial(replay_columns, other, facts, AFTER_ALL, out=views), 3)
    report.at_least("12 payments, another allocation order", speed / MILLION, 1.5, "m loans/s")
    halves = uneven(facts, 12)
    speed = loans / best_seconds(partial(replay_columns, terms, halves, AFTER_ALL, out=views))
    report.line("12 uneven payments, with split fees", f"{speed / MILLION:.1f} m loans/s")
    speed = loans / best_seconds(partial(replay_columns, other, halves, AFTER_ALL, out=views), 3)
    report.at_least("12 uneven payments, another order", speed / MILLION, 1.5, "m loans/s")
    states, spare, took = start_columns(terms), start_columns(terms), []
    for month in months(facts, 13):
        until = int(month.day.max())
        took.append(best_seconds(partial(step_columns, states, month, until, out=spare), 5))
        states, spare = step_columns(states, month, until, out=spare), states
    report.at_most("stepping a month", statistics.median(took) / loans * 1e9, 40, "ns/loan")
    same = np.array_equal(
        view_columns(states, AFTER_ALL).values, replay_columns(terms, facts, AFTER_ALL).values
    )
    report.line("stepped = replayed, bit for bit", str(same), "aim True", same)


def growth(report: Report) -> None:
    """Time per loan from ten thousand loans to two million: flat if the cost is linear."""
    for loans in (10_000, 100_000, MILLION, 2 * MILLION):
        terms = portfolio(loans, split=True)
        facts = payments(terms, 12)
        views = replay_columns(terms, facts, AFTER_ALL)
        seconds = best_seconds(partial(replay_columns, terms, facts, AFTER_ALL, out=views))
        report.line(f"replay of {loans:,} loans", f"{seconds / loans * 1e9:.0f} ns/loan")


def one_loan(report: Report) -> None:
    """A live system's call: 24 facts, a view."""
    terms = Terms(principal_minor=10_000_00, rate_ppm=180_000, coupon_ppm=60_000, instalments=24,
                  disbursed_on=date(2024, 1, 15), first_due_on=date(2024, 2, 15))  # fmt: skip
    facts = [Fact(FactKind.DISBURSED, terms.disbursed_on, terms.principal_minor, ref=1)]
    facts += [
        Fact(FactKind.PAID, row.due_on, row.total, ref=1 + row.number)
        for row in schedule(terms)[:23]
    ]
    day = facts[-1].effective_on + timedelta(days=5)
    took = []
    for _ in range(20_000):
        begun = time.perf_counter_ns()
        replay(terms, facts, day).view()
        took.append(time.perf_counter_ns() - begun)
    report.at_most("replay with 24 facts, p50", statistics.median(took) / 1e3, 20, "µs")
    slow = (
        best_seconds(lambda: [replay(terms, facts, day, form="exact").view() for _ in range(50)])
        / 50
    )
    report.line("the exact form of the same", f"{slow * 1e6:,.0f} µs")


_PEAK = """
import tracemalloc
from bench.portfolio import AFTER_ALL, payments, portfolio
from usance.loan import replay_columns
terms = portfolio(1_000_000, split=True)
facts = payments(terms, 12)
small = portfolio(1_000, split=True)
replay_columns(small, payments(small, 12), AFTER_ALL)
given = sum(a.nbytes for a in (*terms.arrays, *facts.arrays))
tracemalloc.start()
views = replay_columns(terms, facts, AFTER_ALL)
print(given, views.values.nbytes, tracemalloc.get_traced_memory()[1])
"""


def memory(report: Report) -> None:
    """What a replay adds to what it is given, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", _PEAK], capture_output=True, text=True, check=True)
    given, made, peak = map(int, done.stdout.split())
    ratio = (given + peak) / (given + made)
    report.at_most("memory of a replay / its input and output", ratio, 2, "×")


def start_up(report: Report) -> None:
    """`usance --help`, the first compiled call and later ones, in new processes."""
    usance = [sys.executable, "-m", "usance.cli"]
    report.at_most("usance --help", best_seconds(lambda: _call([*usance, "--help"])), 0.5, "s")
    first_call = [sys.executable, "-c", "from bench.loan import first_call; first_call()"]
    with tempfile.TemporaryDirectory() as cold:
        seconds = best_seconds(lambda: _call(first_call, USANCE_CACHE=cold), 1)
        report.at_most("first replay after install (compiles)", seconds, 30, "s")
        seconds = best_seconds(lambda: _call(first_call, USANCE_CACHE=cold), 3)
        report.at_most("first replay of a later process", seconds, 3, "s")


def first_call() -> None:
    """One loan and a small batch, as a new process would ask for."""
    terms = portfolio(100, split=True)
    replay_columns(terms, payments(terms, 12), AFTER_ALL)
    loan = Terms(principal_minor=1_000_00, rate_ppm=180_000, instalments=12,
                 disbursed_on=date(2024, 1, 15), first_due_on=date(2024, 2, 15))  # fmt: skip
    replay(loan, [], from_day(AFTER_ALL)).view()


def _call(command: list[str], **environment: str) -> None:
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **environment})
