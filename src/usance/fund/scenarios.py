"""Many scenarios of a deal at once: shortfalls, sums and average lives, by the compiled kernel.

>>> from usance.fund.sample import sample_deal
>>> found = run_scenarios(sample_deal(), [Scenario(), Scenario(0, 800, 50)])
>>> found.short_minor("B").tolist(), found.average_life_ppm("A").tolist()
([0, 176117737], [455122, 465155])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from usance.base.arrays import I64
from usance.base.compiled import in_threads
from usance.base.rates import PPM
from usance.fund import scenario_kernel as layout
from usance.fund.deal import Deal, PoolTerms, Scenario, Status
from usance.fund.errors import KernelRefused
from usance.fund.projection import Stratum, multiplied, project
from usance.fund.results import DAYS_A_YEAR, Shorts, exact_shorts
from usance.fund.scenario_kernel import ScenarioProgram, WorkingMemory
from usance.fund.scenario_program import compile_deal

CHUNK = 256
"""Scenarios of one piece of work; fixed, so that pieces do not depend on the machine."""


@dataclass(frozen=True)
class ScenarioResults:
    """Results of scenarios, a row each, in the columns of `scenario_kernel`."""

    deal: Deal
    rows: I64
    by_exact_form: int
    """How many scenarios the exact form decided, because of a tie the kernel cannot."""

    @property
    def collected_minor(self) -> I64:
        """Everything that came in."""
        return self.rows[:, layout.COLLECTED]

    @property
    def paid_minor(self) -> I64:
        """Everything that went out."""
        return self.rows[:, layout.PAID]

    def column(self, name: str, what: int) -> I64:
        """One sum of one class."""
        number = [each.name for each in self.deal.classes].index(name)
        return self.rows[:, layout.WHOLE_WIDTH + layout.RESULT_WIDTH * number + what]

    def short_minor(self, name: str) -> I64:
        """Balance and interest of a class that stay unpaid."""
        return self.column(name, layout.R_BALANCE) + self.column(name, layout.R_DUE)

    def average_life_ppm(self, name: str) -> I64:
        """The weighted average life of a class, -1 without principal."""
        paid, days = (
            self.column(name, layout.R_PRINCIPAL),
            self.column(name, layout.R_PRINCIPAL_DAYS),
        )
        lives = [
            (2 * int(above) * PPM + below) // (2 * below) if below else -1
            for above, below in zip(days.tolist(), (paid * DAYS_A_YEAR).tolist(), strict=True)
        ]
        return np.array(lives, np.int64)


def run_scenarios(
    deal: Deal, scenarios: Sequence[Scenario], strata: Sequence[Stratum] = ()
) -> ScenarioResults:
    """The results of every scenario; those with vectors of their own have their own program."""
    width = layout.WHOLE_WIDTH + layout.RESULT_WIDTH * len(deal.classes)
    rows = np.zeros((len(scenarios), width), np.int64)
    unsure = np.zeros(len(scenarios), np.int64)
    groups: dict[Scenario, list[int]] = {}
    for number, each in enumerate(scenarios):
        own = replace(each, weight_ppm=0, default_hundredths=100, prepayment_hundredths=100)
        groups.setdefault(own, []).append(number)
    for own, numbers in groups.items():
        rows[numbers], unsure[numbers] = _of_one_program(
            compile_deal(*_with_vectors(deal, strata, own)), [scenarios[n] for n in numbers], width
        )
    again = np.flatnonzero(unsure).tolist()
    for row in again:
        rows[row] = exact_row(deal, scenarios[row], strata)
    return ScenarioResults(deal, rows, len(again))


def _of_one_program(
    program: ScenarioProgram, scenarios: Sequence[Scenario], width: int
) -> tuple[I64, I64]:
    multiples = np.array(
        [(each.default_hundredths, each.prepayment_hundredths) for each in scenarios], np.int64
    ).reshape(-1, 2)
    rows = np.zeros((len(multiples), width), np.int64)
    unsure = np.zeros(len(multiples), np.int64)

    def piece(start: int, stop: int) -> None:
        _run(program, multiples[start:stop], rows[start:stop], unsure[start:stop])

    in_threads(piece, len(multiples), chunk=CHUNK)
    return rows, unsure


def _with_vectors(
    deal: Deal, strata: Sequence[Stratum], own: Scenario
) -> tuple[Deal, Sequence[Stratum]]:
    """The deal as if a scenario's vectors and recoveries were those of its file."""
    if own == Scenario(0):
        return deal, strata

    def with_own(terms: PoolTerms) -> PoolTerms:
        (recovery,) = multiplied([terms.recovery_ppm], own.recovery_hundredths)
        return replace(terms, mdr_ppm=own.mdr_ppm or terms.mdr_ppm,
                       smm_ppm=own.smm_ppm or terms.smm_ppm, recovery_ppm=recovery)  # fmt: skip

    pool, purchase = deal.pool, deal.purchase
    if pool.terms is not None:
        pool = replace(pool, terms=with_own(pool.terms))
    if purchase is not None:
        purchase = replace(purchase, terms=with_own(purchase.terms))
    return replace(deal, pool=pool, purchase=purchase), [each.under(own) for each in strata]


def _run(program: ScenarioProgram, multiples: I64, rows: I64, unsure: I64) -> None:
    """One piece, with its own working memory."""
    shape = program.shape
    classes, fees = int(shape[layout.N_CLASSES]), int(shape[layout.N_FEES])
    cohorts = int(shape[layout.N_STRATA] + shape[layout.N_PERIODS])
    own = program._replace(curves=program.curves.copy())
    memory = WorkingMemory(
        register=np.zeros_like(program.start),
        cohort=np.zeros((cohorts, 3), np.int64),
        accrued=np.zeros((classes + fees, 2), np.int64),
        recoveries=np.zeros(int(shape[layout.N_MONTHS]), np.int64),
        parts=np.zeros((classes, 2), np.int64),
        rest=np.zeros(2, np.int64),
        paid=np.zeros((classes, 2), np.int64),
        date=np.zeros(2, np.int64),
    )
    layout.scenario_kernel(multiples, own, memory, rows, unsure)


def exact_row(deal: Deal, scenario: Scenario, strata: Sequence[Stratum] = ()) -> list[int]:
    """The same row by the exact form."""
    found = project(deal, scenario, strata=strata)
    row = [found.collected_minor, found.paid_minor, list(Status).index(found.state.status)]
    for each in deal.classes:
        paid = [(line.classes[each.name], line.paid_on) for line in found.distributions]
        row += [
            sum(part.interest_minor + part.residual_minor for part, _ in paid),
            sum(part.principal_minor for part, _ in paid),
            sum(part.principal_minor * (on - deal.closing_on).days for part, on in paid),
            found.state.names[f"{each.name}.balance"],
            found.state.names[f"{each.name}.due"],
        ]
    return row


def scenario_shorts(deal: Deal, strata: Sequence[Stratum] = ()) -> Shorts:
    """Shortfalls by the kernel, or by the exact form for a deal the kernel refuses."""

    def shorts(scenarios: Sequence[Scenario]) -> list[dict[str, int]]:
        try:
            found = run_scenarios(deal, scenarios, strata)
        except KernelRefused:
            return exact_shorts(deal, scenarios, strata)
        columns = {each.name: found.short_minor(each.name).tolist() for each in deal.classes}
        return [{name: column[row] for name, column in columns.items()}
                for row in range(len(scenarios))]  # fmt: skip

    return shorts
