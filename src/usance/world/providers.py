"""Payment providers: notices that come late, twice, damaged or not at all, and come again.

A provider sends a file a day. What the platform has not acknowledged is in the next day's file
once more, in whatever order, until it is. So a fault changes when a payment is known, and nothing
else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.codes import FactKind
from usance.base.draws import draw
from usance.service.payment_file import HEADER, Notice, NoticeDesk
from usance.world.distributions import happened, threshold_ppm
from usance.world.draw_kernel import draws
from usance.world.scenario.scenario import Providers, Scenario
from usance.world.streams import Stream

MAX_TRIES = 14
"""A notice is through at the latest when it was sent again so many times."""
PER_NOTICE = 16
_MONEY = (int(FactKind.PAID), int(FactKind.RECOVERED))


class Notices(Protocol):
    """Facts as columns, as far as a provider sees them."""

    @property
    def loan_id(self) -> NDArray[np.int64]:
        """Whose payment it is."""

    @property
    def kind(self) -> NDArray[np.int8]:
        """What is told."""

    @property
    def ref(self) -> NDArray[np.int64]:
        """The payment's own number."""

    @property
    def arg(self) -> NDArray[np.int64]:
        """The provider of a payment."""

    @property
    def booked(self) -> NDArray[np.int32]:
        """The day it is first told."""

    def where(self, rows: NDArray[np.int64]) -> Self:
        """Some of the notices."""


N = TypeVar("N", bound=Notices)


def duplicates(scenario: Scenario, told: N) -> N:
    """Notices of payment that a provider sends again, as they were."""
    chance = threshold_ppm(scenario.providers.duplicate_ppm)
    paid = np.flatnonzero(told.kind == int(FactKind.PAID)) if chance else np.zeros(0, np.int64)
    drawn = draws(scenario.seed, Stream.DUPLICATE, told.loan_id[paid], told.ref[paid])
    return told.where(paid[happened(drawn, chance)])


def are_faulty(providers: Providers) -> bool:
    """Whether files come damaged or not at all."""
    return bool(providers.lost_ppm or providers.damaged_ppm or providers.crash_ppm)


def arrivals(scenario: Scenario, told: Notices) -> NDArray[np.int32]:
    """The day each notice is known: that of the first file that brings it whole."""
    if not are_faulty(scenario.providers):
        return told.booked
    days = told.booked.astype(np.int64)
    left = np.flatnonzero(np.isin(told.kind, _MONEY))
    for attempt in range(MAX_TRIES):
        lost = _fails(scenario, told.loan_id[left], told.ref[left], attempt)
        cut = _crashes(scenario, told.arg[left], days[left])
        left = left[lost | cut]
        days[left] += 1
    return days.astype(np.int32)


def _fails(scenario: Scenario, loan: I64, ref: I64, attempt: int) -> NDArray[np.bool_]:
    """Where a line is lost on the way or damaged."""
    providers = scenario.providers
    drawn = draws(scenario.seed, Stream.DELIVERY, loan, ref * PER_NOTICE + attempt)
    return happened(drawn, threshold_ppm(providers.lost_ppm + providers.damaged_ppm))


def _crashes(scenario: Scenario, provider: I64, day: I64) -> NDArray[np.bool_]:
    """Where the platform goes down over a provider's file of a day."""
    drawn = draws(scenario.seed, Stream.CRASH, provider, day)
    return happened(drawn, threshold_ppm(scenario.providers.crash_ppm))


class Crash(Exception):
    """The platform went down while it read a file."""


@dataclass
class Sender:
    """The providers of a scenario as they send files, one notice after the other."""

    scenario: Scenario
    waiting: dict[tuple[int, int], tuple[Notice, int]] = field(default_factory=dict)
    """What is not acknowledged, and how often it was sent."""

    def files(self, told: list[Notice]) -> Iterator[tuple[int, str]]:
        """The files of a day by provider: what is new and what was not acknowledged."""
        self.waiting |= {(each.loan_id, each.ref): (each, 0) for each in told}
        for provider in sorted({notice.provider for notice, _ in self.waiting.values()}):
            lines = [
                (draw(self.scenario.seed, Stream.DELIVERY, loan, ref * PER_NOTICE + 15), line)
                for (loan, ref), (notice, tries) in self.waiting.items()
                if notice.provider == provider
                for line in self._lines(notice, tries)
            ]
            shuffled = (line for _, line in sorted(lines))
            yield provider, "".join(f"{line}\n" for line in (HEADER, *shuffled))

    def _lines(self, notice: Notice, tries: int) -> list[str]:
        """A notice as it comes through the wire: whole, twice, damaged or not at all."""
        providers, line = self.scenario.providers, notice.line
        if tries < MAX_TRIES:
            counter = notice.ref * PER_NOTICE + tries
            chance = draw(self.scenario.seed, Stream.DELIVERY, notice.loan_id, counter) >> 11
            if chance < threshold_ppm(providers.lost_ppm):
                return []
            if chance < threshold_ppm(providers.lost_ppm + providers.damaged_ppm):
                return [line[: len(line) // 2]]
        drawn = draw(self.scenario.seed, Stream.DUPLICATE, notice.loan_id, notice.ref)
        return [line] * (2 if drawn >> 11 < threshold_ppm(providers.duplicate_ppm) else 1)

    def hand_over(self, desk: NoticeDesk, provider: int, text: str, day: int) -> list[Notice]:
        """Give a file to the platform; what it acknowledges is not sent again."""
        drawn = draw(self.scenario.seed, Stream.CRASH, provider, day) >> 11
        own = [key for key, (notice, _) in self.waiting.items() if notice.provider == provider]
        for key in own:
            self.waiting[key] = self.waiting[key][0], self.waiting[key][1] + 1
        if drawn < threshold_ppm(self.scenario.providers.crash_ppm):
            raise Crash(f"while it read the file of provider {provider}")
        taken = desk.take(text, where=f"provider {provider}, day {day}")
        for notice in (*taken.accepted, *taken.repeated):
            self.waiting.pop((notice.loan_id, notice.ref), None)
        return list(taken.accepted)


def delivered(
    scenario: Scenario, desk: NoticeDesk, told: Mapping[int, list[Notice]]
) -> dict[tuple[int, int], int]:
    """Notices by the day they are first told, sent until all are known: the day of each."""
    sender, known = Sender(scenario), dict[tuple[int, int], int]()
    day, last = min(told, default=0), max(told, default=-1)
    while day <= last or sender.waiting:
        for provider, text in sender.files(told.get(day, [])):
            try:
                accepted = sender.hand_over(desk, provider, text, day)
            except Crash:
                continue  # nothing of the file is known; tomorrow it comes again
            known |= {(each.loan_id, each.ref): day for each in accepted}
        day += 1
    return known
