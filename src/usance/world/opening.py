"""The opening book: loans drawn so that balances by model and shares by bucket are as stated.

A loan of `n` instalments is found at every age, the less likely the more often it could have been
settled before; one that is `k` months behind is that much older. Together with how much of its
principal is then left, this says how many loans of each kind make up the balance of each bucket.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.ids import PER_USER
from usance.base.rates import PPM
from usance.loan.convention import CONVENTION_CODES
from usance.world.applicants import income_minor
from usance.world.demand import mean_ticket_minor, tickets
from usance.world.distributions import Choice, happened, threshold_ppm, within
from usance.world.draw_kernel import draws
from usance.world.institutions import Institutions
from usance.world.population import Population
from usance.world.scenario.scenario import Scenario
from usance.world.specialisations import NO_SEGMENT, preference
from usance.world.streams import Stream

MAX_LOANS = 12
"""Open loans of one user at the opening."""
LINE_TENTHS = (40, 35, 28, 20, 14, 8)
"""Lines of opening users as tenths of monthly income, by grade."""
MIN_LINE_MINOR, MAX_LINE_MINOR = 100_000, 20_000_000
WEIGHT = 10**12
TABLE_TURNS = 30
"""Turns after which sums of a table of models and tenors are right to a part in a million."""


class OpeningUsers(NamedTuple):
    """Opening users: approved, borrowed before, grade and line."""

    approved: NDArray[np.bool_]
    borrowed: NDArray[np.bool_]
    grade: I64
    line_minor: I64


class OpeningLoans(NamedTuple):
    """Columns of opening loans, in order of user and number; `age` is months since it was drawn."""

    user: I64
    number: I64
    product: I64
    convention: I64
    months: I64
    amount_minor: I64
    age: I64
    months_behind: I64
    day: I64
    """Day of the month it was drawn on, from 1."""
    source: I64
    settled: I64
    """Instalments paid before it was settled early, -1 if it was not."""


def monthly_rate(scenario: Scenario) -> float:
    """The mean rate that borrowers pay, a month."""
    pricing = scenario.pricing
    pairs = zip(pricing.rate_ppm, pricing.grade_share_ppm, strict=True)
    return sum(rate * share for rate, share in pairs) / PPM**2 / 12


@lru_cache(maxsize=256)
def level_left(months: int, rate: float) -> tuple[float, ...]:
    """Share of the principal outstanding after 0, 1, … and all of so many level instalments.

    >>> [round(each, 3) for each in level_left(3, 0.02)]
    [1.0, 0.673, 0.34, 0.0]
    """
    parts = [(1 + rate) ** n for n in range(months)]
    return tuple(sum(parts[paid:]) / sum(parts) for paid in range(months + 1))


class LoanKinds(NamedTuple):
    """Kinds of opening loans (product, months, age, behind), how often each, their mean balance."""

    rows: NDArray[np.int64]
    choice: Choice
    mean: int


def loan_kinds(scenario: Scenario) -> LoanKinds:
    """The kinds of loans that make up the balance of each bucket of a scenario."""
    rate, stays = monthly_rate(scenario), 1 - scenario.behaviour.prepay_ppm / PPM
    rows, weights, balance, count = [], [], 0.0, 0.0
    for behind, share in enumerate(scenario.opening.bucket_ppm):
        found = [
            (n, months, age, mix.request_ppm * part * stays ** (age - behind),
             mean_ticket_minor(mix, PPM) * level_left(months, rate)[age - behind])
            for n, mix in enumerate(scenario.demand.products)
            for months, part in sorted(mix.months_ppm.items())
            for age in range(behind, months + behind)
        ]  # fmt: skip
        total = sum(weight * left for *_, weight, left in found)
        for n, months, age, weight, left in found:
            own = share * weight / total if total else 0.0
            rows.append((n, months, age, behind))
            weights.append(own)
            balance += own * left
            count += own
    scaled = [round(WEIGHT * each / count) for each in weights]
    choice = Choice.weighted(np.arange(len(rows)), scaled)
    return LoanKinds(np.array(rows), choice, round(balance / count))


def tenor_shares(scenario: Scenario) -> tuple[list[int], NDArray[np.float64]]:
    """Tenors of the opening book and the share of each in its balance."""
    rate, stays = monthly_rate(scenario), 1 - scenario.behaviour.prepay_ppm / PPM
    balance: dict[int, float] = {}
    for mix in scenario.demand.products:
        for months, part in mix.months_ppm.items():
            left = sum(level_left(months, rate)[age] * stays**age for age in range(months))
            weight = mix.request_ppm * part * mean_ticket_minor(mix, PPM)
            balance[months] = balance.get(months, 0.0) + weight * left
    tenors = sorted(balance)
    shares = np.array([balance[each] for each in tenors])
    return tenors, shares / max(shares.sum(), 1.0)


def loans_a_borrower(scenario: Scenario) -> float:
    """Mean number of open loans of a borrower that makes up the opening balance."""
    users = scenario.users
    borrowers = users.opening * users.opening_approved_ppm * users.opening_borrowers_ppm
    balance = sum(scenario.opening.balance_minor.values())
    wanted = balance / max(loan_kinds(scenario).mean, 1) if balance else 0.0
    return wanted / max(borrowers / PPM**2, 1e-9)


def loan_counts(mean: float) -> list[int]:
    """Weights of a borrower having 0, 1, … and `MAX_LOANS` open loans."""
    chance, chances = exp(-mean), []
    for n in range(MAX_LOANS + 1):
        chances.append(round(WEIGHT * chance))
        chance *= mean / (n + 1)
    return chances


def capped_mean(mean: float) -> float:
    """The mean of loans a borrower has, who has no more than `MAX_LOANS`."""
    chances = loan_counts(mean)
    return sum(n * each for n, each in enumerate(chances)) / max(sum(chances), 1)


@dataclass(frozen=True)
class Opening:
    """Sampler of the opening book of a scenario."""

    population: Population
    institutions: Institutions

    @cached_property
    def kinds(self) -> LoanKinds:
        """Kinds of loans of the opening book."""
        return loan_kinds(self.population.scenario)

    @property
    def _prepay(self) -> float:
        return self.population.scenario.behaviour.prepay_ppm / PPM

    @cached_property
    def past_kinds(self) -> tuple[NDArray[np.int64], Choice]:
        """Kinds of loans that have ended (product, months, paid before settled early or -1)."""
        rows, weights = [], []
        for n, mix in enumerate(self.population.scenario.demand.products):
            for months, part in sorted(mix.months_ppm.items()):
                weight = float(mix.request_ppm * part)
                for paid in range(months):
                    rows.append((n, months, paid))
                    weights.append(weight * self._prepay)
                    weight *= 1 - self._prepay
                rows.append((n, months, -1))
                weights.append(weight)
        return np.array(rows), Choice.weighted(np.arange(len(rows)), [round(w) for w in weights])

    @cached_property
    def loans_per_borrower(self) -> Choice:
        """Distribution of the open loans of a borrower."""
        chances = loan_counts(loans_a_borrower(self.population.scenario))
        return Choice.weighted(np.arange(MAX_LOANS + 1), chances)

    @cached_property
    def models_by_tenor(self) -> dict[int, Choice]:
        """Distribution of models of the loans of each tenor.

        Models have the tenors they prefer and the balances stated: rows and columns of a table are
        brought to their sums in turns.
        """
        scenario = self.population.scenario
        stated = scenario.opening.balance_minor
        models = sorted(stated)
        tenors, share = tenor_shares(scenario)
        if not any(each.tenor_ppm for each in scenario.funding):
            return dict.fromkeys(tenors, Choice.of({int(each): stated[each] for each in models}))
        wanted = np.array([stated[each] for each in models], float)
        table = np.array([
            [preference(scenario.terms(model, scenario.first_month - 1), each) for model in models]
            for each in tenors
        ], float)  # fmt: skip
        for _ in range(TABLE_TURNS):
            table *= wanted / np.maximum(table.sum(axis=0), 1.0)
            table *= (share * wanted.sum() / np.maximum(table.sum(axis=1), 1.0))[:, None]
        return {
            tenor: Choice.of(
                {int(each): round(part) for each, part in zip(models, row, strict=True)}
            )
            for tenor, row in zip(tenors, table, strict=True)
        }

    def users(self, users: I64) -> OpeningUsers:
        """Approval, history, grade and line of each opening user."""
        scenario, seed = self.population.scenario, self.population.scenario.seed
        drawn = [draws(seed, Stream.LINE, users, place) for place in range(4)]
        approved = happened(drawn[0], threshold_ppm(scenario.users.opening_approved_ppm))
        borrowed = approved & happened(
            drawn[1], threshold_ppm(scenario.users.opening_borrowers_ppm)
        )
        # Half of the grades follow the hazard, half say nothing: what a scorecard achieves.
        follows = happened(drawn[3], threshold_ppm(PPM // 2))
        hazard = self.population.hazard_step(users).astype(np.uint64) << np.uint64(52)
        shares = scenario.pricing.grade_share_ppm
        grades = Choice.of(dict(enumerate(shares, start=1)))
        grade = grades.of_draws(np.where(follows, hazard, drawn[2]))
        tenths = np.array([LINE_TENTHS[min(n, len(LINE_TENTHS) - 1)] for n in range(len(shares))])
        line = income_minor(self.population, users) * tenths[grade - 1] // 10 // 10_000 * 10_000
        line = np.clip(line, MIN_LINE_MINOR, MAX_LINE_MINOR)
        return OpeningUsers(approved, borrowed, grade, np.where(approved, line, 0))

    def loans(self, borrowers: I64, grade: I64) -> OpeningLoans:
        """The opening loans of borrowers; one without an open loan has one that is long repaid."""
        seed = self.population.scenario.seed
        many = self.loans_per_borrower.of_draws(draws(seed, Stream.OPENING, borrowers, 0))
        count = np.maximum(many, 1)
        user = np.repeat(borrowers, count)
        number = np.arange(len(user)) - np.repeat(np.cumsum(count) - count, count) + 1
        is_past = np.repeat(many == 0, count)
        loan = user * PER_USER + number
        drawn = [draws(seed, Stream.OPENING, loan, place) for place in range(1, 6)]
        rows, choice, _ = self.kinds
        kind = rows[choice.of_draws(drawn[0])]
        ended, past = self.past_kinds
        gone = ended[past.of_draws(drawn[0])]
        kind[:, :2] = np.where(is_past[:, None], gone[:, :2], kind[:, :2])
        mixes = self.population.scenario.demand.products
        amount = np.zeros(len(user), np.int64)
        for n, mix in enumerate(mixes):
            own = kind[:, 0] == n
            amount[own] = tickets(mix, PPM, drawn[1][own])
        months, age = kind[:, 1], kind[:, 2]
        age = np.where(is_past, months + 2 + within(draws(seed, Stream.OPENING, loan, 6), 12), age)
        segments = self.institutions.segments.of_loans(months, np.repeat(grade, count))
        return OpeningLoans(
            user,
            number,
            np.array([int(each.product) for each in mixes])[kind[:, 0]],
            np.array([CONVENTION_CODES[each.convention] for each in mixes])[kind[:, 0]],
            months,
            amount,
            age,
            np.where(is_past, 0, kind[:, 3]),
            1 + within(drawn[2], 31),
            self._sources(drawn[3], drawn[4], months, segments),
            np.where(is_past, gone[:, 2], -1),
        )

    def _sources(
        self, model: NDArray[np.uint64], source: NDArray[np.uint64], months: I64, segments: I64
    ) -> I64:
        """Source of each loan: the model by balance, any of its sources in the segment alike."""
        models = np.zeros(len(months), np.int64)
        for tenor, choice in self.models_by_tenor.items():
            drawn = np.flatnonzero(months == tenor)
            models[drawn] = choice.of_draws(model[drawn])
        found = np.zeros(len(models), np.int64)
        at: dict[tuple[int, int], list[int]] = {}
        for number, (funding, segment) in enumerate(
            zip(self.institutions.funding, self.institutions.segment, strict=True), start=1
        ):
            at.setdefault((int(funding.model), segment), []).append(number)
        for (own, segment), numbers in at.items():
            rows = np.flatnonzero(
                (models == own) & ((segments == segment) | (segment == NO_SEGMENT))
            )
            found[rows] = np.array(numbers)[within(source[rows], len(numbers))]
        return found
