"""A convention as people write it: the name of one of our own, or one with options changed.

>>> found: list = []
>>> given = Fields({"base": "level_daily", "day_count": "actual/360"}, lambda path: "", found)
>>> convention = read_convention(given, "CNY")
>>> convention.amortisation.value, convention.day_count.value, found
('equal_instalment', 'actual/360', [])
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from usance.base.calendars import Roll
from usance.base.codes import Component
from usance.base.errors import unknown
from usance.base.fields import Fields, amount_of, one_of, text, whole_of
from usance.loan.bounds import MAX_PRINCIPAL_MINOR
from usance.loan.convention import (
    CONVENTIONS,
    Allocation,
    Amortisation,
    Bucket,
    Convention,
    DayCount,
    DueStatus,
    EarlyPayment,
    LevelBasis,
    MonthEnd,
    PeriodUnit,
    Rounding,
    RoundingDifference,
    SettlementInterest,
    Sweep,
)
from usance.loan.errors import OptionError

_CHOICES: dict[str, type[Enum]] = {
    "amortisation": Amortisation,
    "day_count": DayCount,
    "unit": PeriodUnit,
    "month_end": MonthEnd,
    "roll": Roll,
    "level_basis": LevelBasis,
    "rounding": Rounding,
    "difference": RoundingDifference,
    "early": EarlyPayment,
    "settlement_interest": SettlementInterest,
}
MAX_STEP = 36_500
"""A century of days between two instalments."""
_PENALTY = "penalty"
_CLAIMS: dict[str, Bucket | None] = {
    f"{when} {component.label}": (when, component)
    for when in DueStatus
    for component in Component
    if component is not Component.PENALTY
} | {_PENALTY: None}


def own_convention(given: Any, where: str) -> Convention:
    """One of the platform's own conventions, by name."""
    if isinstance(given, str) and given in CONVENTIONS:
        return CONVENTIONS[given]
    raise unknown("convention", str(given), CONVENTIONS, where=where)


def read_convention(given: Fields, currency: str) -> Convention | None:
    """A convention spelled out: `base` (one of our own) with some options changed."""
    before = len(given.problems)
    base = given.take("base", own_convention) or CONVENTIONS["level_monthly"]
    name = given.take("name", text) or "custom"
    options: dict[str, Any] = {
        key: given.take(key, one_of(choices)) for key, choices in _CHOICES.items()
    }
    options["every"] = given.take("every", whole_of(1, MAX_STEP, error=OptionError))
    rounded = amount_of(currency, 1, MAX_PRINCIPAL_MINOR, error=OptionError)
    options["round_to_minor"] = given.take("round_to", rounded)
    options["calendar"] = given.take("calendar", text)
    options["allocation"] = _allocation(given)
    given.close()
    chosen = {key: value for key, value in options.items() if value is not None}
    rolls = chosen.get("roll", Roll.NONE) is not Roll.NONE
    if rolls and "calendar" not in given:
        where, fix = given.where("roll"), "Name a calendar, such as weekends, or leave roll out"
        given.problems.append(OptionError("a roll without a calendar", where=where, fix=fix))
    if "calendar" in given and not rolls and "roll" not in given:
        where, fix = given.where("calendar"), "Say where a due date goes, as in roll: following"
        given.problems.append(OptionError("a calendar without a roll", where=where, fix=fix))
    return base.named(name, **chosen) if len(given.problems) == before else None


def read_order(given: Any, where: str) -> tuple[Bucket | None, ...]:
    """An allocation order: "past_due interest" and eleven more, and "penalty" for penalties."""
    entries = [" ".join(str(each).split()) for each in given] if isinstance(given, list) else []
    for each in entries:
        if each not in _CLAIMS:
            raise unknown("claim", each, _CLAIMS, where=where)
    missing = [name for name in _CLAIMS if name not in entries]
    if missing or len(entries) != len(_CLAIMS):
        twice = sorted({each for each in entries if entries.count(each) > 1})
        why = f"leaves out {', '.join(missing)}" if missing else f"repeats {', '.join(twice)}"
        fix = "List each of the twelve claims, and penalty, once"
        raise OptionError(f"the allocation order {why}", where=where, fix=fix)
    return tuple(_CLAIMS[each] for each in entries)


def _allocation(given: Fields) -> Allocation | None:
    """Either the order alone, or `order` and `sweep`."""

    def read(value: Any, where: str) -> Allocation | None:
        if not isinstance(value, dict):
            return Allocation(read_order(value, where))
        inner = given.part(value, "allocation")
        order, sweep = inner.need("order", read_order), inner.take("sweep", one_of(Sweep))
        inner.close()
        return Allocation(order, sweep or Sweep.BY_INSTALMENT) if inner.has_needed else None

    return given.take("allocation", read)
