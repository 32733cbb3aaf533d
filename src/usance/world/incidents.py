"""Incidents of loans: payments taken back, complaints that are upheld, borrowers who ask for help.

What happens to a loan in a month is decided on its first day, by a draw of loan and month: the
payer's bank takes the month's first payment back some days after it; a complaint about a loan that
is settled in the month is upheld, so that the interest of its last days is let go and what was paid
too much goes back; or a borrower past due asks for help, and is offered a plan.

>>> given = Incidents(charged_back_ppm=200_000, asks_for_help_ppm=900_000)
>>> loans = np.array([16385, 32769, 49153, 65537])
>>> incidents(7, given, 648, loans, np.array([False, False, True, True])).tolist()
[0, 1, 3, 3]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.draws import CERTAIN, draw
from usance.base.rates import PPM
from usance.world.distributions import threshold_ppm
from usance.world.draw_kernel import draws
from usance.world.streams import Stream

PLANS = ("deferral", "longer_term", "lower_rate", "interest_pause", "re_ageing")
"""Plans that borrowers ask for, by the names that servicing gives them."""
_LAG, _DAY, _PLAN = 1, 2, 3
"""Uses of the stream in a month, after the first."""


class Incident(IntEnum):
    """Kind of incident of a loan in a month."""

    NONE = 0
    CHARGED_BACK = 1
    COMPLAINT_UPHELD = 2
    ASKS_FOR_HELP = 3


@dataclass(frozen=True, slots=True)
class Incidents:
    """How often there are incidents, and what borrowers in trouble ask for; none by default."""

    charged_back_ppm: int = 0
    """Of loans in a month: the first payment is taken back by the payer's bank."""
    charged_back_days: int = 10
    """Days after a payment on which it is taken back at the latest."""
    complaint_upheld_ppm: int = 0
    """Of loans in a month: if it is settled, a complaint about it is upheld."""
    complaint_days: int = 5
    """Days after which what was paid too much goes back at the latest."""
    asks_for_help_ppm: int = 0
    """Of loans past due at a month's beginning: the borrower asks for help."""
    plan_ppm: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Share of each plan in what is asked for."""
    months: int = 2
    """Months of a deferral and of a longer term."""
    rate_cut_ppm: int = 300_000
    """Part of the rate that a lower rate lets go."""
    pause_days: int = 30

    @property
    def are_any(self) -> bool:
        """True if there are any."""
        return bool(self.charged_back_ppm or self.complaint_upheld_ppm or self.asks_for_help_ppm)


NO_INCIDENTS = Incidents()
"""Everything goes as agreed."""


def incidents(
    seed: int, given: Incidents, month: int, loan: I64, is_late: NDArray[np.bool_]
) -> NDArray[np.int8]:
    """The incident of each loan in a month; `is_late` are those past due on its eve."""
    drawn = (draws(seed, Stream.INCIDENT, loan, month * 256) >> np.uint64(11)).astype(np.int64)
    back = threshold_ppm(given.charged_back_ppm)
    upheld = back + threshold_ppm(given.complaint_upheld_ppm)
    helped = upheld + threshold_ppm(given.asks_for_help_ppm)
    found = np.full(len(loan), int(Incident.NONE), np.int8)
    found[is_late & (drawn < helped)] = Incident.ASKS_FOR_HELP
    found[drawn < upheld] = Incident.COMPLAINT_UPHELD
    found[drawn < back] = Incident.CHARGED_BACK
    return found


def days_later(seed: int, given: Incidents, kind: Incident, loan: int, month: int) -> int:
    """Days from a payment to the incident that follows it, 1 or more."""
    most = given.charged_back_days if kind is Incident.CHARGED_BACK else given.complaint_days
    return 1 + _within(draw(seed, Stream.INCIDENT, loan, month * 256 + _LAG), max(most, 1))


def asked_on(seed: int, loan: int, month: int, first: int, last: int) -> int:
    """The day of a month on which a borrower asks for help."""
    drawn = draw(seed, Stream.INCIDENT, loan, month * 256 + _DAY)
    return first + _within(drawn, last - first + 1)


def plan_asked(seed: int, given: Incidents, loan: int, month: int) -> str:
    """The plan that a borrower asks for."""
    drawn = draw(seed, Stream.INCIDENT, loan, month * 256 + _PLAN) >> 11
    total, so_far = max(sum(given.plan_ppm.values()), 1), 0
    for name in PLANS:
        so_far += given.plan_ppm.get(name, 0)
        if drawn * total < so_far * CERTAIN:
            return name
    return PLANS[-1]


def lowered_ppm(given: Incidents, rate_ppm: int) -> int:
    """The rate that is asked for instead of another."""
    return rate_ppm - rate_ppm * given.rate_cut_ppm // PPM


def _within(drawn: int, count: int) -> int:
    return (drawn >> 32) * count >> 32
