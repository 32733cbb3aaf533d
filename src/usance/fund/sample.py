"""The deals that come with the room, by name: a start for one's own, and examples to try.

>>> sample_deal().name, [each.name for each in sample_deal().classes]
('PLAN1', ['A', 'B', 'S'])
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from usance.base.errors import unknown
from usance.fund.deal import Deal
from usance.fund.deal_file import read_deal

SAMPLES = Path(__file__).with_name("deals")


def sample_path(name: str = "plan") -> Path:
    """The file of a deal that comes with the room."""
    path = SAMPLES / f"{name}.yaml"
    if not path.is_file():
        raise unknown("sample deal", name, sorted(each.stem for each in SAMPLES.glob("*.yaml")))
    return path


@cache
def sample_deal(name: str = "plan") -> Deal:
    """A deal that comes with the room."""
    return read_deal(sample_path(name))
