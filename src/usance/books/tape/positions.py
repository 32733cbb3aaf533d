"""From the rows of a tape to the positions the accounting policies look at.

A tape shows month ends, not days. A payout or charge-off is seen in the first month that shows it;
unless the tape says otherwise, the cash of that month came before it. From then on the loan earns
nothing. While it is more than sixty days past due it earns nothing either: what it had earned when
it passed them stays, until its arrears shorten.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.codes import FundingModel, Status
from usance.books.effective_interest.loans import effective_rates, fees_earned
from usance.books.loans.positions import CHARGE_OFF, FIELDS, NO_EVENT, PARTS, PAYOUT
from usance.books.loans.positions import POSITION as P
from usance.books.tape.checks import last_days, months_of, same_loan
from usance.books.tape.columns import NOT_GIVEN, TERMS
from usance.books.tape.file import GivenTape
from usance.loan.columns import TermColumns

_YEAR_DAYS = 365


@dataclass(frozen=True, slots=True)
class TapePositions:
    """Positions of every row of a tape, and what its triangles need."""

    at: I64
    cohort: I64
    compensated: I64
    charged_off: I64
    recovered: I64
    """Of the row's month: paid out, charged off, recovered."""
    notes: list[str] = field(default_factory=list)


class _Rows:
    """A tape's columns with their defaults, and which row tells a loan's end."""

    def __init__(self, tape: GivenTape, non_accrual_days: I64) -> None:
        self.get, self.size = tape.get, len(tape)
        self.follows = same_loan(tape)
        self.place = np.arange(self.size)
        self.first = np.maximum.accumulate(np.where(self.follows, 0, self.place))
        self.cohort = months_of(tape)
        self.model, self.month = tape.columns["model"], tape.columns["month"]
        self.month_end = last_days(self.month)
        self.drawn = self.get("disbursed_on", last_days(self.cohort))
        self.charged_off = self._charged_off()
        self.compensated = self.get("compensated", 0)
        self.stop = self._stop()
        self.event = self._event()
        self.earning_day = self._earning_day(non_accrual_days)
        self.source = self._source(self.get("dpd") > non_accrual_days)

    def moved(self, column: I64) -> I64:
        """Rise of a total since the month before."""
        before = np.where(self.follows, column[self.place - 1], 0)
        return np.asarray(column - before, np.int64)

    def _charged_off(self) -> I64:
        """The total given; else what was unpaid in the first month that is charged off."""
        gone = self.get("status") == Status.CHARGED_OFF
        begun = self._from_first(gone)
        unpaid = np.where(begun < self.size, self.get("principal")[begun.clip(0, self.size - 1)], 0)
        return self.get("charged_off", np.where(self.place >= begun, unpaid, 0))

    def _from_first(self, told: NDArray[np.bool_]) -> I64:
        """Of each row's loan the first row that tells something, else a row beyond all."""
        found = np.full(self.size, self.size)
        np.minimum.at(found, self.first[told], self.place[told])
        return np.asarray(found[self.first], np.int64)

    def _stop(self) -> I64:
        """The row at which each loan has stopped earning for good; else the row itself."""
        paid_out = (self.model == FundingModel.CAPITAL_HEAVY) & (self.compensated > 0)
        self.ended_at = self._from_first(paid_out | (self.charged_off > 0))
        return np.minimum(self.place, self.ended_at)

    def _event(self) -> I64:
        paid_out = (self.model == FundingModel.CAPITAL_HEAVY) & (self.compensated[self.stop] > 0)
        kind = np.where(paid_out, PAYOUT, CHARGE_OFF)
        return np.where(self.place >= self.ended_at, kind, NO_EVENT)

    def _earning_day(self, non_accrual_days: I64) -> I64:
        """The last day each row earns by itself, with the day of its end where that is told."""
        end = self.get("event_on", self.month_end)
        end = np.where(self.place == self.ended_at, end, self.month_end)
        late = self.get("dpd") - (self.month_end - end) - non_accrual_days
        return np.asarray(end - late.clip(0), np.int64)

    def _source(self, is_late: NDArray[np.bool_]) -> I64:
        """The row whose earned amounts count: that of the end, or where arrears stopped them."""
        day = self.earning_day
        stays = self.follows & is_late & (day <= day[self.place - 1])
        return np.asarray(np.maximum.accumulate(np.where(stays, 0, self.place))[self.stop])


def tape_positions(tape: GivenTape, non_accrual_days: I64) -> TapePositions:
    """The positions of all rows; `non_accrual_days` is the policy in force at each."""
    rows = _Rows(tape, non_accrual_days)
    # Columns lie together: they are filled one by one.
    out, notes = np.zeros((rows.size, len(FIELDS)), np.int64, order="F"), list[str]()
    _terms(rows, out)
    _cash(rows, out)
    _earned(rows, out)
    notes += _fees(rows, out)
    _later(rows, out)
    recovered = rows.get("recovered", _received_after(rows, out))
    if np.any(~rows.follows & (rows.cohort < rows.month)):
        older = int(np.count_nonzero(~rows.follows & (rows.cohort < rows.month)))
        first = "what they did before it stands in its first close"
        notes.append(f"{older} loans were made before the tape begins: {first}")
    return TapePositions(
        out, rows.cohort, rows.moved(rows.compensated), rows.moved(rows.charged_off), recovered,
        notes,
    )  # fmt: skip


def _terms(rows: _Rows, out: I64) -> None:
    out[:, P.model], out[:, P.principal] = rows.model, rows.get("originated")
    out[:, P.upfront], out[:, P.fee_ppm] = rows.get("upfront_fee", 0), rows.get("fee_ppm", 0)
    out[:, P.guarantee] = rows.get("guarantee_fee", 0)
    out[:, P.service] = rows.get("service_fee", 0)
    closed = (rows.get("status") == Status.CLOSED).astype(np.int64)
    out[:, P.is_settled] = rows.get("settled", closed)
    out[:, P.days_past_due], out[:, P.outstanding] = rows.get("dpd"), rows.get("principal")
    out[:, P.event], out[:, P.compensated] = rows.event, rows.compensated
    out[:, P.event_cleared] = np.where(rows.event != NO_EVENT, rows.get("event_cleared", 1), 0)
    out[:, P.earn_month] = rows.month[rows.stop]
    out[:, P.earning_day] = rows.earning_day[rows.source]
    out[:, P.term_days] = rows.get("term_days", 0)
    elapsed = rows.get("elapsed_days", (rows.earning_day - rows.drawn).clip(0))
    out[:, P.earned_days] = np.minimum(elapsed[rows.source], out[:, P.term_days])
    agreed = (rows.get("rate_ppm", 0) * 1_000 + 6) // 12  # a month, in ppb
    rates = rows.get("eir_ppb", agreed)
    out[:, P.effective_ppb] = np.where(rows.model == FundingModel.ON_BALANCE_SHEET, rates, 0)


def _cash(rows: _Rows, out: I64) -> None:
    """Cash to date, before the loan stopped earning, and as the providers handed it over."""
    for place, part in enumerate(PARTS):
        waived = rows.get(f"waived_{part}", 0)
        rest = rows.get("originated") - rows.get("principal") - waived
        paid = rows.get(f"paid_{part}", rest if part == "principal" else 0)
        out[:, P.paid_principal + place] = paid
        before = np.where(rows.event != NO_EVENT, rows.get(f"before_{part}", paid), paid)
        out[:, P.before_principal + place] = before[rows.stop]
        out[:, P.cleared_principal + place] = rows.get(f"cleared_{part}", paid)
        if part != "penalty":
            out[:, P.waived_principal + place] = waived[rows.stop]
    out[:, P.overpaid] = rows.get("overpaid", 0)
    out[:, P.cleared_overpaid] = rows.get("cleared_overpaid", out[:, P.overpaid])


def _earned(rows: _Rows, out: I64) -> None:
    """Interest and fees as far as they are earned or fallen due."""
    elapsed = (np.minimum(rows.month_end, rows.earning_day) - rows.drawn).clip(0)
    by_days = {
        name: _share(rows.get(f"{name}_fee", 0), elapsed, out[:, P.term_days])
        for name in ("guarantee", "service")
    }
    guarantee = rows.get("due_guarantee", by_days["guarantee"])
    service = rows.get("due_service", by_days["service"])
    interest = rows.get("paid_interest", 0) + rows.get("waived_interest", 0)
    out[:, P.due_guarantee] = guarantee[rows.stop]
    out[:, P.due_service] = service[rows.source]
    out[:, P.earned_interest] = rows.get("earned_interest", interest)[rows.source]
    out[:, P.earned_fee_instalments] = rows.get("earned_fee_instalments", guarantee + service)[
        rows.source
    ]


def _share(whole: I64, part: I64, parts: I64) -> I64:
    """Of an amount the part of a term, half-up; all of it where there is no term."""
    of = np.maximum(parts, 1)
    taken = np.where(parts == 0, 1, np.minimum(part, of))
    return np.asarray((2 * whole * taken + of) // (2 * of), np.int64)


def _fees(rows: _Rows, out: I64) -> list[str]:
    """Upfront fees earned: as given, by effective interest, or by days of the term."""
    told, ifrs = (rows.get(name)[rows.source] for name in ("earned_fee", "earned_fee_ifrs"))
    own = (out[:, P.upfront] > 0) | (told > 0) | (ifrs > 0)
    own &= rows.model == FundingModel.ON_BALANCE_SHEET
    if not own.any():
        return []
    with_terms = own & (told == NOT_GIVEN)
    for name in TERMS:
        with_terms &= rows.get(name) != NOT_GIVEN
    earned = np.where(told == NOT_GIVEN, _share(out[:, P.upfront], out[:, P.earned_days],
                                                out[:, P.term_days]), told)  # fmt: skip
    by_terms = np.flatnonzero(with_terms)
    if len(by_terms):
        earned[by_terms] = _effective(rows, out, by_terms)
    out[own, P.earned_fee] = earned[own]
    out[own, P.earned_fee_ifrs] = np.where(ifrs == NOT_GIVEN, earned, ifrs)[own]
    by_days = len(np.unique(rows.first[own & ~with_terms & (told == NOT_GIVEN)]))
    notes = []
    if by_days:
        notes.append(f"upfront fees of {by_days} loans without terms are earned by days")
    if np.any(own & (ifrs == NOT_GIVEN)):
        notes.append("upfront fees have no adjustment to IFRS where the tape brings none")
    return notes


def _effective(rows: _Rows, out: I64, at: NDArray[np.intp]) -> I64:
    """By effective interest on the agreed plan, to the last day that earns."""
    rate = rows.get("rate_ppm")[at].astype(np.int32)
    zeros = np.zeros(len(at), np.int64)
    terms = TermColumns(
        rows.get("originated")[at], rate, rate, rows.get("instalments")[at].astype(np.int16),
        rows.drawn[at].astype(np.int32), rows.get("first_due_on")[at].astype(np.int32), zeros,
        zeros, rows.get("convention")[at].astype(np.int16),
    )  # fmt: skip
    upfront = np.ascontiguousarray(out[at, P.upfront])
    rates = rows.get("eir_ppb")[at]
    missing = np.flatnonzero(rates == NOT_GIVEN)
    if len(missing):
        rates[missing] = effective_rates(terms.take(missing), upfront[missing])
    out[at, P.effective_ppb] = rates
    return fees_earned(terms, upfront, rates, out[at, P.earning_day].astype(np.int32))


def _later(rows: _Rows, out: I64) -> None:
    """Parts that fall due more than a year from now: as given, or by days of the term."""
    left = (out[:, P.term_days] - (rows.month_end - rows.drawn)).clip(0)
    beyond = (left - _YEAR_DAYS).clip(0)
    open_now = out[:, P.is_settled] == 0
    for place, name, unpaid in (
        (P.non_current_principal, "principal", out[:, P.outstanding]),
        (P.non_current_guarantee, "guarantee", out[:, P.guarantee] - out[:, P.paid_guarantee]),
        (P.non_current_service, "service", out[:, P.service] - out[:, P.paid_service]),
    ):
        by_days = np.where(beyond > 0, _share(unpaid.clip(0), beyond, left), 0)
        out[:, place] = np.where(open_now, rows.get(f"non_current_{name}", by_days), 0)


def _received_after(rows: _Rows, out: I64) -> I64:
    """Cash of the month after the loan stopped earning."""
    paid = out[:, P.paid_principal : P.paid_principal + len(PARTS)].sum(axis=1)
    before = out[:, P.before_principal : P.before_principal + len(PARTS)].sum(axis=1)
    return rows.moved(paid - before)
