"""A month of one shard: existing loans are served, users come and apply, and some ask for money."""

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
from usance.twin.month.assessing import Inputs, lines_table
from usance.twin.month.dues import DueSums
from usance.twin.month.fact_rows import FactRows
from usance.twin.month.known_at_request import Month, known_at_requests
from usance.twin.month.loan_month import (
    MONTH_DAYS,
    fold,
    month_pass,
    month_pass_with_faults,
    put_folded,
)
from usance.twin.month.loan_terms import month_of
from usance.twin.month.moments import moments
from usance.twin.month.month_arrays import MonthEnd
from usance.twin.month.open_loans import OpenLoans
from usance.twin.month.opening_shard import users_table
from usance.twin.month.shard import (
    Pending,
    Served,
    Shard,
    new_loans,
    note_worst,
    overdue_users,
    owed_by,
)
from usance.twin.month.tape import folded_loans, is_closed, tape_rows, with_month_end
from usance.twin.month.users import Users
from usance.twin.run.run_context import Setting
from usance.world.demand import TICKET_STEP_MINOR, Asked, who_asks
from usance.world.population import month_days
from usance.world.providers import are_faulty, duplicates

Made = dict[str, list[pa.Table]]


def serve_shard(
    setting: Setting, shard: Shard, month: int, thresholds: I64, booked: pa.Table | None, *,
    workers: int | None = None,
) -> Served:  # fmt: skip
    """Take a shard through a month; `booked` are the loans drawn in the month before."""
    dues = DueSums(setting.cells)
    heard = _late_notices(setting, shard, month, dues, workers)
    loans = _with_booked(setting, shard, booked, heard.kept, workers)
    users, overdue = shard.users, overdue_users(shard.users, loans)
    wishes = _wishes(setting, users, month, thresholds, overdue, loans, workers)
    # As they stand on the first day: the month takes their states on in place.
    asks = np.zeros(len(users), np.bool_)
    asks[wishes.rows] = True
    theirs = loans.take(asks[users.rows(loans["loan_id"] // PER_USER)])
    went = _lived(setting, loans, month, workers)
    dues.join(went.dues)
    tape = tape_rows(loans, went.ends, month)
    closed = is_closed(went.ends)
    after = with_month_end(loans, went.ends)
    ended = after["loan_id"][closed] // PER_USER
    closed[went.apart] = False
    open_still = after.take(~closed, workers=workers)
    facts = went.known.with_few(heard.late)
    tables = {"facts": facts.table(setting.zone), "tape": tape}
    made: Made = {}
    told = went.known.of_loans(theirs["loan_id"]).and_also(went.coming.among(theirs["loan_id"]))
    lived = Month(theirs, heard.unheard, heard.late, told)
    asked = _requests(setting, shard, month, wishes, lived, made, workers)
    users["repaid"][users.rows(ended)] = month
    note_worst(users, after)
    _arrivals(setting, shard, month, made)
    for name, parts in made.items():
        tables[name] = sort(pa.concat_tables(parts), table(name))
    stays = Shard(shard.number, users, open_still, went.pending)
    figures = {
        "loan_months": len(loans), "facts": len(went.known.day) + len(heard.late.day),
        "late_notices": len(went.coming.day), "duplicates": went.duplicates,
        "asks": len(wishes.rows), "requests": len(asked["loan_id"]),
    }  # fmt: skip
    eligible = users.eligible(overdue_users(users, open_still), month, workers=workers)
    return Served(stays, tables, asked, dues, went.released + heard.back, eligible, figures)


def _in_month(setting: Setting, loans: OpenLoans, month: int) -> OpenLoans:
    """The loans with the hazards of a month: of the oldest due that is unpaid, else of its own."""
    if not setting.scenario.behaviour.life_event_ppm:
        return loans
    first, _ = month_days(month)
    late = loans["dpd"].astype(np.int64)
    due = np.where(late > 0, month_of(first - 1 - late), month)
    hazard = setting.population.hazard_in(loans["loan_id"] // PER_USER, loans["hazard"], due)
    columns = {**loans.columns, "hazard": hazard.astype(np.int32)}
    return OpenLoans(columns, loans.states, loans.watches)


def _with_booked(
    setting: Setting, shard: Shard, booked: pa.Table | None, kept: NDArray[np.bool_] | None,
    workers: int | None,
) -> OpenLoans:  # fmt: skip
    """The open loans and those drawn last month; their borrowers have one loan more."""
    has = booked is not None and booked.num_rows
    fresh = new_loans(setting, booked) if has else OpenLoans.none()
    rows = shard.users.rows(fresh["loan_id"] // PER_USER)
    np.add.at(shard.users["borrowed"], rows, 1)
    return shard.loans.joined(fresh, kept, workers=workers)


class Heard(NamedTuple):
    """Payments of the month before that are known only now."""

    late: FactRows
    unheard: OpenLoans
    """Their loans before."""
    kept: NDArray[np.bool_] | None
    """Which open loans are not over by that, if there are such payments."""
    back: I64
    """What they brought back, by source, on the first day."""


def _late_notices(
    setting: Setting, shard: Shard, month: int, dues: DueSums, workers: int | None
) -> Heard:
    """Loans whose notices come now are folded again, and put back among the open ones."""
    pending, loans = shard.pending, shard.loans
    back = np.zeros((setting.sources + 1, MONTH_DAYS), np.int64)
    if not len(pending.loans):
        return Heard(FactRows.none(), OpenLoans.none(), None, back)
    facts = pending.known.with_few(pending.late)
    again = fold(pending.loans, facts, month - 1, setting.sources, workers=workers)
    before = fold(pending.loans, pending.known, month - 1, setting.sources, workers=workers)
    back[:, 0] = (again.released - before.released).sum(axis=1)
    dues.add(pending.dues, pending.loans["cell"], month - 1, sign=-1)
    dues.add(again.dues, pending.loans["cell"], month - 1)
    dues.open = {}
    rows = np.searchsorted(loans["loan_id"], pending.loans["loan_id"])
    unheard = loans.take(rows)
    loans.put(rows, folded_loans(again))
    kept = np.ones(len(loans), np.bool_)
    kept[rows] = ~is_closed(again.ends)
    return Heard(pending.late, unheard, kept, back)


class Lived(NamedTuple):
    """A month of loans, with those whose payments are known only later."""

    ends: MonthEnd
    known: FactRows
    coming: FactRows
    apart: I64
    """The rows of loans with payments that are coming."""
    pending: Pending
    dues: DueSums
    released: I64
    duplicates: int


def _lived(setting: Setting, loans: OpenLoans, month: int, workers: int | None) -> Lived:
    """Loans through a month; notices that come twice are dropped, those that come late kept."""
    scenario = setting.scenario
    went = (month_pass_with_faults if are_faulty(scenario.providers) else month_pass)(
        scenario, _in_month(setting, loans, month), month, setting.rules(month), setting.sources,
        setting.cells, workers=workers,
    )  # fmt: skip
    twice = duplicates(scenario, went.known)
    known = went.known.with_few(twice)
    again = len(twice.day) + len(duplicates(scenario, went.coming).day)
    rows, dues, released = went.apart, went.dues, went.released
    apart, own = loans.take(rows), known.of_loans(loans["loan_id"][rows])
    # What has to be folded again when the notices come is folded without them for now.
    folded = fold(apart, own, month, setting.sources, workers=workers)
    dues.add(folded.dues, apart["cell"], month)
    put_folded(loans, rows, folded, went.ends)
    pending = Pending(apart, own, went.coming, folded.dues)
    released = released + folded.released
    return Lived(went.ends, known, went.coming, rows, pending, dues, released, again)


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
) -> DecisionColumns:  # fmt: skip
    """Decide every row; the decisions, and what they were made of, are among what was made."""
    assessor = setting.assessor
    decided = assessor.decide(kind, inputs)
    made.setdefault("decisions", []).append(
        assessor.table(kind, ids, day, second, decided, setting.zone)
    )
    if setting.keeps_inputs:
        made.setdefault("decision_inputs", []).append(assessor.inputs_table(ids, inputs))
    return decided


class Asking(NamedTuple):
    """Users who ask in a month, by row, and what for; settled on its first day."""

    rows: I64
    ids: I64
    wish: Asked
    amount_minor: I64


def _wishes(
    setting: Setting, users: Users, month: int, thresholds: I64, overdue: NDArray[np.int8],
    loans: OpenLoans, workers: int | None,
) -> Asking:  # fmt: skip
    """Who asks for how much: no more than their lines have room for, if they have any."""
    rows = who_asks(
        setting.scenario.seed, month, users.first, users["line_minor"], users["borrowed"], overdue,
        users["repaid"], thresholds, workers=workers,
    )  # fmt: skip
    ids = users.first + rows
    wish = setting.wishes.of(ids, month)
    room = np.maximum(users["line_minor"][rows] - owed_by(loans, ids), 0)
    whole = room // TICKET_STEP_MINOR * TICKET_STEP_MINOR
    amount = np.where(whole > 0, np.minimum(wish.amount_minor, whole), wish.amount_minor)
    return Asking(rows, ids, wish, amount)


def _requests(
    setting: Setting, shard: Shard, month: int, asking: Asking, lived: Month, made: Made,
    workers: int | None,
) -> dict[str, NDArray[Any]]:  # fmt: skip
    """Requests that the drawdown check lets through; all of them are decided about.

    What is asked for was settled on the first day; the check knows what was booked since.
    """
    users, world = shard.users, setting.population
    rows, ids, wish, amount = asking
    users["decided"][rows] += 1
    users["asked"][rows] += 1
    decision = ids * PER_USER + users["decided"][rows]
    approved = np.zeros(len(rows), np.bool_)
    if len(rows):
        known = known_at_requests(users, rows, wish.day, lived, workers=workers)
        left = np.maximum(users["line_minor"][rows] - known.used_minor, 0)
        inputs = setting.assessor.drawdown_inputs(
            ids, int(month_days(month)[0]), amount, left, known.worst_days, known.overdue_days
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
