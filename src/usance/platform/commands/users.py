"""Commands about users: registration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from usance.base.ids import print_id
from usance.platform.commands.command import Decided, Moment
from usance.platform.errors import ClientRefTaken
from usance.platform.principals import Principal
from usance.platform.store.write_set import NEW, UserChange, WriteSet

if TYPE_CHECKING:
    import asyncpg

USER_KINDS = ("consumer", "business")


@dataclass(frozen=True)
class RegisterUser:
    """A channel brings a user, known to it by `client_ref`; the same name is the same user."""

    client_ref: str
    region: int
    kind: str = "consumer"


async def register_user(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: RegisterUser
) -> Decided:
    """The user of a channel's name: registered now, or the one that was before."""
    known = await transaction.fetchrow(
        "select u.* from usance.client_refs c join usance.users u using (user_id) "
        "where c.channel = $1 and c.client_ref = $2",
        principal.party, command.client_ref,
    )  # fmt: skip
    if known is not None:
        return _known(command, dict(known))
    user_id = await transaction.fetchval("select usance.next_users(1)")
    row = {
        "user_id": user_id, "registered_on": moment.business_date, "channel": principal.party,
        "region": command.region, "kind": USER_KINDS.index(command.kind),
        "client_ref": command.client_ref,
    }  # fmt: skip
    changes = WriteSet(user_changes=[UserChange(user_id, NEW)])
    changes.add("users", **row)
    return Decided(_answer(row), print_id("us", user_id), user_id, changes)


def _known(command: RegisterUser, row: dict[str, Any]) -> Decided:
    if (row["region"], USER_KINDS[row["kind"]]) != (command.region, command.kind):
        raise ClientRefTaken(
            f"{command.client_ref} is registered with region {row['region']} "
            f"as {USER_KINDS[row['kind']]}",
            where="client_ref", fix="Give what was registered, or another client_ref",
        )  # fmt: skip
    return Decided(_answer(row), print_id("us", row["user_id"]), row["user_id"], is_new=False)


def _answer(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "user": print_id("us", row["user_id"]), "client_ref": row["client_ref"],
        "channel": row["channel"], "region": row["region"], "kind": USER_KINDS[row["kind"]],
        "registered_on": row["registered_on"].isoformat(), "person": None,
    }  # fmt: skip
