"""The tie-out checker: everything that can be derived, recomputed and given its kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from usance.disclose.facts import Fact, printed_like
from usance.disclose.profile import DEFAULT, Profile, load_profile
from usance.disclose.reading import read_facts
from usance.disclose.table import Table
from usance.disclose.tie_out.all_ties import all_ties
from usance.disclose.tie_out.root_causes import (
    HOLDS,
    RootCause,
    RootCauseSearch,
    merge_inherited,
    misreadings,
)
from usance.disclose.tie_out.translation import Plugs
from usance.disclose.ties import Kind, Tie

ORDER = (Kind.BROKEN, Kind.RESTATED, Kind.PLUG, Kind.INTERVAL)


@dataclass(frozen=True, slots=True)
class Report:
    """The ties of one or several documents and what was found in them."""

    ties: int
    counts: dict[Kind, int]
    dependants: int
    roots: tuple[RootCause, ...]
    cells: int
    covered: int

    def as_dict(self) -> dict[str, Any]:
        """The answer for programs."""
        return {
            "counts": {kind.value: self.counts.get(kind, 0) for kind in Kind},
            "ties": self.ties,
            "dependants": self.dependants,
            "cells": self.cells,
            "covered": self.covered,
            "findings": [finding(root) for root in self.roots],
        }

    def lines(self) -> Iterator[str]:
        """The answer for people."""
        counts = ", ".join(f"{self.counts.get(kind, 0)} {kind.value}" for kind in Kind)
        yield f"{self.ties} ties over {self.covered} of {self.cells} figures: {counts}"
        for root in self.roots:
            yield ""
            yield from _lines(root)


def check(paths: Sequence[Path | str], *, profile: Path | str = DEFAULT) -> Report:
    """Check the fact tables in some files together."""
    chosen = load_profile(profile)
    return check_facts(read_facts(paths, chosen), chosen)


def check_facts(facts: Sequence[Fact], profile: Profile) -> Report:
    """Check facts that are already read."""
    ties = all_ties(Table(facts, profile))
    search = RootCauseSearch(ties, Plugs(ties, profile))
    broken = merge_inherited(search.roots(), search.kinds)
    mild = [
        RootCause(kind, tie, tie.target, tie.expected())
        for tie, kind in search.kinds.items()
        if kind is Kind.INTERVAL
    ]
    plugs = [RootCause(Kind.PLUG, tie, tie.target, tie.expected()) for tie in search.plugged]
    roots = sorted(
        (*broken, *_by_column(plugs), *mild),
        key=lambda root: (ORDER.index(root.kind), root.cell.file, root.cell.row, root.tie.rule),
    )
    counts = Counter(kind for kind in search.kinds.values() if kind in HOLDS[:2])
    counts.update(root.kind for root in roots)
    return Report(
        ties=len(ties), counts=dict(counts), dependants=sum(len(root.dependants) for root in roots),
        roots=tuple(roots), cells=sum(fact.is_number for fact in facts),
        covered=sum(fact.is_number for fact in {fact for tie in ties for fact in tie.facts}),
    )  # fmt: skip


def _by_column(plugs: Sequence[RootCause]) -> list[RootCause]:
    """One plug for each column: the line that moved most, the others under it."""
    columns: dict[object, list[RootCause]] = {}
    for root in plugs:
        columns.setdefault(Table.column(root.cell), []).append(root)
    found = []
    for roots in columns.values():
        roots.sort(key=lambda root: (-abs(root.found - (root.expected or 0)), root.cell.row))
        first, *rest = roots
        first.dependants += [root.tie for root in rest]
        found.append(first)
    return found


def finding(root: RootCause) -> dict[str, Any]:
    """One finding: its kind, rule and place, what was expected and found, what hangs on it."""
    cell = root.cell
    place = cell.place()
    told: dict[str, Any] = {
        "kind": root.kind.value, "rule": root.tie.rule, **place, "file": cell.file,
        "expected": _shown(root.expected, cell), "found": cell.text,
    }  # fmt: skip
    if root.tie.over:
        told["over"] = root.tie.over
    if hint := hint_of(root):
        told["hint"] = hint
    told["terms"] = [_term(fact) for fact in _terms(root)]
    told["suspects"] = [_term(fact) for fact in root.suspects]
    told["dependants"] = [_dependant(tie) for tie in root.dependants]
    return told


def hint_of(root: RootCause) -> str:
    """What the two values say about the cause: a turned sign, one digit."""
    if root.expected is None or root.kind is not Kind.BROKEN:
        return ""
    if root.expected == -root.found != 0:
        return "wrong sign"
    return "one digit differs" if root.expected in misreadings(root.cell) else ""


def _terms(root: RootCause) -> list[Fact]:
    return [fact for fact in dict.fromkeys(root.tie.facts) if fact is not root.cell]


def _term(fact: Fact) -> dict[str, Any]:
    return {**fact.place(), "value": fact.text}


def _dependant(tie: Tie) -> dict[str, Any]:
    expected = _shown(tie.expected(), tie.target)
    return {"rule": tie.rule, **tie.target.place(), "expected": expected, "found": tie.target.text}


def _shown(value: Any, like: Fact) -> str | None:
    return None if value is None else printed_like(value, like)


def _lines(root: RootCause) -> Iterator[str]:
    cell = root.cell
    heading = f" ({cell.parent})" if cell.parent else ""
    yield f"{root.kind.value}: {cell.line}{heading}, {cell.period.written} {cell.currency}"
    yield f"  where     {cell.where}, document {cell.document}, {cell.statement}"
    yield f"  rule      {root.tie.rule}" + (f", over {root.tie.over}" if root.tie.over else "")
    expected = _shown(root.expected, cell) or "nothing: it would divide by zero"
    hint = hint_of(root)
    yield f"  expected  {expected}, found {cell.text}" + (f" ({hint})" if hint else "")
    for fact in root.suspects:
        yield f"  suspect   {fact.line}, {fact.period.written} {fact.currency} ({fact.where})"
    shown_ties = root.dependants[:8]
    for tie in shown_ties:
        fact = tie.target
        column = f"{fact.period.written} {fact.currency}"
        yield f"  with it   {fact.line}, {column} ({fact.where}): {tie.rule}"
    if len(root.dependants) > len(shown_ties):
        yield f"  with it   and {len(root.dependants) - len(shown_ties)} more"
