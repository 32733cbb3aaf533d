"""The unit of work: once for a key, all or nothing, a dry run leaves nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.platform.lender import FIRST, SECOND, STAFF, do, prepare, seen, within
from usance.platform.commands.command import Services
from usance.platform.commands.people.users import RegisterUser
from usance.platform.commands.registry import COMMANDS
from usance.platform.commands.unit_of_work import Outcome, execute
from usance.platform.errors import (
    ClientRefTaken,
    Forbidden,
    KeyInFlight,
    KeyMismatch,
    RefusedBefore,
    TotpNeeded,
)
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded
from usance.platform.vault import Vault

ANNA = RegisterUser("anna", region=3)
REGISTER = "user.register"


@pytest.fixture
def live(server: Embedded, database: str) -> str:
    return prepare(server, database)


def users(server: Embedded, live: str) -> int:
    return int(seen(server, live, STAFF, "select count(*) from usance.users"))


def test_a_user_is_registered_with_event_and_audit(server: Embedded, live: str) -> None:
    outcome = do(server, live, FIRST, REGISTER, ANNA)
    assert outcome.answer == {
        "user": "us_00000000001", "client_ref": "anna", "channel": "1", "region": 3,
        "kind": "consumer", "registered_on": "2024-07-01", "person": None,
    }  # fmt: skip
    assert seen(server, live, FIRST, "select name from usance.outbox") == "user.registered"
    assert seen(server, live, STAFF, "select outcome from usance.audit") == "done"


def test_the_same_name_is_the_same_user_in_its_channel(server: Embedded, live: str) -> None:
    first = do(server, live, FIRST, REGISTER, ANNA)
    again = do(server, live, FIRST, REGISTER, ANNA)
    other = do(server, live, SECOND, REGISTER, ANNA)
    assert again == Outcome(first.answer, is_new=False, status=200)
    assert other.answer["user"] == "us_00000000002"
    assert seen(server, live, STAFF, "select count(*) from usance.outbox") == 2
    with pytest.raises(ClientRefTaken):
        do(server, live, FIRST, REGISTER, RegisterUser("anna", region=4))


def test_a_key_gives_its_first_answer_again(server: Embedded, live: str) -> None:
    first = do(server, live, FIRST, REGISTER, ANNA, key="k1")
    again = do(server, live, FIRST, REGISTER, ANNA, key="k1")
    assert again == Outcome(first.answer, is_new=True, is_replay=True)
    with pytest.raises(KeyMismatch):
        do(server, live, FIRST, REGISTER, RegisterUser("bert", region=3), key="k1")
    assert do(server, live, SECOND, REGISTER, ANNA, key="k1").is_new  # keys belong to callers
    assert users(server, live) == 2


def test_a_dry_run_answers_and_leaves_nothing(server: Embedded, live: str) -> None:
    dry = do(server, live, FIRST, REGISTER, ANNA, key="k1", dry_run=True)
    assert users(server, live) == 0
    assert dry.would is not None
    assert [row[-2] for row in dry.would.users] == [0]
    done = do(server, live, FIRST, REGISTER, ANNA, key="k1")  # no number and no key is used
    assert (done.answer, done.is_new) == (dry.answer, True)


def test_who_came_without_a_one_time_password_is_refused(server: Embedded, live: str) -> None:
    without = replace(FIRST, barred=frozenset({REGISTER}))
    for dry_run in (True, False):
        with pytest.raises(TotpNeeded, match="one-time password"):
            do(server, live, without, REGISTER, ANNA, key="k1", dry_run=dry_run)
    assert users(server, live) == 0
    refused = "select outcome from usance.audit where command = 'user.register'"
    assert seen(server, live, STAFF, refused) == "platform.totp_needed"
    assert do(server, live, FIRST, REGISTER, ANNA, key="k1").is_new


def test_whoever_lacks_the_scope_is_refused(server: Embedded, live: str) -> None:
    with pytest.raises(Forbidden, match="no scope channel"):
        do(server, live, STAFF, REGISTER, ANNA)


def test_a_refusal_is_kept_under_its_key_and_audited(server: Embedded, live: str) -> None:
    do(server, live, FIRST, REGISTER, ANNA)
    elsewhere = RegisterUser("anna", region=4)
    with pytest.raises(ClientRefTaken) as first:
        do(server, live, FIRST, REGISTER, elsewhere, key="k1")
    with pytest.raises(RefusedBefore) as again:
        do(server, live, FIRST, REGISTER, elsewhere, key="k1")
    assert again.value.as_dict() == first.value.as_dict()
    assert again.value.first["http_status"] == 409
    with pytest.raises(KeyMismatch):
        do(server, live, FIRST, REGISTER, ANNA, key="k1")
    with pytest.raises(Forbidden):
        do(server, live, STAFF, REGISTER, ANNA)
    told = "select array_agg(outcome order by entry_id) from usance.audit"
    assert seen(server, live, STAFF, told) == [
        "done", "platform.client_ref_taken", "platform.forbidden"
    ]  # fmt: skip


def test_many_at_once_are_one_effect_each_and_no_gap(server: Embedded, live: str) -> None:
    async def once(database: Database, number: int) -> str:
        for _ in range(1_000):
            try:
                outcome = await execute(
                    database, FIRST, COMMANDS[REGISTER], RegisterUser(f"u{number}", 1),
                    services=Services(Vault(bytes(32))),
                    key=f"k{number}",
                )  # fmt: skip
            except KeyInFlight:
                await asyncio.sleep(0.01)
                continue
            return str(outcome.answer["user"])
        raise AssertionError("a key stayed in flight")

    async def storm(database: Database) -> list[str]:
        work = (once(database, number) for number in list(range(20)) * 10)
        return list(await asyncio.gather(*work))

    given = within(server, live, storm)
    assert len(set(given)) == 20
    assert [len({given[n + 20 * k] for k in range(10)}) for n in range(20)] == [1] * 20
    last = "select last from usance.counters where kind = 'user'"
    assert users(server, live) == seen(server, live, STAFF, last) == 20
