"""Queries for the aggregates of definitions: one for all that share a relation and a window."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from usance.base.dates import to_day, to_month
from usance.base.periods import MetricPeriod
from usance.base.progress import with_progress
from usance.measure.definitions import (
    IN_PERIOD,
    ROW_COUNT,
    Aggregate,
    PreAggregation,
    Window,
    preaggregation_for,
)
from usance.measure.engines import Engine
from usance.measure.errors import DimensionError
from usance.measure.expressions import (
    Amount,
    amount_expression,
    columns_of,
    condition_expression,
)
from usance.measure.inputs import OF_BORROWER, OF_CELL, Inputs, Role, dimension_mappings
from usance.measure.relations import (
    COLUMNS,
    RARE_FACTS,
    SOURCE_TABLES,
    TIME_COLUMNS,
    outcomes,
    rare_facts,
    relation,
    unreversed,
)

_QUARTER_MONTHS = 3
_MIN_SHARED = 2
"""Queries from which on one scan for all of them is less than one for each."""
Condition = tuple[str, Any]
"""A column and the values it must have."""


class Sum(NamedTuple):
    """The sum of one key, and the number of rows it is over."""

    value: int
    rows: int


Sums = dict[tuple[int, ...], Sum]
"""By key: the dimensions of the query, then the keys along which a metric runs."""


class GroupKey(NamedTuple):
    """A key to group by: its column, and the value of the key for each value of the column."""

    name: str
    column: str
    mapping: Mapping[int, int] | None


@dataclass(frozen=True, slots=True)
class AggregateQuery:
    """An aggregate with its filters and dimensions."""

    aggregate: Aggregate
    filters: tuple[Condition, ...]
    by: tuple[str, ...]
    along: tuple[tuple[str, Amount], ...]

    @classmethod
    def of(
        cls, aggregate: Aggregate, filters: Mapping[str, Any], by: Sequence[str],
        along: Sequence[str],
    ) -> AggregateQuery:  # fmt: skip
        """An aggregate as a definition uses it."""
        keys = aggregate.keys_along(along)
        kept = {**filters, **aggregate.filters}
        return cls(aggregate, tuple(kept.items()), tuple(by), tuple(keys.items()))


class QueryPlanner:
    """Runs aggregate queries on one engine over one set of tables."""

    def __init__(self, inputs: Inputs, engine: Engine, roles: Mapping[str, Role]) -> None:
        self._inputs, self._engine, self._roles = inputs, engine, roles
        self._mappings = dimension_mappings(inputs)
        self._preaggregations = set[PreAggregation]()
        """Those in use: once made, later queries cost nothing."""

    def missing_input(self, aggregate: Aggregate) -> str:
        """The reason why an aggregate cannot be computed; empty if it can."""
        absent = [name for name in SOURCE_TABLES[aggregate.table] if name not in self._inputs]
        if absent:
            return f"there is no table {', '.join(absent)}"
        if aggregate.role and aggregate.role not in self._roles:
            return f"no accounts are named for the role {aggregate.role}"
        return ""

    def check(self, query: AggregateQuery) -> None:
        """Raise `DimensionError` if a query's relation lacks one of its dimensions."""
        self._group_keys(query)

    def sums(self, queries: Sequence[AggregateQuery], period: MetricPeriod) -> list[Sums]:
        """The sums of each query, in order; one scan for all of the same relation and keys."""
        groups: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        chosen = self._choose_preaggregations(queries)
        for place, query in enumerate(queries):
            name, keys = self._group_keys(query)
            shape = tuple((key.name, key.column) for key in keys)
            scan = name, query.aggregate.window, chosen[place]
            groups[*scan, bool(query.aggregate.distinct), query.by, shape].append(place)
        found: list[Sums] = [{} for _ in queries]
        told = with_progress("measuring", groups.items(), len(groups))
        for (name, window, preaggregation, *_), places in told:
            batch = [queries[place] for place in places]
            answers = self._run(name, window, preaggregation, batch, period)
            for place, answer in zip(places, answers, strict=True):
                found[place] = answer
        return found

    def rows(
        self, query: AggregateQuery, period: MetricPeriod, limit: int, wanted: Mapping[str, int]
    ) -> tuple[list[str], list[Any]]:
        """The rows behind an aggregate whose keys have the wanted values: names, and values."""
        name, keys = self._group_keys(query)
        table = self._in_window(name, query.aggregate.window, period)
        rows = _filtered(table, self._conditions(name, query))
        along = dict(query.along)
        for key in keys:
            if key.name not in wanted:
                continue
            value = wanted[key.name]
            if key.name in along:
                column = amount_expression(rows, along[key.name])
                last = value + (_QUARTER_MONTHS - 1 if key.name == "cohort" else 0)
                rows = rows.filter((column >= value) & (column <= last))
            elif key.mapping is None:
                rows = rows.filter(rows[key.column] == value)
            else:
                values = [each for each, mapped in key.mapping.items() if mapped == value]
                rows = rows.filter(rows[key.column].isin(values or [-1]))
        ordered = rows.order_by(list(rows.columns[:2]))
        return list(rows.columns), self._engine.rows(ordered.limit(limit))

    def _group_keys(self, query: AggregateQuery) -> tuple[str, list[GroupKey]]:
        """The relation to query, and the keys to group it by."""
        name = query.aggregate.table
        keys: list[GroupKey] = []
        if name == "tape" and any(each in OF_BORROWER for each in query.by):
            name = "tape_by_borrower"
        kinds = query.aggregate.where.get("kind", (-1,))
        if name == "unreversed_facts" and {*kinds} <= {*RARE_FACTS}:
            name = "rare_facts"
        for each in query.by:
            columns = COLUMNS[name]
            if each in columns:
                keys.append(GroupKey(each, each, None))
            elif each in OF_CELL and "cell" in columns:
                keys.append(GroupKey(each, "cell", self._mappings["cell", each]))
            elif each == "institution" and "source" in columns:
                keys.append(GroupKey(each, "source", self._mappings["source", each]))
            else:
                fix = "Leave it out, or ask for other metrics"
                what = f"{query.aggregate.table} is not divided by {each}"
                raise DimensionError(what, where="--by", fix=fix)
        return name, [*keys, *(GroupKey(key, repr(amount), None) for key, amount in query.along)]

    def _choose_preaggregations(
        self, queries: Sequence[AggregateQuery]
    ) -> list[PreAggregation | None]:
        """For each query the pre-aggregation to use, if it is one that several share."""
        found: list[PreAggregation | None] = []
        for query in queries:
            name, keys = self._group_keys(query)
            along = dict(query.along)
            columns = {key.column for key in keys if key.name not in along}
            columns |= {name for amount in along.values() for name in columns_of(amount)}
            columns |= {column for column, _ in self._conditions(name, query)}
            found.append(preaggregation_for(name, query.aggregate, columns))
        counts = Counter(found)
        self._preaggregations |= {each for each in counts if each and counts[each] >= _MIN_SHARED}
        return [each if each in self._preaggregations else None for each in found]

    def _run(
        self, name: str, window: Window, preaggregation: PreAggregation | None,
        batch: Sequence[AggregateQuery], period: MetricPeriod,
    ) -> list[Sums]:  # fmt: skip
        first = batch[0]
        _, keys = self._group_keys(first)
        each_has = [self._conditions(name, query) for query in batch]
        shared = [check for check in each_has[0] if all(check in has for has in each_has)]
        whole = self._in_window(name, window, period, preaggregation)
        table = _filtered(whole, [*shared, *_all_wanted(each_has, keys)])
        # Distinct values cannot be added up afterwards: they are counted by the mapped key.
        map_first = bool(first.aggregate.distinct)
        along = dict(first.along)
        groups: dict[str, Any] = {}
        for key in keys:
            column = (
                _key_expression(table, along[key.name]) if key.name in along else table[key.column]
            )
            mapped = map_first and key.mapping
            groups[f"key_{key.name}"] = _mapped(column, key.mapping or {}) if mapped else column
        aggregates: dict[str, Any] = {}
        for place, (query, has) in enumerate(zip(batch, each_has, strict=True)):
            condition = _conjunction(table, [check for check in has if check not in shared])
            aggregates[f"sum_{place}"] = _aggregate(
                table, query.aggregate, condition, preaggregation
            )
            aggregates[f"rows_{place}"] = _count(table, condition, preaggregation)
        grouped = table.group_by(**groups) if groups else table
        rows = self._engine.rows(grouped.agg(**aggregates))
        mappings = [None if map_first else key.mapping for key in keys]
        return [_sums_by_key(rows, mappings, place) for place in range(len(batch))]

    def _in_window(
        self, name: str, window: Window, period: MetricPeriod,
        preaggregation: PreAggregation | None = None,
    ) -> Any:  # fmt: skip
        """The rows of a relation, or of a pre-aggregation of it, that count in a window."""
        import ibis

        if window is Window.YEAR_BEFORE:
            return self._in_window(name, Window.PERIOD, period.year_before(), preaggregation)
        if preaggregation and IN_PERIOD in preaggregation.dimensions:
            sums = self._to_date(preaggregation, period)
            return sums if window is Window.TO_DATE else sums.filter(sums[IN_PERIOD] == 1)
        table = self._candidate_rows(name, window, period, preaggregation)
        time_column = TIME_COLUMNS[name]
        not_after, not_before = self._bounds(table[time_column], COLUMNS[name][time_column], period)
        if name == "limits":
            return table.filter(not_after & (table.valid_to >= ibis.literal(period.end)))
        if window is Window.TO_DATE:
            return table.filter(not_after)
        if window is Window.END:
            return table.filter(table[time_column] == to_month(period.end))
        return table.filter(not_after & not_before)

    def _candidate_rows(
        self, name: str, window: Window, period: MetricPeriod,
        preaggregation: PreAggregation | None,
    ) -> Any:  # fmt: skip
        """A relation, or a pre-aggregation of it, with all rows that a window can have."""
        first, last = to_month(period.start), to_month(period.end)
        if preaggregation:
            since = 0 if window is Window.TO_DATE else first
            table = preaggregation.table
            sums = preaggregation.of(relation(table))
            return self._engine.summed_by_month(table, sums, (since, last))
        if name == "rare_facts":
            return unreversed(self._engine.summed_by_month("facts", rare_facts()))
        if name == "outcomes" and window is Window.PERIOD:
            return outcomes(first)
        return relation(name)

    def _to_date(self, preaggregation: PreAggregation, period: MetricPeriod) -> Any:
        """A pre-aggregation of all rows up to the end of a period, those in it told apart."""
        name = preaggregation.table
        table = self._in_window(name, Window.TO_DATE, period)
        time_column = TIME_COLUMNS[name]
        _, not_before = self._bounds(table[time_column], COLUMNS[name][time_column], period)
        sums = preaggregation.of(table.mutate(**{IN_PERIOD: not_before.cast("int8")}))
        own_name = f"{name}_{to_day(period.start)}_{to_day(period.end)}"
        return self._engine.materialised(own_name, sums)

    def _bounds(self, column: Any, kind: str, period: MetricPeriod) -> tuple[Any, Any]:
        """Two conditions: a row is not after a period, and not before it."""
        import ibis

        first, last = period.start, period.end
        if kind == "moment":
            zone, utc = ZoneInfo(self._inputs.time_zone), ZoneInfo("UTC")
            start = datetime.combine(first, time(), zone).astimezone(utc)
            end = datetime.combine(last + timedelta(days=1), time(), zone).astimezone(utc)
            not_after = column < ibis.literal(end, "timestamp('UTC')")
            return not_after, column >= ibis.literal(start, "timestamp('UTC')")
        if kind == "day":
            return column <= ibis.literal(last), column >= ibis.literal(first)
        return column <= to_month(last), column >= to_month(first)

    def _conditions(self, name: str, query: AggregateQuery) -> list[Condition]:
        """The conditions rows must meet to count."""
        checks = list(query.aggregate.where.items())
        for dimension, values in query.filters:
            if dimension in COLUMNS[name]:
                checks.append((dimension, values))
            elif "cell" in COLUMNS[name]:
                mapping = self._mappings["cell", dimension]
                checks.append(("cell", tuple(c for c, value in mapping.items() if value in values)))
        if "currency" in COLUMNS[name] and name != "loans":
            checks.append(("currency", (self._inputs.currency,)))
        if query.aggregate.role:
            role = self._roles[query.aggregate.role]
            checks.append(("account", role.accounts))
            if role.without_rules:
                checks.append(("rule", {"not": role.without_rules}))
        return checks


def _conjunction(table: Any, checks: Sequence[Condition]) -> Any:
    """Conditions joined; None where there are none."""
    joined = None
    for column, value in checks:
        check = condition_expression(table[column], value)
        joined = check if joined is None else joined & check
    return joined


def _all_wanted(
    each_has: Sequence[Sequence[Condition]], keys: Sequence[GroupKey]
) -> Iterator[Condition]:
    """The values of a column that any query of a batch without keys wants, if all name some."""
    if keys or len(each_has) < 2:  # a key must be there also where all sums are zero
        return
    lists = [{column: v for column, v in has if isinstance(v, tuple)} for has in each_has]
    for column in lists[0]:
        if all(column in each for each in lists):
            yield column, tuple({value for each in lists for value in each[column]})


def _filtered(table: Any, checks: Sequence[Condition]) -> Any:
    condition = _conjunction(table, checks)
    return table if condition is None else table.filter(condition)


def _key_expression(table: Any, amount: Amount) -> Any:
    """A key; a plain column stays as narrow as it is, which groups much faster."""
    if len(amount) == 1 and amount[0][0] == 1 and len(amount[0][1]) == 1:
        (factor,) = amount[0][1]
        if isinstance(factor, str):
            return table[factor]
    return amount_expression(table, amount)


def _aggregate(
    table: Any, aggregate: Aggregate, condition: Any, preaggregation: PreAggregation | None
) -> Any:
    if aggregate.distinct:
        return table[aggregate.distinct].nunique(where=condition)
    if not aggregate.amount:
        return _count(table, condition, preaggregation)
    return _sum(amount_expression(table, aggregate.amount), condition)


def _count(table: Any, condition: Any, preaggregation: PreAggregation | None) -> Any:
    """Rows that meet a condition; a row of a pre-aggregation counts for all it sums."""
    return _sum(table[ROW_COUNT], condition) if preaggregation else table.count(where=condition)


def _sum(amount: Any, condition: Any) -> Any:
    import ibis

    if condition is not None:
        amount = ibis.ifelse(condition, amount, ibis.literal(0, "int64"))
    return amount.sum().coalesce(0).cast("int64")


def _mapped(column: Any, mapping: Mapping[int, int]) -> Any:
    import ibis

    pairs = list(mapping.items())
    return column.cases(*pairs, else_=-1) if pairs else ibis.literal(-1)


def _sums_by_key(
    rows: Sequence[tuple[Any, ...]], mappings: Sequence[Mapping[int, int] | None], place: int
) -> Sums:
    width = len(mappings)
    found: Sums = {}
    for row in rows:
        key = tuple(
            int(value) if mapping is None else mapping.get(int(value), -1)
            for value, mapping in zip(row[:width], mappings, strict=True)
        )
        value, count = int(row[width + 2 * place] or 0), int(row[width + 2 * place + 1] or 0)
        old = found.get(key, Sum(0, 0))
        found[key] = Sum(old.value + value, old.rows + count)
    return found
