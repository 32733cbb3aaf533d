"""What can be wrong with what is measured.

InputError
├── TapeError          measure.tape          422
├── MapError           measure.map           400
├── DefinitionError    measure.definition    400
└── EngineError        measure.engine        400
"""

from __future__ import annotations

from usance.base.errors import InputError


class TapeError(InputError):
    """A row of a tape cannot be used; `where` has the file and the row."""

    code = "measure.tape"
    http_status = 422


class MapError(InputError):
    """A mapping names something that does not exist, or lacks something."""

    code = "measure.map"


class DefinitionError(InputError):
    """A metric definition is incomplete, or contradicts another."""

    code = "measure.definition"


class EngineError(InputError):
    """An engine that is asked for is not there."""

    code = "measure.engine"
