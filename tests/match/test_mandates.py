"""Mandates: everything a file may say, its defaults, and every contradiction by name and line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.match.mandates import document, mandates, source
from usance.base.codes import FundingModel, Product
from usance.base.errors import InputError, Problems
from usance.match.mandates.file import parse_mandates, read_mandates
from usance.match.mandates.limits import LimitKind, list_limits
from usance.match.mandates.mandate import NO_LIMIT, Measure

FULL = """
currency: CNY
time_zone: Asia/Shanghai
period: {from: 2024-06-01, to: 2024-06-30}
regions: [north, south, east]
channels: {own_app: 1, partner: 7}
attributes: [repeat, owner]
platform:
  vat: 6%
  service_cost: 0.8%
  own_funding_cost: 4.3%
  deposit_cost: 4%
  expected_loss: {1: 2%, 2: 4%, 3: 8%}
  guarantee_headroom: 900000000
  microcredit_headroom: 50000000
  liquidity: 20000000
  model_shares:
    - {model: ice, least: 10%, most: 60%}
sources:
  - source: 4
    version: 2
    name: Northern Bank
    institution: 12
    entity: 3
    valid: {from: 2024-01-01, to: 2024-12-31}
    approved_by: [head of funding, head of risk]
    model: capital_heavy
    coupon: 6.25%
    fee: 0.5%
    approval_rate: 93%
    priority: 2
    home_region: north
    platform_share: 30%
    settlement_lag: 2
    calendar: weekends
    guarantee: {guarantor: 9, trigger_days: 90, premium: 1.5%, deposit: 5%}
    amount: {from: 500, to: 50000}
    borrower_limit: 80000
    months: [3, 6-12]
    products: [instalment, sme]
    regions: [north]
    grades: [1, 2]
    channels: [partner]
    needs: [repeat]
    refuses: [owner]
    blacklist: [17, 99]
    opens: "08:00"
    cut_off: "22:00"
    budgets: {day: 300000, month: 5000000, total: 20000000}
    concentration_limits:
      - {grade: 2, share: 40%}
      - {product: sme, share: 25%}
      - {expected_loss: 3.5%}
      - {average_rate_max: 20%}
      - {average_rate_min: 10%}
    minimum_take: {amount: 1000000, shortfall_fee: 2%}
    structure: {capital: 1000000, revolving_until: 2024-09-30, buy_out_days: 45, residual: 90%}
events:
  - {at: "2024-06-10T12:00:00+08:00", source: 4, event: leaves}
"""


def problems(text: str) -> list[InputError]:
    """Everything that a file is refused for."""
    with pytest.raises(InputError) as caught:
        parse_mandates(text, where="m.yaml")
    error = caught.value
    return list(error.errors) if isinstance(error, Problems) else [error]  # type: ignore[arg-type]


def test_every_field_is_read(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(FULL, encoding="utf-8")
    book = read_mandates(file)
    one = book.mandates[0]
    own = one.eligibility
    assert (one.source, one.version, one.institution, one.entity) == (4, 2, 12, 3)
    assert (one.model, one.coupon_ppm, one.fee_ppm) == (FundingModel.CAPITAL_HEAVY, 62_500, 5_000)
    assert (one.approval_ppm, one.priority, one.co_share_ppm) == (930_000, 2, 300_000)
    assert own.months == {3, 6, 7, 8, 9, 10, 11, 12}
    assert own.products == {Product.INSTALMENT, Product.SME}
    assert [sorted(each) for each in (own.regions, own.channels, own.grades)] == [[1], [7], [1, 2]]
    assert [*own.needs, *own.refuses, *sorted(own.blacklist)] == ["repeat", "owner", 17, 99]
    assert (own.opens, own.cut_off) == (8 * 3600, 22 * 3600)
    assert (own.min_amount_minor, own.max_amount_minor, own.borrower_minor) == (
        50_000,
        5_000_000,
        8_000_000,
    )
    assert one.budgets.day_minor == 300_000_00
    assert [each.measure for each in one.concentration_limits][-1] is Measure.AVERAGE_RATE_MIN
    assert one.minimum_take is not None
    assert one.minimum_take.shortfall_fee_ppm == 20_000
    assert one.guarantee.trigger_days == 90
    assert one.structure is not None
    assert one.structure.buy_out_days == 45
    assert book.platform.losses == {1: 20_000, 2: 40_000, 3: 80_000}
    assert book.events[0].source == 4


def test_what_is_left_out_has_its_default() -> None:
    one = mandates().mandates[0]
    assert one.version == 1
    assert one.approval_ppm == 1_000_000
    assert one.budgets.total_minor == NO_LIMIT
    assert not one.eligibility.regions  # every region
    assert one.guarantee.trigger_days == 60


CONTRADICTIONS = {
    "dates reversed": (source(valid="{from: 2024-05-01, to: 2024-04-01}"), "match.mandate.dates"),
    "one approver": (source(approved_by="[risk, Risk]"), "match.mandate.approval"),
    "no approver": (source(approved_by=None), "match.mandate.approval"),
    "no coupon": (source(coupon=None), "match.mandate"),
    "no fee": (source(model="ice", coupon=None), "match.mandate"),
    "premium for nobody": (source(guarantee="{premium: 1%}"), "match.mandate"),
    "guarantor of ice": (
        source(model="ice", fee="3%", guarantee="{guarantor: 2}"), "match.mandate",
    ),
    "a share of an unknown grade": (
        source(concentration_limits="[{grade: 99, share: 10%}]"), "match.mandate.unknown",
    ),
    "own part too small": (source(platform_share="10%"), "match.mandate.share"),
    "own part is all": (source(platform_share="100%"), "match.mandate.share"),
    "amounts reversed": (source(amount="{from: 900, to: 100}"), "match.mandate.empty"),
    "borrower below a loan": (
        source(amount="{from: 900}", borrower_limit="500"), "match.mandate.empty",
    ),
    "budget below a loan": (
        source(amount="{from: 900}", budgets="{day: 500}"), "match.mandate.budget",
    ),
    "take above total": (
        source(budgets="{total: 500}", minimum_take="{amount: 501}"), "match.mandate.budget",
    ),
    "take above days": (
        source(budgets="{day: 1}", minimum_take="{amount: 367}"), "match.mandate.budget",
    ),
    "never open": (source(opens='"22:00"', cut_off='"08:00"'), "match.mandate.empty"),
    "unknown grade": (source(grades="[1, 99]"), "match.mandate.unknown"),
    "shares too small": (
        source(
            grades="[1, 2]",
            concentration_limits="[{grade: 1, share: 30%}, {grade: 2, share: 40%}]",
        ),
        "match.mandate.share",
    ),
    "share above one": (
        source(concentration_limits="[{grade: 1, share: 140%}]"),
        "match.mandate.share",
    ),
    "loss below the best": (
        source(concentration_limits="[{expected_loss: 1%}]"),
        "match.mandate.empty",
    ),
    "rates reversed": (
        source(concentration_limits="[{average_rate_max: 10%}, {average_rate_min: 12%}]"),
        "match.mandate.empty",
    ),
    "empty list": (source(regions="[]"), "match.mandate"),
    "approves nothing": (source(approval_rate="0%"), "match.mandate.empty"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_each_contradiction_is_named_with_its_line(name: str) -> None:
    text, code = CONTRADICTIONS[name]
    found = problems(document(text))
    assert [error.code for error in found] == [code]
    assert re.search(r"line \d+", found[0].where)
    assert found[0].fix


@pytest.mark.parametrize(
    ("top", "what"),
    [
        ("regions: [north, north]\n", "'north' is there twice"),
        ("attributes: [a, b, a]\n", "'a' is there twice"),
        ('attributes: ["a|b"]\n', "has a '|'"),
        (f"attributes: [{', '.join(f'a{n}' for n in range(63))}]\n", "63 attributes"),
        (
            "platform: {model_shares: [{model: ice, most: 6%}, {model: ice, most: 5%}]}\n",
            "two target",
        ),
        ("platform: {expected_loss: {3: 101%}}\n", "101% is too large"),
    ],
)
def test_the_lists_of_the_whole_file_are_checked(top: str, what: str) -> None:
    (found,) = problems(document(top=top))
    assert what in found.what
    assert "line 1" in found.where


def test_versions_that_overlap_are_named() -> None:
    early = source(valid="{from: 2024-01-01, to: 2024-06-30}")
    late = source(version="2", valid="{from: 2024-06-30, to: 2024-12-31}")
    (found,) = problems(document(early, late))
    assert found.code == "match.mandate.dates"
    assert "2024-06-29" in found.fix
    mandates(early, late.replace("2024-06-30", "2024-07-01"))


def test_unknown_places_and_keys_are_named_together() -> None:
    text = document(
        source(regions="[nort]", needs="[rich]", copon="6%"), top="regions: [north, south]\n"
    )
    found = problems(text)
    assert {error.code for error in found} == {"match.mandate.unknown", "input.code"}
    assert any("Did you mean 'north'" in error.fix for error in found)
    assert any("copon" in error.what for error in found)


def test_a_regional_source_stays_at_home() -> None:
    top = "regions: [north, south]\n"
    (found,) = problems(document(source(home_region="north", regions="[north, south]"), top=top))
    assert found.code == "match.mandate.empty"
    mandates(source(home_region="north", regions="[north]"), top=top)


@pytest.mark.parametrize(
    "text", ["", "sources: []", "sources: 3", "[1, 2]", "sources:\n- {", "a: b"]
)
def test_what_is_no_file_of_mandates(text: str) -> None:
    assert problems(text)


def test_limits_are_numbered_once() -> None:
    book = parse_mandates(FULL)
    limits = list_limits(book)
    assert [each.number for each in limits] == list(range(1, len(limits) + 1))
    assert {each.kind for each in limits} >= {
        LimitKind.GUARANTEE,
        LimitKind.DAY,
        LimitKind.CONCENTRATION,
    }


def test_a_file_of_former_names_is_read_as_before_with_its_lines() -> None:
    former = FULL.replace("concentration_limits:", "mix:").replace("model_shares:", "mix:")
    former = former.replace("_headroom:", "_room:")
    assert parse_mandates(former) == parse_mandates(FULL)
    found = problems(former.replace("share: 40%", "share: 400%"))
    line = 1 + former[: former.index("share: 40%")].count("\n")
    assert found[0].where.startswith(f"m.yaml line {line},")
