"""Conformance to the worked examples of regulation: `usance conform apr FILE`.

Each case is computed by the public functions and compared with its expected rate at the decimals
that rate shows, rounded half-up. A case that cannot be read or solved fails with its reasons; the
others are still run.

The streams of a case become flows on a time axis by its own times, where every stream has them,
else by its dates: a stream begins on its own date or, in order, where the one before it ended, and
goes on by unit-periods.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

from usance.base.dates import add_days, add_months, last_of_month, to_month
from usance.base.errors import UsanceError
from usance.conform.apr.file import Case, FlowSeries, read_cases
from usance.conform.errors import CaseError
from usance.conform.report import Report
from usance.loan.rates.annual import eu_years
from usance.loan.rates.equation import TimedFlow
from usance.loan.rates.month_counts import anchor_of
from usance.loan.rates.solver import Timeline
from usance.loan.rates.unit_periods import Unit, UnitPeriod, choose_unit_period

# Times in a file are decimals of a fraction, rounded in their last digit.
TOLERANCE = Fraction(1, 10**9)


def timeline(case: Case) -> Timeline:
    """The flows of a case, in unit-periods for the US and in years for the EU."""
    if not all(stream.periods is not None or stream.years is not None for stream in case.streams):
        return _by_dates(case)
    return _eu_by_times(case) if case.jurisdiction == "EU" else _us_by_times(case)


def date_mismatch(case: Case) -> str | None:
    """The difference of the first payment's date and time: empty if none, None if one lacks."""
    first = next((stream for stream in case.streams if stream.amount < 0), None)
    if first is None or first.periods is None or case.unit is None or case.jurisdiction != "US":
        return None
    if not case.dates.advances or not case.dates.payments:
        return None
    days = case.dates.advances[0], case.dates.payments[0]
    periods, fraction = case.unit.measure(*days)
    if abs(periods + fraction - first.periods - first.fraction) < TOLERANCE:
        return ""
    return (
        f"{days[0]} to {days[1]} is t = {periods}, f = {float(fraction):.6g}; "
        f"the case has t = {first.periods}, f = {float(first.fraction):.6g}"
    )


def _us_by_times(case: Case) -> Timeline:
    per_year = _per_year(case)
    flows = []
    for stream in case.streams:
        if stream.periods is None:
            fix = "Give t and f in unit-periods, or dates"
            raise CaseError(f"{stream.field} has no t", where=case.id, fix=fix)
        # A whole t may carry the fraction itself, as in t = 4.57.
        start = stream.periods + stream.fraction
        step = stream.interval or 1
        flows += [(stream, start + k * step) for k in range(stream.count)]
    return _unit_periods(flows, per_year)


def _eu_by_times(case: Case) -> Timeline:
    """Years. A whole t counts unit-periods where the case says how many make a year."""
    given = [stream.periods for stream in case.streams if stream.periods is not None]
    whole = all(periods.denominator == 1 for periods in given)
    unit_years = 1 / _per_year(case) if _has_unit(case) else None
    t_years = unit_years if whole and unit_years else Fraction(1)
    flows = []
    for stream in case.streams:
        start = stream.years
        if start is None:
            start = ((stream.periods or 0) + stream.fraction) * t_years
        step = stream.interval * t_years if stream.interval else unit_years
        if step is None and stream.count > 1:
            fix = "Give unit_period, unit_periods_per_year or an interval"
            raise CaseError(f"{stream.field} has no interval", where=case.id, fix=fix)
        flows += [(stream, start + k * (step or 0)) for k in range(stream.count)]
    return _years(flows)


class Moment(NamedTuple):
    """A day, as so many unit-periods after the date a series begins on."""

    day: date
    origin: date
    steps: int


def _by_dates(case: Case) -> Timeline:
    """Times from dates; in a US series the fraction of its first date holds for all."""
    dated = _dated(case)
    advances = [moment.day for stream, moment in dated if stream.amount > 0]
    payments = [moment.day for stream, moment in dated if stream.amount <= 0]
    start, anchor = min(advances), anchor_of({*payments})
    unit = case.unit or choose_unit_period(start, advances, payments)
    if case.jurisdiction == "EU":
        return _years([(stream, eu_years(start, m.day, unit.unit, anchor)) for stream, m in dated])
    times = []
    for stream, moment in dated:
        whole, fraction = unit.measure(start, moment.origin, anchor)
        times.append((stream, whole + moment.steps + fraction))
    return _unit_periods(times, _per_year(case) if _has_unit(case) else unit.per_year)


def _dated(case: Case) -> list[tuple[FlowSeries, Moment]]:
    """Each single flow with its moment."""
    received = [stream for stream in case.streams if stream.amount > 0]
    paid = [stream for stream in case.streams if stream.amount <= 0]
    dated = []
    for streams, days in ((received, case.dates.advances), (paid, case.dates.payments)):
        following = _moments(case, days)
        for stream in streams:
            own = _series(case, stream.day) if stream.day else following
            taken = list(islice(own, stream.count))
            if len(taken) < stream.count:
                fix = "Give t and f, a date for each, or a first date and a unit_period"
                raise CaseError(f"{stream.field} has no dates", where=case.id, fix=fix)
            dated += [(stream, moment) for moment in taken]
    if not received:
        fix = "Give an amount above 0"
        raise CaseError("advances come to nothing", where=case.id, fix=fix)
    return dated


def _moments(case: Case, days: Sequence[date]) -> Iterator[Moment]:
    """The moments of streams without their own date: those listed, then on from the last."""
    for day in days[:-1]:
        yield Moment(day, day, 0)
    if days:
        yield from _series(case, days[-1])


def _series(case: Case, first: date) -> Iterator[Moment]:
    """A date and, where the unit-period is known, those that follow it."""
    if case.unit is None:
        yield Moment(first, first, 0)
        return
    for k in count():
        yield Moment(_step(case.unit, first, k, case.dates.payment_days), first, k)


def _step(unit: UnitPeriod, first: date, k: int, payment_days: Sequence[int]) -> date:
    if unit.unit in (Unit.DAY, Unit.WEEK):
        return add_days(first, k * unit.unit * unit.count)
    if unit.unit is not Unit.SEMIMONTH:
        return add_months(first, k * unit.count * (12 if unit.unit is Unit.YEAR else 1))
    other = next((day for day in payment_days if day != first.day), (first.day + 14) % 30 + 1)
    if k % 2 == 0:
        return add_months(first, k // 2)
    last = last_of_month(to_month(first) + k // 2 + (other < first.day))
    return last.replace(day=min(other, last.day))


def _has_unit(case: Case) -> bool:
    return case.per_year is not None or case.unit is not None


def _per_year(case: Case) -> Fraction:
    """Unit-periods a year; the exact ratio where the file shows a rounded decimal of it."""
    exact = case.unit.per_year if case.unit else None
    if case.per_year is None and exact is None:
        fix = "Give unit_period or unit_periods_per_year"
        raise CaseError("unit_periods_per_year is missing", where=case.id, fix=fix)
    if case.per_year is None or (exact is not None and abs(exact - case.per_year) < TOLERANCE):
        return exact or Fraction(1)
    return case.per_year


def _unit_periods(flows: Sequence[tuple[FlowSeries, Fraction]], per_year: Fraction) -> Timeline:
    timed = [TimedFlow(amount, time // 1, time % 1) for amount, time in _scaled(flows)]
    return Timeline(timed, per_year)


def _years(flows: Sequence[tuple[FlowSeries, Fraction]]) -> Timeline:
    return Timeline([TimedFlow(amount, time) for amount, time in _scaled(flows)], Fraction(1))


def _scaled(flows: Sequence[tuple[FlowSeries, Fraction]]) -> list[tuple[int, Fraction]]:
    """Amounts as whole numbers of the finest decimal any of them has."""
    places = [-int(stream.amount.as_tuple().exponent) for stream, _ in flows]
    scale = Decimal(10) ** max([0, *places])
    return [(int(stream.amount * scale), time) for stream, time in flows]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one case."""

    id: str
    title: str
    expected_pct: Decimal | None
    got_pct: Decimal | None
    problems: tuple[str, ...] = ()
    note: str | None = None
    """The difference of its dates and times: empty if they agree, None if it lacks one."""

    @property
    def passed(self) -> bool:
        """True if the expected rate came out."""
        return not self.problems and self.got_pct == self.expected_pct

    @property
    def failed(self) -> bool:
        """True if it did not."""
        return not self.passed

    def as_dict(self) -> dict[str, object]:
        """For `--json`, numbers as text so that no digit is lost."""
        return {
            "id": self.id,
            "expected_apr_pct": None if self.expected_pct is None else str(self.expected_pct),
            "got_apr_pct": None if self.got_pct is None else str(self.got_pct),
            "problems": list(self.problems),
        }


class AnnualRateReport(Report[Result]):
    """The results of a file of worked examples of annual rates."""

    __slots__ = ()

    def as_dict(self) -> dict[str, object]:
        """The answer of `--json`."""
        failures = [result.as_dict() for result in self.failures]
        return {"total": len(self.results), "passed": self.passed, "failures": failures}

    def lines(self) -> Iterator[str]:
        """A line per case, then the sums."""
        for result in self.results:
            yield from _lines(result)
        yield f"{self.passed} of {len(self.results)} cases passed"
        notes = [result.note for result in self.results if result.note is not None]
        if notes:
            agree = sum(not note for note in notes)
            yield f"dates and times agree in {agree} of the {len(notes)} cases that have both"


def check_annual_rates(path: Path | str) -> AnnualRateReport:
    """Run every case of a file."""
    return AnnualRateReport(tuple(run_case(case) for case in read_cases(path)))


def run_case(case: Case) -> Result:
    """Compute one case and set it beside what it expects."""
    if case.problems or case.expected_pct is None:
        return _unusable(case, *case.problems)
    decimals = max(0, -int(case.expected_pct.as_tuple().exponent))
    try:
        rate = timeline(case).rate(parts=100 * 10**decimals)
        note = date_mismatch(case)
    except UsanceError as error:
        return _unusable(case, error)
    got = Decimal(rate).scaleb(-decimals)
    return Result(case.id, case.title, case.expected_pct, got, note=note)


def _unusable(case: Case, *errors: UsanceError) -> Result:
    texts = tuple(str(error) if error.where else f"{case.id}: {error}" for error in errors)
    return Result(case.id, case.title, case.expected_pct, None, texts)


def _lines(result: Result) -> Iterator[str]:
    mark = "ok  " if result.passed else "FAIL"
    expected = "no rate" if result.expected_pct is None else f"{result.expected_pct} %"
    got = "no rate" if result.got_pct is None else f"{result.got_pct} %"
    title = f"  {result.title}" if result.title else ""
    yield f"{mark}  {result.id}  expected {expected}, got {got}{title}"
    yield from (f"      {problem}" for problem in result.problems)
    if result.note:
        yield f"      note: {result.note}"
