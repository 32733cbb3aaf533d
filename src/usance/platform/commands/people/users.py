"""Commands about users: registration, person, account for payouts and debits, consent."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from usance.acquire.identity import CardRegister, LocalIdentity, Person
from usance.assess.fraud.links import Attribute
from usance.base.ids import print_id
from usance.platform.commands.command import DONE, Decided, Moment
from usance.platform.commands.people.links import card_index, note_attribute
from usance.platform.commands.people.screening import compare
from usance.platform.errors import ClientRefTaken, InvalidField
from usance.platform.principals import Principal
from usance.platform.reads.people.users import DOCUMENT, TOLD, is_verified, user_answer
from usance.platform.records.user_record import USER_KINDS, load_user, new_user, read_id
from usance.platform.refusals import DateInFuture, DuplicateIdentity
from usance.platform.security.phones import phone_index
from usance.platform.security.sealed_values import new_key, put_client_ref, ref_index
from usance.platform.security.subject_keys import subject_key
from usance.platform.store.write_set import WriteSet

if TYPE_CHECKING:
    import asyncpg

MAX_REGION = 32_767
ACCOUNT_WAIT = timedelta(hours=24)
"""A changed account takes no payout for a day; the first one does at once."""
SANDBOX_IDENTITY = LocalIdentity(CardRegister(b"sandbox", {}))
"""A resident number with a true check digit and a date of birth that has been is a person."""
ECHOED = ("client_ref",)
"""Told with the answer and kept sealed alone."""
_PHONE = re.compile(r"\+?[0-9]{6,15}")


@dataclass(frozen=True)
class RegisterUser:
    """A channel brings a user, known to it by `client_ref`; the same name is the same user."""

    client_ref: str
    region: int
    kind: str = "consumer"
    registered_at: datetime | None = None


@dataclass(frozen=True)
class SetPerson:
    """The human behind a user; kept under a key, found again by a blind index."""

    user: str
    name: str
    national_id: str
    phone: str
    email: str = ""


@dataclass(frozen=True)
class AddAccount:
    """A bank account in the person's name."""

    user: str
    bank: str
    number: str
    holder: str
    debit: bool = False


@dataclass(frozen=True)
class GiveConsent:
    """A borrower grants or withdraws a purpose, on a version of its text."""

    user: str
    purpose: str
    text_version: str
    granted: bool = True


async def register_user(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: RegisterUser
) -> Decided:
    """The user of a channel's name: registered now, or the one that was before."""
    _check_registration(moment, command)
    index = ref_index(moment.vault, principal.party, command.client_ref)
    known = await transaction.fetchrow(
        "select u.* from usance.client_refs c join usance.users u using (user_id) "
        "where c.channel = $1 and c.client_ref = any($2)",
        principal.party, [index, command.client_ref],
    )  # fmt: skip
    if known is not None:
        return _known(moment, command, dict(known))
    user_id = await transaction.fetchval("select usance.next_users(1)")
    on = moment.lender.business_date(command.registered_at or moment.at)
    row = {
        "user_id": user_id, "registered_on": on, "channel": principal.party,
        "region": command.region, "kind": USER_KINDS.index(command.kind),
        "client_ref": None,
    }  # fmt: skip
    changes = WriteSet(user_changes=[new_user(user_id, row).change()])
    changes.add("users", **row)
    key = new_key(moment.vault, user_id, changes)
    put_client_ref(moment.vault, key, principal.party, command.client_ref, changes)
    answer = user_answer(moment.lender, row, client_ref=command.client_ref)
    return Decided(answer, print_id("us", user_id), user_id, changes, echoed=ECHOED)


def _check_registration(moment: Moment, command: RegisterUser) -> None:
    if not 1 <= len(command.client_ref) <= 255:
        raise InvalidField(
            "has no fit length", where="body.client_ref", fix="Give 1 to 255 letters"
        )
    if not 0 <= command.region <= MAX_REGION:
        fix = f"Give 0 to {MAX_REGION}"
        raise InvalidField(f"{command.region} is no region", where="body.region", fix=fix)
    if command.kind not in USER_KINDS:
        fix = f"Give {' or '.join(USER_KINDS)}"
        raise InvalidField(f"{command.kind!r} is no kind", where="body.kind", fix=fix)
    if command.registered_at is not None:
        if not moment.lender.is_sandbox:
            fix = "Leave it out: the platform's clock says when"
            raise InvalidField("is for sandboxes", where="body.registered_at", fix=fix)
        if command.registered_at > moment.at:
            fix = "Give a moment that has been"
            raise DateInFuture("is in the future", where="body.registered_at", fix=fix)


def _known(moment: Moment, command: RegisterUser, row: dict[str, Any]) -> Decided:
    if (row["region"], USER_KINDS[row["kind"]]) != (command.region, command.kind):
        raise ClientRefTaken(
            f"it is registered with region {row['region']} as {USER_KINDS[row['kind']]}",
            where="client_ref", fix="Give what was registered, or another client_ref",
        )  # fmt: skip
    answer = user_answer(moment.lender, row, client_ref=command.client_ref)
    return Decided(answer, print_id("us", row["user_id"]), row["user_id"], is_new=False,
                   status=DONE, echoed=ECHOED)  # fmt: skip


async def set_person(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: SetPerson
) -> Decided:
    """Join a user to a person; the same person twice in one channel is refused."""
    user_id = read_id(command.user, "us", "user")
    if not command.name.strip() or not command.national_id.strip():
        raise InvalidField("is empty", where="body.name", fix="Give name and national_id")
    if not _PHONE.fullmatch(command.phone):
        raise InvalidField("is no phone number", where="body.phone", fix="Give digits, like +8613…")
    user = await load_user(transaction, user_id)
    index = moment.vault.index(command.national_id)
    key = await subject_key(transaction, moment.vault, user.user_id)
    level = _identity_level(moment, command)
    row = await transaction.fetchrow("select * from usance.person_of($1, $2)", index, user.channel)
    person = row["person_id"]
    if person is not None and set(row["users"]) - {user.user_id}:
        raise DuplicateIdentity(
            "this person is another user of the channel", where="body.national_id",
            fix="Let them go on with the account they have",
        )  # fmt: skip
    changes = WriteSet()
    if person is None:
        person = await transaction.fetchval("select usance.next_ids('person', 1)")
        changes.put("persons", person_id=person, identity=index)
    known = {"name": command.name, "national_id": command.national_id,
             "phone": command.phone, "email": command.email}  # fmt: skip
    await compare(transaction, moment, user, known, "registration", changes)
    changes.user_changes.append(user.change())
    details = json.dumps(known)
    changes.put(
        "user_persons", user_id=user.user_id, person_id=person, level=level,
        channel=user.channel, details=key.seal("details", details.encode()),
        phone=phone_index(moment.vault, command.phone),
    )  # fmt: skip
    note_attribute(
        changes, user.user_id, Attribute.PHONE, phone_index(moment.vault, command.phone), moment
    )
    answer = {
        "verified": is_verified(level), "level": level, "person": print_id("pe", person),
        "name": mask(command.name), "national_id": mask(command.national_id),
        "phone": mask(command.phone), "email": mask(command.email),
    }  # fmt: skip
    return Decided(answer, command.user, user.user_id, changes, status=DONE)


def _identity_level(moment: Moment, command: SetPerson) -> int:
    """The level at which the identity port knows a person: 0 told only, 1 by a valid document."""
    port = moment.services.identity
    if port is None and moment.lender.is_sandbox:
        port = SANDBOX_IDENTITY
    if port is None:
        return TOLD
    claimed = Person(command.name, command.national_id, command.phone)
    found = port.check(claimed, None, moment.business_date)
    return DOCUMENT if found.document_valid else TOLD


def mask(value: str) -> str:
    """A value of which the ends are seen at most.

    >>> mask("13800000000"), mask("Ada")
    ('1*********0', '***')
    """
    return f"{value[0]}{'*' * (len(value) - 2)}{value[-1]}" if len(value) > 4 else "*" * len(value)


async def add_account(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: AddAccount
) -> Decided:
    """Add a bank account; a further one waits a day before money goes to it."""
    user_id = read_id(command.user, "us", "user")
    if not re.fullmatch(r"[0-9]{6,34}", command.number):
        raise InvalidField("is no account number", where="body.number", fix="Give 6 to 34 digits")
    user = await load_user(transaction, user_id)
    has_one = await transaction.fetchval(
        "select exists (select from usance.accounts where user_id = $1)", user.user_id
    )
    key = await subject_key(transaction, moment.vault, user.user_id)
    account = user.next("records")
    usable = moment.at + ACCOUNT_WAIT if has_one else moment.at
    details = json.dumps({"bank": command.bank, "number": command.number, "holder": command.holder})
    masked = f"{'*' * (len(command.number) - 4)}{command.number[-4:]}"
    person = await transaction.fetchval(
        "select details from usance.user_persons where user_id = $1", user.user_id
    )
    verified = moment.lender.is_sandbox
    if person is not None:
        verified = same_name(json.loads(key.open("details", person))["name"], command.holder)
    changes = WriteSet(user_changes=[user.change()])
    changes.put(
        "accounts", account_id=account, user_id=user.user_id, masked=masked,
        details=key.seal("account", details.encode()), is_verified=verified,
        usable_from=usable, debit=command.debit, added_at=moment.at,
    )  # fmt: skip
    card = card_index(moment.vault, command.number)
    note_attribute(changes, user.user_id, Attribute.BANK_CARD, card, moment)
    answer = {
        "account": print_id("ac", account), "user": command.user, "bank": command.bank,
        "number": masked, "debit": command.debit, "verified": verified,
        "usable_from": usable.isoformat().replace("+00:00", "Z"),
    }  # fmt: skip
    return Decided(answer, print_id("ac", account), user.user_id, changes)


def same_name(first: str, second: str) -> bool:
    """True of one name written twice, whatever the case and the spaces.

    >>> same_name("Ada  Lovelace ", "ada lovelace"), same_name("Ada", "Bea")
    (True, False)
    """
    return first.casefold().split() == second.casefold().split()


async def give_consent(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: GiveConsent
) -> Decided:
    """Note a consent as it was given or withdrawn."""
    user_id = read_id(command.user, "us", "user")
    if not command.purpose.strip() or not command.text_version.strip():
        raise InvalidField("is empty", where="body.purpose", fix="Give purpose and text_version")
    user = await load_user(transaction, user_id)
    consent = user.next("records")
    changes = WriteSet(user_changes=[user.change()])
    row = {"purpose": command.purpose, "text_version": command.text_version,
           "granted": command.granted}  # fmt: skip
    changes.put(
        "consents", consent_id=consent, user_id=user.user_id, given_at=moment.at,
        **row,
    )  # fmt: skip
    answer = {"consent": print_id("co", consent), "user": command.user, **row,
              "given_at": moment.at.isoformat().replace("+00:00", "Z")}  # fmt: skip
    return Decided(answer, print_id("co", consent), user.user_id, changes)
