"""Mandates of a month, as the router reads them, from what the simulated institutions state."""

from __future__ import annotations

from collections.abc import Mapping

from usance.base.arrays import I64
from usance.base.codes import FundingModel
from usance.base.dates import first_of_month, from_day, last_of_month
from usance.match.mandates.checks import co_lender_minimum_ppm
from usance.match.mandates.co_funding import CoFunding
from usance.match.mandates.mandate import (
    MAX_BUDGET_MINOR,
    Budgets,
    Eligibility,
    Event,
    EventKind,
    Guarantee,
    Mandate,
    Mandates,
    Structure,
)
from usance.world.institutions import Institutions, StatedTerms


def month_mandates(institutions: Institutions, month: int, released_before: I64) -> Mandates:
    """Mandates of a month, from the principal released to each source the month before, by day."""
    sources = range(1, len(institutions.funding) + 1)
    return mandates_of(institutions, month, {n: int(released_before[n].sum()) for n in sources})


def mandates_of(institutions: Institutions, month: int, revolved: Mapping[int, int]) -> Mandates:
    """Mandates of a month; `revolved` is the principal released to each source the month before."""
    scenario = institutions.scenario
    together = co_funding(institutions, month)
    stated = institutions.stated_terms(month, revolved, MAX_BUDGET_MINOR)
    changes = institutions.events.changes(institutions.funding_of(month), month)
    events = (Event(at, source, EventKind(kind), value) for at, source, kind, value in changes)
    return Mandates(
        tuple(_mandate(each, together.get(each.source)) for each in stated),
        currency=scenario.currency, time_zone=scenario.time_zone,
        period=(first_of_month(month), last_of_month(month)), events=tuple(events),
        where="scenario",
    )  # fmt: skip


def co_funding(institutions: Institutions, month: int) -> dict[int, CoFunding]:
    """Partners of the sources that lend with one, in a month."""
    if not institutions.partners:
        return {}
    least = co_lender_minimum_ppm(first_of_month(month))
    return {lead: CoFunding(partner, share, least)
            for lead, (partner, share) in institutions.partners.items()}  # fmt: skip


def _mandate(stated: StatedTerms, together: CoFunding | None) -> Mandate:
    funding, last = stated.funding, from_day(stated.last_day)
    is_own = funding.model is FundingModel.ON_BALANCE_SHEET
    return Mandate(
        source=stated.source, version=stated.version,
        name=f"{funding.model.label} {stated.source}", institution=stated.source,
        entity=funding.entity, valid_from=from_day(stated.first_day), valid_to=last,
        approved_by=("world", "scenario"), model=funding.model, coupon_ppm=stated.coupon_ppm,
        fee_ppm=funding.fee_ppm, approval_ppm=stated.approval_ppm,
        guarantee=Guarantee(trigger_days=max(funding.trigger_days, 1)),
        eligibility=Eligibility(
            regions=stated.regions, months=stated.months, grades=stated.grades
        ),
        budgets=Budgets(total_minor=stated.budget_minor),
        co_funding=together, settlement_lag=funding.settlement_days,
        structure=Structure(revolving_until=last) if is_own else None,
    )  # fmt: skip
