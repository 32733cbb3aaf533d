"""A deal file that contradicts itself is refused when it is read, with its line and the fix."""

# ruff: noqa: E501 -- each row is one change to a file and what is said about it
from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from usance.base.errors import UsanceError
from usance.conform.commands import app
from usance.fund.deal_file import parse_deal, read_deal
from usance.fund.sample import sample_path

BAD = {
    "unknown name": ("amount: \"max([classes - pool_end, 0])\"", "amount: \"max([classes - pool_and, 0])\"", "line 67, waterfall.amortising[7].amount: unknown name 'pool_and'. Did you mean 'pool_end'?"),
    "unknown account": ("{move: reserve, to: collection}", "{move: reserves, to: collection}", "line 61, waterfall.amortising[1].move: unknown account 'reserves'. Did you mean 'reserve'?"),
    "unknown class": ("{interest: [B]}", "{interest: [C]}", "line 65, waterfall.amortising[5].interest: unknown class 'C'"),
    "unknown fee": ("{fee: servicing}", "{fee: service}", "unknown fee 'service'. Did you mean 'servicing'?"),
    "unknown step": ("{fee: servicing}", "{pay: servicing}", "unknown step 'pay'. Give one of fee, interest, principal, move, buy, residual"),
    "two steps in one": ("{fee: servicing}", "{fee: servicing, residual: S}", "is not one step"),
    "unknown option": ("{fee: servicing}", "{fee: servicing, ammount: 3}", "unknown key 'ammount'. Did you mean 'amount'?"),
    "status without steps": ("    to: defaulted\n", "    to: revolving\n", "line 54, triggers[2]: the status revolving has no steps"),
    "unknown status": ("  amortising:\n", "  amortizing:\n", "unknown status 'amortizing'. Did you mean 'amortising'?"),
    "proceeds": ("price_minor: 9900000000", "price_minor: 9900000001", "line 26, price_minor: proceeds 10000000000 are not the price 9900000001 and accounts 100000000. Let the price be 9900000000"),
    "rate above 1": ("rate_ppm: 32000}", "rate_ppm: 1000001}", "line 39, classes[1].rate_ppm: 1000001 is too large. Give 0 to 1000000"),
    "rate below 0": ("mdr_ppm: [1000,", "mdr_ppm: [-1,", "pool.mdr_ppm[1]: -1 is too small"),
    "no target": ("{principal: [A, B, S], amount: \"max([classes - pool_end, 0])\"}", "{principal: [A], amount: A.balance - A.target}", "class A has no target. Give targets_minor of class A"),
    "beyond int64": ("defaulted_to_date * 100 > pool_original * 5", "defaulted_to_date * pool_original > 5", "line 52, triggers[1].when: can reach 0 to 100000000000000000000. Keep every product below 2^63"),
    "not a truth": ("when: A.due > 0", "when: A.due", "the formula does not give true or false"),
    "not a number": ("base: pool_start}", "base: pool_start > 1}", "the formula does not give a number"),
    "buys nothing described": ("{residual: S}", "{buy: account.collection}", "buys loans that nobody describes"),
    "class twice": ("{name: B,", "{name: A,", "'A' is there twice"),
    "class without balance": ("{name: B, balance_minor: 1200000000", "{name: B, balance_minor: 0", "class B has a rate and no balance"),
    "reserved name": ("{name: B,", "{name: period,", "'period' means something else"),
    "closing": ("closing_on: 2024-01-01", "closing_on: 2024-03-01", "closes on 2024-03-01, after its first payment date"),
    "share of nothing": ("annual_ppm: 500, base: pool_start", "annual_ppm: 500", "is a share of nothing"),
    "fee of nothing": ("annual_ppm: 500, base: pool_start", "base: pool_start", "says no amount"),
    "weights": ("[600000, 100, 100]", "[900000, 100, 100]", "weights add up to 1300000"),
    "day count": ("day_count: actual/365", "day_count: act/365", "unknown day count 'act/365'"),
    "a day for a month": ("first_period: 2024-01", "first_period: 2024-01-01", "is a day"),
    "typo": ("pay_day: 15", "payday: 15", "pay_day is missing"),
    "formula": ("when: A.due > 0", "when: A.due >", "'the end' where a value belongs in 'A.due >'"),
    "floating rates": ("rate_ppm: 32000}", "rate_ppm: 32000, index: LPR}", "line 39, classes[1].index: index is not offered. Leave it out: hedges, floating rates"),
    "hedge": ("pay_day: 15", "pay_day: 15\nhedge: {swap: 3}", "hedge is not offered"),
    "legal final": ("legal_final_on: 2026-12-31", "legal_final_on: 2025-01-14", "legal_final_on: is before the last payment date 2025-01-15. Let the deal end by then"),
    "class twice in principal": ("principal: [A, B, S]", "principal: [A, B, A]", "line 67, waterfall.amortising[7].principal: class A is there twice. Name each class once"),
    "class twice in interest": ("{interest: [B]}", "{interest: [B, B]}", "waterfall.amortising[5].interest: class B is there twice"),
    "deep formula": ("when: A.due > 0", f"when: {'(' * 4000}A.due{')' * 4000} > 0", "triggers[2].when: 8003 words and signs, more than 500,"),
    "pool without terms": ("rate_ppm: 200000", "rate: 200000", "pool.rate_ppm: rate_ppm is missing"),
    "clean-up without price": ("status: amortising", "status: amortising\nclean_up: {when: pool_end < 5}", "clean_up.price: price is missing"),
    "purchase without supply": ("status: amortising", "status: amortising\npurchase: {rate_ppm: 1, months: 2, amortisation: level, price_ppm: 1}", "purchase.supply_minor: supply_minor is missing"),
    "scenario of two numbers": ("[600000, 100, 100]", "[600000, 100]", "is no scenario. Give [weight_ppm, default, prepayment]"),
    "fee beyond int64": ("annual_ppm: 500, base: pool_start", "share_ppm: 1000000, base: pool_start * 900000000", "line 44, fees[1].base: fee.trustee.due can go beyond 2^63. Divide first with floor(a / n), or take a smaller part"),
    "fee times a number": ("annual_ppm: 500, base: pool_start}", "share_ppm: 1000000, base: pool_start * 1000}\n  - {name: tax, share_ppm: 60000, base: fee.trustee.due * 100000}", "fees[2].base: can reach 0 to"),
    "price beyond int64": ("status: amortising", "status: amortising\nclean_up: {when: pool_end < 5, price: 9223372036854775807}", "clean_up.price: account.collection can go beyond 2^63"),
    "a fraction of a fen": ("price_minor: 9900000000", "price_minor: 9900000000.5", "is not a whole number"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "named"), BAD.values(), ids=BAD.keys())
def test_a_contradiction_is_named(old: str, new: str, named: str) -> None:
    content = sample_path().read_text(encoding="utf-8")
    assert old in content
    with pytest.raises(UsanceError) as caught:
        parse_deal(content.replace(old, new, 1), "deal.yaml")
    assert named in str(caught.value)
    assert "deal.yaml" in str(caught.value)


FLOWS = {
    "closing_on": "2024-01-01", "first_period": "2024-01", "periods": 3, "pay_day": 15,
    "day_count": "actual/365", "status": "amortising",
    "pool": {"balance_minor": 100, "flows": [[1, 50, 0, 0], [1, 50, 0, 0]]},
    "classes": [{"name": "A", "balance_minor": 100, "rate_ppm": 0}],
    "waterfall": {"amortising": [{"principal": "A"}, {"residual": "A"}]},
}  # fmt: skip


def test_flows_fit_the_pool_and_the_deal() -> None:
    assert parse_deal(json.dumps(FLOWS), "deal.json").pool.flows[1].principal_minor == 50
    short = {**FLOWS, "pool": {"balance_minor": 101, "flows": [[1, 50, 0, 0], [1, 50, 0, 0]]}}
    with pytest.raises(UsanceError, match="flows of 2 months in a deal of 3"):
        parse_deal(json.dumps(short), "deal.json")
    more = {**FLOWS, "pool": {"balance_minor": 99, "flows": [[1, 50, 0, 0], [1, 50, 0, 0]]}}
    with pytest.raises(UsanceError, match="more principal than the pool has"):
        parse_deal(json.dumps(more), "deal.json")


def test_a_class_without_balance_lives_on_the_residual(tmp_path: Path) -> None:
    trust = {**FLOWS, "pool": {"balance_minor": 100, "flows": [[9, 50, 0, 0], [4, 50, 0, 0]]},
             "classes": [{"name": "A", "balance_minor": 100, "rate_ppm": 0},
                         {"name": "R", "balance_minor": 0}],
             "waterfall": {"amortising": [{"principal": "A"}, {"residual": "R", "when": True}]}}  # fmt: skip
    expected = {"rows": [{"classes": {"R": {"interest_minor": 0}}},
                         {"classes": {"R": {"interest_minor": 13, "balance_minor": 0}}}, {}],
                "classes": {"R": {"yield_ppb": None, "wal_ppm": None, "short_minor": 0}},
                "paid_minor": 113}  # fmt: skip
    assert _differences(tmp_path, trust, expected) == []


def test_nothing_said_is_nothing_there(tmp_path: Path) -> None:
    """A case may write null or an empty list where a deal has none."""
    bare = {**FLOWS, "clean_up": None, "purchase": None, "triggers": [], "fees": [], "scenarios": [],
            "accounts": {}, "classes": [{"name": "A", "balance_minor": 100, "rate_ppm": 0,
                                         "targets_minor": []}]}  # fmt: skip
    assert _differences(tmp_path, bare, {"paid_minor": 102, "collected_minor": 102}) == []
    with pytest.raises(UsanceError, match="clean_up is empty"):
        parse_deal(json.dumps(bare), "deal.json")


def test_a_called_deal_needs_no_flows_of_the_months_after(tmp_path: Path) -> None:
    called = {**FLOWS, "pool": {"balance_minor": 110, "flows": [[1, 50, 0, 0], [1, 50, 0, 0]]},
              "clean_up": {"when": "pool_end * 10 <= pool_original", "price": "pool_end"}}  # fmt: skip
    expected = {"rows": [{"called_minor": 0}, {"called_minor": 10, "pool_end_minor": 0}],
                "collected_minor": 112, "accounts_end": {"collection": 0}}  # fmt: skip
    assert _differences(tmp_path, called, expected) == []


def test_cases_take_numbers_of_any_size(tmp_path: Path) -> None:
    """A file of a deal keeps to 64 bits, for the kernel; a case is run by the exact form then."""
    large = {**FLOWS, "waterfall": {"amortising": [
        {"principal": "A", "when": "pool_end * pool_original * 1000000000000000000 >= classes"},
        {"residual": "A"}]}}  # fmt: skip
    with pytest.raises(UsanceError, match="Keep every product below"):
        parse_deal(json.dumps(large), "deal.json")
    expected = {"rows": [{"classes": {"A": {"principal_minor": 51}}}, {}, {}],
                "classes": {"A": {"break_even_hundredths": None, "short_minor": 49}}}  # fmt: skip
    assert _differences(tmp_path, large, expected) == []


def _differences(folder: Path, deal: object, expected: object) -> list[str]:
    from usance.conform.deals import check_deals

    file = folder / "cases.json"
    case = {"id": "one", "input": deal, "expected": expected}
    file.write_text(json.dumps({"deals": [case]}), encoding="utf-8")
    (found,) = check_deals(file).results
    return [*map(str, found.problems), *map(str, found.differences)]


def test_a_trigger_that_cannot_fire_is_a_warning() -> None:
    content = sample_path().read_text(encoding="utf-8")
    never = content.replace("when: A.due > 0", "when: period > 12", 1)
    assert parse_deal(never).warnings == ("trigger 'A's interest unpaid' never fires",)
    always = content.replace("when: A.due > 0", "when: period >= 1 and A.balance <= A.original", 1)
    assert parse_deal(always).warnings == ("trigger 'A's interest unpaid' always fires",)
    for when, told in {
        "period == 13": "never", "period != 13": "always", "pool_original == 10000000000": "always",
        "1 != 1": "never",
    }.items():  # fmt: skip
        found = parse_deal(content.replace("when: A.due > 0", f"when: {when}", 1)).warnings
        assert found == (f"trigger 'A's interest unpaid' {told} fires",)
    for when, told in {"period == 13": "can never be made", "period > 0": "is made on the first date",
                       "period == 12": ""}.items():  # fmt: skip
        call = f"status: amortising\nclean_up: {{when: {when}, price: pool_end}}"
        found = parse_deal(content.replace("status: amortising", call, 1)).warnings
        assert found == ((f"the clean-up call {told}",) if told else ())
    back = content.replace("    to: defaulted", "    to: amortising", 1)
    assert "starts at or after its status" in parse_deal(back).warnings[0]
    bought = content.replace("status: amortising", "status: amortising\npurchase: {rate_ppm: 1, "
                             "months: 2, amortisation: level, price_ppm: 1, supply_minor: 5}")  # fmt: skip
    assert parse_deal(bought).warnings == (
        "loans are described under purchase and no step buys them",
    )
    unpaid = content.replace("    - {fee: trustee}\n", "")
    assert parse_deal(unpaid).warnings == ("fee 'trustee' is never paid",)


def test_a_vector_that_does_not_fit_the_dates_is_a_warning() -> None:
    content = sample_path().read_text(encoding="utf-8")
    start = "targets_minor of class B has"
    repeated = f"{start} 3 values for 12 payment dates: the last is repeated from date 4 on"
    unused = f"{start} 13 values for 12 payment dates: those after 12 are not used"
    for values, told in (("[5]", ()), ("[5, 4, 3]", (repeated,)), (str([5] * 12), ()),
                         (str([5] * 13), (unused,))):  # fmt: skip
        given = content.replace("rate_ppm: 45000}", f"rate_ppm: 45000, targets_minor: {values}}}")
        assert parse_deal(given).warnings == told


def test_a_file_of_cases_says_what_differs(tmp_path: Path, shared: Path) -> None:
    cases = json.loads((shared / "cases/deals.json").read_text(encoding="utf-8"))
    cases["deals"][0]["expected"]["rows"][2]["classes"]["A"]["interest_minor"] += 1
    cases["deals"][1]["input"]["pay_day"] = 32
    file = tmp_path / "deals.json"
    file.write_text(json.dumps(cases), encoding="utf-8")
    answer = CliRunner().invoke(app, ["deals", str(file)])
    assert answer.exit_code == 1
    assert "rows[3].classes.A.interest_minor: expected 16939547, got 16939546" in answer.output
    assert "deals[2].input.pay_day: 32 is too large" in answer.output
    assert "0 of 2 deals passed" in answer.output


def test_no_deals(tmp_path: Path) -> None:
    file = tmp_path / "deals.json"
    file.write_text("{}", encoding="utf-8")
    from usance.conform.deals import check_deals

    with pytest.raises(UsanceError, match="holds no deals"):
        check_deals(file)
    with pytest.raises(UsanceError, match="no such file"):
        read_deal(tmp_path / "none.yaml")
