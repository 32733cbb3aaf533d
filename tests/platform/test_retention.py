"""Retention: each rule deletes what is too old and nothing else, once a day, and says so."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from tests.platform.applicants import LISTED, borrower, drawn
from tests.platform.databases import with_owner
from tests.platform.sandbox import Sandbox
from usance.base.packs import CountryPack
from usance.platform.commands.people.retention import RULES, ApplyRetention
from usance.platform.live import Platform
from usance.platform.principals import SYSTEM
from usance.platform.reads.people.retention import rules, runs
from usance.platform.store.database import Database

DAY = date(2024, 7, 2)


def retain(sandbox: Sandbox, day: date = DAY) -> dict[str, Any]:
    made = sandbox.within(lambda p: p.do(SYSTEM, ApplyRetention(day)))
    return {each["rule"]: each for each in made.answer["rules"]}


def age(sandbox: Sandbox, *statements: str) -> None:
    """Put rows back in time, as the loader."""

    async def work(owner: asyncpg.Connection) -> None:
        await owner.execute("set session_replication_role = replica; set role usance_writer")
        for each in statements:
            await owner.execute(each)

    with_owner(sandbox.server, sandbox.name, work)


def count(sandbox: Sandbox, table: str) -> int:
    async def work(platform: Platform) -> int:
        database: Database = platform.database
        async with database.loader() as loader:
            return int(await loader.fetchval(f'select count(*) from usance."{table}"'))

    return sandbox.within(work)


def test_what_is_young_stays(sandbox: Sandbox) -> None:
    user = borrower(sandbox)
    sandbox.do("channel", "user.register", {"client_ref": "bea", "region": 3}, key="1")
    drawn(sandbox, user)
    made = retain(sandbox)
    assert tuple(made) == RULES
    assert {name: each["deleted"] for name, each in made.items()} == dict.fromkeys(RULES, 0)
    assert made["answers"]["kept"] == 1
    assert made["person"]["kept"] == 2


def test_a_rule_deletes_what_is_too_old_and_the_run_is_kept(sandbox: Sandbox) -> None:
    sandbox.do("channel", "user.register", {"client_ref": "bea", "region": 3}, key="1")
    days = 91
    made = retain(sandbox, DAY + timedelta(days=days))
    assert made["answers"] == {"rule": "answers", "days": 90, "deleted": 1, "kept": 0}
    assert retain(sandbox, DAY + timedelta(days=days)) == made  # once a day
    assert count(sandbox, "retention_runs") == len(RULES)

    async def work(platform: Platform) -> tuple[list[Any], list[Any], list[Any]]:
        async with platform.reading(await platform.principal("control")) as read:
            shown = await rules(read.transaction, read.moment.lender, DAY)
            return shown, await runs(read.transaction, 0, 50), await read.audit(0, 100)

    shown, ran, audit = sandbox.within(work)
    (answers,) = [each for each in shown if each["rule"] == "answers"]
    assert (answers["days"], answers["last"]["deleted"]) == (90, 1)
    assert sum(each["deleted"] for each in ran) == 1
    assert [each["command"] for each in audit].count("retention.apply") == 2


def test_inputs_go_where_nothing_was_granted_and_stay_where_it_was(sandbox: Sandbox) -> None:
    drawn(sandbox, borrower(sandbox))
    made = sandbox.do("channel", "user.register", {"client_ref": "bea", "region": 3})
    applied = {"user": made.answer["user"], "product": "instalment", "inputs": LISTED}
    assert sandbox.do("channel", "application.decide", applied).answer["outcome"] == "declined"
    assert retain(sandbox, DAY + timedelta(days=729))["inputs"]["deleted"] == 0
    assert retain(sandbox, DAY + timedelta(days=731))["inputs"]["deleted"] == 1
    users = "select array_agg(user_id) from usance.sealed where kind = 'inputs'"
    assert sandbox.sql("control", users) == [1, 1]  # the application and the drawdown


def test_people_are_forgotten_years_after_their_last_loan(sandbox: Sandbox) -> None:
    for n, ref in enumerate(("never borrowed", "owes", "paid back")):
        user = borrower(sandbox, ref)
        sandbox.do(
            "channel",
            "person.set",
            {
                "user": user,
                "name": f"Ada {n}",
                "email": "",
                "national_id": f"1101{n}",
                "phone": "+8613800000",
            },
        )
        if n:
            loan = drawn(sandbox, user).answer["loan"]
        if n == 2:
            quote = sandbox.read("channel", "settlement_quote", loan, None)
            sandbox.do("provider", "payment.book", {
                "loan": loan, "amount_minor": quote["amount_minor"], "currency": "CNY",
                "effective_on": "2024-07-01", "provider": "psp_a", "ref": "1"})  # fmt: skip
            assert sandbox.read("channel", "loan", loan)["status"] == "closed"
    young = date(2029, 1, 1)
    years = CountryPack.load().parameters.at("retention.person", young).integer
    assert years == 3_650  # ten years by the law as it is then
    assert retain(sandbox, young)["person"]["deleted"] == 0
    old = DAY + timedelta(days=years + 1)
    made = retain(sandbox, old)["person"]
    assert (made["deleted"], made["kept"]) == (2, 1)
    people = sandbox.sql("control", "select array_agg(user_id) from usance.user_persons")
    assert people == [2]  # whoever owes stays known
    assert count(sandbox, "loans") == 2
    assert count(sandbox, "facts") > 2
    assert sandbox.sql("control", "select count(*) from usance.erasures") == 2


def test_technical_rows_age_by_the_wall_clock(sandbox: Sandbox) -> None:
    age(sandbox,
        "insert into usance.one_time_codes (phone, purpose, hash, address, made_at, expires_at) "
        "select decode(repeat('00', 32), 'hex'), 'enter', decode(repeat('00', 32), 'hex'), '', "
        "clock_timestamp() - n * interval '1 day', clock_timestamp() "
        "from unnest(array[1, 29, 31, 400]) n",
        "insert into usance.api_requests select 'rq' || n, "
        "clock_timestamp() - n * interval '1 day', 0, 'GET', '/', 200, '', '', 1 "
        "from unnest(array[1, 179, 181]) n")  # fmt: skip
    made = retain(sandbox)
    assert (made["codes"]["deleted"], made["codes"]["kept"]) == (2, 2)
    assert (made["request_log"]["deleted"], made["request_log"]["kept"]) == (1, 2)


def test_words_go_after_their_end(sandbox: Sandbox) -> None:
    user = borrower(sandbox)
    made = [sandbox.do("channel", "complaint.open",
                       {"user": user, "subject": "data", "text": f"words {n}"}).answer["complaint"]
            for n in range(2)]  # fmt: skip
    sandbox.do("operations", "complaint.answer", {"complaint": made[0], "answer": "mended"})
    assert retain(sandbox, DAY + timedelta(days=1_094))["free_text"]["deleted"] == 0
    assert retain(sandbox, DAY + timedelta(days=1_097))["free_text"]["deleted"] == 2
    left = "select count(*) from usance.sealed where kind like 'complaint%'"
    assert sandbox.sql("control", left) == 1  # the one that nobody has answered


@pytest.mark.parametrize("who", ["channel", "control"])
def test_nobody_but_the_platform_deletes(sandbox: Sandbox, who: str) -> None:
    sandbox.do("channel", "user.register", {"client_ref": "bea", "region": 3}, key="1")
    late = datetime(2099, 1, 1, tzinfo=UTC).isoformat()
    sandbox.sql(who, f"select deleted from usance.retain('2024-07-01', 'answers', 1, '{late}')")
    assert count(sandbox, "idempotency") == 1


def test_every_pack_says_how_long() -> None:
    for name in ("cn", "nl"):
        parameters = CountryPack.load(name).parameters
        for rule in RULES:
            assert parameters.at(f"retention.{rule}", DAY).integer > 0
