"""Routes of control: the clock of a sandbox, the log of requests."""

from __future__ import annotations

from typing import Any

from usance.platform.api.calls import Call
from usance.platform.api.groups import Group
from usance.platform.api.shapes import Clock
from usance.platform.reads.reading import Reading

group = Group("Control", "control")
EVERYONE = ("channel", "institution", "provider", "operations", "finance", "control")


async def clock(read: Reading, _call: Call) -> Any:
    """The business clock and date."""
    return await read.clock()


group.read("/clock", Clock, clock, scopes=EVERYONE)
