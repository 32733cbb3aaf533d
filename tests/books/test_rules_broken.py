"""Every rule broken on purpose is caught: left out, turned round, another amount, account or model.

First by what the reader of rules refuses, by what whole lives leave behind, and by the controls of
a close; what those cannot see, by what each account is told to hold (`tests.books.holdings`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache

import numpy as np
import pyarrow as pa
import pytest

from tests.books.cells import cells_of
from tests.books.holdings import holdings
from tests.books.lives import END, EVERY, lives
from tests.books.rule_matrix import (
    ACCOUNTS,
    BY_NUMBER,
    CASH,
    OWN_ENTITY,
    PLACE,
    PLATFORM,
    SHEET,
    matrix,
    random_policies,
)
from usance.base.arrays import I64
from usance.base.codes import FundingModel, IfrsAdjustment
from usance.base.columns import arrays
from usance.books.chart import load_chart
from usance.books.close.controls import BALANCES, ledger_controls
from usance.books.journal import CloseHead, loan_postings
from usance.books.loans.amounts import AMOUNTS
from usance.books.loans.measurement import amounts
from usance.books.postings import post
from usance.books.rules import CELL_ACCOUNTS, Rule, Side, _contradictions, load_rules

RULES = load_rules()
CLOSES = (date(2023, 9, 30), date(2024, 3, 31), date(2024, 9, 30))
HEAD = CloseHead(1, 653, date(2024, 6, 30), datetime(2024, 7, 1, tzinfo=UTC), "test")


@cache
def on_the_way() -> dict[FundingModel, I64]:
    """By model, sums of amounts over loans, a row for every path and close."""
    return _sums(CLOSES)


@cache
def at_the_end() -> dict[FundingModel, I64]:
    """By model, sums of amounts over loans whose lives are over, a row for every path."""
    return _sums((END,))


def _sums(closes: tuple[date, ...]) -> dict[FundingModel, I64]:
    found: dict[FundingModel, list[I64]] = {model: [] for model in FundingModel}
    for model, path in EVERY:
        life = lives(model, path, 400, seed=5)
        for day in closes:
            policies = random_policies(day, np.random.default_rng(2), first=date(2023, 1, 1))
            made = amounts(life.loans(), policies, day, day - timedelta(days=3))
            found[model].append(made.sum(axis=0))
    return {model: np.vstack(rows) for model, rows in found.items()}


@pytest.mark.parametrize("model", FundingModel, ids=lambda model: model.label)
@pytest.mark.parametrize("tag", IfrsAdjustment, ids=lambda tag: tag.label)
def test_accounts_hold_what_they_are_told_to(model: FundingModel, tag: IfrsAdjustment) -> None:
    np.testing.assert_array_equal(matrix(model, tag), holdings(model, tag))


def test_lives_reach_every_rule() -> None:
    for rule in RULES:
        place = AMOUNTS.index(rule.amount)
        for model in rule.models:
            seen = on_the_way()[model][:, place].any() or at_the_end()[model][:, place].any()
            assert seen, (rule, model)


def mutants(rule: Rule) -> Iterator[tuple[str, Rule | None]]:
    """Every way a rule is broken here."""
    yield "left out", None
    yield "turned round", replace(rule, debit=rule.credit, credit=rule.debit)
    for amount in _amounts_beside(rule):
        yield f"amount {amount}", replace(rule, amount=amount)
    for model in sorted(set(FundingModel) - set(rule.models)):
        yield f"model {model.label}", replace(rule, models=(model,))
    for account in ACCOUNTS:
        if account.name not in (rule.debit.account, _named_by_cell(rule.debit)):
            side = replace(rule.debit, account=account.name)
            yield f"debit {account.name}", replace(rule, debit=side)
        if account.name not in (rule.credit.account, _named_by_cell(rule.credit)):
            side = replace(rule.credit, account=account.name)
            yield f"credit {account.name}", replace(rule, credit=side)


def _named_by_cell(side: Side) -> str:
    """The account that a cell names here: in its place, the rule would be no other."""
    return "restricted_cash" if side.account in CELL_ACCOUNTS else ""


def _amounts_beside(rule: Rule) -> list[str]:
    """Amounts of other rules for the same models."""
    beside = {other.amount for other in RULES if set(other.models) & set(rule.models)}
    return sorted(beside - {rule.amount})


@cache
def whole(model: FundingModel, tag: IfrsAdjustment, end: bool) -> I64:
    """A row of balances for every row of amounts, by the rules as they are."""
    return (at_the_end() if end else on_the_way())[model] @ matrix(model, tag)


def broken(
    rule: Rule, mutant: Rule | None, *, end: bool
) -> dict[tuple[FundingModel, IfrsAdjustment], I64]:
    """The balances that are others where a mutant is at work instead of a rule."""
    rows = at_the_end() if end else on_the_way()
    found: dict[tuple[FundingModel, IfrsAdjustment], I64] = {}
    for sign, each in ((-1, rule), (1, mutant)):
        for model in each.models if each else ():
            assert each is not None
            change = np.multiply.outer(rows[model][:, AMOUNTS.index(each.amount)], unit(each))
            before = found.get((model, each.tag), whole(model, each.tag, end))
            found[model, each.tag] = before + sign * change
    return found


@lru_cache(maxsize=64)
def unit(rule: Rule) -> I64:
    """Postings of one unit of a rule's amount by account."""
    movement = np.zeros((1, len(AMOUNTS)), np.int64)
    movement[0, AMOUNTS.index(rule.amount)] = 1
    cell = cells_of([1], [rule.models[0]], [OWN_ENTITY], fund_cash="restricted_cash",
                    payout_cash="restricted_cash")  # fmt: skip
    lines = post(movement, cell, [rule], PLATFORM)
    found = np.zeros(len(ACCOUNTS), np.int64)
    np.add.at(found, [BY_NUMBER[number] for number in lines.account.tolist()], lines.amount)
    return found


def refused(_rule: Rule, mutant: Rule | None) -> bool:
    """The reader of rules says no."""
    return mutant is not None and bool(list(_contradictions([mutant], load_chart())))


KEPT = {"cash", "restricted_cash", "other_tax_payable"}
RECEIVABLE = {
    FundingModel.ICE: {"contract_assets"},
    FundingModel.TECH_SOLUTIONS: {"accounts_receivable"},
}
INCOME: dict[FundingModel, tuple[set[str], set[str]]] = {
    FundingModel.CAPITAL_HEAVY: (
        {
            "other_credit_fees",
            "guarantee_revenue",
            "contract_provision",
            "heavy_facilitation",
            "heavy_servicing",
        },
        {"other_credit_fees", "guarantee_revenue", "financial_provision", "contingent_provision"},
    ),
    FundingModel.ON_BALANCE_SHEET: (
        {"financing_income", "other_credit_fees", "loan_provision"},
        set(),
    ),
    FundingModel.CAPITAL_LIGHT: (
        {"other_platform_fees", "contract_provision", "light_facilitation", "light_servicing"},
        {"other_platform_fees"},
    ),
    FundingModel.ICE: ({"referral"}, set()),
    FundingModel.TECH_SOLUTIONS: ({"other_platform_fees"}, set()),
}
"""Lines of income that whole lives are held to (`test_lives`): without and with a payout."""


def seen_in_lives(rule: Rule, mutant: Rule | None) -> bool:
    """True if balances left after whole lives are wrong."""
    for (model, tag), balances in broken(rule, mutant, end=True).items():
        if tag is not IfrsAdjustment.NONE:
            if balances.any():
                return True
            continue
        changed = balances - whole(model, tag, True)
        if balances[:, _empty(model)].any() or changed[:, CASH].any():
            return True
        paths = [path for of, path in EVERY if of is model]
        for row, path in enumerate(paths):
            lines = [PLACE[name] for name in INCOME[model][path in ("payout", "charge-off")]]
            if changed[row, lines].any() or _taxed_wrongly(balances[row]):
                return True
    return False


@cache
def _empty(model: FundingModel) -> list[int]:
    kept = KEPT | RECEIVABLE.get(model, set())
    return [place for name, place in PLACE.items() if SHEET[place] and name not in kept]


_REVENUE = [place for place, each in enumerate(ACCOUNTS) if 4000 <= each.number < 5000]


def _taxed_wrongly(balances: I64) -> bool:
    net, vat = -int(balances[_REVENUE].sum()), -int(balances[PLACE["other_tax_payable"]])
    return abs(106 * vat - 6 * (net + vat)) > 3 * 53 * 400


@lru_cache(maxsize=256)
def lines_of(rule: Rule) -> dict[str, I64]:
    """The postings of a rule over all that happened on the way, every model a cell of its own."""
    cells = cells_of(
        np.arange(len(FundingModel)),
        list(FundingModel),
        [OWN_ENTITY] * len(FundingModel),
        fund_cash="restricted_cash",
        payout_cash="restricted_cash",
    )
    lines = post(together(), cells, [rule], PLATFORM)
    return arrays(loan_postings(lines, HEAD, 0, np.zeros(len(lines), np.int64)))


@cache
def together() -> I64:
    return np.vstack([on_the_way()[model].sum(axis=0) for model in FundingModel])


def seen_by_controls(rule: Rule, mutant: Rule | None) -> bool:
    """A control of the close fails."""
    given = [mutant if each is rule else each for each in RULES]
    parts = [lines_of(each) for each in given if each]
    postings = pa.table({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
    return not all(control.holds for control in ledger_controls(postings, together(), set()))


def seen_in_accounts(rule: Rule, mutant: Rule | None) -> bool:
    """Some account does not hold what it is told to, on the way."""
    changed = broken(rule, mutant, end=False)
    return any((changed[key] != whole(*key, False)).any() for key in changed)


LAYERS = {"refused": refused, "lives": seen_in_lives, "accounts": seen_in_accounts}


def test_every_rule_broken_on_purpose_is_caught() -> None:
    by_layer: Counter[str] = Counter()
    survivors = []
    for rule in RULES:
        for name, mutant in mutants(rule):
            layer = next((each for each, sees in LAYERS.items() if sees(rule, mutant)), "")
            by_layer[layer] += 1
            if not layer:
                survivors.append(f"{rule.number} {rule.amount}: {name}")
    assert not survivors, f"{by_layer}: {survivors[:40]}"
    assert by_layer.total() > 10_000
    assert by_layer["lives"] > 10 * by_layer["refused"] / 2 > 0


def test_controls_of_a_close_see_what_is_wrong_in_their_accounts() -> None:
    """Left out, turned round or put elsewhere: a control fails where it looks at the account."""
    groups = [set(names.split()) for names in BALANCES]
    looked_at, unseen = set().union(*groups), []
    for rule in RULES:
        is_move = any({rule.debit.account, rule.credit.account} <= group for group in groups)
        if rule.tag is not IfrsAdjustment.NONE or is_move:
            continue
        for name, mutant in mutants(rule):
            places = {rule.debit.account, rule.credit.account} & looked_at
            simple = name in ("left out", "turned round", "debit property", "credit property")
            if simple and name.startswith("debit"):
                places = {rule.debit.account} & looked_at
            if simple and name.startswith("credit"):
                places = {rule.credit.account} & looked_at
            if simple and places and not seen_by_controls(rule, mutant):
                unseen.append(f"{rule.number} {name}")
    assert not unseen
