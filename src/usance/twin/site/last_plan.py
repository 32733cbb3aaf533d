"""The plan of a run's last month, recomputed: demand as it came, mandates as they were.

A book keeps what the router answered, not the prices it went by. For a run of a packaged scenario
both follow again from the scenario and from what the run kept of that month.
"""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np

from usance.base.array_bytes import unpack
from usance.base.book import Book
from usance.base.columns import arrays
from usance.base.dates import parse_month
from usance.base.errors import UsanceError
from usance.match.plan.demand_file import demand_of
from usance.match.plan.planner import make_plan
from usance.pages.site.book_view import RUN
from usance.pages.site.matching import LastPlan, no_plan
from usance.twin.month.mandates import month_mandates
from usance.twin.run.options import named_scenario
from usance.twin.run.plan import RunPlan
from usance.twin.run.run_context import RunContext
from usance.twin.run.run_totals import RunTotals

MAX_REQUESTS = 20_000
"""A month with more is planned by the run itself, not again for a page."""
_SEGMENT = ("product", "region", "grade", "channel", "months", "amount_minor", "rate_ppm")


def last_plan(book: Book) -> LastPlan:
    """The plan of the last month of a run."""
    file = book.path / RUN
    if not file.exists():
        return no_plan(book)
    run_file = json.loads(file.read_text(encoding="utf-8"))
    month = parse_month(run_file["to"])
    requests = arrays(book.read("requests", list(_SEGMENT), month=month))
    count = len(requests["product"])
    if not 0 < count <= MAX_REQUESTS:
        return LastPlan(month, None, f"The last month has {count:,} requests: no plan is made.")
    try:
        scenario = named_scenario(run_file["scenario"])
    except UsanceError as error:
        return LastPlan(month, None, f"The scenario cannot be read again: {error}")
    scale, first = Fraction(run_file["scale"]), parse_month(run_file["from"])
    if RunPlan(scenario, scale, first, month).key != run_file["key"]:
        return LastPlan(month, None, "The scenario has changed since this run.")
    totals = RunTotals.of(unpack(book.kept(f"checkpoint/run/{month % 2}/driver-book")))
    context = RunContext(scenario, scale)
    mandates = month_mandates(context.institutions, month, totals.released_before)
    demand = demand_of(requests=np.ones(count, np.int64), **requests)
    return LastPlan(month, make_plan(demand.over_period(), mandates))
