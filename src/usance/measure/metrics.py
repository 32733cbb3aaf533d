"""Metrics measured: definitions over a book or tables, with what a reader needs to trust them.

Each result has its definition's version, its as-of day, the snapshot of the data, and a way to
the rows behind it. What has nothing to be measured on has no value: no data, not zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import pyarrow as pa

from usance.base.codes import code_lists
from usance.base.columns import make, sort
from usance.base.dates import is_month_end, to_month
from usance.base.errors import DateError, unknown
from usance.base.periods import quarter_label
from usance.base.tables import table
from usance.measure.definitions import Definition, Definitions, in_force, load_definitions
from usance.measure.engines import open_engine
from usance.measure.inputs import Inputs, Role
from usance.measure.periods import MetricPeriod
from usance.measure.queries import (
    AggregateQuery,
    CannotDivide,
    QueryPlanner,
    Sum,
    Sums,
    check_dimensions,
)

AS_REPORTED, RESTATED = "as_reported", "restated"
_PPB = 1_000_000_000
_QUARTER = 3


@dataclass(frozen=True, slots=True)
class Result:
    """One figure with where it comes from; `value` is None where there is no data."""

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
    span: MetricPeriod | None = field(default=None, repr=False)

    @property
    def shown_dimensions(self) -> str:
        """The dimensions in one text, such as `model=ice`; empty for all."""
        return ",".join(f"{name}={value}" for name, value in self.dimensions)

    @property
    def shown(self) -> str:
        """The value as people read it."""
        if self.value is None:
            return "no data"
        if self.definition.unit == "ratio":
            return f"{self.value:.2%}"
        number = f"{self.numerator:,}" if self.denominator == 1 else f"{self.value:,.2f}"
        return f"{number} minor" if self.definition.unit == "money" else number

    def as_dict(self) -> dict[str, Any]:
        """The result for `--json`."""
        one = self.definition
        return {
            "metric": one.name, "version": one.version, "series": self.series,
            "period": self.period, "as_of": self.as_of.isoformat(),
            "dimensions": dict(self.dimensions), "numerator": self.numerator,
            "denominator": self.denominator, "unit": one.unit,
            "value": "no data" if self.value is None else self.value,
            "complete": self.complete, "note": self.note, "definition": one.sentence,
            "snapshot": self.snapshot, "rows": self.drill_down(),
        }  # fmt: skip

    def drill_down(self) -> str:
        """The command that lists the rows behind the figure."""
        words = [f"usance measure rows BOOK --metric {self.definition.name}"]
        words.append(f"--as-of {self.as_of}")
        if self.span is not None:
            words.append(f"--period {self.span}" if "/" not in str(self.span) else "")
        words += [f"--where {name}={value}" for name, value in self.by]
        return " ".join(word for word in words if word)


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
    span = period or MetricPeriod.containing(as_of, "quarter")
    with open_engine(inputs, engine) as engine_there:
        asker = QueryPlanner(inputs, engine_there, inputs.roles if roles is None else roles)
        chosen = [
            (series, one)
            for name in metrics or book
            for series, one in _versions(book[name], as_of)
        ]
        measured = _Measurement(asker, span, as_of, tuple(by), inputs.snapshot)
        return measured.all(chosen, whole_pack=not metrics)


def rows_behind(
    inputs: Inputs, result: Result, part: str = "numerator", *, limit: int = 100,
    engine: str = "duckdb", roles: Mapping[str, Role] | None = None,
) -> tuple[list[str], list[Any]]:  # fmt: skip
    """The rows that a figure's numerator or denominator adds up: column names, and values."""
    one = result.definition
    chosen = one.numerator if part == "numerator" else one.denominator
    if chosen is None or result.span is None:
        return [], []
    with open_engine(inputs, engine) as there:
        asker = QueryPlanner(inputs, there, inputs.roles if roles is None else roles)
        keys = dict(result.by)
        along = chosen.along(one.along)
        by = tuple(name for name in keys if name not in one.along)
        asked = AggregateQuery.of(chosen, one.filters, by, one.along)
        wanted = {name: value for name, value in keys.items() if name in by or name in along}
        return asker.rows(asked, result.span, limit, wanted)


def _versions(versions: Sequence[Definition], as_of: date) -> list[tuple[str, Definition]]:
    """What was in force on the day, and the newest version for all days."""
    then = in_force(versions, as_of)
    reported = [(AS_REPORTED, then)] if then else []
    return [*reported, (RESTATED, versions[-1])]


class _Measurement:
    """One run: the same asker, period and dimensions for all metrics."""

    def __init__(
        self,
        asker: QueryPlanner,
        span: MetricPeriod,
        as_of: date,
        by: tuple[str, ...],
        snapshot: str,
    ) -> None:
        self.asker, self.span, self.as_of, self.by = asker, span, as_of, by
        self.snapshot = snapshot

    def all(self, chosen: Sequence[tuple[str, Definition]], whole_pack: bool) -> list[Result]:
        """Every result; metrics that cannot be divided so are left out of a whole pack."""
        answers = self._answers([one for _, one in chosen], whole_pack)
        made: dict[int, list[Result]] = {}
        results: list[Result] = []
        for series, one in chosen:
            if id(one) in answers and id(one) not in made:
                made[id(one)] = self._results(series, one, *answers[id(one)])
            results += (replace(each, series=series) for each in made.get(id(one), ()))
        return results

    def _answers(
        self, ones: Sequence[Definition], whole_pack: bool
    ) -> dict[int, tuple[Sums, Sums | None, str]]:
        """Numerators and denominators of each definition, with as few queries as there can be."""
        asked: dict[MetricPeriod, list[tuple[int, int, AggregateQuery]]] = {}
        answers: dict[int, tuple[Sums, Sums | None, str]] = {}
        for one in {id(each): each for each in ones}.values():
            note = self._why_not(one)
            answers[id(one)] = ({}, {} if one.denominator else None, note)
            if note:
                continue
            try:
                parts = self._asked(one)
                self._check(parts)
            except CannotDivide:
                if not whole_pack:
                    raise
                del answers[id(one)]
                continue
            for place, part in enumerate(parts):
                asked.setdefault(self.span, []).append((id(one), place, part))
        for span, several in asked.items():
            found = self.asker.sums([part for _, _, part in several], span)
            for (key, place, _), sums in zip(several, found, strict=True):
                numerator, denominator, note = answers[key]
                answers[key] = (sums, denominator, note) if place == 0 else (numerator, sums, note)
        return answers

    def _check(self, parts: Sequence[AggregateQuery]) -> None:
        for part in parts:
            self.asker.check(part)

    def _asked(self, one: Definition) -> list[AggregateQuery]:
        if set(self.by) & set(one.along):
            what = f"{one.name} already runs along {', '.join(one.along)}"
            raise CannotDivide(what, where="--by", fix="Leave that dimension out")
        parts = [one.numerator, *([one.denominator] if one.denominator else [])]
        return [AggregateQuery.of(part, one.filters, self.by, one.along) for part in parts]

    def _why_not(self, one: Definition) -> str:
        parts = [one.numerator, *([one.denominator] if one.denominator else [])]
        if any(part.window == "end" for part in parts) and not is_month_end(self.span.end):
            fix = "Give the last day of a month, or leave these metrics out"
            what = f"{one.name} is measured at month ends, and {self.span.end} is none"
            raise DateError(what, where="--as-of", fix=fix)
        return next(filter(None, map(self.asker.missing, parts)), "")

    def _results(
        self, series: str, one: Definition, up: Sums, down: Sums | None, note: str
    ) -> list[Result]:
        if one.transform == "product_of_rolls" and not note:
            return [self._rolls(series, one)]
        if one.transform == "stability" and not note:
            return [self._stability(series, one, up)]
        width = len(self.by)
        up = _by_quarter(up, one.along, width)
        numerator_keys = tuple(one.numerator.along(one.along))
        shared = numerator_keys
        if one.denominator is not None:
            down = _by_quarter(down or {}, tuple(one.denominator.along(one.along)), width)
            shared = tuple(one.denominator.along(one.along))
        places = [numerator_keys.index(key) for key in shared if key in numerator_keys]

        def beneath(key: tuple[int, ...]) -> tuple[int, ...]:
            return (*key[:width], *(key[width + place] for place in places))

        keys = {key for key in up if self._in_scope(one, key)}
        if down is not None and set(shared) == set(numerator_keys):
            keys |= {key for key in down if self._in_scope(one, key)}
        if not one.along:
            keys |= self._empty_segments(one, keys)
        if one.along == ("cohort", "mob"):
            keys |= {key for cohort in down or () for key in self._ages(cohort)}
        results = []
        for key in sorted(keys):
            sums = up.get(key, Sum(0, 0))
            whole = down.get(beneath(key), Sum(0, 0)).value if down is not None else (
                1 if sums.rows else 0
            )  # fmt: skip
            results.append(self._result(series, one, key, sums.value, whole, note))
        return results

    def _ages(self, cohort: tuple[int, ...]) -> set[tuple[int, ...]]:
        """Every month on book a quarter has reached: nothing past due there is 0, not missing."""
        return {(*cohort, mob) for mob in range(to_month(self.span.end) - cohort[-1] + 1)}

    def _in_scope(self, one: Definition, key: tuple[int, ...]) -> bool:
        """Whether a segment can have this metric at all."""
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
        self, series: str, one: Definition, key: tuple[int, ...], up: int, down: int, note: str
    ) -> Result:
        names = (*self.by, *one.numerator.along(one.along))
        pairs = tuple(zip(names, key, strict=True))
        shown = tuple((name, shown_value(name, value)) for name, value in pairs)
        value = up / down if down else None
        if value is not None and one.transform == "annual_prepayment":
            value = 1 - (1 - value) ** 12
        return Result(
            one, series, self._period(one), self.as_of, shown, up, down, value, self.snapshot,
            self._complete(one, dict(pairs)), note, pairs, self.span,
        )  # fmt: skip

    def _period(self, one: Definition) -> str:
        return str(self.span) if one.numerator.window == "period" else str(self.span.end)

    def _complete(self, one: Definition, key: Mapping[str, int]) -> bool:
        if "cohort" in key and "mob" in key:
            return key["cohort"] + _QUARTER - 1 + key["mob"] <= to_month(self.span.end)
        return self.as_of >= self.span.end + timedelta(days=one.complete_after_days)

    def _rolls(self, series: str, one: Definition) -> Result:
        """The product of rolls into buckets 1, 2, 3 at three successive month ends."""
        product: Fraction | None = Fraction(1)
        end = to_month(self.span.end)
        for bucket in (1, 2, 3):
            month = _month_period(end - 3 + bucket)
            up, down = self.asker.sums(self._asked(one), month)
            whole = down.get((bucket,), Sum(0, 0)).value
            if not whole or product is None:
                product = None
            else:
                product *= Fraction(up.get((bucket,), Sum(0, 0)).value, whole)
        if product is None:
            return self._plain(series, one, 0, 0, None)
        parts = math.floor(product * _PPB + Fraction(1, 2))
        return self._plain(series, one, parts, _PPB, parts / _PPB)

    def _stability(self, series: str, one: Definition, now: Sums) -> Result:
        """Σ (share now − share before) × ln of their quotient, over every band with a score."""
        (before,) = self.asker.sums(self._asked(one), self.span.previous())
        total, old = (sum(each.value for each in sums.values()) for sums in (now, before))
        if not total or not old:
            return self._plain(series, one, 0, 0, None)
        index = 0.0
        bands = {band for sums in (now, before) for band, each in sums.items() if each.value}
        for band in sorted(bands):
            # Half a score stands where a band is empty, so that the index stays finite.
            share = max(now.get(band, Sum(0, 0)).value, 0.5) / total
            past = max(before.get(band, Sum(0, 0)).value, 0.5) / old
            index += (share - past) * math.log(share / past)
        millionths = round(index * 1_000_000)
        return self._plain(series, one, millionths, 1_000_000, millionths / 1_000_000)

    def _plain(
        self, series: str, one: Definition, up: int, down: int, value: float | None
    ) -> Result:
        return Result(
            one, series, self._period(one), self.as_of, (), up, down, value, self.snapshot,
            True, "", (), self.span,
        )  # fmt: skip


def _month_period(month: int) -> MetricPeriod:
    from usance.base.dates import first_of_month, last_of_month

    return MetricPeriod(first_of_month(month), last_of_month(month))


def _by_quarter(sums: Sums, along: Sequence[str], width: int) -> Sums:
    """Cohort months as the first month of their quarter."""
    if "cohort" not in along:
        return sums
    place = width + list(along).index("cohort")
    made: Sums = {}
    for key, found in sums.items():
        quarter = key[place] // _QUARTER * _QUARTER
        new = (*key[:place], quarter, *key[place + 1 :])
        old = made.get(new, Sum(0, 0))
        made[new] = Sum(old.value + found.value, old.rows + found.rows)
    return made


def shown_value(name: str, value: int) -> str:
    """A dimension's value as people read it.

    >>> shown_value("model", 3), shown_value("cohort", 648), shown_value("region", 7)
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
        dimensions=[each.shown_dimensions for each in results],
        numerator=[each.numerator for each in results],
        denominator=[each.denominator for each in results],
        unit=[each.definition.unit for each in results],
        value=pa.array([math.nan if r.value is None else r.value for r in results], pa.float64()),
        snapshot=[each.snapshot for each in results],
    )
    return sort(data, table("metrics"))
