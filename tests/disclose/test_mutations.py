"""One digit changed anywhere: what breaks an identity is caught, and its place is named."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.disclose.filings import NAMES, paths
from tests.disclose.oracle import Oracle
from usance.disclose import Fact, TieKind, check_facts, load_profile, read_facts
from usance.disclose.tie_out.root_causes import RootCause

WORSE = (TieKind.BROKEN, TieKind.RESTATED)


class Change(NamedTuple):
    """A number with one other digit."""

    place: int
    fact: Fact
    text: str

    def applied(self, facts: Sequence[Fact]) -> tuple[list[Fact], Fact]:
        changed = list(facts)
        unit = self.fact.step * 10 ** len(self.fact.text.partition(".")[2])
        fact = replace(self.fact, text=self.text, value=Fraction(self.text) * unit)
        changed[self.place] = fact
        return changed, fact


@cache
def facts_of(shared: Path, names: tuple[str, ...]) -> tuple[Fact, ...]:
    return tuple(read_facts(paths(shared, *names), load_profile()))


def oracle_of(facts: Sequence[Fact]) -> Oracle:
    return Oracle([
        (f.document, f.statement, f.line, f.parent, f.period.name, f.currency, f.unit, f.text,
         str(int(f.is_total)))
        for f in facts
    ])  # fmt: skip


def changes(facts: Sequence[Fact], seed: int) -> Iterator[Change]:
    """Random digits of random numbers, for ever."""
    rng = random.Random(seed)
    numbers = [index for index, fact in enumerate(facts) if fact.is_number]
    while True:
        index = rng.choice(numbers)
        text = facts[index].text
        place = rng.choice([n for n, letter in enumerate(text) if letter.isdigit()])
        digit = rng.choice([each for each in "0123456789" if each != text[place]])
        yield Change(index, facts[index], text[:place] + digit + text[place + 1 :])


def label(cause: RootCause) -> tuple[object, ...]:
    return cause.kind, cause.tie.rule, cause.cell.where, cause.expected


def names_it(cause: RootCause, fact: Fact) -> bool:
    """The finding is at the cell, lists it as a suspect, or is a tie it stands in."""
    return cause.cell is fact or fact in cause.suspects or fact in set(cause.tie.facts)


def hunt(facts: Sequence[Fact], wanted: int, seed: int) -> tuple[int, int]:
    """Changes that break an identity until enough are caught: at the cell itself, and in all."""
    oracle, profile = oracle_of(facts), load_profile()
    before = {label(cause) for cause in check_facts(facts, profile).root_causes}
    exact = caught = 0
    for change in changes(facts, seed):
        if not oracle.broken_by(change.place, change.text):
            continue
        changed, fact = change.applied(facts)
        report = check_facts(changed, profile)
        fresh = [
            cause
            for cause in report.root_causes
            if cause.kind in WORSE and label(cause) not in before
        ]
        assert any(names_it(cause, fact) for cause in fresh), (fact.where, fact.line, change.text)
        exact += any(cause.cell is fact for cause in fresh)
        caught += 1
        if caught == wanted:
            return exact, caught
    raise AssertionError("unreachable")


def test_each_of_many_changes_is_caught_and_named(shared: Path) -> None:
    exact, caught = hunt(facts_of(shared, ("000",)), 60, seed=1)
    assert exact * 3 > caught * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "wanted", "seed"),
    [(NAMES, 300, 11), (("000",), 250, 12), (("002",), 200, 13), (("003",), 250, 14)],
)
def test_a_thousand_changes(shared: Path, names: tuple[str, ...], wanted: int, seed: int) -> None:
    exact, caught = hunt(facts_of(shared, names), wanted, seed)
    assert caught == wanted
    assert exact * 3 > caught * 2


def test_most_cells_stand_in_an_identity(shared: Path) -> None:
    """By the oracle alone, nine numbers of ten; the rest are shares, headlines and free figures."""
    facts = facts_of(shared, NAMES)
    oracle = oracle_of(facts)
    numbers = [index for index, fact in enumerate(facts) if fact.is_number]
    covered = [index for index in numbers if oracle.of_row[index]]
    assert len(covered) * 10 >= len(numbers) * 8


def test_a_wrong_rate_is_one_finding(shared: Path) -> None:
    facts = facts_of(shared, ("000",))
    [(index, rate)] = [(n, f) for n, f in enumerate(facts) if f.unit == "rmb_per_usd"]
    change = Change(index, rate, rate.text[:-1] + "9")
    changed, fact = change.applied(facts)
    broken = [
        r for r in check_facts(changed, load_profile()).root_causes if r.kind is TieKind.BROKEN
    ]
    assert [cause.cell for cause in broken] == [fact]
    assert broken[0].expected == rate.value
    assert len(broken[0].dependants) > 20
