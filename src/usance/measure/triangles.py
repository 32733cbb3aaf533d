"""Cohort triangles: cumulative amounts of each month's loans by age, as of a day and a moment.

A cohort is a month of origination; age 0 is that month itself. Amounts are whole minor units,
cumulative along age. The triangle is regular: every month from the first cohort to the month of
`as_of` has a row, so the youngest cohort has one known age, the one before two, and so on.

>>> from datetime import date
>>> from usance.base.columns import make
>>> loans = make(
...     "loans", loan_id=[16385], terms_no=[1], effective_on=[19722], line_id=[16385],
...     decision_id=[16385], product=[1], convention=[1], model=[2], source=[1], currency=[0],
...     disbursed_on=[19722], first_due_on=[19753], instalments=[12], principal_minor=[900000],
...     rate_ppm=[180000], coupon_ppm=[180000], guarantee_fee_minor=[0], eir_ppb=[0], grade=[1],
...     user_loan_no=[1], channel=[1], region=[1],
... )
>>> facts = make(
...     "facts", loan_id=[16385] * 3, effective_on=[19722, 19843, 19900], kind=[0, 8, 11],
...     ref=[1, 2, 3], amount_minor=[900000, 850000, 1200], arg=[0] * 3, booked_at=[0] * 3,
... )
>>> made = triangle(loans, facts, as_of=date(2024, 5, 31))
>>> made.segments.tolist(), made.cohorts.tolist(), made.limits.tolist()
([17], [647, 648, 649, 650, 651, 652], [5, 4, 3, 2, 1, 0])
>>> made.originated_minor[0, 0].tolist()
[900000, 900000, 900000, 900000, 900000, 900000]
>>> made.compensated_minor[0, 0].tolist(), int(made.recovered_minor.sum())
([0, 0, 0, 0, 850000, 850000], 0)
"""  # fmt: skip

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.arrays import I16, I64
from usance.base.codes import FactKind
from usance.base.columns import arrays
from usance.base.dates import microseconds, to_month
from usance.base.errors import UsanceError, raise_all
from usance.base.parquet import read_parquet
from usance.base.segments import segment_codes
from usance.base.tables import table
from usance.loan.errors import FactError, ReversalError
from usance.loan.facts import END_OF_TIME
from usance.measure.duckdb_connection import connect

TableOrFiles: TypeAlias = pa.Table | Path | Sequence[Path]
"""A table in memory, or the Parquet files it lies in."""

SegmentOf: TypeAlias = Callable[[Mapping[str, NDArray[Any]]], NDArray[Any]]
"""From the columns of `loans` to the segment of each loan."""

MEASURES = {
    "originated_minor": FactKind.DISBURSED,
    "compensated_minor": FactKind.COMPENSATED,
    "charged_off_minor": FactKind.CHARGED_OFF,
    "recovered_minor": FactKind.RECOVERED,
}


@dataclass(frozen=True, slots=True, eq=False)
class Triangle:
    """Cumulative amounts [segment, cohort, age]; a cell beyond its cohort's limit is unknown.

    `limits` has the last known age of each cohort. Unknown cells hold 0 and mean nothing; `known`
    marks the others.
    """

    segments: I16
    cohorts: I16
    limits: I16
    originated_minor: I64
    compensated_minor: I64
    charged_off_minor: I64
    recovered_minor: I64

    @property
    def known(self) -> NDArray[np.bool_]:
        """True for the cells [cohort, age] that are not in the future."""
        known: NDArray[np.bool_] = np.arange(len(self.cohorts)) <= self.limits[:, None]
        return known

    def negated(self) -> Triangle:
        """The same triangle with all signs turned, to be subtracted."""
        return replace(self, **{name: -getattr(self, name) for name in MEASURES})

    @classmethod
    def sum_of(cls, parts: Sequence[Triangle]) -> Triangle:
        """The sum of triangles as of one day, such as those of a book's shards."""
        parts = [part for part in parts if len(part.cohorts)] or list(parts[:1])
        if len({int(part.cohorts[-1]) for part in parts if len(part.cohorts)}) > 1:
            raise FactError("triangles end in different months", where="triangles",
                            fix="Make all of them as of one day")  # fmt: skip
        longest = max(parts, key=lambda part: len(part.cohorts))
        segments = np.unique(np.concatenate([part.segments for part in parts]))
        sums = {
            name: np.zeros((len(segments), *[len(longest.cohorts)] * 2), np.int64)
            for name in MEASURES
        }
        for part in parts:
            rows = np.searchsorted(segments, part.segments)
            size = len(part.cohorts)
            first = len(longest.cohorts) - size
            for name, total in sums.items():
                total[rows, first:, :size] += getattr(part, name)
        return cls(segments, longest.cohorts, longest.limits, **sums)


def triangle(
    loans: TableOrFiles,
    facts: TableOrFiles,
    *,
    as_of: date,
    known_at: datetime = END_OF_TIME,
    segment: SegmentOf = segment_codes,
) -> Triangle:
    """The triangle of all facts effective by a day and known at a moment, reversals undone.

    A loan's cohort is the month of `disbursed_on` in its first terms. Facts that a replay refuses
    (a reversal of nothing, a fact of an unknown loan) are refused here too.
    """
    with connect() as engine:
        engine.register("cohorts", _cohorts(_whole_table(loans), segment))
        if isinstance(facts, pa.Table):
            engine.register("facts", facts)
        else:
            paths = [facts] if isinstance(facts, Path) else facts
            engine.read_parquet([str(path) for path in paths]).create_view("facts")
        moment = _microseconds(known_at)
        _refuse_invalid_facts(engine, moment, as_of)
        sums = engine.sql(_SUMS, params={"known_at": moment, "as_of": as_of}).to_arrow_table()
    return triangle_of_sums(arrays(sums), as_of)


def triangle_of_sums(sums: Mapping[str, NDArray[Any]], as_of: date) -> Triangle:
    """The triangle of sums by `segment`, `cohort`, `kind` and `age`, as of a day."""
    last = to_month(as_of)
    segments = np.unique(sums["segment"]).astype(np.int16)
    first = int(sums["cohort"].min()) if len(segments) else last + 1
    cohorts = np.arange(first, last + 1, dtype=np.int16)
    cells: dict[str, I64] = {}
    for name, kind in MEASURES.items():
        chosen = sums["kind"] == kind
        amounts = np.zeros((len(segments), len(cohorts), len(cohorts)), np.int64)
        rows = np.searchsorted(segments, sums["segment"][chosen])
        np.add.at(
            amounts,
            (rows, sums["cohort"][chosen] - first, sums["age"][chosen]),
            sums["amount_minor"][chosen],
        )
        cells[name] = np.cumsum(amounts, axis=2)
    limits = (last - cohorts).astype(np.int16)
    made = Triangle(segments, cohorts, limits, **cells)
    for amounts in cells.values():
        amounts[:, ~made.known] = 0
    return made


def _cohorts(loans: pa.Table, segment: SegmentOf) -> pa.Table:
    """Loan, month of origination and segment, from the first terms of each loan."""
    columns = arrays(loans)
    _, at = np.unique(columns["loan_id"], return_index=True)
    first = {name: values[at] for name, values in columns.items()}
    segments = np.asarray(segment(first))
    cohorts = first["disbursed_on"].astype("datetime64[D]").astype("datetime64[M]").astype(np.int16)
    return pa.table(
        {
            "loan_id": first["loan_id"],
            "cohort": cohorts,
            "segment": pa.array(segments).cast(pa.int16()),
        }
    )


def _whole_table(rows: TableOrFiles) -> pa.Table:
    if isinstance(rows, pa.Table):
        return rows
    paths = [rows] if isinstance(rows, Path) else rows
    spec = table("loans")
    return pa.concat_tables([read_parquet(path, spec) for path in paths]).sort_by(
        [(name, "ascending") for name in spec.key]
    )


def _microseconds(moment: datetime) -> int:
    if moment.tzinfo is None:
        raise FactError("known_at has no time zone", where="known_at", fix="Give a moment in UTC")
    return microseconds(moment)


def _refuse_invalid_facts(engine: Any, moment: int, as_of: date) -> None:
    """Raise what a replay would refuse: facts without terms, too early, or reversing nothing."""
    findings: list[UsanceError] = []
    orphans, first = engine.sql(_ORPHAN_FACTS).fetchall()[0]
    if orphans:
        what = f"{orphans} loans have facts and no terms, the first {first}"
        fix = "Give the terms of every loan with facts"
        findings.append(FactError(what, where="loan_id", fix=fix))
    known = {"known_at": moment}
    bad, first = engine.sql(_BAD_REVERSALS, params=known).fetchall()[0]
    if bad:
        what = "a reversed fact names no known fact, a reversed one, or a reversal"
        where = f"loan {first}" + (f" (and {bad - 1} more)" if bad > 1 else "")
        fix = "Name the ref of a standing fact in arg"
        findings.append(ReversalError(what, where=where, fix=fix))
    early, first = engine.sql(_EARLY_FACTS, params={**known, "as_of": as_of}).fetchall()[0]
    if early:
        what = f"{early} facts stand before the month of disbursement"
        fix = "Correct effective_on, or disbursed_on in the terms"
        findings.append(FactError(what, where=f"loan {first}", fix=fix))
    raise_all(findings, where="facts")


# Kinds by number: 0 disbursed, 8 compensated, 10 charged off, 11 recovered, 12 reversed.
_ORPHAN_FACTS = """
    SELECT count(DISTINCT loan_id), min(loan_id) FROM facts ANTI JOIN cohorts USING (loan_id)
"""
_BAD_REVERSALS = """
    WITH reversals AS (
        SELECT loan_id, arg AS ref, count(*) AS times FROM facts
        WHERE kind = 12 AND epoch_us(booked_at) <= $known_at GROUP BY ALL
    ),
    targets AS (
        SELECT loan_id, ref FROM facts SEMI JOIN reversals USING (loan_id, ref)
        WHERE kind <> 12 AND epoch_us(booked_at) <= $known_at
    )
    SELECT count(DISTINCT loan_id), min(loan_id) FROM (
        SELECT loan_id FROM reversals WHERE times > 1
        UNION ALL SELECT loan_id FROM reversals ANTI JOIN targets USING (loan_id, ref)
    )
"""
_EARLY_FACTS = """
    SELECT count(*), min(loan_id) FROM facts JOIN cohorts USING (loan_id)
    WHERE kind IN (0, 8, 10, 11) AND epoch_us(booked_at) <= $known_at AND effective_on <= $as_of
      AND datediff('month', DATE '1970-01-01', effective_on) < cohort
"""
_SUMS = """
    WITH gone AS (
        SELECT loan_id, arg AS ref FROM facts WHERE kind = 12 AND epoch_us(booked_at) <= $known_at
    ),
    visible AS (
        SELECT loan_id, effective_on, kind, amount_minor
        FROM facts ANTI JOIN gone USING (loan_id, ref)
        WHERE kind IN (0, 8, 10, 11)
          AND epoch_us(booked_at) <= $known_at AND effective_on <= $as_of
    )
    SELECT segment, cohort, kind,
           datediff('month', DATE '1970-01-01', effective_on) - cohort AS age,
           sum(amount_minor)::BIGINT AS amount_minor
    FROM visible JOIN cohorts USING (loan_id)
    GROUP BY ALL ORDER BY ALL
"""
