"""The company's own shares from facts of the group: register, awards, dividends, and their cost.

Costs are computed by `usance.capital`; here facts become its terms, and its results amounts to
post.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import date
from fractions import Fraction

from usance.base.money import MILLION, split
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact
from usance.books.group.lines import Amount, Poster
from usance.capital.attribution import retained_share
from usance.capital.awards import (
    CostFunction,
    Estimate,
    Grant,
    Holding,
    Source,
    UnitChange,
    UnitKind,
)
from usance.capital.dividends import Dividend, Entitlement, Market
from usance.capital.register import Register, ShareChange, ShareKind, delivery
from usance.capital.share_based_compensation import IFRS, US_GAAP, cost_minor

_ACCOUNTS = {
    CostFunction.FACILITATION: "servicing_cost",
    CostFunction.MARKETING: "marketing",
    CostFunction.ADMINISTRATION: "administration",
}
_SHARES = {
    GroupFactKind.SHARES_ISSUED: ShareKind.ISSUED,
    GroupFactKind.SHARES_REPURCHASED: ShareKind.REPURCHASED,
    GroupFactKind.SHARES_RETIRED: ShareKind.RETIRED,
    GroupFactKind.SHARES_RESERVED: ShareKind.RESERVED,
    GroupFactKind.SHARES_REISSUED: ShareKind.REISSUED,
}


def register_of(
    facts: Iterable[GroupFact], paid: Callable[[GroupFact], int] | None = None
) -> Register:
    """The share register of the facts; `paid` gives the price, by default a fact's amount."""
    changes: list[ShareChange] = []
    for each in facts:
        if each.kind in _SHARES:
            changes.append(
                ShareChange(
                    _SHARES[each.kind], each.effective_on, each.quantity, each.currency.label,
                    paid(each) if paid else each.amount_minor,
                    each.detail.get("programme") or "", where=each.where,
                )
            )  # fmt: skip
        elif each.kind is GroupFactKind.UNITS_CHANGED:
            handed = delivery(_unit_change(each), each.currency.label)
            changes += [handed] if handed else []
    return Register(tuple(changes))


def holdings_of(facts: Iterable[GroupFact]) -> dict[str, tuple[GroupFact, Holding]]:
    """Every award by name, with its changes and vesting estimates."""
    given = list(facts)
    changes: dict[str, list[UnitChange]] = {}
    estimates: dict[str, list[Estimate]] = {}
    for each in given:
        if each.kind is GroupFactKind.UNITS_CHANGED:
            changes.setdefault(each.detail["grant"], []).append(_unit_change(each))
        elif each.kind is GroupFactKind.VESTING_ESTIMATE:
            name = each.detail["grant"]
            expected = Estimate(name, each.effective_on, _expected(each), each.where)
            estimates.setdefault(name, []).append(expected)
    return {
        each.detail["name"]: (
            each,
            Holding(
                _grant(each),
                tuple(changes.get(each.detail["name"], ())),
                tuple(estimates.get(each.detail["name"], ())),
            ),
        )
        for each in given
        if each.kind is GroupFactKind.GRANT
    }


def share_amounts(facts: Iterable[GroupFact], poster: Poster, day: date) -> Iterator[Amount]:
    """Share-based compensation of both frameworks, treasury cost, dividends declared."""
    given = list(facts)
    register = register_of(given)
    for granted, held in holdings_of(given).values():
        yield from _compensation(granted, held, day)
    for each in given:
        if _leaves_treasury(each):
            own, cost = poster.entities[each.entity].currency, _cost_of(each, given, poster)
            yield Amount("treasury_cost", each, cost, each.effective_on, in_currency=own)
        elif each.kind is GroupFactKind.DIVIDEND_DECLARED:
            yield Amount(each.kind.label, each, declared_minor(each, register, day),
                         each.effective_on)  # fmt: skip


def declared_minor(fact: GroupFact, register: Register, day: date) -> int:
    """The amount of a dividend: as stated, or per share times shares outstanding."""
    if fact.amount_minor:
        return fact.amount_minor
    recorded = fact.detail["record_on"] or fact.effective_on
    code = fact.currency.label
    dividend = Dividend(
        fact.detail["name"], fact.effective_on, code, fact.detail["per_share"],
        (Entitlement(Market.ORDINARY, recorded, recorded, code),), where=fact.where,
    )  # fmt: skip
    return dividend.declared_minor(register, day)


def _compensation(granted: GroupFact, held: Holding, day: date) -> Iterator[Amount]:
    """Cost by function; fair value and exchange rate are those of the grant date."""
    weights = [ppm for _, ppm in held.grant.functions_ppm]
    ours = split(cost_minor(held, US_GAAP, day), weights)
    theirs = split(cost_minor(held, IFRS, day), weights)
    for (function, _), us_gaap, ifrs in zip(held.grant.functions_ppm, ours, theirs, strict=True):
        accounts, on = {"function": _ACCOUNTS[function]}, granted.effective_on
        yield Amount("share_based_compensation", granted, us_gaap, on, accounts)
        yield Amount("share_based_compensation_difference", granted, ifrs - us_gaap, on, accounts)


def _cost_of(left: GroupFact, facts: list[GroupFact], poster: Poster) -> int:
    """The cost of shares leaving treasury: treasury without this fact, less treasury with it."""
    on = left.effective_on
    place = on, left.fact_id
    earlier = [
        each
        for each in facts
        if not _leaves_treasury(each) or (each.effective_on, each.fact_id) <= place
    ]
    without = register_of((each for each in earlier if each is not left), poster.worth)
    after = register_of(earlier, poster.worth)
    return without.treasury_cost_minor(on) - after.treasury_cost_minor(on)


def _leaves_treasury(fact: GroupFact) -> bool:
    """True if treasury shares are retired, reissued or delivered for awards."""
    if fact.kind is GroupFactKind.UNITS_CHANGED:
        handed_over = fact.detail["change"] in (UnitKind.VESTED, UnitKind.EXERCISED)
        return handed_over and fact.detail["source"] is Source.TREASURY
    return fact.kind in (GroupFactKind.SHARES_RETIRED, GroupFactKind.SHARES_REISSUED)


def _expected(fact: GroupFact) -> tuple[Fraction, ...]:
    """The share expected to vest: as stated, or all but the expected leavers."""
    leavers = Fraction(100 * (fact.detail["leavers"] or 0), MILLION)
    return fact.detail["shares"] or (retained_share(leavers),)


def _grant(fact: GroupFact) -> Grant:
    detail = fact.detail
    return Grant(
        detail["name"], detail["award"], fact.effective_on, fact.currency.label,
        detail["fair_value"], detail["tranches"], detail["exercise_price"], detail["functions"],
        where=fact.where,
    )  # fmt: skip


def _unit_change(fact: GroupFact) -> UnitChange:
    detail = fact.detail
    return UnitChange(detail["change"], detail["grant"], fact.effective_on, fact.quantity,
                      detail["source"], where=fact.where)  # fmt: skip
