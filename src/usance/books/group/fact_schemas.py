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
from typing import Any

from usance.base.fields import Reader, amount_of, day, one_of, rate_of, text, whole_of
from usance.base.rates import PPM
from usance.books.group import readers as r
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.rules import Activity
from usance.capital.awards import Award, Source, UnitKind
from usance.capital.dividends import Market


class AmountSign(Enum):
    """The amounts a kind of fact allows."""

    NONE = "none"
    ABOVE = "above zero"
    ANY = "not zero"
    FREE = "free"


@dataclass(frozen=True, slots=True)
class DetailKey:
    """One key of a detail; the reader is made for the fact's currency."""

    reader: Callable[[str], Reader[Any]]
    needed: bool = True
    default: Any = None


@dataclass(frozen=True, slots=True)
class FactSchema:
    """The schema of a kind of fact."""

    amount: AmountSign = AmountSign.ABOVE
    has_quantity: bool = False
    needs_party: bool = False
    is_computed: bool = False
    """Posted by its own computation, not by the amount the fact states."""
    keys: Mapping[str, DetailKey] = field(default_factory=dict)


def _need(reader: Reader[Any]) -> DetailKey:
    return DetailKey(lambda _: reader)


def _may(reader: Reader[Any], default: Any = None) -> DetailKey:
    return DetailKey(lambda _: reader, needed=False, default=default)


_entity = whole_of(1, 2**15 - 1)
_lines = DetailKey(r.lines_of)
_cash = r.account_of("cash", "restricted_cash")
_borrowed = r.account_of("trust_investors", "trust_investors_non_current", "short_term_loans")
_issued = r.account_of(
    "trust_investors", "trust_investors_non_current", "short_term_loans", "other_long_term"
)
_invested = _may(
    r.account_of("short_term_investments", "other_non_current"), default="short_term_investments"
)
_lasting = r.account_of("property", "land_use_rights", "intangibles")
_function = r.account_of("servicing_cost", "marketing", "administration")
_rate = rate_of(0, 10 * PPM)
_to = {"to": _need(_entity)}
_party = FactSchema(needs_party=True)
_invoice = FactSchema(needs_party=True, keys={"due_on": _may(day)})
_deposit = FactSchema(keys={"as": _need(r.account_of("restricted_cash", "security_deposits"))})
_investment = FactSchema(keys={"asset": _invested})
_contract = {
    "name": _need(text),
    "face": DetailKey(lambda code: amount_of(code, 1)),
    "rate": _may(_rate, default=0),
    "a_year": _may(whole_of(1, 365), default=1),
    "days": _need(r.days),
    "costs": DetailKey(lambda code: amount_of(code, 0), needed=False, default=0),
}
_settled = FactSchema(
    is_computed=True, keys={"name": _need(text), "as": _need(one_of(r.PaymentPurpose))}
)
_plain = FactSchema()

FACT_SCHEMAS: dict[GroupFactKind, FactSchema] = {
    GroupFactKind.OPENING_BALANCE: FactSchema(
        AmountSign.NONE, keys={"tag": _may(r.tag), "lines": _lines}
    ),
    GroupFactKind.MANUAL_ENTRY: FactSchema(
        AmountSign.NONE,
        keys={
            "actor": _need(text),
            "reason": _need(text),
            "tag": _may(r.tag),
            "activity": _may(one_of(Activity), default=Activity.NONE),
            "lines": _lines,
        },
    ),
    GroupFactKind.REVERSED: FactSchema(
        AmountSign.NONE, keys={"fact": _need(whole_of(1, 2**63 - 1))}
    ),
    GroupFactKind.FUNDING_RAISED: FactSchema(
        is_computed=True,
        keys={
            "deal": _need(text),
            "lender": _need(_borrowed),
            "rate": _need(_rate),
            "day_count": _may(r.day_count, default=r.ACT_365),
            "cash": _may(_cash),
            "value_on": _may(day),
        },
    ),
    GroupFactKind.FUNDING_REPAID: FactSchema(
        is_computed=True, keys={"deal": _need(text), "value_on": _may(day)}
    ),
    GroupFactKind.FUNDING_INTEREST_PAID: FactSchema(is_computed=True, keys={"deal": _need(text)}),
    GroupFactKind.FUNDING_WRITTEN_DOWN: FactSchema(
        is_computed=True,
        keys={
            "deal": _need(text),
            "as": _may(one_of(r.WrittenDown), default=r.WrittenDown.PRINCIPAL),
        },
    ),
    GroupFactKind.FUNDING_SCHEDULE: FactSchema(
        AmountSign.NONE,
        is_computed=True,
        keys={
            "deal": _need(text),
            "days": _need(r.days),
            "amounts": DetailKey(r.amounts_of),
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
            "entering": DetailKey(r.amounts_of),
            "never_paid": DetailKey(lambda code: amount_of(code, 0)),
        },
    ),
    GroupFactKind.COST_INCURRED: FactSchema(keys={"function": _need(_function)}),
    GroupFactKind.COST_PAID: _plain,
    GroupFactKind.COST_DRIVER: FactSchema(
        AmountSign.FREE,
        is_computed=True,
        keys={
            "driver": _need(r.cost_driver),
            "price": _may(r.price),
            "rate": _may(_rate),
        },
    ),
    GroupFactKind.COST_PREPAID: FactSchema(
        keys={"function": _need(_function), "first": _need(day), "last": _need(day)}
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
            "name": _need(text),
            "months": _need(whole_of(1, 1200)),
            "function": _need(_function),
        }
    ),
    GroupFactKind.ASSET_SOLD: FactSchema(
        AmountSign.FREE, is_computed=True, keys={"name": _need(text)}
    ),
    GroupFactKind.ACQUISITION: FactSchema(
        keys={
            "acquired": _need(_entity),
            "lines": _lines,
            "non_controlling": DetailKey(lambda code: amount_of(code, 0), needed=False, default=0),
        }
    ),
    GroupFactKind.CAPITAL_CONTRIBUTED: FactSchema(keys=_to),
    GroupFactKind.GROUP_TRANSFER: FactSchema(keys=_to),
    GroupFactKind.GROUP_DIVIDEND: FactSchema(keys=_to),
    GroupFactKind.NON_CONTROLLING_CONTRIBUTION: _plain,
    GroupFactKind.NON_CONTROLLING_DISTRIBUTION: _plain,
    GroupFactKind.SHARES_ISSUED: FactSchema(AmountSign.FREE, has_quantity=True),
    GroupFactKind.SHARES_REPURCHASED: FactSchema(has_quantity=True, keys={"programme": _may(text)}),
    GroupFactKind.SHARES_RETIRED: FactSchema(AmountSign.NONE, has_quantity=True),
    GroupFactKind.SHARES_RESERVED: FactSchema(AmountSign.NONE, has_quantity=True),
    GroupFactKind.SHARES_REISSUED: FactSchema(has_quantity=True),
    GroupFactKind.PROGRAMME_OPENED: FactSchema(keys={"name": _need(text), "until": _need(day)}),
    GroupFactKind.GRANT: FactSchema(
        AmountSign.NONE,
        keys={
            "name": _need(text),
            "award": _need(one_of(Award)),
            "fair_value": _need(r.price),
            "exercise_price": _may(r.price, default=r.NOTHING),
            "tranches": _need(r.tranches),
            "functions": _may(r.functions, default=r.ALL_ADMINISTRATION),
        },
    ),
    GroupFactKind.UNITS_CHANGED: FactSchema(
        AmountSign.FREE,
        has_quantity=True,
        keys={
            "grant": _need(text),
            "change": _need(one_of(UnitKind)),
            "source": _may(one_of(Source), default=Source.NEW),
        },
    ),
    GroupFactKind.VESTING_ESTIMATE: FactSchema(
        AmountSign.NONE,
        keys={"grant": _need(text), "shares": _may(r.shares), "leavers": _may(rate_of(0, PPM))},
    ),
    GroupFactKind.DIVIDEND_DECLARED: FactSchema(
        AmountSign.FREE,
        is_computed=True,
        keys={
            "name": _need(text),
            "per_share": _may(r.price),
            "record_on": _may(day),
            "ordinary": _may(r.passed_through),
            "ads": _may(r.passed_through),
            "form": _may(r.passed_through),
        },
    ),
    GroupFactKind.SHARE_PRICE: FactSchema(
        AmountSign.NONE, keys={"price": _need(r.price), "first": _need(day), "last": _need(day)}
    ),
    GroupFactKind.DIVIDEND_RECORDED: FactSchema(AmountSign.FREE, keys={"name": _need(text)}),
    GroupFactKind.DIVIDEND_PAID: FactSchema(
        keys={"name": _need(text), "market": _may(one_of(Market))}
    ),
    GroupFactKind.TAX_PAID: FactSchema(
        AmountSign.ANY,
        keys={
            "tax": _may(
                r.account_of("income_tax_payable", "other_tax_payable"),
                default="income_tax_payable",
            ),
            "cash": _may(_cash, default="cash"),
        },
    ),
    GroupFactKind.WITHHOLDING: _plain,
    GroupFactKind.PERMANENT_DIFFERENCE: FactSchema(AmountSign.ANY, keys={"reason": _need(text)}),
    GroupFactKind.EXCHANGE_RATE: FactSchema(AmountSign.NONE, keys={"rate": _need(r.price)}),
    GroupFactKind.CURRENCY_EXCHANGED: FactSchema(keys={"bought": _need(r.money)}),
}
