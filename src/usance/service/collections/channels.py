"""Channels as ports, with local adapters that write what they would send; outages re-route.

A port has one verb. A channel that fails, or that somebody marks as down, is out until it is marked
up again; its work goes at once to the next channel that the debtor has agreed to, in the order of
`FALLBACKS`, and waits if there is none.

>>> from datetime import UTC
>>> outbox = LocalChannel()
>>> board = ChannelBoard({Channel.VOICE: outbox, Channel.MESSAGE: outbox})
>>> noon = datetime(2024, 7, 1, 12, tzinfo=UTC)
>>> board.mark_down(Channel.VOICE, noon, "carrier outage")
>>> board.route(Channel.VOICE, frozenset({Channel.VOICE, Channel.MESSAGE})).value
'message'
>>> board.route(Channel.VOICE, frozenset({Channel.VOICE})) is None
True
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol

from usance.service.collections.contact_rules import Channel

FALLBACKS: dict[Channel, tuple[Channel, ...]] = {
    Channel.PUSH: (Channel.MESSAGE, Channel.EMAIL),
    Channel.MESSAGE: (Channel.PUSH, Channel.EMAIL, Channel.AI_VOICE),
    Channel.EMAIL: (Channel.MESSAGE, Channel.LETTER),
    Channel.AI_VOICE: (Channel.MESSAGE, Channel.VOICE, Channel.EMAIL),
    Channel.VOICE: (Channel.AI_VOICE, Channel.MESSAGE, Channel.EMAIL),
    Channel.LETTER: (Channel.EMAIL,),
}
"""Channels that take over the work of one that is down, nearest in effect first."""


def route(
    wanted: Channel, consents: Collection[Channel], down: Collection[Channel]
) -> Channel | None:
    """The channel to use of those a debtor agreed to: the wanted one, else the first that is up.

    A letter needs no consent. None if the contact must wait.

    >>> route(Channel.VOICE, {Channel.VOICE, Channel.MESSAGE}, {Channel.VOICE}).value
    'message'
    """
    for channel in (wanted, *FALLBACKS[wanted]):
        if (channel in consents or channel is Channel.LETTER) and channel not in down:
            return channel
    return None


class Outgoing(NamedTuple):
    """A contact that was logged and is to be made now."""

    attempt_id: int
    user_id: int
    script: str
    language: str
    text: str


class ChannelPort(Protocol):
    """A way out: makes a contact, or raises `ConnectionError` if the channel is down."""

    def send(self, outgoing: Outgoing) -> str:
        """Make the contact; the reference of whoever carries it."""
        ...


@dataclass
class LocalChannel:
    """An adapter for demo and tests: keeps what it would have sent."""

    sent: list[Outgoing] = field(default_factory=list)
    is_down: bool = False

    def send(self, outgoing: Outgoing) -> str:
        """Keep the contact; the reference is its number."""
        if self.is_down:
            raise ConnectionError("the channel is down")
        self.sent.append(outgoing)
        return f"local-{outgoing.attempt_id}"


class Outage(NamedTuple):
    """Time in which a channel was down; without an end it still is."""

    channel: Channel
    began: datetime
    reason: str
    ended: datetime | None = None


@dataclass
class ChannelBoard:
    """Ports by channel, and which of them are down."""

    ports: Mapping[Channel, ChannelPort]
    outages: list[Outage] = field(default_factory=list)

    @property
    def down(self) -> frozenset[Channel]:
        """Channels that are down now."""
        return frozenset(each.channel for each in self.outages if each.ended is None)

    def mark_down(self, channel: Channel, at: datetime, reason: str) -> None:
        """Take a channel out; once, however often it is said."""
        if channel not in self.down:
            self.outages.append(Outage(channel, at, reason))

    def mark_up(self, channel: Channel, at: datetime) -> None:
        """Take a channel back in."""
        self.outages = [
            each._replace(ended=at) if each.channel is channel and each.ended is None else each
            for each in self.outages
        ]

    def route(self, wanted: Channel, consents: frozenset[Channel]) -> Channel | None:
        """The channel to use: the wanted one, or the first to take over; None if work must wait."""
        return route(wanted, consents, self.down | (frozenset(Channel) - self.ports.keys()))
