"""Balances that cannot be: a close that has one fails, and says whose it is and what made it."""

from __future__ import annotations

from datetime import date

from tests.books.group_books import ENDS, LENDING, PLATFORM, TRUST, Facts, closed, lines_of
from usance.base.codes import IfrsAdjustment
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.statements.below_zero import lines_below_zero, overdrawn_cash
from usance.books.statements.consolidation import GroupBooks

DAY = ENDS[0]


def found(books: GroupBooks, facts: Facts) -> list[str]:
    return [str(each) for each in (*lines_below_zero(books, DAY),
                                   *overdrawn_cash(books, facts.facts, DAY))]  # fmt: skip


def opened() -> Facts:
    facts = Facts()
    sides = [{"account": "cash", "amount": "100.00"}, {"account": "paid_in_capital",
                                                       "amount": "-100.00"}]  # fmt: skip
    facts.say(LENDING, GroupFactKind.OPENING_BALANCE, date(2023, 12, 31), lines=sides)
    return facts


def test_a_liability_below_zero_names_its_entity_and_the_rule_behind_it() -> None:
    facts = opened()
    facts.say(LENDING, GroupFactKind.COST_PAID, date(2024, 2, 1), 30_00)
    (problem, *_) = found(closed(facts.facts, [DAY]), facts)
    assert problem.startswith("entity 6, Example Lending: Accrued expenses and other current")
    assert "is -30.00 CNY under US GAAP" in problem
    assert "most of it went by cost paid (rule 842)" in problem


def test_an_overdraft_is_not_hidden_by_the_money_of_another_entity() -> None:
    facts = opened()
    facts.say(PLATFORM, GroupFactKind.SUNDRY, date(2024, 2, 1), -40_00)
    (problem,) = found(closed(facts.facts, [DAY]), facts)
    assert problem.startswith("entity 2, Example Platform: cash is -40.00 CNY")
    assert "sundry" in problem


def test_the_books_of_a_portfolio_alone_do_not_say_what_was_lent_from() -> None:
    facts = Facts()
    facts.say(PLATFORM, GroupFactKind.SUNDRY, date(2024, 2, 1), -40_00)
    assert found(closed(facts.facts, [DAY]), facts) == []


def test_a_line_is_looked_at_under_ifrs_too() -> None:
    lines = lines_of({"financial_receivable": -5_00, "stand_ready": 5_00}, PLATFORM, DAY,
                     IfrsAdjustment.GUARANTEE)  # fmt: skip
    problems = found(closed([], [DAY], [lines]), Facts())
    assert len(problems) == 2
    assert all("under IFRS" in each and "entity 2" in each for each in problems)


def test_equity_may_be_below_zero() -> None:
    lines = lines_of({"marketing": 5_00, "accrued": -5_00}, LENDING, DAY)
    assert found(closed([], [DAY], [lines]), Facts()) == []


def test_a_trust_pays_its_tax_from_what_it_has() -> None:
    """Its money is restricted; an account that it does not have would be overdrawn."""
    sold = lines_of({"financing_income": -100_00, "other_tax_payable": -6_00,
                     "restricted_cash": 106_00}, TRUST, DAY)  # fmt: skip
    end = closed([], ENDS[:2], [sold]).at(ENDS[1]).columns[TRUST, IfrsAdjustment.NONE]
    assert end["restricted_cash"] == 100_00
    assert not end.get("cash")
