"""One shard of a run: its users and open loans, and what is on its way to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.codes import FactKind, Status
from usance.base.columns import arrays, make
from usance.base.ids import PER_USER
from usance.base.rates import PPM
from usance.loan.batch import start_columns, step_columns
from usance.loan.pricing import month_of
from usance.loan.visible_facts import term_columns
from usance.twin.month.dues import DueSums
from usance.twin.month.fact_rows import FactRows
from usance.twin.month.loan_terms import cells_of
from usance.twin.month.month_kernel import DUES
from usance.twin.month.open_loans import OpenLoans
from usance.twin.month.special_loans import SpecialLoans
from usance.twin.month.users import Users
from usance.twin.run.run_context import RunContext
from usance.world.demand import EligibleUsers
from usance.world.population import MAX_HAZARD_PPM

DISBURSED_REF = 1


class Pending(NamedTuple):
    """Loans with a payment whose notice is late: as they were, what is known, what comes."""

    loans: OpenLoans
    known: FactRows
    late: FactRows
    dues: I64

    @classmethod
    def none(cls) -> Pending:
        """Nothing is on its way."""
        empty = np.empty((0, DUES), np.int64)
        return cls(OpenLoans.none(), FactRows.none(), FactRows.none(), empty)


@dataclass
class Shard:
    """State of a shard carried from one month to the next."""

    number: int
    users: Users
    loans: OpenLoans
    pending: Pending
    special: SpecialLoans
    """Open loans that had an incident, which are served one by one."""


def empty_shard(context: RunContext, number: int) -> Shard:
    """A shard whose first user is still to come."""
    first, _ = context.users_of(number, context.opening_month)
    return Shard(number, Users.none(first), OpenLoans.none(), Pending.none(), SpecialLoans.none())


class ShardMonth(NamedTuple):
    """Result of a month of one shard."""

    shard: Shard
    tables: dict[str, pa.Table]
    requests: dict[str, NDArray[Any]]
    dues: DueSums
    released: I64
    eligible: EligibleUsers
    figures: dict[str, int]


def overdue_users(users: Users, loans: OpenLoans) -> NDArray[np.int8]:
    """1 for each user with a loan that has something overdue."""
    found = np.zeros(len(users), np.int8)
    late = loans["dpd"] > 0
    found[users.rows(loans["loan_id"][late] // PER_USER)] = 1
    return found


def owed_by(loans: OpenLoans, users: I64) -> I64:
    """Principal owed by each of these users, from open loans in order of id."""
    so_far = np.zeros(len(loans) + 1, np.int64)
    np.cumsum(loans["owed_minor"], out=so_far[1:])
    starts = np.searchsorted(loans["loan_id"], users * PER_USER)
    stops = np.searchsorted(loans["loan_id"], (users + 1) * PER_USER)
    return np.asarray(so_far[stops] - so_far[starts])


def record_worst(users: Users, loans: OpenLoans) -> None:
    """Remember the most days past due of each user's loans."""
    rows = users.rows(loans["loan_id"] // PER_USER)
    np.maximum.at(users["worst"], rows, loans["worst"])


def disbursed(loan_id: I64, day: NDArray[Any], amount: I64, booked: Any = None) -> FactRows:
    """The facts of disbursement."""
    zeros = np.zeros(len(loan_id), np.int64)
    known = day if booked is None else np.full(len(loan_id), booked)
    return FactRows.of(
        loan_id=loan_id, day=day, kind=zeros + int(FactKind.DISBURSED), ref=zeros + DISBURSED_REF,
        amount=amount, arg=zeros, booked=known,
    )  # fmt: skip


def new_loans(context: RunContext, loans: pa.Table) -> OpenLoans:
    """Loans of a `loans` table as they stand at the end of the month they were drawn in."""
    columns = arrays(loans)
    terms = term_columns(loans)
    count = len(terms)
    facts = disbursed(columns["loan_id"], columns["disbursed_on"], columns["principal_minor"])
    last = int(columns["disbursed_on"].max(initial=0))
    known = facts.columns_for(columns["loan_id"])
    states = step_columns(start_columns(terms), known, last).values
    return OpenLoans.of(
        {
            **columns,
            **derived_columns(context, columns),
            "worst": np.zeros(count),
            "bucket": np.zeros(count),
            "dpd": np.zeros(count),
            "owed_minor": columns["principal_minor"],
        },
        states,
    )


def derived_columns(
    context: RunContext, columns: dict[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Columns that follow from a loan's terms and source: cell, trigger, hazard and cohort."""
    cohort = month_of(columns["disbursed_on"].astype(np.int64))
    source = columns["source"].astype(np.int64)
    triggers = np.array([each.trigger_days for each in context.institutions.funding], np.int16)
    users, is_first = columns["loan_id"] // PER_USER, columns["user_loan_no"] == 1
    hazard = np.zeros(len(users), np.int64)
    for month in map(int, np.unique(cohort)):
        own = cohort == month
        found = context.population.hazard_ppm(users[own], is_first[own], month)
        terms = context.institutions.funding_of(month)
        against = np.array([each.hazard_ppm for each in terms])[source[own] - 1]
        hazard[own] = np.where(found < 0, found, np.minimum(found * against // PPM, MAX_HAZARD_PPM))
    return {
        "cell": cells_of(source, columns["product"].astype(np.int64)),
        "trigger": triggers[source - 1], "hazard": hazard, "cohort": cohort,
    }  # fmt: skip


def new_tape(loans: OpenLoans, month: int) -> pa.Table:
    """The first rows of new loans, at the end of the month they were drawn in."""
    zeros = np.zeros(len(loans), np.int64)
    nothing = (
        "mob", "dpd", "bucket", "principal_prev_minor", "past_due_minor", "net30_minor",
        "net180_minor", "prepaid_minor", "recovered_minor",
    )  # fmt: skip
    return make(
        "tape", month=zeros + month, loan_id=loans["loan_id"], bucket_prev=zeros - 1,
        status=zeros + int(Status.ACTIVE), principal_minor=loans["principal_minor"],
        cohort=loans["cohort"], cell=loans["cell"], **dict.fromkeys(nothing, zeros),
    )  # fmt: skip
