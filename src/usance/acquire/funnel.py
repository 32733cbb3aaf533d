"""The funnel and its cost: events by channel, cohort and day, and what each approved user cost.

An event is a line of CSV: `channel,user_id,event,on,amount`. Events are `click`, `registered`,
`identified`, `applied`, `approved`, `drawn` and `income`; clicks have no user (0), and only
income has an amount. A user's cohort is the month of registration.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any

from usance.acquire.channels import Channels
from usance.acquire.errors import ChannelError
from usance.base.documents import read_csv
from usance.base.errors import UsanceError, raise_all
from usance.base.fields import amount_of, day, one_of, whole_of
from usance.base.ids import LIMIT, PER_USER
from usance.base.money import half_up
from usance.base.rates import PPM

COLUMNS = ("channel", "user_id", "event", "on", "amount")


class Step(Enum):
    """A step on the way to credit."""

    CLICK = "click"
    REGISTERED = "registered"
    IDENTIFIED = "identified"
    APPLIED = "applied"
    APPROVED = "approved"
    DRAWN = "drawn"
    INCOME = "income"


_AFTER = {
    Step.IDENTIFIED: (Step.REGISTERED,),
    Step.APPLIED: (Step.REGISTERED,),
    Step.APPROVED: (Step.REGISTERED, Step.APPLIED),
    Step.DRAWN: (Step.REGISTERED, Step.APPROVED),
    Step.INCOME: (Step.REGISTERED,),
}
"""Steps that must have happened by the day of a step, in the file or before it."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of one channel."""

    channel: int
    user_id: int
    step: Step
    on: date
    amount_minor: int = 0


@dataclass
class FunnelCell:
    """One channel, cohort or day: how many came how far, and what it cost."""

    counts: Counter[str] = field(default_factory=Counter)
    cost_minor: int = 0
    income_minor: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Counts by step, cost, and cost per approved user (None if nobody was)."""
        steps = {step.value: self.counts[step.value] for step in Step if step is not Step.INCOME}
        approved = self.counts["approved"]
        unit = half_up(self.cost_minor, approved) if approved else None
        return {**steps, "cost_minor": self.cost_minor, "income_minor": self.income_minor,
                "unit_cost_minor": unit}  # fmt: skip


@dataclass(frozen=True)
class Funnel:
    """Cells by channel, by channel and cohort, and by channel and day."""

    by_channel: Mapping[tuple[str], FunnelCell]
    by_cohort: Mapping[tuple[str, str], FunnelCell]
    by_day: Mapping[tuple[str, str], FunnelCell]

    def as_dict(self) -> dict[str, list[dict[str, Any]]]:
        """The three tables for `--json`."""
        headings = {"by_channel": ("channel",), "by_cohort": ("channel", "cohort"),
                    "by_day": ("channel", "on")}  # fmt: skip
        return {
            name: [
                {**dict(zip(names, key, strict=True)), **cell.as_dict()}
                for key, cell in sorted(getattr(self, name).items())
            ]
            for name, names in headings.items()
        }


def read_events(path: Path | str, channels: Channels) -> list[Event]:
    """The events of a CSV file, or everything that is wrong with them by line."""
    problems: list[UsanceError] = []
    found: dict[int, Event] = {}
    for line, row in read_csv(path):
        where = f"{path} line {line}"
        missing = [name for name in COLUMNS[:4] if name not in row]
        if missing:
            fix = f"Give the columns {', '.join(COLUMNS)}"
            raise ChannelError(f"has no column {missing[0]}", where=str(path), fix=fix)
        try:
            found[line] = _event(row, channels, where)
        except UsanceError as error:
            problems.append(error)
    if not found and not problems:
        raise ChannelError("has no events", where=str(path), fix="Give a line for each event")
    raise_all([*problems, *_too_early(found, str(path))], where=str(path))
    return [*found.values()]


def _too_early(found: Mapping[int, Event], path: str) -> Iterator[ChannelError]:
    """Events of a user on a day before one that must come first."""
    first: dict[tuple[int, Step], date] = {}
    for event in found.values():
        key = (event.user_id, event.step)
        first[key] = min(first.get(key, event.on), event.on)
    for line, event in found.items():
        for before in _AFTER.get(event.step, ()):
            on = first.get((event.user_id, before), event.on)
            if event.on < on:
                what = f"{event.step.value} of user {event.user_id} is on {event.on}"
                fix = f"{before.value.capitalize()} is on {on}; correct one of the two days"
                yield ChannelError(what, where=f"{path} line {line}, on", fix=fix)


def _event(row: Mapping[str, str], channels: Channels, where: str) -> Event:
    step = one_of(Step)(row["event"], f"{where}, event")
    user = whole_of(0, LIMIT // PER_USER)(row["user_id"], f"{where}, user_id")
    amount = row.get("amount") or "0"
    read = amount_of(channels.currency, 0, 10**15)(amount, f"{where}, amount")
    if (user == 0) != (step is Step.CLICK):
        fix = "A click has the user 0, everything else has its user"
        raise ChannelError(f"{step.value} of user {user}", where=where, fix=fix)
    if read and step is not Step.INCOME:
        raise ChannelError(f"{step.value} has an amount", where=where, fix="Only income has one")
    number = whole_of(1, 32_767)(row["channel"], f"{where}, channel")
    on = day(row["on"], f"{where}, on")
    channels.at(number, on, where=where)
    return Event(number, user, step, on, read)


def acquisition_funnel(channels: Channels, events: Iterable[Event]) -> Funnel:
    """Count and cost events; each user counts once a step, and pays for one approval."""
    rows = sorted(events, key=lambda event: (event.on, [*Step].index(event.step)))
    cohort = {e.user_id: f"{e.on:%Y-%m}" for e in reversed(rows) if e.step is Step.REGISTERED}
    by_channel: defaultdict[Any, FunnelCell] = defaultdict(FunnelCell)
    by_cohort: defaultdict[Any, FunnelCell] = defaultdict(FunnelCell)
    by_day: defaultdict[Any, FunnelCell] = defaultdict(FunnelCell)
    seen: set[tuple[int, Step]] = set()
    for event in rows:
        repeated = event.step not in (Step.CLICK, Step.INCOME)
        if repeated and (event.user_id, event.step) in seen:
            continue
        seen.add((event.user_id, event.step))
        channel = channels.at(event.channel, event.on)
        month = cohort.get(event.user_id, f"{event.on:%Y-%m}")
        cells = (by_channel[(channel.name,)], by_cohort[channel.name, month],
                 by_day[channel.name, event.on.isoformat()])  # fmt: skip
        for cell in cells:
            cell.counts[event.step.value] += 1
            cell.cost_minor += _cost_minor(channels, event)
            cell.income_minor += event.amount_minor
    return Funnel(dict(by_channel), dict(by_cohort), dict(by_day))


def _cost_minor(channels: Channels, event: Event) -> int:
    contract = channels.at(event.channel, event.on).contract
    if event.step is Step.CLICK:
        return contract.per_click_minor
    if event.step is Step.APPROVED:
        return contract.per_line_minor
    return half_up(event.amount_minor * contract.revenue_ppm, PPM)
