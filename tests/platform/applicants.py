"""Applicants for tests: inputs that the consumer flow approves, declines and refers."""

from __future__ import annotations

from typing import Any

from tests.platform.sandbox import Sandbox

GOOD: dict[str, Any] = {
    "document_valid": True, "face_match_ppm": 930_000, "card_check": "match", "age_years": 31,
    "occupation": "employee", "monthly_income_minor": 900_000, "requested_minor": 5_000_000,
    "bureau_inquiries_90d": 1, "bureau_open_loans": 2, "bureau_worst_days_24m": 0,
    "bureau_overdue_minor": 0, "bureau_debt_minor": 300_000, "bank_inflow_ppm": None,
    "device_age_days": 400,
}  # fmt: skip
LISTED = {**GOOD, "list_hit": "block"}
WATCHED = {**GOOD, "list_hit": "watch"}


def borrower(sandbox: Sandbox, ref: str = "anna", region: int = 3, channel: str = "channel") -> str:
    """A registered user with a line of 22,200.00 for instalments."""
    body = {"client_ref": ref, "region": region}
    user = str(sandbox.do(channel, "user.register", body).answer["user"])
    applied = {"user": user, "product": "instalment", "inputs": GOOD}
    made = sandbox.do(channel, "application.decide", applied)
    assert made.answer["outcome"] == "approved"
    return user


def drawn(sandbox: Sandbox, user: str, amount_minor: int = 600_000, months: int = 6) -> Any:
    """The outcome of a drawdown."""
    body = {"user": user, "product": "instalment", "amount_minor": amount_minor, "months": months}
    return sandbox.do("channel", "drawdown.request", body)
