"""Files of banks and providers by command: read whole or refused whole, kept line by line.

A file that is sent again changes nothing. One that corrects another replaces it: the lines of its
predecessor are no longer in force, and stay. A bank's closing balance is a group fact, so that the
close compares cash per bank with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from usance.base.codes import Currency
from usance.base.errors import UsanceError
from usance.base.ids import print_id
from usance.books.group.fact_kinds import GroupFactKind
from usance.platform.commands.command import DONE, Decided, Moment, act_as_platform
from usance.platform.commands.loans.payments import provider_of
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal
from usance.platform.refusals import FileRefused
from usance.platform.store.write_set import WriteSet
from usance.service.bank_files.files import digest, is_identified, read_file
from usance.service.bank_files.profile import BankProfile, load_profile
from usance.service.bank_files.statement import Statement
from usance.service.reconciliation.bank_facts import OwnBankAccount, bank_balances

if TYPE_CHECKING:
    import asyncpg

FILES = "statements"
_SAME = (
    "select file_id, lines from usance.money_files where provider = $1 and account = $2"
    " and source = $3 and digest = $4 and in_force limit 1"
)
"""The same lines under another name."""


@dataclass(frozen=True)
class TakeFile:
    """A file of a provider, or of the bank that its money reaches."""

    name: str
    content: str
    profile: str
    provider: str | None = None


@dataclass(frozen=True)
class PutBankAccount:
    """An account of the group: whose it is, and the account of the books it stands for."""

    account: str
    entity: int
    provider: str
    ledger_account: str = "cash"


async def put_account(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: PutBankAccount
) -> Decided:
    """Name an account of the group."""
    if not command.account.strip():
        raise InvalidField("is empty", where="body.account", fix="Give the account's number")
    await act_as_platform(transaction)
    provider = provider_of(moment, principal, command.provider)
    row = {"account": command.account, "entity": command.entity, "provider": provider,
           "ledger_account": command.ledger_account}  # fmt: skip
    changes = WriteSet()
    changes.put("bank_accounts", **row)
    return Decided({**row, "provider": command.provider}, f"bank_account/{command.account}", 0,
                   changes, status=DONE, as_platform=True)  # fmt: skip


async def take(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: TakeFile
) -> Decided:
    """Read a file and keep its statements: all of them, or none if one cannot be read."""
    provider = provider_of(moment, principal, command.provider)
    profile, statements = _read(command)
    await act_as_platform(transaction)
    await transaction.execute("select pg_advisory_xact_lock(hashtextextended('files', $1))",
                              provider)  # fmt: skip
    changes = WriteSet()
    taken = [
        await _enter(transaction, moment, command, provider, profile, statement, changes)
        for statement in statements
    ]
    is_new = any(each["outcome"] != "repeated" for each in taken)
    return Decided({"file": command.name, FILES: taken}, f"file/{command.name}", 0, changes, is_new,
                   as_platform=True)  # fmt: skip


def _read(command: TakeFile) -> tuple[BankProfile, list[Statement]]:
    name = Path(command.name).name
    if not name or name != command.name:
        raise InvalidField("is no name of a file", where="body.name", fix="Give it without folders")
    try:
        profile = load_profile(command.profile)
        with TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_text(command.content, encoding=profile.encoding)
            return profile, read_file(path, profile)
    except UsanceError as error:
        raise FileRefused(error.what, where=error.where, fix=error.fix) from error


async def _enter(
    transaction: asyncpg.Connection, moment: Moment, command: TakeFile, provider: int,
    profile: BankProfile, statement: Statement, changes: WriteSet,
) -> dict[str, Any]:  # fmt: skip
    """Keep a statement, unless it is there; what it corrects is no longer in force."""
    account = statement.account or command.provider or ""
    identity = statement.identity or command.name
    before = await transaction.fetchrow(
        "select * from usance.money_files where provider = $1 and account = $2 and identity = $3"
        " and in_force", provider, account, identity,
    )  # fmt: skip
    fingerprint = digest(statement)
    outcome = "new" if before is None else "corrected"
    if before is not None and before["digest"] == fingerprint:
        return {"file": print_id("fi", before["file_id"]), "account": account,
                "outcome": "repeated", "lines": before["lines"]}  # fmt: skip
    if before is None and is_identified(statement):
        same = await transaction.fetchrow(_SAME, provider, account, profile.source.value,
                                          fingerprint)  # fmt: skip
        if same is not None:
            return {"file": print_id("fi", same["file_id"]), "account": account,
                    "outcome": "repeated", "lines": same["lines"]}  # fmt: skip
    number = await transaction.fetchval("select usance.next_ids('file', 1)")
    if before is not None:
        changes.put("money_files", **{**dict(before), "in_force": False})
    changes.put(
        "money_files", file_id=number, provider=provider, source=profile.source.value,
        profile=command.profile, account=account, identity=identity, name=command.name,
        digest=fingerprint, lines=len(statement.lines), currency=statement.currency,
        opening_minor=statement.opening_minor, closing_minor=statement.closing_minor,
        closing_on=statement.closing_on, replaces=before["file_id"] if before else 0,
        in_force=True, taken_at=moment.at,
    )  # fmt: skip
    for place, line in enumerate(statement.lines, start=1):
        party = moment.vault.index(line.party) if line.party.strip() else b""
        changes.put(
            "file_lines", file_id=number, no=place, reference=line.reference,
            amount_minor=line.amount_minor, currency=line.currency, booked_on=line.booked_on,
            value_on=line.value_on, party=party, batch=line.batch, fee_minor=line.fee_minor,
            loan_id=line.loan_id, bank_ref=line.bank_ref, is_reversal=line.is_reversal,
            account=line.account if line.account != statement.account else "",
        )  # fmt: skip
    await _state_balance(transaction, moment, statement, dict(before or {}), changes)
    return {"file": print_id("fi", number), "account": account, "outcome": outcome,
            "lines": len(statement.lines)}  # fmt: skip


async def _state_balance(
    transaction: asyncpg.Connection, moment: Moment, statement: Statement,
    before: Mapping[str, Any], changes: WriteSet,
) -> None:  # fmt: skip
    """State the closing balance of an own account; a correction takes the former one back."""
    row = await transaction.fetchrow(
        "select * from usance.bank_accounts where account = $1", statement.account
    )
    if row is None:
        return
    own = {statement.account: OwnBankAccount(row["entity"], row["ledger_account"])}
    facts = bank_balances([statement], own)
    if before.get("closing_on") is not None:
        former = replace(statement, closing_minor=-before["closing_minor"],
                         closing_on=before["closing_on"])  # fmt: skip
        facts = [*bank_balances([former], own), *facts]
    for each in facts:
        number = await transaction.fetchval("select usance.next_ids('group_fact', 1)")
        changes.add(
            "group_facts", fact_id=number, entity=each.entity,
            kind=int(GroupFactKind.BANK_BALANCE), effective_on=each.effective_on,
            booked_at=moment.at, currency=int(Currency[each.currency]),
            amount_minor=each.amount_minor, party=0, quantity=0, detail=json.dumps(each.detail),
        )  # fmt: skip
