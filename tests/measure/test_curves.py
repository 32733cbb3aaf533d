"""Curves of default, prepayment and recovery from a tape, worked by hand."""

from __future__ import annotations

import pytest

from usance.base.columns import make
from usance.measure.curves import curves_of
from usance.measure.errors import TapeError
from usance.measure.inputs import Inputs

MONTHS = 648


def tape_rows() -> dict[str, list[int]]:
    """Loan 1 prepays a part in its second month; loan 2 defaults in its fourth and recovers."""
    rows = [
        # month, loan, mob, bucket, bucket before, principal, principal before, prepaid, recovered
        (MONTHS + 1, 16385, 1, 0, 0, 900, 1000, 0, 0),
        (MONTHS + 1, 32769, 1, 1, 0, 1000, 1000, 0, 0),
        (MONTHS + 2, 16385, 2, 0, 0, 600, 900, 200, 0),
        (MONTHS + 2, 32769, 2, 2, 1, 1000, 1000, 0, 0),
        (MONTHS + 4, 32769, 4, 4, 3, 1000, 1000, 0, 0),
        (MONTHS + 6, 32769, 6, 6, 5, 1000, 1000, 0, 30),
    ]
    names = ("month", "loan_id", "mob", "bucket", "bucket_prev", "principal_minor",
             "principal_prev_minor", "prepaid_minor", "recovered_minor")  # fmt: skip
    columns = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    others = ("dpd", "status", "past_due_minor", "net30_minor", "net180_minor", "cell")
    columns |= {name: [0] * len(rows) for name in others}
    return columns | {"cohort": [MONTHS] * len(rows)}


def loan_rows() -> dict[str, list[int]]:
    names = [
        "loan_id",
        "terms_no",
        "effective_on",
        "line_id",
        "decision_id",
        "product",
        "convention",
        "model",
        "source",
        "currency",
        "disbursed_on",
        "first_due_on",
        "instalments",
        "principal_minor",
        "rate_ppm",
        "coupon_ppm",
        "guarantee_fee_minor",
        "eir_ppb",
        "grade",
        "user_loan_no",
        "channel",
        "region",
    ]
    return {name: [1, 1] for name in names} | {"loan_id": [16385, 32769], "grade": [3, 3]}


def test_curves_by_hand() -> None:
    tape, loans = make("tape", **tape_rows()), make("loans", **loan_rows())
    inputs = Inputs.of_tables({"tape": tape, "loans": loans})
    found = curves_of(inputs)
    # Age 4: all of the 1,000 still performing defaults. Age 2: 200 of 600 + 200 + 1,000 prepays.
    assert found["segments"]["3"]["mdr_ppm"] == [0, 0, 0, 0, 1_000_000]
    assert found["segments"]["3"]["smm_ppm"] == [0, 0, 111_111, 111_111, 111_111]
    assert found["recovery_ppm"] == [0, 0, 30_000]


def test_without_a_tape_it_says_so() -> None:
    with pytest.raises(TapeError, match="there is no table tape"):
        curves_of(Inputs.of_tables({"loans": make("loans", **loan_rows())}))
