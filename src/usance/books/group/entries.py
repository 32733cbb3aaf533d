"""Entries that state their lines: opening balances, manual entries, acquisitions, conversions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from usance.base.codes import Currency, IfrsAdjustment
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact
from usance.books.group.lines import Line, Poster
from usance.books.group.readers import EntryLine
from usance.books.group.rules import GroupRule, group_rules_of


def entry_lines(facts: Iterable[GroupFact], poster: Poster) -> Iterator[Line]:
    """The lines of every fact that states its own entry."""
    for each in facts:
        if each.kind in (GroupFactKind.OPENING_BALANCE, GroupFactKind.MANUAL_ENTRY):
            yield from _written(each, poster)
        elif each.kind is GroupFactKind.ACQUISITION:
            yield from _acquisition(each, poster)
        elif each.kind is GroupFactKind.CURRENCY_EXCHANGED:
            yield from _exchanged(each, poster)


def unbalanced(fact: GroupFact) -> dict[tuple[int, Currency], int]:
    """The sum of an entry's lines by entity and currency, unless it is zero."""
    sums: dict[tuple[int, Currency], int] = {}
    for line in fact.detail["lines"]:
        key = line.entity or fact.entity, line.currency
        sums[key] = sums.get(key, 0) + line.minor
    return {key: total for key, total in sums.items() if total}


def goodwill_minor(fact: GroupFact) -> int:
    """Goodwill: price and non-controlling interests beyond the net assets acquired."""
    net = sum(line.minor for line in fact.detail["lines"])
    return int(fact.amount_minor + fact.detail["non_controlling"] - net)


def _written(fact: GroupFact, poster: Poster) -> Iterator[Line]:
    rule, tag = _rule(fact), fact.detail["tag"] or IfrsAdjustment.NONE
    for line in fact.detail["lines"]:
        account = poster.chart[line.account]
        entity = line.entity or fact.entity
        yield poster.line(
            rule.number, tag, fact, entity, account, line.currency, line.minor, fact.effective_on
        )


def _rule(fact: GroupFact) -> GroupRule:
    rules = group_rules_of(fact.kind.label)
    activity = fact.detail.get("activity")
    return next(rule for rule in rules if activity is None or rule.activity is activity)


def _acquisition(fact: GroupFact, poster: Poster) -> Iterator[Line]:
    """The price in the acquirer's books; net assets and goodwill in those of the acquired."""
    rule = _rule(fact).number
    chart, on, price = poster.chart, fact.effective_on, fact.amount_minor
    paid = [(chart["subsidiaries"], price), (chart["cash"], -price)]
    yield from poster.entry(rule, IfrsAdjustment.NONE, fact, fact.entity, paid, on, fact.currency)
    lines: tuple[EntryLine, ...] = fact.detail["lines"]
    got = [(chart[line.account], line.minor) for line in lines]
    got += [
        (chart["goodwill"], goodwill_minor(fact)),
        (chart["subsidiaries"], -price),
        (chart["non_controlling_interests"], -fact.detail["non_controlling"]),
    ]
    yield from poster.entry(
        rule, IfrsAdjustment.NONE, fact, fact.detail["acquired"], got, on, fact.currency
    )


def _exchanged(fact: GroupFact, poster: Poster) -> Iterator[Line]:
    """Cash of one currency for cash of another, each through its exchange position."""
    rule, bought = _rule(fact).number, fact.detail["bought"]
    cash, position = poster.chart["cash"], poster.chart["exchange_position"]
    legs = ((Currency[bought.currency], bought.minor), (fact.currency, -fact.amount_minor))
    for currency, minor in legs:
        for account, signed in ((cash, minor), (position, -minor)):
            yield poster.line(
                rule,
                IfrsAdjustment.NONE,
                fact,
                fact.entity,
                account,
                currency,
                signed,
                fact.effective_on,
            )
