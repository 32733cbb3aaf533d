"""A deal that holds loans: its pool, its state, and its next date from what its loans did.

A date takes the collections of its period by replay as known on the day it is paid, less what the
dates before took: so late and reversed receipts come to the next date. What is below zero after
that waits for the date after.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import date, datetime, timedelta
from typing import Protocol

import numpy as np

from usance.base.arrays import I64, Bools
from usance.base.dates import from_day, last_of_month, to_day, to_month
from usance.base.money import split
from usance.fund.deal import Deal, MonthFlows
from usance.fund.deal_terms import DealKind, DealTerms
from usance.fund.errors import PaymentDateError
from usance.fund.loan_collections import DEFAULT_DAYS, LoanPeriod, Taken, period_between
from usance.fund.payment_date import Collections, Distribution, pay_date
from usance.fund.pool_columns import PoolColumns
from usance.fund.pool_strata import PoolStratum
from usance.fund.replenishment import wanted_minor, with_supply
from usance.fund.state import Cohort, DealState, cohorts_of, opening_state
from usance.loan.batch import Views

NEVER = -1
NO_FLOWS = MonthFlows()
NO_LOANS: I64 = np.zeros(0, np.int64)
CLOSING, PURCHASE = 0, 1
BUY_OUT_DAYS = 60
"""Days past due after which the platform buys a loan out of a trust [A, `spec/funding.md` 1]."""


@dataclass(frozen=True, eq=False)
class DealPool:
    """The loans of a deal in order of their ids; days are numbers, `NEVER` if there is none."""

    loan_id: I64
    from_on: I64
    to_on: I64
    price_minor: I64
    reason: I64
    defaulted_on: I64

    def __len__(self) -> int:
        return len(self.loan_id)

    @property
    def has_defaulted(self) -> Bools:
        """Loans that have defaulted."""
        found: Bools = self.defaulted_on != NEVER
        return found

    @classmethod
    def bought(cls, pool: PoolColumns, on: date, price_minor: int, reason: int) -> DealPool:
        """Loans that enter on a day; what was paid for them is shared by principal."""
        size, never = len(pool), np.full(len(pool), NEVER, np.int64)
        price = split(price_minor, pool["principal_minor"].tolist()) if size else []
        return cls(
            pool["loan_id"], np.full(size, to_day(on), np.int64), never,
            np.array(price, np.int64), np.full(size, reason, np.int64), never.copy(),
        )  # fmt: skip

    def joined(self, other: DealPool) -> DealPool:
        """Both, in order."""
        pairs = zip(_columns(self), _columns(other), strict=True)
        whole = [np.concatenate(pair) for pair in pairs]
        order = np.argsort(whole[0], kind="stable")
        return DealPool(*(column[order] for column in whole))


def _columns(pool: DealPool) -> tuple[I64, ...]:
    return (pool.loan_id, pool.from_on, pool.to_on, pool.price_minor, pool.reason,
            pool.defaulted_on)  # fmt: skip


class LoanHistory(Protocol):
    """Loans that can be seen on any day, as known at any moment."""

    def views(self, day: date, known_at: datetime) -> Views:
        """Views on a day, as known at a moment."""
        ...

    def bought_out(self, day: date, known_at: datetime) -> Bools:
        """Loans with a fact that they were bought out by a day, as known at a moment."""
        ...


@dataclass(frozen=True, eq=False)
class HeldDeal:
    """A deal between two payment dates."""

    deal: Deal
    terms: DealTerms
    state: DealState
    pool: DealPool
    until: date
    """Collections up to this day are in."""
    known_at: datetime
    """The moment up to which the last date knew."""
    carried: MonthFlows = NO_FLOWS
    """Reversed receipts that were more than a period's own; below zero."""
    bought_out: tuple[tuple[date, int], ...] = ()
    """Sums the platform paid for loans it took out or back, by payment date."""

    @property
    def is_over(self) -> bool:
        """True once the last date is paid, or the deal was called."""
        return self.state.is_called or self.state.period >= self.deal.periods

    @property
    def next_on(self) -> date | None:
        """The next payment date."""
        return None if self.is_over else self.deal.paid_on(self.state.period + 1)

    @property
    def performing(self) -> I64:
        """Loans that have not defaulted, by id."""
        found: I64 = self.pool.loan_id[~self.pool.has_defaulted & (self.pool.to_on == NEVER)]
        return found

    @property
    def cohorts(self) -> list[Cohort]:
        """Its loans by the day they came; a day that its state does not know yet has no past."""
        known = {each.came_on: each for each in cohorts_of(self.deal, self.state)}
        days = {from_day(day) for day in np.unique(self.pool.from_on).tolist()}
        return [known.get(day) or Cohort(day, 0, (0,) * self._months_since(day))
                for day in sorted(days | known.keys())]  # fmt: skip

    def _months_since(self, day: date) -> int:
        """Months of periods that ended after the date that was paid on a day."""
        length = self.deal.months_per_period
        period = max((to_month(day) - self.deal.first_month) // length, 0)
        return (self.state.period - period) * length

    @property
    def notes_minor(self) -> int:
        """Balances of the classes that others hold."""
        return sum(self.state.names[f"{each.name}.balance"] for each in self.deal.classes
                   if each.name not in self.terms.retained)  # fmt: skip

    @property
    def held_minor(self) -> int:
        """Money in the accounts."""
        return sum(minor for name, minor in self.state.names.items() if name.startswith("account."))


def close_deal(
    deal: Deal, terms: DealTerms, pool: PoolColumns, known_at: datetime
) -> HeldDeal:  # fmt: skip
    """The deal on its closing day, with the loans it takes then."""
    price = deal.price_minor if deal.price_minor is not None else pool.principal_total_minor
    if pool.principal_total_minor != deal.pool.balance_minor:
        owed = pool.principal_total_minor
        what = f"the loans owe {owed}, the deal says {deal.pool.balance_minor}"
        fix = f"Let pool.balance_minor be {owed}, or choose other loans"
        raise PaymentDateError(what, where=deal.name, fix=fix)
    held = DealPool.bought(pool, deal.closing_on, price, CLOSING)
    return HeldDeal(deal, terms, opening_state(deal), held, cut_off(deal, 0), known_at)


@dataclass(frozen=True, eq=False)
class Collected:
    """The collections of a deal's next period, before its date is paid."""

    until: date
    collections: Collections
    carried: MonthFlows
    falls: Bools
    """Loans that defaulted in the period."""
    back: Bools
    """Loans that go back, for they were not eligible when they came."""
    buy_out_minor: I64
    """Paid by the platform for each loan that it took out of a trust."""
    wanted_minor: int
    """Principal the deal would buy if enough were on offer."""


@dataclass(frozen=True, eq=False)
class PaidDate:
    """A date that was paid: the deal after it, the date, and what performs then."""

    held: HeldDeal
    row: Distribution
    strata: tuple[PoolStratum, ...] = ()


def collect(
    held: HeldDeal, history: LoanHistory, known_at: datetime, buy_out_days: int = BUY_OUT_DAYS, *,
    ineligible: I64 = NO_LOANS,
) -> Collected:  # fmt: skip
    """The collections of the next period; `history` has the loans of the pool in its order.

    Loans that are `ineligible` go back to the platform at par and the interest accrued.
    """
    deal, state, pool = held.deal, held.state, held.pool
    paid_on = held.next_on
    if paid_on is None:
        raise PaymentDateError(f"{deal.name} has ended", where=deal.name, fix="Pay no date after")
    until, is_trust = cut_off(deal, state.period + 1), buys_out(held.terms)
    left = pool.to_on != NEVER
    back = np.isin(pool.loan_id, ineligible) & ~left & ~pool.has_defaulted
    claimed = np.zeros_like(left)
    if is_trust:
        before = history.bought_out(held.until, held.known_at)
        claimed = history.bought_out(until, known_at) & ~before
    made = period_between(
        history.views(held.until, held.known_at), history.views(until, known_at),
        pool.has_defaulted, buy_out_days if is_trust else DEFAULT_DAYS, buys_out=is_trust,
        taken=Taken(left, claimed, back),
    )  # fmt: skip
    flows, carried = not_below_zero(made.collections.flows + held.carried)
    pool_end = made.collections.pool_end_minor
    collections = Collections(flows, pool_end, _cohorts_after(held, made, until))
    wanted = wanted_minor(deal, state, collections, paid_on)
    falls = made.defaulted & ~pool.has_defaulted
    return Collected(until, collections, carried, falls, back, made.buy_out_minor, wanted)


def _cohorts_after(held: HeldDeal, made: LoanPeriod, until: date) -> tuple[Cohort, ...]:
    """The cohorts after a period; of loans that are bought out nothing is recovered later."""
    fallen = made.fallen_minor * (not buys_out(held.terms))
    length = held.deal.months_per_period
    fell_in = (to_day(until) - made.fallen_days).astype("datetime64[D]").astype("datetime64[M]")
    ago = to_month(until) - fell_in.astype(np.int64)
    month = np.clip(length - 1 - ago, 0, length - 1)
    found = []
    for cohort in held.cohorts:
        mine = held.pool.from_on == to_day(cohort.came_on)
        defaulted = np.zeros(length, np.int64)
        np.add.at(defaulted, month[mine], fallen[mine])
        performing = int(made.performing_minor[mine].sum())
        found.append(cohort.after_period(performing, defaulted.tolist()))
    return tuple(found)


def pay_collected(
    held: HeldDeal, collected: Collected, known_at: datetime, bought: PoolColumns | None = None
) -> PaidDate:
    """Pay the next date from its collections, and take the loans that were bought for it."""
    deal, pool, paid_on = held.deal, held.pool, held.next_on
    assert paid_on is not None, "what was collected has a date"
    after, row = pay_date(with_supply(deal, bought), held.state, collected.collections, paid_on)
    falls, last = collected.falls, after.is_called or after.period >= deal.periods
    leaves: Bools = np.ones(len(pool), np.bool_)
    if not last:
        leaves = (falls & buys_out(held.terms)) | collected.back
    pool = replace(
        pool,
        defaulted_on=np.where(falls, to_day(collected.until), pool.defaulted_on),
        to_on=np.where(leaves & (pool.to_on == NEVER), to_day(paid_on), pool.to_on),
    )
    if bought is not None and row.bought_minor:
        more = DealPool.bought(bought, paid_on, row.cost_minor, PURCHASE)
        until = np.full(len(more), to_day(paid_on) if last else NEVER, np.int64)
        pool = pool.joined(replace(more, to_on=until))
    bought_out = int(collected.buy_out_minor.sum())
    paid = HeldDeal(
        deal, held.terms, after, pool, collected.until, known_at, collected.carried,
        (*held.bought_out, (paid_on, bought_out)) if bought_out else held.bought_out,
    )  # fmt: skip
    return PaidDate(paid, row)


def buys_out(terms: DealTerms) -> bool:
    """True if the platform takes loans past due out of the deal."""
    return terms.kind is DealKind.TRUST


def not_below_zero(flows: MonthFlows) -> tuple[MonthFlows, MonthFlows]:
    """Flows of a period, and what of them is below zero: the next one bears it."""
    parts = asdict(flows)
    return (
        MonthFlows(**{name: max(minor, 0) for name, minor in parts.items()}),
        MonthFlows(**{name: min(minor, 0) for name, minor in parts.items()}),
    )


def cut_off(deal: Deal, period: int) -> date:
    """The last day whose receipts are a period's; of period 0, the eve of the closing."""
    if period == 0:
        return deal.closing_on - timedelta(days=1)
    return last_of_month(deal.first_month + period * deal.months_per_period - 1)


def day_of(number: int) -> date | None:
    """A day of a pool, if there is one."""
    return None if number == NEVER else from_day(number)
