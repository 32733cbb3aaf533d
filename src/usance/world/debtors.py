"""Debtors who react to contacts: the response model, and what a way of working brings in a month.

A debtor who is late pays on each day by themselves, with a chance that follows from the scenario's
own behaviour, or because a contact reached them: `reach` × `effect`, less with every contact that
reached them before. What a plan brings is compared with the reference plan, under which the
scenario's behaviour is as it is written; so the reference plan changes nothing, to the last digit.

>>> calls = PlannedContact(4, 30, every_days=2, per_day=1, channel="voice", desk="m1", minutes=6)
>>> plan = ContactPlan(((1.0, (calls,)),))
>>> round(paid_by(0.05, pressures_of(plan, 1, 30)), 3)
0.899
>>> round(paid_by(0.05, pressures_of(ContactPlan(()), 1, 30)), 3)
0.785
>>> month_effect(plan, plan, Operations(), 600, collected30=0.85, cure=(0.2,)) == NO_EFFECT
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from usance.base.dates import first_of_month, last_of_month, to_day
from usance.base.rates import PPM

REACH = {"push": 0.5, "message": 0.8, "email": 0.4, "ai_voice": 0.35, "voice": 0.45, "letter": 0.9}
"""Chance that a contact reaches its debtor, by channel [assumption]."""
EFFECT = {
    "push": 0.006, "message": 0.02, "email": 0.006, "ai_voice": 0.06, "voice": 0.18, "letter": 0.03,
}  # fmt: skip
"""Chance that a debtor who was reached pays that day and would not have [assumption]."""
REMINDED = {
    "push": 0.03, "message": 0.06, "email": 0.02, "ai_voice": 0.08, "voice": 0.1, "letter": 0.0,
}  # fmt: skip
"""Share of late dues that a reminder which reached its borrower prevents [assumption]."""
FATIGUE = 0.15
"""A call that reached a debtor makes the next contact worth so much less, any other contact as much
less as it presses less [assumption]."""
AGREED = 0.7
"""Share of debtors who agreed to the channel that takes over [assumption]."""
FALLBACK = {
    "push": "message", "message": "push", "email": "message", "ai_voice": "message",
    "voice": "ai_voice", "letter": "email",
}  # fmt: skip
"""Channel that takes over the work of one that is down."""
MAX_SHARE = 0.5
"""Part of what is paid late that contacts bring, at most; the rest comes by itself [assumption]."""
WINDOW, BUCKET = 30, 30
ARM_STREAM = 1
"""Of the draws of a strategy's seed: that of arms."""
_ROUNDS, _STEPS = 4, 50


class PlannedContact(NamedTuple):
    """Contacts of some days past due: how often, by which channel, with whose minutes."""

    first_day: int
    last_day: int
    every_days: int
    per_day: int
    channel: str
    desk: str = ""
    """Desk with people; empty for a machine, which is never short of time."""
    minutes: int = 0

    def on(self, day: int) -> int:
        """Contacts on a day past due."""
        if not self.first_day <= day <= self.last_day:
            return 0
        return self.per_day if (day - self.first_day) % self.every_days == 0 else 0


class ContactPlan(NamedTuple):
    """Groups of debtors with their weight and the contacts that each is planned to get."""

    groups: tuple[tuple[float, tuple[PlannedContact, ...]], ...]


class DrawnArms(NamedTuple):
    """Arms that borrowers are drawn into: the seed of the draw, and a plan for each share."""

    seed: int
    shares_ppm: tuple[int, ...]
    plans: tuple[ContactPlan, ...]


class ChannelOutage(NamedTuple):
    """Days, by number, on which a channel is down, and whether its work goes by another."""

    channel: str
    first_day: int
    last_day: int
    is_rerouted: bool = True


@dataclass(frozen=True)
class Operations:
    """People and channels that a plan is worked with."""

    minutes: Mapping[str, int] = field(default_factory=dict)
    """Minutes a day of a desk for each debtor who falls late a day; enough where none is given."""
    outages: tuple[ChannelOutage, ...] = ()


class ArmEffects(NamedTuple):
    """Champion and challengers that borrowers are drawn into, each with its factor."""

    seed: int
    """Of the strategy: a borrower's arm is the same on the platform."""
    shares_ppm: tuple[int, ...]
    collected30_ppm: tuple[int, ...]


class CollectionEffect(NamedTuple):
    """Factors on a month's behaviour, in parts per million."""

    late_ppm: int
    collected30_ppm: int
    cure_ppm: tuple[int, ...]
    arms: ArmEffects | None = None
    """None where everybody is treated alike; `collected30_ppm` is then that of all."""


NO_EFFECT = CollectionEffect(PPM, PPM, ())
Pressures = Sequence[tuple[float, Sequence[float]]]
"""Groups with their weight, and a chance for each day."""
Made = Callable[[PlannedContact, int], Iterator[tuple[str, float]]]
"""Channels that a planned contact goes by on a day past due, each with the share that it takes."""


def as_planned(contact: PlannedContact, day: int) -> Iterator[tuple[str, float]]:
    """Every contact, by its own channel."""
    del day
    yield contact.channel, 1.0


def paid_by(base: float, pressures: Pressures) -> float:
    """Chance that somebody late pays in some days, by themselves with `base` a day or pressed."""
    weights = sum(weight for weight, _ in pressures)
    unpaid = 0.0
    for weight, chances in pressures:
        left = weight
        for chance in chances:
            left *= (1 - base) * (1 - chance)
        unpaid += left
    return 1 - unpaid / weights


def pressures_of(
    plan: ContactPlan, first: int, last: int, made: Made = as_planned, willing: float = 1.0
) -> Pressures:
    """Chance of each day past due that its contacts bring a payment, by group."""
    found = []
    for weight, contacts in plan.groups:
        reached, chances = 0.0, []
        for day in range(first, last + 1):
            chance, more = _pressed(contacts, day, reached, made, willing)
            reached += more
            chances.append(chance)
        found.append((weight, chances))
    return found or [(1.0, [0.0] * (last - first + 1))]


def _pressed(
    contacts: Sequence[PlannedContact], day: int, reached: float, made: Made, willing: float
) -> tuple[float, float]:
    """Chance that the contacts of a day bring a payment, and how much they tire, in calls."""
    missed, more = 1.0, 0.0
    for contact in contacts:
        for _ in range(contact.on(day)):
            for channel, share in made(contact, day):
                effect = willing * EFFECT[channel] * (1 - FATIGUE) ** (reached + more)
                missed *= 1 - share * REACH[channel] * effect
                more += share * REACH[channel] * EFFECT[channel] / EFFECT["voice"]
    return 1 - missed, more


def month_effect(
    plan: ContactPlan, reference: ContactPlan, operations: Operations, month: int, *,
    collected30: float, cure: Sequence[float], arms: DrawnArms | None = None,
) -> CollectionEffect:  # fmt: skip
    """Effect of a plan and its operations on what falls due, and is in arrears, in a month."""
    windows = [(1, WINDOW, collected30)]
    windows += [(WINDOW + BUCKET * n + 1, WINDOW + BUCKET * (n + 1), chance)
                for n, chance in enumerate(cure)]  # fmt: skip
    factors: list[int] = []
    of_arms: ArmEffects | None = None
    for place, (first, last, wanted) in enumerate(windows):
        willing = _solved(partial(_by_contacts, reference, first, last), MAX_SHARE * wanted)
        own = pressures_of(reference, first, last, willing=willing)
        base = _solved(partial(paid_by, pressures=own), wanted)
        made = _made(plan, operations, month, base, willing, is_cohort=place == 0)
        before = paid_by(base, own)
        after = paid_by(base, pressures_of(plan, first, last, made, willing))
        factors.append(round(PPM * after / before) if before else PPM)
        if arms and place == 0:
            parts = [paid_by(base, pressures_of(each, first, last, made, willing))
                     for each in arms.plans]  # fmt: skip
            shares = tuple(round(PPM * each / before) if before else PPM for each in parts)
            of_arms = ArmEffects(arms.seed, arms.shares_ppm, shares)
    made = _made(plan, operations, month, 0.0, 1.0, is_cohort=True)
    late = _still_late(plan, made) / _still_late(reference, as_planned)
    effect = CollectionEffect(round(PPM * late), factors[0], tuple(factors[1:]), of_arms)
    changes_nothing = of_arms is None and {effect.late_ppm, *factors} == {PPM}
    return NO_EFFECT if changes_nothing else effect


def _by_contacts(plan: ContactPlan, first: int, last: int, willing: float) -> float:
    """Chance that contacts alone bring a payment in some days."""
    return paid_by(0.0, pressures_of(plan, first, last, willing=willing))


def _solved(chance_of: Callable[[float], float], wanted: float) -> float:
    """A number from 0 to 1 at which a rising chance is what is wanted; 1 if it never is."""
    if chance_of(1.0) <= wanted:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if chance_of(middle) < wanted:
            low = middle
        else:
            high = middle
    return low


def _still_late(plan: ContactPlan, made: Made) -> float:
    """Share of late dues that reminders before the due day leave late."""
    weights, left = sum(weight for weight, _ in plan.groups), 0.0
    for weight, contacts in plan.groups:
        missed = 1.0
        for contact in contacts:
            for day in range(contact.first_day, min(contact.last_day, 0) + 1):
                for _ in range(contact.on(day)):
                    for channel, share in made(contact, day):
                        missed *= 1 - share * REACH[channel] * REMINDED[channel]
        left += weight * missed
    return left / weights if weights else 1.0


def _made(
    plan: ContactPlan, operations: Operations, month: int, base: float, willing: float, *,
    is_cohort: bool,
) -> Made:  # fmt: skip
    """How contacts are made: as far as there are people, and by channels that work."""
    short: dict[str, float] = {}

    def made(contact: PlannedContact, day: int) -> Iterator[tuple[str, float]]:
        share = short.get(contact.desk, 1.0)
        for outage in operations.outages:
            if outage.channel == contact.channel:
                down = _down(outage, month, day if is_cohort else 0, is_cohort=is_cohort)
                if down and outage.is_rerouted:
                    yield FALLBACK[contact.channel], share * down * AGREED
                share *= 1 - down
        if share:
            yield contact.channel, share

    for _ in range(_ROUNDS if operations.minutes else 0):
        needed = _needed(plan, base, willing, made)
        for desk, minutes in operations.minutes.items():
            if needed.get(desk):
                short[desk] = min(1.0, short.get(desk, 1.0) * minutes / needed[desk])
    return made


def _needed(plan: ContactPlan, base: float, willing: float, made: Made) -> dict[str, float]:
    """Minutes a day that each desk needs for one debtor who falls late each day."""
    weights = sum(weight for weight, _ in plan.groups) or 1.0
    needed: dict[str, float] = {}
    for weight, contacts in plan.groups:
        unpaid, reached = weight / weights, 0.0
        for day in range(1, 6 * BUCKET + 1):
            for contact in contacts:
                share = sum(part for _, part in made(contact, day)) * contact.on(day)
                if contact.desk and share:
                    used = unpaid * share * contact.minutes
                    needed[contact.desk] = needed.get(contact.desk, 0.0) + used
            chance, more = _pressed(contacts, day, reached, made, willing)
            reached += more
            unpaid *= (1 - base) * (1 - chance)
    return needed


def _down(outage: ChannelOutage, month: int, day: int, *, is_cohort: bool) -> float:
    """Part of the month's contacts on a day past due that fall into an outage."""
    first, last = to_day(first_of_month(month)), to_day(last_of_month(month))
    shift = day if is_cohort else 0
    begin, end = max(first + shift, outage.first_day), min(last + shift, outage.last_day)
    return max(0, end - begin + 1) / (last - first + 1)
