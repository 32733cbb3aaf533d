"""Search of the console: references of channels and providers, phones, an amount with a day."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from usance.base.codes import Currency
from usance.platform.lender import Lender
from usance.platform.reads.loans.payments import payment_answer
from usance.platform.reads.people.users import users_named, users_of_phone
from usance.platform.security.phones import is_phone
from usance.platform.vault import Vault

if TYPE_CHECKING:
    import asyncpg

SHOWN = 20
_AMOUNT = r"(?P<amount>\d[\d,]*(?:\.\d+)?)"
_DAY = r"(?P<day>\d{4}-\d{2}-\d{2})"
_TOGETHER = (re.compile(rf"{_AMOUNT}\s+{_DAY}"), re.compile(rf"{_DAY}\s+{_AMOUNT}"))


def amount_and_day(text: str, currency: Currency) -> tuple[int, date] | None:
    """The amount and the day that were typed together, in either order.

    >>> amount_and_day("1,234.50 2024-07-01", Currency.CNY)
    (123450, datetime.date(2024, 7, 1))
    >>> amount_and_day("2024-07-01 12.345", Currency.CNY) is None
    True
    """
    found = next(filter(None, (each.fullmatch(text) for each in _TOGETHER)), None)
    if found is None:
        return None
    minor = Decimal(found["amount"].replace(",", "")).scaleb(currency.exponent)
    if minor != minor.to_integral_value() or minor >= 2**53:
        return None
    try:
        return int(minor), date.fromisoformat(found["day"])
    except ValueError:
        return None  # no such day, so no payment of it


async def users_found(
    transaction: asyncpg.Connection, lender: Lender, vault: Vault, text: str
) -> list[dict[str, Any]]:
    """Users of a channel's reference, or of a phone by its blind index."""
    found = await users_named(transaction, lender, vault, text)
    if found or not is_phone(text):
        return found
    return await users_of_phone(transaction, lender, vault, text, SHOWN)


async def payments_named(
    transaction: asyncpg.Connection, lender: Lender, text: str
) -> list[dict[str, Any]]:
    """Payments of a provider's reference, or of an amount and a day."""
    known = amount_and_day(text, lender.currency)
    rows = await transaction.fetch(
        "select p.*, r.payment_id is not null as is_reversed from usance.payments p "
        "left join usance.payment_reversals r using (payment_id) "
        "where (p.provider, p.reference) in (select party, $1 from usance.parties "
        "where kind = 'provider') order by 1 limit $2", text, SHOWN,
    ) if known is None else await transaction.fetch(
        "select p.*, r.payment_id is not null as is_reversed from usance.payments p "
        "left join usance.payment_reversals r using (payment_id) "
        "where p.amount_minor = $1 and p.effective_on = $2 order by 1 limit $3", *known, SHOWN,
    )  # fmt: skip
    return [payment_answer(lender, row, is_reversed=row["is_reversed"]) for row in rows]
