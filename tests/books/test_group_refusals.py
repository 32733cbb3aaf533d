"""Facts of the group that a close refuses, each with its number."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any

import pytest

from tests.books.group_books import KNOWN, PARENT, PLATFORM, Facts, books_by
from usance.base.dates import parse_month
from usance.base.errors import UsanceError
from usance.books.errors import PeriodError, Unbalanced
from usance.books.group.checks import group_fact_problems
from usance.books.group.fact_kinds import GroupFactKind as K
from usance.books.group.facts import GroupFact, fact, facts_of_table, table_of_facts

LINES = [{"account": "prepaid", "amount": 5}, {"account": "accrued", "amount": -5}]
CLOSED_AT = datetime(2024, 4, 10, tzinfo=UTC)
LATE = datetime(2024, 5, 1, tzinfo=UTC)
MARCH = parse_month("2024-03")


def entry(number: int, on: date, booked: datetime = KNOWN, lines: Any = LINES) -> GroupFact:
    return fact(number, PLATFORM, K.MANUAL_ENTRY, on, booked, actor="c", reason="r", lines=lines)


def undone(number: int, target: int) -> GroupFact:
    return fact(number, PLATFORM, K.REVERSED, date(2024, 5, 2), LATE, fact=target)


def test_sound_facts_are_taken() -> None:
    facts = [entry(1, date(2024, 3, 31)), entry(2, date(2024, 4, 1), LATE)]
    assert group_fact_problems(facts, MARCH, CLOSED_AT) == []
    assert group_fact_problems([entry(1, date(2024, 3, 31), LATE)], None, None) == []


def test_an_entry_into_a_closed_period_is_refused() -> None:
    facts = [entry(5, date(2024, 3, 31), LATE), entry(6, date(2023, 1, 1), LATE)]
    problems = group_fact_problems(facts, MARCH, CLOSED_AT)
    assert [each.where for each in problems] == ["group fact 5", "group fact 6"]
    assert all(isinstance(each, PeriodError) for each in problems)
    assert "Date it after 2024-03-31" in problems[0].fix


def test_an_entry_that_claims_to_have_been_known_and_was_not_posted_is_refused() -> None:
    facts = [entry(5, date(2024, 2, 10)), entry(6, date(2024, 2, 11))]
    (problem,) = group_fact_problems(facts, MARCH, CLOSED_AT, posted={6})
    assert problem.where == "group fact 5"
    assert isinstance(problem, PeriodError)


def test_an_unbalanced_entry_is_refused() -> None:
    (problem,) = group_fact_problems([entry(7, date(2024, 4, 1), LATE, LINES[:1])], None, None)
    assert isinstance(problem, Unbalanced)
    assert problem.where == "group fact 7"
    assert "sum to 5.00 CNY, not zero" in problem.what


def test_an_entry_to_an_unknown_account_is_refused_as_it_is_read() -> None:
    rows = table_of_facts([entry(8, date(2024, 4, 1), LATE)])
    detail = json.loads(rows["detail"][0].as_py())
    detail["lines"][0]["account"] = "pettycash"
    place = rows.column_names.index("detail")
    with pytest.raises(UsanceError) as caught:
        facts_of_table(rows.set_column(place, "detail", [[json.dumps(detail)]]))
    assert "group fact 8, lines[1].account: unknown account 'pettycash'" in str(caught.value)


def test_a_refused_entry_is_put_right_by_its_reversal() -> None:
    wrong = [entry(7, date(2024, 3, 1), LATE, LINES[:1]), undone(8, 7)]
    assert group_fact_problems(wrong, MARCH, CLOSED_AT) == []


def test_numbers_and_reversals_must_be_sound() -> None:
    facts = [entry(1, date(2024, 4, 1)), entry(1, date(2024, 4, 2)), undone(2, 99), undone(3, 2)]
    said = [f"{each.where}: {each.what}" for each in group_fact_problems(facts, None, None)]
    assert said == [
        "group fact 1: manual_entry: its number is used twice",
        "group fact 1: manual_entry: its number is used twice",
        "group fact 2: reversed: it reverses 99, which is no fact that can be reversed",
        "group fact 3: reversed: it reverses 2, which is no fact that can be reversed",
    ]


@pytest.mark.parametrize(
    ("kind", "detail", "expected"),
    [
        (K.FEES_HISTORY, {"entering": ["5", "1"], "never_paid": "2"},
         "100 entered and 200 of it was never paid"),
        (K.VESTING_ESTIMATE, {"grant": "g"}, "who stays, or who leaves?"),
        (K.VESTING_ESTIMATE, {"grant": "g", "shares": "90%", "leavers": "10%"},
         "who stays, or who leaves?"),
    ],
)  # fmt: skip
def test_facts_that_contradict_themselves_are_named(
    kind: K, detail: dict[str, Any], expected: str
) -> None:
    facts = Facts()
    facts.say(PARENT, K.GRANT, date(2024, 1, 1), name="g", award="restricted", fair_value=1,
              tranches=[{"on": "2025-01-01", "units": 5}])  # fmt: skip
    facts.say(PARENT, kind, date(2024, 1, 1), **detail)
    with pytest.raises(UsanceError) as caught:
        books_by(facts.facts, date(2024, 1, 1))
    assert f"group fact 2: {kind.label}: {expected}" in str(caught.value)
