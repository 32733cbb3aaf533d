"""Scenarios as people write them: what is read, what is refused, and where it stands."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.codes import FundingModel, Product
from usance.base.dates import format_month, parse_month
from usance.base.errors import DocumentError, Problems, UsanceError
from usance.base.fields import Fields, whole_of
from usance.base.rates import PPM
from usance.world.scenario.file import PACKAGED, names, read_scenario, write_policies
from usance.world.scenario.scenario import Scenario
from usance.world.scenario.values import flow

CALM = (PACKAGED / "calm.yaml").read_text()
SHOCK_OF_ICE = """macro:
  shocks: [{kind: demand, from: 2023-01, to: 2023-02, factor: 1%, models: [ice]}]
"""


def written(folder: Path, text: str, name: str = "mine.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def changed(folder: Path, old: str, new: str) -> Path:
    assert old in CALM, f"calm.yaml no longer has {old!r}"
    return written(folder, CALM.replace(old, new))


def refusals(path: Path) -> list[str]:
    with pytest.raises(UsanceError) as caught:
        read_scenario(path)
    found = caught.value
    return [str(each) for each in (found.errors if isinstance(found, Problems) else [found])]


def test_the_packaged_scenarios_are_those_named() -> None:
    assert set(names()) == {
        "calm", "recession", "funding-freeze", "fraud-wave", "collection-outage", "growth", "2024",
    }  # fmt: skip


@pytest.mark.parametrize("name", names())
def test_every_packaged_scenario_is_sound(name: str) -> None:
    scenario = read_scenario(name)
    assert scenario.name == name
    months = range(scenario.first_month, scenario.last_month + 1)
    assert all(sum(scenario.demand.model_ppm[month].values()) == PPM for month in months)
    assert all(
        sum(mix.request_ppm for mix in scenario.demand.mix(month)) == PPM for month in months
    )
    assert {each.model for each in scenario.funding} == set(FundingModel)
    assert "entities.yaml" in scenario.group.policies


def test_calm_has_twenty_thousand_users() -> None:
    users = read_scenario("calm").users
    assert users.opening + sum(users.registered.values()) == 20_000


def test_a_variation_differs_in_what_it_says_and_nothing_else() -> None:
    calm, later = read_scenario("calm"), read_scenario("collection-outage")
    own = ("name", "text", "collections")
    same = [each.name for each in fields(Scenario) if each.name not in own]
    assert [getattr(later, each) for each in same] == [getattr(calm, each) for each in same]
    assert later.collections.outages
    assert not calm.collections.outages


def test_periods_of_a_variation_replace_those_below(tmp_path: Path) -> None:
    text = "based_on: calm\nname: more\ntext: t\ndemand:\n  requests: {2023: 1200, 2024H1: 600}\n"
    scenario = read_scenario(written(tmp_path, text))
    assert set(scenario.demand.requests.values()) == {100}
    assert scenario.demand.products == read_scenario("calm").demand.products


def test_full_size_of_2024_is_that_of_the_filings(shared: Path) -> None:
    scenario = read_scenario("2024")
    rows = (shared / "filings" / "003.csv").read_text()
    line = "Cumulative consumers with potential credit needs"
    stated = re.search(rf"{line},,2022-12-31,.*,([\d.]+),0", rows)
    assert stated is not None
    assert scenario.users.opening == round(float(stated[1]) * 1e6)
    balance = re.search(r"Total outstanding loan balance,,2022-12-31,RMB,million,(\d+),0", rows)
    assert balance is not None
    assert sum(scenario.opening.balance_minor.values()) == int(balance[1]) * 10**8


def test_terms_and_products_change_with_their_months(tmp_path: Path) -> None:
    more = """
funding_from:
  - {model: ice, from: 2023-07, fee: 2%}
  - {model: ice, from: 2024-01, fee: 1%}
"""
    scenario = read_scenario(written(tmp_path, CALM + more))
    fees = [scenario.terms(FundingModel.ICE, parse_month(each)).fee_ppm
            for each in ("2023-06", "2023-07", "2023-12", "2024-02")]  # fmt: skip
    assert fees == [27_000, 20_000, 20_000, 10_000]
    assert scenario.terms(FundingModel.ICE, parse_month("2024-02")).sources == 2
    later = read_scenario("2024").demand
    shares = [later.mix(parse_month(each))[0].request_ppm for each in ("2023-01", "2024-01")]
    assert shares == [240_000, 197_000]
    assert later.mix(parse_month("2024-06"))[0].product is Product.V_POCKET


@pytest.mark.parametrize(
    ("desks", "what"),
    [
        ("{months: [[3], [6]], grades: [[1], [2, 3]], grade_shares: [50%, 50%]}", "into one group"),
        ("{months: [[MONTHS]], grades: [[1, 1]], grade_shares: [100%]}", "the groups hold 1, 1"),
        ("{months: [[MONTHS]], grades: [[GRADES]], grade_shares: [90%]}", "sum to 90%"),
        ("{months: [[MONTHS]], grades: [[GRADES]], grade_shares: [50%, 50%]}", "2 values are list"),
        ("{months: [[MONTHS]], grades: [[GRADES]]}", "grade_shares is missing"),
        ("{months: [MONTHS], grades: [[GRADES]], grade_shares: [100%]}", "is no list"),
        ("{months: [EACH], grades: [[GRADES]], grade_shares: [100%]}", "institutions of"),
    ],
)
def test_desks_that_do_not_part_the_requests_are_refused(
    tmp_path: Path, desks: str, what: str
) -> None:
    calm = read_scenario("calm")
    tenors = sorted({n for each in calm.demand.products for n in each.months_ppm})
    for name, values in (("MONTHS", tenors), ("GRADES", range(1, len(calm.pricing.rate_ppm) + 1))):
        desks = desks.replace(name, ", ".join(map(str, values)))
    desks = desks.replace("EACH", ", ".join(f"[{each}]" for each in tenors))
    begin, end = CALM.index("desks:\n"), CALM.index("\nmacro:\n")
    found = refusals(written(tmp_path, f"{CALM[:begin]}desks: {desks}\n{CALM[end:]}"))
    assert any(what in each for each in found), found


def test_amounts_may_be_written_in_words(tmp_path: Path) -> None:
    path = changed(tmp_path, "ice: 1.8 million", "ice: 0.0018 billion")
    assert read_scenario(path) == read_scenario("calm")


@given(total=st.integers(0, 10**9), months=st.integers(1, 12))
def test_a_flow_is_spread_over_its_months_without_loss(total: int, months: int) -> None:
    given_ = Fields({"x": total}, str, [])
    parts = flow(whole_of(0, 10**9))(given_, "x", months)
    assert parts is not None
    assert sum(parts) == total
    assert max(parts) - min(parts) <= 1


def test_policies_are_written_as_a_close_takes_them(tmp_path: Path) -> None:
    from usance.books.group.entities import read_entities

    folder = write_policies(read_scenario("calm"), tmp_path / "policies")
    assert read_entities(folder / "entities.yaml").platform.number == 1


# What is refused


def test_everything_wrong_is_named_at_once_with_its_line(tmp_path: Path) -> None:
    text = CALM.replace("late: 4.5%", "lat: 4.5%").replace("first_time: 12%", "first_time: 112%")
    found = refusals(written(tmp_path, text.replace("seed: 20240630\n", "")))
    line = 1 + text.splitlines().index("  lat: 4.5%")
    assert len(found) == 4
    assert any(
        f"line {line - 1}, behaviour.lat" in each and "unknown key" in each for each in found
    )
    assert any("late is missing" in each for each in found)
    assert any("seed is missing" in each for each in found)
    assert any("112% is too large" in each and "demand.first_time" in each for each in found)


def test_a_problem_of_what_it_is_based_on_names_that_file(tmp_path: Path) -> None:
    written(tmp_path, CALM.replace("late: 4.5%", "late: many"), "base.yaml")
    above = written(tmp_path, "based_on: base\nname: mine\ntext: t\n")
    (found,) = refusals(above)
    assert found.startswith(f"{tmp_path / 'base.yaml'} line")


def test_a_name_that_is_a_year_is_a_name(tmp_path: Path) -> None:
    """YAML reads it as a number."""
    own = written(tmp_path, "based_on: 2024\nname: mine\ntext: t\nseed: 7\n")
    assert read_scenario(own).seed == 7
    assert read_scenario(own).demand == read_scenario("2024").demand


@pytest.mark.parametrize("given", ["[calm]", "{calm: 1}", "true", "nobody"])
def test_what_is_no_name_of_a_scenario_is_refused(tmp_path: Path, given: str) -> None:
    (found,) = refusals(written(tmp_path, f"based_on: {given}\nname: mine\ntext: t\n"))
    assert "scenario" in str(found)


def test_a_scenario_based_on_itself_is_refused(tmp_path: Path) -> None:
    (found,) = refusals(written(tmp_path, "based_on: mine\nname: mine\ntext: t\n"))
    assert "is based on itself" in found


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsanceError, match="Did you mean 'calm'"):
        read_scenario("clam")


def test_a_fitted_value_may_not_be_given_too(tmp_path: Path) -> None:
    path = written(tmp_path, CALM + "\nfitted: {late: 5%}\n")
    with pytest.raises(DocumentError, match="late is given and fitted"):
        read_scenario(path)


def test_fitted_values_are_those_of_the_behaviour(tmp_path: Path) -> None:
    text = CALM.replace("  late: 4.5%\n", "") + "\nfitted: {late: 5%}\n"
    assert read_scenario(written(tmp_path, text)).behaviour.late_ppm == 50_000


def test_a_file_it_names_must_be_there(tmp_path: Path) -> None:
    (found,) = refusals(changed(tmp_path, "facts: calm/facts.yaml", "facts: calm/fcts.yaml"))
    assert "calm/fcts.yaml is not there" in found


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("first_month: 2023-01", "first_month: 2024-07", "before it begins with 2024-07"),
        ("2024Q2: 1400}", "2024-04: 1400}", "2024-05 is missing"),
        ("2024Q2: 1400}", "2024Q2: 1400, 2024-06: 9}", "2024-06 was given before"),
        ("2024Q2: 1400}", "2024Q9: 1400}", "no period"),
        ("regions: [16%,", "regions: [15%,", "sum to 99%"),
        ("kind: own_app, share: 45%", "kind: own_app, share: 46%", "sum to 101%"),
        ("share: 20%, ticket: 1200.00", "share: 19%, ticket: 1200.00", "sum to 99%"),
        ("{1: 50%, 3: 50%}", "{1: 50%, 3: 40%}", "sum to 90%"),
        ("2024H1: {capital_heavy: 35%", "2024H1: {capital_heavy: 34%", "2024-01 sum to 99%"),
        ("{capital_heavy: 35%", "{capital_hevy: 35%", "Did you mean 'capital_heavy'"),
        ("buckets: [96.9%, ", "buckets: [", "6 values are listed"),
        ("rates: [17%,", "rates: [", "6 values are listed"),
        ("cure: [14%, 8%, 5%, 4%, 3%]", "cure: [14%, 8%]", "2 values are listed"),
        ("cure: [14%,", "cure: [97%,", "together have a chance of 101%"),
        ("season: [102%, 108%,", "season: [202%, 208%,", "on average"),
        ("late: 4.5%", "late: 99%", "late and prepaid together"),
        ("number: 2, name: shop", "number: 1, name: shop", "a number is given twice"),
        ("  - {model: ice, sources: 2, fee: 2.7%, approval: 88%, head_room: 88%, eligible: 90%}\n",
         "", "ice has demand and no funding"),
        ("model: ice, sources: 2, fee: 2.7%", "model: ice, sources: 2", "ice without a fee"),
        ("coupon: 7.5%\n", "coupon: 0%\n", "capital_heavy without a coupon"),
        ("guarantee_fee: 5.5%", "guarantee_fee: 9.6%", "exceed the lowest rate, 17%"),
        ("fee: 2.7%,", "fee: 2.7%, guarantee_fee: 1%,", "where nobody guarantees"),
        ("approval: 88%", "approval: 0%", "take nothing"),
        ("model: tech_solutions, sources", "model: ice, sources", "ice is given twice"),
        ("time_zone: Asia/Shanghai", "time_zone: Asia/Shangri", "unknown time zone"),
        ("currency: CNY", "currency: RMB", "unknown currency"),
        ("opening_borrowers: 65%", "opening_borrowers: 0%", "opening book without borrowers"),
        ("macro:\n", "macro:\n  shocks: [{kind: flood, from: 2023-01, to: 2023-02, factor: 1%}]\n",
         "unknown shock 'flood'"),
        ("macro:\n", "macro:\n  shocks: [{kind: demand, from: 2023-03, to: 2023-02, factor: 1%}]\n",
         "ends before it begins"),
        ("macro:\n", SHOCK_OF_ICE, "Name models for funding alone"),
        ("cost_of_volume: {servicing_cost", "cost_of_volume: {serving_cost", "unknown function"),
    ],
)  # fmt: skip
def test_a_contradiction_is_named(tmp_path: Path, old: str, new: str, what: str) -> None:
    found = refusals(changed(tmp_path, old, new))
    assert any(what in each for each in found), found
    assert all("mine.yaml" in each for each in found), found


def test_first_loans_need_someone_who_never_borrowed(tmp_path: Path) -> None:
    text = CALM.replace(
        "registered: {2023: 5300, 2024H1: 2700}", "registered: {2023: 0, 2024H1: 0}"
    )
    text = text.replace("opening_borrowers: 65%", "opening_borrowers: 100%")
    (found,) = refusals(written(tmp_path, text))
    assert "first loans of nobody" in found
    assert "demand.first_time" in found


@pytest.mark.parametrize("amount", ["inf", "nan", "1e9999", "1e99999999", "many"])
def test_an_amount_in_words_that_is_no_number_is_refused(tmp_path: Path, amount: str) -> None:
    (found,) = refusals(changed(tmp_path, "capital_heavy: 4.4 m", f"capital_heavy: {amount} m"))
    assert "mine.yaml" in found
    assert "opening.balance.capital_heavy" in found


def test_an_opening_book_its_borrowers_cannot_owe_is_refused(tmp_path: Path) -> None:
    (found,) = refusals(
        changed(tmp_path, "capital_heavy: 4.4 million", "capital_heavy: 440 million")
    )
    assert "loans on average, and 12 at most" in found
    assert "opening.balance" in found


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("{2023Q1: 1200,", "{2023Q1: 120000,", "126,650 requests, and users can ask"),
        ("opening_approved: 45%", "opening_approved: 1%", "7,850 requests, and users can ask"),
    ],
)
def test_more_demand_than_users_is_refused(tmp_path: Path, old: str, new: str, what: str) -> None:
    text = CALM.replace(old, new)
    text = re.sub(r": [\d.]+ million", ": 0.1 million", text)
    (found,) = refusals(written(tmp_path, text))
    assert what in found
    assert "demand.requests" in found


def test_a_lender_may_begin_without_borrowers(tmp_path: Path) -> None:
    """Its first repeat loans are few; that is no contradiction."""
    text = re.sub(r"(?m)^(  opening: )12000$", r"\g<1>0", CALM)
    text = text.replace("first_time: 12%", "first_time: 60%")
    text = re.sub(r": [\d.]+ million", ": 0", text)
    assert read_scenario(written(tmp_path, text)).users.opening == 0


def test_loans_of_nothing_are_refused(tmp_path: Path) -> None:
    (found,) = refusals(changed(tmp_path, "ticket: 1200.00", "ticket: 0.00"))
    assert "loans of nothing" in found
    assert "demand.products[1].ticket" in found


def test_the_repaired_file_is_read(tmp_path: Path) -> None:
    assert read_scenario(written(tmp_path, CALM)) == read_scenario("calm")


def test_a_forecast_reaches_beyond_the_last_month() -> None:
    """`2024` ends with June; it can be asked to go on to December."""
    found = read_scenario("2024")
    assert (format_month(found.last_month), format_month(found.final_month)) == (
        "2024-06",
        "2024-12",
    )
    assert found.demand.requests[found.final_month] > 0
    assert read_scenario("calm").final_month == read_scenario("calm").last_month


def test_leverage_may_differ_from_month_to_month() -> None:
    group = read_scenario("2024").group
    assert group.leverage(parse_month("2022-12")) == 524_000
    assert group.leverage(parse_month("2023-12")) == 426_000


def test_later_terms_may_change_the_hazard_of_a_model() -> None:
    """Payouts of guaranteed loans fell while others grew worse: their hazard is dated."""
    scenario = read_scenario("2024")
    first, later = (
        scenario.terms(FundingModel.CAPITAL_HEAVY, parse_month(month))
        for month in ("2022-12", "2023-10")
    )
    assert later.hazard_ppm < first.hazard_ppm == 660_000
    assert first.tenor_ppm == later.tenor_ppm == {24: 3_200_000}
    assert first.settlement_days == later.settlement_days == 4


INCIDENTS = """based_on: calm
name: helped
text: Calm with incidents.
incidents: {asks_for_help: 20%, plans: {deferral: 60%, longer_term: 30%}, charged_back_days: 40}
"""


def test_incidents_are_read_and_their_mistakes_named(tmp_path: Path) -> None:
    assert not read_scenario("calm").incidents.are_any
    found = refusals(written(tmp_path, INCIDENTS))
    assert any("plans do not sum to 100%" in each and "line 4" in each for each in found)
    assert any("charged_back_days" in each for each in found)
    unknown_plan = INCIDENTS.replace("deferral", "holiday")
    assert any(
        "unknown plan 'holiday'" in each for each in refusals(written(tmp_path, unknown_plan))
    )
    right = INCIDENTS.replace("30%}", "40%}").replace("days: 40", "days: 4")
    given = read_scenario(written(tmp_path, right)).incidents
    assert (given.are_any, given.plan_ppm["deferral"], given.charged_back_days) == (
        True,
        600_000,
        4,
    )
