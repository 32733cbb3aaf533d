"""Statements, notes, roll-forwards and estimates of closed books as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from usance.base.codes import FundingModel
from usance.base.command_line import number, print_line, print_table
from usance.base.segments import segment_model, segment_product
from usance.books.close.closes import CloseRef
from usance.books.statements.ifrs_reconciliation import COLUMN_NAMES, COLUMNS
from usance.books.statements.layout import title_of
from usance.books.statements.notes import ShareRow

if TYPE_CHECKING:
    from usance.books.statements.primary import Row
    from usance.books.statements.roll_forwards import RollForward

ESTIMATES = {
    "contingent": "payouts to come", "ifrs_contingent": "payouts to come, IFRS",
    "loan_allowance": "allowance for loans", "ifrs_loan_allowance": "allowance for loans, IFRS",
    "contingent_provision": "payouts to come", "contract_provision": "contract assets",
    "loan_provision": "loans", "receivable_provision": "guarantee fees receivable",
}  # fmt: skip
"""Estimates and provisions by their name in tables."""
MAX_VINTAGES = 20
RISK_BEARING = (FundingModel.CAPITAL_HEAVY, FundingModel.ON_BALANCE_SHEET)


def print_statements(rows: Iterable[Row], currency: str) -> None:
    """Statements one below the other, lines of zero left out; a reconciliation by column."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.statement.partition(":")[0], []).append(row)
    for name, lines in found.items():
        print_line()
        if len({row.statement for row in lines}) > 1:
            _print_reconciliation(title_of(name), lines, currency)
            continue
        shown = [[row.line, number(row.amount_minor, currency)]
                 for row in _totals_below(lines) if row.amount_minor or row.is_total]  # fmt: skip
        print_table([title_of(name), lines[0].period], shown, left=1)


def _totals_below(rows: Sequence[Row]) -> list[Row]:
    """Rows with every total right below the last line that belongs to it."""
    ordered = list(rows)
    for total in [row for row in rows if row.is_total]:
        own = [at for at, row in enumerate(ordered) if row.parent == total.line]
        if own:
            last = ordered[max(own)]
            ordered.remove(total)
            ordered.insert(ordered.index(last) + 1, total)
    return ordered


def _print_reconciliation(title: str, rows: Sequence[Row], currency: str) -> None:
    """A line a row, a column from US GAAP over each adjustment to IFRS."""
    amounts = {
        (row.line, row.parent, row.statement.partition(":")[2]): row.amount_minor for row in rows
    }
    shown = []
    first = _totals_below([row for row in rows if row.statement == rows[0].statement])
    for line, parent in ((row.line, row.parent) for row in first):
        minor = [amounts[line, parent, column] for column in COLUMNS]
        if any(minor):
            shown.append([line, *(number(each, currency) for each in minor)])
    print_line(f"From US GAAP to IFRS, {rows[0].period}")
    print_table([title, *(COLUMN_NAMES[each] for each in COLUMNS)], shown, left=1)


def print_notes(rows: Iterable[Row | ShareRow], currency: str) -> None:
    """Each note with its lines under what they belong to."""
    found: dict[tuple[str, str], list[Row | ShareRow]] = {}
    for row in rows:
        found.setdefault((row.statement, row.period), []).append(row)
    for (name, period), lines in found.items():
        print_line()
        shown, above = [], ""
        for row in lines:
            if row.parent not in (above, ""):
                shown.append([row.parent, ""])
            above = row.parent
            value = (f"{row.value:,}" if isinstance(row, ShareRow)
                     else number(row.amount_minor, currency))  # fmt: skip
            shown.append([f"  {row.line}" if row.parent else row.line, value])
        print_table([title_of(name), period], shown, left=1)


def print_roll_forwards(rolls: Iterable[RollForward], currency: str) -> None:
    """Opening, movements and closing of each balance."""
    for roll in rolls:
        print_line()
        lines = [[name, number(minor, currency)] for name, minor, _ in roll.lines()]
        print_table([roll.name, currency], lines, left=1)


def print_losses(found: Mapping[str, Any], currency: str) -> None:
    """Provisions and estimates, and earlier estimates beside what became of them."""
    print_table(
        ["provision for", "new volume", "true-up"],
        [[ESTIMATES[name], number(split["new_volume_minor"], currency),
          number(split["true_up_minor"], currency)]
         for name, split in found.get("provisions", {}).items()], left=1,
    )  # fmt: skip
    print_line()
    print_table(
        ["estimate", "target", "if fewer default", "if more default"],
        [[ESTIMATES[each["estimate"]], *(number(each[f"{key}_minor"], currency)
                                         for key in ("target", "lower", "higher"))]
         for each in found.get("sensitivity", [])], left=1,
    )  # fmt: skip
    tested = [each for each in found.get("back_test", [])
              if segment_model(each["segment"]) in RISK_BEARING
              and (each["expected_ppb"] or each["actual_ppb"])]  # fmt: skip
    if not tested:
        return
    print_line()
    worst = sorted(tested, key=lambda each: -abs(each["missed_minor"]))[:MAX_VINTAGES]
    order = sorted(worst, key=lambda each: (each["segment"], each["cohort"], each["close_no"]))
    print_table(
        ["loans", "vintage", "estimated", "a default is", "expected", "actual", "missed", currency],
        [[_segment(each["segment"]), each["cohort"], CloseRef.of_number(each["close_no"]).name,
          each["claim"].replace("_", " "),
          *(f"{each[f'{key}_ppb'] / 10_000_000:.3f}%" for key in ("expected", "actual", "missed")),
          number(each["missed_minor"], currency)]
         for each in order], left=1,
    )  # fmt: skip
    if len(tested) > len(worst):
        print_line(f"the {len(worst)} that missed most money of {len(tested):,}; --json has all")


def _segment(code: int) -> str:
    """The kind of loans that a segment is.

    >>> _segment(1)
    'capital heavy, instalment'
    """
    return f"{segment_model(code).label}, {segment_product(code).label}".replace("_", " ")
