"""The plan of a loan in the exact form: what falls due when, under every convention.

Everything is a whole number or a ratio of two, rounded where the contract says so and nowhere
else. A plan is made from `PlanInputs`; a later tranche, an early payment or a change of terms makes
another plan of the instalments still to come.

>>> from datetime import date
>>> from usance.loan.convention import CONVENTIONS
>>> terms = Terms(
...     principal_minor=9_000_00,
...     rate_ppm=180_000,
...     instalments=6,
...     disbursed_on=date(2023, 12, 31),
...     first_due_on=date(2024, 1, 31),
...     convention=CONVENTIONS["equal_principal_monthly"],
... )
>>> [row.interest for row in schedule(terms)]
[13500, 11250, 9000, 6750, 4500, 2250]
>>> [row.total for row in schedule(terms.changed(convention=CONVENTIONS["level_monthly"]))]
[157973, 157973, 157973, 157973, 157973, 157972]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from usance.base.calendars import Calendar
from usance.base.codes import Component
from usance.loan.bounds import MAX_INT64
from usance.loan.convention import Amortisation
from usance.loan.errors import FeeError, TermsDateError
from usance.loan.exact.amortise import amortised, share
from usance.loan.exact.charge import Pause, percent_fee, unpaused_interest
from usance.loan.exact.dates import CALENDARS, ROUND, Period, Round, periods
from usance.loan.exact.rows import (
    GUARANTEE_FEE,
    INTEREST,
    PRINCIPAL,
    SERVICE_FEE,
    PlanInputs,
    Row,
    deferred_charges,
    fall_due,
)
from usance.loan.terms import Terms
from usance.loan.views import Instalment


def schedule(terms: Terms, calendars: Mapping[str, Calendar] = CALENDARS) -> list[Instalment]:
    """The plan as agreed: every tranche drawn, and every instalment paid, on its day."""
    rows = first_rows(terms, calendars)
    for day, amount in terms.tranches:
        at = day.toordinal()
        kept = [row for row in rows if row.end <= at]
        rows = kept + replanned(rows, terms, at, amount)
    refuse_impossible_fees(rows, terms)
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
    inputs = PlanInputs(
        terms=terms, periods=periods(terms, None, calendars), principal=amount - down,
        flat_fee=terms.flat_fee_minor, guarantee_fee=terms.guarantee_fee_minor,
        grace_principal=terms.grace_principal, grace_interest=terms.grace_interest,
    )  # fmt: skip
    rows = plan(inputs)
    if not terms.tranches:
        refuse_impossible_fees(rows, terms)
    if down:
        day = terms.disbursed_on.toordinal()
        rows.insert(0, Row(Period(0, day, day, 0, 1, 0, 1), (), amount, down, 0, 0))
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
        PlanInputs(
            terms=terms,
            periods=[row.period for row in coming],
            principal=sum(row.due[PRINCIPAL] for row in coming) - covered + change,
            flat_fee=terms.flat_fee_minor - sum(row.flat_share for row in past),
            guarantee_fee=terms.guarantee_fee_minor - sum(row.guarantee_instalment for row in past),
            grace_principal=max(0, terms.grace_principal - len(past)),
            grace_interest=max(0, terms.grace_interest - len(past)),
            before=tuple((a, min(b, day), balance) for a, b, balance in running.spans if a < day),
            deferred=deferred_charges(past, carried),
            level=running.level if keep_level else None,
            parts=[row.own[PRINCIPAL] for row in coming] if keep_level else (),
            ends_when_repaid=keep_level
            and not any(on.toordinal() > day for on, _ in terms.tranches),
            pauses=pauses,
        )
    )
    new[0].early = covered + max(0, -change)
    new[0].due[PRINCIPAL] += new[0].early
    return new


def plan(inputs: PlanInputs) -> list[Row]:
    """Rows of a plan: principal and charges, fees, then deferred charges."""
    rnd = ROUND[inputs.terms.convention.rounding]
    rows = amortised(inputs, rnd)
    _add_fees(rows, inputs, rnd)
    if inputs.pauses:
        for row in rows:
            row.own[INTEREST] = unpaused_interest(
                row.whole_interest, row.start, row.end, inputs.pauses, rnd
            )
    fall_due(rows, inputs.grace_interest, inputs.deferred)
    return rows


def _add_fees(rows: Sequence[Row], inputs: PlanInputs, rnd: Round) -> None:
    """Split charges and fees between guarantor and platform, in step with all fees."""
    fees = []
    for index, row in enumerate(rows):
        row.flat_share = share(inputs.flat_fee, index, len(rows), rnd)
        percent = _percent(row, inputs.terms, Component.SERVICE_FEE, rnd)
        fees.append(row.charge - row.whole_interest + row.flat_share + percent)
    total = sum(fees)
    guarantee = min(inputs.guarantee_fee, total)
    so_far = sliced = 0
    for row, fee in zip(rows, fees, strict=True):
        so_far += fee
        row.guarantee_instalment = rnd(guarantee * so_far, total) - sliced if guarantee else 0
        sliced += row.guarantee_instalment
        row.own[SERVICE_FEE] = fee - row.guarantee_instalment
        percent = _percent(row, inputs.terms, Component.GUARANTEE_FEE, rnd)
        row.own[GUARANTEE_FEE] = row.guarantee_instalment + percent


def _percent(row: Row, terms: Terms, component: Component, rnd: Round) -> int:
    if not terms.percent_fees:
        return 0
    flat = terms.convention.amortisation is Amortisation.FLAT
    spans = ((row.start, row.end, row.balance),) if flat else row.spans
    return sum(
        percent_fee(fee, terms, row.period, spans, rnd)
        for fee in terms.percent_fees
        if fee.component == component
    )


def refuse_impossible_fees(rows: Sequence[Row], terms: Terms) -> None:
    """Refuse a guarantee fee above the fees it is a part of, and a plan beyond 64 bits."""
    fees = sum(row.guarantee_instalment + row.own[SERVICE_FEE] for row in rows)
    if fees < terms.guarantee_fee_minor:
        raise FeeError(
            f"the guarantee fee of {terms.guarantee_fee_minor} is more than the fees of {fees}",
            where="guarantee_fee_minor", fix=f"Give at most {fees}, or raise a fee",
        )  # fmt: skip
    if sum(sum(row.due) for row in rows) > MAX_INT64:
        raise FeeError(
            "the instalments come to more than 64 bits hold",
            where="percent_fees", fix="Lower the principal, the rates or the number of instalments",
        )  # fmt: skip
