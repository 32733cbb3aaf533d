"""What a table leaves out although it follows: totals, translations, margins, figures per share.

A table of primary facts has leaves, shares, share-based pay and a rate. The frame of a release
says which derived lines its statements have. Each that is missing stands in as a blank cell, the
ties of the profile make its value, and a blank that nothing makes is taken out again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from usance.disclose.facts import Fact, printed_like
from usance.disclose.profile import Profile
from usance.disclose.table import Table
from usance.disclose.tie_out.all_ties import all_ties
from usance.disclose.tie_out.missing_cells import MissingCells
from usance.disclose.tie_out.rebuilder import Values, first_makers
from usance.disclose.ties import Tie


def completed(facts: Sequence[Fact], profile: Profile, company: str) -> list[Fact]:
    """The facts of one document, and every figure of its frame that they tell."""
    blanks = list(MissingCells(Table(facts, profile), company).cells())
    while blanks:
        table = Table([*facts, *blanks], profile)
        makers = first_makers(all_ties(table))
        made = {fact: makers[fact] for fact in blanks if fact in makers}
        kept = _sound(made) if len(made) == len(blanks) else _lines(made, blanks)
        if len(kept) == len(blanks):
            return [*facts, *_filled(made, table)]
        blanks = kept
    return list(facts)


def _lines(makers: Mapping[Fact, Tie], blanks: Sequence[Fact]) -> list[Fact]:
    """Blanks that something makes; a line that is not made is none in any currency."""
    unmade = {_line(fact) for fact in blanks if fact not in makers}
    return [fact for fact in blanks if _line(fact) not in unmade]


def _line(fact: Fact) -> tuple[str, ...]:
    return fact.statement, fact.line, fact.parent, fact.period.name, fact.unit


def _sound(makers: Mapping[Fact, Tie]) -> list[Fact]:
    """Blanks that follow from given facts in the end, not from each other in a ring."""
    sound: set[Fact] = set()
    while True:
        found = {
            fact
            for fact, tie in makers.items()
            if fact not in sound
            and all(term in sound or term not in makers for term in list(tie.facts)[1:])
        }
        if not found:
            return [fact for fact in makers if fact in sound]
        sound |= found


def _filled(makers: dict[Fact, Tie], table: Table) -> Iterator[Fact]:
    given = _residues(makers, table)
    values = _Given(makers, given)
    for blank in makers:
        value = values.of(blank)
        if value is not None:
            yield replace(blank, text=printed_like(value, blank), value=value)


class _Given(Values):
    """Values of which some are set: lines that take what rounding leaves."""

    def __init__(self, makers: dict[Fact, Tie], given: Mapping[Fact, Fraction]) -> None:
        super().__init__(makers)
        self._known.update(given)


def _residues(makers: dict[Fact, Tie], table: Table) -> dict[Fact, Fraction]:
    """What closes a translated column: own equity on a balance sheet, the largest flow of cash."""
    given: dict[Fact, Fraction] = {}
    for closing, opening in (("total_assets", "total_claims"), ("cash_end", "cash_begin")):
        for end in table.all_of(closing):
            start = table.find(opening, end, end.period)
            if start is None or end.currency != table.profile.translated:
                continue
            values = _Given(makers, given)
            leaf, reached = _absorber(table, end, start, values)
            if leaf in makers and reached is not None:
                rest = (values.of(end) or Fraction(0)) - reached
                # Each leaf is off by half a step at most; what is more is no rounding.
                if abs(rest) <= leaf.step * (len(table.columns[table.column(end)]) + 1) / 2:
                    given[leaf] = (values.of(leaf) or Fraction(0)) + rest
    return given


def _absorber(
    table: Table, end: Fact, start: Fact, values: Values
) -> tuple[Fact, Fraction | None]:  # fmt: skip
    """The line that takes the residue of a column, and what the column comes to without it."""
    column = table.columns[table.column(end)]
    outside = table.profile.concepts["noncontrolling"].line
    if end.statement == start.statement == "cash_flows":
        change = next((fact for fact in column if fact.is_total and fact is not end), end)
        flows = [fact for fact in column if table.name(fact.parent) == table.name(change.line)]
        reached = (values.of(start) or Fraction(0)) + (values.of(change) or Fraction(0))
    else:
        flows = [
            fact
            for fact in column
            if "equity" in table.name(fact.parent) and "liabilities" not in table.name(fact.parent)
            and not outside.fullmatch(fact.line) and not fact.is_total
        ]  # fmt: skip
        reached = values.of(start) or Fraction(0)
    if not flows:
        return end, None
    return max(flows, key=lambda fact: abs(values.of(fact) or Fraction(0))), reached
