"""The identities of the profile, and the per-share figures its rounding options choose between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from usance.disclose.facts import NO_CURRENCY, UNITS, Fact
from usance.disclose.periods import Period, partitions
from usance.disclose.profile import Identity, Profile
from usance.disclose.table import Table
from usance.disclose.ties import Term, Tie


def declared(table: Table) -> Iterator[Tie]:
    """A tie for each identity of the profile in each column that has all of its terms."""
    for identity in (*table.profile.identities, *per_share(table.profile)):
        for target, period in _targets(table, identity):
            tie = _tie(table, identity, target, period)
            if tie:
                yield tie


def carried_lines(table: Table) -> set[Fact]:
    """Translated figures that another statement makes, even where that cell is lost."""
    return {
        fact
        for identity in table.profile.identities
        if not identity.check_only
        and (not identity.currencies or "translated" in identity.currencies)
        for fact in table.all_of(identity.target)
        if not identity.per
    }


def _targets(table: Table, identity: Identity) -> Iterator[tuple[Fact, Period]]:
    for fact in table.all_of(identity.target):
        currencies = {table.currency(fact, name) for name in identity.currencies}
        if currencies and fact.currency not in currencies:
            continue
        if not identity.at_end:
            yield fact, fact.period
            continue
        for period in table.durations:
            if period.end == fact.period.end:
                yield fact, period


def _tie(table: Table, identity: Identity, target: Fact, period: Period) -> Tie | None:
    top = _terms(table, identity.of, target, period)
    bottom = _terms(table, identity.per, target, period)
    if top is None or bottom is None:
        return None
    if any(fact is target for fact, _ in (*top, *bottom)):
        return None
    if identity.at_end and not _is_reported_here(target, period, top):
        return None
    return Tie(
        identity.rule, target, top, bottom, identity.scale,
        step=precision(target, identity.decimals), interval=identity.interval,
        check_only=identity.check_only or _from_elsewhere(target, (*top, *bottom)),
        method=table.profile.rounding.method, over=period.name if identity.at_end else "",
    )  # fmt: skip


def _is_reported_here(target: Fact, period: Period, terms: tuple[Term, ...]) -> bool:
    """True if the target's document reports on the duration too: a break is reported once."""
    flows = [fact for fact, _ in terms if fact.period == period]
    return all(fact.document == target.document for fact in flows)


def _from_elsewhere(target: Fact, terms: tuple[Term, ...]) -> bool:
    return any(fact.document != target.document for fact, _ in terms)


def _terms(
    table: Table, names: Mapping[str, int], target: Fact, period: Period
) -> tuple[Term, ...] | None:
    terms = []
    for name, times in names.items():
        concept, _, modifier = name.partition("@")
        if concept == "rate":
            fact = table.rate(target.document)
        else:
            fact = table.find(concept, target, period, modifier)
        if fact is None:
            return None
        terms.append((fact, times))
    return tuple(terms)


def precision(fact: Fact, decimals: int | None) -> Fraction | None:
    """The step a rule rounds at: its decimals of the fact's unit, or finer if printed finer."""
    if decimals is None:
        return None
    return min(fact.step, Fraction(UNITS[fact.unit], 10**decimals))


def per_share(profile: Profile) -> Iterator[Identity]:
    """Income per share and per ADS, in both currencies, as the profile makes them."""
    options = profile.rounding
    for kind in ("basic", "diluted"):
        share, ads, shares = f"eps_{kind}", f"ads_eps_{kind}", f"{kind}_shares@none"
        direct = {"attributable": 1}
        yield _eps("income per share = income / shares", share, direct, {shares: 1}, "reporting",
                   options.per_share_decimals)  # fmt: skip
        if options.translated_per_share == "published":
            yield _eps("translated per share = printed per share / rate", share,
                       {f"{share}@reporting": 1}, {"rate": 1}, "translated",
                       options.per_share_decimals)  # fmt: skip
        else:
            yield _eps("income per share = income / shares", share, direct, {shares: 1},
                       "translated", options.per_share_decimals)  # fmt: skip
        for currency in ("reporting", "translated"):
            if options.per_ads == "published":
                yield _eps("per ADS = ratio x printed per share", ads,
                           {share: options.ads_ratio}, {}, currency, None)  # fmt: skip
            else:
                yield _eps("per ADS = ratio x income / shares", ads,
                           {"attributable": options.ads_ratio}, {shares: 1}, currency,
                           options.per_share_decimals)  # fmt: skip
    yield _tax_rate(profile)


def _tax_rate(profile: Profile) -> Identity:
    base = {"pretax_income@reporting": 1}
    if profile.rounding.effective_tax_adds_back == "share_based_pay":
        base["ng_pay@reporting"] = 1
    rule = "effective tax rate"
    return _eps(rule, "text_tax_rate", {"income_tax@reporting": -100}, base, "none", 1)


def _eps(
    rule: str, target: str, of: Mapping[str, int], per: Mapping[str, int], currency: str,
    decimals: int | None,
) -> Identity:  # fmt: skip
    return Identity(rule, target, of, per, Fraction(1), decimals, (currency,), False, False, False)


def shares_over_time(table: Table) -> Iterator[Tie]:
    """Basic shares of a longer period: the average of its parts, weighted by days."""
    for target in table.all_of("basic_shares"):
        if target.currency != NO_CURRENCY:
            continue
        for partition in partitions(target.period, table.durations):
            facts = [table.find("basic_shares", target, period) for period in partition]
            found = [fact for fact in facts if fact]
            if len(found) == len(partition):
                terms = tuple(
                    (fact, part.days) for fact, part in zip(found, partition, strict=True)
                )
                yield Tie(
                    "basic shares: average by days of the parts", target, terms,
                    scale=Fraction(1, target.period.days), step=target.step, interval=True,
                    check_only=True,
                )  # fmt: skip
