"""A flow compiled to plain integer arrays: what the kernel runs for each row of a column.

Every value has a register: inputs first, then constants, then what formulas and tables write. A
text is its number in one list of all texts of the flow; a cell of a table is a union of closed
intervals, so `< 25`, `[25..40)`, `"clerk", "smith"` and `!= 3` are all the same to the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.assess.errors import FlowError
from usance.assess.features.declared import Declared, ValueType
from usance.assess.flow.files import Flow, Stage
from usance.assess.flow.graph import FormulaNode, TableNode
from usance.base.formulas import Call, Cell, Condition, Formula, Literal, Name, Plain

FAR = 1 << 62
OPS = ("table", "+", "-", "*", "floor", "min", "max", "==", "!=", "<", "<=", ">", ">=", "and",
       "or", "not", "?")  # fmt: skip
_NUMBER = {op: number for number, op in enumerate(OPS)}

Interval = tuple[int, int]


@dataclass(frozen=True)
class Program:
    """The arrays of one flow for one kind of decision."""

    inputs: tuple[str, ...]
    texts: tuple[str, ...]
    start: NDArray[np.int64]
    """The registers before a row: constants in their place, zeros elsewhere."""
    code: NDArray[np.int64]
    tables: NDArray[np.int64]
    table_values: NDArray[np.int64]
    tests: NDArray[np.int64]
    rules: NDArray[np.int64]
    intervals: NDArray[np.int64]
    outputs: NDArray[np.int64]
    values: NDArray[np.int64]
    allowed: NDArray[np.int64]
    """For each input the first and last of its allowed intervals."""
    table_names: tuple[tuple[str, str], ...]
    rule_ids: tuple[tuple[str, ...], ...]
    registers: Mapping[str, int]
    """The register that holds `stage/name` when the row is done."""
    stages: tuple[str, ...]


@dataclass
class _Builder:
    texts: list[str] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    constants: dict[tuple[str, Plain], int] = field(default_factory=dict)
    code: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    tables: list[tuple[int, int, int, int]] = field(default_factory=list)
    rules: list[tuple[int, int]] = field(default_factory=list)
    tests: list[tuple[int, int, int]] = field(default_factory=list)
    intervals: list[Interval] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    values: list[int] = field(default_factory=list)
    table_values: list[int] = field(default_factory=list)
    table_names: list[tuple[str, str]] = field(default_factory=list)
    rule_ids: list[tuple[str, ...]] = field(default_factory=list)

    def register(self, value: int = 0) -> int:
        self.start.append(value)
        return len(self.start) - 1

    def number(self, value: Plain) -> int:
        """A literal as the kernel sees it."""
        if isinstance(value, str):
            if value not in self.texts:
                self.texts.append(value)
            return self.texts.index(value)
        return int(value)

    def constant(self, value: Plain) -> int:
        key = (type(value).__name__, value)
        if key not in self.constants:
            self.constants[key] = self.register(self.number(value))
        return self.constants[key]

    def formula(self, formula: Formula, names: Mapping[str, int]) -> int:
        """The register that holds a formula's value once its code has run."""
        if isinstance(formula, Literal):
            return self.constant(formula.value)
        if isinstance(formula, Name):
            return names[formula.path]
        if formula.op in ("min", "max"):
            return self._fold(formula, names)
        args = [self.formula(arg, names) for arg in formula.args]
        return self.emit(_NUMBER[formula.op], *args)

    def _fold(self, formula: Call, names: Mapping[str, int]) -> int:
        found = self.formula(formula.args[0], names)
        for arg in formula.args[1:]:
            found = self.emit(_NUMBER[formula.op], found, self.formula(arg, names))
        return found

    def emit(self, op: int, first: int, second: int = 0, third: int = 0) -> int:
        target = self.register()
        self.code.append((op, target, first, second, third))
        return target

    def table(self, stage: str, node: TableNode, names: Mapping[str, int]) -> dict[str, int]:
        """Code for one table; gives the registers it writes."""
        # Formulas in output cells are worked out first; the table then picks one.
        gives = [[self.formula(each, names) for each in rule.gives] for rule in node.rules]
        written = {name: self.register() for name in node.writes}
        first_rule, first_output, first_value = len(self.rules), len(self.outputs), len(self.values)
        for rule, sources in zip(node.rules, gives, strict=True):
            start = len(self.tests)
            for name, cell in zip(node.reads, rule.cells, strict=True):
                if cell:
                    self._test(names[name], self.cell(cell))
            self.rules.append((start, len(self.tests)))
            self.values += sources
        self.outputs += written.values()
        self.code.append((0, len(self.tables), 0, 0, 0))
        self.tables.append((first_rule, len(node.rules), first_output, len(written)))
        self.table_values.append(first_value)
        self.table_names.append((stage, node.name))
        self.rule_ids.append(tuple(rule.id for rule in node.rules))
        return written

    def _test(self, register: int, intervals: Sequence[Interval]) -> None:
        start = len(self.intervals)
        self.intervals += intervals
        self.tests.append((register, start, len(self.intervals)))

    def cell(self, cell: Cell) -> list[Interval]:
        """The union of intervals a cell lets through."""
        found: list[Interval] = []
        for choice in cell:
            whole: list[Interval] = [(-FAR, FAR)]
            for test in choice:
                whole = _cut(whole, self._interval(test))
            found += whole
        return found

    def _interval(self, test: Condition) -> list[Interval]:
        at = self.number(test.value)
        return {
            "==": [(at, at)],
            "!=": [(-FAR, at - 1), (at + 1, FAR)],
            "<": [(-FAR, at - 1)],
            "<=": [(-FAR, at)],
            ">": [(at + 1, FAR)],
            ">=": [(at, FAR)],
        }[test.op]


def _cut(first: Sequence[Interval], second: Sequence[Interval]) -> list[Interval]:
    pairs = [(max(a, c), min(b, d)) for a, b in first for c, d in second]
    return [(low, high) for low, high in pairs if low <= high]


def compile_stages(flow: Flow, stages: Sequence[Stage], known: Mapping[str, Declared]) -> Program:
    """The arrays of some stages in a row; `known` are values from stages before, as inputs."""
    build = _Builder()
    declared = {**flow.inputs, **known}
    names = {
        name: build.register() for name, each in declared.items() if each.type is not ValueType.REAL
    }
    inputs = tuple(names)
    registers: dict[str, int] = {}
    for stage in stages:
        if stage.graph is None:
            fix = "Compile the stages before and after it apart"
            raise FlowError(f"{stage.name} is a model", where=str(flow.folder), fix=fix)
        inner = _stage_code(build, stage, dict(names))
        registers |= {f"{stage.name}/{name}": at for name, at in inner.items()}
        given = {name: inner[name] for name in stage.gives if name not in ("outcome", "reason")}
        names |= given
    return _program(build, inputs, declared, registers, stages)


def _stage_code(build: _Builder, stage: Stage, names: dict[str, int]) -> dict[str, int]:
    assert stage.graph is not None
    for node in stage.graph.nodes:
        if isinstance(node, FormulaNode):
            made: dict[str, int] = {}
            for key, formula in node.formulas:
                own = {f"$.{name}": at for name, at in made.items()}
                made[key] = build.formula(formula, {**names, **own})
            names |= made
        else:
            names |= build.table(stage.name, node, names)
    return names


def _program(
    build: _Builder, inputs: tuple[str, ...], declared: Mapping[str, Declared],
    registers: Mapping[str, int], stages: Sequence[Stage],
) -> Program:  # fmt: skip
    allowed = []
    for name in inputs:
        first = len(build.intervals)
        build.intervals += _allowed(build, declared[name])
        allowed.append((first, len(build.intervals)))

    def table(rows: Sequence[Any], width: int) -> NDArray[np.int64]:
        return np.array(rows, np.int64).reshape(-1, width)

    return Program(
        inputs, tuple(build.texts), np.array(build.start, np.int64), table(build.code, 5),
        table(build.tables, 4), np.array(build.table_values, np.int64),
        table(build.tests, 3), table(build.rules, 2),
        table(build.intervals, 2), np.array(build.outputs, np.int64),
        np.array(build.values, np.int64), table(allowed, 2), tuple(build.table_names),
        tuple(build.rule_ids), registers, tuple(stage.name for stage in stages),
    )  # fmt: skip


def _allowed(build: _Builder, declared: Declared) -> list[Interval]:
    if declared.type is ValueType.NAME:
        codes = [build.number(name) for name in declared.names]
        return [(code, code) for code in codes]
    return [(declared.lowest, declared.highest), *((code, code) for code in declared.special)]
