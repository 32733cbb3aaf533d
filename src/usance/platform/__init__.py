"""Platform: the live system of record around the same core, on PostgreSQL.

It adds no arithmetic: every figure comes from the rooms before it. What it adds is memory, order,
permission and proof.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usance.base.public_names import public_names

if TYPE_CHECKING:
    from usance.platform.errors import MigrationError, PlatformError, ServerError
    from usance.platform.store.migrations import migrate, status
    from usance.platform.store.server import Embedded

__all__ = ["Embedded", "MigrationError", "PlatformError", "ServerError", "migrate", "status"]

_MODULES = {
    "errors": ("MigrationError", "PlatformError", "ServerError"),
    "store.migrations": ("migrate", "status"),
    "store.server": ("Embedded",),
}

__getattr__, __dir__ = public_names(__name__, _MODULES)
