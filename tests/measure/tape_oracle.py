"""A tape's pack by plain loops over its rows: the definitions read aloud, slowly."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, NamedTuple

from usance.measure.tape.loan_states import MAX_DAYS

Table = dict[tuple[Any, ...], tuple[int, ...]]


class Row(NamedTuple):
    """One loan at one month end; `past` is the last day its state stands for."""

    loan: int
    month: int
    state: int
    kind: str
    past: int
    balance: int
    principal: int


class Oracle:
    """Every table of a pack of rows without segments."""

    def __init__(self, rows: list[Row], size: int, links: list[tuple[int, int]]) -> None:
        self.rows, self.size, self.links = rows, size, links
        self.lives: dict[int, dict[int, Row]] = defaultdict(dict)
        for row in rows:
            self.lives[row.loan][row.month] = row
        self.last = max(row.month for row in rows)
        self.first = min(row.month for row in rows)

    def period(self, loan: int) -> int:
        return min(self.lives[loan]) // self.size * self.size

    def matrix(self) -> Table:
        loans: Counter[tuple[int, int]] = Counter()
        money: Counter[tuple[int, int]] = Counter()
        for life in self.lives.values():
            for month, row in life.items():
                before = life.get(month - 1)
                if before:
                    loans[before.state, row.state] += 1
                    money[before.state, row.state] += before.balance
        return {key: (count, money[key]) for key, count in loans.items()}

    def rolls(self) -> Table:
        months = {row.month for row in self.rows}
        found: Table = {}
        for month in months & {month + 1 for month in months}:
            for one, other in self.links:
                before = [r for r in self.rows if r.month == month - 1 and r.state == one]
                now = [
                    r for r in self.rows
                    if r.month == month and r.state == other and not self.stays(r)
                ]  # fmt: skip
                if before:
                    found[month, one, other] = (
                        len(now), len(before), sum(r.balance for r in now),
                        sum(r.balance for r in before),
                    )  # fmt: skip
        return found

    def stays(self, row: Row) -> bool:
        """True in a bucket without an end for a loan that was there a month earlier."""
        before = self.lives[row.loan].get(row.month - 1)
        return row.past >= MAX_DAYS and before is not None and before.state == row.state

    def vintages(self, days: int) -> Table:
        past: Counter[tuple[int, int]] = Counter()
        principal: Counter[int] = Counter()
        youngest: dict[int, int] = {}
        for loan, life in self.lives.items():
            cohort, period = min(life), self.period(loan)
            principal[period] += life[cohort].principal
            youngest[period] = max(cohort, youngest.get(period, cohort))
            worst, final = 0, max(life)
            for month in range(cohort, self.last + 1):
                row = life.get(month)
                if row is None and not (month > final and life[final].kind == "charged_off"):
                    continue
                row = row or life[final]
                late = row.kind in ("past_due", "charged_off")
                worst = max(worst, row.past if late else 0)
                if late and worst > days:
                    past[period, month - cohort] += row.balance
        return {
            (period, mob): (past[period, mob], principal[period])
            for period, young in youngest.items()
            for mob in range(self.last - young + 1)
        }

    def ever(self, days: int) -> Table:
        found: Table = {}
        for period in {self.period(loan) for loan in self.lives}:
            lives = [life for loan, life in self.lives.items() if self.period(loan) == period]
            for mob in range(self.last - self.first + 1):
                seen = [life for life in lives if max(life) - min(life) >= mob]
                bad = [
                    life for life in seen
                    if any(r.month - min(life) <= mob and r.past > days
                           and r.kind in ("past_due", "charged_off") for r in life.values())
                ]  # fmt: skip
                found[period, mob] = (len(seen), len(bad))
        return found

    def closing(self) -> dict[int, int]:
        return {
            month: sum(
                row.balance for row in self.rows
                if row.month == month and row.kind != "charged_off"
            )
            for month in {row.month for row in self.rows}
        }  # fmt: skip
