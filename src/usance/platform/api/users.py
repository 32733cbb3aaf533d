"""Routes of channels about their users: registration, person, accounts, consents."""

from __future__ import annotations

from typing import Any

from usance.platform.api.calls import Call
from usance.platform.api.control_shapes import VirtualAccount
from usance.platform.api.groups import Group
from usance.platform.api.pages import page
from usance.platform.api.parameters import PAGED, TEXT
from usance.platform.api.shapes import (
    Account,
    Case,
    Consent,
    Link,
    Page,
    PersonAnswer,
    User,
)
from usance.platform.reads.money.virtual_accounts import accounts_of_user
from usance.platform.reads.reading import Reading
from usance.platform.records.user_record import load_user, read_id

group = Group("Channels", "channel")
READERS = ("channel", "operations")


async def one_user(read: Reading, call: Call) -> Any:
    """One user."""
    return await read.user(call.path["user"])


async def users(read: Reading, call: Call) -> Any:
    """The users that a client_ref names."""
    return page(await read.users_named(call.query.get("client_ref", "")), call.query, "user")


async def consents(read: Reading, call: Call) -> Any:
    """Consents of a user, in the order they were given."""
    return page(await read.consents(call.path["user"]), call.query, "consent")


async def virtual_accounts(read: Reading, call: Call) -> Any:
    """Virtual accounts of a user, which their money finds them by."""
    number = read_id(call.path["user"], "us", "user")
    await load_user(read.transaction, number)
    rows = await accounts_of_user(read.transaction, read.moment.lender, number)
    return page(rows, call.query, "number")


group.command("/users", "user.register", {201: User, 200: User})
group.read("/users/{user}", User, one_user, scopes=READERS)
group.read("/users", Page[User], users, query={"client_ref": TEXT, **PAGED}, scopes=READERS)
group.command("/users/{user}/person", "person.set", {200: PersonAnswer}, method="PUT")
group.command("/users/{user}/accounts", "account.add", {201: Account})
group.command("/users/{user}/consents", "consent.give", {201: Consent})
group.read("/users/{user}/consents", Page[Consent], consents, query=PAGED, scopes=READERS)
group.command("/users/{user}/virtual-accounts", "virtual_account.open",
              {201: VirtualAccount, 200: VirtualAccount})  # fmt: skip
group.read("/users/{user}/virtual-accounts", Page[VirtualAccount], virtual_accounts, query=PAGED,
           scopes=READERS)  # fmt: skip
group.command("/virtual-accounts/{number}/close", "virtual_account.close", {200: VirtualAccount})
group.command("/users/{user}/links", "link.make", {201: Link})
group.command("/users/{user}/export", "user.export", {200: Case})
group.command("/users/{user}/erasure", "user.erase", {200: Case})
