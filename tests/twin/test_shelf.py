"""The shelf of trusts beside `2024`: its notes are what the filings say was owed to investors."""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path

from usance.fund.deal import Deal
from usance.fund.deal_folder import deal_of_text
from usance.fund.projection import project
from usance.world.scenario import file as scenarios

PAYABLE = "Payable to investors of the consolidated trusts-"
SHELF = Path(scenarios.__file__).parents[1] / "scenarios" / "2024" / "deals"
OPENING = date(2022, 12, 31)
"""Published before the first loan of the run: the trusts that close on its first day owe it."""


def published(folder: Path) -> dict[tuple[date, str], int]:
    """Current and non-current payables by day, in minor units, as each filing has them."""
    found: dict[tuple[date, str], int] = {}
    for file in sorted(folder.glob("[0-9]*.csv")):
        with file.open(encoding="utf-8", newline="") as lines:
            for row in csv.reader(lines):
                name, day, currency, value = row[2], row[4], row[5], row[7]
                if name.startswith(PAYABLE) and currency == "RMB":
                    key = date.fromisoformat(day), name.removeprefix(PAYABLE)
                    minor = int(value) * 1_000 * 100
                    assert found.setdefault(key, minor) == minor
    return found


def owed(deal: Deal, day: date) -> tuple[int, int]:
    """Notes on a day, repaid within a year and later, by the projection of a deal's own file."""
    seen = max(day, deal.closing_on)
    to_come = [(row.paid_on, row.classes["A"].principal_minor)
               for row in project(deal).distributions if row.paid_on > seen]  # fmt: skip
    year = date(day.year + 1, day.month, day.day)
    current = sum(minor for on, minor in to_come if on <= year)
    return current, sum(minor for _, minor in to_come) - current


def test_notes_of_the_shelf_add_up_to_what_was_published(shared: Path) -> None:
    told = published(shared / "filings")
    assert sorted({day for day, _ in told}) == [
        OPENING, date(2023, 12, 31), date(2024, 3, 31), date(2024, 6, 30),
    ]  # fmt: skip
    deals = [deal_of_text(file.read_text(encoding="utf-8"), file.name)[0]
             for file in SHELF.glob("*.yaml")]  # fmt: skip
    assert len({deal.name for deal in deals}) == len(deals) == 13
    for day in sorted({day for day, _ in told}):
        since = date(2023, 1, 1) if day == OPENING else day
        parts = [owed(deal, day) for deal in deals if deal.closing_on <= since]
        assert sum(now for now, _ in parts) == told[day, "current"], day
        assert sum(later for _, later in parts) == told[day, "noncurrent"], day


def test_every_deal_of_the_shelf_is_in_the_how_to() -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/run-a-twin.md").read_text(encoding="utf-8")
    for file in SHELF.glob("*.yaml"):
        assert f"2024/deals/{file.name}" in page
