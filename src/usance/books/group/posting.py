"""Posting of the group's facts: their cumulative lines by a day, in one pass; then their postings.

>>> from datetime import UTC
>>> from usance.books.chart import load_chart
>>> from usance.books.group.entities import parse_entities
>>> from usance.books.group.fact_kinds import GroupFactKind
>>> from usance.books.group.facts import fact
>>> group = parse_entities('''
... currency: CNY
... entities:
...   - {number: 1, name: Example Holding, role: parent}
...   - {number: 2, name: Example Platform, role: platform, owner: 1, tax: 15%}
... ''')
>>> known = datetime(2024, 1, 1, tzinfo=UTC)
>>> paid = fact(
...     1, 2, GroupFactKind.COST_INCURRED, date(2024, 1, 31), known, 5_00, function="marketing"
... )
>>> lines = group_lines([paid], group, date(2024, 1, 31), known)
>>> [(load_chart().by_number[line.account].name, line.amount) for line in lines]
[('accrued', -500), ('marketing', 500)]

Postings are in one journal per rule, fact and entity.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from functools import cache

import numpy as np
import pyarrow as pa

from usance.base.arrays import I64
from usance.base.codes import Currency
from usance.base.columns import make
from usance.base.dates import from_day, to_day
from usance.base.errors import raise_all
from usance.base.parameters import Parameters
from usance.books.group.checks import fact_problems
from usance.books.group.costs import cost_amounts
from usance.books.group.entities import Entities
from usance.books.group.entries import entry_lines
from usance.books.group.exchange_rates import Rates
from usance.books.group.fact_schemas import FACT_SCHEMAS, AmountSign
from usance.books.group.facts import GroupFact, visible_facts
from usance.books.group.funding import funding_amounts
from usance.books.group.instruments import instrument_amounts
from usance.books.group.lines import Amount, GroupLines, Line, Poster, at_historical_rate
from usance.books.group.receivables import LoanFees, receivable_amounts
from usance.books.group.rules import group_rules_of
from usance.books.group.shares import share_amounts
from usance.books.journal import CloseHead, JournalKind, line_numbers
from usance.books.statements.ledger import Ledger


def group_lines(
    facts: Iterable[GroupFact], entities: Entities, day: date, known_at: datetime,
    *, parameters: Parameters | None = None, of_loans: Sequence[LoanFees] = (),
) -> GroupLines:  # fmt: skip
    """The cumulative lines of every fact true by a day and known at a moment.

    `of_loans` are fees of institutions from loans: posted with the loans, provided for here.
    """
    seen = visible_facts(facts, day, known_at)
    raise_all(fact_problems(seen, entities), where="group facts")
    poster = Poster(entities, Rates.of(seen, entities.currency))
    lines = list(entry_lines(seen, poster))
    for amount in _amounts(seen, poster, parameters or _shipped(), day, of_loans):
        lines += poster.lines(amount)
    return GroupLines.of([*lines, *_exchange_results(lines, poster, day)])


@cache
def _shipped() -> Parameters:
    return Parameters.load()


def _amounts(
    facts: Sequence[GroupFact], poster: Poster, parameters: Parameters, day: date,
    of_loans: Sequence[LoanFees],
) -> Iterator[Amount]:  # fmt: skip
    yield from (_plain(each) for each in facts if _is_plain(each))
    yield from funding_amounts(facts, poster.entities, day)
    yield from instrument_amounts(facts, poster.entities, day)
    yield from cost_amounts(facts, poster, day)
    yield from receivable_amounts(facts, parameters, day, of_loans)
    yield from share_amounts(facts, poster, day)


def _is_plain(fact: GroupFact) -> bool:
    schema = FACT_SCHEMAS[fact.kind]
    return not schema.is_computed and schema.amount is not AmountSign.NONE


def _plain(fact: GroupFact) -> Amount:
    """The amount a fact states, with the accounts and entities its detail names."""
    detail = {key: value for key, value in fact.detail.items() if value is not None}
    accounts = {key: value for key, value in detail.items() if isinstance(value, str)}
    places = {key: value for key, value in detail.items() if isinstance(value, int)}
    return Amount(
        fact.kind.label, fact, fact.amount_minor, fact.effective_on, accounts,
        {"to": fact.entity, **places},
    )  # fmt: skip


def _exchange_results(lines: Sequence[Line], poster: Poster, day: date) -> Iterator[Line]:
    """Exchange gains and losses: the value of foreign positions today less their booked value.

    The exchange position of an entity holds, in its own currency, the value of its foreign balances
    when they were booked. Its difference to their value today is the result; after it the position
    equals that value again.
    """
    chart = poster.chart
    position, result = chart["exchange_position"], chart["exchange_result"]
    (rule,) = group_rules_of("exchange_result")
    booked: dict[tuple[int, int, int], int] = {}
    foreign: dict[tuple[int, int, int, int, int, int], int] = {}
    for line in lines:
        own = poster.entities[line.entity].currency
        owner = line.entity, line.basis, line.tag
        if line.currency == own and line.account == position.number:
            booked[owner] = booked.get(owner, 0) + line.amount
        elif line.currency != own and line.account != position.number:
            account = chart.by_number[line.account]
            on = line.day if at_historical_rate(account) else to_day(day)
            key = (*owner, line.account, line.currency, on)
            foreign[key] = foreign.get(key, 0) + line.amount
    worth = dict.fromkeys(booked, 0)
    for (entity, basis, tag, _, currency, on), minor in foreign.items():
        own = poster.entities[entity].currency
        value = poster.rates.convert(minor, Currency(currency), own, from_day(on))
        worth[entity, basis, tag] = worth.get((entity, basis, tag), 0) + value
    for (entity, basis, tag), value in worth.items():
        loss = booked.get((entity, basis, tag), 0) - value
        kept_in = int(poster.entities[entity].currency)
        for account, minor in ((result, loss), (position, -loss)):
            yield Line(rule.number, entity, basis, tag, account.number, kept_in, 0, 0,
                       to_day(day), minor)  # fmt: skip


def group_postings(lines: GroupLines, head: CloseHead, activity: I64) -> pa.Table:
    """The postings of movements in the group, each on its effective day.

    Opening balances, equity and holdings within the group are translated at the rate of that day.
    """
    return _postings(lines, head, JournalKind.GROUP, activity, lines.fact_id, lines.day)


def ledger_postings(lines: Ledger, head: CloseHead, activity: I64) -> pa.Table:
    """The postings of amounts made from balances: one journal per rule and entity."""
    size = len(lines)
    day = np.full(size, to_day(head.day))
    return _postings(lines, head, JournalKind.TAX, activity, np.zeros(size, np.int64), day)


def _postings(
    lines: GroupLines | Ledger, head: CloseHead, kind: JournalKind, activity: I64, fact_id: I64,
    day: I64,
) -> pa.Table:  # fmt: skip
    order = np.lexsort((lines.account, lines.currency, lines.entity, fact_id, lines.rule))
    keys = [column[order] for column in (lines.rule, fact_id, lines.entity)]
    starts = np.ones(len(order), np.bool_)
    starts[1:] = np.any([np.diff(key) != 0 for key in keys], axis=0)
    journal = np.cumsum(starts).astype(np.int64)
    none = np.zeros(len(order), np.int64)
    return make(
        "postings",
        journal_id=head.first_id(kind) + journal,
        line=line_numbers(journal),
        entity=lines.entity[order], basis=lines.basis[order], tag=lines.tag[order],
        account=lines.account[order], period=np.full(len(order), head.month),
        effective_on=day[order], rule=lines.rule[order], cell=none, loan_id=none,
        amount_minor=lines.amount[order], currency=lines.currency[order],
        fact_id=fact_id[order], activity=activity[order],
    )  # fmt: skip
