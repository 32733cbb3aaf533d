"""Tapes for tests: the worked loans as a lender would write them, and own loans exported whole."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.books.worked import PARAMETERS
from usance.base.arrays import I64
from usance.base.codes import Status
from usance.base.dates import last_of_month, to_day
from usance.books.loans.measurement import LoanColumns, positions
from usance.books.loans.positions import PARTS
from usance.books.loans.positions import POSITION as P
from usance.books.policies import Policies
from usance.loan.batch import replay_columns

FEES = {"guarantee": "guarantee_fee", "service": "service_fee"}


def exported(loans: LoanColumns, months: Sequence[int], lag_days: int = 1) -> pa.Table:
    """Everything the positions of loans hold at month ends, as columns of a tape."""
    before = np.zeros(len(loans), np.int64)
    parts, over = [], np.zeros(len(loans), np.bool_)
    for month in months:
        day = last_of_month(month)
        cutoff = np.full(len(loans), to_day(day) - lag_days, np.int32)
        at = positions(loans, Policies.at(day, PARAMETERS), day, cutoff, 0, len(loans))
        seen = replay_columns(loans.terms, loans.facts, day)
        recovered = seen.column("recovered")
        here = np.flatnonzero((at[:, P.principal] > 0) & ~over)
        row = {"month": np.full(len(loans), month), "recovered_minor": recovered - before}
        row |= _of_view(loans, seen) | _of_position(at)
        parts.append({name: values[here] for name, values in row.items()})
        over |= seen.column("status") == Status.CLOSED
        before = recovered
    return pa.table({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def _of_view(loans: LoanColumns, seen: Any) -> dict[str, I64]:
    made = {
        "loan_id": loans.loan_id, "model": loans.model,
        "product": np.ones(len(loans), np.int64), "source": np.ones(len(loans), np.int64),
        "status": seen.column("status"), "charged_off_minor": seen.column("charged_off"),
        "cohort": loans.terms.disbursed_on.astype("datetime64[D]").astype("datetime64[M]")
        .astype(np.int64),
    }  # fmt: skip
    for part in PARTS[:4]:
        made[f"waived_{part}_minor"] = seen.column(f"waived_{FEES.get(part, part)}")
    return made


def _of_position(position: I64) -> dict[str, I64]:
    at = in_fee_instalments(position)
    whole = {
        "dpd": P.days_past_due, "settled": P.is_settled, "event_cleared": P.event_cleared,
        "fee_ppm": P.fee_ppm, "term_days": P.term_days, "elapsed_days": P.earned_days,
        "eir_ppb": P.effective_ppb,
    }  # fmt: skip
    money = {
        "originated": P.principal, "principal": P.outstanding, "upfront_fee": P.upfront,
        "guarantee_fee": P.guarantee, "service_fee": P.service, "overpaid": P.overpaid,
        "cleared_overpaid": P.cleared_overpaid, "earned_interest": P.earned_interest,
        "earned_fee_instalments": P.earned_fee_instalments, "earned_fee": P.earned_fee,
        "earned_fee_ifrs": P.earned_fee_ifrs, "due_guarantee": P.due_guarantee,
        "due_service": P.due_service, "compensated": P.compensated,
        "non_current_principal": P.non_current_principal,
        "non_current_guarantee": P.non_current_guarantee,
        "non_current_service": P.non_current_service,
    }  # fmt: skip
    for place, part in enumerate(PARTS):
        money |= {
            f"paid_{part}": P.paid_principal + place,
            f"before_{part}": P.before_principal + place,
            f"cleared_{part}": P.cleared_principal + place,
        }
    made = {name: at[:, place] for name, place in whole.items()}
    return made | {f"{name}_minor": at[:, place] for name, place in money.items()}


def in_fee_instalments(position: I64) -> I64:
    """Fees earned below zero taken from the instalments they are earned with, as on a tape."""
    at = position.copy()
    below = -np.minimum(0, np.minimum(at[:, P.earned_fee], at[:, P.earned_fee_ifrs]))
    at[:, P.earned_fee_instalments] -= below
    at[:, P.earned_fee] += below
    at[:, P.earned_fee_ifrs] += below
    return at


def write_parquet(path: Path, data: pa.Table) -> Path:
    """A tape as Parquet."""
    pq.write_table(data, path)
    return path


def write_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    """A tape as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def plain(**changes: object) -> list[dict[str, object]]:
    """Three months of one small loan of a platform, as few columns as can be."""
    same: dict[str, object] = {
        "loan_ref": "A-1", "model": "capital_light", "product": "instalment", "source": 1,
        "disbursed_on": date(2024, 1, 10), "originated": "900.00", "service_fee": "31.80",
        "term_days": 91,
    }  # fmt: skip
    rows = [
        {"month": "2024-01", "principal": "900.00", "paid_service": "0", "dpd": 0,
         "status": "active"},
        {"month": "2024-02", "principal": "600.00", "paid_service": "10.60", "dpd": 0,
         "status": "active"},
        {"month": "2024-03", "principal": "300.00", "paid_service": "21.20", "dpd": 0,
         "status": "active"},
        {"month": "2024-04", "principal": "0", "paid_service": "31.80", "dpd": 0,
         "status": "closed"},
    ]  # fmt: skip
    return [same | row | changes for row in rows]
