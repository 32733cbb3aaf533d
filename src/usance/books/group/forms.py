"""What each kind of fact must say: its amount, its quantity, its party, and the keys of its detail.

>>> from usance.books.group.kinds import GroupKind
>>> sorted(FORMS[GroupKind.FUNDING_REPAID].keys)
['deal', 'value_on']
>>> set(FORMS) == set(GroupKind)
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
from usance.books.group.kinds import GroupKind
from usance.books.rules import Activity
from usance.capital.awards import Award, Source, UnitKind
from usance.capital.dividends import Market


class Sign(Enum):
    """What an amount may be."""

    NONE = "none"
    ABOVE = "above zero"
    ANY = "not zero"
    FREE = "free"


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a detail; the reader is made for the fact's currency."""

    reader: Callable[[str], Reader[Any]]
    needed: bool = True
    default: Any = None


@dataclass(frozen=True, slots=True)
class Form:
    """What a kind of fact states."""

    amount: Sign = Sign.ABOVE
    has_quantity: bool = False
    needs_party: bool = False
    keys: Mapping[str, Key] = field(default_factory=dict)


def _need(reader: Reader[Any]) -> Key:
    return Key(lambda _: reader)


def _may(reader: Reader[Any], default: Any = None) -> Key:
    return Key(lambda _: reader, needed=False, default=default)


_entity = whole_of(1, 2**15 - 1)
_lines = Key(r.lines_of)
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
_party = Form(needs_party=True)
_invoice = Form(needs_party=True, keys={"due_on": _may(day)})
_deposit = Form(keys={"as": _need(r.account_of("restricted_cash", "security_deposits"))})
_investment = Form(keys={"asset": _invested})
_contract = {
    "name": _need(text),
    "face": Key(lambda code: amount_of(code, 1)),
    "rate": _may(_rate, default=0),
    "a_year": _may(whole_of(1, 365), default=1),
    "days": _need(r.days),
    "costs": Key(lambda code: amount_of(code, 0), needed=False, default=0),
}
_settled = Form(keys={"name": _need(text), "as": _need(one_of(r.Settled))})
_plain = Form()

FORMS: dict[GroupKind, Form] = {
    GroupKind.OPENING_BALANCE: Form(Sign.NONE, keys={"tag": _may(r.tag), "lines": _lines}),
    GroupKind.MANUAL_ENTRY: Form(
        Sign.NONE,
        keys={
            "actor": _need(text),
            "reason": _need(text),
            "tag": _may(r.tag),
            "activity": _may(one_of(Activity), default=Activity.NONE),
            "lines": _lines,
        },
    ),
    GroupKind.REVERSED: Form(Sign.NONE, keys={"fact": _need(whole_of(1, 2**63 - 1))}),
    GroupKind.FUNDING_RAISED: Form(
        keys={
            "deal": _need(text),
            "lender": _need(_borrowed),
            "rate": _need(_rate),
            "day_count": _may(r.day_count, default=r.ACT_365),
            "cash": _may(_cash),
            "value_on": _may(day),
        }
    ),
    GroupKind.FUNDING_REPAID: Form(keys={"deal": _need(text), "value_on": _may(day)}),
    GroupKind.FUNDING_INTEREST_PAID: Form(keys={"deal": _need(text)}),
    GroupKind.RESIDUAL_DISTRIBUTED: Form(keys={"to": _may(_entity)}),
    GroupKind.TRUST_BUY_OUT: Form(keys={"buyer": _need(_entity)}),
    GroupKind.NOTES_ISSUED: Form(keys={**_contract, "lender": _need(_issued), "cash": _may(_cash)}),
    GroupKind.NOTES_PAID: _settled,
    GroupKind.DEPOSIT_PLACED: _deposit,
    GroupKind.DEPOSIT_RETURNED: _deposit,
    GroupKind.BANK_BALANCE: Form(Sign.FREE, keys={"account": _may(_cash, default="cash")}),
    GroupKind.PROVIDER_SETTLEMENT: Form(needs_party=True),
    GroupKind.INSTITUTION_SETTLEMENT: Form(needs_party=True),
    GroupKind.REFERRAL_INVOICED: _invoice,
    GroupKind.FEES_RECEIVED: _party,
    GroupKind.USAGE_DELIVERED: _invoice,
    GroupKind.FEES_WRITTEN_OFF: _party,
    GroupKind.FEES_HISTORY: Form(
        Sign.NONE,
        keys={"entering": Key(r.amounts_of), "never_paid": Key(lambda code: amount_of(code, 0))},
    ),
    GroupKind.COST_INCURRED: Form(keys={"function": _need(_function)}),
    GroupKind.COST_PAID: _plain,
    GroupKind.COST_DRIVER: Form(
        Sign.FREE,
        keys={
            "driver": _need(r.driver),
            "price": _may(r.price),
            "rate": _may(_rate),
        },
    ),
    GroupKind.COST_PREPAID: Form(
        keys={"function": _need(_function), "first": _need(day), "last": _need(day)}
    ),
    GroupKind.BANK_INTEREST: _plain,
    GroupKind.SUBSIDY: _plain,
    GroupKind.SUNDRY: Form(Sign.ANY),
    GroupKind.INVESTMENT_MADE: _investment,
    GroupKind.INVESTMENT_RETURNED: _investment,
    GroupKind.INVESTMENT_RESULT: Form(Sign.ANY, keys={"asset": _invested}),
    GroupKind.BOND_BOUGHT: Form(keys={**_contract, "asset": _invested}),
    GroupKind.BOND_PAID: _settled,
    GroupKind.ASSET_BOUGHT: Form(
        keys={
            "asset": _need(_lasting),
            "name": _need(text),
            "months": _need(whole_of(1, 1200)),
            "function": _need(_function),
        }
    ),
    GroupKind.ASSET_SOLD: Form(Sign.FREE, keys={"name": _need(text)}),
    GroupKind.ACQUISITION: Form(
        keys={
            "acquired": _need(_entity),
            "lines": _lines,
            "non_controlling": Key(lambda code: amount_of(code, 0), needed=False, default=0),
        }
    ),
    GroupKind.CAPITAL_CONTRIBUTED: Form(keys=_to),
    GroupKind.GROUP_TRANSFER: Form(keys=_to),
    GroupKind.GROUP_DIVIDEND: Form(keys=_to),
    GroupKind.NON_CONTROLLING_CONTRIBUTION: _plain,
    GroupKind.NON_CONTROLLING_DISTRIBUTION: _plain,
    GroupKind.SHARES_ISSUED: Form(Sign.FREE, has_quantity=True),
    GroupKind.SHARES_REPURCHASED: Form(has_quantity=True, keys={"programme": _may(text)}),
    GroupKind.SHARES_RETIRED: Form(Sign.NONE, has_quantity=True),
    GroupKind.SHARES_RESERVED: Form(Sign.NONE, has_quantity=True),
    GroupKind.SHARES_REISSUED: Form(has_quantity=True),
    GroupKind.PROGRAMME_OPENED: Form(keys={"name": _need(text), "until": _need(day)}),
    GroupKind.GRANT: Form(
        Sign.NONE,
        keys={
            "name": _need(text),
            "award": _need(one_of(Award)),
            "fair_value": _need(r.price),
            "exercise_price": _may(r.price, default=r.NOTHING),
            "tranches": _need(r.tranches),
            "functions": _may(r.functions, default=r.ALL_ADMINISTRATION),
        },
    ),
    GroupKind.UNITS_CHANGED: Form(
        Sign.FREE,
        has_quantity=True,
        keys={
            "grant": _need(text),
            "change": _need(one_of(UnitKind)),
            "source": _may(one_of(Source), default=Source.NEW),
        },
    ),
    GroupKind.VESTING_ESTIMATE: Form(
        Sign.NONE,
        keys={"grant": _need(text), "shares": _may(r.shares), "leavers": _may(rate_of(0, PPM))},
    ),
    GroupKind.DIVIDEND_DECLARED: Form(
        Sign.FREE,
        keys={
            "name": _need(text),
            "per_share": _may(r.price),
            "record_on": _may(day),
            "ordinary": _may(r.anything),
            "ads": _may(r.anything),
            "form": _may(r.anything),
        },
    ),
    GroupKind.SHARE_PRICE: Form(
        Sign.NONE, keys={"price": _need(r.price), "first": _need(day), "last": _need(day)}
    ),
    GroupKind.DIVIDEND_RECORDED: Form(Sign.FREE, keys={"name": _need(text)}),
    GroupKind.DIVIDEND_PAID: Form(keys={"name": _need(text), "market": _may(one_of(Market))}),
    GroupKind.TAX_PAID: Form(Sign.ANY),
    GroupKind.WITHHOLDING: _plain,
    GroupKind.PERMANENT_DIFFERENCE: Form(Sign.ANY, keys={"reason": _need(text)}),
    GroupKind.EXCHANGE_RATE: Form(Sign.NONE, keys={"rate": _need(r.price)}),
    GroupKind.CURRENCY_EXCHANGED: Form(keys={"bought": _need(r.money)}),
}
