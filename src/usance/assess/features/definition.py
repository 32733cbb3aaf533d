r"""Feature definitions: sources of records and what is taken from them, read from YAML.

A feature names a source, what to take and over how many days. What "nothing found" means is
stated: a count is 0 only if the file it counts in was seen (`needs`), else it is its missing code.

>>> text = '''
... sources:
...   bureau: {holds: The bureau's answers., columns: {open_loans: {type: whole, from: 0, to: 99}}}
... features:
...   open_loans: {from: bureau, take: latest, of: open_loans, missing: {-1: no bureau file}}
... '''
>>> definitions = parse_features(text)
>>> definitions.features[0].take.value, definitions.features[0].missing
('latest', -1)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

from usance.assess.features.declared import Declared, ValueType, read_declared
from usance.base.errors import DocumentError, raise_all, unknown
from usance.base.fields import (
    Fields,
    fields_of,
    file_fields,
    one_of,
    text,
    whole,
    whole_of,
)

FOREVER = 1 << 30
RESERVED = ("user_id", "effective_on", "booked_at")


class Aggregate(Enum):
    """The aggregate a feature takes of the records it sees."""

    LATEST = "latest"
    FIRST = "first"
    COUNT = "count"
    SUM = "sum"
    HIGHEST = "highest"
    LOWEST = "lowest"
    DISTINCT = "distinct"
    DAYS_SINCE = "days_since"
    SHARE = "share"
    """The first of two features before it over the second, in parts per million, half up."""
    RATIO = "ratio"
    """As a share, in whole numbers."""


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of record, with its declared columns."""

    name: str
    holds: str
    columns: Mapping[str, Declared]


@dataclass(frozen=True, slots=True)
class Feature:
    """The definition of a feature: its source, aggregate and window, and the code of no records."""

    name: str
    take: Aggregate
    source: str = ""
    of: str = ""
    days: int = FOREVER
    where: tuple[tuple[str, tuple[int, ...]], ...] = ()
    needs: str = ""
    missing: int | None = None
    missing_means: str = ""
    parts: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Definitions:
    """Every source and feature of one file, in its order."""

    sources: Mapping[str, Source]
    features: tuple[Feature, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names in order."""
        return tuple(feature.name for feature in self.features)


def read_features(path: Path | str) -> Definitions:
    """The definitions of a file, or everything that is wrong with them."""
    return _definitions(file_fields(path), str(path))


def parse_features(content: str, *, where: str = "features") -> Definitions:
    """The definitions of a YAML text."""
    return _definitions(fields_of(content, where), where)


def _definitions(given: Fields, where: str) -> Definitions:
    problems = given.problems
    sources: dict[str, Source] = {}
    listed = given.inner("sources")
    for name in listed.keys if listed else ():
        source = _source(name, listed.inner(name)) if listed else None
        if source is not None:
            sources[name] = source
    features: list[Feature] = []
    listed = given.inner("features")
    for name in listed.keys if listed else ():
        known = tuple(feature.name for feature in features)
        feature = _feature(name, listed.inner(name), sources, known) if listed else None
        if feature is not None:
            features.append(feature)
    given.close()
    if not features and not problems:
        given.wrong("no feature is defined", "Define at least one under 'features:'")
    raise_all(problems, where=where)
    return Definitions(sources, tuple(features))


def _source(name: str, given: Fields | None) -> Source | None:
    if given is None:
        return None
    holds = given.take("holds", text) or ""
    columns: dict[str, Declared] = {}
    listed = given.inner("columns")
    for column in listed.keys if listed else ():
        inner = listed.inner(column) if listed else None
        declared = read_declared(column, inner) if inner is not None else None
        if column in RESERVED:
            given.wrong(f"{column} is there anyway", "Leave it out", "columns", column)
        elif declared is not None:
            if declared.type is ValueType.REAL:
                given.wrong(f"{column} is real", "Declare it whole, scaled", "columns", column)
            columns[column] = declared
    given.close()
    return Source(name, holds, columns)


def _feature(
    name: str, given: Fields | None, sources: Mapping[str, Source], known: tuple[str, ...]
) -> Feature | None:
    if given is None:
        return None
    take = given.need("take", one_of(Aggregate))
    missing = given.take("missing", _missing)
    code, means = missing or (None, "")
    if take in (Aggregate.SHARE, Aggregate.RATIO):
        parts = given.need("parts", partial(_parts, known))
        given.close()
        if not given.has_needed or missing is None:
            given.wrong("a share needs its missing code", "Give missing: {-1: what it means}")
            return None
        return Feature(name, take, missing=code, missing_means=means, parts=parts)
    source = given.need("from", partial(_one_name, "source", tuple(sources)))
    held = sources.get(source or "")
    columns = tuple(held.columns) if held else ()
    of = given.take("of", partial(_one_name, "column", columns)) or ""
    days = given.take("days", whole_of(1, FOREVER)) or FOREVER
    needs = given.take("needs", partial(_one_name, "source", tuple(sources))) or ""
    where = _filters(given.inner("where"), held) if held else ()
    given.close()
    if not given.has_needed or held is None:
        return None
    if not of and take not in (Aggregate.COUNT, Aggregate.DAYS_SINCE):
        given.wrong(f"{name} does not say of which column", "Give of: a column", "take")
        return None
    return Feature(name, take, held.name, of, days, where, needs, code, means)


def _filters(given: Fields | None, source: Source) -> tuple[tuple[str, tuple[int, ...]], ...]:
    found = []
    for column in given.keys if given else ():
        declared = source.columns.get(column)
        if declared is None:
            fix = f"Columns: {', '.join(source.columns)}"
            given.wrong(f"{source.name} has no column {column!r}", fix, column)  # type: ignore[union-attr]
            continue
        codes = given.take(column, partial(_codes, declared))  # type: ignore[union-attr]
        found.append((column, codes or ()))
    return tuple(found)


def _codes(declared: Declared, given: Any, where: str) -> tuple[int, ...]:
    values = given if isinstance(given, list) else [given]
    return tuple(int(declared.coded(value, where)) for value in values)


def _missing(given: Any, where: str) -> tuple[int, str]:
    if not isinstance(given, dict) or len(given) != 1:
        fix = "Write one code and what it means, such as {-1: no bureau file}"
        raise DocumentError("no code with its meaning", where=where, fix=fix)
    ((code, means),) = given.items()
    return whole(code, where), text(means, where)


def _parts(known: tuple[str, ...], given: Any, where: str) -> tuple[str, str]:
    if not isinstance(given, list) or len(given) != 2:
        raise DocumentError("not two features", where=where, fix="Write [part, whole]")
    first, second = (_one_name("feature", known, each, where) for each in given)
    return first, second


def _one_name(noun: str, choices: tuple[str, ...], given: Any, where: str) -> str:
    if isinstance(given, str) and given in choices:
        return given
    raise unknown(noun, str(given), choices, where=where)
