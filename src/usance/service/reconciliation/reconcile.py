"""Three-way reconciliation of a provider's day: our movements, its file, the bank's statement.

>>> ours = Lines.columns(
...     reference=["OR1", "OR2"],
...     amount_minor=[900, 600],
...     day=[19905, 19905],
...     loan_id=[1, 2],
...     currency=["CNY", "CNY"],
... )
>>> file = Lines.columns(
...     reference=["OR1", "OR2"],
...     amount_minor=[900, 610],
...     day=[19905, 19905],
...     batch=["B1", "B1"],
...     fee_minor=[9, 6],
...     loan_id=[1, 2],
...     currency=["CNY", "CNY"],
... )
>>> bank = Lines.columns(reference=["B1"], amount_minor=[1495], day=[19906], currency=["CNY"])
>>> terms = ClearingTerms("CNY", fee_ppm=10_000)
>>> done = reconcile(ours, file, bank, terms, through=date(2024, 7, 2))
>>> [
...     (each.leg.value, each.kind.value, each.reference, each.difference_minor)
...     for each in done.breaks
... ]
[('provider', 'amount', 'OR2', 10)]
>>> done.matched_lines, done.in_transit_minor, list(done.tie_problems())
(2, 0, [])
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from usance.base.arrays import I32, I64, Bools
from usance.base.calendars import BusinessDays, Calendar
from usance.base.dates import from_day, to_day
from usance.base.parameters import Parameters
from usance.service.errors import LineError
from usance.service.reconciliation.breaks import Break, BreakClass, Leg
from usance.service.reconciliation.lines import Lines
from usance.service.reconciliation.matching import (
    Matching,
    MatchRules,
    Side,
    match_views,
)
from usance.service.reconciliation.pairing import sums_by, text_codes

_PPM = 1_000_000
_UNPAIRED = (BreakClass.MISSING_WITH_US, BreakClass.DUPLICATE, BreakClass.UNKNOWN)


@dataclass(frozen=True, slots=True)
class ClearingTerms:
    """Terms of a provider's contract: what it keeps, and when its money reaches the bank."""

    currency: str
    fee_ppm: int = 0
    fee_fixed_minor: int = 0
    lag_days: int = 1
    """Business days from its settlement to the bank's booking."""
    calendar: BusinessDays = field(default_factory=Calendar)
    tolerance_minor: int = 0

    @classmethod
    def at(cls, day: date, currency: str, parameters: Parameters | None = None) -> ClearingTerms:
        """Lag and tolerance in force on a day; the fee is the provider's own."""
        known = parameters or Parameters.load()
        lag = known.at("servicing.clearing_lag", day).integer
        tolerance = known.at("servicing.reconciliation_tolerance", day).integer
        return cls(currency, lag_days=lag, tolerance_minor=tolerance)

    def fee_minor(self, amount_minor: I64) -> I64:
        """The fee of each amount, half-up."""
        fee: I64 = (2 * np.abs(amount_minor) * self.fee_ppm + _PPM) // (2 * _PPM)
        return fee + self.fee_fixed_minor


class Batches(NamedTuple):
    """The provider's batches as the bank should see them."""

    key: I64
    net_minor: I64
    fee_minor: I64
    day: I32
    """The business day on which the money is due at the bank."""
    of_line: I64
    """The batch of each line of the file."""


@dataclass(frozen=True)
class Reconciliation:
    """Matches and breaks of both legs, and what has not reached the bank because it is not due."""

    provider_leg: Matching
    bank_leg: Matching
    breaks: list[Break]
    in_transit_minor: int

    @property
    def matched_lines(self) -> int:
        """Matched pairs of both legs."""
        return len(self.provider_leg.pairs[0]) + len(self.bank_leg.pairs[0])

    def tie_problems(self) -> Iterator[LineError]:
        """Sums of the views that breaks and money in transit do not explain: none, ever."""
        for leg, matching, transit in (
            (Leg.PROVIDER, self.provider_leg, 0), (Leg.BANK, self.bank_leg, self.in_transit_minor),
        ):  # fmt: skip
            ours, theirs = matching.ours.amount_minor.sum(), matching.theirs.amount_minor.sum()
            explained = sum(each.difference_minor for each in self.breaks if each.leg is leg)
            if int(theirs) - int(ours) != explained - transit:
                what = f"{theirs} less {ours} is not explained by breaks of {explained}"
                yield LineError(what, where=f"{leg.value} leg", fix="Report this as a fault")


def reconcile(
    ours: Lines, file: Lines, bank: Lines, terms: ClearingTerms, *, through: date,
    known_loans: I64 | None = None, decided: MatchRules | None = None,
) -> Reconciliation:  # fmt: skip
    """Both legs of one provider and its account, up to a business day.

    `known_loans` are the loans of the book; without it any number is taken for one. `decided` holds
    what people matched or separated on the provider's leg, by places of lines.
    """
    rules = (decided or MatchRules())._replace(tolerance_minor=terms.tolerance_minor)
    reference = text_codes(ours.reference, file.reference, ours.batch, file.batch)
    party = text_codes(ours.party, file.party)
    is_named = file.loan_id != 0 if known_loans is None else np.isin(file.loan_id, known_loans)
    first = match_views(
        Side(reference[0], _in(ours, terms), ours.day, party[0], reference[2], ours.loan_id,
             np.ones(len(ours), np.bool_)),
        Side(reference[1], _in(file, terms), file.day, party[1], reference[3], file.loan_id,
             is_named & _is_ours(file, terms)),
        rules,
    )  # fmt: skip
    batches, second = _bank_leg(file, bank, terms)
    is_due = batches.day <= to_day(through)
    breaks = [*_provider_breaks(first, ours, file, terms)]
    in_transit = 0
    for each in _bank_breaks(second, batches, file, bank):
        is_early = each.kind is BreakClass.MISSING_WITH_THEM and not is_due[each.our_place]
        if is_early:
            in_transit -= each.difference_minor
        else:
            breaks.append(each)
    return Reconciliation(first, second, breaks, in_transit)


def _in(lines: Lines, terms: ClearingTerms) -> I64:
    """Amounts in the currency of the account; other money is none of it."""
    return np.where(_is_ours(lines, terms), lines.amount_minor, 0)


def _is_ours(lines: Lines, terms: ClearingTerms) -> Bools:
    equal = pc.equal(lines.currency, pa.scalar(terms.currency))
    found: Bools = equal.to_numpy(zero_copy_only=False)
    return found


def _bank_leg(file: Lines, bank: Lines, terms: ClearingTerms) -> tuple[Batches, Matching]:
    batch_key = pc.if_else(pc.equal(file.batch, ""), file.reference, file.batch)
    bank_key = pc.if_else(pc.equal(bank.batch, ""), bank.reference, bank.batch)
    file_codes, bank_codes = text_codes(batch_key, bank_key)
    unnamed = np.flatnonzero(file_codes < 0)
    highest = int(max(file_codes.max(initial=-1), bank_codes.max(initial=-1)))
    file_codes[unnamed] = highest + 1 + np.arange(len(unnamed))  # each a batch of its own
    fee = np.where(_is_ours(file, terms), file.fee_minor, 0)
    keys, net = sums_by(file_codes, _in(file, terms) - fee)
    _, fees = sums_by(file_codes, fee)
    of_line = np.searchsorted(keys, file_codes)
    last = np.zeros(len(keys), np.int64)
    np.maximum.at(last, of_line, file.day)
    due = _due_days(last, terms)
    batches = Batches(keys, net, fees, due, of_line)
    same = np.zeros(len(keys), np.int64), np.zeros(len(bank), np.int64)
    none = np.full(len(keys), -1, np.int64), np.full(len(bank), -1, np.int64)
    matching = match_views(
        Side(np.where(keys > highest, -1, keys), net, due, same[0], none[0], same[0],
             np.ones(len(keys), np.bool_)),
        Side(bank_codes, _in(bank, terms), bank.day, same[1], none[1], same[1],
             (bank_codes >= 0) & _is_ours(bank, terms)),
        MatchRules(tolerance_minor=terms.tolerance_minor, whole_days=True),
    )  # fmt: skip
    return batches, matching


def _due_days(days: I64, terms: ClearingTerms) -> I32:
    """The business day some business days after each."""
    distinct, place = np.unique(days, return_inverse=True)
    later = [
        to_day(terms.calendar.add_business_days(from_day(int(day)), terms.lag_days))
        for day in distinct
    ]
    return np.array(later, np.int32)[place] if later else np.empty(0, np.int32)


def _provider_breaks(
    matching: Matching, ours: Lines, file: Lines, terms: ClearingTerms
) -> Iterator[Break]:
    for kind, one, other in matching.differences:
        lines, place = (file, other) if other >= 0 else (ours, one)
        yield Break(
            Leg.PROVIDER, kind, lines.reference[place].as_py(), int(lines.amount_minor[place]),
            _gap(matching, one, other), from_day(int(lines.day[place])), one, other,
        )  # fmt: skip
    paired = np.ones(len(file), np.bool_)
    alone = [each.theirs for each in matching.differences if each.kind in _UNPAIRED]
    paired[alone] = False
    extra = file.fee_minor - terms.fee_minor(file.amount_minor)
    for at in np.flatnonzero(paired & (extra != 0)).tolist():
        yield Break(
            Leg.PROVIDER, BreakClass.FEE, file.reference[at].as_py(), int(extra[at]), 0,
            from_day(int(file.day[at])), -1, at,
        )  # fmt: skip


def _bank_breaks(matching: Matching, batches: Batches, file: Lines, bank: Lines) -> Iterator[Break]:
    first_line = np.full(len(batches.key), -1, np.int64)
    first_line[batches.of_line[::-1]] = np.arange(len(file))[::-1]
    for found, one, other in matching.differences:
        gap = _gap(matching, one, other)
        is_fee = found is BreakClass.AMOUNT and abs(gap) == batches.fee_minor[one] != 0
        kind = BreakClass.FEE if is_fee else found  # withheld twice, or not at all
        line = int(first_line[one]) if one >= 0 else -1
        named = file if line >= 0 else bank
        place = line if line >= 0 else other
        name = named.batch[place].as_py() or named.reference[place].as_py()
        amount = bank.amount_minor[other] if other >= 0 else batches.net_minor[one]
        day = bank.day[other] if other >= 0 else batches.day[one]
        yield Break(Leg.BANK, kind, name, int(amount), gap, from_day(int(day)), one, other)


def _gap(matching: Matching, one: int, other: int) -> int:
    theirs = int(matching.theirs.amount_minor[other]) if other >= 0 else 0
    return theirs - (int(matching.ours.amount_minor[one]) if one >= 0 else 0)
