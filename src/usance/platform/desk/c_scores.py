"""C-scores from the lender's own tables: rows to train one on, and how one in force does.

Rows are case days with what was known on their evening, and what came of them since. A model in
force is watched on the case days from its first day on: drift on all of them, probabilities and
ranks on those whose outcome is known by now.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from usance.base.arrays import I64
from usance.base.dates import from_day, to_day
from usance.base.errors import InputError, unknown
from usance.platform.desk.case_values import CHANNELS, attempts_of, payments_of
from usance.platform.desk.collection_settings import C_SCORES, MISSED
from usance.service.collections.contact_rules import Channel
from usance.service.collections.history import (
    PAYMENT_DAYS,
    ROLL_DAYS,
    Attempts,
    CaseDays,
    Events,
    features,
    training_rows,
)

if TYPE_CHECKING:
    import asyncpg

    from usance.assess.applicant_file import Table
    from usance.assess.monitoring.monitor import Month
    from usance.assess.scoring.model import Model

TIME = "evening"
NOT_INPUTS = ("user_id", "day")
AHEAD = {"unpaid": PAYMENT_DAYS, "rolled": ROLL_DAYS, MISSED: 0}
"""Days after which the outcome of a case day is known."""


class CaseHistory(NamedTuple):
    """Everything that the lender's tables say about cases so far."""

    days: CaseDays
    payments: Events
    attempts: Attempts
    until: int
    """The last day whose evening was served: outcomes after it are not known."""


async def case_history(transaction: asyncpg.Connection, first: date | None = None) -> CaseHistory:
    """Case days from a day on, with all payments and ended attempts of their borrowers."""
    rows = await transaction.fetch(
        "select * from usance.case_days where $1::date is null or day >= $1", first
    )
    names = CaseDays._fields
    columns: dict[str, list[int]] = {name: [row[name] for row in rows] for name in names[2:]}
    columns |= {"user_id": [row["user_id"] for row in rows],
                "day": [to_day(row["day"]) for row in rows]}  # fmt: skip
    users = sorted(set(columns["user_id"]))
    last = await transaction.fetchval("select max(day) from usance.case_days")
    return CaseHistory(
        CaseDays.of(**columns), await payments_of(transaction, users),
        await attempts_of(transaction, users, only_ended=True), to_day(last) if last else -1,
    )  # fmt: skip


def outcome_of(name: str) -> tuple[str, Channel]:
    """The outcome that a C-score says, and the channel; that of all calls learns from people's.

    >>> outcome_of("missed_ai_voice"), outcome_of("missed")
    (('missed', <Channel.AI_VOICE: 'ai_voice'>), ('missed', <Channel.VOICE: 'voice'>))
    """
    if name not in C_SCORES:
        raise unknown("C-score", name, C_SCORES)
    target, _, channel = name.partition("_")
    return target, Channel(channel or Channel.VOICE)


def rows_of(history: CaseHistory, name: str) -> dict[str, I64]:
    """Rows with inputs and outcome of a C-score, of every case day whose outcome is known."""
    target, channel = outcome_of(name)
    found = training_rows(history.days, history.payments, history.attempts, target, history.until,
                          CHANNELS.index(channel.value))  # fmt: skip
    if not len(found[target]):
        raise InputError(
            f"no case day has an outcome of '{name}' yet", where="the lender's cases",
            fix=f"Train after evenings of more than {AHEAD[target]} days, with contacts",
        )  # fmt: skip
    return found


def table_of(rows: Mapping[str, I64], name: str) -> Table:
    """Rows as a table to train on, with the date of each evening."""
    import pyarrow as pa

    from usance.assess.applicant_file import Table

    columns: dict[str, Any] = {key: pa.array(column) for key, column in rows.items()}
    columns[TIME] = pa.array([from_day(each).isoformat() for each in rows["day"].tolist()])
    return Table(name, columns, len(rows["day"]))


def trained(history: CaseHistory, name: str, *, seed: int = 1, threads: int = 0) -> Model:
    """A C-score of a lender's own cases."""
    from usance.assess.training.recipe import Recipe
    from usance.assess.training.train import fit_table

    table = table_of(rows_of(history, name), f"C-score {name}")
    recipe = Recipe(outcome_of(name)[0], time=TIME, excluded=NOT_INPUTS, seed=seed)
    return fit_table(table, recipe, threads=threads)


def watched(model: Model, history: CaseHistory, name: str) -> list[tuple[bool, Month]]:
    """Months of a C-score in use, each with True if its outcomes are known."""
    from usance.assess.monitoring.monitor import monitor

    found: list[tuple[bool, Month]] = []
    target, _ = outcome_of(name)
    known = history.until - AHEAD[target]
    has_outcome = target == MISSED or bool((history.days.day <= known).any())
    if has_outcome:
        judged = table_of(rows_of(history, name), f"C-score {name}")
        found += [(True, each) for each in monitor(model, judged, time=TIME, target=target)]
    rows = np.flatnonzero(history.days.day > known)
    if len(rows) and target != MISSED:
        late = CaseDays(*(column[rows] for column in history.days))
        unjudged = table_of(features(late, history.payments, history.attempts), f"C-score {name}")
        found += [(False, each) for each in monitor(model, unjudged, time=TIME)]
    return found
