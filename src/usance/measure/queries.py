"""Parts of definitions asked of an engine: all that share a table and a window in one query."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from usance.base.columns import arrays
from usance.base.dates import to_day, to_month
from usance.base.errors import InputError, unknown
from usance.measure.definitions import Aggregate
from usance.measure.engines import Engine
from usance.measure.expressions import (
    Amount,
    amount_expression,
    columns_of,
    condition_expression,
)
from usance.measure.inputs import Inputs, Role
from usance.measure.periods import MetricPeriod
from usance.measure.preaggregations import IN_PERIOD, ROW_COUNT, PreAggregation, preaggregation_for
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

DIMENSIONS = (
    "model", "product", "source", "institution", "channel", "region", "grade", "model_no",
)  # fmt: skip
_BY_CELL = ("model", "product", "source", "institution")
_BY_BORROWER = ("channel", "region", "grade")
_QUARTER_MONTHS = 3
_MIN_SHARED = 2
"""Parts from which on one scan for all of them is less than one for each."""


class Sum(NamedTuple):
    """What an engine found for one key: the sum, and over how many rows."""

    value: int
    rows: int


Sums = dict[tuple[int, ...], Sum]
"""By key: the dimensions asked for, then the keys along which a metric runs."""


@dataclass(frozen=True, slots=True)
class AggregateQuery:
    """One part with what limits and divides it."""

    part: Aggregate
    filters: tuple[tuple[str, Any], ...]
    by: tuple[str, ...]
    along: tuple[tuple[str, Amount], ...]

    @classmethod
    def of(
        cls, part: Aggregate, filters: Mapping[str, Any], by: Sequence[str], along: Sequence[str]
    ) -> AggregateQuery:
        """A part as a definition uses it."""
        return cls(part, tuple(filters.items()), tuple(by), tuple(part.along(along).items()))


class CannotDivide(InputError):
    """A metric has no such dimension."""

    code = "measure.dimension"


class QueryPlanner:
    """Asks one engine about one set of tables."""

    def __init__(self, inputs: Inputs, engine: Engine, roles: Mapping[str, Role]) -> None:
        self._inputs, self._engine, self._roles = inputs, engine, roles
        self._maps = dimension_maps(inputs)
        self._cubes = set[PreAggregation]()
        """Cubes that were worth it once: what comes later costs nothing."""

    def missing(self, part: Aggregate) -> str:
        """Why a part cannot be asked for; empty if it can."""
        lacking = [name for name in SOURCE_TABLES[part.table] if name not in self._inputs]
        if lacking:
            return f"there is no table {', '.join(lacking)}"
        if part.role and part.role not in self._roles:
            return f"no accounts are named for the role {part.role}"
        return ""

    def check(self, asked: AggregateQuery) -> None:
        """Raise `CannotDivide` if a part has not the dimensions asked for."""
        self._keys(asked)

    def sums(self, asked: Sequence[AggregateQuery], span: MetricPeriod) -> list[Sums]:
        """The sums of each part, in order; one query for all of the same table and keys."""
        groups: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        cubes = self._cubes_for(asked)
        for place, each in enumerate(asked):
            name, keys = self._keys(each)
            shape = tuple((key, how) for key, how, _ in keys)
            kind = name, each.part.window, cubes[place]
            groups[*kind, bool(each.part.distinct), each.by, shape].append(place)
        found: list[Sums] = [{} for _ in asked]
        for (name, window, cube, *_), places in groups.items():
            together = [asked[place] for place in places]
            answers = self._ask(name, window, cube, together, span)
            for place, answer in zip(places, answers, strict=True):
                found[place] = answer
        return found

    def rows(
        self, asked: AggregateQuery, span: MetricPeriod, limit: int, wanted: Mapping[str, int]
    ) -> tuple[list[str], list[Any]]:
        """The rows behind a part where its keys have the wanted values: names, and values."""
        name, keys = self._keys(asked)
        table = self._windowed(name, asked.part.window, span)
        kept = _where(table, self._conditions(name, asked))
        along = dict(asked.along)
        for key, raw, fold in keys:
            if key not in wanted:
                continue
            if key in along:
                column = amount_expression(kept, along[key])
                last = wanted[key] + (_QUARTER_MONTHS - 1 if key == "cohort" else 0)
                kept = kept.filter((column >= wanted[key]) & (column <= last))
            elif fold is None:
                kept = kept.filter(kept[raw] == wanted[key])
            else:
                raws = [each for each, value in fold.items() if value == wanted[key]]
                kept = kept.filter(kept[raw].isin(raws or [-1]))
        ordered = kept.order_by(list(kept.columns[:2]))
        return list(kept.columns), self._engine.rows(ordered.limit(limit))

    def _keys(
        self, asked: AggregateQuery
    ) -> tuple[str, list[tuple[str, str, Mapping[int, int] | None]]]:
        """The view to ask, and for each dimension its raw column and how it becomes one."""
        name = asked.part.table
        keys: list[tuple[str, str, Mapping[int, int] | None]] = []
        if name == "tape" and any(each in _BY_BORROWER for each in asked.by):
            name = "tape_by_borrower"
        if name == "standing_facts" and {*asked.part.where.get("kind", (-1,))} <= {*RARE_FACTS}:
            name = "rare_facts"
        for each in asked.by:
            columns = COLUMNS[name]
            if each in columns:
                keys.append((each, each, None))
            elif each in _BY_CELL and "cell" in columns:
                keys.append((each, "cell", self._maps["cell", each]))
            elif each == "institution" and "source" in columns:
                keys.append((each, "source", self._maps["source", each]))
            else:
                fix = "Leave it out, or ask for other metrics"
                what = f"{asked.part.table} is not divided by {each}"
                raise CannotDivide(what, where="--by", fix=fix)
        return name, [*keys, *((key, repr(amount), None) for key, amount in asked.along)]

    def _cubes_for(self, asked: Sequence[AggregateQuery]) -> list[PreAggregation | None]:
        """For each part the cube to ask, if it is one that several parts share."""
        found: list[PreAggregation | None] = []
        for each in asked:
            name, keys = self._keys(each)
            along = dict(each.along)
            columns = {raw for key, raw, _ in keys if key not in along}
            columns |= {name for amount in along.values() for name in columns_of(amount)}
            columns |= {column for column, _ in self._conditions(name, each)}
            found.append(preaggregation_for(name, each.part, columns))
        counts = Counter(found)
        self._cubes |= {each for each in counts if each and counts[each] >= _MIN_SHARED}
        return [each if each in self._cubes else None for each in found]

    def _ask(
        self,
        name: str,
        window: str,
        cube: PreAggregation | None,
        together: Sequence[AggregateQuery],
        span: MetricPeriod,
    ) -> list[Sums]:
        first = together[0]
        _, keys = self._keys(first)
        each_has = [self._conditions(name, asked) for asked in together]
        shared = [check for check in each_has[0] if all(check in has for has in each_has)]
        whole = self._windowed(name, window, span, cube)
        table = _where(whole, [*shared, *_wanted(each_has, keys)])
        inside = bool(first.part.distinct)  # distinct values cannot be added up afterwards
        along = dict(first.along)
        groups: dict[str, Any] = {}
        for key, raw, fold in keys:
            column = _key(table, along[key]) if key in along else table[raw]
            groups[f"key_{key}"] = _folded(column, fold) if inside and fold else column
        aggregates: dict[str, Any] = {}
        for place, (asked, has) in enumerate(zip(together, each_has, strict=True)):
            condition = _all(table, [check for check in has if check not in shared])
            aggregates[f"sum_{place}"] = _aggregate(table, asked.part, condition, cube)
            aggregates[f"rows_{place}"] = _count(table, condition, cube)
        grouped = table.group_by(**groups) if groups else table
        rows = self._engine.rows(grouped.agg(**aggregates))
        folds = [None if inside else fold for _, _, fold in keys]
        return [_collected(rows, folds, place) for place in range(len(together))]

    def _windowed(
        self, name: str, window: str, span: MetricPeriod, cube: PreAggregation | None = None
    ) -> Any:
        """What counts of a view, or of a cube of it."""
        import ibis

        if cube and IN_PERIOD in cube.dimensions:
            made = self._since(cube, span)
            return made if window == "to_date" else made.filter(made[IN_PERIOD] == 1)
        table = self._whole(name, window, span, cube)
        before, since = self._bounds(
            table[TIME_COLUMNS[name]], COLUMNS[name][TIME_COLUMNS[name]], span
        )
        if name == "limits":
            return table.filter(before & (table.valid_to >= ibis.literal(span.end)))
        if window == "to_date":
            return table.filter(before)
        if window == "end":
            return table.filter(table[TIME_COLUMNS[name]] == to_month(span.end))
        return table.filter(before & since)

    def _whole(
        self, name: str, window: str, span: MetricPeriod, cube: PreAggregation | None
    ) -> Any:
        """A view, or a cube of it, with all rows that a window can have."""
        first, last = to_month(span.start), to_month(span.end)
        if cube:
            since = 0 if window == "to_date" else first
            return self._engine.added(cube.table, cube.of(relation(cube.table)), (since, last))
        if name == "rare_facts":
            return unreversed(self._engine.added("facts", rare_facts()))
        if name == "outcomes" and window == "period":
            return outcomes(first)
        return relation(name)

    def _since(self, cube: PreAggregation, span: MetricPeriod) -> Any:
        """A cube of all up to the end of a span, which tells what is inside it."""
        table = self._windowed(cube.table, "to_date", span)
        when = TIME_COLUMNS[cube.table]
        _, since = self._bounds(table[when], COLUMNS[cube.table][when], span)
        name = f"{cube.table}_{to_day(span.start)}_{to_day(span.end)}"
        return self._engine.kept(name, cube.of(table.mutate(**{IN_PERIOD: since.cast("int8")})))

    def _bounds(self, column: Any, kind: str, span: MetricPeriod) -> tuple[Any, Any]:
        """Whether a row is not after a span, and not before it."""
        import ibis

        first, last = span.start, span.end
        if kind == "moment":
            zone, utc = ZoneInfo(self._inputs.time_zone), ZoneInfo("UTC")
            begun = datetime.combine(first, time(), zone).astimezone(utc)
            over = datetime.combine(last + timedelta(days=1), time(), zone).astimezone(utc)
            before = column < ibis.literal(over, "timestamp('UTC')")
            return before, column >= ibis.literal(begun, "timestamp('UTC')")
        if kind == "day":
            return column <= ibis.literal(last), column >= ibis.literal(first)
        return column <= to_month(last), column >= to_month(first)

    def _conditions(self, name: str, asked: AggregateQuery) -> list[tuple[str, Any]]:
        """What rows must have to count, as columns with values."""
        checks = list(asked.part.where.items())
        for dimension, values in asked.filters:
            if dimension in COLUMNS[name]:
                checks.append((dimension, values))
            elif "cell" in COLUMNS[name]:
                fold = self._maps["cell", dimension]
                checks.append(("cell", tuple(c for c, value in fold.items() if value in values)))
        if "currency" in COLUMNS[name] and name != "loans":
            checks.append(("currency", (self._inputs.currency,)))
        if asked.part.role:
            role = self._roles[asked.part.role]
            checks.append(("account", role.accounts))
            if role.without_rules:
                checks.append(("rule", {"not": role.without_rules}))
        return checks


def _all(table: Any, checks: Sequence[tuple[str, Any]]) -> Any:
    """Conditions joined; None where there are none."""
    made = None
    for column, value in checks:
        check = condition_expression(table[column], value)
        made = check if made is None else made & check
    return made


def _wanted(
    each_has: Sequence[Sequence[tuple[str, Any]]], keys: Sequence[Any]
) -> Iterator[tuple[str, Any]]:
    """Of sums without keys: lists of values of which every one of them has its own."""
    if keys or len(each_has) < 2:  # a key must be there also where all sums are zero
        return
    lists = [{column: v for column, v in has if isinstance(v, tuple)} for has in each_has]
    for column in lists[0]:
        if all(column in each for each in lists):
            yield column, tuple({value for each in lists for value in each[column]})


def _where(table: Any, checks: Sequence[tuple[str, Any]]) -> Any:
    condition = _all(table, checks)
    return table if condition is None else table.filter(condition)


def _key(table: Any, amount: Amount) -> Any:
    """A key; a plain column stays as narrow as it is, which groups much faster."""
    if len(amount) == 1 and amount[0][0] == 1 and len(amount[0][1]) == 1:
        (part,) = amount[0][1]
        if isinstance(part, str):
            return table[part]
    return amount_expression(table, amount)


def _aggregate(table: Any, part: Aggregate, condition: Any, cube: PreAggregation | None) -> Any:
    if part.distinct:
        return table[part.distinct].nunique(where=condition)
    if not part.amount:
        return _count(table, condition, cube)
    return _sum(amount_expression(table, part.amount), condition)


def _count(table: Any, condition: Any, cube: PreAggregation | None) -> Any:
    """Rows that meet a condition; those of a cube stand for so many."""
    return _sum(table[ROW_COUNT], condition) if cube else table.count(where=condition)


def _sum(amount: Any, condition: Any) -> Any:
    import ibis

    if condition is not None:
        amount = ibis.ifelse(condition, amount, ibis.literal(0, "int64"))
    return amount.sum().coalesce(0).cast("int64")


def _folded(column: Any, fold: Mapping[int, int]) -> Any:
    import ibis

    pairs = list(fold.items())
    return column.cases(*pairs, else_=-1) if pairs else ibis.literal(-1)


def _collected(
    rows: Sequence[tuple[Any, ...]], folds: Sequence[Mapping[int, int] | None], place: int
) -> Sums:
    width = len(folds)
    found: Sums = {}
    for row in rows:
        key = tuple(
            int(value) if fold is None else fold.get(int(value), -1)
            for value, fold in zip(row[:width], folds, strict=True)
        )
        value, count = int(row[width + 2 * place] or 0), int(row[width + 2 * place + 1] or 0)
        old = found.get(key, Sum(0, 0))
        found[key] = Sum(old.value + value, old.rows + count)
    return found


def dimension_maps(inputs: Inputs) -> dict[tuple[str, str], dict[int, int]]:
    """From cells and sources to the dimensions they stand for."""
    owners: dict[int, int] = {}
    if "sources" in inputs:
        columns = arrays(inputs.read("sources", ("source", "institution")))
        owners = dict(zip(*(columns[n].tolist() for n in ("source", "institution")), strict=True))
    maps: dict[tuple[str, str], dict[int, int]] = {("cell", name): {} for name in _BY_CELL} | {
        ("source", "institution"): owners
    }
    if "cells" in inputs:
        cells = arrays(inputs.read("cells"))
        for name in ("model", "product", "source"):
            maps["cell", name] = dict(
                zip(cells["cell"].tolist(), cells[name].tolist(), strict=True)
            )
        maps["cell", "institution"] = {
            cell: owners.get(source, -1) for cell, source in maps["cell", "source"].items()
        }
    return maps


def check_dimensions(by: Sequence[str]) -> None:
    """Refuse a dimension nobody knows."""
    for name in by:
        if name not in DIMENSIONS:
            raise unknown("dimension", name, DIMENSIONS, where="--by")
