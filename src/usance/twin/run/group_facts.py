"""Group facts of a twin run, month by month, beside its loans.

Two sources: facts the scenario states as such (balances at the opening, shares, rates, dividends),
at the run's scale; and facts that follow from the month: operating cost by function, what channels
are paid, fees of institutions invoiced and received, and the money behind loans on the balance
sheet. That money is borrowed for a month at a time: each month repays the deal of the month before
with its interest and raises the share of the balance that others fund. The rest comes from the
platform, and what the loans earn beyond their losses goes back to it.

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

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pyarrow as pa

from usance.base.book import Book
from usance.base.codes import Currency, FundingModel, IfrsAdjustment, parse
from usance.base.dates import format_month, last_of_month, to_month
from usance.base.money import Money, half_up
from usance.base.rates import PPB, PPM
from usance.base.stated_fact import StatedFact
from usance.books.chart import load_chart
from usance.books.close.closes import effective_closes, postings_of
from usance.books.group.costs import driver_cost_minor
from usance.books.group.documents import parse_facts
from usance.books.group.entities import parse_entities
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import (
    GroupFact,
    fact,
    facts_of_stated,
    facts_of_table,
    table_of_facts,
)
from usance.books.group.funding import deals
from usance.books.group.readers import CostDriver
from usance.books.statements.ledger import Ledger
from usance.twin.run.group_scale import scaled_facts
from usance.twin.run.trust_month import TrustMonth
from usance.world.scenario.scenario import Funding, Scenario

BUFFER_PPM = 50_000
"""Of loans on the balance sheet, what a trust holds in cash when it begins."""
MONTHS_A_YEAR, QUARTERS_A_YEAR = 12, 4
_FEES = "servicing_cost"
IN_DEAL = "/"
"""In the name of a class of a deal from a file, and in none that is raised by the month."""


@dataclass(slots=True)
class _FactWriter:
    """Writer of facts on the last day of a month, numbered one after the other."""

    scenario: Scenario
    month: int
    next_id: int
    facts: list[GroupFact] = field(default_factory=list)

    @property
    def day(self) -> date:
        return last_of_month(self.month)

    @property
    def booked_at(self) -> datetime:
        """The last moment of the business day."""
        zone = ZoneInfo(self.scenario.time_zone)
        return datetime.combine(self.day, time(23, 59, 59), zone).astimezone(UTC)

    def write(
        self, entity: int, kind: GroupFactKind, minor: int, *, party: int = 0, quantity: int = 0,
        **detail: Any,
    ) -> GroupFact | None:  # fmt: skip
        """Write one more fact; an amount of zero is not worth one."""
        if minor <= 0 and not quantity and kind is not GroupFactKind.MANUAL_ENTRY:
            return None
        made = fact(
            self.next_id, entity, kind, self.day, self.booked_at, minor, party=party,
            quantity=quantity, currency=parse(Currency, self.scenario.currency), **detail,
        )  # fmt: skip
        self.facts.append(made)
        self.next_id += 1
        return made

    def deal_fact(self, given: StatedFact) -> None:
        """Write a fact of a deal from a file, dated on its own day."""
        self.facts += facts_of_stated([given], self.next_id, self.booked_at)
        self.next_id += 1

    def copy(self, stated: GroupFact) -> None:
        """Write a fact of the scenario under the next number."""
        values = {name: getattr(stated, name) for name in _COLUMNS}
        detail = json.loads(stated.detail_json)
        self.facts.append(fact(self.next_id, **values, **detail))
        self.next_id += 1

    def table(self) -> pa.Table:
        """Table of all facts written."""
        return table_of_facts(self.facts)


_COLUMNS = (
    "entity", "kind", "effective_on", "booked_at", "amount_minor", "currency", "party", "quantity",
)  # fmt: skip


def opening_facts(scenario: Scenario, scale_ppb: int, drawn_minor: int | None = None) -> pa.Table:
    """Facts by the eve of the first month: what the scenario states, and the opening funding.

    `drawn_minor` is what loans on the balance sheet come to in the opening book: in a small one
    some loans are more or less than the scenario plans, and they are funded as they are.
    """
    eve = scenario.first_month - 1
    writer = _FactWriter(scenario, eve, 1)
    for each in _stated(scenario, scale_ppb):
        if to_month(each.effective_on) <= eve:
            writer.copy(each)
    planned = scenario.opening.balance_minor.get(FundingModel.ON_BALANCE_SHEET, 0)
    balance = planned * scale_ppb // PPB if drawn_minor is None else drawn_minor
    _raise(writer, balance)
    _contribute(writer, balance - _borrowed(writer, balance) + balance * BUFFER_PPM // PPM)
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
    """Facts of one month: amounts are those of the run; `before` holds those of the month before.

    `volumes` is what was lent in the month, `balances` the unpaid principal at its end, both by
    model; `approved_by_channel` counts users with a first line, `paid` payments; `closed` is what a
    quarter that has just been closed left behind; `trusts` is the month of the deals from files.
    """
    writer = _FactWriter(scenario, month, first_id)
    earlier = facts_of_table(before) if before is not None else []
    _costs(writer, sum(volumes.values()), approved_by_channel, scale_ppb, paid)
    _fees(writer, volumes, earlier)
    _funding(
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
    return load_chart()[_cash(scenario)].number


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


def _after_close(writer: _FactWriter, closed: AfterClose) -> None:
    """Tax is paid, and banks pay the interest of the quarter."""
    group = writer.scenario.group
    for entity, minor in sorted(closed.tax_owed.items()):
        writer.write(entity, GroupFactKind.TAX_PAID, half_up(minor * group.tax_paid_ppm, PPM))
    for entity, minor in sorted(closed.vat_owed.items() if group.vat_prepaid_ppm else ()):
        _prepay_vat(writer, entity, minor)
    earned = half_up(closed.cash * group.bank_interest_ppm, PPM * QUARTERS_A_YEAR)
    writer.write(platform_of(writer.scenario), GroupFactKind.BANK_INTEREST, earned)


def _prepay_vat(writer: _FactWriter, entity: int, owed_minor: int) -> None:
    """A part of the quarter's value-added tax, taken to be as much as that of the quarter before.

    What was owed at the close is the rest of that quarter's.
    """
    prepaid, platform = writer.scenario.group.vat_prepaid_ppm, platform_of(writer.scenario)
    minor = half_up(owed_minor * prepaid, PPM - prepaid)
    code = writer.scenario.currency
    cash = "cash" if entity == platform else _cash(writer.scenario)
    writer.write(
        entity, GroupFactKind.MANUAL_ENTRY, 0, actor="treasury", activity="operating",
        reason="value-added tax paid within the quarter",
        lines=[{"account": "other_tax_payable", "amount": Money(minor, code).number},
               {"account": cash, "amount": Money(-minor, code).number}],
    )  # fmt: skip


def _stated(scenario: Scenario, scale_ppb: int) -> tuple[GroupFact, ...]:
    return _read(scenario.group.facts, scale_ppb, scenario.currency)


@lru_cache(maxsize=4)
def _read(content: str, scale_ppb: int, currency: str) -> tuple[GroupFact, ...]:
    """Every month asks for the same text."""
    scaled = scaled_facts(content, scale_ppb, currency)
    return tuple(parse_facts(scaled, parse(Currency, currency), where="group facts"))


def _costs(
    writer: _FactWriter, volume_minor: int, approved: Mapping[int, int], scale_ppb: int,
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
    writer: _FactWriter, volumes: Mapping[FundingModel, int], earlier: list[GroupFact]
) -> None:
    """Institutions are invoiced for referrals and pay in the next month; use is paid at once."""
    platform = platform_of(writer.scenario)
    for each in earlier:
        if each.kind is GroupFactKind.REFERRAL_INVOICED:
            writer.write(platform, GroupFactKind.FEES_RECEIVED, each.amount_minor, party=each.party)
    for funding in writer.scenario.funding:
        fee_ppm = writer.scenario.terms(funding.model, writer.month).fee_ppm
        minor = volumes.get(funding.model, 0) * fee_ppm // PPM
        party = int(funding.model) + 1
        if funding.model is FundingModel.ICE:
            writer.write(platform, GroupFactKind.REFERRAL_INVOICED, minor, party=party)
        elif funding.model is FundingModel.TECH_SOLUTIONS:
            writer.write(platform, GroupFactKind.FEES_RECEIVED, minor, party=party)


def _funding(
    writer: _FactWriter, balance_minor: int, earlier: list[GroupFact], trusts: TrustMonth
) -> None:
    """Deals from files pay as they paid; what they do not hold is funded for a month at a time."""
    for each in trusts.facts:
        writer.deal_fact(each)
    funded = 0
    paid = 0
    named = (each for each in earlier if IN_DEAL not in each.detail.get("deal", IN_DEAL))
    for deal in deals(named).values():
        entity, name = deal.raised.entity, deal.raised.detail["deal"]
        if deal.raised.kind is not GroupFactKind.FUNDING_RAISED or deal.owed(writer.day) <= 0:
            continue
        owed, interest = deal.owed(writer.day), deal.interest(writer.day)
        writer.write(entity, GroupFactKind.FUNDING_REPAID, owed, deal=name)
        writer.write(entity, GroupFactKind.FUNDING_INTEREST_PAID, interest, deal=name)
        funded, paid = funded + owed, paid + interest
    rest = max(balance_minor - trusts.after.pool_minor, 0)
    _raise(writer, rest)
    own_now = rest - _borrowed(writer, rest)
    leverage = writer.scenario.group.leverage(writer.month - 1)
    if trusts.rest_before_minor is not None:
        own_before = trusts.rest_before_minor - half_up(trusts.rest_before_minor * leverage, PPM)
    else:
        own_before = funded * (PPM - leverage) // leverage if leverage else own_now
    in_deals = trusts.after.own_minor - trusts.before.own_minor
    given_back = trusts.to_group_minor - trusts.bought_out_minor
    _contribute(writer, own_now - own_before + in_deals + given_back)
    _distribute(writer, rest, paid)


def _raise(writer: _FactWriter, balance_minor: int) -> None:
    funding, cost = _own(writer.scenario), writer.scenario.group.funding_cost_ppm
    if funding is None:
        return
    whole = _borrowed(writer, balance_minor)
    later = half_up(whole * writer.scenario.group.non_current_ppm, PPM)
    for name, lender, minor in (
        ("investors", "trust_investors", whole - later),
        ("later investors", "trust_investors_non_current", later),
    ):
        writer.write(
            funding.entity, GroupFactKind.FUNDING_RAISED, minor,
            deal=f"{name} {format_month(writer.month)}", lender=lender,
            rate=_percent(cost[max(writer.month, writer.scenario.first_month)]),
            cash=_cash(writer.scenario),
        )  # fmt: skip


def _contribute(writer: _FactWriter, minor: int) -> None:
    """The platform's own money goes to the trust, or back where the trust needs less."""
    funding, platform = _own(writer.scenario), platform_of(writer.scenario)
    if funding is None or funding.entity == platform:
        return
    writer.write(platform, GroupFactKind.CAPITAL_CONTRIBUTED, minor, to=funding.entity)
    placed: dict[str, Any] = {"as": "restricted_cash"}
    writer.write(funding.entity, GroupFactKind.DEPOSIT_PLACED, minor, **placed)
    writer.write(funding.entity, GroupFactKind.RESIDUAL_DISTRIBUTED, -minor, to=platform)


def _distribute(writer: _FactWriter, balance_minor: int, interest_minor: int) -> None:
    """Earnings of a trust's loans beyond what it keeps and its investors earn."""
    funding, platform = _own(writer.scenario), platform_of(writer.scenario)
    if funding is None or funding.entity == platform:
        return
    pricing = writer.scenario.pricing
    mean = sum(r * s for r, s in zip(pricing.rate_ppm, pricing.grade_share_ppm, strict=True)) // PPM
    paid_on = PPM - writer.scenario.group.trust_kept_ppm
    earned = balance_minor * mean * paid_on // (MONTHS_A_YEAR * PPM * PPM)
    writer.write(
        funding.entity, GroupFactKind.RESIDUAL_DISTRIBUTED, earned - interest_minor, to=platform
    )


def _own(scenario: Scenario) -> Funding | None:
    """The funding of loans on the balance sheet."""
    return next((f for f in scenario.funding if f.model is FundingModel.ON_BALANCE_SHEET), None)


def _borrowed(writer: _FactWriter, balance_minor: int) -> int:
    return half_up(balance_minor * writer.scenario.group.leverage(writer.month), PPM)


def _cash(scenario: Scenario) -> str:
    """Account of the money of loans on the balance sheet: restricted in a trust."""
    funding = _own(scenario)
    own = funding is not None and funding.entity == platform_of(scenario)
    return "cash" if own else "restricted_cash"


def platform_of(scenario: Scenario) -> int:
    """The entity of the platform itself."""
    given = scenario.group.policies.get("entities.yaml")
    return parse_entities(given).platform.number if given else 1


def _place(function: str) -> int:
    return ("servicing_cost", "marketing", "administration").index(function)


def _percent(ppm: int) -> str:
    return f"{ppm // 10_000}.{ppm % 10_000:04d}%"
