r"""Files of providers: taken whole at once, read line by line by a job, each line answered.

This is the one way in for files of providers. Without a profile a file is CSV with the columns
`ref`, `loan` or `user`, `amount_minor`, `currency` and `effective_on`; its lines are booked as
notices are, and one sent before is a duplicate. With the profile of a bank file it is a statement:
kept for reconciliation, whole or not at all, with its lines as words about our orders.

>>> list(notices(b"ref,loan,amount_minor,currency,effective_on\n1,ln_1,5,CNY,2024-07-01\n"))
[{'ref': '1', 'loan': 'ln_1', 'amount_minor': 5, 'currency': 'CNY', 'effective_on': '2024-07-01'}]
"""

from __future__ import annotations

import base64
import binascii
import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from usance.base.errors import UsanceError
from usance.platform.commands.command import WAITING, Decided, Moment, act_as_platform
from usance.platform.commands.loans.payments import provider_of
from usance.platform.commands.money.money_files import TakeFile as TakeStatement
from usance.platform.errors import InvalidField
from usance.platform.jobs.queue import NewJob, enqueue, job_answer, job_by_key
from usance.platform.partners.file_evidence import take_file as take_statement
from usance.platform.principals import SYSTEM, Principal
from usance.platform.refusals import FileRefused
from usance.service.bank_files.profile import load_profile

if TYPE_CHECKING:
    import asyncpg

    from usance.platform.jobs.worker import Work
    from usance.platform.live import Platform

JOB = "provider.file"
MAX_FILE = 16 << 20
MAX_PROBLEMS = 100
MAX_PROFILE = 64
"""Refused lines that a job tells one by one; the others are counted."""
REPORT_EVERY = 200
COLUMNS = ("ref", "loan", "user", "amount_minor", "currency", "effective_on")


@dataclass(frozen=True)
class TakeFile:
    """A file of a provider, as it is: its name, the hash of its bytes, and these in base64."""

    name: str
    sha256: str
    content: Any
    provider: str | None = None
    profile: str | None = None


async def take_file(
    transaction: asyncpg.Connection, principal: Principal, moment: Moment, command: TakeFile
) -> Decided:
    """Keep a file and line up the job that reads it; the same file again is the same job."""
    provider = provider_of(moment, principal, command.provider)
    try:
        content = base64.b64decode(command.content, validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise InvalidField("is no base64", where="body.content", fix="Encode the bytes") from error
    digest = sha256(content).hexdigest()
    if digest != command.sha256.lower():
        raise InvalidField("is not the hash of the content", where="body.sha256",
                           fix="Send the file again, whole")  # fmt: skip
    if not 1 <= len(command.name) <= 255 or len(content) > MAX_FILE:
        raise InvalidField("is no file that can be kept", where="body.name",
                           fix=f"Give a name and at most {MAX_FILE} bytes")  # fmt: skip
    if command.profile is not None:
        _statement(command.name, content, command.profile, None)
    await act_as_platform(transaction)
    await transaction.execute(
        "select usance.keep_provider_file($1, $2, $3, $4)", provider, digest, command.name, content
    )
    key = "/".join((JOB, str(provider), digest, *filter(None, (command.profile,))))
    payload = {"provider": provider, "name": command.name, "sha256": digest,
               "profile": command.profile}  # fmt: skip
    is_new = bool(await enqueue(transaction, [NewJob(JOB, key, payload)]))
    answer = job_answer(await job_by_key(transaction, key))
    return Decided(answer, answer["job"], is_new=is_new, status=WAITING, as_platform=True)


def _statement(name: str, content: bytes, profile: str, provider: str | None) -> TakeStatement:
    """The bytes of a file as the text that its profile says they are.

    A partner names a profile that is shipped, never a file of this machine.
    """
    if not profile.isidentifier() or len(profile) > MAX_PROFILE:
        raise InvalidField("is no name of a profile", where="body.profile",
                           fix="Give one that is shipped, such as psp or iso20022")  # fmt: skip
    try:
        text = content.decode(load_profile(profile).encoding)
    except UnicodeDecodeError as error:
        raise InvalidField("is not in the encoding of its profile", where="body.content",
                           fix="Send it as the profile says") from error  # fmt: skip
    except UsanceError as error:
        raise FileRefused(error.what, where="body.profile", fix=error.fix) from error
    return TakeStatement(name, text, profile, provider)


def notices(content: bytes) -> Iterator[dict[str, Any]]:
    """Lines of a file, each as the fields of a payment."""
    try:
        text = io.StringIO(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidField("is no UTF-8", where="body.content", fix="Send CSV in UTF-8") from error
    reader = csv.DictReader(text)
    unknown = [name for name in reader.fieldnames or ("",) if name not in COLUMNS]
    if unknown:
        raise InvalidField(f"has a column {unknown[0]!r}", where="body.content",
                           fix=f"Give {', '.join(COLUMNS)}")  # fmt: skip
    for row in reader:
        found: dict[str, Any] = {name: value for name, value in row.items() if value}
        amount = found.get("amount_minor", "")
        if amount.isascii() and amount.isdigit():
            found["amount_minor"] = int(amount[:18])
        yield found


async def read_file(platform: Platform, work: Work) -> Mapping[str, Any]:
    """Book every line of a file that can be booked, and count what came of them."""
    given = work.job.payload
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        content = await transaction.fetchval(
            "select usance.provider_file($1, $2)", given["provider"], given["sha256"]
        )
    async with platform.reading(SYSTEM) as read:
        provider = read.moment.lender.party_name("provider", given["provider"])
    if profile := given.get("profile"):
        statement = _statement(given["name"], content, profile, provider)
        return await take_statement(platform, statement)
    counts: Counter[str] = Counter()
    problems: list[dict[str, Any]] = []
    for number, line in enumerate(notices(content), start=1):
        result, code = await _booked(platform, provider, line)
        counts[result] += 1
        if code and len(problems) < MAX_PROBLEMS:
            problems.append({"line": number, "ref": line.get("ref"), "code": code})
        if number % REPORT_EVERY == 0:
            await work.report(number, 0)
    return {**counts, "problems": problems}


async def _booked(
    platform: Platform, provider: str, line: Mapping[str, Any]
) -> tuple[str, str | None]:
    try:
        outcome = await platform.do(SYSTEM, "payment.book", {**line, "provider": provider})
    except UsanceError as error:
        if error.http_status >= 500:
            raise
        return "refused", error.code.removeprefix("platform.")
    if not outcome.is_new:
        return "duplicate", None
    return ("booked" if outcome.answer["allocation"] else "unallocated"), None
