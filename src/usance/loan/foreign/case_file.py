"""Case files of other systems' schedules: read strictly, every problem with its place.

A case says the terms of a loan in the words of another system and either one schedule (`events`,
`expected_rows`) or a life in steps with checks between them. Who wrote it and how it is called
(`id`, `scenario`, `source`, `loan_product_in_test`) is never read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from usance.base.documents import parse_json, read_text
from usance.base.errors import DocumentError, UsanceError, raise_all
from usance.loan.convention import Bucket
from usance.loan.foreign.case_steps import CHECK, Step
from usance.loan.foreign.case_terms import CaseReader, bucket_order, read_terms
from usance.loan.foreign.terms import PENALTIES_FIRST, ForeignTerms

_DEFAULT_ORDER = "allocation_default_order_fineract_advanced"
_DATES = ("date", "due_date")


@dataclass(frozen=True, slots=True)
class Case:
    """One case: where it stands, its terms and its steps, or why it cannot be used."""

    position: int
    group: str
    terms: ForeignTerms
    planned: int
    steps: tuple[Step, ...]
    announces: bool = False
    problems: tuple[UsanceError, ...] = ()


def read_cases(path: Path | str) -> list[Case]:
    """All cases of a file, in order."""
    document = parse_json(read_text(path), where=str(path))
    if not isinstance(document, dict) or not isinstance(document.get("cases"), list):
        raise DocumentError(
            "has no list of cases", where=str(path), fix='Give an object with "cases": [...]'
        )
    problems: list[UsanceError] = []
    order = _default_order(document, problems, str(path))
    cases = []
    for position, case in enumerate(document["cases"], start=1):
        where = f"case {position}"
        if isinstance(case, dict):
            cases.append(_case(position, case, where, order))
        else:
            problems.append(DocumentError("is no object", where=where, fix="Give an object"))
    raise_all(problems, where=str(path))
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


def _case(position: int, case: Mapping[str, Any], where: str, order: Sequence[Bucket]) -> Case:
    reader = CaseReader(case, where)
    terms = read_terms(reader, order)
    planned = int(reader.number("principal_applied", 0) * 10**terms.decimals)
    steps = _steps(reader)
    note = reader.get("creation_note", str, "")
    return Case(
        position, reader.get("group", str, "none"), terms, planned, steps,
        announces="disbursements details" in note, problems=tuple(reader.problems),
    )  # fmt: skip


def _steps(reader: CaseReader) -> tuple[Step, ...]:
    has_steps = "steps" in reader.case
    found = (reader.get("steps", list) or []) if has_steps else _one_schedule(reader)
    steps = []
    for number, step in enumerate(found, start=1):
        if not isinstance(step, dict) or not isinstance(step.get("type"), str):
            reader.problem(f"step {number}", "has no type", 'Give an object with a "type"')
        else:
            _check_step(reader, number, step)
            steps.append(step)
    if not any(step["type"] == CHECK for step in steps):
        reader.problem("steps", "check no schedule", f'Give a step of type "{CHECK}"')
    return tuple(steps)


def _one_schedule(reader: CaseReader) -> list[Any]:
    """A case of one schedule as steps."""
    start = {"type": "business_date", "date": reader.get("business_date", str)}
    check = {
        "type": CHECK,
        "rows": reader.get("expected_rows", list),
        "totals": reader.get("expected_totals", dict, {}),
    }
    return [start, *(reader.get("events", list) or []), check]


def _check_step(reader: CaseReader, number: int, step: Step) -> None:
    place = f"step {number}"
    for field in _DATES:
        if field in step:
            reader.as_day(step[field], f"{place}, {field}")
    amount = step.get("amount", 0)
    if isinstance(amount, bool) or not isinstance(amount, int | Decimal):
        reader.problem(f"{place}, amount", f"is {amount!r}", "Give a number")
    for field in ("data", "totals"):
        if field in step and not isinstance(step[field], dict):
            reader.problem(f"{place}, {field}", "is no object", "Give an object")
    _check_data(reader, place, step.get("data"))
    if step["type"] == CHECK:
        rows = step.get("rows")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            reader.problem(f"{place}, rows", "is no list of objects", "Give one")
        if "totals" not in step:
            reader.problem(f"{place}, totals", "is missing", "Give an object, even an empty one")


def _check_data(reader: CaseReader, place: str, data: object) -> None:
    if isinstance(data, dict):
        for field, value in data.items():
            if str(field).endswith("Date"):
                reader.as_day(value, f"{place}, {field}")
