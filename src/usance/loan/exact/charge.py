"""Charges of a period in the exact form: interest on balances, the level instalment, pauses.

>>> from datetime import date
>>> from usance.base.money import half_up
>>> from usance.loan.exact.dates import periods
>>> terms = Terms(
...     principal_minor=9_000_00,
...     rate_ppm=180_000,
...     instalments=6,
...     disbursed_on=date(2023, 12, 31),
...     first_due_on=date(2024, 1, 31),
... )
>>> first = periods(terms)[0]
>>> charges(terms, first, spans_of(first, 9_000_00, ()), half_up)
(13500, 13500)
>>> level_instalment(terms, periods(terms), 9_000_00)
157973
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import gcd

from usance.loan.convention import Convention, LevelBasis
from usance.loan.exact.dates import ROUND, Period, Round, nominal_step, span_fraction, step_months
from usance.loan.terms import FeeBasis, PercentFee, Terms

Span = tuple[int, int, int]
"""(from, to, balance): the balance that bears interest from one day to another."""
Pause = tuple[int, int]
"""(first, last): days, both included, that bear no interest; pauses never overlap."""

PPM = 1_000_000


def spans_of(period: Period, balance: int, before: tuple[Span, ...]) -> tuple[Span, ...]:
    """The balances a period bears: those `before` the plan was made, then `balance`."""
    return (*before, (before[-1][1] if before else period.start, period.end, balance))


def charges(terms: Terms, period: Period, spans: Sequence[Span], rnd: Round) -> tuple[int, int]:
    """The finance charge of a period and the interest within it, each rounded once."""
    if len(spans) == 1 and not terms.rate_steps:
        weight, whole = period.num * spans[0][2], period.den * PPM
        charge = rnd(weight * terms.rate_ppm, whole)
        if terms.coupon_ppm == terms.rate_ppm:
            return charge, charge
        return charge, rnd(weight * terms.coupon_ppm, whole)
    whole = period.den * (period.end - period.start) * PPM
    if not whole:
        return 0, 0
    if terms.coupon_ppm == terms.rate_ppm:
        charge = rnd(period.num * sum(_weights(terms, spans)), whole)
        return charge, charge
    days = sum(balance * (end - start) for start, end, balance in spans)
    return (
        rnd(period.num * days * terms.rate_ppm, whole),
        rnd(period.num * days * terms.coupon_ppm, whole),
    )


def _weights(terms: Terms, spans: Sequence[Span]) -> Iterator[int]:
    for start, end, balance in spans:
        for a, b, ppm in rates(terms, start, end):
            yield balance * ppm * (b - a)


def rates(terms: Terms, start: int, end: int) -> Iterator[Span]:
    """(from, to, rate) for every part of a stretch of days that bears one rate."""
    ppm = terms.rate_ppm
    for day, next_ppm in terms.rate_steps:
        at = day.toordinal()
        if at >= end:
            break
        if at > start:
            yield start, at, ppm
            start = at
        ppm = next_ppm
    yield start, end, ppm


def flat_charges(
    terms: Terms, planned: Sequence[Period], principal: int, before: Sequence[Span], rnd: Round
) -> tuple[int, int]:
    """The charge and the interest of a whole flat plan, on its original principal throughout.

    `before` holds the principals of earlier plans that the first period bore for some days.
    """
    start, end = planned[0].start, planned[-1].end
    since = before[-1][1] if before else start
    weight = Fraction(0)
    for a, b, base in (*before, (since, end, principal)):
        weight += base * _flat_years(terms.convention, planned, a, b)
    charge = weight * _mean_rate(terms, start, end)
    interest = charge if terms.rate_steps else weight * terms.coupon_ppm
    return (
        rnd(charge.numerator, charge.denominator * PPM),
        rnd(interest.numerator, interest.denominator * PPM),
    )


def _flat_years(
    convention: Convention, planned: Sequence[Period], start: int, end: int
) -> Fraction:
    """A stretch of a flat plan in years: whole steps by months, a broken one by its days."""
    months = step_months(convention)
    if not months:
        return Fraction(*span_fraction(convention, start, end))
    steps = Fraction(0)
    for period in planned:
        common = min(end, period.end) - max(start, period.start)
        if common > 0:
            steps += Fraction(common, period.end - period.start)
    return steps * Fraction(months, 12)


def _mean_rate(terms: Terms, start: int, end: int) -> Fraction:
    return Fraction(sum(ppm * (b - a) for a, b, ppm in rates(terms, start, end)), end - start)


def percent_fee(
    fee: PercentFee, terms: Terms, period: Period, spans: Sequence[Span], rnd: Round
) -> int:
    """One percentage fee of one period."""
    if fee.basis is FeeBasis.PRINCIPAL:
        return rnd(terms.principal_minor * fee.ppm, PPM)
    days = period.end - period.start
    weight = sum(balance * (end - start) for start, end, balance in spans)
    return rnd(period.num * weight * fee.ppm, period.den * days * PPM) if days else 0


def level_instalment(
    terms: Terms, planned: Sequence[Period], principal: int, balloon: int = 0,
    before: tuple[Span, ...] = (),
) -> int:  # fmt: skip
    """The instalment that repays `principal`, but for `balloon`, over the periods."""
    convention = terms.convention
    if convention.level_basis is LevelBasis.DAYS:
        num, den = _level_by_days(terms, planned, principal, balloon, before)
    else:
        num, den = _level_nominal(terms, len(planned), principal, balloon)
    unit = convention.round_to_minor
    return ROUND[convention.rounding](num, den * unit) * unit


def _level_nominal(terms: Terms, count: int, principal: int, balloon: int) -> tuple[int, int]:
    """`(P − Q·(1+i)^−n)·i / (1 − (1+i)^−n)` as a ratio of whole numbers."""
    part, year = nominal_step(terms.convention)
    num, den = terms.rate_ppm * part, year * PPM
    if not num:
        return principal - balloon, count
    common = gcd(num, den)
    num, den = num // common, den // common
    grown, base = (den + num) ** count, den**count
    return (principal * grown - balloon * base) * num, den * (grown - base)


def _level_by_days(
    terms: Terms, planned: Sequence[Period], principal: int, balloon: int,
    before: tuple[Span, ...],
) -> tuple[int, int]:  # fmt: skip
    """`(P − Q·v_n) / (v_1 + … + v_n)`, the factors `v` of the true periods.

    The sum is built from the last period backwards: s_k = (1 + s_{k+1}) / (1 + i_k).
    """
    sum_num, sum_den, last_num, last_den = 0, 1, 1, 1
    for index in range(len(planned) - 1, -1, -1):
        period = planned[index]
        start = before[-1][1] if before and not index else period.start
        grow = sum(ppm * (b - a) for a, b, ppm in rates(terms, start, period.end)) * period.num
        base = period.den * (period.end - period.start) * PPM or 1
        sum_num, sum_den = (sum_den + sum_num) * base, sum_den * (base + grow)
        last_num, last_den = last_num * base, last_den * (base + grow)
        common = gcd(sum_num, sum_den)
        sum_num, sum_den = sum_num // common, sum_den // common
    return (principal * last_den - balloon * last_num) * sum_den, last_den * sum_num


def unpaused_interest(
    interest: int, start: int, end: int, pauses: Sequence[Pause], rnd: Round
) -> int:
    """The interest of a period less its paused days.

    >>> from usance.base.money import half_up
    >>> unpaused_interest(3100, 100, 131, [(110, 119)], half_up)
    2100
    """
    paused = paused_days(start, end, pauses)
    return rnd(interest * (end - start - paused), end - start) if paused else interest


def paused_days(start: int, end: int, pauses: Sequence[Pause]) -> int:
    """The number of paused days from `start` to `end`."""
    return sum(max(0, min(end, last + 1) - max(start, first)) for first, last in pauses)


def accrued(
    terms: Terms, interest: int, spans: Sequence[Span], day: int, pauses: Sequence[Pause]
) -> int:
    """The part of a period's interest that has run by `day`.

    By days; where balance, rate or pauses differ within the period, by what each day bears.
    """
    rnd = ROUND[terms.convention.rounding]
    start, end = spans[0][0], spans[-1][1]
    if not interest or day <= start:
        return 0
    if len(spans) == 1 and not terms.rate_steps and not pauses:
        return rnd(interest * (day - start), end - start)
    so_far = whole = 0
    for a, b, balance in spans:
        for c, d, ppm in rates(terms, a, b):
            weight = balance * ppm
            whole += weight * (d - c - paused_days(c, d, pauses))
            until = min(d, day)
            if until > c:
                so_far += weight * (until - c - paused_days(c, until, pauses))
    if not whole:  # flat interest runs on where the balance is nil
        return rnd(interest * (day - start), end - start)
    return rnd(interest * so_far, whole)
