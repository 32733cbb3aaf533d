"""The scorecard as one SQL query, for a warehouse that holds the applicants.

It adds the same whole points as the card on paper. A number column may hold its special codes as
text, so it is read with `TRY_CAST`; cells are compared as double precision, like everywhere here.
"""

from __future__ import annotations

from collections.abc import Iterator

from usance.assess.columns import Column
from usance.assess.scoring.scorecard import Scorecard, Variable
from usance.assess.table import NOTHING


def scorecard_sql(columns: tuple[Column, ...], card: Scorecard) -> str:
    """A query over a table `applicants` with a column `score`; it runs in DuckDB as it is."""
    terms = [str(card.base), *(_case(columns[each.at], each) for each in card.variables)]
    total = "\n  + ".join(terms)
    return f"SELECT *,\n  {total} AS score\nFROM applicants\n"


def _case(column: Column, variable: Variable) -> str:
    lines = "\n".join(f"    {line}" for line in _lines(column, variable))
    return f"CASE  -- {variable.name}\n{lines}\n    END"


def _lines(column: Column, variable: Variable) -> Iterator[str]:
    points = [each.points for each in variable.bins]
    cell = f"trim(CAST({_name(column.name)} AS VARCHAR))"
    empty = ", ".join(_text(each) for each in NOTHING)
    yield f"WHEN {cell} IS NULL OR {cell} IN ({empty}) THEN {points[-1]}"
    if column.kind == "category":
        for level, group in zip(column.levels, variable.groups, strict=True):
            yield f"WHEN {cell} = {_text(level)} THEN {points[group]}"
        yield f"ELSE {points[-2]}"
        return
    number = f"TRY_CAST({_name(column.name)} AS DOUBLE)"
    ranges = len(variable.cuts) + 1
    for place, (label, code) in enumerate(column.specials):
        test = f"{cell} = {_text(label)}" if not _is_number(label) else f"{number} = {code!r}e0"
        yield f"WHEN {test} THEN {points[ranges + place]}"
    for cut, worth in zip(variable.cuts, points, strict=False):
        yield f"WHEN {number} < {_double(cut)} THEN {worth}"
    yield f"WHEN {number} IS NOT NULL THEN {points[ranges - 1]}"


def _double(value: float) -> str:
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def _is_number(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
