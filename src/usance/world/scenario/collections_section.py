"""The part of a scenario file that says how what is late is collected."""

from __future__ import annotations

from typing import Any

from usance.base.dates import to_day
from usance.base.errors import unknown
from usance.base.fields import Fields, day, truth, whole_of
from usance.world.debtors import REACH, ChannelOutage
from usance.world.scenario.scenario import Collections
from usance.world.scenario.sections import ReferencedFiles

MAX_MINUTES = 480


def read_collections(given: Fields, files: ReferencedFiles) -> Collections | None:
    """Strategy, people and outages; the reference where the scenario has no such part."""
    inner = given.inner("collections")
    if inner is None:
        return Collections()
    strategy = inner.take("strategy", files.text) or ""
    staffed = inner.inner("minutes")
    minutes: tuple[tuple[str, int], ...] = ()
    if staffed is not None:
        read = whole_of(0, MAX_MINUTES)
        found = [(name, staffed.need_or_none(name, read)) for name in staffed.keys]
        minutes = tuple((name, value) for name, value in found if value is not None)
        staffed.close()
    outages = [_outage(each) for each in inner.each("outages")]
    inner.close()
    if any(each is None for each in outages):
        return None
    return Collections(strategy, minutes, tuple(each for each in outages if each is not None))


def _outage(given: Fields) -> ChannelOutage | None:
    """Days on which a channel is down."""
    channel = given.need_or_none("channel", _channel)
    first, last = (given.need_or_none(key, _day_number) for key in ("from", "to"))
    rerouted = given.take("rerouted", truth)
    given.close()
    if channel is None or first is None or last is None:
        return None
    if last < first:
        given.wrong("the outage ends before it begins", "Give a later day", "to")
        return None
    return ChannelOutage(channel, first, last, rerouted is not False)


def _channel(given: Any, where: str) -> str:
    if given not in REACH:
        raise unknown("channel", str(given), REACH, where=where)
    return str(given)


def _day_number(given: Any, where: str) -> int:
    return to_day(day(given, where))
