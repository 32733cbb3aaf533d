"""A loan as a person writes it: what it means, and that all its mistakes are found in one pass."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.calendars import Roll
from usance.base.codes import Component, FactKind, Fee
from usance.base.dates import to_day
from usance.base.document_places import document_places
from usance.base.errors import CodeError, CurrencyMismatch, DocumentError, Problems, UsanceError
from usance.base.fields import Fields
from usance.base.ids import fact_ref
from usance.loan.convention import (
    CONVENTIONS,
    DEFAULT_ALLOCATION,
    Amortisation,
    DayCount,
    DueStatus,
    EarlyPayment,
    LevelBasis,
    MonthEnd,
    PeriodUnit,
    Rounding,
    RoundingDifference,
    SettlementInterest,
    Sweep,
)
from usance.loan.documents import LoanDocument, loan_from_options, read_loan
from usance.loan.documents.facts import References, read_fact
from usance.loan.documents.terms import read_terms
from usance.loan.errors import (
    DuplicateFact,
    InstalmentsError,
    OptionError,
    PrincipalError,
    ReversalError,
    TermsRateError,
)
from usance.loan.facts import START_OF_TIME, Fact
from usance.loan.terms import Change, FeeBasis, LateBase, LateRule, PercentFee, Terms

PLAIN: dict[str, Any] = {
    "principal": 1000, "rate": "18%", "instalments": 6, "disbursed_on": "2024-01-15",
}  # fmt: skip
DRAWN = {"kind": "disbursed", "on": "2024-01-15", "amount": 1000}


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """Reads a document given as a value, through a JSON file."""

    def read_value(value: Any, **options: Any) -> LoanDocument:
        path = tmp_path / "loan.json"
        path.write_text(json.dumps(value))
        return read_loan(path, **options)

    return read_value


def with_terms(**terms: Any) -> dict[str, Any]:
    return {"terms": PLAIN | terms}


def with_facts(*facts: dict[str, Any], **terms: Any) -> dict[str, Any]:
    return {"terms": PLAIN | terms, "facts": [DRAWN, *facts]}


def test_plain_terms(read: Any) -> None:
    assert read(with_terms()).terms == (
        Terms(principal_minor=1_000_00, rate_ppm=180_000, instalments=6,
              disbursed_on=date(2024, 1, 15), first_due_on=date(2024, 2, 15)),
    )  # fmt: skip


def test_every_term_can_be_written(read: Any) -> None:
    document = read(
        with_terms(
            currency="USD", first_due_on="2024-02-20", flat_fee="12.50", guarantee_fee=3,
            upfront_fee="8.00 USD", vat="5%", down_payment=10, grace_principal=1, grace_interest=2,
            tranches=[{"on": "2024-03-01", "amount": 100}],
            rate_steps=[{"from": "2024-04-01", "rate": "0.12"}],
            percent_fees=[{"component": "service_fee", "of": "balance", "rate": "1.5%"}],
            late={"rate": "20%", "fee": 5, "grace_days": 3, "cap": "50%", "base": "instalment"},
        )
    )  # fmt: skip
    assert document.currency == "USD"
    assert document.terms[0] == Terms(
        principal_minor=1_000_00, rate_ppm=180_000, instalments=6, disbursed_on=date(2024, 1, 15),
        first_due_on=date(2024, 2, 20), currency="USD", flat_fee_minor=12_50,
        guarantee_fee_minor=3_00, upfront_fee_minor=8_00, vat_ppm=50_000, down_payment_minor=10_00,
        grace_principal=1, grace_interest=2, tranches=((date(2024, 3, 1), 100_00),),
        rate_steps=((date(2024, 4, 1), 120_000),),
        percent_fees=(PercentFee(Component.SERVICE_FEE, FeeBasis.BALANCE, 15_000),),
        late=LateRule(rate_ppm=200_000, fee_minor=5_00, grace_days=3, cap_ppm=500_000,
                      base=LateBase.INSTALMENT),
    )  # fmt: skip


def test_coupon_and_balloon(read: Any) -> None:
    balloon = {"amortisation": "balloon"}
    terms = read(with_terms(coupon="6%", balloon=400, convention=balloon)).terms[0]
    assert (terms.coupon_ppm, terms.balloon_minor) == (60_000, 400_00)


@pytest.mark.parametrize("name", CONVENTIONS)
def test_own_conventions_by_name(read: Any, name: str) -> None:
    assert read(with_terms(convention=name)).terms[0].convention is CONVENTIONS[name]


def test_every_option_of_a_convention_can_be_written(read: Any) -> None:
    convention = read(
        with_terms(
            convention={
                "base": "level_daily", "name": "weekly", "amortisation": "equal_principal",
                "day_count": "actual/360", "unit": "weeks", "every": 2, "month_end": "last_day",
                "calendar": "weekends", "roll": "following", "level_basis": "days",
                "rounding": "half_even", "round_to": "0.10", "difference": "first",
                "early": "reamortise", "settlement_interest": "full_period",
            }
        )
    ).terms[0].convention  # fmt: skip
    assert convention == CONVENTIONS["level_daily"].named(
        "weekly", amortisation=Amortisation.EQUAL_PRINCIPAL, day_count=DayCount.ACTUAL_360,
        unit=PeriodUnit.WEEKS, every=2, month_end=MonthEnd.LAST_DAY, calendar="weekends",
        roll=Roll.FOLLOWING, level_basis=LevelBasis.DAYS, rounding=Rounding.HALF_EVEN,
        round_to_minor=10, difference=RoundingDifference.FIRST, early=EarlyPayment.REAMORTISE,
        settlement_interest=SettlementInterest.FULL_PERIOD,
    )  # fmt: skip


def order(*, penalty_at: int = 8) -> list[str]:
    """Our own allocation order in words."""
    claims = ["interest", "principal", "guarantee_fee", "service_fee"]
    words = [f"{when} {claim}" for when in ("past_due", "due", "in_advance") for claim in claims]
    return [*words[:penalty_at], "penalty", *words[penalty_at:]]


def test_an_allocation_order_in_words(read: Any) -> None:
    ours = read(with_terms(convention={"allocation": order()})).terms[0].convention.allocation
    assert ours == DEFAULT_ALLOCATION
    spelled = {"order": order(penalty_at=0), "sweep": "by_bucket"}
    other = read(with_terms(convention={"allocation": spelled})).terms[0].convention.allocation
    assert other.sweep is Sweep.BY_BUCKET
    assert other.order[:2] == (None, (DueStatus.PAST_DUE, Component.INTEREST))


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (order()[1:], "the allocation order leaves out past_due interest"),
        ([*order(), "penalty"], "the allocation order repeats penalty"),
        ([*order()[:-1], "in_advance fees"], "unknown claim 'in_advance fees'"),
        ("interest first", "the allocation order leaves out past_due principal"),
    ],
)
def test_an_allocation_order_is_complete(read: Any, words: Any, what: str) -> None:
    with pytest.raises((OptionError, CodeError)) as caught:
        read(with_terms(convention={"allocation": words}))
    assert caught.value.what.startswith(what)
    assert "terms.convention.allocation" in caught.value.where


@pytest.mark.parametrize(
    ("convention", "first"),
    [
        ("level_monthly", date(2024, 2, 29)),
        ({"unit": "weeks", "every": 2, "day_count": "actual/365"}, date(2024, 2, 14)),
        ({"unit": "days", "every": 10, "day_count": "actual/365"}, date(2024, 2, 10)),
        ({"unit": "years"}, date(2025, 1, 31)),
    ],
)
def test_the_first_due_date_is_one_step_later(read: Any, convention: Any, first: date) -> None:
    terms = read(with_terms(convention=convention, disbursed_on="2024-01-31")).terms[0]
    assert terms.first_due_on == first


def test_later_terms_keep_what_cannot_change(read: Any) -> None:
    later = {"rate": "12%", "instalments": 9, "first_due_on": "2024-06-15", "change": "hardship"}
    first, second = read({"terms": [PLAIN | {"convention": "level_daily"}, later]}).terms
    assert (first.terms_no, second.terms_no, second.change) == (1, 2, Change.HARDSHIP)
    assert second.principal_minor == first.principal_minor
    assert second.disbursed_on == first.disbursed_on
    assert second.convention is first.convention
    with pytest.raises(DocumentError, match=r"first_due_on is missing"):
        read({"terms": [PLAIN, {"rate": "12%", "instalments": 9}]})


def test_every_kind_of_fact_can_be_written(read: Any) -> None:
    on: dict[str, Any] = {"on": "2024-02-15"}
    given: list[dict[str, Any]] = [
        {"kind": "paid", "amount": "10.50", "ref": 2} | on,
        {"kind": "waived", "amount": 1, "component": "principal"} | on,
        {"kind": "fee_charged", "amount": 2, "fee": "late_fee"} | on,
        {"kind": "fee_charged", "amount": 2} | on,
        {"kind": "interest_paused", "until": "2024-02-29"} | on,
        {"kind": "terms_changed", "terms": 2} | on,
        {"kind": "reversed", "reverses": 2} | on,
        *({"kind": kind, "amount": 3} | on for kind in (
            "refunded", "charged_back", "compensated", "bought_out", "charged_off", "recovered")),
    ]  # fmt: skip
    facts = read(with_facts(*given)).facts
    assert [fact.ref for fact in facts] == list(range(1, 15))
    assert [(fact.kind, fact.amount_minor, fact.arg) for fact in facts[1:8]] == [
        (FactKind.PAID, 10_50, 0),
        (FactKind.WAIVED, 1_00, Component.PRINCIPAL),
        (FactKind.FEE_CHARGED, 2_00, Fee.LATE_FEE),
        (FactKind.FEE_CHARGED, 2_00, Fee.OTHER),
        (FactKind.INTEREST_PAUSED, 0, to_day(date(2024, 2, 29))),
        (FactKind.TERMS_CHANGED, 0, 2),
        (FactKind.REVERSED, 0, 2),
    ]
    assert {fact.kind for fact in facts} == set(FactKind)


def test_when_a_fact_was_known(read: Any) -> None:
    booked = {"kind": "paid", "on": "2024-02-15", "amount": 1,
              "booked_at": "2024-02-16T08:00:00+08:00"}  # fmt: skip
    first, second = read(with_facts(booked)).facts
    assert (first.booked_at, second.booked_at) == (
        START_OF_TIME, datetime(2024, 2, 16, tzinfo=UTC),
    )  # fmt: skip


def test_references_are_numbers_or_any_text(read: Any) -> None:
    paid: dict[str, Any] = {"kind": "paid", "on": "2024-02-15", "amount": 1}
    facts = read(with_facts(paid | {"ref": 77}, paid | {"ref": "77a"}, paid | {"ref": "78"})).facts
    assert [fact.ref for fact in facts] == [1, 77, fact_ref("77a"), 78]


def test_days_and_moments_of_a_document(read: Any) -> None:
    document = read(with_terms() | {"as_of": "2024-03-01", "known_at": "2024-03-02T00:00:00Z"})
    assert document.as_of == date(2024, 3, 1)
    assert document.known_at == datetime(2024, 3, 2, tzinfo=UTC)


def test_yaml_and_json_say_the_same(read: Any, tmp_path: Path) -> None:
    path = tmp_path / "loan.yaml"
    path.write_text(
        "terms: {principal: 1000, rate: 18%, instalments: 6, disbursed_on: 2024-01-15}\n"
        "facts:\n- {kind: disbursed, on: 2024-01-15, amount: 1000.00}\n"
    )
    assert read_loan(path).facts == read(with_facts()).facts
    assert read_loan(path).terms == read(with_facts()).terms


def test_a_table_says_the_same_as_a_list(read: Any, tmp_path: Path) -> None:
    table = tmp_path / "facts.csv"
    table.write_text(
        "on,kind,arg,amount,ref,currency\n2024-01-15,disbursed,,1000,,CNY\n"
        "2024-02-15,waived,interest,1.00,w,\n2024-02-16,interest_paused,2024-02-20,,,\n"
        "2024-02-17,reversed,w,,,\n"
    )
    facts = read(with_terms(), facts_csv=table).facts
    assert facts == (
        Fact(FactKind.DISBURSED, date(2024, 1, 15), 1_000_00, 1),
        Fact(FactKind.WAIVED, date(2024, 2, 15), 1_00, fact_ref("w"), Component.INTEREST),
        Fact(FactKind.INTEREST_PAUSED, date(2024, 2, 16), 0, 3, to_day(date(2024, 2, 20))),
        Fact(FactKind.REVERSED, date(2024, 2, 17), 0, 4, fact_ref("w")),
    )


def test_options_are_read_as_a_document_is(read: Any) -> None:
    words = {name: str(value) for name, value in PLAIN.items()}
    assert loan_from_options(words).terms == read(with_terms()).terms


def failure(read: Any, value: Any) -> UsanceError:
    with pytest.raises(UsanceError) as caught:
        read(value)
    return caught.value


@pytest.mark.parametrize(
    ("value", "kind", "place"),
    [
        (with_terms(principal=0), PrincipalError, "terms.principal"),
        (with_terms(instalments=0), InstalmentsError, "terms.instalments"),
        (with_terms(rate="1001%"), TermsRateError, "terms.rate"),
        (with_terms(coupon="19%"), TermsRateError, "terms.coupon"),
        (with_terms(flat_fee="1 USD"), CurrencyMismatch, "terms.flat_fee"),
        (with_terms(late={"rates": "1%"}), CodeError, "terms.late.rates"),
        (with_terms(tranches=[{"on": "2024-03-01"}]), DocumentError, "terms.tranches[1].amount"),
        (with_terms(convention={"every": 0}), OptionError, "terms.convention.every"),
        (with_terms(convention={"every": 10**17}), OptionError, "terms.convention.every"),
        (with_terms(convention={"roll": "following"}), OptionError, "terms.convention.roll"),
        (with_terms(convention={"calender": "x"}), CodeError, "terms.convention.calender"),
        (with_terms(convention=None), DocumentError, "terms.convention"),
        (with_terms(convention=[]), CodeError, "terms.convention"),
        ({"terms": []}, DocumentError, "loan.json"),
        ({"terms": [PLAIN, 7]}, DocumentError, "terms[2]"),
        (with_facts({}), Problems, "loan.json"),
        (with_facts() | {"fact": []}, CodeError, "fact"),
        (with_facts(DRAWN | {"ref": 1}), DuplicateFact, "facts[2].ref"),
        (with_facts({"kind": "reversed", "on": "2024-02-01", "reverses": "x"}),
         ReversalError, "facts[2].reverses"),
        (with_facts(DRAWN | {"ref": ""}), DocumentError, "facts[2].ref"),
        (with_facts(DRAWN | {"currency": "EUR"}), CurrencyMismatch, "facts[2].currency"),
    ],
)  # fmt: skip
def test_a_mistake_has_its_own_error_and_place(
    read: Any, value: Any, kind: type[UsanceError], place: str
) -> None:
    error = failure(read, value)
    assert isinstance(error, kind)
    assert error.where.endswith(place)
    assert error.fix


def test_all_mistakes_are_found_at_once(read: Any) -> None:
    value = with_facts(
        {"kind": "paid", "on": "2024-02-30", "amount": "NaN"},
        {"kind": "waived", "on": "2024-02-01", "amount": "1", "colour": "red"},
        principal="x", instalments="many", late={"fee": "1.234"},
    ) | {"as_of": 3, "note": ""}  # fmt: skip
    error = failure(read, value)
    assert isinstance(error, Problems)
    places = [each.where.rpartition(", ")[2] for each in error.errors]
    assert places == [
        "terms.principal", "terms.instalments", "terms.late.fee", "as_of", "facts[2].on",
        "facts[2].amount", "facts[3].component", "facts[3].colour", "note",
    ]  # fmt: skip


def test_a_hashed_reference_is_spelled_as_it_was_written(read: Any) -> None:
    reverse = {"kind": "reversed", "on": "2024-02-01", "reverses": "psp/2024-17"}
    error = failure(read, with_facts(reverse))
    assert "no fact has the reference 'psp/2024-17'" in error.what
    assert str(fact_ref("psp/2024-17")) not in str(error)


def test_lines_are_found_in_yaml_and_json() -> None:
    yaml_places = document_places("a.yaml", lambda: "terms:\n  rate: 1\nfacts:\n- kind: paid\n")
    assert yaml_places(("terms", "rate")) == "a.yaml line 2, terms.rate"
    assert yaml_places(("facts", 1, "amount")) == "a.yaml line 4, facts[1].amount"
    assert yaml_places(()) == "a.yaml"
    json_places = document_places("a.json", lambda: '{\n "terms": {\n  "rate": 1}}')
    assert json_places(("terms", "rate")) == "a.json line 3, terms.rate"
    tabs = document_places("a.json", lambda: '{\n\t"terms": {\n\t"rate": 1}}')
    assert tabs(("terms", "rate")) == "a.json, terms.rate"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.dates().map(str)
    | st.sampled_from(["18%", "0.1", "100.00 USD", "level_daily", "paid", "1e400", "NaN"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=6,
)  # fmt: skip
KEYS = ("principal", "rate", "instalments", "disbursed_on", "first_due_on", "currency", "late",
        "convention", "tranches", "rate_steps", "percent_fees", "balloon", "change")  # fmt: skip
FACT_KEYS = ("kind", "on", "amount", "ref", "booked_at", "component", "reverses", "currency")


@given(
    terms=st.dictionaries(st.sampled_from(KEYS), VALUES),
    facts=st.lists(st.dictionaries(st.sampled_from(FACT_KEYS), VALUES) | VALUES, max_size=2),
)
def test_any_value_is_read_or_refused_by_name(terms: Any, facts: Any) -> None:
    problems: list[UsanceError] = []
    document = Fields({"terms": PLAIN | terms, "facts": facts}, str, problems)
    for each in document.each("terms"):
        read = read_terms(each)
        assert (read is None) == bool(problems)
    for each in document.each("facts"):
        before = len(problems)
        fact = read_fact(each, References(), 1, "CNY")
        assert (fact is None) == (len(problems) > before or not each.is_mapping)
