"""Daily files of providers, fetched by ourselves: each evening, and again until they are there.

A provider is asked for the file of a day if its contract names the `profile` that it is written
in. One that has none yet, is away or sends something that cannot be read is asked again on the
next evenings; the days of others are not touched.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import date, timedelta
from typing import TYPE_CHECKING

from usance.platform.commands.money.money_files import TakeFile
from usance.platform.commands.unit_of_work import now
from usance.platform.errors import OutboundRefused
from usance.platform.partners.dispatch import connected, mark_run
from usance.platform.partners.file_evidence import take_file
from usance.platform.principals import SYSTEM
from usance.platform.records.order_record import is_instant, provider_settings
from usance.platform.refusals import FileRefused

if TYPE_CHECKING:
    from usance.platform.commands.command import Moment
    from usance.platform.live import Platform

LOG = logging.getLogger("usance.files")
DAYS_BACK = 7
"""Days for which a file that is missing is asked for again."""
_DONE = "select day from usance.money_runs where name = 'file/' || $1 and day >= $2"
_FIRST = "select min(day) from usance.business_days"


async def fetch_files(platform: Platform, day: date) -> int:
    """Fetch the files up to a day that were not taken yet; the number of them."""
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        moment = await now(transaction, platform.services)
        first = await transaction.fetchval(_FIRST) or day
    taken = 0
    for number, name in _with_files(moment):
        start = max(first, day - timedelta(days=DAYS_BACK))
        async with platform.database.transaction(SYSTEM.principal_id) as transaction:
            done = {row["day"] for row in await transaction.fetch(_DONE, name, start)}
        for back in range((day - start).days, -1, -1):
            if (wanted := day - timedelta(days=back)) not in done:
                taken += await _fetch(platform, moment, number, name, wanted)
    return taken


def _with_files(moment: Moment) -> list[tuple[int, str]]:
    """Providers that are asked for files: those whose contract names a profile."""
    lender = moment.lender
    return sorted(
        (number, name) for (kind, name), number in lender.parties.items()
        if kind == "provider" and not is_instant(lender, number)
        and provider_settings(lender, number).get("profile")
    )  # fmt: skip


async def _fetch(platform: Platform, moment: Moment, number: int, name: str, day: date) -> bool:
    """Fetch and take the file of a day; False if there is none that can be taken."""
    profile = str(provider_settings(moment.lender, number)["profile"])
    port = connected(platform, moment, number)
    try:
        text = await asyncio.to_thread(port.file, day)
        if not text.strip():
            return False
        command = TakeFile(f"{name}-{day}.txt", text, profile, name)
        told = await take_file(platform, command)
    except (OutboundRefused, FileRefused) as error:
        LOG.warning("no file of %s for %s: %s", name, day, error)
        return False
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        result = {"noted": told["noted"], "received": told["received"]}
        await mark_run(transaction, day, f"file/{name}", moment.at, result)
    return True
