"""Capital as rows of `group_facts`, and back: the form in which the books take it.

Kinds are words here; the books number them by the same words. A fact says enough to make its
record again, so the books can ask this room for any cumulative amount: `records_of(facts_of(...))`
gives back what was there.

>>> from decimal import Decimal
>>> from usance.capital.awards import UnitKind
>>> left = UnitChange(UnitKind.FORFEITED, "2024", date(2025, 6, 30), 100)
>>> fact = facts_of(Capital(1, (left,)), "USD")[0]
>>> fact.kind, fact.quantity, fact.detail
('units_changed', 100, {'grant': '2024', 'change': 'forfeited'})
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from typing import Any

from usance.base.document_places import Places
from usance.base.errors import UsanceError, raise_all
from usance.base.fields import Fields
from usance.base.money import MILLION, Money
from usance.base.rates import Rate
from usance.base.stated_fact import StatedFact
from usance.capital.awards import Estimate, Grant, Source, UnitChange, UnitKind
from usance.capital.dividends import Dividend, DividendPaid, Entitlement
from usance.capital.documents.record import KINDS, read_record
from usance.capital.errors import CapitalError
from usance.capital.prices import amount_minor
from usance.capital.records import Capital, Record, day_of
from usance.capital.register import ShareChange
from usance.capital.repurchases import Programme

RECORDED = "dividend_recorded"
"""A derived fact: what a dividend came to on its record date beyond what was declared."""

UNITS = "units_changed"
"""Changes of units; in a document the `change` is the kind itself."""

Detail = dict[str, Any]


def facts_of(capital: Capital, currency: str) -> list[StatedFact]:
    """Every record as a fact; `currency` is that of facts without money of their own."""
    facts = []
    for record in capital.records:
        kind, amount, quantity, detail = _fact_values(record, capital)
        unit = getattr(record, "currency", currency)
        facts.append(
            StatedFact(
                kind, capital.entity, day_of(record), unit, amount, quantity=quantity, detail=detail
            )
        )
    return facts + [_recorded(dividend, capital) for dividend in capital.of(Dividend)]


def records_of(facts: Iterable[StatedFact]) -> Capital:
    """The capital of one entity made again from its facts; all that is wrong is raised at once."""
    given = list(facts)
    entities = sorted({fact.entity for fact in given})
    if len(entities) > 1:
        what = f"facts of {len(entities)} entities: {', '.join(map(str, entities))}"
        raise CapitalError(what, fix="Ask for each entity by itself")
    problems: list[UsanceError] = []
    records = []
    for number, fact in enumerate(given, start=1):
        if fact.kind == RECORDED:
            continue
        fields = Fields(_item(fact), _places(number), problems)
        records.append(read_record(fields, fact.currency))
    capital = Capital(given[0].entity if given else 0, tuple(filter(None, records)))
    raise_all(problems or capital.problems())
    return capital


def _fact_values(record: Record, capital: Capital) -> tuple[str, int, int, Detail]:
    """The kind, amount, quantity and detail of a record."""
    match record:
        case Grant():
            return "grant", 0, record.units, _grant(record)
        case Estimate():
            expected = [_share(share) for share in record.shares]
            return "vesting_estimate", 0, 0, {"grant": record.grant, "shares": expected}
        case UnitChange():
            return UNITS, _proceeds(record, capital), record.units, _change(record)
        case ShareChange():
            detail = {"programme": record.programme} if record.programme else {}
            kind = f"shares_{record.kind.value}"
            return kind, record.amount_minor, record.shares, detail
        case Dividend():
            owed = record.declared_minor(capital.register, record.declared_on)
            shares = capital.register.outstanding(record.declared_on)
            return "dividend_declared", owed, shares, _dividend(record)
        case DividendPaid():
            detail = {"name": record.dividend, "market": record.market.value}
            return "dividend_paid", record.amount_minor, 0, detail
        case Programme():
            detail = {"name": record.name, "until": record.closes_on.isoformat()}
            return "programme_opened", record.limit_minor, 0, detail


def _recorded(dividend: Dividend, capital: Capital) -> StatedFact:
    owed = partial(dividend.declared_minor, capital.register)
    shares = capital.register.outstanding(dividend.record_on)
    return StatedFact(
        RECORDED, capital.entity, dividend.record_on, dividend.currency,
        owed(dividend.record_on) - owed(dividend.declared_on), quantity=shares,
        detail={"name": dividend.name},
    )  # fmt: skip


def _proceeds(change: UnitChange, capital: Capital) -> int:
    if change.kind is not UnitKind.EXERCISED:
        return 0
    grants = (held.grant for held in capital.holdings if held.grant.name == change.grant)
    return sum(amount_minor(change.units, each.exercise_price, each.currency) for each in grants)


def _change(change: UnitChange) -> Detail:
    source = {} if change.source is Source.NEW else {"source": change.source.value}
    return {"grant": change.grant, "change": change.kind.value, **source}


def _grant(grant: Grant) -> Detail:
    return {
        "name": grant.name,
        "award": grant.award.value,
        "fair_value": str(grant.fair_value),
        "exercise_price": str(grant.exercise_price),
        "tranches": [{"on": each.vests_on.isoformat(), "units": each.units}
                    for each in grant.tranches],
        "functions": {function.value: str(Rate(ppm))
                      for function, ppm in grant.functions_ppm},
    }  # fmt: skip


def _dividend(dividend: Dividend) -> Detail:
    detail = {
        "name": dividend.name,
        "per_share": str(dividend.per_share),
        "record_on": dividend.record_on.isoformat(),
    }
    markets = {each.market.value: _entitlement(each) for each in dividend.entitlements}
    form = {"form": _plain(asdict(dividend.form))} if dividend.form else {}
    return {**detail, **markets, **form}


def _entitlement(terms: Entitlement) -> Detail:
    plain: Detail = _plain(asdict(terms))
    del plain["market"]
    plain["withholding"] = str(Rate(plain.pop("withholding_ppm")))
    return plain


def _item(fact: StatedFact) -> Detail:
    """A fact as the entry of a document that would state it."""
    item = {"kind": fact.kind, "on": fact.effective_on, "currency": fact.currency, **fact.detail}
    if fact.kind == UNITS:
        item["kind"] = item.pop("change", "")
    item.pop("record_on", None)  # follows from the markets
    known = KINDS.get(item["kind"])
    quantity_key, amount_key = known.keys if known else ("", "")
    if quantity_key:
        item[quantity_key] = fact.quantity
    if amount_key:
        item[amount_key] = Money(fact.amount_minor, fact.currency).number
    return item


def _share(share: Fraction) -> str:
    """A share in per cent, or as a ratio where that is not exact."""
    ppm = share * MILLION
    return str(Rate(int(ppm))) if ppm.denominator == 1 else str(share)


def _places(number: int) -> Places:
    return lambda path: ", ".join([f"fact {number}", *map(str, path)])


def _plain(value: Any) -> Any:
    """A value as JSON has it; what is not there is left out."""
    plain: dict[type, Callable[[Any], Any]] = {
        dict: lambda each: {k: _plain(v) for k, v in each.items() if v is not None},
        tuple: lambda each: [_plain(item) for item in each],
        Decimal: str,
        datetime: lambda each: f"{each:%Y-%m-%d %H:%M}",
        date: lambda each: each.isoformat(),
    }
    if isinstance(value, Enum):
        return value.value
    return plain.get(type(value), lambda each: each)(value)
