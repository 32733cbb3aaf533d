"""Public names of the room, each with its module."""

from usance.acquire.channels import (
    AttributionRule as AttributionRule,
    Channels as Channels,
    Touch as Touch,
    attributed_channel as attributed_channel,
    read_channels as read_channels,
)
from usance.acquire.consent import (
    Consent as Consent,
    Purpose as Purpose,
    in_force as in_force,
    read_consents as read_consents,
)
from usance.acquire.identity import (
    card_number as card_number,
    mrz_number as mrz_number,
    resident_number as resident_number,
)
from usance.acquire.errors import (
    ChannelError as ChannelError,
    DuplicateIdentity as DuplicateIdentity,
    IdentityError as IdentityError,
)
from usance.acquire.funnel import (
    Funnel as Funnel,
    acquisition_funnel as acquisition_funnel,
    read_events as read_events,
)
from usance.acquire.identity import (
    CardRegister as CardRegister,
    IdentityCheck as IdentityCheck,
    IdentityPort as IdentityPort,
    LocalIdentity as LocalIdentity,
    Person as Person,
)
from usance.acquire.registration import (
    RegisteredUser as RegisteredUser,
    UserKind as UserKind,
    UserRegister as UserRegister,
)

__all__: list[str]
