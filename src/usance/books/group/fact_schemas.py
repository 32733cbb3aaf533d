"""The schema of each kind of fact: amount, quantity, party, and the keys of its detail.

>>> from usance.books.group.fact_kinds import GroupFactKind
>>> sorted(FACT_SCHEMAS[GroupFactKind.FUNDING_REPAID].keys)
['deal', 'value_on']
>>> set(FACT_SCHEMAS) == set(GroupFactKind)
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, TypeVar

from usance.base.codes import IfrsAdjustment
from usance.base.daycount import DayCount
from usance.base.fields import Reader, amount_of, day, labels_of, one_of, rate_of, text, whole_of
from usance.base.rates import PPM
from usance.books.group import readers as r
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.rules import Activity
from usance.capital.awards import Award, CostFunction, Source, UnitKind
from usance.capital.dividends import Market


class AmountSign(Enum):
    """The amounts a kind of fact allows."""

    NONE = "none"
    ABOVE = "above zero"
    ANY = "not zero"
    FREE = "free"


class ValueForm(Enum):
    """The form in which the value of a key is written, for whoever asks a person for it."""

    TEXT = "text"
    CHOICE = "one of a list"
    DAY = "day"
    DAYS = "days"
    WHOLE = "whole number"
    ENTITY = "entity, by its number"
    RATE = "rate"
    RATES = "rates or ratios"
    PRICE = "price"
    AMOUNT = "amount"
    AMOUNTS = "amounts"
    MONEY = "amount with its currency"
    LINES = "lines of an entry"
    TRANCHES = "units and the days they vest on"
    SHARES = "shares by name"
    TREE = "names and values"


class KeyType(NamedTuple):
    """The type of a key's value: how it is read, its form, and what there is to choose."""

    reader: Callable[[str], Reader[Any]]
    form: ValueForm
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DetailKey:
    """One key of a detail; the reader is made for the fact's currency."""

    type: KeyType
    needed: bool = True
    default: Any = None

    @property
    def reader(self) -> Callable[[str], Reader[Any]]:
        """The maker of its reader."""
        return self.type.reader


@dataclass(frozen=True, slots=True)
class FactSchema:
    """The schema of a kind of fact."""

    amount: AmountSign = AmountSign.ABOVE
    has_quantity: bool = False
    needs_party: bool = False
    is_computed: bool = False
    """Posted by its own computation, not by the amount the fact states."""
    keys: Mapping[str, DetailKey] = field(default_factory=dict)


E = TypeVar("E", bound=Enum)


def _typed(reader: Reader[Any], form: ValueForm, choices: tuple[str, ...] = ()) -> KeyType:
    return KeyType(lambda _: reader, form, choices)


def _member(kind: type[E], reader: Reader[E] | None = None) -> KeyType:
    return _typed(reader or one_of(kind), ValueForm.CHOICE, labels_of(kind))


def _account(*names: str) -> KeyType:
    return _typed(r.account_of(*names), ValueForm.CHOICE, names)


def _whole(lowest: int, highest: int) -> KeyType:
    return _typed(whole_of(lowest, highest), ValueForm.WHOLE)


def _amount(lowest: int) -> KeyType:
    return KeyType(lambda code: amount_of(code, lowest), ValueForm.AMOUNT)


def _need(kind: KeyType) -> DetailKey:
    return DetailKey(kind)


def _may(kind: KeyType, default: Any = None) -> DetailKey:
    return DetailKey(kind, needed=False, default=default)


_text, _day = _typed(text, ValueForm.TEXT), _typed(day, ValueForm.DAY)
_days, _price = _typed(r.days, ValueForm.DAYS), _typed(r.price, ValueForm.PRICE)
_tree = _typed(r.passed_through, ValueForm.TREE)
_entity = _typed(whole_of(1, 2**15 - 1), ValueForm.ENTITY)
_lines = _need(KeyType(r.lines_of, ValueForm.LINES))
_amounts = _need(KeyType(r.amounts_of, ValueForm.AMOUNTS))
_tag = _member(IfrsAdjustment, r.tag)
_cash = _account("cash", "restricted_cash")
_borrowed = _account("trust_investors", "trust_investors_non_current", "short_term_loans")
_issued = _account(
    "trust_investors", "trust_investors_non_current", "short_term_loans", "other_long_term"
)
_invested = _may(
    _account("short_term_investments", "other_non_current"), default="short_term_investments"
)
_lasting = _account("property", "land_use_rights", "intangibles")
_function = _account("servicing_cost", "marketing", "administration")
_rate = _typed(rate_of(0, 10 * PPM), ValueForm.RATE)
_to = {"to": _need(_entity)}
_party = FactSchema(needs_party=True)
_invoice = FactSchema(needs_party=True, keys={"due_on": _may(_day)})
_deposit = FactSchema(keys={"as": _need(_account("restricted_cash", "security_deposits"))})
_investment = FactSchema(keys={"asset": _invested})
_contract = {
    "name": _need(_text),
    "face": _need(_amount(1)),
    "rate": _may(_rate, default=0),
    "a_year": _may(_whole(1, 365), default=1),
    "days": _need(_days),
    "costs": _may(_amount(0), default=0),
}
_settled = FactSchema(
    is_computed=True, keys={"name": _need(_text), "as": _need(_member(r.PaymentPurpose))}
)
_plain = FactSchema()

FACT_SCHEMAS: dict[GroupFactKind, FactSchema] = {
    GroupFactKind.OPENING_BALANCE: FactSchema(
        AmountSign.NONE, keys={"tag": _may(_tag), "lines": _lines}
    ),
    GroupFactKind.MANUAL_ENTRY: FactSchema(
        AmountSign.NONE,
        keys={
            "actor": _need(_text),
            "reason": _need(_text),
            "tag": _may(_tag),
            "activity": _may(_member(Activity), default=Activity.NONE),
            "lines": _lines,
        },
    ),
    GroupFactKind.REVERSED: FactSchema(AmountSign.NONE, keys={"fact": _need(_whole(1, 2**63 - 1))}),
    GroupFactKind.FUNDING_RAISED: FactSchema(
        is_computed=True,
        keys={
            "deal": _need(_text),
            "lender": _need(_borrowed),
            "rate": _need(_rate),
            "day_count": _may(_member(DayCount, r.day_count), default=r.ACT_365),
            "cash": _may(_cash),
            "value_on": _may(_day),
        },
    ),
    GroupFactKind.FUNDING_REPAID: FactSchema(
        is_computed=True, keys={"deal": _need(_text), "value_on": _may(_day)}
    ),
    GroupFactKind.FUNDING_INTEREST_PAID: FactSchema(is_computed=True, keys={"deal": _need(_text)}),
    GroupFactKind.FUNDING_WRITTEN_DOWN: FactSchema(
        is_computed=True,
        keys={
            "deal": _need(_text),
            "as": _may(_member(r.WrittenDown), default=r.WrittenDown.PRINCIPAL),
        },
    ),
    GroupFactKind.FUNDING_SCHEDULE: FactSchema(
        AmountSign.NONE,
        is_computed=True,
        keys={
            "deal": _need(_text),
            "days": _need(_days),
            "amounts": _amounts,
        },
    ),
    GroupFactKind.RESIDUAL_DISTRIBUTED: FactSchema(keys={"to": _may(_entity)}),
    GroupFactKind.TRUST_BUY_OUT: FactSchema(keys={"buyer": _need(_entity)}),
    GroupFactKind.NOTES_ISSUED: FactSchema(
        is_computed=True, keys={**_contract, "lender": _need(_issued), "cash": _may(_cash)}
    ),
    GroupFactKind.NOTES_PAID: _settled,
    GroupFactKind.DEPOSIT_PLACED: _deposit,
    GroupFactKind.DEPOSIT_RETURNED: _deposit,
    GroupFactKind.BANK_BALANCE: FactSchema(
        AmountSign.FREE, keys={"account": _may(_cash, default="cash")}
    ),
    GroupFactKind.PROVIDER_SETTLEMENT: FactSchema(needs_party=True),
    GroupFactKind.INSTITUTION_SETTLEMENT: FactSchema(needs_party=True),
    GroupFactKind.REFERRAL_INVOICED: _invoice,
    GroupFactKind.FEES_RECEIVED: _party,
    GroupFactKind.USAGE_DELIVERED: _invoice,
    GroupFactKind.FEES_WRITTEN_OFF: _party,
    GroupFactKind.FEES_HISTORY: FactSchema(
        AmountSign.NONE,
        keys={
            "entering": _amounts,
            "never_paid": _need(_amount(0)),
        },
    ),
    GroupFactKind.COST_INCURRED: FactSchema(keys={"function": _need(_function)}),
    GroupFactKind.COST_PAID: _plain,
    GroupFactKind.COST_DRIVER: FactSchema(
        AmountSign.FREE,
        is_computed=True,
        keys={
            "driver": _need(_member(r.CostDriver, r.cost_driver)),
            "price": _may(_price),
            "rate": _may(_rate),
        },
    ),
    GroupFactKind.COST_PREPAID: FactSchema(
        keys={"function": _need(_function), "first": _need(_day), "last": _need(_day)}
    ),
    GroupFactKind.BANK_INTEREST: _plain,
    GroupFactKind.SUBSIDY: _plain,
    GroupFactKind.SUNDRY: FactSchema(AmountSign.ANY),
    GroupFactKind.INVESTMENT_MADE: _investment,
    GroupFactKind.INVESTMENT_RETURNED: _investment,
    GroupFactKind.INVESTMENT_RESULT: FactSchema(AmountSign.ANY, keys={"asset": _invested}),
    GroupFactKind.BOND_BOUGHT: FactSchema(is_computed=True, keys={**_contract, "asset": _invested}),
    GroupFactKind.BOND_PAID: _settled,
    GroupFactKind.ASSET_BOUGHT: FactSchema(
        keys={
            "asset": _need(_lasting),
            "name": _need(_text),
            "months": _need(_whole(1, 1200)),
            "function": _need(_function),
        }
    ),
    GroupFactKind.ASSET_SOLD: FactSchema(
        AmountSign.FREE, is_computed=True, keys={"name": _need(_text)}
    ),
    GroupFactKind.ACQUISITION: FactSchema(
        keys={
            "acquired": _need(_entity),
            "lines": _lines,
            "non_controlling": _may(_amount(0), default=0),
        }
    ),
    GroupFactKind.CAPITAL_CONTRIBUTED: FactSchema(keys=_to),
    GroupFactKind.GROUP_TRANSFER: FactSchema(keys=_to),
    GroupFactKind.GROUP_DIVIDEND: FactSchema(keys=_to),
    GroupFactKind.NON_CONTROLLING_CONTRIBUTION: _plain,
    GroupFactKind.NON_CONTROLLING_DISTRIBUTION: _plain,
    GroupFactKind.SHARES_ISSUED: FactSchema(AmountSign.FREE, has_quantity=True),
    GroupFactKind.SHARES_REPURCHASED: FactSchema(
        has_quantity=True, keys={"programme": _may(_text)}
    ),
    GroupFactKind.SHARES_RETIRED: FactSchema(AmountSign.NONE, has_quantity=True),
    GroupFactKind.SHARES_RESERVED: FactSchema(AmountSign.NONE, has_quantity=True),
    GroupFactKind.SHARES_REISSUED: FactSchema(has_quantity=True),
    GroupFactKind.PROGRAMME_OPENED: FactSchema(keys={"name": _need(_text), "until": _need(_day)}),
    GroupFactKind.GRANT: FactSchema(
        AmountSign.NONE,
        keys={
            "name": _need(_text),
            "award": _need(_member(Award)),
            "fair_value": _need(_price),
            "exercise_price": _may(_price, default=r.NOTHING),
            "tranches": _need(_typed(r.tranches, ValueForm.TRANCHES)),
            "functions": _may(
                _typed(r.functions, ValueForm.SHARES, labels_of(CostFunction)),
                default=r.ALL_ADMINISTRATION,
            ),
        },
    ),
    GroupFactKind.UNITS_CHANGED: FactSchema(
        AmountSign.FREE,
        has_quantity=True,
        keys={
            "grant": _need(_text),
            "change": _need(_member(UnitKind)),
            "source": _may(_member(Source), default=Source.NEW),
        },
    ),
    GroupFactKind.VESTING_ESTIMATE: FactSchema(
        AmountSign.NONE,
        keys={
            "grant": _need(_text),
            "shares": _may(_typed(r.shares, ValueForm.RATES)),
            "leavers": _may(_typed(rate_of(0, PPM), ValueForm.RATE)),
        },
    ),
    GroupFactKind.DIVIDEND_DECLARED: FactSchema(
        AmountSign.FREE,
        is_computed=True,
        keys={
            "name": _need(_text),
            "per_share": _may(_price),
            "record_on": _may(_day),
            "ordinary": _may(_tree),
            "ads": _may(_tree),
            "form": _may(_tree),
        },
    ),
    GroupFactKind.SHARE_PRICE: FactSchema(
        AmountSign.NONE, keys={"price": _need(_price), "first": _need(_day), "last": _need(_day)}
    ),
    GroupFactKind.DIVIDEND_RECORDED: FactSchema(AmountSign.FREE, keys={"name": _need(_text)}),
    GroupFactKind.DIVIDEND_PAID: FactSchema(
        keys={"name": _need(_text), "market": _may(_member(Market))}
    ),
    GroupFactKind.TAX_PAID: FactSchema(
        AmountSign.ANY,
        keys={
            "tax": _may(
                _account("income_tax_payable", "other_tax_payable"),
                default="income_tax_payable",
            ),
            "cash": _may(_cash, default="cash"),
        },
    ),
    GroupFactKind.WITHHOLDING: _plain,
    GroupFactKind.PERMANENT_DIFFERENCE: FactSchema(AmountSign.ANY, keys={"reason": _need(_text)}),
    GroupFactKind.EXCHANGE_RATE: FactSchema(AmountSign.NONE, keys={"rate": _need(_price)}),
    GroupFactKind.CURRENCY_EXCHANGED: FactSchema(
        keys={"bought": _need(_typed(r.money, ValueForm.MONEY))}
    ),
}
