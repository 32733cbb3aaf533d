"""Desks of the live platform: strategies, allocation, agencies, channels that fail, letters."""

from __future__ import annotations

import json
from datetime import date, timedelta
from hashlib import sha256
from typing import Any

import pytest

from tests.platform.sandbox import Sandbox
from tests.platform.test_contacts import at, owner
from tests.platform.test_contacts import debtors as contacts_debtors
from usance.platform.desk.contact_desk import letter_of, send_due
from usance.platform.errors import InvalidField, NotFound, Refused
from usance.platform.live import Platform
from usance.platform.reads.collections.case_results import commission
from usance.platform.reads.collections.cases import channels
from usance.platform.reads.collections.collection_results import ResultsBy, results
from usance.platform.refusals import PlacementRefused
from usance.service.collections.channels import LocalChannel, Outgoing
from usance.service.collections.contact_rules import Channel
from usance.service.collections.stages import Stage
from usance.service.collections.strategy_file import shipped_strategy, shipped_text

DAY, NOON = date(2024, 7, 2), "2024-07-02 04:00+00"
AUTOMATIC = "update usance.cases set is_automatic = true, stage = 1, days_past_due = 2"


def debtors(sandbox: Sandbox, count: int) -> list[str]:
    """Users with an open case each, at noon of a day."""
    users = contacts_debtors(sandbox, count)
    at(sandbox, NOON)
    owner(sandbox, f"update usance.installation set business_date = '{DAY}'")
    return users


def read(sandbox: Sandbox, who: str, function: Any, *given: Any) -> Any:
    """A read by a function of a principal's transaction and moment."""

    async def work(platform: Platform) -> Any:
        async with platform.reading(await platform.principal(who)) as reading:
            return await function(reading.transaction, reading.moment, *given)

    return sandbox.within(work)


def serve(sandbox: Sandbox, day: date, *loans: tuple[int, int, int]) -> dict[str, Any]:
    """An evening with loans past due: id, days and amount."""
    rows = [[loan, days, owed, owed * 5] for loan, days, owed in loans]
    return dict(sandbox.do("system", "cases.serve", {"day": day, "loans": rows}).answer)


def today(sandbox: Sandbox) -> date:
    day = sandbox.sql("system", "select business_date from usance.installation")
    assert isinstance(day, date)
    return day


def case_rows(sandbox: Sandbox, columns: str) -> list[list[Any]]:
    text = sandbox.sql("system", f"select json_agg(json_build_array({columns}) order by user_id)"
                                 "::text from usance.cases")  # fmt: skip
    rows: list[list[Any]] = json.loads(text)
    return rows


def test_a_strategy_is_in_force_from_its_day_and_decides_actions(sandbox: Sandbox) -> None:
    [user] = debtors(sandbox, 1)
    day = DAY
    text = shipped_text().replace("strategy: standard", "strategy: letters first")
    text = text.replace(
        "stage: in_house, channel: voice, desk: m1, script: m1_call, tone: friendly, every_days: 2",
        "stage: in_house, channel: letter, desk: senior, script: m2_call, tone: formal, "
        "every_days: 9",
    )
    later = text.replace("valid_from: 2023-01-01", f"valid_from: {day + timedelta(days=3)}")
    told = sandbox.do("system", "strategy.put", {"text": later}).answer
    assert told["valid_from"] == str(day + timedelta(days=3))

    def channel() -> Any:
        owner(sandbox, "update usance.cases set locked_until = null, next_at = null")
        return sandbox.do("system", "case.next", {}).answer["case"]["action"]["channel"]

    assert channel() == "voice"
    owner(sandbox, "update usance.installation set clock = clock + interval '4 days', "
                   "business_date = business_date + 4")  # fmt: skip
    assert channel() == "letter"
    assert sandbox.sql("system", "select count(*) from usance.settings where kind = 'strategy'")
    assert user


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("latest: '20:30'", "latest: '22:30'", "line 27, actions[1].latest"),
        ("party: debtor", "party: debtor", "amounts are in USD"),
    ],
)
def test_a_strategy_that_may_not_be_is_refused(
    sandbox: Sandbox, old: str, new: str, what: str
) -> None:
    text = shipped_text().replace(old, new, 1)
    if "USD" in what:
        text = text.replace("currency: CNY", "currency: USD")
    with pytest.raises(InvalidField) as refused:
        sandbox.do("system", "strategy.put", {"text": text})
    assert what in str(refused.value)
    assert sandbox.sql("system", "select count(*) from usance.settings "
                                 "where kind = 'strategy'") == 0  # fmt: skip


def test_a_morning_gives_cases_to_those_who_may_work_them(sandbox: Sandbox) -> None:
    debtors(sandbox, 6)
    owner(sandbox, "update usance.cases set stage = 4 where user_id = 6")
    for name, slots, stages in (("operations", 3, ["in_house"]), ("finance", 2, ["in_house"])):
        sandbox.do("system", "collector.put", {"name": name, "slots": slots, "stages": stages})
    with pytest.raises(InvalidField):
        sandbox.do("system", "collector.put", {"name": "channel", "slots": 3})
    agency = {"name": "north", "commission_ppm": 180_000, "max_cases": 5, "tail_days": 5,
              "valid_from": "2024-01-01", "target_ppm": 120_000}  # fmt: skip
    sandbox.do("system", "agency.put", agency)
    told = sandbox.do("system", "cases.allocate", {}).answer
    assert (told["cases"], told["allocated"], told["placed"], told["gap_ppm"]) == (6, 5, 1, 0)
    rows = case_rows(sandbox, "user_id, assigned > 0, agency > 0")
    assert [row[1:] for row in rows] == [[True, False]] * 5 + [[False, True]]
    counts = sandbox.sql("system", "select json_agg(n order by n)::text from (select count(*) n "
                         "from usance.cases where assigned > 0 group by assigned) g")  # fmt: skip
    assert json.loads(counts) == [2, 3]
    # Whoever was given cases is offered theirs, and nobody a case of somebody else.
    taken = [sandbox.do("operations", "case.next", {}).answer["case"]["user"]]
    owner(sandbox, "update usance.cases set next_at = now() + interval '9 years' "
                   "where locked_until is not null")  # fmt: skip
    own = sandbox.sql("system", "select count(*) from usance.cases c join usance.principals p "
                      "on p.principal_id = c.assigned where p.name = 'operations'")  # fmt: skip
    for _ in range(4):
        owner(sandbox, "update usance.cases set locked_until = null")
        found = sandbox.do("operations", "case.next", {}).answer["case"]
        if found:
            taken.append(found["user"])
        owner(sandbox, "update usance.cases set next_at = now() + interval '9 years' "
                       "where locked_until is not null")  # fmt: skip
    assert len(set(taken)) == own


def test_a_morning_takes_no_case_out_of_the_hands_of_who_works_it(sandbox: Sandbox) -> None:
    users = debtors(sandbox, 2)
    owner(sandbox, "update usance.cases set stage = 4")
    sandbox.do("system", "agency.put", {"name": "north", "commission_ppm": 180_000, "max_cases": 5,
                                        "valid_from": "2024-01-01"})  # fmt: skip
    sandbox.do("operations", "contact.begin", {"user": users[0], "channel": "voice"})
    told = sandbox.do("system", "cases.allocate", {}).answer
    assert (told["cases"], told["placed"]) == (1, 1)
    rows = case_rows(sandbox, "user_id, agency > 0, locked_until is not null")
    assert [row[1:] for row in rows] == [[False, True], [True, False]]


@pytest.fixture
def placed(sandbox: Sandbox) -> tuple[Sandbox, list[str]]:
    """Three debtors, two of them with the agency north; there is another agency."""
    users = debtors(sandbox, 3)
    for name in ("north", "south"):
        body = {"name": name, "commission_ppm": 200_000, "max_cases": 2, "tail_days": 3,
                "valid_from": "2024-01-01"}  # fmt: skip
        sandbox.do("system", "agency.put", body)
    batch = {"agency": "north", "users": users[:2], "target_ppm": 100_000}
    told = sandbox.do("operations", "agency.place", batch).answer
    assert (told["cases"], told["owed_minor"], told["target_minor"]) == (2, 100_000, 10_000)
    return sandbox, users


def test_an_agency_works_what_is_placed_with_it_and_nothing_else(
    placed: tuple[Sandbox, list[str]],
) -> None:
    sandbox, users = placed
    assert sandbox.sql("north", "select count(*) from usance.cases") == 2
    assert sandbox.sql("south", "select count(*) from usance.cases") == 0
    offered = sandbox.do("north", "case.next", {}).answer["case"]
    assert offered["user"] == users[1]
    assert sandbox.do("south", "case.next", {}).answer["case"] is None
    body = {"user": users[1], "channel": "voice"}
    contact = sandbox.do("north", "contact.begin", body).answer["contact"]
    with pytest.raises(NotFound):
        sandbox.do("south", "contact.begin", body)
    with pytest.raises(NotFound):
        sandbox.do("south", "contact.end", {"contact": contact, "connected": True})
    with pytest.raises(Refused, match="with an agency"):
        sandbox.do("operations", "contact.begin", {"user": users[0], "channel": "voice"})
    sandbox.do("north", "contact.end", {"contact": contact, "connected": True})
    promise = {"user": users[1], "amount_minor": 9_000, "due_on": today(sandbox)}
    assert sandbox.do("north", "promise.make", promise).answer["state"] == "open"
    with pytest.raises(NotFound):
        sandbox.do("north", "contact.begin", {"user": users[2], "channel": "voice"})


def test_a_batch_is_whole_or_nothing_and_comes_back(placed: tuple[Sandbox, list[str]]) -> None:
    sandbox, users = placed
    for agency, batch, what in (
        ("south", users[1:], "is with north"), ("north", users[2:], "are above 2"),
    ):  # fmt: skip
        with pytest.raises(PlacementRefused, match=what):
            sandbox.do("operations", "agency.place", {"agency": agency, "users": batch})
    with pytest.raises(PlacementRefused, match="with no agency"):
        sandbox.do("operations", "agency.recall", {"users": users})
    sandbox.do("operations", "agency.recall", {"users": users[:1]})
    assert sandbox.sql("north", "select count(*) from usance.cases") == 1
    sandbox.do("operations", "agency.place", {"agency": "south", "users": users[:1]})
    assert sandbox.sql("south", "select count(*) from usance.cases") == 1
    # A case that is paid comes back by itself.
    serve(sandbox, today(sandbox), (49153, 3, 5_000))
    assert sandbox.sql("system", "select count(*) from usance.agency_placements "
                                 "where recalled_on is null") == 0  # fmt: skip


def pay(loan: int, ref: int, day: date, amount: int) -> str:
    """A payment fact as the store holds it."""
    return (
        "insert into usance.facts "
        "(loan_id, effective_on, kind, ref, amount_minor, arg, booked_at) values "
        f"({loan}, '{day}', 4, {ref}, {amount}, 0, now())"
    )


def test_commission_is_due_on_what_came_while_an_agency_had_the_case(
    placed: tuple[Sandbox, list[str]],
) -> None:
    sandbox, users = placed
    first = today(sandbox)
    for loan, ref, day, amount in (
        (16_385, 2, first, 30_000), (16_385, 3, first + timedelta(days=40), 7_000),
        (32_769, 2, first - timedelta(days=1), 9_000), (49_153, 2, first, 5_000),
    ):  # fmt: skip
        owner(sandbox, pay(loan, ref, day, amount))
    report = {"user": users[0], "reference": "n-1", "paid_on": first, "amount_minor": 31_000}
    assert sandbox.do("north", "agency.report", report).is_new
    assert not sandbox.do("north", "agency.report", report).is_new
    with pytest.raises(PlacementRefused):
        sandbox.do("north", "agency.report", {**report, "amount_minor": 1})
    with pytest.raises(NotFound):
        sandbox.do("south", "agency.report", report)
    told = read(sandbox, "finance", commission, "north", first, first + timedelta(days=30))
    assert (told["collected_minor"], told["commission_minor"]) == (30_000, 6_000)
    assert (told["reported_minor"], told["difference_minor"]) == (31_000, 1_000)


def test_a_case_placed_twice_on_a_day_is_the_later_agencys(
    placed: tuple[Sandbox, list[str]],
) -> None:
    sandbox, users = placed
    first = today(sandbox)
    sandbox.do("operations", "agency.recall", {"users": users[:1]})
    sandbox.do("operations", "agency.place", {"agency": "south", "users": users[:1]})
    owner(sandbox, pay(16_385, 2, first, 30_000),
          "update usance.agency_placements set recalled_on = recalled_on "
          "where recalled_on is not null")  # fmt: skip
    told = {name: read(sandbox, "finance", commission, name, first, first)["collected_minor"]
            for name in ("north", "south")}  # fmt: skip
    assert told == {"north": 0, "south": 30_000}


def test_a_case_recalled_during_a_call_is_the_next_ones(placed: tuple[Sandbox, list[str]]) -> None:
    sandbox, [user, *_] = placed
    body = {"user": user, "channel": "voice"}
    theirs = sandbox.do("north", "contact.begin", body).answer["contact"]
    sandbox.do("operations", "agency.recall", {"users": [user]})
    sandbox.do("operations", "contact.begin", body)
    with pytest.raises(NotFound):
        sandbox.do("south", "contact.end", {"contact": theirs, "connected": True})
    ended = sandbox.do("north", "contact.end", {"contact": theirs, "connected": True}).answer
    assert ended["reached"] == "connected"
    with pytest.raises(Refused, match="somebody else works"):
        sandbox.do("system", "contact.begin", body)
    with pytest.raises(NotFound):
        sandbox.do("north", "contact.begin", body)


def test_a_payment_keeps_one_promise_over_evenings(sandbox: Sandbox) -> None:
    [user] = debtors(sandbox, 1)
    first = today(sandbox)
    for days in (1, 6):
        sandbox.do("system", "promise.make", {"user": user, "amount_minor": 9_000,
                                              "due_on": first + timedelta(days=days)})  # fmt: skip
    owner(sandbox, pay(16_385, 2, first, 12_000))
    told = {}
    for days in (0, 1, 4, 8):
        serve(sandbox, first + timedelta(days=days), (16_385, 9 + days, 40_000))
        told[days] = sandbox.sql("system", "select string_agg(state, ' ' order by promise_id) "
                                           "from usance.promises")  # fmt: skip
    assert told == {0: "kept open", 1: "kept open", 4: "kept open", 8: "kept partly"}


def test_a_machine_sends_logs_before_and_re_routes_when_a_channel_fails(sandbox: Sandbox) -> None:
    debtors(sandbox, 3)
    owner(sandbox, AUTOMATIC, "update usance.contact_profiles set "
                              "channels = '{ai_voice,message}'")  # fmt: skip
    sent: list[str] = []

    async def run(platform: Platform) -> dict[str, int]:
        class Carrier(LocalChannel):
            def send(self, outgoing: Outgoing) -> str:
                if self.sent:
                    self.is_down = True
                return super().send(outgoing)

        platform.channels[Channel.AI_VOICE] = Carrier()
        platform.channels[Channel.MESSAGE] = messages = LocalChannel()
        told = await send_due(platform)
        sent.extend(each.text for each in messages.sent)
        return told

    assert sandbox.within(run) == {"sent": 1, "rerouted": 2, "refused": 0, "waiting": 0}
    assert len(sent) == 2
    rows = sandbox.sql("system", "select json_agg(json_build_array(channel, reached) "
                       "order by attempt_id)::text from usance.contact_attempts")  # fmt: skip
    assert sorted(map(tuple, json.loads(rows))) == [
        ("ai_voice", "connected"), ("ai_voice", "not_connected"),
        ("message", "connected"), ("message", "connected"),
    ]  # fmt: skip
    assert (
        sandbox.sql(
            "system",
            "select count(*) from usance.channel_outages "
            "where ended_at is null and channel = 'ai_voice'",
        )
        == 1
    )
    # Nothing is due again; up again, the channel is used again.
    assert sandbox.within(send_due)["sent"] == 0
    sandbox.do("system", "channel.up", {"channel": "ai_voice"})
    owner(sandbox, "update usance.cases set next_at = null where user_id = 1")
    assert sandbox.within(send_due) == {"sent": 1, "rerouted": 0, "refused": 0, "waiting": 0}


def test_an_outage_at_noon_moves_agents_at_once_and_work_waits_where_nothing_is_left(
    sandbox: Sandbox,
) -> None:
    users = debtors(sandbox, 2)
    owner(sandbox, "update usance.cases set is_automatic = true, stage = 1 where user_id = 2",
          "update usance.contact_profiles set channels = '{ai_voice}' "
          "where user_id = 2")  # fmt: skip
    down = sandbox.do("system", "channel.down", {"channel": "voice", "reason": "carrier"})
    assert down.is_new
    # One case is called by a person; its message adds (45 % x 22 % - 80 % x 3 %) of 60 % less.
    assert down.answer["outage"] == {"cases": 1, "rerouted": 1, "waiting": 0,
                                     "past_due_minor": 50_000,
                                     "expected_loss_minor": 2_250}  # fmt: skip
    again = sandbox.do("system", "channel.down", {"channel": "voice", "reason": "carrier"})
    assert not again.is_new
    action = sandbox.do("operations", "case.next", {}).answer["case"]["action"]
    assert (action["wanted_channel"], action["channel"]) == ("voice", "message")
    with pytest.raises(Refused, match="voice is down"):
        sandbox.do("operations", "contact.begin", {"user": users[0], "channel": "voice"})
    sandbox.do("system", "channel.down", {"channel": "ai_voice", "reason": "carrier"})
    told = {each["channel"]: each["outage"] for each in read(sandbox, "system", channels)}
    assert (told["voice"]["rerouted"], told["ai_voice"]["waiting"]) == (1, 1)
    assert told["ai_voice"]["expected_loss_minor"] == 560  # 35 % x 8 % of 40 % of 50,000
    assert told["message"] is None
    assert sandbox.within(send_due) == {"sent": 0, "rerouted": 0, "refused": 0, "waiting": 1}
    with pytest.raises(InvalidField):
        sandbox.do("system", "channel.down", {"channel": "drum", "reason": ""})
    with pytest.raises(Refused, match="not down"):
        sandbox.do("system", "channel.up", {"channel": "push"})


def test_a_letter_is_the_same_file_again(sandbox: Sandbox) -> None:
    [user] = debtors(sandbox, 1)
    owner(sandbox, AUTOMATIC.replace("stage = 1", "stage = 5"))
    assert sandbox.within(send_due)["sent"] == 1
    row = json.loads(sandbox.sql("system", "select row_to_json(o)::text from usance.outgoing o"))
    pdf = letter_of(row["content"], row["language"])
    assert pdf.startswith(b"%PDF")
    assert sha256(pdf).hexdigest() == row["sha256"]
    assert user in row["content"]


def test_the_clock_allocates_in_the_morning_and_sends_by_day(sandbox: Sandbox) -> None:
    debtors(sandbox, 2)
    at(sandbox, "2024-07-01 17:00+00")
    day = DAY
    owner(sandbox, AUTOMATIC + " where user_id = 1",
          "update usance.contact_profiles set channels = '{ai_voice,voice}'")  # fmt: skip
    sandbox.do("system", "collector.put", {"name": "operations", "slots": 5})
    sandbox.do("control", "clock.advance", {"to": f"{day + timedelta(days=1)}T03:30:00Z"})
    runs = sandbox.sql("system", "select json_agg(name order by day, name)::text "
                       "from usance.money_runs where name like 'desk/%'")  # fmt: skip
    assert json.loads(runs)[:3] == ["desk/07", "desk/10", "desk/16"]
    assert (
        sandbox.sql(
            "system", "select count(*) from usance.contact_attempts where channel = 'ai_voice'"
        )
        >= 1
    )


def test_results_compare_arms_of_cases_whose_window_is_over(sandbox: Sandbox) -> None:
    """Cases by the first evening of each, their payments within 30 days, and the uplift."""
    count, first = 400, date(2024, 1, 1)
    owner(
        sandbox,
        "insert into usance.case_days select date '2024-01-02', n, 3, 10000, 50000, 1, 2, 'other',"
        " case when n % 2 = 0 then 'champion' else 'early_call' end "
        f"from generate_series(1, {count}) n",
        "insert into usance.case_days select day + 1, user_id, 4, 10000, 50000, 1, 2, 'other', arm "
        "from usance.case_days",
        "update usance.installation set business_date = '2024-03-02'",
        *(pay(n * 16_384 + 1, 2, first + timedelta(days=5), 10_000)
          for n in range(1, count, 2) if n % 5),
    )  # fmt: skip
    told = read(sandbox, "system", results, first, date(2024, 1, 31))
    assert {each["arm"]: (each["cases"], each["collection_30_ppm"]) for each in told["groups"]} == {
        "champion": (count // 2, 0), "early_call": (count // 2, 800_000)
    }  # fmt: skip
    assert told["is_complete"] is True
    [found] = told["uplift"]
    assert (found["arm"], found["difference"], found["is_better"]) == ("early_call", 0.8, True)
    assert not read(sandbox, "system", results, first, date(2024, 2, 28))["is_complete"]


def test_arms_of_one_name_in_two_strategies_stay_apart(sandbox: Sandbox) -> None:
    """A challenger that was good in winter is not the one of spring, though both are one name."""
    day, count = date(2024, 1, 2), 400
    version = "case when n <= 200 then 'winter 2024-01-01' else 'spring 2024-01-20' end"
    owner(
        sandbox,
        "insert into usance.case_days select date '2024-01-02' + n / 200, n, 3, 10000, 50000, 1, 2,"
        " 'other', case when n % 2 = 0 then 'champion' else 'early_call' end, "
        f"{version}, 'robot' from generate_series(1, {count}) n",
        "update usance.installation set business_date = '2024-03-02'",
        # Challengers pay in winter, champions in spring.
        *(pay(n * 16_384 + 1, 2, day + timedelta(days=5), 10_000)
          for n in range(1, count + 1) if n % 10 and (n % 2 == 1) == (n <= count // 2)),
    )  # fmt: skip
    told = read(sandbox, "system", results, day, date(2024, 1, 31))
    names = ("early_call", "champion")
    assert [(each["strategy"], each["arm"], each["cases"]) for each in told["groups"]] == [
        (strategy, arm, 100) for strategy in ("spring 2024-01-20", "winter 2024-01-01")
        for arm in sorted(names)
    ]  # fmt: skip
    assert [(each["strategy"], each["is_better"], each["is_worse"]) for each in told["uplift"]] == [
        ("spring 2024-01-20", False, True), ("winter 2024-01-01", True, False)
    ]  # fmt: skip
    told = read(sandbox, "system", results, day, date(2024, 1, 31), ResultsBy.STRATEGY)
    assert [(each["strategy"], each["cases"]) for each in told["groups"]] == [
        ("spring 2024-01-20", 200), ("winter 2024-01-01", 200)
    ]  # fmt: skip
    told = read(sandbox, "system", results, day, date(2024, 1, 31), ResultsBy.DESK)
    assert [(each["desk"], each["cases"]) for each in told["groups"]] == [("robot", 400)]


def test_an_evening_keeps_its_strategy_and_desk(sandbox: Sandbox) -> None:
    sandbox.do("system", "cases.serve", {"day": date(2024, 7, 2), "loans": [[16385, 9, 50, 400]]})
    kept = sandbox.sql("system", "select to_jsonb(d)::text from usance.case_days d")
    row, strategy = json.loads(kept), shipped_strategy()
    wanted = strategy.action(row["arm"], row["segment"], Stage(row["stage"]))
    assert (row["strategy"], row["desk"]) == (strategy.version, wanted.desk)
