"""Loans whose terms have changed, taken from tables to their positions by the exact form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.codes import FundingModel
from usance.base.dates import to_month
from usance.base.segments import segment_code, segment_codes
from usance.books.effective_interest.expected_lives import Expected
from usance.books.loans.cells import CellIndex, Sources
from usance.books.loans.exact_positions import position_of
from usance.books.loans.positions import FIELDS
from usance.books.policies import Policies
from usance.loan.table_rows import fact_of_row, terms_of_row


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
