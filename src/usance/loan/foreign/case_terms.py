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
from usance.loan.convention import Amortisation, Bucket, Early, Rounding, Unit, When
from usance.loan.foreign.facts import INTEREST_REFUND
from usance.loan.foreign.terms import (
    DEFAULT,
    FEE,
    PENALTIES_FIRST,
    PENALTY,
    ChargeOff,
    DaysInMonth,
    DaysInYear,
    ForeignTerms,
    InterestBasis,
    InterestMethod,
    Order,
    Plan,
    PreClosure,
    RateBasis,
    Recalculation,
    Rest,
    twelve_buckets,
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
    "NEXT_INSTALLMENT": Early.NEXT,
    "LAST_INSTALLMENT": Early.LAST,
    "REAMORTIZATION": Early.REAMORTISE,
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
_REST_TILL = ("2", "TILL_REST_FREQUENCY_DATE")


class CaseReader:
    """The fields of one case, every problem with its position noted."""

    def __init__(self, case: Mapping[str, Any], where: str) -> None:
        self.case, self.where = case, where
        self.problems: list[UsanceError] = []

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

    def whole(self, field: str, default: Any = ..., *, least: int = 0) -> int:
        """A whole number."""
        value = self.get(field, (int, Decimal), default)
        if value is None:
            return least
        if value != int(value) or value < least:
            self.problem(field, f"is {value}", f"Give a whole number of {least} or more")
            return least
        return int(value)

    def number(self, field: str, default: Any = ...) -> Decimal:
        """A decimal number."""
        value = self.get(field, (int, Decimal), default)
        return Decimal(0) if value is None else Decimal(value)

    def day(self, field: str) -> date:
        """A date."""
        text = self.get(field, str)
        return self.as_day(text, field) if text is not None else date.min

    def as_day(self, text: Any, field: str) -> date:
        """The date a text says."""
        try:
            return date.fromisoformat(text)
        except (TypeError, ValueError):
            self.problem(field, f"{text!r} is no date", "Write it as YYYY-MM-DD")
            return date.min


def read_terms(reader: CaseReader, default_order: Sequence[Bucket]) -> ForeignTerms:
    """The terms of a case, but for the day of disbursement."""
    return ForeignTerms(
        disbursed_on=date.min,
        rate_pct=reader.number("nominal_rate_pct"),
        instalments=reader.whole("n_instalments", least=1),
        every=reader.whole("repay_every", least=1),
        unit=reader.choice("frequency", {unit.name: unit for unit in Unit}),
        plan=reader.choice("schedule_engine", {plan.value: plan for plan in Plan}),
        rate_basis=_rate_basis(reader),
        amortisation=reader.choice("amortisation", _AMORTISATIONS),
        method=reader.choice("interest_type", _METHODS),
        basis=reader.choice("interest_calculation_period", _BASES),
        rounding=reader.choice("rounding_mode", {each.name: each for each in Rounding}),
        decimals=reader.whole("currency_decimals", 2),
        multiple_of=reader.whole("instalment_amount_in_multiples_of", 0),
        grace_principal=reader.whole("grace_principal", 0),
        grace_interest=reader.whole("grace_interest", 0),
        interest_free=reader.whole("interest_free_periods", 0),
        fixed_length=_fixed_length(reader),
        down_payment_pct=reader.number("down_payment_pct", 0),
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
    text = reader.get("rate_basis", str, "per year").lower()
    return RateBasis.MONTH if text.startswith("per month") else RateBasis.YEAR


def _fixed_length(reader: CaseReader) -> int:
    found = _FIXED_LENGTH.search(reader.get("creation_note", str, ""))
    return int(found[1]) if found else reader.whole("fixed_length", 0)


def _recalculation(reader: CaseReader) -> Recalculation | None:
    parts = reader.get("interest_recalculation", dict, {})
    if not parts.get("enabled"):
        return None
    till_rest = str(parts.get("preclose_strategy_code", "")).endswith(_REST_TILL)
    rest = str(parts.get("rest_frequency_type_code", "2"))
    by_period = rest == "1" or "SAME_AS_REPAYMENT" in rest
    return Recalculation(
        pre_closure=PreClosure.TILL_REST if till_rest else PreClosure.TILL_DAY,
        rest=Rest.REPAYMENT_PERIOD if by_period else Rest.DAILY,
        past_due_bears=not parts.get("disallow_interest_on_past_due", False),
    )


def _refunds_interest(reader: CaseReader) -> bool:
    rules = reader.get("payment_allocation", list, [])
    names = [rule.get("transaction_type") for rule in rules if isinstance(rule, dict)]
    return INTEREST_REFUND.upper() in names


def _orders(reader: CaseReader, default_order: Sequence[Bucket]) -> dict[str, Order]:
    orders = {DEFAULT: Order(_classic(reader) or tuple(default_order))}
    base = orders[DEFAULT].buckets
    for index, rule in enumerate(reader.get("payment_allocation", list, []), start=1):
        if not isinstance(rule, dict):
            reader.problem(f"payment_allocation {index}", "is no object", "Give an object")
            continue
        inner = CaseReader(rule, f"{reader.where}, payment_allocation {index}")
        name = inner.get("transaction_type", str) or DEFAULT
        future = inner.choice("future_instalment_rule", FUTURE)
        buckets = _buckets(inner, base)
        if name.lower() == DEFAULT:
            base = buckets
        orders[name.lower()] = Order(buckets, future)
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
    return twelve_buckets(*found)


def bucket_order(
    names: Sequence[Any], note: Callable[[InputError], None], where: str
) -> list[Bucket]:
    """Buckets by names such as PAST_DUE_PENALTY."""
    known = {
        f"{when.name}_{name}": (when, component)
        for when in When
        for name, component in _COMPONENTS.items()
    }
    found = []
    for name in names:
        if name in known:
            found.append(known[name])
        else:
            note(unknown("bucket", str(name), known, where=where))
    if not found:
        return list(PENALTIES_FIRST)
    return found


def _classic(reader: CaseReader) -> tuple[Bucket, ...]:
    """A classic order of components, from its name."""
    name = reader.get("payment_strategy", str, "")
    parts = re.findall(r"PENALT(?:Y|IES)|FEES?|INTEREST|PRINCIPAL", name.split("_IN_ADVANCE_")[0])
    found = [_COMPONENTS[_singular(part)] for part in parts]
    return twelve_buckets(*found) if sorted(found) == sorted(_COMPONENTS.values()) else ()


def _singular(name: str) -> str:
    return {"PENALTIES": "PENALTY", "FEES": "FEE"}.get(name, name)
