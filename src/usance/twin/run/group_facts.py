"""Group facts of a twin run, month by month, beside its loans.

Two sources: facts the scenario states as such (balances at the opening, shares, rates, dividends),
at the run's scale; and facts that follow from the month: operating cost by function, what channels
are paid, fees of institutions invoiced and received, and the money behind loans on the balance
sheet (`usance.twin.run.own_loan_funding`).

>>> from usance.books.group.facts import facts_of_table
>>> from usance.world.scenario.file import read_scenario
>>> calm = read_scenario("calm")
>>> opening = opening_facts(calm, 1_000_000_000)
>>> made = month_facts(
...     calm,
...     636,
...     {FundingModel.ICE: 100_000_00},
...     {FundingModel.ON_BALANCE_SHEET: 2_000_000_00},
...     {2: 10},
...     1_000_000_000,
...     100,
...     opening,
... )
>>> for each in facts_of_table(made)[:3]:
...     print(each.fact_id, each.kind.label, each.amount_minor)
100 cost_incurred 360000
101 cost_incurred 150000
102 cost_incurred 270000
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

import pyarrow as pa

from usance.base.book import Book
from usance.base.codes import Currency, FundingModel, IfrsAdjustment, parse
from usance.base.dates import to_month
from usance.base.money import Money, half_up
from usance.base.rates import PPB, PPM
from usance.books.chart import load_chart
from usance.books.close.closes import effective_closes, postings_of
from usance.books.group.costs import driver_cost_minor
from usance.books.group.documents import parse_facts
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact, facts_of_table
from usance.books.group.readers import CostDriver
from usance.books.statements.ledger import Ledger
from usance.twin.run.fact_writer import FactWriter
from usance.twin.run.group_scale import scaled_facts
from usance.twin.run.own_loan_funding import (
    borrowed,
    cash_of_own_loans,
    contribute,
    fund_own_loans,
    platform_of,
    raise_funding,
)
from usance.twin.run.trust_month import TrustMonth
from usance.world.scenario.scenario import Scenario

BUFFER_PPM = 50_000
"""Of loans on the balance sheet, what a trust holds in cash when it begins."""
QUARTERS_A_YEAR = 4
_FEES = "servicing_cost"


def opening_facts(scenario: Scenario, scale_ppb: int, drawn_minor: int | None = None) -> pa.Table:
    """Facts by the eve of the first month: what the scenario states, and the opening funding.

    `drawn_minor` is what loans on the balance sheet come to in the opening book: in a small one
    some loans are more or less than the scenario plans, and they are funded as they are.
    """
    eve = scenario.first_month - 1
    writer = FactWriter(scenario, eve, 1)
    for each in _stated(scenario, scale_ppb):
        if to_month(each.effective_on) <= eve:
            writer.copy(each)
    planned = scenario.opening.balance_minor.get(FundingModel.ON_BALANCE_SHEET, 0)
    balance = planned * scale_ppb // PPB if drawn_minor is None else drawn_minor
    raise_funding(writer, balance)
    contribute(writer, balance - borrowed(writer, balance) + balance * BUFFER_PPM // PPM)
    return writer.table()


def month_facts(
    scenario: Scenario,
    month: int,
    volumes: Mapping[FundingModel, int],
    balances: Mapping[FundingModel, int],
    approved_by_channel: Mapping[int, int],
    scale_ppb: int,
    first_id: int,
    before: pa.Table | None = None,
    closed: AfterClose | None = None,
    trusts: TrustMonth | None = None,
    *,
    paid: tuple[int, int] = (0, 0),
) -> pa.Table:
    """Facts of one month: amounts are those of the run; `before` holds those of all months before.

    `volumes` is what was lent in the month, `balances` the unpaid principal at its end, both by
    model; `approved_by_channel` counts users with a first line, `paid` payments; `closed` is what a
    quarter that has just been closed left behind; `trusts` is the month of the deals from files.
    """
    writer = FactWriter(scenario, month, first_id)
    earlier = facts_of_table(before) if before is not None else []
    _costs(writer, sum(volumes.values()), approved_by_channel, scale_ppb, paid)
    _fees(writer, volumes, earlier)
    fund_own_loans(
        writer, balances.get(FundingModel.ON_BALANCE_SHEET, 0), earlier, trusts or TrustMonth()
    )
    if closed is not None:
        _after_close(writer, closed)
    for each in _stated(scenario, scale_ppb):
        if to_month(each.effective_on) == month:
            writer.copy(each)
    return writer.table()


def own_funds_account(scenario: Scenario) -> int:
    """The account that loans on the balance sheet are paid from and into, by its number."""
    return load_chart()[cash_of_own_loans(scenario)].number


class AfterClose(NamedTuple):
    """Tax owed and cash held after a close, in the group's currency."""

    tax_owed: Mapping[int, int]
    """By entity, the income tax it owes."""
    cash: int
    """Cash of all entities, restricted cash included."""
    vat_owed: Mapping[int, int] = MappingProxyType({})
    """By entity, the value-added tax it owes."""

    @classmethod
    def of(cls, book: Book) -> AfterClose:
        """After the latest close of a book."""
        ledger = Ledger.of_postings(postings_of(book, effective_closes(book)))
        chart, home = load_chart().by_number, parse(Currency, book.manifest.currency)
        owed: dict[str, dict[int, int]] = {"income_tax_payable": {}, "other_tax_payable": {}}
        cash = 0
        for key, minor in ledger.balances().items():
            if key.currency != home or key.tag != IfrsAdjustment.NONE:
                continue
            if chart[key.account].name in owed and minor < 0:
                owed[chart[key.account].name][key.entity] = -minor
            cash += minor if chart[key.account].is_cash else 0
        return cls(owed["income_tax_payable"], cash, owed["other_tax_payable"])


def _after_close(writer: FactWriter, closed: AfterClose) -> None:
    """Tax is paid, and banks pay the interest of the quarter."""
    group = writer.scenario.group
    for entity, minor in sorted(closed.tax_owed.items()):
        writer.write(entity, GroupFactKind.TAX_PAID, half_up(minor * group.tax_paid_ppm, PPM))
    for entity, minor in sorted(closed.vat_owed.items() if group.vat_prepaid_ppm else ()):
        _prepay_vat(writer, entity, minor)
    earned = half_up(closed.cash * group.bank_interest_ppm, PPM * QUARTERS_A_YEAR)
    writer.write(platform_of(writer.scenario), GroupFactKind.BANK_INTEREST, earned)


def _prepay_vat(writer: FactWriter, entity: int, owed_minor: int) -> None:
    """A part of the quarter's value-added tax, taken to be as much as that of the quarter before.

    What was owed at the close is the rest of that quarter's.
    """
    prepaid, platform = writer.scenario.group.vat_prepaid_ppm, platform_of(writer.scenario)
    minor = half_up(owed_minor * prepaid, PPM - prepaid)
    cash = "cash" if entity == platform else cash_of_own_loans(writer.scenario)
    writer.write(entity, GroupFactKind.TAX_PAID, minor, tax="other_tax_payable", cash=cash)


def _stated(scenario: Scenario, scale_ppb: int) -> tuple[GroupFact, ...]:
    return _read(scenario.group.facts, scale_ppb, scenario.currency)


@lru_cache(maxsize=4)
def _read(content: str, scale_ppb: int, currency: str) -> tuple[GroupFact, ...]:
    """Every month asks for the same text."""
    scaled = scaled_facts(content, scale_ppb, currency)
    return tuple(parse_facts(scaled, parse(Currency, currency), where="group facts"))


def _costs(
    writer: FactWriter, volume_minor: int, approved: Mapping[int, int], scale_ppb: int,
    paid: tuple[int, int],
) -> None:  # fmt: skip
    """Costs of the month, paid on its last day; fees of providers are costs of servicing."""
    rates = writer.scenario.providers
    withheld = half_up(paid[0] * rates.fee_ppm, PPM) + paid[1] * rates.fee_minor
    group, platform = writer.scenario.group, platform_of(writer.scenario)
    total, code = 0, writer.scenario.currency
    for function in sorted({*group.cost_of_volume_ppm, *group.cost_minor, _FEES}, key=_place):
        by_volume = half_up(volume_minor * group.cost_of_volume_ppm.get(function, 0), PPM)
        minor = by_volume + half_up(group.cost_minor.get(function, 0) * scale_ppb, PPB)
        minor += withheld if function == _FEES else 0
        writer.write(platform, GroupFactKind.COST_INCURRED, minor, function=function)
        total += minor
    for channel in writer.scenario.users.channels:
        lines, price = approved.get(channel.number, 0), Money(channel.cost_minor, code)
        if lines and channel.cost_minor:
            made = writer.write(
                platform, GroupFactKind.COST_DRIVER, 0, party=channel.number, quantity=lines,
                driver=CostDriver.CHANNEL_COST.value, price=price.number,
            )  # fmt: skip
            total += driver_cost_minor(made) if made is not None else 0
    writer.write(platform, GroupFactKind.COST_PAID, total)


def _fees(
    writer: FactWriter, volumes: Mapping[FundingModel, int], earlier: list[GroupFact]
) -> None:
    """Institutions are invoiced for referrals and pay in the next month; use is paid at once."""
    platform = platform_of(writer.scenario)
    for each in earlier:
        invoiced = each.kind is GroupFactKind.REFERRAL_INVOICED
        if invoiced and to_month(each.effective_on) == writer.month - 1:
            writer.write(platform, GroupFactKind.FEES_RECEIVED, each.amount_minor, party=each.party)
    for funding in writer.scenario.funding:
        fee_ppm = writer.scenario.terms(funding.model, writer.month).fee_ppm
        minor = volumes.get(funding.model, 0) * fee_ppm // PPM
        party = int(funding.model) + 1
        if funding.model is FundingModel.ICE:
            writer.write(platform, GroupFactKind.REFERRAL_INVOICED, minor, party=party)
        elif funding.model is FundingModel.TECH_SOLUTIONS:
            writer.write(platform, GroupFactKind.FEES_RECEIVED, minor, party=party)


def _place(function: str) -> int:
    return ("servicing_cost", "marketing", "administration").index(function)
