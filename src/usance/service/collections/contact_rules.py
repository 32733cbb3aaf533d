"""Hard limits on contacts, one function: the rules that forbid a contact, all of them.

No role overrides them. An attempt without an outcome counts as connected; a day and an hour are
those of the debtor's own time zone, also on days when its clocks change.

>>> from datetime import UTC, timedelta
>>> rules = ContactRules.at(date(2024, 7, 1))
>>> debtor = Debtor("Asia/Shanghai", consents=frozenset({Channel.VOICE}))
>>> noon = datetime(2024, 7, 1, 4, 0, tzinfo=UTC)
>>> broken_rules(Contact(noon, Channel.VOICE), debtor, [], rules)
()
>>> calls = [
...     Attempt(noon - timedelta(hours=n), Channel.VOICE, ContactOutcome.OPEN) for n in (1, 2, 3)
... ]
>>> night = Contact(noon + timedelta(hours=10), Channel.VOICE)
>>> [rule.value for rule in broken_rules(night, debtor, calls, rules)]
['quiet_hours', 'daily_limit']
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from enum import Enum
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from usance.base.parameters import Parameters
from usance.service.collections.quiet_days import NO_QUIET_DAYS, QuietDays, parse_quiet_days
from usance.service.errors import ContactError


class Channel(Enum):
    """Way to reach a debtor."""

    PUSH = "push"
    MESSAGE = "message"
    EMAIL = "email"
    AI_VOICE = "ai_voice"
    VOICE = "voice"
    LETTER = "letter"

    @property
    def is_call(self) -> bool:
        """True for a call, by a person or by a machine."""
        return self in (Channel.AI_VOICE, Channel.VOICE)


class ContactOutcome(Enum):
    """Outcome of an attempt."""

    OPEN = "open"
    """Logged and under way: nobody knows yet that it did not reach the debtor."""
    CONNECTED = "connected"
    NOT_CONNECTED = "not_connected"


class Party(Enum):
    """Person that is contacted."""

    DEBTOR = "debtor"
    FAMILY = "family"
    EMPLOYER = "employer"
    OTHER = "other"


class Stop(Enum):
    """Reason for which collection and debits rest at once."""

    DECEASED = "deceased"
    FRAUD_VICTIM = "fraud_victim"
    DISPUTE = "dispute"
    INSOLVENCY = "insolvency"
    REQUEST = "request"
    """The debtor asked for it and has the right to; debits go on."""

    @property
    def stops_debits(self) -> bool:
        """True if debits rest with the contacts."""
        return self is not Stop.REQUEST


class ContactRule(Enum):
    """Rule that forbids a contact."""

    STOPPED = "stopped"
    NOT_THE_DEBTOR = "not_the_debtor"
    NO_CONSENT = "no_consent"
    QUIET_HOURS = "quiet_hours"
    QUIET_DAY = "quiet_day"
    DAILY_LIMIT = "daily_limit"
    COOL_OFF = "cool_off"


class Contact(NamedTuple):
    """A contact that somebody wants to make at a moment."""

    at: datetime
    channel: Channel
    party: Party = Party.DEBTOR


class Attempt(NamedTuple):
    """A contact that was begun, by any desk or agency, for any account of the person."""

    at: datetime
    channel: Channel
    reached: ContactOutcome


class Debtor(NamedTuple):
    """A person over all accounts, as far as contacts go."""

    time_zone: str
    consents: frozenset[Channel] = frozenset()
    stops: frozenset[Stop] = frozenset()
    promised_on: date | None = None
    """Day on which the youngest open promise was made."""
    promised_for: date | None = None
    """Day for which it was made."""
    other_zones: frozenset[str] = frozenset()
    """Zones of the person's other accounts, where they differ: it must be day in all of them."""


class ContactRules(NamedTuple):
    """Limits in force on a day."""

    connected_calls_per_day: int
    quiet_from: time
    quiet_until: time
    debtor_only: bool
    promise_cool_off_days: int
    quiet_days: QuietDays = NO_QUIET_DAYS

    @classmethod
    def at(cls, day: date, parameters: Parameters | None = None) -> ContactRules:
        """Limits in force on a day."""
        known = parameters or Parameters.load()

        def clock(name: str) -> time:
            return time.fromisoformat(str(known.at(f"collections.{name}", day).value))

        return cls(
            known.at("collections.connected_calls_per_day", day).integer,
            clock("quiet_from"),
            clock("quiet_until"),
            bool(known.at("collections.debtor_only", day).value),
            known.at("collections.promise_cool_off", day).integer,
            parse_quiet_days(str(known.at("collections.quiet_days", day).value)),
        )

    def is_quiet(self, clock: time) -> bool:
        """True at a time of day at which nobody is contacted."""
        if self.quiet_from > self.quiet_until:
            return clock >= self.quiet_from or clock < self.quiet_until
        return self.quiet_from <= clock < self.quiet_until


def broken_rules(
    contact: Contact, debtor: Debtor, attempts: Iterable[Attempt], rules: ContactRules
) -> tuple[ContactRule, ...]:
    """Every rule that forbids a contact; none if it may be made.

    `attempts` are those of the person over all users, channels, desks and agencies.
    """
    zone = zone_of(debtor.time_zone)
    local = local_moment(contact.at, zone)
    # The post decides when a letter arrives, so the moment of its writing disturbs nobody.
    disturbs = contact.channel is not Channel.LETTER
    clocks = [local, *(local_moment(contact.at, zone_of(each)) for each in debtor.other_zones)]
    found = {
        ContactRule.STOPPED: bool(debtor.stops),
        ContactRule.NOT_THE_DEBTOR: rules.debtor_only and contact.party is not Party.DEBTOR,
        ContactRule.NO_CONSENT: needs_consent(contact.channel)
        and contact.channel not in debtor.consents,
        ContactRule.QUIET_HOURS: disturbs and any(rules.is_quiet(each.time()) for each in clocks),
        ContactRule.QUIET_DAY: disturbs
        and any(rules.quiet_days.is_quiet(each.date()) for each in clocks),
        ContactRule.DAILY_LIMIT: contact.channel.is_call
        and _calls_on(local.date(), zone, attempts) >= rules.connected_calls_per_day,
        ContactRule.COOL_OFF: is_cooling_off(debtor, local.date(), rules),
    }
    return tuple(rule for rule, is_broken in found.items() if is_broken)


def needs_consent(channel: Channel) -> bool:
    """True for channels that a debtor must have agreed to; a letter is served by law."""
    return channel is not Channel.LETTER


def is_cooling_off(debtor: Debtor, day: date, rules: ContactRules) -> bool:
    """True while a promise stands: until its day is over, and not longer than the limit."""
    if debtor.promised_on is None or debtor.promised_for is None:
        return False
    last = debtor.promised_on + timedelta(days=rules.promise_cool_off_days)
    return debtor.promised_on <= day <= min(last, debtor.promised_for)


def zone_of(name: str) -> ZoneInfo:
    """A time zone by its name, refused if there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        fix = "Give a name of the IANA time zones, such as Asia/Shanghai"
        raise ContactError(f"time zone '{name}' is unknown", where="debtor", fix=fix) from None


def local_moment(at: datetime, zone: ZoneInfo) -> datetime:
    """A moment on the debtor's own clock."""
    if at.tzinfo is None:
        fix = "Give moments with their time zone"
        raise ContactError(f"{at} has no time zone", where="contact", fix=fix)
    return at.astimezone(zone)


def _calls_on(day: date, zone: ZoneInfo, attempts: Iterable[Attempt]) -> int:
    return sum(
        each.channel.is_call
        and each.reached is not ContactOutcome.NOT_CONNECTED
        and local_moment(each.at, zone).date() == day
        for each in attempts
    )
