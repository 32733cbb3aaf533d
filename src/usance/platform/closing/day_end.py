"""The end of a business day: what falls due by rule, export to the lake, seals, caches compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usance.platform.closing.caches import CacheReport, compare_caches
from usance.platform.closing.month_end import LAKE, advance, over_at
from usance.platform.commands.unit_of_work import now
from usance.platform.day import next_half, serve_half
from usance.platform.lake.export import export
from usance.platform.ledger.seals import seal
from usance.platform.principals import SYSTEM
from usance.platform.refusals import ClockBackwards

if TYPE_CHECKING:
    from usance.platform.commands.command import Moment
    from usance.platform.live import Platform


@dataclass
class DayEnd:
    """One or more business days that are over."""

    business_date: date
    halves: list[dict[str, Any]] = field(default_factory=list)
    exported: int = 0
    compared: int = 0
    differences: list[str] = field(default_factory=list)


async def end_day(platform: Platform, home: Path, last: date | None = None) -> DayEnd:
    """Bring the business date over a day; a sandbox's clock is moved, a live one's waited for."""
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        moment = await now(transaction, platform.services)
    day = last or moment.business_date
    if last is not None and last < moment.business_date:
        raise ClockBackwards(f"{last} is over, it is {moment.business_date}", where="--through",
                             fix="Give the business date or a later day")  # fmt: skip
    if moment.lender.is_sandbox:
        await advance(platform, over_at(moment, day))
    else:
        await _serve_due(platform, moment)
    made = DayEnd(day + timedelta(days=1), await _halves(platform, moment.business_date))
    async with platform.database.loader() as connection:
        made.exported = sum((await export(connection, home / LAKE)).rows.values())
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        await seal(transaction, datetime.now(UTC))
    report: CacheReport = await compare_caches(platform)
    made.compared, made.differences = report.compared, list(report.differences)
    return made


async def _serve_due(platform: Platform, moment: Moment) -> None:
    """Serve every half day whose moment has come by the clock of a live lender."""
    while True:
        async with platform.database.transaction(SYSTEM.principal_id) as transaction:
            half = await next_half(transaction, moment)
        if half.at(moment) > moment.at:
            return
        await serve_half(platform, half)


async def _halves(platform: Platform, first: date) -> list[dict[str, Any]]:
    async with platform.database.transaction(SYSTEM.principal_id) as transaction:
        rows = await transaction.fetch(
            "select day, part, loans, set_aside from usance.business_days where day >= $1 "
            "order by day, part desc", first,
        )  # fmt: skip
    return [dict(row) for row in rows]
