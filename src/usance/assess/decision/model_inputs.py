"""What a model is handed of a flow's inputs: the same cell for one applicant and for a column.

A value that is not there is nothing to a model, unless training knew the flow's own code for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from usance.assess.columns import Column
from usance.assess.features.declared import Declared, ValueType


def cell_of(declared: Declared, column: Column, value: Any) -> Any:
    """One input as a model takes it."""
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
    return np.where(absent, np.nan, array.astype(np.float64))


def _is_known(declared: Declared, column: Column) -> bool:
    assert declared.missing is not None
    if declared.type is ValueType.NAME:
        return declared.names[declared.missing] in column.levels
    return any(code == declared.missing for _, code in column.specials)
