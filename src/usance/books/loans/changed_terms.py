"""Loans whose terms have changed, taken from tables to their positions by the exact form.

Slow and plain, for any convention. For our own conventions it gives the same numbers as the kernel,
which makes it the kernel's oracle; for a loan whose terms have changed it is the only form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.codes import FactKind, FundingModel
from usance.base.dates import to_day, to_month
from usance.base.segments import segment_code, segment_codes
from usance.books.effective_interest.expected_lives import Expected
from usance.books.effective_interest.loans import effective_rates, fees_earned
from usance.books.loans.cells import CellIndex, Sources
from usance.books.loans.positions import CHARGE_OFF, FIELDS, NO_EVENT, PARTS, PAYOUT
from usance.books.loans.positions import POSITION as P
from usance.books.policies import Policies
from usance.loan import exact
from usance.loan.columns import TermColumns, unsupported_term
from usance.loan.exact import ExactLoan
from usance.loan.facts import END_OF_TIME, Fact, visible
from usance.loan.stored_rows import fact_of_row, terms_of_row
from usance.loan.terms import Terms
from usance.loan.views import ComponentAmounts, InstalmentState


@dataclass(frozen=True, slots=True)
class ExactLoans:
    """Positions of some loans, with what groups them."""

    loan_id: NDArray[np.int64]
    positions: NDArray[np.int64]
    cell: NDArray[np.int32]
    segment_no: NDArray[np.int64]
    cohort: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.loan_id)


def exact_loans(
    loans: pa.Table, facts: pa.Table, index: CellIndex, sources: Sources, policies: Policies,
    day: date, known_at: datetime, lag_days: int, segments: NDArray[np.int64],
) -> ExactLoans:  # fmt: skip
    """The positions of loans with several versions of terms, or with paused interest."""
    found = list(_positions(loans, facts, sources, policies, day, known_at, lag_days, segments))
    heads = _heads(loans)
    return ExactLoans(
        np.array([loan_id for loan_id, _ in found], np.int64),
        np.array([row for _, row in found], np.int64).reshape(-1, len(FIELDS)),
        index.of(heads) if found else np.empty(0, np.int32),
        segment_codes(heads).astype(np.int64),
        np.array([to_month(each) for each in heads["drawn"].tolist()], np.int32),
    )  # fmt: skip


def _heads(loans: pa.Table) -> dict[str, NDArray[Any]]:
    """The first version of each loan, as columns."""
    rows = [next(versions) for _, versions in groupby(loans.to_pylist(), _loan)]
    columns = {
        name: np.array([row[name] for row in rows], np.int64)
        for name in ("loan_id", "model", "product", "source")
    }
    return {**columns, "drawn": np.array([row["disbursed_on"] for row in rows], object)}


def _loan(row: Mapping[str, Any]) -> int:
    return int(row["loan_id"])


def _positions(
    loans: pa.Table, facts: pa.Table, sources: Sources, policies: Policies, day: date,
    known_at: datetime, lag_days: int, segments: NDArray[np.int64],
) -> Iterator[tuple[int, NDArray[np.int64]]]:  # fmt: skip
    by_loan = {loan: list(rows) for loan, rows in groupby(facts.to_pylist(), _loan)}
    for loan_id, versions in groupby(loans.to_pylist(), _loan):
        rows = list(versions)
        drawn = np.array([(rows[0]["disbursed_on"] - date(1970, 1, 1)).days])
        fee, lag = sources.terms_of(np.array([rows[0]["source"]]), drawn, lag_days)
        yield (
            loan_id,
            position_of(
                [terms_of_row(row) for row in rows],
                [fact_of_row(row) for row in by_loan.get(loan_id, [])],
                FundingModel(rows[0]["model"]),
                day,
                day - timedelta(days=int(lag[0])),
                fee_ppm=int(fee[0]),
                non_accrual_days=policies.non_accrual_days,
                expected=_expected(policies, segments, rows[0], drawn),
                known_at=known_at,
            ),
        )


def _expected(
    policies: Policies, segments: NDArray[np.int64], row: Mapping[str, Any], drawn: NDArray[Any]
) -> Expected | None:
    """Expected life of a loan of its segment and month, then and now."""
    if policies.lives is None:
        return None
    place = np.searchsorted(segments, [segment_code(row["model"], row["product"])])
    return policies.lives.of(place.clip(0, len(segments) - 1).astype(np.int64), drawn)


_YEAR = timedelta(days=365)


def position_of(
    versions: Sequence[Terms],
    facts: Sequence[Fact],
    model: FundingModel,
    day: date,
    cutoff: date,
    *,
    fee_ppm: int = 0,
    non_accrual_days: int = 60,
    expected: Expected | None = None,
    known_at: datetime = END_OF_TIME,
) -> NDArray[np.int64]:
    """One row of `positions.FIELDS`; `versions` are the terms that changes of terms name."""
    out = np.zeros(len(FIELDS), np.int64)
    out[P.model], out[P.fee_ppm] = model, fee_ppm
    seen = visible(facts, as_of=day, known_at=known_at)
    if not seen:
        return out
    terms = list(versions)
    now = exact.replay(terms, seen, day)
    view = now.view()
    if view.disbursed == 0:
        return out
    event, after_event = _event(seen, model)
    cleared = [fact for fact in seen if fact.effective_on <= cutoff]
    until = seen[:after_event]
    stop = until[-1].effective_on if event else day
    before = exact.replay(terms, until, stop)
    _earn(out, terms, until, before, stop, non_accrual_days)
    _earn_fees(out, terms[0], model, expected)
    _put(out, P.before_principal, before.view().paid)
    _put(out, P.paid_principal, view.paid)
    if cleared:
        settled = exact.replay(terms, cleared, cutoff).view()
        _put(out, P.cleared_principal, settled.paid)
        out[P.cleared_overpaid] = settled.overpaid
    out[P.event], out[P.event_cleared] = event, bool(event) and after_event <= len(cleared)
    out[P.principal], out[P.upfront] = view.disbursed, terms[0].upfront_fee_minor
    out[P.is_settled] = now.state.settled
    out[P.days_past_due] = view.days_past_due
    out[P.overpaid], out[P.compensated] = view.overpaid, view.compensated
    out[P.outstanding] = view.principal_outstanding
    later = [row.outstanding for row in now.rows() if row.due_on > day + _YEAR]
    if not out[P.is_settled]:
        out[P.non_current_principal] = sum(part.principal for part in later)
        out[P.non_current_guarantee] = sum(part.guarantee_fee for part in later)
        out[P.non_current_service] = sum(part.service_fee for part in later)
    return out


def _event(seen: Sequence[Fact], model: FundingModel) -> tuple[int, int]:
    """The event that ends the loan's earning, and the number of facts up to it."""
    for count, fact in enumerate(seen, start=1):
        if fact.kind is FactKind.CHARGED_OFF:
            return CHARGE_OFF, count
        if fact.kind is FactKind.COMPENSATED and model is FundingModel.CAPITAL_HEAVY:
            return PAYOUT, count
    return NO_EVENT, len(seen)


def _earn(
    out: NDArray[np.int64], terms: list[Terms], until: list[Fact], loan: ExactLoan, stop: date,
    non_accrual_days: int,
) -> None:  # fmt: skip
    """Interest and fees earned when the loan stops earning, and the fees of its whole plan."""
    view, rows, settled = loan.view(), loan.rows(), loan.state.settled
    late = max(0, view.days_past_due - non_accrual_days)
    earning_day = stop - timedelta(days=late)
    then = ExactLoan(loan.state, earning_day).view()
    term = (rows[-1].due_on - terms[0].disbursed_on).days
    out[P.earn_month], out[P.earning_day] = to_month(stop), to_day(earning_day)
    out[P.term_days] = term
    out[P.earned_days] = min(max((earning_day - terms[0].disbursed_on).days, 0), term)
    plan = _plan_rows(terms, until)
    out[P.guarantee] = sum(row.due.guarantee_fee for row in plan)
    out[P.service] = sum(row.due.service_fee for row in plan)
    out[P.due_guarantee], out[P.due_service] = view.due.guarantee_fee, then.due.service_fee
    out[P.earned_interest] = then.interest_earned
    out[P.earned_fee_instalments] = then.due.guarantee_fee + then.due.service_fee
    if not settled:
        out[P.earned_fee_instalments] += _running_fee_instalment(
            rows, terms[0].disbursed_on, earning_day
        )
    out[P.waived_principal : P.waived_principal + 4] = view.waived[:4]


def _plan_rows(terms: list[Terms], facts: list[Fact]) -> list[InstalmentState]:
    """The plan while it was running: that of a settled loan is only what was covered."""
    for count in range(len(facts), 0, -1):
        loan = exact.replay(terms, facts[:count], facts[count - 1].effective_on)
        if not loan.state.settled:
            return loan.rows()
    return []


def _running_fee_instalment(rows: list[InstalmentState], disbursed_on: date, day: date) -> int:
    """By days, what is earned of the fees of the period that a day lies in."""
    begun = disbursed_on
    for row in rows:
        if row.due_on > day:
            fee = row.due.guarantee_fee + row.due.service_fee
            days, length = (day - begun).days, (row.due_on - begun).days
            return (2 * fee * days + length) // (2 * length)
        begun = row.due_on
    return 0


def _earn_fees(
    out: NDArray[np.int64], terms: Terms, model: FundingModel, expected: Expected | None
) -> None:
    """By the plan the loan was made with: a change of terms leaves the pattern of its fee."""
    if model is not FundingModel.ON_BALANCE_SHEET or unsupported_term(terms):
        return
    columns, upfront = TermColumns.of([terms]), np.array([terms.upfront_fee_minor], np.int64)
    days = out[[P.earning_day]].astype(np.int32)
    made, now = expected or (None, None)
    for place, then, today in ((P.earned_fee, None, None), (P.earned_fee_ifrs, made, now)):
        rates = effective_rates(columns, upfront, then)
        out[place] = fees_earned(columns, upfront, rates, days, today)[0]
        out[P.effective_ppb] = rates[0]


def _put(out: NDArray[np.int64], place: int, parts: ComponentAmounts) -> None:
    out[place : place + len(PARTS)] = parts
