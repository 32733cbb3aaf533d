"""Segment, arm and worth of each case of an evening, by the strategy and the C-scores in force."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from usance.base.arrays import I64
from usance.base.dates import to_day
from usance.base.ids import PER_USER
from usance.platform.desk.collection_settings import CollectionSettings
from usance.service.collections.action_value import REACH_PPM, action_value, added_ppm, priority
from usance.service.collections.cases import Cases
from usance.service.collections.contact_rules import Channel
from usance.service.collections.history import Attempts, CaseDays, Events, features
from usance.service.collections.stages import Stage
from usance.service.collections.strategy import Action, DeskKind, Strategy

if TYPE_CHECKING:
    import asyncpg

_PPM = 1_000_000
PAY_PPM = {
    Stage.REMINDER: 950_000, Stage.AI_VOICE: 600_000, Stage.IN_HOUSE: 400_000,
    Stage.SENIOR_DESK: 150_000, Stage.AGENCY: 80_000, Stage.MEDIATION: 40_000,
    Stage.CHARGED_OFF: 15_000,
}  # fmt: skip
"""Probability of a payment within ten days until a C-score says it [assumption]."""
CHANNELS = [each.value for each in Channel]
ASSUMED = "assumed"
"""Stands for the name of a C-score where none is in force."""


class CaseValues(NamedTuple):
    """Decisions of a strategy on each case, in their order."""

    segment: list[str]
    arm: list[str]
    desk: list[str]
    is_automatic: list[bool]
    value_minor: I64


async def values_of(
    transaction: asyncpg.Connection, settings: CollectionSettings, cases: Cases, day: date,
    broken: set[int],
) -> CaseValues:  # fmt: skip
    """Segment, arm and expected value of the action of each case."""
    strategy, inputs = settings.strategy, None
    if settings.models and cases.size:
        inputs = await case_inputs(transaction, cases, day)
    pay = _pay_ppm(settings, cases, inputs)
    kept = _kept_ppm(settings, pay, inputs)
    segments = strategy.segment_column(cases.past_due_minor, pay)
    arms = strategy.arm_column(cases.user_id)
    actions = _actions(strategy, segments, arms, cases)
    value = np.zeros(cases.size, np.int64)
    for channel in {each.channel for each in actions}:
        own = np.array([each.channel is channel for each in actions])
        costs = np.array([each.cost_minor for each in actions], np.int64)[own]
        rows = inputs and {name: column[own] for name, column in inputs.items()}
        added = added_ppm(channel, kept[own], _reach_ppm(settings, channel, rows))
        value[own] = action_value(added, cases.past_due_minor[own], costs)
    raised = np.isin(cases.user_id, sorted(broken))
    automatic = [strategy.desks[each.desk].kind is DeskKind.AUTOMATIC for each in actions]
    return CaseValues(
        [strategy.segments[each].name for each in segments.tolist()],
        [strategy.arms[each].name for each in arms.tolist()],
        [each.desk for each in actions], automatic,
        priority(value, raised, strategy.broken_promise_bonus_ppm),
    )  # fmt: skip


def _actions(strategy: Strategy, segments: Any, arms: Any, cases: Cases) -> list[Action]:
    known: dict[tuple[int, int, int], Action] = {}
    found = []
    rows = zip(arms.tolist(), segments.tolist(), cases.stage.tolist(), strict=True)
    for key in rows:
        if key not in known:
            arm, segment, stage = key
            names = strategy.arms[arm].name, strategy.segments[segment].name
            known[key] = strategy.action(*names, Stage(stage))
        found.append(known[key])
    return found


def _pay_ppm(settings: CollectionSettings, cases: Cases, inputs: Any) -> I64:
    """Probability of a payment within ten days: of the C-score, else the assumed one by stage."""
    assumed = np.array([PAY_PPM[stage] for stage in Stage], np.int64)[cases.stage]
    if inputs is None or "unpaid" not in settings.models:
        return assumed
    unpaid = settings.models["unpaid"].score(_table(inputs)).pd_ppm
    return np.asarray(_PPM - unpaid, np.int64)


def _kept_ppm(settings: CollectionSettings, pay: I64, inputs: Any) -> I64:
    """Probability that a case is paid before it rolls, left alone; without that score, `pay`.

    A call to somebody who pays in time anyway adds nothing, so this is what its value is less by.
    """
    if inputs is None or "rolled" not in settings.models:
        return pay
    return np.asarray(_PPM - settings.models["rolled"].score(_table(inputs)).pd_ppm, np.int64)


def _reach_ppm(settings: CollectionSettings, channel: Channel, inputs: Any) -> Any:
    """Probability that a contact reaches its debtor, by the channel's C-score or that of calls."""
    name = settings.reach_score(channel)
    if inputs is None or not name:
        return REACH_PPM[channel]
    return np.asarray(_PPM - settings.models[name].score(_table(inputs)).pd_ppm, np.int64)


async def reasons_of(
    transaction: asyncpg.Connection, settings: CollectionSettings, cases: Cases, channel: Channel,
    day: date,
) -> dict[str, Any]:  # fmt: skip
    """Reasons for a contact of one case, as known on a day: both probabilities, whose they are."""
    inputs = await case_inputs(transaction, cases, day) if settings.models else None
    pays = _kept_ppm(settings, _pay_ppm(settings, cases, inputs), inputs)
    reach = np.broadcast_to(_reach_ppm(settings, channel, inputs), cases.size)
    return {
        "pays_ppm": int(pays[0]), "pays_by": settings.payment_score or ASSUMED,
        "reach_ppm": int(reach[0]), "reach_by": settings.reach_score(channel) or ASSUMED,
        "added_ppm": int(added_ppm(channel, pays, reach)[0]),
    }  # fmt: skip


def _table(inputs: dict[str, I64]) -> Any:
    """Inputs as a model reads them."""
    import pyarrow as pa

    from usance.assess.applicant_file import Table

    columns = {name: pa.array(column) for name, column in inputs.items()}
    return Table("cases of an evening", columns, len(inputs["user_id"]))


async def case_inputs(
    transaction: asyncpg.Connection, cases: Cases, day: date
) -> dict[str, I64]:  # fmt: skip
    """Inputs of C-scores for cases of an evening, from what was known at its end."""
    users = cases.user_id.tolist()
    evening = np.full(cases.size, to_day(day), np.int64)
    days = CaseDays(cases.user_id, evening, cases.days_past_due, cases.past_due_minor,
                    cases.principal_minor, cases.loans)  # fmt: skip
    paid = await payments_of(transaction, users)
    tried = await attempts_of(transaction, users)
    return features(days, paid, tried)


async def payments_of(transaction: asyncpg.Connection, users: list[int]) -> Events:
    """Payments of some borrowers that were not reversed."""
    rows = await transaction.fetch(
        "select f.loan_id, f.effective_on, f.amount_minor from unnest($1::bigint[]) g (id) "
        "join usance.facts f on f.loan_id between g.id * 16384 and g.id * 16384 + 16383 "
        "where f.kind = 4 and not exists (select from usance.facts r "
        "where r.loan_id = f.loan_id and r.kind = 12 and r.arg = f.ref)", users,
    )  # fmt: skip
    return Events.of(
        user_id=[row["loan_id"] // PER_USER for row in rows],
        day=[to_day(row["effective_on"]) for row in rows],
        amount=[row["amount_minor"] for row in rows],
    )


async def attempts_of(
    transaction: asyncpg.Connection, users: list[int], *, only_ended: bool = False
) -> Attempts:
    """Attempts to reach some borrowers; one under way counts as one that reached them."""
    rows = await transaction.fetch(
        "select user_id, local_day, channel, reached from usance.contact_attempts "
        "where user_id = any($1::bigint[]) and not ($2 and reached = 'open')", users, only_ended,
    )  # fmt: skip
    return Attempts.of(
        user_id=[row["user_id"] for row in rows],
        day=[to_day(row["local_day"]) for row in rows],
        channel=[CHANNELS.index(row["channel"]) for row in rows],
        connected=[int(row["reached"] != "not_connected") for row in rows],
    )
