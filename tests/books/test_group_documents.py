"""Entities and facts as people write them; everything wrong is named with its line or number."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from tests.books.group_books import (
    GROUP,
    GROUP_TEXT,
    KNOWN,
    LATER,
    PARENT,
    PLATFORM,
    Facts,
    books_by,
)
from usance.base.codes import Currency
from usance.base.errors import Problems, UsanceError
from usance.books.errors import PeriodError, RuleError, Unbalanced
from usance.books.group.checks import locked_problems
from usance.books.group.documents import parse_facts, read_facts
from usance.books.group.entities import parse_entities, read_entities
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.fact_schemas import FACT_SCHEMAS
from usance.books.group.facts import GroupFact, fact, facts_of_table, table_of_facts
from usance.books.group.rules import load_group_rules

ROOT = Path(__file__).resolve().parents[2]


def said(error: UsanceError) -> list[str]:
    errors = error.errors if isinstance(error, Problems) else (error,)
    return [str(each) for each in errors]


def test_a_group_is_read_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "group.yaml"
    file.write_text(GROUP_TEXT)
    group = read_entities(file)
    assert group.platform.number == PLATFORM
    assert group[PARENT].currency is Currency.USD
    assert group.related == {77}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("number: 3,", "number: 2,", "line 7, entities[3]: the number 2 is used twice"),
        ("owner: 1, tax", "owner: 6, tax", "does not belong to the parent"),
        ("role: platform", "role: trust", "0 entities have the role platform"),
        ("currency: HKD", "currency: HKT", "line 9, entities[5].currency: unknown currency 'HKT'"),
        ("tax: 15%", "tax: 150%", "line 6, entities[2].tax: 150% is too large"),
        ("share: 80%", "shares: 80%", "unknown key 'shares'"),
        ("role: guarantee, owner: 2", "role: guarantee", "only the parent has no owner"),
        ("related_parties: [77]", "related_parties: 77", "is no list of parties"),
    ],
)
def test_a_wrong_group_is_refused_with_the_line(old: str, new: str, expected: str) -> None:
    assert old in GROUP_TEXT
    with pytest.raises(UsanceError) as caught:
        parse_entities(GROUP_TEXT.replace(old, new), where="group.yaml")
    assert any(expected in each for each in said(caught.value)), said(caught.value)


def test_every_problem_of_a_document_is_told_at_once() -> None:
    text = """facts:
  - {id: 1, kind: cost_incurred, entity: 2, on: 2024-01-31, amount: -5, function: marketing}
  - {id: 2, kind: cost_incurred, entity: 2, on: 2024-02-30, amount: 5, function: marketting}
  - {id: 2, kind: subsidy, entity: 2, on: 2024-01-31, amount: 1.234}
  - {id: 4, kind: grant, entity: 1, on: 2024-01-31, name: g, award: restricted, fair_value: x,
     tranches: [{on: 2024-13-01, units: 5}]}
  - {id: 5, kind: reversed, entity: 2, on: 2024-01-31, fact: 99}
  - {id: 6, kind: manual_entry, entity: 2, on: 2024-01-31, actor: c, reason: r,
     lines: [{account: cassh, amount: 5}]}
  - {id: 7, kind: subsidy, entity: 2, on: 2024-01-31, amount: 1, colour: red}
"""
    with pytest.raises(Problems) as caught:
        parse_facts(text, where="facts.yaml")
    found = said(caught.value)
    for expected in (
        "facts.yaml line 2, facts[1]: cost_incurred: the amount is -500",
        "facts.yaml line 3, facts[2].on: 2024-02-30 does not exist",
        "facts.yaml line 4, facts[3].amount: amount 1.234 is finer",
        "facts.yaml line 5, facts[4].fair_value: 'x' is no price",
        "facts.yaml line 6, facts[4].tranches[1].on: 2024-13-01 does not exist",
        "group fact 5: reversed: it reverses 99",
        "facts.yaml line 9, facts[6].lines[1].account: unknown account 'cassh'. Did",
        "facts.yaml line 10, facts[7].colour: unknown key 'colour'",
    ):
        assert any(each.startswith(expected) for each in found), (expected, found)


def test_a_document_and_a_table_give_the_same_books(tmp_path: Path) -> None:
    file = tmp_path / "facts.yaml"
    file.write_text("""
facts:
  - {id: 1, kind: funding_raised, entity: 4, on: 2023-12-31, amount: 9000, deal: T1,
     lender: trust_investors, rate: 4.2%, day_count: 30/360 monthly}
  - {id: 2, kind: opening_balance, entity: 2, on: 2023-12-31, booked_at: 2024-01-05T08:00:00+08:00,
     lines: [{account: cash, amount: 100.00}, {account: paid_in_capital, amount: -100.00}]}
""")
    facts = read_facts(file)
    assert facts[1].booked_at == datetime(2024, 1, 5, tzinfo=UTC)
    again = facts_of_table(table_of_facts(facts))
    day = date(2024, 3, 31)
    assert list(books_by(facts, day)) == list(books_by(again, day))


def test_a_wrong_table_names_its_facts() -> None:
    facts = Facts()
    facts.say(PLATFORM, GroupFactKind.SUBSIDY, date(2024, 1, 1), 5)
    facts.say(PLATFORM, GroupFactKind.COST_INCURRED, date(2024, 1, 1), 5, function="marketing")
    table = table_of_facts(facts.facts)
    bad = table.set_column(2, "kind", pa.array([999, 50], pa.int16()))
    bad = bad.set_column(9, "detail", pa.array(["{}", '{"function": "cash"'], pa.string()))
    with pytest.raises(Problems) as caught:
        facts_of_table(bad)
    found = said(caught.value)
    assert found[0].startswith("group fact 1: 999 is not a valid GroupFactKind")
    assert found[1].startswith("group fact 2, detail line 1")


def manual(*lines: dict[str, object]) -> list[GroupFact]:
    facts = Facts()
    facts.say(PLATFORM, GroupFactKind.MANUAL_ENTRY, date(2024, 1, 31), actor="controller",
              reason="correction", lines=list(lines))  # fmt: skip
    return facts.facts


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([{"account": "prepaid", "amount": 5}, {"account": "accrued", "amount": "-4.99"}],
         "the lines of entity 2 sum to 0.01 CNY, not zero"),
        ([{"account": "prepaid", "amount": 5}, {"account": "accrued", "amount": -5, "entity": 3}],
         "the lines of entity 3 sum to -5.00 CNY, not zero"),
        ([{"account": "prepaid", "amount": 5},
          {"account": "accrued", "amount": -5, "currency": "USD"}],
         "the lines of entity 2 sum to -5.00 USD, not zero"),
        ([{"account": "prepaid", "amount": 5, "currency": "USD"},
          {"account": "accrued", "amount": -5, "currency": "USD"}],
         "line 1 holds prepaid in USD"),
        ([{"account": "cash", "amount": 5}, {"account": "accrued", "amount": -5}],
         "it moves cash and does not say by which activity"),
        ([{"account": "prepaid", "amount": 5, "entity": 99},
          {"account": "accrued", "amount": -5, "entity": 99}], "there is no entity 99"),
    ],
)  # fmt: skip
def test_an_entry_that_cannot_be_posted_is_refused_and_named(
    lines: list[dict[str, object]], expected: str
) -> None:
    with pytest.raises(UsanceError) as caught:
        books_by(manual(*lines), date(2024, 3, 31))
    found = said(caught.value)
    assert any(expected in each and each.startswith("group fact 1: ") for each in found), found


def test_an_unbalanced_entry_has_its_own_code() -> None:
    with pytest.raises(Unbalanced):
        books_by(manual({"account": "prepaid", "amount": 5}), date(2024, 3, 31))


def test_an_entry_to_an_unknown_account_is_refused_when_it_is_stated() -> None:
    with pytest.raises(UsanceError) as caught:
        manual({"account": "pettycash", "amount": 5})
    assert "group fact 1, lines[1].account: unknown account 'pettycash'" in str(caught.value)


def test_an_entry_into_a_locked_period_is_refused() -> None:
    lines = [{"account": "prepaid", "amount": 5}, {"account": "accrued", "amount": -5}]
    late = fact(7, PLATFORM, GroupFactKind.MANUAL_ENTRY, date(2024, 1, 31), LATER, actor="c",
                reason="r", lines=lines)  # fmt: skip
    early = fact(8, PLATFORM, GroupFactKind.MANUAL_ENTRY, date(2024, 1, 31), KNOWN, actor="c",
                 reason="r", lines=lines)  # fmt: skip
    (problem,) = locked_problems(
        [late, early], date(2024, 3, 31), datetime(2024, 4, 10, tzinfo=UTC)
    )
    assert isinstance(problem, PeriodError)
    assert problem.where == "group fact 7"


def test_every_kind_that_posts_has_a_rule() -> None:
    """Kinds without one are compared, counted or read by others, and listed here."""
    silent = {
        "reversed", "bank_balance", "provider_settlement", "institution_settlement", "grant",
        "vesting_estimate", "permanent_difference", "exchange_rate", "shares_retired",
        "shares_reserved", "programme_opened", "fees_history", "share_price",
        "funding_schedule",
    }  # fmt: skip
    ruled = {rule.amount for rule in load_group_rules()}
    assert {kind.label for kind in GroupFactKind} - ruled == silent
    assert set(FACT_SCHEMAS) == set(GroupFactKind)
    assert GROUP.platform.number == PLATFORM


def test_the_reference_names_every_kind_and_key() -> None:
    page = (ROOT / "docs" / "reference" / "group-facts.md").read_text(encoding="utf-8")
    for kind, form in FACT_SCHEMAS.items():
        listed = [row for row in page.splitlines() if row.startswith("|")]
        rows = [row for row in listed if f"`{kind.label}`" in row.split("|")[2]]
        assert len(rows) == 1, kind.label
        numbers = rows[0].split("|")[1].replace(",", " ").split()
        assert str(int(kind)) in numbers, kind.label
        for name in form.keys:
            assert f"`{name}`" in rows[0], (kind.label, name)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("{number: 899, amount: x, debit: cash, credit: accrued}", "moves cash without"),
        ("{number: 899, amount: x, debit: accrued, credit: prepaid, activity: none}",
         "has one without moving cash"),
        ("{number: 101, amount: x, debit: accrued, credit: prepaid}", "101 is too small"),
        ("{number: 899, amount: x, debit: acrued, credit: prepaid}", "Did you mean 'accrued'?"),
        ("{number: 899, amount: x, debit: accrued}", "only one side has an account"),
        ("{number: 899, amount: x, debit: accrued, credit: prepaid, when: yes}", "is no mapping"),
    ],
)  # fmt: skip
def test_a_rule_that_cannot_be_posted_is_refused(
    rule: str, expected: str, tmp_path: Path
) -> None:  # fmt: skip
    file = tmp_path / "rules.yaml"
    file.write_text(f"rules:\n  - {rule}\n")
    with pytest.raises(UsanceError) as caught:
        load_group_rules(file)
    assert expected in str(caught.value)
    assert "line 2" in str(caught.value)


def test_a_number_cannot_be_used_twice(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    rule = "{number: 899, amount: x, debit: accrued, credit: prepaid}"
    file.write_text(f"rules:\n  - {rule}\n  - {rule}\n")
    with pytest.raises(RuleError, match="its number is used twice"):
        load_group_rules(file)
