"""Routes of closes and of the figures they give: statements, metrics, drill-down."""

from __future__ import annotations

import asyncio
from typing import Any

from usance.platform.api.calls import Call
from usance.platform.api.control_shapes import Close, JobState, Metric, Statements
from usance.platform.api.errors import RequestError
from usance.platform.api.groups import Group
from usance.platform.api.pages import page
from usance.platform.api.parameters import PAGED, TEXT, one_of
from usance.platform.api.shapes import Object, Page
from usance.platform.commands.control.periods import close_answer
from usance.platform.errors import NotFound
from usance.platform.reads.reading import Reading

group = Group("Figures", "finance")
FRAMEWORKS = ("us_gaap", "ifrs")


async def one_close(read: Reading, call: Call) -> Any:
    """A close by its name, such as 2024-07.1, with every control that held."""
    row = await read.transaction.fetchrow(
        "select * from usance.closes where name = $1", call.path["close"]
    )
    if row is None:
        raise NotFound("there is no such close", where="close", fix="See the result of its job")
    return close_answer(row)


async def statements(_read: Reading, call: Call) -> Any:
    """Statements of a closed period."""
    from usance.platform.closing import figures

    framework = call.query.get("framework", FRAMEWORKS[0])
    home = call.platform.home
    return await asyncio.to_thread(figures.statements, home, call.path["period"], framework)


async def metrics(_read: Reading, call: Call) -> Any:
    """Metrics of a closed period, by a dimension if one is given."""
    from usance.platform.closing import figures

    given = call.query
    if "period" not in given:
        raise RequestError("missing_field", "a period is needed", param="query.period",
                           fix="Give a closed period, such as 2024-07")  # fmt: skip
    rows = await asyncio.to_thread(
        figures.metrics, call.platform.home, given["period"], given.get("name", ""),
        given.get("by", ""),
    )  # fmt: skip
    keyed = [{**row, "row": number} for number, row in enumerate(rows, start=1)]
    return page(keyed, given, "row")


async def drill(_read: Reading, call: Call) -> Any:
    """Everything behind a figure of a release, by the address in its table."""
    from usance.platform.closing import figures

    if "address" not in call.query:
        raise RequestError("missing_field", "an address is needed", param="query.address",
                           fix="Give document/statement/line/period")  # fmt: skip
    home, address = call.platform.home, call.query["address"]
    return await asyncio.to_thread(figures.drilled, home, address)


group.command("/closes", "close.request", {202: JobState})
group.read("/closes/{close}", Close, one_close)
group.read("/statements/{period}", Statements, statements, query={"framework": one_of(*FRAMEWORKS)})
group.read("/metrics", Page[Metric], metrics,
           query={"name": TEXT, "period": TEXT, "by": TEXT, **PAGED})  # fmt: skip
group.read("/drill", Object, drill, query={"address": TEXT})
