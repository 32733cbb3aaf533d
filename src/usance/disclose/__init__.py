"""Disclose: the published page, tied to the last digit.

`release` makes the page of a closed period and `drill` follows its figures to the facts. `check`
and `rebuild` need nothing but fact tables: the one recomputes every figure that follows from
others and says how well each holds, the other makes the derived figures again from the primary
ones.

>>> from usance.disclose.periods import parse_period
>>> parse_period("2024H1").days
182
"""

from usance.disclose.facts import Fact
from usance.disclose.profile import Profile, load_profile
from usance.disclose.reading import read_facts
from usance.disclose.tie_out.checker import Report, check, check_facts
from usance.disclose.tie_out.rebuilder import Rebuilt, rebuild, rebuild_facts
from usance.disclose.ties import Kind

__all__ = [
    "Fact", "Kind", "Profile", "Rebuilt", "Report", "check", "check_facts", "load_profile",
    "read_facts", "rebuild", "rebuild_facts",
]  # fmt: skip
