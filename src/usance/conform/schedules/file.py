"""Case files of other systems' schedules: read strictly, every problem with its place.

A case says the terms of a loan in the words of another system and either one schedule (`events`,
`expected_rows`) or a life in steps with checks between them. Who wrote it and how it is called
(`id`, `scenario`, `source`, `loan_product_in_test`) is never read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from usance.base.documents import parse_json, read_text
from usance.base.errors import DocumentError, UsanceError, raise_all
from usance.conform.schedules.step_checks import check_amount, check_step
from usance.conform.schedules.steps import CHECK, Step
from usance.conform.schedules.terms import CaseReader, bucket_order, read_terms
from usance.loan.convention import Bucket
from usance.migration.bounds import MAX_AMOUNT, MAX_STEPS
from usance.migration.terms import PENALTIES_FIRST, MigratedTerms

_DEFAULT_ORDER = "allocation_default_order_fineract_advanced"
_SPACE = re.compile(r"[ \t\r\n]*")
_PLAIN = ("business_date", "disburse", CHECK)  # a case of these alone has no life


@dataclass(frozen=True, slots=True)
class Case:
    """One case: where it stands, its terms and its steps, or why it cannot be used."""

    position: int
    group: str
    terms: MigratedTerms
    planned: int
    steps: tuple[Step, ...]
    lists_disbursements: bool = False
    problems: tuple[UsanceError, ...] = ()
    unsupported: tuple[str, ...] = ()


def read_cases(path: Path | str) -> list[Case]:
    """All cases of a file, in order."""
    text = read_text(path)
    document = parse_json(text, where=str(path))
    if not isinstance(document, dict) or not isinstance(document.get("cases"), list):
        raise DocumentError(
            "has no list of cases", where=str(path), fix='Give an object with "cases": [...]'
        )
    problems: list[UsanceError] = []
    order = _default_order(document, problems, str(path))
    cases = []
    for position, (line, case) in enumerate(
        zip(case_lines(text), document["cases"], strict=True), start=1
    ):
        where = f"{path} line {line}, case {position}"
        cases.append(_case(position, case, where, order))
    if problems:
        raise_all([*problems, *(problem for case in cases for problem in case.problems)])
    if not cases:
        raise DocumentError("has no case", where=str(path), fix="Give at least one")
    return cases


def _default_order(
    document: Mapping[str, Any], problems: list[UsanceError], where: str
) -> Sequence[Bucket]:
    names = document.get(_DEFAULT_ORDER)
    if names is None:
        return PENALTIES_FIRST
    if not isinstance(names, list):
        problems.append(DocumentError(f"{_DEFAULT_ORDER} is no list", where=where, fix="Give one"))
        return PENALTIES_FIRST
    return bucket_order(names, problems.append, where)


def _case(position: int, case: object, where: str, order: Sequence[Bucket]) -> Case:
    if not isinstance(case, dict):
        nothing = MigratedTerms(disbursed_on=date.min, rate_pct=Decimal(0), instalments=1)
        error = DocumentError("is no object", where=where, fix="Give an object")
        return Case(position, "none", nothing, 0, (), problems=(error,))
    reader = CaseReader(case, where)
    terms = read_terms(reader, order)
    amount = reader.number("principal_applied", 0, most=MAX_AMOUNT)
    planned = check_amount(reader, "principal_applied", amount, terms.decimals)
    steps = _steps(reader, terms.decimals)
    has_life = any(step["type"] not in _PLAIN for step in steps)
    note = reader.get("creation_note", str, "")
    return Case(
        position, reader.get("group", str, "none"), terms, planned, steps,
        lists_disbursements="disbursements details" in note, problems=tuple(reader.problems),
        unsupported=tuple(reader.unsupported) if has_life else (),
    )  # fmt: skip


def _steps(reader: CaseReader, decimals: int) -> tuple[Step, ...]:
    has_steps = "steps" in reader.case
    found = (reader.get("steps", list) or []) if has_steps else _one_schedule(reader)
    if len(found) > MAX_STEPS:
        reader.problem("steps", f"are {len(found)}", f"Give at most {MAX_STEPS}")
        return ()
    steps = []
    for number, step in enumerate(found, start=1):
        if not isinstance(step, dict) or not isinstance(step.get("type"), str):
            reader.problem(f"step {number}", "has no type", 'Give an object with a "type"')
        else:
            check_step(reader, number, step, decimals)
            steps.append(step)
    if has_steps and not any(step["type"] == CHECK for step in steps):
        reader.problem("steps", "check no schedule", f'Give a step of type "{CHECK}"')
    return tuple(steps)


def _one_schedule(reader: CaseReader) -> list[Any]:
    """A case of one schedule as steps."""
    day, rows = reader.get("business_date", str), reader.get("expected_rows", list)
    totals = reader.get("expected_totals", dict, {})
    start = [{"type": "business_date", "date": day}] if day is not None else []
    check = [{"type": CHECK, "rows": rows, "totals": totals}] if rows is not None else []
    return [*start, *(reader.get("events", list) or []), *check]


def case_lines(text: str) -> list[int]:
    r"""The line on which each case begins, of a JSON text that has been read already.

    >>> case_lines('{"about": [1],\n "cases": [{},\n {}]}')
    [2, 3]
    """
    decoder = json.JSONDecoder()
    at = _after_space(text, _after_space(text, 0) + 1)
    while True:
        key, at = decoder.raw_decode(text, at)
        at = _after_space(text, _after_space(text, at) + 1)  # past the colon
        if key == "cases":
            break
        _, at = decoder.raw_decode(text, at)
        at = _after_space(text, _after_space(text, at) + 1)  # past the comma
    lines, line, counted = [], 1, 0
    at = _after_space(text, at + 1)
    while text[at] != "]":
        line += text.count("\n", counted, at)
        counted = at
        lines.append(line)
        _, at = decoder.raw_decode(text, at)
        at = _after_space(text, at)
        if text[at] == ",":
            at = _after_space(text, at + 1)
    return lines


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
