"""The first moment at which a contact is allowed: what a case waits for that may not be worked yet.

>>> from usance.service import Channel
>>> rules = ContactRules.at(date(2024, 7, 1))
>>> debtor = Debtor("Asia/Shanghai", consents=frozenset({Channel.VOICE}))
>>> night = Contact(datetime(2024, 7, 1, 15, 30, tzinfo=UTC), Channel.VOICE)
>>> str(allowed_from(night, debtor, [], lambda day: rules))
'2024-07-02 00:00:00+00:00'
>>> allowed_from(night, Debtor("Asia/Shanghai"), [], lambda day: rules) is None  # never agreed
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from usance.service.collections.contact_rules import (
    Attempt,
    Contact,
    ContactRule,
    ContactRules,
    Debtor,
    broken_rules,
    local_moment,
    zone_of,
)

LASTING = frozenset({ContactRule.STOPPED, ContactRule.NOT_THE_DEBTOR, ContactRule.NO_CONSENT})
"""Rules that no waiting satisfies."""
MAX_CHANGES = 2_000
"""Mornings and midnights that are tried: more than a year of them, for two zones."""


def allowed_from(
    contact: Contact, debtor: Debtor, attempts: Iterable[Attempt],
    rules_at: Callable[[date], ContactRules],
) -> datetime | None:  # fmt: skip
    """The first moment from a contact's own on at which no rule forbids it; None if there is none.

    Rules end at a midnight or at the end of the quiet hours of one of the debtor's clocks, so those
    are tried in turn.
    """
    zones = [zone_of(each) for each in (debtor.time_zone, *sorted(debtor.other_zones))]
    made, at = list(attempts), contact.at
    for _ in range(MAX_CHANGES):
        rules = rules_at(local_moment(at, zones[0]).date())
        broken = broken_rules(contact._replace(at=at), debtor, made, rules)
        if not broken:
            return at
        if LASTING.intersection(broken):
            return None
        at = _next_change(at, zones, rules)
    return None


def _next_change(at: datetime, zones: Sequence[ZoneInfo], rules: ContactRules) -> datetime:
    """The next midnight or end of the quiet hours on any of some clocks."""
    found = [
        datetime.combine(local_moment(at, zone).date() + timedelta(days=days), clock, zone)
        for zone in zones
        for days in (0, 1, 2)
        for clock in (time(), rules.quiet_until)
    ]
    return min(each for each in (one.astimezone(UTC) for one in found) if each > at)
