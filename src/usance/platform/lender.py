"""The lender as it is configured: products, sources, partners and the flow in force.

Everything is data in the database, by version; an installation begins with one document. A worker
keeps the lender of the last configuration it saw and reads it again when the number has moved.

>>> sandbox = sandbox_document()
>>> sorted(sandbox["products"]), sandbox["payout"]["rejected_ending"]
(['instalment', 'sme', 'v_pocket'], 13)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from usance.base.codes import DEFAULT_PACK, Currency, Product, parse
from usance.base.documents import parse_yaml
from usance.base.packs import CountryPack
from usance.base.parameters import Parameters
from usance.books.chart import load_chart
from usance.books.loans.cells import PLATFORM
from usance.books.posting_templates import CellKey
from usance.loan.convention import CONVENTION_CODES
from usance.match.mandates.file import parse_mandates
from usance.match.mandates.mandate import Mandate, Mandates
from usance.match.reservation.limit_names import NamedLimits
from usance.platform.desk.collection_settings import CollectionSettings, collection_settings
from usance.platform.errors import NotInstalled
from usance.platform.refusals import MonthsNotOffered
from usance.service.help.plan_rules import PlanRules, parse_rules, shipped_rules

if TYPE_CHECKING:
    import asyncpg

    from usance.assess.decision.decide import Decider

SANDBOX, LIVE = 0, 1
"""The mode of an installation; it never changes."""


@dataclass(frozen=True)
class ProductTerms:
    """A product: the months it is offered for, and the convention of its loans."""

    product: Product
    months: tuple[int, ...]
    convention: int

    def check_months(self, months: int) -> None:
        """Refuse a number of months that the product does not have."""
        if months not in self.months:
            offered = ", ".join(map(str, self.months))
            raise MonthsNotOffered(
                f"{self.product.label} is not offered for {months} months", where="months",
                fix=f"Give one of {offered}",
            )  # fmt: skip


@dataclass(frozen=True)
class SourceTerms:
    """Terms of a source beside its mandate: how it answers, and the fees of its loans."""

    source: int
    is_asked: bool
    wait: timedelta
    guarantee_fee_ppm: int
    service_fee_ppm: int
    upfront_fee_ppm: int


@dataclass(frozen=True)
class Payout:
    """The sandbox's payout port: instant, but for amounts with these last two digits."""

    provider: int
    rejected_ending: int
    next_day_ending: int


@dataclass(frozen=True)
class Lender:
    """One installation as configured at one moment."""

    configuration: int
    is_sandbox: bool
    currency: Currency
    zone: ZoneInfo
    document: Mapping[str, Any]
    mandates: Mandates
    products: Mapping[str, ProductTerms]
    sources: Mapping[int, SourceTerms]
    payout: Payout
    parties: Mapping[tuple[str, str], int]
    globally_numbered: frozenset[int]
    """Providers whose references are the numbers of their facts."""
    flow: Mapping[str, Any]
    cells: Mapping[int, CellKey] = field(default_factory=dict)
    """Cells of the ledger by number."""
    values: tuple[Mapping[str, Any], ...] = ()
    """Parameter values that were put in force here, beside those shipped."""
    collections: CollectionSettings = field(default_factory=CollectionSettings)
    plan_rules_text: str = ""
    """Rules of plans that were put in force here; the shipped ones before the first."""
    changes_on: date | None = None
    """The next day on which a setting that is known already comes into force."""

    def business_date(self, moment: datetime) -> date:
        """The day of a moment in the business time zone."""
        return moment.astimezone(self.zone).date()

    def is_past(self, day: date) -> bool:
        """True on a day on which a later setting is in force."""
        return self.changes_on is not None and day >= self.changes_on

    def party(self, kind: str, name: str) -> int | None:
        """The number of a channel, institution or provider."""
        return self.parties.get((kind, name))

    def party_name(self, kind: str, number: int) -> str:
        """The name of a channel, institution or provider."""
        return next((n for (k, n), own in self.parties.items() if (k, own) == (kind, number)), "")

    def mandate(self, source: int, day: date) -> Mandate | None:
        """The latest version of a source's mandate in force on a day."""
        own = [m for m in self.mandates.of_source(source) if m.valid_from <= day <= m.valid_to]
        return max(own, key=lambda each: each.version, default=None)

    def source_name(self, source: int) -> str:
        """The name of a source."""
        own = self.mandates.of_source(source)
        return own[-1].name if own else ""

    def rate_ppm(self, grade: int, decided_ppm: int) -> int:
        """The price of a grade by the lender's own table, else what the flow decided."""
        table = self.document.get("prices")
        return int(table[min(max(grade, 1), len(table)) - 1]) if table else decided_ppm

    @property
    def has_one_line(self) -> bool:
        """True if a user has one line for all products."""
        return bool(self.document.get("lines") == "shared")

    @property
    def platform_entity(self) -> int:
        """The entity whose books hold what the platform itself earns."""
        return int(self.document["platform_entity"])

    @cached_property
    def limits(self) -> NamedLimits:
        """The limits of all mandates, listed once."""
        return NamedLimits(self.mandates)

    @cached_property
    def plan_rules(self) -> PlanRules:
        """Rules of plans for borrowers in trouble."""
        if not self.plan_rules_text:
            return shipped_rules()
        return parse_rules(self.plan_rules_text, "plan_rules")

    @property
    def shipped_parameters(self) -> Parameters:
        """Dated parameters of the country pack, as they are before any value by command."""
        return CountryPack.load(self.document.get("pack", DEFAULT_PACK)).parameters

    @cached_property
    def parameters(self) -> Parameters:
        """Dated parameters: those of the country pack, and the values put in force here."""
        from usance.platform.dated_values import with_values

        return with_values(self.shipped_parameters, self.values)

    @cached_property
    def decider(self) -> Decider:
        """The flow in force, ready to decide."""
        from usance.platform.flow_documents import decider_of

        return decider_of(self.flow, self.parameters)


def sandbox_document() -> dict[str, Any]:
    """The lender of a fresh sandbox; mandates, policies and group facts are texts."""
    folder = files("usance.platform") / "sandbox"
    document: dict[str, Any] = parse_yaml((folder / "lender.yaml").read_text(encoding="utf-8"))
    for name in ("mandates", "group_facts"):
        document[name] = (folder / f"{name}.yaml").read_text(encoding="utf-8")
    entities = (folder / "entities.yaml").read_text(encoding="utf-8")
    document["policies"] = {"entities.yaml": entities}
    return document


async def read_lender(connection: asyncpg.Connection) -> Lender:
    """The lender that a database holds, as configured now."""
    installed = await connection.fetchrow("select * from usance.installation")
    if installed is None:
        raise NotInstalled("has no lender", where="the database", fix="Run 'usance up --sandbox'")
    rows = await connection.fetch(
        "select distinct on (kind, name) kind, name, document from usance.settings "
        "where valid_from <= $1 order by kind, name, valid_from desc, version desc",
        installed["business_date"],
    )  # fmt: skip
    changes_on = await connection.fetchval(
        "select min(valid_from) from usance.settings where valid_from > $1",
        installed["business_date"],
    )  # fmt: skip
    parties = await connection.fetch("select * from usance.parties")
    found = {(row["kind"], row["name"]): json.loads(row["document"]) for row in rows}
    values = await connection.fetch(
        "select document from usance.settings where kind = 'parameter' order by name, version"
    )
    cells = await connection.fetch("select * from usance.cells")
    made = _lender(dict(installed), found, [dict(row) for row in parties],
                   tuple(json.loads(row["document"]) for row in values))  # fmt: skip
    rules = found.get(("plan_rules", "plan_rules"), {})
    settings = collection_settings(found, made.parameters, made.currency.name)
    return replace(made, cells={row["cell"]: _cell(row) for row in cells}, changes_on=changes_on,
                   collections=settings, plan_rules_text=rules.get("text", ""))  # fmt: skip


def _lender(
    installed: Mapping[str, Any], found: Mapping[tuple[str, str], Any],
    parties: list[dict[str, Any]], values: tuple[Mapping[str, Any], ...],
) -> Lender:  # fmt: skip
    document = found.get(("lender", "lender"), {})
    names = {(row["kind"], row["name"]): row["party"] for row in parties}
    flow = document.get("flow", "consumer")
    payout = document.get("payout", {})
    mandates = found.get(("mandates", "mandates"))
    return Lender(
        configuration=installed["configuration"], is_sandbox=installed["mode"] == SANDBOX,
        currency=Currency(installed["currency"]), zone=ZoneInfo(installed["time_zone"]),
        document=document,
        mandates=parse_mandates(mandates["text"]) if mandates else Mandates(()),
        products={name: _product(name, given)
                  for name, given in document.get("products", {}).items()},
        sources={int(number): _source(int(number), given)
                 for number, given in document.get("sources", {}).items()},
        payout=Payout(names.get(("provider", payout.get("provider", "")), 0),
                      payout.get("rejected_ending", -1), payout.get("next_day_ending", -1)),
        parties=names,
        globally_numbered=frozenset(
            row["party"] for row in parties if row["globally_numbered"]
        ),
        flow=found.get(("flow", flow), {"shipped": flow}), values=values,
    )  # fmt: skip


def _product(name: str, given: Mapping[str, Any]) -> ProductTerms:
    convention = CONVENTION_CODES[given["convention"]]
    return ProductTerms(parse(Product, name), tuple(given["months"]), convention)


def _source(number: int, given: Mapping[str, Any]) -> SourceTerms:
    wait = timedelta(seconds=given.get("answer_within_seconds", 30))
    fees = (given.get(f"{name}_fee_ppm", 0) for name in ("guarantee", "service", "upfront"))
    return SourceTerms(number, given["answers"] == "asked", wait, *fees)


def _cell(row: Mapping[str, Any]) -> CellKey:
    """A cell, with the accounts that one names which states none, as a close has them."""
    cash = load_chart()["cash"].number
    return CellKey(row["cell"], row["model"], row["entity"] or PLATFORM, bool(row["related"]),
                   row["fund_cash"] or cash, row["payout_cash"] or cash)  # fmt: skip
