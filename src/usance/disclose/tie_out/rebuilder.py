"""Rebuild: every derived figure of a document, computed from its primary facts.

Leaf lines in the reporting currency, share counts, the rate and share-based compensation are taken
as given, and so is the declared plug of a translated column. Everything else is computed from
computed figures, never from printed ones.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from usance.disclose.fact_table_file import read_facts
from usance.disclose.facts import Fact, printed_like
from usance.disclose.profile import DEFAULT, Profile, load_profile
from usance.disclose.table import Column, Table
from usance.disclose.tie_out.root_causes import HOLDS, RootCauseSearch
from usance.disclose.tie_out.tie_list import all_ties
from usance.disclose.tie_out.translation import Plugs
from usance.disclose.ties import Tie, TieKind

SLIP = "slip"
"""The kind of a difference that the published page alone can explain."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A figure that was computed otherwise than printed, and why."""

    fact: Fact
    rule: str
    rebuilt: Fraction | None
    kind: str

    def as_dict(self) -> dict[str, Any]:
        """The difference for programs."""
        rebuilt = None if self.rebuilt is None else printed_like(self.rebuilt, self.fact)
        return {
            "kind": self.kind, "rule": self.rule, **self.fact.place(), "rebuilt": rebuilt,
            "printed": self.fact.text,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The share of a document that follows from its primary facts."""

    primary: int
    derived: int
    equal: int
    differences: tuple[Difference, ...]

    @property
    def is_broken(self) -> bool:
        """True if a figure differs and neither rounding nor a declared residue explains it."""
        return any(each.kind == SLIP for each in self.differences)

    def as_dict(self) -> dict[str, Any]:
        """The answer for programs."""
        return {
            "primary": self.primary, "derived": self.derived, "equal": self.equal,
            "differences": [each.as_dict() for each in self.differences],
        }  # fmt: skip

    def lines(self) -> list[str]:
        """The answer for people."""
        first = f"{self.derived} figures from {self.primary} primary facts: {self.equal} equal"
        return [first, *map(_line, self.differences)]


def rebuild(path: Path | str, *, profile: Path | str = DEFAULT) -> Rebuilt:
    """Rebuild the documents of one file."""
    chosen = load_profile(profile)
    return rebuild_facts(read_facts([path], chosen), chosen)


def rebuild_facts(facts: Sequence[Fact], profile: Profile) -> Rebuilt:
    """Rebuild from facts that are already read."""
    table = Table(facts, profile)
    ties = all_ties(table)
    search = RootCauseSearch(ties, Plugs(ties, profile))
    search.root_causes()
    derivations = first_derivations(ties, _declared_plugs(search))
    values = Values(derivations)
    differences = []
    for fact, tie in derivations.items():
        rebuilt = values.of(fact)
        if rebuilt is None or rebuilt != fact.value:
            differences.append(Difference(fact, tie.rule, rebuilt, values.why(tie, search)))
    numbers = sum(fact.is_number for fact in facts)
    return Rebuilt(
        numbers - len(derivations),
        len(derivations),
        len(derivations) - len(differences),
        tuple(differences),
    )


def derivations_of(facts: Sequence[Fact], profile: Profile) -> dict[Fact, Tie]:
    """The tie that makes each derived figure; what has none is primary, or a declared plug."""
    ties = all_ties(Table(facts, profile))
    search = RootCauseSearch(ties, Plugs(ties, profile))
    search.root_causes()
    return first_derivations(ties, _declared_plugs(search))


class Values:
    """The value of each figure: given if primary, else made once from its derivation's terms."""

    def __init__(self, derivations: dict[Fact, Tie]) -> None:
        self._derivations = derivations
        self._known: dict[Fact, Fraction | None] = {}

    def of(self, fact: Fact) -> Fraction | None:
        """A figure, made from primary facts alone; nothing if it would divide by zero."""
        if fact not in self._derivations:
            return fact.value
        if fact not in self._known:
            self._known[fact] = fact.value  # a figure that needs itself is taken as printed
            self._known[fact] = self._make(self._derivations[fact])
        return self._known[fact]

    def _make(self, tie: Tie) -> Fraction | None:
        if any(self.of(fact) is None for fact in tie.facts if fact is not tie.target):
            return None
        value = tie.value(lambda fact: self.of(fact) or Fraction(0))
        return None if value is None else tie.printed_for(value, tie.target.value)

    def why(self, tie: Tie, search: RootCauseSearch) -> str:
        """The reason of a difference: the kind of its own tie, or of a tie it is derived from."""
        if tie in search.plugged:
            return TieKind.PLUG.value
        kind = search.kinds[tie]
        if kind not in HOLDS[:2]:
            return SLIP if kind is TieKind.BROKEN else kind.value
        for fact in tie.facts:
            derivation = self._derivations.get(fact)
            if derivation and derivation is not tie and self.of(fact) != fact.value:
                return self.why(derivation, search)
        return SLIP


def first_derivations(ties: Sequence[Tie], given: Collection[Fact] = ()) -> dict[Fact, Tie]:
    """The first tie of each figure that may make it, but for those that are given."""
    derivations: dict[Fact, Tie] = {}
    for tie in ties:
        if not tie.check_only and tie.target.is_number and tie.target not in given:
            derivations.setdefault(tie.target, tie)
    return derivations


def _declared_plugs(search: RootCauseSearch) -> set[Fact]:
    """Declared plugs: where one line of a column alone carries the residue."""
    columns: dict[Column, list[Fact]] = {}
    for tie in search.plugged:
        columns.setdefault(Table.column(tie.target), []).append(tie.target)
    return {facts[0] for facts in columns.values() if len(facts) == 1}


def _line(each: Difference) -> str:
    fact = each.fact
    rebuilt = "nothing" if each.rebuilt is None else printed_like(each.rebuilt, fact)
    return (
        f"{each.kind}: {fact.line}, {fact.period.written} {fact.currency} ({fact.where}): "
        f"rebuilt {rebuilt}, printed {fact.text}; {each.rule}"
    )
