"""Problems of a set of facts as a whole: each names its line and how to mend it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from usance.base.errors import UsanceError
from usance.disclose.errors import FactError, WrongSign
from usance.disclose.facts import MONEY, Fact, label
from usance.disclose.profile import Profile

# Counts, rates and prices are never below zero; nor is what a company owns.
_NEVER_NEGATIVE = (
    "shares", "ads", "million_ads", "million_shares", "thousand_shares", "thousand_ads",
    "million_persons", "persons", "count", "months", "days", "rmb_per_usd", "rate",
)  # fmt: skip
_POSITIVE = ("rmb_per_usd", "rate")
# Letters that a scanner gets wrong in one name, of names long enough to tell.
_MISREAD, _LONG = 2, 8
_ASSETS = re.compile(r"TOTAL ASSETS|Total (non-?)?current assets", re.IGNORECASE)


def problems(
    facts: Sequence[Fact], profile: Profile, *, signs: bool = True
) -> Iterator[UsanceError]:  # fmt: skip
    """Everything wrong between rows, and below zero where nothing can be."""
    yield from _two_values(facts)
    if signs:
        yield from _wrong_signs(facts)
    yield from _mixed_units(facts, profile)
    yield from _missing(facts, profile)
    yield from _unknown_parents(facts, profile)


def _wrong(fact: Fact, what: str, fix: str) -> FactError:
    return FactError(what, where=fact.where, fix=fix)


def _place(fact: Fact) -> str:
    return f"'{fact.line}' in {fact.statement}, {fact.period.written} {fact.currency}"


def _two_values(facts: Sequence[Fact]) -> Iterator[UsanceError]:
    from usance.disclose.fact_table_file import cell_key

    seen: dict[tuple[str, ...], Fact] = {}
    for fact in facts:
        first = seen.setdefault(cell_key(fact), fact)
        if first is not fact and (first.text, first.unit) != (fact.text, fact.unit):
            what = f"{_place(fact)} is {fact.text} here and {first.text} in {first.where}"
            yield _wrong(fact, what, "Keep one of the two values")


def _wrong_signs(facts: Sequence[Fact]) -> Iterator[UsanceError]:
    for fact in facts:
        if fact.unit in _POSITIVE and fact.is_number and fact.value <= 0:
            yield _wrong(fact, f"{_place(fact)} is {fact.text}", "Give a rate above zero")
        elif (
            fact.value < 0 and fact.is_number and (fact.unit in _NEVER_NEGATIVE or _is_asset(fact))
        ):
            what = f"wrong sign: {_place(fact)} is {fact.text}"
            fix = "This cannot be below zero; check the sign"
            yield WrongSign(what, where=fact.where, fix=fix)


def _is_asset(fact: Fact) -> bool:
    named = _ASSETS.fullmatch(label(fact.line)) or _ASSETS.fullmatch(label(fact.parent))
    return fact.statement == "balance_sheet" and named is not None


def _mixed_units(facts: Sequence[Fact], profile: Profile) -> Iterator[UsanceError]:
    tables = profile.statements["tables"]
    units: dict[tuple[str, ...], dict[str, list[Fact]]] = defaultdict(lambda: defaultdict(list))
    for fact in facts:
        if fact.unit in MONEY:
            table = fact.statement in tables or ":" in fact.statement
            line = () if table else (fact.line, fact.parent)
            units[fact.document, fact.statement, *line][fact.unit].append(fact)
    for found in units.values():
        usual = max(found, key=lambda unit: len(found[unit]))
        for unit, odd in found.items():
            for fact in odd if unit != usual else ():
                what = f"mixed units: {_place(fact)} is in {unit}, the rest in {usual}"
                yield _wrong(fact, what, f"Convert it to {usual}, or correct the unit")


def _missing(facts: Sequence[Fact], profile: Profile) -> Iterator[UsanceError]:
    have: dict[str, set[str]] = defaultdict(set)
    files: dict[str, str] = {}
    for fact in facts:
        have[fact.document].add(fact.statement)
        files.setdefault(fact.document, fact.file)
    for document, statements in have.items():
        absent: dict[str, str] = {}
        for need in profile.statements["needs"]:
            present = [name for name in need["any"] if name in statements]
            for name in need["all"] if present else ():
                if name not in statements:
                    absent.setdefault(name, present[0])
        for name, needed_by in absent.items():
            what = f"document {document} has no statement {name}, which {needed_by} needs"
            yield FactError(what, where=files[document], fix="Add the statement's rows")
    yield from _missing_rate(facts, profile)


def _missing_rate(facts: Sequence[Fact], profile: Profile) -> Iterator[UsanceError]:
    rated = {fact.document for fact in facts if fact.unit == "rmb_per_usd"}
    seen: set[str] = set()
    for fact in facts:
        translated = fact.currency == profile.translated and fact.unit in MONEY
        table = fact.statement in profile.statements["tables"]
        if translated and table and fact.document not in rated | seen:
            seen.add(fact.document)
            what = f"document {fact.document} has {profile.translated} columns and no rate"
            fix = "Add a row of convenience_translation with unit rmb_per_usd"
            yield FactError(what, where=fact.where, fix=fix)


def _unknown_parents(facts: Sequence[Fact], profile: Profile) -> Iterator[UsanceError]:
    """A parent that is almost, but not quite, a line of its statement."""
    tables = profile.statements["tables"]
    written = {text for fact in facts for text in (fact.line, fact.parent)}
    names = {text: profile.name_of(text) for text in written}
    lines: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for fact in facts:
        lines[fact.document, fact.statement].setdefault(names[fact.line], fact.line)
    reported: set[tuple[str, str, str]] = set()
    for fact in facts:
        known = lines[fact.document, fact.statement]
        parent = names[fact.parent]
        place = fact.document, fact.statement, parent
        if fact.statement not in tables or not parent or parent in known or place in reported:
            continue
        reported.add(place)
        near = [known[name] for name in sorted(known) if _is_misread(name, parent)]
        if near:
            what = f"parent_line '{fact.parent}' is no line of {fact.statement}"
            yield _wrong(fact, what, f"Did you mean '{near[0]}'?")


def _is_misread(one: str, other: str) -> bool:
    """True if a scanner could have made one of the other: a letter or two, no whole word."""
    if max(len(one), len(other)) < _LONG or abs(len(one) - len(other)) > _MISREAD:
        return False
    parts = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    wrong = sum(max(a2 - a1, b2 - b1) for tag, a1, a2, b1, b2 in parts if tag != "equal")
    return wrong <= _MISREAD
