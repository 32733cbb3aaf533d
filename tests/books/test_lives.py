"""Full lives of ten thousand loans of every model and path: what is left at the end, loan by loan.

What is expected comes from the facts and the replay alone, never from posting amounts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.books.lives import END, EVERY, Lives, lives
from tests.books.rule_matrix import (
    ACCOUNTS,
    ACTIVITIES,
    CASH,
    PLACE,
    SHEET,
    flow_matrix,
    held,
    matrix,
    random_policies,
)
from usance.base.arrays import I64
from usance.base.codes import FactKind, FundingModel, IfrsAdjustment
from usance.base.dates import to_day
from usance.books.loans.checks import LoanFindings
from usance.books.loans.measurement import LoanColumns, amounts, amounts_of_positions, positions
from usance.books.rules import Activity
from usance.loan.batch import Views, replay_columns, schedule_columns

LOANS, SOME = 10_000, 3_000
SEGMENTS, POOLS = 3, 5
BEGUN = date(2023, 1, 1)
ON_THE_WAY = (date(2023, 9, 30), date(2024, 6, 30))
SIGNS = {FactKind.PAID: 1, FactKind.RECOVERED: 1, FactKind.REFUNDED: -1, FactKind.CHARGED_BACK: -1}
KEPT = ("cash", "restricted_cash", "other_tax_payable", "within_group")
"""What may be left on the balance sheet; balances within the group cancel between entities."""
FEES_OF_INSTITUTIONS = {
    FundingModel.ICE: "contract_assets",
    FundingModel.TECH_SOLUTIONS: "accounts_receivable",
}
"""Where the fee of a loan that is only referred or handled stands until its invoice is paid."""


@dataclass(frozen=True)
class Ended:
    """Loans whose lives are over, with what the books hold of each."""

    life: Lives
    path: str
    loans: LoanColumns
    amounts: I64
    balances: I64
    end: Views
    stopped: Views
    """As they stood when they were paid out or charged off, or at the end."""

    @property
    def has_event(self) -> bool:
        """Whether the path ends with a payout or a charge-off."""
        return self.path in ("payout", "charge-off")

    def paid(self, *names: str, views: Views | None = None) -> I64:
        """Cash received by component, until the end or until the loan stopped."""
        given = views or self.end
        return sum((given.column(f"paid_{name}") for name in names), np.zeros(LOANS, np.int64))

    @property
    def borrowers_cash(self) -> I64:
        """What came from the borrower and stayed, by the facts."""
        facts = self.life.facts
        sign = np.zeros(len(FactKind), np.int64)
        for kind, value in SIGNS.items():
            sign[kind] = value
        return np.add.reduceat(sign[facts.kind] * facts.amount_minor, facts.offsets[:-1])


@pytest.fixture(scope="module", params=EVERY, ids=lambda each: f"{each[0].label}, {each[1]}")
def ended(request: pytest.FixtureRequest) -> Ended:
    model, path = request.param
    life = lives(model, path, LOANS, seed=20240630)
    loans = life.loans(segments=SEGMENTS, pools=POOLS)
    draw = np.random.default_rng(7)
    policies = random_policies(END, draw, segments=SEGMENTS, pools=POOLS, first=BEGUN)
    found = amounts(loans, policies, END, END)
    end = replay_columns(life.terms, life.facts, END)
    stopped = replay_columns(life.terms, life.facts, _stops(life))
    balances = found @ matrix(model, IfrsAdjustment.NONE)
    return Ended(life, path, loans, found, balances, end, stopped)


def _stops(life: Lives) -> NDArray[np.int32]:
    """The day of each loan's payout, charge-off, or the end."""
    wanted = [FactKind.CHARGED_OFF]
    if life.model is FundingModel.CAPITAL_HEAVY:
        wanted.append(FactKind.COMPENSATED)
    days = np.where(np.isin(life.facts.kind, wanted), life.facts.day, to_day(END))
    return np.minimum.reduceat(days, life.facts.offsets[:-1]).astype(np.int32)


def test_every_account_but_cash_and_tax_is_empty(ended: Ended) -> None:
    kept = {*KEPT, FEES_OF_INSTITUTIONS.get(ended.life.model, "cash")}
    others = [place for name, place in PLACE.items() if SHEET[place] and name not in kept]
    left = ended.balances[:, others]
    assert not left.any(), {ACCOUNTS[others[each]].name for each in np.flatnonzero(left.any(0))}
    assert not held(ended.balances, "within_group").any()


def test_every_tag_of_ifrs_is_empty(ended: Ended) -> None:
    for tag in set(IfrsAdjustment) - {IfrsAdjustment.NONE}:
        assert not (ended.amounts @ matrix(ended.life.model, tag)).any()


def test_cash_is_what_the_facts_say(ended: Ended) -> None:
    model, terms = ended.life.model, ended.life.terms
    cash = ended.balances[:, CASH].sum(axis=1)
    if model in FEES_OF_INSTITUTIONS:
        assert not cash.any()
        return
    came = ended.borrowers_cash
    passed_on = ended.paid("principal", "interest")
    if model is FundingModel.CAPITAL_HEAVY:
        passed_on = ended.paid("principal", "interest", views=ended.stopped)
        passed_on = passed_on + ended.end.column("compensated")
    if model is FundingModel.ON_BALANCE_SHEET:
        passed_on = terms.principal_minor - ended.life.upfront_minor
    np.testing.assert_array_equal(cash, came - passed_on)
    # Money of our own lenders, and what pays out, is restricted here; the platform's is not.
    from_platform = held(ended.balances, "cash")
    if model is FundingModel.ON_BALANCE_SHEET:
        assert not from_platform.any()
    else:
        np.testing.assert_array_equal(from_platform, cash + ended.end.column("compensated"))


def test_profit_before_tax_is_cash_after_vat(ended: Ended) -> None:
    """Under US GAAP; every tag is empty, so it is the same under IFRS."""
    profit = -ended.balances[:, ~SHEET].sum(axis=1)
    cash = ended.balances[:, CASH].sum(axis=1)
    owed_to_us = held(ended.balances, FEES_OF_INSTITUTIONS.get(ended.life.model, "within_group"))
    vat = -held(ended.balances, "other_tax_payable")
    np.testing.assert_array_equal(profit, cash + owed_to_us - vat)
    assert (vat >= 0).all()


def test_vat_is_in_every_line_of_revenue(ended: Ended) -> None:
    """6/106 of gross revenue, within half a minor unit for each of at most three lines."""
    revenue = [place for place, each in enumerate(ACCOUNTS) if 4000 <= each.number < 5000]
    net = -ended.balances[:, revenue].sum(axis=1)
    vat = -held(ended.balances, "other_tax_payable")
    assert (np.abs(106 * vat - 6 * (net + vat)) <= 3 * 53).all()
    assert vat.any()


def test_cash_flows_sum_to_the_change_of_cash(ended: Ended) -> None:
    flows = ended.amounts @ flow_matrix(ended.life.model)
    cash = ended.balances[:, CASH].sum(axis=1)
    by_name = dict(zip(ACTIVITIES, flows.T, strict=True))
    np.testing.assert_array_equal(flows.sum(axis=1), cash)
    assert not by_name[Activity.NONE].any()
    assert not by_name[Activity.FINANCING].any()
    investing = by_name[Activity.INVESTING]
    if ended.life.model is not FundingModel.ON_BALANCE_SHEET:
        assert not investing.any()
        return
    principal = ended.paid("principal", views=ended.stopped) - ended.life.terms.principal_minor
    recovered = investing - principal
    before = ended.paid(*PARTS, views=ended.stopped)
    after = ended.paid(*PARTS) - before
    assert ((recovered >= np.minimum(after, 0)) & (recovered <= np.maximum(after, 0))).all()
    assert ended.has_event == recovered.any()


PARTS = ("principal", "interest", "guarantee_fee", "service_fee", "penalty")


def test_income_stands_where_it_belongs(ended: Ended) -> None:
    for name, expected in _income(ended).items():
        np.testing.assert_array_equal(held(ended.balances, name), expected, err_msg=name)


def _income(ended: Ended) -> dict[str, I64]:
    """What lines of the income statement must show, from replay alone; debit positive."""
    model, terms = ended.life.model, ended.life.terms
    if model in FEES_OF_INSTITUTIONS:
        name = "referral" if model is FundingModel.ICE else "other_platform_fees"
        return {name: -_net(_half_up(terms.principal_minor * ended.life.fee_ppm, 10**6))}
    if model is FundingModel.ON_BALANCE_SHEET:
        return _income_of_own(ended)
    late = "other_credit_fees" if model is FundingModel.CAPITAL_HEAVY else "other_platform_fees"
    expected = {late: -_net(ended.paid("penalty"))}
    if not ended.has_event:
        expected |= _service(ended)
    if model is FundingModel.CAPITAL_HEAVY:
        expected |= _guarantee(ended)
    return expected


def _service(ended: Ended) -> dict[str, I64]:
    """A repaid loan has earned what was collected."""
    heavy = ended.life.model is FundingModel.CAPITAL_HEAVY
    kind, share = ("heavy", 70) if heavy else ("light", 83)
    whole = ended.paid("service_fee")
    at_once = _half_up(whole * share, 100)
    return {
        f"{kind}_facilitation": -_net(at_once),
        f"{kind}_servicing": _net(at_once) - _net(whole),
        "contract_provision": np.zeros(LOANS, np.int64),
    }


def _guarantee(ended: Ended) -> dict[str, I64]:
    """Released: what was collected, or at a payout all that was left of it."""
    collected = ended.paid("guarantee_fee")
    if not ended.has_event:
        return {"guarantee_revenue": -_net(collected)}
    issued = ended.life.terms.guarantee_fee_minor
    before = ended.paid("principal", "interest", views=ended.stopped)
    claim = ended.paid("principal", "interest") - before
    return {
        "guarantee_revenue": -_net(issued),
        "financial_provision": issued - collected,
        "contingent_provision": ended.end.column("compensated") - claim,
    }


def _income_of_own(ended: Ended) -> dict[str, I64]:
    if ended.has_event:
        return {}
    gross = ended.paid("interest", "guarantee_fee", "service_fee") + ended.life.upfront_minor
    return {
        "financing_income": -_net(gross),
        "other_credit_fees": -_net(ended.paid("penalty")),
        "loan_provision": ended.end.column("waived_principal"),
    }


def _half_up(numerator: I64, denominator: int) -> I64:
    return (2 * numerator + denominator) // (2 * denominator)


def _net(gross: I64) -> I64:
    return gross - _half_up(6 * gross, 106)


def test_estimates_on_the_way_do_not_change_the_end(ended: Ended) -> None:
    """Other loss rates, shares lost and expected lives: the same end.

    Of a loan that stopped, what was earned by then stands on the share lost expected at that time.
    """
    draw = np.random.default_rng(99)
    first = random_policies(END, np.random.default_rng(7), segments=SEGMENTS, pools=POOLS,
                            first=BEGUN)  # fmt: skip
    other = random_policies(END, draw, segments=SEGMENTS, pools=POOLS, first=BEGUN)
    if ended.has_event:
        other.lost_ppm[:] = first.lost_ppm
    again = amounts(ended.loans, other, END, END)
    np.testing.assert_array_equal(again, ended.amounts)


@pytest.mark.parametrize("day", ON_THE_WAY, ids=str)
def test_every_check_of_single_loans_holds_on_the_way(ended: Ended, day: date) -> None:
    draw = np.random.default_rng(3)
    policies = random_policies(day, draw, segments=SEGMENTS, pools=POOLS, first=BEGUN)
    cutoffs = (to_day(day) - draw.integers(0, 4, LOANS)).astype(np.int32)
    at = positions(ended.loans, policies, day, cutoffs, 0, SOME)
    segment, pool = ended.loans.segment[:SOME], ended.loans.pool[:SOME]
    found = amounts_of_positions(at, policies, segment, pool)
    findings = LoanFindings()
    findings.check(ended.loans.loan_id[:SOME], at, found)
    assert not findings.by_check
    balances = found @ matrix(ended.life.model, IfrsAdjustment.NONE)
    assert not balances.sum(axis=1).any()
    for name, sign in SIGNED.items():
        assert (sign * held(balances, *name.split(" + ")) >= 0).all(), name
    assert found.any()


SIGNED = {
    "financial_receivable + financial_receivable_non_current": 1,
    "contract_assets + contract_assets_non_current": 1,
    "loans + loans_non_current": 1,
    "financial_receivable_non_current": 1,
    "contract_assets_non_current": 1,
    "loans_non_current": 1,
    "stand_ready": -1,
    "contract_liabilities": -1,
}
"""Accounts that no loan, looked at alone, has on the other side on the way."""


def test_plans_are_of_every_kind() -> None:
    """The lives are worth looking at: fees of all kinds, terms beyond a year, odd first periods."""
    life = lives(FundingModel.CAPITAL_HEAVY, "term", LOANS, seed=20240630)
    plan = schedule_columns(life.terms)
    assert set(np.unique(life.terms.convention)) == {1, 2, 3, 4, 5, 6}
    assert (life.terms.instalments > 12).any()
    assert (life.terms.guarantee_fee_minor == 0).any()
    assert (plan.guarantee_fee.sum(), plan.service_fee.sum()) > (0, 0)
