"""Commands of funding: a deal in force, and each of its payment dates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from usance.base.codes import Currency, parse
from usance.base.dates import format_month, to_month
from usance.base.errors import UsanceError
from usance.base.money import split
from usance.books.group.fact_kinds import GroupFactKind
from usance.fund.deal import Deal, MonthFlows
from usance.fund.deal_terms import DealTerms
from usance.fund.errors import PoolError
from usance.fund.facts import RAISED, DealFact, deal_facts
from usance.fund.loan_collections import period_between
from usance.fund.payment_date import Collections, Distribution, pay_date
from usance.fund.payment_files import distribution_as_dict
from usance.fund.pool_columns import PoolColumns, eligible
from usance.fund.selection import SelectionRules, broken_limits, select_pool
from usance.fund.state import DealState, opening_state
from usance.platform.commands.command import DONE, Decided, Moment, act_as_platform
from usance.platform.deal_record import (
    NO_FLOWS,
    DealRecord,
    cut_off,
    deal_loans,
    free_loans,
    load_deal,
    pool_at,
    read_deal_text,
    views_at,
)
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal
from usance.platform.reads.deals import deal_answer
from usance.platform.refusals import (
    DateInFuture,
    LoanInDeal,
    NotEligible,
    PeriodNotOpen,
    WrongState,
)
from usance.platform.store.write_set import WriteSet
from usance.platform.user_record import read_id

if TYPE_CHECKING:
    import asyncpg

DEAL_LOCK = 1_685_282_156
"""Deals are put in force and paid one after the other."""
MAX_NAMED = 5
_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


@dataclass(frozen=True)
class PutDeal:
    """A deal in force from its closing on, with the loans it takes; all eligible ones if none."""

    text: str
    loans: tuple[Any, ...] = ()


@dataclass(frozen=True)
class PayDeal:
    """The next payment date of a deal."""

    deal: str
    period: int


async def put_deal(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: PutDeal
) -> Decided:
    """Put a deal in force: its loans leave the free ones, its classes are raised."""
    try:
        deal, terms = read_deal_text(command.text)
    except UsanceError as error:
        raise InvalidField(str(error), where="body.text", fix="Mend the deal file") from error
    await act_as_platform(transaction)
    await transaction.execute("select pg_advisory_xact_lock($1)", DEAL_LOCK)
    await _check_closing(transaction, moment, deal)
    pool = await _pool_of(transaction, deal, terms, command.loans)
    state = opening_state(deal)
    row = {
        "deal": deal.name, "text": command.text, "source": terms.source,
        "holders": list(terms.holders), "closing_on": deal.closing_on, "paid_on": deal.closing_on,
        "until": cut_off(deal, 0), "next_on": deal.paid_on(1), "known_at": moment.at,
        "carried": asdict(NO_FLOWS), "state": state.as_dict(),
    }  # fmt: skip
    changes = WriteSet()
    changes.put("deals", **row)
    price = deal.price_minor if deal.price_minor is not None else pool.principal_total_minor
    _hold(changes, deal, pool, deal.closing_on, price, "closing")
    await _book(transaction, changes, moment, deal_facts(deal, terms, []))
    answer = {**deal_answer(DealRecord(deal, terms, state, row)), "loans": len(pool)}
    return Decided(answer, f"deal/{deal.name}", 0, changes, as_platform=True)


async def _check_closing(transaction: asyncpg.Connection, moment: Moment, deal: Deal) -> None:
    """Refuse a deal without a name, one that is there, and a closing that cannot be booked."""
    if not _NAME.fullmatch(deal.name):
        raise InvalidField(f"the deal's name is {deal.name!r}", where="body.text",
                           fix="Give it a name of letters, digits, - and _, such as PLAN1"
                           )  # fmt: skip
    if deal.pool.terms is None:
        raise InvalidField("its pool has flows", where="body.text",
                           fix="Give the terms that its loans are projected by")  # fmt: skip
    if await transaction.fetchval("select true from usance.deals where deal = $1", deal.name):
        raise WrongState(f"{deal.name} is in force already", where="body.text",
                         fix="Give the new deal a name of its own")  # fmt: skip
    if deal.closing_on > moment.business_date:
        raise DateInFuture(f"{deal.name} closes on {deal.closing_on}, and it is "
                           f"{moment.business_date}", where="body.text",
                           fix="Put it in force on the day it closes")  # fmt: skip
    _check_open(moment, deal.closing_on)


def _check_open(moment: Moment, day: date) -> None:
    if to_month(day) not in moment.open_periods:
        raise PeriodNotOpen(f"{format_month(to_month(day))} is not open", where="body.text",
                            fix="Date it into an open period")  # fmt: skip


async def _pool_of(
    transaction: asyncpg.Connection, deal: Deal, terms: DealTerms, listed: Sequence[Any]
) -> PoolColumns:
    """The loans of a deal at its cut-off: free, eligible, within its limits, of its principal."""
    numbers = [read_id(str(each), "ln", "loans") for each in listed]
    loans = await free_loans(transaction, terms.source, numbers)
    if missing := sorted(set(numbers) - {loan.loan_id for loan in loans}):
        await _name_missing(transaction, terms, missing)
    loans = [loan for loan in loans if loan.first["disbursed_on"] < deal.closing_on]
    if not loans:
        raise NotEligible(f"source {terms.source} has no free loan of before {deal.closing_on}",
                          where="body.loans", fix="Let source be that of loans on the balance "
                          "sheet which no deal holds")  # fmt: skip
    pool = await pool_at(transaction, loans, cut_off(deal, 0))
    fits, refused = eligible(pool, terms.eligibility, deal.name)
    fits = fits & (pool["principal_minor"] > 0)
    if listed and not fits.all():
        told = ", ".join(f"{count} by '{name}'" for name, count in refused.items() if count)
        raise NotEligible(f"{int((~fits).sum())} loans are not eligible: {told or 'paid off'}",
                          where="body.loans", fix="Leave them out")  # fmt: skip
    pool = pool.take(np.flatnonzero(fits))
    broken = broken_limits(pool, terms.limits, terms.borrower_minor)
    if broken:
        raise NotEligible(f"the pool breaks its limits: {', '.join(broken)}", where="body.loans",
                          fix="Choose loans with 'usance fund select'")  # fmt: skip
    if pool.principal_total_minor != deal.pool.balance_minor:
        what = f"the loans owe {pool.principal_total_minor}, the file says "
        raise InvalidField(f"{what}{deal.pool.balance_minor}", where="body.text",
                           fix=f"Let pool.balance_minor be {pool.principal_total_minor}"
                           )  # fmt: skip
    return pool


async def _name_missing(
    transaction: asyncpg.Connection, terms: DealTerms, missing: Sequence[int]
) -> None:
    """Refuse loans that a deal holds already, or that are no loans of its source."""
    held = await transaction.fetch(
        "select deal, count(*) as loans from usance.deal_pools "
        "where loan_id = any($1) and to_on is null group by 1 order by 1", list(missing),
    )  # fmt: skip
    if held:
        told = ", ".join(f"{row['loans']} in {row['deal']}" for row in held[:MAX_NAMED])
        raise LoanInDeal(f"loans are in another deal: {told}", where="body.loans",
                         fix="Leave them out: a loan is in one deal")  # fmt: skip
    raise NotEligible(f"{len(missing)} are no open loans of source {terms.source} on the balance "
                      "sheet", where="body.loans", fix="Leave them out")  # fmt: skip


def _hold(
    changes: WriteSet, deal: Deal, pool: PoolColumns, from_on: date, price_minor: int, reason: str,
    to_on: date | None = None,
) -> None:  # fmt: skip
    """Take loans into a deal; what was paid for them is shared by principal."""
    principal = pool["principal_minor"].tolist()
    for number, paid in zip(pool["loan_id"].tolist(), split(price_minor, principal), strict=True):
        changes.put("deal_pools", deal=deal.name, loan_id=number, from_on=from_on, to_on=to_on,
                    price_minor=paid, reason=reason, defaulted_on=None)  # fmt: skip


async def _book(
    transaction: asyncpg.Connection, changes: WriteSet, moment: Moment, facts: Sequence[DealFact]
) -> None:
    """Add facts of a deal to those of the next close."""
    from usance.platform.commands.control import group_fact_row

    number = await transaction.fetchval(
        "select usance.next_ids('group_fact', $1)", max(len(facts), 1)
    )
    for place, each in enumerate(facts):
        changes.add("group_facts", **group_fact_row(
            number + place, moment, entity=each.entity, kind=int(GroupFactKind[each.kind.upper()]),
            effective_on=each.effective_on, amount_minor=each.amount_minor,
            currency=int(parse(Currency, each.currency)), party=each.party, detail=each.detail,
        ))  # fmt: skip


async def pay_deal(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: PayDeal
) -> Decided:
    """Pay a date of a deal from what its loans did; a date that was paid is not paid again."""
    await act_as_platform(transaction)
    await transaction.execute("select pg_advisory_xact_lock($1)", DEAL_LOCK)
    record = await load_deal(transaction, command.deal)
    state, deal = record.state, record.deal
    if command.period <= state.period:
        return Decided(deal_answer(record), f"deal/{deal.name}", 0, WriteSet(), is_new=False,
                       status=DONE, as_platform=True)  # fmt: skip
    if record.is_over or command.period != state.period + 1:
        raise WrongState(f"its next date is {state.period + 1}" if not record.is_over else
                         f"{deal.name} has ended", where="body.period",
                         fix="Pay the dates of a deal in their order")  # fmt: skip
    paid_on: date = record.row["next_on"]
    if paid_on > moment.business_date:
        raise DateInFuture(f"the date is {paid_on}, and it is {moment.business_date}",
                           where="body.period", fix="Pay it on its day")  # fmt: skip
    _check_open(moment, paid_on)
    changes = WriteSet()
    after, row = await _paid(transaction, changes, moment, record)
    is_over = after.is_called or after.period == deal.periods
    facts = [each for each in deal_facts(deal, record.terms, [row], after if is_over else None)
             if each.kind != RAISED]  # fmt: skip
    await _book(transaction, changes, moment, facts)
    answer = deal_answer(replace(record, state=after, row={
        **record.row, "paid_on": paid_on, "next_on": None if is_over else deal.paid_on(
            after.period + 1)}))  # fmt: skip
    return Decided({**answer, "distribution": distribution_as_dict(row)}, f"deal/{deal.name}", 0,
                   changes, as_platform=True)  # fmt: skip


async def _paid(
    transaction: asyncpg.Connection, changes: WriteSet, moment: Moment, record: DealRecord
) -> tuple[DealState, Distribution]:
    """The state after the next date and the date, with the rows that they change."""
    deal, state = record.deal, record.state
    until = cut_off(deal, state.period + 1)
    held, loans = await deal_loans(transaction, deal.name)
    gone = np.array([each.defaulted_on is not None for each in held], np.bool_)
    before = views_at(loans, record.row["until"], record.row["known_at"])
    made = period_between(before, views_at(loans, until), gone)
    flows, carried = _not_below_zero(made.collections.flows + record.carried)
    collections = Collections(flows, made.collections.pool_end_minor)
    bought = await _bought(transaction, record, collections, until)
    if deal.purchase is not None:
        supply = bought.principal_total_minor if bought is not None else 0
        deal = replace(deal, purchase=replace(deal.purchase, supply_minor=(supply,)))
    after, row = pay_date(deal, state, collections, record.row["next_on"])
    is_over = after.is_called or after.period == deal.periods
    if row.bought_minor and bought is not None:
        _hold(changes, deal, bought, row.paid_on, row.cost_minor, "purchase",
              row.paid_on if is_over else None)  # fmt: skip
    for each, has_gone in zip(held, made.defaulted.tolist(), strict=True):
        falls = has_gone and each.defaulted_on is None
        if falls or is_over:
            changes.put("deal_pools", deal=deal.name, loan_id=each.loan_id,
                        from_on=deal.closing_on, to_on=row.paid_on if is_over else None,
                        price_minor=0, reason="closing",
                        defaulted_on=until if falls else each.defaulted_on)  # fmt: skip
    changes.put("deals", **{
        **dict(record.row), "paid_on": row.paid_on, "until": until, "known_at": moment.at,
        "next_on": None if is_over else deal.paid_on(after.period + 1),
        "carried": asdict(carried), "state": after.as_dict(),
    })  # fmt: skip
    changes.put("deal_dates", deal=deal.name, period=row.period, paid_on=row.paid_on,
                holders=list(record.terms.holders), distribution=distribution_as_dict(row)
                )  # fmt: skip
    return after, row


def _not_below_zero(flows: MonthFlows) -> tuple[MonthFlows, MonthFlows]:
    """Flows of a period, and what of them is below zero: the next one bears it."""
    parts = asdict(flows)
    return (
        MonthFlows(**{name: max(minor, 0) for name, minor in parts.items()}),
        MonthFlows(**{name: min(minor, 0) for name, minor in parts.items()}),
    )


async def _bought(
    transaction: asyncpg.Connection, record: DealRecord, collections: Collections, until: date
) -> PoolColumns | None:
    """Loans that a revolving deal takes on a date, within its limits together with those it has."""
    deal, terms = record.deal, record.terms
    if deal.purchase is None:
        return None
    _, wanted = pay_date(deal, record.state, collections, record.row["next_on"])
    free = await free_loans(transaction, terms.source) if wanted.bought_minor else []
    free = [loan for loan in free if loan.first["disbursed_on"] <= until]
    if not free:
        return None
    offered = await pool_at(transaction, free, until)
    fits, _ = eligible(offered, terms.eligibility, deal.name)
    offered = offered.take(np.flatnonzero(fits & (offered["principal_minor"] > 0)))
    held, loans = await deal_loans(transaction, deal.name)
    performing = [loan for loan, each in zip(loans, held, strict=True) if not each.defaulted_on]
    has = await pool_at(transaction, performing, until, deal.name) if performing else None
    rules = SelectionRules(
        wanted.bought_minor, terms.limits, seed=record.state.period,
        borrower_minor=terms.borrower_minor, held=has,
    )  # fmt: skip
    try:
        return offered.take(select_pool(offered, rules).rows) if len(offered) else None
    except PoolError:  # what is offered keeps no limit: the money waits for the next date
        return None
