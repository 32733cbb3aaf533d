"""Posting rules as data: which accounts a loan's cumulative amount moves, by funding model.

>>> rules = load_rules()
>>> rule = next(rule for rule in rules if rule.amount == "guarantee_issued")
>>> rule.number, rule.debit.account, rule.credit.account, [model.label for model in rule.models]
(201, 'financial_receivable', 'stand_ready', ['capital_heavy'])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from usance.base.codes import Basis, FundingModel, IfrsAdjustment, parse
from usance.base.documents import read_text
from usance.base.errors import CodeError, DocumentError, UsanceError, raise_all, unknown
from usance.base.fields import Fields, fields_of, one_of, text, whole_of
from usance.books.chart import Chart, load_chart
from usance.books.errors import RuleError
from usance.books.loans.amounts import AMOUNTS

SHIPPED = Path(__file__).resolve().parent / "data" / "rules.yaml"
_LAST_NUMBER = 2**15 - 1


class Place(Enum):
    """Whose books a side of a rule stands in."""

    OWN = "own"
    PLATFORM = "platform"


class Activity(Enum):
    """Activity of the cash-flow statement."""

    OPERATING = "operating"
    INVESTING = "investing"
    FINANCING = "financing"
    NONE = "none"


class CellAccount(Enum):
    """Accounts that a cell names itself."""

    FUND_CASH = "$fund_cash"
    PAYOUT_CASH = "$payout_cash"


CELL_ACCOUNTS = frozenset(each.value for each in CellAccount)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a rule: an account, or one the cell names, in whose books."""

    account: str
    place: Place = Place.OWN


@dataclass(frozen=True, slots=True)
class Rule:
    """A movement of `amount` is debited on one side and credited on the other."""

    number: int
    amount: str
    models: tuple[FundingModel, ...]
    debit: Side
    credit: Side
    basis: Basis = Basis.US_GAAP
    tag: IfrsAdjustment = IfrsAdjustment.NONE
    activity: Activity = Activity.NONE


@cache
def load_rules(path: Path = SHIPPED) -> tuple[Rule, ...]:
    """Read posting rules, or raise everything that is wrong with them."""
    document = fields_of(read_text(path), path.name)
    chart = load_chart()
    rules = [rule for given in document.each("rules") if (rule := _rule(given, chart))]
    document.close()
    document.problems += _contradictions(rules, chart)
    raise_all(document.problems, where=path.name)
    return tuple(rules)


def _rule(given: Fields, chart: Chart) -> Rule | None:
    def account(found: Any, where: str) -> str:
        name = text(found, where)
        if name not in CELL_ACCOUNTS and name not in chart.accounts:
            raise unknown("account", name, [*chart.accounts, *CELL_ACCOUNTS], where=where)
        return name

    number = given.need("number", whole_of(1, _LAST_NUMBER))
    amount = given.need("amount", _amount)
    models = given.need("models", _models)
    debit, credit = given.need("debit", account), given.need("credit", account)
    places = [given.take(key, one_of(Place)) or Place.OWN for key in ("debit_in", "credit_in")]
    tag = given.take("tag", one_of(IfrsAdjustment)) or IfrsAdjustment.NONE
    activity = given.take("activity", one_of(Activity)) or Activity.NONE
    given.close()
    if not given.has_needed:
        return None
    basis = Basis.US_GAAP if tag is IfrsAdjustment.NONE else Basis.IFRS_ADJUSTMENT
    sides = Side(debit, places[0]), Side(credit, places[1])
    return Rule(number, amount, models, *sides, basis, tag, activity)


def _amount(given: Any, where: str) -> str:
    name = text(given, where)
    if name not in AMOUNTS:
        raise unknown("amount", name, AMOUNTS, where=where)
    return name


def _models(given: Any, where: str) -> tuple[FundingModel, ...]:
    if not isinstance(given, list) or not given:
        raise DocumentError("is no list of models", where=where, fix="Write [capital_heavy]")
    try:
        return tuple(parse(FundingModel, str(each), where=where) for each in given)
    except CodeError as error:
        raise DocumentError(error.what, where=where, fix=error.fix) from None


def _contradictions(rules: Sequence[Rule], chart: Chart) -> Iterator[UsanceError]:
    seen: dict[int, Rule] = {}
    for rule in rules:
        where = f"rule {rule.number}"
        if rule.number in seen:
            yield RuleError("its number is used twice", where=where, fix="Give it another")
        seen[rule.number] = rule
        if rule.debit == rule.credit:
            yield RuleError("debits and credits one account", where=where, fix="Name two accounts")
        cash = [side for side in (rule.debit, rule.credit) if moves_cash(side, chart.accounts)]
        if bool(cash) != (rule.activity is not Activity.NONE):
            yield RuleError(
                "moves cash without an activity, or has one without moving cash",
                where=where,
                fix="Give `activity` to rules with a cash account, and only to them",
            )


def moves_cash(side: Side, accounts: Mapping[str, Any]) -> bool:
    """True if a side is an account of cash."""
    return side.account in CELL_ACCOUNTS or accounts[side.account].is_cash
