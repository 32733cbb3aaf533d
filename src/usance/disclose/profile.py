"""The rounding profile of a filer and the structure of its statements, read from one YAML file.

>>> profile = load_profile()
>>> profile.rounding.method, profile.rounding.ads_ratio, profile.reporting
('half_up', 2, 'RMB')
>>> profile.name_of("Sales and marketing expenses")
'sales and marketing'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from usance.base.documents import read_document
from usance.base.errors import InputError, unknown
from usance.disclose.errors import ProfileError
from usance.disclose.facts import normalised_name

DEFAULT = Path(__file__).parent / "profiles" / "results_release.yaml"
_KEYS = (
    "name", "currencies", "rounding", "plugs", "synonyms", "statements", "subtracted", "summed",
    "balances", "concepts", "text_lines", "identities", "dates",
)  # fmt: skip
_CHOICES = {
    "method": ("half_up", "half_even"),
    "totals": ("footed", "translated"),
    "translated_per_share": ("published", "direct"),
    "per_ads": ("published", "direct"),
    "effective_tax_adds_back": ("share_based_pay", "nothing"),
}
_WHOLE = {"ads_ratio": (1, 1_000_000), "per_share_decimals": (0, 6)}

Pattern = re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Rounding:
    """The rounding of published figures, and the figures they are made from."""

    method: str
    totals: str
    per_share_decimals: int
    translated_per_share: str
    per_ads: str
    ads_ratio: int
    text_decimals: Mapping[str, int]
    effective_tax_adds_back: str
    adjustment_tax_rate: Fraction


@dataclass(frozen=True, slots=True)
class Concept:
    """A line of the identities, by patterns of its place."""

    statement: Pattern
    line: Pattern
    parent: Pattern
    unit: str


@dataclass(frozen=True, slots=True)
class Identity:
    """target = of / per x scale, in every column that has them all."""

    rule: str
    target: str
    of: Mapping[str, int]
    per: Mapping[str, int]
    scale: Fraction
    decimals: int | None
    currencies: tuple[str, ...]
    at_end: bool
    interval: bool
    check_only: bool


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything that one filer's documents are checked by."""

    name: str
    reporting: str
    translated: str
    """The currency of the convenience translation; empty where there is none."""
    rounding: Rounding
    plugs: tuple[Mapping[str, Any], ...]
    synonyms: tuple[tuple[Pattern, str], ...]
    statements: Mapping[str, Any]
    subtracted: tuple[Pattern, ...]
    summed: tuple[Pattern, ...]
    balances: tuple[str, ...]
    concepts: Mapping[str, Concept]
    text_lines: Mapping[str, str]
    identities: tuple[Identity, ...]
    dates: tuple[Mapping[str, Any], ...]

    def name_of(self, line: str) -> str:
        """A line's name as it is compared between statements and documents."""
        return normalised_name(line, self.synonyms)

    def known_statements(self) -> list[str]:
        """Every statement the profile speaks of."""
        kinds = self.statements
        return [*kinds["tables"], *kinds["text"], *kinds["figures"], *kinds["known"]]


@cache
def load_profile(path: Path | str = DEFAULT) -> Profile:
    """The profile in a YAML or JSON file; the house's own if none is named."""
    where = str(path)
    given = read_document(path)
    if not isinstance(given, dict):
        raise ProfileError("is not a mapping", where=where, fix=f"Start from a copy of {DEFAULT}")
    given = _extended(given, where)
    for key in given:
        if key not in _KEYS:
            raise unknown("key", str(key), _KEYS, where=where)
    for key in _KEYS:
        if key not in given:
            fix = "Copy that part from the house's profile"
            raise ProfileError(f"has no '{key}'", where=where, fix=fix)
    try:
        return _profile(given, where)
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, re.error) as error:
        what = f"cannot be read: {type(error).__name__}: {error}"
        raise ProfileError(what, where=where, fix="Compare with the house's profile") from None


def _extended(given: dict[str, Any], where: str) -> dict[str, Any]:
    """A profile that `extends: house` with what it leaves out; parts of its rounding, too."""
    base = given.pop("extends", None)
    if base is None:
        return given
    if base != "house":
        raise unknown("profile", str(base), ("house",), where=where)
    house = read_document(DEFAULT)
    return {**house, **given, "rounding": {**house["rounding"], **given.get("rounding", {})}}


def _profile(given: dict[str, Any], where: str) -> Profile:
    rounding = _rounding(given["rounding"], where)
    concepts = {name: _concept(part) for name, part in given["concepts"].items()}
    identities = tuple(_identity(part, rounding, concepts, where) for part in given["identities"])
    for name in (*given["balances"], *given["text_lines"].values()):
        _known(name, concepts, where)
    return Profile(
        name=str(given["name"]),
        reporting=given["currencies"]["reporting"],
        translated=given["currencies"].get("translated", ""),
        rounding=rounding,
        plugs=tuple(given["plugs"]),
        synonyms=tuple((re.compile(str(one)), str(other)) for one, other in given["synonyms"]),
        statements=given["statements"],
        subtracted=tuple(_pattern(each) for each in given["subtracted"]),
        summed=tuple(_pattern(each) for each in given["summed"]),
        balances=tuple(given["balances"]),
        concepts=concepts,
        text_lines=given["text_lines"],
        identities=identities,
        dates=tuple(given["dates"]),
    )


def _rounding(given: dict[str, Any], where: str) -> Rounding:
    names = [field.name for field in fields(Rounding)]
    for key, value in given.items():
        if key not in names:
            raise unknown("rounding", str(key), names, where=where)
        if key in _CHOICES and value not in _CHOICES[key]:
            raise unknown(key, str(value), _CHOICES[key], where=where)
    for key, (lowest, highest) in _WHOLE.items():
        if not isinstance(given[key], int) or not lowest <= given[key] <= highest:
            fix = f"Give a whole number, {lowest} to {highest}"
            raise ProfileError(f"rounding.{key} is {given[key]!r}", where=where, fix=fix)
    tax = str(given["adjustment_tax_rate"])
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,9})?%?", tax):
        fix = "Write 25% or 0.25"
        raise ProfileError(f"rounding.adjustment_tax_rate is {tax!r}", where=where, fix=fix)
    rate = Fraction(Decimal(tax.rstrip("%"))) / (100 if tax.endswith("%") else 1)
    return Rounding(**{**given, "adjustment_tax_rate": rate})


def _concept(given: dict[str, str]) -> Concept:
    return Concept(
        statement=_pattern(given["statement"]),
        line=_pattern(given["line"]),
        parent=_pattern(given.get("parent", ".*")),
        unit=given.get("unit", ""),
    )


def _identity(
    given: dict[str, Any], rounding: Rounding, concepts: Mapping[str, Concept], where: str
) -> Identity:
    scale = Fraction(1)
    if "divide_by" in given:
        scale /= getattr(rounding, given["divide_by"])
    if "multiply_by" in given:
        scale *= getattr(rounding, given["multiply_by"])
    for name in (given["target"], *given["of"], *given.get("per", {})):
        _known(name.partition("@")[0], concepts, where)
    return Identity(
        rule=given["rule"], target=given["target"], of=given["of"], per=given.get("per", {}),
        scale=scale, decimals=given.get("decimals"),
        currencies=tuple(given.get("currencies", ())), at_end=given.get("at") == "end",
        interval=given.get("interval", False), check_only=given.get("check_only", False),
    )  # fmt: skip


def _known(name: str, concepts: Mapping[str, Concept], where: str) -> None:
    if name not in concepts:
        raise unknown("concept", name, concepts, where=where)


def _pattern(text: object) -> Pattern:
    return re.compile(str(text), re.IGNORECASE)
