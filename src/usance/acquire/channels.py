r"""Channels as dated data: own app, embedded partners, agents, campaigns, with contract and limits.

>>> channels = read_channels()
>>> campaign = channels.at(4, date(2024, 6, 30))
>>> campaign.contract.per_click_minor, channels.at(4, date(2024, 1, 1)).contract.per_click_minor
(290, 240)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any

from usance.acquire.errors import ChannelError
from usance.base.codes import ChannelKind, Product
from usance.base.errors import DocumentError, raise_all
from usance.base.fields import (
    Fields,
    amount_of,
    day,
    file_fields,
    one_of,
    rate_of,
    text,
    whole_of,
)
from usance.base.rates import PPM

SHIPPED = Path(__file__).parent / "channels.yaml"
MAX_MINOR = 10**15


class AttributionRule(Enum):
    """The attribution rule for a user who came through several channels."""

    FIRST_TOUCH = "first_touch"
    LAST_TOUCH = "last_touch"
    LAST_PAID = "last_paid"
    """The last channel with a contract, else the last of all."""


@dataclass(frozen=True, slots=True)
class Contract:
    """The payment that a channel's contract gives it."""

    per_click_minor: int = 0
    per_line_minor: int = 0
    revenue_ppm: int = 0

    @property
    def is_paid(self) -> bool:
        """True if anything is paid at all."""
        return any((self.per_click_minor, self.per_line_minor, self.revenue_ppm))


@dataclass(frozen=True, slots=True)
class Programme:
    """The limits of a partner's programme; None is no limit of its own."""

    lines_per_month: int | None = None
    largest_line_minor: int | None = None
    products: tuple[Product, ...] = tuple(Product)


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel as it is from a day on."""

    number: int
    name: str
    kind: ChannelKind
    valid_from: date
    valid_to: date | None
    contract: Contract
    programme: Programme


@dataclass(frozen=True, slots=True)
class Channels:
    """Every channel with its history, and how users are attributed."""

    entries: tuple[Channel, ...]
    rule: AttributionRule
    window_days: int
    currency: str

    def at(self, number: int, on: date, *, where: str = "channels") -> Channel:
        """A channel on a day; an error if it is unknown or not in force."""
        own = [each for each in self.entries if each.number == number]
        found = [each for each in own if each.valid_from <= on]
        last = max(found, key=lambda each: each.valid_from, default=None)
        if last is None or (last.valid_to is not None and last.valid_to < on):
            known = ", ".join(sorted({f"{each.number} {each.name}" for each in self.entries}))
            what = f"channel {number} is not in force on {on}" if own else f"no channel {number}"
            raise ChannelError(what, where=where, fix=f"Channels: {known}")
        return last

    def refusal(
        self, number: int, on: date, line_minor: int, product: Product, lines_this_month: int
    ) -> str:
        """The reason a channel's programme does not allow a line, or empty."""
        programme = self.at(number, on).programme
        if product not in programme.products:
            return f"the programme has no {product.label}"
        if programme.largest_line_minor is not None and line_minor > programme.largest_line_minor:
            return "the line is above the largest of the programme"
        most = programme.lines_per_month
        if most is not None and lines_this_month >= most:
            return f"the programme has {most} lines a month"
        return ""


@dataclass(frozen=True, slots=True)
class Touch:
    """A visitor came through a channel."""

    visitor: str
    channel: int
    at: datetime


def attributed_channel(
    channels: Channels, touches: Iterable[Touch], registered_at: datetime, default: int
) -> int:
    """The channel of a user by the visitor's touches; `default` if none is inside the window."""
    first = registered_at - timedelta(days=channels.window_days)
    inside = sorted(
        (touch for touch in touches if first <= touch.at <= registered_at),
        key=lambda touch: touch.at,
    )
    if not inside:
        return default
    if channels.rule is AttributionRule.FIRST_TOUCH:
        return inside[0].channel
    if channels.rule is AttributionRule.LAST_PAID:
        paid = [t for t in inside if channels.at(t.channel, t.at.date()).contract.is_paid]
        return (paid or inside)[-1].channel
    return inside[-1].channel


def read_channels(path: Path | str = SHIPPED) -> Channels:
    """The channels of a file, or everything that is wrong with them."""
    given = file_fields(path)
    currency = given.take("currency", text) or "CNY"
    rule, window = AttributionRule.LAST_TOUCH, 30
    attribution = given.inner("attribution")
    if attribution is not None:
        rule = attribution.need_or_none("rule", one_of(AttributionRule)) or rule
        window = attribution.need_or_none("window_days", whole_of(1, 3650)) or window
        attribution.close()
    listed = given.each("channels")
    read = [(each, _channel(each, currency)) for each in listed]
    given.close()
    entries = [channel for _, channel in read if channel is not None]
    days = Counter((channel.number, channel.valid_from) for channel in entries)
    for fields, channel in read:
        if channel is not None and days[channel.number, channel.valid_from] > 1:
            what = f"channel {channel.number} has two entries from {channel.valid_from}"
            fields.wrong(what, "Keep one for each day", "from")
    if not listed and given.is_mapping:
        given.wrong("no channel is listed", "List at least one under 'channels:'")
    raise_all(given.problems, where=str(path))
    return Channels(tuple(entries), rule, window, currency)


def _channel(given: Fields, currency: str) -> Channel | None:
    number, name = given.need("channel", whole_of(1, 32_767)), given.need("name", text)
    kind, first = given.need("kind", one_of(ChannelKind)), given.need("from", day)
    last = given.take("to", day)
    contract = _contract(given.inner("contract"), currency)
    programme = _programme(given.inner("programme"), currency)
    given.close()
    if not given.has_needed:
        return None
    if last is not None and last < first:
        given.wrong(f"ends on {last}, before it begins", "Give a later day", "to")
        return None
    return Channel(number, name, kind, first, last, contract, programme)


def _contract(given: Fields | None, currency: str) -> Contract:
    if given is None:
        return Contract()
    amount = amount_of(currency, 0, MAX_MINOR)
    click, line = given.take("per_click", amount), given.take("per_approved_line", amount)
    share = given.take("revenue_share", rate_of(0, PPM))
    given.close()
    return Contract(click or 0, line or 0, share or 0)


def _programme(given: Fields | None, currency: str) -> Programme:
    if given is None:
        return Programme()
    lines = given.take("lines_per_month", whole_of(0, 10**9))
    largest = given.take("largest_line", amount_of(currency, 0, MAX_MINOR))
    products = given.take("products", _products)
    given.close()
    return Programme(lines, largest, products or tuple(Product))


def _products(given: Any, where: str) -> tuple[Product, ...]:
    if not isinstance(given, list) or not given:
        raise DocumentError("is no list", where=where, fix="Write [v_pocket, instalment]")
    return tuple(one_of(Product)(each, where) for each in given)
