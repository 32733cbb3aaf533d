"""Payment providers: notices that come late, and notices that come twice."""

from __future__ import annotations

from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from usance.base.codes import Kind
from usance.world.draw_kernel import draws
from usance.world.scenario import Scenario
from usance.world.shapes import happened, threshold_ppm
from usance.world.streams import Stream


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

    def where(self, rows: NDArray[np.int64]) -> Self:
        """Some of the notices."""


N = TypeVar("N", bound=Notices)


def duplicates(scenario: Scenario, told: N) -> N:
    """Notices of payment that a provider sends again, as they were."""
    chance = threshold_ppm(scenario.providers.duplicate_ppm)
    paid = np.flatnonzero(told.kind == int(Kind.PAID)) if chance else np.zeros(0, np.int64)
    drawn = draws(scenario.seed, Stream.DUPLICATE, told.loan_id[paid], told.ref[paid])
    return told.where(paid[happened(drawn, chance)])
