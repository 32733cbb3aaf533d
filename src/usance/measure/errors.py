"""Errors of the measure room.

InputError
├── TapeError          measure.tape          422
├── DefinitionError    measure.definition    400
├── DimensionError     measure.dimension     400
└── EngineError        measure.engine        400
"""

from __future__ import annotations

from usance.base.errors import InputError


class TapeError(InputError):
    """A row of a tape cannot be used; `where` has the file and the row."""

    code = "measure.tape"
    http_status = 422


class DefinitionError(InputError):
    """A metric definition is incomplete, or contradicts another."""

    code = "measure.definition"


class DimensionError(InputError):
    """A metric has no such dimension."""

    code = "measure.dimension"


class EngineError(InputError):
    """An engine is not installed."""

    code = "measure.engine"
