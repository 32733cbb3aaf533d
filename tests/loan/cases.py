"""Loans with histories, for tests that hold two forms of a replay against each other.

A history is written as moves ("pay what is due", "charge back a third") that are played on the
exact form, so that every fact is one that can happen: no replay of a case raises an error.
`random_case(seed)` makes one of the platform's own products from a seed; the strategies at the
end give Hypothesis any terms and any moves.

    python -m tests.loan.cases 5000      # what the cases of the first seeds have in them
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from enum import IntEnum
from random import Random
from typing import NamedTuple

from usance.base.codes import Component, FactKind, Fee
from usance.base.dates import add_days, add_months, from_day, to_day
from usance.loan.convention import CONVENTIONS
from usance.loan.exact.dates import CALENDARS
from usance.loan.exact.history import apply_fact, charge_late
from usance.loan.exact.plan import schedule
from usance.loan.exact.state import State
from usance.loan.facts import Fact
from usance.loan.terms import Terms

Case = tuple[Terms, list[Fact], date]


class Event(IntEnum):
    """Events of a move; `share` (0 to 100) says how much of what is possible."""

    PAY_DUE = 0  # all that is due, or the next instalment if nothing is
    PAY_NEXT = 1  # what is due and the next instalment
    PAY_PART = 2  # a share of the settlement
    PAY_ALMOST = 3  # one minor unit less than settles
    SETTLE = 4  # exactly the settlement
    OVERPAY = 5
    PAY_TINY = 6
    FEE = 7
    REFUND = 8
    CHARGE_BACK = 9
    WAIVE = 10
    COMPENSATE = 11
    BUY_OUT = 12
    CHARGE_OFF = 13
    RECOVER = 14
    PAUSE = 15  # exact form only
    CHANGE = 16  # exact form only


TO_DUE_DATE = -1
"""As a gap: on the next due date."""


class Move(NamedTuple):
    """Something that happens `gap` days after the last move."""

    gap: int
    what: Event
    share: int


KINDS = {
    Event.FEE: FactKind.FEE_CHARGED,
    Event.REFUND: FactKind.REFUNDED,
    Event.CHARGE_BACK: FactKind.CHARGED_BACK,
    Event.WAIVE: FactKind.WAIVED,
    Event.COMPENSATE: FactKind.COMPENSATED,
    Event.BUY_OUT: FactKind.BOUGHT_OUT,
    Event.CHARGE_OFF: FactKind.CHARGED_OFF,
    Event.RECOVER: FactKind.RECOVERED,
    Event.PAUSE: FactKind.INTEREST_PAUSED,
    Event.CHANGE: FactKind.TERMS_CHANGED,
}
OWN_MOVES = tuple(what for what in Event if what < Event.PAUSE)


class History:
    """Plays moves on a loan and keeps the facts they make."""

    def __init__(self, terms: Terms, first_ref: int = 1) -> None:
        self.state = State(terms, {terms.terms_no: terms}, CALENDARS)
        self.versions = [terms]
        self.facts: list[Fact] = []
        self.ref = first_ref
        self.day = to_day(terms.disbursed_on)
        self.rank = 0
        self.drawing = True
        self._draw_tranches(self.day)

    def __repr__(self) -> str:
        """The terms and the facts, as Python."""
        return f"(versions={self.versions!r}, facts={self.facts!r})"

    def play(self, move: Move) -> None:
        """Let a move happen, if it can."""
        kind = KINDS.get(move.what, FactKind.PAID)
        day = self._day(move, kind)
        self._draw_tranches(day)
        self._wait_until(day)
        amount, arg = self._amount(move, day)
        if amount or kind in (FactKind.BOUGHT_OUT, FactKind.CHARGED_OFF, FactKind.INTEREST_PAUSED):
            self._book(kind, day, amount, arg)
        elif kind is FactKind.TERMS_CHANGED and arg:
            self._book(kind, day, 0, arg)

    def _day(self, move: Move, kind: FactKind) -> int:
        day = self.day + max(0, move.gap)
        if move.gap == TO_DUE_DATE:
            today = from_day(self.day).toordinal()
            later = (row.end for row in self.state.rows if row.end > today)
            day = self.day + next(later, today + 30) - today
        return day + 1 if day == self.day and kind < self.rank else day

    def _wait_until(self, day: int) -> None:
        """Let late charges arise; from here on nothing can happen on an earlier day."""
        charge_late(self.state, from_day(day).toordinal())
        self.rank = self.rank if day == self.day else 0
        self.day = day

    def _draw_tranches(self, day: int) -> None:
        """Draw what the terms promise by a day, as long as the loan is not settled."""
        for on, amount in self.state.to_disburse.copy():
            self.drawing = self.drawing and not self.state.settled
            if self.drawing and to_day(on) <= day:
                self._book(FactKind.DISBURSED, to_day(on), amount, 0)

    def _amount(self, move: Move, day: int) -> tuple[int, int]:
        """The amount and the argument of the fact; nothing where nothing can happen."""
        state, share = self.state, move.share
        today = from_day(day).toordinal()
        if move.what <= Event.PAY_TINY:
            return self._payment(move, today), share
        match move.what:
            case Event.FEE:
                return 1 + share * 37, Fee.LATE_FEE
            case Event.REFUND:
                return _some(state.overpaid, share), 0
            case Event.CHARGE_BACK:
                return _some(state.overpaid + sum(state.cash), share), 0
            case Event.WAIVE:
                component = share % 5
                return _some(self._waivable(component), share), component
            case Event.RECOVER:
                return 1 + state.settlement(today) * share // 90, 0
            case Event.BUY_OUT | Event.CHARGE_OFF | Event.COMPENSATE:
                least = 1 if move.what is Event.COMPENSATE else 0
                return least + state.disbursed * share // 100, 0
            case Event.PAUSE:
                return 0, day + share
        return 0, self._new_terms(day, share)

    def _payment(self, move: Move, today: int) -> int:
        if move.what in (Event.PAY_DUE, Event.PAY_NEXT):
            return self._instalments(today, ahead=move.what is Event.PAY_NEXT)
        settlement = self.state.settlement(today)
        match move.what:
            case Event.PAY_PART:
                return settlement * move.share // 100
            case Event.PAY_ALMOST:
                return max(0, settlement - 1)
            case Event.OVERPAY:
                return settlement + 1 + move.share * move.share
            case Event.PAY_TINY:
                return 1 + move.share // 5
        return settlement

    def _instalments(self, today: int, *, ahead: bool) -> int:
        owed = [(row.end, sum(row.due) - sum(row.covered)) for row in self.state.rows]
        due = sum(amount for end, amount in owed if end <= today)
        if due and not ahead:
            return due
        return due + next((amount for end, amount in owed if end > today and amount), 0)

    def _waivable(self, component: int) -> int:
        if component == Component.PENALTY:
            return self.state.penalty
        return 0 if self.state.settled else self.state.uncovered(component)

    def _new_terms(self, day: int, share: int) -> int:
        """Another version of the terms; 0 where they cannot be changed any more."""
        if self.state.settled or len(self.versions) > 3:
            return 0
        number = len(self.versions) + 1
        terms = replace(
            self.versions[0], terms_no=number, disbursed_on=from_day(day), tranches=(),
            first_due_on=add_days(from_day(day), 4 + share), guarantee_fee_minor=0,
        )  # fmt: skip
        self.versions.append(terms)
        self.state.versions = {each.terms_no: each for each in self.versions}
        return number

    def _book(self, kind: FactKind, day: int, amount: int, arg: int) -> None:
        fact = Fact(kind, from_day(day), amount, self.ref, int(arg))
        apply_fact(self.state, fact)
        self.facts.append(fact)
        self.ref += 1
        self.day, self.rank = day, kind


def _some(limit: int, share: int) -> int:
    """A part of what there is: often all, sometimes one unit, never more than there is."""
    if share < 10:
        return min(limit, 1)
    return limit if share > 70 else limit * share // 100


def random_case(seed: int) -> Case:
    """One of the platform's own loans, its facts in the order of arrival, and a day to ask for.

    >>> random_case(7) == random_case(7)
    True
    """
    draw = Random(seed)
    terms = random_terms(draw)
    if draw.random() < 0.01:
        return terms, [], add_days(terms.disbursed_on, draw.randrange(-40, 400))
    history = History(terms, first_ref=draw.choice((1, 1000, 2**40, 2**62)))
    for move in random_moves(draw, terms.instalments):
        history.play(move)
    facts = [_booked(draw, fact) for fact in _with_other_refs(draw, history.facts)]
    if draw.random() < 0.4:
        facts += _reversed_facts(draw, terms, history.ref)
    draw.shuffle(facts)
    return terms, facts, _as_of(draw, terms, history)


def random_terms(draw: Random) -> Terms:
    """Terms of one of the own conventions, common and odd ones."""
    principal = _principal(draw)
    rate = _rate(draw)
    coupon = draw.choice((rate, rate, 0, draw.randint(0, rate), draw.randint(0, rate)))
    flat = draw.choice((0, 0, 0, draw.randint(0, 300), draw.randint(0, principal // 8)))
    disbursed_on = _day(draw)
    terms = Terms(
        principal_minor=principal,
        rate_ppm=rate,
        instalments=_instalments(draw),
        disbursed_on=disbursed_on,
        first_due_on=_first_due(draw, disbursed_on),
        convention=CONVENTIONS[draw.choice(tuple(CONVENTIONS))],
        coupon_ppm=coupon,
        flat_fee_minor=flat,
        upfront_fee_minor=draw.choice((0, 0, 0, draw.randint(0, (principal - 1) // 10))),
    )
    if draw.random() < 0.5 and (flat or coupon < rate):
        fees = sum(row.service_fee for row in schedule(terms))
        guarantee = draw.choice((fees, draw.randint(0, fees), draw.randint(0, fees)))
        object.__setattr__(terms, "guarantee_fee_minor", guarantee)  # checked: within the fees
    return terms


def _principal(draw: Random) -> int:
    kind = draw.random()
    if kind < 0.45:
        return draw.randint(10, 500) * 100_00
    if kind < 0.75:
        return draw.randint(1_000_00, 50_000_00)
    if kind < 0.83:
        return draw.randint(1, 40)
    if kind < 0.91:
        return int(10 ** draw.uniform(1, 5))
    return int(10 ** draw.uniform(6, 10))


def _rate(draw: Random) -> int:
    kind = draw.random()
    if kind < 0.4:
        return draw.choice((60_000, 120_000, 180_000, 239_900, 240_000, 359_900, 360_000))
    if kind < 0.8:
        return draw.randint(1, 400_000)
    return 0 if kind < 0.9 else draw.randint(0, 1_000_000)


def _instalments(draw: Random) -> int:
    kind = draw.random()
    if kind < 0.9:
        return draw.choice((3, 6, 6, 9, 12, 12, 12, 24)) if kind < 0.6 else draw.randint(3, 24)
    return draw.randint(1, 2) if kind < 0.95 else draw.randint(25, 36)


def _day(draw: Random) -> date:
    day = add_days(date(2015, 1, 1), draw.randrange(21 * 365))
    kind = draw.random()
    if kind < 0.25:
        return add_days(day.replace(day=1), -1)
    if kind < 0.35:
        return day.replace(month=1, day=draw.randint(28, 31))
    return date(draw.choice((2016, 2020, 2024, 2028, 2032)), 2, 29) if kind < 0.4 else day


def _first_due(draw: Random, disbursed_on: date) -> date:
    if draw.random() < 0.7:
        return add_months(disbursed_on, 1)
    return add_days(disbursed_on, draw.randint(1, 60))


def random_moves(draw: Random, instalments: int) -> list[Move]:
    """Moves of a borrower and the platform, in one of a few manners or in none."""
    manner = draw.choice(tuple(_MANNERS))
    return _MANNERS[manner](draw, instalments)


def _move(draw: Random, gap: int, *choices: Event) -> Move:
    return Move(gap, draw.choice(choices), draw.randint(0, 100))


def _on_time(draw: Random, instalments: int) -> list[Move]:
    count = draw.randint(0, instalments)
    return [Move(TO_DUE_DATE, Event.PAY_DUE, 0)] * count


def _settles_early(draw: Random, instalments: int) -> list[Move]:
    moves = _on_time(draw, instalments)[: draw.randint(0, instalments)]
    how = (Event.SETTLE, Event.SETTLE, Event.PAY_ALMOST, Event.OVERPAY)
    moves.append(_move(draw, draw.randint(0, 40), *how))
    if draw.random() < 0.6:
        moves += _anything(draw, 2)
    return moves


def _late(draw: Random, instalments: int) -> list[Move]:
    moves = []
    for _ in range(min(instalments, draw.randint(1, 12))):
        moves.append(Move(TO_DUE_DATE, Event.PAY_TINY, 10))
        if draw.random() < 0.3:
            moves.append(_move(draw, draw.randint(1, 10), Event.FEE, Event.WAIVE))
        pay = (Event.PAY_DUE, Event.PAY_DUE, Event.PAY_NEXT, Event.PAY_PART)
        moves.append(_move(draw, draw.randint(0, 45), *pay))
    return moves


def _defaults(draw: Random, instalments: int) -> list[Move]:
    moves = _on_time(draw, instalments)[: draw.randint(0, 4)]
    moves.append(Move(draw.randint(31, 90), Event.FEE, draw.randint(0, 100)))
    moves.append(
        _move(draw, draw.randint(0, 60), Event.COMPENSATE, Event.BUY_OUT, Event.CHARGE_OFF)
    )
    after = (Event.RECOVER, Event.RECOVER, Event.PAY_PART, Event.PAY_TINY, Event.WAIVE,
             Event.CHARGE_OFF, Event.CHARGE_BACK, Event.SETTLE, Event.FEE)  # fmt: skip
    moves += [_move(draw, draw.randint(0, 60), *after) for _ in range(draw.randint(0, 6))]
    return moves


def _anything(draw: Random, instalments: int) -> list[Move]:
    gaps = (0, 0, TO_DUE_DATE, TO_DUE_DATE, draw.randint(1, 30), draw.randint(1, 90))
    count = draw.randint(1, 8 + instalments)
    return [_move(draw, draw.choice(gaps), *OWN_MOVES) for _ in range(count)]


def _pays_ahead(draw: Random, instalments: int) -> list[Move]:
    pay = (Event.PAY_NEXT, Event.PAY_NEXT, Event.PAY_PART, Event.PAY_TINY)
    count = draw.randint(1, 4 + instalments // 3)
    moves = [_move(draw, draw.randint(0, 25), *pay) for _ in range(count)]
    if draw.random() < 0.5:
        moves.append(_move(draw, draw.randint(0, 90), Event.CHARGE_BACK, Event.WAIVE, Event.SETTLE))
    return moves


def _waits_then_pays(draw: Random, instalments: int) -> list[Move]:
    gap = draw.randint(0, 31 * instalments + 100)
    return [_move(draw, gap, Event.PAY_DUE, Event.SETTLE, Event.OVERPAY), *_anything(draw, 3)]


_MANNERS = {
    "on_time": _on_time,
    "settles_early": _settles_early,
    "late": _late,
    "defaults": _defaults,
    "anything": _anything,
    "anything_again": _anything,
    "pays_ahead": _pays_ahead,
    "waits_then_pays": _waits_then_pays,
}


def _with_other_refs(draw: Random, facts: list[Fact]) -> list[Fact]:
    """The facts with references that do not rise with time, only within a day."""
    if draw.random() < 0.5:
        return facts
    base = facts[0].ref + 10**9
    return [
        fact._replace(ref=base + number - 1000 * (fact.effective_on - facts[0].effective_on).days)
        for number, fact in enumerate(facts)
    ]


def _booked(draw: Random, fact: Fact) -> Fact:
    """The fact with the time it was known: the same day, or late."""
    minutes = draw.randrange(1440) + draw.choice((0, 0, 0, draw.randrange(60 * 1440)))
    on = fact.effective_on
    at = datetime(on.year, on.month, on.day, tzinfo=UTC) + timedelta(minutes=minutes)
    return fact._replace(booked_at=at)


def _reversed_facts(draw: Random, terms: Terms, ref: int) -> list[Fact]:
    """Facts that never happened, with the reversals that say so."""
    result = []
    kinds = (
        FactKind.PAID,
        FactKind.PAID,
        FactKind.PAID,
        FactKind.FEE_CHARGED,
        FactKind.REFUNDED,
        FactKind.WAIVED,
        FactKind.CHARGED_OFF,
        FactKind.COMPENSATED,
        FactKind.DISBURSED,
    )
    for number in range(draw.randint(1, 3)):
        day = add_days(terms.disbursed_on, draw.randrange(-5, 30 * terms.instalments + 60))
        wrong = _booked(draw, Fact(draw.choice(kinds), day, draw.randint(1, 10**7), ref + number))
        later = add_days(day, draw.randrange(90))
        undone = Fact(FactKind.REVERSED, later, 0, ref + 1000 + number, wrong.ref)
        late = wrong.booked_at + timedelta(days=draw.randrange(90))
        result += [wrong, undone._replace(booked_at=late)]
    return result


def _as_of(draw: Random, terms: Terms, history: History) -> date:
    """Any day from before the disbursement to a year after all is over; often a special one."""
    kind = draw.random()
    ends = [date.fromordinal(row.end) for row in history.state.rows]
    if kind < 0.2:
        return draw.choice(history.facts).effective_on
    if kind < 0.4:
        return add_days(draw.choice(ends), draw.choice((-1, 0, 0, 1)))
    if kind < 0.45:
        return add_days(terms.disbursed_on, draw.randrange(-30, 1))
    if kind < 0.7:
        return add_days(max(ends[-1], from_day(history.day)), draw.randrange(366))
    return add_days(terms.disbursed_on, draw.randrange((ends[-1] - terms.disbursed_on).days + 60))


def features(case: Case) -> set[str]:
    """Features of a case, to count how many cases have each."""
    from usance.loan.exact.history import replay

    terms, facts, as_of = case
    loan = replay(terms, facts, as_of)
    view, rows = loan.view(), schedule(terms)
    regular = terms.first_due_on == add_months(terms.disbursed_on, 1)
    seen = {FactKind(fact.kind).label for fact in facts if fact.effective_on <= as_of}
    flags = {
        f"convention {terms.convention.name}": True,
        f"status {view.status.label}": True,
        "regular first period": regular,
        "zero rate": terms.rate_ppm == 0,
        "coupon below rate": terms.coupon_ppm < terms.rate_ppm,
        "flat fee": terms.flat_fee_minor > 0,
        "guarantee fee": terms.guarantee_fee_minor > 0,
        "upfront fee": terms.upfront_fee_minor > 0,
        "fewer units than instalments": terms.principal_minor < terms.instalments,
        "an instalment without principal": any(row.principal == 0 for row in rows),
        "one instalment": terms.instalments == 1,
        "before disbursement": not view.disbursed,
        "after the last due date": as_of > rows[-1].due_on,
        "past due": view.days_past_due > 0,
        "paid in advance": view.paid.principal > view.due.principal and view.settlement > 0,
        "settled with penalty": loan.state.settled and view.past_due.penalty > 0,
        "over-paid": view.overpaid > 0,
        "waived": view.waived.total > 0,
        "waived principal": view.waived.principal > 0,
        "settled": loan.state.settled,
        "settled early": loan.state.settled and as_of < rows[-1].due_on,
        "principal first": loan.state.principal_first,
        "settled and charged back": "charged_back" in seen and loan.state.settled,
        "interest accrued": view.accrued_interest > 0,
    }
    return {f"fact {label}" for label in seen} | {name for name, is_so in flags.items() if is_so}


def histogram(seeds: Sequence[int]) -> Counter[str]:
    """The number of cases of these seeds with each feature."""
    return Counter(name for seed in seeds for name in features(random_case(seed)))


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    for name, times in sorted(histogram(range(count)).items()):
        sys.stdout.write(f"{times / count:7.2%}  {name}\n")
