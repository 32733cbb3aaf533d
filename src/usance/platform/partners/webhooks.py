"""Commands about webhooks: targets of events, their secrets, and deliveries that go out again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.platform.commands.command import DONE, Decided, Moment
from usance.platform.errors import Forbidden, InvalidField, NotFound
from usance.platform.partners.outbound import check_url
from usance.platform.partners.signatures import new_secret
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.records.user_record import not_found, read_id

if TYPE_CHECKING:
    import asyncpg

OVERLAP = timedelta(hours=24)
"""Time that the former secret signs beside the new one."""
MAX_NAMES = 50
OURS = (PrincipalKind.SYSTEM, PrincipalKind.OPERATOR, PrincipalKind.SERVICE)
"""Those who run the platform."""


@dataclass(frozen=True)
class AddWebhook:
    """Events go to an address from now on; names limit them, none means all."""

    url: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class RotateWebhook:
    """A webhook gets another secret; the former one signs too for a day."""

    webhook: str


@dataclass(frozen=True)
class EndWebhook:
    """Nothing more goes to a webhook."""

    webhook: str


@dataclass(frozen=True)
class ResendDelivery:
    """An event goes to a webhook again."""

    webhook: str
    event: str


async def add_webhook(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: AddWebhook
) -> Decided:
    """Add a webhook of the caller; its secret is told once."""
    check_url(command.url, allow_private=moment.lender.is_sandbox)
    _check_names(command.names)
    number = await transaction.fetchval("select usance.next_ids('webhook', 1)")
    secret = new_secret()
    await transaction.execute(
        "select usance.add_webhook($1, $2, $3, $4, $5)", number, principal.principal_id,
        command.url, list(command.names),
        moment.vault.seal(0, f"webhook/{number}", secret.encode()),
    )  # fmt: skip
    answer = {"webhook": print_id("wh", number), "url": command.url, "names": list(command.names),
              "state": "active"}  # fmt: skip
    return Decided(answer, print_id("wh", number), once={"secret": secret})


def _check_names(names: tuple[str, ...]) -> None:
    """Refuse names that no event has: nothing would ever come."""
    from usance.platform.commands.registry import EVENTS

    if len(names) > MAX_NAMES:
        raise InvalidField("are too many", where="body.names", fix=f"Give at most {MAX_NAMES}")
    for number, name in enumerate(names):
        if name not in EVENTS:
            near = get_close_matches(name, EVENTS, n=1)
            fix = f"Did you mean {near[0]!r}?" if near else "Give names like payment.booked"
            raise InvalidField(f"{name[:40]!r} is no event", where=f"body.names[{number}]", fix=fix)


async def rotate_webhook(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: RotateWebhook
) -> Decided:
    """Give a webhook another secret; that of a partner is told to the partner alone."""
    number, secret = read_id(command.webhook, "wh", "webhook"), new_secret()
    if principal.kind in OURS and command.webhook in await partners_webhooks(transaction):
        raise Forbidden("its secret is for the partner whose webhook it is", where=command.webhook,
                        fix="Let them rotate it with a key of theirs, or end it")  # fmt: skip
    kept = moment.vault.seal(0, f"webhook/{number}", secret.encode())
    if not await transaction.fetchval(
        "select usance.rotate_webhook($1, $2, $3)", number, kept, OVERLAP
    ):
        raise not_found("wh", number)
    answer = {"webhook": command.webhook, "former_secret_hours": OVERLAP // timedelta(hours=1)}
    return Decided(answer, command.webhook, status=DONE, once={"secret": secret})


async def end_webhook(
    transaction: asyncpg.Connection, _principal: Principal, _moment: Moment, command: EndWebhook
) -> Decided:
    """End a webhook."""
    number = read_id(command.webhook, "wh", "webhook")
    if not await transaction.fetchval("select usance.end_webhook($1)", number):
        raise not_found("wh", number)
    return Decided({"webhook": command.webhook, "state": "ended"}, command.webhook, status=DONE)


async def resend_delivery(
    transaction: asyncpg.Connection, _principal: Principal, _moment: Moment, command: ResendDelivery
) -> Decided:
    """Line up a delivery again."""
    number = read_id(command.webhook, "wh", "webhook")
    event = read_id(command.event, "ev", "event")
    if not await transaction.fetchval("select usance.resend_delivery($1, $2)", number, event):
        raise NotFound("is not there", where=command.event, fix="Give an event that was lined up")
    answer = {"webhook": command.webhook, "event": command.event, "state": "waiting"}
    return Decided(answer, command.webhook, status=DONE)


async def webhooks(transaction: asyncpg.Connection) -> list[dict[str, Any]]:
    """Webhooks that the caller sees, in the order they were added."""
    rows = await transaction.fetch("select * from usance.webhooks order by webhook_id")
    return [
        {"webhook": print_id("wh", row["webhook_id"]), "url": row["url"], "names": row["names"],
         "state": "ended" if row["ended_at"] else "active"}
        for row in rows
    ]  # fmt: skip


async def partners_webhooks(transaction: asyncpg.Connection) -> set[str]:
    """Webhooks of partners, as far as the caller sees them."""
    rows = await transaction.fetch(
        "select w.webhook_id from usance.webhooks w "
        "join usance.principals p using (principal_id) where not usance.sees_all(p)"
    )
    return {print_id("wh", row["webhook_id"]) for row in rows}


async def deliveries(
    transaction: asyncpg.Connection, webhook: str | None, after: tuple[int, int], limit: int
) -> list[dict[str, Any]]:
    """Deliveries in the order of their events and webhooks, after an event's to a webhook."""
    number = None if webhook is None else read_id(webhook, "wh", "webhook")
    rows = await transaction.fetch(
        "select * from usance.deliveries where ($1::bigint is null or webhook_id = $1) "
        "and (event_id, webhook_id) > ($2, $3) order by event_id, webhook_id limit $4",
        number, *after, limit,
    )  # fmt: skip
    return [
        {"delivery": f"{print_id('wh', row['webhook_id'])}.{print_id('ev', row['event_id'])}",
         "webhook": print_id("wh", row["webhook_id"]), "event": print_id("ev", row["event_id"]),
         "subject": row["subject"], "state": row["state"], "tries": row["tries"],
         "status": row["status"], "problem": row["problem"]}
        for row in rows
    ]  # fmt: skip


async def events(transaction: asyncpg.Connection, after: int, limit: int) -> list[Any]:
    """Events that the caller sees, of transactions that are over."""
    rows: list[Any] = await transaction.fetch(
        "select event_id, name, subject, at, data from usance.outbox where event_id > $1 "
        "and event_id < pg_snapshot_xmin(pg_current_snapshot())::text::bigint * 4096 "
        "order by event_id limit $2", after, limit,
    )  # fmt: skip
    return rows
