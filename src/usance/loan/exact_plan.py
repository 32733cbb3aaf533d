"""The plan of a loan in the exact form: what falls due when, under every convention.

Everything is a whole number or a ratio of two, rounded where the contract says so and nowhere
else. A plan is made by a `Job`; a later tranche, an early payment or a change of terms is another
job over the instalments still to come.

>>> from datetime import date
>>> from usance.loan.convention import OWN
>>> terms = Terms(
...     principal_minor=9_000_00,
...     rate_ppm=180_000,
...     instalments=6,
...     disbursed_on=date(2023, 12, 31),
...     first_due_on=date(2024, 1, 31),
...     convention=OWN["equal_principal_monthly"],
... )
>>> [row.interest for row in schedule(terms)]
[13500, 11250, 9000, 6750, 4500, 2250]
>>> [row.total for row in schedule(terms.changed(convention=OWN["level_monthly"]))]
[157973, 157973, 157973, 157973, 157973, 157972]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from usance.base.calendars import Calendar
from usance.base.codes import Component
from usance.loan.convention import Amortisation, DayCount, Difference
from usance.loan.errors import FeeError, TermsDateError
from usance.loan.exact_charge import (
    Pause,
    Span,
    charges,
    flat_charges,
    level_instalment,
    percent_fee,
    spans_of,
    unpaused_interest,
)
from usance.loan.exact_dates import CALENDARS, ROUND, Period, Round, periods
from usance.loan.terms import Terms
from usance.loan.view import Instalment

PRINCIPAL, INTEREST, GUARANTEE_FEE, SERVICE_FEE = 0, 1, 2, 3
_LEVEL = (Amortisation.EQUAL_INSTALMENT, Amortisation.BALLOON)


class Row:
    """One instalment: what its period costs (`own`), what falls due with it, what is covered.

    `own`, `due` and `covered` hold principal, interest, guarantee fee and service fee. `own` and
    `due` differ where interest waits (grace, a change of terms) and by `early`, the principal
    that early money took out of the plan during the period.
    """

    __slots__ = (
        "covered", "due", "early", "end", "flat_share", "guarantee_slice", "late_charged",
        "late_weight", "level", "number", "own", "period", "plan_no", "spans", "start",
        "whole_interest",
    )  # fmt: skip

    def __init__(self, period: Period, spans: tuple[Span, ...], own: list[int], level: int) -> None:
        self.period = period
        self.number, self.start, self.end = period.number, period.start, period.end
        self.spans = spans
        self.own = own
        self.whole_interest = own[INTEREST]  # before pauses
        self.due = own.copy()
        self.covered = [0, 0, 0, 0]
        self.level = level
        self.flat_share = 0
        self.guarantee_slice = 0
        self.early = 0
        self.plan_no = 0
        self.late_weight = 0  # overdue minor units × days
        self.late_charged = 0

    @property
    def is_paid(self) -> bool:
        """Whether everything due with it is covered."""
        return self.covered == self.due


@dataclass(slots=True, kw_only=True)
class Job:
    """What is to be planned: `principal` over `periods`, by the options of `terms`."""

    terms: Terms
    periods: Sequence[Period]
    principal: int
    flat_fee: int
    guarantee_fee: int
    grace_principal: int = 0
    grace_interest: int = 0
    before: tuple[Span, ...] = ()  # balances borne by the first period before this plan
    waiting: Sequence[int] = (0, 0, 0, 0)  # falls due with the first instalment after the grace
    level: int | None = None  # keep this instalment, and end when nothing is left
    parts: Sequence[int] = ()  # or these parts of principal
    pauses: Sequence[Pause] = ()


def schedule(terms: Terms, calendars: Mapping[str, Calendar] = CALENDARS) -> list[Instalment]:
    """The plan as agreed: every tranche drawn, and every instalment paid, on its day."""
    rows = first_rows(terms, calendars)
    for day, amount in terms.tranches:
        at = day.toordinal()
        kept = [row for row in rows if row.end <= at]
        rows = kept + replanned(rows, terms, at, amount)
    _refuse_unspread(rows, terms)
    balance, result = terms.principal_minor, []
    for row in rows:
        principal, interest, guarantee_fee, service_fee = row.due
        balance -= principal
        result.append(
            Instalment(row.number, date.fromordinal(row.end), principal, interest,
                       guarantee_fee, service_fee, balance)
        )  # fmt: skip
    return result


def first_rows(terms: Terms, calendars: Mapping[str, Calendar] = CALENDARS) -> list[Row]:
    """The plan of the first disbursement, with the down payment as instalment 0."""
    down = terms.down_payment_minor
    amount = terms.principal_minor - sum(tranche for _, tranche in terms.tranches)
    if down >= amount:
        raise FeeError(
            "the down payment leaves nothing of the first disbursement",
            where="down_payment_minor", fix="Keep it below the first tranche",
        )  # fmt: skip
    job = Job(
        terms=terms, periods=periods(terms, None, calendars), principal=amount - down,
        flat_fee=terms.flat_fee_minor, guarantee_fee=terms.guarantee_fee_minor,
        grace_principal=terms.grace_principal, grace_interest=terms.grace_interest,
    )  # fmt: skip
    rows = plan(job)
    if not terms.tranches:
        _refuse_unspread(rows, terms)
    if down:
        day = terms.disbursed_on.toordinal()
        rows.insert(0, Row(Period(0, day, day, 0, 1, 0, 1), (), [down, 0, 0, 0], 0))
    return rows


def replanned(
    rows: Sequence[Row], terms: Terms, day: int, change: int, *, keep_level: bool = False,
    pauses: Sequence[Pause] = (), carried: Sequence[int] = (0, 0, 0, 0),
) -> list[Row]:  # fmt: skip
    """The instalments due after `day` again, with the balance changed on that day.

    `rows` are all rows of the plan in force; `carried` is what fell due with its first instalment
    from an earlier plan. Principal that is covered before it is due leaves the plan, and stays
    with the first row as `early`.
    """
    past = [row for row in rows if row.end <= day and row.number]
    coming = [row for row in rows if row.end > day]
    if not coming:
        raise TermsDateError(f"no instalment is due after {date.fromordinal(day)}",
                             where="tranches", fix="Disburse before the last due date")  # fmt: skip
    running = coming[0]
    covered = sum(row.covered[PRINCIPAL] for row in coming)
    new = plan(
        Job(
            terms=terms,
            periods=[row.period for row in coming],
            principal=sum(row.due[PRINCIPAL] for row in coming) - covered + change,
            flat_fee=terms.flat_fee_minor - sum(row.flat_share for row in past),
            guarantee_fee=terms.guarantee_fee_minor - sum(row.guarantee_slice for row in past),
            grace_principal=max(0, terms.grace_principal - len(past)),
            grace_interest=max(0, terms.grace_interest - len(past)),
            before=tuple((a, min(b, day), balance) for a, b, balance in running.spans if a < day),
            waiting=waiting(past, carried),
            level=running.level if keep_level else None,
            parts=[row.own[PRINCIPAL] for row in coming] if keep_level else (),
            pauses=pauses,
        )
    )
    new[0].early = covered + max(0, -change)
    new[0].due[PRINCIPAL] += new[0].early
    return new


def waiting(past: Sequence[Row], carried: Sequence[int]) -> list[int]:
    """What the periods of past instalments cost that has not fallen due with them."""
    return [
        max(0, carried[c] + sum(row.own[c] - row.due[c] for row in past)) if c else 0
        for c in range(4)
    ]


def plan(job: Job) -> list[Row]:
    """The rows of a job: principal and charges, fees, then what waits."""
    terms = job.terms
    rnd = ROUND[terms.convention.rounding]
    rows, all_charges = _amortised(job, rnd)
    _add_fees(rows, all_charges, job, rnd)
    for row in rows:
        row.own[INTEREST] = unpaused_interest(
            row.whole_interest, row.start, row.end, job.pauses, rnd
        )
    fall_due(rows, job.grace_interest, job.waiting)
    return rows


def fall_due(rows: Sequence[Row], grace: int, carried: Sequence[int]) -> None:
    """Let interest and fees fall due, those within the grace with the first after it."""
    wait = list(carried)
    for index, row in enumerate(rows):
        for c in (INTEREST, GUARANTEE_FEE, SERVICE_FEE):
            row.due[c] = row.own[c]
            if index < grace:
                wait[c] += row.own[c]
                row.due[c] = 0
            elif index == grace:
                row.due[c] += wait[c]


def _amortised(job: Job, rnd: Round) -> tuple[list[Row], list[int]]:
    """Rows with principal and interest, and beside them the borrower's finance charges."""
    terms = job.terms
    convention = terms.convention
    if convention.amortisation is Amortisation.FLAT:
        return _flat(job, rnd)
    levelled = convention.amortisation in _LEVEL
    level = job.level
    if levelled and level is None:
        level = level_instalment(terms, job.periods[job.grace_principal :], job.principal,
                                 _balloon(job), job.before)  # fmt: skip
    split_first = convention.difference is Difference.FIRST and levelled
    monthly = convention.day_count is DayCount.MONTHLY
    part = _PARTS[convention.amortisation]
    rows: list[Row] = []
    all_charges: list[int] = []
    balance, last = job.principal, len(job.periods) - 1
    for index, period in enumerate(job.periods):
        spans = spans_of(period, balance, job.before if not index else ())
        charge, interest = charges(terms, period, spans, rnd)
        regular = charge
        if monthly and levelled and (
            period.num * period.regular_den != period.regular_num * period.den or len(spans) > 1
        ):
            plain = period._replace(num=period.regular_num, den=period.regular_den)
            regular = charges(terms, plain, spans_of(period, balance, ()), rnd)[0]
        if index < job.grace_principal:
            principal = 0
        elif index < last or split_first:
            principal = part(job, index - job.grace_principal, balance, (level or 0) - regular, rnd)
        else:
            principal = balance
        rows.append(Row(period, spans, [principal, interest, 0, 0], level or 0))
        all_charges.append(charge)
        balance -= principal
        if not balance and (job.parts or job.level is not None):
            break
    if split_first and balance:
        _difference_first(rows[job.grace_principal :], balance)
    return rows, all_charges


def _difference_first(rows: list[Row], left: int) -> None:
    """Give the first what is left over; what it cannot give back is taken from the last ones."""
    for row in (rows[0], *reversed(rows)):
        change = max(left, -row.own[PRINCIPAL])
        row.own[PRINCIPAL] += change
        row.due[PRINCIPAL] += change
        left -= change


def _balloon(job: Job) -> int:
    return min(job.terms.balloon_minor, job.principal)


Part = Callable[[Job, int, int, int, Round], int]


def _level_part(job: Job, index: int, balance: int, room: int, rnd: Round) -> int:
    del rnd
    open_end = index == len(job.periods) - job.grace_principal - 1  # only with the difference first
    return max(0, room) if open_end else max(0, min(room, balance - _balloon(job)))


def _equal_part(job: Job, index: int, balance: int, room: int, rnd: Round) -> int:
    del room
    if job.parts:
        return min(balance, job.parts[index + job.grace_principal])
    count = len(job.periods) - job.grace_principal
    return rnd(job.principal * (index + 1), count) - rnd(job.principal * index, count)


def _no_part(job: Job, index: int, balance: int, room: int, rnd: Round) -> int:
    del job, index, balance, room, rnd
    return 0


_PARTS: Mapping[Amortisation, Part] = {
    Amortisation.EQUAL_INSTALMENT: _level_part,
    Amortisation.BALLOON: _level_part,
    Amortisation.EQUAL_PRINCIPAL: _equal_part,
    Amortisation.INTEREST_ONLY: _no_part,
}


def _flat(job: Job, rnd: Round) -> tuple[list[Row], list[int]]:
    count = len(job.periods)
    total, interest = flat_charges(job.terms, job.periods, job.principal, rnd)
    rows, all_charges = [], []
    for index, period in enumerate(job.periods):
        own = _share(interest, index, count, rnd)
        principal = 0
        if index >= job.grace_principal:
            principal = _equal_part(job, index - job.grace_principal, job.principal, 0, rnd)
        spans = spans_of(period, 1, ())
        rows.append(Row(period, spans, [principal, own, 0, 0], 0))
        # Two spreads may cross by a unit; the fee is spread by itself and never negative.
        all_charges.append(own + _share(total - interest, index, count, rnd))
    return rows, all_charges


def _share(total: int, index: int, count: int, rnd: Round) -> int:
    return rnd(total * (index + 1), count) - rnd(total * index, count) if total else 0


def _add_fees(rows: list[Row], all_charges: list[int], job: Job, rnd: Round) -> None:
    """Split charges and fees between guarantor and platform, in step with all fees."""
    fees = []
    for index, (row, charge) in enumerate(zip(rows, all_charges, strict=True)):
        row.flat_share = _share(job.flat_fee, index, len(rows), rnd)
        percent = _percent(row, job.terms, Component.SERVICE_FEE, rnd)
        fees.append(charge - row.own[INTEREST] + row.flat_share + percent)
    total = sum(fees)
    guarantee = min(job.guarantee_fee, total)
    so_far = sliced = 0
    for row, fee in zip(rows, fees, strict=True):
        so_far += fee
        row.guarantee_slice = rnd(guarantee * so_far, total) - sliced if guarantee else 0
        sliced += row.guarantee_slice
        row.own[SERVICE_FEE] = fee - row.guarantee_slice
        percent = _percent(row, job.terms, Component.GUARANTEE_FEE, rnd)
        row.own[GUARANTEE_FEE] = row.guarantee_slice + percent


def _percent(row: Row, terms: Terms, component: Component, rnd: Round) -> int:
    return sum(
        percent_fee(fee, terms, row.period, row.spans, rnd)
        for fee in terms.percent_fees
        if fee.component == component
    )


def _refuse_unspread(rows: Sequence[Row], terms: Terms) -> None:
    """Refuse a guarantee fee larger than all fees it is a part of."""
    spread = sum(row.guarantee_slice for row in rows)
    if spread < terms.guarantee_fee_minor:
        raise FeeError(
            f"the guarantee fee of {terms.guarantee_fee_minor} is more than the fees of {spread}",
            where="guarantee_fee_minor", fix=f"Give at most {spread}, or raise a fee",
        )  # fmt: skip
