"""Completion of a table of primary facts: totals, translations, margins, figures per share.

A table of primary facts has leaves, shares, share-based compensation and a rate. Each derived line
of a release that it lacks is added as a missing cell, the ties of the profile make its value, and
a cell that no tie makes is dropped again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from usance.disclose.facts import Fact, printed_like
from usance.disclose.profile import Profile
from usance.disclose.table import Table
from usance.disclose.tie_out.missing_cells import MissingCells
from usance.disclose.tie_out.rebuilder import Values, first_derivations
from usance.disclose.tie_out.tie_list import all_ties
from usance.disclose.ties import Tie


def completed(facts: Sequence[Fact], profile: Profile, company: str) -> list[Fact]:
    """The facts of one document, and every derived figure that follows from them."""
    missing = list(MissingCells(Table(facts, profile), company).cells())
    while missing:
        table = Table([*facts, *missing], profile)
        derivations = first_derivations(all_ties(table))
        made = {fact: derivations[fact] for fact in missing if fact in derivations}
        kept = _without_circles(made) if len(made) == len(missing) else _lines(made, missing)
        if len(kept) == len(missing):
            return [*facts, *_filled(made, table)]
        missing = kept
    return list(facts)


def _lines(derivations: Mapping[Fact, Tie], missing: Sequence[Fact]) -> list[Fact]:
    """Missing cells that a tie makes; a line that is not made is dropped in all currencies."""
    unmade = {_line(fact) for fact in missing if fact not in derivations}
    return [fact for fact in missing if _line(fact) not in unmade]


def _line(fact: Fact) -> tuple[str, ...]:
    return fact.statement, fact.line, fact.parent, fact.period.name, fact.unit


def _without_circles(derivations: Mapping[Fact, Tie]) -> list[Fact]:
    """Missing cells that follow from given facts in the end, not from each other in a circle."""
    resolved: set[Fact] = set()
    while True:
        found = {
            fact
            for fact, tie in derivations.items()
            if fact not in resolved
            and all(term in resolved or term not in derivations for term in list(tie.facts)[1:])
        }
        if not found:
            return [fact for fact in derivations if fact in resolved]
        resolved |= found


def _filled(derivations: dict[Fact, Tie], table: Table) -> Iterator[Fact]:
    given = _residues(derivations, table)
    values = _Given(derivations, given)
    for cell in derivations:
        value = values.of(cell)
        if value is not None:
            yield replace(cell, text=printed_like(value, cell), value=value)


class _Given(Values):
    """Values of which some are set: lines that take the residue of rounding."""

    def __init__(self, derivations: dict[Fact, Tie], given: Mapping[Fact, Fraction]) -> None:
        super().__init__(derivations)
        self._known.update(given)


def _residues(derivations: dict[Fact, Tie], table: Table) -> dict[Fact, Fraction]:
    """Values that close a translated column: own equity, or the largest flow of cash."""
    given: dict[Fact, Fraction] = {}
    for closing, opening in (("total_assets", "total_claims"), ("cash_end", "cash_begin")):
        for end in table.all_of(closing):
            start = table.find(opening, end, end.period)
            if start is None or end.currency != table.profile.translated:
                continue
            values = _Given(derivations, given)
            leaf, reached = _absorber(table, end, start, values)
            if leaf in derivations and reached is not None:
                rest = (values.of(end) or Fraction(0)) - reached
                # Each leaf is off by half a step at most; what is more is no rounding.
                if abs(rest) <= leaf.step * (len(table.columns[table.column(end)]) + 1) / 2:
                    given[leaf] = (values.of(leaf) or Fraction(0)) + rest
    return given


def _absorber(
    table: Table, end: Fact, start: Fact, values: Values
) -> tuple[Fact, Fraction | None]:  # fmt: skip
    """The line that takes the residue of a column, and the total of the column without it."""
    column = table.columns[table.column(end)]
    noncontrolling = table.profile.concepts["noncontrolling"].line
    if end.statement == start.statement == "cash_flows":
        change = next((fact for fact in column if fact.is_total and fact is not end), end)
        flows = [fact for fact in column if table.name(fact.parent) == table.name(change.line)]
        reached = (values.of(start) or Fraction(0)) + (values.of(change) or Fraction(0))
    else:
        flows = [
            fact
            for fact in column
            if "equity" in table.name(fact.parent) and "liabilities" not in table.name(fact.parent)
            and not noncontrolling.fullmatch(fact.line) and not fact.is_total
        ]  # fmt: skip
        reached = values.of(start) or Fraction(0)
    if not flows:
        return end, None
    return max(flows, key=lambda fact: abs(values.of(fact) or Fraction(0))), reached
