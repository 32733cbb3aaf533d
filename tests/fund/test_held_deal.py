"""A deal that holds loans: what leaves it for another reason than being repaid."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from usance.base.codes import FactKind, FundingModel
from usance.base.dates import to_day
from usance.base.formulas import parse_formula
from usance.books.sample import fact_rows, loan_rows
from usance.fund.deal_file import parse_deal
from usance.fund.deal_terms import DealKind, DealTerms
from usance.fund.held_deal import NO_LOANS, HeldDeal, close_deal, collect, cut_off, pay_collected
from usance.fund.loan_tables import LoanTables
from usance.fund.payment_date import Distribution
from usance.fund.warranties import refused, restated
from usance.loan import Fact, Terms, schedule
from usance.loan.documents.loan import LoanDocument
from usance.loan.facts import canonical_key

CLOSING = date(2024, 3, 1)
PRINCIPAL = 120_000
DEAL: dict[str, Any] = {
    "name": "T1", "closing_on": "2024-03-01", "first_period": "2024-03", "periods": 9,
    "pay_day": 15, "day_count": "actual/365", "status": "amortising",
    "pool": {"balance_minor": 0, "rate_ppm": 120_000, "months": 10, "amortisation": "level"},
    "classes": [{"name": "A", "balance_minor": 0, "rate_ppm": 0}],
    "waterfall": {"amortising": [{"principal": "A"}, {"residual": "A"}]},
}  # fmt: skip


def moment(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC)


def due_on(number: int) -> date:
    return date(2024, 1 + number, 1)


def loan(paid: int, *, booked: dict[int, date] | None = None) -> tuple[Terms, list[Fact]]:
    """A loan of a year from January on, with so many instalments paid on their days."""
    terms = Terms(principal_minor=PRINCIPAL, rate_ppm=120_000, instalments=10,
                  disbursed_on=date(2024, 1, 1), first_due_on=due_on(1))  # fmt: skip
    facts = [Fact(FactKind.DISBURSED, terms.disbursed_on, PRINCIPAL, ref=1,
                  booked_at=moment(terms.disbursed_on))]  # fmt: skip
    for row in schedule(terms)[:paid]:
        on = (booked or {}).get(row.number, row.due_on)
        facts.append(Fact(FactKind.PAID, row.due_on, row.total, ref=1 + row.number,
                          booked_at=moment(on)))  # fmt: skip
    return terms, facts


def tables(*loans: tuple[Terms, list[Fact]]) -> LoanTables:
    ids = [16385 + 16384 * n for n in range(len(loans))]
    given = [(number, FundingModel.ON_BALANCE_SHEET, LoanDocument("", lambda _: "", (terms,)))
             for number, (terms, _) in zip(ids, loans, strict=True)]  # fmt: skip
    facts = [(number, fact) for number, (_, known) in zip(ids, loans, strict=True)
             for fact in sorted(known, key=canonical_key)]  # fmt: skip
    return LoanTables.of(loan_rows(given), fact_rows(facts))


def closed(loans: LoanTables, terms: DealTerms) -> HeldDeal:
    pool = loans.pool(cut_off(parse_deal(json.dumps(DEAL)), 0), moment(CLOSING))
    whole = pool.principal_total_minor
    given = {**DEAL, "pool": {**DEAL["pool"], "balance_minor": whole},
             "classes": [{**DEAL["classes"][0], "balance_minor": whole}]}  # fmt: skip
    return close_deal(parse_deal(json.dumps(given)), terms, pool, moment(CLOSING))


def live(
    held: HeldDeal, loans: LoanTables, dates: int, days: int = 60
) -> tuple[HeldDeal, list[Distribution]]:
    rows = []
    for _ in range(dates):
        assert held.next_on is not None
        known = moment(held.next_on)
        gone = [refused(held, some.pool(day, known)) for some, day in restated(held, loans, known)]
        ineligible = np.sort(np.concatenate([NO_LOANS, *gone]))
        made = collect(held, loans, known, days, ineligible=ineligible)
        paid = pay_collected(held, made, known)
        held = paid.held
        rows.append(paid.row)
    return held, rows


NOT_LATE = DealTerms(eligibility={"not past due": parse_formula("dpd == 0")})


def test_a_loan_that_was_not_eligible_goes_back_at_par_and_accrued() -> None:
    """Its payment of February is reversed in April: it was past due on the eve of the closing."""
    good, (terms, facts) = loan(9), loan(9)
    reversal = Fact(FactKind.REVERSED, date(2024, 4, 20), 0, ref=90, arg=2,
                    booked_at=moment(date(2024, 4, 20)))  # fmt: skip
    loans = tables(good, (terms, [*facts, reversal]))
    held, rows = live(closed(loans, NOT_LATE), loans, 3)
    view = loans.views(date(2024, 4, 30), moment(date(2024, 5, 15)))
    owed, accrued = (int(view.column(name)[1])
                     for name in ("principal_outstanding", "accrued_interest"))  # fmt: skip
    assert owed > 0
    assert accrued > 0
    assert held.bought_out == ((date(2024, 5, 15), owed + accrued),)
    assert held.pool.to_on.tolist() == [-1, to_day(date(2024, 5, 15))]
    assert not held.pool.has_defaulted.any()
    assert [row.flows.defaulted_minor for row in rows] == [0, 0, 0]
    # What it pays from May on is the platform's: the pool is the other loan's principal alone.
    alone, others = live(closed(tables(good), NOT_LATE), tables(good), 3)
    assert rows[2].flows == others[2].flows
    assert rows[2].pool_end_minor == others[2].pool_end_minor
    brought = sum(row.collected_minor for row in rows) - sum(row.collected_minor for row in others)
    own = [row.total for row in schedule(terms)[2:4]]  # due in March and April, both after closing
    assert brought == sum(own) + owed + accrued - schedule(terms)[0].total  # reversed: not received
    assert alone.bought_out == ()


def test_nothing_goes_back_for_what_was_known_or_is_of_later() -> None:
    late = loan(9, booked={4: date(2024, 6, 2)})  # told late, and of after the closing
    loans = tables(loan(9), late)
    held, _ = live(closed(loans, NOT_LATE), loans, 3)
    assert held.bought_out == ()
    assert (held.pool.to_on == -1).all()


def test_a_trust_sells_a_loan_that_its_facts_say_was_bought_out() -> None:
    """Although its borrower pays again before the period ends."""
    terms, facts = loan(2)
    told = Fact(
        FactKind.BOUGHT_OUT, date(2024, 5, 3), 90_000, ref=70, booked_at=moment(date(2024, 5, 3))
    )
    again = Fact(FactKind.PAID, date(2024, 5, 20), sum(row.total for row in schedule(terms)[2:4]),
                 ref=71, booked_at=moment(date(2024, 5, 20)))  # fmt: skip
    loans = tables(loan(9), (terms, [*facts, told, again]))
    for kind, defaulted in ((DealKind.TRUST, 1), (DealKind.PLAN, 0)):
        held, rows = live(closed(loans, DealTerms(kind=kind)), loans, 4, days=90)
        assert int(held.pool.has_defaulted.sum()) == defaulted
        owed = int(loans.views(date(2024, 5, 31)).column("principal_outstanding")[1])
        assert rows[2].flows.defaulted_minor == owed * defaulted
        assert [minor for _, minor in held.bought_out] == [
            rows[2].flows.recovered_minor
        ] * defaulted
        assert (held.pool.to_on >= 0).tolist() == [False, bool(defaulted)]
