"""The chart of accounts: statement lines, and the accounts that make each of them up.

>>> chart = load_chart()
>>> chart["stand_ready"].number, chart["stand_ready"].line
(2050, 'Guarantee liabilities-stand ready')
>>> chart.by_number[1010].is_cash
True
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from pathlib import Path

from usance.base.documents import read_text
from usance.base.errors import UsanceError, raise_all, unknown
from usance.base.fields import Fields, fields_of, one_of, text, truth, whole_of
from usance.books.errors import ChartError

SHIPPED = Path(__file__).resolve().parent / "data" / "chart.yaml"
_LAST_NUMBER = 2**15 - 1


class AccountKind(Enum):
    """Element of the statements an account belongs to."""

    ASSET = "asset"
    LIABILITY = "liability"
    EQUITY = "equity"
    INCOME = "income"
    EXPENSE = "expense"

    @property
    def on_balance_sheet(self) -> bool:
        """True if it keeps its balance from year to year."""
        return self in (AccountKind.ASSET, AccountKind.LIABILITY, AccountKind.EQUITY)


@dataclass(frozen=True, slots=True)
class Account:
    """One account: its number for ever, its name, and the line it is published in."""

    name: str
    number: int
    kind: AccountKind
    line: str
    is_cash: bool = False
    is_non_current: bool = False
    """Falls due more than a year after the balance sheet."""
    within_group: bool = False
    """Sums to zero over the entities."""
    related: str = ""
    """The account that takes its place for a related institution."""


@dataclass(frozen=True)
class Chart:
    """Accounts by name."""

    accounts: Mapping[str, Account]

    def __getitem__(self, name: str) -> Account:
        if name not in self.accounts:
            raise _unknown(name, self.accounts)
        return self.accounts[name]

    def __iter__(self) -> Iterator[Account]:
        return iter(self.accounts.values())

    @cached_property
    def by_number(self) -> dict[int, Account]:
        """Accounts by number."""
        return {account.number: account for account in self}

    def of(self, number: int, *, where: str = "") -> Account:
        """The account with a number, or an error that says there is none."""
        if number not in self.by_number:
            raise ChartError(f"there is no account {number}", where=where, fix="See the chart")
        return self.by_number[number]


def _unknown(name: str, names: Mapping[str, object]) -> UsanceError:
    error = unknown("account", name, names)
    return ChartError(error.what, where=error.where, fix=error.fix)


@cache
def load_chart(path: Path = SHIPPED) -> Chart:
    """Read a chart, or raise everything that is wrong with it."""
    document = fields_of(read_text(path), path.name)
    listed = document.inner("accounts")
    accounts = {}
    for name in listed.keys if listed else ():
        given = listed.inner(name) if listed else None
        account = _account(name, given) if given else None
        if account:
            accounts[name] = account
    document.close()
    document.problems += _contradictions(accounts)
    raise_all(document.problems, where=path.name)
    return Chart(accounts)


def _account(name: str, given: Fields) -> Account | None:
    number = given.need("number", whole_of(1, _LAST_NUMBER))
    kind, line = given.need("kind", one_of(AccountKind)), given.need("line", text)
    is_cash, is_non_current = (bool(given.take(key, truth)) for key in ("cash", "non_current"))
    within_group = bool(given.take("within_group", truth))
    related = given.take("related", text) or ""
    given.close()
    if not given.has_needed:
        return None
    return Account(name, number, kind, line, is_cash, is_non_current, within_group, related)


def _contradictions(accounts: Mapping[str, Account]) -> Iterator[UsanceError]:
    seen: dict[int, str] = {}
    for account in accounts.values():
        if account.number in seen:
            what = f"{account.name} and {seen[account.number]} have the number {account.number}"
            yield ChartError(what, where="accounts", fix="Give each its own")
        seen[account.number] = account.name
        if account.related and account.related not in accounts:
            fix = f"Add the account {account.related}"
            yield ChartError(f"{account.name} names no account", where="accounts", fix=fix)
