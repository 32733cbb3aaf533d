"""Properties of any terms and any history in the exact form."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.loan.cases import Event, History, Move, histogram, random_case
from tests.loan.strategies import any_histories, any_terms, own_histories, own_terms
from usance.base.codes import FactKind, Status
from usance.base.dates import from_day
from usance.loan.exact.history import ExactLoan, replay
from usance.loan.exact.plan import schedule
from usance.loan.facts import Fact
from usance.loan.terms import Terms
from usance.loan.views import ComponentAmounts

CASH_IN = (FactKind.PAID, FactKind.RECOVERED)
CASH_OUT = (FactKind.REFUNDED, FactKind.CHARGED_BACK)


def by_component(parts: ComponentAmounts) -> list[int]:
    return [parts.principal, parts.interest, parts.guarantee_fee, parts.service_fee, parts.penalty]


def check_plan(terms: Terms) -> None:
    rows = schedule(terms)
    assert sum(row.principal for row in rows) == terms.principal_minor
    assert rows[-1].balance == 0
    assert all(min(r.principal, r.interest, r.guarantee_fee, r.service_fee) >= 0 for r in rows)
    assert all(row.balance >= 0 for row in rows)
    assert [row.due_on for row in rows] == sorted(row.due_on for row in rows)
    assert rows[0].number == (0 if terms.down_payment_minor else 1)
    assert rows[-1].number == terms.instalments
    if not terms.percent_fees and not terms.tranches:
        assert sum(row.guarantee_fee for row in rows) == terms.guarantee_fee_minor


def check_loan(loan: ExactLoan, facts: list[Fact]) -> None:
    """Money in equals money allocated; nothing is negative; rows agree with the view."""
    view, rows, state = loan.view(), loan.rows(), loan.state
    seen = [fact for fact in facts if fact.effective_on <= loan.as_of]
    money = sum(fact.amount_minor for fact in seen if fact.kind in CASH_IN)
    money -= sum(fact.amount_minor for fact in seen if fact.kind in CASH_OUT)
    assert view.paid.total + view.overpaid == money
    for parts in (view.due, view.past_due, view.paid, view.waived):
        assert min(by_component(parts)) >= 0
    for amount in (view.principal_outstanding, view.settlement, view.overpaid, view.next_due):
        assert amount >= 0
    for row in state.rows:
        assert all(0 <= paid <= due for paid, due in zip(row.covered, row.due, strict=True))
    for index in range(4):
        covered = by_component(view.paid)[index] + by_component(view.waived)[index]
        assert sum(by_component(row.paid)[index] for row in rows) == covered
        if not state.settled:
            open_now = [row for row in rows if row.due_on <= loan.as_of]
            assert by_component(view.due)[index] == sum(
                by_component(r.due)[index] for r in open_now
            )
            owed = sum(by_component(row.outstanding)[index] for row in open_now)
            assert by_component(view.past_due)[index] == owed
    if not state.settled:
        assert sum(row.due.principal for row in rows) == view.disbursed
    assert view.interest_earned - view.accrued_interest <= view.paid.interest + view.waived.interest
    assert (view.status is Status.CLOSED) == (state.settled and not view.past_due.penalty)


def asked(history: History, days: int) -> ExactLoan:
    return replay(history.versions, history.facts, from_day(history.day + days))


@given(own_terms())
def test_own_plans(terms: Terms) -> None:
    check_plan(terms)


@given(any_terms())
def test_any_plan(terms: Terms) -> None:
    check_plan(terms)


@given(own_histories(), st.integers(0, 400))
def test_own_histories(history: History, days: int) -> None:
    check_loan(asked(history, days), history.facts)


@given(any_histories(), st.integers(0, 400))
def test_any_history(history: History, days: int) -> None:
    check_loan(asked(history, days), history.facts)


@given(any_histories(), st.integers(0, 700))
def test_any_day_of_any_history(history: History, days: int) -> None:
    day = history.versions[0].disbursed_on + timedelta(days)
    check_loan(replay(history.versions, history.facts, day), history.facts)


@given(any_histories(), st.integers(0, 90))
def test_the_settlement_settles(history: History, days: int) -> None:
    history.play(Move(days, Event.SETTLE, 0))
    view = asked(history, 500).view()
    assert view.settlement == 0
    assert view.status is Status.CLOSED
    assert view.principal_outstanding == 0


@given(any_histories(), st.integers(0, 90))
def test_one_unit_less_does_not_settle(history: History, days: int) -> None:
    was_settled = history.state.settled
    history.play(Move(days, Event.PAY_ALMOST, 0))
    today = from_day(history.day).toordinal()
    if was_settled or "reduce" in history.state.terms.convention.early.value:
        return  # a plan made anew on the day may round a unit of accrued interest away
    assert not history.state.settled
    assert history.state.settlement(today) >= 1


@given(any_histories(), st.randoms(use_true_random=False), st.integers(0, 400))
def test_the_order_of_arrival_decides_nothing(history: History, draw: Random, days: int) -> None:
    shuffled = history.facts.copy()
    draw.shuffle(shuffled)
    day = from_day(history.day + days)
    one = replay(history.versions, history.facts, day)
    other = replay(history.versions, shuffled, day)
    assert one.view() == other.view()
    assert one.rows() == other.rows()


@given(any_histories(), st.integers(1, 10**6), st.integers(0, 400), st.integers(-9, 400))
def test_a_reversed_fact_never_happened(
    history: History, amount: int, days: int, offset: int
) -> None:
    first = history.versions[0].disbursed_on
    wrong = Fact(FactKind.PAID, first + timedelta(offset), amount, ref=10_000)
    undone = Fact(FactKind.REVERSED, first + timedelta(days), 0, ref=10_001, arg=10_000)
    day = from_day(history.day + days)
    plain = replay(history.versions, history.facts, day)
    both = replay(history.versions, [undone, *history.facts, wrong], day)
    assert plain.view() == both.view()
    assert plain.rows() == both.rows()


@given(any_histories(), st.integers(0, 700))
def test_later_facts_do_not_matter(history: History, days: int) -> None:
    day = history.versions[0].disbursed_on + timedelta(days)
    known = [fact for fact in history.facts if fact.effective_on <= day]
    assert (
        replay(history.versions, known, day).view()
        == replay(history.versions, history.facts, day).view()
    )


def test_the_effective_order_decides() -> None:
    """Money before a penalty goes to the coming instalment, money after it to the penalty."""
    terms = Terms(principal_minor=1_000_00, rate_ppm=100_000, instalments=3,
                  disbursed_on=date(2024, 1, 1), first_due_on=date(2024, 2, 1))  # fmt: skip
    drawn = Fact(FactKind.DISBURSED, date(2024, 1, 1), 1_000_00, 1)
    fee = Fact(FactKind.FEE_CHARGED, date(2024, 1, 10), 5_00, 2)
    before = replay(
        terms, [fee, Fact(FactKind.PAID, date(2024, 1, 9), 5_00, 3), drawn], date(2024, 2, 1)
    )
    after = replay(
        terms, [fee, Fact(FactKind.PAID, date(2024, 1, 11), 5_00, 3), drawn], date(2024, 2, 1)
    )
    assert (before.view().paid.penalty, after.view().paid.penalty) == (0, 5_00)


def test_seeded_cases_hold_what_any_history_holds() -> None:
    for seed in range(3_000):
        terms, facts, as_of = random_case(seed)
        gone = {fact.arg for fact in facts if fact.kind == FactKind.REVERSED}
        check_plan(terms)
        check_loan(replay(terms, facts, as_of), [fact for fact in facts if fact.ref not in gone])


def test_seeded_cases_have_something_of_everything() -> None:
    found = histogram(range(1_500))
    rare = {name: count for name, count in found.items() if count < 15}
    assert not rare
    assert len(found) >= 40
