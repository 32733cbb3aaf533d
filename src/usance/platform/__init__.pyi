"""Public names of the room, each with its module."""

from usance.platform.errors import (
    AuthorityExceeded as AuthorityExceeded,
    BackupError as BackupError,
    CircuitOpen as CircuitOpen,
    ClientRefTaken as ClientRefTaken,
    DateOutOfRange as DateOutOfRange,
    Forbidden as Forbidden,
    HeadRefused as HeadRefused,
    InputNotYours as InputNotYours,
    InvalidCommand as InvalidCommand,
    InvalidField as InvalidField,
    JobCancelled as JobCancelled,
    JobError as JobError,
    KeyInFlight as KeyInFlight,
    KeyMismatch as KeyMismatch,
    LakeBehind as LakeBehind,
    LakeError as LakeError,
    LedgerDiffers as LedgerDiffers,
    LeaseLost as LeaseLost,
    LenderPaused as LenderPaused,
    ListsRefused as ListsRefused,
    MasterKeyRefused as MasterKeyRefused,
    MigrationError as MigrationError,
    MissingField as MissingField,
    NoHeadroom as NoHeadroom,
    NotFound as NotFound,
    NotInstalled as NotInstalled,
    NotYours as NotYours,
    OrdersNotAsked as OrdersNotAsked,
    OutboundRefused as OutboundRefused,
    PlanUnsolved as PlanUnsolved,
    PlatformError as PlatformError,
    Refused as Refused,
    RefusedBefore as RefusedBefore,
    RolesRefused as RolesRefused,
    ServerError as ServerError,
    SignInFailed as SignInFailed,
    StaleRead as StaleRead,
    TotpNeeded as TotpNeeded,
    UnknownField as UnknownField,
    UnknownInput as UnknownInput,
    UnknownJob as UnknownJob,
    UnknownPrincipal as UnknownPrincipal,
    UnreadableAnswer as UnreadableAnswer,
    WeakPassword as WeakPassword,
    WrongJobState as WrongJobState,
    WrongMode as WrongMode,
)
from usance.platform.commands.registry import COMMANDS as COMMANDS
from usance.platform.commands.unit_of_work import Outcome as Outcome, execute as execute
from usance.platform.live import Platform as Platform
from usance.platform.principals import Principal as Principal, principal_named as principal_named
from usance.platform.store.database import Database as Database, server_of as server_of
from usance.platform.store.migrations import migrate as migrate, status as status
from usance.platform.store.server import Embedded as Embedded

__all__: list[str]
