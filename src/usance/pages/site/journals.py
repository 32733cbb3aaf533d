"""Accounts and the journals behind them: a page for each account, each close and rule.

A close posts one journal for each rule, entity and cell. The page of a rule at a close lists them,
and below the loans of the sample that are part of them; the others are one sum,
so every column adds up to what the journals posted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from markupsafe import Markup

from usance.base.arrays import I64
from usance.base.codes import Currency, IfrsAdjustment
from usance.base.ids import print_id
from usance.books.close.closes import CloseRef
from usance.books.group.facts import GroupFact
from usance.books.group.rules import OPENING
from usance.books.journal import JournalKind
from usance.books.statements.ifrs_reconciliation import COLUMN_NAMES, COLUMNS
from usance.pages.components import Row, cell, code, missing, number, section, table, table_row
from usance.pages.numbers import grouped, money, words
from usance.pages.site.book_view import BookView
from usance.pages.site.page import Page, Part
from usance.pages.site.statements import NO_BOOKS

_MAX_FACTS = 40
"""Facts of the group listed on one page; of more only the number is given."""
_TAGS = {tags[0]: COLUMN_NAMES[name] for name, tags in COLUMNS.items() if len(tags) == 1}


def journal_path(close: CloseRef, rule: int) -> str:
    """The page of what a rule posted at a close."""
    return f"/journals/{close.name}-{rule}.html"


def account_pages(view: BookView) -> Iterator[Page]:
    """The list of accounts, every account, and every rule at every close."""
    if view.closed is None:
        yield Page.without("accounts.html", "Accounts", NO_BOOKS)
        return
    yield _accounts(view)
    for account in view.chart:
        yield _account(view, account.number)
    yield from _journals(view)


# Accounts


def _sums(view: BookView, rows: I64) -> dict[tuple[int, int], int]:
    """Amounts in the book's currency by rule and period; the opening has a period of its own."""
    own = rows & (view.postings["currency"] == int(view.currency))
    pairs = np.stack([view.postings["rule"][own], view.postings["period"][own]])
    found, place = np.unique(pairs, axis=1, return_inverse=True)
    totals = np.zeros(found.shape[1], np.int64)
    np.add.at(totals, place.ravel(), view.postings["amount_minor"][own])
    keys = [(rule, period) for rule, period in found.T.tolist()]
    return dict(zip(keys, totals.tolist(), strict=True))


def _accounts(view: BookView) -> Page:
    """Trial balance of the last close: what every account holds, by tag."""
    tags = list(_TAGS)
    columns = view.postings
    rows = []
    kind = None
    own = columns["currency"] == int(view.currency)
    for account in sorted(view.chart, key=lambda each: each.number):
        of_account = own & (columns["account"] == account.number)
        values = [int(columns["amount_minor"][of_account & (columns["tag"] == int(each))].sum())
                  for each in tags]  # fmt: skip
        if not of_account.any():
            continue
        if account.kind is not kind:
            rows.append(section(account.kind.value.capitalize()))
            kind = account.kind
        to = f"/accounts/{account.name}.html"
        cells = [number(view.money(value) if value else "\N{EN DASH}", minor=value, to=to)
                 for value in values]  # fmt: skip
        rows.append(table_row([cell(account.number), cell(words(account.name), to=to),
                        cell(account.line, kind="quiet"), *cells]))  # fmt: skip
    made = table(["no.", "account", "line", *_TAGS.values()], rows, numbers=3)
    lead = f"All entries up to {view.periods[-1].day}, debit positive, in {view.currency.label}."
    return Page("accounts.html", "Accounts", "sections", {"parts": [Part("", made)]}, lead=lead)


def _account(view: BookView, number_: int) -> Page:
    account, columns = view.chart.by_number[number_], view.postings
    of_account = columns["account"] == number_
    parts = []
    for which in IfrsAdjustment:
        rows = of_account & (columns["tag"] == int(which))
        if rows.any():
            made = _movements(view, _sums(view, rows))
            parts.append(Part(_TAGS[which], made, f"tag-{which.label}"))
    # Links from statements lead to every tag, also where nothing is posted.
    empty = [f"tag-{each.label}" for each in IfrsAdjustment
             if not (of_account & (columns["tag"] == int(each))).any()]  # fmt: skip
    foreign = of_account & (columns["currency"] != int(view.currency))
    if not parts:
        parts.append(Part("", missing("No close has posted anything to this account.")))
    if foreign.any():
        parts.append(Part("In other currencies", _foreign(view, foreign)))
    inside = " It sums to zero over the group." if account.within_group else ""
    lead = f"Account {account.number}, {account.kind.value}: {account.line}.{inside}"
    values = {"parts": parts, "anchors": empty}
    crumbs = (("Accounts", "/accounts.html"),)
    name = words(account.name).capitalize()
    return Page(f"accounts/{account.name}.html", name, "account", values, crumbs, lead=lead)


def _movements(view: BookView, sums: Mapping[tuple[int, int], int]) -> Markup:
    """An account from its opening to its end by rule and period."""
    periods = view.periods
    closes = {each.close.month: each.close for each in view.all_periods}
    first = periods[0].close.month
    before = sum(minor for (rule, period), minor in sums.items()
                 if rule == OPENING or period < first)  # fmt: skip
    opening, rows = [], []
    running = before
    for each in periods:
        opening.append(running)
        running += sum(minor for (rule, period), minor in sums.items()
                       if rule != OPENING and period == each.close.month)  # fmt: skip
    rows.append(_balance(view, "opening", opening, _opened(view, sums)))
    for rule in sorted({rule for rule, period in sums if rule != OPENING and period >= first}):
        cells = []
        for each in periods:
            minor = sums.get((rule, each.close.month))
            to = journal_path(closes[each.close.month], rule)
            cells.append(number("\N{EN DASH}") if minor is None
                         else number(view.money(minor), to=to, minor=minor))  # fmt: skip
        name = words(view.amount_of_rule.get(rule, ""))
        rows.append(table_row([cell(f"rule {rule}", kind="quiet"), cell(name), *cells]))
    rows.append(_balance(view, "closing", [*opening[1:], running]))
    return table(["", "what moved", *(each.label for each in periods)], rows, numbers=2)


def _balance(view: BookView, name: str, values: Sequence[int], to: str | None = None) -> Row:
    cells = [
        number(view.money(value), minor=value, to=None if place else to)
        for place, value in enumerate(values)
    ]
    return table_row([cell(name), cell(""), *cells], total=True)


def _opened(view: BookView, sums: Mapping[tuple[int, int], int]) -> str | None:
    """The page of the balances an account began with, if it began with any."""
    closes = {each.close.month: each.close for each in view.all_periods}
    months = [period for rule, period in sums if rule == OPENING]
    return journal_path(closes[months[0]], OPENING) if months else None


def _foreign(view: BookView, rows: I64) -> Markup:
    """Balances in other currencies, each by itself."""
    columns = view.postings
    listed = []
    for currency in np.unique(columns["currency"][rows]).tolist():
        own = Currency(currency)
        minor = int(columns["amount_minor"][rows & (columns["currency"] == currency)].sum())
        listed.append(table_row([cell(own.label), number(money(minor, own.exponent), minor=minor)]))
    return table(["currency", "held"], listed, numbers=1, kind="narrow")


# Journals


def _journals(view: BookView) -> Iterator[Page]:
    columns = view.postings
    for period in view.all_periods:
        of_close = columns["period"] == period.close.month
        for rule in np.unique(columns["rule"][of_close]).tolist():
            rows = np.flatnonzero(of_close & (columns["rule"] == rule))
            yield _rule(view, period.close, rule, rows)


def _rule(view: BookView, close: CloseRef, rule: int, rows: I64) -> Page:
    columns = view.postings
    kinds = {JournalKind(int(each) >> 24 & 15) for each in columns["journal_id"][rows].tolist()}
    name = words(view.amount_of_rule.get(rule, "")).capitalize() or "Entries"
    parts = [Part("Journals", _lines(view, rows))]
    if JournalKind.LOANS in kinds:
        parts.append(Part("Loans behind them", _loans(view, close, rule, rows), "loans"))
    facts = set(columns["fact_id"][rows].tolist()) - {0}
    if facts:
        parts.append(_facts(view, facts))
    lead = f"What rule {rule} posted at close {close.name}, debit positive."
    crumbs = (("Accounts", "/accounts.html"),)
    path = journal_path(close, rule).lstrip("/")
    return Page(path, f"{name}, {close.name}", "sections", {"parts": parts}, crumbs, lead=lead)


def _lines(view: BookView, rows: I64) -> Markup:
    columns, entities = view.postings, view.need_closed.books.entities
    made, last = [], None
    for row in rows.tolist():
        journal = int(columns["journal_id"][row])
        currency = Currency(int(columns["currency"][row]))
        minor = int(columns["amount_minor"][row])
        account = view.chart.by_number[int(columns["account"][row])]
        entity = entities.by_number.get(int(columns["entity"][row]))
        of_cell = view.cells.get(int(columns["cell"][row]), "")
        made.append(table_row([
            cell(print_id("jr", journal) if journal != last else "", kind="quiet"),
            cell(entity.name if entity else str(columns["entity"][row])),
            cell(of_cell if journal != last else ""),
            cell(_TAGS[IfrsAdjustment(int(columns["tag"][row]))], kind="quiet"),
            cell(words(account.name), to=f"/accounts/{account.name}.html"),
            number(money(minor, currency.exponent), minor=minor),
            cell(currency.label, kind="quiet"),
        ], anchor=f"j{journal}" if journal != last else None))  # fmt: skip
        last = journal
    heads = ["journal", "entity", "cell", "framework", "account", "amount", ""]
    return table(heads, made, numbers=[5])


def _loans(view: BookView, close: CloseRef, rule: int, rows: I64) -> Markup:
    """Loans of the sample by account, the others as one, and the sum of all."""
    lines, ids = view.shares.lines(close.close_no, rule)
    accounts = np.unique(view.postings["account"][rows]).tolist()
    owner = ids[lines.row] if len(ids) else ids
    listed, of_sample = [], np.zeros(len(accounts), np.int64)
    for loan in view.loans:
        own = owner == loan
        if own.any():
            amounts = [int(lines.amount[own & (lines.account == each)].sum()) for each in accounts]
            of_sample += np.array(amounts, np.int64)
            name = print_id("ln", loan)
            listed.append(_amounts(view, name, amounts, to=f"/loans/{name}.html"))
    totals = [int(lines.amount[lines.account == each].sum()) for each in accounts]
    others = len(np.unique(owner)) - len(listed)
    if others:
        rest = [total - int(part) for total, part in zip(totals, of_sample, strict=True)]
        listed.append(_amounts(view, f"{grouped(others)} other loans", rest))
    listed.append(_amounts(view, "all loans", totals, total=True))
    names = [words(view.chart.by_number[each].name) for each in accounts]
    return table(["loan", *names], listed, numbers=1)


def _amounts(
    view: BookView, name: str, amounts: Sequence[int], *, total: bool = False,
    to: str | None = None,
) -> Row:  # fmt: skip
    cells = [number(view.money(each), minor=each) for each in amounts]
    return table_row([cell(name, to=to), *cells], total=total)


def _facts(view: BookView, wanted: set[int]) -> Part:
    known: dict[int, GroupFact] = {each.fact_id: each for each in view.need_closed.facts}
    entities = view.need_closed.books.entities
    rows = []
    for fact_id in sorted(wanted & set(known))[:_MAX_FACTS]:
        fact = known[fact_id]
        entity = entities.by_number.get(fact.entity)
        rows.append(table_row([
            cell(fact_id), cell(fact.effective_on.isoformat()), cell(words(fact.kind.label)),
            cell(entity.name if entity else str(fact.entity)),
            number(money(fact.amount_minor, fact.currency.exponent), minor=fact.amount_minor),
            cell(fact.currency.label, kind="quiet"),
            cell(code(fact.detail_json) if fact.detail_json not in ("", "{}") else ""),
        ]))  # fmt: skip
    rest = len(wanted) - len(rows)
    note = f"{grouped(rest)} more." if rest > 0 else ""
    heads = ["fact", "on", "what", "entity", "amount", "", "detail"]
    made = table(heads, rows, numbers=[4])
    return Part("Facts of the group behind them", made, note=note)
