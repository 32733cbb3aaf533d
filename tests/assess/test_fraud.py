"""Links, velocity and lists as they were known; columns, one by one, and a plain search."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from usance import cli
from usance.assess.errors import WrongInput
from usance.assess.flow.files import read_flow
from usance.assess.fraud.fraud_inputs import (
    HOUR_US,
    VelocityLog,
    parse_lists,
    strongest,
    velocity_columns,
)
from usance.assess.fraud.links import Attribute, Link, LinkFeatures, LinkIndex, link_columns
from usance.base.errors import UsanceError

Edge = tuple[int, int, int, int]


def searched(
    edges: list[Edge], bads: list[tuple[int, int]], user: int, at: int, *, by_now: bool = True
) -> LinkFeatures:
    """Breadth first over what was booked; `by_now` off is the mistake of using everything."""
    known = [edge for edge in edges if edge[3] <= at or not by_now]
    bad = {who for who, when in bads if when <= at or not by_now}
    seen, queue = {user}, [user]
    direct: set[int] = set()
    while queue:
        here = queue.pop()
        values = {(kind, value) for who, kind, value, _ in known if who == here}
        near = {who for who, kind, value, _ in known if (kind, value) in values}
        direct = near - {user} if here == user else direct
        queue += near - seen
        seen |= near
    count = len(direct)
    share = (2 * len(direct & bad) * 10**6 + count) // (2 * count) if count else -1
    return LinkFeatures(len(seen), count, share)


EDGES = st.lists(
    st.tuples(st.integers(1, 8), st.integers(1, 5), st.integers(1, 4), st.integers(0, 20)),
    max_size=25,
)
ASKED = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 22)), min_size=1, max_size=12)
BADS = st.lists(st.tuples(st.integers(1, 8), st.integers(0, 20)), max_size=5)


def columns_of(edges: list[Edge], bads: list[tuple[int, int]], asked: list[tuple[int, int]]):  # type: ignore[no-untyped-def]
    table = np.array(edges, np.int64).reshape(-1, 4).T
    wrong = np.array(bads, np.int64).reshape(-1, 2).T
    who = np.array(asked, np.int64).reshape(-1, 2).T
    return link_columns(
        {"user_id": who[0], "known_at": who[1]},
        {"user_id": table[0], "attribute": table[1], "value": table[2], "booked_at": table[3]},
        {"user_id": wrong[0], "booked_at": wrong[1]},
    )


@settings(max_examples=150)
@given(edges=EDGES, bads=BADS, asked=ASKED)
def test_links_are_what_a_search_finds(
    edges: list[Edge], bads: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    found = columns_of(edges, bads, asked)
    for row, (user, at) in enumerate(asked):
        wanted = searched(edges, bads, user, at)
        mine = LinkFeatures(*(int(found[name][row]) for name in found))
        assert mine == wanted
        index = LinkIndex()
        for who, kind, value, _ in sorted((e for e in edges if e[3] <= at), key=lambda e: e[3]):
            index.add(Link(who, Attribute(kind), value))
        for who, when in bads:
            if when <= at:
                index.mark_bad(who)
        assert index.features(user) == wanted


def test_links_booked_later_are_not_known() -> None:
    edges = [(1, 1, 7, 5), (2, 1, 7, 20), (3, 2, 9, 5), (1, 2, 9, 6)]
    bads = [(3, 30)]
    then = searched(edges, bads, 1, 10)
    assert then == LinkFeatures(2, 1, 0)
    assert searched(edges, bads, 1, 10, by_now=False) == LinkFeatures(3, 2, 500_000)
    found = columns_of(edges, bads, [(1, 10)])
    assert [int(found[name][0]) for name in found] == [2, 1, 0]


def test_a_hub_links_nobody_beyond_its_first_users() -> None:
    index = LinkIndex(hub=3)
    for user in range(1, 8):
        index.add(Link(user, Attribute.ADDRESS, 1))
    assert index.features(1) == LinkFeatures(3, 2, 0)
    assert index.features(7) == LinkFeatures(1, 0, -1)
    users = np.arange(1, 8)
    found = link_columns(
        {"user_id": users, "known_at": np.full(7, 9)},
        {"user_id": users, "attribute": np.full(7, 3), "value": np.ones(7, np.int64),
         "booked_at": np.arange(7)},
        {"user_id": [], "booked_at": []}, hub=3,
    )  # fmt: skip
    assert found["size"].tolist() == [3, 3, 3, 1, 1, 1, 1]
    assert found["degree"].tolist() == [2, 2, 2, 0, 0, 0, 0]


def test_wrong_columns_of_links_are_named() -> None:
    good = {"user_id": [1], "known_at": [1]}
    with pytest.raises(WrongInput, match="attribute is missing"):
        link_columns(good, {"user_id": [1], "booked_at": [1]}, {"user_id": [], "booked_at": []})
    with pytest.raises(WrongInput, match="known_at is float64"):
        link_columns({"user_id": [1], "known_at": [0.5]}, {}, {})
    links = {"user_id": [1, 2], "attribute": [1, 9], "value": [5, 5], "booked_at": [0, 0]}
    nobody: dict[str, list[int]] = {"user_id": [], "booked_at": []}
    with pytest.raises(WrongInput, match="no attribute 9"):
        link_columns(good, links, nobody)
    with pytest.raises(WrongInput, match="attribute has 1 rows and user_id 2"):
        link_columns(good, links | {"attribute": [1]}, nobody)


def test_velocity_of_what_is_not_whole_is_refused() -> None:
    with pytest.raises(WrongInput, match="booked_at is float64"):
        velocity_columns([1], [1.5], [1], [2], 24)
    with pytest.raises(WrongInput, match="booked_at has 1 rows and key 2"):
        velocity_columns([1, 2], [1], [1], [2], 24)


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 60)), max_size=20),
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 70)), min_size=1, max_size=8),
    st.integers(1, 48),
)
def test_velocity_counts_the_window(
    events: list[tuple[int, int]], asked: list[tuple[int, int]], hours: int
) -> None:
    log = VelocityLog()
    for key, hour in events:
        log.add(key, hour * HOUR_US)
    wanted = [
        sum(1 for k, hour in events if k == key and at - hours < hour <= at) for key, at in asked
    ]
    assert [log.count(key, at * HOUR_US, hours) for key, at in asked] == wanted
    booked = [hour * HOUR_US for _, hour in events]
    until = [at * HOUR_US for _, at in asked]
    found = velocity_columns(
        [key for key, _ in events], booked, [key for key, _ in asked], until, hours
    )
    assert found.tolist() == wanted


LISTS = """
- {attribute: phone, value: 5, list: watch, from: 2024-01-01, booked_at: 2024-01-01T00:00:00Z,
   source: own}
- {attribute: device, value: 7, list: block, from: 2024-01-01, to: 2024-03-31,
   booked_at: 2024-02-01T00:00:00Z, source: court}
"""


@pytest.mark.parametrize(
    ("on", "wanted"),
    [
        ("2023-12-31", None),
        ("2024-01-15", "watch"),
        ("2024-03-31", "block"),
        ("2024-04-01", "watch"),
    ],
)
def test_the_strongest_entry_in_force_counts(on: str, wanted: str | None) -> None:
    day = date.fromisoformat(on)
    mine = {(Attribute.PHONE, 5), (Attribute.DEVICE, 7)}
    at = datetime(day.year, day.month, day.day, tzinfo=UTC)
    found = strongest(parse_lists(LISTS), mine, day, at)
    assert (found.list.label if found else None) == wanted


def test_an_entry_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(UsanceError, match=r"line 4.*ends on 2023-03-31, before"):
        parse_lists(LISTS.replace("to: 2024-03-31", "to: 2023-03-31"))


def test_a_wrong_entry_is_named_with_its_line() -> None:
    with pytest.raises(UsanceError) as caught:
        parse_lists(LISTS.replace("list: block", "list: black"))
    assert "lists line 4" in str(caught.value)
    assert "Did you mean 'block'?" in str(caught.value)


SEEN = """user_id,attribute,value,booked_at
7,device,77,2024-06-30T07:58:00Z
8,device,77,2024-06-12T10:00:00Z
8,phone,5,2024-06-12T10:00:00Z
9,phone,5,2024-06-30T08:30:00Z
6,device,77,2024-05-01T00:00:00Z
"""
ASKING = "user_id,at,device\n7,2024-06-30T08:00:00Z,77\n9,2024-06-30T17:00:00+08:00,77\n"


def found_by(folder: Path, *words: str, asking: str = ASKING, seen: str = SEEN) -> int:
    """Write the files and call the command."""
    (folder / "asking.csv").write_text(asking)
    (folder / "seen.csv").write_text(seen)
    (folder / "bads.csv").write_text("user_id,booked_at\n8,2024-06-30T08:30:00Z\n")
    (folder / "lists.yaml").write_text(LISTS)
    files = [str(folder / name) for name in ("asking.csv", "seen.csv")]
    more = ["--bads", str(folder / "bads.csv"), "--lists", str(folder / "lists.yaml")]
    return cli.main(["assess", "links", *files, *more, *words])


def test_findings_of_files_are_as_known_then(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """User 8 turns out bad between the two; user 6 was on the device more than a month ago.

    The device of user 9 is known by the application alone, and links as any other.
    """
    assert found_by(tmp_path, "--json") == 0
    first, second = json.loads(capsys.readouterr().out)["data"]
    assert first == {"user_id": 7, "list_hit": "none", "applications_24h": 1,
                     "device_users_30d": 2, "link_size": 3, "link_degree": 2,
                     "bad_neighbours_ppm": 0}  # fmt: skip
    assert second == {"user_id": 9, "list_hit": "watch", "applications_24h": 2,
                      "device_users_30d": 3, "link_size": 4, "link_degree": 3,
                      "bad_neighbours_ppm": 333_333}  # fmt: skip
    flow = read_flow("consumer")
    assert set(first) - {"user_id", "link_degree"} <= set(flow.inputs)


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"seen": SEEN.replace("8,phone", "8,fone")}, "line 4, attribute: unknown attribute"),
        ({"seen": SEEN.replace("T08:30:00Z", "T08:30:00")}, "line 5, booked_at"),
        ({"seen": "user_id,attribute\n1,device\n"}, "has no column value"),
        ({"asking": "user_id,at,device\n"}, "has no applications"),
        ({"asking": ASKING.replace(",77", ",x")}, "line 3, device: 'x' is not a whole number"),
    ],
)
def test_wrong_files_of_links_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str], named: str
) -> None:
    assert found_by(tmp_path, **files) == 2
    assert named in capsys.readouterr().err
