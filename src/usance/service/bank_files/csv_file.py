r"""CSV files of banks and providers, read by a layout that is data.

The layout is a profile with `format: csv`: names of columns, how amounts and days are written, and
the side of a line by its sign, by two columns, or by a word. A file is taken whole or refused with
all its problems, each by line and column.

>>> from usance.service.bank_files.profile import parse_profile
>>> bank = parse_profile(
...     '''
... format: csv
... separator: ";"
... columns: {reference: Ref, day: Datum, credit: Haben, debit: Soll}
... dates: "%d.%m.%Y"
... amounts: "1.234,56"
... currency: EUR
... ''',
...     "bank.yaml",
... )
>>> read = read_csv_file(
...     "Ref;Datum;Soll;Haben\nOR1;01.07.2024;;1.500,00\nOR2;02.07.2024;7,5;\n", "b.csv", bank
... )
>>> [(line.reference, line.amount_minor) for line in read.lines]
[('OR1', 150000), ('OR2', -750)]
>>> read_csv_file("Ref;Datum;Soll;Haben\nOR1;31.06.2024;;1\n", "b.csv", bank)
Traceback (most recent call last):
usance.service.errors.BankFileError: b.csv line 2, column Datum: '31.06.2024' is no day written
as %d.%m.%Y. Ask for the whole file again, or correct its profile; nothing of it was taken.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from functools import lru_cache
from hashlib import sha256

from usance.base.amount_notations import plain_amount
from usance.base.errors import UsanceError, raise_all
from usance.base.ids import LIMIT
from usance.service.bank_files.profile import MINOR, BankProfile
from usance.service.bank_files.statement import FileLine, Statement
from usance.service.bank_files.values import minor_units
from usance.service.errors import BankFileError

_MAX_PROBLEMS = 100  # a file with more is of another kind; the rest would not help
_AGAIN = "Ask for the whole file again, or correct its profile; nothing of it was taken"


def read_csv_file(content: str, where: str, profile: BankProfile) -> Statement:
    """The lines of a file as a statement without balances."""
    rows = csv.reader(content.splitlines(keepends=True), strict=True, delimiter=profile.separator)
    lines: list[FileLine] = []
    problems: list[UsanceError] = []
    try:
        for _ in range(profile.skip_lines):
            next(rows, None)
        header = next(rows, [])
        raise_all(list(_header_problems(header, profile, where)), where=where)
        reader = _LineReader(profile, header, where, problems)
        for row in rows:
            if row:
                line = reader.line(rows.line_num, row)
                if line is not None:
                    lines.append(line)
            if len(problems) >= _MAX_PROBLEMS:
                break
    except csv.Error as error:
        place = f"{where} line {rows.line_num}, column 1"
        raise BankFileError(str(error), where=place, fix=_AGAIN) from None
    raise_all(problems, where=where)
    identity = sha256(where.encode()).hexdigest()[:16]  # a provider's file is known by its name
    return Statement(profile.account or profile.name, identity, profile.currency, tuple(lines))


def _header_problems(
    header: list[str], profile: BankProfile, where: str
) -> Iterator[BankFileError]:
    for name in profile.columns.values():
        if header.count(name) != 1:
            what = f"has the column {name!r} {header.count(name)} times"
            place = f"{where} line {profile.skip_lines + 1}, column 1"
            yield BankFileError(what, where=place, fix=f"Columns there: {', '.join(header)}")


class _LineReader:
    """Lines of one layout."""

    def __init__(
        self, profile: BankProfile, header: list[str], where: str, problems: list[UsanceError]
    ) -> None:
        self.profile, self.where, self.problems = profile, where, problems
        self.width = len(header)
        self.at = {key: header.index(name) for key, name in profile.columns.items()}

    def line(self, number: int, row: list[str]) -> FileLine | None:
        """The line of a row, or None after its problems were kept."""
        if len(row) != self.width:
            what = f"{len(row)} cells under {self.width} columns"
            self.problems.append(self.refusal(what, number, "1"))
            return None
        cells = {key: row[place].strip() for key, place in self.at.items()}
        try:
            return self.read(number, cells)
        except BankFileError as error:
            self.problems.append(error)
            return None

    def read(self, number: int, cells: Mapping[str, str]) -> FileLine:
        currency = cells.get("currency") or self.profile.currency
        value_day = cells.get("value_day")
        loan = cells.get("loan") or "0"
        if not (loan.isdecimal() and int(loan) < LIMIT):
            raise self.refusal(f"{loan!r} is no loan's number", number, self.named("loan"))
        return FileLine(
            number=number,
            reference=self.profile.reference_of({"end_to_end_id": cells["reference"]})
            if self.profile.reference_pattern else cells["reference"],
            amount_minor=self.amount(number, cells, currency),
            currency=currency,
            booked_on=self.day(number, "day", cells["day"]),
            value_on=self.day(number, "value_day", value_day) if value_day else None,
            party=cells.get("party", ""),
            batch=cells.get("batch", ""),
            fee_minor=self.minor(number, "fee", cells.get("fee") or "0", currency),
            loan_id=int(loan),
            bank_ref=cells.get("bank_ref", ""),
            text=cells.get("text", ""),
            account=cells.get("account", ""),
        )  # fmt: skip

    def amount(self, number: int, cells: Mapping[str, str], currency: str) -> int:
        """The amount with its sign: money that came in is positive."""
        if "amount" not in cells:
            credit = self.minor(number, "credit", cells.get("credit") or "0", currency)
            return credit - self.minor(number, "debit", cells.get("debit") or "0", currency)
        amount = self.minor(number, "amount", cells["amount"], currency)
        if "side" not in cells:
            return amount
        sign = self.profile.sides.get(cells["side"])
        if sign is None:
            raise self.refusal(f"{cells['side']!r} is no side", number, self.named("side"))
        return sign * amount

    def minor(self, number: int, key: str, text: str, currency: str) -> int:
        place = f"{self.where} line {number}, column {self.named(key)}"
        if self.profile.amounts == MINOR:
            if text.lstrip("-").isdecimal():
                return int(text)
            raise self.refusal(f"{text!r} is no whole number", number, self.named(key))
        plain = plain_amount(text, self.profile.amounts)
        if plain is None:
            what = f"{text!r} is no amount written as {self.profile.amounts}"
            raise self.refusal(what, number, self.named(key))
        return minor_units(plain, currency, place)

    def day(self, number: int, key: str, text: str) -> date:
        try:
            return _day(text, self.profile.dates)
        except ValueError:
            what = f"{text!r} is no day written as {self.profile.dates}"
            raise self.refusal(what, number, self.named(key)) from None

    def named(self, key: str) -> str:
        return self.profile.columns.get(key, "1")

    def refusal(self, what: str, number: int, column: str) -> BankFileError:
        place = f"{self.where} line {number}, column {column}"
        return BankFileError(what, where=place, fix=_AGAIN)


@lru_cache(maxsize=4096)
def _day(text: str, form: str) -> date:
    return datetime.strptime(text, form).date()  # noqa: DTZ007 -- a day has no time zone
