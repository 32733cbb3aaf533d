"""A request that is approved, to be changed by tests, and a clock that ticks."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from usance.assess.decision.request import Request, read_request

BASE: dict[str, Any] = {
    "user_id": 7,
    "number": 1,
    "kind": "application",
    "at": "2024-06-30T08:00:00Z",
    "records": {
        "application": [
            {"effective_on": "2024-06-30", "booked_at": "2024-06-30T07:59:00Z", "age_years": 31,
             "occupation": "employee", "monthly_income_minor": 900000, "requested_minor": 2000000}
        ],
        "bureau_file": [
            {"effective_on": "2024-06-29", "booked_at": "2024-06-30T07:59:30Z", "open_loans": 2,
             "debt_minor": 300000, "overdue_minor": 0, "worst_days_24m": 0}
        ],
        "bureau_inquiry": [
            {"effective_on": "2024-05-02", "booked_at": "2024-06-30T07:59:30Z", "lender": 12,
             "kind": "loan"}
        ],
        "device": [
            {"effective_on": "2024-06-30", "booked_at": "2024-06-30T07:58:00Z", "age_days": 400}
        ],
        "bank_month": [],
        "platform_loan": [],
    },
    "inputs": {
        "list_hit": "none", "applications_24h": 1, "device_users_30d": 1, "link_size": 1,
        "bad_neighbours_ppm": None, "consent_given": True, "document_valid": True,
        "duplicate_identity": False, "face_match_ppm": 930000, "card_check": "match",
        "funding_cost_ppm": 43000,
    },
}  # fmt: skip


def document(**changes: Any) -> dict[str, Any]:
    """The request with inputs changed; None as a change of the records' application removes it."""
    made = copy.deepcopy(BASE)
    for name, value in changes.items():
        if name in ("user_id", "number", "kind", "at", "records"):
            made[name] = value
        elif name in made["records"]["application"][0]:
            made["records"]["application"][0][name] = value
        else:
            made["inputs"][name] = value
    return made


def request(**changes: Any) -> Request:
    return read_request(document(**changes), str)


def ticking(microseconds: int = 1500) -> Callable[[], datetime]:
    """A clock that goes on by so much each time it is read."""
    now = [datetime(2024, 6, 30, 8, tzinfo=UTC)]

    def read() -> datetime:
        now[0] += timedelta(microseconds=microseconds)
        return now[0]

    return read
