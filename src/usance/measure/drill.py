"""Rows and loans behind a metric, by its name, its day and its segment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from usance.base.documents import read_document
from usance.base.errors import InputError, unknown
from usance.base.periods import MetricPeriod
from usance.measure.book_tape import loans_due
from usance.measure.errors import DimensionError
from usance.measure.inputs import DIMENSIONS, Inputs, Role, parse_roles
from usance.measure.metrics import Result, measure, rows_behind

NO_LIMIT = 2**31 - 1
"""More rows than any metric has."""


def rows_of_figure(
    folder: Path, metric: str, as_of: date, period: MetricPeriod | None, where: Sequence[str],
    part: str, limit: int, roles: Mapping[str, Role] | None, *, loans: bool = False,
) -> tuple[list[str], list[Any]]:  # fmt: skip
    """The rows behind the figure of a segment, given as `key=number` words; or its loans."""
    if part not in ("numerator", "denominator"):
        raise unknown("part", part, ("numerator", "denominator"), where="--part")
    wanted = dict(_pair(each) for each in where)
    by = [name for name in wanted if name in DIMENSIONS]
    inputs = Inputs.open(folder)
    try:
        results = measure(inputs, [metric], as_of=as_of, period=period, by=by, roles=roles)
    except DimensionError:
        # A key along which the metric runs by itself is no dimension to divide it by.
        results = measure(inputs, [metric], as_of=as_of, period=period, roles=roles)
    for result in results:
        if dict(result.by) == wanted:
            if not loans:
                return rows_behind(inputs, result, part, limit=limit, roles=roles)
            names, rows = loans_behind(
                inputs, *rows_behind(inputs, result, part, limit=NO_LIMIT), as_of
            )
            return names, rows[:limit]
    raise _no_such(metric, wanted, results)


def loans_behind(
    inputs: Inputs, names: Sequence[str], rows: Sequence[Any], as_of: date
) -> tuple[list[str], list[Any]]:
    """Rows by loan: as they are if they have one, else the loans of the days and cells they sum."""
    if "loan_id" in names:
        return list(names), list(rows)
    missing = [name for name in ("loans", "facts", "cells") if name not in inputs]
    if not {"due_on", "cell"} <= set(names) or missing:
        fix = "Leave --loans out"
        lacks = f"the book has no {' and no '.join(missing)}" if missing else "they name none"
        raise InputError(f"these rows lead to no loans: {lacks}", where="--loans", fix=fix)
    places = [names.index(name) for name in ("due_on", "cell")]
    days = {(row[places[0]], row[places[1]]) for row in rows}
    if not days:
        return list(names), []
    loans, facts, cells = (inputs.read(name) for name in ("loans", "facts", "cells"))
    found = loans_due(loans, facts, cells, days, as_of)
    return found.column_names, [tuple(row.values()) for row in found.to_pylist()]


def read_roles(path: Path) -> dict[str, Role]:
    """Accounts by role, from a YAML file such as `revenue: [4001, 4002]`."""
    return parse_roles(read_document(path), where=str(path))


def _pair(word: str) -> tuple[str, int]:
    name, equals, value = word.partition("=")
    if not equals or not value.lstrip("-").isdigit():
        fix = "Write a key and a number, such as model=0"
        raise InputError(f"{word!r} names no segment", where="--where", fix=fix)
    return name, int(value)


def _no_such(metric: str, wanted: Mapping[str, int], results: Sequence[Result]) -> InputError:
    some = " ".join(f"--where {name}={value}" for name, value in results[0].by) if results else ""
    shown = ", ".join(f"{name}={value}" for name, value in wanted.items()) or "nothing"
    fix = f"Name a segment such as {some}" if some else "Leave --where out"
    return InputError(f"{metric} has no segment {shown}", where="--where", fix=fix)
