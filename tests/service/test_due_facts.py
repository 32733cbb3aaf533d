"""What falls due by rule, against a day-by-day look at the exact form."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from usance.base.codes import FactKind, Fee, FundingModel
from usance.base.money import half_up
from usance.loan import CONVENTIONS, Fact, TermColumns, Terms, replay, start, step
from usance.loan.batch import States
from usance.loan.errors import KernelRange
from usance.loan.facts import visible
from usance.service import Holders, ServicingRules, due_facts

DAY = timedelta(days=1)
RULES = ServicingRules.at(date(2024, 1, 1))
DRAWN = date(2023, 12, 31)


def terms_of(
    instalments: int = 6, convention: str = "level_monthly", flat_fee_minor: int = 0
) -> Terms:
    return Terms(
        principal_minor=9_000_00, rate_ppm=180_000, coupon_ppm=75_000, instalments=instalments,
        disbursed_on=DRAWN, first_due_on=date(2024, 1, 31), convention=CONVENTIONS[convention],
        flat_fee_minor=flat_fee_minor,
    )  # fmt: skip


def paid_facts(terms: Terms, count: int) -> list[Fact]:
    """Drawn, and the first instalments paid on their days."""
    facts = [Fact(FactKind.DISBURSED, DRAWN, terms.principal_minor, ref=1)]
    rows = replay(terms, facts, DRAWN, form="exact").rows()
    return facts + [
        Fact(FactKind.PAID, row.due_on, row.due.total, ref=10 + n)
        for n, row in enumerate(rows[:count])
    ]


def expected(
    terms: Terms, facts: list[Fact], model: FundingModel, trigger: int, after: date, until: date
) -> list[tuple[FactKind, date, int]]:
    """Day by day, what an attentive clerk would book; the loan is looked at from outside."""
    found: list[tuple[FactKind, date, int]] = []
    booked = list(facts)
    day = after + DAY
    while day <= until:
        eve = replay(terms, booked, day - DAY, form="exact")
        state = eve.view()
        claimed = any(kind is not FactKind.FEE_CHARGED for kind, _, _ in found)
        today: list[tuple[FactKind, date, int]] = []
        passed = replay(terms, booked, day, form="exact").view().days_past_due
        owed = state.principal_outstanding
        limits = {FundingModel.CAPITAL_HEAVY: trigger, FundingModel.ON_BALANCE_SHEET: trigger}
        claims_today = passed == limits.get(model, 10_000) + 1 and not claimed
        if not claimed and not claims_today and passed <= RULES.charge_off_days:
            for row in eve.rows():
                if row.due_on + (RULES.grace_days + 1) * DAY == day and row.outstanding.total:
                    fee = half_up(row.outstanding.total * RULES.late_fee_ppm, 1_000_000)
                    today.append((FactKind.FEE_CHARGED, day, fee))
        if claims_today and passed <= RULES.charge_off_days:
            if model is FundingModel.CAPITAL_HEAVY:
                today.append((FactKind.COMPENSATED, day, owed + state.past_due.interest))
            else:
                today.append((FactKind.BOUGHT_OUT, day, owed))
        if passed == RULES.charge_off_days + 1:
            today.append((FactKind.CHARGED_OFF, day, owed))
        found += today
        booked += [Fact(kind, day, amount, ref=1_000 + len(booked) + n, arg=1)
                   for n, (kind, day, amount) in enumerate(today)]  # fmt: skip
        if found and found[-1][0] is FactKind.CHARGED_OFF:
            break
        day += DAY
    return found


def got(
    terms: Terms, facts: list[Fact], model: FundingModel, trigger: int, after: date, until: date
) -> list[tuple[FactKind, date, int]]:
    state = step(start(terms), [visible(facts, as_of=after)], after)
    due = due_facts(state, Holders.of([model], [trigger]), RULES, until)
    return [(fact.kind, fact.effective_on, fact.amount_minor) for fact in due.of(0)]


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(list(FundingModel)),
    st.integers(0, 4),
    st.integers(1, 6),
    st.sampled_from(["level_monthly", "equal_principal_daily"]),
    st.sampled_from([30, 60, 90, 179, 180]),
    st.integers(0, 40),
    st.integers(1, 230),
)
def test_it_is_what_a_clerk_books_day_by_day(
    model: FundingModel,
    paid: int,
    instalments: int,
    convention: str,
    trigger: int,
    later: int,
    days: int,
) -> None:
    terms = terms_of(max(instalments, 1), convention, flat_fee_minor=120_00)
    facts = paid_facts(terms, min(paid, instalments))
    after = facts[-1].effective_on + later * DAY
    until = after + days * DAY
    assert got(terms, facts, model, trigger, after, until) == expected(
        terms, facts, model, trigger, after, until
    )


def test_the_worked_loans_come_out() -> None:
    """A2 is compensated on 31 May, B2 bought out on 30 April and charged off on 28 August.

    The coupon of A2 is 45.00 with every instalment in the worked loans; on the balance, the two
    instalments that are overdue on day 60 have 30.00 and 22.50.
    """
    heavy = Terms(
        principal_minor=9_000_00, rate_ppm=60_000, instalments=6, disbursed_on=DRAWN,
        first_due_on=date(2024, 1, 31), convention=CONVENTIONS["equal_principal_monthly"],
        flat_fee_minor=381_60, guarantee_fee_minor=254_40,
    )  # fmt: skip
    facts = paid_facts(heavy, 2)
    found = got(heavy, facts, FundingModel.CAPITAL_HEAVY, 60, date(2024, 2, 29), date(2024, 9, 30))
    assert (FactKind.COMPENSATED, date(2024, 5, 31), 6_052_50) in found
    own = heavy.changed(rate_ppm=180_000, coupon_ppm=180_000, flat_fee_minor=0,
                        guarantee_fee_minor=0)  # fmt: skip
    facts = paid_facts(own, 1)
    found = got(
        own, facts, FundingModel.ON_BALANCE_SHEET, 60, date(2024, 1, 31), date(2024, 12, 31)
    )
    assert (FactKind.BOUGHT_OUT, date(2024, 4, 30), 7_500_00) in found
    assert found[-1] == (FactKind.CHARGED_OFF, date(2024, 8, 28), 7_500_00)


def test_spans_one_after_the_other_give_what_one_span_gives() -> None:
    terms = terms_of()
    facts, after = paid_facts(terms, 1), date(2024, 1, 31)
    whole = got(terms, facts, FundingModel.CAPITAL_HEAVY, 60, after, date(2024, 12, 31))
    parts: list[tuple[FactKind, date, int]] = []
    for until in (date(2024, 3, 4), date(2024, 3, 5), date(2024, 5, 31), date(2024, 12, 31)):
        known = facts + [Fact(kind, day, minor, ref=100 + n, arg=int(Fee.LATE_FEE))
                         for n, (kind, day, minor) in enumerate(parts)]  # fmt: skip
        parts += got(terms, known, FundingModel.CAPITAL_HEAVY, 60, after, until)
        after = until
    assert parts == whole


def test_references_are_unique_and_facts_fold() -> None:
    terms = terms_of()
    facts = paid_facts(terms, 1)
    state = step(start(terms), [facts], date(2024, 1, 31))
    due = due_facts(
        state, Holders.of([FundingModel.CAPITAL_HEAVY], [60]), RULES, date(2024, 12, 31)
    )
    later = due.of(0)
    assert len({fact.ref for fact in later}) == len(later) == 4
    view = replay(terms, [*facts, *later], date(2024, 12, 31), form="exact").view()
    assert view.status.label == "charged_off"
    assert view.compensated == sum(f.amount_minor for f in later if f.kind is FactKind.COMPENSATED)


def test_a_column_is_its_loans_one_by_one() -> None:
    loans = [terms_of(n, flat_fee_minor=n * 100) for n in range(1, 7)]
    facts = [paid_facts(terms, n // 2) for n, terms in enumerate(loans)]
    models = [FundingModel(n % 5) for n in range(6)]
    states = step(start(TermColumns.of(loans)), facts, date(2024, 4, 30))
    through = States(states.terms, states.values, states.through)
    due = due_facts(through, Holders.of(models, [60] * 6), RULES, date(2024, 12, 31), workers=2)
    for row, terms in enumerate(loans):
        alone = got(terms, facts[row], models[row], 60, date(2024, 4, 30), date(2024, 12, 31))
        assert [(f.kind, f.effective_on, f.amount_minor) for f in due.of(row)] == alone


def test_holders_must_be_as_many_as_loans() -> None:
    state = step(start(terms_of()), [paid_facts(terms_of(), 1)], date(2024, 1, 31))
    with pytest.raises(KernelRange, match="2 holders and 1 loans"):
        due_facts(state, Holders.of([FundingModel.ICE] * 2, [60] * 2), RULES, date(2024, 12, 31))
