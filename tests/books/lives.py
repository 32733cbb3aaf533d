"""Whole lives of loans by the ten thousand: terms and facts as columns, from a seed.

A *path* is what happens to a loan from its first day to its last: paid on time, late, cured,
prepaid, waived, overpaid, charged back, paid out by the guarantor, charged off. Every fact is made
from what the loan owes on that day, so each life is one that could have been, and each is over by
`END`.

>>> life = lives(FundingModel.CAPITAL_HEAVY, "payout", 100, seed=1)
>>> len(life), bool(replay_columns(life.terms, life.facts, END).column("compensated").all())
(100, True)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property

import numpy as np

from usance.base.arrays import I32, I64, Bools
from usance.base.codes import Component, FactKind, FundingModel
from usance.base.dates import to_day
from usance.books.effective_interest.loans import effective_rates
from usance.books.loans.measurement import LoanColumns
from usance.loan.batch import Views, replay_columns, schedule_columns
from usance.loan.columns import FactColumns, TermColumns
from usance.loan.convention import CONVENTIONS
from usance.loan.kernel.arrays import ScheduleColumns

FIRST = to_day(date(2023, 1, 1))
DRAWING_DAYS = 500
END = date(2030, 12, 31)
"""By this day every life is over and all its money has come in."""
PAST_DUE = (
    "past_due_principal", "past_due_interest", "past_due_guarantee_fee", "past_due_service_fee",
)  # fmt: skip
TRIGGER_DAYS, CHARGE_OFF_DAYS = 61, 181


@dataclass(frozen=True, slots=True)
class Lives:
    """Loans of one model with all their facts."""

    model: FundingModel
    terms: TermColumns
    upfront_minor: I64
    fee_ppm: I32
    facts: FactColumns

    def __len__(self) -> int:
        return len(self.terms)

    def loans(self, *, segments: int = 1, pools: int = 1) -> LoanColumns:
        """The loans as the books see them, spread over segments and pools."""
        number = np.arange(len(self), dtype=np.int64)
        return LoanColumns(
            number + 1, self.terms, self.facts, np.full(len(self), self.model, np.int8),
            self.upfront_minor, self.fee_ppm, effective_rates(self.terms, self.upfront_minor),
            np.zeros(len(self), np.int32), (number % segments).astype(np.int32),
            (number % pools).astype(np.int32),
        )  # fmt: skip


class History:
    """Facts of a column of loans while they are made."""

    def __init__(self, terms: TermColumns, draw: np.random.Generator) -> None:
        """All loans are drawn."""
        self.terms, self.draw = terms, draw
        self.all = np.arange(len(terms))
        self._facts: list[tuple[I64, I64, I64, I64, I64]] = []
        self.add(self.all, terms.disbursed_on, FactKind.DISBURSED, terms.principal_minor)

    @cached_property
    def plan(self) -> ScheduleColumns:
        """The schedules."""
        return schedule_columns(self.terms)

    @cached_property
    def row_loan(self) -> I64:
        """The loan of every row of the schedules."""
        return np.repeat(self.all, self.terms.instalments)

    @cached_property
    def row_number(self) -> I64:
        """The number of every row in its schedule, from 0."""
        return np.arange(len(self.row_loan)) - self.plan.offsets[self.row_loan]

    def due(self, number: I64) -> I64:
        """When each loan's instalment of a number, from 0, is due; the last where it has fewer."""
        at = np.minimum(number, self.terms.instalments - 1)
        return self.plan.due_on[self.plan.offsets[:-1] + at].astype(np.int64)

    @property
    def last_due(self) -> I64:
        """When each loan's last instalment is due."""
        return self.due(self.terms.instalments.astype(np.int64))

    def some(self, low: int, high: int) -> I64:
        """A whole number for every loan, both ends included."""
        return np.asarray(self.draw.integers(low, high, len(self.terms), endpoint=True), np.int64)

    def often(self, share: float) -> Bools:
        """True for about this share of the loans."""
        return self.draw.random(len(self.terms)) < share

    def early(self, *, least: int = 0) -> I64:
        """For every loan how many instalments are paid before something happens."""
        most = np.maximum(self.terms.instalments.astype(np.int64), least + 1)
        share = self.draw.random(len(most))
        return np.asarray(least + np.floor(share * (most - least)), np.int64)

    def add(
        self, loans: I64, day: I64 | I32, kind: FactKind, amount: I64, arg: I64 | int = 0
    ) -> None:
        """Facts of some loans; where the amount is nothing, nothing happens."""
        is_fact = np.flatnonzero((amount > 0) & (loans >= 0))
        size = len(is_fact)
        self._facts.append((
            np.asarray(loans, np.int64)[is_fact], np.asarray(day, np.int64)[is_fact],
            np.full(size, int(kind), np.int64), np.asarray(amount, np.int64)[is_fact],
            np.broadcast_to(np.asarray(arg, np.int64), np.shape(loans))[is_fact],
        ))  # fmt: skip

    def pay_rows(self, wanted: Bools, late: I64 | int = 0) -> None:
        """Pay rows of the schedules on their due dates, or some days later."""
        rows = np.flatnonzero(wanted)
        days = self.plan.due_on[rows] + np.broadcast_to(late, len(self.row_loan))[rows]
        self.add(self.row_loan[rows], days, FactKind.PAID, self.plan.total[rows])

    def pay_first(self, count: I64) -> None:
        """Pay some instalments of every loan on time."""
        self.pay_rows(self.row_number < count[self.row_loan])

    def view(self, day: I64) -> Views:
        """Where the loans stand on a day each."""
        return replay_columns(self.terms, self.columns(), np.ascontiguousarray(day, np.int32))

    def pay_past_due(self, day: I64, which: Bools) -> None:
        """Pay everything that has fallen due by a day."""
        view = self.view(day)
        amount = sum((view.column(name) for name in PAST_DUE), np.zeros(len(day), np.int64))
        self.add(self.all, day, FactKind.PAID, np.where(which, amount, 0))

    def pay_as_due(self, after: I64) -> None:
        """From a day on, pay at every due date what has fallen due."""
        for number in range(int(self.terms.instalments.max())):
            day = self.due(np.full(len(after), number))
            self.pay_past_due(day, (number < self.terms.instalments) & (day > after))

    def settle(self, day: I64, *, more: I64 | int = 0, which: Bools | None = None) -> None:
        """Pay what closes the loans on a day, and more."""
        amount = self.view(day).column("settlement")
        wanted = (amount > 0) if which is None else which & (amount > 0)
        self.add(self.all, day, FactKind.PAID, np.where(wanted, amount + more, 0))

    def columns(self) -> FactColumns:
        """The facts so far in canonical order."""
        loan, day, kind, amount, arg = (
            np.concatenate([part[n] for part in self._facts]) for n in range(5)
        )
        order = np.lexsort((np.arange(len(loan)), kind, day, loan))
        offsets = np.searchsorted(loan[order], np.arange(len(self.terms) + 1))
        return FactColumns(
            offsets.astype(np.int64), day[order].astype(np.int32), kind[order].astype(np.int8),
            amount[order], arg[order],
        )  # fmt: skip


def _on_time(life: History) -> None:
    life.pay_first(life.terms.instalments.astype(np.int64))
    life.settle(life.last_due)


def _late(life: History) -> None:
    """Every instalment some days late, with late fees; now and then everything a month late."""
    days = life.draw.integers(0, 25, len(life.row_loan))
    slow = life.often(0.3)[life.row_loan] * 33
    life.pay_rows(np.ones(len(days), np.bool_), days + slow)
    fined = np.flatnonzero(life.draw.random(len(days)) < 0.3)
    life.add(life.row_loan[fined], life.plan.due_on[fined] + 1, FactKind.FEE_CHARGED,
             life.draw.integers(1, 5_000, len(fined)), 1)  # fmt: skip
    life.settle(life.last_due + 70)


def _cured(life: History) -> None:
    """More than sixty days past due, then brought current and paid as agreed."""
    count = life.early()
    life.pay_first(count)
    day = life.due(count) + life.some(61, 170)
    life.pay_past_due(day, life.often(1))
    life.pay_rows(life.plan.due_on > day[life.row_loan])
    life.settle(np.maximum(life.last_due, day) + life.some(1, 9))


def _prepaid(life: History) -> None:
    life.settle(_between(life))


def _between(life: History) -> I64:
    """Pay some instalments; a day before the next one is due."""
    count = life.early()
    life.pay_first(count)
    begun = np.where(count == 0, life.terms.disbursed_on, life.due(count - 1))
    gap = life.due(count) - begun
    return np.asarray(begun + np.floor(life.draw.random(len(gap)) * gap), np.int64)


def _prepaid_in_part(life: History) -> None:
    day = _between(life)
    owed = life.view(day).column("settlement")
    share = life.draw.random(len(owed)) * 0.9
    life.add(life.all, day, FactKind.PAID, np.floor(owed * share).astype(np.int64))
    life.pay_as_due(day)
    life.settle(life.last_due)


def _waived(life: History) -> None:
    """Some of what is still to come is waived, of one component or another."""
    day = _between(life)
    life.add(life.all, day, FactKind.FEE_CHARGED, life.some(0, 3_000), 1)
    view, component = life.view(day), life.some(0, 4)
    open_minor = np.zeros(len(day), np.int64)
    for part, name in zip(Component, (*_SCHEDULED, "penalty"), strict=True):
        if part is Component.PENALTY:
            left = view.column("past_due_penalty")
        else:
            left = np.add.reduceat(getattr(life.plan, name), life.plan.offsets[:-1])
            left = left - view.column(f"paid_{name}")
        open_minor = np.where(component == int(part), left, open_minor)
    share = np.where(life.often(0.3), 1.0, life.draw.random(len(day)))
    life.add(life.all, day + 1, FactKind.WAIVED, np.floor(open_minor * share).astype(np.int64),
             component)  # fmt: skip
    life.pay_as_due(day + 1)
    life.settle(life.last_due + 1)


_SCHEDULED = ("principal", "interest", "guarantee_fee", "service_fee")


def _overpaid(life: History) -> None:
    """Too much is paid with the last payment, or after it, and given back."""
    day, much = _between(life), life.some(1, 500_00)
    with_last = life.often(0.5)
    life.settle(day, more=np.where(with_last, much, 0))
    life.add(life.all, day + 3, FactKind.PAID, np.where(with_last, 0, much))
    part = np.minimum(much, life.some(0, 100_00))
    life.add(life.all, day + 40, FactKind.REFUNDED, part)
    life.add(life.all, day + 130, FactKind.REFUNDED, much - part)


def _charged_back(life: History) -> None:
    """Money taken back by the payer's bank, from loans running or settled; then paid again."""
    day = _between(life)
    life.settle(day, which=life.often(0.5))
    view = life.view(day + 20)
    names = ("paid_principal", "paid_interest", "paid_guarantee_fee", "paid_service_fee")
    paid = sum((view.column(name) for name in names), np.zeros(len(day), np.int64))
    share = np.where(life.often(0.3), 1.0, life.draw.random(len(day)))
    life.add(life.all, day + 20, FactKind.CHARGED_BACK, np.floor(paid * share).astype(np.int64))
    life.settle(np.maximum(life.last_due, day + 20) + life.some(1, 100))


def _paid_out(life: History) -> None:
    """The guarantor pays on the first day past its trigger; some of it comes back."""
    day = _default(life, TRIGGER_DAYS)
    view = life.view(day)
    claim = view.column("principal_outstanding") + view.column("accrued_interest")
    life.add(life.all, day, FactKind.COMPENSATED, claim, 9)
    life.add(life.all, day + 120, FactKind.CHARGED_OFF, view.column("principal_outstanding"))
    _recover(life, day + life.some(1, 200))


def _charged_off(life: History) -> None:
    day = _default(life, CHARGE_OFF_DAYS)
    life.add(life.all, day - 100, FactKind.BOUGHT_OUT, np.where(life.often(0.3), 1, 0), 3)
    life.add(life.all, day, FactKind.CHARGED_OFF, life.view(day).column("principal_outstanding"))
    _recover(life, day + life.some(0, 200))


def _default(life: History, days: int) -> I64:
    """Some instalments are paid, perhaps a part of one more; then nothing for so many days."""
    count = life.early()
    life.pay_first(count)
    due = life.due(count)
    part = np.where(life.often(0.5), life.some(1, 20_00), 0)
    total = life.plan.total[life.plan.offsets[:-1] + np.minimum(count, life.terms.instalments - 1)]
    life.add(life.all, due + 5, FactKind.PAID, np.minimum(part, np.maximum(total - 1, 0)))
    life.add(
        life.all, due + 9, FactKind.FEE_CHARGED, np.where(life.often(0.5), life.some(1, 5_000), 0)
    )
    return due + days


def _recover(life: History, day: I64) -> None:
    """Nothing, a part, or all of it comes back; some of what came is charged back."""
    owed = life.view(day).column("settlement")
    share = np.floor(owed * life.draw.random(len(day)) * 0.9).astype(np.int64)
    life.add(life.all, day, FactKind.RECOVERED, np.where(life.often(0.6), share, 0))
    life.add(
        life.all, day + 1, FactKind.FEE_CHARGED, np.where(life.often(0.2), life.some(1, 900), 0)
    )
    life.add(life.all, day + 9, FactKind.PAID, np.where(life.often(0.3), life.some(1, 10_00), 0))
    back = np.where(life.often(0.1), share // 2, 0)
    recovered = life.view(day + 10).column("recovered")
    life.add(life.all, day + 10, FactKind.CHARGED_BACK, np.minimum(back, recovered))
    life.settle(day + life.some(30, 400), which=life.often(0.3))
    over = life.view(day + 401).column("overpaid")
    life.add(life.all, day + 401, FactKind.REFUNDED, over)


PATHS: Mapping[str, Callable[[History], None]] = {
    "term": _on_time,
    "late": _late,
    "cured": _cured,
    "prepaid": _prepaid,
    "prepaid in part": _prepaid_in_part,
    "waived": _waived,
    "overpaid": _overpaid,
    "charged back": _charged_back,
    "payout": _paid_out,
    "charge-off": _charged_off,
}
BORROWED = (FundingModel.CAPITAL_HEAVY, FundingModel.ON_BALANCE_SHEET, FundingModel.CAPITAL_LIGHT)
EVERY = tuple(
    (model, path)
    for model in FundingModel
    for path in PATHS
    if (path != "payout" or model is FundingModel.CAPITAL_HEAVY)
    and (path != "charge-off" or model is not FundingModel.CAPITAL_HEAVY)
    and (path == "term" or model in BORROWED)
)
"""Every model with every path it has; of loans that are only referred or handled, one."""


def lives(model: FundingModel, path: str, count: int, seed: int) -> Lives:
    """Whole lives of one model on one path."""
    draw = np.random.default_rng([seed, int(model), list(PATHS).index(path)])
    terms = random_terms(model, count, draw)
    life = History(terms, draw)
    PATHS[path](life)
    own = model is FundingModel.ON_BALANCE_SHEET
    upfront = np.where(draw.random(count) < 0.6, terms.principal_minor // 40, 0) * own
    fee = draw.integers(1, 60_000, count) * (model not in BORROWED)
    return Lives(model, terms, upfront.astype(np.int64), fee.astype(np.int32), life.columns())


def random_terms(model: FundingModel, count: int, draw: np.random.Generator) -> TermColumns:
    """Terms of any own convention, up to two years; fees by rate, flat, or none."""
    principal = draw.integers(100_00, 50_000_00, count)
    months = draw.choice(np.array([1, 3, 6, 6, 9, 12, 12, 12, 18, 24]), count)
    drawn = FIRST + draw.integers(0, DRAWING_DAYS, count)
    rate = np.where(draw.random(count) < 0.1, 0, draw.integers(1, 360_000, count))
    plain = 0.6 if model is FundingModel.ON_BALANCE_SHEET else 0.1
    coupon = np.where(draw.random(count) < plain, rate, rate // draw.integers(1, 6, count))
    flat = np.where(draw.random(count) < plain, 0, principal // draw.integers(12, 200, count))
    terms = TermColumns(
        principal.astype(np.int64), rate.astype(np.int32), coupon.astype(np.int32),
        months.astype(np.int16), drawn.astype(np.int32), _first_due(drawn, draw),
        flat.astype(np.int64), np.zeros(count, np.int64),
        draw.integers(1, len(CONVENTIONS), count, endpoint=True).astype(np.int16),
    )  # fmt: skip
    if model is not FundingModel.CAPITAL_HEAVY:
        return terms
    plan = schedule_columns(terms)
    fees = np.add.reduceat(plan.service_fee, plan.offsets[:-1])
    guarantee = np.floor(fees * np.minimum(1, draw.random(count) * 1.1)).astype(np.int64)
    return TermColumns(*terms.arrays[:7], guarantee, terms.convention)


def _first_due(drawn: I64, draw: np.random.Generator) -> I32:
    """A month after the loan was drawn, or some other day."""
    days = drawn.astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    day = (days - months.astype("datetime64[D]")).astype(np.int64)
    following = months + 1
    length = ((following + 1).astype("datetime64[D]") - following.astype("datetime64[D]")).astype(
        np.int64
    )
    regular = following.astype("datetime64[D]").astype(np.int64) + np.minimum(day, length - 1)
    other = drawn + draw.integers(5, 50, len(drawn))
    return np.where(draw.random(len(drawn)) < 0.7, regular, other).astype(np.int32)
