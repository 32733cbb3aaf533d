"""A sample of every close recomputed as an auditor would: one loan at a time, in fractions.

The kernels work on columns in 64-bit integers; what they made is compared here with the functions
of single contracts (`guarantee_contracts`, `effective_contract`), which know nothing of kernels. A
loan on which the two differ by more than rounding stops the close and is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from usance.base.codes import Model
from usance.base.dates import from_day
from usance.base.money import half_up
from usance.base.rates import PPM
from usance.books import amounts as a
from usance.books import positions as p
from usance.books.controls import Control
from usance.books.effective import Survival, effective_rates, fees_earned
from usance.books.effective_contract import (
    as_fraction,
    by_numbers,
    fee_amortisation,
    repaid_early,
    revised,
    simple,
)
from usance.books.effective_instruments import at_amortised_cost, net_investment
from usance.books.effective_loan import steps_of
from usance.books.guarantee_contracts import gross_position, net_position
from usance.books.measurement import LoanColumns
from usance.loan.batch import schedule_columns

I64 = NDArray[np.int64]
SAMPLE = 10
"""Loans of each model that are recomputed in each shard."""
GUARANTEES = "sampled guarantees recomputed one by one"
FEES = "sampled fees recomputed one by one"
EXPECTED = "sampled expected lives recomputed one by one"


def recomputed(
    loans: LoanColumns, at: I64, found: I64, first: int, survival_ppm: I64 | None
) -> list[Control]:
    """The controls of a sample from loans `first …`, with their positions and amounts."""
    alive = (at[:, p.EVENT] == p.NO_EVENT) & (at[:, p.IS_SETTLED] == 0) & (at[:, p.PRINCIPAL] > 0)
    checks: list[tuple[str, Model, Callable[[int], bool]]] = [
        (GUARANTEES, Model.CAPITAL_HEAVY, lambda row: _guarantee_holds(at[row], found[row])),
        (FEES, Model.ON_BALANCE_SHEET, lambda row: _fee_holds(loans, first + row)),
        (EXPECTED, Model.ON_BALANCE_SHEET,
         lambda row: _expected_life_holds(loans, first + row, survival_ppm)),
    ]  # fmt: skip
    controls = []
    for name, model, holds in checks:
        rows = np.flatnonzero(alive & (at[:, p.MODEL] == model))[:SAMPLE].tolist()
        wrong = [row for row in rows if not holds(row)]
        ids = tuple(int(loans.loan_id[first + row]) for row in wrong)
        controls.append(Control(name, 0, len(wrong), ids))
    return controls


def _whole(value: Fraction) -> int:
    return half_up(value.numerator, value.denominator)


def _guarantee_holds(at: I64, found: I64) -> bool:
    """Receivable, stand-ready and contingent liability of one guarantee, gross and net."""
    premium = int(at[p.GUARANTEE] - at[p.WAIVED + 2])
    days, term = int(at[p.EARNED_DAYS]), int(at[p.TERM_DAYS])
    received = int(at[p.BEFORE + 2])
    target = int(found[a.CONTINGENT_PROVISION])
    ifrs_target = target + int(found[a.IFRS_CONTINGENT_LOSS])
    gross = gross_position(premium, days, term, received, target)
    net = net_position(premium, days, term, received, ifrs_target)
    released = int(found[a.GUARANTEE_RELEASED])
    made = (
        int(found[a.GUARANTEE_ISSUED] - found[a.GUARANTEE_CANCELLED]) - received, released,
        target, released, ifrs_target,
    )  # fmt: skip
    plain = (gross.receivable, gross.revenue, gross.contingent, net.revenue, net.loss_allowance)
    return made == tuple(map(_whole, plain))


def _fee_holds(loans: LoanColumns, row: int) -> bool:
    """What one loan earns of its fee by each due date, up to the rounding of its interest."""
    terms = loans.terms.take(np.array([row]))
    upfront = loans.upfront_fee_minor[[row]]
    if upfront[0] == 0 or terms.coupon_ppm[0] != terms.rate_ppm[0] or terms.flat_fee_minor[0]:
        return True
    plan = schedule_columns(terms)
    held = at_amortised_cost(
        net_investment(int(terms.principal_minor[0]), int(upfront[0]), 0),
        steps_of(terms, 0),
        simple,
    )
    stated = Fraction(int(terms.rate_ppm[0]), 12 * PPM)
    if any(step.length != 1 for step in steps_of(terms, 0)):
        return held.rate_ppb == int(loans.eir_ppb[row])
    earned = fee_amortisation(int(terms.principal_minor[0]), stated, held.table)
    so_far = Fraction(0)
    for number, (day, part) in enumerate(zip(plan.due_on, earned.periods, strict=True), start=1):
        so_far += part
        made = fees_earned(terms, upfront, loans.eir_ppb[[row]], from_day(int(day)))
        if abs(int(made[0]) - so_far) > Fraction(number + 2, 2):
            return False
    return True


def _expected_life_holds(loans: LoanColumns, row: int, survival_ppm: I64 | None) -> bool:
    """What one loan is worth at its start if all are expected to repay with one instalment."""
    if survival_ppm is None:
        return True
    terms, upfront = loans.terms.take(np.array([row])), loans.upfront_fee_minor[[row]]
    curve = survival_ppm[int(loans.segment[row])].tolist()
    leaves = next((k for k, share in enumerate(curve, start=1) if share == 0), 0)
    contract = steps_of(terms, 0)
    if not 0 < leaves <= len(contract) or any(share not in (0, PPM) for share in curve):
        return True
    expected = Survival(np.array([curve], np.int64))
    rate = as_fraction(int(effective_rates(terms, upfront, expected)[0]))
    balance = int(schedule_columns(terms).principal[leaves:].sum())
    flows = repaid_early(contract, leaves, balance)
    advance = net_investment(int(terms.principal_minor[0]), int(upfront[0]), 0)
    worth = revised(advance, flows, rate, simple)
    numbered = by_numbers({str(k): step.cash for k, step in enumerate(flows, start=1)})
    alike = all(step.length == 1 for step in flows)
    return abs(worth.gain) < 1 and (not alike or abs(revised(advance, numbered, rate).gain) < 1)


def merged(controls: Iterator[list[Control]]) -> list[Control]:
    """The controls of all shards as one of each name."""
    found: dict[str, Control] = {}
    for control in (each for part in controls for each in part):
        before = found.get(control.name, Control(control.name))
        found[control.name] = Control(
            control.name, 0, before.found_minor + control.found_minor,
            before.loans + control.loans,
        )  # fmt: skip
    return list(found.values())
