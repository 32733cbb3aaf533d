"""Features are what was known: booked by the moment of the decision, whatever was true before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from usance.assess.errors import FeatureError, WrongInput
from usance.assess.features.compute import DecisionTimes, compute_features
from usance.assess.features.definition import Definitions, parse_features
from usance.assess.features.records import columns_of, records_of
from usance.base.errors import Problems, UsanceError

DAY_US = 86_400_000_000
NONE: dict[str, list[object]] = {"bureau_file": [], "inquiries": []}

TEXT = """
sources:
  bureau_file:
    holds: One row for each answer of the bureau.
    columns:
      debt_minor: {type: whole, from: 0, to: 100000000, special: {-9: not reported}, missing: -9}
      job: {type: name, names: [unknown, clerk, smith], missing: unknown}
  inquiries:
    columns:
      lender: {type: whole, from: 1, to: 500}
      kind: {type: name, names: [loan, card, other]}
features:
  debt: {from: bureau_file, take: latest, of: debt_minor, missing: {-1: no bureau file}}
  first_debt: {from: bureau_file, take: first, of: debt_minor, missing: {-1: no bureau file}}
  highest_debt: {from: bureau_file, take: highest, of: debt_minor, missing: {-1: no amount}}
  lowest_debt: {from: bureau_file, take: lowest, of: debt_minor, missing: {-1: no amount}}
  job: {from: bureau_file, take: latest, of: job, missing: {0: no bureau file}}
  inquiries_30d:
    {from: inquiries, take: count, days: 30, needs: bureau_file, missing: {-1: no bureau file}}
  loan_inquiries_90d:
    {from: inquiries, take: count, days: 90, where: {kind: [loan, card]}, needs: bureau_file,
     missing: {-1: no bureau file}}
  lenders_90d: {from: inquiries, take: distinct, of: lender, days: 90}
  lender_sum: {from: inquiries, take: sum, of: lender}
  last_inquiry_days: {from: inquiries, take: days_since, missing: {-1: never}}
  loan_share:
    {take: share, parts: [loan_inquiries_90d, inquiries_30d], missing: {-1: nothing to compare}}
"""


@dataclass(frozen=True)
class Row:
    user: int
    on: int
    booked: int
    values: dict[str, int]


@pytest.fixture(scope="module")
def definitions() -> Definitions:
    return parse_features(TEXT)


def oracle(
    definitions: Definitions, rows: dict[str, list[Row]], user: int, day: int, known: int,
    *, by_effective_date: bool = False,
) -> dict[str, int]:  # fmt: skip
    """The same features in plain Python; `by_effective_date` is the classic mistake."""

    def seen(source: str, days: int = 1 << 30) -> list[Row]:
        return [
            row
            for row in rows[source]
            if row.user == user and day - days < row.on <= day
            and (by_effective_date or row.booked <= known)
        ]  # fmt: skip

    found: dict[str, int] = {}
    for feature in definitions.features:
        missing = -1 if feature.missing is None else feature.missing
        if feature.take.value == "share":
            part, whole = (found[name] for name in feature.parts)
            bad = part == -1 or whole <= 0
            found[feature.name] = missing if bad else (2 * part * 10**6 + whole) // (2 * whole)
            continue
        chosen = seen(feature.source, feature.days)
        for column, codes in feature.where:
            chosen = [row for row in chosen if row.values[column] in codes]
        plain = [row for row in chosen if not feature.of or row.values[feature.of] != -9]
        values = [row.values.get(feature.of, 0) for row in plain]
        newest = sorted(enumerate(chosen), key=lambda pair: (pair[1].on, pair[1].booked, pair[0]))
        oldest = sorted(enumerate(chosen), key=lambda pair: (pair[1].on, -pair[1].booked, -pair[0]))
        answers = {
            "latest": newest[-1][1].values.get(feature.of) if newest else missing,
            "first": oldest[0][1].values.get(feature.of) if oldest else missing,
            "count": len(chosen),
            "sum": sum(values),
            "distinct": len(set(values)),
            "highest": max(values, default=missing),
            "lowest": min(values, default=missing),
            "days_since": day - newest[-1][1].on if newest else missing,
        }
        answer = answers[feature.take.value] or 0
        found[feature.name] = missing if feature.needs and not seen(feature.needs) else answer
    return found


def columns(definitions: Definitions, rows: dict[str, list[Row]]) -> dict[str, dict[str, object]]:
    return {
        name: {
            "user_id": np.array([row.user for row in rows[name]], np.int64),
            "effective_on": np.array([row.on for row in rows[name]], np.int64),
            "booked_at": np.array([row.booked for row in rows[name]], np.int64),
            **{
                key: np.array([row.values[key] for row in rows[name]], np.int64)
                for key in source.columns
            },
        }
        for name, source in definitions.sources.items()
        if rows[name]
    }


def rows_of(source: str) -> st.SearchStrategy[list[Row]]:
    values = (
        {"debt_minor": st.one_of(st.just(-9), st.integers(0, 5)), "job": st.integers(0, 2)}
        if source == "bureau_file"
        else {"lender": st.integers(1, 4), "kind": st.integers(0, 2)}
    )
    row = st.builds(
        Row, st.integers(1, 3), st.integers(0, 120), st.integers(0, 140),
        st.fixed_dictionaries(values),
    )  # fmt: skip
    return st.lists(row, max_size=12)


@settings(max_examples=150)
@given(bureau=rows_of("bureau_file"), inquiries=rows_of("inquiries"), day=st.integers(60, 130))
def test_columns_are_what_plain_python_finds(
    bureau: list[Row], inquiries: list[Row], day: int
) -> None:
    definitions = parse_features(TEXT)
    rows = {"bureau_file": bureau, "inquiries": inquiries}
    users = [1, 2, 3]
    found = compute_features(
        definitions, columns_of(definitions, columns(definitions, rows)),
        DecisionTimes.of(users, [day] * 3, [day - 5] * 3),
    )  # fmt: skip
    for position, user in enumerate(users):
        wanted = oracle(definitions, rows, user, day, day - 5)
        assert {name: int(values[position]) for name, values in found.items()} == wanted


def test_a_fact_true_before_and_booked_after_is_not_known(definitions: Definitions) -> None:
    """A join by effective date sees the planted facts and must come out different."""
    decided = [(user, 100 + user, (100 + user) * DAY_US) for user in range(1, 51)]
    rows: dict[str, list[Row]] = {"bureau_file": [], "inquiries": []}
    for user, day, known in decided:
        file = {"debt_minor": 10 * user, "job": 1}
        rows["bureau_file"] += [
            Row(user, day - 40, known - 40 * DAY_US, file),
            Row(user, day - 3, known + DAY_US, {"debt_minor": 99, "job": 2}),  # planted
        ]
        asked = {"lender": user % 7 + 1, "kind": 0}
        rows["inquiries"] += [
            Row(user, day - 20, known - 19 * DAY_US, asked),
            Row(user, day - 1, known + 1, {"lender": 400, "kind": 1}),  # planted
        ]
    users, days, moments = zip(*decided, strict=True)
    found = compute_features(
        definitions, columns_of(definitions, columns(definitions, rows)),
        DecisionTimes.of(users, days, moments),
    )  # fmt: skip
    leaked = 0
    for position, (user, day, known) in enumerate(decided):
        mine = {name: int(values[position]) for name, values in found.items()}
        assert mine == oracle(definitions, rows, user, day, known)
        leaked += mine != oracle(definitions, rows, user, day, known, by_effective_date=True)
    assert leaked == len(decided), "the planted facts do not tell the two joins apart"


def test_one_user_from_a_document_is_the_same_as_columns(definitions: Definitions) -> None:
    given = {
        "bureau_file": [
            {"effective_on": "2024-05-01", "booked_at": "2024-05-02T00:00:00Z",
             "debt_minor": 1200, "job": "smith"},
            {"effective_on": "2024-06-01", "booked_at": "2024-06-02T00:00:00Z",
             "debt_minor": None, "job": None},
        ],
        "inquiries": [
            {"effective_on": "2024-06-20", "booked_at": "2024-06-20T09:00:00+08:00",
             "lender": 17, "kind": "loan"},
        ],
    }  # fmt: skip
    records = records_of(definitions, given, 7, "records")
    day = int(np.datetime64("2024-06-30", "D").astype(int))
    found = compute_features(definitions, records, DecisionTimes.of([7], [day], [day * DAY_US]))
    assert {name: int(values[0]) for name, values in found.items()} == {
        "debt": -9, "first_debt": 1200, "highest_debt": 1200, "lowest_debt": 1200, "job": 0,
        "inquiries_30d": 1, "loan_inquiries_90d": 1, "lenders_90d": 1, "lender_sum": 17,
        "last_inquiry_days": 10, "loan_share": 1_000_000,
    }  # fmt: skip


def test_a_required_feature_that_is_not_there_fails_loudly() -> None:
    text = TEXT.replace(", missing: {0: no bureau file}", "")
    definitions = parse_features(text)
    with pytest.raises(FeatureError, match="job of user 7 is not there"):
        compute_features(
            definitions, records_of(definitions, NONE, 7, "r"), DecisionTimes.of([7], [100], [100])
        )


def test_a_source_that_nobody_asked_is_not_one_without_records(definitions: Definitions) -> None:
    with pytest.raises(WrongInput, match=r"r\.inquiries: inquiries is missing.*'inquiries: \[\]'"):
        records_of(definitions, {"bureau_file": []}, 7, "r")
    with pytest.raises(Problems, match="2 problems"):
        records_of(definitions, {}, 7, "r")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"debt_minor": "12"}, "records.bureau_file[1].debt_minor: '12' is not a whole number"),
        ({"debt_minor": 10**9}, "debt_minor: 1000000000 is too large"),
        ({"debt_minor": -3}, "debt_minor: -3 is too small"),
        ({"job": "nurse"}, "unknown job 'nurse'"),
        ({"jobb": "clerk"}, "unknown column 'jobb'"),
        ({"booked_at": "2024-05-02"}, "bureau_file[1].booked_at"),
        ({"effective_on": None}, "bureau_file[1].effective_on"),
    ],
)
def test_a_wrong_record_is_named(
    change: dict[str, object], named: str, definitions: Definitions
) -> None:
    row = {"effective_on": "2024-05-01", "booked_at": "2024-05-02T00:00:00Z",
           "debt_minor": 5, "job": "clerk"}  # fmt: skip
    with pytest.raises(UsanceError) as caught:
        records_of(definitions, NONE | {"bureau_file": [row | change]}, 1, "records")
    assert named in str(caught.value)


def test_a_column_without_a_value_is_missing(definitions: Definitions) -> None:
    row = {"effective_on": "2024-05-01", "booked_at": "2024-05-02T00:00:00Z", "job": "clerk"}
    with pytest.raises(WrongInput, match="debt_minor is missing"):
        records_of(definitions, NONE | {"bureau_file": [row]}, 1, "records")


def test_codes_out_of_range_in_columns_are_named(definitions: Definitions) -> None:
    rows = {"bureau_file": [Row(1, 1, 1, {"debt_minor": 5, "job": 9})], "inquiries": []}
    with pytest.raises(WrongInput, match="row 1 has 9"):
        columns_of(definitions, columns(definitions, rows))


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        (
            "take: latest, of: debt_minor",
            "take: newest, of: debt_minor",
            "unknown aggregate 'newest'",
        ),
        ("of: debt_minor, missing", "of: debt, missing", "unknown column 'debt'"),
        ("from: inquiries, take: sum", "from: inquiry, take: sum", "unknown source 'inquiry'"),
        ("kind: [loan, card]}", "kind: [lone]}", "unknown kind 'lone'"),
        ("parts: [loan_inquiries_90d, inquiries_30d]", "parts: [x, y]", "unknown feature 'x'"),
        ("missing: {-1: never}", "missing: -1", "no code with its meaning"),
        ("missing: -9}", "missing: -8}", "missing is -8, which is not declared"),
        ("special: {-9: not", "special: {7: x, -9: not", "special code 7 is also a value"),
        ("{type: whole, from: 0, to: 100000000, special", "{type: truth, special", "no numbers"),
    ],
)
def test_a_wrong_definition_is_named_with_its_line(old: str, new: str, named: str) -> None:
    assert old in TEXT
    with pytest.raises((Problems, UsanceError)) as caught:
        parse_features(TEXT.replace(old, new, 1))
    assert named in str(caught.value)
    assert "features line" in str(caught.value)
