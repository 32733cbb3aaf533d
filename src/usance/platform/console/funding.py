"""The screen *Funding*: deals, pools, distance to triggers, what is to come, investor reports."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from markupsafe import Markup
from starlette.responses import Response

from usance.base.codes import Currency
from usance.base.errors import UsanceError
from usance.base.rates import PPM
from usance.fund.deal import Scenario
from usance.fund.deal_file import MAX_MULTIPLE
from usance.fund.deal_folder import deal_of_text
from usance.fund.mandate import average_cost_ppm
from usance.fund.payment_date import Distribution, ratio_ppm
from usance.fund.pool_columns import PoolColumns
from usance.fund.pool_strata import strata_of
from usance.fund.projection import Projection
from usance.fund.report_files import report_pdf
from usance.fund.report_tables import InvestorReport
from usance.fund.workbook import report_workbook
from usance.pages.components import text_table
from usance.platform.console.amounts import printed
from usance.platform.console.frame import HOME, Visit, form, language_of, redirect
from usance.platform.console.tasks import buttons
from usance.platform.errors import NotFound, PlatformError
from usance.platform.reads.control import deals as reads
from usance.platform.records.deal_record import held_deal, load_deal, paid_dates, performing_pool

FILES = {"pdf": "application/pdf",
         "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}  # fmt: skip
MULTIPLES = ("default", "prepayment", "recovery")
"""Curves of a projection that the page multiplies, in hundredths."""


async def show(
    visit: Visit, error: str = "", status: int = 200, typed: Mapping[str, str] | None = None,
    found: str = "",
) -> Response:  # fmt: skip
    """Every deal where it stands, and the form to propose one."""
    async with visit.platform.reading(visit.operator.principal) as read:
        records = await reads.deals(read.transaction)
        rows = [reads.deal_answer(each) for each in records]
        average = average_cost_ppm([(each.deal, each.state) for each in records
                                    if not each.is_over])  # fmt: skip
        currency = read.moment.lender.currency
        pending = [each for each in await read.approvals("pending") if
                   each["command"] == "deal.put"]  # fmt: skip
    listed = [
        {"deal": row["deal"], "status": visit.texts[row["status"]], "period": row["period"],
         "periods": row["periods"], "next_on": row["next_on"] or "–",
         "pool": printed(row["pool_minor"], currency),
         "notes": printed(sum(each["balance_minor"] for each in row["classes"]), currency),
         "cost": percent(row["cost_ppm"])}
        for row in rows
    ]  # fmt: skip
    return visit.page(
        "funding", "funding", visit.texts["funding"], status, deals=listed, pending=pending,
        average=percent(average), error=error, typed=typed or {}, found=found,
        key=secrets.token_urlsafe(18),
        may_put=visit.may("deal.put"),
        links={"deal": f"{HOME}/funding/"},
    )  # fmt: skip


async def put(visit: Visit) -> Response:
    """Propose a deal, which waits for a second person; or try whether it can be read."""
    given = await form(visit.request)
    text = given.get("text", "")
    loans = given.get("loans", "").split()
    try:
        if given.get("step") == "test":
            deal, _ = deal_of_text(text, "")
            told = visit.texts["deal_read"].format(deal.name, len(deal.classes), deal.periods)
            return await show(visit, typed=given, found="; ".join([told, *deal.warnings]))
        await visit.do("deal.put",
                                {"text": text, "loans": loans}, key=given.get("key", "")
                                )  # fmt: skip
    except PlatformError as error:
        return await show(visit, str(error), error.http_status, given)
    except UsanceError as error:
        return await show(visit, str(error), 400, given)
    return redirect(f"{HOME}/funding")


async def one(visit: Visit) -> Response:
    """One deal: classes, accounts, triggers, pool, dates that were paid and dates to come."""
    name = visit.request.path_params["deal"]
    asked = {each: _multiple(visit.request.query_params.get(each, "")) for each in MULTIPLES}
    async with visit.platform.reading(visit.operator.principal) as read:
        record = await load_deal(read.transaction, name)
        told = await read.deal(name)
        pool = await performing_pool(read.transaction, await held_deal(read.transaction, record))
        paid = await paid_dates(read.transaction, name)
        times: dict[str, Any] = {f"{each}_hundredths": value for each, value in asked.items()}
        run = await reads.projection(read.transaction, name, Scenario(0, **times))
        currency = read.moment.lender.currency
    classes = [_class_row(each, run, record.row["paid_on"], currency) for each in told["classes"]]
    return visit.page(
        "funding", "deal", name, told=told, classes=classes, asked=asked,
        strata=_strata_rows(pool, currency, visit) if len(pool) else [],
        triggers=[
            {**each, "value": _side(each["value"]), "threshold": _side(each["threshold"]),
             "used_share": "–" if each["used_ppm"] is None else percent(each["used_ppm"])}
            for each in told["triggers"]
        ],
        accounts=[{"account": each["account"], "held": printed(each["held_minor"], currency)}
                  for each in told["accounts"]],
        paid=_rows(paid, currency, visit), to_come=_rows(run.distributions, currency, visit),
        money=lambda minor: printed(minor, currency), percent=percent,
        tasks=buttons(visit, "deal", deal=name, period=str(told["period"] + 1)),
    )  # fmt: skip


def _multiple(text: str) -> int:
    """A multiple in hundredths; what is no number is 100."""
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_MULTIPLE))
    return min(int(text), MAX_MULTIPLE) if is_number else 100


def _class_row(
    given: dict[str, Any], run: Projection, since: date, currency: Currency
) -> dict[str, str]:
    """A class as it stands, and what comes to it."""
    to_come = reads.projected_class(run, given["class"], since)
    life = to_come["average_life_ppm"]
    return {
        "class": given["class"], "rate": percent(given["rate_ppm"]),
        **{key: printed(given[f"{key}_minor"], currency) for key in ("original", "balance", "due")},
        **{f"{key}_to_come": printed(to_come[f"{key}_minor"], currency)
           for key in ("interest", "principal")},
        "life": "–" if life is None else f"{life / PPM:.2f}",
        "short": printed(to_come["short_minor"], currency),
    }  # fmt: skip


def _strata_rows(pool: PoolColumns, currency: Currency, visit: Visit) -> list[dict[str, str]]:
    whole = pool.principal_total_minor
    return [
        {"by": visit.texts[f"by_{each.by}"], "member": each.member, "loans": f"{each.loans:,}",
         "principal": printed(each.principal_minor, currency),
         "share": percent(ratio_ppm(each.principal_minor, whole) or 0)}
        for each in strata_of(pool)
    ]  # fmt: skip


async def report(visit: Visit) -> Response:
    """The investor report of the last date, as a page, a PDF or a workbook."""
    name, kind = visit.request.path_params["deal"], visit.request.query_params.get("format", "")
    async with visit.platform.reading(visit.operator.principal) as read:
        record, rows, made = await reads.report(read.transaction, name, language_of(visit.request))
    if not kind:
        return visit.page("funding", "deal_report", made.title, **report_values(made), files=FILES)
    if kind not in FILES:
        raise NotFound("there is no such format", where="format", fix="Use the links")
    content = report_pdf(made) if kind == "pdf" else report_workbook(
        record.deal, record.terms, rows, language=language_of(visit.request)
    )  # fmt: skip
    headers = {"Content-Disposition": f'attachment; filename="{name}-{rows[-1].period}.{kind}"'}
    return Response(content, 200, headers, FILES[kind])


def report_values(made: InvestorReport) -> dict[str, Any]:
    """The report as its template takes it."""
    tables: list[tuple[str, Markup]] = [
        (table.title,
         text_table(table.headings, table.rows, numbers=table.numbers))
        for table in made.tables
    ]  # fmt: skip
    return {"facts": made.facts, "tables": tables}


def _rows(rows: Sequence[Distribution], currency: Currency, visit: Visit) -> list[dict[str, str]]:
    """Payment dates, a row each: what came in, and what each class got and still has."""
    return [
        {"paid_on": row.paid_on.isoformat(), "status": visit.texts[row.status.value],
         "collected": printed(row.collected_minor, currency),
         "defaulted": printed(row.flows.defaulted_minor, currency),
         "fees": printed(sum(row.fees.values()), currency),
         **{f"{name} {visit.texts['paid']}": printed(
             paid.interest_minor + paid.residual_minor + paid.principal_minor, currency)
            for name, paid in row.classes.items()},
         **{f"{name} {visit.texts['balance']}": printed(paid.balance_minor, currency)
            for name, paid in row.classes.items()}}
        for row in rows
    ]  # fmt: skip


def percent(ppm: int) -> str:
    """A rate as people read it.

    >>> percent(41_500)
    '4.15 %'
    """
    return f"{ppm / 10_000:.2f} %"


def _side(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
