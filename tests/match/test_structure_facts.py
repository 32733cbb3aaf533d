"""A source's structure as facts of the group: the books take every one, and the deal ends even."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.match.mandates import mandates, source
from usance.base.codes import FundingModel, parse
from usance.base.errors import AmountError, InputError
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact, fact
from usance.books.group.funding import deals
from usance.match.mandates.mandate import Distribution, Mandate, Structure
from usance.match.mandates.structure_facts import SourceFact, structure_facts

FAR = date(2040, 1, 1)


def a_source(**changes: object) -> Mandate:
    base: dict[str, object] = {
        "source": 7, "entity": 4, "valid_from": date(2024, 1, 15), "valid_to": date(2025, 1, 15),
        "model": FundingModel.ON_BALANCE_SHEET, "coupon_ppm": 60_000,
        "structure": Structure(capital_minor=5_000_000_00),
    }  # fmt: skip
    return Mandate(**{**base, **changes})  # type: ignore[arg-type]


def in_the_books(rows: list[SourceFact]) -> list[GroupFact]:
    """The books read each fact, which checks its kind, amount and detail."""
    known = datetime(2040, 1, 1, tzinfo=UTC)
    return [
        fact(
            number, row.entity, parse(GroupFactKind, row.kind), row.effective_on, known,
            row.amount_minor, party=row.party, **row.detail,
        )
        for number, row in enumerate(rows, 1)
    ]  # fmt: skip


@given(
    st.integers(1, 10**12), st.integers(1, 240_000), st.sampled_from(Distribution),
    st.dates(date(2020, 1, 1), date(2026, 1, 1)), st.integers(1, 1500), st.booleans(),
)  # fmt: skip
def test_the_books_owe_nothing_in_the_end(
    capital: int, coupon: int, how: Distribution, start: date, days: int, microcredit: bool
) -> None:
    end = start + timedelta(days=days)
    rows = structure_facts(
        a_source(
            valid_from=start, valid_to=end, coupon_ppm=coupon, microcredit=microcredit,
            structure=Structure(capital_minor=capital, distribution=how),
        ),
        "CNY", until=FAR,
    )  # fmt: skip
    facts = in_the_books(rows)
    (deal,) = deals(facts).values()
    assert deal.owed(end - timedelta(days=1)) == capital
    assert deal.owed(end) == 0
    for day in (each.effective_on for each in facts):
        paid = sum(
            each.amount_minor
            for each in facts
            if each.kind is GroupFactKind.FUNDING_INTEREST_PAID and each.effective_on <= day
        )
        assert paid == deal.interest(day)


def test_how_often_investors_are_paid() -> None:
    counts = {}
    for how in Distribution:
        structure = Structure(capital_minor=100_00, distribution=how)
        rows = structure_facts(a_source(structure=structure), "CNY", until=FAR)
        counts[how.value] = sum(row.kind == "funding_interest_paid" for row in rows)
    assert counts == {"monthly": 13, "quarterly": 5, "yearly": 2, "at_end": 1}


def test_buy_outs_and_the_platform_s_part_of_the_rest() -> None:
    structure = Structure(residual_ppm=800_000)
    bought, rest = [(date(2024, 3, 1), 700_00)], [(date(2024, 2, 1), 999), (FAR, 5)]
    rows = structure_facts(
        a_source(structure=structure), "CNY", until=date(2024, 12, 31), buyer=2, bought_out=bought,
        left_over=rest,
    )  # fmt: skip
    assert [(row.kind, row.amount_minor, row.detail) for row in rows] == [
        ("residual_distributed", 799, {}), ("trust_buy_out", 700_00, {"buyer": 2}),
    ]  # fmt: skip
    assert len(in_the_books(rows)) == 2
    assert structure_facts(a_source(structure=None), "CNY", until=FAR) == []
    with pytest.raises(AmountError, match="-1 on 2024-03-01"):
        structure_facts(a_source(), "CNY", until=FAR, bought_out=[(date(2024, 3, 1), -1)])


def test_a_file_names_its_distribution() -> None:
    (read,) = mandates(source(structure="{capital: 100, distribution: quarterly}")).mandates
    assert read.structure is not None
    assert read.structure.distribution is Distribution.QUARTERLY
    with pytest.raises(InputError, match="fortnightly"):
        mandates(source(structure="{capital: 100, distribution: fortnightly}"))
