"""A month of a run's deals: their facts, and where they stood before and stand after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from usance.base.stated_fact import StatedFact


class Holdings(NamedTuple):
    """The deals of a run together: what others hold of them, their pools, their accounts."""

    notes_minor: int = 0
    pool_minor: int = 0
    held_minor: int = 0

    @property
    def own_minor(self) -> int:
        """Money of the group in them."""
        return self.pool_minor + self.held_minor - self.notes_minor


NOTHING = Holdings()


@dataclass(frozen=True)
class TrustMonth:
    """Facts of the deals in a month, and where they stood before and stand after it."""

    facts: Sequence[StatedFact] = ()
    before: Holdings = NOTHING
    after: Holdings = NOTHING
    to_group_minor: int = 0
    """Principal of classes that the group holds itself: its own money that came back."""
    bought_out_minor: int = 0
    rest_before_minor: int | None = None
    """Balance that no deal held at the end of the month before, if the run has kept it."""
