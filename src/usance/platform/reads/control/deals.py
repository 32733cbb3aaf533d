"""Deals as they are answered: where each stands, how far from its triggers, what it will pay."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING, Any

from usance.base.formula_text import formula_text
from usance.fund.deal import Scenario, Trigger
from usance.fund.mandate import deal_mandate, funding_cost_ppm, mandate_text
from usance.fund.payment_date import Distribution
from usance.fund.payment_files import calculation_lines
from usance.fund.pool_strata import PoolStratum
from usance.fund.projection import Projection, project
from usance.fund.remaining_strata import remaining_strata
from usance.fund.report_tables import InvestorReport, investor_report, trigger_value
from usance.fund.results import average_life_ppm
from usance.fund.state import DealState
from usance.platform.errors import NotFound
from usance.platform.records.deal_record import (
    DealRecord,
    held_deal,
    load_deal,
    paid_dates,
    performing_pool,
    record_of,
)

if TYPE_CHECKING:
    import asyncpg

MAX_DEALS = 500


def deal_answer(record: DealRecord) -> dict[str, Any]:
    """The shape of a deal."""
    deal, terms, state = record.deal, record.terms, record.state
    names, next_on = state.names, record.row["next_on"]
    return {
        "deal": deal.name, "kind": terms.kind.value, "status": state.status.value,
        "currency": terms.currency, "source": terms.source,
        "closing_on": deal.closing_on.isoformat(), "period": state.period,
        "periods": deal.periods, "paid_on": record.row["paid_on"].isoformat(),
        "next_on": next_on.isoformat() if next_on else None, "is_over": record.is_over,
        "pool_original_minor": names["pool_original"], "pool_minor": names["pool_end"],
        "defaulted_minor": names["defaulted_to_date"], "cost_ppm": funding_cost_ppm(deal, state),
        "classes": [
            {"class": each.name, "rate_ppm": each.rate_ppm, "original_minor": each.balance_minor,
             "balance_minor": names[f"{each.name}.balance"],
             "due_minor": names[f"{each.name}.due"]}
            for each in deal.classes
        ],
        "accounts": [{"account": name.removeprefix("account."), "held_minor": held}
                     for name, held in names.items() if name.startswith("account.")],
        "triggers": [{"trigger": trigger.name, "at": trigger.at.value, "to": trigger.to.value,
                      **trigger_answer(trigger, state)} for trigger in deal.triggers],
    }  # fmt: skip


def trigger_answer(trigger: Trigger, state: DealState) -> dict[str, Any]:
    """A trigger as it stands: its condition, both sides of it, and how far one is of the other."""
    found = trigger_value(trigger, state)
    return {"condition": formula_text(trigger.when), **found._asdict(), "used_ppm": found.used_ppm}


def date_answer(row: Distribution) -> dict[str, Any]:
    """A payment date, line by line under the names of a trustee's calculation."""
    return {
        "period": row.period, "paid_on": row.paid_on.isoformat(), "status": row.status.value,
        "lines": [{"line": line, "amount_minor": minor}
                  for line, minor in calculation_lines(row).items()],
        "tests": [{"class": name, "oc_ppm": paid.oc_ppm, "ic_ppm": paid.ic_ppm}
                  for name, paid in row.classes.items()],
    }  # fmt: skip


async def deals(transaction: asyncpg.Connection) -> list[DealRecord]:
    """Every deal that the principal sees, by name."""
    rows = await transaction.fetch("select * from usance.deals order by deal limit $1", MAX_DEALS)
    return [record_of(row) for row in rows]


async def deal(transaction: asyncpg.Connection, name: str) -> dict[str, Any]:
    """One deal with the number of its loans."""
    answer = deal_answer(await load_deal(transaction, name))
    row = await transaction.fetchrow(
        "select count(*) as loans, count(defaulted_on) as defaulted from usance.deal_pools "
        "where deal = $1", name,
    )  # fmt: skip
    return {**answer, "loans": row["loans"], "defaulted_loans": row["defaulted"]}


async def dates(transaction: asyncpg.Connection, name: str) -> list[dict[str, Any]]:
    """The payment dates of a deal, in order."""
    await load_deal(transaction, name)
    return [date_answer(row) for row in await paid_dates(transaction, name)]


async def projection(
    transaction: asyncpg.Connection, name: str, scenario: Scenario | None = None
) -> Projection:
    """The dates to come of a deal under a scenario, from where it stands and on its loans."""
    record = await load_deal(transaction, name)
    held = await held_deal(transaction, record)
    strata = remaining_strata(held, await performing_pool(transaction, held))
    return project(record.deal, scenario, state=record.state, strata=strata)


def projection_answer(run: Projection, since: date) -> dict[str, Any]:
    """The shape of a projection: its dates, and what comes to every class."""
    return {
        "dates": [date_answer(row) for row in run.distributions],
        "classes": [projected_class(run, each.name, since) for each in run.deal.classes],
    }


def projected_class(run: Projection, name: str, since: date) -> dict[str, Any]:
    """Payments to a class on the dates to come, their average life, and what stays unpaid."""
    paid = [row.classes[name] for row in run.distributions]
    return {
        "class": name, "principal_minor": sum(each.principal_minor for each in paid),
        "interest_minor": sum(each.interest_minor + each.residual_minor for each in paid),
        "average_life_ppm": average_life_ppm(run, name, since),
        "short_minor": run.short_minor(name),
    }  # fmt: skip


async def mandate(transaction: asyncpg.Connection, name: str) -> dict[str, Any]:
    """The mandate of a deal as a file; nothing to lend once it no longer revolves."""
    record = await load_deal(transaction, name)
    deal = record.deal
    made = deal_mandate(deal, record.terms, record.state, deal.paid_on(deal.periods))
    return {"deal": name, "text": mandate_text(made, record.terms),
            "budget_minor": made.budgets.total_minor, "coupon_ppm": made.coupon_ppm}  # fmt: skip


async def report(
    transaction: asyncpg.Connection, name: str, language: str
) -> tuple[DealRecord, list[Distribution], InvestorReport]:
    """The investor report of the last payment date, with what it was made of."""
    record = await load_deal(transaction, name)
    rows = await paid_dates(transaction, name)
    if not rows:
        raise NotFound(f"{name} has paid no date yet", where="deal",
                       fix=f"See it after {record.row['next_on']}")  # fmt: skip
    kept = await transaction.fetchval(
        "select strata from usance.deal_dates where deal = $1 order by period desc limit 1", name
    )
    strata = [PoolStratum(**each) for each in json.loads(kept)]
    made = investor_report(record.deal, record.terms, rows, record.state, strata, language=language)
    return record, rows, made
