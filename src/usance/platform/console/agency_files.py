"""Files of an agency: the cases that it has, and the payments that it reports.

Every line of a file is read before the first is taken; all that is wrong is named by its line.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import Any, NamedTuple

from usance.base.codes import Currency
from usance.base.errors import UsanceError
from usance.platform.console.amounts import minor_of
from usance.platform.errors import InvalidField

CASE_COLUMNS = ("case", "stage", "days_past_due", "past_due", "principal", "loans", "opened_on")
PAYMENT_COLUMNS = ("case", "reference", "paid_on", "amount")
MAX_PAYMENTS = 1_000
MAX_TOLD, MAX_REFERENCE = 20, 64


class ReportedPayment(NamedTuple):
    """A line of a file of payments."""

    case: str
    reference: str
    paid_on: date
    amount_minor: int


def cases_csv(rows: Iterable[Mapping[str, Any]], currency: Currency) -> bytes:
    """Cases as a file, amounts as plain decimals."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(CASE_COLUMNS)
    for row in rows:
        writer.writerow([
            row["case"], row["stage"], row["days_past_due"],
            plain(row["past_due_minor"], currency), plain(row["principal_minor"], currency),
            row["loans"], row["opened_on"],
        ])  # fmt: skip
    return text.getvalue().encode()


def plain(minor: int, currency: Currency) -> str:
    """An amount as a file has it.

    >>> plain(123450, Currency.CNY), plain(700, Currency.JPY)
    ('1234.50', '700')
    """
    if not currency.exponent:
        return str(minor)
    whole, rest = divmod(minor, 10**currency.exponent)
    return f"{whole}.{rest:0{currency.exponent}}"


def payments_of_file(
    text: str, currency: Currency, decode: Callable[[str], str]
) -> list[ReportedPayment]:
    """Payments of a file, refused whole if a line of it is wrong; `decode` reads a case's id.

    >>> file = chr(10).join(["case,reference,paid_on,amount", "ca_1,psp-7,2024-07-19,6.50"])
    >>> [each.amount_minor for each in payments_of_file(file, Currency.CNY, str)]
    [650]
    """
    try:
        rows = [row for row in csv.reader(io.StringIO(text.lstrip("\ufeff"))) if any(row)]
    except csv.Error as error:
        raise InvalidField(
            f"is no CSV: {error}", where="body.text", fix="Mend its quotes"
        ) from None
    head = ",".join(PAYMENT_COLUMNS)
    if not rows or tuple(each.strip() for each in rows[0]) != PAYMENT_COLUMNS:
        raise InvalidField("is no file of payments", where="body.text line 1",
                           fix=f"Begin with {head}")  # fmt: skip
    if not 1 < len(rows) <= MAX_PAYMENTS + 1:
        raise InvalidField(f"has {len(rows) - 1} payments", where="body.text",
                           fix=f"Give 1 to {MAX_PAYMENTS} in a file")  # fmt: skip
    found: list[ReportedPayment] = []
    wrong: list[str] = []
    known: dict[str, int] = {}
    for number, row in enumerate(rows[1:], 2):
        try:
            made = _payment(row, currency, decode)
            if made.reference in known:
                raise InvalidField(f"has the reference of line {known[made.reference]}", where="",
                                   fix="Give each payment once")  # fmt: skip
            known[made.reference] = number
            found.append(made)
        except UsanceError as error:
            wrong.append(f"line {number}: {error.what}. {error.fix}.")
    refuse(wrong)
    return found


def refuse(wrong: list[str]) -> None:
    """Refuse a file by what is wrong with its lines, if anything is."""
    if wrong:
        more = f" and {len(wrong) - MAX_TOLD} more" if len(wrong) > MAX_TOLD else ""
        raise InvalidField(" ".join(wrong[:MAX_TOLD]) + more, where="body.text",
                           fix="Mend the file and send it again; nothing was taken")  # fmt: skip


def _payment(row: list[str], currency: Currency, decode: Callable[[str], str]) -> ReportedPayment:
    if len(row) != len(PAYMENT_COLUMNS):
        fix = f"Give {','.join(PAYMENT_COLUMNS)}"
        raise InvalidField(f"has {len(row)} cells", where="", fix=fix)
    case, reference, day, amount = (each.strip() for each in row)
    if not 1 <= len(reference) <= MAX_REFERENCE:
        fix = f"Give 1 to {MAX_REFERENCE} characters"
        raise InvalidField("has no reference", where="", fix=fix)
    minor = minor_of(amount, currency)
    if minor <= 0:
        raise InvalidField("is no amount above zero", where="", fix="Give what was paid")
    return ReportedPayment(decode(case), reference, _day(day), minor)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        fix = "Give one such as 2024-07-19"
        raise InvalidField(f"{text[:20]!r} is no day", where="", fix=fix) from None
