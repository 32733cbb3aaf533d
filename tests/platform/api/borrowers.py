"""Borrowers of a served sandbox, brought as far as a test needs them."""

from __future__ import annotations

from typing import Any

from tests.platform.api.served import Served, new_ref
from tests.platform.applicants import GOOD

WANTED = {"product": "instalment", "amount_minor": 600_000, "months": 6}


def registered(served: Served, region: int = 3, who: str = "channel") -> str:
    """A new user."""
    return str(served.post("/v1/users", {"client_ref": new_ref(), "region": region}, who)
               .json()["user"])  # fmt: skip


def with_line(served: Served, region: int = 3, who: str = "channel") -> str:
    """A user with a line of 22,200.00 for instalments."""
    user = registered(served, region, who)
    body = {"user": user, "product": "instalment", "inputs": GOOD}
    made = served.post("/v1/applications", body, who)
    assert (made.status_code, made.json()["outcome"]) == (201, "approved"), made.text
    return user


def drawn(served: Served, region: int = 3, **more: Any) -> dict[str, Any]:
    """A drawdown of 6,000.00 for six months."""
    body = {"user": with_line(served, region), **WANTED, **more}
    answer = served.post("/v1/drawdowns", body)
    assert answer.status_code in (200, 201, 202), answer.text
    return dict(answer.json())


def today(served: Served) -> str:
    """The business date."""
    return str(served.get("/v1/clock").json()["business_date"])


def paying(served: Served, loan: str, amount_minor: int, **more: Any) -> dict[str, Any]:
    """The body of a payment."""
    return {"loan": loan, "amount_minor": amount_minor, "currency": "CNY", "provider": "psp_a",
            "effective_on": today(served), "ref": new_ref(), **more}  # fmt: skip
