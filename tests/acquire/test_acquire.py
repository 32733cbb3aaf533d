"""Registration, identities, consents, channels and the cost of acquisition."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import usance.acquire
from usance import cli
from usance.acquire.channels import SHIPPED, Channels, Touch, attributed_channel, read_channels
from usance.acquire.consent import Consent, Purpose, in_force, read_consents
from usance.acquire.errors import ChannelError, DuplicateIdentity, IdentityError
from usance.acquire.funnel import Event, Step, acquisition_funnel
from usance.acquire.identity import (
    CardRegister,
    IdentityPort,
    LocalIdentity,
    Person,
    card_number,
    mrz_number,
    resident_number,
)
from usance.acquire.registration import UserRegister
from usance.base.codes import Product
from usance.base.errors import UsanceError

ON = date(2024, 6, 30)
ADA = Person("Ada", "11010519491231002X", "13800000000", "6222021234567894")


def resident(body: str) -> str:
    """A number with the check character by the standard's own definition: the sum is 1 mod 11."""
    for last in "0123456789X":
        digits = [int(d) for d in body] + [10 if last == "X" else int(last)]
        if sum(d * pow(2, 17 - at, 11) for at, d in enumerate(digits)) % 11 == 1:
            return body + last
    raise AssertionError


BODIES = st.builds(
    lambda region, born, order: f"{region}{born:%Y%m%d}{order:03}",
    st.integers(110000, 659999), st.dates(date(1930, 1, 1), date(2010, 1, 1)), st.integers(1, 999),
)  # fmt: skip


@given(BODIES, st.integers(0, 16), st.integers(1, 9))
def test_resident_numbers_by_the_definition(body: str, at: int, step: int) -> None:
    number = resident(body)
    found = resident_number(number.lower())
    assert f"{found.born:%Y%m%d}" == body[6:14]
    wrong = number[:at] + str((int(number[at]) + step) % 10) + number[at + 1 :]
    with pytest.raises(IdentityError):
        resident_number(wrong)


@given(st.text("0123456789", min_size=11, max_size=18))
def test_card_numbers_by_luhn(body: str) -> None:
    """Exactly one last digit of ten is right."""
    right = 0
    for last in "0123456789":
        try:
            right += card_number(body + last) == body + last
        except IdentityError:
            continue
    assert right == 1


def test_travel_documents_as_the_standard_shows_them() -> None:
    assert mrz_number("L898902C36") == "L898902C3"  # ICAO 9303, specimen
    assert mrz_number("D23145890<7") == "D23145890"
    with pytest.raises(IdentityError, match="should end in 6"):
        mrz_number("L898902C35")


def test_ages_turn_on_birthdays() -> None:
    born = resident_number(resident("11010520060701001"))
    assert (born.age_on(date(2024, 6, 30)), born.age_on(date(2024, 7, 1))) == (17, 18)


def test_the_local_identity_checks_four_factors() -> None:
    port: IdentityPort = LocalIdentity(CardRegister.of([ADA], key=b"k"))
    assert port.check(ADA, 930_000, ON).card_check == "match"
    strange = resident("11010519900101001")
    others = replace(ADA, name="Eva"), replace(ADA, phone="139"), replace(ADA, document=strange)
    for other in others:
        assert port.check(other, 930_000, ON).card_check == "mismatch"
    unknown = port.check(replace(ADA, card="4111111111111111"), None, ON)
    assert (unknown.card_check, unknown.face_match_ppm) == ("not_checked", -1)


def test_the_local_identity_says_what_is_wrong() -> None:
    port = LocalIdentity(CardRegister.of([], key=b"k"))
    bad = port.check(Person("Ada", "110105194912310021", "1", "4111111111111112"), 1, ON)
    assert (bad.document_valid, bad.card_check, len(bad.notes)) == (False, "mismatch", 2)
    ended = Person("Ada", ADA.document, "1", document_valid_to=date(2024, 6, 29))
    assert not port.check(ended, 1, ON).document_valid
    with pytest.raises(IdentityError, match="a match of 1000001"):
        port.check(ADA, 1_000_001, ON)


def test_a_duplicate_is_caught_however_it_is_written() -> None:
    users = UserRegister(b"k")
    assert users.register(ADA, ON, channel=1, region=11).user_id == 1
    again = Person("ada ", " 11010519491231002x", "138 0000 0000")
    with pytest.raises(DuplicateIdentity, match="user 1"):
        users.register(again, ON, channel=2, region=11)
    renewed = Person("ADA", resident("11010519900101001"), "138 0000 0000")
    second = users.register(renewed, ON, channel=2, region=11)
    assert (second.user_id, second.possible_duplicates) == (2, (1,))
    with pytest.raises(IdentityError):
        users.register(Person("Bo", "123", "1"), ON, channel=1, region=1)
    # What was refused took no number.
    third = Person("Bo", resident("11010519900101002"), "1")
    assert users.register(third, ON, channel=1, region=1).user_id == 3
    assert users.table().column("user_id").to_pylist() == [1, 2, 3]
    assert "110105" not in repr(vars(users))


def moment(minute: int) -> datetime:
    return datetime(2024, 6, 30, tzinfo=UTC) + timedelta(minutes=minute)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9), st.integers(0, 9)), max_size=8),
       st.integers(0, 9), st.integers(0, 9))  # fmt: skip
def test_consent_is_the_last_word_known(
    said: list[tuple[bool, int, int]], at: int, known: int
) -> None:
    facts = [
        Consent(1, Purpose.MARKETING, yes, moment(when), moment(booked), "v", "app")
        for yes, when, booked in said
    ]
    seen = sorted((w, b, not y) for y, w, b in said if w <= at and b <= known)
    wanted = bool(seen) and not seen[-1][2]
    assert bool(in_force(facts, 1, Purpose.MARKETING, moment(at), moment(known))) == wanted
    assert in_force(facts, 2, Purpose.MARKETING, moment(at), moment(known)) is None


def test_wrong_consents_are_named() -> None:
    with pytest.raises(UsanceError) as caught:
        read_consents([{"purpose": "marketting", "given": "yes"}], 1, str)
    for named in ("Did you mean 'marketing'?", "neither true nor false", "booked_at is missing"):
        assert named in str(caught.value)


@pytest.fixture(scope="module")
def channels() -> Channels:
    return read_channels()


def test_channels_are_dated(channels: Channels) -> None:
    with pytest.raises(ChannelError, match="not in force on 2020-06-30"):
        channels.at(3, date(2020, 6, 30))
    with pytest.raises(ChannelError, match="no channel 9"):
        channels.at(9, ON)


@pytest.mark.parametrize(
    ("line_minor", "product", "lines", "said"),
    [
        (5_000_000, Product.INSTALMENT, 19_999, ""),
        (5_000_001, Product.INSTALMENT, 0, "the line is above the largest of the programme"),
        (100, Product.SME, 0, "the programme has no sme"),
        (100, Product.V_POCKET, 20_000, "the programme has 20000 lines a month"),
    ],
)
def test_a_partner_programme_has_its_own_limits(
    channels: Channels, line_minor: int, product: Product, lines: int, said: str
) -> None:
    assert channels.refusal(2, ON, line_minor, product, lines) == said


@pytest.mark.parametrize(
    ("rule", "wanted"), [("first_touch", 4), ("last_touch", 1), ("last_paid", 2)]
)
def test_attribution_by_rule_and_window(tmp_path: Path, rule: str, wanted: int) -> None:
    file = tmp_path / "channels.yaml"
    file.write_text(SHIPPED.read_text().replace("last_touch", rule))
    known = read_channels(file)
    now = datetime(2024, 6, 30, tzinfo=UTC)
    days = [(3, 31), (4, 20), (2, 3), (1, 1), (3, -1)]
    touches = [Touch("v", channel, now - timedelta(days=ago)) for channel, ago in days]
    assert attributed_channel(known, touches, now, default=1) == wanted
    assert attributed_channel(known, touches[:1], now, default=1) == 1


EVENTS = """channel,user_id,event,on,amount
4,0,click,2024-03-31,
4,0,click,2024-04-01,
4,0,click,2024-04-01,
4,1,registered,2024-04-01,
4,1,applied,2024-04-02,
4,1,approved,2024-05-02,
4,1,approved,2024-05-02,
2,2,registered,2024-05-30,
2,2,identified,2024-05-30,
2,2,applied,2024-05-30,
2,2,approved,2024-05-31,
2,2,drawn,2024-06-01,
2,2,income,2024-06-30,12.55
2,3,registered,2024-06-01,
"""


def test_funnel_and_unit_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By hand: 2.40 + 2 × 2.90 for one approval; 180.00 + 8 % of 12.55 for the other."""
    file = tmp_path / "events.csv"
    file.write_text(EVENTS)
    assert cli.main(["acquire", "funnel", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["data"]
    cells = {cell["channel"]: cell for cell in found["by_channel"]}
    assert cells["search_campaign"]["cost_minor"] == 820
    assert cells["search_campaign"]["unit_cost_minor"] == 820
    assert cells["search_campaign"]["click"] == 3
    assert cells["shop_partner"]["cost_minor"] == 18_100
    assert (cells["shop_partner"]["registered"], cells["shop_partner"]["drawn"]) == (2, 1)
    cohorts = {(cell["channel"], cell["cohort"]): cell for cell in found["by_cohort"]}
    assert cohorts["shop_partner", "2024-05"]["income_minor"] == 1255
    assert cohorts["shop_partner", "2024-06"]["unit_cost_minor"] is None
    for name in ("by_cohort", "by_day"):
        assert sum(cell["cost_minor"] for cell in found[name]) == 18_920
    assert cli.main(["acquire", "funnel", str(file)]) == 0
    assert "181.00" in capsys.readouterr().out


STEPS = [step for step in Step if step not in (Step.CLICK, Step.INCOME)]
ROWS = st.tuples(
    st.sampled_from([1, 2, 3]), st.integers(1, 5), st.sampled_from(STEPS), st.integers(0, 40)
)


@settings(max_examples=30)
@given(st.lists(ROWS, max_size=30))
def test_a_user_counts_once_a_step(rows: list[tuple[int, int, Step, int]]) -> None:
    known = read_channels()
    events = [Event(c, u, s, ON + timedelta(days=d)) for c, u, s, d in rows]
    found = acquisition_funnel(known, events).by_channel
    for step in Step:
        users = {event.user_id for event in events if event.step is step}
        assert sum(cell.counts[step.value] for cell in found.values()) == len(users)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("4,1,approved,2024-05-02,", "9,1,approved,2024-05-02,", "line 7: no channel 9"),
        ("4,1,applied", "4,1,aplied", "line 6, event: unknown step 'aplied'"),
        ("2,2,drawn,2024-06-01,", "2,2,drawn,2024-06-31,", "line 13, on"),
        ("4,0,click,2024-03-31,", "4,7,click,2024-03-31,", "line 2: click of user 7"),
        ("2,2,drawn,2024-06-01,", "2,2,drawn,2024-06-01,5", "drawn has an amount"),
        ("channel,user_id", "chanel,user_id", "has no column channel"),
        ("2,2,approved,2024-05-31,", "2,2,approved,2024-05-29,", "Registered is on 2024-05-30"),
        ("2,2,drawn,2024-06-01,", "2,2,drawn,2024-05-30,", "line 13, on: drawn of user 2 is on"),
        (EVENTS.partition("\n")[2], "", "has no events"),
    ],
)
def test_wrong_events_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, named: str
) -> None:
    file = tmp_path / "events.csv"
    file.write_text(EVENTS.replace(old, new, 1))
    assert cli.main(["acquire", "funnel", str(file)]) == 2
    assert named in capsys.readouterr().err


def test_a_wrong_file_of_channels_is_named(tmp_path: Path) -> None:
    file = tmp_path / "channels.yaml"
    text = SHIPPED.read_text().replace("kind: agent", "kind: agnt")
    file.write_text(text.replace("from: 2024-04-01", "from: 2023-01-01"))
    with pytest.raises(UsanceError) as caught:
        read_channels(file)
    assert "Did you mean 'agent'?" in str(caught.value)
    file.write_text(SHIPPED.read_text().replace("from: 2024-04-01", "from: 2023-01-01"))
    with pytest.raises(UsanceError, match="two entries from 2023-01-01"):
        read_channels(file)


def test_the_public_names_of_the_room() -> None:
    assert set(usance.acquire.__all__) <= set(dir(usance.acquire))
    assert all(getattr(usance.acquire, name) is not None for name in usance.acquire.__all__)
