"""Disclose: the published page, tied to the last digit.

`release_of` makes the release of a closed period, `publish` writes it, and `DrillIndex` follows
its figures to the facts. `check` and `rebuild` need nothing but fact tables: the one recomputes
every figure that follows from others and classifies how well each holds, the other computes the
derived figures again from the primary ones. Names are imported when first used.

>>> from usance.disclose.periods import parse_period
>>> parse_period("2024H1").days
182
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usance.base.public_names import public_names

if TYPE_CHECKING:
    from usance.disclose.drill.drill import Drill, DrillIndex
    from usance.disclose.errors import (
        AddressError,
        FactError,
        FilerError,
        FormError,
        ProfileError,
        WrongSign,
    )
    from usance.disclose.facts import Fact
    from usance.disclose.profile import Profile, load_profile
    from usance.disclose.reading import read_facts
    from usance.disclose.release.filer import Filer, read_filer
    from usance.disclose.release.publication import publish, publish_table, release_of
    from usance.disclose.release.release import Release
    from usance.disclose.tie_out.checker import Report, check, check_facts
    from usance.disclose.tie_out.rebuilder import Rebuilt, rebuild, rebuild_facts
    from usance.disclose.ties import TieKind

__all__ = [
    "AddressError", "Drill", "DrillIndex", "Fact", "FactError", "Filer", "FilerError", "FormError",
    "Profile", "ProfileError", "Rebuilt", "Release", "Report", "TieKind", "WrongSign", "check",
    "check_facts", "load_profile", "publish", "publish_table", "read_facts", "read_filer",
    "rebuild", "rebuild_facts", "release_of",
]  # fmt: skip

_MODULES = {
    "drill.drill": ("Drill", "DrillIndex"),
    "errors": (
        "AddressError", "FactError", "FilerError", "FormError", "ProfileError", "WrongSign",
    ),
    "facts": ("Fact",),
    "profile": ("Profile", "load_profile"),
    "reading": ("read_facts",),
    "release.filer": ("Filer", "read_filer"),
    "release.publication": ("publish", "publish_table", "release_of"),
    "release.release": ("Release",),
    "tie_out.checker": ("Report", "check", "check_facts"),
    "tie_out.rebuilder": ("Rebuilt", "rebuild", "rebuild_facts"),
    "ties": ("TieKind",),
}  # fmt: skip

__getattr__, __dir__ = public_names(__name__, _MODULES)
