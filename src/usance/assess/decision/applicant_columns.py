"""A file of applicants as the columns a flow decides on, and its decisions as rows.

Each input is the column of its name. A name is read as its text, a
code by its number or its meaning, an empty cell as the flow's own value for that; what cannot be
read is told with its line, three examples and a count for each column.
"""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from usance.assess.applicant_file import Table, no_column, numbers_and_texts
from usance.assess.decision.columns import DecisionColumns
from usance.assess.errors import WrongInput
from usance.assess.features.declared import Declared, ValueType
from usance.assess.flow.files import Flow
from usance.base.codes import DecisionKind
from usance.base.csv_lines import row_place
from usance.base.errors import EXAMPLES, UsanceError, raise_all
from usance.base.parameters import Parameters

_TRUTHS = {"true": 1.0, "yes": 1.0, "1": 1.0, "false": 0.0, "no": 0.0, "0": 0.0}


def flow_columns(
    table: Table, flow: Flow, kind: DecisionKind, parameters: Parameters, on: date
) -> dict[str, Any]:
    """The inputs one kind of decision reads, as codes."""
    found: dict[str, Any] = {}
    problems: list[UsanceError] = []
    for name, declared in flow.inputs.items():
        if name not in flow.needed(kind):
            continue
        if name not in table.columns and declared.parameter:
            value = parameters.at(declared.parameter, on).integer
            found[name] = np.full(table.rows, value, np.int64)
        elif name not in table.columns:
            problems.append(no_column(table, name))
        else:
            codes, wrong = _codes(declared, table.column(name))
            problems += _cell_errors(table, name, declared, wrong)
            found[name] = codes
    raise_all(problems, where=table.file)
    return found


def decision_table(table: Table, decided: DecisionColumns, identity: str) -> pa.Table:
    """A row for each applicant: id, outcome, numbers and reasons."""
    rows = len(decided.approved)
    ids = table.column(identity) if identity else pa.array(np.arange(1, rows + 1))
    stages = pa.array([*decided.stages, None], pa.string())
    declined = stages.take(pa.array(np.where(decided.declined_by < 0, len(decided.stages),
                                             decided.declined_by).astype(np.int64)))  # fmt: skip
    reasons = {
        f"reason_{place}": pa.array(codes, mask=codes == 0)
        for place, codes in enumerate(decided.reasons, start=1)
    }
    numbers = {name: pa.array(values) for name, values in decided.values.items()}
    return pa.table(
        {identity or "row": ids, "approved": decided.approved, "referred": decided.referred,
         "declined_by": declined}
        | numbers | reasons
    )  # fmt: skip


def _codes(declared: Declared, array: Any) -> tuple[Any, Any]:
    """The codes of a column, and the places that have none."""
    numbers, texts = numbers_and_texts(array)
    if declared.type in (ValueType.NAME, ValueType.TRUTH):
        written = pc.utf8_trim_whitespace(pc.cast(array, pa.string()))
        known = declared.names if declared.type is ValueType.NAME else tuple(_TRUTHS)
        if declared.type is ValueType.TRUTH:
            written = pc.utf8_lower(written)
        place = pc.index_in(written, pa.array(known, pa.string())).fill_null(-1).to_numpy()
        codes = place if declared.type is ValueType.NAME else np.where(
            place < 0, -1, np.array([*_TRUTHS.values(), 0])[place]).astype(np.int64)  # fmt: skip
        empty = np.isnan(numbers) & np.asarray(texts.is_null()) & (place < 0)
        return _with_missing(declared, codes.astype(np.int64), place < 0, empty)
    means = {meaning: code for code, meaning in declared.special.items()}
    place = pc.index_in(texts, pa.array(list(means), pa.string())).fill_null(-1).to_numpy()
    codes = np.where(place < 0, numbers, np.array([*means.values(), 0], np.float64)[place])
    wrong = np.isnan(codes)
    empty = wrong & np.asarray(texts.is_null())
    codes, wrong = _with_missing(declared, codes, wrong, empty)
    if declared.type is ValueType.WHOLE:
        wrong |= ~wrong & (codes != np.floor(codes))
        return np.where(wrong, 0, codes).astype(np.int64), wrong
    return codes, wrong


def _with_missing(declared: Declared, codes: Any, wrong: Any, empty: Any) -> tuple[Any, Any]:
    if declared.missing is None:
        return codes, wrong
    return np.where(empty, declared.missing, codes), wrong & ~empty


def _cell_errors(table: Table, column: str, declared: Declared, wrong: Any) -> list[UsanceError]:
    rows = np.flatnonzero(wrong)
    if not len(rows):
        return []
    more = f" (and {len(rows) - EXAMPLES:,} more rows)" if len(rows) > EXAMPLES else ""
    shown = rows[:EXAMPLES].tolist()
    fix = {
        ValueType.NAME: f"Give one of {', '.join(declared.names[:12])}",
        ValueType.TRUTH: "Give true or false",
        ValueType.WHOLE: "Give a whole number",
        ValueType.REAL: "Give a number; a mapping (--map) says how they are written",
    }[declared.type]
    return [
        WrongInput(
            f"{column} is {table.column(column)[row].as_py()!r}{more if row == shown[-1] else ''}",
            where=row_place(table.file, row + 1), fix=fix,
        )
        for row in shown
    ]  # fmt: skip
