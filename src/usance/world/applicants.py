"""Inputs of the decision flow for an applicant, drawn from the user's traits.

Riskier users have, more often, the marks that a scorecard looks for; nobody's inputs say what they
will do. Every input is one draw, so the inputs of any decision can be made again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.rates import PPM
from usance.world.distributions import STEPS, Choice, log_normal_median, ppm_of, step_of, within
from usance.world.draw_kernel import draws
from usance.world.population import Population
from usance.world.shocks import income_ppm
from usance.world.streams import Stream

MEDIAN_INCOME_MINOR = 700_000
INCOME_SPREAD_PPM = 500_000
OCCUPATIONS = Choice.of({1: 560, 2: 90, 3: 160, 4: 100, 5: 20, 6: 30, 7: 20, 0: 20})
"""By their places in the flow's list: employees, civil servants, self-employed …"""

(AGE, OCCUPATION, INCOME, WISH, INQUIRIES, OPEN_LOANS, WORST, OVERDUE, DEBT, INFLOW, DEVICE, LIST,
 FACE, CARD, DOCUMENT, LINKS, RING) = range(17)  # fmt: skip
RING_DEVICE_USERS, RING_LINKS = 5, 12
"""The fewest users on a device that a ring is seen to share, and the users linked by it."""


def income_minor(population: Population, users: I64, month: int = 0) -> I64:
    """Monthly income in a month, in whole hundreds."""
    step = step_of(_draw(population, users, INCOME))
    income = MEDIAN_INCOME_MINOR * log_normal_median(INCOME_SPREAD_PPM)[step] // PPM
    income = income * income_ppm(population.scenario, month) // PPM
    return np.asarray(income // 10_000 * 10_000)


def score_inputs(population: Population, users: I64, month: int = 0) -> dict[str, Any]:
    """Inputs of the scorecard in a month, without the user's history on the platform."""
    risk = population.hazard_step(users) * PPM // STEPS

    def chance(place: int) -> I64:
        return ppm_of(_draw(population, users, place))

    income = income_minor(population, users, month)
    debt = income * chance(DEBT) * 3 // (2 * PPM)
    worst, overdue = chance(WORST), chance(OVERDUE)
    return {
        "age_years": 18 + within(_draw(population, users, AGE), 45),
        "occupation": OCCUPATIONS.of_draws(_draw(population, users, OCCUPATION)),
        "monthly_income_minor": income,
        "bureau_inquiries_90d": (chance(INQUIRIES) * (500_000 + risk) // PPM * 6) // PPM,
        "bureau_open_loans": (chance(OPEN_LOANS) * (700_000 + risk) // PPM * 4) // PPM,
        "bureau_worst_days_24m": np.where(
            worst < risk // 3, np.where(worst < risk // 40, 120, 1 + worst * 60 // PPM), 0
        ),
        "bureau_overdue_minor": np.where(overdue < risk // 50, 200_000, 0),
        "bureau_debt_minor": debt,
        "bank_inflow_ppm": 700_000 + chance(INFLOW) * 3 // 4,
        "device_age_days": within(_draw(population, users, DEVICE), 900),
    }


def application_inputs(population: Population, users: I64, month: int = 0) -> dict[str, Any]:
    """Further inputs of the registration, identity and line stages in a month.

    Rings hide, but some of them are seen to share devices and phones.
    """

    def chance(place: int) -> I64:
        return ppm_of(_draw(population, users, place))

    listed, links = chance(LIST), chance(LINKS)
    ring = population.in_ring(users, month)
    shares = chance(RING)
    seen = ring & (shares < population.scenario.behaviour.ring_seen_ppm)
    crowd = np.where(seen, RING_DEVICE_USERS + shares % 4, 1 + (links > 995_000) * 2)
    return {
        "list_hit": np.where(listed < 3_000, 2, np.where(listed < 10_000, 1, 0)),
        "applications_24h": 1 + (links > 998_000) * 6,
        "device_users_30d": crowd,
        "link_size": np.where(seen, RING_LINKS, np.where(ring, 3, 1 + (links > 900_000))),
        "bad_neighbours_ppm": np.where(ring & (links < 400_000), 350_000, -1),
        "consent_given": np.ones(len(users), np.int64),
        "document_valid": (chance(DOCUMENT) >= 5_000).astype(np.int64),
        "duplicate_identity": np.zeros(len(users), np.int64),
        "face_match_ppm": 760_000 + chance(FACE) * 24 // 100,
        "card_check": np.where(chance(CARD) < 8_000, 1, 0),
        "requested_minor": income_minor(population, users, month) * 2,
    }


def _draw(population: Population, users: I64, place: int) -> NDArray[np.uint64]:
    return draws(population.scenario.seed, Stream.APPLICANT, users, place)
