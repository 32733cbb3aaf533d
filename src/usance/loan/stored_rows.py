"""Rows of the tables as objects: terms, facts, and a view as a row of numbers.

The kernel reads columns; loans for the exact form are read here one by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date
from typing import Any

from usance.base.codes import FactKind
from usance.base.dates import to_day
from usance.loan.convention import CONVENTION_CODES, CONVENTIONS
from usance.loan.errors import OptionError
from usance.loan.facts import Fact
from usance.loan.terms import Change, Terms
from usance.loan.views import LoanView

EXACT_KINDS = (int(FactKind.TERMS_CHANGED), int(FactKind.INTEREST_PAUSED))
"""Facts that only the exact form knows."""

CHANGES = (Change.RESCHEDULED, Change.RE_AGED, Change.RE_AMORTISED, Change.HARDSHIP)
"""Reasons of a change of terms in the order of the codes of column `change`."""

_CONVENTIONS = {code: CONVENTIONS[name] for name, code in CONVENTION_CODES.items()}
_SAME = (
    "principal_minor", "rate_ppm", "coupon_ppm", "instalments", "disbursed_on", "first_due_on",
    "guarantee_fee_minor", "flat_fee_minor", "upfront_fee_minor", "terms_no",
)  # fmt: skip


def terms_of_row(row: Mapping[str, Any]) -> Terms:
    """One version of terms from its row of `loans`."""
    if row["convention"] not in _CONVENTIONS:
        raise OptionError(
            f"its convention {row['convention']} is none of the platform's own",
            where=f"loan {row['loan_id']}",
            fix=f"Give one of {', '.join(map(str, _CONVENTIONS))}",
        )
    change = Change.NONE if row["terms_no"] == 1 else CHANGES[row.get("change", 0)]
    convention = _CONVENTIONS[row["convention"]]
    return Terms(convention=convention, change=change, **{name: row[name] for name in _SAME})


def changed_row(row: Mapping[str, Any], terms: Terms, on: date) -> dict[str, Any]:
    """The row of the next version of terms, in force from a day."""
    return {
        **row, "terms_no": terms.terms_no, "effective_on": on,
        "disbursed_on": terms.disbursed_on, "first_due_on": terms.first_due_on,
        "instalments": terms.instalments, "principal_minor": terms.principal_minor,
        "rate_ppm": terms.rate_ppm, "coupon_ppm": terms.coupon_ppm, "guarantee_fee_minor": 0,
        "flat_fee_minor": 0, "upfront_fee_minor": 0, "change": CHANGES.index(terms.change),
    }  # fmt: skip


def fact_of_row(row: Mapping[str, Any]) -> Fact:
    """One fact from its row of `facts`."""
    return Fact(
        FactKind(row["kind"]), row["effective_on"], row["amount_minor"], row["ref"], row["arg"],
        row["booked_at"].astimezone(UTC),
    )  # fmt: skip


def view_values(view: LoanView) -> list[int]:
    """A view in the order of `FIELDS`."""
    return [
        int(view.status), view.days_past_due, view.instalments_paid, view.principal_outstanding,
        *view.due[:4], *view.past_due, *view.paid, *view.waived, view.interest_earned,
        view.accrued_interest, view.settlement, view.overpaid, view.disbursed, view.compensated,
        view.charged_off, view.recovered,
        to_day(view.next_due_on) if view.next_due_on else -1, view.next_due,
    ]  # fmt: skip
