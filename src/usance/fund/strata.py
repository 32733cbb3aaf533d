"""Strata of a pool: loans of one segment, age and time to run, with the sum of their schedules.

Curves of default and prepayment are by segment (the grade) and age, recoveries by months since;
they are measured (`usance measure curves`) and come as a file.

>>> from usance.fund.pool_columns import pool_of_rows
>>> curves = Curves({}, {}, (0,)).with_segment(2, mdr_ppm=[0, 500, 900], smm_ppm=[0, 10_000])
>>> rows = [{"loan_id": n, "principal_minor": 120_000, "rate_ppm": 120_000, "months_left": 3,
...          "instalments_paid": 1, "grade": 2} for n in (1, 2)]
>>> (made,) = strata_of_pool(pool_of_rows(rows), curves, date(2024, 1, 1))
>>> made.balance_minor, made.mdr_ppm, [str(share) for share in made.principal]
(240000, (900,), ['13201/40000', '13333/26799', '1'])
"""  # fmt: skip

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from pathlib import Path

import numpy as np

from usance.base.arrays import I64
from usance.base.dates import add_months, to_day
from usance.base.errors import InputError, raise_all
from usance.base.fields import file_fields, whole_of
from usance.base.rates import PPM
from usance.fund.deal import Deal, Pool
from usance.fund.deal_file import list_of
from usance.fund.errors import PoolError
from usance.fund.pool_columns import PoolColumns, read_pool
from usance.fund.projection import Stratum
from usance.loan.batch import schedule_columns
from usance.loan.columns import TermColumns, convention_code
from usance.loan.convention import CONVENTIONS

MAX_SEGMENT = 127


@dataclass(frozen=True, slots=True)
class Curves:
    """Measured curves: by segment a value for each age in months, the first for age 0."""

    mdr_ppm: Mapping[int, tuple[int, ...]]
    smm_ppm: Mapping[int, tuple[int, ...]]
    recovery_ppm: tuple[int, ...]

    def with_segment(
        self, segment: int, *, mdr_ppm: Sequence[int], smm_ppm: Sequence[int]
    ) -> Curves:
        """The same curves and those of one more segment."""
        return replace(
            self,
            mdr_ppm={**self.mdr_ppm, segment: tuple(mdr_ppm)},
            smm_ppm={**self.smm_ppm, segment: tuple(smm_ppm)},
        )

    def after(self, segment: int, age: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Default and prepayment of loans of an age, from their next month on."""
        if segment not in self.mdr_ppm:
            known = ", ".join(map(str, self.mdr_ppm)) or "none"
            fix = f"Give curves of it; there are those of {known}"
            raise PoolError(f"segment {segment} has no curves", where="curves", fix=fix)
        cut = age + 1
        mdr, smm = self.mdr_ppm[segment], self.smm_ppm[segment]
        return mdr[cut:] or mdr[-1:], smm[cut:] or smm[-1:]


def read_curves(path: Path | str) -> Curves:
    """Curves of a file: `segments` with `mdr_ppm` and `smm_ppm` by age, and `recovery_ppm`."""
    fields = file_fields(path)
    share = list_of(whole_of(0, PPM))
    found = Curves({}, {}, fields.need("recovery_ppm", share))
    segments = fields.need("segments", lambda given, _: given if isinstance(given, dict) else {})
    for name, given in (segments or {}).items():
        part = fields.part(given, "segments", str(name))
        mdr, smm = part.need("mdr_ppm", share), part.need("smm_ppm", share)
        part.close()
        if part.has_needed:
            segment = whole_of(0, MAX_SEGMENT)(name, fields.where("segments", str(name)))
            found = found.with_segment(segment, mdr_ppm=mdr, smm_ppm=smm)
    fields.close()
    raise_all(fields.problems)
    return found


def strata_of_pool(pool: PoolColumns, curves: Curves, cut_off: date) -> list[Stratum]:
    """Every stratum of a pool, with its schedule from the cut-off on; loans past due are left out.

    A loan's schedule is the one the loan room makes of what it owes and the months it has left.
    """
    pool = pool.take(np.flatnonzero((pool["dpd"] == 0) & (pool["months_left"] > 0)))
    if not len(pool):
        raise PoolError("no loan performs", where="pool", fix="Give loans that are not past due")
    keys = np.stack([pool["grade"], pool["instalments_paid"], pool["months_left"]])
    kinds, stratum = np.unique(keys, axis=1, return_inverse=True)
    principal, interest = _schedules(pool, stratum.reshape(-1), kinds.shape[1], cut_off)
    found = []
    for number, (grade, age, months) in enumerate(kinds.T.tolist()):
        due, earned = principal[number, :months].tolist(), interest[number, :months].tolist()
        left = np.cumsum(due[::-1])[::-1].tolist()
        mdr, smm = curves.after(grade, age)
        found.append(
            Stratum(
                left[0],
                tuple(Fraction(part, before) for part, before in zip(earned, left, strict=True)),
                tuple(Fraction(part, before) for part, before in zip(due, left, strict=True)),
                mdr, smm, curves.recovery_ppm,
            )
        )  # fmt: skip
    return found


def _schedules(pool: PoolColumns, stratum: I64, count: int, cut_off: date) -> tuple[I64, I64]:
    """Principal and interest by stratum and month, summed over its loans."""
    size = len(pool)
    months = pool["months_left"]
    rate, no_fee = pool["rate_ppm"].astype(np.int32), np.zeros(size, np.int64)
    terms = TermColumns(
        pool["principal_minor"], rate, rate,
        months.astype(np.int16), np.full(size, to_day(cut_off), np.int32),
        np.full(size, to_day(add_months(cut_off, 1)), np.int32), no_fee, no_fee,
        np.full(size, convention_code(CONVENTIONS["level_monthly"]), np.int16),
    )  # fmt: skip
    plan = schedule_columns(terms)
    longest = int(months.max())
    row = np.arange(int(plan.offsets[-1])) - np.repeat(plan.offsets[:-1], months)
    place = np.repeat(stratum, months) * longest + row
    # Sums of whole numbers below 2^53 are exact as floats.
    sums = [
        np.bincount(place, column.astype(np.float64), count * longest).astype(np.int64)
        for column in (plan.principal, plan.interest)
    ]
    return sums[0].reshape(count, longest), sums[1].reshape(count, longest)


def deal_on_loans(deal: Deal, pool: Path, curves: Path | None) -> tuple[Deal, list[Stratum]]:
    """The deal on the strata of its loans, by measured curves."""
    if curves is None:
        fix = "Give --curves, as `usance measure curves` writes them"
        raise InputError("loans need curves", where="--pool", fix=fix)
    strata = strata_of_pool(read_pool(pool), read_curves(curves), deal.closing_on)
    return replace(deal, pool=Pool(sum(each.balance_minor for each in strata))), strata
