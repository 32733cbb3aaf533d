"""Outages of channels: what each is expected to cost a day, from the cases that are due."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from usance.platform.commands.command import Moment
from usance.platform.desk.case_values import PAY_PPM
from usance.service.collections.contact_rules import Channel
from usance.service.collections.outage_loss import DueContacts, OutageLoss, outage_loss
from usance.service.collections.stages import Stage
from usance.service.collections.strategy_file import CHAMPION

if TYPE_CHECKING:
    import asyncpg


async def due_contacts(transaction: asyncpg.Connection, moment: Moment) -> list[DueContacts]:
    """Contacts of the business day, as the strategy in force wants them."""
    strategy = moment.lender.collections.strategy
    segments = [each.name for each in strategy.segments]
    arms = [each.name for each in strategy.arms]
    day = moment.business_date + timedelta(days=1)
    until = datetime.combine(day, time(), moment.lender.zone).astimezone(UTC)
    rows = await transaction.fetch(
        "select c.segment, c.arm, c.stage, coalesce(p.channels, '{}') as channels, "
        "count(*) as cases, sum(c.past_due_minor)::bigint as owed from usance.cases c "
        "left join usance.contact_profiles p using (user_id) where c.closed_on is null "
        "and (c.next_at is null or c.next_at < $1) and not exists (select from usance.stops s "
        "where s.user_id = c.user_id and s.ended_at is null) group by 1, 2, 3, 4", until,
    )  # fmt: skip
    found = []
    for row in rows:
        # Those of an earlier strategy stand where its last segment and its champion do.
        segment = row["segment"] if row["segment"] in segments else segments[-1]
        arm = row["arm"] if row["arm"] in arms else CHAMPION
        stage = Stage(row["stage"])
        action = strategy.action(arm, segment, stage)
        consents = frozenset(Channel(each) for each in row["channels"])
        found.append(
            DueContacts(action.channel, consents, row["cases"], row["owed"], PAY_PPM[stage])
        )
    return found


def loss_answer(loss: OutageLoss) -> dict[str, Any]:
    """A loss as it is told; the amount is that of a day."""
    return {"cases": loss.cases, "rerouted": loss.rerouted, "waiting": loss.waiting,
            "past_due_minor": loss.past_due_minor,
            "expected_loss_minor": loss.loss_minor}  # fmt: skip


async def losses(
    transaction: asyncpg.Connection, moment: Moment, down: frozenset[Channel],
    only: Channel | None = None,
) -> dict[Channel, dict[str, Any]]:  # fmt: skip
    """The loss of each channel that is down, or of one of them; nothing is read if none is."""
    wanted = down if only is None else {only}
    if not wanted:
        return {}
    due = await due_contacts(transaction, moment)
    return {each: loss_answer(outage_loss(due, each, down)) for each in wanted}
