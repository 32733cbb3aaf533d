"""Routes of funding: deals, their payment dates, what is to come, reports to their holders."""

from __future__ import annotations

from typing import Any

from usance.fund.deal import Scenario
from usance.platform.api.calls import Call
from usance.platform.api.control_shapes import Approval
from usance.platform.api.funding_shapes import (
    DealDate,
    DealMandate,
    DealPaid,
    DealReport,
    FundingDeal,
    ProjectedDates,
)
from usance.platform.api.groups import Group
from usance.platform.api.pages import page
from usance.platform.api.parameters import NUMBER, PAGED, one_of
from usance.platform.api.shapes import Page
from usance.platform.reads.control import deals as reads
from usance.platform.reads.reading import Reading
from usance.platform.records.deal_record import load_deal

group = Group("Funding", "finance", "control", "institution")
LANGUAGES = ("en", "zh", "both")
MULTIPLES = ("default", "prepayment", "recovery")


async def deals(read: Reading, call: Call) -> Any:
    """Deals by name; an institution sees those whose notes it holds."""
    rows = [reads.deal_answer(each) for each in await reads.deals(read.transaction)]
    return page(rows, call.query, "deal")


async def deal(read: Reading, call: Call) -> Any:
    """One deal: its classes, accounts, and the distance to its triggers."""
    return await read.deal(call.path["deal"])


async def dates(read: Reading, call: Call) -> Any:
    """Payment dates of a deal, line by line as its trustee calculates them."""
    return page(await read.deal_dates(call.path["deal"]), call.query, "period")


async def projection(read: Reading, call: Call) -> Any:
    """Payment dates to come, from where a deal stands and on the loans it has.

    `default`, `prepayment` and `recovery` multiply its curves, in hundredths.
    """
    name = call.path["deal"]
    times = {f"{each}_hundredths": call.query.get(each, 100) for each in MULTIPLES}
    run = await reads.projection(read.transaction, name, Scenario(0, **times))
    return reads.projection_answer(run, (await load_deal(read.transaction, name)).row["paid_on"])


async def mandate(read: Reading, call: Call) -> Any:
    """The mandate of a deal, as matching reads it: what it can still buy, and what it takes."""
    return await reads.mandate(read.transaction, call.path["deal"])


async def report(read: Reading, call: Call) -> Any:
    """The investor report of the last payment date, table by table."""
    language = call.query.get("language", LANGUAGES[0])
    _, _, made = await reads.report(read.transaction, call.path["deal"], language)
    return {
        "title": made.title, "language": made.language,
        "facts": [{"name": name, "value": value} for name, value in made.facts],
        "tables": [{"title": table.title, "headings": list(table.headings),
                    "rows": [list(row) for row in table.rows]} for table in made.tables],
    }  # fmt: skip


group.read("/deals", Page[FundingDeal], deals, query=PAGED)
group.command("/deals", "deal.put", {202: Approval})
group.read("/deals/{deal}", FundingDeal, deal)
group.read("/deals/{deal}/dates", Page[DealDate], dates, query=PAGED)
group.command("/deals/{deal}/dates", "deal.pay", {200: DealPaid, 201: DealPaid},
              scopes=("finance",))  # fmt: skip
group.read("/deals/{deal}/projection", ProjectedDates, projection, scopes=("finance", "control"),
           query=dict.fromkeys(MULTIPLES, NUMBER))  # fmt: skip
group.read("/deals/{deal}/mandate", DealMandate, mandate, scopes=("finance", "control"))
group.read("/deals/{deal}/report", DealReport, report, query={"language": one_of(*LANGUAGES)})
