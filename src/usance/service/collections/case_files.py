r"""Files of loans, cases and agents: whole numbers by column, a wrong cell named with its line.

>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     file = Path(folder) / "loans.csv"
...     _ = file.write_text("loan_id,days_past_due\n16385,x\n")
...     read_columns(file, ("loan_id", "days_past_due"))
Traceback (most recent call last):
usance.service.errors.CaseError: ...loans.csv line 2: days_past_due is 'x'. Write a whole number.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from usance.base.arrays import I64
from usance.base.atomic_files import replace
from usance.base.documents import read_csv
from usance.base.errors import UsanceError, raise_all, unknown
from usance.base.ids import LIMIT
from usance.service.collections.candidates import Agent
from usance.service.collections.cases import Cases, LoanArrears
from usance.service.collections.stages import Stage
from usance.service.errors import CaseError

LOANS = ("loan_id", "days_past_due", "past_due_minor", "principal_minor")
CASES = Cases._fields
_PPM = 1_000_000
_RANGES = {
    "loan_id": (1, LIMIT - 1), "user_id": (1, LIMIT - 1), "stage": (min(Stage), max(Stage)),
    "days_past_due": (-36_500, 36_500), "slots": (0, 100_000), "skill_ppm": (0, 5 * _PPM),
    "pay_ppm": (0, _PPM), "value_minor": (-(10**12), 10**12),
}  # fmt: skip
"""Whole numbers that a column may hold; of others up to 15 digits, so that sums fit 64 bits."""
_DIGITS = (-(10**15), 10**15)


def read_columns(path: Path | str, names: Sequence[str]) -> dict[str, I64]:
    """Columns of whole numbers; other columns are left alone."""
    rows = list(read_csv(path))
    _check_header(path, rows, names)
    wrong: list[UsanceError] = []
    columns: dict[str, list[int]] = {name: [] for name in names}
    for line, row in rows:
        for name in names:
            try:
                columns[name].append(_whole(name, row[name], f"{path} line {line}"))
            except CaseError as error:
                wrong.append(error)
    raise_all(wrong, where=str(path))
    return {name: np.array(column, np.int64) for name, column in columns.items()}


def read_loans(path: Path | str) -> LoanArrears:
    """Arrears of each loan on an evening."""
    return LoanArrears.of(**read_columns(path, LOANS))


def read_cases(path: Path | str) -> Cases:
    """Cases as `write_cases` wrote them, a borrower once."""
    columns: dict[str, Any] = read_columns(path, CASES)
    check_once(path, "user_id", columns["user_id"].tolist())
    columns["stage"] = columns["stage"].astype(np.int8)
    return Cases(**columns)


def write_cases(cases: Cases, path: Path) -> None:
    """Cases by borrower, for the next evening and for whoever works them."""
    write_rows(path, CASES, zip(*(column.tolist() for column in cases), strict=True))


def check_once(path: Path | str, column: str, values: Sequence[object]) -> None:
    """Refuse a file that has a borrower or an agency twice."""
    seen: set[object] = set()
    for (line, _), value in zip(read_csv(path), values, strict=True):
        if value in seen:
            what = f"{column} {value}".strip() + " is there twice"
            raise CaseError(what, where=f"{path} line {line}", fix="Give each one row")
        seen.add(value)


def read_agents(path: Path | str) -> list[Agent]:
    """Agents: name, slots, and if they have them stages, languages, agency, skill_ppm."""
    rows = list(read_csv(path))
    _check_header(path, rows, ("name", "slots"))
    agents = []
    numbers = read_columns(path, ("slots",))
    for (line, row), slots in zip(rows, numbers["slots"].tolist(), strict=True):
        where = f"{path} line {line}"
        skill = _whole("skill_ppm", row.get("skill_ppm") or str(_PPM), where)
        agents.append(
            Agent(
                row["name"], slots, _stages(row.get("stages", ""), where) or tuple(Stage),
                row.get("languages") or "zh", row.get("agency", ""), skill,
            )
        )  # fmt: skip
    return agents


def read_texts(path: Path | str, name: str) -> list[str] | None:
    """One column as it is written; None if the file has none of that name."""
    rows = [row for _, row in read_csv(path)]
    return [row[name] for row in rows] if rows and name in rows[0] else None


def need_texts(path: Path | str, name: str) -> list[str]:
    """One column as it is written, which has to be there."""
    rows = list(read_csv(path))
    _check_header(path, rows, (name,))
    return [row[name] for _, row in rows]


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A CSV file, whole or not at all."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    replace(path, text.getvalue().encode())


def _whole(name: str, cell: str, where: str) -> int:
    low, high = _RANGES.get(name, _DIGITS)
    if not re.fullmatch(r"[+-]?[0-9]{1,40}", cell.strip()):
        raise CaseError(f"{name} is '{cell[:40]}'", where=where, fix="Write a whole number")
    if not low <= int(cell) <= high:
        fix = f"Give {low} to {high}"
        raise CaseError(f"{name} is {cell.strip()}", where=where, fix=fix)
    return int(cell)


def _stages(cell: str, where: str) -> tuple[Stage, ...]:
    known = {each.label: each for each in Stage}
    unknown_words = [each for each in cell.split() if each not in known]
    if unknown_words:
        raise unknown("stage", unknown_words[0], known, where=f"{where}, stages")
    return tuple(known[each] for each in cell.split())


def _check_header(
    path: Path | str, rows: Sequence[tuple[int, dict[str, str]]], names: Sequence[str]
) -> None:
    """Refuse a table without one of the columns."""
    known = rows[0][1].keys() if rows else set(names)
    if missing := [name for name in names if name not in known]:
        what = f"has no column {', '.join(missing)}"
        raise CaseError(what, where=str(path), fix=f"Give the columns {', '.join(names)}")
