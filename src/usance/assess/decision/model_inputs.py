"""The model of a stage and what it is handed: the same cell for one applicant and for a column.

A value that is not there is nothing to a model, unless training knew the flow's own code for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from usance.assess.applicant_file import is_number
from usance.assess.columns import Column
from usance.assess.errors import FlowError, WrongInput
from usance.assess.features.declared import Declared, ValueType, out_of_range
from usance.assess.flow.files import Flow, Stage
from usance.base.errors import UsanceError, raise_all


def model_of(stage: Stage, *, live: bool) -> Any:
    """The model of a stage; a live one needs an approver, and all it asks for must be read."""
    from usance.assess.monitoring.approval import live_model
    from usance.assess.scoring.model import load_model

    assert stage.model is not None
    model = live_model(stage.model) if live else load_model(stage.model)
    missing = sorted({column.name for column in model.columns} - set(stage.reads))
    if missing:
        fix = f"Add {', '.join(missing)} to the inputs and to what the stage reads"
        raise FlowError(f"its model needs {missing[0]}", where=stage.name, fix=fix)
    return model


def check_columns(flow: Flow, stages: Sequence[Stage], columns: Mapping[str, Any]) -> None:
    """Refuse columns that a model must not score: missing, of another kind, or out of range."""
    read = dict.fromkeys(name for stage in stages if stage.model for name in stage.reads)
    problems: list[UsanceError] = []
    for name in read:
        declared = flow.inputs[name]
        if name not in columns:
            problems.append(WrongInput(f"{name} is missing", where=name, fix=f"Give {name}"))
            continue
        array = np.asarray(columns[name])
        if array.dtype.kind not in ("iubf" if declared.type is ValueType.REAL else "iub"):
            fix = "Give numbers: values, positions of names, 0 and 1"
            problems.append(WrongInput(f"is {array.dtype}", where=name, fix=fix))
        else:
            problems += out_of_range(declared, array, name)
    if len({len(values) for values in columns.values()}) > 1:
        fix = "Give one value for each row"
        problems.append(WrongInput("columns differ in length", where="columns", fix=fix))
    raise_all(problems, where="columns")


def cell_of(declared: Declared, column: Column, value: Any) -> Any:
    """One input as a model takes it."""
    words = _words(declared, column)
    if words and value in words:
        return words[value]
    absent = declared.missing is not None and value == declared.plain(declared.missing)
    return None if absent and not _is_known(declared, column) else value


def cells_of(declared: Declared, column: Column, codes: Any) -> Any:
    """A column of codes as a model takes it."""
    array = np.asarray(codes)
    absent = np.zeros(len(array), np.bool_)
    if declared.missing is not None and not _is_known(declared, column):
        absent = array == declared.missing
    if declared.type is ValueType.NAME:
        names = np.array(declared.names, object)[array]
        names[absent] = None
        return names
    if declared.type is ValueType.TRUTH:
        return array.astype(np.bool_)
    numbers = np.where(absent, np.nan, array.astype(np.float64))
    words = _words(declared, column)
    return _with_words(numbers, words) if words else numbers


def _words(declared: Declared, column: Column) -> dict[int, str]:
    """Codes that training knew as texts among numbers, such as `Unknown`, by the flow's number."""
    known = {label for label, _ in column.specials if not is_number(label)}
    return {code: meaning for code, meaning in declared.special.items() if meaning in known}


def _with_words(numbers: Any, words: Mapping[int, str]) -> Any:
    """Numbers with the texts that stand among them, as cells of a file."""
    cells = numbers.astype(object)
    for code, word in words.items():
        cells[numbers == code] = word
    plain = ~np.isin(numbers, list(words)) & ~np.isnan(numbers)
    cells[plain] = [repr(each) for each in numbers[plain].tolist()]
    cells[np.isnan(numbers)] = None
    return cells


def _is_known(declared: Declared, column: Column) -> bool:
    assert declared.missing is not None
    if declared.type is ValueType.NAME:
        return declared.names[declared.missing] in column.levels
    return any(code == declared.missing for _, code in column.specials)
