"""Shapes of answers about deals."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from usance.platform.api.shapes import Shape

DealStatus = Literal["revolving", "amortising", "accelerated", "defaulted"]


class DealClass(Shape):
    """A class of a deal: what it lent, what is left of it, and interest that is unpaid."""

    name: str = Field(alias="class")
    rate_ppm: int
    original_minor: int
    balance_minor: int
    due_minor: int


class DealTrigger(Shape):
    """A trigger: both sides of its comparison as things stand, none of a joined condition.

    `used_ppm` is the value over its threshold.
    """

    trigger: str
    condition: str
    at: Literal["collection", "distribution"]
    to: DealStatus
    value: int | None
    threshold: int | None
    fires: bool
    used_ppm: int | None


class FundingDeal(Shape):
    """A deal as it stands."""

    deal: str
    kind: Literal["trust", "plan"]
    status: DealStatus
    currency: str
    source: int
    closing_on: str
    period: int
    periods: int
    paid_on: str
    next_on: str | None
    is_over: bool
    pool_original_minor: int
    pool_minor: int
    defaulted_minor: int
    cost_ppm: int
    classes: list[DealClass]
    accounts: list[dict[str, Any]]
    triggers: list[DealTrigger]


class DealPaid(FundingDeal):
    """A deal after a payment date, with the date if it was paid now."""

    distribution: dict[str, Any] | None = None


class DealLine(Shape):
    """A line of a payment date."""

    line: str
    amount_minor: int


class DealDate(Shape):
    """A payment date with its lines and the cover of each class."""

    period: int
    paid_on: str
    status: DealStatus
    lines: list[DealLine]
    tests: list[dict[str, Any]]


class ProjectedClass(Shape):
    """A class on the dates to come: payments, their average life, and what stays unpaid."""

    name: str = Field(alias="class")
    principal_minor: int
    interest_minor: int
    average_life_ppm: int | None
    short_minor: int


class ProjectedDates(Shape):
    """Dates to come, and what each class gets of them."""

    dates: list[DealDate]
    classes: list[ProjectedClass]


class DealMandate(Shape):
    """The mandate that a deal writes for itself, as a file of mandates."""

    deal: str
    text: str
    budget_minor: int
    coupon_ppm: int


class DealReport(Shape):
    """An investor report, as printed."""

    title: str
    language: Literal["en", "zh", "both"]
    facts: list[dict[str, Any]]
    tables: list[dict[str, Any]]
