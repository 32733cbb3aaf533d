"""Parts of definitions asked of an engine: all that share a table and a window in one query."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from usance.base.columns import arrays
from usance.base.dates import to_month
from usance.base.errors import InputError, unknown
from usance.measure.definitions import Part
from usance.measure.engines import Engine
from usance.measure.expressions import Amount, amount_expression, condition_expression
from usance.measure.inputs import Inputs, Role
from usance.measure.spans import Span
from usance.measure.views import COLUMNS, NEEDS, WHEN, view

DIMENSIONS = (
    "model", "product", "source", "institution", "channel", "region", "grade", "model_no",
)  # fmt: skip
_BY_CELL = ("model", "product", "source", "institution")
_BY_BORROWER = ("channel", "region", "grade")
_QUARTER_MONTHS = 3
ASKED_OFTEN = ("approvals",)
"""Views that several metrics ask and that take long to make."""


class Sum(NamedTuple):
    """What an engine found for one key: the sum, and over how many rows."""

    value: int
    rows: int


Sums = dict[tuple[int, ...], Sum]
"""By key: the dimensions asked for, then the keys along which a metric runs."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One part with what limits and divides it."""

    part: Part
    filters: tuple[tuple[str, Any], ...]
    by: tuple[str, ...]
    along: tuple[tuple[str, Amount], ...]

    @classmethod
    def of(
        cls, part: Part, filters: Mapping[str, Any], by: Sequence[str], along: Sequence[str]
    ) -> Asked:
        """A part as a definition uses it."""
        return cls(part, tuple(filters.items()), tuple(by), tuple(part.along(along).items()))


class CannotDivide(InputError):
    """A metric has no such dimension."""

    code = "measure.dimension"


class Asker:
    """Asks one engine about one set of tables."""

    def __init__(self, inputs: Inputs, engine: Engine, roles: Mapping[str, Role]) -> None:
        self._inputs, self._engine, self._roles = inputs, engine, roles
        self._maps = dimension_maps(inputs)

    def missing(self, part: Part) -> str:
        """Why a part cannot be asked for; empty if it can."""
        lacking = [name for name in NEEDS[part.table] if name not in self._inputs]
        if lacking:
            return f"there is no table {', '.join(lacking)}"
        if part.role and part.role not in self._roles:
            return f"no accounts are named for the role {part.role}"
        return ""

    def check(self, asked: Asked) -> None:
        """Raise `CannotDivide` if a part has not the dimensions asked for."""
        self._keys(asked)

    def sums(self, asked: Sequence[Asked], span: Span) -> list[Sums]:
        """The sums of each part, in order; one query for all of the same table and keys."""
        groups: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for place, each in enumerate(asked):
            name, keys = self._keys(each)
            shape = tuple((key, how) for key, how, _ in keys)
            groups[name, each.part.window, bool(each.part.distinct), each.by, shape].append(place)
        found: list[Sums] = [{} for _ in asked]
        for (name, window, *_), places in groups.items():
            together = [asked[place] for place in places]
            answers = self._ask(name, window, together, span)
            for place, answer in zip(places, answers, strict=True):
                found[place] = answer
        return found

    def rows(
        self, asked: Asked, span: Span, limit: int, wanted: Mapping[str, int]
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

    def _keys(self, asked: Asked) -> tuple[str, list[tuple[str, str, Mapping[int, int] | None]]]:
        """The view to ask, and for each dimension its raw column and how it becomes one."""
        name = asked.part.table
        keys: list[tuple[str, str, Mapping[int, int] | None]] = []
        if name == "tape" and any(each in _BY_BORROWER for each in asked.by):
            name = "tape_by_borrower"
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

    def _ask(self, name: str, window: str, together: Sequence[Asked], span: Span) -> list[Sums]:
        first = together[0]
        _, keys = self._keys(first)
        each_has = [self._conditions(name, asked) for asked in together]
        shared = [check for check in each_has[0] if all(check in has for has in each_has)]
        table = _where(self._windowed(name, window, span), [*shared, *_wanted(each_has, keys)])
        inside = bool(first.part.distinct)  # distinct values cannot be added up afterwards
        along = dict(first.along)
        groups: dict[str, Any] = {}
        for key, raw, fold in keys:
            column = _key(table, along[key]) if key in along else table[raw]
            groups[f"key_{key}"] = _folded(column, fold) if inside and fold else column
        aggregates: dict[str, Any] = {}
        for place, (asked, has) in enumerate(zip(together, each_has, strict=True)):
            condition = _all(table, [check for check in has if check not in shared])
            aggregates[f"sum_{place}"] = _aggregate(table, asked.part, condition)
            aggregates[f"rows_{place}"] = table.count(where=condition)
        grouped = table.group_by(**groups) if groups else table
        rows = self._engine.rows(grouped.agg(**aggregates))
        folds = [None if inside else fold for _, _, fold in keys]
        return [_collected(rows, folds, place) for place in range(len(together))]

    def _view(self, name: str) -> Any:
        return self._engine.kept(name, view(name)) if name in ASKED_OFTEN else view(name)

    def _windowed(self, name: str, window: str, span: Span) -> Any:
        import ibis

        table = self._view(name)
        column, kind = table[WHEN[name]], COLUMNS[name][WHEN[name]]
        first, last = span.start, span.end
        if kind == "moment":
            zone = ZoneInfo(self._inputs.time_zone)
            begun = datetime.combine(first, time(), zone)
            over = datetime.combine(last + timedelta(days=1), time(), zone)
            utc = ZoneInfo("UTC")
            before = column < ibis.literal(over.astimezone(utc), "timestamp('UTC')")
            since = column >= ibis.literal(begun.astimezone(utc), "timestamp('UTC')")
        elif kind == "day":
            before, since = column <= ibis.literal(last), column >= ibis.literal(first)
        else:
            before, since = column <= to_month(last), column >= to_month(first)
        if name == "limits":
            return table.filter(before & (table.valid_to >= ibis.literal(last)))
        if window == "to_date":
            return table.filter(before)
        if window == "end":
            return table.filter(column == to_month(last))
        return table.filter(before & since)

    def _conditions(self, name: str, asked: Asked) -> list[tuple[str, Any]]:
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


def _aggregate(table: Any, part: Part, condition: Any) -> Any:
    import ibis

    if part.distinct:
        return table[part.distinct].nunique(where=condition)
    if not part.amount:
        return table.count(where=condition)
    amount = amount_expression(table, part.amount)
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
