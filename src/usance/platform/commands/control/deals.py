"""Commands of funding: a deal in force, and each of its payment dates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from usance.base.arrays import I64
from usance.base.codes import Currency, parse
from usance.base.dates import format_month, from_day, to_month
from usance.base.errors import UsanceError
from usance.base.stated_fact import StatedFact
from usance.books.group.fact_kinds import GroupFactKind
from usance.fund.deal import Deal, Status
from usance.fund.deal_folder import deal_of_text
from usance.fund.deal_terms import DealTerms
from usance.fund.facts import RAISED, deal_facts, schedule_facts
from usance.fund.held_deal import (
    NO_LOANS,
    Collected,
    DealPool,
    HeldDeal,
    PaidDate,
    close_deal,
    collect,
    cut_off,
    day_of,
    pay_collected,
)
from usance.fund.loan_tables import LoanTables
from usance.fund.mandate import deal_mandate, mandate_text, with_deal
from usance.fund.payment_files import distribution_as_dict
from usance.fund.pool_columns import PoolColumns, eligible
from usance.fund.pool_strata import PoolStratum, strata_of
from usance.fund.projection import project
from usance.fund.remaining_strata import remaining_strata
from usance.fund.replenishment import replenishment
from usance.fund.selection import broken_limits
from usance.fund.state import opening_state
from usance.fund.warranties import refused, restated
from usance.platform.commands.command import DONE, Decided, Moment, act_as_platform
from usance.platform.errors import InvalidField
from usance.platform.mandate_texts import mandates_text
from usance.platform.principals import SYSTEM, Principal
from usance.platform.reads.control.deals import deal_answer
from usance.platform.records.deal_record import (
    NO_FLOWS,
    REASONS,
    DealRecord,
    deal_pool,
    free_loans,
    load_deal,
    loan_tables,
    pool_at,
)
from usance.platform.records.user_record import read_id
from usance.platform.refusals import (
    DateInFuture,
    LoanInDeal,
    NotEligible,
    PeriodNotOpen,
    WrongState,
)
from usance.platform.store.locks import Lock
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    import asyncpg

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
        deal, terms = deal_of_text(command.text, "")
    except UsanceError as error:
        raise InvalidField(str(error), where="body.text", fix="Mend the deal file") from error
    await act_as_platform(transaction)
    await transaction.execute("select pg_advisory_xact_lock($1)", Lock.DEALS)
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
    held = close_deal(deal, terms, pool, moment.at)
    _put_pool(changes, deal.name, None, held.pool)
    facts = [*deal_facts(deal, terms, []), *_schedule(held, pool, deal.closing_on)]
    await _book(transaction, changes, moment, facts)
    changes = await _with_mandate(transaction, changes, moment, held)
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
    if missing := sorted(set(numbers) - set(loans.ids.tolist())):
        await _name_missing(transaction, terms, missing)
    pool = await pool_at(transaction, loans, cut_off(deal, 0))
    if not len(pool):
        raise NotEligible(f"source {terms.source} has no free loan of before {deal.closing_on}",
                          where="body.loans", fix="Let source be that of loans on the balance "
                          "sheet which no deal holds")  # fmt: skip
    fits, refused = eligible(pool, terms.eligibility, deal.name)
    wrong = len(numbers) - int(fits.sum())
    if listed and wrong:
        told = ", ".join(f"{count} by '{name}'" for name, count in refused.items() if count)
        raise NotEligible(f"{wrong} loans are not eligible: {told or 'they owe nothing then'}",
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


async def _book(
    transaction: asyncpg.Connection, changes: WriteSet, moment: Moment, facts: Sequence[StatedFact]
) -> None:
    """Add facts of a deal to those of the next close."""
    from usance.platform.commands.control.in_force import group_fact_row

    number = await transaction.fetchval(
        "select usance.next_ids('group_fact', $1)", max(len(facts), 1)
    )
    for place, each in enumerate(facts):
        changes.add("group_facts", **group_fact_row(
            number + place, moment, entity=each.entity, kind=int(GroupFactKind[each.kind.upper()]),
            effective_on=each.effective_on, amount_minor=each.amount_minor,
            currency=int(parse(Currency, each.currency)), party=each.party, detail=each.detail,
        ))  # fmt: skip


async def _with_mandate(
    transaction: asyncpg.Connection, changes: WriteSet, moment: Moment, held: HeldDeal
) -> WriteSet:
    """The changes with the mandate of a deal that buys loans: two people agreed to its file.

    Its budget is what the deal can still buy until its next date, so nothing from the date on
    which a trigger ended the revolving period.
    """
    from usance.platform.commands.control.in_force import PutMandates, put_mandates

    deal, terms = held.deal, held.terms
    if deal.purchase is None:
        return changes
    before = await mandates_text(transaction, moment.business_date)
    before = before or f"currency: {terms.currency}"
    made = deal_mandate(deal, terms, held.state, deal.paid_on(deal.periods))
    text = with_deal(before, mandate_text(made, terms), moment.business_date, held.next_on)
    put = PutMandates(text, moment.business_date)
    decided = await put_mandates(transaction, SYSTEM, moment, put)
    return WriteSet.joined([changes, decided.changes])


def _schedule(held: HeldDeal, pool: PoolColumns, day: date) -> list[StatedFact]:
    """Principal that the classes are projected to be repaid, on the loans the deal has."""
    strata = remaining_strata(held, pool)
    run = project(held.deal, state=held.state, strata=strata)
    return schedule_facts(held.deal, held.terms, day, run.distributions)


async def pay_deal(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: PayDeal
) -> Decided:
    """Pay a date of a deal from what its loans did; a date that was paid is not paid again."""
    await act_as_platform(transaction)
    await transaction.execute("select pg_advisory_xact_lock($1)", Lock.DEALS)
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
    paid = await _paid(transaction, changes, moment, record)
    held, row = paid.held, paid.row
    made = deal_facts(
        deal, record.terms, [row], held.state if held.is_over else None, held.bought_out,
        moment.lender.platform_entity,
    )  # fmt: skip
    facts = [each for each in made if each.kind != RAISED]
    strata: list[PoolStratum] = []
    if not held.is_over:
        loans = await loan_tables(transaction, held.performing)
        pool = loans.pool(held.until)
        strata = list(strata_of(pool)) if len(pool) else []
        facts += _schedule(held, pool, paid_on)
    changes.put("deal_dates", deal=deal.name, period=row.period, paid_on=row.paid_on,
                holders=list(record.terms.holders), distribution=distribution_as_dict(row),
                strata=[each._asdict() for each in strata])  # fmt: skip
    await _book(transaction, changes, moment, facts)
    if record.state.status is Status.REVOLVING:
        changes = await _with_mandate(transaction, changes, moment, held)
    answer = deal_answer(replace(record, state=held.state, row={
        **record.row, "paid_on": paid_on, "next_on": held.next_on}))  # fmt: skip
    return Decided({**answer, "distribution": distribution_as_dict(row)}, f"deal/{deal.name}", 0,
                   changes, as_platform=True)  # fmt: skip


async def _paid(
    transaction: asyncpg.Connection, changes: WriteSet, moment: Moment, record: DealRecord
) -> PaidDate:
    """The next date of a deal, with the rows that it changes."""
    held = record.held(await deal_pool(transaction, record.deal.name))
    loans = await loan_tables(transaction, held.pool.loan_id)
    days = moment.lender.parameters.at("funding.buy_out", moment.business_date).integer
    gone = await _ineligible(transaction, held, loans, moment)
    collected = collect(held, loans, moment.at, days, ineligible=gone)
    bought = None
    if collected.wanted_minor:
        bought = await _bought(transaction, held, loans, collected)
    paid = pay_collected(held, collected, moment.at, bought)
    after, row, deal = paid.held, paid.row, record.deal
    _put_pool(changes, deal.name, held.pool, after.pool)
    changes.put("deals", **{
        **dict(record.row), "paid_on": row.paid_on, "until": after.until, "known_at": moment.at,
        "next_on": after.next_on, "carried": asdict(after.carried),
        "state": after.state.as_dict(),
    })  # fmt: skip
    return paid


async def _ineligible(
    transaction: asyncpg.Connection, held: HeldDeal, loans: LoanTables, moment: Moment
) -> I64:
    """Loans that were not eligible when they came, as is known by now."""
    found = [NO_LOANS]
    for late, day in restated(held, loans, moment.at):
        found.append(refused(held, await pool_at(transaction, late, day)))
    return np.sort(np.concatenate(found))


async def _bought(
    transaction: asyncpg.Connection, held: HeldDeal, loans: LoanTables, collected: Collected
) -> PoolColumns | None:
    """Loans that a revolving deal takes on a date, within its limits together with those it has."""
    free = await free_loans(transaction, held.terms.source)
    if not len(free):
        return None
    offered = await pool_at(transaction, free, collected.until)
    offered = offered.take(np.flatnonzero(~np.isin(offered["loan_id"], held.pool.loan_id)))
    has = None
    if len(held.performing):
        performing = loans.among(held.performing)
        has = await pool_at(transaction, performing, collected.until, held.deal.name)
    return replenishment(held.deal, held.terms, held.state, collected.wanted_minor, offered, has)


def _put_pool(changes: WriteSet, deal: str, before: DealPool | None, after: DealPool) -> None:
    """The rows of loans that came, defaulted or left."""
    same = np.zeros(len(after), np.bool_)
    if before is not None:
        at = np.searchsorted(after.loan_id, before.loan_id)
        same[at] = (after.to_on[at] == before.to_on) & (
            after.defaulted_on[at] == before.defaulted_on
        )
    reasons = {code: name for name, code in REASONS.items()}
    for row in np.flatnonzero(~same).tolist():
        changes.put(
            "deal_pools", deal=deal, loan_id=int(after.loan_id[row]),
            from_on=from_day(int(after.from_on[row])), to_on=day_of(int(after.to_on[row])),
            price_minor=int(after.price_minor[row]), reason=reasons[int(after.reason[row])],
            defaulted_on=day_of(int(after.defaulted_on[row])),
        )  # fmt: skip
