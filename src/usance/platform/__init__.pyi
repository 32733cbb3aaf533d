"""Public names of the room, each with its module."""

from usance.platform.errors import (
    ClientRefTaken as ClientRefTaken,
    Forbidden as Forbidden,
    KeyInFlight as KeyInFlight,
    KeyMismatch as KeyMismatch,
    LakeError as LakeError,
    MigrationError as MigrationError,
    NoHeadroom as NoHeadroom,
    NotInstalled as NotInstalled,
    NotYours as NotYours,
    PlatformError as PlatformError,
    Refused as Refused,
    RefusedBefore as RefusedBefore,
    ServerError as ServerError,
    StaleRead as StaleRead,
    UnknownPrincipal as UnknownPrincipal,
)
from usance.platform.commands.registry import COMMANDS as COMMANDS
from usance.platform.commands.unit_of_work import Outcome as Outcome, execute as execute
from usance.platform.live import Platform as Platform
from usance.platform.principals import Principal as Principal, principal_named as principal_named
from usance.platform.store.database import Database as Database, server_of as server_of
from usance.platform.store.migrations import migrate as migrate, status as status
from usance.platform.store.server import Embedded as Embedded

__all__: list[str]
