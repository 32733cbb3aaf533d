"""The money behind loans on the balance sheet, month by month.

Each month pays what it cost, and raises or repays what the share of the balance that others fund
has moved by; where the rate is another one, all of it is raised again at that. The rest comes from
the platform, and what the loans earn beyond their losses goes back to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from usance.base.codes import FundingModel
from usance.base.dates import format_month
from usance.base.money import half_up
from usance.base.rates import PPM
from usance.books.group.entities import parse_entities
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact
from usance.books.group.funding import Deal, deals
from usance.twin.run.fact_writer import FactWriter
from usance.twin.run.trust_month import TrustMonth
from usance.world.scenario.scenario import Funding, Scenario

MONTHS_A_YEAR = 12
BY_MONTH = {"trust_investors": "investors", "trust_investors_non_current": "later investors"}
"""By lender, the name of a deal of months, before its first one."""


def fund_own_loans(
    writer: FactWriter, balance_minor: int, earlier: list[GroupFact], trusts: TrustMonth
) -> None:
    """Deals from files pay as they paid; what they do not hold is funded by the month."""
    for each in trusts.facts:
        writer.deal_fact(each)
    by_month = [
        each for each in earlier
        if each.detail.get("deal", "").rpartition(" ")[0] in BY_MONTH.values()
    ]  # fmt: skip
    open_deals = [deal for deal in deals(by_month).values() if deal.owed(writer.day) > 0]
    funded = sum(deal.owed(writer.day) for deal in open_deals)
    paid = sum(_pay_interest(writer, deal, by_month) for deal in open_deals)
    rest = max(balance_minor - trusts.after.pool_minor, 0)
    raise_funding(writer, rest, open_deals)
    own_now = rest - borrowed(writer, rest)
    leverage = writer.scenario.group.leverage(writer.month - 1)
    if trusts.rest_before_minor is not None:
        own_before = trusts.rest_before_minor - half_up(trusts.rest_before_minor * leverage, PPM)
    else:
        own_before = funded * (PPM - leverage) // leverage if leverage else own_now
    in_deals = trusts.after.own_minor - trusts.before.own_minor
    given_back = trusts.to_group_minor - trusts.bought_out_minor
    contribute(writer, own_now - own_before + in_deals + given_back)
    _distribute(writer, rest, paid)


def _pay_interest(writer: FactWriter, deal: Deal, by_month: Sequence[GroupFact]) -> int:
    """The interest of a deal since it was last paid."""
    name, paid = deal.raised.detail["deal"], GroupFactKind.FUNDING_INTEREST_PAID
    before = sum(
        each.amount_minor for each in by_month if each.kind is paid and each.detail["deal"] == name
    )
    minor = deal.interest(writer.day) - before
    writer.write(deal.raised.entity, paid, minor, deal=name)
    return minor


def raise_funding(writer: FactWriter, balance_minor: int, open_deals: Sequence[Deal] = ()) -> None:
    """Funding of a balance by others, less what they fund already at the rate of the month."""
    funding, cost = _own(writer.scenario), writer.scenario.group.funding_cost_ppm
    if funding is None:
        return
    rate = cost[max(writer.month, writer.scenario.first_month)]
    whole = borrowed(writer, balance_minor)
    later = half_up(whole * writer.scenario.group.non_current_ppm, PPM)
    wanted = {"trust_investors": whole - later, "trust_investors_non_current": later}
    names = {lender: f"{name} {format_month(writer.month)}" for lender, name in BY_MONTH.items()}
    for deal in open_deals:
        name, lender = deal.raised.detail["deal"], str(deal.raised.detail["lender"])
        owed = deal.owed(writer.day)
        kept = min(owed, wanted[lender]) if deal.raised.detail["rate"] == rate else 0
        writer.write(deal.raised.entity, GroupFactKind.FUNDING_REPAID, owed - kept, deal=name)
        if kept:
            wanted[lender] -= kept
            names[lender] = name
    for lender, minor in wanted.items():
        writer.write(
            funding.entity, GroupFactKind.FUNDING_RAISED, minor, deal=names[lender], lender=lender,
            rate=_percent(rate), cash=cash_of_own_loans(writer.scenario),
        )  # fmt: skip


def contribute(writer: FactWriter, minor: int) -> None:
    """The platform's own money goes to the trust, or back where the trust needs less."""
    funding, platform = _own(writer.scenario), platform_of(writer.scenario)
    if funding is None or funding.entity == platform:
        return
    writer.write(platform, GroupFactKind.CAPITAL_CONTRIBUTED, minor, to=funding.entity)
    placed: dict[str, Any] = {"as": "restricted_cash"}
    writer.write(funding.entity, GroupFactKind.DEPOSIT_PLACED, minor, **placed)
    writer.write(funding.entity, GroupFactKind.RESIDUAL_DISTRIBUTED, -minor, to=platform)


def _distribute(writer: FactWriter, balance_minor: int, interest_minor: int) -> None:
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


def borrowed(writer: FactWriter, balance_minor: int) -> int:
    """The part of a balance that others fund."""
    return half_up(balance_minor * writer.scenario.group.leverage(writer.month), PPM)


def cash_of_own_loans(scenario: Scenario) -> str:
    """Account of the money of loans on the balance sheet: restricted in a trust."""
    funding = _own(scenario)
    own = funding is not None and funding.entity == platform_of(scenario)
    return "cash" if own else "restricted_cash"


def platform_of(scenario: Scenario) -> int:
    """The entity of the platform itself."""
    given = scenario.group.policies.get("entities.yaml")
    return parse_entities(given).platform.number if given else 1


def _percent(ppm: int) -> str:
    return f"{ppm // 10_000}.{ppm % 10_000:04d}%"
