"""Guards on training columns: those that may not be inputs are named with the reason.

A column that separates goods from bads almost perfectly was written after the outcome, whatever
it is called: it is left out and said so, and so is one whose cells are filled only for bads. A
column that is different in every row is an identifier. `--keep` overrules a guard by name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from usance.assess.columns import Column, encode, learn_column, with_trend
from usance.assess.errors import DataError
from usance.assess.metrics import auc
from usance.assess.table import Table, is_number
from usance.assess.training.card import bin_column
from usance.base.arrays import F64
from usance.base.errors import UsanceError, raise_all

TOO_GOOD = 0.95  # no single honest column of the credit files we know of comes near
SUSPICIOUS = 0.90
MAX_LEVELS = 1000
MAX_LEVEL_SHARE = 0.2
MIN_LEVEL_ROWS = 10
_SPLIT = {"train", "valid", "validation", "test", "holdout", "dev", "oot"}
_AFTERWARDS = re.compile(
    r"recover(y|ies|ed)|charged?[ _-]?off|chgoff|written[ _-]?off|write[ _-]?off|settle(d|ment)"
    r"|default(ed)?[_ ]?(date|on|at)|last[_ ]?(pymnt|payment)[_ ]?(d|date|amnt)",
    re.IGNORECASE,
)


@dataclass
class Inputs:
    """The columns that are used, their numbers, and what is to be said about the rest."""

    columns: tuple[Column, ...]
    matrix: F64
    warnings: list[str] = field(default_factory=list)


def choose_inputs(
    table: Table, bad: F64, *, left_out: Collection[str], kept: Collection[str],
    trends: Mapping[str, int],
) -> Inputs:  # fmt: skip
    """Every usable column of a training file."""
    columns: list[Column] = []
    encoded: list[F64] = []
    warnings: list[str] = []
    wrong: list[UsanceError] = []
    for name in table.columns:
        if name in left_out:
            continue
        try:
            column = learn_column(name, table.column(name), least=MIN_LEVEL_ROWS, file=table.file)
            why = _unusable(column, table)
            if why:
                warnings.append(f"column '{name}' is left out: {why}")
                continue
            if column.kind == "category" and name in trends:
                raise _no_direction(table, name)
            column = with_trend(column, trends.get(name, 0))
            values = encode(column, table.column(name), file=table.file)
        except UsanceError as error:
            wrong.append(error)
            continue
        notes, use = leaks(column, values, bad, kept=name in kept)
        warnings += [*notes, *(_rare_codes(column, values) if use else ())]
        if use:
            columns.append(column)
            encoded.append(values)
    raise_all(wrong, where=table.file)
    if not columns:
        fix = "Give at least one column that differs between rows"
        raise DataError("no column can be used", where=table.file, fix=fix)
    return Inputs(tuple(columns), np.column_stack(encoded), warnings)


def _no_direction(table: Table, name: str) -> DataError:
    fix = "Leave it out of --monotone, or give it as a number"
    where = f"{table.file}: column '{name}'"
    return DataError("is a category, so risk neither rises nor falls with it", where=where, fix=fix)


def _rare_codes(column: Column, values: F64) -> list[str]:
    """Texts among numbers that stand in so few rows that they may be mistakes."""
    counted = {label: int((values == code).sum()) for label, code in column.specials}
    return [
        f"column '{column.name}' has '{label}' among its numbers (rows: {rows}), taken as a code"
        for label, rows in counted.items()
        if rows < MIN_LEVEL_ROWS and not is_number(label)
    ]


def _unusable(column: Column, table: Table) -> str:
    array = table.column(column.name)
    distinct = len(array.drop_null().unique())
    if column.kind == "date":
        return "it holds dates; give the age or the months since instead"
    if distinct + column.has_missing <= 1:
        return "it is the same in every row"
    if column.kind == "category":
        names = {level.lower() for level in (*column.levels, *column.rare)}
        if names <= _SPLIT:
            return "it names parts of the file, not the applicant"
        most = max(50, min(MAX_LEVELS, int(MAX_LEVEL_SHARE * table.rows)))
        if distinct > most:
            return f"it has {distinct} different texts, at most {most} can be learned"
    elif distinct == table.rows and table.rows > 100 and _is_whole(array):
        return "it is a whole number that differs in every row, as an identifier does"
    return ""


def _is_whole(array: object) -> bool:
    from usance.assess.table import numbers_and_texts

    numbers, _ = numbers_and_texts(array)
    return bool(np.all(numbers == np.rint(numbers)))


def leaks(column: Column, values: F64, bad: F64, *, kept: bool = False) -> tuple[list[str], bool]:
    """The suspicion about a column, and whether it may be used."""
    name = column.name
    variable = bin_column(0, column, values, bad, least=max(20, len(bad) // 50))
    woe = np.array([each.woe for each in variable.bins])
    alone = auc(bad, -woe[variable.index(column, values)])
    if alone >= TOO_GOOD:
        what = f"alone it ranks {alone:.1%} of pairs right: it is known only after the outcome"
        if kept:
            return [f"column '{name}' is kept as asked, though {what}"], True
        return [f"column '{name}' is left out: {what}. Keep it with --keep {name}"], False
    if alone >= SUSPICIOUS:
        return [f"column '{name}' is suspicious: alone it ranks {alone:.1%} of pairs right"], True
    if _AFTERWARDS.search(name):
        return [f"column '{name}' sounds like something known only after the outcome"], True
    return [], True
