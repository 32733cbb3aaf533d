"""An independent word on which cells take part in an identity, written against the raw rows.

It shares no code with the checker. Each identity is the cells it speaks of and a predicate over
their numbers; `broken_by` says which of those that held before a change no longer hold after it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

Row = Sequence[str]
Numbers = list[Decimal]
DOCUMENT, STATEMENT, LINE, PARENT, PERIOD, CURRENCY, UNIT, VALUE, TOTAL = range(9)
TABLES = ("balance_sheet", "operations", "cash_flows", "comprehensive_income",
          "non_gaap_reconciliation")  # fmt: skip
COSTS = "Total operating costs and expenses"
SUMMED = {"2024H1": ("2024Q1", "2024Q2"), "2023H1": ("2023Q1", "2023Q2")}


class Identity(NamedTuple):
    """The numbers of some rows and what must be true of them."""

    rows: tuple[int, ...]
    holds: Callable[[Numbers], bool]


def half_up(value: Decimal, step: str = "1") -> Decimal:
    return value.quantize(Decimal(step), rounding=ROUND_HALF_UP)


class Oracle:
    """The identities of some tables, by row."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self.at = {tuple(row[:6]): number for number, row in enumerate(rows)}
        self.of_row: dict[int, list[Identity]] = defaultdict(list)
        self.documents = dict.fromkeys(row[DOCUMENT] for row in rows)
        for family in (self.footings, self.rates, self.across, self.shares, self.quoted,
                       self.carried, self.halves, self.twice, self.changes):  # fmt: skip
            for identity in family():
                for number in identity.rows:
                    self.of_row[number].append(identity)

    def broken_by(self, changed: int, text: str) -> int:
        """The number of identities that hold as the rows are and not with one value changed."""
        return sum(
            self._holds(identity, -1, "") and not self._holds(identity, changed, text)
            for identity in self.of_row[changed]
        )

    def _holds(self, identity: Identity, changed: int, text: str) -> bool:
        values = [Decimal(text if n == changed else self.rows[n][VALUE]) for n in identity.rows]
        return identity.holds(values)

    def find(self, *place: str) -> int | None:
        return self.at.get(place)

    def rate_row(self, document: str) -> int | None:
        for number, row in enumerate(self.rows):
            if row[DOCUMENT] == document and row[UNIT] == "rmb_per_usd":
                return number
        return None

    def footings(self) -> list[Identity]:
        found = []
        for number, row in enumerate(self.rows):
            if row[TOTAL] != "1" or row[STATEMENT].endswith((":us_gaap", ":ifrs")):
                continue
            same = (DOCUMENT, STATEMENT, PERIOD, CURRENCY, UNIT)
            parts = [
                other for other, each in enumerate(self.rows)
                if each[PARENT] == row[LINE] and all(each[n] == row[n] for n in same)
            ]  # fmt: skip
            signs = [-1 if self.rows[other][LINE] == COSTS else 1 for other in parts]
            if parts:
                found.append(Identity((number, *parts), _foots(signs)))
        return found

    def rates(self) -> list[Identity]:
        found = []
        for number, row in enumerate(self.rows):
            if row[CURRENCY] != "USD" or row[TOTAL] == "1" or row[UNIT] != "thousand":
                continue
            if row[STATEMENT] in ("balance_sheet", "operations", "cash_flows"):
                source = self.find(*row[:CURRENCY], "RMB")
                rate = self.rate_row(row[DOCUMENT])
                if source is not None and rate is not None:
                    found.append(Identity((number, source, rate), _translated))
        return found

    def across(self) -> list[Identity]:
        columns: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for number, row in enumerate(self.rows):
            base, _, column = row[STATEMENT].partition(":")
            if column:
                columns[row[DOCUMENT], base, row[LINE], row[PARENT], row[PERIOD]].append(number)
        found = []
        for numbers in columns.values():
            last = [n for n in numbers if self.rows[n][STATEMENT].endswith(":ifrs")]
            rest = [n for n in numbers if n not in last]
            found.append(Identity((*last, *rest), _foots([1] * len(rest))))
        return found

    def shares(self) -> list[Identity]:
        found = []
        for number, row in enumerate(self.rows):
            if row[UNIT] in ("shares", "ads") and row[CURRENCY] == "USD":
                other = self.find(*row[:CURRENCY], "n/a")
                found += [Identity((number, other), _equal)] if other is not None else []
            if row[UNIT] == "per_ads" and row[STATEMENT] == "operations":
                others = [
                    n for n, each in enumerate(self.rows)
                    if each[UNIT] == "per_share" and each[STATEMENT] == "operations"
                    and all(each[k] == row[k] for k in (DOCUMENT, LINE, PERIOD, CURRENCY))
                ]  # fmt: skip
                found += [Identity((number, n), _twice) for n in others]
        return found

    def quoted(self) -> list[Identity]:
        found = []
        for number, row in enumerate(self.rows):
            if not row[STATEMENT].startswith("release_") or row[UNIT] != "million":
                continue
            for other, each in enumerate(self.rows):
                same = all(each[n] == row[n] for n in (DOCUMENT, PERIOD, CURRENCY))
                if same and each[STATEMENT] == "operations" and (
                    each[LINE].lower() == row[LINE].lower()
                    and (not row[PARENT] or each[PARENT].lower() == row[PARENT].lower())
                ):  # fmt: skip
                    found.append(Identity((number, other), _millions))
        return found

    def carried(self) -> list[Identity]:
        found = []
        for number, row in enumerate(self.rows):
            if row[STATEMENT] in ("comprehensive_income", "non_gaap_reconciliation"):
                for other, each in enumerate(self.rows):
                    same = all(each[n] == row[n] for n in (DOCUMENT, LINE, PERIOD, CURRENCY))
                    if same and each[STATEMENT] == "operations" and each[TOTAL] == "1":
                        found.append(Identity((number, other), _equal))
        return found

    def halves(self) -> list[Identity]:
        found = []
        for number, row in enumerate(self.rows):
            if row[PERIOD] in SUMMED and row[STATEMENT] in TABLES and row[UNIT] == "thousand":
                if row[CURRENCY] != "RMB" or "beginning" in row[LINE] or "end of" in row[LINE]:
                    continue
                parts = [
                    self.find(document, *row[1:PERIOD], part, "RMB")
                    for part in SUMMED[row[PERIOD]] for document in self.documents
                ]  # fmt: skip
                known = tuple(part for part in parts if part is not None)
                if len(known) == 2:
                    found.append(Identity((number, *known), _foots([1, 1])))
        return found

    def twice(self) -> list[Identity]:
        cells: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for number, row in enumerate(self.rows):
            if row[CURRENCY] != "USD" and row[UNIT] not in ("text", "date"):
                cells[tuple(row[1:VALUE])].append(number)
        return [Identity((one, two), _equal) for one, two in
                (each for each in cells.values() if len(each) == 2)]  # fmt: skip

    def changes(self) -> list[Identity]:
        found = []
        for number, row in enumerate(self.rows):
            line, mark, base = row[LINE].partition(" - change vs ")
            if mark and row[STATEMENT] == "business_highlights":
                same = (row[DOCUMENT], row[STATEMENT], line)
                now = [n for p, n in self.at.items() if p[:3] == same and p[4] == row[PERIOD]]
                then = [n for p, n in self.at.items() if p[:3] == same and p[4] == base]
                if now and then:
                    wide = self.rows[now[0]][UNIT] == "million_persons"
                    found.append(Identity((number, now[0], then[0]), _changed(wide)))
        return found


def _foots(signs: Sequence[int]) -> Callable[[Numbers], bool]:
    def holds(values: Numbers) -> bool:
        total, *parts = values
        return total == sum(part * sign for part, sign in zip(parts, signs, strict=True))

    return holds


def _translated(values: Numbers) -> bool:
    dollars, yuan, rate = values
    return dollars == half_up(yuan / rate)


def _equal(values: Numbers) -> bool:
    return values[0] == values[1]


def _twice(values: Numbers) -> bool:
    return values[0] == 2 * values[1]


def _millions(values: Numbers) -> bool:
    return values[0] == half_up(values[1] / 1000, "0.1")


def _changed(wide: bool) -> Callable[[Numbers], bool]:
    """The printed change lies among those that figures printed like these can have."""

    def holds(values: Numbers) -> bool:
        change, now, then = values
        half = Decimal("0.05") if wide else Decimal("0.5")
        least = (now - half) / (then + half) * 100 - 100
        most = (now + half) / (then - half) * 100 - 100
        room = Decimal("0.05")
        return least - room <= change <= most + room

    return holds
