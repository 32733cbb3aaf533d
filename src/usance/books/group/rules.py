"""Posting rules of the group as data: the accounts that a cumulative amount moves.

>>> rule = next(rule for rule in load_group_rules() if rule.amount == "funding_interest")
>>> rule.number, rule.debit, rule.credit
(813, 'funding_costs', 'interest_payable')
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from usance.base.codes import Basis, IfrsAdjustment
from usance.base.documents import read_text
from usance.base.errors import DocumentError, UsanceError, raise_all, unknown
from usance.base.fields import Fields, fields_of, one_of, text, whole_of
from usance.books.chart import Chart, load_chart
from usance.books.errors import RuleError
from usance.books.rules import Activity, load_rules

SHIPPED = Path(__file__).resolve().parents[1] / "data" / "group_rules.yaml"
_FIRST_NUMBER, _LAST_NUMBER = 801, 2**15 - 1
OPENING = 801
"""The rule of opening balances: they stand before every period."""
OWN = "own"


@dataclass(frozen=True, slots=True)
class GroupRule:
    """A movement of `amount` is debited on one side and credited on the other."""

    number: int
    amount: str
    debit: str = ""
    """Empty for an entry written as lines."""
    credit: str = ""
    debit_in: str = OWN
    credit_in: str = OWN
    tag: IfrsAdjustment = IfrsAdjustment.NONE
    activity: Activity = Activity.NONE
    when: Mapping[str, str] = field(default_factory=dict)

    @property
    def sides(self) -> tuple[tuple[str, str, int], ...]:
        """Account, place and sign of each side."""
        return (self.debit, self.debit_in, 1), (self.credit, self.credit_in, -1)


def basis_of(tag: IfrsAdjustment) -> Basis:
    """The basis an entry with this tag belongs to."""
    return Basis.US_GAAP if tag is IfrsAdjustment.NONE else Basis.IFRS_ADJUSTMENT


@cache
def load_group_rules(path: Path = SHIPPED) -> tuple[GroupRule, ...]:
    """Read posting rules of the group, or raise everything that is wrong with them."""
    document = fields_of(read_text(path), path.name)
    chart = load_chart()
    rules = [rule for given in document.each("rules") if (rule := _rule(given, chart))]
    document.close()
    document.problems += _contradictions(rules)
    raise_all(document.problems, where=path.name)
    return tuple(rules)


@cache
def group_rules_of(amount: str) -> tuple[GroupRule, ...]:
    """The rules that an amount moves."""
    return tuple(rule for rule in load_group_rules() if rule.amount == amount)


@cache
def activities() -> Mapping[int, Activity]:
    """The cash-flow activity of every rule, of loans and of the group."""
    loans = {rule.number: rule.activity for rule in load_rules()}
    return loans | {rule.number: rule.activity for rule in load_group_rules()}


def _rule(given: Fields, chart: Chart) -> GroupRule | None:
    def account(found: Any, where: str) -> str:
        name = text(found, where)
        if not name.startswith("$") and name not in chart.accounts:
            raise unknown("account", name, chart.accounts, where=where)
        return name

    number = given.need("number", whole_of(_FIRST_NUMBER, _LAST_NUMBER))
    amount = given.need("amount", text)
    debit, credit = given.take("debit", account) or "", given.take("credit", account) or ""
    debit_in, credit_in = given.take("debit_in", text), given.take("credit_in", text)
    tag = given.take("tag", one_of(IfrsAdjustment)) or IfrsAdjustment.NONE
    activity = given.take("activity", one_of(Activity))
    when = given.take("when", _conditions) or {}
    if bool(debit) != bool(credit):
        given.wrong("only one side has an account", "Name both, or none for entries with lines")
    cash = [name for name in (debit, credit) if name == "$cash" or _is_cash(name, chart)]
    if bool(cash or not debit) != (activity is not None):
        fix = "Give `activity` to rules with a cash account, and only to them; it may be none"
        given.wrong("moves cash without an activity, or has one without moving cash", fix)
    given.close()
    if not given.has_needed:
        return None
    return GroupRule(
        number, amount, debit, credit, debit_in or OWN, credit_in or OWN, tag,
        activity or Activity.NONE, when,
    )  # fmt: skip


def _is_cash(name: str, chart: Chart) -> bool:
    return name in chart.accounts and chart[name].is_cash


def _conditions(given: Any, where: str) -> dict[str, str]:
    if not isinstance(given, dict):
        raise DocumentError("is no mapping", where=where, fix="Write {as: restricted_cash}")
    return {str(key): text(value, where) for key, value in given.items()}


def _contradictions(rules: Sequence[GroupRule]) -> Iterator[UsanceError]:
    taken = {rule.number for rule in load_rules()}
    for rule in rules:
        if rule.number in taken:
            where = f"rule {rule.number}"
            yield RuleError("its number is used twice", where=where, fix="Give it another")
        taken.add(rule.number)
