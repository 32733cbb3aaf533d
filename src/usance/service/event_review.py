"""Servicing events looked at again after a fact that came late.

A payment or reversal booked today for an earlier day may leave fees, a compensation or a charge-off
that were never warranted, or call for some that were not made. `review_events` serves the loan
again from that day, as every day would have gone had the fact been known, and compares. Fees that
were not warranted are reversed; a claim that was not is a correction for people; fees that are
missing in the past are let go.

>>> from datetime import date
>>> from usance.base.codes import FactKind, FundingModel
>>> terms = Terms(
...     principal_minor=9_000_00, rate_ppm=60_000, instalments=6,
...     disbursed_on=date(2023, 12, 31), first_due_on=date(2024, 1, 31),
... )  # fmt: skip
>>> drawn = Fact(FactKind.DISBURSED, date(2023, 12, 31), 9_000_00, ref=1)
>>> heavy, rules = ClaimHolder(FundingModel.CAPITAL_HEAVY, 60), ServicingRules(3, 10_000, 180)
>>> fees = loan_events(terms, [drawn], heavy, rules, date(2024, 1, 31), date(2024, 2, 10))
>>> paid = Fact(FactKind.PAID, date(2024, 1, 31), 1_526_36, ref=2)
>>> review = review_events(terms, [drawn, *fees, paid], heavy, rules, paid.effective_on,
...                        date(2024, 2, 10))  # fmt: skip
>>> [fact.kind.label for fact in review.unwarranted], review.missing
(['fee_charged'], ())
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from usance.loan.facts import Fact, visible
from usance.loan.terms import Terms
from usance.service.loan_servicing import (
    ClaimHolder,
    DayPart,
    event_of,
    is_made_by_rule,
    loan_events,
    next_ref,
)
from usance.service.servicing_rules import ServicingRules

_DAY = timedelta(days=1)


class EventReview(NamedTuple):
    """Events that were made and should not have been, and those that should."""

    unwarranted: tuple[Fact, ...]
    missing: tuple[Fact, ...]


def review_events(
    terms: Terms | Sequence[Terms], facts: Iterable[Fact], holder: ClaimHolder,
    rules: ServicingRules, since: date, until: date,
) -> EventReview:  # fmt: skip
    """Compare the events of some days with those that all facts known now call for.

    `until` is the last day whose evening has been served.
    """
    every = list(facts)
    taken, known = {fact.ref for fact in every}, visible(every, as_of=until)
    made = [fact for fact in known if is_made_by_rule(fact) and fact.effective_on >= since]
    others = [fact for fact in known if fact not in made]
    warranted = recomputed_events(terms, others, holder, rules, since, until)
    expected, found = ({_what(fact) for fact in each} for each in (warranted, made))
    return EventReview(
        tuple(fact for fact in made if _what(fact) not in expected),
        tuple(
            fact._replace(ref=next_ref(fact.ref, taken))
            for fact in warranted
            if _what(fact) not in found
        ),
    )


def recomputed_events(
    terms: Terms | Sequence[Terms], facts: Sequence[Fact], holder: ClaimHolder,
    rules: ServicingRules, since: date, until: date,
) -> list[Fact]:  # fmt: skip
    """Events of every day from one to another, each on what is known of the days up to it."""
    made: list[Fact] = []

    def events(known_until: date, after: date, day: date, part: DayPart) -> None:
        known = [fact for fact in facts if fact.effective_on <= known_until]
        made.extend(loan_events(terms, [*known, *made], holder, rules, after, day, part=part))

    served = since - _DAY
    for day in sorted({fact.effective_on for fact in facts if since <= fact.effective_on <= until}):
        eve = day - _DAY
        if eve > served:
            events(eve, served, eve, DayPart.WHOLE)
        events(eve, eve, day, DayPart.MORNING)
        events(day, eve, day, DayPart.EVENING)
        served = day
    if until > served:
        events(until, served, until, DayPart.WHOLE)
    return made


def _what(fact: Fact) -> tuple[int, date, int]:
    return event_of(fact.ref), fact.effective_on, fact.amount_minor
