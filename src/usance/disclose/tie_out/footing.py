"""Totals and their parts: every total is the sum of the lines that name it as their parent.

Parts are added as printed, except those the profile subtracts; where most of a table's own columns
foot only with a part subtracted, it is subtracted. The matrices of a reconciliation show only
some lines, so their first and last column are footed only where no part is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction

from usance.disclose.facts import Fact, label
from usance.disclose.table import Column, Table
from usance.disclose.ties import Tie, TieKind

Signs = dict[tuple[str, str, str], int]


def footings(table: Table) -> Iterator[Tie]:
    """A tie for each total that has parts, in each column."""
    parts = _parts(table)
    signs, widths = _signs(table, parts), _widths(table, parts)
    for total, children in parts:
        if not _is_complete(table, total, children):
            continue
        terms = tuple((child, signs[_sign_key(table, total, child)]) for child in children)
        tie = Tie(rule_of(table, total), total, terms, check_only=not total.is_total)
        # A part that the document's other columns have and this one lacks may be nil or lost.
        missing = widths[_place(table, total)] - {table.name(child.line) for child in children}
        if not missing or tie.judge() is TieKind.EXACT:
            yield tie


def totals(table: Table) -> set[Fact]:
    """Every total that has parts in some column of its document."""
    widths = _widths(table, _parts(table))
    return {
        fact
        for column, facts in table.columns.items()
        if _foots(table, column)
        for fact in facts
        if fact.is_total and _place(table, fact) in widths
    }


def _widths(
    table: Table, parts: Sequence[tuple[Fact, list[Fact]]]
) -> dict[tuple[str, ...], set[str]]:
    widths: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for total, children in parts:
        widths[_place(table, total)] |= {table.name(child.line) for child in children}
    return widths


def rule_of(table: Table, total: Fact) -> str:
    """The name of the rule, which says the column it is about."""
    if total.currency == table.profile.translated:
        return "translated total is footed from rounded parts"
    return "total is the sum of its parts"


def _parts(table: Table) -> list[tuple[Fact, list[Fact]]]:
    found = []
    for column, facts in table.columns.items():
        if not _foots(table, column):
            continue
        children: dict[str, list[Fact]] = defaultdict(list)
        for fact in facts:
            children[table.name(fact.parent)].append(fact)
        for total in facts:
            below = [
                child
                for child in children.get(table.name(total.line), ())
                if child.unit == total.unit
            ]
            summed = any(pattern.fullmatch(label(total.line)) for pattern in table.profile.summed)
            if below and (total.is_total or summed) and total not in below:
                found.append((total, below))
    return found


def _foots(table: Table, column: Column) -> bool:
    kinds = table.profile.statements
    statement = column[1]
    if statement in kinds["text"] and statement not in kinds["figures"]:
        return False
    translated = column[3] == table.profile.translated
    return not (translated and table.profile.rounding.totals == "translated")


def _is_complete(table: Table, total: Fact, children: Sequence[Fact]) -> bool:
    """True if all parts are there: the ends of a matrix show some lines of the full statement."""
    matrix = table.profile.statements["matrix"]
    base, _, end = total.statement.partition(":")
    if end not in (matrix["from"], matrix["to"]) or not base.startswith(matrix["prefix"]):
        return True
    full = base.removeprefix(matrix["prefix"])
    names = {table.name(child.line) for child in children}
    wanted = table.under[full, table.name(total.line)]
    return bool(wanted) and wanted <= names


def _place(table: Table, total: Fact) -> tuple[str, ...]:
    return total.document, *table.key(total)


def _sign_key(table: Table, total: Fact, child: Fact) -> tuple[str, str, str]:
    return total.statement, table.name(total.line), table.name(child.line)


def _signs(table: Table, parts: Sequence[tuple[Fact, list[Fact]]]) -> Signs:
    signs: Signs = {}
    groups: dict[tuple[str, str], list[tuple[Fact, list[Fact]]]] = defaultdict(list)
    for total, children in parts:
        groups[total.statement, table.name(total.line)].append((total, children))
        for child in children:
            taken_off = (each.fullmatch(label(child.line)) for each in table.profile.subtracted)
            signs[_sign_key(table, total, child)] = -1 if any(taken_off) else 1
    for columns in groups.values():
        _turn_sign(table, columns, signs)
    return signs


def _turn_sign(table: Table, columns: Sequence[tuple[Fact, list[Fact]]], signs: Signs) -> None:
    """Turn one part's sign if most columns of at least two foot only that way."""
    if len(columns) < 2 or 2 * _footing(table, columns, signs) >= len(columns):
        return
    for key in {_sign_key(table, total, part) for total, parts in columns for part in parts}:
        turned = {**signs, key: -signs[key]}
        if 2 * _footing(table, columns, turned) > len(columns):
            signs.update(turned)
            return


def _footing(table: Table, columns: Sequence[tuple[Fact, list[Fact]]], signs: Signs) -> int:
    def footed(total: Fact, parts: Sequence[Fact]) -> Fraction:
        return sum(
            (part.value * signs[_sign_key(table, total, part)] for part in parts), Fraction(0)
        )

    return sum(total.value == footed(total, parts) for total, parts in columns)
