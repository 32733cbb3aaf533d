"""Expected book of a scenario: balances, arrears and collection by month, without draws.

The same behaviour as the world's, as shares of a cohort instead of draws of a loan. A cohort is a
month of drawdown and a tenor. A loan of it is current, or so many month ends behind: 0 in the month
it missed a due for good, 6 when it is charged off. Users differ in hazard; each cohort is carried
in equal parts of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import F64
from usance.base.codes import FundingModel
from usance.base.rates import PPM
from usance.twin.month.collection_effect import effect_of
from usance.world.demand import mean_ticket_minor
from usance.world.opening import level_left, monthly_rate
from usance.world.scenario.scenario import Behaviour, Scenario
from usance.world.shocks import ShockKind, factor_ppm

PARTS = 8
"""Equal parts of users by hazard."""
OFF = 6
"""Month ends behind at which a loan is charged off."""
LATE_90 = (3, 4, 5)
IN_SCOPE = (FundingModel.CAPITAL_HEAVY, FundingModel.ON_BALANCE_SHEET, FundingModel.CAPITAL_LIGHT)
"""Models whose delinquency is reported."""
SELECTED = 0.0115
"""Users who fall behind ask for nothing more, so those who borrow are better than all users, and
more so each month: by so much of the hazard, measured on runs of scenario 2024."""
BEYOND_180 = 0.05
"""Of loans five month ends behind, those more than 180 days past due by then: due on the first."""
SEARCHED = ("late", "collected30", "prepay", "cure of 31–60 days", "cure of 61–90 days")
"""The values a search moves; the cures of later buckets follow the last."""


@dataclass(frozen=True, slots=True)
class Expected:
    """A month of the expected book, in minor units; all but the balance in scope of delinquency."""

    balance: float
    balance_in_scope: float
    due: float
    overdue: float
    collected: float
    behind: tuple[float, ...]
    """Balance by month ends behind."""

    @property
    def late_90(self) -> float:
        """Balance 91 to 180 days past due."""
        return sum(self.behind[each] for each in LATE_90)


class Fitted(NamedTuple):
    """The values that calibration finds, as shares."""

    late: float
    collected30: float
    prepay: float
    cure: tuple[float, ...]

    @classmethod
    def of(cls, given: Behaviour) -> Fitted:
        """Those of a behaviour."""
        cure = tuple(each / PPM for each in given.cure_ppm)
        return cls(given.late_ppm / PPM, given.collected30_ppm / PPM, given.prepay_ppm / PPM, cure)


class Cohort(NamedTuple):
    """Loans of one month and tenor, `minor` lent; opening ones may be `behind` by some months."""

    month: int
    tenor: int
    minor: float
    scope: float
    """The share of models whose delinquency is reported."""
    behind: int


@dataclass(frozen=True)
class ExpectedBook:
    """The cohorts of a scenario: what was lent by month and tenor, opening loans among them."""

    scenario: Scenario
    volume_minor: Mapping[int, int]
    """Volume lent in each month; where none is given, the volume requested."""

    def months(self, fitted: Fitted) -> dict[int, Expected]:
        """Every month from the first to the last with these values."""
        state = _State(self, fitted)
        first, last = self.scenario.first_month, self.scenario.last_month
        return {month: state.step(month) for month in range(first, last + 1)}

    @cached_property
    def hazards(self) -> F64:
        """The mean hazard of each part of users; one on average."""
        spread, normal = self.scenario.behaviour.hazard_spread_ppm / PPM, NormalDist()
        # The share of a log-normal's mean below its quantile q is Phi(Phi^-1(q) - spread).
        ends = [normal.inv_cdf(n / PARTS) - spread for n in range(1, PARTS)]
        below = np.array([0.0, *(normal.cdf(each) for each in ends), 1.0])
        return np.asarray(np.diff(below) * PARTS, np.float64)

    def cohorts(self, prepay: float) -> list[Cohort]:
        """Every cohort once: opening loans by age and arrears, then each month's by tenor."""
        found: dict[tuple[int, int, int], tuple[float, float]] = {}
        for each in (*self._opening(prepay), *self._lent):
            key = each.month, each.tenor, each.behind
            minor, scope = found.get(key, (0.0, 0.0))
            found[key] = minor + each.minor, scope + each.minor * each.scope
        return [
            Cohort(month, tenor, minor, scope / minor, behind)
            for (month, tenor, behind), (minor, scope) in sorted(found.items())
            if minor
        ]

    @cached_property
    def left(self) -> F64:
        """Share of the principal outstanding by tenor and instalments paid, at the mean rate."""
        rate = monthly_rate(self.scenario)
        demand = self.scenario.demand
        mixes = (demand.products, *demand.products_from.values())
        longest = max(each for mix in mixes for product in mix for each in product.months_ppm)
        table = np.zeros((longest + 1, longest + 1))
        for tenor in range(1, longest + 1):
            table[tenor, : tenor + 1] = level_left(tenor, rate)
        return table

    @cached_property
    def _lent(self) -> tuple[Cohort, ...]:
        return tuple(self._new())

    def _new(self) -> Iterator[Cohort]:
        """New cohorts, by month and tenor."""
        demand = self.scenario.demand
        for month in range(self.scenario.first_month, self.scenario.last_month + 1):
            level = demand.ticket_ppm.get(month, PPM)
            tickets = [
                (mix, mix.request_ppm * mean_ticket_minor(mix, level)) for mix in demand.mix(month)
            ]
            total = sum(weight for _, weight in tickets)
            lent = self.volume_minor.get(month, demand.requests.get(month, 0) * total / PPM)
            scope = sum(demand.model_ppm[month].get(model, 0) for model in IN_SCOPE) / PPM
            for mix, weight in tickets:
                for tenor, part in mix.months_ppm.items():
                    yield Cohort(month, tenor, lent * weight / total * part / PPM, scope, 0)

    def _opening(self, prepay: float) -> Iterator[Cohort]:
        """Opening loans as they are drawn: those not settled early, a balance for each bucket."""
        opening, eve = self.scenario.opening, self.scenario.first_month - 1
        total = sum(opening.balance_minor.values())
        scope = sum(opening.balance_minor.get(model, 0) for model in IN_SCOPE) / max(total, 1)
        mixes = [
            (tenor, mix.request_ppm * part * mean_ticket_minor(mix, PPM))
            for mix in self.scenario.demand.products
            for tenor, part in sorted(mix.months_ppm.items())
        ]
        rate, stays = monthly_rate(self.scenario), 1 - prepay
        whole = sum(
            weight * stays**paid * level_left(tenor, rate)[paid]
            for tenor, weight in mixes
            for paid in range(tenor)
        )
        for behind, share in enumerate(opening.bucket_ppm):
            for tenor, weight in mixes:
                for paid in range(tenor):
                    minor = total * share / PPM * weight * stays**paid / whole
                    yield Cohort(eve - paid - behind, tenor, minor, scope, behind)


class _State:
    """Every cohort at a month's end: who is current, and what stands how far behind."""

    def __init__(self, book: ExpectedBook, fitted: Fitted) -> None:
        self.book, self.fitted = book, fitted
        self.early = book.scenario.behaviour.early_ppm / PPM
        columns = zip(*book.cohorts(fitted.prepay), strict=True)
        self.month, self.tenor = (np.array(next(columns)) for _ in range(2))
        self.minor, self.scope, behind = (np.array(next(columns)) for _ in range(3))
        size = len(self.month)
        self.current = np.where(behind == 0, 1.0, 0.0)[:, None] * np.ones((1, PARTS))
        self.late = np.zeros((OFF + 1, size, PARTS))
        rows = np.flatnonzero(behind)
        age = book.scenario.first_month - 1 - self.month[rows]
        held = book.left[self.tenor[rows], age - behind[rows]]
        self.late[behind[rows].astype(int) - 1, rows] = held[:, None]
        # One due behind, most still pay within its thirty days.
        collected, just = fitted.collected30, behind == 1
        self.current[just], self.late[0, just] = collected, self.late[0, just] * (1 - collected)

    def step(self, month: int) -> Expected:
        """One month on."""
        own = _Month.of(self.book.scenario, self.fitted, month)
        k = month - self.month
        falls = (k >= 1) & (k <= self.tenor)
        before = self.book.left[self.tenor, np.clip(k - 1, 0, self.tenor)]
        after = self.book.left[self.tenor, np.clip(k, 0, self.tenor)]
        hazard = np.outer(_early(self.early, k, self.tenor), self.book.hazards)
        hazard *= falls[:, None]
        gone = np.minimum(own.never * hazard, 1 - own.prepay)
        scoped = self.minor * self.scope
        principal = scoped * (before - after) * falls
        due = (principal * self.current.mean(axis=1)).sum() * (1 - own.prepay)
        overdue = (principal * (self.current * hazard).mean(axis=1)).sum()
        back = self._older(own)
        self.late[0] = self.current * gone * before[:, None]
        leaves = falls[:, None] * own.prepay + gone
        self.current = self.current * (1 - leaves)
        self.current += np.where(falls, 1 / np.maximum(before, 1e-12), 0)[:, None] * back
        held = self.late[:OFF].mean(axis=2)
        held[OFF - 1] *= 1 - BEYOND_180
        whole = (self.current.mean(axis=1) * after + held.sum(axis=0)) * (k >= 0)
        return Expected(
            float((self.minor * whole).sum()), float((scoped * whole).sum()), float(due),
            float(overdue * own.late), float(overdue * (own.late - own.never)),
            tuple(float(each) for each in held @ scoped),
        )  # fmt: skip

    def _older(self, own: _Month) -> F64:
        """Arrears a month on: what is cured, and the rest one month end further behind."""
        older, back = np.zeros_like(self.late), np.zeros_like(self.current)
        older[1] = self.late[0]
        for behind in range(1, OFF):
            cured = own.cure[behind - 1]
            back += self.late[behind] * cured
            older[behind] += self.late[behind] * own.partial
            older[behind + 1] += self.late[behind] * (1 - cured - own.partial)
        self.late = older
        return back


class _Month(NamedTuple):
    """A month's behaviour as plain shares."""

    late: float
    never: float
    prepay: float
    cure: tuple[float, ...]
    partial: float

    @classmethod
    def of(cls, scenario: Scenario, fitted: Fitted, month: int) -> _Month:
        """The behaviour with the season and the shocks of a month."""
        behaviour = scenario.behaviour
        collection = factor_ppm(scenario, ShockKind.COLLECTION, month) / PPM
        hazard = (
            factor_ppm(scenario, ShockKind.HAZARD, month)
            * behaviour.season_ppm[month % 12]
            / PPM**2
        )
        first = scenario.demand.first_time_ppm / PPM
        hazard *= 1 + first * (behaviour.first_loan_hazard_ppm / PPM - 1)
        hazard *= 1 - SELECTED * (month - scenario.first_month + 1)
        # A plan acts on the values that the search began with; the search is begun anew from what
        # it found, until they are the same.
        effect = effect_of(scenario, month)
        late = fitted.late * hazard * (effect.late_ppm / PPM)
        collected = fitted.collected30 * collection * (effect.collected30_ppm / PPM)
        never = late * (1 - min(collected, 1.0))
        pressed = effect.cure_ppm or (PPM,) * len(fitted.cure)
        cure = tuple(min(each * collection * (more / PPM), 1.0)
                     for each, more in zip(fitted.cure, pressed, strict=True))  # fmt: skip
        return cls(late, never, fitted.prepay, cure, behaviour.partial_ppm / PPM * collection)


def _early(early: float, k: NDArray[np.int64], tenor: NDArray[np.int64]) -> F64:
    """Likelihood of the k-th due to be late, against the average one."""
    slope = (tenor + 1 - 2 * k) / np.maximum(tenor - 1, 1)
    return np.asarray(np.where(tenor > 1, 1 + early * slope, 1.0), np.float64)
