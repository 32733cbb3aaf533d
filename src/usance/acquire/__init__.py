"""Acquire: channels and attribution, registration, identity, consent, and cost of acquisition.

>>> from usance.acquire import resident_number
>>> str(resident_number("11010519491231002X").born)
'1949-12-31'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usance.base.public_names import public_names

if TYPE_CHECKING:
    from usance.acquire.channels import (
        AttributionRule,
        Channels,
        Touch,
        attributed_channel,
        read_channels,
    )
    from usance.acquire.consent import Consent, Purpose, in_force, read_consents
    from usance.acquire.documents import card_number, mrz_number, resident_number
    from usance.acquire.errors import ChannelError, DuplicateIdentity, IdentityError
    from usance.acquire.funnel import Funnel, acquisition_funnel, read_events
    from usance.acquire.identity import (
        CardRegister,
        IdentityCheck,
        IdentityPort,
        LocalIdentity,
        Person,
    )
    from usance.acquire.registration import RegisteredUser, UserKind, UserRegister

__all__ = [
    "AttributionRule", "CardRegister", "ChannelError", "Channels", "Consent", "DuplicateIdentity",
    "Funnel", "IdentityCheck", "IdentityError", "IdentityPort", "LocalIdentity", "Person",
    "Purpose", "RegisteredUser", "Touch", "UserKind", "UserRegister", "acquisition_funnel",
    "attributed_channel", "card_number", "in_force", "mrz_number", "read_channels", "read_consents",
    "read_events", "resident_number",
]  # fmt: skip

_MODULES = {
    "channels": ("AttributionRule", "Channels", "Touch", "attributed_channel", "read_channels"),
    "consent": ("Consent", "Purpose", "in_force", "read_consents"),
    "documents": ("card_number", "mrz_number", "resident_number"),
    "errors": ("ChannelError", "IdentityError", "DuplicateIdentity"),
    "funnel": ("Funnel", "acquisition_funnel", "read_events"),
    "identity": ("CardRegister", "IdentityCheck", "IdentityPort", "LocalIdentity", "Person"),
    "registration": ("RegisteredUser", "UserKind", "UserRegister"),
}

__getattr__, __dir__ = public_names(__name__, _MODULES)
