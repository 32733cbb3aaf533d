"""The month of all loans of a shard that had an incident, and what requests know of them.

They leave the columns when they have their first incident, and are served one by one; their rows of
the tape and their dues are read off a replay, as those of any book.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.codes import Status
from usance.base.columns import arrays, arrow_schema, sort
from usance.base.dates import from_day, to_day
from usance.base.ids import PER_USER
from usance.base.tables import table
from usance.loan.pricing import month_of
from usance.measure.book_tape import COLLECTION_DAYS, dues_between, tape_month
from usance.measure.positions import Portfolio
from usance.twin.month.collection_effect import effect_of
from usance.twin.month.dues import DueSums
from usance.twin.month.fact_rows import FactRows
from usance.twin.month.known_at_request import KnownHistory
from usance.twin.month.loan_month import MONTH_DAYS
from usance.twin.month.loan_terms import cells_table
from usance.twin.month.month_kernel import W_DAY
from usance.twin.month.open_loans import OpenLoans
from usance.twin.month.special_loans import SpecialLoans, fact_rows, owners, stored_facts
from usance.twin.month.special_servicing import ServedMonth, SpecialLoan, holder_of, serve
from usance.twin.run.run_context import RunContext
from usance.world.behaviour import behaviour_inputs
from usance.world.incidents import Incident, incidents
from usance.world.population import month_days

History = Callable[[I64], tuple[pa.Table, pa.Table]]
"""Rows of `loans` and `facts` of some loans up to a month's beginning."""
OWN, LATER = ("due", "overdue", "first"), ("collected30", "first_unpaid7", "first_unpaid30")
CONTINUED = -2
"""In the place of a watched due: the loan was served by itself a month ago already."""
_WORST = np.iinfo(np.int16).max


class Divided(NamedTuple):
    """Loans in columns, and those served one by one, with the incident of each."""

    columns: OpenLoans
    special: SpecialLoans
    incident: NDArray[np.int8]


def divided(
    context: RunContext, special: SpecialLoans, loans: OpenLoans, month: int, waiting: I64,
    history: History | None,
) -> Divided:  # fmt: skip
    """Take the loans out of the columns that have an incident in a month.

    Loans that wait for a late notice have none.
    """
    given, seed = context.scenario.incidents, context.scenario.seed
    if not given.are_any or history is None:
        return Divided(loans, special, np.zeros(len(special), np.int8))
    found = incidents(seed, given, month, loans["loan_id"], loans["dpd"] > 0)
    enters = (found != Incident.NONE) & ~np.isin(loans["loan_id"], waiting)
    if enters.any():
        rows, facts = history(loans["loan_id"][enters])
        special = special.joined(SpecialLoans(loans.take(enters), rows, stored_facts(facts)))
        loans = loans.take(~enters)
    held = special.loans
    return Divided(loans, special, incidents(seed, given, month, held["loan_id"], held["dpd"] > 0))


@dataclass(frozen=True)
class SpecialMonth:
    """A month of these loans."""

    loans: SpecialLoans
    """All of them at the month's end."""
    facts: FactRows
    """Facts that the month has added."""
    rows: pa.Table
    """New versions of terms."""
    tape: pa.Table
    released: I64
    single_loans: list[SpecialLoan]
    worst_before: NDArray[np.int16]
    watched: I64
    """Due day that the columns still watched, -1 for none; or `CONTINUED`."""

    @property
    def is_closed(self) -> NDArray[np.bool_]:
        """True for each that is closed."""
        found: NDArray[np.bool_] = self.tape["status"].to_numpy() == int(Status.CLOSED)
        return found


def special_month(context: RunContext, given: Divided, month: int) -> SpecialMonth:
    """Serve every loan by itself, and read the month off what it came to."""
    special, loans = given.special, given.special.loans
    if not len(special):
        nothing = arrow_schema(table("tape")).empty_table()
        released = np.zeros((context.sources + 1, MONTH_DAYS), np.int64)
        return SpecialMonth(special, FactRows.none(), special.rows, nothing, released, [],
                            loans["worst"], loans.watches[:, W_DAY])  # fmt: skip
    inputs = behaviour_inputs(context.scenario, month, partial(effect_of, context.scenario))
    this_month = ServedMonth(context.scenario, inputs, context.rules(month))
    triggers = zip(loans["model"].tolist(), loans["trigger"].tolist(), strict=True)
    single_loans = [
        SpecialLoan(rows, facts, holder_of(*holder), int(own), Incident(what))
        for rows, facts, holder, own, what in zip(
            special.versions(), special.known(), triggers, loans["hazard"].tolist(),
            given.incident.tolist(), strict=True,
        )
    ]  # fmt: skip
    _shake(context, single_loans, month)
    for each in single_loans:
        serve(each, this_month)
    added = fact_rows({each.loan_id: each.added for each in single_loans})
    new = [row for each in single_loans for row in each.new_rows]
    rows = pa.Table.from_pylist(new, special.rows.schema)
    whole = SpecialLoans(
        loans, sort(pa.concat_tables([special.rows, rows]), table("loans")),
        special.facts.merged_with(added),
    )  # fmt: skip
    tape = _tape(context, whole, month)
    return SpecialMonth(
        replace(whole, loans=_at_end(loans, tape, single_loans, this_month)), added, rows, tape,
        _released(context, single_loans, loans, this_month), single_loans, loans["worst"],
        loans.watches[:, W_DAY],
    )  # fmt: skip


def _shake(context: RunContext, single_loans: list[SpecialLoan], month: int) -> None:
    """Give loans the hazards of a month: of the oldest unpaid due, else of its own."""
    if not context.scenario.behaviour.life_event_ppm:
        return
    first, _ = month_days(month)
    oldest = np.array([each.oldest_due(first - 1) for each in single_loans], np.int64)
    due = np.where(oldest >= first - 1, month, month_of(np.minimum(oldest, first)))
    users = np.array([each.loan_id // PER_USER for each in single_loans], np.int64)
    own = np.array([each.hazard for each in single_loans], np.int64)
    for each, hazard in zip(
        single_loans, context.population.hazard_in(users, own, due), strict=True
    ):
        each.hazard = int(hazard)


def _portfolio(context: RunContext, loans: SpecialLoans) -> Portfolio:
    return Portfolio.of(loans.rows, loans.facts.table(context.zone))


def _tape(context: RunContext, loans: SpecialLoans, month: int) -> pa.Table:
    cells = cells_table(context.institutions)
    return sort(tape_month(_portfolio(context, loans), month, cells), table("tape"))


def _at_end(
    loans: OpenLoans, tape: pa.Table, single_loans: list[SpecialLoan], month: ServedMonth
) -> OpenLoans:
    """The columns of the loans at the month's end."""
    ends, span = arrays(tape), month.span
    worst = [each.worst(span.first, span.last) for each in single_loans]
    columns = {
        **loans.columns, "bucket": ends["bucket"], "dpd": ends["dpd"],
        "owed_minor": ends["principal_minor"],
        "worst": np.maximum(loans["worst"], np.minimum(worst, _WORST)).astype(np.int16),
    }  # fmt: skip
    watches = np.zeros_like(loans.watches)
    watches[:, W_DAY] = CONTINUED
    return OpenLoans(columns, loans.states, watches)


def _released(
    context: RunContext, single_loans: list[SpecialLoan], loans: OpenLoans, month: ServedMonth
) -> I64:
    """Principal that came back by source and day; below zero where a payment was taken back."""
    found = np.zeros((context.sources + 1, MONTH_DAYS), np.int64)
    for loan, source in zip(single_loans, loans["source"].tolist(), strict=True):
        days = {to_day(fact.effective_on) for fact, _ in loan.added}
        for day in sorted(each for each in days if each >= month.span.first):
            before, after = (loan.at(each).view().principal_outstanding for each in (day - 1, day))
            found[source, day - month.span.first] += before - after
    return found


def add_dues(context: RunContext, month: int, done: SpecialMonth, dues: DueSums) -> None:
    """Add the dues of these loans: those of the month, and what became of those before.

    A due may change for thirty days, unless its loan is closed. Of a loan that has just left the
    columns they know what became of earlier dues, but for the one they still watched.
    """
    first, last = month_days(month)
    watched = done.watched
    for closed in (False, True):
        for since in np.unique(watched).tolist():
            loans = done.loans.take((done.is_closed == closed) & (watched == since))
            if not len(loans):
                continue
            portfolio, spans = _portfolio(context, loans), [(first, last)]
            if since == CONTINUED:
                spans.append((first - COLLECTION_DAYS, first - 1))
            elif since >= 0:
                spans.append((since, since))
            for begin, end in spans:
                found = dues_between(portfolio, from_day(begin), from_day(end),
                                     cells_table(context.institutions), from_day(last))  # fmt: skip
                due_on = found["due_on"].cast(pa.int32()).to_numpy()
                is_final_now = closed | (due_on + COLLECTION_DAYS <= last)
                dues.add_rows(found, OWN, due_on >= first, month)
                dues.add_rows(found, LATER, is_final_now, month)
                dues.add_rows(found, LATER, ~is_final_now, month, is_final=False)


def with_special(
    known: KnownHistory, users: I64, day: I64, done: SpecialMonth, month: int
) -> KnownHistory:
    """The history of users on the eve of a day each, with that of their loans with incidents."""
    first, _ = month_days(month)
    for place, own in owners(done.loans.loans, users).items():
        eve = int(day[place]) - 1
        for row in own:
            loan = done.single_loans[row]
            late = {fact.ref for fact, booked in loan.added if booked > eve}
            seen = SpecialLoan(loan.rows, [each for each in loan.facts if each.ref not in late],
                               loan.holder, loan.hazard)  # fmt: skip
            seen.new_rows = [each for each in loan.new_rows
                             if to_day(each["effective_on"]) <= eve]  # fmt: skip
            view = seen.at(eve).view()
            worst = max(int(done.worst_before[row]), view.days_past_due)
            if eve >= first:
                worst = max(worst, seen.worst(first, eve))
            known.used_minor[place] += view.principal_outstanding
            known.overdue_days[place] = max(known.overdue_days[place], view.days_past_due)
            known.worst_days[place] = max(known.worst_days[place], worst)
    return known


def history_of(loans: pa.Table, facts: pa.Table) -> History:
    """History out of tables that are in memory."""

    def found(ids: I64) -> tuple[pa.Table, pa.Table]:
        own = pa.array(ids, pa.int64())
        one, other = (each.filter(pc.is_in(each["loan_id"], own)) for each in (loans, facts))
        return sort(one, table("loans")), other

    return found
