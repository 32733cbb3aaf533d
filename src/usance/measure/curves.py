"""Curves of default and prepayment by segment and age, from a tape; what deals are projected by.

Performing is principal at most 90 days past due a month before; of it defaults what is past that
for the first time, and prepays what was paid before it was due. Sums are by segment, cohort and
age, so that a curve can be of some cohorts alone.

>>> columns = {
...     "segment": [1, 1, 1],
...     "cohort": [640, 640, 641],
...     "mob": [1, 2, 1],
...     "bucket_prev": [0, 3, 0],
...     "bucket": [0, 4, 0],
...     "principal_prev_minor": [1000, 900, 1000],
...     "principal_minor": [900, 900, 850],
...     "prepaid_minor": [0, 0, 50],
... }
>>> made = performance_triangle({name: np.array(each) for name, each in columns.items()})
>>> made.performing_minor.tolist(), made.defaulted_minor.tolist()
([[[0, 1000, 900], [0, 1000, 0]]], [[[0, 0, 900], [0, 0, 0]]])
>>> made.curves(last_cohorts=12)[1]
([0, 0, 1000000], [0, 27778, 27778])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.columns import arrays
from usance.base.money import half_up
from usance.base.rates import PPM
from usance.measure.errors import TapeError
from usance.measure.inputs import Inputs

DEFAULT_BUCKET = 4
"""The first bucket past 90 days [A, `spec/funding.md` 3]."""
COHORTS = 12
"""Cohorts a curve is measured on, the last ones [A]."""


@dataclass(frozen=True, slots=True, eq=False)
class PerformanceTriangle:
    """Amounts of each month [segment, cohort, age]: not cumulative, since rates are by month."""

    segments: I64
    cohorts: I64
    performing_minor: I64
    """Performing a month before."""
    defaulted_minor: I64
    prepaid_minor: I64
    kept_minor: I64
    """Performing at the end, and prepaid: what could have prepaid."""

    def curves(self, last_cohorts: int = COHORTS) -> dict[int, tuple[list[int], list[int]]]:
        """For each segment its default and prepayment rate by age, in parts per million.

        An age nobody has reached repeats the one before.
        """
        found = {}
        for row, segment in enumerate(self.segments.tolist()):
            sums = [
                amounts[row, -last_cohorts:].sum(axis=0).tolist()
                for amounts in (self.defaulted_minor, self.performing_minor, self.prepaid_minor,
                                self.kept_minor)
            ]  # fmt: skip
            found[segment] = _rates(sums[0], sums[1]), _rates(sums[2], sums[3])
        return found


def performance_triangle(tape: Mapping[str, NDArray[Any]]) -> PerformanceTriangle:
    """The triangle of a tape with a segment for each row."""
    before, after = tape["bucket_prev"], tape["bucket"]
    performed = (before >= 0) & (before < DEFAULT_BUCKET)
    rows = {name: np.asarray(each)[performed] for name, each in tape.items()}
    fell = after[performed] >= DEFAULT_BUCKET
    segments, segment = np.unique(rows["segment"], return_inverse=True)
    first, last = (int(pick(rows["cohort"])) if len(segments) else 0 for pick in (np.min, np.max))
    cohorts = np.arange(first, last + 1)
    ages = int(rows["mob"].max(initial=0)) + 1
    place = (segment, rows["cohort"] - first, rows["mob"])

    def total(amounts: NDArray[Any]) -> I64:
        sums = np.zeros((len(segments), len(cohorts), ages), np.int64)
        np.add.at(sums, place, amounts.astype(np.int64))
        return sums

    prepaid = np.where(fell, 0, rows["prepaid_minor"])
    kept = np.where(fell, 0, rows["principal_minor"]) + prepaid
    return PerformanceTriangle(
        segments.astype(np.int64), cohorts.astype(np.int64), total(rows["principal_prev_minor"]),
        total(np.where(fell, rows["principal_prev_minor"], 0)), total(prepaid), total(kept),
    )  # fmt: skip


def recovery_curve(tape: Mapping[str, NDArray[Any]]) -> list[int]:
    """Recovered of what defaulted, by months since, in parts per million.

    Months of which some defaults are too young to tell count with what they have.
    """
    fell = (tape["bucket"] >= DEFAULT_BUCKET) & (tape["bucket_prev"] < DEFAULT_BUCKET)
    fell &= tape["bucket_prev"] >= 0
    loans, first = np.unique(tape["loan_id"][fell], return_index=True)
    defaulted_in = tape["month"][fell][first].astype(np.int64)
    whole = int(tape["principal_prev_minor"][fell][first].sum())
    got = (tape["recovered_minor"] > 0) & np.isin(tape["loan_id"], loans)
    if not whole or not got.any():
        return [0]
    since = tape["month"][got] - defaulted_in[np.searchsorted(loans, tape["loan_id"][got])]
    kept = since >= 0
    sums = np.zeros(int(since.max(initial=0)) + 1, np.int64)
    np.add.at(sums, since[kept], tape["recovered_minor"][got][kept])
    return [min(PPM, half_up(part * PPM, whole)) for part in sums.tolist()]


def curves_of(inputs: Inputs, last_cohorts: int = COHORTS) -> dict[str, Any]:
    """Curves of a book as a deal is projected by them; the segment of a loan is its grade."""
    for name in ("tape", "loans"):
        if name not in inputs:
            fix = "Measure a book with a tape, such as a twin run, or make one from loans and facts"
            raise TapeError(f"there is no table {name}", where="tables", fix=fix)
    tape = arrays(inputs.read("tape"))
    loans = arrays(inputs.read("loans", ["loan_id", "grade"]))
    ids, first = np.unique(loans["loan_id"], return_index=True)
    place = np.minimum(np.searchsorted(ids, tape["loan_id"]), len(ids) - 1)
    grades = loans["grade"][first][place]
    made = performance_triangle({**tape, "segment": grades}).curves(last_cohorts)
    segments = {
        str(segment): {"mdr_ppm": mdr, "smm_ppm": smm} for segment, (mdr, smm) in made.items()
    }
    return {"segments": segments, "recovery_ppm": recovery_curve(tape)}


def _rates(above: list[int], below: list[int]) -> list[int]:
    rates: list[int] = []
    for part, whole in zip(above, below, strict=True):
        before = rates[-1] if rates else 0
        rates.append(min(PPM, half_up(part * PPM, whole)) if whole else before)
    return rates
