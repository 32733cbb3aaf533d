"""Dated parameters: the shipped ones are sound, reading leaves a trace, mistakes are named."""

from __future__ import annotations

from contextvars import copy_context
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from usance.base.errors import ParameterError, Problems, RateError, UsanceError
from usance.base.money import Money
from usance.base.parameters import Parameters, trace
from usance.base.rates import Rate

GOOD = """\
description: A rate.
unit: rate
reference: none
values:
  2024-01-01: {value: 24%, source: a law}
  2015-09-01: {value: 36%, source: another law}
"""
TODAY = date(2024, 6, 30)


def mistakes(folder: Path) -> tuple[UsanceError, ...]:
    with pytest.raises(UsanceError) as caught:
        Parameters.load(folder)
    return caught.value.errors if isinstance(caught.value, Problems) else (caught.value,)


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.fixture(scope="module")
def shipped() -> Parameters:
    return Parameters.load()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pricing.rate_cap", Rate(240_000)),
        ("tax.vat", Rate(60_000)),
        ("accounting.non_accrual", 60),
        ("accounting.charge_off", 180),
        ("servicing.compensation_trigger", 60),
        ("funding.co_lender_minimum_share", Rate(300_000)),
        ("funding.guarantee_leverage", Decimal(10)),
        ("collections.quiet_from", "22:00"),
        ("collections.debtor_only", True),
        ("lines.consumer_maximum", Money(20_000_000, "CNY")),
    ],
)
def test_shipped_values(shipped: Parameters, name: str, value: object) -> None:
    assert shipped.at(name, TODAY).value == value


def test_everything_shipped_is_sound_and_documented(shipped: Parameters, root: Path) -> None:
    page = (root / "docs" / "reference" / "parameters.md").read_text(encoding="utf-8")
    for name in shipped.by_name:
        assert f"`{name}`" in page, f"docs/reference/parameters.md does not list {name}"


def test_the_value_in_force_is_the_last_begun(tmp_path: Path) -> None:
    write(tmp_path, "pricing/cap.yaml", GOOD)
    parameters = Parameters.load(tmp_path)
    at = [parameters.at("pricing.cap", day).integer for day in (
        date(2015, 9, 1), date(2023, 12, 31), date(2024, 1, 1), date(2099, 1, 1))]  # fmt: skip
    assert at == [360_000, 360_000, 240_000, 240_000]
    value = parameters.at("pricing.cap", date(2024, 1, 1))
    assert (value.unit, value.source, value.valid_from) == ("rate", "a law", date(2024, 1, 1))


def test_a_day_before_the_first_value(shipped: Parameters) -> None:
    with pytest.raises(ParameterError, match="Ask for 2016-05-01 or later"):
        shipped.at("tax.vat", date(2016, 4, 30))


def test_an_unknown_name_suggests_the_nearest(shipped: Parameters) -> None:
    with pytest.raises(ParameterError, match=r"Did you mean 'pricing\.rate_cap'"):
        shipped.at("pricing.ratecap", TODAY)
    with pytest.raises(ParameterError, match="See docs"):
        shipped.at("zzz", TODAY)


def test_reading_leaves_a_trace_in_every_open_block(shipped: Parameters) -> None:
    with trace() as outer:
        shipped.at("tax.vat", TODAY)
        with trace() as inner:
            vat = shipped.at("tax.vat", date(2020, 1, 1))
        copy_context().run(shipped.at, "pricing.rate_cap", TODAY)
    shipped.at("tax.vat", TODAY)
    assert [read.name for read in outer] == ["tax.vat", "tax.vat", "pricing.rate_cap"]
    assert [(read.on, read.value) for read in inner] == [(date(2020, 1, 1), vat)]
    assert len(vat.file_sha256) == 64


def test_only_whole_numbers_are_integers(shipped: Parameters) -> None:
    assert shipped.at("lines.consumer_maximum", TODAY).integer == 20_000_000
    assert shipped.at("accounting.charge_off", TODAY).integer == 180
    with pytest.raises(ParameterError, match=r"Use its \.value"):
        _ = shipped.at("collections.quiet_from", TODAY).integer


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("description: A rate.", "", "has no description"),
        ("reference: none", "reference: 5", "has no reference"),
        ("unit: rate", "unit: rates", "unknown unit 'rates'"),
        ("unit: rate", "units: rate", "unknown field 'units'"),
        ("24%", "NaN", "not a rate"),
        ("24%", "24", "could mean"),
        (", source: a law", "", "not a value with its source"),
        ("source: a law", "source: ''", "has no source"),
        ("2024-01-01:", "2024:", "is not a day"),
        ("2024-01-01:", "2015-09-01:", "is there twice"),
        ("2024-01-01:", "2024-02-30:", "does not exist"),
    ],
)
def test_each_mistake_in_a_file(tmp_path: Path, old: str, new: str, what: str) -> None:
    assert old in GOOD
    write(tmp_path, "cap.yaml", GOOD.replace(old, new, 1))
    findings = mistakes(tmp_path)
    assert what in "\n".join(map(str, findings))
    assert all("cap.yaml" in finding.where for finding in findings)


@pytest.mark.parametrize(
    ("unit", "value", "what"),
    [
        ("days", "1.5", "whole number"),
        ("days", "-1", "whole number"),
        ("days", "true", "whole number"),
        ("count", "many", "whole number"),
        ("money", "5", "unknown currency"),
        ("money", "0.001 CNY", "finer"),
        ("multiple", "ten", "not a number"),
        ("flag", "yes", "neither true nor false"),
        ("clock", "25:00", "time of day"),
        ("text", "5", "not text"),
    ],
)
def test_each_value_that_does_not_fit_its_unit(
    tmp_path: Path, unit: str, value: str, what: str
) -> None:
    text = GOOD.replace("unit: rate", f"unit: {unit}").replace("24%", value).splitlines()[:-1]
    write(tmp_path, "p.yaml", "\n".join(text))
    (finding,) = mistakes(tmp_path)
    assert what in str(finding)
    assert "2024-01-01" in finding.where


def test_a_folder_raises_everything_at_once(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", "- 1")
    write(tmp_path, "b.yaml", "")
    write(tmp_path, "c.yaml", GOOD.replace("values:", "value:"))
    with pytest.raises(Problems) as caught:
        Parameters.load(tmp_path)
    assert len(caught.value.errors) == 4
    (tmp_path / "a.yaml").write_text(GOOD.replace("24%", "x"))
    (tmp_path / "b.yaml").unlink()
    (tmp_path / "c.yaml").unlink()
    with pytest.raises(RateError):
        Parameters.load(tmp_path)


def test_an_empty_or_missing_folder(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(ParameterError, match="holds no parameters"):
            Parameters.load(folder)
