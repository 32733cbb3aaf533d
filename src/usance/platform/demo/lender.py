"""The demo's lender as a document: the sources, channels and prices of a finished twin.

A sandbox has sources of its own; a twin that goes on living keeps those it had, under names.
"""

from __future__ import annotations

from datetime import date
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from usance.base.book import Book
from usance.base.codes import Currency, FundingModel, parse
from usance.base.columns import arrays
from usance.platform.lender import sandbox_document
from usance.twin.run.options import named_scenario

if TYPE_CHECKING:
    from usance.world.scenario.scenario import Scenario

REGIONS = range(1, 11)
DAY_BUDGET, TOTAL_BUDGET, MIN_MONTH = 2_000_000, 20_000_000_000, 200_000
"""Budgets of each source in major units: a total is paced over all years of its mandate; a month
is half as much again as the source has lent in one, and no less than a small demo needs."""
LAST_MONTHS = 3
LAST_DAY = date(2099, 12, 31)


def names() -> dict[str, Any]:
    """Names of the partners."""
    found: dict[str, Any] = yaml.safe_load(
        files("usance.platform.demo").joinpath("names.yaml").read_text("utf-8")
    )
    return found


def lender_of(book: Book, scenario: str, first_day: date) -> dict[str, Any]:
    """The document of a lender that goes on where a run of a scenario ended."""
    document, named = sandbox_document(), names()
    economy = named_scenario(scenario)
    rows = {row["source"]: row for row in book.read("sources").to_pylist()}
    institutions = [_name(named, number) for number in range(1, max(rows) + 1)]
    document |= {
        "time_zone": book.manifest.time_zone, "currency": book.manifest.currency,
        "lines": "shared", "prices": list(economy.pricing.rate_ppm),
        "parties": {"channel": named["channel"], "institution": institutions,
                    "provider": named["provider"]},
        "sources": {number: _terms(economy, row, named) for number, row in rows.items()},
        "mandates": yaml.safe_dump(_mandates(book, rows, named, first_day), sort_keys=False),
    }  # fmt: skip
    owners = {
        "channel": named["channel"][0], "channel_2": named["channel"][1],
        "institution": named["asked"], "institution_2": institutions[0],
    }  # fmt: skip
    for principal, party in owners.items():
        document["principals"][principal]["party"] = party
    return document


def _name(named: dict[str, Any], number: int) -> str:
    known: list[str] = named["sources"]
    return known[number - 1] if number <= len(known) else f"source_{number}"


def _terms(economy: Scenario, row: dict[str, Any], named: dict[str, Any]) -> dict[str, Any]:
    """How a source answers, and the fees of its loans."""
    funding = next(each for each in economy.funding if int(each.model) == row["model"])
    is_asked = _name(named, row["source"]) == named["asked"]
    return {
        "answers": "asked" if is_asked else "at_once", "answer_within_seconds": 1_800,
        "guarantee_fee_ppm": funding.guarantee_fee_ppm, "service_fee_ppm": funding.service_fee_ppm,
        "upfront_fee_ppm": funding.upfront_fee_ppm,
    }  # fmt: skip


def _mandates(
    book: Book, rows: dict[int, dict[str, Any]], named: dict[str, Any], first_day: date
) -> dict[str, Any]:
    """Mandates on the terms that each source had last."""
    elsewhere = [each for each in REGIONS if each != named["asked_region"]]
    lent = _lent_a_month(book)
    stated = []
    for number, row in sorted(rows.items()):
        name = _name(named, number)
        stated.append({
            "source": number, "name": name, "institution": number, "entity": row["entity"],
            "valid": {"from": first_day.isoformat(), "to": LAST_DAY.isoformat()},
            "approved_by": ["risk", "treasury"],
            "model": FundingModel(row["model"]).label, "coupon": _percent(row["coupon_ppm"]),
            "fee": _percent(row["fee_ppm"]),
            "guarantee": {"trigger_days": max(row["trigger_days"], 1)},
            "budgets": {"day": DAY_BUDGET, "total": TOTAL_BUDGET,
                        "month": max(lent.get(number, 0) * 3 // 2, MIN_MONTH)},
            "regions": [named["asked_region"]] if name == named["asked"] else list(elsewhere),
        })  # fmt: skip
    return {"currency": book.manifest.currency, "time_zone": book.manifest.time_zone,
            "sources": stated}  # fmt: skip


def _lent_a_month(book: Book) -> dict[int, int]:
    """Major units that each source has lent in a month, the last ones of a run taken together."""
    loans = arrays(book.read("loans"))
    month = (loans["disbursed_on"].astype("datetime64[D]").astype("datetime64[M]")).astype(np.int64)
    late = (loans["terms_no"] == 1) & (month > month.max(initial=0) - LAST_MONTHS)
    unit = 10 ** parse(Currency, book.manifest.currency).exponent
    source, principal = loans["source"][late], loans["principal_minor"][late]
    return {
        int(each): int(principal[source == each].sum()) // (LAST_MONTHS * unit)
        for each in np.unique(source)
    }


def _percent(ppm: int) -> str:
    return f"{ppm / 10_000:g}%"
