"""What is known about borrowers: sealed wherever it is kept, and under new keys on request."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidTag

from tests.platform.applicants import GOOD, borrower
from tests.platform.sandbox import Sandbox
from usance.platform.commands.registry import COMMANDS
from usance.platform.errors import MasterKeyRefused, NotFound
from usance.platform.lake.export import export
from usance.platform.live import Platform
from usance.platform.refusals import WrongState
from usance.platform.security.key_rotation import rotate_subject_keys
from usance.platform.store.database import Database
from usance.platform.vault import Vault, master_key_path, rotate_master, unlock

TABLE_NAMES = (
    "select table_name from information_schema.tables "
    "where table_schema = 'usance' and table_type = 'BASE TABLE'"
)


def canary(number: int) -> dict[str, str]:
    """Somebody whose every detail is found nowhere else."""
    return {
        "name": f"Canaria Kestrel{number:06}", "national_id": f"CK{number:06}19900101777X",
        "phone": f"+99{number:06}55501", "email": f"kestrel{number:06}@nowhere.example",
    }  # fmt: skip


async def everything(platform: Platform) -> str:
    """Every row of every table, as a dump has it."""
    parts = []
    async with platform.database.loader() as loader:
        for row in await loader.fetch(TABLE_NAMES):
            table = f'select t::text as line from usance."{row["table_name"]}" t'
            parts += [each["line"] for each in await loader.fetch(table)]
    return "\n".join(parts)


async def known(platform: Platform, number: int) -> str:
    """Bring a canary in; one in ten has an account."""
    channel = await platform.principal("channel")

    async def do(command: str, key: str, **body: Any) -> Any:
        return (await platform.do(channel, command, body, key=f"{key}-{number}")).answer

    ref = f"wren-{number:06}-perch"
    user = str((await do("user.register", "r", client_ref=ref, region=3))["user"])
    await do("person.set", "p", user=user, **canary(number))
    if number % 10 == 0:
        await do("account.add", "a", user=user, bank="Kestrel Bank",
                 number=f"62220212345{number:06}", holder=canary(number)["name"])  # fmt: skip
    return user


MARKS = ("Canaria Kestrel", "19900101777X", "@nowhere.example", "-perch", "62220212345")
LEAK = re.compile("|".join([r"99\d{6}55501", *MARKS, *(mark.encode().hex() for mark in MARKS)]))
"""Parts that every detail of a canary has, as text and as bytes are printed."""


@pytest.mark.parametrize("count", [10_000, pytest.param(100_000, marks=pytest.mark.nightly)])
def test_no_canary_is_found_in_a_dump_in_the_lake_or_in_what_others_are_told(
    sandbox: Sandbox, tmp_path: Path, count: int
) -> None:
    async def work(platform: Platform) -> tuple[str, str]:
        width = asyncio.Semaphore(8)

        async def one(number: int) -> str:
            async with width:
                return await known(platform, number)

        users = await asyncio.gather(*(one(number) for number in range(count)))
        channel = await platform.principal("channel")
        applied = {"user": users[0], "product": "instalment",
                   "inputs": {**GOOD, "monthly_income_minor": 918_273_645}}  # fmt: skip
        await platform.do(channel, "application.decide", applied)
        draw = {"user": users[0], "product": "instalment", "amount_minor": 100_000, "months": 6}
        made = await platform.do(channel, "drawdown.request", draw)
        assert made.answer["state"] == "active"
        async with platform.database.loader() as loader:
            await export(loader, tmp_path / "lake")
        told = []
        for who in ("channel_2", "finance", "control", "provider", "institution"):
            async with platform.reading(await platform.principal(who)) as read:
                told += [await read.events(0, 100_000)]
                if who == "control":
                    told += [await read.audit(0, 100_000)]
        return await everything(platform), json.dumps(told)

    dump, told = sandbox.within(work)
    files = "".join(path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*")
                    if path.is_file())  # fmt: skip
    assert "us_00000000001" in told  # there was something to look through
    assert "918273645" not in dump
    assert LEAK.search(json.dumps(canary(1)))
    found = LEAK.search(dump + told + files)
    assert found is None, found


def test_a_stolen_dump_and_the_blind_index_key_show_no_name(sandbox: Sandbox) -> None:
    sandbox.within(lambda platform: known(platform, 10))
    vault = Vault(bytes(32))
    kept = bytes(sandbox.sql("operations", "select details from usance.user_persons"))
    wrapped = bytes(sandbox.sql("operations", "select usance.subject_key(1, null)"))
    stolen = vault.index(canary(10)["national_id"])
    assert stolen == bytes(sandbox.sql("operations", "select identity from usance.persons"))
    with pytest.raises(InvalidTag):
        Vault(stolen).open(1, "key", wrapped)
    with pytest.raises(InvalidTag):
        vault.open(1, "details", kept)  # not under the root key either, only under the user's
    assert b"Kestrel" in Vault(vault.open(1, "key", wrapped)).open(1, "details", kept)


def test_a_name_of_a_channel_is_found_told_again_and_forgotten(sandbox: Sandbox) -> None:
    body = {"client_ref": "wren", "region": 3}
    made = sandbox.do("channel", "user.register", body, key="1")
    again = sandbox.do("channel", "user.register", body, key="1")
    assert again.is_replay
    assert list(again.answer.items()) == list(made.answer.items())
    user = made.answer["user"]
    assert sandbox.read("channel", "users_named", "wren") == [made.answer]
    assert sandbox.read("operations", "users_named", "wren") == [made.answer]
    sandbox.do("channel", "user.erase", {"user": user})
    assert sandbox.read("channel", "user", user)["client_ref"] is None
    assert sandbox.read("channel", "users_named", "wren") == []
    assert sandbox.do("channel", "user.register", body).answer["user"] != user


def test_users_get_other_keys_and_everything_opens_again(sandbox: Sandbox) -> None:
    user = borrower(sandbox)
    sandbox.do("channel", "person.set", {"user": user, **canary(3)})
    account = {"user": user, "bank": "b", "number": "6222021234567894", "holder": "A"}
    sandbox.do("channel", "account.add", account)
    former = sandbox.sql("operations", "select details from usance.user_persons")

    async def rotate(platform: Platform) -> int:
        return await rotate_subject_keys(platform.database, platform.services.keys)

    assert sandbox.within(rotate) == 1
    assert sandbox.sql("operations", "select details from usance.user_persons") != former
    assert sandbox.read("channel", "user", user)["client_ref"] == "anna"
    draw = {"user": user, "product": "instalment", "amount_minor": 100_000, "months": 6}
    assert sandbox.do("channel", "drawdown.request", draw).answer["state"] == "active"
    told = sandbox.do("channel", "user.export", {"user": user})
    assert told.answer["data"]["person"]["name"] == canary(3)["name"]


def test_who_was_erased_draws_nothing_and_gets_no_key_again(sandbox: Sandbox) -> None:
    user = borrower(sandbox)
    sandbox.do("channel", "user.erase", {"user": user})
    draw = {"user": user, "product": "instalment", "amount_minor": 100_000, "months": 6}
    with pytest.raises(WrongState):
        sandbox.do("channel", "drawdown.request", draw)
    with pytest.raises(NotFound):
        sandbox.do("channel", "application.decide",
                   {"user": user, "product": "instalment", "inputs": GOOD})  # fmt: skip


def test_a_master_key_is_rotated_also_when_it_was_cut_short(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    async def work(platform: Platform) -> None:
        database: Database = platform.database
        root = await unlock(database, tmp_path, make=True)
        path, first = master_key_path(tmp_path), master_key_path(tmp_path).read_bytes()
        assert root.master != first  # the master key seals the root key and nothing else
        former = await rotate_master(database, tmp_path)
        assert former.read_bytes() == first != path.read_bytes()
        assert former.stat().st_mode & 0o777 == path.stat().st_mode & 0o777 == 0o600
        assert await unlock(database, tmp_path) == root
        second = path.read_bytes()
        path.write_bytes(first)
        with pytest.raises(MasterKeyRefused):
            await unlock(database, tmp_path)
        path.with_name(f"{path.name}.next").write_bytes(second)  # killed before it was put in place
        assert await unlock(database, tmp_path) == root
        assert path.read_bytes() == second
        assert await unlock(database, tmp_path) == root

    sandbox.within(work)


def test_every_command_keeps_what_it_echoes_out_of_its_event(sandbox: Sandbox) -> None:
    assert "config.put" in COMMANDS
    sandbox.do("channel", "user.register", {"client_ref": "wren", "region": 3}, key="1")
    event = json.loads(sandbox.sql("operations", "select data::text from usance.outbox"))
    assert event["client_ref"] is None
