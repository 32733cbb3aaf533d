"""The composition of a printed line: accounts by tag and sign, over some days, of some rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date

from usance.base.codes import IfrsAdjustment
from usance.books.chart import load_chart
from usance.books.statements import cash
from usance.books.statements.primary import ATTRIBUTABLE
from usance.disclose.release import exact_amounts as e
from usance.disclose.release.exact_amounts import ExactAmounts, Key, statement_lines
from usance.disclose.release.narrative_figures import ADJUSTED_COMPANY, COMPANY, TAX
from usance.disclose.release.per_share import ADD_SHARE_BASED_COMPENSATION, NET, OPERATING
from usance.disclose.release.rounding import year_start


@dataclass(frozen=True, slots=True)
class AccountEntries:
    """Entries of an account with one tag: up to `day`, or after `before`; of some rules, or all."""

    account: str
    tag: IfrsAdjustment
    sign: int
    day: date
    before: date | None = None
    rules: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class Composition:
    """A line before rounding, and the entries it is the sum of."""

    exact_minor: int
    entries: tuple[AccountEntries, ...]


def line_composition(
    exact: ExactAmounts, statement: str, key: Key, before: date, day: date
) -> Composition | None:
    """The composition of a line, if it is one of accounts; for balances `before` is not used."""
    base = statement.partition(":")[0]
    if base in (e.SHEET, e.SHEET_MATRIX):
        return _balance(exact, statement, key, day)
    if base == e.OPERATIONS_MATRIX:
        return _flow(exact, statement, key, year_start(day), day)
    if base in (e.OPERATIONS, e.COMPREHENSIVE):
        return _flow(exact, statement, key, before, day)
    if base == e.CASH_FLOWS:
        return _cash(exact, key[0], before, day)
    return _adjusted(exact, key, before, day) if base == e.ADJUSTED else None


def narrative_composition(
    exact: ExactAmounts, line: str, parent: str, before: date, day: date
) -> Composition | None:
    """The composition of a narrative figure; income tax is there a charge, with its sign turned."""
    if line.startswith("Non-GAAP "):
        named = f"Non-GAAP {ATTRIBUTABLE}" if line == ADJUSTED_COMPANY else line
        return _adjusted(exact, (named, ""), before, day)
    name = {COMPANY: ATTRIBUTABLE, TAX: "Income taxes expense"}.get(line, line)
    for each in statement_lines(e.OPERATIONS, exact.books.entities):
        if each.line == name and parent in ("", each.parent):
            found = _flow(exact, e.OPERATIONS, each.key, before, day)
            return _turned(found) if line == TAX and found else found
    return None


def _turned(given: Composition) -> Composition:
    entries = tuple(replace(part, sign=-part.sign) for part in given.entries)
    return replace(given, exact_minor=-given.exact_minor, entries=entries)


def _parts(exact: ExactAmounts, statement: str, key: Key, day: date) -> Iterator[AccountEntries]:
    for line in statement_lines(statement, exact.books.entities):
        if line.key == key:
            for name, tag, sign in line.terms:
                yield AccountEntries(name, tag, sign, day)


def _balance(exact: ExactAmounts, statement: str, key: Key, day: date) -> Composition | None:
    amounts = exact.balance_sheet(statement, day)
    if key not in amounts:
        return None
    return Composition(amounts[key], tuple(_parts(exact, statement, key, day)))


def _flow(
    exact: ExactAmounts, statement: str, key: Key, before: date, day: date
) -> Composition | None:
    amounts = exact.flow(statement, before, day)
    if key not in amounts:
        return None
    parts = (replace(part, before=before) for part in _parts(exact, statement, key, day))
    return Composition(amounts[key], tuple(parts))


def _cash(exact: ExactAmounts, line: str, before: date, day: date) -> Composition | None:
    amounts = exact.cash_flows(before, day)
    if line not in amounts:
        return None
    accounts = [account.name for account in load_chart() if account.is_cash]
    if line in e.ACTIVITIES:
        rules = frozenset(e.cash_rules(line))
        parts = [
            AccountEntries(name, IfrsAdjustment.NONE, 1, day, before, rules) for name in accounts
        ]
    elif line == cash.EFFECT:
        parts = []  # what rates did to cash is no entry
    else:
        start = before if line == cash.CHANGE else None
        on = before if line == cash.OPENING_CASH else day
        parts = [AccountEntries(name, IfrsAdjustment.NONE, 1, on, start) for name in accounts]
    return Composition(amounts[line], tuple(parts))


def _adjusted(exact: ExactAmounts, key: Key, before: date, day: date) -> Composition | None:
    line, parent = key
    pay = Composition(exact.share_based_compensation(before, day), tuple(_pay_parts(before, day)))
    if line == ADD_SHARE_BASED_COMPENSATION:
        return pay
    name = (parent or line).removeprefix("Non-GAAP ")
    source = next(
        (each for start, each in _SOURCES.items() if name.lower().startswith(start)), None
    )
    if source is None:
        return None
    found = next(each.key for each in statement_lines(e.OPERATIONS, exact.books.entities)
                 if each.line == source and each.is_total)  # fmt: skip
    own = _flow(exact, e.OPERATIONS, found, before, day)
    if own is None or parent:
        return own
    return Composition(own.exact_minor + pay.exact_minor, (*own.entries, *pay.entries))


_SOURCES = {
    "net income attributable": ATTRIBUTABLE,
    "net income attributed": ATTRIBUTABLE,
    "net income": NET,
    "income from operations": OPERATING,
}


def _pay_parts(before: date, day: date) -> Iterator[AccountEntries]:
    for account in load_chart():
        if not account.kind.on_balance_sheet:
            yield AccountEntries(
                account.name,
                IfrsAdjustment.NONE,
                1,
                day,
                before,
                e.share_based_compensation_rules(),
            )
