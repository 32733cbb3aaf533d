"""A user as one command sees them: the row, the counters and what the command will number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from usance.base.errors import IdError
from usance.base.ids import LIMIT, PER_USER, owned_id, parse_id, print_id
from usance.platform.errors import InvalidField, NotFound
from usance.platform.store.write_set import NEW, UserChange

if TYPE_CHECKING:
    import asyncpg

COUNTERS = (
    "decisions", "lines", "requests", "journals", "borrowed", "worst_days", "held_minor", "records",
)  # fmt: skip
USER_KINDS = ("consumer", "business")


@dataclass
class UserRecord:
    """A user's row and counters; numbers that are taken show in its change."""

    user_id: int
    region: int
    channel: int
    kind: int
    version: int
    counters: dict[str, int]
    row: dict[str, Any]

    def next(self, counter: str) -> int:
        """The next id of something that the user owns."""
        self.counters[counter] += 1
        return owned_id(self.user_id, self.counters[counter])

    def change(self) -> UserChange:
        """The counters as they are now, to be written if nobody was quicker."""
        return UserChange(self.user_id, self.version, **self.counters)


async def load_user(transaction: asyncpg.Connection, user_id: int) -> UserRecord:
    """A user whom the principal of the transaction sees; the version is read before all else."""
    found = await load_users(transaction, [user_id])
    if not found:
        raise not_found("us", user_id)
    return found[0]


async def load_users(transaction: asyncpg.Connection, user_ids: Iterable[int]) -> list[UserRecord]:
    """Users by their ids, as far as the principal of the transaction sees them."""
    rows = await transaction.fetch(
        "select u.*, c.version, c.decisions, c.lines, c.requests, c.journals, c.borrowed, "
        "c.worst_days, c.held_minor, c.records from usance.users u "
        "join usance.user_counters c using (user_id) where u.user_id = any($1)", list(user_ids),
    )  # fmt: skip
    return [user_of(dict(row)) for row in rows]


def user_of(row: dict[str, Any]) -> UserRecord:
    """A user from the row of `users` and the counters beside it."""
    counters = {name: row[name] for name in COUNTERS}
    return UserRecord(row["user_id"], row["region"], row["channel"], row["kind"], row["version"],
                      counters, row)  # fmt: skip


def new_user(user_id: int, row: dict[str, Any]) -> UserRecord:
    """A user who is being registered."""
    return UserRecord(user_id, row["region"], row["channel"], row["kind"], NEW,
                      dict.fromkeys(COUNTERS, 0), row)  # fmt: skip


def read_id(text: str, prefix: str, field: str) -> int:
    """The number of a printed id; one of a user's own has to name a user."""
    try:
        number = parse_id(text, prefix, where=f"body.{field}")
    except IdError as error:
        raise InvalidField(error.what, where=f"body.{field}", fix=error.fix) from error
    return number


def not_found(prefix: str, number: int) -> NotFound:
    """The one answer for what is not there and for what is somebody else's."""
    shown = print_id(prefix, number) if 0 <= number < LIMIT else str(number)
    return NotFound("is not there", where=shown, fix="Give an id that you were given")


def own_ranges(user_ids: Iterable[int]) -> tuple[list[int], list[int]]:
    """First and last ids of what each user owns, as bounds of an index search.

    Under row-level security a condition is used by an index only if it cannot fail; one that
    multiplies can, so the bounds are worked out here.

    >>> own_ranges([1, 2])
    ([16384, 32768], [32767, 49151])
    """
    lows = [user * PER_USER for user in user_ids]
    return lows, [low + PER_USER - 1 for low in lows]


def owner_of(number: int) -> int:
    """The user in an id."""
    return number // PER_USER
