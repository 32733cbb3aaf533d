"""A worker to be killed: it draws and pays under keys, many at once, and tells each answer."""

from __future__ import annotations

import asyncio
import sys
from datetime import date
from pathlib import Path

from usance.base.ids import print_id
from usance.platform.commands.lending.drawdowns import Draw
from usance.platform.commands.loans.payments import BookPayment
from usance.platform.live import Platform
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded
from usance.platform.vault import Vault

IN_FLIGHT = 8
DAY = date(2024, 7, 6)


async def storm(home: Path, name: str, users: int) -> None:
    """One drawdown and one payment of each user; a line for each that was answered."""
    platform = Platform.of_database(Database(Embedded(home), name), Vault(bytes(32)))
    channel, provider = await platform.principal("channel"), await platform.principal("provider")
    left = iter(range(1, users + 1))

    async def lane() -> None:
        for user in left:
            draw = Draw(print_id("us", user), "instalment", 100_000, 6)
            loan = (await platform.do(channel, draw, key=f"draw{user}")).answer["loan"]
            tell(f"draw{user}", str(loan))
            paid = BookPayment(20_000, "CNY", DAY, f"p{user}", str(loan))
            payment = (await platform.do(provider, paid, key=f"pay{user}")).answer["payment"]
            tell(f"pay{user}", str(payment))

    await asyncio.gather(*(lane() for _ in range(IN_FLIGHT)))
    await platform.close()


def tell(key: str, answer: str) -> None:
    sys.stdout.write(f"{key} {answer}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(storm(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
