"""A month of one shard: existing loans, new users and their applications, and requests."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.assess.decision.columns import DecisionColumns
from usance.base.arrays import I64
from usance.base.codes import DecisionKind
from usance.base.columns import sort
from usance.base.ids import PER_USER
from usance.base.tables import table
from usance.loan.pricing import month_of
from usance.twin.month.assessment import Inputs, lines_table
from usance.twin.month.dues import DueSums
from usance.twin.month.fact_rows import FactRows
from usance.twin.month.known_at_request import RequestMonth, known_at_requests
from usance.twin.month.loan_month import (
    MONTH_DAYS,
    fold,
    month_pass,
    month_pass_with_faults,
    put_folded,
)
from usance.twin.month.month_arrays import MonthEnd
from usance.twin.month.open_loans import OpenLoans
from usance.twin.month.opening_shard import users_table
from usance.twin.month.shard import (
    Pending,
    Shard,
    ShardMonth,
    new_loans,
    overdue_users,
    owed_by,
    record_worst,
)
from usance.twin.month.special_month import (
    History,
    SpecialMonth,
    add_dues,
    divided,
    special_month,
    with_special,
)
from usance.twin.month.tape import folded_loans, is_closed, tape_rows, with_month_end
from usance.twin.month.timestamps import timestamps
from usance.twin.month.users import Users
from usance.twin.run.run_context import RunContext
from usance.world.demand import TICKET_STEP_MINOR, RequestColumns, requesting_users
from usance.world.population import month_days
from usance.world.providers import are_faulty, duplicates

TableParts = dict[str, list[pa.Table]]


def run_shard_month(
    context: RunContext, shard: Shard, month: int, thresholds: I64, booked: pa.Table | None, *,
    history: History | None = None, workers: int | None = None,
) -> ShardMonth:  # fmt: skip
    """Carry a shard through a month; `booked` are the loans drawn in the month before."""
    dues = DueSums(context.cells)
    late = _late_notices(context, shard, month, dues, workers)
    everyone = _with_booked(context, shard, booked, late.still_open, workers)
    apart = divided(context, shard.special, everyone, month, late.facts.loan_id, history)
    loans, everyone = apart.columns, apart.columns.joined(apart.special.loans)
    users, overdue = shard.users, overdue_users(shard.users, everyone)
    requested = _requested_loans(context, users, month, thresholds, overdue, everyone, workers)
    # As of the first day: the month carries their states on in place.
    asks = np.zeros(len(users), np.bool_)
    asks[requested.rows] = True
    theirs = loans.take(asks[users.rows(loans["loan_id"] // PER_USER)])
    passed = _loan_month(context, loans, month, workers)
    dues.join(passed.dues)
    special = special_month(context, apart, month)
    add_dues(context, month, special, dues)
    tape = tape_rows(loans, passed.ends, month)
    closed = is_closed(passed.ends)
    after = with_month_end(loans, passed.ends)
    ended = after["loan_id"][closed] // PER_USER
    closed[passed.apart] = False
    open_after = after.take(~closed, workers=workers)
    still_open = special.loans.take(~special.is_closed)
    facts = passed.known.with_inserted(late.facts).merged_with(special.facts)
    tables = {"facts": facts.table(context.zone), "tape": tape, "loans": special.rows}
    if len(apart.special):
        tables["tape"] = sort(pa.concat_tables([tape, special.tape]), table("tape"))
    rows: TableParts = {}
    theirs_now = passed.known.of_loans(theirs["loan_id"])
    known = RequestMonth(
        theirs, late.loans_before, late.facts,
        theirs_now.merged_with(passed.coming.owned_by(theirs["loan_id"])),
    )  # fmt: skip
    requests = _requests(context, shard, month, requested, (known, special), rows, workers)
    users["repaid"][users.rows(ended)] = month
    over = special.loans.loans["loan_id"][special.is_closed] // PER_USER
    users["repaid"][users.rows(over)] = month
    record_worst(users, after)
    record_worst(users, special.loans.loans)
    _arrivals(context, shard, month, rows)
    for name, parts in rows.items():
        tables[name] = sort(pa.concat_tables(parts), table(name))
    carried = Shard(shard.number, users, open_after, passed.pending, still_open)
    figures = {
        "loan_months": len(everyone), "facts": len(facts.day),
        "late_notices": len(passed.coming.day), "duplicates": passed.duplicates,
        "asks": len(requested.rows), "requests": len(requests["loan_id"]),
    }  # fmt: skip
    left = open_after.joined(still_open.loans)
    eligible = users.eligible(overdue_users(users, left), month, workers=workers)
    released = passed.released + late.released + special.released
    return ShardMonth(carried, tables, requests, dues, released, eligible, figures)


def _in_month(context: RunContext, loans: OpenLoans, month: int) -> OpenLoans:
    """Loans with the hazards of a month: of the oldest unpaid due, else of its own."""
    if not context.scenario.behaviour.life_event_ppm:
        return loans
    first, _ = month_days(month)
    late = loans["dpd"].astype(np.int64)
    due = np.where(late > 0, month_of(first - 1 - late), month)
    hazard = context.population.hazard_in(loans["loan_id"] // PER_USER, loans["hazard"], due)
    columns = {**loans.columns, "hazard": hazard.astype(np.int32)}
    return OpenLoans(columns, loans.states, loans.watches)


def _with_booked(
    context: RunContext,
    shard: Shard,
    booked: pa.Table | None,
    still_open: NDArray[np.bool_] | None,
    workers: int | None,
) -> OpenLoans:
    """The open loans and those drawn last month; their borrowers have one loan more."""
    has = booked is not None and booked.num_rows
    fresh = new_loans(context, booked) if has else OpenLoans.none()
    rows = shard.users.rows(fresh["loan_id"] // PER_USER)
    np.add.at(shard.users["borrowed"], rows, 1)
    return shard.loans.joined(fresh, still_open, workers=workers)


class LateNotices(NamedTuple):
    """Payments of the month before that are known only now."""

    facts: FactRows
    loans_before: OpenLoans
    """Their loans without them."""
    still_open: NDArray[np.bool_] | None
    """True for each open loan that they do not close, if there are such payments."""
    released: I64
    """Principal they brought back, by source, on the first day."""


def _late_notices(
    context: RunContext, shard: Shard, month: int, dues: DueSums, workers: int | None
) -> LateNotices:
    """Fold loans whose notices come now again, and put them back among the open ones."""
    pending, loans = shard.pending, shard.loans
    released = np.zeros((context.sources + 1, MONTH_DAYS), np.int64)
    if not len(pending.loans):
        return LateNotices(FactRows.none(), OpenLoans.none(), None, released)
    facts = pending.known.with_inserted(pending.late)
    again = fold(pending.loans, facts, month - 1, context.sources, workers=workers)
    before = fold(pending.loans, pending.known, month - 1, context.sources, workers=workers)
    released[:, 0] = (again.released - before.released).sum(axis=1)
    dues.add(pending.dues, pending.loans["cell"], month - 1, sign=-1)
    dues.add(again.dues, pending.loans["cell"], month - 1)
    dues.open = {}
    rows = np.searchsorted(loans["loan_id"], pending.loans["loan_id"])
    loans_before = loans.take(rows)
    loans.put(rows, folded_loans(again))
    still_open = np.ones(len(loans), np.bool_)
    still_open[rows] = ~is_closed(again.ends)
    return LateNotices(pending.late, loans_before, still_open, released)


class LoanMonth(NamedTuple):
    """A month of loans, with those whose payments are known only later."""

    ends: MonthEnd
    known: FactRows
    coming: FactRows
    apart: I64
    """Rows of loans with payments that are coming."""
    pending: Pending
    dues: DueSums
    released: I64
    duplicates: int


def _loan_month(
    context: RunContext, loans: OpenLoans, month: int, workers: int | None
) -> LoanMonth:
    """Carry loans through a month; repeated notices are dropped, late ones kept."""
    scenario = context.scenario
    passed = (month_pass_with_faults if are_faulty(scenario.providers) else month_pass)(
        scenario, _in_month(context, loans, month), month, context.rules(month), context.sources,
        context.cells, workers=workers,
    )  # fmt: skip
    twice = duplicates(scenario, passed.known)
    known = passed.known.with_inserted(twice)
    repeated = len(twice.day) + len(duplicates(scenario, passed.coming).day)
    apart, own = loans.take(passed.apart), known.of_loans(loans["loan_id"][passed.apart])
    # What has to be folded again when the notices come is folded without them for now.
    folded = fold(apart, own, month, context.sources, workers=workers)
    passed.dues.add(folded.dues, apart["cell"], month)
    put_folded(loans, passed.apart, folded, passed.ends)
    pending = Pending(apart, own, passed.coming, folded.dues)
    return LoanMonth(
        passed.ends, known, passed.coming, passed.apart, pending, passed.dues,
        passed.released + folded.released, repeated,
    )  # fmt: skip


def _arrivals(context: RunContext, shard: Shard, month: int, rows_of: TableParts) -> None:
    """Users who register in the month; who applies is decided the same day."""
    users, world = shard.users, context.population
    _, last = context.users_of(shard.number, month)
    ids = users.grow(max(last - users.first - len(users) + 1, 0))
    days = world.registered_on(int(ids[0]), int(ids[-1]), month) if len(ids) else np.zeros(0)
    applying = np.flatnonzero(world.applies(ids))
    own, when = ids[applying], days[applying].astype(np.int64)
    if len(own):
        inputs = context.assessor.application_inputs(own, int(month_days(month)[0]))
        rows, noon = users.rows(own), 12 * 3600
        users["decided"][rows] += 1
        kind = DecisionKind.APPLICATION
        decided = _decide(context, kind, own * PER_USER + 1, when, noon, inputs, rows_of)
        line = np.where(decided.approved, decided.values["line_minor"], 0)
        users["line_minor"][rows] = line
        users["grade"][rows] = decided.values["grade"]
        yes = np.flatnonzero(line > 0)
        rate = context.pricer.rate_ppm(decided.values["grade"])
        rows_of.setdefault("lines", []).append(lines_table(
            own[yes] * PER_USER + 1, when[yes], noon, line[yes], rate[yes], context.zone
        ))  # fmt: skip
    rows_of["users"] = [users_table(context, ids, days)]


def _decide(
    context: RunContext, kind: DecisionKind, ids: I64, day: I64, second: Any, inputs: Inputs,
    rows_of: TableParts,
) -> DecisionColumns:  # fmt: skip
    """Decide every row; the decisions and their inputs are added to the rows."""
    assessor = context.assessor
    decided = assessor.decide(kind, inputs)
    rows_of.setdefault("decisions", []).append(
        assessor.table(kind, ids, day, second, decided, context.zone)
    )
    if context.keeps_inputs:
        rows_of.setdefault("decision_inputs", []).append(assessor.inputs_table(ids, inputs))
    return decided


class RequestedLoans(NamedTuple):
    """Requests of a month by row of users, as of its first day."""

    rows: I64
    ids: I64
    columns: RequestColumns
    amount_minor: I64


def _requested_loans(
    context: RunContext, users: Users, month: int, thresholds: I64, overdue: NDArray[np.int8],
    loans: OpenLoans, workers: int | None,
) -> RequestedLoans:  # fmt: skip
    """Users who ask, and amounts: at most what is available on their lines."""
    rows = requesting_users(
        context.scenario.seed, month, users.first, users["line_minor"], users["borrowed"], overdue,
        users["repaid"], thresholds, workers=workers,
    )  # fmt: skip
    ids = users.first + rows
    drawn = context.requests.of(ids, month)
    available = np.maximum(users["line_minor"][rows] - owed_by(loans, ids), 0)
    whole = available // TICKET_STEP_MINOR * TICKET_STEP_MINOR
    amount = np.where(whole > 0, np.minimum(drawn.amount_minor, whole), drawn.amount_minor)
    return RequestedLoans(rows, ids, drawn, amount)


def _requests(
    context: RunContext,
    shard: Shard,
    month: int,
    requested: RequestedLoans,
    told: tuple[RequestMonth, SpecialMonth],
    rows_of: TableParts,
    workers: int | None,
) -> dict[str, NDArray[Any]]:
    """Requests that the drawdown check approves; all of them are decided.

    Amounts were drawn on the first day; the check knows what was booked since.
    """
    users, world = shard.users, context.population
    rows, ids, drawn, amount = requested
    users["decided"][rows] += 1
    users["asked"][rows] += 1
    decision = ids * PER_USER + users["decided"][rows]
    approved = np.zeros(len(rows), np.bool_)
    if len(rows):
        known = known_at_requests(users, rows, drawn.day, told[0], workers=workers)
        known = with_special(known, ids, drawn.day, told[1], month)
        available = np.maximum(users["line_minor"][rows] - known.used_minor, 0)
        inputs = context.assessor.drawdown_inputs(
            ids, int(month_days(month)[0]), amount, available, known.worst_days, known.overdue_days
        )
        kind = DecisionKind.DRAWDOWN
        decided = _decide(context, kind, decision, drawn.day, drawn.second, inputs, rows_of)
        approved = decided.approved
    grades = len(context.scenario.pricing.rate_ppm)
    grade = np.clip(users["grade"][rows].astype(np.int64), 1, grades)
    columns = {
        "requested_at": timestamps(drawn.day, drawn.second, context.zone),
        "loan_id": ids * PER_USER + users["asked"][rows], "decision_id": decision,
        "product": drawn.product, "amount_minor": amount, "months": drawn.months,
        "rate_ppm": context.pricer.rate_ppm(grade), "grade": grade,
        "region": world.region(ids).astype(np.int64),
        "channel": world.channel(ids).astype(np.int64),
        "convention": drawn.convention, "day": drawn.day,
        "user_loan_no": users["borrowed"][rows].astype(np.int64) + 1,
    }  # fmt: skip
    return {name: values[approved] for name, values in columns.items()}
