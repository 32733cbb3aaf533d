"""A flow on columns: the same answers as the engine's, a million rows a second.

Inputs are arrays of codes (`Declared.coded`): whole numbers as they are, names by position, truths
as 0 and 1. Where a kind of decision does not read an input, its column may be left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.assess.errors import WrongInput
from usance.assess.features.declared import Declared, ValueType
from usance.assess.flow.files import Flow, Stage
from usance.assess.flow.kernel import BLOCK, SCRATCH, FlowResults, ProgramArrays, run_kernel
from usance.assess.flow.program import Program, compile_stages
from usance.base.arrays import I64
from usance.base.compiled import in_threads
from usance.base.errors import UsanceError, raise_all

# Small enough that a piece's inputs and results stay near the processor.
PIECE = 1 << 14


@dataclass(frozen=True)
class Answers:
    """The results of some stages for every row, and the rule each table took."""

    values: Mapping[str, I64]
    """By `stage/name`; names are positions in the program's list of texts."""
    hits: NDArray[np.int16]
    program: Program

    def texts(self, name: str) -> NDArray[Any]:
        """A text value as texts."""
        return np.array(self.program.texts)[self.values[name]]


_PROGRAMS: dict[tuple[str, tuple[str, ...], tuple[str, ...]], Program] = {}


def _compiled(flow: Flow, stages: tuple[Stage, ...], known: Mapping[str, Declared]) -> Program:
    """A flow is known by its content, so its program is made once a process."""
    key = (flow.sha256, tuple(stage.name for stage in stages), tuple(known))
    if key not in _PROGRAMS:
        _PROGRAMS[key] = compile_stages(flow, stages, known)
    return _PROGRAMS[key]


def run_columns(
    flow: Flow, stages: tuple[Stage, ...], columns: Mapping[str, Any],
    known: Mapping[str, Declared] | None = None, *, workers: int | None = None,
) -> Answers:  # fmt: skip
    """Run graph stages on columns; a value outside its declaration is an error naming the row."""
    program = _compiled(flow, stages, known or {})
    declared = {**flow.inputs, **(known or {})}
    needed = {name for stage in stages for name in stage.names if name in declared}
    arrays = _arrays(program, declared, columns, needed)
    rows = len(next(iter(arrays.values()))) if arrays else 0
    keep = [f"{stage.name}/{name}" for stage in stages for name in _kept(stage)]
    positions = np.array([program.registers[name] for name in keep], np.int64)
    kept = np.empty((len(keep), rows), np.int64)
    hits = np.empty((len(program.tables), rows), np.int16)
    wrong = np.empty(rows, np.int64)
    wanted = np.array([name in needed for name in program.inputs], np.bool_)
    program_arrays = ProgramArrays(
        program.allowed, program.code, program.tables, program.table_values, program.rules,
        program.tests, program.intervals, program.outputs, program.values, positions,
    )  # fmt: skip
    luts = {name: _lut(program, declared[name]) for name in program.inputs}

    def piece(start: int, stop: int) -> None:
        matrix = np.zeros((len(program.inputs), stop - start), np.int64)
        for at, name in enumerate(program.inputs):
            if name in arrays:
                part = arrays[name][start:stop]
                matrix[at] = part if luts[name] is None else _texted(part, luts[name])
        registers = np.zeros((len(program.start) + SCRATCH, BLOCK), np.int64)
        registers[: len(program.start)] = program.start[:, None]
        out = FlowResults(kept[:, start:stop], hits[:, start:stop], wrong[start:stop])
        run_kernel(matrix, wanted, program_arrays, registers, out)

    in_threads(piece, rows, workers, chunk=PIECE)
    _check_rows(program, declared, arrays, wrong)
    return Answers(dict(zip(keep, kept, strict=True)), hits, program)


def _kept(stage: Stage) -> list[str]:
    """The results of a stage, with the points of its scorecard."""
    assert stage.graph is not None
    points = [
        name for table in stage.graph.tables for name in table.writes if name.startswith("points.")
    ]
    return [*dict.fromkeys([*stage.gives, *points])]


def _lut(program: Program, declared: Declared) -> I64 | None:
    if declared.type is not ValueType.NAME:
        return None
    return np.array([program.texts.index(name) for name in declared.names], np.int64)


def _texted(part: NDArray[Any], lut: Any) -> I64:
    # A position outside the list becomes −1, which no list has.
    inside = (part >= 0) & (part < len(lut))
    return np.where(inside, lut[np.where(inside, part, 0)], -1)


def _arrays(
    program: Program, declared: Mapping[str, Declared], columns: Mapping[str, Any], needed: set[str]
) -> dict[str, NDArray[Any]]:
    problems: list[UsanceError] = []
    arrays: dict[str, NDArray[Any]] = {}
    for name in columns:
        if name not in declared:
            fix = f"Inputs: {', '.join(declared)}"
            problems.append(WrongInput(f"unknown input {name!r}", where=name, fix=fix))
    for name in program.inputs:
        if name in columns:
            array = np.asarray(columns[name])
            if array.dtype.kind not in "iub":
                fix = "Give whole numbers: values, positions of names, 0 and 1"
                problems.append(WrongInput(f"is {array.dtype}", where=name, fix=fix))
            arrays[name] = array
        elif name in needed:
            problems.append(WrongInput(f"{name} is missing", where=name, fix=f"Give {name}"))
    if len({len(array) for array in arrays.values()}) > 1:
        fix = "Give one value for each row"
        problems.append(WrongInput("columns differ in length", where="columns", fix=fix))
    raise_all(problems, where="columns")
    return arrays


def _check_rows(
    program: Program, declared: Mapping[str, Declared], arrays: Mapping[str, Any], wrong: I64
) -> None:
    problems: list[UsanceError] = []
    for at in np.unique(wrong[wrong >= 0]):
        name = program.inputs[at]
        rows = np.flatnonzero(wrong == at)
        more = f", and {len(rows) - 1} more rows" if len(rows) > 1 else ""
        low, high = declared[name].bounds
        what = f"row {rows[0] + 1} has {arrays[name][rows[0]]}{more}"
        fix = f"Give {low} to {high}, or a declared special code"
        problems.append(WrongInput(what, where=name, fix=fix))
    raise_all(problems, where="columns")
