"""Metric definitions as dated data: the amount, the table, the loans in scope, the first day.

To add a metric, add it to a file of the folder `definitions`.

>>> book = load_definitions()
>>> book["delinquency_90"][0].sentence.startswith("Principal of loans 91 to 180")
True
>>> in_force(book["delinquency_90"], date(2024, 6, 30)).version
1

Pre-aggregations are sums of a table that many aggregates share, made in one scan.

>>> late = book["vintage_30"][0].numerator
>>> preaggregation_for("tape", late, ["cohort", "mob", "cell"]).dimensions
('month', 'cohort', 'mob', 'cell')
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from usance.base.document_places import document_places
from usance.base.documents import parse_yaml, read_text
from usance.base.errors import UsanceError, raise_all, unknown
from usance.base.fields import Fields, day, one_of, text, whole_of
from usance.measure.errors import DefinitionError
from usance.measure.expressions import Amount, columns_of, parse_amount, resolve_codes
from usance.measure.relations import COLUMNS

SHIPPED = Path(__file__).parent / "definitions"


class Window(StrEnum):
    """The rows of a relation that count.

    All up to the end, those of the period, of the same period a year before, of the last month.
    """

    TO_DATE = "to_date"
    PERIOD = "period"
    YEAR_BEFORE = "year_before"
    END = "end"


class Unit(StrEnum):
    """The unit of a metric."""

    RATIO = "ratio"
    COUNT = "count"
    MONEY = "money"
    MONTHS = "months"
    DAYS = "days"
    MICROSECONDS = "microseconds"
    POINTS = "points"


class Transform(StrEnum):
    """The formula that makes a metric of its sums, where that is not their quotient."""

    NONE = "none"
    ANNUAL_PREPAYMENT = "annual_prepayment"
    PRODUCT_OF_ROLLS = "product_of_rolls"
    STABILITY = "stability"


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An integer sum: of an amount, of rows or of distinct values, over one table and window."""

    table: str
    window: Window
    amount: Amount = ()
    distinct: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, Amount] | None = None
    role: str = ""
    filters: Mapping[str, Any] = field(default_factory=dict)
    """Dimensions that this aggregate alone is kept to."""

    def keys_along(self, wanted: Sequence[str]) -> dict[str, Amount]:
        """The keys of a metric that this aggregate has, each as an amount of its relation."""
        if self.keys is not None:
            return dict(self.keys)
        columns = COLUMNS[self.table]
        return {name: ((1, (name,)),) for name in wanted if name in columns}


@dataclass(frozen=True, slots=True)
class Definition:
    """One version of a metric."""

    name: str
    version: int
    valid_from: date
    sentence: str
    unit: Unit
    numerator: Aggregate
    denominator: Aggregate | None
    filters: Mapping[str, Any]
    along: tuple[str, ...]
    complete_after_days: int
    transform: Transform

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The numerator, and the denominator if it has one."""
        return (self.numerator, self.denominator) if self.denominator else (self.numerator,)


Definitions = Mapping[str, Sequence[Definition]]


def in_force(versions: Sequence[Definition], on: date) -> Definition | None:
    """The version that was valid on a day; None before the first."""
    valid = [each for each in versions if each.valid_from <= on]
    return valid[-1] if valid else None


@cache
def load_definitions(folder: Path | str = SHIPPED) -> Definitions:
    """Every definition of a folder by name, oldest version first, or all that is wrong."""
    problems: list[UsanceError] = []
    found: dict[str, list[Definition]] = {}
    files = sorted(Path(folder).glob("*.yaml"))
    if not files:
        fix = "Name a folder of .yaml files"
        problems.append(DefinitionError("holds no definitions", where=str(folder), fix=fix))
    for file in files:
        for made in _read(file, problems):
            found.setdefault(made.name, []).append(made)
    for name, versions in found.items():
        versions.sort(key=lambda each: each.version)
        dates = [each.valid_from for each in versions]
        numbers = [each.version for each in versions]
        if len(set(numbers)) < len(numbers) or sorted(set(dates)) != dates:
            fix = "Give each version its own number and a later valid_from"
            what = f"versions {numbers} start on {', '.join(map(str, dates))}"
            problems.append(DefinitionError(what, where=name, fix=fix))
    raise_all(problems, where=str(folder))
    return found


def _read(file: Path, problems: list[UsanceError]) -> list[Definition]:
    content = read_text(file)
    places = document_places(str(file), lambda: content)
    given = parse_yaml(content, where=str(file))
    whole = Fields(given, places, problems)
    made = [_definition(each) for each in whole.each("metrics")]
    whole.close()
    return [each for each in made if each is not None]


def _definition(fields: Fields) -> Definition | None:
    name = fields.need("name", text)
    version = fields.need("version", whole_of(1, 32_000))
    valid_from = fields.need("valid_from", day)
    sentence = fields.need("sentence", text)
    unit = fields.need("unit", one_of(Unit))
    table = fields.need("table", _one_of("table", COLUMNS))
    window = fields.need("window", one_of(Window))
    along = fields.take("along", lambda value, _: tuple(str(each) for each in value)) or ()
    days = fields.take("complete_after_days", whole_of(0, 400)) or 0
    transform = fields.take("transform", one_of(Transform)) or Transform.NONE
    numerator = _aggregate(fields, "numerator", table or "tape", window or Window.END)
    denominator = _aggregate(fields, "denominator", table or "tape", window or Window.END)
    filters = fields.take("filters", _conditions("loans")) or {}
    fields.close()
    if numerator is None and fields.is_mapping and "numerator" not in fields:
        fields.wrong("numerator is missing", "Say what is summed", "numerator")
    if not fields.is_sound or numerator is None:
        return None
    return Definition(
        name, version, valid_from, " ".join(sentence.split()), unit, numerator, denominator,
        filters, along, days, transform,
    )  # fmt: skip


def _aggregate(fields: Fields, key: str, table: str, window: Window) -> Aggregate | None:
    inner = fields.inner(key)
    if inner is None:
        return None
    table = inner.take("table", _one_of("table", COLUMNS)) or table
    window = inner.take("window", one_of(Window)) or window
    amount = inner.take("sum", lambda value, at: parse_amount(str(value), where=at)) or ()
    inner.take("count", _one_of("count", ("rows",)))
    distinct = inner.take("distinct", text) or ""
    where = inner.take("where", _conditions(table)) or {}
    keys = inner.take("keys", _keys)
    role = inner.take("role", text) or ""
    filters = inner.take("filters", _conditions("loans")) or {}
    inner.close()
    if sum(each in inner for each in ("sum", "count", "distinct")) != 1:
        inner.wrong("says not what is added up", "Give one of sum, count: rows, distinct")
    used = columns_of(amount) | set(where) | ({distinct} if distinct else set())
    for column in sorted(used - COLUMNS[table].keys()):
        where_it_is = inner.where("sum" if column in columns_of(amount) else "where")
        fields.problems.append(unknown("column", column, COLUMNS[table], where=where_it_is))
    return Aggregate(table, window, amount, distinct, where, keys, role, filters)


def _keys(given: Any, where: str) -> dict[str, Amount]:
    return {str(key): parse_amount(str(value), where=where) for key, value in given.items()}


def _conditions(table: str) -> Any:
    def read(given: Any, where: str) -> dict[str, Any]:
        if not isinstance(given, Mapping):
            fix = "Write 'column: value' pairs"
            raise DefinitionError("is no mapping of columns", where=where, fix=fix)
        return {
            str(column): resolve_codes(table, str(column), value, where=where)
            for column, value in given.items()
        }

    return read


def _one_of(what: str, choices: Any) -> Any:
    def read(given: Any, where: str) -> str:
        if str(given) not in choices:
            raise unknown(what, str(given), choices, where=where)
        return str(given)

    return read


ROW_COUNT = "rows"
"""The column with the number of rows of the table that were summed."""
IN_PERIOD = "inside"
"""The column that replaces a moment: 1 in the period, 0 before it."""


class PreAggregation(NamedTuple):
    """A table's amounts added up by some of its columns."""

    table: str
    dimensions: tuple[str, ...]
    amounts: tuple[str, ...]

    def of(self, rows: Any) -> Any:
        """The sums of some rows of the table, as an Ibis expression."""
        sums = {name: rows[name].cast("int64").sum().cast("int64") for name in self.amounts}
        return rows.group_by(list(self.dimensions)).agg(**sums, **{ROW_COUNT: rows.count()})


PREAGGREGATIONS = (
    PreAggregation(
        "tape", ("month", "bucket", "bucket_prev", "state", "cell"),
        ("principal_minor", "principal_prev_minor", "prepaid_minor"),
    ),
    PreAggregation("tape", ("month", "cohort", "mob", "cell"), ("net30_minor", "net180_minor")),
    PreAggregation("approvals", ("channel", "region", IN_PERIOD), ()),
)  # fmt: skip


def preaggregation_for(
    table: str, part: Aggregate, columns: Collection[str]
) -> PreAggregation | None:
    """The first pre-aggregation that has an aggregate's sums by these columns."""
    # A number of its own would count once for each row, a product is no sum of products.
    plain = all(len(each) == 1 and isinstance(each[0], str) for _, each in part.amount)
    if part.distinct or not plain:
        return None
    for cube in PREAGGREGATIONS:
        has_all = {*columns} <= {*cube.dimensions} and columns_of(part.amount) <= {*cube.amounts}
        if cube.table == table and has_all:
            return cube
    return None
