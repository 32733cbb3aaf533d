"""Effective interest: rates a second, and the fee earned by a day."""

from __future__ import annotations

from functools import partial

import numpy as np

from bench.portfolio import FIRST_DUE, portfolio
from bench.report import Report, best_seconds
from usance.books.effective_interest.loans import Survival, effective_rates, fees_earned

MILLION = 1_000_000


def run(report: Report) -> None:
    """Contractual and expected flows of a million loans with a withheld fee."""
    report.section("books: effective interest, 12 instalments, 1,000,000 loans, all cores")
    terms = portfolio(MILLION, split=True)
    fee = terms.principal_minor // 141
    curve = np.linspace(960_000, 480_000, 12).astype(int).tolist()
    leaving = Survival.of([curve])
    for name, survival in (("contractual", None), ("expected", leaving)):
        solve = partial(effective_rates, terms, fee, survival)
        rates = solve()
        speed = 1 / best_seconds(solve, 5)
        report.at_least(f"effective rates, {name} flows", speed, 1, "m loans/s")
        earned = np.empty(MILLION, np.int64)
        halfway = FIRST_DUE + 150
        step = partial(fees_earned, terms, fee, rates, halfway, survival, out=earned)
        speed = 1 / best_seconds(step, 5)
        report.at_least(f"fee earned by a day, {name} flows", speed, 1, "m loans/s")
    nothing = np.zeros(MILLION, np.int64)
    plain = portfolio(MILLION, split=False)
    speed = 1 / best_seconds(partial(effective_rates, plain, nothing), 5)
    report.line("effective rates, no fee: nothing to solve", f"{speed:.1f} m loans/s")
