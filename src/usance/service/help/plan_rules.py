"""Rules of plans as data: who may be offered one, and how much of it a role may grant.

>>> rules = shipped_rules()
>>> rules.of(PlanKind.DEFERRAL).most, rules.most_for(PlanKind.DEFERRAL, "collector")
(3, 1)
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from usance.base import fields as read
from usance.base.documents import read_text
from usance.base.errors import raise_all, unknown
from usance.base.fields import Fields, fields_of

_PPM = 1_000_000
_SHIPPED = Path(__file__).with_name("plans.yaml")


class PlanKind(Enum):
    """A way to help a borrower who cannot pay as agreed."""

    DEFERRAL = "deferral"
    LONGER_TERM = "longer_term"
    LOWER_RATE = "lower_rate"
    INTEREST_PAUSE = "interest_pause"
    SETTLEMENT = "settlement"
    RE_AGEING = "re_ageing"


_PARTS = (PlanKind.LOWER_RATE, PlanKind.SETTLEMENT)
"""Kinds that are counted in parts of a whole."""


class PlanRule(NamedTuple):
    """Eligibility for one kind of plan, and the most there is of it."""

    kind: PlanKind
    days_past_due_from: int
    days_past_due_to: int
    instalments_paid_from: int
    plans_before_to: int
    most: int
    """Months, days, or parts per million, as the kind counts."""


class PlanRules(NamedTuple):
    """Rules in force from a day."""

    valid_from: date
    rules: Mapping[PlanKind, PlanRule]
    authority_ppm: Mapping[str, int]
    """Part of the most that each role may grant alone."""

    def of(self, kind: PlanKind) -> PlanRule:
        """The rule of a kind."""
        return self.rules[kind]

    def most_for(self, kind: PlanKind, role: str) -> int:
        """The most of a plan that a role may grant alone."""
        if role not in self.authority_ppm:
            raise unknown("role", role, self.authority_ppm)
        return self.rules[kind].most * self.authority_ppm[role] // _PPM


def shipped_text() -> str:
    """The shipped rules as they are written."""
    return read_text(_SHIPPED)


@cache
def shipped_rules() -> PlanRules:
    """The shipped rules."""
    return parse_rules(shipped_text(), _SHIPPED.name)


def parse_rules(text: str, where: str) -> PlanRules:
    """Rules as text; everything wrong with them is raised together, with its line."""
    fields = fields_of(text, where)
    valid_from = fields.need("valid_from", read.day)
    fields.need("source", read.text)
    authority = fields.inner("authority")
    rules = [rule for each in fields.each("plans") if (rule := _rule(each))]
    fields.close()
    parts = {} if authority is None else {
        role: authority.need(role, read.rate) for role in authority.keys
    }  # fmt: skip
    if missing := [kind.value for kind in PlanKind if kind not in {rule.kind for rule in rules}]:
        what = f"there is no rule for {', '.join(missing)}"
        fields.wrong(what, "Give one for each plan", "plans")
    raise_all(fields.problems, where=where)
    return PlanRules(valid_from, {rule.kind: rule for rule in rules}, parts)


def _rule(fields: Fields) -> PlanRule | None:
    kind = fields.need("plan", read.one_of(PlanKind))
    days = read.whole_of(0, 36_500)
    first = fields.take("days_past_due_from", days) or 0
    last = fields.need("days_past_due_to", days)
    paid = fields.need("instalments_paid_from", days)
    before = fields.need("plans_before_to", days)
    reader: Any = read.rate if kind in _PARTS else days
    most = fields.need("most", reader)
    fields.close()
    if not fields.has_needed:
        return None
    if first > last:
        what = f"{kind.value} is for {first} to {last} days past due, which are none"
        fields.wrong(what, "Write the lower number first", "days_past_due_from")
    return PlanRule(kind, first, last, paid, before, most)
