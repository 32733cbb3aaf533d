"""Comparatives: parts of a year, and the same cell printed in several columns or documents."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from usance.disclose.facts import MONEY, Fact
from usance.disclose.periods import partitions
from usance.disclose.table import Table
from usance.disclose.ties import Tie, TieKind

ADDED = "shorter periods add up to the longer one"
EXPLAINED = "change = this period less the year before"
CHANGED = "Change in "
TWICE = "one line and period in two documents"
RESTATEMENT_NOTE = re.compile(r"restated|recast|as adjusted|reclassif", re.IGNORECASE)


def changes_explained(table: Table) -> Iterator[Tie]:
    """The change that effects are the sum of: a line of operations less the same a year before."""
    for target in table.numbers:
        if target.statement != "change_analysis" or not target.is_total:
            continue
        line = target.line.removeprefix(CHANGED)
        found = [
            fact
            for fact in table.numbers
            if fact.statement == "operations" and fact.document == target.document
            and line in (fact.line, f"{fact.line} ({fact.parent})")
            and fact.currency == target.currency
        ]  # fmt: skip
        now = [fact for fact in found if fact.period == target.period]
        then = [fact for fact in found if fact.period.end == target.period.year_before()
                and round(fact.period.days / 30) == round(target.period.days / 30)]  # fmt: skip
        if now and then:
            step = None if target.step == now[0].step else target.step
            yield Tie(EXPLAINED, target, ((now[0], 1), (then[0], -1)), check_only=True, step=step)


def period_sums(table: Table) -> Iterator[Tie]:
    """Longer durations as the sum of shorter ones, in the reporting currency."""
    profile = table.profile
    for target in table.numbers:
        if target.period.instant or target.currency != profile.reporting:
            continue
        if target.statement not in profile.statements["flows"] or target.unit not in MONEY:
            continue
        if set(table.concepts_of(target)) & set(profile.balances):
            continue
        for partition in partitions(target.period, table.durations):
            yield from _sum(target, [_same_line(table, target, part.name) for part in partition])


def _sum(target: Fact, parts: list[list[Fact]]) -> Iterator[Tie]:
    if not all(parts):
        return
    whole = target.unit == "thousand"
    ties = [
        Tie(
            ADDED, target, tuple((fact, 1) for fact in choice), check_only=True,
            interval=not whole, step=None if whole else target.step,
        )
        for choice in _choices(parts)
    ]  # fmt: skip
    # Where a part is printed in several documents, the version that adds up is the one meant;
    # that they differ is said by the rule on cells printed twice.
    held = [tie for tie in ties if tie.judge() is not TieKind.BROKEN]
    yield (held or ties)[0]


def _same_line(table: Table, target: Fact, period: str) -> list[Fact]:
    found = table.line_in(target, period)
    return sorted(
        found, key=lambda fact: (fact.document != target.document, -table.rank[fact.document])
    )


def _choices(parts: list[list[Fact]]) -> Iterator[tuple[Fact, ...]]:
    if not parts:
        yield ()
        return
    for fact in parts[0]:
        for rest in _choices(parts[1:]):
            yield (fact, *rest)


def repeated_cells(table: Table) -> Iterator[Tie]:
    """The same cell in two documents, the later against the earlier."""
    noted = {fact.document for fact in table.facts if _is_note(fact)}
    rates = {name: table.rate(name) for name in table.rank}
    for facts in table.cells():
        latest: dict[str, Fact] = {}
        for fact in facts:
            latest.setdefault(fact.document, fact)
        order = sorted(latest.values(), key=lambda fact: table.rank[fact.document])
        for earlier, later in pairwise(order):
            one, other = rates[earlier.document], rates[later.document]
            if table.is_translated(later) and one and other and one.value != other.value:
                continue
            rule = f"{TWICE}, {'with' if later.document in noted else 'without'} a note"
            yield Tie(rule, later, ((earlier, 1),), check_only=True, otherwise=TieKind.RESTATED)


def _is_note(fact: Fact) -> bool:
    """True if a row says that its document restates earlier figures."""
    words = (fact.statement, fact.line, fact.parent, fact.text)
    return any(RESTATEMENT_NOTE.search(word) for word in words)


def same_instants(table: Table) -> Iterator[Tie]:
    """Balances inside a flow statement: one value for one day, whichever duration ends on it."""
    for concept in table.profile.balances:
        groups: dict[tuple[object, ...], list[Fact]] = defaultdict(list)
        for fact in table.all_of(concept):
            opens = concept.endswith("begin")
            day = fact.period.start if opens else fact.period.end
            groups[fact.document, fact.currency, table.name(fact.line), day].append(fact)
        for first, *rest in groups.values():
            for fact in rest:
                yield Tie("one balance for one day", fact, ((first, 1),), check_only=True)
