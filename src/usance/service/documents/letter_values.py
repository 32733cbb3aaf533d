"""Values of a document, as its reader's language writes them.

>>> show(Money(1_234_567_00, "CNY"), "en"), show(Money(1_234_567_00, "CNY"), "zh")
('1,234,567.00 CNY', '1,234,567.00元')
>>> show(date(2024, 6, 30), "en"), show(date(2024, 6, 30), "zh"), show(Rate(182_500), "en")
('30 June 2024', '2024年6月30日', '18.25%')
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TypeAlias

from usance.base.codes import Currency
from usance.base.errors import unknown
from usance.base.money import Money
from usance.base.rates import Rate

Value: TypeAlias = str | int | date | Money | Rate

TYPES: Mapping[str, type | tuple[type, ...]] = {
    "text": str, "count": int, "year": int, "day": date, "money": Money, "rate": Rate,
}  # fmt: skip
"""Python type of each kind of value that `kinds.yaml` names."""
LANGUAGES = ("en", "zh")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_UNITS_ZH = {"CNY": "元", "USD": "美元", "HKD": "港元", "EUR": "欧元"}


def show(value: Value, language: str) -> str:
    """A value as text."""
    if language not in LANGUAGES:
        raise unknown("language", language, LANGUAGES)
    chinese = language == "zh"
    if isinstance(value, Money):
        number = grouped(value)
        unit = _UNITS_ZH.get(value.currency) if chinese else None
        return f"{number}{unit}" if unit else f"{number} {value.currency}"
    if isinstance(value, date):
        if chinese:
            return f"{value.year}年{value.month}月{value.day}日"
        return f"{value.day} {_MONTHS[value.month - 1]} {value.year}"
    return str(value)


def grouped(money: Money) -> str:
    """An amount with its thousands apart."""
    exponent = Currency[money.currency].exponent
    whole, rest = divmod(abs(money.minor), 10**exponent)
    decimals = f".{rest:0{exponent}d}" if exponent else ""
    return f"{'-' if money.minor < 0 else ''}{whole:,}{decimals}"
