"""The closed sets of the data contract and their numbers, which never change once given.

>>> parse(FactKind, "charged_off"), FactKind.CHARGED_OFF.label, int(FactKind.CHARGED_OFF)
(<FactKind.CHARGED_OFF: 10>, 'charged_off', 10)
>>> Currency.JPY.exponent, Currency.CNY.exponent
(0, 2)
"""

from __future__ import annotations

from enum import Enum, IntEnum
from functools import cache
from typing import TypeVar, cast

from usance.base.errors import unknown

DEFAULT_PACK = "cn"
"""The country pack where none is chosen."""


class Code(IntEnum):
    """A numbered member of a closed set; tables keep the number, people see the label."""

    @property
    def label(self) -> str:
        """The name people read and write."""
        return self.name.lower()


class Component(Code):
    """The five parts of every amount a borrower owes or pays."""

    PRINCIPAL = 0
    INTEREST = 1
    GUARANTEE_FEE = 2
    SERVICE_FEE = 3
    PENALTY = 4


class FundingModel(Code):
    """The funding model of a loan: who bears its credit risk; every loan has exactly one."""

    CAPITAL_HEAVY = 0
    ON_BALANCE_SHEET = 1
    CAPITAL_LIGHT = 2
    ICE = 3
    TECH_SOLUTIONS = 4


class Basis(Code):
    """The accounting basis of a posting."""

    US_GAAP = 0
    IFRS_ADJUSTMENT = 1


class IfrsAdjustment(Code):
    """The reason for an IFRS adjustment."""

    NONE = 0
    ECL = 1
    EIR = 2
    SBC = 3
    GUARANTEE = 4


class FactKind(Code):
    """The kind of a loan's fact; the number is also its rank within a day."""

    DISBURSED = 0
    TERMS_CHANGED = 1
    INTEREST_PAUSED = 2
    FEE_CHARGED = 3
    PAID = 4
    REFUNDED = 5
    CHARGED_BACK = 6
    WAIVED = 7
    COMPENSATED = 8
    BOUGHT_OUT = 9
    CHARGED_OFF = 10
    RECOVERED = 11
    REVERSED = 12


class Status(Code):
    """The status of a loan at a month end."""

    ACTIVE = 0
    CLOSED = 1
    CHARGED_OFF = 2


class Product(Code):
    """The product the borrower took."""

    V_POCKET = 0
    INSTALMENT = 1
    SME = 2


class RoutingOutcome(Code):
    """The outcome of one attempt to place a drawdown."""

    RESERVED = 0
    APPROVED = 1
    DECLINED = 2
    TIMED_OUT = 3
    RELEASED = 4
    NO_SOURCE = 5


class DecisionKind(Code):
    """The point of the customer's way at which a decision was taken."""

    APPLICATION = 0
    DRAWDOWN = 1
    REVIEW = 2
    REFERRAL = 3


class DecisionOutcome(Code):
    """The outcome of a decision (`approved` in the table of decisions)."""

    DECLINED = 0
    APPROVED = 1
    REFERRED = 2


class Fee(Code):
    """The fee that a `fee_charged` fact charges (its `arg`)."""

    LATE_FEE = 1
    LATE_INTEREST = 2
    EARLY_SETTLEMENT = 3
    RETURNED_PAYMENT = 4
    OTHER = 9


class Scope(Code):
    """The scope that a funding limit counts over."""

    REGION = 0
    BAND = 1
    PRODUCT = 2
    DAY = 3
    MONTH = 4
    TOTAL = 5


class Currency(Code):
    """ISO 4217 currencies; append at the end, since books store the number."""

    CNY = 0
    USD = 1
    EUR = 2
    HKD = 3
    KES = 4
    GHS = 5
    NGN = 6
    GBP = 7
    JPY = 8
    INR = 9
    IDR = 10
    PHP = 11
    SGD = 12
    MXN = 13
    BRL = 14
    ZAR = 15
    UGX = 16
    TZS = 17
    VND = 18
    KRW = 19
    CAD = 20
    AUD = 21
    CHF = 22
    KWD = 23
    TND = 24

    @property
    def label(self) -> str:
        """The three-letter code."""
        return self.name

    @property
    def exponent(self) -> int:
        """Decimal places of the minor unit, by ISO 4217."""
        return _EXPONENTS.get(self.name, 2)


_EXPONENTS = {"JPY": 0, "UGX": 0, "VND": 0, "KRW": 0, "KWD": 3, "TND": 3}

_LISTS: dict[str, type[Code]] = {
    "component": Component,
    "model": FundingModel,
    "basis": Basis,
    "tag": IfrsAdjustment,
    "kind": FactKind,
    "status": Status,
    "product": Product,
    "routing_outcome": RoutingOutcome,
    "decision_kind": DecisionKind,
    "fee": Fee,
    "scope": Scope,
    "currency": Currency,
}


class ChannelKind(Enum):
    """Kind of a channel, as files name it; no table stores it."""

    OWN_APP = "own_app"
    PARTNER = "partner"
    AGENT = "agent"
    CAMPAIGN = "campaign"


C = TypeVar("C", bound=Code)


def parse(codes: type[C], text: str, *, where: str = "") -> C:
    """The member written as `text`, or a `CodeError` that names the choices.

    >>> parse(FundingModel, "capital_hevy")
    Traceback (most recent call last):
    usance.base.errors.CodeError: unknown funding model 'capital_hevy'. Did you mean ...
    """
    found = _by_label(codes).get(str(text))  # a file may hold anything there
    if found is not None:
        return cast(C, found)
    words = "".join(f" {c.lower()}" if c.isupper() else c for c in codes.__name__).strip()
    raise unknown(words, text, (member.label for member in codes), where=where)


@cache
def _by_label(codes: type[Code]) -> dict[str, Code]:
    """Members by label; kept, as every amount of a file asks for its currency."""
    return {member.label: member for member in reversed(codes)}


def code_lists() -> dict[str, dict[str, int]]:
    """Every list by name with its numbers, as copied into a book's manifest.

    >>> code_lists()["basis"]
    {'us_gaap': 0, 'ifrs_adjustment': 1}
    """
    return {name: {member.label: int(member) for member in codes} for name, codes in _LISTS.items()}
