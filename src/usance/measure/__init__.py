"""Measure: every number the business is judged by, defined once and computed anywhere.

`measure` runs metric definitions over a book or tables, `measure_tape` makes the whole pack of a
tape somebody brings, `triangle` sums cohorts by age, and `tape_month` and `dues_between` make the
rows of those tables from loans and facts. Names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usance.base.public_names import public_names

if TYPE_CHECKING:
    from usance.measure.book_dues import dues_between
    from usance.measure.book_tape import cells_table, tape_month
    from usance.measure.definitions import Definition, load_definitions
    from usance.measure.inputs import Inputs
    from usance.measure.metrics import Result, measure, metrics_table, rows_behind
    from usance.measure.positions import Portfolio
    from usance.measure.spans import Span
    from usance.measure.tape.map import TapeMap, read_map
    from usance.measure.tape.pack import Pack, measure_tape
    from usance.measure.triangles import Triangle, triangle

__all__ = [
    "Definition", "Inputs", "Pack", "Portfolio", "Result", "Span", "TapeMap", "Triangle",
    "cells_table", "dues_between", "load_definitions", "measure", "measure_tape", "metrics_table",
    "read_map", "rows_behind", "tape_month", "triangle",
]  # fmt: skip

_MODULES = {
    "definitions": ("Definition", "load_definitions"),
    "book_dues": ("dues_between",),
    "inputs": ("Inputs",),
    "metrics": ("Result", "measure", "metrics_table", "rows_behind"),
    "positions": ("Portfolio",),
    "spans": ("Span",),
    "tape.pack": ("Pack", "measure_tape"),
    "tape.map": ("TapeMap", "read_map"),
    "book_tape": ("cells_table", "tape_month"),
    "triangles": ("Triangle", "triangle"),
}

__getattr__, __dir__ = public_names(__name__, _MODULES)
