"""Routes of events and webhooks."""

from __future__ import annotations

from typing import Any

from usance.platform.api.calls import Call
from usance.platform.api.control_shapes import Delivery, Event, Webhook
from usance.platform.api.groups import Group
from usance.platform.api.pages import DEFAULT_PAGE, cut, number_in, page, read_cursor
from usance.platform.api.parameters import PAGED, an_id
from usance.platform.api.shapes import Page
from usance.platform.partners.deliveries import event_answer
from usance.platform.partners.webhooks import deliveries, events, webhooks
from usance.platform.reads.reading import Reading

EVERYONE = ("channel", "institution", "provider", "operations", "finance", "control")
group = Group("Events", *EVERYONE)


async def event_page(read: Reading, call: Call) -> Any:
    """Events that the caller sees, in their order."""
    limit = call.query.get("limit", DEFAULT_PAGE)
    rows = await events(read.transaction, _after(call), limit + 1)
    return cut([event_answer(row) for row in rows], limit, "id")


async def webhook_page(read: Reading, call: Call) -> Any:
    """Webhooks of the caller."""
    return page(await webhooks(read.transaction), call.query, "webhook")


async def delivery_page(read: Reading, call: Call) -> Any:
    """Deliveries of events to webhooks, each with what came of it."""
    limit, webhook = call.query.get("limit", DEFAULT_PAGE), call.query.get("webhook")
    rows = await deliveries(read.transaction, webhook, _after_delivery(call), limit + 1)
    return cut(rows, limit, "event", "webhook")


def _after(call: Call) -> int:
    """The event that a page begins after: a cursor, or the id of an event."""
    text = call.query.get("after")
    if text is None:
        return 0
    return number_in(text if text.startswith("ev_") else read_cursor(text, str)[0], "ev")


def _after_delivery(call: Call) -> tuple[int, int]:
    """The event and the webhook whose delivery a page begins after."""
    if "after" not in call.query:
        return 0, 0
    event, webhook = read_cursor(call.query["after"], str, str)
    return number_in(event, "ev"), number_in(webhook, "wh")


group.read("/events", Page[Event], event_page, query=PAGED)
group.command("/webhooks", "webhook.add", {201: Webhook})
group.read("/webhooks", Page[Webhook], webhook_page, query=PAGED)
group.command("/webhooks/{webhook}/rotate", "webhook.rotate", {200: Webhook})
group.command("/webhooks/{webhook}", "webhook.end", {200: Webhook}, method="DELETE")
group.read("/webhooks/deliveries", Page[Delivery], delivery_page,
           query={"webhook": an_id("wh"), **PAGED})  # fmt: skip
group.command("/webhooks/deliveries/{webhook}.{event}/resend", "delivery.resend", {200: Delivery})
