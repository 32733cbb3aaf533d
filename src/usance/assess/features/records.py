"""Records by source as columns, checked against their declarations and grouped by user.

A record has the user it is about, the day it is true (`effective_on`), the moment it was booked
(`booked_at`) and the columns its source declares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.assess.errors import FeatureError, WrongInput
from usance.assess.features.declared import Declared, out_of_range
from usance.assess.features.definition import RESERVED, Definitions, Source
from usance.base.arrays import I64
from usance.base.dates import microseconds, to_day
from usance.base.errors import UsanceError, raise_all, unknown
from usance.base.fields import day as read_day
from usance.base.fields import moment as read_moment


@dataclass(frozen=True)
class Rows:
    """The records of one source, in order of user."""

    user_id: I64
    effective_on: NDArray[np.int32]
    booked_at: I64
    values: Mapping[str, I64]

    def spans(self, users: I64) -> tuple[I64, I64]:
        """First and last position of each user's records."""
        starts = np.searchsorted(self.user_id, users, side="left")
        stops = np.searchsorted(self.user_id, users, side="right")
        return starts.astype(np.int64), stops.astype(np.int64)


Records = Mapping[str, Rows]


def records_of(definitions: Definitions, given: object, user_id: int, where: str) -> Records:
    """The records of one user as people write them: a list of mappings for every source."""
    problems: list[UsanceError] = []
    if not isinstance(given, Mapping):
        fix = "Write a list of records under each source's name"
        raise WrongInput("records is not a mapping", where=where, fix=fix)
    for name in given:
        if name not in definitions.sources:
            wrong = unknown("source", str(name), definitions.sources)
            problems.append(WrongInput(wrong.what, where=f"{where}.{name}", fix=wrong.fix))
    # A source nobody asked is not one that has nothing.
    for name in (each for each in definitions.sources if each not in given):
        fix = f"Give its records; '{name}: []' says that it was asked and has none"
        problems.append(WrongInput(f"{name} is missing", where=f"{where}.{name}", fix=fix))
    found = {
        name: _rows(source, given.get(name) or (), user_id, f"{where}.{name}", problems)
        for name, source in definitions.sources.items()
    }
    raise_all(problems, where=where)
    return found


def _rows(
    source: Source, given: object, user_id: int, where: str, problems: list[UsanceError]
) -> Rows:
    if not isinstance(given, Sequence) or isinstance(given, str):
        fix = "Write a list of records, one mapping each"
        problems.append(WrongInput(f"{source.name} is not a list", where=where, fix=fix))
        given = ()
    days: list[int] = []
    moments: list[int] = []
    values: dict[str, list[int]] = {column: [] for column in source.columns}
    for number, record in enumerate(given, start=1):
        try:
            on, booked, cells = _record(source, record, f"{where}[{number}]")
        except UsanceError as error:
            problems.append(error)
            continue
        days.append(on)
        moments.append(booked)
        for column, value in cells.items():
            values[column].append(value)
    return Rows(
        np.full(len(days), user_id, np.int64), np.array(days, np.int32),
        np.array(moments, np.int64),
        {key: np.array(cells, np.int64) for key, cells in values.items()},
    )  # fmt: skip


def _record(source: Source, record: object, where: str) -> tuple[int, int, dict[str, int]]:
    if not isinstance(record, Mapping):
        raise WrongInput("is not a record", where=where, fix="Write 'column: value' pairs")
    wrong: list[UsanceError] = []
    for key in record:
        if key not in source.columns and key not in RESERVED:
            near = unknown("column", str(key), [*source.columns, *RESERVED[1:]])
            wrong.append(WrongInput(near.what, where=f"{where}.{key}", fix=near.fix))
    cells: dict[str, int] = {}
    for name, declared in source.columns.items():
        try:
            cells[name] = _cell(declared, record, f"{where}.{name}")
        except UsanceError as error:
            wrong.append(error)
    moments: list[int] = []
    for key, reader in (("effective_on", _day), ("booked_at", _moment)):
        try:
            moments.append(reader(record.get(key), f"{where}.{key}"))
        except UsanceError as error:
            wrong.append(error)
    raise_all(wrong, where=where)
    return moments[0], moments[1], cells


def _day(given: object, where: str) -> int:
    return to_day(read_day(given, where))


def _moment(given: object, where: str) -> int:
    return microseconds(read_moment(given, where))


def _cell(declared: Declared, record: Mapping[str, Any], where: str) -> int:
    if declared.name not in record:
        fix = f"Give {declared.name}, or null if it has a declared meaning"
        raise WrongInput(f"{declared.name} is missing", where=where, fix=fix)
    return int(declared.coded(record[declared.name], where))


def columns_of(definitions: Definitions, given: Mapping[str, Mapping[str, Any]]) -> Records:
    """Records of many users from arrays of codes by source and column; rows in any order."""
    problems: list[UsanceError] = []
    found: dict[str, Rows] = {}
    for name, source in definitions.sources.items():
        columns = {key: np.asarray(cells) for key, cells in given.get(name, {}).items()}
        problems += _column_problems(source, columns)
        if not problems:
            found[name] = _sorted(source, columns)
    raise_all(problems, where="records")
    return found


def _sorted(source: Source, columns: Mapping[str, NDArray[Any]]) -> Rows:
    users = columns.get("user_id", np.empty(0, np.int64)).astype(np.int64)
    order = np.argsort(users, kind="stable")

    def column(name: str) -> NDArray[Any]:
        return columns[name][order] if name in columns else np.empty(0, np.int64)

    return Rows(
        users[order], column("effective_on").astype(np.int32), column("booked_at").astype(np.int64),
        {name: column(name).astype(np.int64) for name in source.columns},
    )  # fmt: skip


def _column_problems(source: Source, columns: Mapping[str, NDArray[Any]]) -> list[UsanceError]:
    if not columns:
        return []
    found: list[UsanceError] = []
    for name in (*RESERVED, *source.columns):
        where = f"{source.name}.{name}"
        if name not in columns:
            found.append(FeatureError("is missing", where=where, fix=f"Give the column {name}"))
        elif columns[name].dtype.kind not in "iub":
            fix = "Give whole numbers: codes, days and microseconds"
            found.append(FeatureError(f"is {columns[name].dtype}", where=where, fix=fix))
        elif name in source.columns:
            found += out_of_range(source.columns[name], columns[name], where)
    return found
