"""A small group, its facts and its closes, for the tests of the group's books."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from typing import Any

from usance.base.codes import Currency, IfrsAdjustment
from usance.books.chart import load_chart
from usance.books.group.entities import Entities, parse_entities
from usance.books.group.exchange_rates import Rates
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact, fact, visible_facts
from usance.books.group.lines import GroupLines
from usance.books.group.posting import group_lines
from usance.books.statements.closing_entries import closing_ledger
from usance.books.statements.consolidation import GroupBooks
from usance.books.statements.ledger import Ledger

GROUP_TEXT = """
currency: CNY
related_parties: [77]
entities:
  - {number: 1, name: "Example Holding, Inc.", currency: USD, role: parent}
  - {number: 2, name: Example Platform, role: platform, owner: 1, tax: 15%}
  - {number: 3, name: Example Guarantee, role: guarantee, owner: 2, tax: 25%, carry_back: true}
  - {number: 4, name: Example Trust, role: trust, owner: 2}
  - {number: 5, name: Abroad, currency: HKD, role: subsidiary, owner: 2, share: 80%, tax: 16%}
  - {number: 6, name: Example Lending, role: microcredit, owner: 2, tax: 25%, withholding: 10%}
"""
GROUP: Entities = parse_entities(GROUP_TEXT)
PARENT, PLATFORM, GUARANTEE, TRUST, OVERSEAS, LENDING = range(1, 7)
KNOWN = datetime(2024, 1, 1, tzinfo=UTC)
LATER = datetime(2030, 1, 1, tzinfo=UTC)
OPENED = date(2023, 12, 31)
ENDS = (date(2024, 3, 31), date(2024, 6, 30), date(2024, 9, 30), date(2024, 12, 31))
RATES = {
    Currency.USD: [(date(2023, 1, 1), "7.00"), (date(2024, 2, 10), "7.10"),
                   (date(2024, 5, 1), "7.25"), (date(2024, 8, 15), "7.05")],
    Currency.HKD: [(date(2023, 1, 1), "0.90"), (date(2024, 4, 2), "0.93"),
                   (date(2024, 11, 5), "0.88")],
}  # fmt: skip


class Facts:
    """Facts in the order they are stated, each with its own number."""

    def __init__(self) -> None:
        self.facts: list[GroupFact] = []

    def say(
        self, entity: int, kind: GroupFactKind, on: date, minor: int = 0, **detail: Any
    ) -> GroupFact:
        """State one more."""
        stated = fact(len(self.facts) + 1, entity, kind, on, KNOWN, minor, **detail)
        self.facts.append(stated)
        return stated

    def rates(self) -> Facts:
        """State the rates of exchange."""
        for currency, rows in RATES.items():
            for on, rate in rows:
                self.say(PARENT, GroupFactKind.EXCHANGE_RATE, on, currency=currency, rate=rate)
        return self


def with_rates() -> Facts:
    return Facts().rates()


def amounts(
    lines: GroupLines, *, entity: int = 0, tag: IfrsAdjustment = IfrsAdjustment.NONE
) -> dict[str, int]:
    """Balances by account name, in whatever currency."""
    found: dict[str, int] = {}
    for line in lines:
        if line.tag == tag and entity in (0, line.entity):
            name = load_chart().by_number[line.account].name
            found[name] = found.get(name, 0) + line.amount
    return {name: minor for name, minor in found.items() if minor}


def books_by(facts: Sequence[GroupFact], day: date, entities: Entities = GROUP) -> GroupLines:
    return group_lines(facts, entities, day, LATER)


def closed(
    facts: Sequence[GroupFact], ends: Iterable[date] = ENDS, loans: Sequence[Ledger] = (),
    entities: Entities = GROUP,
) -> GroupBooks:  # fmt: skip
    """The books after a close at each day, as the close makes them: loans, facts, then the rest."""
    ledger = Ledger.joined([])
    before = GroupLines.of(())
    for number, day in enumerate(ends):
        lines = group_lines(facts, entities, day, LATER)
        rates = Rates.of(visible_facts(facts, day, LATER), entities.currency)
        own = [loans[number]] if number < len(loans) else []
        ledger = Ledger.joined([ledger, *own, Ledger.of_group(lines - before, day)])
        added, _ = closing_ledger(ledger, visible_facts(facts, day, LATER), entities, rates, day)
        ledger, before = Ledger.joined([ledger, added]), lines
    return GroupBooks(ledger, entities, Rates.of(facts, entities.currency))


def lines_of(
    rows: dict[str, int], entity: int, day: date, tag: IfrsAdjustment = IfrsAdjustment.NONE
) -> Ledger:
    """Loan lines of a close by account, under a rule of the loan books."""
    from usance.base.dates import to_day
    from usance.books.group.lines import Line

    chart = load_chart()
    return Ledger.of_group(
        GroupLines.of(
            Line(
                123,
                entity,
                int(tag is not IfrsAdjustment.NONE),
                int(tag),
                chart[name].number,
                0,
                0,
                0,
                to_day(day),
                minor,
            )
            for name, minor in rows.items()
        ),
        day,
    )
