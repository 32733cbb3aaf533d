"""Tape and dues made by columns against the exact form, loan by loan and day by day."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from tests.measure.portfolios import facts_table, loans_table, plain_terms, random_portfolio
from usance.base.codes import FactKind, Status
from usance.base.columns import sort
from usance.base.dates import last_of_month, to_day, to_month
from usance.base.errors import SchemaError
from usance.base.tables import table
from usance.loan import Fact, Loan, LoanView, Terms, replay
from usance.measure.book_tape import cells_of_loans, cells_table, dues_between, tape_month
from usance.measure.drill import loans_behind
from usance.measure.inputs import Inputs
from usance.measure.positions import Portfolio

DAY = timedelta(days=1)


class Exact:
    """One loan, asked day by day of the exact form."""

    def __init__(self, versions: list[Terms], facts: list[Fact]) -> None:
        self.versions, self.facts, self.terms = versions, facts, versions[0]
        self.on = cache(self._on)

    def _on(self, day: date) -> LoanView:
        return replay(self.versions, self.facts, day, form="exact").view()

    def _without(self, day: date) -> Loan:
        """The loan on a day as if nothing but its disbursement happened on that day."""
        facts = [f for f in self.facts if f.effective_on < day or f.kind == FactKind.DISBURSED]
        return replay(self.versions, facts, day, form="exact")

    def row(self, month: int) -> dict[str, int] | None:
        """The loan's row of the tape, or None if it has none."""
        end, before = last_of_month(month), last_of_month(month - 1)
        if end < self.terms.disbursed_on:
            return None
        now, prev = self.on(end), self.on(before)
        if (now.disbursed == 0) or (prev.disbursed and prev.status == now.status == Status.CLOSED):
            return None
        late = now.days_past_due > 0 or now.status == Status.CHARGED_OFF
        days = (end - self.terms.disbursed_on).days
        worst = late and max(
            self.on(self.terms.disbursed_on + DAY * n).days_past_due for n in range(days + 1)
        )
        owed = now.principal_outstanding
        return {
            "mob": month - to_month(self.terms.disbursed_on), "dpd": now.days_past_due,
            "bucket": _bucket(now), "bucket_prev": _bucket(prev) if prev.disbursed else -1,
            "status": int(now.status), "principal_minor": owed,
            "principal_prev_minor": prev.principal_outstanding if prev.disbursed else 0,
            "past_due_minor": now.past_due.total, "net30_minor": owed if worst > 30 else 0,
            "net180_minor": owed if worst > 180 else 0, "prepaid_minor": self._prepaid(month),
            "recovered_minor": now.recovered - prev.recovered,
        }  # fmt: skip

    def _prepaid(self, month: int) -> int:
        total, day = 0, last_of_month(month - 1) + DAY
        while day <= last_of_month(month):
            if any(f.kind == FactKind.PAID and f.effective_on == day for f in self.facts):
                due = self._without(day).view().due.principal
                total += max(
                    0, self.on(day).paid.principal - max(self.on(day - DAY).paid.principal, due)
                )
            day += DAY
        return total

    def dues(self, first: date, last: date, as_of: date) -> Counter[tuple[date, str]]:
        """The amounts this loan adds to the sums of each day."""
        sums: Counter[tuple[date, str]] = Counter()
        drawn, over = self.terms.disbursed_on, min(last, as_of)
        days = [drawn + DAY * n for n in range((over - drawn).days + 1)]
        rows = [row for day in days for row in self._without(day).rows() if row.due_on == day]
        for number, row in enumerate(rows):
            day, principal = row.due_on, row.due.principal
            if day < first:
                continue
            eve, then = self.on(day - DAY), self.on(day)
            later = self.on(min(day + 30 * DAY, as_of))
            overdue_before = eve.past_due.total - eve.past_due.penalty
            if overdue_before == 0 and not (eve.disbursed and eve.next_due_on is None):
                overdue = min(principal, then.past_due.principal)
                waived = max(0, later.waived.principal - then.waived.principal)
                paid = max(0, later.paid.principal - then.paid.principal)
                sums[day, "due_minor"] += principal
                sums[day, "overdue_minor"] += overdue
                sums[day, "collected30_minor"] += min(overdue - min(overdue, waived), paid)
            if number == 0:
                sums[day, "first_minor"] += self.terms.principal_minor
                for span in (7, 30):
                    if self.on(min(day + span * DAY, as_of)).instalments_paid == 0:
                        sums[day, f"first_unpaid{span}_minor"] += self.terms.principal_minor
        return +sums


def _bucket(view: LoanView) -> int:
    return 7 if view.status == Status.CHARGED_OFF else min(7, (view.days_past_due + 29) // 30)


def portfolio_of(
    terms: dict[int, list[Terms]], facts: dict[int, list[Fact]]
) -> tuple[Portfolio, pa.Table]:
    """The portfolio and its cells, of three sources."""
    longest = max(map(len, terms.values()))
    tables = [
        loans_table(
            (some := {loan: each[place] for loan, each in terms.items() if len(each) > place}),
            source=[loan % 3 for loan in sorted(some)], terms_no=[place + 1] * len(some),
        )
        for place in range(longest)
    ]  # fmt: skip
    loans = sort(pa.concat_tables(tables), table("loans"))
    return Portfolio.of(loans, facts_table(facts)), cells_table(loans)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("changes", [False, True])
def test_the_tape_is_what_the_exact_form_says(seed: int, changes: bool) -> None:
    versions, facts = random_portfolio(seed, 40, changes=changes)
    portfolio, cells = portfolio_of(versions, facts)
    assert bool(portfolio.changed) == changes
    terms = {loan: each[0] for loan, each in versions.items()}
    exact = {loan: Exact(versions[loan], facts[loan]) for loan in terms}
    first = to_month(date(2024, 1, 1))
    for month in (first, first + 2, first + 4, first + 7, first + 11):
        made = tape_month(portfolio, month, cells).to_pylist()
        wanted = {loan: row for loan in terms if (row := exact[loan].row(month)) is not None}
        assert [row["loan_id"] for row in made] == sorted(wanted)
        for row in made:
            assert {name: row[name] for name in wanted[row["loan_id"]]} == wanted[row["loan_id"]]
            assert row["cohort"] == to_month(terms[row["loan_id"]].disbursed_on)
            assert row["cell"] == row["loan_id"] % 3 + 1


def test_a_tape_has_no_gaps_and_ends_with_zeros() -> None:
    terms = {16385: plain_terms(date(2024, 1, 10), months=2)}
    facts = {
        16385: [
            Fact(FactKind.DISBURSED, date(2024, 1, 10), 9_000_00, ref=1),
            Fact(FactKind.PAID, date(2024, 4, 25), 10_000_00, ref=2),
        ]
    }
    loans = loans_table(terms)
    portfolio = Portfolio.of(loans, facts_table(facts))
    months = range(to_month(date(2023, 12, 1)), to_month(date(2024, 7, 1)))
    rows = [row for month in months
            for row in tape_month(portfolio, month, cells_table(loans)).to_pylist()]  # fmt: skip
    assert [row["mob"] for row in rows] == [0, 1, 2, 3]
    assert [row["bucket_prev"] for row in rows] == [-1, 0, 1, 2]
    # 19 days late at the end of February, 50 at that of March, settled in April.
    assert [row["net30_minor"] > 0 for row in rows] == [False, False, True, False]
    assert rows[-1]["principal_minor"] == 0
    assert rows[-1]["status"] == Status.CLOSED


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("changes", [False, True])
def test_dues_are_what_the_exact_form_says(seed: int, changes: bool) -> None:
    versions, facts = random_portfolio(seed + 50, 25, changes=changes)
    portfolio, cells = portfolio_of(versions, facts)
    first, last, as_of = date(2024, 2, 1), date(2024, 6, 30), date(2024, 7, 10)
    made = dues_between(portfolio, first, last, cells, as_of).to_pylist()
    sums: Counter[tuple[date, str]] = Counter()
    for loan in versions:
        sums += Exact(versions[loan], facts[loan]).dues(first, last, as_of)
    found: Counter[tuple[date, str]] = Counter()
    for row in made:
        amounts = {name: value for name, value in row.items() if name.endswith("_minor")}
        found.update({(row["due_on"], name): value for name, value in amounts.items()})
    assert +found == sums


def test_a_loan_without_a_cell_is_refused() -> None:
    loans = loans_table({16385: plain_terms(date(2024, 1, 10))}, source=[4])
    others = cells_table(loans_table({16385: plain_terms(date(2024, 1, 10))}))
    columns = {name: np.array([value]) for name, value in (("model", 0), ("product", 1))}
    with pytest.raises(SchemaError, match="no cell"):
        cells_of_loans(columns | {"source": np.array([4])}, others)
    assert to_day(loans.column("disbursed_on")[0].as_py()) == to_day(date(2024, 1, 10))


@pytest.mark.parametrize("seed", range(2))
def test_the_loans_behind_the_dues_add_up_to_them(seed: int) -> None:
    versions, facts = random_portfolio(seed, 40)
    portfolio, cells = portfolio_of(versions, facts)
    tables = {
        "loans": loans_table(
            {loan: each[0] for loan, each in versions.items()},
            source=[loan % 3 for loan in sorted(versions)],
        ),
        "facts": facts_table(facts), "cells": cells,
    }  # fmt: skip
    first, as_of = date(2023, 1, 1), date(2025, 12, 31)
    dues = dues_between(portfolio, first, as_of, cells, as_of)
    names, rows = loans_behind(
        Inputs.of_tables(tables), dues.column_names,
        [tuple(row.values()) for row in dues.to_pylist()][:30], as_of,
    )  # fmt: skip
    assert "loan_id" in names
    sums: Counter[tuple[object, ...]] = Counter()
    for row in rows:
        told = dict(zip(names, row, strict=True))
        sums.update(
            {(told["due_on"], told["cell"], name): told[name] for name in names if "_minor" in name}
        )
    expected = {
        (row["due_on"], row["cell"], name): value
        for row in dues.to_pylist()[:30]
        for name, value in row.items()
        if name.endswith("_minor") and value
    }
    assert expected == {key: value for key, value in sums.items() if value}
