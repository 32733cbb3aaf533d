"""Numbers of closed sets are a contract: books keep them for years."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from usance.base.codes import Code, Currency, FactKind, FundingModel, Product, code_lists, parse
from usance.base.errors import CodeError

IN_ORDER = {
    "component": "principal interest guarantee_fee service_fee penalty",
    "model": "capital_heavy on_balance_sheet capital_light ice tech_solutions",
    "basis": "us_gaap ifrs_adjustment",
    "tag": "none ecl eir sbc guarantee",
    "kind": "disbursed terms_changed interest_paused fee_charged paid refunded charged_back waived "
    "compensated bought_out charged_off recovered reversed",
    "status": "active closed charged_off",
    "product": "v_pocket instalment sme",
    "routing_outcome": "reserved approved declined timed_out released no_source",
    "decision_kind": "application drawdown review referral",
    "scope": "region band product day month total",
}


@pytest.mark.parametrize("name", IN_ORDER)
def test_numbers_follow_the_contract(name: str) -> None:
    assert code_lists()[name] == {label: n for n, label in enumerate(IN_ORDER[name].split())}


def test_lists_that_are_not_consecutive() -> None:
    assert code_lists()["fee"] == {
        "late_fee": 1,
        "late_interest": 2,
        "early_settlement": 3,
        "returned_payment": 4,
        "other": 9,
    }
    currencies = list(code_lists()["currency"])
    assert currencies[:9] == ["CNY", "USD", "EUR", "HKD", "KES", "GHS", "NGN", "GBP", "JPY"]


def test_kinds_are_those_of_the_specification(shared: Path) -> None:
    text = (shared / "spec" / "data.md").read_text(encoding="utf-8")
    match = re.search(r"`kind` of fact, in rank order: ([a-z_, ]+)\.", text)
    assert match
    assert match[1].split(", ") == [kind.label for kind in FactKind]


def test_codes_fit_eight_bits() -> None:
    numbers = [number for codes in code_lists().values() for number in codes.values()]
    assert all(0 <= number < 128 for number in numbers)


@pytest.mark.parametrize("codes", [FactKind, FundingModel, Product, Currency])
def test_labels_read_back(codes: type[Code]) -> None:
    assert all(parse(codes, member.label) is member for member in codes)


def test_minor_units() -> None:
    assert [Currency[c].exponent for c in ("CNY", "JPY", "KWD", "UGX")] == [2, 0, 3, 0]


@pytest.mark.parametrize("text", ["CAPITAL_HEAVY", "", "0", "capital heavy"])
def test_an_unknown_name_is_refused(text: str) -> None:
    with pytest.raises(CodeError, match="Choices: capital_heavy") as caught:
        parse(FundingModel, text, where="row 3")
    assert caught.value.where == "row 3"


def test_an_unknown_currency_is_named() -> None:
    with pytest.raises(CodeError, match="unknown currency 'RMB'"):
        parse(Currency, "RMB")
