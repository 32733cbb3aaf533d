"""A deal compiled to integers, as the scenario kernel runs it.

Shares of a schedule that are no short fractions become the nearest fraction below 2^60: an amount
times it is rounded as by the share itself unless the nearest one is exactly half-way, and the
kernel says so then. What can grow beyond 64 bits is refused by name; the exact form takes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from math import lcm

import numpy as np

from usance.base.arrays import F64, I64
from usance.base.daycount import year_fraction
from usance.base.formulas import Formula, Literal, Name
from usance.base.rates import PPM
from usance.fund import scenario_kernel as layout
from usance.fund.deal import Deal, Status, Step, StepKind, TriggerMoment, at
from usance.fund.deal_checks import fits_64_bits
from usance.fund.errors import KernelRefused
from usance.fund.projection import Stratum, stratum_of
from usance.fund.scenario_kernel import ScenarioProgram
from usance.fund.state import account_balances, opening_state

MAX_BELOW = 2**60
MAX_AMOUNT = (2**63 - 1) // PPM - 1
"""An amount times a share in parts per million stays inside 64 bits."""

OPS = ("+", "-", "*", "floor", "min", "max", "==", "!=", "<", "<=", ">", ">=", "and", "or", "not",
       "?")  # fmt: skip
_NUMBER = {op: number for number, op in enumerate(OPS, start=1)}
_KINDS = {
    StepKind.FEE: layout.PAY_FEE,
    StepKind.INTEREST: layout.PAY_INTEREST,
    StepKind.PRINCIPAL: layout.PAY_PRINCIPAL,
    StepKind.MOVE: layout.MOVE,
    StepKind.BUY: layout.BUY,
    StepKind.RESIDUAL: layout.RESIDUAL,
}


def compile_deal(deal: Deal, strata: Sequence[Stratum] = ()) -> ScenarioProgram:
    """The program of a deal; `strata` stand for its own pool."""
    if not strata and deal.pool.terms is not None:
        strata = [stratum_of(deal.pool.terms, deal.pool.balance_minor)]
    uses_flows = bool(deal.pool.flows) and not strata
    _check_size(deal, strata)
    if not fits_64_bits(deal):
        raise KernelRefused("formulas beyond 64 bits", where=deal.name)
    code = _Formulas(_registers(deal))
    months = deal.periods * deal.months_per_period
    triggers = [
        (trigger.at is TriggerMoment.DISTRIBUTION, code.add(trigger.when),
         list(Status).index(trigger.to))
        for trigger in deal.triggers
    ]  # fmt: skip
    call = deal.clean_up
    shape = [
        len(deal.classes), len(deal.fees), len(strata), deal.periods,
        months, list(Status).index(deal.status), deal.purchase.price_ppm if deal.purchase else PPM,
        deal.pool.balance_minor if uses_flows else 0,
        code.add(call.when if call else None), code.add(call.price if call else None),
    ]  # fmt: skip
    statuses, steps, payees = _steps(deal, code)
    factors, bases = _accruals(deal, code)
    templates = [*strata, *([stratum_of(deal.purchase.terms, 0)] if deal.purchase else [])]
    given = np.zeros((months, 4), np.int64)
    for month, flow in enumerate(deal.pool.flows[:months] if uses_flows else ()):
        given[month] = (flow.interest_minor, flow.principal_minor, flow.defaulted_minor,
                        flow.recovered_minor)  # fmt: skip
    periods = range(1, deal.periods + 1)
    return ScenarioProgram(
        np.array(shape, np.int64),
        np.array(code.registers(), np.int64),
        *_pool(templates),
        given,
        factors,
        bases,
        _rows([[at(c.targets_minor, k) if c.targets_minor else 0 for k in periods]
               for c in deal.classes], deal.periods),
        np.array([at(deal.purchase.supply_minor, k) if deal.purchase else 0 for k in periods],
                 np.int64),
        np.array([(deal.paid_on(k) - deal.closing_on).days for k in periods], np.int64),
        _rows(code.formulas, 3),
        _rows(code.code, 5),
        _rows(triggers, 3),
        statuses,
        steps,
        payees,
    )  # fmt: skip


@dataclass
class _Formulas:
    """Registers and code of all formulas of a deal."""

    names: dict[str, tuple[int, int]]
    """Register and first value of each name."""
    extra: list[int] = field(default_factory=list)
    constants: dict[int, int] = field(default_factory=dict)
    code: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    formulas: list[tuple[int, int, int]] = field(default_factory=list)

    def add(self, formula: Formula | None) -> int:
        """The number of a formula, -1 for none."""
        if formula is None:
            return -1
        first = len(self.code)
        found = self._value(formula)
        self.formulas.append((first, len(self.code), found))
        return len(self.formulas) - 1

    def registers(self) -> list[int]:
        """Every register before the first date."""
        return [value for _, value in sorted(self.names.values())] + self.extra

    def _register(self, value: int = 0) -> int:
        self.extra.append(value)
        return len(self.names) + len(self.extra) - 1

    def _value(self, formula: Formula) -> int:
        if isinstance(formula, Name):
            return self.names[formula.path][0]
        if isinstance(formula, Literal):
            value = int(formula.value)
            if value not in self.constants:
                self.constants[value] = self._register(value)
            return self.constants[value]
        args = [self._value(arg) for arg in formula.args]
        if formula.op in ("min", "max"):
            found = args[0]
            for other in args[1:]:
                found = self._emit(formula.op, found, other)
            return found
        return self._emit(formula.op, *args)

    def _emit(self, op: str, first: int, second: int = 0, third: int = 0) -> int:
        target = self._register()
        self.code.append((_NUMBER[op], target, first, second, third))
        return target


def _registers(deal: Deal) -> dict[str, tuple[int, int]]:
    names = ["period", "pool_original", "pool_start", "pool_end", "collected_interest",
             "collected_principal", "defaulted", "recovered", "defaulted_to_date",
             "bought_to_date", "classes"]  # fmt: skip
    for each in deal.classes:
        names += [f"{each.name}.{what}" for what in ("balance", "original", "due", "target")]
    names += [f"fee.{fee.name}.due" for fee in deal.fees]
    names += [f"account.{name}" for name in account_balances(deal)]
    values: Mapping[str, int] = opening_state(deal).names
    return {name: (number, values.get(name, 0)) for number, name in enumerate(names)}


def _pool(strata: Sequence[Stratum]) -> tuple[I64, I64, I64, F64]:
    """Rows of strata, their curves, and the shares of their schedules, each kept once."""
    rows: list[list[int]] = []
    curves: dict[tuple[int, ...], int] = {}
    flat: list[int] = []
    schedules: dict[tuple[tuple[Fraction, ...], tuple[Fraction, ...]], int] = {}
    shares: list[tuple[int, int, int]] = []

    def curve(values: tuple[int, ...]) -> int:
        if values not in curves:
            curves[values] = len(flat)
            flat.extend(values)
        return curves[values]

    for stratum in strata:
        schedule = (stratum.interest, stratum.principal)
        if schedule not in schedules:
            schedules[schedule] = len(shares) // 2
            for pair in zip(*schedule, strict=True):
                shares += [_share(each) for each in pair]
        recovery = curve(stratum.recovery_ppm)
        rows.append([
            stratum.balance_minor, schedules[schedule], len(stratum.principal),
            curve(stratum.mdr_ppm), len(stratum.mdr_ppm) - 1,
            curve(stratum.smm_ppm), len(stratum.smm_ppm) - 1,
            recovery, recovery + len(stratum.recovery_ppm),
        ])  # fmt: skip
    ratios = np.array([above / below for above, below, _ in shares], np.float64)
    return _rows(rows, 9), np.array([flat] * 3, np.int64), _rows(shares, 3), ratios


def _share(share: Fraction) -> tuple[int, int, int]:
    near = share.limit_denominator(MAX_BELOW)
    return near.numerator, near.denominator, int(near == share)


def _accruals(deal: Deal, code: _Formulas) -> tuple[I64, I64]:
    """For each class and fee: its factor on each date over one base, its fixed amount, its base."""
    dates = [deal.closing_on, *(deal.paid_on(k) for k in range(1, deal.periods + 1))]
    years = [year_fraction(a, b, deal.day_count) for a, b in pairwise(dates)]
    items = [(Fraction(each.rate_ppm, PPM), Fraction(0), 0, -1) for each in deal.classes]
    items += [
        (Fraction(fee.annual_ppm, PPM), Fraction(fee.share_ppm, PPM), fee.fixed_minor,
         code.add(fee.base))
        for fee in deal.fees
    ]  # fmt: skip
    factors, bases = [], []
    for annual, share, fixed, base in items:
        exact = [annual * span + share for span in years]
        below = lcm(*(each.denominator for each in exact))
        above = [each.numerator * (below // each.denominator) for each in exact]
        if below > MAX_BELOW:
            raise KernelRefused("a rate and day count of many digits", where=deal.name)
        factors.append(above)
        bases.append((below, fixed, base))
    return _rows(factors, deal.periods), _rows(bases, 3)


def _steps(deal: Deal, code: _Formulas) -> tuple[I64, I64, I64]:
    statuses: list[tuple[int, int]] = []
    rows: list[tuple[int, ...]] = []
    payees: list[int] = []
    for status in Status:
        first = len(rows)
        for step in deal.waterfall.get(status, ()):
            start = len(payees)
            payees += _payees(deal, step, code)
            rows.append((
                _KINDS[step.kind], code.names[f"account.{step.source}"][0], code.add(step.amount),
                code.add(step.when), step.pro_rata, start, len(payees),
            ))  # fmt: skip
        statuses.append((first, len(rows)))
    return _rows(statuses, 2), _rows(rows, 7), np.array(payees, np.int64)


def _payees(deal: Deal, step: Step, code: _Formulas) -> list[int]:
    if step.kind is StepKind.FEE:
        return [code.names[f"fee.{name}.due"][0] for name in step.payees]
    if step.kind is StepKind.MOVE:
        return [code.names[f"account.{name}"][0] for name in step.payees]
    order = [each.name for each in deal.classes]
    return [order.index(name) for name in step.payees]


def _check_size(deal: Deal, strata: Sequence[Stratum]) -> None:
    if any(each.lived or each.defaulted for each in strata):
        raise KernelRefused("a deal on its way", where=deal.name)
    bought = 0
    if deal.purchase is not None:
        bought = sum(at(deal.purchase.supply_minor, k) for k in range(1, deal.periods + 1))
    pool = max(deal.pool.balance_minor, sum(each.balance_minor for each in strata)) + bought
    most = pool
    if bought:
        # Money that may buy loans: principal and interest at no more than 100 % a year.
        most = pool * (deal.periods * deal.months_per_period // 12 + 2)
        most += sum(each.balance_minor for each in deal.classes) + sum(deal.accounts.values())
    if most > MAX_AMOUNT:
        raise KernelRefused(f"amounts beyond {MAX_AMOUNT} minor units", where=deal.name)


def _rows(rows: Sequence[Sequence[int]], width: int) -> I64:
    return np.array(rows, np.int64).reshape(-1, width)
