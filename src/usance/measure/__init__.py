"""Measure: every number the business is judged by, defined once and computed anywhere.

`measure` runs metric definitions over a book or tables, `measure_tape` makes the report of a loan
tape, `triangle` sums cohorts by age, and `tape_month` and `dues_between` make the rows of those
tables from loans and facts. Names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usance.base.public_names import public_names

if TYPE_CHECKING:
    from usance.measure.book_dues import dues_between
    from usance.measure.book_tape import cells_table, tape_month
    from usance.measure.definitions import Definition, load_definitions
    from usance.measure.errors import DefinitionError, DimensionError, EngineError, TapeError
    from usance.measure.inputs import Inputs
    from usance.measure.metrics import Result, measure, metrics_table, rows_behind
    from usance.measure.periods import MetricPeriod
    from usance.measure.positions import Portfolio
    from usance.measure.tape.mapping import TapeMapping, read_mapping
    from usance.measure.tape.report import TapeReport, measure_tape
    from usance.measure.triangles import Triangle, triangle

__all__ = [
    "Definition", "DefinitionError", "DimensionError", "EngineError", "Inputs", "MetricPeriod",
    "Portfolio", "Result", "TapeError", "TapeMapping", "TapeReport", "Triangle", "cells_table",
    "dues_between", "load_definitions", "measure", "measure_tape", "metrics_table", "read_mapping",
    "rows_behind", "tape_month", "triangle",
]  # fmt: skip

_MODULES = {
    "definitions": ("Definition", "load_definitions"),
    "book_dues": ("dues_between",),
    "errors": ("DefinitionError", "DimensionError", "EngineError", "TapeError"),
    "inputs": ("Inputs",),
    "metrics": ("Result", "measure", "metrics_table", "rows_behind"),
    "positions": ("Portfolio",),
    "periods": ("MetricPeriod",),
    "tape.report": ("TapeReport", "measure_tape"),
    "tape.mapping": ("TapeMapping", "read_mapping"),
    "book_tape": ("cells_table", "tape_month"),
    "triangles": ("Triangle", "triangle"),
}

__getattr__, __dir__ = public_names(__name__, _MODULES)
