"""What applicants share: counted as `usance assess links` does, kept by blind index, forgotten."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from tests.platform.applicants import GOOD, borrower
from tests.platform.databases import with_owner
from tests.platform.sandbox import Sandbox
from usance.assess.fraud.links import Attribute, Link, LinkIndex
from usance.base.ids import parse_id
from usance.platform.commands.people.links import card_index, device_index, link_inputs
from usance.platform.errors import InvalidField
from usance.platform.live import Platform
from usance.platform.records.user_record import load_user
from usance.platform.security.phones import phone_index
from usance.platform.store.write_set import Owner, WriteSet, write
from usance.platform.vault import Vault

NOW = datetime(2024, 7, 1, 2, tzinfo=UTC)
DEVICE, PHONE, CARD = Attribute.DEVICE, Attribute.PHONE, Attribute.BANK_CARD


def applied(sandbox: Sandbox, ref: str, device: str = "", **inputs: Any) -> Any:
    user = sandbox.do("channel", "user.register", {"client_ref": ref, "region": 3}).answer["user"]
    body = {"user": user, "product": "instalment", "inputs": GOOD | inputs, "device": device}
    return sandbox.do("channel", "application.decide", body).answer


def test_the_fifth_user_of_a_device_is_declined(sandbox: Sandbox) -> None:
    for number in range(4):
        assert applied(sandbox, f"user {number}", "phone of a ring")["outcome"] == "approved"
    told = applied(sandbox, "user 4", "phone of a ring")
    assert (told["outcome"], told["reasons"][0]["code"]) == ("declined", 103)
    assert applied(sandbox, "user 5", "another")["outcome"] == "approved"
    assert applied(sandbox, "user 6")["outcome"] == "approved"
    later = {"to": "2024-08-15T01:00:00Z"}
    sandbox.do("control", "clock.advance", later)
    assert applied(sandbox, "user 7", "phone of a ring")["outcome"] == "approved"  # 30 days


def test_a_device_that_asks_too_often_is_declined(sandbox: Sandbox) -> None:
    user = sandbox.do("channel", "user.register", {"client_ref": "a", "region": 3}).answer["user"]
    body = {"user": user, "product": "instalment", "inputs": GOOD, "device": "one"}
    outcomes = [
        sandbox.do("channel", "application.decide", body).answer["outcome"] for _ in range(6)
    ]
    assert outcomes == ["approved"] * 5 + ["declined"]


def test_what_a_device_is_called_is_checked(sandbox: Sandbox) -> None:
    for device in ("x" * 256, "line\nbreak"):
        with pytest.raises(InvalidField, match=r"body\.device"):
            applied(sandbox, "ann", device)


def test_links_are_those_of_the_columns(sandbox: Sandbox) -> None:
    """Random users with random shared values, some of them late: the index in memory says so."""
    users = [parse_id(borrower(sandbox, f"user {number}"), "us") for number in range(24)]
    chance, index = random.Random(7), LinkIndex()

    async def compare(platform: Platform) -> None:
        by = (await platform.principal("channel")).principal_id
        vault = platform.services.vault or Vault(bytes(32))
        async with platform.database.transaction(by) as transaction:
            configuration = await transaction.fetchval(
                "select configuration from usance.installation"
            )
            changes = WriteSet(owners=[Owner(by, user) for user in users])
            for number in range(40):
                user, value = chance.choice(users), chance.randrange(14)
                attribute = chance.choice((DEVICE, PHONE, CARD))
                index.add(Link(user, attribute, value))
                named = {DEVICE: device_index, PHONE: phone_index, CARD: card_index}[attribute]
                index_of_value = named(vault, f"1380000{value:04}")
                seen_at = NOW + timedelta(seconds=number)
                changes.put("user_links", user_id=user, attribute=int(attribute),
                            value=index_of_value, seen_at=seen_at)  # fmt: skip
            for user in chance.sample(users, 8):
                late = await load_user(transaction, user)
                late.counters["worst_days"] = 91
                changes.user_changes.append(late.change())
                index.mark_bad(user)
            await write(transaction, NOW, configuration, changes)
            sizes = set()
            for user in users:
                found = await link_inputs(transaction, user, None, NOW + timedelta(hours=1))
                known = index.features(user)
                share = known.bad_neighbours_ppm if known.degree else None
                assert (found["link_size"], found["bad_neighbours_ppm"]) == (known.size, share)
                sizes.add(known.size)
            assert len(sizes) > 2

    sandbox.within(compare)


def test_nothing_of_what_is_shared_stays_after_an_erasure(sandbox: Sandbox) -> None:
    applied(sandbox, "ann", "one")
    user = sandbox.do("channel", "user.register", {"client_ref": "ann", "region": 3}).answer["user"]
    assert links(sandbox) == 1
    sandbox.do("channel", "user.erase", {"user": user})
    assert links(sandbox) == 0


def links(sandbox: Sandbox) -> int:
    async def count(connection: asyncpg.Connection) -> int:
        await connection.execute("set role usance_loader")
        return int(await connection.fetchval("select count(*) from usance.user_links"))

    return with_owner(sandbox.server, sandbox.name, count)
