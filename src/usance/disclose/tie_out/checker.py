"""The tie-out checker: every derivable figure, recomputed and classified."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from usance.disclose.fact_table_file import read_facts
from usance.disclose.facts import Fact, printed_like
from usance.disclose.profile import DEFAULT, Profile, load_profile
from usance.disclose.table import Table
from usance.disclose.tie_out.root_causes import (
    HOLDS,
    RootCause,
    RootCauseSearch,
    merge_inherited,
    misreadings,
)
from usance.disclose.tie_out.tie_list import all_ties
from usance.disclose.tie_out.translation import Plugs
from usance.disclose.ties import Tie, TieKind

ORDER = (TieKind.BROKEN, TieKind.RESTATED, TieKind.PLUG, TieKind.INTERVAL)


@dataclass(frozen=True, slots=True)
class Report:
    """The ties of one or several documents and what was found in them."""

    ties: int
    counts: dict[TieKind, int]
    dependants: int
    root_causes: tuple[RootCause, ...]
    cells: int
    covered: int

    @property
    def is_broken(self) -> bool:
        """True if a figure does not follow from the others by any rule."""
        return self.counts.get(TieKind.BROKEN, 0) > 0

    def as_dict(self) -> dict[str, Any]:
        """The answer for programs."""
        return {
            "counts": {kind.value: self.counts.get(kind, 0) for kind in TieKind},
            "ties": self.ties,
            "dependants": self.dependants,
            "cells": self.cells,
            "covered": self.covered,
            "findings": [finding(cause) for cause in self.root_causes],
        }

    def lines(self) -> Iterator[str]:
        """The answer for people."""
        counts = ", ".join(f"{self.counts.get(kind, 0)} {kind.value}" for kind in TieKind)
        yield f"{self.ties} ties over {self.covered} of {self.cells} figures: {counts}"
        for cause in self.root_causes:
            yield ""
            yield from _lines(cause)


def check(paths: Sequence[Path | str], *, profile: Path | str = DEFAULT) -> Report:
    """Check the fact tables in some files together."""
    chosen = load_profile(profile)
    return check_facts(read_facts(paths, chosen), chosen)


def check_facts(facts: Sequence[Fact], profile: Profile) -> Report:
    """Check facts that are already read."""
    ties = all_ties(Table(facts, profile))
    search = RootCauseSearch(ties, Plugs(ties, profile))
    broken = merge_inherited(search.root_causes(), search.kinds)
    intervals = [
        RootCause(kind, tie, tie.target, tie.expected())
        for tie, kind in search.kinds.items()
        if kind is TieKind.INTERVAL
    ]
    plugs = [RootCause(TieKind.PLUG, tie, tie.target, tie.expected()) for tie in search.plugged]
    causes = sorted(
        (*broken, *_by_column(plugs), *intervals),
        key=lambda cause: (
            ORDER.index(cause.kind),
            cause.cell.file,
            cause.cell.row,
            cause.tie.rule,
        ),
    )
    counts = Counter(kind for kind in search.kinds.values() if kind in HOLDS[:2])
    counts.update(cause.kind for cause in causes)
    return Report(
        ties=len(ties), counts=dict(counts),
        dependants=sum(len(each.dependants) for each in causes),
        root_causes=tuple(causes), cells=sum(fact.is_number for fact in facts),
        covered=sum(fact.is_number for fact in {fact for tie in ties for fact in tie.facts}),
    )  # fmt: skip


def _by_column(plugs: Sequence[RootCause]) -> list[RootCause]:
    """One plug for each column: the line that moved most, the others under it."""
    columns: dict[object, list[RootCause]] = {}
    for cause in plugs:
        columns.setdefault(Table.column(cause.cell), []).append(cause)
    found = []
    for causes in columns.values():
        causes.sort(key=lambda cause: (-abs(cause.found - (cause.expected or 0)), cause.cell.row))
        first, *rest = causes
        first.dependants += [cause.tie for cause in rest]
        found.append(first)
    return found


def finding(cause: RootCause) -> dict[str, Any]:
    """One finding: its kind, rule and place, the expected and printed values, its dependants."""
    cell = cause.cell
    place = cell.place()
    found: dict[str, Any] = {
        "kind": cause.kind.value, "rule": cause.tie.rule, **place, "file": cell.file,
        "expected": _shown(cause.expected, cell), "found": cell.text,
    }  # fmt: skip
    if cause.tie.over:
        found["over"] = cause.tie.over
    if hint := hint_of(cause):
        found["hint"] = hint
    found["terms"] = [_term(fact) for fact in _terms(cause)]
    found["suspects"] = [_term(fact) for fact in cause.suspects]
    found["dependants"] = [_dependant(tie) for tie in cause.dependants]
    return found


def hint_of(cause: RootCause) -> str:
    """The likely cause of a difference: a turned sign, one digit."""
    if cause.expected is None or cause.kind is not TieKind.BROKEN:
        return ""
    if cause.expected == -cause.found != 0:
        return "wrong sign"
    return "one digit differs" if cause.expected in misreadings(cause.cell) else ""


def _terms(cause: RootCause) -> list[Fact]:
    return [fact for fact in dict.fromkeys(cause.tie.facts) if fact is not cause.cell]


def _term(fact: Fact) -> dict[str, Any]:
    return {**fact.place(), "value": fact.text}


def _dependant(tie: Tie) -> dict[str, Any]:
    expected = _shown(tie.expected(), tie.target)
    return {"rule": tie.rule, **tie.target.place(), "expected": expected, "found": tie.target.text}


def _shown(value: Any, like: Fact) -> str | None:
    return None if value is None else printed_like(value, like)


def expected_of(cause: RootCause) -> str:
    """The figure that would hold, as it would be printed."""
    return _shown(cause.expected, cause.cell) or "nothing: it would divide by zero"


def _lines(cause: RootCause) -> Iterator[str]:
    cell = cause.cell
    heading = f" ({cell.parent})" if cell.parent else ""
    yield f"{cause.kind.value}: {cell.line}{heading}, {cell.period.written} {cell.currency}"
    yield f"  where     {cell.where}, document {cell.document}, {cell.statement}"
    yield f"  rule      {cause.tie.rule}" + (f", over {cause.tie.over}" if cause.tie.over else "")
    expected = expected_of(cause)
    hint = hint_of(cause)
    yield f"  expected  {expected}, found {cell.text}" + (f" ({hint})" if hint else "")
    for fact in cause.suspects:
        yield f"  suspect   {fact.line}, {fact.period.written} {fact.currency} ({fact.where})"
    shown_ties = cause.dependants[:8]
    for tie in shown_ties:
        fact = tie.target
        column = f"{fact.period.written} {fact.currency}"
        yield f"  with it   {fact.line}, {column} ({fact.where}): {tie.rule}"
    if len(cause.dependants) > len(shown_ties):
        yield f"  with it   and {len(cause.dependants) - len(shown_ties)} more"
