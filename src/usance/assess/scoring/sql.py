"""The scorecard as one SQL query, for a warehouse that holds the applicants.

It adds the same whole points as the card on paper. A number column may hold its special codes as
text, so it is read with `TRY_CAST`; cells are compared as double precision, like everywhere here.
What is no number where one is due, an infinite one too, gives no score: `NULL`.
"""

from __future__ import annotations

from collections.abc import Iterator

from usance.assess.columns import Column
from usance.assess.scoring.scorecard import Scorecard, Variable
from usance.assess.table import BLANK_CHARACTERS, EMPTY_WORDS, NUMBER, is_number

_BLANKS = "E'" + BLANK_CHARACTERS.encode("unicode_escape").decode() + "'"


def scorecard_sql(columns: tuple[Column, ...], card: Scorecard) -> str:
    """A query over a table `applicants` with a column `score`; it runs in DuckDB as it is."""
    terms = [str(card.base), *(_case(columns[each.at], each) for each in card.variables)]
    total = "\n  + ".join(terms)
    return f"SELECT *,\n  {total} AS score\nFROM applicants\n"


def _case(column: Column, variable: Variable) -> str:
    lines = "\n".join(f"    {line}" for line in _lines(column, variable))
    return f"CASE  -- {' '.join(variable.name.split())}\n{lines}\n    END"


def _lines(column: Column, variable: Variable) -> Iterator[str]:
    points = [each.points for each in variable.bins]
    cell = f"trim(CAST({_name(column.name)} AS VARCHAR), {_BLANKS})"
    empty = ", ".join(_text(each) for each in EMPTY_WORDS)
    yield f"WHEN {cell} IS NULL OR {cell} IN ({empty}) THEN {points[-1]}"
    if column.kind == "category":
        for level, group in zip(column.levels, variable.groups, strict=True):
            yield f"WHEN {cell} = {_text(level)} THEN {points[group]}"
        yield f"ELSE {points[-2]}"
        return
    number = f"TRY_CAST({_name(column.name)} AS DOUBLE)"
    ranges = len(variable.cuts) + 1
    codes = list(zip(column.specials, points[ranges:], strict=False))
    for (label, _), worth in codes:
        if not is_number(label):
            yield f"WHEN {cell} = {_text(label)} THEN {worth}"
    # DuckDB casts more than is a number here, such as 1_000 and inf.
    plain = f"regexp_full_match({cell}, {_text(f'{NUMBER}|true|false')})"
    yield f"WHEN NOT {plain} OR isinf({number}) THEN NULL"
    for (label, code), worth in codes:
        if is_number(label):
            yield f"WHEN {number} = {_double(code)} THEN {worth}"
    for cut, worth in zip(variable.cuts, points, strict=False):
        yield f"WHEN {number} < {_double(cut)} THEN {worth}"
    yield f"WHEN {number} IS NOT NULL THEN {points[ranges - 1]}"


def _double(value: float) -> str:
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
