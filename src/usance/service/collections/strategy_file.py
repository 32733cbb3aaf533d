"""Strategy files: every contradiction is named with its line, and a wrong file is refused whole.

>>> text = shipped_text().replace("latest: '20:30'", "latest: '22:30'", 1)
>>> parse_strategy(text, "mine.yaml")
Traceback (most recent call last):
usance.service.errors.StrategyError: mine.yaml line 27, actions[1].latest: the contact may be \
made until 22:30, and nobody is contacted from 22:00 to 08:00. Keep it inside 08:00 to 22:00.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import time
from pathlib import Path
from typing import Any

from usance.base import fields as read
from usance.base.codes import parse
from usance.base.documents import read_text
from usance.base.errors import DocumentError, raise_all, unknown
from usance.base.fields import Fields, fields_of
from usance.base.parameters import Parameters
from usance.service.collections.contact_rules import Channel, ContactRules, Party
from usance.service.collections.stages import Stage
from usance.service.collections.strategy import (
    Action,
    Arm,
    Desk,
    DeskKind,
    Segment,
    Strategy,
    Tone,
)
from usance.service.errors import StrategyError

_FOLDER = Path(__file__).parent / "strategies"
SHIPPED = {"CNY": _FOLDER / "standard.yaml", "EUR": _FOLDER / "standard_eur.yaml"}
"""The shipped strategy of each currency that has one, inside the hours of its countries."""
CHAMPION = "champion"
_PPM = 1_000_000
_ALL = "all"


def shipped_text(currency: str = "CNY") -> str:
    """The text of the shipped strategy, to be copied and changed."""
    return read_text(SHIPPED.get(currency, SHIPPED["CNY"]))


def shipped_strategy(currency: str = "CNY") -> Strategy:
    """The shipped strategy of a currency; one without its own takes that in CNY."""
    return read_strategy(SHIPPED.get(currency, SHIPPED["CNY"]))


def read_strategy(path: Path | str, parameters: Parameters | None = None) -> Strategy:
    """A strategy file, by the rules of a country."""
    return parse_strategy(read_text(path), str(path), parameters)


def parse_strategy(text: str, where: str, parameters: Parameters | None = None) -> Strategy:
    """A strategy as text; everything wrong with it is raised together."""
    return _Reader(fields_of(text, where), where, parameters).strategy()


class _Reader:
    """One pass over a strategy's document."""

    def __init__(self, fields: Fields, where: str, parameters: Parameters | None) -> None:
        self.fields, self.where, self.parameters = fields, where, parameters
        self.problems = fields.problems
        self.written: set[tuple[str, str, Stage]] = set()

    def strategy(self) -> Strategy:
        fields = self.fields
        name = fields.need("strategy", read.text)
        valid_from = fields.need("valid_from", read.day)
        seed = fields.need("seed", read.whole_of(0, 2**31))
        currency = fields.need("currency", read.text)
        bonus = fields.need("broken_promise_bonus", read.rate_of(0, 10 * _PPM))
        approved = fields.take("approved_by", _texts) or ()
        raise_all(self.problems, where=self.where)
        self.rules = ContactRules.at(valid_from, self.parameters)
        self.costs = self._costs(currency)
        self.desks = self._desks()
        segments = self._segments(currency)
        self.names = [segment.name for segment in segments]
        arms = self._arms()
        fields.close()
        raise_all(self.problems, where=self.where)
        self._check_segments(segments)
        self._check_whole(arms)
        raise_all(self.problems, where=self.where)
        return Strategy(
            name, valid_from, seed, currency, bonus, segments, self.desks, arms, approved
        )

    def wrong(self, fields: Fields, what: str, fix: str, *path: str | int) -> None:
        self.problems.append(StrategyError(what, where=fields.where(*path), fix=fix))

    def _costs(self, currency: str) -> dict[Channel, int]:
        inner = self.fields.inner("costs")
        if inner is None:
            self.fields.wrong("costs is missing", "Give the cost of a contact by channel", "costs")
            return {}
        costs = {each: inner.need_or_none(each.value, read.amount_of(currency)) for each in Channel}
        for channel, cost in costs.items():
            if cost is not None and cost < 0:
                inner.wrong("is below zero", "Give what a contact costs", channel.value)
        inner.close()
        return {channel: cost for channel, cost in costs.items() if cost is not None}

    def _desks(self) -> dict[str, Desk]:
        desks = {}
        for each in self.fields.each("desks"):
            name = each.need("name", read.text)
            kind = each.need("kind", read.one_of(DeskKind))
            minutes = each.need("minutes", read.whole_of(0, 480))
            channels = each.need("channels", _channels)
            each.close()
            if name in desks:
                self.wrong(each, f"desk {name} is there twice", "Keep one of them", "name")
            if each.has_needed:
                desks[name] = Desk(name, kind, minutes, channels)
        return desks

    def _segments(self, currency: str) -> tuple[Segment, ...]:
        segments = []
        amount = read.amount_of(currency)
        for each in self.fields.each("segments"):
            name = each.need("name", read.text)
            bounds = (
                each.take("balance_from", amount), each.take("balance_below", amount),
                each.take("pay_from", read.rate), each.take("pay_below", read.rate),
            )  # fmt: skip
            each.close()
            if each.has_needed:
                segments.append(Segment(name, *bounds))
        return tuple(segments)

    def _check_segments(self, segments: tuple[Segment, ...]) -> None:
        fields = self.fields
        for number, segment in enumerate(segments, 1):
            if self.names.index(segment.name) != number - 1:
                what = f"segment {segment.name} is there twice"
                self.wrong(fields, what, "Keep one of them", "segments", number)
            if segment.name == _ALL:
                self.wrong(fields, "a segment is called all", "Give it another name",
                           "segments", number)  # fmt: skip
            if segment.takes_all and number < len(segments):
                what = f"segment {segment.name} takes every case, so those after it get none"
                self.wrong(fields, what, "Write it last", "segments", number)
            for low, high in (segment[1:3], segment[3:5]):
                if low is not None and high is not None and low >= high:
                    what = f"segment {segment.name} takes no case: {low} is not below {high}"
                    self.wrong(fields, what, "Widen its bounds", "segments", number)
        if not segments or not segments[-1].takes_all:
            what = "cases outside every segment have no action"
            fix = "End the segments with one that has a name alone"
            self.wrong(fields, what, fix, "segments")

    def _arms(self) -> tuple[Arm, ...]:
        actions: dict[str, dict[tuple[str, Stage], Action]] = {}
        shares = {}
        for each in self.fields.each("arms"):
            name = each.need("name", read.text)
            share = each.need("share", read.rate_of(0, _PPM))
            each.close()
            if name in shares:
                self.wrong(each, f"arm {name} is there twice", "Keep one of them", "name")
            if each.has_needed:
                shares[name] = share
                actions[name] = {}
        if next(iter(shares), "") != CHAMPION:
            self.wrong(self.fields, "the first arm is not the champion", "Write it first", "arms")
        if sum(shares.values()) != _PPM:
            what = f"shares of the arms add up to {sum(shares.values()) / _PPM:.2%}"
            self.wrong(self.fields, what, "Let them add up to 100%", "arms")
        for each in self.fields.each("actions"):
            self._action(each, actions)
        return tuple(Arm(name, share, actions[name]) for name, share in shares.items())

    def _action(self, fields: Fields, arms: Mapping[str, dict[Any, Action]]) -> None:
        arm = fields.take("arm", _known("arm", arms)) or CHAMPION
        segment = fields.take("segment", _known("segment", [_ALL, *self.names])) or _ALL
        stages = fields.need("stage", _stages)
        channel = fields.need("channel", read.one_of(Channel))
        desk = fields.need("desk", _known("desk", self.desks))
        script = fields.need("script", read.text)
        tone = fields.need("tone", read.one_of(Tone))
        every = fields.need("every_days", read.whole_of(1, 180))
        per_day = fields.take("per_day", read.whole_of(1, 20)) or 1
        earliest = fields.take("earliest", _clock) or self.rules.quiet_until
        latest = fields.take("latest", _clock) or self.rules.quiet_from
        party = fields.take("party", read.one_of(Party)) or Party.DEBTOR
        fields.close()
        if not fields.has_needed or not fields.is_sound or arm not in arms:
            return
        action = Action(channel, desk, script, tone, every, per_day, earliest, latest, party,
                        self.costs.get(channel, 0))  # fmt: skip
        self._check_allowed(fields, action)
        for stage in stages:
            if (arm, segment, stage) in self.written:
                what = f"{arm} has two actions for segment {segment} at {stage.label}"
                self.wrong(fields, what, "Keep one of them", "stage")
            self.written.add((arm, segment, stage))
        for name in self.names if segment == _ALL else [segment]:
            for stage in stages:
                key = (name, stage)
                # `all` is the default of an arm; what is written for one segment comes before it.
                if segment == _ALL and key in arms[arm]:
                    continue
                arms[arm][key] = action

    def _check_allowed(self, fields: Fields, action: Action) -> None:
        rules, desk = self.rules, self.desks[action.desk]
        if action.channel not in desk.channels:
            what = f"desk {desk.name} does not use the channel {action.channel.value}"
            self.wrong(fields, what, "Choose one of its channels, or another desk", "channel")
        if action.channel.is_call and action.per_day > rules.connected_calls_per_day:
            limit = rules.connected_calls_per_day
            what = f"{action.per_day} calls a day are asked for, and {limit} may reach a debtor"
            self.wrong(fields, what, f"Ask for {limit} at most", "per_day")
        if rules.debtor_only and action.party is not Party.DEBTOR:
            what = f"the {action.party.value} is contacted, and the debtor alone may be"
            self.wrong(fields, what, "Contact the debtor", "party")
        quiet = f"{rules.quiet_from:%H:%M} to {rules.quiet_until:%H:%M}"
        inside = f"Keep it inside {rules.quiet_until:%H:%M} to {rules.quiet_from:%H:%M}"
        if not rules.quiet_until <= action.earliest < action.latest:
            what = f"the contact may be made from {action.earliest:%H:%M}"
            self.wrong(fields, f"{what}, and nobody is contacted from {quiet}", inside, "earliest")
        if action.latest > rules.quiet_from:
            what = f"the contact may be made until {action.latest:%H:%M}"
            self.wrong(fields, f"{what}, and nobody is contacted from {quiet}", inside, "latest")

    def _check_whole(self, arms: tuple[Arm, ...]) -> None:
        champion = arms[0]
        for number, name in enumerate(self.names, 1):
            missing = [stage.label for stage in Stage if (name, stage) not in champion.actions]
            if missing:
                what = f"segment {name} has no action at {', '.join(missing)}"
                fix = "Give the champion one for each stage, or for segment all"
                self.wrong(self.fields, what, fix, "segments", number)


def _texts(given: Any, where: str) -> tuple[str, ...]:
    listed = given if isinstance(given, list) else [given]
    return tuple(read.text(each, where) for each in listed)


def _channels(given: Any, where: str) -> frozenset[Channel]:
    return frozenset(read.one_of(Channel)(each, where) for each in _texts(given, where))


def _stages(given: Any, where: str) -> tuple[Stage, ...]:
    if given == _ALL:
        return tuple(Stage)
    return tuple(parse(Stage, each, where=where) for each in _texts(given, where))


def _clock(given: Any, where: str) -> time:
    fix = "Write hours and minutes, such as 20:30"
    try:
        found = time.fromisoformat(str(given))
    except ValueError:
        raise DocumentError(f"'{given}' is no time of day", where=where, fix=fix) from None
    if found.tzinfo is not None:  # it is always that of the debtor
        raise DocumentError(f"'{given}' has a time zone", where=where, fix=fix)
    return found


def _known(what: str, names: Any) -> read.Reader[str]:
    def one(given: Any, where: str) -> str:
        if given not in names:
            raise unknown(what, str(given), names, where=where)
        return str(given)

    return one
