"""Seals: every later change of what was appended is found, with the first seal that it breaks."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from datetime import date
from pathlib import Path
from typing import TypeVar

import asyncpg
import pytest

from tests.platform.databases import with_owner
from tests.platform.lender import FIRST, NOW, STAFF, do, prepare, within
from usance.platform.commands.people.users import RegisterUser
from usance.platform.errors import HeadRefused
from usance.platform.ledger.heads import broken_heads, sign_day
from usance.platform.ledger.seals import BrokenSeal, seal, verify
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded

T = TypeVar("T")
SEALS, ROWS = 5, 40
ADDED = (
    "insert into usance.facts (select loan_id, effective_on, kind, 9999, 1, 0, booked_at, xid"
    " from usance.facts where ref = 85)"
)


@pytest.fixture
def live(server: Embedded, database: str) -> str:
    """A lender with facts in several sealed transactions."""
    name = prepare(server, database)
    for group in range(SEALS):
        with_owner(server, name, lambda connection, group=group: facts(connection, group))  # type: ignore[misc]
        as_staff(server, name, lambda connection: seal(connection, NOW))
    return name


async def facts(connection: asyncpg.Connection, group: int) -> None:
    await connection.execute("set role usance_loader")
    await connection.executemany(
        "insert into usance.facts values (16385, '2024-07-01', 4, $1, $2, 0, $3)",
        [(group * ROWS + n, 100 + n, NOW) for n in range(ROWS)],
    )


def as_staff(server: Embedded, name: str, work: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
    async def inside(database: Database) -> T:
        async with database.transaction(STAFF.principal_id) as transaction:
            return await work(transaction)

    return within(server, name, inside)


def tampered(server: Embedded, name: str, *statements: str) -> list[BrokenSeal]:
    """The seals that are found broken after changes by somebody who owns the database."""

    async def change(connection: asyncpg.Connection) -> None:
        await connection.execute("set session_replication_role = replica")
        for statement in statements:
            await connection.execute("set role usance_loader")
            await connection.execute("reset role")
            await connection.execute("alter table usance.facts no force row level security")
            await connection.execute(statement)
            await connection.execute("alter table usance.facts force row level security")

    with_owner(server, name, change)
    return as_staff(server, name, verify)


def test_what_was_sealed_holds(server: Embedded, live: str) -> None:
    assert as_staff(server, live, verify) == []
    assert as_staff(server, live, lambda connection: seal(connection, NOW)) == {}


def test_commands_are_sealed_by_their_audit(server: Embedded, live: str) -> None:
    do(server, live, FIRST, "user.register", RegisterUser("anna", 1))
    assert as_staff(server, live, lambda connection: seal(connection, NOW)) == {"audit": 1}


def test_settings_before_and_after_are_sealed_too(server: Embedded, live: str) -> None:
    setting = "insert into usance.settings values ('flow', 'a', 1, '2024-01-01', '{}')"
    with_owner(server, live, lambda connection: connection.execute(setting))
    sealed = as_staff(server, live, lambda connection: seal(connection, NOW))
    assert list(sealed) == ["setting_changes"]

    async def change(connection: asyncpg.Connection) -> None:
        await connection.execute(
            "set session_replication_role = replica; "
            "alter table usance.setting_changes no force row level security; "
            "update usance.setting_changes set after = null where name = 'flow/a'; "
            "alter table usance.setting_changes force row level security"
        )

    with_owner(server, live, change)
    assert as_staff(server, live, verify) == [
        BrokenSeal("setting_changes", sealed["setting_changes"], "its rows have changed")
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "update usance.facts set amount_minor = amount_minor + 1 where ref = 85",
        "delete from usance.facts where ref = 85",
        "update usance.facts set booked_at = booked_at + interval '1 us' where ref = 85",
        ADDED,
    ],
)
def test_a_changed_lost_or_added_row_is_found_with_its_seal(
    server: Embedded, live: str, statement: str
) -> None:
    assert tampered(server, live, statement) == [BrokenSeal("facts", 3, "its rows have changed")]


def test_a_seal_that_is_made_anew_breaks_the_chain(server: Embedded, live: str) -> None:
    statement = "update usance.seals set hash = sha256('x') where no = 2"
    broken = tampered(server, live, statement)
    assert [each.no for each in broken] == [2, 3]
    assert broken[1].problem == "the seal before it is another"


def test_a_lost_seal_is_found(server: Embedded, live: str) -> None:
    broken = tampered(server, live, "delete from usance.seals where no = 2")
    assert broken[0] == BrokenSeal("facts", 3, "a seal before it is missing")


def test_random_tamperings_are_all_found(server: Embedded, live: str) -> None:
    chance = random.Random(7)
    for _ in range(10):
        ref, column = chance.randrange(SEALS * ROWS), chance.choice(["amount_minor", "arg"])
        change = f"update usance.facts set {column} = {column} + 1 where ref = {ref}"
        undo = f"update usance.facts set {column} = {column} - 1 where ref = {ref}"
        assert [each.no for each in tampered(server, live, change)] == [ref // ROWS + 1]
        assert tampered(server, live, undo) == []


MANY_SEALS, EACH, TAMPERINGS, TOGETHER = 1_000, 1_000, 1_000, 50
"""A million entries; so many of them are changed, lost or added, each in another seal."""
FILL = f"""
do $$ begin
    for n in 0..{MANY_SEALS - 1} loop
        insert into usance.facts (loan_id, effective_on, kind, ref, amount_minor, arg, booked_at)
        select 16385 + n, date '2024-07-01', 4, n * {EACH} + g, 100 + g, 0, '2024-07-01T01:00:00Z'
        from generate_series(0, {EACH - 1}) g;
        commit;
        -- Nothing is sealed while an older transaction runs, such as the server's own.
        while usance.seal('facts', '2024-07-01T01:00:00Z') is null loop
            commit;
        end loop;
        commit;
    end loop;
end $$
"""
BY_REF = "where loan_id = 16385 + {ref} / 1000 and kind = 4 and ref = {ref}"
ONE_MORE = ("insert into usance.facts select loan_id, effective_on, 5, ref, amount_minor, arg, "
            f"booked_at, xid from usance.facts {BY_REF}")  # fmt: skip
NO_MORE = "delete from usance.facts where loan_id = 16385 + {ref} / 1000 and kind = 5"
LOSE = (f"create temp table lost_{{ref}} as select * from usance.facts {BY_REF}; "
        f"delete from usance.facts {BY_REF}")  # fmt: skip
FIND = "insert into usance.facts select * from lost_{ref}"


def tamperings(chance: random.Random) -> list[tuple[int, str, str]]:
    """A seal, a change of one of its rows, and how it is undone; each in another seal."""
    found = []
    for no in chance.sample(range(MANY_SEALS), TOGETHER):
        ref, column = no * EACH + chance.randrange(EACH), chance.choice(["amount_minor", "arg"])
        change = f"update usance.facts set {column} = {column} {{}} 1 {BY_REF}"
        do, undo = chance.choice([
            (change.format("+", ref=ref), change.format("-", ref=ref)), (ONE_MORE, NO_MORE),
            (LOSE, FIND),
        ])  # fmt: skip
        found.append((no + 1, do.format(ref=ref), undo.format(ref=ref)))
    return sorted(found)


@pytest.mark.nightly
def test_a_thousand_tamperings_of_a_million_entries_are_all_found(
    server: Embedded, database: str
) -> None:
    name = prepare(server, database)
    chance = random.Random(11)

    async def work(connection: asyncpg.Connection) -> None:
        await connection.execute(FILL)
        await connection.execute("select usance.summarize('facts')")
        await connection.execute("set session_replication_role = replica")
        for _ in range(TAMPERINGS // TOGETHER):
            made = tamperings(chance)
            await connection.execute("; ".join(do for _, do, _ in made))
            broken = await connection.fetch("select no, problem from usance.broken_seals('facts')")
            assert [row["no"] for row in broken] == [no for no, _, _ in made]
            assert {row["problem"] for row in broken} == {"its rows have changed"}
            await connection.execute("; ".join(undo for *_, undo in made))
        assert await connection.fetch("select no from usance.broken_seals('facts')") == []

    with_owner(server, name, work)


def test_what_runs_while_a_seal_is_made_is_in_the_next(server: Embedded, live: str) -> None:
    async def interleaved(database: Database) -> list[dict[str, int]]:
        late = await asyncpg.connect(**server.connection(database=live))
        try:
            async with late.transaction():
                await facts(late, 90)
                async with database.transaction(STAFF.principal_id) as transaction:
                    first = await seal(transaction, NOW)
            async with database.transaction(STAFF.principal_id) as transaction:
                return [first, await seal(transaction, NOW)]
        finally:
            await late.close()

    first, second = within(server, live, interleaved)
    assert first == {}
    assert second == {"facts": SEALS + 1}
    assert as_staff(server, live, verify) == []


def test_a_ledger_made_anew_is_found_by_its_signed_heads(
    server: Embedded, live: str, tmp_path: Path
) -> None:
    """Rows changed by the owner, and every seal made again over them: the chain alone agrees."""
    for day in (1, 2):
        assert signed(server, live, tmp_path, day) == tmp_path / "heads" / f"2024-07-0{day}.json"
        with_owner(server, live, lambda connection, day=day: facts(connection, SEALS + day))  # type: ignore[misc]
    assert signed(server, live, tmp_path, 2) is None
    assert heads(server, live, tmp_path) == []
    tampered(server, live, "delete from usance.seals",
             "update usance.facts set amount_minor = amount_minor + 1 where ref = 3")  # fmt: skip
    as_staff(server, live, lambda connection: seal(connection, NOW))
    assert as_staff(server, live, verify) == []
    assert heads(server, live, tmp_path)[0] == (
        "seal 5 of facts is not the one that head 2024-07-01.json signed"
    )


def signed(server: Embedded, name: str, home: Path, day: int) -> Path | None:
    on = date(2024, 7, day)
    return as_staff(server, name, lambda connection: sign_day(connection, home, on, NOW))


def heads(server: Embedded, name: str, home: Path) -> list[str]:
    return as_staff(server, name, lambda connection: broken_heads(connection, home))


def test_heads_that_were_changed_lost_or_have_no_key_are_named(
    server: Embedded, live: str, tmp_path: Path
) -> None:
    for day in (1, 2, 3):
        signed(server, live, tmp_path, day)
    assert (tmp_path / "seal.key").stat().st_mode & 0o077 == 0
    middle, last = (tmp_path / "heads" / f"2024-07-0{day}.json" for day in (2, 3))
    kept = middle.read_text()
    middle.write_text(kept.replace('"day": "2024-07-02"', '"day": "2024-07-09"'))
    changed, after = heads(server, live, tmp_path)
    assert changed == "head 2024-07-02.json has been changed: its signature does not hold"
    assert after == "head 2024-07-03.json does not follow the head before it"
    middle.unlink()
    assert heads(server, live, tmp_path) == [after]
    middle.write_text(kept)
    assert heads(server, live, tmp_path) == []
    (tmp_path / "seal.key").write_bytes(b"\1" * 32)
    assert len(heads(server, live, tmp_path)) == 3
    (tmp_path / "seal.key").unlink()
    with pytest.raises(HeadRefused, match="is not there"):
        heads(server, live, tmp_path)
    with pytest.raises(HeadRefused, match="is not there"):
        signed(server, live, tmp_path, 4)
    assert last.exists()
