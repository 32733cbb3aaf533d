"""Forms that answers share: moments, days, amounts by component.

>>> from datetime import UTC, datetime
>>> moment_text(datetime(2024, 7, 1, 1, tzinfo=UTC))
'2024-07-01T01:00:00Z'
>>> amounts((1, 2, 0, 0, 0))["total_minor"]
3
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime

from usance.base.codes import Component

NAMES = tuple(f"{each.label}_minor" for each in Component)


def moment_text(moment: datetime) -> str:
    """A moment as RFC 3339 in UTC."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def day_text(day: date | None) -> str | None:
    """A day, or nothing."""
    return day.isoformat() if day else None


def amounts(values: Sequence[int]) -> dict[str, int]:
    """Amounts by component, with their total; a schedule has no penalty of its own."""
    whole = (*values, *(0,) * (len(NAMES) - len(values)))
    return {**dict(zip(NAMES, whole, strict=True)), "total_minor": sum(whole)}
