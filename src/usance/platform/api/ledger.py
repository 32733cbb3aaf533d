"""Routes of the ledger and its figures."""

from __future__ import annotations

from typing import Any

from usance.base.codes import Basis
from usance.books.chart import load_chart
from usance.platform.api.calls import Call
from usance.platform.api.control_shapes import Approval, Journal, TrialBalance
from usance.platform.api.groups import Group
from usance.platform.api.pages import DEFAULT_PAGE, cut, page, read_id_cursor
from usance.platform.api.parameters import HISTORY, MONTH, NUMBER, PAGED, an_id, one_of
from usance.platform.api.shapes import Object, Page
from usance.platform.reads.reading import Reading
from usance.platform.reads.shapes import moment_text

group = Group("Ledger", "finance")


async def accounts(_read: Reading, call: Call) -> Any:
    """Accounts of the chart."""
    rows = [
        {"account": number, "account_name": each.name}
        for number, each in sorted(load_chart().by_number.items())
    ]
    return page(rows, call.query, "account")


async def balances(read: Reading, call: Call) -> Any:
    """Balances of accounts as of a day; debits are above zero."""
    given = call.query
    rows = await read.balances(
        given.get("as_of"), given.get("entity"), given.get("basis"), given.get("known_at")
    )
    return {**page(rows, given, "entity", "basis", "account"), **_history(read, call)}


async def trial_balance(read: Reading, call: Call) -> Any:
    """All balances with the sums of both sides."""
    told = await read.trial_balance(call.query.get("as_of"), call.query.get("known_at"))
    return {**told, **_history(read, call)}


async def journals(read: Reading, call: Call) -> Any:
    """Journals with their lines, in the order of their ids."""
    limit, given = call.query.get("limit", DEFAULT_PAGE), call.query
    after = read_id_cursor(given, "jr")
    rows = await read.journals(
        given.get("loan"), given.get("period"), given.get("rule"), after, limit + 1,
        given.get("as_of"), given.get("known_at"),
    )  # fmt: skip
    return {**cut(rows, limit, "journal"), **_history(read, call)}


async def journal(read: Reading, call: Call) -> Any:
    """One journal."""
    return await read.journal(call.path["journal"])


def _history(read: Reading, call: Call) -> dict[str, str]:
    day = call.query.get("as_of", read.moment.business_date)
    known = call.query.get("known_at", read.moment.at)
    return {"as_of": day.isoformat(), "known_at": moment_text(known)}


group.read("/ledger/accounts", Page[Object], accounts, query=PAGED)
group.read("/ledger/balances", Page[Object], balances,
           query={"entity": NUMBER, "basis": one_of(*(each.label for each in Basis)), **HISTORY,
                  **PAGED})  # fmt: skip
group.read("/ledger/trial-balance", TrialBalance, trial_balance, query=HISTORY)
group.read("/ledger/journals", Page[Journal], journals,
           query={"loan": an_id("ln"), "period": MONTH, "rule": NUMBER, **HISTORY,
                  **PAGED})  # fmt: skip
group.read("/ledger/journals/{journal}", Journal, journal)
group.command("/group-facts", "group_fact.state", {202: Approval})
