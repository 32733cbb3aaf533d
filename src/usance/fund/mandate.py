"""An open deal as a source for matching: what it can still buy, what it takes, what it costs.

>>> from datetime import date
>>> from usance.fund.deal_terms import DealTerms, PoolLimit
>>> from usance.fund.sample import sample_deal
>>> from usance.fund.state import opening_state
>>> deal = sample_deal()
>>> terms = DealTerms(source=9, limits=(PoolLimit("region", 250_000, 3),))
>>> made = deal_mandate(deal, terms, opening_state(deal), date(2024, 12, 31))
>>> made.budgets.total_minor, made.coupon_ppm, made.concentration_limits[0].bound_ppm
(0, 41500, 250000)
"""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from usance.base.codes import FundingModel
from usance.base.documents import parse_yaml
from usance.base.formulas import Call, Formula, Literal, Name
from usance.base.money import Money, half_up
from usance.fund.deal import Deal, Status
from usance.fund.deal_terms import DealTerms
from usance.fund.errors import DealError
from usance.fund.state import DealState
from usance.match.mandates.mandate import (
    Budgets,
    ConcentrationLimit,
    Eligibility,
    Mandate,
    Measure,
)
from usance.match.mandates.parts import written_mandates

SHARES = (Measure.REGION, Measure.GRADE, Measure.PRODUCT)
MEASURES = {
    "region": Measure.REGION,
    "grade": Measure.GRADE,
    "product": Measure.PRODUCT,
    "min_rate_ppm": Measure.AVERAGE_RATE_MIN,
}
"""Limits of a pool that matching knows too; the others hold at selection."""


def deal_mandate(deal: Deal, terms: DealTerms, state: DealState, valid_to: date) -> Mandate:
    """The mandate a deal writes for itself; nothing to lend once it no longer revolves."""
    is_open = state.status is Status.REVOLVING and not state.is_called
    budget = max(state.names["classes"] - state.names["pool_end"], 0) if is_open else 0
    return Mandate(
        source=terms.source,
        name=deal.name,
        entity=terms.entity,
        valid_from=state.paid_on,
        valid_to=valid_to,
        model=FundingModel.ON_BALANCE_SHEET,
        coupon_ppm=funding_cost_ppm(deal, state),
        budgets=Budgets(total_minor=budget),
        eligibility=_eligibility(terms),
        concentration_limits=tuple(
            ConcentrationLimit(MEASURES[limit.measure], limit.bound_ppm, limit.member or 0)
            for limit in terms.limits
            if limit.measure in MEASURES
            and (limit.member is not None or limit.measure not in ("region", "grade", "product"))
        ),
    )


def mandate_text(mandate: Mandate, terms: DealTerms) -> str:
    """The mandate as a file that matching reads; `terms` says who approved the deal.

    >>> from usance.fund.deal_terms import DealTerms
    >>> from usance.fund.sample import sample_deal
    >>> from usance.fund.state import opening_state
    >>> terms = DealTerms(source=9, approved_by=("risk", "treasury"))
    >>> made = deal_mandate(sample_deal(), terms, opening_state(sample_deal()), date(2024, 12, 31))
    >>> print(mandate_text(made, terms).splitlines()[4])
        valid: {from: 2024-01-01, to: 2024-12-31}
    """
    if not mandate.source:
        fix = "Give source: the number of the deal among the sources"
        raise DealError("names no source", where=mandate.name, fix=fix)
    eligible, lines = mandate.eligibility, [
        f"currency: {terms.currency}",
        "sources:",
        f"  - source: {mandate.source}",
        f"    name: {mandate.name}",
        f"    valid: {{from: {mandate.valid_from}, to: {mandate.valid_to}}}",
        f"    entity: {mandate.entity}",
        f"    model: {mandate.model.label}",
        f"    coupon: {_percent(mandate.coupon_ppm)}",
        f"    budgets: {{total: {Money(mandate.budgets.total_minor, terms.currency).number}}}",
    ]  # fmt: skip
    if terms.approved_by:
        lines.append(f"    approved_by: [{', '.join(terms.approved_by)}]")
    if eligible.months:
        lines.append(f"    months: {sorted(eligible.months)}")
    if eligible.borrower_minor >= 0:
        limit = Money(eligible.borrower_minor, terms.currency).number
        lines.append(f"    borrower_limit: {limit}")
    if mandate.concentration_limits:
        lines.append("    concentration_limits:")
        for each in mandate.concentration_limits:
            bound = _percent(each.bound_ppm)
            is_share = each.measure in SHARES
            what = f"{each.member}, share: {bound}" if is_share else bound
            lines.append(f"      - {{{each.measure.value}: {what}}}")
    return "\n".join(lines) + "\n"


def with_deal(given: str, own: str, day: date, renewed_on: date | None = None) -> str:
    """A file of mandates with a deal's own as the version of its source from a day on.

    What the deal does not speak of, such as hours or fees, stays as the source had it, and its
    budgets are counted anew. What it may lend it may lend until it is `renewed_on`, its next
    payment date: plans would else spread the budget over the life of the source.

    >>> given = "sources: [{source: 9, fee: 1%, valid: {from: 2024-01-01, to: 2024-12-31}}]"
    >>> own = "sources: [{source: 9, budgets: {total: 3}}]"
    >>> print(with_deal(given, own, date(2024, 2, 15)).rstrip())
    sources:
    - source: 9
      fee: 1%
      valid:
        from: 2024-01-01
        to: 2024-02-14
    - source: 9
      fee: 1%
      valid:
        from: 2024-02-15
        to: 2024-12-31
      budgets:
        total: 3
      version: 2
    """
    document, (new,) = parse_yaml(given, where="mandates"), parse_yaml(own, where="deal")["sources"]
    listed = document.setdefault("sources", [])
    places = [place for place, each in enumerate(listed) if each.get("source") == new["source"]]
    if places:
        at = places[-1]
        listed[at : at + 1] = _versions(listed[at], new, day)
    else:
        listed.append(new)
    if renewed_on is not None:
        last = max(place for place, each in enumerate(listed) if each["source"] == new["source"])
        listed[last : last + 1] = _until_renewed(listed[last], renewed_on)
    return written_mandates(document)


def _versions(before: dict[str, Any], new: dict[str, Any], day: date) -> list[dict[str, Any]]:
    """The version of a source until a day and the one from it on; one if it began that day."""
    valid, kept = before["valid"], {"name", "valid", "entity", "model", "approved_by"}
    changed = {key: value for key, value in new.items() if key not in kept or key not in before}
    after = {
        **before, **changed, "valid": {"from": day, "to": valid["to"]},
        "version": before.get("version", 1) + 1,
    }  # fmt: skip
    if "budgets" in before and "budgets" in new:
        after["budgets"] = {**before["budgets"], **new["budgets"]}
    if valid["from"] >= day:
        return [{**after, "version": before.get("version", 1), "valid": valid}]
    return [{**before, "valid": {"from": valid["from"], "to": day - timedelta(days=1)}}, after]


def _until_renewed(version: dict[str, Any], renewed_on: date) -> list[dict[str, Any]]:
    """A version with money to lend until it is renewed, then one with none."""
    valid, budgets = version["valid"], version.get("budgets", {})
    if not Decimal(budgets.get("total", 0)) or not valid["from"] < renewed_on <= valid["to"]:
        return [version]
    return [
        {**version, "valid": {"from": valid["from"], "to": renewed_on - timedelta(days=1)}},
        {**version, "valid": {"from": renewed_on, "to": valid["to"]},
         "budgets": {**budgets, "total": 0}, "version": version.get("version", 1) + 1},
    ]  # fmt: skip


def _percent(ppm: int) -> str:
    return f"{ppm // 10_000}.{ppm % 10_000:04}%"


def funding_cost_ppm(deal: Deal, state: DealState) -> int:
    """Interest and yearly fees a year over the pool: what a unit of principal in the deal costs."""
    interest = sum(state.names[f"{each.name}.balance"] * each.rate_ppm for each in deal.classes)
    pool = state.names["pool_end"]
    fees = sum(fee.annual_ppm for fee in deal.fees)
    return half_up(interest, pool) + fees if pool else 0


def _eligibility(terms: DealTerms) -> Eligibility:
    """As much of the deal's criteria as matching can ask of a request: the months of a loan."""
    bounds = [_months_bound(criterion) for criterion in terms.eligibility.values()]
    most = min((bound for bound in bounds if bound is not None), default=None)
    months = frozenset(range(1, most + 1)) if most else frozenset[int]()
    if terms.borrower_minor is None:
        return Eligibility(months=months)
    return Eligibility(months=months, borrower_minor=terms.borrower_minor)


def _months_bound(criterion: Formula) -> int | None:
    """N of `months_left <= N`."""
    if isinstance(criterion, Call) and criterion.op == "<=":
        name, bound = criterion.args
        if name == Name("months_left") and isinstance(bound, Literal):
            return int(bound.value)
    return None


def average_cost_ppm(deals: list[tuple[Deal, DealState]]) -> int:
    """The average cost of asset-backed funding: coupons over balances of classes with a rate."""
    rated = [
        (state.names[f"{each.name}.balance"], each.rate_ppm)
        for deal, state in deals
        for each in deal.classes
        if each.rate_ppm
    ]
    whole = sum(balance for balance, _ in rated)
    cost = sum(balance * rate for balance, rate in rated)
    return half_up(cost, whole) if whole else 0
