"""The control of a close: live postings of a period come to its movement, rule by rule.

Amounts that follow from facts alone are posted twice: live with each fact, and by the close from
all facts it knows of. Both have to be the same for every rule, entity and account.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from usance.base.book import Book
from usance.base.columns import arrays
from usance.base.errors import UsanceError
from usance.books.chart import load_chart
from usance.books.close.closes import CloseRef, previous_close
from usance.platform.commands.money.clearing import CLEARING_RULES
from usance.platform.errors import LedgerDiffers
from usance.platform.ledger.fact_postings import FACT_RULES

if TYPE_CHECKING:
    import asyncpg


class LedgerKey(NamedTuple):
    """A place of the ledger that both sides have a sum for."""

    rule: int
    entity: int
    basis: int
    account: int


async def ledger_differences(
    connection: asyncpg.Connection, book: Book, close: CloseRef
) -> list[UsanceError]:
    """Sums of live postings that are not those of a close; none if the ledger is whole.

    The first close of a ledger closes everything before it too.
    """
    before = previous_close(book, close)
    first = 0 if before is None else before.month + 1
    rows = await connection.fetch(
        "select p.rule, p.entity, p.basis, p.account, sum(p.amount_minor)::bigint as amount "
        "from usance.postings p join usance.journals j using (journal_id) "
        "where j.close_no = 0 and p.period between $1 and $2 group by 1, 2, 3, 4",
        first, close.month,
    )  # fmt: skip
    live = Counter({
        LedgerKey(*tuple(row)[:4]): row["amount"]
        for row in rows
        if row["rule"] not in CLEARING_RULES
    })  # fmt: skip
    return list(differences(live, _of_close(book, close), close))


def _of_close(book: Book, close: CloseRef) -> Counter[LedgerKey]:
    columns = arrays(book.read("postings", folder=close.folder))
    sums: Counter[LedgerKey] = Counter()
    names = ("rule", "entity", "basis", "account", "amount_minor")
    for *place, amount in zip(*(columns[name].tolist() for name in names), strict=True):
        if place[0] in FACT_RULES:
            sums[LedgerKey(*place)] += amount
    return sums


def differences(
    live: Counter[LedgerKey], closed: Counter[LedgerKey], close: CloseRef
) -> list[UsanceError]:
    """Every place where two ledgers differ, the largest difference first.

    >>> close, place = CloseRef(654, 1), LedgerKey(102, 1, 0, 1054)
    >>> [found] = differences(Counter({place: 120}), Counter({place: 100}), close)
    >>> print(found.what)
    live postings of rule 102 come to 120, the close has 100
    """
    chart = load_chart().by_number
    keys = [each for each in live.keys() | closed.keys() if live[each] != closed[each]]
    return [
        LedgerDiffers(
            f"live postings of rule {each.rule} come to {live[each]}, the close has {closed[each]}",
            where=f"{close.name}, entity {each.entity}, account {chart[each.account].name}",
            fix="Compare the loans of that rule: usance books loan, GET /v1/ledger/journals?rule=",
        )
        for each in sorted(keys, key=lambda each: (-abs(live[each] - closed[each]), each))
    ]
