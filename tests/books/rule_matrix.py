"""Posting rules as matrices: what one unit of each amount puts on each account, by real postings.

Posting is linear, so the balances of any number of loans are their amounts times such a matrix;
ten thousand loans alone cost no more than one.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import cache

import numpy as np

from tests.books.cells import cells_of
from usance.base.arrays import I64
from usance.base.codes import FundingModel, IfrsAdjustment
from usance.base.dates import to_month
from usance.base.parameters import Parameters
from usance.books.chart import Account, load_chart
from usance.books.effective_interest.expected_lives import ExpectedLives
from usance.books.effective_interest.loans import Survival
from usance.books.kernel.policy_layout import IFRS_CONTINGENT, IFRS_LOANS, RATE_COUNT
from usance.books.loans.amounts import AMOUNTS
from usance.books.policies import Policies
from usance.books.postings import post
from usance.books.rules import Activity, Rule, load_rules

RULES = load_rules()
ACCOUNTS: tuple[Account, ...] = tuple(load_chart())
PLACE = {account.name: place for place, account in enumerate(ACCOUNTS)}
BY_NUMBER = {account.number: place for place, account in enumerate(ACCOUNTS)}
CASH = [PLACE[account.name] for account in ACCOUNTS if account.is_cash]
SHEET = np.array([account.kind.on_balance_sheet for account in ACCOUNTS])
ACTIVITIES = tuple(Activity)
PLATFORM, OWN_ENTITY = 1, 2
PARAMETERS = Parameters.load()


@cache
def matrix(model: FundingModel, tag: IfrsAdjustment, rules: tuple[Rule, ...] = RULES) -> I64:
    """By amount and account, what one unit posts for loans of a model under a tag."""
    size = len(AMOUNTS)
    lines = post(
        np.eye(size, dtype=np.int64),
        cells_of(np.arange(size), np.full(size, model), np.full(size, OWN_ENTITY),
                 fund_cash="restricted_cash", payout_cash="restricted_cash"),
        rules,
        PLATFORM,
    )  # fmt: skip
    found = np.zeros((size, len(ACCOUNTS)), np.int64)
    wanted = lines.tag == tag
    places = np.array([BY_NUMBER[number] for number in lines.account[wanted].tolist()], np.int64)
    np.add.at(found, (lines.row[wanted], places), lines.amount[wanted])
    return found


@cache
def flow_matrix(model: FundingModel) -> I64:
    """By amount and activity, the cash one unit moves."""
    found = np.zeros((len(AMOUNTS), len(ACTIVITIES)), np.int64)
    for rule in RULES:
        cash = matrix(model, IfrsAdjustment.NONE, (rule,))[:, CASH].sum(axis=1)
        found[:, ACTIVITIES.index(rule.activity)] += cash
    return found


def held(balances: I64, *names: str) -> I64:
    """The joint balance of some accounts, for every loan."""
    return np.asarray(balances[..., [PLACE[name] for name in names]].sum(axis=-1), np.int64)


def named(balances: I64) -> Mapping[str, int]:
    """A row of balances by name, without zeros."""
    return {ACCOUNTS[place].name: int(balances[place]) for place in np.flatnonzero(balances)}


def random_policies(
    day: date, draw: np.random.Generator, *, segments: int = 1, pools: int = 1,
    first: date | None = None,
) -> Policies:  # fmt: skip
    """Policies of a day with any estimates: shares lost by month, loss rates, expected lives."""
    begun = to_month(first or day)
    months = to_month(day) - begun + 1
    rates = draw.integers(0, 300_000_000, (pools, RATE_COUNT))
    for place in (IFRS_LOANS, IFRS_CONTINGENT):
        rates[:, place : place + 3].sort(axis=1)
    leaves = draw.integers(0, 120_000, (segments + 3, 24))
    curves = np.maximum(1_000_000 - np.cumsum(leaves, axis=1), 0)
    curve_of = draw.integers(0, len(curves), (segments, months))
    found = Policies.at(day, PARAMETERS)
    return Policies(
        found.numbers,
        found.non_accrual_days,
        draw.integers(0, 400_000, (segments, months)),
        begun,
        rates,
        ExpectedLives(Survival(curves[:segments]), Survival(curves), curve_of, begun),
    )
