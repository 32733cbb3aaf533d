"""The twin: nanoseconds a loan-month for the behavioural step, and whole runs at growing scales.

Runs are of the scenario `2024` over three months unless `USANCE_BENCH_TWIN_TO` names a later one;
`USANCE_BENCH_TWIN_SCALES` lists the scales, `0.001 0.004` if it is not set. Time is taken as
fixed + per loan × loans, through the smallest and the largest run; between them the part per loan
should be flat within a fifth.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

from bench.report import Report, best_seconds
from usance.base.dates import first_of_month, parse_month
from usance.base.memory import keep_memory
from usance.base.rates import PPM
from usance.service.servicing_rules import ServicingRules
from usance.twin.month.loan_month import month_pass
from usance.twin.month.open_loans import OpenLoans
from usance.twin.month.opening_shard import open_shard
from usance.twin.run.run_context import RunContext
from usance.twin.run.runner import Run, run_scenario
from usance.world.behaviour import payments
from usance.world.population import month_days
from usance.world.scenario.file import read_scenario
from usance.world.scenario.scenario import Scenario

LOANS = 2_000_000
WHOLE = "2024-06"
"""The last month of whole runs, for which there are aims."""
WARM = Fraction(1, 2_000)
AIMS = {Fraction(1, 10): 360, Fraction(1): 3_600}
"""Seconds of a whole run, from nothing to the release."""


def run(report: Report) -> None:
    """The kernels by themselves, then whole runs; memory is kept as the command does it."""
    keep_memory()
    scenario = read_scenario("2024")
    report.section(f"Twin: {LOANS:,} loans through a month")
    _kernels(report, scenario)
    _runs(report, scenario)


def _kernels(report: Report, scenario: Scenario) -> None:
    month = scenario.first_month
    first, _ = month_days(month)
    loan = np.arange(LOANS, dtype=np.int64) * 16_384 + 16_385
    due = (first + np.arange(LOANS) % 28).astype(np.int32)
    hazard, flags = np.full(LOANS, PPM, np.int32), np.zeros(LOANS, np.int8)

    def decide() -> object:
        return payments(scenario, month, loan, hazard, due, due, flags)

    seconds = best_seconds(decide, repeats=5)
    report.at_most("behavioural step, two threads", seconds / LOANS * 1e9, 5, "ns")
    context = RunContext(scenario, Fraction(1, 1_000))
    loans, rules = _many(context), ServicingRules.at(first_of_month(month))
    seconds = min(_month_pass(context, loans, month, rules) for _ in range(7))
    report.at_most("with full component accounting", seconds / len(loans) * 1e9, 40, "ns")


def _month_pass(context: RunContext, loans: OpenLoans, month: int, rules: ServicingRules) -> float:
    """Seconds of one month: facts, states, tape and dues. States change, so each has its own."""
    own = loans.take(np.arange(len(loans)))
    begun = time.perf_counter()
    month_pass(context.scenario, own, month, rules, context.sources, context.cells)
    return time.perf_counter() - begun


def _many(context: RunContext) -> OpenLoans:
    """Opening loans, so many times over that there are enough."""
    opened = open_shard(context, 0).shard.loans
    times = -(-LOANS // max(len(opened), 1))
    columns = {name: np.tile(values, times) for name, values in opened.columns.items()}
    columns["loan_id"] = np.arange(len(columns["loan_id"]), dtype=np.int64) * 16_384 + 16_385
    return OpenLoans(
        columns, np.tile(opened.states, (times, 1)), np.tile(opened.watches, (times, 1))
    )


def _runs(report: Report, scenario: Scenario) -> None:
    scales = [Fraction(each) for each in
              os.environ.get("USANCE_BENCH_TWIN_SCALES", "0.001 0.004").split()]  # fmt: skip
    last = parse_month(os.environ.get("USANCE_BENCH_TWIN_TO", "2023-03"))
    report.section(f"Twin: {scenario.name} at scales {', '.join(str(float(s)) for s in scales)}")
    with tempfile.TemporaryDirectory() as folder:  # so that no run has kernels to compile
        _into(Path(folder), scenario, WARM, last)
    told = [_one(report, scenario, scale, last) for scale in scales]
    (few, short), (many, long) = told[0], told[-1]
    each = (long - short) / max(many - few, 1)
    report.line("fixed", f"{short - each * few:,.1f} s")
    report.line("per loan", f"{each * 1e6:,.1f} µs")
    for loans, seconds in told[1:-1]:
        own = (seconds - short) / max(loans - few, 1)
        report.at_most("per loan against the largest, off by", abs(own / each - 1) * 100, 20, "%")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    report.at_most("memory at its peak", peak, 16, "GiB")


def _into(folder: Path, scenario: Scenario, scale: Fraction, last: int) -> Run:
    return run_scenario(
        scenario, folder / "run", scale=scale, first=scenario.first_month, last=last,
        clock=time.perf_counter,
    )  # fmt: skip


def _one(report: Report, scenario: Scenario, scale: Fraction, last: int) -> tuple[int, float]:
    """One run into a folder that is gone afterwards: loans and seconds."""
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        made = _into(Path(folder), scenario, scale, last)
        loans, seconds = made.figures["figures"]["loans"], time.perf_counter() - begun
    what = f"scale {float(scale)}: {loans:,} loans"
    if scale in AIMS and last == parse_month(WHOLE):
        report.at_most(what, seconds, AIMS[scale], "s")
    else:
        report.line(what, f"{seconds:,.1f} s")
    for stage, spent in made.figures["seconds_by_stage"].items():
        report.line(f"  {stage}", f"{spent:,.1f} s")
    for stage, spent in made.figures["seconds_beside"].items():
        report.line(f"  {stage}, beside others", f"{spent:,.1f} s")
    return loans, seconds
