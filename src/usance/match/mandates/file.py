r"""A file of mandates as people write it, read with line numbers; every problem is named at once.

>>> text = '''
... sources:
...   - source: 1
...     valid: {from: 2024-01-01, to: 2024-12-31}
...     approved_by: [risk, treasury]
...     model: ice
...     fee: 2.7%
...     budgets: {day: 1000000, total: 20000000}
... '''
>>> mandates = parse_mandates(text)
>>> mandates.mandates[0].budgets.day_minor
100000000
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from usance.base.codes import Currency, FundingModel, parse
from usance.base.errors import DocumentError, raise_all
from usance.base.fields import (
    Fields,
    amount_of,
    day,
    fields_of,
    file_fields,
    moment,
    one_of,
    rate_of,
    text,
    whole_of,
)
from usance.base.rates import PPM
from usance.match.errors import MandateError, MandateShare
from usance.match.mandates.checks import co_lender_minimum_ppm, contradictions
from usance.match.mandates.co_funding import CoFunding
from usance.match.mandates.concentration import SHARES
from usance.match.mandates.field_readers import (
    named_number,
    read_attributes,
    read_eligibility,
    read_names,
    texts,
)
from usance.match.mandates.mandate import (
    MAX_BUDGET_MINOR,
    Budgets,
    ConcentrationLimit,
    Distribution,
    Event,
    EventKind,
    Guarantee,
    Mandate,
    Mandates,
    Measure,
    MinimumTake,
    ModelShare,
    Names,
    Platform,
    Structure,
)

MAX_SOURCE = 32_767
share = rate_of(0, PPM, error=MandateShare)
annual = rate_of(0, PPM)
days = whole_of(0, 3650)


def read_mandates(path: Path | str) -> Mandates:
    """The mandates of a `.yaml` or `.json` file, or everything that is wrong with them."""
    return _mandates(file_fields(path), str(path))


def parse_mandates(content: str, *, where: str = "mandates") -> Mandates:
    """The mandates of a YAML text."""
    return _mandates(fields_of(content, where), where)


def _mandates(given: Fields, where: str) -> Mandates:
    problems = given.problems
    # An unknown currency is kept as a problem; amounts are then read as if they were CNY.
    currency = given.take("currency", _currency) or "CNY"
    regions, channels = (read_names(given, key) for key in ("regions", "channels"))
    attributes = tuple(given.take("attributes", read_attributes) or ())
    zone = given.take("time_zone", text) or "Asia/Shanghai"
    period = _period(given.inner("period"))
    platform = _platform(given.inner("platform"), currency)
    sources = given.each("sources")
    if not sources and given.is_mapping:
        given.wrong("no source is listed", "List at least one under 'sources:'", "sources")
    readers = [(each, _mandate(each, currency, regions, channels, attributes)) for each in sources]
    events = [_event(each, currency) for each in given.each("events")]
    given.close()
    read = [(fields, mandate) for fields, mandate in readers if mandate is not None]
    result = Mandates(
        tuple(mandate for _, mandate in read),
        currency, zone, platform, regions, channels, attributes, period,
        tuple(sorted(filter(None, events), key=lambda event: event.at)), where,
    )  # fmt: skip
    problems += contradictions(
        result, [fields.where for fields, _ in read], lambda path: given.where(*path)
    )
    raise_all(problems, where=where)
    return result


def _period(given: Fields | None) -> Any:
    if given is None:
        return None
    first, last = given.need("from", day), given.need("to", day)
    given.close()
    return (first, last) if given.has_needed else None


def _platform(given: Fields | None, currency: str) -> Platform:
    if given is None:
        return Platform()
    amount = amount_of(currency, 0, MAX_BUDGET_MINOR)
    given.accept_former(**_FORMER_PLATFORM_KEYS)
    found: dict[str, Any] = {
        "vat_ppm": given.take("vat", annual),
        "service_cost_ppm": given.take("service_cost", annual),
        "own_funding_ppm": given.take("own_funding_cost", annual),
        "deposit_cost_ppm": given.take("deposit_cost", annual),
        "guarantee_minor": given.take("guarantee_headroom", amount),
        "microcredit_minor": given.take("microcredit_headroom", amount),
        "liquidity_minor": given.take("liquidity", amount),
        "ramp_minor": given.take("ramp", amount),
        "expected_loss_ppm": _losses(given),
        "model_shares": tuple(
            filter(None, (_model_share(each) for each in given.each("model_shares")))
        )
        or None,
    }
    given.close()
    return Platform(**_given(found))


def _losses(given: Fields) -> tuple[tuple[int, int], ...] | None:
    def read(value: Any, where: str) -> tuple[tuple[int, int], ...]:
        if not isinstance(value, dict) or not value:
            fix = "Write 'grade: annual rate' for each grade, such as 1: 2%"
            raise DocumentError("no grades and their losses", where=where, fix=fix)
        grade = whole_of(0, 127)
        pairs = ((grade(key, where), annual(loss, where)) for key, loss in value.items())
        return tuple(sorted(pairs))

    return given.take("expected_loss", read)


def _model_share(given: Fields) -> ModelShare | None:
    model = given.need("model", one_of(FundingModel))
    least, most = given.take("least", share), given.take("most", share)
    given.close()
    if not given.has_needed:
        return None
    return ModelShare(model, least or 0, PPM if most is None else most)


def _mandate(
    given: Fields, currency: str, regions: Names, channels: Names, attributes: tuple[str, ...]
) -> Mandate | None:
    before = len(given.problems)
    number = whole_of(1, MAX_SOURCE, error=MandateError)
    given.accept_former(mix="concentration_limits")
    valid = given.inner("valid")
    period = _period(valid)
    if "valid" not in given:
        given.wrong("valid is missing", "Give valid: {from: 2024-01-01, to: 2024-12-31}", "valid")
    found: dict[str, Any] = {
        "source": given.need("source", number),
        "version": given.take("version", number),
        "name": given.take("name", text),
        "institution": given.take("institution", number),
        "entity": given.take("entity", number),
        "approved_by": tuple(given.take("approved_by", texts) or ()),
        "model": given.need("model", one_of(FundingModel)),
        "coupon_ppm": given.take("coupon", annual),
        "fee_ppm": given.take("fee", annual),
        "approval_ppm": given.take("approval_rate", share),
        "priority": given.take("priority", whole_of(1, 1000)),
        "microcredit": given.take("microcredit", _flag),
        "home_region": given.take("home_region", named_number(regions)),
        "co_share_ppm": given.take("platform_share", share),
        "co_funding": _co_funding(given.inner("co_funding"), period),
        "settlement_lag": given.take("settlement_lag", whole_of(0, 127)),
        "calendar": given.take("calendar", text),
        "guarantee": _guarantee(given.inner("guarantee")),
        "eligibility": read_eligibility(given, currency, regions, channels, attributes),
        "budgets": _budgets(given.inner("budgets"), currency),
        "concentration_limits": tuple(
            filter(
                None, (_concentration(each, regions) for each in given.each("concentration_limits"))
            )
        )
        or None,
        "ramp_minor": given.take("ramp", amount_of(currency, 0, MAX_BUDGET_MINOR)),
        "counts_from": given.take("counts_from", day),
        "minimum_take": _minimum(given.inner("minimum_take"), currency),
        "structure": _structure(given.inner("structure"), currency),
    }
    given.close()
    if len(given.problems) > before or period is None:
        return None
    return Mandate(valid_from=period[0], valid_to=period[1], **_given(found))


def _co_funding(given: Fields | None, period: tuple[date, date] | None) -> CoFunding | None:
    if given is None:
        return None
    partner = given.need("partner", whole_of(1, MAX_SOURCE, error=MandateError))
    part = given.need("share", share)
    given.close()
    if not given.has_needed or period is None:
        return None
    return CoFunding(partner, part, co_lender_minimum_ppm(period[0]))


def _guarantee(given: Fields | None) -> Guarantee | None:
    if given is None:
        return None
    found: dict[str, Any] = {
        "guarantor": given.take("guarantor", whole_of(0, MAX_SOURCE)),
        "trigger_days": given.take("trigger_days", whole_of(1, 180)),
        "premium_ppm": given.take("premium", annual),
        "deposit_ppm": given.take("deposit", share),
    }
    given.close()
    return Guarantee(**_given(found))


def _budgets(given: Fields | None, currency: str) -> Budgets | None:
    if given is None:
        return None
    amount = amount_of(currency, 0, MAX_BUDGET_MINOR)
    found: dict[str, Any] = {f"{key}_minor": given.take(key, amount) for key in _BUDGETS}
    given.close()
    return Budgets(**_given(found))


def _concentration(given: Fields, regions: Names) -> ConcentrationLimit | None:
    """One limit: `region: north` with `share: 30%`, or `expected_loss: 6%`."""
    keys = [measure for measure in Measure if measure.value in given]
    if len(keys) != 1:
        choices = ", ".join(Measure)
        given.wrong(f"a limit on {len(keys)} things", f"Give exactly one of {choices}")
        return None
    measure, member = keys[0], 0
    if measure in SHARES:
        member = given.need(measure, SHARES[measure].reader(regions))
        bound = given.need("share", share)
    else:
        bound = given.need(measure, share if measure is Measure.EXPECTED_LOSS else annual)
    given.close()
    return ConcentrationLimit(measure, bound, member) if given.has_needed else None


def _minimum(given: Fields | None, currency: str) -> MinimumTake | None:
    if given is None:
        return None
    amount = given.need("amount", amount_of(currency, 0, MAX_BUDGET_MINOR))
    fee = given.take("shortfall_fee", share)
    given.close()
    if not given.has_needed:
        return None
    return MinimumTake(amount) if fee is None else MinimumTake(amount, fee)


def _structure(given: Fields | None, currency: str) -> Structure | None:
    if given is None:
        return None
    found: dict[str, Any] = {
        "capital_minor": given.take("capital", amount_of(currency, 0, MAX_BUDGET_MINOR)),
        "revolving_until": given.take("revolving_until", day),
        "buy_out_days": given.take("buy_out_days", days),
        "distribution": given.take("distribution", one_of(Distribution)),
        "residual_ppm": given.take("residual", share),
    }
    given.close()
    return Structure(**_given(found))


def _event(given: Fields, currency: str) -> Event | None:
    at, source = given.need("at", moment), given.need("source", whole_of(1, MAX_SOURCE))
    kind = given.need("event", one_of(EventKind))
    readers: dict[EventKind, Callable[[Any, str], int]] = {
        EventKind.TOTAL_BUDGET: amount_of(currency, 0, MAX_BUDGET_MINOR),
        EventKind.APPROVAL_RATE: share,
    }
    value = given.need("value", readers[kind]) if kind in readers else 0
    given.close()
    if not given.has_needed:
        return None
    return Event(at, source, kind, value)


def _currency(given: Any, where: str) -> str:
    return parse(Currency, text(given, where), where=where).label


def _flag(given: Any, where: str) -> bool:
    if isinstance(given, bool):
        return given
    raise DocumentError(f"{given!r} is neither true nor false", where=where, fix="Write true")


def _given(found: dict[str, Any]) -> dict[str, Any]:
    """Values that were given; the others have their defaults."""
    return {key: value for key, value in found.items() if value is not None}


_FORMER_PLATFORM_KEYS = {
    "mix": "model_shares", "guarantee_room": "guarantee_headroom",
    "microcredit_room": "microcredit_headroom",
}  # fmt: skip
_BUDGETS = ("day", "month", "total")
