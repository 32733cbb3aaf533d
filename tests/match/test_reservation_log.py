"""The log holds everything: read back, it gives the same events, or says which line is broken."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.errors import DocumentError, Problems
from usance.match.reservation.events import (
    Answered,
    Candidate,
    Freed,
    LimitSet,
    Requested,
    Waited,
    Withdrawn,
    log_line,
    read_log,
)

moments = st.datetimes(timezones=st.just(UTC))
keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.integers(-(2**63), 2**63 - 1)
candidates = st.builds(
    Candidate,
    st.lists(numbers, max_size=3).map(tuple),
    st.lists(st.tuples(keys, numbers), max_size=3).map(tuple),
    st.timedeltas(timedelta(0), timedelta(days=400)),
)
events = st.one_of(
    st.builds(LimitSet, moments, keys, numbers),
    st.builds(Freed, moments, keys, numbers),
    st.builds(Requested, moments, keys, numbers, st.lists(candidates, max_size=3).map(tuple)),
    st.builds(Answered, moments, keys, numbers, numbers, st.booleans()),
    st.builds(Waited, moments, keys),
    st.builds(Withdrawn, moments, keys),
)


@given(st.lists(events, max_size=5))
def test_what_is_written_is_read(log: list[LimitSet]) -> None:
    lines = [log_line(event) for event in log]
    assert read_log(lines) == log
    assert not any("\n" in each for each in lines)


def test_every_broken_line_is_named() -> None:
    good = log_line(LimitSet(datetime(2024, 6, 3, tzinfo=UTC), "bank", 100))
    broken = [
        good[:-9],
        "7",
        '{"event":"paid"}',
        good.replace("100", "100.5"),
        good.replace("100", "true"),
        good.replace("+00:00", ""),
        good.replace('"limit":"bank",', ""),
        good.replace('"limit"', '"limits"'),
    ]
    with pytest.raises(Problems) as caught:
        read_log([good, *broken], where="day.log")
    places = [error.where for error in caught.value.errors]
    assert places == [f"day.log line {number}" for number in range(2, len(broken) + 2)]


def test_a_single_broken_line_says_what_to_do() -> None:
    with pytest.raises(DocumentError, match="Restore the log"):
        read_log(['{"event":"waited","at":7,"key":"a","more":1}'])
