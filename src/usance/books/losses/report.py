"""What a close has to say about its losses: new volume and true-up, sensitivity, back-test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from usance.base.arrays import I64
from usance.base.codes import FundingModel
from usance.base.dates import format_month
from usance.base.segments import segment_model
from usance.books.close.closes import CloseRef
from usance.books.loans.amounts import AMOUNTS
from usance.books.losses.assumptions import Assumptions, Claim
from usance.books.losses.estimates import Estimates
from usance.books.losses.exposures import Exposures
from usance.books.losses.overlays import Overlay
from usance.books.losses.review import Split, back_test, sensitivity
from usance.measure.triangles import Triangle

PROVISIONS = ("loan_provision", "receivable_provision", "contract_provision",
              "contingent_provision")  # fmt: skip


def provision_splits(cells: I64, before: I64) -> dict[str, Split]:
    """Each provision of a period, for loans made in it and for a changed view of those before.

    `cells` has the rows of old and new loans of each cell in turn, `before` what cells held.
    """
    found = {}
    for name in PROVISIONS:
        place = AMOUNTS.index(name)
        moved = int(cells[:, place].sum() - before[:, place].sum())
        new = int(cells[1::2, place].sum())
        found[name] = Split(new, moved - new)
    return found


def loss_review(
    made: Estimates, found: Triangle, exposures: Exposures, assumptions: Assumptions,
    overlays: Sequence[Overlay], ref: CloseRef,
    earlier: Sequence[tuple[CloseRef, pa.Table]],
) -> dict[str, Any]:  # fmt: skip
    """Sensitivity of the estimates of a close, and earlier ones against what has become of them."""
    shifts = sensitivity(
        found, exposures, assumptions, overlays, as_of=ref.day, close_no=ref.close_no, base=made
    )
    claims = {
        int(number): Claim.PAYOUT
        if segment_model(int(number)) == FundingModel.CAPITAL_HEAVY
        else Claim.CHARGE_OFF
        for number in found.segments
    }
    outcomes = [
        outcome
        for close, rows in earlier
        for outcome in back_test(rows, {close.close_no: close.month}, found, claims)
    ]
    return {
        "sensitivity": [asdict(each) for each in shifts],
        "back_test": [
            {**asdict(each), "claim": each.claim.label, "cohort": format_month(each.cohort),
             "missed_ppb": each.missed_ppb}
            for each in outcomes
        ],
    }  # fmt: skip


def splits_as_dict(splits: Mapping[str, Split]) -> dict[str, dict[str, int]]:
    """For the file of controls."""
    return {name: asdict(split) for name, split in splits.items()}
