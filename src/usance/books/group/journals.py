"""The group's lines as postings: one journal per rule, fact and entity."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from usance.base.arrays import I64
from usance.base.columns import make
from usance.base.dates import to_day
from usance.books.group.lines import GroupLines
from usance.books.journal import CloseHead, JournalKind, line_numbers
from usance.books.statements.ledger import Ledger


def group_postings(lines: GroupLines, head: CloseHead, activity: I64) -> pa.Table:
    """The postings of movements in the group, each on its effective day.

    Opening balances, equity and holdings within the group are translated at the rate of that day.
    """
    order = np.lexsort((lines.account, lines.currency, lines.entity, lines.fact_id, lines.rule))
    rule, fact, entity = (column[order] for column in (lines.rule, lines.fact_id, lines.entity))
    starts = np.ones(len(order), np.bool_)
    starts[1:] = (np.diff(rule) != 0) | (np.diff(fact) != 0) | (np.diff(entity) != 0)
    journal = np.cumsum(starts).astype(np.int64)
    size = len(order)
    return make(
        "postings",
        journal_id=head.first_id(JournalKind.GROUP) + journal,
        line=line_numbers(journal),
        entity=entity, basis=lines.basis[order], tag=lines.tag[order],
        account=lines.account[order], period=np.full(size, head.month),
        effective_on=lines.day[order], rule=rule,
        cell=np.zeros(size, np.int64), loan_id=np.zeros(size, np.int64),
        amount_minor=lines.amount[order], currency=lines.currency[order], fact_id=fact,
        activity=activity[order],
    )  # fmt: skip


def ledger_postings(lines: Ledger, head: CloseHead, activity: I64) -> pa.Table:
    """The postings of amounts made from balances: one journal per rule and entity."""
    order = np.lexsort((lines.account, lines.currency, lines.entity, lines.rule))
    rule, entity = lines.rule[order], lines.entity[order]
    starts = np.ones(len(order), np.bool_)
    starts[1:] = (np.diff(rule) != 0) | (np.diff(entity) != 0)
    journal = np.cumsum(starts).astype(np.int64)
    size = len(order)
    return make(
        "postings",
        journal_id=head.first_id(JournalKind.TAX) + journal,
        line=line_numbers(journal),
        entity=entity, basis=lines.basis[order], tag=lines.tag[order],
        account=lines.account[order], period=np.full(size, head.month),
        effective_on=np.full(size, to_day(head.day)), rule=rule,
        cell=np.zeros(size, np.int64), loan_id=np.zeros(size, np.int64),
        amount_minor=lines.amount[order], currency=lines.currency[order],
        activity=activity[order],
    )  # fmt: skip
