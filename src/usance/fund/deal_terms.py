"""Terms of a deal that its payment dates do not need: kind, parties, eligibility, limits.

>>> from usance.fund.sample import sample_path
>>> terms = read_terms(sample_path())
>>> terms.kind.value, terms.currency, list(terms.eligibility)[:2], terms.limits[0]
('plan', 'CNY', ['not past due', 'one instalment paid'], PoolLimit(measure='region', \
bound_ppm=250000, member=None))
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any

from usance.base.codes import Currency
from usance.base.errors import UsanceError, raise_all, unknown
from usance.base.fields import Fields, Reader, day, file_fields, one_of, text, whole_of
from usance.base.formulas import Formula
from usance.base.rates import PPM
from usance.fund.deal import Deal
from usance.fund.deal_file import formula, list_of, names, read_deal
from usance.fund.errors import DealError
from usance.fund.pool_columns import check_criterion

MAX_CODE = 32_767
SHARES = ("region", "grade", "product")
AVERAGES = ("max_pd_ppm", "min_rate_ppm", "max_months")


class DealKind(Enum):
    """The structure of a deal."""

    TRUST = "trust"
    PLAN = "plan"


@dataclass(frozen=True, slots=True)
class PoolLimit:
    """A limit on a pool: a share of it, or an average over it."""

    measure: str
    bound_ppm: int
    """Of a share; the number itself of an average."""
    member: int | None = None
    """The region, grade or product; None for each of them."""


@dataclass(frozen=True, slots=True)
class DealTerms:
    """Everything about a deal beside its waterfall."""

    kind: DealKind = DealKind.PLAN
    currency: str = "CNY"
    entity: int = 1
    source: int = 0
    party: int = 0
    parties: Mapping[str, str] = field(default_factory=dict)
    legal_final_on: date | None = None
    valid_from: date | None = None
    approved_by: tuple[str, ...] = ()
    eligibility: Mapping[str, Formula] = field(default_factory=dict)
    limits: tuple[PoolLimit, ...] = ()
    borrower_minor: int | None = None
    holders: tuple[int, ...] = ()
    """Institutions that hold notes of the deal, by number: they read its reports."""
    retained: tuple[str, ...] = ()
    """Classes that the group holds itself: nothing is raised by them, all they get is residual."""


def read_terms(path: Path | str) -> DealTerms:
    """The terms in a deal file."""
    fields = file_fields(path)
    terms = terms_of_fields(fields)
    raise_all(fields.problems)
    return terms


def checked_deal(path: Path | str) -> Deal:
    """The deal of a file whose terms are sound as well."""
    read_terms(path)
    return read_deal(path)


def terms_of_fields(fields: Fields) -> DealTerms:
    """The terms of a mapping; what is wrong is in its problems."""
    code = whole_of(0, MAX_CODE)
    limits, borrower = _limits(fields)
    return DealTerms(
        fields.take("kind", one_of(DealKind)) or DealKind.PLAN,
        fields.take("currency", _currency) or "CNY",
        fields.take("entity", code) or 1,
        fields.take("source", code) or 0,
        fields.take("party", code) or 0,
        fields.take("parties", _parties) or {},
        fields.take("legal_final_on", day),
        fields.take("valid_from", day),
        fields.take("approved_by", _approvers) or (),
        _eligibility(fields),
        limits,
        borrower,
        fields.take("holders", list_of(code)) or (),
        fields.take("retained", _retained(fields)) or (),
    )


def _currency(given: Any, where: str) -> str:
    if given == Currency.CNY.label.upper() or given == "CNY":
        return "CNY"
    fix = "Give CNY: deals in a foreign currency, hedges and floating rates are not offered"
    raise DealError(f"the currency is {given}", where=where, fix=fix)


def _parties(given: Any, where: str) -> Mapping[str, str]:
    if not isinstance(given, dict):
        raise DealError("is no mapping", where=where, fix="Write role: name for each party")
    return {str(role): text(name, f"{where}.{role}") for role, name in given.items()}


def _approvers(given: Any, where: str) -> tuple[str, ...]:
    listed = given if isinstance(given, list) else [given]
    names = tuple(text(each, where) for each in listed)
    if len(set(names)) < 2:
        raise DealError("is approved by one", where=where, fix="Name two different people")
    return names


def _retained(deal: Fields) -> Reader[tuple[str, ...]]:
    """A reader of classes of the deal."""

    def read(given: Any, where: str) -> tuple[str, ...]:
        listed = [each.take("name", text) for each in deal.each("classes")]
        found = names(given, where)
        for name in found:
            if name not in listed:
                raise unknown("class", name, [each for each in listed if each], where=where)
        return found

    return read


def _eligibility(fields: Fields) -> dict[str, Formula]:
    inner = fields.inner("eligibility")
    found: dict[str, Formula] = {}
    for name in inner.keys if inner else ():
        assert inner is not None
        criterion = inner.take(name, formula)
        if criterion is None:
            continue
        try:
            check_criterion(criterion, inner.where(name))
            found[name] = criterion
        except UsanceError as error:
            fields.problems.append(error)
    return found


def _limits(fields: Fields) -> tuple[tuple[PoolLimit, ...], int | None]:
    found: list[PoolLimit] = []
    borrower = None
    for each in fields.each("limits"):
        kinds = [key for key in (*SHARES, *AVERAGES, "borrower_minor") if key in each]
        if len(kinds) != 1:
            fix = f"Give one of {', '.join((*SHARES, *AVERAGES, 'borrower_minor'))}"
            each.wrong("is not one limit", fix)
            continue
        (kind,) = kinds
        if kind in SHARES:
            member = each.take(kind, _member)
            bound = each.need("share_ppm", whole_of(1, PPM))
            found.append(PoolLimit(kind, bound, None if member == ALL else member))
        elif kind == "borrower_minor":
            borrower = each.take(kind, whole_of(1, 10**13))
        else:
            found.append(PoolLimit(kind, each.need(kind, whole_of(0, PPM))))
        each.close()
    return tuple(found), borrower


ALL = -1


def _member(given: Any, where: str) -> int:
    return ALL if given == "each" else whole_of(0, MAX_CODE)(given, where)
