"""Payment providers: notices that come late, twice, damaged or not at all, and come again.

A provider sends a file a day. What the platform has not acknowledged is in the next day's file
once more, in whatever order, until it is. So a fault changes when a payment is known, and nothing
else. On which day a provider hears of a payment, late or not, is drawn with the payment itself
(`behaviour_kernel.notice_of`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.codes import FactKind
from usance.base.draws import draw
from usance.world.distributions import happened, threshold_ppm
from usance.world.draw_kernel import draws
from usance.world.scenario.scenario import Providers, Scenario
from usance.world.streams import Stream

MAX_TRIES = 14
"""A notice is through at the latest when it was sent again so many times."""
PER_NOTICE = 16
_MONEY = (int(FactKind.PAID), int(FactKind.RECOVERED))


class Notice(Protocol):
    """Port: one notice of payment, with the line of a payment file that reports it."""

    @property
    def loan_id(self) -> int:
        """Loan that was paid."""

    @property
    def ref(self) -> int:
        """The payment's own number."""

    @property
    def provider(self) -> int:
        """Provider that reports it."""

    @property
    def line(self) -> str:
        """Line of a payment file."""


N = TypeVar("N", bound=Notice)
N_co = TypeVar("N_co", bound=Notice, covariant=True)


class IntakeResult(Protocol[N_co]):
    """Port: notices of a file that the platform acknowledges."""

    @property
    def accepted(self) -> Sequence[N_co]:
        """Notices that are new."""

    @property
    def repeated(self) -> Sequence[N_co]:
        """Notices that were known already."""


class Intake(Protocol[N_co]):
    """Port: the platform's intake of payment files."""

    @property
    def header(self) -> str:
        """First line of a payment file."""

    def take(self, text: str, where: str = ...) -> IntakeResult[N_co]:
        """Read a file."""


class Notices(Protocol):
    """Port: facts as columns, as far as a provider sees them."""

    @property
    def loan_id(self) -> NDArray[np.int64]:
        """Loan that was paid."""

    @property
    def kind(self) -> NDArray[np.int8]:
        """Kind of fact."""

    @property
    def ref(self) -> NDArray[np.int64]:
        """The payment's own number."""

    @property
    def arg(self) -> NDArray[np.int64]:
        """The provider of a payment."""

    @property
    def booked(self) -> NDArray[np.int32]:
        """Day it is first reported."""

    def where(self, rows: NDArray[np.int64]) -> Self:
        """Some of the notices."""


C = TypeVar("C", bound=Notices)


def duplicates(scenario: Scenario, notices: C) -> C:
    """Notices of payment that a provider sends again, as they were."""
    chance = threshold_ppm(scenario.providers.duplicate_ppm)
    paid = np.flatnonzero(notices.kind == int(FactKind.PAID)) if chance else np.zeros(0, np.int64)
    drawn = draws(scenario.seed, Stream.DUPLICATE, notices.loan_id[paid], notices.ref[paid])
    return notices.where(paid[happened(drawn, chance)])


def are_faulty(providers: Providers) -> bool:
    """True if files come damaged or not at all."""
    return bool(providers.lost_ppm or providers.damaged_ppm or providers.crash_ppm)


def arrivals(scenario: Scenario, notices: Notices) -> NDArray[np.int32]:
    """The day each notice is known: that of the first file that brings it whole."""
    if not are_faulty(scenario.providers):
        return notices.booked
    days = notices.booked.astype(np.int64)
    left = np.flatnonzero(np.isin(notices.kind, _MONEY))
    for attempt in range(MAX_TRIES):
        lost = _fails(scenario, notices.loan_id[left], notices.ref[left], attempt)
        cut = _crashes(scenario, notices.arg[left], days[left])
        left = left[lost | cut]
        days[left] += 1
    return days.astype(np.int32)


def _fails(scenario: Scenario, loan: I64, ref: I64, attempt: int) -> NDArray[np.bool_]:
    """True for each line that is lost on the way or damaged."""
    providers = scenario.providers
    drawn = draws(scenario.seed, Stream.DELIVERY, loan, ref * PER_NOTICE + attempt)
    return happened(drawn, threshold_ppm(providers.lost_ppm + providers.damaged_ppm))


def _crashes(scenario: Scenario, provider: I64, day: I64) -> NDArray[np.bool_]:
    """True for each provider and day over whose file the platform goes down."""
    drawn = draws(scenario.seed, Stream.CRASH, provider, day)
    return happened(drawn, threshold_ppm(scenario.providers.crash_ppm))


class Crash(Exception):
    """The platform went down while it read a file."""


@dataclass
class Sender(Generic[N]):
    """Providers of a scenario as they send payment files, one notice after the other."""

    scenario: Scenario
    header: str
    """First line of a payment file."""
    waiting: dict[tuple[int, int], tuple[N, int]] = field(default_factory=dict)
    """Notices that are not acknowledged, and how often each was sent."""

    def files(self, notices: list[N]) -> Iterator[tuple[int, str]]:
        """Files of a day by provider: new notices and those not acknowledged."""
        self.waiting |= {(each.loan_id, each.ref): (each, 0) for each in notices}
        for provider in sorted({notice.provider for notice, _ in self.waiting.values()}):
            lines = [
                (draw(self.scenario.seed, Stream.DELIVERY, loan, ref * PER_NOTICE + 15), line)
                for (loan, ref), (notice, tries) in self.waiting.items()
                if notice.provider == provider
                for line in self._lines(notice, tries)
            ]
            shuffled = (line for _, line in sorted(lines))
            yield provider, "".join(f"{line}\n" for line in (self.header, *shuffled))

    def _lines(self, notice: N, tries: int) -> list[str]:
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

    def hand_over(self, intake: Intake[N], provider: int, text: str, day: int) -> list[N]:
        """Give a file to the platform; notices it acknowledges are not sent again."""
        drawn = draw(self.scenario.seed, Stream.CRASH, provider, day) >> 11
        own = [key for key, (notice, _) in self.waiting.items() if notice.provider == provider]
        for key in own:
            self.waiting[key] = self.waiting[key][0], self.waiting[key][1] + 1
        if drawn < threshold_ppm(self.scenario.providers.crash_ppm):
            raise Crash(f"while it read the file of provider {provider}")
        result = intake.take(text, where=f"provider {provider}, day {day}")
        for notice in (*result.accepted, *result.repeated):
            self.waiting.pop((notice.loan_id, notice.ref), None)
        return list(result.accepted)
