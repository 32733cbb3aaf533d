"""Loans that two sources fund together: who gives which part, and what such mandates must agree in.

The lead's mandate names its partner and the partner's part of each of its loans. A loan lies inside
both mandates, both institutions approve it, and each part comes out of its own source's budgets, or
none does. The loan is on the lead's terms. A part goes by largest remainder, the lower source first
where remainders are equal; a partner's is never below the least part of a co-lender.

>>> partner_part_minor(100_01, 300_000, 0, True), partner_part_minor(101, 300_000, 300_000, False)
(3000, 31)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from usance.base.errors import UsanceError
from usance.base.rates import PPM, Rate
from usance.match.errors import MandateDates, MandateError, MandateShare, UnknownName

if TYPE_CHECKING:
    from usance.match.mandates.mandate import Mandate, Mandates

Locate = Callable[..., str]
KEY = "co_funding"


@dataclass(frozen=True, slots=True)
class CoFunding:
    """A partner of a source, and its part of each loan."""

    partner: int
    share_ppm: int
    least_ppm: int = 0
    """The least part of a co-lender, which rounding does not go below."""


def partner_part_minor(
    amount_minor: Any, share_ppm: int, least_ppm: int, is_partner_first: bool
) -> Any:
    """Part of a partner in a loan; the lead gives the rest. Takes a column of amounts as well."""
    floor = amount_minor * share_ppm // PPM
    twice = 2 * (amount_minor * share_ppm - floor * PPM)
    part = floor + ((twice > PPM) | ((twice == PPM) & is_partner_first))
    least = -(-amount_minor * least_ppm // PPM)
    return part + (least > part) * (least - part)


def partners_of(mandate: Mandate, mandates: Sequence[Mandate]) -> list[int]:
    """Places of the versions of a mandate's partner that are in force while it is, in order."""
    if mandate.co_funding is None:
        return []
    found = [
        (each.valid_from, place)
        for place, each in enumerate(mandates)
        if each.source == mandate.co_funding.partner
        and each.valid_from <= mandate.valid_to
        and mandate.valid_from <= each.valid_to
    ]
    return [place for _, place in sorted(found)]


def co_funding_problems(mandate: Mandate, book: Mandates, where: Locate) -> Iterator[UsanceError]:
    """Problems of a mandate's co-funding, each at its key."""
    given = mandate.co_funding
    if given is None:
        return
    share = Rate(given.share_ppm)
    if given.share_ppm >= PPM:
        fix = "Leave the lead a part of each loan"
        yield MandateShare(f"the partner lends {share}", where=where(KEY, "share"), fix=fix)
    elif given.share_ppm < given.least_ppm:
        least = Rate(given.least_ppm)
        what = f"the partner lends {share} of each loan, below the least share of {least}"
        yield MandateShare(what, where=where(KEY, "share"), fix=f"Give {least} or more")
    if mandate.co_share_ppm:
        fix = "Keep platform_share or co_funding"
        yield MandateShare("the platform and a partner", where=where(KEY), fix=fix)
    known = {each.source for each in book.mandates}
    if given.partner == mandate.source or given.partner not in known:
        own = given.partner == mandate.source
        what = "a source that is its own partner" if own else f"partner {given.partner} is unknown"
        others = sorted(known - {mandate.source})
        fix = f"Name one of {', '.join(map(str, others))}" if others else "Leave co_funding out"
        yield UnknownName(what, where=where(KEY, "partner"), fix=fix)
        return
    versions = [book.mandates[place] for place in partners_of(mandate, book.mandates)]
    if not versions:
        what = f"source {given.partner} has no mandate while this one is in force"
        fix = "Give the partner a mandate for these days"
        yield MandateDates(what, where=where(KEY, "partner"), fix=fix)
    wrong = {text: fix for each in versions for text, fix in _differences(mandate, each)}
    for text, fix in wrong.items():
        yield MandateError(f"source {given.partner} {text}", where=where(KEY, "partner"), fix=fix)


def _differences(lead: Mandate, partner: Mandate) -> Iterator[tuple[str, str]]:
    """Terms in which a partner's mandate cannot go with the lead's, with what to do."""
    if partner.model is not lead.model:
        yield (f"is {partner.model.label}, this one {lead.model.label}",
               "Name a source of the same model")  # fmt: skip
    cover, own = partner.guarantee, lead.guarantee
    if (cover.guarantor, cover.trigger_days) != (own.guarantor, own.trigger_days):
        yield "has another guarantor or trigger", "Give both the same guarantee"
    if partner.settlement_lag != lead.settlement_lag:
        yield "is settled on other days", "Give both the same settlement_lag"
    if lead.structure is not None or partner.structure is not None:
        yield "or this one lends from a structure", "Name sources whose money does not revolve"
    if partner.co_share_ppm or partner.co_funding is not None:
        yield "shares its own loans with others", "Name a partner that lends alone or as a partner"
    counted = partner.eligibility.borrower_minor >= 0, partner.concentration_limits
    if any(counted) or partner.minimum_take is not None:
        yield ("has limits on borrowers, shares or a minimum take, which do not count its parts",
               "Give it budgets and eligibility alone")  # fmt: skip
