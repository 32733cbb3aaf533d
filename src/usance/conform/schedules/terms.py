"""The terms of a case file's loan, from the names other systems use."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeVar

from usance.base.codes import Component
from usance.base.errors import DocumentError, InputError, UsanceError, unknown
from usance.loan.convention import (
    Amortisation,
    Bucket,
    DueStatus,
    EarlyPayment,
    PeriodUnit,
    Rounding,
)
from usance.migration.bounds import (
    FIRST_YEAR,
    LAST_YEAR,
    MAX_AMOUNT,
    MAX_DECIMALS,
    MAX_EVERY,
    MAX_INSTALMENTS,
    MAX_RATE_PCT,
    plain_day,
    whole,
)
from usance.migration.facts import INTEREST_REFUND
from usance.migration.terms import (
    DEFAULT_TRANSACTION,
    FEE,
    PENALTIES_FIRST,
    PENALTY,
    AllocationRule,
    ChargeOff,
    DaysInMonth,
    DaysInYear,
    InterestBasis,
    InterestMethod,
    MigratedTerms,
    PlanMethod,
    PreClosureInterest,
    RateBasis,
    Recalculation,
    RestFrequency,
    same_order_for_all,
)

_E = TypeVar("_E", bound=StrEnum)

_METHODS = {"DECLINING_BALANCE": InterestMethod.DECLINING, "FLAT": InterestMethod.FLAT}
_BASES = {
    "DAILY": InterestBasis.DAILY,
    "SAME_AS_REPAYMENT_PERIOD": InterestBasis.REPAYMENT_PERIOD,
}
_AMORTISATIONS = {
    "EQUAL_INSTALLMENTS": Amortisation.EQUAL_INSTALMENT,
    "EQUAL_PRINCIPAL": Amortisation.EQUAL_PRINCIPAL,
}
FUTURE = {
    "NEXT_INSTALLMENT": EarlyPayment.NEXT,
    "LAST_INSTALLMENT": EarlyPayment.LAST,
    "REAMORTIZATION": EarlyPayment.REAMORTISE,
}
_COMPONENTS = {
    "PENALTY": PENALTY,
    "FEE": FEE,
    "PRINCIPAL": Component.PRINCIPAL,
    "INTEREST": Component.INTEREST,
}
_VARIANT = re.compile(r"Pen|Fee|Int(?:erest)?|Pri(?:ncipal)?")
_VARIANT_COMPONENTS = {
    "Pen": PENALTY, "Fee": FEE, "Int": Component.INTEREST, "Pri": Component.PRINCIPAL,
}  # fmt: skip
_FIXED_LENGTH = re.compile(r"fixed length (?:of )?([0-9]+)")
_MAX_LENGTH = 99_999
_RATE_BASIS = re.compile(r"per (year|month|whole term)(?: \(.*\))?")
_PRE_CLOSURES = {
    "1": PreClosureInterest.TILL_DAY,
    "TILL_PRE_CLOSE_DATE": PreClosureInterest.TILL_DAY,
    "TILL_PRE_CLOSURE_DATE": PreClosureInterest.TILL_DAY,
    "2": PreClosureInterest.TILL_REST,
    "TILL_REST_FREQUENCY_DATE": PreClosureInterest.TILL_REST,
}
_RESTS = {
    "1": RestFrequency.REPAYMENT_PERIOD,
    "SAME_AS_REPAYMENT": RestFrequency.REPAYMENT_PERIOD,
    "SAME_AS_REPAYMENT_PERIOD": RestFrequency.REPAYMENT_PERIOD,
    "2": RestFrequency.DAILY,
    "DAILY": RestFrequency.DAILY,
    "3": None,
    "WEEKLY": None,
    "4": None,
    "MONTHLY": None,
}
_ADVANCED = ("", "ADVANCED_PAYMENT_ALLOCATION")
_UNSUPPORTED_STRATEGIES = (
    "HEAVENSFAMILY_UNIQUE", "CREOCORE_UNIQUE", "EARLY_REPAYMENT_STRATEGY",
    "OVERDUE_DUE_FEE_INTEREST_PRINCIPAL",
)  # fmt: skip


class CaseReader:
    """The fields of one case, every problem with its position noted."""

    def __init__(self, case: Mapping[str, Any], where: str) -> None:
        self.case, self.where = case, where
        self.problems: list[UsanceError] = []
        self.unsupported: list[str] = []  # known elsewhere, and no option here can do it

    def problem(self, field: str, what: str, fix: str) -> None:
        """Note one problem."""
        self.problems.append(DocumentError(what, where=f"{self.where}, {field}", fix=fix))

    def get(self, field: str, kind: type | tuple[type, ...], default: Any = ...) -> Any:
        """A field of a kind; its absence is a problem where there is no default."""
        value = self.case.get(field)
        if value is None:
            if default is ...:
                self.problem(field, "is missing", "Give it")
            return None if default is ... else default
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.problem(field, f"is {value!r}", "Give the kind of value the format has there")
            return None if default is ... else default
        return value

    def choice(self, field: str, choices: Mapping[str, Any], default: Any = ...) -> Any:
        """A field that names one of a closed set."""
        name = self.get(field, str, default if isinstance(default, str) else ...)
        if name is None:
            return next(iter(choices.values()))
        if name not in choices:
            self.problems.append(unknown(field, name, choices, where=f"{self.where}, {field}"))
            return next(iter(choices.values()))
        return choices[name]

    def whole(self, field: str, default: Any = ..., *, least: int = 0, most: int) -> int:
        """A whole number within bounds."""
        value = self.get(field, (int, Decimal), default)
        if value is None:
            return least
        try:
            return whole(Decimal(value), least, most)
        except ValueError:
            fix = f"Give a whole number within {least} and {most}"
            self.problem(field, f"is {value}", fix)
            return least

    def number(self, field: str, default: Any = ..., *, most: int) -> Decimal:
        """A decimal number, not negative and within bounds."""
        value = self.get(field, (int, Decimal), default)
        if value is None:
            return Decimal(0)
        if not 0 <= value <= most:
            self.problem(field, f"is {value}", f"Give a number within 0 and {most}")
            return Decimal(0)
        return Decimal(value)

    def as_day(self, text: Any, field: str) -> None:
        """Note what is no date, or one that loans cannot have."""
        try:
            plain_day(text)
        except (TypeError, ValueError):
            fix = f"Write it as YYYY-MM-DD, within {FIRST_YEAR} and {LAST_YEAR}"
            self.problem(field, f"{text!r} is no date", fix)


def read_terms(reader: CaseReader, default_order: Sequence[Bucket]) -> MigratedTerms:
    """The terms of a case, but for the day of disbursement."""
    return MigratedTerms(
        disbursed_on=date.min,
        rate_pct=reader.number("nominal_rate_pct", most=MAX_RATE_PCT),
        instalments=reader.whole("n_instalments", least=1, most=MAX_INSTALMENTS),
        every=reader.whole("repay_every", least=1, most=MAX_EVERY),
        unit=reader.choice("frequency", {unit.name: unit for unit in PeriodUnit}),
        plan=reader.choice("schedule_engine", {plan.value: plan for plan in PlanMethod}),
        rate_basis=_rate_basis(reader),
        amortisation=reader.choice("amortisation", _AMORTISATIONS),
        method=reader.choice("interest_type", _METHODS),
        basis=reader.choice("interest_calculation_period", _BASES),
        rounding=reader.choice("rounding_mode", {each.name: each for each in Rounding}),
        decimals=reader.whole("currency_decimals", 2, most=MAX_DECIMALS),
        multiple_of=reader.whole("instalment_amount_in_multiples_of", 0, most=MAX_AMOUNT),
        grace_principal=reader.whole("grace_principal", 0, most=MAX_INSTALMENTS),
        grace_interest=reader.whole("grace_interest", 0, most=MAX_INSTALMENTS),
        interest_free=reader.whole("interest_free_periods", 0, most=MAX_INSTALMENTS),
        fixed_length=_fixed_length(reader),
        down_payment_pct=reader.number("down_payment_pct", 0, most=99),
        down_payment_auto=reader.get("down_payment_auto", bool, False),
        orders=_orders(reader, default_order),
        recalculation=_recalculation(reader),
        charge_off=reader.choice(
            "charge_off_behaviour", {each.name: each for each in ChargeOff}, "REGULAR"
        ),
        refunds_interest=_refunds_interest(reader),
        **_day_count(reader),
    )


def _day_count(reader: CaseReader) -> dict[str, Any]:
    parts = reader.get("day_count", dict)
    inner = CaseReader(parts or {}, f"{reader.where}, day_count")
    found = {
        "days_in_year": inner.choice("days_in_year", _by_value(DaysInYear)),
        "days_in_month": inner.choice("days_in_month", _by_value(DaysInMonth)),
    }
    reader.problems.extend(inner.problems if parts is not None else [])
    return found


def _by_value(names: type[_E]) -> dict[str, _E]:
    return {each.value.upper(): each for each in names}


def _rate_basis(reader: CaseReader) -> RateBasis:
    text = reader.get("rate_basis", str, "per year")
    found = _RATE_BASIS.fullmatch(text.lower())
    if not found:
        names = [f"per {each.value}" for each in RateBasis]
        where = f"{reader.where}, rate_basis"
        reader.problems.append(unknown("rate_basis", text, names, where=where))
    elif found[1] == "whole term":
        reader.unsupported.append("a rate per whole term is not supported here")
    return RateBasis.MONTH if found and found[1] == "month" else RateBasis.YEAR


def _fixed_length(reader: CaseReader) -> int:
    found = _FIXED_LENGTH.search(reader.get("creation_note", str, ""))
    if found and len(found[1]) > len(str(_MAX_LENGTH)):
        reader.problem("creation_note", f"is {found[0]!r}", f"Give at most {_MAX_LENGTH}")
        return 0
    return int(found[1]) if found else reader.whole("fixed_length", 0, most=_MAX_LENGTH)


def _recalculation(reader: CaseReader) -> Recalculation | None:
    parts = reader.get("interest_recalculation", dict, {})
    if not parts:
        return None
    inner = CaseReader(parts, f"{reader.where}, interest_recalculation")
    enabled = inner.get("enabled", bool)
    pre_closure = _code(inner, "preclose_strategy_code", _PRE_CLOSURES, "1")
    rest = _code(inner, "rest_frequency_type_code", _RESTS, "2")
    past_due_bears = not inner.get("disallow_interest_on_past_due", bool, False)
    reader.problems.extend(inner.problems)
    if not enabled:
        return None
    if rest is None:
        reader.unsupported.append("rests by the week or month are not supported here")
    return Recalculation(pre_closure, rest or RestFrequency.DAILY, past_due_bears)


def _code(reader: CaseReader, field: str, choices: Mapping[str, Any], default: str) -> Any:
    """A code by its number or its name, with or without the name of its kind."""
    name = str(reader.get(field, (str, int), default)).rpartition(".")[2]
    if name not in choices:
        reader.problems.append(unknown(field, name, choices, where=f"{reader.where}, {field}"))
    return choices.get(name, choices[default])


def _refunds_interest(reader: CaseReader) -> bool:
    rules = reader.get("payment_allocation", list, [])
    names = [rule.get("transaction_type") for rule in rules if isinstance(rule, dict)]
    return INTEREST_REFUND.upper() in names


def _orders(reader: CaseReader, default_order: Sequence[Bucket]) -> dict[str, AllocationRule]:
    orders = {DEFAULT_TRANSACTION: AllocationRule(_classic(reader) or tuple(default_order))}
    base = orders[DEFAULT_TRANSACTION].buckets
    for index, rule in enumerate(reader.get("payment_allocation", list, []), start=1):
        if not isinstance(rule, dict):
            reader.problem(f"payment_allocation {index}", "is no object", "Give an object")
            continue
        inner = CaseReader(rule, f"{reader.where}, payment_allocation {index}")
        name = inner.get("transaction_type", str) or DEFAULT_TRANSACTION
        future = inner.choice("future_instalment_rule", FUTURE)
        buckets = _buckets(inner, base)
        if name.lower() == DEFAULT_TRANSACTION:
            base = buckets
        orders[name.lower()] = AllocationRule(buckets, future)
        reader.problems.extend(inner.problems)
    return orders


def _buckets(reader: CaseReader, base: tuple[Bucket, ...]) -> tuple[Bucket, ...]:
    names = reader.get("order", list, None)
    if names is not None:
        return tuple(bucket_order(names, reader.problems.append, reader.where))
    variant = reader.get("order_variant", str, None)
    if variant is None:
        return base
    found = [_VARIANT_COMPONENTS[part[:3]] for part in _VARIANT.findall(variant)]
    if sorted(found) != sorted(_COMPONENTS.values()):
        reader.problem("order_variant", f"is {variant!r}", "Name Pen, Fee, Int and Principal once")
        return base
    return same_order_for_all(*found)


def bucket_order(
    names: Sequence[Any], note: Callable[[InputError], None], where: str
) -> list[Bucket]:
    """Buckets by names such as PAST_DUE_PENALTY."""
    known = {
        f"{when.name}_{name}": (when, component)
        for when in DueStatus
        for name, component in _COMPONENTS.items()
    }
    found = []
    for name in names:
        if isinstance(name, str) and name in known:
            found.append(known[name])
        else:
            note(unknown("bucket", str(name), known, where=where))
    if not found:
        return list(PENALTIES_FIRST)
    return found


def _classic(reader: CaseReader) -> tuple[Bucket, ...]:
    """A classic order of components, from its name; what is in advance may have its own."""
    name = reader.get("payment_strategy", str, "")
    if name in _ADVANCED:
        return ()
    if name in _UNSUPPORTED_STRATEGIES:
        reader.unsupported.append(f"the payment strategy {name} is not supported here")
        return ()
    due, _, ahead = name.partition("_IN_ADVANCE_")
    found = [_order_named(part) for part in (due, ahead or due)]
    if any(sorted(order) != sorted(_COMPONENTS.values()) for order in found):
        choices = (
            _ADVANCED[1],
            "PENALTIES_FEES_INTEREST_PRINCIPAL_ORDER and other orders of these",
        )
        where = f"{reader.where}, payment_strategy"
        reader.problems.append(unknown("payment_strategy", name, choices, where=where))
        return ()
    owed = [
        bucket for bucket in same_order_for_all(*found[0]) if bucket[0] is not DueStatus.IN_ADVANCE
    ]
    return (*owed, *((DueStatus.IN_ADVANCE, component) for component in found[1]))


def _order_named(name: str) -> list[Component]:
    parts = re.findall(r"PENALT(?:Y|IES)|FEES?|INTEREST|PRINCIPAL", name)
    singular = {"PENALTIES": "PENALTY", "FEES": "FEE"}
    return [_COMPONENTS[singular.get(part, part)] for part in parts]
