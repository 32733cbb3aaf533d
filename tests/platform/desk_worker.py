"""Agents to be killed: each takes a case, begins a contact, ends it, and tells every answer."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from usance.platform.live import Platform
from usance.platform.store.database import Database
from usance.platform.store.server import Embedded
from usance.platform.vault import Vault


async def work(home: Path, name: str, agents: list[str]) -> None:
    """Work cases until nobody is offered one."""
    platform = Platform.of_database(Database(Embedded(home), name), Vault(bytes(32)))

    async def one(agent: str) -> None:
        who = await platform.principal(agent)
        while (found := (await platform.do(who, "case.next", {})).answer["case"]) is not None:
            user = str(found["user"])
            tell("next", user, agent)
            begin = {"user": user, "channel": "voice"}
            made = await platform.do(who, "contact.begin", begin, key=f"begin/{user}")
            contact = str(made.answer["contact"])
            tell("begin", user, contact)
            end = {"contact": contact, "connected": True}
            await platform.do(who, "contact.end", end, key=f"end/{contact}")
            tell("end", user, contact)

    await asyncio.gather(*map(one, agents))
    await platform.close()


def tell(*words: str) -> None:
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
