"""Metrics of a book or tables by their definitions, each result with its provenance.

A result has its definition's version, its as-of day, the snapshot of the data, and a way to the
rows behind it. A metric with nothing to be measured on has no value: no data, not zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from fractions import Fraction
from typing import Any, NamedTuple

import pyarrow as pa

from usance.base.codes import code_lists
from usance.base.columns import make, sort
from usance.base.dates import is_month_end, to_month
from usance.base.errors import DateError, unknown
from usance.base.periods import MetricPeriod, quarter_label
from usance.base.tables import table
from usance.measure.definitions import (
    Definition,
    Definitions,
    Transform,
    Unit,
    Window,
    in_force,
    load_definitions,
)
from usance.measure.engines import open_engine
from usance.measure.errors import DimensionError
from usance.measure.inputs import Inputs, Role, check_dimensions
from usance.measure.queries import AggregateQuery, QueryPlanner, Sum, Sums

AS_REPORTED, RESTATED = "as_reported", "restated"
_PPB, _QUARTER = 1_000_000_000, 3
_NO_ROWS, _VINTAGES = Sum(0, 0), ("cohort", "mob")


@dataclass(frozen=True, slots=True)
class Result:
    """One figure with its provenance; `value` is None where there is no data."""

    definition: Definition
    series: str
    period: str
    as_of: date
    dimensions: tuple[tuple[str, str], ...]
    numerator: int
    denominator: int
    value: float | None
    snapshot: str
    complete: bool = True
    note: str = ""
    by: tuple[tuple[str, int], ...] = field(default=(), repr=False)
    over: MetricPeriod | None = field(default=None, repr=False)

    @property
    def segment_label(self) -> str:
        """The dimensions in one text, such as `model=ice`; empty for all."""
        return ",".join(f"{name}={value}" for name, value in self.dimensions)

    @property
    def formatted(self) -> str:
        """The value as people read it."""
        if self.value is None:
            return "no data"
        if self.definition.unit is Unit.RATIO:
            return f"{self.value:.2%}"
        number = f"{self.numerator:,}" if self.denominator == 1 else f"{self.value:,.2f}"
        return f"{number} minor" if self.definition.unit is Unit.MONEY else number

    def as_dict(self) -> dict[str, Any]:
        """The result for `--json`."""
        one = self.definition
        return {
            "metric": one.name, "version": one.version, "series": self.series,
            "period": self.period, "as_of": self.as_of.isoformat(),
            "dimensions": dict(self.dimensions), "numerator": self.numerator,
            "denominator": self.denominator, "unit": one.unit,
            "value": self.value,
            "complete": self.complete, "note": self.note, "definition": one.sentence,
            "snapshot": self.snapshot, "rows": self.drill_down(),
        }  # fmt: skip

    def drill_down(self) -> str:
        """The command that lists the rows behind the figure."""
        words = [f"usance measure rows BOOK --metric {self.definition.name} --as-of {self.as_of}"]
        if self.over is not None and "/" not in str(self.over):
            words.append(f"--period {self.over}")
        return " ".join([*words, *(f"--where {name}={value}" for name, value in self.by)])


def measure(
    inputs: Inputs,
    metrics: Sequence[str] = (),
    *,
    as_of: date,
    period: MetricPeriod | None = None,
    by: Sequence[str] = (),
    engine: str = "duckdb",
    definitions: Definitions | None = None,
    roles: Mapping[str, Role] | None = None,
) -> list[Result]:
    """Metrics (all, if none is named) as of a day, over a period, divided by dimensions."""
    book = definitions or load_definitions()
    for name in metrics:
        if name not in book:
            raise unknown("metric", name, book, where="--metric")
    check_dimensions(by)
    over = period or MetricPeriod.containing(as_of, "quarter")
    with open_engine(inputs, engine) as opened:
        planner = QueryPlanner(inputs, opened, inputs.roles if roles is None else roles)
        chosen = [
            (series, one)
            for name in metrics or book
            for series, one in _versions(book[name], as_of)
        ]
        run = _MetricRun(planner, inputs, over, as_of, tuple(by))
        return run.results(chosen, skip_indivisible=not metrics)


def rows_behind(
    inputs: Inputs, result: Result, part: str = "numerator", *, limit: int = 100,
    engine: str = "duckdb", roles: Mapping[str, Role] | None = None,
) -> tuple[list[str], list[Any]]:  # fmt: skip
    """The rows that a figure's numerator or denominator adds up: column names, and values."""
    one = result.definition
    chosen = one.numerator if part == "numerator" else one.denominator
    if chosen is None or result.over is None:
        return [], []
    with open_engine(inputs, engine) as opened:
        planner = QueryPlanner(inputs, opened, inputs.roles if roles is None else roles)
        keys = dict(result.by)
        along = chosen.keys_along(one.along)
        by = tuple(name for name in keys if name not in one.along)
        query = AggregateQuery.of(chosen, one.filters, by, one.along)
        wanted = {name: value for name, value in keys.items() if name in by or name in along}
        return planner.rows(query, result.over, limit, wanted)


def _versions(versions: Sequence[Definition], as_of: date) -> list[tuple[str, Definition]]:
    """The version in force on the day as reported, and the newest for all days as restated."""
    then = in_force(versions, as_of)
    reported = [(AS_REPORTED, then)] if then else []
    return [*reported, (RESTATED, versions[-1])]


class _Sums(NamedTuple):
    """The sums of a definition, or the reason why there are none."""

    numerator: Sums
    denominator: Sums | None
    note: str


class _MetricRun:
    """One run: the same planner, period and dimensions for all metrics."""

    def __init__(
        self, planner: QueryPlanner, inputs: Inputs, over: MetricPeriod, as_of: date,
        by: tuple[str, ...],
    ) -> None:  # fmt: skip
        self.planner, self.inputs, self.over, self.as_of, self.by = planner, inputs, over, as_of, by

    def results(
        self, chosen: Sequence[tuple[str, Definition]], *, skip_indivisible: bool
    ) -> list[Result]:
        """Every result; metrics without the dimensions of the run are refused, or skipped."""
        sums = self._sums([one for _, one in chosen], skip_indivisible)
        made: dict[int, list[Result]] = {}
        results: list[Result] = []
        for series, one in chosen:
            if id(one) in sums and id(one) not in made:
                made[id(one)] = self._results(series, one, *sums[id(one)])
            results += (replace(each, series=series) for each in made.get(id(one), ()))
        return results

    def _sums(self, ones: Sequence[Definition], skip_indivisible: bool) -> dict[int, _Sums]:
        """The sums of each definition, with as few scans as there can be."""
        queries: list[tuple[int, str, AggregateQuery]] = []
        sums: dict[int, _Sums] = {}
        for one in {id(each): each for each in ones}.values():
            note = self._missing_input(one)
            sums[id(one)] = _Sums({}, {} if one.denominator else None, note)
            if note:
                continue
            try:
                own = self._queries(one)
                for query in own:
                    self.planner.check(query)
            except DimensionError:
                if not skip_indivisible:
                    raise
                del sums[id(one)]
                continue
            parts = zip(("numerator", "denominator"), own, strict=False)
            queries += ((id(one), part, query) for part, query in parts)
        found = self.planner.sums([query for _, _, query in queries], self.over)
        for (key, part, _), each in zip(queries, found, strict=True):
            old = sums[key]
            sums[key] = _Sums(each, old.denominator, "") if part == "numerator" else (
                _Sums(old.numerator, each, "")
            )  # fmt: skip
        return sums

    def _queries(self, one: Definition) -> list[AggregateQuery]:
        if set(self.by) & set(one.along):
            what = f"{one.name} already runs along {', '.join(one.along)}"
            raise DimensionError(what, where="--by", fix="Leave that dimension out")
        return [AggregateQuery.of(each, one.filters, self.by, one.along) for each in one.aggregates]

    def _missing_input(self, one: Definition) -> str:
        at_end = any(each.window is Window.END for each in one.aggregates)
        if at_end and not is_month_end(self.over.end):
            fix = "Give the last day of a month, or leave these metrics out"
            what = f"{one.name} is measured at month ends, and {self.over.end} is none"
            raise DateError(what, where="--as-of", fix=fix)
        return next(filter(None, map(self.planner.missing_input, one.aggregates)), "")

    def _results(
        self, series: str, one: Definition, numerators: Sums, denominators: Sums | None, note: str
    ) -> list[Result]:
        if one.transform is Transform.PRODUCT_OF_ROLLS and not note:
            return [self._product_of_rolls(series, one)]
        if one.transform is Transform.STABILITY and not note:
            return [self._stability(series, one, numerators)]
        width = len(self.by)
        unobserved = _months_unobserved(one, numerators, denominators)
        numerators = _by_quarter(numerators, one.along, width)
        own_keys = tuple(one.numerator.keys_along(one.along))
        shared = own_keys
        if one.denominator is not None:
            shared = tuple(one.denominator.keys_along(one.along))
            denominators = _by_quarter(denominators or {}, shared, width)
        places = [own_keys.index(key) for key in shared if key in own_keys]

        def denominator(key: tuple[int, ...]) -> int:
            if denominators is None:
                return 1 if numerators.get(key, _NO_ROWS).rows else 0
            below = (*key[:width], *(key[width + place] for place in places))
            return denominators.get(below, _NO_ROWS).value

        below = denominators if denominators and set(shared) == set(own_keys) else {}
        keys = {key for key in {**numerators, **below} if self._in_scope(one, key)}
        if not one.along:
            keys |= self._empty_segments(one, keys)
        if one.along == _VINTAGES:
            keys |= {key for cohort in denominators or () for key in self._ages(cohort)}
            keys -= {key for key in keys if key[-2] + key[-1] in unobserved}
        return [
            self._result(series, one, key, numerators.get(key, _NO_ROWS).value, denominator(key),
                         note)
            for key in sorted(keys)
        ]  # fmt: skip

    def _ages(self, cohort: tuple[int, ...]) -> set[tuple[int, ...]]:
        """Every month on book a quarter has reached: nothing past due there is 0, not missing."""
        return {(*cohort, mob) for mob in range(to_month(self.over.end) - cohort[-1] + 1)}

    def _in_scope(self, one: Definition, key: tuple[int, ...]) -> bool:
        """True for a segment that can have this metric at all."""
        return all(
            value in one.filters[name]
            for name, value in zip(self.by, key, strict=False)
            if name in one.filters
        )

    def _empty_segments(self, one: Definition, keys: set[tuple[int, ...]]) -> set[tuple[int, ...]]:
        """Keys that a closed set has and the data has not; the one empty key where none is."""
        if not self.by:
            return {()}
        if len(self.by) > 1:
            return set()
        numbers = code_lists().get(self.by[0], {}).values()
        allowed = one.filters.get(self.by[0], tuple(numbers))
        every: set[tuple[int, ...]] = {(number,) for number in numbers if number in allowed}
        return every - keys

    def _result(
        self, series: str, one: Definition, key: tuple[int, ...], numerator: int,
        denominator: int, note: str,
    ) -> Result:  # fmt: skip
        names = (*self.by, *one.numerator.keys_along(one.along))
        pairs = tuple(zip(names, key, strict=True))
        labels = tuple((name, dimension_label(name, value)) for name, value in pairs)
        value = numerator / denominator if denominator else None
        if value is None:
            note = note or f"{one.numerator.table} has no such rows for {self._period(one)}"
        elif one.transform is Transform.ANNUAL_PREPAYMENT:
            value = 1 - (1 - value) ** 12
        return Result(
            one, series, self._period(one), self.as_of, labels, numerator, denominator, value,
            self.inputs.snapshot, self._is_complete(one, dict(pairs)), note, pairs, self.over,
        )  # fmt: skip

    def _period(self, one: Definition) -> str:
        is_flow = one.numerator.window in (Window.PERIOD, Window.YEAR_BEFORE)
        return str(self.over) if is_flow else str(self.over.end)

    def _is_complete(self, one: Definition, key: Mapping[str, int]) -> bool:
        if "cohort" in key and "mob" in key:
            return key["cohort"] + _QUARTER - 1 + key["mob"] <= to_month(self.over.end)
        until, days = self.inputs.told_until or self.as_of, one.complete_after_days
        return min(self.as_of, until if days else self.as_of) >= self.over.end + timedelta(days)

    def _product_of_rolls(self, series: str, one: Definition) -> Result:
        """The product of rolls into buckets 1, 2, 3 at three successive month ends."""
        product: Fraction | None = Fraction(1)
        end = to_month(self.over.end)
        for bucket in (1, 2, 3):
            month = MetricPeriod.of_months(end - 3 + bucket, 1)
            rolled, before = self.planner.sums(self._queries(one), month)
            whole = before.get((bucket,), _NO_ROWS).value
            if not whole or product is None:
                product = None
            else:
                product *= Fraction(rolled.get((bucket,), _NO_ROWS).value, whole)
        if product is None:
            return self._single_result(series, one, 0, 0, None)
        parts = math.floor(product * _PPB + Fraction(1, 2))
        return self._single_result(series, one, parts, _PPB, parts / _PPB)

    def _stability(self, series: str, one: Definition, now: Sums) -> Result:
        """Population stability: Σ (share now − share before) × ln of their quotient, by band."""
        (before,) = self.planner.sums(self._queries(one), self.over.previous())
        total, old = (sum(each.value for each in sums.values()) for sums in (now, before))
        if not total or not old:
            return self._single_result(series, one, 0, 0, None)
        index = 0.0
        bands = {band for sums in (now, before) for band, each in sums.items() if each.value}
        for band in sorted(bands):
            # Half a score stands where a band is empty, so that the index stays finite.
            share = max(now.get(band, _NO_ROWS).value, 0.5) / total
            past = max(before.get(band, _NO_ROWS).value, 0.5) / old
            index += (share - past) * math.log(share / past)
        millionths = round(index * 1_000_000)
        return self._single_result(series, one, millionths, 1_000_000, millionths / 1_000_000)

    def _single_result(
        self, series: str, one: Definition, numerator: int, denominator: int, value: float | None
    ) -> Result:
        return Result(
            one, series, self._period(one), self.as_of, (), numerator, denominator, value,
            self.inputs.snapshot, True, "", (), self.over,
        )  # fmt: skip


def _months_unobserved(one: Definition, numerators: Sums, denominators: Sums | None) -> range:
    """The months that vintages older than a tape had before it begins: blank there, not zero."""
    vintages = numerators if one.along == _VINTAGES else {}
    oldest = min((key[-1] for key in denominators or () if key), default=0)
    begins = min((key[-2] + key[-1] for key in vintages), default=oldest)
    return range(oldest // _QUARTER * _QUARTER, begins) if oldest < begins else range(0)


def _by_quarter(sums: Sums, along: Sequence[str], width: int) -> Sums:
    """Cohort months as the first month of their quarter."""
    if "cohort" not in along:
        return sums
    place = width + list(along).index("cohort")
    made: Sums = {}
    for key, found in sums.items():
        new = (*key[:place], key[place] // _QUARTER * _QUARTER, *key[place + 1 :])
        old = made.get(new, _NO_ROWS)
        made[new] = Sum(old.value + found.value, old.rows + found.rows)
    return made


def dimension_label(name: str, value: int) -> str:
    """A dimension's value as people read it.

    >>> dimension_label("model", 3), dimension_label("cohort", 648), dimension_label("region", 7)
    ('ice', '2024Q1', '7')
    """
    if name == "cohort":
        return quarter_label(value)
    labels = {number: label for label, number in code_lists().get(name, {}).items()}
    return labels.get(value, str(value))


def metrics_table(results: Sequence[Result]) -> pa.Table:
    """Results as the `metrics` table; what has no data has the denominator 0 and no number."""
    data = make(
        "metrics",
        metric=[each.definition.name for each in results],
        version=[each.definition.version for each in results],
        series=[each.series for each in results],
        period=[each.period for each in results],
        dimensions=[each.segment_label for each in results],
        numerator=[each.numerator for each in results],
        denominator=[each.denominator for each in results],
        unit=[each.definition.unit for each in results],
        value=pa.array([math.nan if r.value is None else r.value for r in results], pa.float64()),
        snapshot=[each.snapshot for each in results],
    )
    return sort(data, table("metrics"))
