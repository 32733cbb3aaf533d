"""Attribution of users to channels: touches before registration, inside the window, by the rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from usance.acquire.channels import Channels, Rule


@dataclass(frozen=True, slots=True)
class Touch:
    """A visitor came through a channel."""

    visitor: str
    channel: int
    at: datetime


def attributed(
    channels: Channels, touches: Iterable[Touch], registered_at: datetime, own: int
) -> int:
    """The channel of a user from the visitor's touches; `own` where none is inside the window."""
    first = registered_at - timedelta(days=channels.window_days)
    inside = sorted(
        (touch for touch in touches if first <= touch.at <= registered_at),
        key=lambda touch: touch.at,
    )
    if not inside:
        return own
    if channels.rule is Rule.FIRST_TOUCH:
        return inside[0].channel
    if channels.rule is Rule.LAST_PAID:
        paid = [t for t in inside if channels.at(t.channel, t.at.date()).contract.is_paid]
        return (paid or inside)[-1].channel
    return inside[-1].channel
