"""From a printed metric to its definition, its sums and the rows that they add up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from usance.base.ids import print_id
from usance.disclose.facts import Fact
from usance.disclose.periods import Period
from usance.disclose.release.business_highlights import (
    BUSINESS_HIGHLIGHTS,
    load_vintages,
    vintage_at,
)
from usance.disclose.release.metrics import Measurement
from usance.disclose.release.release import Release
from usance.measure.drill import NO_LIMIT, loans_behind
from usance.measure.metrics import Result, rows_behind

PARTS = ("numerator", "denominator")


@dataclass(frozen=True)
class MetricDrill:
    """A metric of a release; its rows are read when they are asked for."""

    release: Release
    measurement: Measurement

    @property
    def results(self) -> tuple[Result, ...]:
        """The results it sums: one, or one for each segment."""
        return self.measurement.results

    def rows(self, part: str = "numerator", limit: int = NO_LIMIT) -> list[dict[str, Any]]:
        """The rows behind a part, each by the names of its columns."""
        found: list[dict[str, Any]] = []
        for result in self.results:
            if len(found) < limit and result.value is not None:
                inputs = self.release.metrics.inputs
                names, rows = rows_behind(inputs, result, part, limit=limit - len(found))
                found += [dict(zip(names, row, strict=True)) for row in rows]
        return found

    def loans(self, most: int = NO_LIMIT) -> list[int]:
        """The loans among the first rows of its numerator, as far as those name one."""
        rows, inputs = self.rows(limit=most), self.release.metrics.inputs
        has_loans = all(name in inputs for name in ("loans", "facts", "cells"))
        if has_loans and rows and {"due_on", "cell"} <= rows[0].keys():
            given = [tuple(row.values()) for row in rows]
            names, found = loans_behind(inputs, list(rows[0]), given, self.release.as_of)
            return sorted({row[names.index("loan_id")] for row in found})[:most]
        return sorted({row["loan_id"] for row in rows if "loan_id" in row})

    def as_dict(self, most: int) -> dict[str, Any]:
        """The answer for programs."""
        one, whole = self.results[0].definition, self.measurement
        return {
            "metric": one.name, "version": one.version, "definition": one.sentence,
            "numerator": whole.numerator, "denominator": whole.denominator,
            "complete": whole.is_complete, "as_of": self.release.as_of.isoformat(),
            "snapshot": self.results[0].snapshot,
            "segments": [{"dimensions": dict(each.dimensions), "numerator": each.numerator,
                          "denominator": each.denominator} for each in self.results if each.by],
            "rows": {part: [{name: _plain(value) for name, value in row.items()}
                            for row in self.rows(part, most)] for part in PARTS},
        }  # fmt: skip

    def lines(self, most: int) -> Iterator[str]:
        """The answer for people."""
        one, whole = self.results[0].definition, self.measurement
        yield f"metric {one.name} v{one.version}: {one.sentence}"
        yield f"{whole.numerator:,} / {whole.denominator:,}"
        for part in PARTS:
            for row in self.rows(part, most):
                shown = ", ".join(f"{name} {_shown(name, value)}" for name, value in row.items()
                                 if value and name in _SHOWN_COLUMNS)  # fmt: skip
                yield f"  {part}: {shown}"


_SHOWN_COLUMNS = (
    "loan_id", "user_id", "institution", "month", "mob", "bucket", "disbursed_on", "due_on",
    "principal_minor", "net30_minor", "net180_minor", "due_minor", "overdue_minor",
    "collected30_minor", "registered_on", "booked_at",
)  # fmt: skip


def metric_of(release: Release, fact: Fact) -> MetricDrill | None:
    """The metric a figure prints, if it is one."""
    if fact.statement == BUSINESS_HIGHLIGHTS:
        period = _period(release, fact)
        found = release.business_highlights.at(fact.line, fact.parent, period) if period else None
        return MetricDrill(release, found) if found else None
    if fact.statement.partition(":")[0] in load_vintages():
        result = vintage_at(release.metrics, fact.statement, fact.line, release.periods.current)
        if result is not None:
            whole = Measurement(result.numerator, result.denominator, result.complete, (result,))
            return MetricDrill(release, whole)
    return None


def _period(release: Release, fact: Fact) -> Period | None:
    """The period of the release that ends with a figure's own."""
    periods = (release.periods.current, release.periods.year_ago)
    return next((each for each in periods if each.end == fact.period.end), None)


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


def _shown(name: str, value: Any) -> str:
    return print_id("ln", value) if name == "loan_id" else str(value)
