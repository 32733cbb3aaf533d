"""The parts of a scenario file, each read field by field into its type.

A part is a table of keys and readers. What is missing or wrong is kept as a problem, and the part
is then left out; `scenario_file` raises them all together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from usance.base.codes import ChannelKind, FundingModel, Product
from usance.base.dates import to_day
from usance.base.errors import DateError, unknown
from usance.base.fields import Fields, Reader, day, one_of, rate_of, text, whole_of
from usance.base.rates import PPM
from usance.loan.convention import CONVENTIONS
from usance.world.scenario.scenario import (
    FOR_GOOD,
    NO_SPECIALISATIONS,
    Behaviour,
    Channel,
    Demand,
    Group,
    Macro,
    OpeningBook,
    Pricing,
    ProductMix,
    Providers,
    SourceEvent,
    SourceEventKind,
    Specialisations,
    Users,
)
from usance.world.scenario.values import (
    amount_in,
    annual,
    by_name,
    by_period,
    code,
    count,
    factor,
    flow,
    level,
    list_of,
    month,
    share,
    shares_of,
)
from usance.world.shocks import Shock, ShockKind

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)
Part = Callable[[Fields], Any]
"""Reads one field of a part from the part's mapping."""

ELASTICITIES = ("late", "ticket", "income")
FUNCTIONS = ("servicing_cost", "marketing", "administration")
"""Accounts of operating cost, as the facts of a group name them."""
_MODEL = one_of(FundingModel)


def _choice(what: str, choices: Sequence[str]) -> Reader[str]:
    def read(given: Any, where: str) -> str:
        if given in choices:
            return str(given)
        raise unknown(what, str(given), choices, where=where)

    return read


def _member(what: str, kind: type[E]) -> Reader[E]:
    choice = _choice(what, tuple(kind))
    return lambda given, where: kind(choice(given, where))


class ReferencedFiles(Protocol):
    """Reader of the files that a scenario names."""

    def folder(self, given: Any, where: str) -> Mapping[str, str]:
        """The texts of a folder of policies by name."""
        ...

    def text(self, given: Any, where: str) -> str:
        """The text of a file."""
        ...

    def texts(self, given: Any, where: str) -> Mapping[str, str]:
        """The texts of some files by name, each of its own."""
        ...


def built(kind: Callable[..., T], given: Fields | None, parts: Mapping[str, Part]) -> T | None:
    """A part from its fields, or None if one of them is missing or wrong."""
    if given is None:
        return None
    found = {name: part(given) for name, part in parts.items()}
    given.close()
    return None if any(map(_lacks, found.values())) else kind(**found)


def _lacks(value: Any) -> bool:
    return value is None or (isinstance(value, tuple) and None in value)


def needed(key: str, read: Reader[Any]) -> Part:
    """A key that must be there."""
    return lambda given: given.need(key, read)


def optional(key: str, read: Reader[Any], default: Any) -> Part:
    """A key that may be left out."""

    def part(given: Fields) -> Any:
        found = given.take(key, read)
        return default if found is None else found

    return part


def _months(key: str, spread: Any, *, default: bool = False) -> Part:
    def part(given: Fields) -> Any:
        found = by_period(given, key, spread)
        if key in given:
            return found
        return {} if default else given.need(key, text)

    return part


def _named(key: str, name: Reader[Any], read: Reader[int]) -> Part:
    def part(given: Fields) -> Any:
        return by_name(given, key, name, read) if key in given else given.need(key, text)

    return part


def _listed(key: str, read: Callable[[Fields], Any], *, default: bool = False) -> Part:
    def part(given: Fields) -> Any:
        if key not in given and not default:
            return given.need(key, text)
        return tuple(read(each) for each in given.each(key))

    return part


def read_users(given: Fields | None, currency: str) -> Users | None:
    """Users at the opening and later."""
    channel = {
        "number": needed("number", code),
        "name": needed("name", text),
        "kind": needed("kind", lambda value, where: one_of(ChannelKind)(value, where).value),
        "share_ppm": needed("share", share),
        "cost_minor": optional("cost", amount_in(currency), 0),
    }
    return built(Users, given, {
        "opening": needed("opening", count),
        "opening_approved_ppm": needed("opening_approved", share),
        "opening_borrowers_ppm": needed("opening_borrowers", share),
        "registered": _months("registered", flow(count)),
        "applies_ppm": needed("applies", share),
        "business_ppm": needed("business", share),
        "region_ppm": needed("regions", list_of(share)),
        "channels": _listed("channels", lambda each: built(Channel, each, channel)),
    })  # fmt: skip


def read_demand(given: Fields | None, currency: str) -> Demand | None:
    """Demand by month and product."""
    product = {
        "product": needed("product", one_of(Product)),
        "request_ppm": needed("share", share),
        "ticket_minor": needed("ticket", amount_in(currency)),
        "ticket_spread_ppm": needed("spread", factor),
        "months_ppm": _named("months", whole_of(1, 60), share),
        "convention": optional(
            "convention", _choice("convention", tuple(CONVENTIONS)), "level_monthly"
        ),
    }
    return built(
        Demand,
        given,
        {
            "requests": _months("requests", flow(count)),
            "first_time_ppm": needed("first_time", share),
            "ticket_ppm": _months("ticket", level(factor), default=True),
            "products": _listed("products", lambda each: built(ProductMix, each, product)),
            "model_ppm": _months("models", shares_of(_MODEL)),
            "products_from": lambda own: _later(own, product),
        },
    )


def _later(given: Fields, product: Mapping[str, Part]) -> dict[int, tuple[ProductMix, ...]]:
    """The products of later months, each list under its first month."""
    inner = given.inner("products_from")
    found: dict[int, tuple[ProductMix, ...]] = {}
    if inner is None:
        return found
    for written in inner.keys:
        mix = tuple(built(ProductMix, each, product) for each in inner.each(written))
        try:
            found[month(written, inner.where(written))] = tuple(filter(None, mix))
        except DateError as error:
            inner.problems.append(error)
    return found


def read_specialisations(given: Fields) -> Specialisations | None:
    """Specialisations of institutions; none if the scenario gives none."""
    if "desks" not in given:
        return NO_SPECIALISATIONS
    return built(Specialisations, given.inner("desks"), {
        "months": needed("months", list_of(list_of(whole_of(1, 60)))),
        "grades": needed("grades", list_of(list_of(whole_of(1, 100)))),
        "grade_ppm": needed("grade_shares", list_of(share)),
    })  # fmt: skip


def read_source_events(given: Fields) -> tuple[SourceEvent | None, ...]:
    """Events of institutions, each with its days."""
    event = {
        "kind": needed("kind", _member("source event", SourceEventKind)),
        "model": needed("model", _MODEL),
        "first_day": needed("from", _day_number),
        "last_day": optional("to", _day_number, FOR_GOOD),
        "value_ppm": optional("value", factor, -1),
        "numbers": optional("numbers", list_of(whole_of(1, 2_000)), ()),
    }
    return tuple(built(SourceEvent, each, event) for each in given.each("institutions"))


def _day_number(given: Any, where: str) -> int:
    return to_day(day(given, where))


def read_macro(given: Fields | None) -> Macro | None:
    """Prices, work and shocks."""
    shock = {
        "kind": needed("kind", _member("shock", ShockKind)),
        "first_month": needed("from", month),
        "last_month": needed("to", month),
        "factor_ppm": needed("factor", factor),
        "models": optional("models", list_of(_MODEL), ()),
    }
    return built(Macro, given, {
        "cpi_ppm": _months("cpi", level(rate_of(-PPM, PPM))),
        "unemployment_ppm": _months("unemployment", level(share)),
        "shocks": _listed("shocks", lambda each: built(Shock, each, shock), default=True),
        **{f"{name}_elasticity_ppm": _already(value)
           for name, value in _elasticities(given).items()},
    })  # fmt: skip


def _elasticities(given: Fields | None) -> dict[str, int]:
    """Elasticities of behaviour to unemployment and prices; 0 where none is given."""
    inner = given.inner("elasticities") if given is not None else None
    if inner is None:
        return {}
    found = {name: inner.take(name, rate_of(-100 * PPM, 100 * PPM)) for name in ELASTICITIES}
    inner.close()
    return {name: value for name, value in found.items() if value is not None}


def _already(value: int) -> Part:
    return lambda _: value


BEHAVIOUR: Mapping[str, Part] = {
    "late_ppm": needed("late", share),
    "collected30_ppm": needed("collected30", share),
    "cure_ppm": needed("cure", list_of(share)),
    "partial_ppm": needed("partial", share),
    "recovery_ppm": needed("recovery", share),
    "recovered_share_ppm": needed("recovered_share", share),
    "prepay_ppm": needed("prepay", share),
    "repeat_ppm": needed("repeat", factor),
    "hazard_spread_ppm": needed("hazard_spread", factor),
    "first_loan_hazard_ppm": needed("first_loan_hazard", factor),
    "season_ppm": needed("season", list_of(factor)),
    "fraud_ppm": needed("fraud", share),
    "early_ppm": optional("early", share, 0),
    "ring_seen_ppm": optional("ring_seen", share, 0),
    "life_event_ppm": optional("life_event", share, 0),
    "life_event_months": optional("life_event_months", whole_of(0, 24), 0),
    "life_event_hazard_ppm": optional("life_event_hazard", factor, PPM),
}
"""Fields of the behaviour and how each is written."""


def read_behaviour(given: Fields | None) -> Behaviour | None:
    """Payment behaviour."""
    return built(Behaviour, given, BEHAVIOUR)


def read_providers(given: Fields | None, currency: str) -> Providers | None:
    """Payment providers."""
    return built(Providers, given, {
        "providers": needed("providers", whole_of(1, 100)),
        "late_notice_ppm": needed("late_notice", share),
        "late_notice_days": needed("late_notice_days", whole_of(0, 14)),
        "failed_ppm": needed("failed", share), "duplicate_ppm": needed("duplicate", share),
        **{f"{name}_ppm": optional(name, rate_of(0, PPM // 2), 0)
           for name in ("lost", "damaged", "crash")},
        "fee_ppm": optional("fee", share, 0),
        "fee_minor": optional("fee_each", amount_in(currency), 0),
    })  # fmt: skip


def read_opening(given: Fields | None, currency: str) -> OpeningBook | None:
    """The loans that are there."""
    return built(OpeningBook, given, {
        "balance_minor": _named("balance", _MODEL, amount_in(currency)),
        "bucket_ppm": needed("buckets", list_of(share)),
    })  # fmt: skip


def read_pricing(given: Fields | None) -> Pricing | None:
    """Rates, grades and late fees."""
    return built(Pricing, given, {
        "rate_ppm": needed("rates", list_of(annual)),
        "grade_share_ppm": needed("grades", list_of(share)),
        "late_fee_ppm": _months("late_fee", level(share), default=True),
    })  # fmt: skip


def read_group(given: Fields | None, currency: str, files: ReferencedFiles) -> Group | None:
    """The group beside its loans; policies and facts are other files."""
    return built(Group, given, {
        "policies": needed("policies", files.folder),
        "facts": needed("facts", files.text),
        "cost_of_volume_ppm": _named("cost_of_volume", _choice("function", FUNCTIONS), share),
        "cost_minor": _named("cost", _choice("function", FUNCTIONS), amount_in(currency)),
        "funding_cost_ppm": _months("funding_cost", level(annual)),
        "leverage_ppm": needed("leverage", share),
        "leverage_from": _months("leverage_from", level(share), default=True),
        "non_current_ppm": optional("non_current", share, 0),
        "bank_interest_ppm": optional("bank_interest", annual, 0),
        "tax_paid_ppm": optional("tax_paid", share, PPM),
        "vat_prepaid_ppm": optional("vat_prepaid", share, 0),
        "trust_kept_ppm": optional("trust_kept", share, 500_000),
        "deals": optional("deals", files.texts, {}),
    })  # fmt: skip
