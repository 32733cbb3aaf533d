"""A sample of every close recomputed as an auditor would: one loan at a time, in fractions.

The kernels work on columns in 64-bit integers; what they made is compared here with the functions
of single contracts (`guarantee_contracts`, `effective_contract`), which know nothing of kernels. A
loan on which the two differ by more than rounding stops the close and is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from usance.base.arrays import I64
from usance.base.codes import FundingModel
from usance.base.dates import from_day
from usance.base.money import half_up
from usance.base.rates import PPB, PPM
from usance.books.close.controls import Control
from usance.books.effective_interest.contract import (
    as_fraction,
    by_numbers,
    fee_amortisation,
    interest_on,
    repaid_early,
    revised,
    simple,
)
from usance.books.effective_interest.expected_lives import ExpectedLives
from usance.books.effective_interest.instruments import (
    at_amortised_cost,
    level_until_repaid,
    net_investment,
)
from usance.books.effective_interest.loans import effective_rates, fees_earned, steps_of
from usance.books.kernel.effective import level_of
from usance.books.loans.amounts import AMOUNT as A
from usance.books.loans.guarantees import fair_value, gross_position, net_position
from usance.books.loans.measurement import LoanColumns
from usance.books.loans.positions import NO_EVENT
from usance.books.loans.positions import POSITION as P
from usance.books.policies import Policies
from usance.loan.batch import schedule_columns
from usance.loan.convention import CONVENTION_CODES
from usance.loan.kernel.batch import plan_at

SAMPLE = 10
"""Loans of each model that are recomputed in each shard."""
GUARANTEES = "sampled guarantees recomputed one by one"
FEES = "sampled fees recomputed one by one"
EXPECTED = "sampled expected lives recomputed one by one"
IMPAIRED = "sampled interest of impaired loans recomputed one by one"
LEVELS = "sampled level instalments recomputed one by one"
_LEVEL = [CONVENTION_CODES["level_monthly"], CONVENTION_CODES["level_daily"]]
_MIN_MINOR = 100
"""A level loan whose first instalment repays less than this is not recomputed: a cent more or less
could change its length by years."""


def recompute_sample(
    loans: LoanColumns, at: I64, found: I64, first: int, policies: Policies
) -> list[Control]:
    """The controls of a sample from loans `first …`, with their positions and amounts."""
    alive = (at[:, P.event] == NO_EVENT) & (at[:, P.is_settled] == 0) & (at[:, P.principal] > 0)
    heavy, own = (
        alive & (at[:, P.model] == model)
        for model in (FundingModel.CAPITAL_HEAVY, FundingModel.ON_BALANCE_SHEET)
    )
    impaired = own & (at[:, P.days_past_due] > policies.numbers.stage_3_days)
    level = alive & np.isin(loans.terms.convention[first : first + len(at)], _LEVEL)
    checks: list[tuple[str, NDArray[np.bool_], Callable[[int], bool]]] = [
        (GUARANTEES, heavy, lambda row: _guarantee_holds(at[row], found[row])),
        (FEES, own, lambda row: _fee_holds(loans, first + row)),
        (EXPECTED, own, lambda row: _expected_life_holds(loans, first + row, policies.lives)),
        (IMPAIRED, impaired, lambda row: _net_interest_holds(at[row], found[row], policies)),
        (LEVELS, level, lambda row: _level_holds(loans, first + row)),
    ]
    controls = []
    for name, some, holds in checks:
        rows = np.flatnonzero(some)[:SAMPLE].tolist()
        wrong = [row for row in rows if not holds(row)]
        ids = tuple(int(loans.loan_id[first + row]) for row in wrong)
        controls.append(Control(name, 0, len(wrong), ids))
    return controls


def implausible_guarantees(loans: LoanColumns, at: I64, first: int) -> list[int]:
    """Loans of the sample whose guarantee is stated above all that it can be worth.

    What a guarantee saves on instalments is at most what it saves on a loan that is repaid at its
    end: the interest between the funder's rate and all that the borrower pays.
    """
    heavy = np.flatnonzero(at[:, P.model] == FundingModel.CAPITAL_HEAVY)[:SAMPLE] + first
    terms = loans.terms.take(heavy)
    all_in = effective_rates(terms, np.zeros(len(heavy), np.int64))
    wrong = []
    for place, row in enumerate(heavy.tolist()):
        most = fair_value(
            int(terms.principal_minor[place]), Fraction(int(terms.coupon_ppm[place]), 12 * PPM),
            as_fraction(int(all_in[place])), int(terms.instalments[place]),
        )  # fmt: skip
        if int(terms.guarantee_fee_minor[place]) > most:
            wrong.append(int(loans.loan_id[row]))
    return wrong


def guarantee_notes(loan_ids: Sequence[int]) -> list[str]:
    """Notes on guarantees that are stated above all they can be worth."""
    if not loan_ids:
        return []
    shown = ", ".join(map(str, sorted(loan_ids)[:5]))
    return [f"{len(loan_ids)} sampled guarantees are stated above what they save: loans {shown}"]


def _whole(value: Fraction) -> int:
    return half_up(value.numerator, value.denominator)


def _guarantee_holds(at: I64, found: I64) -> bool:
    """True if receivable and liabilities of one guarantee, gross and net, are as recomputed."""
    premium = int(at[P.guarantee] - at[P.waived_guarantee])
    days, term = int(at[P.earned_days]), int(at[P.term_days])
    received = int(at[P.before_guarantee])
    target = int(found[A.contingent_provision])
    ifrs_target = target + int(found[A.ifrs_contingent_loss])
    gross = gross_position(premium, days, term, received, target)
    net = net_position(premium, days, term, received, ifrs_target)
    released = int(found[A.guarantee_released])
    made = (
        int(found[A.guarantee_issued] - found[A.guarantee_cancelled]) - received, released,
        target, released, ifrs_target,
    )  # fmt: skip
    plain = (gross.receivable, gross.revenue, gross.contingent, net.revenue, net.loss_allowance)
    return made == tuple(map(_whole, plain))


def _fee_holds(loans: LoanColumns, row: int) -> bool:
    """True if one loan earns its fee by each due date as recomputed, up to rounding of interest."""
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


def _level_holds(loans: LoanColumns, row: int) -> bool:
    """True if a cent less than a level instalment takes longer than agreed, and a cent more not."""
    terms = loans.terms.take(np.array([row]))
    plan = plan_at(terms.arrays, 0)
    principal, agreed, paid = (
        int(terms.principal_minor[0]),
        int(terms.instalments[0]),
        level_of(plan),
    )
    stated = Fraction(int(terms.rate_ppm[0]), 12 * PPM)
    if paid - principal * stated < _MIN_MINOR:
        return True
    less, more = (len(level_until_repaid(principal, stated, int(paid) + cent)) for cent in (-1, 1))
    return more <= agreed < less


def _net_interest_holds(at: I64, found: I64, policies: Policies) -> bool:
    """True if an impaired loan earns its rate on its net amount, up to rounding of the rate."""
    gross = (
        int(at[P.outstanding])
        + int(found[A.interest_earned] - found[A.interest_received])
        + int(found[A.fee_earned] - found[A.upfront_fee] - found[A.fee_instalments_received])
    )
    # Of a loan without charge-off or settlement what was provided, forgiven principal aside, is
    # the allowance.
    allowance = int(found[A.loan_provision] - found[A.principal_written_off])
    net = gross + int(found[A.ifrs_fee] - found[A.ifrs_loan_loss]) - allowance
    days = int(at[P.days_past_due] - policies.numbers.stage_3_days)
    rate = as_fraction(int(at[P.effective_ppb]))
    earned = interest_on(max(net, 0), rate, Fraction(12 * days, 365), simple)
    return abs(int(found[A.ifrs_net_interest]) - earned) <= 1 + Fraction(abs(net), PPB)


def _expected_life_holds(loans: LoanColumns, row: int, lives: ExpectedLives | None) -> bool:
    """True if one loan that all repay with one instalment is worth its advance at its start."""
    if lives is None:
        return True
    terms, upfront = loans.terms.take(np.array([row])), loans.upfront_fee_minor[[row]]
    expected = lives.of(loans.segment[[row]].astype(np.int64), terms.disbursed_on).made
    curve = expected.ppm[int(expected.segments[0])].tolist()
    leaves = next((k for k, share in enumerate(curve, start=1) if share == 0), 0)
    contract = steps_of(terms, 0)
    if not 0 < leaves <= len(contract) or any(share not in (0, PPM) for share in curve):
        return True
    rate = as_fraction(int(effective_rates(terms, upfront, expected)[0]))
    balance = int(schedule_columns(terms).principal[leaves:].sum())
    flows = repaid_early(contract, leaves, balance)
    advance = net_investment(int(terms.principal_minor[0]), int(upfront[0]), 0)
    worth = revised(advance, flows, rate, simple)
    numbered = by_numbers({str(k): step.cash for k, step in enumerate(flows, start=1)})
    alike = all(step.length == 1 for step in flows)
    return abs(worth.gain) < 1 and (not alike or abs(revised(advance, numbered, rate).gain) < 1)


def merge_controls(controls: Iterator[list[Control]]) -> list[Control]:
    """The controls of all shards as one of each name."""
    found: dict[str, Control] = {}
    for control in (each for part in controls for each in part):
        before = found.get(control.name, Control(control.name))
        found[control.name] = Control(
            control.name, 0, before.found_minor + control.found_minor,
            before.loans + control.loans,
        )  # fmt: skip
    return list(found.values())
