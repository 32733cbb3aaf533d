"""Routes of channels from application to loan: decisions, lines, quotes, drawdowns, loans."""

from __future__ import annotations

from calendar import monthrange
from datetime import date
from typing import Any

from usance.platform.api.calls import Call
from usance.platform.api.errors import RequestError
from usance.platform.api.groups import Group
from usance.platform.api.pages import page
from usance.platform.api.parameters import HISTORY, PAGED, is_month
from usance.platform.api.shapes import (
    Agreement,
    Commission,
    Decision,
    Drawdown,
    Fact,
    Instalment,
    Line,
    Loan,
    Object,
    Page,
    Quote,
    Settlement,
)
from usance.platform.principals import PrincipalKind
from usance.platform.reads.lending.applications import replayed, trace
from usance.platform.reads.lending.commissions import commissions as earned
from usance.platform.reads.loans.documents import agreements
from usance.platform.reads.reading import Reading
from usance.platform.reads.shapes import moment_text

group = Group("Channels", "channel")
LOAN_READERS = ("channel", "institution", "operations", "finance")
READERS = ("channel", "operations", "finance")
FOR_OPERATORS = ("score", "pd_ppm", "grade", "flow_no", "model_no", "line_minor", "inputs")
"""Fields of a decision that its borrower's channel is not told, beside its path."""


async def decision(read: Reading, call: Call) -> Any:
    """A decision with its reasons in the borrower's words; how it was made is for operators."""
    found = await read.decision(call.path["decision"])
    if call.principal.kind is not PrincipalKind.OPERATOR:
        return found
    lender = read.moment.lender
    known = await trace(read.transaction, lender, read.moment.vault, call.path["decision"])
    again = replayed(lender, known)
    more = {name: known[name] for name in FOR_OPERATORS}
    return {**found, **more, "path": again["path"] if again else None}


async def lines(read: Reading, call: Call) -> Any:
    """Lines of a user with what is used of them."""
    rows = await read.lines(call.path["user"], call.query.get("as_of"), call.query.get("known_at"))
    return {**page(rows, call.query, "line"), **_history(read, call)}


async def drawdown(read: Reading, call: Call) -> Any:
    """A drawdown as it stands."""
    return await read.drawdown(call.path["loan"])


async def loan(read: Reading, call: Call) -> Any:
    """A loan as of a day, by what was known at a moment."""
    found = await read.loan(call.path["loan"], call.query.get("as_of"), call.query.get("known_at"))
    return {**found, **_history(read, call)}


async def schedule(read: Reading, call: Call) -> Any:
    """Instalments of a loan: due, paid, waived, outstanding."""
    given = call.path["loan"], call.query.get("as_of"), call.query.get("known_at")
    rows = await read.schedule(*given)
    return {**page(rows, call.query, "no"), **_history(read, call)}


async def facts(read: Reading, call: Call) -> Any:
    """Facts of a loan in the order they were booked."""
    given = call.path["loan"], call.query.get("as_of"), call.query.get("known_at")
    rows = await read.facts(*given)
    return {**page(rows, call.query, "booked_at", "ref"), **_history(read, call)}


async def user_loans(read: Reading, call: Call) -> Any:
    """Loans of a user."""
    rows = await read.user_loans(call.path["user"])
    known = moment_text(read.moment.at)
    return page([{**row, "known_at": known} for row in rows], call.query, "loan")


async def documents(read: Reading, call: Call) -> Any:
    """Documents of a user: the agreements that were accepted, by the hash of what was shown."""
    await read.user(call.path["user"])
    rows = await agreements(read.transaction, call.path["user"])
    return page(rows, call.query, "document")


async def commissions(read: Reading, call: Call) -> Any:
    """Commissions of a month by channel: for first lines, and of interest and fees received."""
    month = call.path["month"]
    if not is_month(month):
        raise RequestError("not_found", "there is nothing here")
    first = date.fromisoformat(f"{month}-01")
    last = first.replace(day=monthrange(first.year, first.month)[1])
    rows = await earned(read.transaction, read.moment.lender, first, last)
    return {**page(rows, call.query, "channel"), "month": month}


def _history(read: Reading, call: Call) -> dict[str, str]:
    """The day and the moment that were read."""
    day = call.query.get("as_of", read.moment.business_date)
    known = call.query.get("known_at", read.moment.at)
    return {"as_of": day.isoformat(), "known_at": moment_text(known)}


group.command("/applications", "application.decide", {201: Decision, 202: Decision})
group.command("/applications/{decision}/review", "application.review",
              {200: Decision, 201: Decision}, needs_session=True)  # fmt: skip
group.read("/applications/{decision}", Decision, decision, scopes=READERS)
group.read("/decisions/{decision}", Decision, decision, scopes=READERS)
group.read("/users/{user}/lines", Page[Line], lines, query={**HISTORY, **PAGED}, scopes=READERS)
group.command("/quotes", "quote.make", {201: Quote})
group.command("/agreements", "agreement.make", {201: Agreement})
group.command("/drawdowns", "drawdown.request", {200: Drawdown, 201: Drawdown, 202: Drawdown})
group.read("/drawdowns/{loan}", Drawdown, drawdown, scopes=READERS)
group.command("/drawdowns/{loan}/withdraw", "drawdown.withdraw", {200: Drawdown})
group.read("/loans/{loan}", Loan, loan, query=HISTORY, scopes=LOAN_READERS)
group.read("/loans/{loan}/schedule", Page[Instalment], schedule, query={**HISTORY, **PAGED},
           scopes=LOAN_READERS)  # fmt: skip
group.read("/loans/{loan}/facts", Page[Fact], facts, query={**HISTORY, **PAGED},
           scopes=LOAN_READERS)  # fmt: skip
group.read("/users/{user}/loans", Page[Loan], user_loans, query=PAGED, scopes=READERS)
group.read("/users/{user}/documents", Page[Object], documents, query=PAGED, scopes=READERS)
group.read("/commissions/{month}", Page[Commission], commissions, query=PAGED,
           scopes=("channel", "finance"))  # fmt: skip
group.command("/loans/{loan}/settlement-quote", "settlement_quote.make", {200: Settlement})
