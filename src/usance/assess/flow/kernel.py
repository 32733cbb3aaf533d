"""Runs a compiled flow on a piece of a column, block by block, without allocating anything.

Each step runs over all rows of a block before the next one does, in loops without branches that
the compiler turns into vector instructions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.compiled import kernel

BLOCK = 256
SCRATCH = 3
"""Registers beyond the program's: the rule that fits, whether one does, whether a test does."""


class ProgramArrays(NamedTuple):
    """A flow as rows of whole numbers: steps, tables with their rules, tests and values."""

    allowed: I64
    """For each input the first and last of its allowed intervals."""
    code: I64
    tables: I64
    table_values: I64
    rules: I64
    tests: I64
    intervals: I64
    outputs: I64
    values: I64
    keep: I64
    """Registers whose values are results."""


class FlowResults(NamedTuple):
    """Results of a piece: the kept registers, the rule each table took, the first bad input."""

    kept: I64
    hits: NDArray[np.int16]
    wrong: I64


@kernel
def run_kernel(
    inputs: I64, wanted: NDArray[np.bool_], program: ProgramArrays, register: I64, out: FlowResults
) -> None:
    """Run a program on the columns of `inputs`; only those that are `wanted` are checked."""
    allowed, code, keep, intervals = program.allowed, program.code, program.keep, program.intervals
    kept, hits, wrong = out
    count = inputs.shape[1]
    hit, inside = register[len(register) - 3], register[len(register) - 1]
    for start in range(0, count, BLOCK):
        size = min(BLOCK, count - start)
        for row in range(size):
            wrong[start + row] = -1
        for at in range(inputs.shape[0]):
            for row in range(size):
                register[at, row] = inputs[at, start + row]
            if wanted[at]:
                _within(register[at], allowed[at, 0], allowed[at, 1], intervals, inside, size)
                for row in range(size):
                    if inside[row] == 0 and wrong[start + row] < 0:
                        wrong[start + row] = at
        for step in range(len(code)):
            if code[step, 0] == 0:
                table = code[step, 1]
                _table(table, program, register, size)
                for row in range(size):
                    hits[table, start + row] = hit[row]
            else:
                first, second = register[code[step, 2]], register[code[step, 3]]
                third = register[code[step, 4]]
                _work(code[step, 0], first, second, third, register[code[step, 1]], size)
        for at in range(len(keep)):
            for row in range(size):
                kept[at, start + row] = register[keep[at], row]


@kernel
def _within(value: I64, first: int, last: int, intervals: I64, inside: I64, size: int) -> None:
    """A mark for each value that is in one of the intervals."""
    low, high = intervals[first, 0], intervals[first, 1]
    for row in range(size):
        inside[row] = (value[row] >= low) & (value[row] <= high)
    for each in range(first + 1, last):
        low, high = intervals[each, 0], intervals[each, 1]
        for row in range(size):
            inside[row] |= (value[row] >= low) & (value[row] <= high)


@kernel
def _table(number: int, program: ProgramArrays, register: I64, size: int) -> None:
    """From the last rule, which fits everything, to the first: the last to fit is the answer."""
    table, source = program.tables[number], program.table_values[number]
    rules, tests, intervals = program.rules, program.tests, program.intervals
    last_one = len(register) - 1
    hit, fits, inside = register[last_one - 2], register[last_one - 1], register[last_one]
    for rule in range(table[1] - 1, -1, -1):
        first, last = rules[table[0] + rule, 0], rules[table[0] + rule, 1]
        if first == last:
            for row in range(size):
                hit[row] = rule
            continue
        for row in range(size):
            fits[row] = 1
        for test in range(first, last):
            value = register[tests[test, 0]]
            _within(value, tests[test, 1], tests[test, 2], intervals, inside, size)
            for row in range(size):
                fits[row] &= inside[row]
        for row in range(size):
            hit[row] = rule if fits[row] else hit[row]
    for at in range(table[3]):
        target = register[program.outputs[table[2] + at]]
        for row in range(size):
            target[row] = register[program.values[source + hit[row] * table[3] + at], row]


@kernel
def _work(  # noqa: C901 -- one case for each operation
    op: int, first: I64, second: I64, third: I64, target: I64, size: int
) -> None:
    for row in range(size):
        a, b = first[row], second[row]
        if op == 1:
            target[row] = a + b
        elif op == 2:
            target[row] = a - b
        elif op == 3:
            target[row] = a * b
        elif op == 4:
            target[row] = a // b
        elif op == 5:
            target[row] = min(a, b)
        elif op == 6:
            target[row] = max(a, b)
        elif op == 7:
            target[row] = a == b
        elif op == 8:
            target[row] = a != b
        elif op == 9:
            target[row] = a < b
        elif op == 10:
            target[row] = a <= b
        elif op == 11:
            target[row] = a > b
        elif op == 12:
            target[row] = a >= b
        elif op == 13:
            target[row] = a & b
        elif op == 14:
            target[row] = a | b
        elif op == 15:
            target[row] = 1 - a
        else:
            target[row] = b if a != 0 else third[row]
