"""A shard at the opening: its users, their lines, and the loans they have, with all their facts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.ageing import ageing_buckets
from usance.base.arrays import I64
from usance.base.codes import FactKind
from usance.base.columns import make
from usance.base.ids import PER_USER
from usance.loan.batch import States, schedule_columns, start_columns, step_columns, view_columns
from usance.loan.columns import TermColumns
from usance.loan.kernel.arrays import ScheduleColumns
from usance.loan.visible_facts import term_columns
from usance.service.servicing_events import Holders, due_facts
from usance.twin.month.assessment import granted_table, lines_table
from usance.twin.month.dues import DueSums
from usance.twin.month.fact_rows import FactRows
from usance.twin.month.loan_month import fold
from usance.twin.month.loan_terms import loans_table
from usance.twin.month.open_loans import OpenLoans
from usance.twin.month.shard import (
    Pending,
    Shard,
    ShardMonth,
    derived_columns,
    disbursed,
    overdue_users,
    record_worst,
)
from usance.twin.month.special_loans import SpecialLoans
from usance.twin.month.tape import folded_loans, is_closed, tape_rows
from usance.twin.month.users import Users
from usance.twin.run.run_context import RunContext
from usance.world.opening import OpeningLoans
from usance.world.population import month_days

NOON = 12 * 3600
SETTLED_BEFORE_DUE = 15
"""Days before its next due on which a loan was settled early, on average."""


def open_shard(context: RunContext, number: int, *, workers: int | None = None) -> ShardMonth:
    """Draw a shard's users and loans as they stand at the opening."""
    month = context.opening_month
    first, last = context.users_of(number, month)
    users = Users.none(first)
    ids = users.grow(max(last - first + 1, 0))
    opening = context.opening.users(ids)
    users.columns["line_minor"] = opening.line_minor
    users.columns["grade"] = opening.grade.astype(np.int8)
    users.columns["decided"] = opening.approved.astype(np.int16)
    tables = _people(context, ids, users, month)
    drawn = context.opening.loans(ids[opening.borrowed], opening.grade[opening.borrowed])
    loans, facts = _loans(context, drawn, users, month, workers)
    tables |= {"loans": loans, "facts": facts.table(context.zone)}
    count = np.bincount(users.rows(drawn.user), minlength=len(users)).astype(np.int16)
    users.columns["asked"], users.columns["borrowed"] = count, count.copy()
    users["worst"][count > 0] = 0
    users["grade"][(users["decided"] == 0) & (count == 0)] = 0  # nobody has looked at them yet
    return _at_opening(
        context,
        Shard(number, users, OpenLoans.none(), Pending.none(), SpecialLoans.none()),
        loans,
        facts,
        tables,
        workers,
    )


def _people(context: RunContext, ids: I64, users: Users, month: int) -> dict[str, pa.Table]:
    """Users, and the decisions and lines of those approved."""
    world = context.population
    days = world.registered_on(int(ids[0]), int(ids[-1]), month) if len(ids) else np.zeros(0)
    approved = np.flatnonzero(users["line_minor"] > 0)
    own = ids[approved] * PER_USER + 1
    grade = users["grade"][approved].astype(np.int64)
    line, rate = users["line_minor"][approved], context.pricer.rate_ppm(grade)
    when = days[approved].astype(np.int64)
    return {
        "users": users_table(context, ids, days),
        "decisions": granted_table(
            own, when, NOON, grade, line, rate, context.assessor.flow.number, context.zone
        ),
        "lines": lines_table(own, when, NOON, line, rate, context.zone),
    }


def users_table(context: RunContext, ids: I64, days: NDArray[Any]) -> pa.Table:
    """The declared table of users."""
    world = context.population
    return make(
        "users", user_id=ids, registered_on=days.astype(np.int32), channel=world.channel(ids),
        region=world.region(ids), kind=world.kind(ids),
    )  # fmt: skip


def _loans(
    context: RunContext, drawn: OpeningLoans, users: Users, month: int, workers: int | None
) -> tuple[pa.Table, FactRows]:
    """The `loans` table of what was drawn, and every fact of it up to the opening."""
    grade = users["grade"][users.rows(drawn.user)].astype(np.int64)
    oldest = int(drawn.age.max(initial=0))
    spans = np.array([month_days(month - back) for back in range(oldest + 1)])[drawn.age]
    day = np.minimum(spans[:, 0] + drawn.day - 1, spans[:, 1])
    terms = context.pricer.columns(
        source=drawn.source, grade=grade, amount_minor=drawn.amount_minor, months=drawn.months,
        convention=drawn.convention, disbursed_on=day, month=month,
    )  # fmt: skip
    loan_id = drawn.user * PER_USER + drawn.number
    request = {
        "product": drawn.product, "source": drawn.source, "grade": grade,
        "channel": context.population.channel(drawn.user).astype(np.int64),
        "region": context.population.region(drawn.user).astype(np.int64),
    }  # fmt: skip
    own = drawn.user * PER_USER + 1
    # They all borrowed before: what is on the book now is not their first loan.
    loans = loans_table(
        loan_id, own, own, drawn.number + 1, request, terms, context.scenario.currency
    )
    return loans, _facts(context, loans, terms, drawn, month, workers)


def _facts(
    context: RunContext, loans: pa.Table, terms: dict[str, Any], drawn: OpeningLoans, month: int,
    workers: int | None,
) -> FactRows:  # fmt: skip
    """Drawn, paid on their days as far as they are paid, and what fell due by rule since."""
    columns = term_columns(loans)
    loan_id = loans["loan_id"].to_numpy()
    _, last = month_days(month)
    plan = schedule_columns(columns, workers=workers)
    paid = np.minimum(drawn.age - drawn.months_behind, drawn.months)
    paid = np.where(drawn.settled >= 0, drawn.settled, paid)
    owner = np.repeat(np.arange(len(loan_id)), np.diff(plan.offsets))
    nth = np.arange(len(owner)) - plan.offsets[owner]
    rows = np.flatnonzero(nth < paid[owner])
    when = plan.due_on[rows]
    zeros = np.zeros(len(rows), np.int64)
    money = FactRows.of(
        loan_id=loan_id[owner[rows]],
        day=when,
        kind=zeros + int(FactKind.PAID),
        ref=(nth[rows] + 2),
        amount=plan.total[rows],
        arg=zeros + 1,
        booked=zeros + last,
    )
    begun = disbursed(loan_id, terms["disbursed_on"], terms["principal_minor"], booked=last)
    facts = begun.followed_by(money, owner[rows])
    early = _settlements(columns, loan_id, facts, plan, drawn.settled, last)
    overdue = np.flatnonzero(drawn.months_behind > 0)
    through = terms["disbursed_on"].copy()
    np.maximum.at(through, owner[rows], when)
    late = columns.take(overdue)
    owned = facts.of_loans(loan_id[overdue]).merged_with(early.of_loans(loan_id[overdue]))
    states = step_columns(start_columns(late), owned.columns_for(loan_id[overdue]), last)
    due = due_facts(
        States(late, states.values, through[overdue]),
        Holders(terms["model"][overdue], terms["trigger"][overdue]), context.rules(month), last,
        workers=workers,
    )  # fmt: skip
    owner_ids = np.repeat(loan_id[overdue], np.diff(due.facts.offsets))
    by_rule = FactRows.of(
        loan_id=owner_ids, day=due.facts.day, kind=due.facts.kind, ref=due.ref,
        amount=due.facts.amount_minor, arg=due.facts.arg, booked=np.full(len(owner_ids), last),
    )  # fmt: skip
    return facts.merged_with(early, by_rule)


def _settlements(
    terms: TermColumns, loan_id: I64, facts: FactRows, plan: ScheduleColumns, settled: I64,
    booked: int,
) -> FactRows:  # fmt: skip
    """Payments that settled loans early, half-way to the first due that was not paid."""
    rows = np.flatnonzero(settled >= 0)
    due = plan.due_on[plan.offsets[rows] + settled[rows]].astype(np.int32)
    own, ids, zeros = terms.take(rows), loan_id[rows], np.zeros(len(rows), np.int64)
    day = due - SETTLED_BEFORE_DUE
    paid = step_columns(start_columns(own), facts.of_loans(ids).columns_for(ids), booked)
    states = States(own, paid.values, day)
    return FactRows.of(
        loan_id=ids, day=day, kind=zeros + int(FactKind.PAID), ref=settled[rows] + 2,
        amount=view_columns(states, day).column("settlement"), arg=zeros + 1, booked=zeros + booked,
    )  # fmt: skip


def _at_opening(
    context: RunContext,
    shard: Shard,
    table: pa.Table,
    facts: FactRows,
    tables: dict[str, pa.Table],
    workers: int | None,
) -> ShardMonth:
    """Loans at the opening; its month is folded as any other."""
    month = context.opening_month
    first, _ = month_days(month)
    terms = term_columns(table)
    columns: dict[str, Any] = {name: table[name].to_numpy() for name in _PLAIN}
    columns |= {"disbursed_on": terms.disbursed_on, "first_due_on": terms.first_due_on}
    earlier = facts.day < first
    before = step_columns(
        start_columns(terms), facts.where(earlier).columns_for(columns["loan_id"]), first - 1
    )
    seen = view_columns(before, first - 1, workers=workers)
    was_there = terms.disbursed_on < first
    dpd = seen.column("days_past_due")
    owed = np.where(was_there, seen.column("principal_outstanding"), 0)
    loans = OpenLoans.of(
        {**columns, **derived_columns(context, columns), "worst": np.minimum(dpd, 32_767),
         "bucket": np.where(was_there, ageing_buckets(dpd), -1), "dpd": dpd,
         "owed_minor": owed},
        before.values,
    )  # fmt: skip
    live = ~was_there | (owed > 0)
    loans, known = loans.take(live), facts.where(~earlier)
    folded = fold(loans, known, month, context.sources, workers=workers)
    dues = DueSums(context.cells)
    dues.add(folded.dues, loans["cell"], month)
    ends = folded.ends
    tables["tape"] = tape_rows(loans, ends, month)
    shard.loans = folded_loans(folded).take(~is_closed(ends))
    record_worst(shard.users, shard.loans)
    eligible = shard.users.eligible(overdue_users(shard.users, shard.loans), month)
    figures = {"loans": len(table), "facts": len(facts.day), "loan_months": len(loans)}
    return ShardMonth(shard, tables, {}, dues, folded.released, eligible, figures)


_PLAIN = (
    "loan_id", "model", "source", "product", "user_loan_no", "principal_minor", "rate_ppm",
    "coupon_ppm", "instalments", "flat_fee_minor", "guarantee_fee_minor", "convention",
)  # fmt: skip
