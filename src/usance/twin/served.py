"""A month of one shard: existing loans are served, users come and apply, and some ask for money."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.assess.decision.columns import Decided
from usance.base.codes import DecisionKind
from usance.base.columns import sort
from usance.base.tables import table
from usance.twin.assessing import Inputs, lines_table
from usance.twin.dues import DueSums
from usance.twin.fact_rows import FactRows
from usance.twin.moments import moments
from usance.twin.open_loans import OpenLoans
from usance.twin.opened import users_table
from usance.twin.serving import fold, serve
from usance.twin.setting import Setting
from usance.twin.shard import (
    PER_USER,
    Pending,
    Served,
    Shard,
    new_loans,
    note_worst,
    overdue_users,
    used_minor,
)
from usance.twin.tape import is_closed, stood, tape_rows
from usance.world.asking import TICKET_STEP_MINOR, who_asks
from usance.world.population import month_days
from usance.world.providers import duplicates

I64 = NDArray[np.int64]
Made = dict[str, list[pa.Table]]


def serve_shard(
    setting: Setting, shard: Shard, month: int, thresholds: I64, booked: pa.Table | None, *,
    workers: int | None = None,
) -> Served:  # fmt: skip
    """Take a shard through a month; `booked` are the loans drawn in the month before."""
    loans = _with_booked(setting, shard, booked)
    dues = DueSums(setting.cells)
    loans, late = _late_notices(setting, shard.pending, loans, month, dues, workers)
    users, overdue = shard.users, overdue_users(shard.users, loans)
    used = used_minor(users, loans)
    told = serve(setting.scenario, loans, month, setting.rules(month), workers=workers)
    twice = duplicates(setting.scenario, told)
    told = told.with_few(twice)
    _, last = month_days(month)
    is_known = told.booked <= last
    known, coming = told.where(is_known), told.where(~is_known)
    folded = fold(loans, known, month, setting.sources, workers=workers)
    dues.add(folded.dues, loans["cell"], month)
    tape = tape_rows(loans, folded, month)
    closed = is_closed(folded)
    pending = _pending(loans, known, coming, folded.dues)
    after = stood(folded)
    users["repaid"][users.rows(after["loan_id"][closed] // PER_USER)] = month
    note_worst(users, after)
    open_still = after.take(~closed | np.isin(after["loan_id"], coming.loan_id))
    tables = {"facts": known.with_few(late).table(setting.zone), "tape": tape}
    made: Made = {}
    asked = _requests(setting, shard, month, thresholds, overdue, used, made, workers)
    _arrivals(setting, shard, month, made)
    for name, parts in made.items():
        tables[name] = sort(pa.concat_tables(parts), table(name))
    stays = Shard(shard.number, users, open_still, pending)
    figures = {
        "loan_months": len(loans), "facts": len(known.day) + len(late.day),
        "late_notices": len(coming.day), "duplicates": len(twice.day),
        "requests": len(asked["loan_id"]),
    }  # fmt: skip
    eligible = users.eligible(overdue_users(users, open_still), month)
    return Served(stays, tables, asked, dues, folded.released, eligible, figures)


def _with_booked(setting: Setting, shard: Shard, booked: pa.Table | None) -> OpenLoans:
    """The open loans and those drawn last month; their borrowers have one loan more."""
    if booked is None or not booked.num_rows:
        return shard.loans
    fresh = new_loans(setting, booked)
    rows = shard.users.rows(fresh["loan_id"] // PER_USER)
    np.add.at(shard.users["borrowed"], rows, 1)
    return shard.loans.joined(fresh)


def _late_notices(
    setting: Setting, pending: Pending, loans: OpenLoans, month: int, dues: DueSums,
    workers: int | None,
) -> tuple[OpenLoans, FactRows]:  # fmt: skip
    """Payments of the month before that are known only now: their loans are folded again."""
    if not len(pending.loans):
        return loans, FactRows.none()
    facts = pending.known.with_few(pending.late)
    again = fold(pending.loans, facts, month - 1, setting.sources, workers=workers)
    dues.add(pending.dues, pending.loans["cell"], month - 1, sign=-1)
    dues.add(again.dues, pending.loans["cell"], month - 1)
    dues.open = {}
    fixed = stood(again)
    others = loans.take(~np.isin(loans["loan_id"], fixed["loan_id"]))
    return others.joined(fixed.take(~is_closed(again))), pending.late


def _pending(loans: OpenLoans, known: FactRows, coming: FactRows, dues: I64) -> Pending:
    """What has to be folded again when the notices come."""
    rows = np.flatnonzero(np.isin(loans["loan_id"], coming.loan_id))
    own = known.where(np.isin(known.loan_id, coming.loan_id))
    return Pending(loans.take(rows), own, coming, dues[rows])


def _arrivals(setting: Setting, shard: Shard, month: int, made: Made) -> None:
    """Users who register in the month; who applies is decided the same day."""
    users, world = shard.users, setting.population
    _, last = setting.users_of(shard.number, month)
    ids = users.grow(max(last - users.first - len(users) + 1, 0))
    days = world.registered_on(int(ids[0]), int(ids[-1]), month) if len(ids) else np.zeros(0)
    applying = np.flatnonzero(world.applies(ids))
    own, when = ids[applying], days[applying].astype(np.int64)
    if len(own):
        inputs = setting.assessor.application_inputs(own, int(month_days(month)[0]))
        rows, noon = users.rows(own), 12 * 3600
        users["decided"][rows] += 1
        kind = DecisionKind.APPLICATION
        decided = _decide(setting, kind, own * PER_USER + 1, when, noon, inputs, made)
        line = decided.values["line_minor"]
        users["line_minor"][rows] = line
        users["grade"][rows] = decided.values["grade"]
        yes = np.flatnonzero(line > 0)
        rate = setting.pricer.rate_ppm(decided.values["grade"])
        made.setdefault("lines", []).append(lines_table(
            own[yes] * PER_USER + 1, when[yes], noon, line[yes], rate[yes], setting.zone
        ))  # fmt: skip
    made["users"] = [users_table(setting, ids, days)]


def _decide(
    setting: Setting, kind: DecisionKind, ids: I64, day: I64, second: Any, inputs: Inputs,
    made: Made,
) -> Decided:  # fmt: skip
    """Decide every row; the decisions, and what they were made of, are among what was made."""
    assessor = setting.assessor
    decided = assessor.decide(kind, inputs)
    made.setdefault("decisions", []).append(
        assessor.table(kind, ids, day, second, decided, setting.zone)
    )
    if setting.keeps_inputs:
        made.setdefault("decision_inputs", []).append(assessor.inputs_table(ids, inputs))
    return decided


def _requests(
    setting: Setting, shard: Shard, month: int, thresholds: I64, overdue: NDArray[np.int8],
    used: I64, made: Made, workers: int | None,
) -> dict[str, NDArray[Any]]:  # fmt: skip
    """Requests that the drawdown check lets through; all of them are decided about."""
    users, world = shard.users, setting.population
    rows = who_asks(
        setting.scenario.seed, month, users.first, users["line_minor"], users["borrowed"], overdue,
        users["repaid"], thresholds, workers=workers,
    )  # fmt: skip
    ids = users.first + rows
    wish = setting.wishes.of(ids, month)
    room = np.maximum(users["line_minor"][rows] - used[rows], 0)
    whole = room // TICKET_STEP_MINOR * TICKET_STEP_MINOR
    amount = np.where(whole > 0, np.minimum(wish.amount_minor, whole), wish.amount_minor)
    users["decided"][rows] += 1
    users["asked"][rows] += 1
    decision = ids * PER_USER + users["decided"][rows]
    approved = np.zeros(len(rows), np.bool_)
    if len(rows):
        inputs = setting.assessor.drawdown_inputs(
            ids, int(month_days(month)[0]), amount, room, users["worst"][rows].astype(np.int64)
        )
        kind = DecisionKind.DRAWDOWN
        decided = _decide(setting, kind, decision, wish.day, wish.second, inputs, made)
        approved = decided.approved
    grades = len(setting.scenario.pricing.rate_ppm)
    grade = np.clip(users["grade"][rows].astype(np.int64), 1, grades)
    columns = {
        "requested_at": moments(wish.day, wish.second, setting.zone),
        "loan_id": ids * PER_USER + users["asked"][rows], "decision_id": decision,
        "product": wish.product, "amount_minor": amount, "months": wish.months,
        "rate_ppm": setting.pricer.rate_ppm(grade), "grade": grade,
        "region": world.region(ids).astype(np.int64),
        "channel": world.channel(ids).astype(np.int64),
        "convention": wish.convention, "day": wish.day,
        "user_loan_no": users["borrowed"][rows].astype(np.int64) + 1,
    }  # fmt: skip
    return {name: values[approved] for name, values in columns.items()}
