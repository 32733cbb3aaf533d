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
