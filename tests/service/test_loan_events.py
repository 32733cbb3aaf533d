"""Events of one loan in either form, and looked at again after facts that came late."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.service.test_due_facts import DRAWN, RULES, paid_facts, terms_of
from usance.base.codes import FactKind, FundingModel
from usance.loan import Fact, Terms, replay, start, step
from usance.loan.facts import visible
from usance.loan.loan import Form
from usance.loan.terms import Change
from usance.service import Holders, due_facts
from usance.service.event_review import recomputed_events, review_events
from usance.service.loan_servicing import (
    ClaimHolder,
    DayPart,
    event_of,
    is_made_by_rule,
    loan_events,
    next_ref,
    worst_days_past_due,
)

DAY = timedelta(days=1)
HEAVY = ClaimHolder(FundingModel.CAPITAL_HEAVY, 60)
models = st.sampled_from(list(FundingModel))


def plain(facts: list[Fact]) -> list[tuple[int, ...]]:
    return [(f.kind, f.effective_on.toordinal(), f.amount_minor, f.ref, f.arg) for f in facts]


@settings(max_examples=60, deadline=None)
@given(models, st.integers(1, 200), st.integers(0, 6), st.integers(0, 60), st.integers(0, 260))
@pytest.mark.parametrize("form", ["kernel", "exact"])
def test_one_loan_in_either_form_is_the_column(
    form: Form, model: FundingModel, trigger: int, paid: int, wait: int, length: int
) -> None:
    terms = terms_of(6, "level_daily", flat_fee_minor=120_00)
    facts = paid_facts(terms, paid)
    after = facts[-1].effective_on + wait * DAY
    state = step(start(terms), [facts], after)
    due = due_facts(state, Holders.of([model], [trigger]), RULES, after + length * DAY)
    found = loan_events(
        terms, facts, ClaimHolder(model, trigger), RULES, after, after + length * DAY, form=form
    )
    assert plain(found) == plain(due.of(0))


def rescheduled() -> tuple[list[Terms], list[Fact]]:
    """Two instalments paid, then a longer plan, then nothing more."""
    first = terms_of(6)
    facts = paid_facts(first, 2)
    left = replay(first, facts, date(2024, 3, 10)).view().principal_outstanding
    second = Terms(
        principal_minor=left, rate_ppm=180_000, coupon_ppm=75_000, instalments=12,
        disbursed_on=date(2024, 3, 10), first_due_on=date(2024, 4, 10), terms_no=2,
        change=Change.RESCHEDULED, convention=first.convention,
    )  # fmt: skip
    change = Fact(FactKind.TERMS_CHANGED, date(2024, 3, 10), 0, ref=90, arg=2)
    return [first, second], [*facts, change]


def test_a_rescheduled_loan_that_is_late_is_served_like_any_other() -> None:
    terms, facts = rescheduled()
    found = loan_events(terms, facts, HEAVY, RULES, date(2024, 3, 31), date(2025, 3, 31))
    kinds = [fact.kind for fact in found]
    assert kinds == [FactKind.FEE_CHARGED] * 2 + [FactKind.COMPENSATED, FactKind.CHARGED_OFF]
    fee, _, claim, off = found
    assert fee.effective_on == date(2024, 4, 14)
    assert claim.effective_on == date(2024, 4, 10) + 61 * DAY
    assert off.effective_on == date(2024, 4, 10) + 181 * DAY
    booked = replay(terms, [*facts, *found], off.effective_on).view()
    assert (booked.compensated, booked.charged_off) == (claim.amount_minor, off.amount_minor)
    assert off.amount_minor == booked.principal_outstanding


def test_a_loan_with_paused_interest_is_served_too() -> None:
    terms = terms_of(6)
    pause = Fact(FactKind.INTEREST_PAUSED, date(2024, 2, 5), 0, ref=91,
                 arg=(date(2024, 2, 20) - date(1970, 1, 1)).days)  # fmt: skip
    facts = [*paid_facts(terms, 1), pause]
    found = loan_events(terms, facts, HEAVY, RULES, date(2024, 2, 20), date(2024, 6, 30))
    assert [fact.kind for fact in found][-1] is FactKind.COMPENSATED
    without = loan_events(terms, facts[:-1], HEAVY, RULES, date(2024, 2, 20), date(2024, 6, 30))
    assert found[-1].amount_minor < without[-1].amount_minor
    assert found[-1].effective_on == without[-1].effective_on


def clerk(terms: Terms, facts: list[Fact], holder: ClaimHolder, until: date) -> list[Fact]:
    """Every single day on its own: fees in the morning, payments, claims in the evening."""
    booked, made, day = list[Fact](), list[Fact](), DRAWN
    columns = Holders.of([holder.model], [holder.trigger_days])
    while day <= until:
        for part in (DayPart.MORNING, DayPart.EVENING):
            if part is DayPart.EVENING:
                booked += [fact for fact in facts if fact.effective_on == day]
            if not booked or day == DRAWN:
                continue
            known = visible(booked + made, as_of=day)
            state = step(start(terms), [known], day)
            state.through[:] -= 1
            recovery = any(fact.kind is FactKind.COMPENSATED for fact in known)
            for fact in due_facts(state, columns, RULES, day).of(0):
                early = fact.kind is FactKind.FEE_CHARGED or recovery
                if early == (part is DayPart.MORNING):
                    made.append(fact)
        day += DAY
    return made


lives = st.lists(
    st.tuples(st.integers(20, 260), st.sampled_from([500_00, 1_580_00, 1_580_00, 4_000_00])),
    max_size=5,
)


@settings(max_examples=12, deadline=None)
@given(lives, lives, models)
def test_what_came_late_leaves_the_loan_as_if_it_had_been_known(
    in_time: list[tuple[int, int]], late: list[tuple[int, int]], model: FundingModel
) -> None:
    terms, until, holder = terms_of(6), DRAWN + 280 * DAY, ClaimHolder(model, 60)
    drawn = Fact(FactKind.DISBURSED, DRAWN, terms.principal_minor, ref=1)

    def paid(payments: list[tuple[int, int]], ref: int) -> list[Fact]:
        return [Fact(FactKind.PAID, DRAWN + days * DAY, amount, ref=ref + n)
                for n, (days, amount) in enumerate(payments)]  # fmt: skip

    first, all_of_them = [drawn, *paid(in_time, 10)], [drawn, *paid(in_time, 10), *paid(late, 50)]
    booked = clerk(terms, first, holder, until)
    assert plain(recomputed_events(terms, first, holder, RULES, DRAWN, until)) == plain(booked)
    since = min((fact.effective_on for fact in all_of_them[len(first) :]), default=until)
    review = review_events(terms, [*all_of_them, *booked], holder, RULES, since, until)
    left = {_what(fact) for fact in booked} - {_what(fact) for fact in review.unwarranted}
    left |= {_what(fact) for fact in review.missing}
    assert left == {_what(fact) for fact in clerk(terms, all_of_them, holder, until)}
    refs = {fact.ref for fact in booked}
    assert not refs & {fact.ref for fact in review.missing}


def _what(fact: Fact) -> tuple[int, date, int]:
    return event_of(fact.ref), fact.effective_on, fact.amount_minor


def test_an_event_made_again_after_its_reversal_has_another_reference() -> None:
    terms = terms_of(6)
    facts = paid_facts(terms, 0)
    after, until = date(2024, 1, 31), date(2024, 2, 10)
    (fee,) = loan_events(terms, facts, HEAVY, RULES, after, until)
    undone = Fact(FactKind.REVERSED, until, 0, ref=70, arg=fee.ref)
    (again,) = loan_events(terms, [*facts, fee, undone], HEAVY, RULES, after, until)
    assert again.ref != fee.ref
    assert event_of(again.ref) == event_of(fee.ref)
    assert is_made_by_rule(again)
    assert next_ref(fee.ref, [fee.ref, again.ref]) not in (fee.ref, again.ref)


def test_worst_days_are_those_of_the_worst_evening() -> None:
    terms = terms_of(6)
    late = Fact(FactKind.PAID, date(2024, 2, 25), 1_580_00, ref=20)
    facts = [*paid_facts(terms, 0), late]
    first, last = date(2024, 1, 1), date(2024, 3, 20)
    day, worst = first, 0
    while day <= last:
        worst = max(worst, replay(terms, facts, day).view().days_past_due)
        day += DAY
    assert worst_days_past_due(terms, facts, first, last) == worst > 20
