"""Public names of the room, each with its module."""

from usance.measure.book_tape import (
    dues_between as dues_between,
)
from usance.measure.book_tape import (
    cells_table as cells_table,
    tape_month as tape_month,
)
from usance.measure.definitions import (
    Definition as Definition,
    load_definitions as load_definitions,
)
from usance.measure.errors import (
    DefinitionError as DefinitionError,
    DimensionError as DimensionError,
    EngineError as EngineError,
    TapeError as TapeError,
)
from usance.measure.inputs import (
    Inputs as Inputs,
)
from usance.measure.metrics import (
    Result as Result,
    measure as measure,
    metrics_table as metrics_table,
    rows_behind as rows_behind,
)
from usance.base.periods import (
    MetricPeriod as MetricPeriod,
)
from usance.measure.positions import (
    Portfolio as Portfolio,
)
from usance.measure.tape.mapping import (
    TapeMapping as TapeMapping,
    read_mapping as read_mapping,
)
from usance.measure.tape.report import (
    TapeReport as TapeReport,
    measure_tape as measure_tape,
)
from usance.measure.triangles import (
    Triangle as Triangle,
    triangle as triangle,
)

__all__: list[str]
