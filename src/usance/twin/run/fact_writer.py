"""Writer of group facts on the last day of a month, numbered one after the other."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from usance.base.codes import Currency, parse
from usance.base.dates import last_of_month
from usance.base.stated_fact import StatedFact
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact, fact, facts_of_stated, table_of_facts
from usance.world.scenario.scenario import Scenario


@dataclass(slots=True)
class FactWriter:
    """Facts of one month so far."""

    scenario: Scenario
    month: int
    next_id: int
    facts: list[GroupFact] = field(default_factory=list)

    @property
    def day(self) -> date:
        """The last day of the month."""
        return last_of_month(self.month)

    @property
    def booked_at(self) -> datetime:
        """The last moment of the business day."""
        zone = ZoneInfo(self.scenario.time_zone)
        return datetime.combine(self.day, time(23, 59, 59), zone).astimezone(UTC)

    def write(
        self, entity: int, kind: GroupFactKind, minor: int, *, party: int = 0, quantity: int = 0,
        **detail: Any,
    ) -> GroupFact | None:  # fmt: skip
        """Write one more fact; an amount of zero is not worth one."""
        if minor <= 0 and not quantity and kind is not GroupFactKind.MANUAL_ENTRY:
            return None
        made = fact(
            self.next_id, entity, kind, self.day, self.booked_at, minor, party=party,
            quantity=quantity, currency=parse(Currency, self.scenario.currency), **detail,
        )  # fmt: skip
        self.facts.append(made)
        self.next_id += 1
        return made

    def deal_fact(self, given: StatedFact) -> None:
        """Write a fact of a deal from a file, dated on its own day."""
        self.facts += facts_of_stated([given], self.next_id, self.booked_at)
        self.next_id += 1

    def copy(self, stated: GroupFact) -> None:
        """Write a fact of the scenario under the next number."""
        values = {name: getattr(stated, name) for name in _COLUMNS}
        detail = json.loads(stated.detail_json)
        self.facts.append(fact(self.next_id, **values, **detail))
        self.next_id += 1

    def table(self) -> pa.Table:
        """Table of all facts written."""
        return table_of_facts(self.facts)


_COLUMNS = (
    "entity", "kind", "effective_on", "booked_at", "amount_minor", "currency", "party", "quantity",
)  # fmt: skip
