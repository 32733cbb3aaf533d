"""Plans against the loan's own replay: nothing is cured in silence, settlement settles exactly."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.codes import FactKind, Status
from usance.base.errors import UsanceError
from usance.loan import Fact, Terms, replay
from usance.service import (
    Complaint,
    ComplaintDeadlines,
    ComplaintRefused,
    HelpedLoan,
    PlanKind,
    PlanRefused,
    PlanRequest,
    offer_plan,
    withdraw,
)
from usance.service.help.complaints import acknowledged, answered, due_on, is_overdue
from usance.service.help.plan_rules import parse_rules
from usance.service.help.withdrawal import cooling_off_days

TERMS = Terms(principal_minor=9_000_00, rate_ppm=180_000, instalments=12,
              disbursed_on=date(2024, 1, 15), first_due_on=date(2024, 2, 15))  # fmt: skip
LEVEL = 825_12
REQUESTS = {
    PlanKind.DEFERRAL: PlanRequest(PlanKind.DEFERRAL, months=2),
    PlanKind.LONGER_TERM: PlanRequest(PlanKind.LONGER_TERM, months=6),
    PlanKind.LOWER_RATE: PlanRequest(PlanKind.LOWER_RATE, rate_ppm=120_000),
    PlanKind.INTEREST_PAUSE: PlanRequest(PlanKind.INTEREST_PAUSE, pause_days=40),
    PlanKind.SETTLEMENT: PlanRequest(PlanKind.SETTLEMENT, discount_ppm=300_000),
    PlanKind.RE_AGEING: PlanRequest(PlanKind.RE_AGEING),
}
ANYBODY = parse_rules(
    "valid_from: 2018-01-01\nsource: test\nauthority: {lead: 100%}\nplans:\n"
    + "".join(
        f"  - {{plan: {kind.value}, days_past_due_to: 9999, instalments_paid_from: 0, "
        f"plans_before_to: 9, most: {most}}}\n"
        for kind in PlanKind
        for most in ["90%" if kind.value in ("lower_rate", "settlement") else 99]
    ),
    "rules.yaml",
)


def loan(paid: int) -> HelpedLoan:
    facts = [Fact(FactKind.DISBURSED, date(2024, 1, 15), 9_000_00, ref=1)]
    facts += [Fact(FactKind.PAID, date(2024, 2 + n, 15), LEVEL, ref=2 + n) for n in range(paid)]
    return HelpedLoan((TERMS,), tuple(facts))


@given(st.sampled_from(list(PlanKind)), st.integers(0, 5), st.integers(1, 300))
def test_a_plan_never_lowers_days_past_due(kind: PlanKind, paid: int, after: int) -> None:
    on = date(2024, 2 + paid, 15) + timedelta(days=after)
    given_loan = loan(paid)
    before = replay(given_loan.terms, given_loan.facts, on).view()
    offer = offer_plan(given_loan, on, REQUESTS[kind], role="lead", rules=ANYBODY)
    assert offer.before.days_past_due == before.days_past_due
    changed = replay(given_loan.terms + offer.terms, given_loan.facts + offer.facts, on).view()
    if kind is PlanKind.SETTLEMENT:
        assert changed.status is Status.CLOSED
        assert changed.settlement == 0
        assert offer.after.to_pay_minor == 0
        # Paid and waived settle the loan together, but for a day's interest on the waiver.
        waived = sum(fact.amount_minor for fact in offer.facts if fact.kind is FactKind.WAIVED)
        assert waived == before.settlement * 300_000 // 1_000_000
        a_day = waived * 18 // (100 * 28 * 12) + 1
        assert 0 <= before.settlement - waived - offer.pay_minor <= a_day
        assert changed.interest_earned <= before.interest_earned
    else:
        assert offer.after.days_past_due == before.days_past_due
        assert changed.days_past_due == before.days_past_due
        assert changed.principal_outstanding == before.principal_outstanding
        later = on + timedelta(days=20)
        if before.days_past_due and kind is not PlanKind.INTEREST_PAUSE:
            aged = replay(given_loan.terms + offer.terms, given_loan.facts + offer.facts, later)
            assert aged.view().days_past_due == before.days_past_due + 20


@pytest.mark.parametrize(
    ("kind", "cheaper", "longer"),
    [(PlanKind.DEFERRAL, False, True), (PlanKind.LONGER_TERM, False, True),
     (PlanKind.INTEREST_PAUSE, True, False)],
)  # fmt: skip
def test_cost_and_end_move_as_the_plan_says(kind: PlanKind, cheaper: bool, longer: bool) -> None:
    offer = offer_plan(loan(2), date(2024, 4, 1), REQUESTS[kind], role="lead", rules=ANYBODY)
    assert (offer.added_cost_minor < 0) is cheaper
    assert offer.after.last_due_on is not None
    assert offer.before.last_due_on is not None
    assert (offer.after.last_due_on > offer.before.last_due_on) is longer


@pytest.mark.parametrize(
    ("paid", "on", "request_", "role", "what"),
    [
        (0, date(2024, 2, 1), REQUESTS[PlanKind.DEFERRAL], "team_lead", "0 instalments were paid"),
        (1, date(2024, 7, 1), REQUESTS[PlanKind.DEFERRAL], "team_lead", "108 days past due"),
        (1, date(2024, 3, 1), REQUESTS[PlanKind.DEFERRAL], "collector", "collector may grant 1"),
        (1, date(2024, 3, 1), PlanRequest(PlanKind.DEFERRAL, months=4), "team_lead", "1 to 3"),
        (1, date(2024, 3, 1), PlanRequest(PlanKind.DEFERRAL), "team_lead", "0 is asked for"),
        (1, date(2024, 4, 1), PlanRequest(PlanKind.LOWER_RATE, rate_ppm=200_000), "team_lead",
         "200000 is not lower than 180000"),
        (1, date(2024, 3, 1), REQUESTS[PlanKind.DEFERRAL], "cook", "unknown role"),
    ],
)  # fmt: skip
def test_what_the_rules_do_not_allow_is_refused(
    paid: int, on: date, request_: PlanRequest, role: str, what: str
) -> None:
    with pytest.raises(UsanceError, match=what):
        offer_plan(loan(paid), on, request_, role=role)


def test_a_second_re_ageing_is_refused() -> None:
    again = loan(3)._replace(plans_before=1)
    with pytest.raises(PlanRefused, match="had 1 plans before"):
        offer_plan(again, date(2024, 6, 1), REQUESTS[PlanKind.RE_AGEING], role="team_lead")


def test_rules_without_a_plan_or_with_an_empty_span_are_refused_with_their_line() -> None:
    text = ("valid_from: 2018-01-01\nsource: test\nauthority: {lead: 100%}\nplans:\n"
            "  - {plan: deferral, days_past_due_from: 9, days_past_due_to: 3, "
            "instalments_paid_from: 0, plans_before_to: 1, most: 3}\n")  # fmt: skip
    with pytest.raises(UsanceError, match=r"rules.yaml line 5.*9 to 3") as found:
        parse_rules(text, "rules.yaml")
    assert "no rule for longer_term" in str(found.value)


def test_withdrawal_ends_with_its_days_and_needs_the_right() -> None:
    facts = loan(0).facts
    assert withdraw([TERMS], facts, date(2024, 1, 29), cooling_off_days=14).interest_minor > 0
    with pytest.raises(PlanRefused, match="last day was 2024-01-29"):
        withdraw([TERMS], facts, date(2024, 1, 30), cooling_off_days=14)
    with pytest.raises(PlanRefused, match="no right"):
        withdraw(
            [TERMS], facts, date(2024, 1, 15), cooling_off_days=cooling_off_days(date(2024, 1, 15))
        )


def test_a_complaint_has_two_deadlines_and_two_steps() -> None:
    deadlines = ComplaintDeadlines(5, 30)
    new = Complaint(7, "amount", date(2024, 7, 1), against="bo")
    heard = acknowledged(new, date(2024, 7, 6))
    done = answered(heard, date(2024, 7, 31), by="cy", answer="The fee was returned.")
    assert not is_overdue(new, date(2024, 7, 6), deadlines)
    assert is_overdue(new, date(2024, 7, 7), deadlines)
    assert not is_overdue(heard, date(2024, 7, 31), deadlines)
    assert is_overdue(heard, date(2024, 8, 1), deadlines)
    assert due_on(done, deadlines) is None
    with pytest.raises(ComplaintRefused, match="acknowledged already"):
        acknowledged(heard, date(2024, 7, 7))
    for complaint, by, answer in ((done, "cy", "again"), (heard, "bo", "no"), (heard, "cy", " ")):
        with pytest.raises(ComplaintRefused):
            answered(complaint, date(2024, 8, 1), by=by, answer=answer)
